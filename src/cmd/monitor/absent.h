/* SPDX-License-Identifier: MIT */
/*
 * Events that are not there, by the reason why not: most of a monitor's are missing for the same
 * one.
 */
#pragma once

#include "base/buf.h"
#include "monitor/monitor.h"

/* A line with `before` and a reason, and below it the names of the events, for each reason.
 * `reasons`: of each event of the monitor; NULL: it is there. */
void monitor_absent_text(const struct monitor *m, const char *const reasons[MONITOR_EVENTS],
	const char *before, struct buf *out);
