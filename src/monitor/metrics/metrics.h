/* SPDX-License-Identifier: MIT */
/*
 * Totals as Prometheus reads them: counters and histograms in base units, seconds and bytes.
 * docs/metrics.md describes each name to users.
 *
 * A series is exported three times, under three names, so that no name counts anything twice:
 *
 *	xpuprof_...            by its own labels: everything since the watch began
 *	xpuprof_container_...  by container as well: of containers that are there, with their ended processes
 *	xpuprof_process_...    by process as well: of processes that are there
 *
 * Were ended processes one more row among the containers' others, a rate would see all that they
 * used a second time, at the moment when they ended.
 */
#pragma once

#include "base/buf.h"
#include "monitor/metrics/accounts.h"
#include "monitor/held.h"
#include "monitor/totals.h"

#define METRICS_LABEL_BYTES 32 /* of the longest name of a label, with its NUL */

struct metrics_input {
	const struct monitor *monitor;
	const struct totals *totals; /* after accounts_update */
	uint64_t watched_ns;	     /* since the watch began */
	const struct accounts *accounts;
	const struct held_list *held;
	const struct watch_event_status *events; /* one for each of the monitor's */
};

/* Appends all of it: 0 or -ENOMEM with error_text. One monitor to a text. */
int metrics_write(const struct metrics_input *in, struct buf *out);
