// SPDX-License-Identifier: MIT
/*
 * What integer instructions compute from up to four values. Each value has zeros above its type's
 * size; what is above it in the result is cut off by the register it goes to.
 */
#include "sim/ptx/ops.h"

#define BITS(i) ((i)->type.bytes * 8u)

static bool is_signed(const struct insn *i)
{
	return i->type.kind == 's';
}

static int64_t as_signed(const struct insn *i, uint64_t value)
{
	return (int64_t)sign_extend(value, i->type.bytes);
}

uint64_t value_move(const struct insn *i, const uint64_t s[4])
{
	return s[0];
}

/* add.sat and sub.sat are of s32 alone. */
static uint64_t saturated(const struct insn *i, int64_t sum)
{
	if (!has(i, WORD_sat))
		return (uint64_t)sum;
	return (uint64_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
}

uint64_t value_add(const struct insn *i, const uint64_t s[4])
{
	return saturated(i, (int64_t)((uint64_t)as_signed(i, s[0]) + (uint64_t)as_signed(i, s[1])));
}

uint64_t value_sub(const struct insn *i, const uint64_t s[4])
{
	return saturated(i, (int64_t)((uint64_t)as_signed(i, s[0]) - (uint64_t)as_signed(i, s[1])));
}

uint64_t value_mul(const struct insn *i, const uint64_t s[4])
{
	if (!has(i, WORD_hi))
		return is_signed(i) ? (uint64_t)as_signed(i, s[0]) * (uint64_t)as_signed(i, s[1])
				    : s[0] * s[1];
	if (is_signed(i))
		return (uint64_t)((__int128)as_signed(i, s[0]) * as_signed(i, s[1]) >> BITS(i));
	return (uint64_t)((unsigned __int128)s[0] * s[1] >> BITS(i));
}

uint64_t value_mad(const struct insn *i, const uint64_t s[4])
{
	return value_mul(i, s) + s[2];
}

uint64_t value_mul24(const struct insn *i, const uint64_t s[4])
{
	uint64_t a = is_signed(i) ? (uint64_t)((int64_t)(s[0] << 40) >> 40) : s[0] & 0xffffff;
	uint64_t b = is_signed(i) ? (uint64_t)((int64_t)(s[1] << 40) >> 40) : s[1] & 0xffffff;

	return has(i, WORD_hi) ? a * b >> 16 : a * b;
}

/* By zero: all ones; the remainder is what was divided. */
uint64_t value_div(const struct insn *i, const uint64_t s[4])
{
	int64_t a = as_signed(i, s[0]), b = as_signed(i, s[1]);

	if (!s[1])
		return UINT64_MAX;
	if (!is_signed(i))
		return s[0] / s[1];
	return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

uint64_t value_rem(const struct insn *i, const uint64_t s[4])
{
	int64_t a = as_signed(i, s[0]), b = as_signed(i, s[1]);

	if (!s[1])
		return s[0];
	if (!is_signed(i))
		return s[0] % s[1];
	return b == -1 ? 0 : (uint64_t)(a % b);
}

uint64_t value_neg(const struct insn *i, const uint64_t s[4])
{
	return 0 - s[0];
}

uint64_t value_abs(const struct insn *i, const uint64_t s[4])
{
	return as_signed(i, s[0]) < 0 ? 0 - s[0] : s[0];
}

static bool less(const struct insn *i, uint64_t a, uint64_t b)
{
	return is_signed(i) ? as_signed(i, a) < as_signed(i, b) : a < b;
}

uint64_t value_min(const struct insn *i, const uint64_t s[4])
{
	return less(i, s[0], s[1]) ? s[0] : s[1];
}

uint64_t value_max(const struct insn *i, const uint64_t s[4])
{
	return less(i, s[0], s[1]) ? s[1] : s[0];
}

uint64_t value_and(const struct insn *i, const uint64_t s[4])
{
	return s[0] & s[1];
}

uint64_t value_or(const struct insn *i, const uint64_t s[4])
{
	return s[0] | s[1];
}

uint64_t value_xor(const struct insn *i, const uint64_t s[4])
{
	return s[0] ^ s[1];
}

uint64_t value_not(const struct insn *i, const uint64_t s[4])
{
	return ~s[0];
}

uint64_t value_cnot(const struct insn *i, const uint64_t s[4])
{
	return !s[0];
}

/* Shifts clamp at the width. */
uint64_t value_shl(const struct insn *i, const uint64_t s[4])
{
	uint32_t by = (uint32_t)s[1];

	return by >= BITS(i) ? 0 : s[0] << by;
}

uint64_t value_shr(const struct insn *i, const uint64_t s[4])
{
	uint32_t by = (uint32_t)s[1], most = BITS(i) - 1;

	if (is_signed(i))
		return (uint64_t)(as_signed(i, s[0]) >> (by > most ? most : by));
	return by > most ? 0 : s[0] >> by;
}

uint64_t value_shf(const struct insn *i, const uint64_t s[4])
{
	uint64_t both = s[1] << 32 | s[0];
	uint32_t by = (uint32_t)s[2];

	by = has(i, WORD_clamp) ? (by > 32 ? 32 : by) : by & 31;
	return has(i, WORD_l) ? both << by >> 32 : both >> by;
}

uint64_t value_lop3(const struct insn *i, const uint64_t s[4])
{
	uint64_t result = 0;

	for (unsigned int row = 0; row < 8; row++)
		if (s[3] >> row & 1)
			result |= (row & 4 ? s[0] : ~s[0]) & (row & 2 ? s[1] : ~s[1]) &
				  (row & 1 ? s[2] : ~s[2]);
	return result;
}

static unsigned int selector(const struct insn *i, unsigned int k, uint64_t c)
{
	unsigned int at = c & 3;

	if (has(i, WORD_f4e))
		return at + k;
	if (has(i, WORD_b4e))
		return (at + 8 - k) & 7;
	if (has(i, WORD_rc8))
		return at;
	if (has(i, WORD_ecl))
		return at > k ? at : k;
	if (has(i, WORD_ecr))
		return at < k ? at : k;
	if (has(i, WORD_rc16))
		return (at & 1) * 2 + (k & 1);
	return c >> k * 4 & 15;
}

uint64_t value_prmt(const struct insn *i, const uint64_t s[4])
{
	uint64_t both = s[1] << 32 | s[0], result = 0;

	for (unsigned int k = 0; k < 4; k++) {
		unsigned int from = selector(i, k, s[2]);
		uint64_t byte = both >> (from & 7) * 8 & 255;

		if (from & 8)
			byte = byte & 0x80 ? 255 : 0;
		result |= byte << k * 8;
	}
	return result;
}

uint64_t value_bfe(const struct insn *i, const uint64_t s[4])
{
	unsigned int position = s[1] & 255, length = s[2] & 255, bits = BITS(i);
	bool negative;
	uint64_t result = 0;

	if (!length)
		return 0;
	negative = is_signed(i) &&
		   s[0] >> (position + length - 1 < bits ? position + length - 1 : bits - 1) & 1;
	for (unsigned int k = 0; k < bits; k++)
		if (k < length && position + k < bits ? s[0] >> (position + k) & 1 : negative)
			result |= 1ull << k;
	return result;
}

uint64_t value_bfi(const struct insn *i, const uint64_t s[4])
{
	unsigned int position = s[2] & 255, length = s[3] & 255;
	uint64_t result = s[1];

	for (unsigned int k = 0; k < length && position + k < BITS(i); k++)
		result = (result & ~(1ull << (position + k))) | (s[0] >> k & 1) << (position + k);
	return result;
}

uint64_t value_bfind(const struct insn *i, const uint64_t s[4])
{
	uint64_t a = as_signed(i, s[0]) < 0 && is_signed(i) ? cut(~s[0], i->type.bytes) : s[0];
	uint64_t at;

	if (!a)
		return UINT32_MAX;
	at = 63 - (uint64_t)__builtin_clzll(a);
	return has(i, WORD_shiftamt) ? BITS(i) - 1 - at : at;
}

uint64_t value_brev(const struct insn *i, const uint64_t s[4])
{
	uint64_t result = 0;

	for (unsigned int k = 0; k < BITS(i); k++)
		result |= (s[0] >> k & 1) << (BITS(i) - 1 - k);
	return result;
}

uint64_t value_clz(const struct insn *i, const uint64_t s[4])
{
	return s[0] ? (uint64_t)__builtin_clzll(s[0]) - (64 - BITS(i)) : BITS(i);
}

uint64_t value_popc(const struct insn *i, const uint64_t s[4])
{
	return (uint64_t)__builtin_popcountll(s[0]);
}

uint64_t value_sad(const struct insn *i, const uint64_t s[4])
{
	return (less(i, s[0], s[1]) ? s[1] - s[0] : s[0] - s[1]) + s[2];
}

/* Four products of bytes, signed by the two types of the instruction, and a sum. */
uint64_t value_dp4a(const struct insn *i, const uint64_t s[4])
{
	uint64_t sum = s[2];

	for (unsigned int k = 0; k < 32; k += 8) {
		uint64_t a = s[0] >> k & 255, b = s[1] >> k & 255;

		a = i->from.kind == 's' ? sign_extend(a, 1) : a;
		b = i->type.kind == 's' ? sign_extend(b, 1) : b;
		sum += a * b;
	}
	return sum;
}

uint64_t value_selp(const struct insn *i, const uint64_t s[4])
{
	return s[2] & 1 ? s[0] : s[1];
}

uint64_t value_slct(const struct insn *i, const uint64_t s[4])
{
	/* The type of what decides is the last: s32 or f32, both with their sign in bit 31. A
	 * float of -0 counts as not negative. */
	bool negative = s[2] >> 31 & 1 && !(i->type.kind == 'f' && s[2] == 0x80000000);

	return negative ? s[1] : s[0];
}

bool compare_integers(const struct insn *i, uint64_t a, uint64_t b)
{
	bool below = less(i, a, b);

	if (has(i, WORD_eq))
		return a == b;
	if (has(i, WORD_ne))
		return a != b;
	if (has(i, WORD_lt) || has(i, WORD_lo))
		return below;
	if (has(i, WORD_le) || has(i, WORD_ls))
		return below || a == b;
	if (has(i, WORD_gt) || has(i, WORD_hi))
		return !below && a != b;
	return !below;
}
