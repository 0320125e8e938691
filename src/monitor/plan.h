/* SPDX-License-Identifier: MIT */
/*
 * An event of a monitor, for one kernel: which of its sources is there, and the plan for the
 * program in the kernel (bpf/monitor.h).
 */
#pragma once

#include "monitor/kernel/kernel.h"
#include "monitor/monitor.h"

/* Why an event is not to be had, or that it is. */
enum monitor_presence {
	PRESENT = 1,
	ABSENT_MODULE,	/* its module is not loaded */
	ABSENT_CONFIG,	/* the kernel was built without an option it needs */
	ABSENT_KERNEL,	/* this kernel's driver has no such event (any more, or yet) */
	ABSENT_KPROBES, /* it needs kprobes, which this kernel has not */
	ABSENT_RIGHTS,	/* we may not look */
	/* it is there, with a field missing, or of a type or size that we cannot read */
	ABSENT_FORMAT,
	ABSENT_TYPES,	/* it needs type information of a module that has none */
	ABSENT_REFUSED, /* all is there, and the kernel does not let us attach to it */
};

struct monitor_event_plan {
	enum monitor_presence presence;
	const struct monitor_source *source; /* PRESENT, ABSENT_FORMAT: the one it is about */
	uint32_t tracepoint_id;
	const char *function; /* SOURCE_FUNCTION, SOURCE_RETURN */
	/* Without filters and records. Fields, acts and counts keep their indices in the table; one
	 * that this kernel does not have is READ_NOTHING, ACT_NOTHING, VALUE_NOTHING. */
	struct monitor_plan plan;
	char reason[160]; /* not PRESENT: one clause for people: "module i915 is not loaded" */
};

/* How near to being usable a source is: the higher, the nearer. Of several reasons, that of the
 * nearest is reported. */
int monitor_presence_nearness(enum monitor_presence presence);
/* Never fails: what is wrong is in the plan. `event` is the row's number. */
void monitor_event_plan(const struct monitor *m, size_t event, const struct monitor_kernel *k,
	struct monitor_event_plan *ret);
