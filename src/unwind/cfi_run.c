// SPDX-License-Identifier: MIT
/*
 * Runs the instructions of call frame information. Few registers matter to a walk (the stack
 * pointer, the frame pointer, the return address, sometimes rbx); rules for others are skipped.
 */
#include "unwind/cfi_rules.h"

#define REMEMBERED_MAX 64 /* states on the stack of DW_CFA_remember_state; compilers need 2 */

/* DWARF 5, section 7.24; the LSB; and what GNU tools add */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE_LOC = 0x40, /* these three hold an operand in their low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

struct run {
	struct cfi_program *p;
	struct reader *r;
	struct cfi_state now;
	uint64_t offset; /* from the start of the function */
	unsigned int remembered_count;
	struct cfi_state remembered[REMEMBERED_MAX];
};

/* The rule of a register; NULL: of one that we do not follow. */
static struct register_rule *rule_of(
	const struct cfi_common *c, struct cfi_state *s, uint64_t number)
{
	if (number == c->ra_column)
		return &s->ra;
	if (number == c->machine->fp)
		return &s->fp;
	if (number == c->machine->sp)
		return &s->sp;
	if (number == c->machine->bx)
		return &s->bx;
	return NULL;
}

static void set_rule(struct run *run, uint64_t number, struct register_rule rule)
{
	struct register_rule *found = rule_of(run->p->common, &run->now, number);

	if (found)
		*found = rule;
}

static void set_value(struct run *run, uint64_t number, enum cfi_kind kind, int64_t offset)
{
	set_rule(run, number, (struct register_rule){.kind = kind, .value = offset});
}

static void restore_rule(struct run *run, uint64_t number)
{
	struct register_rule *from = rule_of(run->p->common, &run->p->common->initial, number);

	if (from)
		set_rule(run, number, *from);
}

/* Offsets that hostile input makes overflow wrap, as the machine's do. */
static int64_t factored(const struct run *run, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)run->p->common->data_align);
}

static void put_row(struct run *run)
{
	struct cfi_program *p = run->p;
	struct walk_rule rule;

	if (!p->rows || run->offset > UINT32_MAX)
		return;
	rule = cfi_rule(p->common, &run->now);
	*p->unsupported += rule.cfa == WALK_CFA_UNSUPPORTED;
	builder_row(p->rows, (uint32_t)run->offset, &rule);
}

static bool advance(struct run *run, uint64_t delta)
{
	uint64_t bytes, offset;

	if (!run->p->rows || __builtin_mul_overflow(delta, run->p->common->code_align, &bytes) ||
		__builtin_add_overflow(run->offset, bytes, &offset))
		return false;
	if (bytes)
		put_row(run);
	run->offset = offset;
	return true;
}

static bool set_location(struct run *run)
{
	const struct cfi_program *p = run->p;
	uint64_t address;

	if (!p->rows || !p->read_address(p->section, run->r, p->common->encoding, &address) ||
		address < p->start || address - p->start < run->offset)
		return false;
	put_row(run);
	run->offset = address - p->start;
	return true;
}

static bool run_advance(struct run *run, uint8_t op)
{
	switch (op) {
	case CFA_SET_LOC:
		return set_location(run);
	case CFA_ADVANCE_LOC1:
		return advance(run, reader_u8(run->r));
	case CFA_ADVANCE_LOC2:
		return advance(run, reader_u16(run->r));
	case CFA_ADVANCE_LOC4:
		return advance(run, reader_u32(run->r));
	default:
		return advance(run, reader_u64(run->r));
	}
}

static bool remember(struct run *run)
{
	if (run->remembered_count == REMEMBERED_MAX)
		return false;
	run->remembered[run->remembered_count++] = run->now;
	return true;
}

static bool restore(struct run *run)
{
	if (!run->remembered_count)
		return false;
	run->now = run->remembered[--run->remembered_count];
	return true;
}

static void define_cfa(struct run *run, uint64_t number, int64_t offset)
{
	run->now.has_cfa = true;
	run->now.cfa_expression = NULL;
	run->now.cfa_register = number;
	run->now.cfa_offset = offset;
}

static bool define_cfa_expression(struct run *run)
{
	uint64_t size = reader_uleb(run->r);

	run->now.has_cfa = true;
	run->now.cfa_expression_size = size;
	run->now.cfa_expression = reader_take(run->r, size);
	return run->now.cfa_expression;
}

static bool run_cfa(struct run *run, uint8_t op)
{
	struct cfi_state *now = &run->now;
	uint64_t number;

	switch (op) {
	case CFA_DEF_CFA:
		number = reader_uleb(run->r);
		define_cfa(run, number, (int64_t)reader_uleb(run->r));
		return true;
	case CFA_DEF_CFA_SF:
		number = reader_uleb(run->r);
		define_cfa(run, number, factored(run, (uint64_t)reader_sleb(run->r)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		return define_cfa_expression(run);
	}
	if (!now->has_cfa || now->cfa_expression)
		return false;
	if (op == CFA_DEF_CFA_REGISTER)
		now->cfa_register = reader_uleb(run->r);
	else if (op == CFA_DEF_CFA_OFFSET)
		now->cfa_offset = (int64_t)reader_uleb(run->r);
	else
		now->cfa_offset = factored(run, (uint64_t)reader_sleb(run->r));
	return true;
}

static bool set_expression(struct run *run, uint64_t number, enum cfi_kind kind)
{
	struct register_rule rule = {.kind = kind};

	rule.expression_size = reader_uleb(run->r);
	rule.expression = reader_take(run->r, rule.expression_size);
	set_rule(run, number, rule);
	return rule.expression;
}

/* Instructions about one register, whose number is the first operand. */
static bool run_register(struct run *run, uint8_t op)
{
	uint64_t number = reader_uleb(run->r);
	struct reader *r = run->r;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_value(run, number, CFI_OFFSET, factored(run, reader_uleb(r)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		set_value(run, number, CFI_OFFSET, factored(run, (uint64_t)reader_sleb(r)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_value(run, number, CFI_OFFSET, factored(run, -reader_uleb(r)));
		return true;
	case CFA_VAL_OFFSET:
		set_value(run, number, CFI_VAL_OFFSET, factored(run, reader_uleb(r)));
		return true;
	case CFA_VAL_OFFSET_SF:
		set_value(run, number, CFI_VAL_OFFSET, factored(run, (uint64_t)reader_sleb(r)));
		return true;
	case CFA_REGISTER:
		set_value(run, number, CFI_REGISTER, (int64_t)reader_uleb(r));
		return true;
	case CFA_UNDEFINED:
		set_value(run, number, CFI_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_value(run, number, CFI_SAME, 0);
		return true;
	case CFA_RESTORE_EXTENDED:
		restore_rule(run, number);
		return true;
	case CFA_EXPRESSION:
		return set_expression(run, number, CFI_EXPRESSION);
	default:
		return set_expression(run, number, CFI_OTHER);
	}
}

static bool run_extended(struct run *run, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return true;
	case CFA_SET_LOC ... CFA_ADVANCE_LOC4:
	case CFA_MIPS_ADVANCE_LOC8:
		return run_advance(run, op);
	case CFA_REMEMBER_STATE:
		return remember(run);
	case CFA_RESTORE_STATE:
		return restore(run);
	case CFA_DEF_CFA ... CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_OFFSET_SF:
		return run_cfa(run, op);
	case CFA_OFFSET_EXTENDED ... CFA_REGISTER:
	case CFA_EXPRESSION:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET ... CFA_VAL_EXPRESSION:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return run_register(run, op);
	case CFA_GNU_ARGS_SIZE:
		reader_uleb(run->r);
		return true;
	default:
		return false;
	}
}

static bool run_one(struct run *run)
{
	uint8_t op = reader_u8(run->r), operand = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(run, operand);
	case CFA_OFFSET:
		set_value(run, operand, CFI_OFFSET, factored(run, reader_uleb(run->r)));
		return true;
	case CFA_RESTORE:
		restore_rule(run, operand);
		return true;
	default:
		return run_extended(run, op);
	}
}

bool cfi_run(struct cfi_program *p)
{
	struct run run;

	run.p = p;
	run.r = &p->instructions;
	run.now = p->common->initial;
	run.offset = 0;
	run.remembered_count = 0;
	while (reader_left(run.r))
		if (!run_one(&run) || run.r->failed)
			return false;
	if (p->rows)
		put_row(&run);
	else
		p->common->initial = run.now;
	return true;
}
