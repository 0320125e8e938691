/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one SVG file, in three parts:
 *
 *	svg_static.c  a picture: the frames wide enough to see, for viewers that run no script
 *	svg_data.c    the whole tree, compact
 *	flame/        colours, and a script that replaces the picture by an interactive one
 *
 * Shared by the files that write these parts; the exporter itself is export_svg.
 */
#pragma once

#include "base/buf.h"
#include "export/output.h"
#include "view/view.h"

/* Numbers in the script are doubles. */
#define SVG_TIME_MAX ((uint64_t)1 << 53)
/* More nodes than this make browsers struggle; the smallest are left out and counted. */
#define SVG_NODE_MAX 1000000ul

struct svg {
	struct output *output;
	const struct view_result *view;
	struct tree *tree;
	struct tree_totals totals;
	uint32_t *uses; /* by frame: its nodes that have time */
	enum view_unit unit;
	size_t node_max; /* SVG_NODE_MAX, or less to try what happens then */
	bool inverted;	 /* the root on top */
	bool scripted;	 /* where scripts run: frames are in the data only */
	bool compared;	 /* two recordings: samples are the time of the second */
	char *title;
	/* Labels of all frames, behind each other. */
	struct buf labels;
	size_t *label_end; /* by frame */
	uint64_t least;	   /* nodes with less time than this were left out; at least 1 */
	uint64_t left_out; /* how many with time were, as far as they were counted */
};

/* How kinds look: CSS class of the box, and name in the legend (NULL: not there). */
const char *svg_kind_class(enum tree_kind kind);
const char *svg_kind_legend(enum tree_kind kind);

const char *svg_label(const struct svg *s, uint32_t frame, size_t *ret_size);
/* "1.234 s"; numbers without a unit as they are. */
void svg_put_time(struct buf *b, uint64_t time, enum view_unit unit);

/*
 * The facts of the header, as pairs of name and value ("CPU time", "1.234 s"). `value` is to be
 * released by the caller. False past the last.
 */
bool svg_fact(const struct svg *s, size_t n, const char **ret_name, struct buf *value);
/* The n-th warning; false past the last. */
bool svg_remark(const struct svg *s, size_t n, struct buf *text);

static inline uint64_t svg_width(const struct svg *s, uint32_t node)
{
	return (s->totals.cpu ? s->totals.cpu[node] : 0) +
	       (s->totals.gpu ? s->totals.gpu[node] : 0);
}

static inline bool svg_is_left_out(const struct svg *s, uint32_t node)
{
	return tree_kind_is_left_out(tree_frames(s->tree)[tree_nodes(s->tree)[node].frame].kind);
}

/* The parts; 0 or -errno with error_text. */
int svg_write_static(struct svg *s);
int svg_write_data(struct svg *s);
