/* SPDX-License-Identifier: MIT */
/*
 * Samples by row (an instruction, a source line, a kernel: whatever the caller counts) and reason.
 *
 * They are added in any order, and then settled once: each row's reasons lie side by side, the most
 * frequent first. That takes time in proportion to their number. Rows and reasons are numbered from
 * 0 without large gaps, as memory grows with the highest of each. Owned by the caller, who sees to
 * it that no sum needs more than 64 bits. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stall_count {
	uint32_t row;
	uint32_t reason;
	uint64_t samples;
	uint64_t latency; /* of these, those of cycles in which no warp was issued */
};

struct stall_counts {
	struct stall_count *items;
	size_t count, capacity;
	/* by row: where it begins, once settled; one more for the end of the last */
	uint32_t *first;
	size_t rows;
};

#define STALL_COUNTS_INIT ((struct stall_counts){0})

void stall_counts_release(struct stall_counts *c);
/* 0 or -ENOMEM. */
int stall_counts_add(struct stall_counts *c, const struct stall_count *more);
int stall_counts_settle(struct stall_counts *c);
/* The reasons of a row; *ret_count: how many. Settled only. */
const struct stall_count *stall_counts_of(
	const struct stall_counts *c, uint32_t row, size_t *ret_count);
