/* SPDX-License-Identifier: MIT */
/* All samples of one name: which names a series is exported under, and how its numbers are
 * written. */
#pragma once

#include "monitor/metrics/exposition.h"
#include "monitor/metrics/groups.h"

enum metric_kind {
	METRIC_HISTOGRAM,
	METRIC_SUMMARY,
	METRIC_SUM,
	METRIC_COUNT,
	METRIC_BUSY,
	METRIC_UNCERTAIN,
	METRIC_HELD, /* a count, and a sum, that may become less */
	METRIC_HELD_SUM
};

struct metric_family {
	enum metric_kind kind;
	const char *type;
	enum exposition_unit unit;
	char name[128];
	char help[256];
};

#define METRIC_FAMILIES_MAX 4

struct metric_families {
	struct metric_family family[METRIC_FAMILIES_MAX];
	size_t count;
};

/* Each adds to *ret, which begins empty: of a series, of its busy time, and of objects that are
 * there. */
void metric_series_families(const struct monitor *m, size_t series, enum metric_level level,
	struct metric_families *ret);
void metric_busy_families(const struct monitor *m, size_t series, enum metric_level level,
	struct metric_families *ret);
void metric_held_families(enum metric_level level, bool sizes, struct metric_families *ret);
/* Sorts the groups, and appends every family with a sample of each; nothing without groups. */
void metric_families_write(
	const struct metric_families *f, struct metric_groups *g, struct buf *out);
