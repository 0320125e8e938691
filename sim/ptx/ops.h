/* SPDX-License-Identifier: MIT */
/* What instructions compute: each from up to four values, whose types the instruction has. */
#pragma once

#include "sim/ptx/internal.h"

typedef uint64_t value_of(const struct insn *i, const uint64_t s[4]);

/* integers.c */
value_of value_move, value_add, value_sub, value_mul, value_mad, value_mul24, value_div, value_rem,
	value_neg, value_abs, value_min, value_max, value_and, value_or, value_xor, value_not,
	value_cnot, value_shl, value_shr, value_shf, value_lop3, value_prmt, value_bfe, value_bfi,
	value_bfind, value_brev, value_clz, value_popc, value_sad, value_dp4a, value_selp,
	value_slct;
bool compare_integers(const struct insn *i, uint64_t a, uint64_t b);

/* floats.c */
value_of value_fadd, value_fsub, value_fmul, value_fma, value_fdiv, value_fneg, value_fabs,
	value_fmin, value_fmax, value_rcp, value_sqrt, value_rsqrt, value_ex2, value_lg2, value_sin,
	value_cos, value_tanh, value_copysign, value_convert;
bool compare_floats(const struct insn *i, uint64_t a, uint64_t b);
/* What an atomic makes of what was there. */
uint64_t value_atomic(const struct insn *i, uint64_t old, uint64_t a, uint64_t b);
