/* SPDX-License-Identifier: MIT */
/*
 * The two forms of `xpuprof report`, a summary as text for people and as JSON for programs, both
 * written into a buffer. report.c is the table of contents. Each section is a file with both forms,
 * written from one description (table.h) where they have the same contents.
 */
#pragma once

#include "base/buf.h"
#include "view/tables/counter_sums.h"
#include "view/tables/function_sums.h"
#include "view/gaps/gaps.h"
#include "view/stalls/kernels.h"
#include "view/names/location_text.h"
#include "view/range/range.h"
#include "view/tables/summary.h"
#include "view/gaps/sync_waits.h"

struct report_probes;

/* The data of a report; report_open fills it. */
struct report {
	const char *path;
	const struct range *range; /* which part is reported; NULL: all */
	const struct profile_reader *reader;
	const struct summary *summary;
	const struct location_texts *texts;
	const struct function_sums *functions;
	const struct kernel_stalls *stalls;  /* NULL: not wanted */
	const struct counter_sums *counters; /* NULL: not wanted */
	const struct report_probes *probes;  /* NULL: not wanted */
	const struct gaps *gaps;	     /* NULL: not wanted */
	const struct sync_waits *sync_waits; /* NULL: not wanted; with gaps */
	bool gaps_unknown;		     /* they are wanted, and not known */
	bool inlines;			     /* functions that were inlined, too */
	uint64_t elapsed_ns;		     /* of what is reported */
	size_t top;			     /* rows of each table; 0: all */
	size_t top_gaps;		     /* of each GPU that are listed; 0: all */
	unsigned int width;		     /* columns; 0: no limit */
};

struct json_writer;

struct report_wanted {
	bool stalls, counters, probes; /* instead of idle times */
	bool inlines;
	size_t top, top_gaps;
	unsigned int width;
	struct range_wanted range;
};

/* Reads a profile: 0 or -errno with error_text. The path must outlive the report. */
int report_open(struct report **ret, const char *path, const struct report_wanted *w);
void report_close(struct report *r);

/*
 * Append the report; with stalls, counters or probes the text is only the recording in short, and
 * these.
 * When memory is short `out` is left failed. The form of the JSON is documented in
 * xpuprof-report(1). The output is bounded: a few hundred bytes for each row of tables that are in
 * memory already.
 */
void report_text(const struct report *r, struct buf *out);
void report_json(const struct report *r, struct buf *out);
