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
#include "page/recording.h"

/* `options` says what frames look like, and how many may be in the code of events at most
 * (node_max): of the smallest the time is in frames that stand for what is left out. `ages` are
 * those of the slices; *ret_nodes_bytes: how much of the text is nodes. 0 or -errno with
 * error_text. */
struct ages;
int file_sums_json(struct buf *out, struct recording_reading *g, const struct view_options *options,
	const struct ages *ages, size_t *ret_nodes_bytes);
