/* SPDX-License-Identifier: MIT */
/*
 * What a monitor saw, ready to be printed: totals, what became of its events, what was left.
 *
 * All of it is collected first (stats.c, left.c) and then written in one of three forms, so that no
 * form shows more than another.
 */
#pragma once

#include "base/json_writer.h"
#include "monitor/totals.h"

#define LEFT_ROWS_SHOWN 10

/* Objects of one process, begun at one stack, that were still there. */
struct left_row {
	uint32_t pid;
	uint32_t tid;
	char comm[MONITOR_COMM_BYTES];
	char label[TOTAL_LABEL_BYTES];
	int32_t kernel_stack, user_stack; /* negative: none */
	uint64_t count;
	uint64_t sum;	   /* of their values */
	uint64_t first_ns; /* when the first of them began */
	/* one frame a line, leaf first; NULL: none. Only in the rows that are shown. */
	char *stack;
	bool not_kept; /* there was no room for a part of it, or for all */
	/* why frames of the process are only addresses; NULL: they have names */
	const char *unnamed;
};

struct left {
	uint8_t object;
	char unknown[200];		  /* why it is not known what was left; empty: it is */
	struct vec(struct left_row) rows; /* the largest first */
	uint64_t count, sum;
	uint64_t unreadable; /* files that names could not be read from */
};

struct monitor_stats {
	const struct monitor *monitor;
	const struct totals *totals; /* the caller's */
	uint64_t began_ns;	     /* when the watch began; these are CLOCK_MONOTONIC */
	uint64_t from_ns, until_ns;
	bool whole; /* all of the time, not an interval of it */
	struct watch_event_status status[MONITOR_EVENTS]; /* in an interval: what was lost in it */
	size_t event_count;
	uint32_t pid;		      /* only of this process; 0: all */
	const char *ring;	      /* only with this label; NULL: all */
	struct vec(struct left) left; /* `whole` */
};

/* Without totals: 0 or -errno with error_text. */
int monitor_stats_gather(struct watch *w, struct monitor_stats *s);
/* Objects that are there now, by process and stack. 0 or -errno with error_text. */
int monitor_stats_left(struct watch *w, struct monitor_stats *s);
void monitor_stats_release(struct monitor_stats *s);

/* NULL when it is. */
const char *monitor_why_not_watched(const struct watch_event_status *status);
/* What was counted since an earlier gathering. */
void monitor_losses_since(struct monitor_stats *s, const struct watch_event_status *before);

uint64_t monitor_stats_seen(const struct monitor_stats *s);
/* Rings that events were of while one was asked for. Whether that one is among them. */
bool monitor_rings_seen(
	const struct monitor *m, const struct totals *t, const char *ring, struct buf *ret_others);
/* Whether a row by process is that of all that ended and were let go (metrics_server_add_ended).
 * Their busy time is not known: each had its own, and the union is not kept. */
bool monitor_row_is_ended(const struct total *row);
/* Whether the records that bring busy time were all read. */
bool monitor_busy_is_whole(const struct monitor_stats *s);

/* `width`: of the terminal, or 0 for no limit. */
void monitor_stats_text(const struct monitor_stats *s, unsigned int width, struct buf *out);
/* {"statistics": {...}} or {"interval": {...}} and a newline. */
void monitor_stats_json(const struct monitor_stats *s, struct buf *out);
void monitor_stats_csv_heading(struct buf *out);
void monitor_stats_csv(const struct monitor_stats *s, struct buf *out);
