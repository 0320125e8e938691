/* SPDX-License-Identifier: MIT */
/*
 * Whether the tables of monitors are right: what the compiler cannot see, and what would look like
 * a kernel that lacks something. Each: 0, or -EINVAL with error_text.
 */
#pragma once

#include "monitor/monitor.h"

/* Whether every name, number and combination means something, so that no plan of it is wrong for a
 * misspelling. */
int monitor_check(const struct monitor *m);
/* Every template of its columns against its events, and that records have what busy times are kept
 * by. */
int line_check(const struct monitor *m);
/* That its names are names to Prometheus, and each is there once. */
int metrics_check(const struct monitor *m);
