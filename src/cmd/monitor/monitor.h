/* SPDX-License-Identifier: MIT */
/* What the parts of `xpuprof monitor` share: monitor.c reads the command line, the others carry it
 * out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cmd/monitor/lines.h"

struct monitor_args {
	const struct monitor *monitor;
	uint32_t pid;	  /* 0: all */
	const char *ring; /* NULL: all */
	double seconds;	  /* 0: until a signal comes */
	double interval;  /* seconds; 0: no statistics in between */
	bool lines;
	enum monitor_form form;
	int above_event; /* -1: none */
	uint64_t above_ns;
	const char *metrics; /* address to serve them at, or NULL */
};

/* Watches until the end of it, and prints: the exit status. */
int monitor_watch(const struct monitor_args *a);
/* Prints what there is to be watched: the exit status. */
int monitor_list(bool json);
/* "RUN:5ms": 0, or -EINVAL with error_text. */
int monitor_parse_above(
	const struct monitor *m, const char *text, int *ret_event, uint64_t *ret_ns);
