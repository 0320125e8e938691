// SPDX-License-Identifier: MIT
/*
 * Which forms of a row the walkers support. Of DWARF's expressions, compilers, linkers and
 * hand-written assembly really use only these few:
 *
 *	the PLT            sp + 8 + ((pc & 15) >= n) << 3
 *	a realigned stack  *(fp - 8), with fp saved at *fp
 *	OpenSSL's kind     *(sp + n) + 8
 *	a signal frame     *(sp + 160), in glibc's __restore_rt
 */
#include "unwind/cfi_rules.h"

#include <elf.h>

#include "elf/limits.h"

/* DWARF 5, section 7.7.1 */
#define OP_DEREF       0x06
#define OP_PLUS_UCONST 0x23
#define OP_LIT0	       0x30
#define OP_BREG0       0x70
#define OP_BREG31      0x8f
#define OP_BREGX       0x92

#define X86_SIGNAL_SP 160 /* of the interrupted stack pointer in the frame; see walk/walk.h */

static const struct walk_rule unsupported = {.cfa = WALK_CFA_UNSUPPORTED};

/* register + offset, maybe what is saved there, and that + add */
struct based {
	uint64_t base;
	int64_t offset;
	int64_t add;
	bool deref;
};

static bool read_based(const uint8_t *expression, uint64_t size, struct based *ret)
{
	struct reader r = {.at = expression, .end = expression + size};
	struct based b = {0};
	uint8_t op = reader_u8(&r);

	if (size > ELF_FRAME_EXPRESSION_MAX)
		return false;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		b.base = op - OP_BREG0;
	else if (op == OP_BREGX)
		b.base = reader_uleb(&r);
	else
		return false;
	b.offset = reader_sleb(&r);
	while (!r.failed && reader_left(&r)) {
		op = reader_u8(&r);
		if (op == OP_DEREF && !b.deref)
			b.deref = true;
		else if (op == OP_PLUS_UCONST && b.deref)
			b.add = (int64_t)reader_uleb(&r);
		else if (op == OP_PLUS_UCONST && !b.offset)
			b.offset = (int64_t)reader_uleb(&r);
		else
			return false;
	}
	*ret = b;
	return !r.failed;
}

/* GNU ld's expression for .plt: breg7 8; breg16 0; lit15; and; lit N; ge; lit3; shl; plus */
static bool is_plt(const struct cfi_common *c, const struct cfi_state *s, int32_t *ret_n)
{
	static const uint8_t form[] = {
		0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, OP_LIT0, 0x2a, 0x33, 0x24, 0x22};
	const uint8_t *e = s->cfa_expression;

	if (c->machine->elf_machine != EM_X86_64 || s->cfa_expression_size != sizeof(form))
		return false;
	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] != OP_LIT0 && e[i] != form[i])
			return false;
	if (e[6] < OP_LIT0 || e[6] > OP_LIT0 + 15)
		return false;
	*ret_n = e[6] - OP_LIT0;
	return true;
}

static bool fits_int32(int64_t x)
{
	return x >= INT32_MIN && x <= INT32_MAX;
}

static bool fits_short(int64_t x)
{
	return x >= INT16_MIN && x <= INT16_MAX;
}

static struct walk_rule plain_cfa(const struct cfi_machine *m, uint64_t base, int64_t offset)
{
	struct walk_rule rule = {.cfa = WALK_CFA_REGISTER, .cfa_offset = (int32_t)offset};

	if (!fits_int32(offset) || base > UINT8_MAX)
		return unsupported;
	if (base == m->sp)
		rule.cfa = WALK_CFA_SP;
	else if (base == m->fp)
		rule.cfa = WALK_CFA_FP;
	else
		rule.cfa_register = (uint8_t)base;
	return rule;
}

static struct walk_rule deref_cfa(const struct cfi_machine *m, const struct based *b)
{
	struct walk_rule rule = {.cfa = WALK_CFA_SP_DEREF,
		.cfa_offset = (int32_t)b->offset,
		.cfa_add = (int16_t)b->add};

	if ((b->base != m->sp && b->base != m->fp) || !fits_int32(b->offset) || !fits_short(b->add))
		return unsupported;
	if (b->base == m->fp)
		rule.cfa = WALK_CFA_FP_DEREF;
	return rule;
}

/* How the CFA is found. */
static struct walk_rule cfa_of(const struct cfi_common *c, const struct cfi_state *s)
{
	struct walk_rule rule = {.cfa = WALK_CFA_PLT};
	struct based b;

	if (!s->has_cfa)
		return unsupported;
	if (!s->cfa_expression)
		return plain_cfa(c->machine, s->cfa_register, s->cfa_offset);
	if (is_plt(c, s, &rule.cfa_offset))
		return rule;
	if (!read_based(s->cfa_expression, s->cfa_expression_size, &b))
		return unsupported;
	return b.deref ? deref_cfa(c->machine, &b) : plain_cfa(c->machine, b.base, b.offset);
}

static void add_fp(
	const struct cfi_machine *m, const struct register_rule *p, struct walk_rule *rule)
{
	struct based b;

	rule->fp = WALK_SAVED_UNKNOWN;
	if (p->kind == CFI_UNSPECIFIED || p->kind == CFI_SAME) {
		rule->fp = WALK_SAVED_SAME;
	} else if (p->kind == CFI_OFFSET && fits_short(p->value)) {
		rule->fp = WALK_SAVED_CFA;
		rule->fp_offset = (int16_t)p->value;
	} else if (p->kind == CFI_EXPRESSION && read_based(p->expression, p->expression_size, &b) &&
		   !b.deref && b.base == m->fp && fits_short(b.offset)) {
		rule->fp = WALK_SAVED_FP;
		rule->fp_offset = (int16_t)b.offset;
	}
}

/* False: of a kind that walkers do not follow. */
static bool add_ra(
	const struct cfi_common *c, const struct register_rule *p, struct walk_rule *rule)
{
	if (p->kind == CFI_OFFSET && fits_short(p->value)) {
		rule->ra = WALK_SAVED_CFA;
		rule->ra_offset = (int16_t)p->value;
		return true;
	}
	if (p->kind == CFI_REGISTER && p->value >= 0 && p->value <= UINT8_MAX) {
		rule->ra = WALK_SAVED_REGISTER;
		rule->ra_offset = (int16_t)p->value;
		return true;
	}
	/* In the link register, on machines with one. */
	rule->ra = WALK_SAVED_SAME;
	return (p->kind == CFI_SAME || p->kind == CFI_UNSPECIFIED) &&
	       c->machine->elf_machine != EM_X86_64 && c->ra_column == c->machine->ra;
}

static void add_bx(const struct register_rule *p, struct walk_rule *rule)
{
	if (p->kind == CFI_UNSPECIFIED || p->kind == CFI_SAME)
		rule->bx_offset = WALK_BX_SAME;
	else if (p->kind == CFI_OFFSET && fits_short(p->value) && p->value != WALK_BX_SAME)
		rule->bx_offset = (int16_t)p->value;
}

static struct walk_rule signal_rule(const struct cfi_common *c, const struct cfi_state *s)
{
	struct walk_rule rule = {.cfa = WALK_CFA_SIGNAL};
	struct based b;

	if (c->machine->elf_machine != EM_X86_64)
		return rule;
	if (!s->cfa_expression || !read_based(s->cfa_expression, s->cfa_expression_size, &b) ||
		!b.deref || b.add || b.base != c->machine->sp || b.offset != X86_SIGNAL_SP)
		return unsupported;
	return rule;
}

/* The CFA is the caller's stack pointer, unless a rule says otherwise. */
static bool sp_is_cfa(const struct register_rule *p)
{
	return p->kind == CFI_UNSPECIFIED || p->kind == CFI_SAME ||
	       (p->kind == CFI_VAL_OFFSET && !p->value);
}

struct walk_rule cfi_rule(const struct cfi_common *c, const struct cfi_state *s)
{
	struct walk_rule rule;

	if (c->signal_frame)
		return signal_rule(c, s);
	if (s->ra.kind == CFI_UNDEFINED)
		return (struct walk_rule){.cfa = WALK_CFA_END};
	rule = cfa_of(c, s);
	if (rule.cfa == WALK_CFA_UNSUPPORTED || !sp_is_cfa(&s->sp) || !add_ra(c, &s->ra, &rule))
		return unsupported;
	add_fp(c->machine, &s->fp, &rule);
	if (c->follows_bx)
		add_bx(&s->bx, &rule);
	return rule;
}
