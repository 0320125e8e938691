/* SPDX-License-Identifier: MIT */
/*
 * The stalls of a profile, kept until all works were read. For stalls.c.
 *
 * When there are too many, windows that follow one another in their context are joined, two by two
 * as often as needed (stall_windows_joined). The samples of an instruction in joined windows become
 * one: memory is bounded by the distinct (instruction, reason). The samples are then apportioned by
 * the launches' time in longer windows.
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
int stall_seen_add(
	struct stall_seen_list *l, struct stall_windows *w, const struct profile_stall *stall);
