// SPDX-License-Identifier: MIT
/*
 * What the line programs of cubins have beside DWARF's: two instructions for inlined calls, whose
 * numbers elfutils' dwarf.h has.
 *
 * DW_LNE_NVIDIA_inlined_call (0x90) with two ULEB128 operands: the rows from here on were inlined.
 * The first operand is the number of the row of their call, counted from 1 in each sequence (0: not
 * inlined any more); the second is the name of the inlined function, an offset in .debug_str.
 * DW_LNE_NVIDIA_set_function_name (0x91) with one operand sets the name alone.
 *
 * A row that is called from stands directly before, often at the same address as the rows inlined
 * there. The 4 bytes that may end a header are to be added to the offsets of names.
 *
 * nvlink (13.0) puts the names of several compilations one behind the other and leaves what is to
 * be added to their offsets at 0, so each program's names would be looked up among those of the
 * first. settle_names() finds where they really are.
 */
#include "gpucode/line_program.h"
#include "gpucode/nvidia/cubin_internal.h"

enum {
	DW_LNE_NVIDIA_inlined_call = 0x90,
	DW_LNE_NVIDIA_set_function_name,
};

static void set_names(struct line_machine *m, uint64_t offset)
{
	m->function = offset < LINE_NO_NAME ? (uint32_t)offset : LINE_NO_NAME;
}

static void run_extended(struct line_machine *m, uint8_t opcode, struct line_cursor *operands)
{
	uint64_t context;

	switch (opcode) {
	case DW_LNE_NVIDIA_inlined_call:
		context = read_uleb(operands);
		m->context = context <= UINT32_MAX ? (uint32_t)context : UINT32_MAX;
		set_names(m, read_uleb(operands));
		if (!m->context)
			m->function = LINE_NO_NAME;
		break;
	case DW_LNE_NVIDIA_set_function_name:
		set_names(m, read_uleb(operands));
		break;
	}
}

/* The size of a program's names in .debug_str if they begin at `base`; 0: they do not. */
static uint64_t names_size(const struct line_machine *m, const struct line_naming *n, uint64_t base)
{
	const char *last = code_string(m->strings, base + n->last);

	return last ? n->last + strlen(last) + 1 : 0;
}

static void shift_names(
	struct line_machine *m, const struct line_naming *n, uint64_t base, bool known)
{
	for (uint32_t i = n->first; i < n->end; i++) {
		struct line_row *row = &m->t->rows.items[i];
		uint64_t name = base + row->function;

		if (row->function != LINE_NO_NAME)
			row->function =
				known && name < LINE_NO_NAME ? (uint32_t)name : LINE_NO_NAME;
	}
}

/*
 * Where no header has an offset and there are several programs, each one's names begin behind
 * those of the one before. This is proven when the names of all fill .debug_str:
 * then no program has names that its rows do not use. Otherwise only those of the first are known.
 */
static void settle_names(struct line_machine *m)
{
	uint64_t base = 0, size = 1;
	bool given = m->program < 2, proven;

	vec_foreach (n, &m->names)
		given |= n->base != 0;
	vec_foreach (n, &m->names) {
		size = given ? 0 : names_size(m, n, base);
		if (!size)
			break;
		base += size;
	}
	proven = size && base == m->strings.size;
	base = 0;
	vec_foreach (n, &m->names) {
		if (given)
			base = n->base;
		shift_names(m, n, base, given || proven || !n->program);
		if (proven)
			base += names_size(m, n, base);
	}
}

const struct line_dialect cubin_lines = {
	.extended = run_extended,
	.finish = settle_names,
};
