/* SPDX-License-Identifier: MIT */
/*
 * The rows of stalls.h while they are added up, and in order. For stalls.c.
 */
#pragma once

#include "view/stalls/stalls.h"

/* Finds rows by launch, instruction and reason: open addressing. */
struct stall_rows {
	uint32_t *index; /* row + 1 */
	size_t mask;
};

void stall_rows_release(struct stall_rows *t);
/* Adds the samples of a row to those of `s`: 0 or -ENOMEM with error_text. */
int stall_rows_add(struct stall_rows *t, struct stalls *s, const struct stalls_row *row);
/* By launch, function, offset and reason: 0 or -errno with error_text. */
int stall_rows_sort(const struct profile_reader *r, struct stalls_row *rows, size_t count);
