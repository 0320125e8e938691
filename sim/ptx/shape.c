// SPDX-License-Identifier: MIT
/* Whether an instruction has the operands and the types that what runs it takes for granted. */
#include "sim/ptx/decode.h"

#define VECTOR_MAX 8u

static unsigned int parts_of(const struct operand *o)
{
	return o->vector ? o->vector : 1;
}

static bool is_load(const struct insn *i, const struct operand *o)
{
	unsigned int n = parts_of(o);

	return n <= VECTOR_MAX && i->count == n + 1 && o[n].in_memory;
}

static bool is_store(const struct insn *i, const struct operand *o)
{
	unsigned int n = parts_of(o + 1);

	return n <= VECTOR_MAX && i->count == n + 1 && o->in_memory;
}

static bool is_atomic(const struct insn *i, const struct operand *o)
{
	unsigned int first = o->in_memory ? 1 : 2;

	return o[first - 1].in_memory && i->count == first + (has(i, WORD_cas) ? 2u : 1u);
}

/* One to one, one to many or many to one, of whole bytes. */
static bool is_move(const struct insn *i, const struct operand *o)
{
	unsigned int to = parts_of(o), from, most;

	if (to >= i->count)
		return false;
	from = parts_of(o + to);
	most = to > from ? to : from;
	return to + from == i->count && (to == 1 || from == 1) && i->type.bytes % most == 0;
}

/* Up to two that are set, "p|q", and so many behind them. */
static bool is_paired(
	const struct insn *i, const struct operand *o, unsigned int least, unsigned int most)
{
	unsigned int set = 1u + o->paired;

	return i->count >= set + least && i->count <= set + most;
}

static bool is_copy(const struct insn *i, const struct operand *o)
{
	return i->count < 3 || (o->in_memory && o[1].in_memory);
}

static bool needs_no_type(const struct insn *i)
{
	static run_insn *const those[] = {run_nothing, run_branch, run_branch_table, run_call,
		run_return, run_exit, run_trap, run_barrier, run_copy_async, run_is_space};

	for (size_t k = 0; k < sizeof(those) / sizeof(*those); k++)
		if (i->run == those[k])
			return true;
	return false;
}

bool decode_fits(const struct insn *i, const struct operand *o)
{
	if (!i->type.kind && !needs_no_type(i))
		return false;
	if (i->run == run_load)
		return is_load(i, o);
	if (i->run == run_store)
		return is_store(i, o);
	if (i->run == run_atomic)
		return is_atomic(i, o);
	if (i->run == run_move)
		return is_move(i, o);
	if (i->run == run_copy_async)
		return is_copy(i, o);
	if (i->run == run_set_predicate)
		return is_paired(i, o, 2, 3);
	if (i->run == run_shuffle)
		return is_paired(i, o, 4, 4);
	if (i->run == run_match)
		return is_paired(i, o, 2, 2);
	return i->run != run_vote || i->count == 2u + has(i, WORD_sync);
}
