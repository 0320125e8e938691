// SPDX-License-Identifier: MIT
#include "monitor/metrics/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/metrics/accounts.h"
#include "monitor/metrics/exposition.h"

const struct metric_level_name metric_levels[METRIC_LEVELS] = {
	[METRIC_ALL] = {METRIC_PREFIX, ""},
	[METRIC_BY_CONTAINER] = {METRIC_PREFIX "container_", ", by container"},
	[METRIC_BY_PROCESS] = {METRIC_PREFIX "process_", ", by process"},
};

void metric_owner_labels(struct buf *labels, enum metric_level level, uint32_t pid,
	const char *comm, const char *container)
{
	char number[16];

	if (level == METRIC_BY_PROCESS) {
		snprintf(number, sizeof(number), "%" PRIu32, pid);
		exposition_label(labels, "pid", number);
		/* Each CPU's idle task has a name of its own, and all have the number 0. */
		exposition_label(labels, "comm", pid ? comm : "swapper");
	}
	if (level != METRIC_ALL)
		exposition_label(labels, "container", container);
}

int metric_groups_add(struct metric_groups *g, const struct buf *labels, const struct total *row)
{
	struct metric_group new = {0};
	uint32_t id;
	int added, error;

	if (labels->failed)
		return -ENOMEM;
	error = g->names ? 0 : interner_new(&g->names);
	error = error ?: interner_add(g->names, buf_text(labels), labels->size, &id, &added);
	if (error)
		return error;
	if (added) {
		new.labels = strdup(buf_text(labels));
		error = new.labels ? vec_push(&g->groups, new) : -ENOMEM;
	}
	if (error) {
		free(new.labels);
		return error;
	}
	accounts_sum(&g->groups.items[id - 1].sum, row);
	return 0;
}

static int by_labels(const void *left, const void *right)
{
	const struct metric_group *a = left, *b = right;

	return strcmp(a->labels, b->labels);
}

void metric_groups_sort(struct metric_groups *g)
{
	if (g->groups.count)
		qsort(g->groups.items, g->groups.count, sizeof(*g->groups.items), by_labels);
}

void metric_groups_clear(struct metric_groups *g)
{
	vec_foreach (each, &g->groups)
		free(each->labels);
	g->groups.count = 0;
	interner_free(g->names);
	g->names = NULL;
}

void metric_groups_release(struct metric_groups *g)
{
	metric_groups_clear(g);
	vec_release(&g->groups);
}
