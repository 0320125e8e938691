/* SPDX-License-Identifier: MIT */
/*
 * What a monitor counts, served to Prometheus over HTTP: "/metrics" is fetched anew for each
 * request.
 *
 * Everything happens in the thread that calls metrics_server_run: the caller polls
 * metrics_server_fd beside its own descriptors, for at most metrics_server_timeout_ms, and then
 * calls it. It also adds what ended processes used to their containers, and lets the watch forget
 * them (monitor/metrics/accounts.h), so that a watch may go on for weeks. So it has to be called in
 * time also when nobody fetches metrics.
 *
 * There is no authentication and no encryption: whoever reaches the address, or may write to the
 * Unix socket, reads it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "monitor/totals.h"

struct metrics_server;

struct metrics_source {
	const struct monitor *monitor;
	struct watch *watch;
	struct busy_times *busy; /* NULL: no series asks for it */
	uint32_t pid;		 /* that the watch is limited to; 0: all */
	const char *ring;	 /* so too; NULL: all */
	/* Everything up to now: reads the records that are there (they bring the busy time), then
	 * totals_fetch. 0 or
	 * -errno with error_text. */
	int (*fetch)(void *context, struct totals *ret);
	void *context;
	/* Processes are not forgotten within so long of their last event: the interval of
	 * statistics by interval; 0: there are none. */
	uint64_t quiet_ns;
};

/* Binds to an address, as http_open does (serve/http.h). Nothing is answered before
 * metrics_server_start. 0, or -errno with error_text. */
int metrics_server_open(const char *address, struct metrics_server **ret);
void metrics_server_close(struct metrics_server *s);
/* Where it can be reached, as http_address says. */
const char *metrics_server_address(const struct metrics_server *s);
/* From now on it answers. *source is copied; what it points to has to live as long as the server. 0
 * or -errno with error_text. */
int metrics_server_start(struct metrics_server *s, const struct metrics_source *source);
/* Readable when there is something to do; for poll(). */
int metrics_server_fd(const struct metrics_server *s);
int metrics_server_timeout_ms(const struct metrics_server *s);
/* Does what there is to do, without waiting: 0 or -errno with error_text. */
int metrics_server_run(struct metrics_server *s);
/* Adds what processes used that the watch forgot, as rows without a process ("" by name, pid 0), so
 * that the statistics at the end are of everything. Not for the two sides of totals_since. 0 or
 * -ENOMEM. */
int metrics_server_add_ended(const struct metrics_server *s, struct totals *t);
