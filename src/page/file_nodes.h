/* SPDX-License-Identifier: MIT */
/*
 * Nodes of the flame graphs of a page without a server, as file_sums.h has them: the text that all
 * slices have in common, and which node each sum of a slice belongs to. Comes zeroed.
 */
#pragma once

#include "base/buf.h"
#include "page/recording.h"

struct file_nodes {
	uint32_t *of;	 /* by sum, one slice after the other; 0: not shown */
	size_t *firsts;	 /* by slice: where its sums begin there */
	size_t count;	 /* of nodes, with the root */
	struct buf text; /* "frames", "nodes", "streams" and "spreads", for a script element */
	size_t bytes;	 /* of it, the first two */
};

/* 0 or -errno with error_text; release it in either case. */
int file_nodes_find(
	struct file_nodes *ret, struct recording_reading *g, const struct view_options *options);
void file_nodes_release(struct file_nodes *n);
