/* SPDX-License-Identifier: MIT */
/*
 * A time axis (view/timeline/timeline.h) as JSON. Times are nanoseconds from the start of the
 * recording; numbers stay below 2^53, as a script needs them.
 */
#pragma once

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "view/timeline/timeline.h"

/* Each name once. Comes zeroed. */
struct axis_name {
	enum timeline_kind kind;
	struct timeline_what what;
};

struct axis_names {
	struct map of_kind;   /* kind << 32 | id -> index */
	struct map of_marker; /* domain << 32 | id -> index */
	struct vec(struct axis_name) items;
};

/* 0 or -ENOMEM with error_text. */
int axis_names_index(
	struct axis_names *n, enum timeline_kind kind, struct timeline_what what, uint64_t *ret);
void axis_names_release(struct axis_names *n);

/* "names": by index */
void axis_names_json(
	struct json_writer *w, const struct axis_names *names, const struct profile_reader *r);
/*
 * "boxes": [row, begin, length, name, ...], names being indices of "names"; "cells":
 * {"row": [column, time_ns, count, ...]}, without those that are empty. Of counters the second is
 * the mean. Where columns stand together, a cell has the number of the first. "alike": {"row":
 * [column, name, ...]}, of markers too short for boxes, where all that begin in a cell have one
 * name. 0 or -ENOMEM with error_text.
 */
struct ages; /* see ages.h; NULL: no columns stand together */
int axis_json_contents(struct json_writer *w, const struct timeline *t,
	const struct profile_reader *r, uint64_t start_ns, const struct ages *ages);
/* "kinds": {"run": [column, time_ns, count, ...]}, of an axis whose cells are by kind. */
void axis_json_kinds(struct json_writer *w, const struct timeline *t, const struct ages *ages);
