// SPDX-License-Identifier: MIT
#include "ebpf/check/number.h"

#include <linux/bpf.h>

#define SIGN (1ull << 63)

static uint64_t max_u(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int64_t max_s(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min_s(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* All bits below the highest one set. */
static uint64_t below_highest(uint64_t n)
{
	return n ? ~0ull >> __builtin_clzll(n) : 0;
}

struct number number_constant(uint64_t value)
{
	return (struct number){value, 0, value, value, (int64_t)value, (int64_t)value};
}

struct number number_unknown(void)
{
	return (struct number){0, ~0ull, 0, UINT64_MAX, INT64_MIN, INT64_MAX};
}

struct number number_settle(struct number n)
{
	uint64_t differ;

	for (int i = 0; i < 2; i++) {
		n.umin = max_u(n.umin, n.value);
		n.umax = min_u(n.umax, n.value | n.mask);
		if (n.smin >= 0 || n.smax < 0) {
			n.umin = max_u(n.umin, (uint64_t)n.smin);
			n.umax = min_u(n.umax, (uint64_t)n.smax);
		}
		if ((n.umin ^ n.umax) < SIGN) {
			n.smin = max_s(n.smin, (int64_t)n.umin);
			n.smax = min_s(n.smax, (int64_t)n.umax);
		}
		differ = below_highest(n.umin ^ n.umax);
		n.value |= n.umin & n.mask & ~differ;
		n.mask &= differ;
	}
	return n;
}

static struct number of_bits(uint64_t value, uint64_t mask)
{
	struct number n = number_unknown();

	n.value = value & ~mask;
	n.mask = mask;
	return number_settle(n);
}

static struct number of_bounds(uint64_t umin, uint64_t umax)
{
	struct number n = number_unknown();

	n.umin = umin;
	n.umax = umax;
	return number_settle(n);
}

static struct number of_signed_bounds(int64_t smin, int64_t smax)
{
	struct number n = number_unknown();

	n.smin = smin;
	n.smax = smax;
	return number_settle(n);
}

/* What is in both; both cover the number, so there is something. */
static struct number meet(struct number a, struct number b)
{
	uint64_t known = (a.value & ~a.mask) | (b.value & ~b.mask);

	a.mask &= b.mask;
	a.value = known & ~a.mask;
	a.umin = max_u(a.umin, b.umin);
	a.umax = min_u(a.umax, b.umax);
	a.smin = max_s(a.smin, b.smin);
	a.smax = min_s(a.smax, b.smax);
	return number_settle(a);
}

struct number number_up_to(uint64_t umax)
{
	return of_bounds(0, umax);
}

bool number_equal(const struct number *a, const struct number *b)
{
	return a->value == b->value && a->mask == b->mask && a->umin == b->umin &&
	       a->umax == b->umax && a->smin == b->smin && a->smax == b->smax;
}

struct number number_join(struct number a, struct number b)
{
	uint64_t mask = a.mask | b.mask | (a.value ^ b.value);

	return (struct number){
		.value = a.value & ~mask,
		.mask = mask,
		.umin = min_u(a.umin, b.umin),
		.umax = max_u(a.umax, b.umax),
		.smin = min_s(a.smin, b.smin),
		.smax = max_s(a.smax, b.smax),
	};
}

struct number number_widen(struct number a, struct number b)
{
	struct number n = number_join(a, b);

	if (n.umin < a.umin)
		n.umin = 0;
	if (n.umax > a.umax)
		n.umax = UINT64_MAX;
	if (n.smin < a.smin)
		n.smin = INT64_MIN;
	if (n.smax > a.smax)
		n.smax = INT64_MAX;
	return n;
}

static struct number add(struct number a, struct number b)
{
	uint64_t value = a.value + b.value, carries = (a.mask + b.mask + value) ^ value;
	struct number n = of_bits(value, carries | a.mask | b.mask);
	uint64_t umin, umax;
	int64_t smin, smax;

	if (!__builtin_add_overflow(a.umax, b.umax, &umax)) {
		umin = a.umin + b.umin;
		n = meet(n, of_bounds(umin, umax));
	}
	if (!__builtin_add_overflow(a.smin, b.smin, &smin) &&
		!__builtin_add_overflow(a.smax, b.smax, &smax))
		n = meet(n, of_signed_bounds(smin, smax));
	return n;
}

static struct number subtract(struct number a, struct number b)
{
	uint64_t value = a.value - b.value;
	uint64_t borrows = (value + a.mask) ^ (value - b.mask);
	struct number n = of_bits(value, borrows | a.mask | b.mask);
	int64_t smin, smax;

	if (a.umin >= b.umax)
		n = meet(n, of_bounds(a.umin - b.umax, a.umax - b.umin));
	if (!__builtin_sub_overflow(a.smin, b.smax, &smin) &&
		!__builtin_sub_overflow(a.smax, b.smin, &smax))
		n = meet(n, of_signed_bounds(smin, smax));
	return n;
}

static struct number multiply(struct number a, struct number b)
{
	unsigned int zeros = 0;
	uint64_t umax;
	struct number n;

	/* Zeros at the end of both add up. */
	for (; zeros < 64 && !((a.value | a.mask) >> zeros & 1); zeros++)
		;
	for (unsigned int i = 0; zeros < 64 && i < 64 && !((b.value | b.mask) >> i & 1); i++)
		zeros++;
	n = of_bits(0, zeros < 64 ? ~0ull << zeros : 0);
	if (!__builtin_mul_overflow(a.umax, b.umax, &umax))
		n = meet(n, of_bounds(a.umin * b.umin, umax));
	return n;
}

static struct number divide(struct number a, struct number b)
{
	/* By 0 is 0. */
	return of_bounds(b.umin ? a.umin / b.umax : 0, b.umin ? a.umax / b.umin : a.umax);
}

static struct number remainder_of(struct number a, struct number b)
{
	/* By 0 is what was to be divided. */
	return of_bounds(0, b.umin ? min_u(a.umax, b.umax - 1) : a.umax);
}

static struct number and_of(struct number a, struct number b)
{
	uint64_t may = (a.value | a.mask) & (b.value | b.mask), must = a.value & b.value;

	return meet(of_bits(must, may & ~must), number_up_to(min_u(a.umax, b.umax)));
}

static struct number or_of(struct number a, struct number b)
{
	uint64_t must = a.value | b.value, may = must | a.mask | b.mask;

	return meet(of_bits(must, may & ~must), of_bounds(max_u(a.umin, b.umin), UINT64_MAX));
}

static struct number xor_of(struct number a, struct number b)
{
	return of_bits(a.value ^ b.value, a.mask | b.mask);
}

static struct number shift_left(struct number a, unsigned int by)
{
	struct number n = of_bits(a.value << by, a.mask << by);

	if (by < 64 && a.umax <= UINT64_MAX >> by)
		n = meet(n, of_bounds(a.umin << by, a.umax << by));
	return n;
}

static struct number shift_right(struct number a, unsigned int by)
{
	return meet(of_bits(a.value >> by, a.mask >> by), of_bounds(a.umin >> by, a.umax >> by));
}

/* The mask's sign bit is copied, too: what is unknown stays so. */
static struct number shift_right_signed(struct number a, unsigned int by)
{
	struct number n =
		of_bits((uint64_t)((int64_t)a.value >> by), (uint64_t)((int64_t)a.mask >> by));

	return meet(n, of_signed_bounds(a.smin >> by, a.smax >> by));
}

static struct number shift(uint8_t op, bool is_32, struct number a, struct number b)
{
	unsigned int width = is_32 ? 31 : 63, by = (unsigned int)(b.umin & width);

	if (!number_is_constant(&b))
		return op == BPF_RSH ? number_up_to(a.umax) : number_unknown();
	if (op == BPF_LSH)
		return shift_left(a, by);
	if (op == BPF_RSH)
		return shift_right(a, by);
	return shift_right_signed(is_32 ? number_low(a, 32, true) : a, by);
}

static struct number alu_64(
	uint8_t op, bool is_32, bool is_signed, struct number a, struct number b)
{
	switch (op) {
	case BPF_MOV:
		return b;
	case BPF_ADD:
		return add(a, b);
	case BPF_SUB:
		return subtract(a, b);
	case BPF_NEG:
		return subtract(number_constant(0), a);
	case BPF_MUL:
		return multiply(a, b);
	case BPF_DIV:
		return is_signed ? number_unknown() : divide(a, b);
	case BPF_MOD:
		return is_signed ? number_unknown() : remainder_of(a, b);
	case BPF_AND:
		return and_of(a, b);
	case BPF_OR:
		return or_of(a, b);
	case BPF_XOR:
		return xor_of(a, b);
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return shift(op, is_32, a, b);
	}
	return number_unknown();
}

struct number number_alu(uint8_t op, bool is_32, bool is_signed, struct number a, struct number b)
{
	if (!is_32)
		return alu_64(op, false, is_signed, a, b);
	a = number_low(a, 32, false);
	b = number_low(b, 32, false);
	return number_low(alu_64(op, true, is_signed, a, b), 32, false);
}

struct number number_low(struct number n, unsigned int bits, bool with_sign)
{
	uint64_t low = bits < 64 ? (1ull << bits) - 1 : ~0ull;
	struct number cut;

	if (bits >= 64)
		return n;
	if (with_sign)
		return shift_right_signed(
			of_bits(n.value << (64 - bits), n.mask << (64 - bits)), 64 - bits);
	cut = of_bits(n.value & low, n.mask & low);
	/* What is cut off is the same everywhere between the bounds. */
	if (n.umin >> bits == n.umax >> bits)
		cut = meet(cut, of_bounds(n.umin & low, n.umax & low));
	return cut;
}

struct number number_bytes(struct number n, unsigned int byte, unsigned int count)
{
	return number_low(byte ? shift_right(n, byte * 8) : n, count * 8, false);
}

struct number number_insert(
	struct number n, unsigned int byte, unsigned int count, struct number part)
{
	uint64_t low = count < 8 ? (1ull << count * 8) - 1 : ~0ull, at = low << byte * 8;

	if (count == 8)
		return part;
	return of_bits((n.value & ~at) | (part.value & low) << byte * 8,
		(n.mask & ~at) | (part.mask & low) << byte * 8);
}
