// SPDX-License-Identifier: MIT
/*
 * What lanes of a warp do together. An instruction that names lanes runs when all of these that
 * live are at it; until then those that came wait, and the others go on.
 */
#include "sim/ptx/ops.h"

uint32_t live_lanes(const struct lanes *w)
{
	uint32_t live = 0;

	for (uint32_t lane = 0; lane < w->count; lane++)
		live |= (uint32_t)!w->threads[lane].ended << lane;
	return live;
}

typedef void run_together(struct lanes *w, const struct insn *i, uint32_t members);

/* Runs it for each set of lanes that names itself, and is there; the others wait. */
static enum outcome together(struct lanes *w, const struct insn *i, uint32_t mask,
	const struct operand *members, run_together *run)
{
	uint32_t live = live_lanes(w), left = mask;
	bool any = false;

	while (left) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);
		uint32_t named = members ? (uint32_t)read_operand(w, lane, members) : mask;
		uint32_t here = (named & live) | 1u << lane;

		left &= ~(here | 1u << lane);
		if (here & ~mask)
			continue;
		run(w, i, here);
		any = true;
		each_lane(k, here) w->threads[k].pc++;
	}
	return any ? MOVED : STALLED;
}

static const struct operand *last(const struct insn *i)
{
	return &i->operands[i->count - 1];
}

static void nothing(struct lanes *w, const struct insn *i, uint32_t members)
{
}

enum outcome run_warp_barrier(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return together(w, i, mask, i->operands, nothing);
}

enum outcome run_active_mask(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask) write_operand(w, lane, i->operands, mask);
	return NEXT;
}

static void vote(struct lanes *w, const struct insn *i, uint32_t members)
{
	uint32_t holds = 0;
	uint64_t result;

	each_lane(lane, members) holds |= (uint32_t)(read_operand(w, lane, &i->operands[1]) & 1)
					  << lane;
	result = has(i, WORD_ballot) ? holds
		 : has(i, WORD_all)  ? holds == members
		 : has(i, WORD_any)  ? holds != 0
				     : !holds || holds == members;
	each_lane(lane, members) write_operand(w, lane, i->operands, result);
}

/* Without .sync it is of those that happen to be there. */
enum outcome run_vote(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return together(w, i, mask, has(i, WORD_sync) ? last(i) : NULL, vote);
}

/* Which lane is read, as the ISA has it: segments by c's upper bits, its lower bits their end. */
static uint32_t source(
	const struct insn *i, uint32_t lane, uint32_t b, uint32_t c, bool *ret_inside)
{
	uint32_t segment = c >> 8 & 31, end = (lane & segment) | (c & 31 & ~segment), from;

	b &= 31;
	if (has(i, WORD_up)) {
		from = lane - b;
		*ret_inside = (int32_t)from >= (int32_t)end;
		return from;
	}
	from = has(i, WORD_down)   ? lane + b
	       : has(i, WORD_bfly) ? lane ^ b
				   : (lane & segment) | (b & ~segment);
	*ret_inside = from <= end;
	return from;
}

static void shuffle(struct lanes *w, const struct insn *i, uint32_t members)
{
	const struct operand *o = i->operands, *s = o + 1 + o->paired;
	uint64_t values[LANES] = {0};

	each_lane(lane, members) values[lane] = read_operand(w, lane, s);
	each_lane(lane, members)
	{
		bool inside;
		uint32_t from = source(i, lane, (uint32_t)read_operand(w, lane, s + 1),
			(uint32_t)read_operand(w, lane, s + 2), &inside);

		write_operand(w, lane, o, inside ? values[from & 31] : values[lane]);
		if (o->paired)
			write_operand(w, lane, o + 1, inside);
	}
}

enum outcome run_shuffle(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return together(w, i, mask, last(i), shuffle);
}

/* match.any: those with the same value; match.all: all, if they have the same. */
static void match(struct lanes *w, const struct insn *i, uint32_t members)
{
	const struct operand *o = i->operands, *s = o + 1 + o->paired;
	uint64_t values[LANES] = {0};

	each_lane(lane, members) values[lane] = read_operand(w, lane, s);
	each_lane(lane, members)
	{
		uint32_t same = 0;

		each_lane(k, members) same |= (uint32_t)(values[k] == values[lane]) << k;
		if (has(i, WORD_all) && same != members)
			same = 0;
		write_operand(w, lane, o, same);
		if (o->paired)
			write_operand(w, lane, o + 1, same != 0);
	}
}

enum outcome run_match(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return together(w, i, mask, last(i), match);
}

static void reduce(struct lanes *w, const struct insn *i, uint32_t members)
{
	uint64_t result = 0;
	bool first = true;

	each_lane(lane, members)
	{
		uint64_t value = read_operand(w, lane, &i->operands[1]);

		result = first ? value : value_atomic(i, result, value, 0);
		first = false;
	}
	each_lane(lane, members) write_operand(w, lane, i->operands, result);
}

enum outcome run_reduce(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return together(w, i, mask, last(i), reduce);
}
