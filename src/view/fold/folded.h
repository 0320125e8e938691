/* SPDX-License-Identifier: MIT */
/*
 * Reads folded stacks, `root;...;leaf COUNT` a line, as this program and many others write them,
 * into a tree. The text is not trusted.
 *
 * A line is left out and counted when it has no count, a count that is no whole number or needs
 * more than 64 bits, or more than FOLDED_DEPTH_MAX frames. Empty lines are nothing. A text without
 * any good line, with a NUL byte, or with a line longer than FOLDED_LINE_MAX is refused as a whole.
 */
#pragma once

#include "view/tree/tree.h"

#define FOLDED_DEPTH_MAX 65535u
#define FOLDED_LINE_MAX	 ((size_t)64 << 20)

struct folded_stats {
	uint64_t lines; /* all of them */
	uint64_t left_out;
	uint64_t first_left_out; /* line number, from 1 */
	const char *reason;	 /* of the first one; static text, or NULL */
};

/* Reads to the end of `fd`; `name` is for messages. 0, or -errno with error_text. */
int folded_read(struct tree *t, int fd, const char *name, struct folded_stats *ret);

/* What kind of frame a text looks like: by the marks of this program ("[GPU_Kernel]x", "x_[k]"), of
 * others ("x_[G]"), and by its form. */
enum tree_kind folded_classify(const char *name, size_t size);
