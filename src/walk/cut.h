/* SPDX-License-Identifier: MIT */
/* Leaves out the middle of stacks that are too deep, for homes that keep whole stacks. */
#pragma once

#include <string.h>

#include "walk/frame.h"

#define WALK_CUT_FRAMES 256 /* left out at once */

/* Makes room in frames[WALK_PYTHON_FRAMES_MAX], which are full, and returns how many are left. */
static inline uint32_t walk_python_cut(struct walk_python_frame *frames)
{
	struct walk_python_frame *cut = frames + WALK_PYTHON_CUT_AT,
				 *next = cut + 1 + WALK_CUT_FRAMES;
	uint32_t groups = 0;

	for (struct walk_python_frame *frame = cut; frame < next; frame++)
		groups += walk_python_groups(frame);
	*cut = (struct walk_python_frame){.code = WALK_PYTHON_CUT, .at = groups};
	memmove(cut + 1, next, (size_t)(frames + WALK_PYTHON_FRAMES_MAX - next) * sizeof(*frames));
	return WALK_PYTHON_FRAMES_MAX - WALK_CUT_FRAMES;
}

/* Makes room in words[WALK_FRAMES_MAX], which are full, and returns how many are left. */
static inline uint32_t walk_cut(uint64_t *words)
{
	uint64_t *cut = words + WALK_CUT_AT, *next = cut + 1 + WALK_CUT_FRAMES;
	uint32_t groups = 0;

	for (uint64_t *word = cut; word < next; word++)
		groups += walk_groups(*word);
	if (groups > WALK_CUT_GROUPS_MAX)
		groups = WALK_CUT_GROUPS_MAX;
	*cut = WALK_FRAME_PYTHON | groups;
	memmove(cut + 1, next, (size_t)(words + WALK_FRAMES_MAX - next) * sizeof(*words));
	return WALK_FRAMES_MAX - WALK_CUT_FRAMES;
}
