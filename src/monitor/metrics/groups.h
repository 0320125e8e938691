/* SPDX-License-Identifier: MIT */
/*
 * Numbers grouped by their labels, as text: Prometheus distinguishes samples by that text, so no
 * sample can be there twice, whatever programs call themselves.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "monitor/totals.h"

#define METRIC_PREFIX "xpuprof_"

/* The three ways a series is exported (metrics.h). */
enum metric_level { METRIC_ALL, METRIC_BY_CONTAINER, METRIC_BY_PROCESS, METRIC_LEVELS };

/* Of each: what names begin with, and what stands behind the help of a series. */
extern const struct metric_level_name {
	const char *prefix;
	const char *help;
} metric_levels[METRIC_LEVELS];

struct metric_group {
	char *labels;
	struct total sum; /* its numbers alone */
};

struct metric_groups {
	struct interner
		*names; /* of the labels, before they are sorted: group n - 1 has number n */
	struct vec(struct metric_group) groups;
};

/* The labels that a level has beside the series' own. */
void metric_owner_labels(struct buf *labels, enum metric_level level, uint32_t pid,
	const char *comm, const char *container);
/* 0 or -ENOMEM. */
int metric_groups_add(struct metric_groups *g, const struct buf *labels, const struct total *row);
/* By their labels; nothing can be added then. */
void metric_groups_sort(struct metric_groups *g);
/* Empties it. */
void metric_groups_clear(struct metric_groups *g);
void metric_groups_release(struct metric_groups *g);
