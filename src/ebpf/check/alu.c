// SPDX-License-Identifier: MIT
/* Arithmetic: on numbers all of it, on pointers moves, and sums with numbers. */
#include "ebpf/check/transfer.h"

static bool is_pointer(const struct value *v)
{
	return v->kind != VALUE_NUMBER;
}

static int unknown(const struct checking *c)
{
	return refuse(c, "unknown instruction 0x%02x", step_of(c)->insn.code);
}

/* BPF_END, also that of cpu v4, which always swaps: numbers of `imm` bits. */
static int check_swap(struct checking *c, struct value *d)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	struct number n;

	if (i->imm != 16 && i->imm != 32 && i->imm != 64)
		return unknown(c);
	if (is_pointer(d))
		return refuse(c, "swaps the bytes of a pointer");
	n = number_low(number_unknown(), (unsigned int)i->imm, false);
	if (BPF_CLASS(i->code) == BPF_ALU && BPF_SRC(i->code) == BPF_TO_LE)
		n = number_low(d->number, (unsigned int)i->imm, false);
	*d = value_number(n);
	return 0;
}

static int check_move(struct checking *c, struct value *d, const struct value *s)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	bool is_32 = BPF_CLASS(i->code) == BPF_ALU;
	struct number n;

	if (!is_32 && !i->off) {
		*d = *s;
		return 0;
	}
	if (is_pointer(s))
		return refuse(c, "uses part of a pointer as a number");
	if (i->off && (BPF_SRC(i->code) != BPF_X || (i->off != 8 && i->off != 16 && i->off != 32)))
		return unknown(c);
	n = i->off ? number_low(s->number, (unsigned int)i->off, true) : s->number;
	*d = value_number(is_32 ? number_low(n, 32, false) : n);
	return 0;
}

static int check_pointer_sum(struct checking *c, uint8_t op, struct value *d, const struct value *s)
{
	struct value pointer = is_pointer(d) ? *d : *s;
	struct number by = is_pointer(d) ? s->number : d->number;

	if (BPF_CLASS(step_of(c)->insn.code) != BPF_ALU64 || (op != BPF_ADD && op != BPF_SUB) ||
		(is_pointer(d) && is_pointer(s)) || (op == BPF_SUB && is_pointer(s)))
		return refuse(c, "calculates with a pointer");
	if (pointer.kind == VALUE_MAP || pointer.kind == VALUE_FUNCTION)
		return refuse(c, "calculates with a map or function");
	if (pointer.maybe_null)
		return refuse(c, "calculates with the result of a look-up that was not compared "
				 "with NULL");
	pointer.number = number_alu(op, false, false, pointer.number, by);
	*d = pointer;
	return 0;
}

static bool is_known(const struct bpf_insn *i)
{
	uint8_t op = BPF_OP(i->code);
	bool is_division = op == BPF_DIV || op == BPF_MOD;

	/* It has one operand; the translation would look at a second. */
	if (op == BPF_NEG && BPF_SRC(i->code) == BPF_X)
		return false;
	return op <= BPF_END && (!i->off || (is_division && i->off == 1) || op == BPF_MOV);
}

static bool shifts_too_far(const struct bpf_insn *i)
{
	uint8_t op = BPF_OP(i->code);
	uint32_t bits = BPF_CLASS(i->code) == BPF_ALU ? 32 : 64;

	return BPF_SRC(i->code) == BPF_K && (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) &&
	       (uint32_t)i->imm >= bits;
}

int check_alu(struct checking *c)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	struct value *d = register_of(c, i->dst_reg);
	struct value constant = value_number(number_constant((uint64_t)(int64_t)i->imm));
	uint8_t op = BPF_OP(i->code);
	bool uses_source = BPF_SRC(i->code) == BPF_X && op != BPF_END;
	const struct value *s = uses_source ? register_of(c, i->src_reg) : &constant;
	int error = 0;

	if (!is_known(i))
		return unknown(c);
	if (shifts_too_far(i))
		return refuse(c, "shifts by %d bits", i->imm);
	if (i->dst_reg == FLOW_STACK_REGISTER)
		return refuse(c, "changes r10");
	if (op != BPF_MOV)
		error = check_set(c, i->dst_reg);
	if (!error && uses_source)
		error = check_set(c, i->src_reg);
	if (error)
		return error;
	if (op == BPF_END)
		return check_swap(c, d);
	if (op == BPF_MOV)
		return check_move(c, d, s);
	if (is_pointer(d) || is_pointer(s))
		return check_pointer_sum(c, op, d, s);
	*d = value_number(
		number_alu(op, BPF_CLASS(i->code) == BPF_ALU, i->off == 1, d->number, s->number));
	return 0;
}
