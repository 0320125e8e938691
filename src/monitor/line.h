/* SPDX-License-Identifier: MIT */
/*
 * Records as text: the placeholders of a table's columns filled in (monitor.h). Strings come from
 * the kernel and from programs: what is not printable comes out as '?'.
 */
#pragma once

#include "base/buf.h"
#include "monitor/plan.h"

/* Appends one column of an event. */
void line_column(const struct monitor *m, size_t event, const struct monitor_event_plan *plan,
	const struct monitor_record *r, size_t column, struct buf *out);
/* A field as it is, for machines. */
struct line_value {
	enum { LINE_NOTHING, LINE_UNSIGNED, LINE_SIGNED, LINE_TEXT } kind;
	uint64_t number;  /* LINE_SIGNED: two's complement */
	const char *text; /* LINE_TEXT: in the record, without a NUL when it is as long as can be */
	size_t length;
};

struct line_value line_field(
	const struct monitor_event_plan *plan, const struct monitor_record *r, size_t field);
/* Appends text of the kernel's or of programs, at most `size` bytes up to a NUL. */
void line_text(struct buf *out, const char *text, size_t size);

/* A label as text: a string as it is, a number named by the list (NULL: none) or written out;
 * nothing for none. */
void line_label(const struct monitor *m, const char *list, const char label[MONITOR_LABEL_BYTES],
	struct buf *out);
/* The number that a label is; false: it is none. */
bool line_label_number(const char label[MONITOR_LABEL_BYTES], uint64_t *ret);

/* "1.25 ms", "340 us", "12 ns"; "1.5 MiB". */
void line_time(struct buf *out, uint64_t ns);
void line_size(struct buf *out, uint64_t bytes);
