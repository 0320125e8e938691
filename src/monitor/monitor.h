/* SPDX-License-Identifier: MIT */
/*
 * Monitors: what the kernel's GPU drivers report, as tables. One monitor is one file in tables/ and
 * one row in monitors.c (docs/howto-add-a-monitor.md).
 *
 *	events   what happens: each with the tracepoints (or functions) of the kernel that say so, by generation
 *	objects  what events are about: a job, a buffer, a wait; they have stages, and so durations
 *	series   what is counted and measured: by which labels, in which unit
 *
 * Everything here is constant data with names in it; plan.h turns an event into a plan for one
 * kernel, by the format of its tracepoint there. A field that this kernel's event does not have
 * reads as 0 or empty, unless it is `needed`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/monitor.h"

#define MONITOR_SOURCES 4
#define MONITOR_OBJECTS 8
#define MONITOR_SERIES	48
#define MONITOR_LISTS	4

/* ------------------------------------------------------------------ events */

enum monitor_source_kind {
	SOURCE_TRACEPOINT = 1,
	SOURCE_FUNCTION, /* kprobe: a function is entered */
	SOURCE_RETURN,	 /* kretprobe: it returns */
};

enum monitor_field_kind {
	/* an integer or a pointer, of any size, as the kernel says; signed when it is */
	FIELD_NUMBER = 1,
	FIELD_STRING, /* in whatever way the kernel keeps it */
	/* none of the event's: the id of the thread that it happens in, known for every source */
	FIELD_THREAD,
};

/* One field, as the acts, counts and lines of the event call it. The one called "client" is the DRM
 * client id of whom the event is about. */
struct monitor_field {
	const char *name;
	const char *kernel; /* what the kernel calls it; SOURCE_FUNCTION: NULL */
	enum monitor_field_kind kind;
	bool needed;	  /* without it the source cannot be used */
	uint8_t argument; /* SOURCE_FUNCTION: its number, from 0 */
	uint8_t bytes;	  /* SOURCE_FUNCTION and SOURCE_RETURN: its size */
	bool is_signed;	  /* so too */
	uint8_t shift;	  /* counted in units of 1 << shift */
	int32_t add;	  /* to the number, before it is a key or anything else */
	const char *
		within; /* "amdgpu_bo.tbo": a pointer to this member; the struct's own address is wanted, which
			     * takes the type information of the module. NULL: as it is */
};

/* Where an event comes from on some kernels. */
struct monitor_source {
	enum monitor_source_kind kind;
	const char *name;   /* "gpu_scheduler:drm_run_job"; a function: "nvidia_unlocked_ioctl" */
	const char *module; /* that has it: "gpu_sched"; NULL: the kernel itself */
	/* kernel option without which it is not there, beside the driver itself; or NULL */
	const char *config;
	const char *since;				   /* for people: "Linux 6.17"; or NULL */
	const struct monitor_field fields[MONITOR_FIELDS]; /* up to one without name */
};

/*
 * An act (bpf/monitor.h). It is left out on kernels whose event lacks the field of its first key. A
 * count is left out where its field or its act is.
 *
 * A label names its source, or several sources, the preferred first, with '|' between:
 *
 *	"ring"         the field, if the kernel's event has it
 *	"@0.1"         label 1 of the object that act 0 found
 *	"@0.1|@2.1"    the same label of two acts: that of the act that found an object
 */
struct monitor_act {
	enum monitor_act_kind kind;
	uint8_t object; /* by the monitor's table */
	uint8_t stage;
	const char *key[MONITOR_KEY_WORDS]; /* fields */
	const char *value;		    /* field */
	bool only_value;
	bool optional;
	bool stacks;
	/* ACT_CLOSE: of few keys that come again and again (threads, displays); see
	 * bpf/monitor.h */
	bool recurs;
	const char *label[MONITOR_LABELS];
};

struct monitor_count {
	uint8_t series; /* by the monitor's table */
	enum monitor_value value;
	const char *field; /* VALUE_FIELD, VALUE_AGE, VALUE_PAIRED, VALUE_RANGE: the last */
	const char *first; /* VALUE_RANGE */
	/* VALUE_DURATION, VALUE_KEPT, VALUE_MISSED, VALUE_PERIOD, VALUE_BACK, VALUE_PAIRED */
	uint8_t act;
	uint8_t from; /* VALUE_DURATION: stage */
	const char *label[MONITOR_LABELS];
};

/*
 * What is printed of an event, in the monitor's columns. Text with placeholders in braces: {FIELD},
 * {FIELD:FORMAT}; also {#N}, the value of count N, {ring} and {other} (labels 0 and 1), {pid},
 * {comm}, {client}. Formats: d (decimal, the default), x (0x...), size (bytes, with unit), time
 * (nanoseconds, with unit), yes (one of two words: {write:yes WRITE READ}), LIST (a name from one
 * of the monitor's lists). What stands between brackets is left out when one of its fields is not
 * there (READ_NOTHING, MONITOR_NO_VALUE, an empty string).
 */
#define MONITOR_COLUMNS 6

struct monitor_event {
	const char *name; /* "RUN": in lines, for --above, in statistics */
	const char *says; /* for `monitor list`: "a job starts to run" */
	/* prints no lines unless asked for by --above (it only serves the statistics) */
	bool quiet;
	/* the first that the kernel has is used; newest first */
	struct monitor_source sources[MONITOR_SOURCES];
	struct monitor_act acts[MONITOR_ACTS];
	struct monitor_count counts[MONITOR_COUNTS];
	/* what --ring selects by, and whom it is about beside that */
	const char *label[MONITOR_LABELS];
	/* 1 + the act whose object has the process of the event (where that act is left out, the
	 * next one); 0: the current process. */
	uint8_t process_act;
	/* A needed field, a string that begins with the process of the event: "pid=1234, name=x,
	 * ...". Where it does not, the event is nobody's. NULL: there is no such field. */
	const char *process_text;
	uint8_t above; /* 1 + the count that --above compares; 0: the event has no such */
	const char *column[MONITOR_COLUMNS]; /* behind time and name */
};

/* ------------------------------------------------------------------ objects and series */

struct monitor_object_row {
	const char *name; /* "job", "buffer" */
	const char *
		left; /* what one is that is still there at the end: "jobs that did not end"; NULL: nobody
			    * wants to know */
	bool by_stack; /* those are listed by process and stack, with the sum of their values */
	/* without this event we cannot list them, and report that; NULL: none */
	const char *freed_by;
	const char *list; /* that names numbers in label 0; NULL: they are as they are */
};

enum monitor_unit {
	UNIT_COUNT = 0,
	UNIT_NANOSECONDS,
	UNIT_BYTES,
};

struct monitor_series {
	const char *name;  /* for machines: "run_time" */
	const char *title; /* for people: "Run time by ring" */
	enum monitor_unit unit;
	bool histogram;
	bool by_process;
	bool busy; /* the union of its durations is shown, too: how long the ring was busy */
	/* what the labels are: "ring", "waits_for"; NULL: not used */
	const char *label[MONITOR_LABELS];
	/* numbers in them are named by this list; NULL: they are as they are */
	const char *list[MONITOR_LABELS];
	/* for Prometheus, without the prefix and the unit's suffix: "job_run"; NULL: not
	 * exported */
	const char *metric;
	const char *help;
	/* Shown as a rate, 1 / mean, beside it: a refresh rate. */
	bool rate;
	/* This series' sum over that of another, by the same labels: "reclaimed of what was asked
	 * for". 1 + its row. */
	uint8_t share_of;
	const char *share_title;
};

/* Names of numbers. */
struct monitor_name {
	uint64_t value;
	const char *name;
};

struct monitor_range {
	uint64_t first, last;
	const char *name;
};

struct monitor_list {
	const char *name;		  /* "placement" */
	const struct monitor_name *names; /* up to one without name */
	/* of numbers that are not among them; so too, or NULL */
	const struct monitor_range *ranges;
	bool numbered;	       /* a name has its number before it */
	const char *otherwise; /* follows a number without name; or NULL */
};

/* ------------------------------------------------------------------ monitors */

struct monitor {
	const char *name;    /* "drm" */
	const char *summary; /* one clause */
	/* what the first label of events is here: "ring", "CRTC"; NULL: --ring means nothing */
	const char *ring;
	const char *ring_list; /* that names its numbers; NULL: they are as they are */
	const char *column[MONITOR_COLUMNS]; /* headings, behind TIME(ms) and EVENT */
	uint8_t width[MONITOR_COLUMNS];
	const struct monitor_event *events; /* up to one without name */
	const struct monitor_object_row *objects;
	const struct monitor_series *series;
	const struct monitor_list *lists;
	/* Drivers whose presence makes it the one for this machine: names of modules, "" separated by '|'. */
	const char *drivers;
	const char *note; /* what it cannot show, printed with the statistics; or NULL */
};

/* NULL past the last. */
const struct monitor *monitor_at(size_t n);
const struct monitor *monitor_find(const char *name);
size_t monitor_event_count(const struct monitor *m);
/* By name, without regard to case; -1: none. */
int monitor_event_find(const struct monitor *m, const char *name);
/* NULL: there is no such list. */
const struct monitor_list *monitor_list_find(const struct monitor *m, const char *list);
/* The name of a number, or NULL. */
const char *monitor_list_name(const struct monitor *m, const char *list, uint64_t value);
