// SPDX-License-Identifier: MIT
/*
 * What a jump tells of the numbers it compares. Of the ten ways to compare, five are enough: the
 * others are these the other way round.
 */
#include <linux/bpf.h>

#include "ebpf/check/number.h"

enum relation { EQUAL, UNEQUAL, BELOW, NOT_ABOVE, SIGNED_BELOW, SIGNED_NOT_ABOVE, SET, NOT_SET };

/* Bounds that cross show that it cannot come to this. */
static bool settled(struct number *n)
{
	*n = number_settle(*n);
	return n->umin <= n->umax && n->smin <= n->smax && n->value <= n->umax &&
	       (n->value | n->mask) >= n->umin;
}

static bool equal(struct number *a, struct number *b)
{
	struct number n = *a;

	if ((a->value ^ b->value) & ~(a->mask | b->mask))
		return false;
	n.mask = a->mask & b->mask;
	n.value = (a->value | b->value) & ~n.mask;
	if (b->umin > n.umin)
		n.umin = b->umin;
	if (b->umax < n.umax)
		n.umax = b->umax;
	if (b->smin > n.smin)
		n.smin = b->smin;
	if (b->smax < n.smax)
		n.smax = b->smax;
	*a = *b = n;
	return settled(a) && settled(b);
}

/* A constant at one end of the bounds makes them closer. */
static bool unequal(struct number *a, struct number *b)
{
	if (number_is_constant(a) && number_is_constant(b))
		return a->umin != b->umin;
	if (number_is_constant(a))
		return unequal(b, a);
	if (!number_is_constant(b))
		return true;
	if (a->umin == b->umin)
		a->umin++;
	if (a->umax == b->umin)
		a->umax--;
	if (a->smin == b->smin)
		a->smin++;
	if (a->smax == b->smin)
		a->smax--;
	return settled(a);
}

/* a < b, or a <= b */
static bool below(struct number *a, struct number *b, bool or_equal)
{
	uint64_t strictly = !or_equal;

	if (strictly && (!b->umax || a->umin == UINT64_MAX))
		return false;
	if (b->umax - strictly < a->umax)
		a->umax = b->umax - strictly;
	if (a->umin + strictly > b->umin)
		b->umin = a->umin + strictly;
	return settled(a) && settled(b);
}

static bool signed_below(struct number *a, struct number *b, bool or_equal)
{
	int64_t strictly = !or_equal;

	if (strictly && (b->smax == INT64_MIN || a->smin == INT64_MAX))
		return false;
	if (b->smax - strictly < a->smax)
		a->smax = b->smax - strictly;
	if (a->smin + strictly > b->smin)
		b->smin = a->smin + strictly;
	return settled(a) && settled(b);
}

/* a & b is not 0, or is 0; b is a mask that is known. */
static bool has_bits(struct number *a, const struct number *b, bool set)
{
	if (!number_is_constant(b))
		return true;
	if (set) {
		if (!((a->value | a->mask) & b->value))
			return false;
		if (!(b->value & (b->value - 1))) {
			a->value |= b->value;
			a->mask &= ~b->value;
		}
		return settled(a);
	}
	if (a->value & b->value)
		return false;
	a->mask &= ~b->value;
	return settled(a);
}

static bool apply(enum relation relation, struct number *a, struct number *b)
{
	switch (relation) {
	case EQUAL:
		return equal(a, b);
	case UNEQUAL:
		return unequal(a, b);
	case BELOW:
	case NOT_ABOVE:
		return below(a, b, relation == NOT_ABOVE);
	case SIGNED_BELOW:
	case SIGNED_NOT_ABOVE:
		return signed_below(a, b, relation == SIGNED_NOT_ABOVE);
	case SET:
	case NOT_SET:
		return has_bits(a, b, relation == SET);
	}
	return true;
}

static const struct {
	uint8_t op;
	bool swapped;
	enum relation taken;
	bool otherwise_swapped;
	enum relation otherwise;
} relations[] = {
	{BPF_JEQ, false, EQUAL, false, UNEQUAL},
	{BPF_JNE, false, UNEQUAL, false, EQUAL},
	{BPF_JLT, false, BELOW, true, NOT_ABOVE},
	{BPF_JLE, false, NOT_ABOVE, true, BELOW},
	{BPF_JGT, true, BELOW, false, NOT_ABOVE},
	{BPF_JGE, true, NOT_ABOVE, false, BELOW},
	{BPF_JSLT, false, SIGNED_BELOW, true, SIGNED_NOT_ABOVE},
	{BPF_JSLE, false, SIGNED_NOT_ABOVE, true, SIGNED_BELOW},
	{BPF_JSGT, true, SIGNED_BELOW, false, SIGNED_NOT_ABOVE},
	{BPF_JSGE, true, SIGNED_NOT_ABOVE, false, SIGNED_BELOW},
	{BPF_JSET, false, SET, false, NOT_SET},
};

/*
 * Compares of 32 bits tell of the whole number only where nothing is above them: then they are the
 * same as those of 64, also with sign, where the 32nd bit is clear.
 */
static bool tells(
	enum relation relation, bool is_32, const struct number *a, const struct number *b)
{
	uint64_t limit =
		relation == SIGNED_BELOW || relation == SIGNED_NOT_ABOVE ? INT32_MAX : UINT32_MAX;

	return !is_32 || (a->umax <= limit && b->umax <= limit);
}

bool number_refine(uint8_t op, bool is_32, bool taken, struct number *a, struct number *b)
{
	for (unsigned int i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
		bool swapped = taken ? relations[i].swapped : relations[i].otherwise_swapped;
		enum relation relation = taken ? relations[i].taken : relations[i].otherwise;

		if (relations[i].op != op || !tells(relation, is_32, a, b))
			continue;
		return apply(relation, swapped ? b : a, swapped ? a : b);
	}
	return true;
}
