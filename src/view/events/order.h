/* SPDX-License-Identifier: MIT */
/*
 * The events of a profile one by one in the order in which they began, for outputs whose readers
 * want it.
 *
 * A file has events in the order in which they were recorded: work of a GPU comes long after it
 * ended, a wait when it is over. Half of EVENT_ORDER_WINDOW events are held back, and memory is for
 * these. An event that comes later than so many others that began after it comes as soon as it can.
 *
 * A CPU sample stands for time before it: it begins its period earlier, but not before the sample
 * that its thread had before it has ended. So the samples of a thread never overlap, and last
 * as long as the CPU time of their periods, at the cost of some of them ending a little late. Time
 * of threads without samples has no place (SAMPLE_ABSENT, SAMPLE_KERNEL), nor have waits without a
 * duration; they are left out.
 */
#pragma once

#include "profile/reader.h"

#define EVENT_ORDER_WINDOW ((size_t)1 << 18)

struct event_span {
	uint64_t start_ns, duration_ns;
};

/* Whether a view that shows this (VIEW_SHOWS_*) has such events; markers are of none. */
bool event_is_shown(const struct profile_event *e, unsigned int shows);

/*
 * Reads the file of `tables`, which was read to its end, once more: 0 or -errno with error_text,
 * that of `handle` as well, after which no more events come. Instruction samples and
 * lives of threads are left out.
 */
int events_in_order(const struct profile_reader *tables,
	int (*handle)(void *arg, const struct profile_event *e, const struct event_span *span),
	void *arg);
/* The same, but `expect` sees most events EVENT_ORDER_AHEAD events before `handle` does: for what
 * is in memory that takes long to get at (event_places_expect). */
#define EVENT_ORDER_AHEAD ((size_t)8)
int events_in_order_expected(const struct profile_reader *tables,
	int (*handle)(void *arg, const struct profile_event *e, const struct event_span *span),
	void (*expect)(void *arg, const struct profile_event *e), void *arg);
