/* SPDX-License-Identifier: MIT */
/* Stretches of time that programs gave names, by name and domain. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "profile/model.h"

#define MARKER_ROWS_MAX 65536 /* the others are counted only */

struct marker_row {
	uint32_t name, domain; /* strings */
	uint64_t count;
	uint64_t total_ns; /* what overlaps counts each time */
	uint64_t max_ns;   /* of what is shown */
};

struct marker_sums {
	struct vec(struct marker_row) rows; /* the most time first */
	struct map index;		    /* name and domain: place in rows */
	uint64_t uncounted;
};

/* 0, -ENOMEM or -EOVERFLOW. Comes zeroed. */
int marker_sums_add(struct marker_sums *s, const struct profile_marker *m);
/* After the last one. */
void marker_sums_finish(struct marker_sums *s);
void marker_sums_release(struct marker_sums *s);
