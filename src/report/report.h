/* SPDX-License-Identifier: MIT */
/* The two forms of `xpuprof report`: a summary as text for people and as JSON for programs. */
#pragma once

#include "base/buf.h"
#include "view/tables/counter_sums.h"
#include "view/tables/function_sums.h"
#include "view/gaps/gaps.h"
#include "view/stalls/kernels.h"
#include "view/names/location_text.h"
#include "view/tables/summary.h"
#include "view/gaps/sync_waits.h"

struct report {
	const char *path;
	const struct profile_reader *reader;
	const struct summary *summary;
	const struct location_texts *texts;
	const struct function_sums *functions;
	const struct kernel_stalls *stalls; /* NULL: not wanted */
	const struct counter_sums *counters; /* NULL: not wanted */
	const struct gaps *gaps;	     /* NULL: not wanted */
	const struct sync_waits *sync_waits; /* so too, together */
	bool inlines;       /* functions that were inlined, too */
	size_t top;         /* rows of each table; 0: all */
	unsigned int width; /* columns; 0: no limit */
};

struct json_writer;

/* With stalls or counters only the recording in short, and these. Both: 0 or -errno with error_text. */
int report_text(const struct report *r, struct buf *out);
/* Appends what an incomplete stack's note says of the reason. */
void report_reason(const struct report *r, uint32_t note, struct buf *b);
/* The form is documented in xpuprof-report(1). */
int report_json(const struct report *r, struct buf *out);
/* The part of stalls in each. */
int report_stalls_text(const struct report *r, struct buf *out);
int report_stalls_json(const struct report *r, struct json_writer *w);
/* CPU time by function; nothing where nothing was sampled. */
void report_functions_text(const struct report *r, struct buf *out);
void report_functions_json(const struct report *r, struct json_writer *w);
/* That of events of GPU drivers; nothing where there are none. */
void report_drivers_text(const struct report *r, struct buf *out);
void report_drivers_json(const struct report *r, struct json_writer *w);
/* Why GPUs were idle, in short, and then the gaps one by one. */
void report_idle_text(const struct report *r, struct buf *out);
void report_gaps_text(const struct report *r, struct buf *out);
/* Which work threads waited for. */
void report_sync_waits_text(const struct report *r, struct buf *out);
/* And where threads waited at all; nothing where that was not recorded. */
void report_waits_text(const struct report *r, struct buf *out);
void report_waits_json(const struct report *r, struct json_writer *w);
void report_gaps_json(const struct report *r, struct json_writer *w);
void report_sync_waits_json(const struct report *r, struct json_writer *w);
/* And that of hardware counters. */
int report_counters_text(const struct report *r, struct buf *out);
void report_counters_json(const struct report *r, struct json_writer *w);

/* For tables. How many of so many rows are printed. */
size_t report_rows_shown(const struct report *r, size_t count);
/* "Title (10 of 37)" above a table. */
void report_heading(const struct report *r, struct buf *out, const char *title, size_t count);
/* What is left of a line behind `used` columns; 0: no limit. */
unsigned int report_columns_left(const struct report *r, unsigned int used);
