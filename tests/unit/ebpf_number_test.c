// SPDX-License-Identifier: MIT
/*
 * What is known of numbers covers what they can be. Sets of a few numbers are made into what is
 * known of them; whatever an operation makes of any of them must be covered by what it makes of
 * what is known, and a jump must leave those in that take it.
 */
#include <linux/bpf.h>

#include "ebpf/check/number.h"
#include "random.h"
#include "tap.h"

#define ROUNDS 300000
#define SET    3

static uint64_t some_number(void)
{
	switch (random_below(8)) {
	case 0:
		return random_below(3);
	case 1:
		return ~(uint64_t)random_below(3);
	case 2:
		return 1ull << random_below(64);
	case 3:
		return (1ull << random_below(64)) - 1;
	case 4:
		return (uint32_t)random_u64();
	case 5:
		return (uint64_t)(int64_t)(int32_t)random_u64();
	case 6:
		return random_below(256);
	}
	return random_u64();
}

struct set {
	uint64_t numbers[SET];
	struct number known;
};

static struct set some_set(void)
{
	struct set s;

	s.numbers[0] = some_number();
	for (int i = 1; i < SET; i++)
		s.numbers[i] =
			random_below(2) ? some_number() : s.numbers[i - 1] + random_below(9) * 8;
	s.known = number_constant(s.numbers[0]);
	for (int i = 1; i < SET; i++)
		s.known = random_below(4) ? number_join(s.known, number_constant(s.numbers[i]))
					  : number_widen(s.known, number_constant(s.numbers[i]));
	return s;
}

static bool covers(const struct number *n, uint64_t x)
{
	return n->umin <= x && x <= n->umax && n->smin <= (int64_t)x && (int64_t)x <= n->smax &&
	       (x & ~n->mask) == n->value;
}

static uint64_t calculate(uint8_t op, uint64_t a, uint64_t b, unsigned int width)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_MOD:
		return b ? a % b : a;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & (width - 1));
	case BPF_RSH:
		return a >> (b & (width - 1));
	case BPF_ARSH:
		return width == 64 ? (uint64_t)((int64_t)a >> (b & 63))
				   : (uint32_t)((int32_t)a >> (b & 31));
	case BPF_NEG:
		return -a;
	}
	return b;
}

static const uint8_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_AND, BPF_OR,
	BPF_XOR, BPF_LSH, BPF_RSH, BPF_ARSH, BPF_NEG, BPF_MOV};

static void results_of_arithmetic_are_covered(void)
{
	unsigned int wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct set a = some_set(), b = some_set();
		uint8_t op = operations[random_below(sizeof(operations))];
		bool is_32 = random_below(2);
		struct number n;

		if (random_below(3) == 0) {
			b.known = number_constant(b.numbers[0]);
			b.numbers[1] = b.numbers[2] = b.numbers[0];
		}
		n = number_alu(op, is_32, false, a.known, b.known);
		for (int x = 0; x < SET; x++)
			for (int y = 0; y < SET; y++) {
				uint64_t result =
					is_32 ? (uint32_t)calculate(op, (uint32_t)a.numbers[x],
							(uint32_t)b.numbers[y], 32)
					      : calculate(op, a.numbers[x], b.numbers[y], 64);

				if (!covers(&n, result) && wrong++ < 4)
					printf("# 0x%02x %s: %#llx %#llx\n", op,
						is_32 ? "32" : "64",
						(unsigned long long)a.numbers[x],
						(unsigned long long)b.numbers[y]);
			}
	}
	CHECK(!wrong);
}

static void parts_of_numbers_are_covered(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct set a = some_set(), b = some_set();
		unsigned int bits = 8u << random_below(3), byte = random_below(8),
			     count = 1 + random_below(8 - byte);
		struct number low = number_low(a.known, bits, false),
			      with_sign = number_low(a.known, bits, true),
			      part = number_bytes(a.known, byte, count),
			      put = number_insert(a.known, byte, count, b.known);

		for (int x = 0; x < SET; x++) {
			uint64_t n = a.numbers[x], into = n;

			CHECK(covers(&low, n << (64 - bits) >> (64 - bits)));
			CHECK(covers(&with_sign,
				(uint64_t)((int64_t)(n << (64 - bits)) >> (64 - bits))));
			CHECK(covers(&part, n << (8 - byte - count) * 8 >> (8 - count) * 8));
			memcpy((char *)&into + byte, &b.numbers[x], count);
			CHECK(covers(&put, into));
		}
		if (!tap_ok)
			return;
	}
}

static bool takes(uint8_t op, bool is_32, uint64_t a, uint64_t b)
{
	int64_t x = is_32 ? (int32_t)a : (int64_t)a, y = is_32 ? (int32_t)b : (int64_t)b;

	if (is_32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return x > y;
	case BPF_JSGE:
		return x >= y;
	case BPF_JSLT:
		return x < y;
	case BPF_JSLE:
		return x <= y;
	}
	return a & b;
}

static const uint8_t jumps[] = {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT,
	BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET};

static void a_jump_leaves_in_what_takes_it(void)
{
	unsigned int wrong = 0, impossible = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct set a = some_set(), b = some_set();
		uint8_t op = jumps[random_below(sizeof(jumps))];
		bool is_32 = random_below(2), way = random_below(2);
		struct number x = a.known, y = b.known;
		bool possible = number_refine(op, is_32, way, &x, &y);

		impossible += !possible;
		for (int m = 0; m < SET; m++)
			for (int n = 0; n < SET; n++) {
				if (takes(op, is_32, a.numbers[m], b.numbers[n]) != way)
					continue;
				if ((!possible || !covers(&x, a.numbers[m]) ||
					    !covers(&y, b.numbers[n])) &&
					wrong++ < 4)
					printf("# 0x%02x %s %d: %#llx %#llx\n", op,
						is_32 ? "32" : "64", way,
						(unsigned long long)a.numbers[m],
						(unsigned long long)b.numbers[n]);
			}
	}
	CHECK(!wrong);
	CHECK(impossible > ROUNDS / 20);
}

/* Else it would be right to know nothing. */
static void what_is_known_is_of_use(void)
{
	struct number n = number_alu(BPF_AND, false, false, number_unknown(), number_constant(56)),
		      x = number_unknown(), limit = number_constant(64);

	CHECK(n.umax == 56 && !((n.value | n.mask) & 7));
	n = number_alu(BPF_ADD, false, false, n, number_constant(8));
	CHECK(n.umin == 8 && n.umax == 64 && n.smin == 8);
	CHECK(number_refine(BPF_JLT, false, true, &x, &limit) && x.umax == 63 && x.smin == 0);
	n = number_alu(BPF_LSH, false, false, x, number_constant(3));
	CHECK(n.umax == 504 && !((n.value | n.mask) & 7));
	n = number_low(number_unknown(), 32, false);
	CHECK(n.umax == UINT32_MAX && n.smin == 0);
	n = number_alu(BPF_RSH, false, false, number_unknown(), number_constant(60));
	CHECK(n.umax == 15);
	n = number_constant(6);
	CHECK(number_is_constant(&n));
	n = number_alu(BPF_MUL, true, false, n, number_constant(7));
	CHECK(number_is_constant(&n) && n.value == 42);
}

int main(void)
{
	RUN(results_of_arithmetic_are_covered);
	RUN(parts_of_numbers_are_covered);
	RUN(a_jump_leaves_in_what_takes_it);
	RUN(what_is_known_is_of_use);
	return tap_end();
}
