/* SPDX-License-Identifier: MIT */
/*
 * The stalls of a profile, kept until all works are known. For stalls.c.
 *
 * When there are too many, windows that follow one another in their context are joined, two by two as often as
 * needed (stall_windows_join), and what was seen of an instruction in joined windows becomes one: memory is bounded
 * by the distinct (instruction, reason), and what is shared out is so by time in longer windows.
 */
#pragma once

#include "view/stalls/windows.h"

struct stall_seen {
	uint32_t window, instruction, reason, correlation;
	uint64_t samples;
};

struct stall_seen_list {
	struct stall_seen *items;
	size_t count, capacity;
	size_t most; /* more than that many are joined */
};

void stall_seen_release(struct stall_seen_list *l);
/* Joins from the `most`-th on; 0: never. 0, -ENOMEM or -EOVERFLOW with error_text. */
int stall_seen_add(struct stall_seen_list *l, struct stall_windows *w, const struct profile_stall *stall);
