/* SPDX-License-Identifier: MIT */
/*
 * Which correlation ids of an instance had to be forgotten: each of the newest FORGOTTEN_WINDOW ids
 * exactly, what is older by range, where an id between two forgotten ones counts as forgotten. (Ids
 * are given out in order, so an event of one that old has been on its way for as long as a million
 * calls took.)
 *
 * Ids are compared modulo 2^32, and the range is kept far shorter than that, so that ids which come
 * again after the counter has wrapped are new ones.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FORGOTTEN_WINDOW (1u << 20)

struct forgotten {
	/* a bit for each id modulo FORGOTTEN_WINDOW; NULL: nothing was forgotten */
	uint64_t *window;
	uint32_t oldest, newest;
};

void forgotten_release(struct forgotten *f);
/* 0 or -ENOMEM. */
int forgotten_add(struct forgotten *f, uint32_t id);
bool forgotten_has(const struct forgotten *f, uint32_t id);
