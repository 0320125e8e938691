/* SPDX-License-Identifier: MIT */
/*
 * A monitor's records as events of a profile (struct profile_driver).
 *
 * An event of the kernel's that ends something (a job's wait in the queue, its run) is a stretch of
 * time, one for each duration that its row counts; any other is a moment. Left out are moments that
 * only begin a stretch, and those of events that print no lines. Jobs are numbered as they come.
 *
 * Events of every process are kept, as jobs of all of them share the rings; those of processes that
 * are not recorded are marked as foreign.
 *
 * Use: add what the kernel has, then let `tasks` learn of the processes that came and went until
 * then, then write. One of these for each watch. One thread.
 */
#pragma once

#include "monitor/plan.h"
#include "profile/tasks.h"

struct driver_events_options {
	const struct monitor *monitor;
	/* By event, borrowed: NULL where it is not watched. */
	const struct monitor_event_plan *plans[MONITOR_EVENTS];
	bool whole_system; /* every process is recorded: none is foreign */
};

/* Objects that are remembered. When there are more, all are forgotten and counted as
 * LOSS_DRIVER_OBJECTS. */
#define DRIVER_OBJECTS_MAX ((size_t)1 << 18)

struct driver_events;

/* All: 0 or -errno with error_text. */
int driver_events_new(const struct driver_events_options *options, struct profile_writer *w,
	struct tasks *t, struct driver_events **ret);
void driver_events_free(struct driver_events *d);
/* Events begin at `from_ns`; records from before only fill the memory of objects. */
void driver_events_begin(struct driver_events *d, uint64_t from_ns);
int driver_events_add(struct driver_events *d, const struct monitor_record *r);
/* Writes what was added. */
int driver_events_write(struct driver_events *d);

/* Whether objects of a kind have durations, so that one that is left at the end went on until
 * then. */
bool driver_events_wants_left(const struct driver_events *d, uint8_t object_kind);
/* Adds such an object. */
int driver_events_add_left(struct driver_events *d, const struct monitor_object_key *key,
	const struct monitor_object *o, uint64_t end_ns);
