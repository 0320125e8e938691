// SPDX-License-Identifier: MIT
/*
 * What instructions on floats compute, and conversions. Results are rounded to nearest; other
 * modes are not interpreted but in conversions to integers. Approximations are exact here.
 */
#include <math.h>

#include "sim/ptx/ops.h"

static double to_double(struct type t, uint64_t bits)
{
	float f;
	double d;
	uint32_t low = (uint32_t)bits;

	if (t.bytes == 4) {
		memcpy(&f, &low, 4);
		return f;
	}
	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t of_double(struct type t, double value)
{
	float f = (float)value;
	uint64_t bits = 0;

	if (t.bytes == 4)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &value, 8);
	return bits;
}

/* Of f32, with what is too small for a normal number made 0. */
static float flushed(const struct insn *i, float f)
{
	return has(i, WORD_ftz) && fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

static float f32(const struct insn *i, uint64_t bits)
{
	return flushed(i, (float)to_double((struct type){'f', 4}, bits));
}

static double f64(uint64_t bits)
{
	return to_double((struct type){'f', 8}, bits);
}

static uint64_t from_f32(const struct insn *i, float f)
{
	if (isnan(f))
		return 0x7fffffff;
	if (has(i, WORD_sat))
		f = f > 0 ? (f < 1 ? f : 1) : 0;
	return of_double((struct type){'f', 4}, flushed(i, f));
}

static uint64_t from_f64(double d)
{
	return of_double((struct type){'f', 8}, d);
}

#define IS_F32(i) ((i)->type.bytes == 4)

/* Each in the precision of its type: rounded once. */
#define BINARY(name, expression)                                                                   \
	uint64_t name(const struct insn *i, const uint64_t s[4])                                   \
	{                                                                                          \
		if (IS_F32(i)) {                                                                   \
			float a = f32(i, s[0]), b = f32(i, s[1]);                                  \
			return from_f32(i, expression);                                            \
		}                                                                                  \
		double a = f64(s[0]), b = f64(s[1]);                                               \
		return from_f64(expression);                                                       \
	}

BINARY(value_fadd, a + b)
BINARY(value_fsub, a - b)
BINARY(value_fmul, a *b)
BINARY(value_fdiv, a / b)

#define UNARY(name, single, full)                                                                  \
	uint64_t name(const struct insn *i, const uint64_t s[4])                                   \
	{                                                                                          \
		float f;                                                                           \
		double d;                                                                          \
                                                                                                   \
		if (IS_F32(i)) {                                                                   \
			f = f32(i, s[0]);                                                          \
			return from_f32(i, single);                                                \
		}                                                                                  \
		d = f64(s[0]);                                                                     \
		return from_f64(full);                                                             \
	}

UNARY(value_rcp, 1 / f, 1 / d)
UNARY(value_sqrt, sqrtf(f), sqrt(d))
UNARY(value_rsqrt, (float)(1 / sqrt((double)f)), 1 / sqrt(d))
UNARY(value_ex2, exp2f(f), exp2(d))
UNARY(value_lg2, log2f(f), log2(d))
UNARY(value_sin, sinf(f), sin(d))
UNARY(value_cos, cosf(f), cos(d))
UNARY(value_tanh, tanhf(f), tanh(d))

uint64_t value_fma(const struct insn *i, const uint64_t s[4])
{
	if (IS_F32(i))
		return from_f32(i, fmaf(f32(i, s[0]), f32(i, s[1]), f32(i, s[2])));
	return from_f64(fma(f64(s[0]), f64(s[1]), f64(s[2])));
}

uint64_t value_fneg(const struct insn *i, const uint64_t s[4])
{
	return s[0] ^ 1ull << (i->type.bytes * 8 - 1);
}

uint64_t value_fabs(const struct insn *i, const uint64_t s[4])
{
	return s[0] & ~(1ull << (i->type.bytes * 8 - 1));
}

/* The sign of the first, the rest of the second. */
uint64_t value_copysign(const struct insn *i, const uint64_t s[4])
{
	uint64_t sign = 1ull << (i->type.bytes * 8 - 1);

	return (s[1] & ~sign) | (s[0] & sign);
}

/* Of a NaN and a number the number, unless the instruction asks for the NaN; -0 is below 0. */
static double chosen(const struct insn *i, double a, double b, bool least)
{
	if (isnan(a) || isnan(b))
		return has(i, WORD_nan) || (isnan(a) && isnan(b)) ? NAN : isnan(a) ? b : a;
	if (a == b)
		return !signbit(a) == least ? b : a;
	return (a < b) == least ? a : b;
}

static uint64_t min_or_max(const struct insn *i, const uint64_t s[4], bool least)
{
	if (IS_F32(i))
		return from_f32(i, (float)chosen(i, f32(i, s[0]), f32(i, s[1]), least));
	return from_f64(chosen(i, f64(s[0]), f64(s[1]), least));
}

uint64_t value_fmin(const struct insn *i, const uint64_t s[4])
{
	return min_or_max(i, s, true);
}

uint64_t value_fmax(const struct insn *i, const uint64_t s[4])
{
	return min_or_max(i, s, false);
}

bool compare_floats(const struct insn *i, uint64_t a, uint64_t b)
{
	double x = IS_F32(i) ? (double)f32(i, a) : f64(a),
	       y = IS_F32(i) ? (double)f32(i, b) : f64(b);
	bool neither = isnan(x) || isnan(y);

	if (has(i, WORD_num))
		return !neither;
	if (has(i, WORD_nan))
		return neither;
	if (neither) /* those that end in u hold then */
		return has(i, WORD_equ) || has(i, WORD_neu) || has(i, WORD_ltu) ||
		       has(i, WORD_leu) || has(i, WORD_gtu) || has(i, WORD_geu);
	if (has(i, WORD_eq) || has(i, WORD_equ))
		return x == y;
	if (has(i, WORD_ne) || has(i, WORD_neu))
		return x != y;
	if (has(i, WORD_lt) || has(i, WORD_ltu))
		return x < y;
	if (has(i, WORD_le) || has(i, WORD_leu))
		return x <= y;
	if (has(i, WORD_gt) || has(i, WORD_gtu))
		return x > y;
	return x >= y;
}

static double rounded(const struct insn *i, double value)
{
	if (has(i, WORD_rzi))
		return trunc(value);
	if (has(i, WORD_rmi))
		return floor(value);
	if (has(i, WORD_rpi))
		return ceil(value);
	return has(i, WORD_rni) ? nearbyint(value) : value;
}

/* Clamped to what the type has; a NaN is 0. */
static uint64_t to_integer(struct type t, double value)
{
	unsigned int bits = t.bytes * 8u;
	double most = ldexp(1, t.kind == 's' ? (int)bits - 1 : (int)bits);

	if (isnan(value))
		return 0;
	if (t.kind == 's') {
		if (value >= most)
			return (1ull << (bits - 1)) - 1;
		return value < -most ? 1ull << (bits - 1) : (uint64_t)(int64_t)value;
	}
	if (value >= most)
		return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	return value < 0 ? 0 : (uint64_t)value;
}

/* cvt.sat between integers. */
static uint64_t saturated(struct type to, struct type from, uint64_t value)
{
	unsigned int bits = to.bytes * 8u;
	int64_t v = (int64_t)value;
	int64_t most = to.kind == 's' ? (int64_t)((1ull << (bits - 1)) - 1)
		       : bits == 64   ? INT64_MAX
				      : (int64_t)((1ull << bits) - 1);
	int64_t least = to.kind == 's' ? -most - 1 : 0;

	if (from.kind != 's' && v < 0)
		return to.bytes == 8 && to.kind != 's' ? value : (uint64_t)most;
	return (uint64_t)(v < least ? least : v > most ? most : v);
}

/* From `from` to `type`; integers become wider by their sign. */
uint64_t value_convert(const struct insn *i, const uint64_t s[4])
{
	struct type to = i->from, from = i->type; /* cvt.to.from: the last is what is read */
	uint64_t v = from.kind == 's' ? sign_extend(s[0], from.bytes) : cut(s[0], from.bytes);
	struct insn single = *i;

	if (from.kind != 'f' && to.kind != 'f')
		return has(i, WORD_sat) ? saturated(to, from, v) : cut(v, to.bytes);
	if (from.kind == 'f' && to.kind != 'f') {
		double d = to_double(from, s[0]);

		if (from.bytes == 4)
			d = flushed(i, (float)d);
		return to_integer(to, rounded(i, d));
	}
	single.type = to;
	if (from.kind == 'f') {
		double d = rounded(i, from.bytes == 4 ? (double)f32(i, s[0]) : f64(s[0]));

		return to.bytes == 4 ? from_f32(&single, (float)d) : from_f64(d);
	}
	if (to.bytes == 4) /* in one step: rounded once */
		return from_f32(&single, from.kind == 's' ? (float)(int64_t)v : (float)v);
	return from_f64(from.kind == 's' ? (double)(int64_t)v : (double)v);
}

uint64_t value_atomic(const struct insn *i, uint64_t old, uint64_t a, uint64_t b)
{
	const uint64_t s[4] = {old, a};
	bool is_float = i->type.kind == 'f';

	if (has(i, WORD_cas))
		return old == a ? b : old;
	if (has(i, WORD_exch))
		return a;
	if (has(i, WORD_add))
		return is_float ? value_fadd(i, s) : old + a;
	if (has(i, WORD_min))
		return is_float ? value_fmin(i, s) : value_min(i, s);
	if (has(i, WORD_max))
		return is_float ? value_fmax(i, s) : value_max(i, s);
	if (has(i, WORD_inc))
		return old >= a ? 0 : old + 1;
	if (has(i, WORD_dec))
		return !old || old > a ? a : old - 1;
	if (has(i, WORD_and))
		return old & a;
	return has(i, WORD_or) ? old | a : old ^ a;
}
