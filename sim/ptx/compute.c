// SPDX-License-Identifier: MIT
/* The table of instructions, and those that compute in registers. */
#include "sim/ptx/ops.h"

// clang-format off
static const struct op ops[] = {
	{"mov", run_move, 2, 9, NULL, NULL},
	{"add", run_compute, 3, 3, value_add, value_fadd},
	{"addc", run_add_carry, 3, 3, NULL, NULL},
	{"sub", run_compute, 3, 3, value_sub, value_fsub},
	{"subc", run_add_carry, 3, 3, NULL, NULL},
	{"mul", run_compute, 3, 3, value_mul, value_fmul},
	{"mul24", run_compute, 3, 3, value_mul24, NULL},
	{"mad", run_compute, 4, 4, value_mad, value_fma},
	{"madc", run_add_carry, 4, 4, NULL, NULL},
	{"fma", run_compute, 4, 4, NULL, value_fma},
	{"div", run_compute, 3, 3, value_div, value_fdiv},
	{"rem", run_compute, 3, 3, value_rem, NULL},
	{"neg", run_compute, 2, 2, value_neg, value_fneg},
	{"abs", run_compute, 2, 2, value_abs, value_fabs},
	{"min", run_compute, 3, 3, value_min, value_fmin},
	{"max", run_compute, 3, 3, value_max, value_fmax},
	{"and", run_compute, 3, 3, value_and, NULL},
	{"or", run_compute, 3, 3, value_or, NULL},
	{"xor", run_compute, 3, 3, value_xor, NULL},
	{"not", run_compute, 2, 2, value_not, NULL},
	{"cnot", run_compute, 2, 2, value_cnot, NULL},
	{"shl", run_compute, 3, 3, value_shl, NULL},
	{"shr", run_compute, 3, 3, value_shr, NULL},
	{"shf", run_compute, 4, 4, value_shf, NULL},
	{"lop3", run_compute, 5, 5, value_lop3, NULL},
	{"prmt", run_compute, 4, 4, value_prmt, NULL},
	{"bfe", run_compute, 4, 4, value_bfe, NULL},
	{"bfi", run_compute, 5, 5, value_bfi, NULL},
	{"bfind", run_compute, 2, 2, value_bfind, NULL},
	{"brev", run_compute, 2, 2, value_brev, NULL},
	{"clz", run_compute, 2, 2, value_clz, NULL},
	{"popc", run_compute, 2, 2, value_popc, NULL},
	{"sad", run_compute, 4, 4, value_sad, NULL},
	{"dp4a", run_compute, 4, 4, value_dp4a, NULL},
	{"selp", run_compute, 4, 4, value_selp, value_selp},
	{"slct", run_compute, 4, 4, value_slct, value_slct},
	{"rcp", run_compute, 2, 2, NULL, value_rcp},
	{"sqrt", run_compute, 2, 2, NULL, value_sqrt},
	{"rsqrt", run_compute, 2, 2, NULL, value_rsqrt},
	{"ex2", run_compute, 2, 2, NULL, value_ex2},
	{"lg2", run_compute, 2, 2, NULL, value_lg2},
	{"sin", run_compute, 2, 2, NULL, value_sin},
	{"cos", run_compute, 2, 2, NULL, value_cos},
	{"tanh", run_compute, 2, 2, NULL, value_tanh},
	{"copysign", run_compute, 3, 3, NULL, value_copysign},
	{"cvt", run_compute, 2, 2, value_convert, value_convert},
	{"setp", run_set_predicate, 3, 5, NULL, NULL},
	{"set", run_set, 3, 4, NULL, NULL},
	{"cvta", run_convert_address, 2, 2, NULL, NULL},
	{"isspacep", run_is_space, 2, 2, NULL, NULL},
	{"ld", run_load, 2, 10, NULL, NULL},
	{"ldu", run_load, 2, 10, NULL, NULL},
	{"st", run_store, 2, 10, NULL, NULL},
	{"atom", run_atomic, 3, 5, NULL, NULL},
	{"red", run_atomic, 2, 3, NULL, NULL},
	{"cp", run_copy_async, 0, 5, NULL, NULL},
	{"createpolicy", run_nothing, 1, 4, NULL, NULL},
	{"prefetch", run_nothing, 1, 1, NULL, NULL},
	{"prefetchu", run_nothing, 1, 1, NULL, NULL},
	{"bra", run_branch, 0, 0, NULL, NULL},
	{"brx", run_branch_table, 1, 1, NULL, NULL},
	{"call", run_call, 0, OPERANDS_MAX, NULL, NULL},
	{"ret", run_return, 0, 0, NULL, NULL},
	{"exit", run_exit, 0, 0, NULL, NULL},
	{"trap", run_trap, 0, 0, NULL, NULL},
	{"bar", run_barrier, 1, 2, NULL, NULL},
	{"barrier", run_barrier, 1, 2, NULL, NULL},
	{"membar", run_nothing, 0, 0, NULL, NULL},
	{"fence", run_nothing, 0, 0, NULL, NULL},
	{"nanosleep", run_nothing, 1, 1, NULL, NULL},
	{"griddepcontrol", run_nothing, 0, 0, NULL, NULL},
	{"shfl", run_shuffle, 5, 6, NULL, NULL},
	{"vote", run_vote, 2, 3, NULL, NULL},
	{"match", run_match, 3, 4, NULL, NULL},
	{"redux", run_reduce, 3, 3, NULL, NULL},
	{"activemask", run_active_mask, 1, 1, NULL, NULL},
};
// clang-format on

const struct op *sim_ptx_op(const struct ptx_token *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (ptx_is_op(name, ops[i].name))
			return &ops[i];
	return NULL;
}

enum outcome run_nothing(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return NEXT;
}

enum outcome run_compute(struct lanes *w, const struct insn *i, uint32_t mask)
{
	value_of *value = i->type.kind == 'f' ? i->op->of_floats : i->op->value;

	each_lane(lane, mask)
	{
		uint64_t s[4] = {0};

		for (unsigned int k = 1; k < i->count && k <= 4; k++)
			s[k - 1] = read_operand(w, lane, &i->operands[k]);
		write_operand(w, lane, &i->operands[0], value(i, s));
	}
	return NEXT;
}

/* mov d, a; d, {a, b, ...}; {d, e, ...}, a: parts of equal size, the first is the lowest. */
enum outcome run_move(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;
	unsigned int to = o[0].vector ? o[0].vector : 1, from = i->count - to;

	each_lane(lane, mask)
	{
		unsigned int bits = i->type.bytes * 8u / (to > from ? to : from);
		uint64_t value = 0;

		for (unsigned int k = 0; k < from; k++)
			value |= (from > 1 ? cut(read_operand(w, lane, &o[to + k]), bits / 8)
					   : read_operand(w, lane, &o[to]))
				 << k * bits % 64;
		for (unsigned int k = 0; k < to; k++)
			write_operand(w, lane, &o[k],
				to > 1 ? cut(value >> k * bits % 64, bits / 8) : value);
	}
	return NEXT;
}

static bool compare(const struct insn *i, uint64_t a, uint64_t b)
{
	return i->type.kind == 'f' ? compare_floats(i, a, b) : compare_integers(i, a, b);
}

static bool combine(const struct insn *i, bool a, bool b)
{
	return has(i, WORD_and) ? a && b : has(i, WORD_or) ? a || b : a != b;
}

/* setp p|q, a, b, c: the comparison and c, its opposite and c. */
enum outcome run_set_predicate(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands, *s = o + 1 + o->paired;
	bool combined = i->count > 3 + o->paired;

	each_lane(lane, mask)
	{
		bool holds = compare(i, read_operand(w, lane, s), read_operand(w, lane, s + 1));
		bool c = combined && read_operand(w, lane, s + 2) & 1;

		if (o->paired)
			write_operand(w, lane, o + 1, combined ? combine(i, !holds, c) : !holds);
		write_operand(w, lane, o, combined ? combine(i, holds, c) : holds);
	}
	return NEXT;
}

/* set.eq.u32.f32: all ones where it holds, or 1.0. */
enum outcome run_set(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;

	each_lane(lane, mask)
	{
		bool holds = compare(i, read_operand(w, lane, o + 1), read_operand(w, lane, o + 2));

		if (i->count > 3)
			holds = combine(i, holds, read_operand(w, lane, o + 3) & 1);
		write_operand(w, lane, o,
			!holds		      ? 0
			: i->from.kind == 'f' ? 0x3f800000
					      : UINT64_MAX);
	}
	return NEXT;
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: each thread has a bit that is carried, or borrowed. */
enum outcome run_add_carry(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;
	bool takes = strchr(i->op->name, 'c') != NULL, subtracts = *i->op->name == 's';
	unsigned int bits = i->type.bytes * 8u;

	each_lane(lane, mask)
	{
		struct thread *t = &w->threads[lane];
		uint64_t s[2] = {read_operand(w, lane, o + 1), read_operand(w, lane, o + 2)};
		unsigned __int128 sum = s[0], other = s[1];

		if (i->count == 4) { /* what is multiplied counts with its type's bits */
			sum = cut(value_mul(i, s), i->type.bytes);
			other = read_operand(w, lane, o + 3);
		}
		sum = subtracts ? sum - other - (takes && t->carry)
				: sum + other + (takes && t->carry);
		if (has(i, WORD_cc))
			t->carry = sum >> bits & 1;
		write_operand(w, lane, o, (uint64_t)sum);
	}
	return NEXT;
}
