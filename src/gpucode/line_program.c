// SPDX-License-Identifier: MIT
/*
 * Instructions of line programs. Of several rows at one address the last one counts.
 *
 * The address of a sequence is a relocation against the symbol of a function or its section.
 */
#include <errno.h>
#include <stdlib.h>

#include "gpucode/line_program.h"

enum {
	DW_LNS_copy = 1,
	DW_LNS_advance_pc,
	DW_LNS_advance_line,
	DW_LNS_set_file,
	DW_LNS_set_column,
	DW_LNS_negate_stmt,
	DW_LNS_set_basic_block,
	DW_LNS_const_add_pc,
	DW_LNS_fixed_advance_pc,

	DW_LNE_end_sequence = 1,
	DW_LNE_set_address,
	DW_LNE_define_file,
};

static int by_offset(const void *a_, const void *b_)
{
	const struct line_relocation *a = a_, *b = b_;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void read_relocations(struct line_machine *m, const struct code_section *s)
{
	bool rela = s->type == SHT_RELA;
	size_t entry = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rela r = {0};

	for (uint64_t at = 0; at + entry <= s->stored && !m->error; at += entry) {
		memcpy(&r, m->elf->image + s->offset + at, entry);
		m->error =
			vec_push(&m->relocations, (struct line_relocation){
							  .offset = r.r_offset,
							  .symbol = ELF64_R_SYM(r.r_info),
							  .addend = rela ? (uint64_t)r.r_addend : 0,
							  .explicit_addend = rela,
						  });
	}
}

void line_relocations_read(struct line_machine *m, size_t section)
{
	vec_foreach (s, &m->elf->sections)
		if ((s->type == SHT_RELA || s->type == SHT_REL) && s->info == section)
			read_relocations(m, s);
	if (m->relocations.count)
		qsort(m->relocations.items, m->relocations.count, sizeof(*m->relocations.items),
			by_offset);
}

static bool find_symbol(
	const struct line_machine *m, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset)
{
	if (m->dialect->position)
		return m->dialect->position(m, symbol, ret_section, ret_offset);
	return code_elf_position(m->elf, symbol, ret_section, ret_offset);
}

bool line_relocate(struct line_machine *m, const uint8_t *at, uint64_t stored,
	uint32_t *ret_section, uint64_t *ret_offset)
{
	struct line_relocation key = {.offset = (uint64_t)(at - m->section.data)}, *r;

	if (!m->relocations.count)
		return false;
	r = bsearch(&key, m->relocations.items, m->relocations.count, sizeof(key), by_offset);
	if (!r || !find_symbol(m, r->symbol, ret_section, ret_offset))
		return false;
	*ret_offset += r->explicit_addend ? r->addend : stored;
	return true;
}

static void set_address(struct line_machine *m, struct line_cursor *r, uint64_t size)
{
	const uint8_t *at = r->at;
	uint64_t stored;

	if (size > sizeof(stored)) {
		r->bad = true;
		return;
	}
	stored = read_number(r, size);
	m->code = m->only_code;
	m->address = stored;
	(void)line_relocate(m, at, stored, &m->code, &m->address);
}

static void begin_sequence(struct line_machine *m)
{
	m->code = 0;
	m->address = 0;
	m->file = 1;
	m->line = 1;
	m->context = 0;
	m->function = LINE_NO_NAME;
	m->first = (uint32_t)m->t->rows.count;
}

/* Ends a sequence before the row that comes next. */
static void end_sequence(struct line_machine *m, uint64_t end)
{
	uint32_t count = (uint32_t)m->t->rows.count - m->first;

	if (!count || m->error)
		return;
	m->error = vec_push(
		&m->t->sequences, (struct line_sequence){
					  .section = m->code,
					  .start = m->t->rows.items[m->first].offset,
					  .end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX,
					  .first = m->first,
					  .count = count,
				  });
}

static void name_row(struct line_machine *m)
{
	uint32_t row = (uint32_t)m->t->rows.count;
	struct line_naming *n = m->names.count ? &m->names.items[m->names.count - 1] : NULL;

	if (!n || n->program != m->program) {
		m->error = vec_push(
			&m->names, (struct line_naming){m->program, row, row, m->names_base, 0});
		if (m->error)
			return;
		n = &m->names.items[m->names.count - 1];
	}
	n->end = row + 1;
	if (m->function > n->last)
		n->last = m->function;
}

static uint32_t find_path(const struct line_machine *m)
{
	uint64_t first = m->version >= 5 ? 0 : 1;

	if (m->file < first || m->file - first >= m->files.count)
		return 0;
	return m->files.items[m->file - first];
}

/* An impossible row is counted and becomes a copy of the one before: later rows refer to rows by
 * their numbers, so it cannot be left out. */
static void add_row(struct line_machine *m)
{
	struct line_table *t = m->t;
	uint32_t number = (uint32_t)t->rows.count - m->first;
	const struct line_row *before = number ? &t->rows.items[t->rows.count - 1] : NULL;
	struct line_row row = {
		.offset = m->address < UINT32_MAX ? (uint32_t)m->address : UINT32_MAX,
		.path = find_path(m),
		.line = m->line <= UINT32_MAX ? (uint32_t)m->line : 0,
		.context = m->context,
		.function = m->function,
	};

	if (!m->code || t->rows.count >= UINT32_MAX) {
		m->t->damage.rows++;
		return;
	}
	if (row.context > number || (before && row.offset < before->offset)) {
		m->t->damage.rows++;
		row = before ? *before
			     : (struct line_row){.offset = row.offset, .function = LINE_NO_NAME};
	} else if (row.function != LINE_NO_NAME) {
		name_row(m);
	}
	if (!m->error)
		m->error = vec_push(&t->rows, row);
}

static void run_extended(struct line_machine *m, struct line_cursor *r)
{
	uint64_t size = read_uleb(r);
	const uint8_t *operands = read_bytes(r, size);
	struct line_cursor in = {.at = operands, .end = r->at};
	uint8_t opcode;

	if (!operands || !size)
		return;
	opcode = read_byte(&in);
	switch (opcode) {
	case DW_LNE_end_sequence:
		end_sequence(m, m->address);
		begin_sequence(m);
		break;
	case DW_LNE_set_address:
		set_address(m, &in, size - 1);
		break;
	case DW_LNE_define_file:
		line_file_read(m, &in, read_text(&in));
		break;
	default:
		if (m->dialect->extended)
			m->dialect->extended(m, opcode, &in);
	}
	r->bad |= in.bad;
}

static void run_standard(struct line_machine *m, struct line_cursor *r, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		add_row(m);
		break;
	case DW_LNS_advance_pc:
		m->address += read_uleb(r) * m->min_step;
		break;
	case DW_LNS_advance_line:
		m->line += (uint64_t)read_sleb(r);
		break;
	case DW_LNS_set_file:
		m->file = read_uleb(r);
		break;
	case DW_LNS_const_add_pc:
		m->address += (uint64_t)((255 - m->opcode_base) / m->line_range) * m->min_step;
		break;
	case DW_LNS_fixed_advance_pc:
		m->address += read_number(r, 2);
		break;
	default:
		for (int i = 0; i < m->operands[opcode - 1]; i++)
			(void)read_uleb(r);
	}
}

static void run_special(struct line_machine *m, uint8_t opcode)
{
	uint8_t step = opcode - m->opcode_base;

	m->address += (uint64_t)(step / m->line_range) * m->min_step;
	m->line += (uint64_t)(int64_t)(m->line_base + step % m->line_range);
	add_row(m);
}

static void run_instructions(struct line_machine *m, struct line_cursor *r)
{
	begin_sequence(m);
	while (r->at < r->end && !r->bad && !m->error) {
		uint8_t opcode = read_byte(r);

		if (opcode >= m->opcode_base)
			run_special(m, opcode);
		else if (opcode)
			run_standard(m, r, opcode);
		else
			run_extended(m, r);
	}
	/* The last sequence was not ended: where its last row ends is not known. */
	m->t->damage.programs += r->bad || m->t->rows.count > m->first;
	if (m->t->rows.count > m->first)
		end_sequence(m, m->t->rows.items[m->t->rows.count - 1].offset);
}

void line_programs_run(struct line_machine *m)
{
	struct line_cursor all = {.at = m->section.data, .end = m->section.data + m->section.size};

	for (; all.at < all.end && !m->error; m->program++) {
		uint64_t length = read_number(&all, 4);
		struct line_cursor r = {0};

		m->wide = length == UINT32_MAX;
		if (m->wide)
			length = read_number(&all, 8);
		r.at = all.at;
		if (!all.bad && read_bytes(&all, length)) {
			r.end = all.at;
		} else {
			/* It ends too early: what is there is good. */
			r.end = all.end;
			m->t->damage.programs++;
		}
		if (line_header_read(m, &r))
			run_instructions(m, &r);
		else
			m->t->damage.programs++;
	}
}
