/* SPDX-License-Identifier: MIT */
/*
 * What is known of a 64-bit number at a point of a program, whichever way led there: bounds without
 * and with sign, and bits. Each operation returns a number that covers every result; it never
 * covers less, however little is known.
 *
 * Known bits are pairs of value and mask (a set bit of the mask is unknown) as in Vishwanathan et
 * al., "Sound, Precise, and Fast Abstract Interpretation with Tristate Numbers", CGO 2022.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct number {
	uint64_t value, mask; /* value & mask is 0 */
	uint64_t umin, umax;
	int64_t smin, smax;
};

struct number number_constant(uint64_t value);
struct number number_unknown(void);
/* At most `umax`. */
struct number number_up_to(uint64_t umax);
static inline bool number_is_constant(const struct number *n)
{
	return n->umin == n->umax;
}

/* Lets bits and bounds narrow each other. */
struct number number_settle(struct number n);
bool number_equal(const struct number *a, const struct number *b);
/* What covers both. */
struct number number_join(struct number a, struct number b);
/* As number_join; bounds of `b` that are outside those of `a` become the widest, so that a loop
 * comes to an end. */
struct number number_widen(struct number a, struct number b);

/* The result of an ALU instruction: its BPF_OP, whether it is one of 32 bits (whose result has
 * zeros above). Not BPF_END and moves with a sign. */
struct number number_alu(uint8_t op, bool is_32, bool is_signed, struct number a, struct number b);
/* The lowest `bits` of it, with zeros or copies of the highest of them above. */
struct number number_low(struct number n, unsigned int bits, bool with_sign);
/* Its bytes from `byte` on, so many, as a number; and it with these bytes replaced. */
struct number number_bytes(struct number n, unsigned int byte, unsigned int count);
struct number number_insert(
	struct number n, unsigned int byte, unsigned int count, struct number part);

/*
 * Narrows both to what they can be where a jump with this BPF_OP is taken, or not. False: it cannot
 * come to that.
 */
bool number_refine(uint8_t op, bool is_32, bool taken, struct number *a, struct number *b);
