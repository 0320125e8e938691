/* SPDX-License-Identifier: MIT */
/*
 * The path to a launching call, as people think of it: the functions of the program, without the
 * call and what lies inside it, without addresses, and without what runs Python (internals.h). A
 * function that calls itself is in it once, however deep it is. So is the path to other code.
 *
 * Use after the last event was read, when names are final.
 */
#pragma once

#include "view/names/internals.h"

#define LAUNCH_PATH_MAX 8

/* What frames of a profile are of the launching call: looked at once for each location. */
struct launch_frames {
	const struct profile_reader *reader;
	uint8_t *locations;
};

/* 0 or -ENOMEM; release it in either case. */
int launch_frames_init(struct launch_frames *f, const struct profile_reader *r);
void launch_frames_release(struct launch_frames *f);
/* The part of a launching stack that leads to the call; 0 when there is nothing of it. */
uint32_t launch_path_of(struct launch_frames *f, uint32_t stack);

/* By stack, the first stack through the same functions (itself, where there is none before): made
 * when it is first asked for, and owned by the internals. One thread at a time. 0 or -ENOMEM. */
int launch_path_merge(const struct internals *i, enum path_frames which, const uint32_t **ret);

/* The innermost `most` (at most LAUNCH_PATH_MAX) named functions of a path, outermost first, as ids
 * of locations; none of the kernel. Returns how many there are. */
unsigned int launch_path_functions(const struct internals *i, uint32_t stack,
	enum path_frames which, unsigned int most, uint32_t ret_locations[LAUNCH_PATH_MAX]);
