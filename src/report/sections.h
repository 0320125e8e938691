/* SPDX-License-Identifier: MIT */
/* The sections of a report, which report.c puts together, and functions that several of them
 * use. */
#pragma once

#include "profile/spread.h"
#include "report/report.h"

struct table;

extern const struct table report_devices, report_kernels, report_copies, report_sets;
/* All calls, and the tables that people read of them. */
extern const struct table report_calls, report_waiting_calls, report_asking_calls,
	report_observed_calls;
/* What programs gave names. */
extern const struct table report_markers, report_metrics;
/* CPU time by function, and which work threads waited for. */
extern const struct table report_functions, report_sync_waits;

/* Each appends nothing where it has no contents. */
void report_head_text(const struct report *r, struct buf *out);
void report_head_json(const struct report *r, struct json_writer *w);
void report_notes_text(const struct report *r, struct buf *out);
void report_latency_text(const struct report *r, struct buf *out);
void report_latency_json(const struct report *r, struct json_writer *w);
/* Why GPUs were idle, in short, and then the gaps one by one; in JSON together. */
void report_idle_text(const struct report *r, struct buf *out);
void report_idle_unknown_text(const struct report *r, struct buf *out);
void report_gaps_text(const struct report *r, struct buf *out);
void report_idle_json(const struct report *r, struct json_writer *w);
/* Where threads waited at all. */
void report_waits_text(const struct report *r, struct buf *out);
void report_waits_json(const struct report *r, struct json_writer *w);
/* Events of GPU drivers. */
void report_drivers_text(const struct report *r, struct buf *out);
void report_drivers_json(const struct report *r, struct json_writer *w);
void report_processes_text(const struct report *r, struct buf *out);
void report_processes_json(const struct report *r, struct json_writer *w);
void report_threads_text(const struct report *r, struct buf *out);
void report_threads_json(const struct report *r, struct json_writer *w);
/* How many stacks are whole, what was not joined, what was lost. */
void report_stacks_text(const struct report *r, struct buf *out);
void report_stacks_json(const struct report *r, struct json_writer *w);
void report_joins_text(const struct report *r, struct buf *out);
void report_joins_json(const struct report *r, struct json_writer *w);
void report_losses_text(const struct report *r, struct buf *out);
void report_losses_json(const struct report *r, struct json_writer *w);
/* Samples of instructions, and hardware counters. */
void report_stalls_text(const struct report *r, struct buf *out);
void report_stalls_json(const struct report *r, struct json_writer *w);
void report_counters_text(const struct report *r, struct buf *out);
void report_counters_json(const struct report *r, struct json_writer *w);
/* What programs in kernels found. */
void report_probes_text(const struct report *r, struct buf *out);
void report_probes_json(const struct report *r, struct json_writer *w);

/* How many of `count` rows are printed. */
size_t report_rows_shown(const struct report *r, size_t count);
/* "Title (10 of 37)" above a table. */
void report_title(struct buf *out, const char *title, size_t shown, size_t count);
/* Names have at least this many columns, however narrow the report is. */
#define REPORT_NAME_MIN 14
/* What is left of a line behind `used` columns; 0: no limit. */
unsigned int report_columns_left(const struct report *r, unsigned int used);
/* A fact about the recording (META_ keys); NULL where there is none or it is empty. */
const char *report_meta(const struct report *r, const char *key);
/* Appends a text (NULL: none) of several lines, with something before the first and before each
 * other one. */
void report_lines(struct buf *out, const char *first, const char *others, const char *text);
/* The string of an id, null for 0. */
void report_string_json(
	const struct report *r, struct json_writer *w, const char *name, uint32_t id);
void report_uuid_json(struct json_writer *w, const struct profile_device *device);
/* Two members: what a sum may be. The second is null where that is not known. */
void report_range_json(struct json_writer *w, const char *low_key, const char *high_key,
	const struct spread_range *range);
/* Of percentiles. */
void report_percentile_error(const struct report *r, const void *row, struct json_writer *w);
