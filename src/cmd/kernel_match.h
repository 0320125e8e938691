/* SPDX-License-Identifier: MIT */
/*
 * Kernels by what people type: a name, or part of one, mangled or readable. The first of these
 * rules that any kernel fits decides:
 *
 *	1. the whole name, mangled or readable
 *	2. the name without parameters and template arguments ("ns::reduce"), or the last part of that ("reduce")
 *	3. part of the name, mangled or readable
 *	4. the same, capital letters or not
 */
#pragma once

#include "base/buf.h"
#include "view/names/kernel_name.h"
#include "view/stalls/kernels.h"

/* The indices of the rows that fit, in their order, into `ret`, which has room for all: how
 * many; -1 when memory is short. */
ssize_t kernel_match(const struct profile_reader *r, const struct kernel_sum *rows, size_t count,
	const char *text, uint32_t *ret);
/* Appends up to three names that differ little from what was typed: "'gemm', 'gemv'". */
void kernel_match_near(const struct profile_reader *r, const struct kernel_sum *rows, size_t count,
	const char *text, struct buf *b);
