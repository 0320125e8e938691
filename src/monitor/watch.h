/* SPDX-License-Identifier: MIT */
/*
 * Watching: the programs of one monitor (or of some of its events) loaded and attached, their
 * records read, and what they counted fetched.
 *
 * One thread. Needs root, or CAP_BPF and CAP_PERFMON; and BTF is not needed.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "monitor/plan.h"

struct watch;

struct watch_options {
	const struct monitor *monitor;
	uint32_t pid;	  /* only what is of this process; 0: all */
	const char *ring; /* only with this label; NULL: all */
	bool records;	  /* hand over a record of each event, not only spans and counts */
	bool quiet_too;	  /* also of events that print no lines */
	int above_event;  /* records only of this event... -1: all */
	uint64_t above;	  /* ... where its duration is at least this, in nanoseconds */
	/* How much there is room for; 0: a default. Beyond that is counted in struct
	 * monitor_losses. */
	size_t ring_bytes; /* a power of two, of whole pages */
	size_t objects_max, cells_max, stacks_max;
};

/* A record does not wake the reader: watch_fd is readable only when the ring fills, so the ring has
 * to be read this often, too. */
#define WATCH_READ_MS 50

/* What comes in; each returns 0 or a negative errno, which watch_read passes on. NULL: not
 * wanted. */
struct watch_sink {
	void *context;
	int (*record)(void *context, const struct monitor_record *r);
	int (*span)(void *context, const struct monitor_span *s);
};

/* Of one event: whether it is watched, why not, and what was lost. */
struct watch_event_status {
	struct monitor_event_plan *plan; /* the watch's */
	bool attached;
	bool vanished; /* its module was unloaded meanwhile */
	bool late;     /* it is not watched, as its module was loaded after the watch began */
	struct monitor_losses totals;
	uint64_t missed;   /* the kernel did not run the program (another was running) */
	bool missed_known; /* it counts them (Linux 6.7) */
};

/*
 * Loads and attaches what this kernel has of the monitor. 0 (also when only some of the events are
 * there: see watch_status), or -errno with error_text: -ENOENT when it has none of them, -EPERM,
 * ...
 */
int watch_open(const struct watch_options *options, const struct monitor_kernel *kernel,
	struct watch **ret);
/* The same with plans that are there already, one for each of the monitor's events, below a root as
 * in struct monitor_kernel. They are copied. */
int watch_open_plans(const struct watch_options *options, const struct monitor_event_plan *plans,
	const char *root, struct watch **ret);
void watch_close(struct watch *w); /* detaches */
/* Detaches; what was counted stays readable, and records that are there already can still be
 * read. */
void watch_stop(struct watch *w);
/* Readable when the ring fills; for poll(). watch_read makes it wait for the next time. */
int watch_fd(const struct watch *w);
/* Hands over what has come, up to now: 0 or -errno. */
int watch_read(struct watch *w, const struct watch_sink *sink);
/* Looks whether events vanished; losses up to now. `event`: number in the monitor's table. */
int watch_status(struct watch *w, size_t event, struct watch_event_status *ret);

/* Every cell: visit returns 0 or a negative errno, which is passed on. Cells that are being written
 * may be one event behind in some of their numbers. */
int watch_cells(struct watch *w,
	int (*visit)(
		void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell),
	void *context);
/* Every object of a kind that is there now. Its process is known where the table needs it: for an
 * event of the process that began it (process_act), or to list what is left of this kind at the
 * end. Objects whose end was not seen are never removed: they are what is left, and when there is
 * no room for more, that is counted. */
int watch_objects(struct watch *w, uint8_t kind,
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object),
	void *context);
/* Forgets a cell, of a process that is gone. *ret_last: what it held in the end; count 0 when there
 * was none. */
int watch_forget(
	struct watch *w, const struct monitor_cell_key *key, struct monitor_cell *ret_last);
/* The addresses of a kept stack, leaf first: how many (0: not there). */
size_t watch_stack(struct watch *w, int32_t id, uint64_t ret_addresses[MONITOR_STACK_DEPTH]);
