/* SPDX-License-Identifier: MIT */
/*
 * The sums of a recording by slice of time (view/fold/slice_sums.h) as JSON, from which a page
 * without a server makes flame graphs of ranges:
 *
 *	"slice_ns"	how long a slice is; the first begins at 0
 *	"count"		how many slices there are
 *	"ages"		[end, together, ...]: before the slice `end` so many stand together, as one of
 *			"slices"; from the last of these on each stands alone
 *	"frames"	a letter for the kind ('a' + enum tree_kind) and the label, as in SVG files
 *	"nodes"		[parent, frame, ...] from node 1 on; a node's number is its place
 *	"streams"	[process, device, stream, name, ...]: what work below these frames, -1 for none,
 *			is called in the heatmap of a function
 *	"slices"	[[node, time, samples, ...], ...]
 *	"before", "behind"	so too, what is outside of all slices
 *	"spreads"	[node, end, time, ...]: spread evenly from 0 to the end
 *
 * Nodes stand on those of their process and thread, work on its device and stream as well: the page
 * leaves out what is not asked for.
 */
#pragma once

#include "base/buf.h"
#include "page/ages.h"
#include "page/recording.h"

/* The nodes, and which of them each sum belongs to: how much text slices become is known before
 * they are written. */
struct file_sums;

/* Which slices are written. */
struct file_slices {
	uint32_t joined;  /* so many of the recording are one */
	struct ages ages; /* of these; the last of them may be shorter */
};

/* `options` says what frames look like, and how many may be in the code of events at most
 * (node_max): of the smallest the time is in frames that stand for what is left out. `g` has to
 * stay. All: 0 or -errno with error_text. */
int file_sums_new(
	struct file_sums **ret, struct recording_reading *g, const struct view_options *options);
void file_sums_free(struct file_sums *f);
/* How much of the text is nodes and their names. */
size_t file_sums_nodes_bytes(const struct file_sums *f);
/* Sets which slices there are where so many are one. */
void file_sums_join(const struct file_sums *f, uint32_t joined, struct file_slices *ret);
/* How large the text becomes, and the text. */
int file_sums_size(struct file_sums *f, const struct file_slices *slices, size_t *ret);
int file_sums_json(struct file_sums *f, const struct file_slices *slices, struct buf *out);
