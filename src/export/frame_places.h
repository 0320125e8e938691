/* SPDX-License-Identifier: MIT */
/* Where in source files the functions of a tree's frames are. */
#pragma once

#include <stdbool.h>

#include "profile/reader.h"
#include "view/tree/tree.h"

struct frame_place {
	uint32_t file; /* string; 0: not known */
	uint32_t line; /* where frames are lines of functions; else 0 */
};

/*
 * Allocates the place of each frame that `t` has (tree_frame_count), of a profile that was read to
 * its end: of code that is called the same the first that has a file. `lines`: frames were made so.
 * Frames may be added to the tree, without nodes. 0 or -errno with error_text.
 */
int frame_places_find(
	struct tree *t, const struct profile_reader *r, bool lines, struct frame_place **ret);
