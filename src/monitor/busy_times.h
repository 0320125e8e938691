/* SPDX-License-Identifier: MIT */
/*
 * How long rings were busy: fed with spans, or with records where those are asked for, as they
 * come. Busy time is the union of intervals (base/busy.h), once for each ring, each process and
 * each ring of a process; none of these follows from the others.
 *
 * One thread.
 */
#pragma once

#include <stdint.h>

#include "monitor/monitor.h"

struct busy_times;

/* What a union is of. As bytes it is the key, so all of it is always set. */
struct busy_key {
	uint32_t series;
	uint32_t pid; /* 0: of all */
	/* As in the span; empty: of all, when there is a pid. */
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
};

int busy_times_new(const struct monitor *m, struct busy_times **ret);
void busy_times_free(struct busy_times *b);
/* 0 or -ENOMEM. A span that names no count of the table's that asks for busy time is not
 * counted. */
int busy_times_add(struct busy_times *b, const struct monitor_span *s);
/* The spans that a record has: with records there are no spans (bpf/monitor.h). 0 or -ENOMEM. */
int busy_times_add_record(struct busy_times *b, const struct monitor_record *r);
/* Forgets what is known of a process that is gone. */
void busy_times_forget(struct busy_times *b, uint32_t pid);
/* Every union up to now: 0, -ENOMEM, or what `visit` returns that is not 0. */
int busy_times_each(struct busy_times *b,
	int (*visit)(
		void *context, const struct busy_key *key, uint64_t busy_ns, uint64_t uncertain_ns),
	void *context);
