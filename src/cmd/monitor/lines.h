/* SPDX-License-Identifier: MIT */
/*
 * Records as lines: columns of text, JSON or CSV. All forms of one monitor have the same columns on
 * every kernel.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "monitor/watch.h"

enum monitor_form {
	FORM_TEXT = 0,
	FORM_JSON,
	FORM_CSV,
};

struct monitor_lines {
	const struct monitor *monitor;
	const struct watch_event_status *status; /* of every event, by the table; the caller's */
	enum monitor_form form;
	unsigned int width; /* of a terminal, to cut text to; 0: no limit */
	struct buf line;    /* in the making */
	/* CSV: what has a column behind the fixed ones. */
	struct vec(const char *) fields;
};

/* 0 or -ENOMEM with error_text. */
int monitor_lines_init(struct monitor_lines *l, const struct monitor *m,
	const struct watch_event_status *status, enum monitor_form form);
void monitor_lines_release(struct monitor_lines *l);
/* What stands above the lines; nothing for JSON. */
void monitor_heading(struct monitor_lines *l, struct buf *out);
void monitor_line(struct monitor_lines *l, const struct monitor_record *r, struct buf *out);

/* A text as one value of a CSV line, in quotes where it needs them. */
void csv_text(struct buf *out, const char *text);
