/* SPDX-License-Identifier: MIT */
/*
 * One order for the two kinds of frames of a stack: where Python's stand among the native ones.
 *
 * A native frame with WALK_FRAME_PYTHON is a call of the interpreter's evaluation loop; the group
 * of Python frames that it runs comes on its leaf side (walk/frame.h). Groups for which no native
 * frame is left are callers of all other frames. They come behind the outermost native frame when
 * the native walk ended early; else behind the outermost evaluation loop, and `unplaced` is set.
 *
 * Frames that are left out in the middle of the native side take the groups of their loops along.
 * Those that are left out of Python's leave their loops without frames.
 *
 * Where both sides are whole and there are more loops than groups (before 3.11, where a loop is
 * identified by its code), the innermost loops have not put their frames into Python's chain yet,
 * or have removed them: a thread was interrupted at the beginning or the end of a call. They have
 * no group.
 */
#pragma once

#include "walk/frame.h"

#define MERGED_PYTHON (1u << 31)

struct merged {
	uint32_t count;
	/* the native side is whole, and yet some Python frames have no native frame */
	bool unplaced;
	/* Leaf first: indices of native frames, or MERGED_PYTHON and those of Python frames. */
	uint32_t items[WALK_FRAMES_MAX + WALK_PYTHON_FRAMES_MAX];
};

/* How many more loops than groups there are. */
int32_t merge_surplus(const uint64_t *native, uint32_t first, uint32_t last,
	const struct walk_python_frame *python, uint32_t depth);
/* Merges the native frames [first, last) with all Python frames. `whole`: the native ones reach
 * their root; `python_whole`: Python's do. */
void merge_frames(const uint64_t *native, uint32_t first, uint32_t last, bool whole,
	const struct walk_python_frame *python, uint32_t python_depth, bool python_whole,
	struct merged *ret);
