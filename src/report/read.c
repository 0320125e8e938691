// SPDX-License-Identifier: MIT
/* Reads what a report is written from: a table of parts, of which one is read only if it is
 * wanted. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/probes.h"
#include "report/report.h"

struct reading {
	struct report report; /* points to what is below */
	const struct report_wanted *wanted;
	struct profile_reader *reader, *again;
	struct range *range;
	struct summary summary;
	struct kernel_stalls stalls;
	struct counter_sums counters;
	struct report_probes probes;
	bool has_probes;
	struct gaps gaps;
	struct sync_waits sync_waits;
	struct location_texts texts;
	struct function_sums functions;
};

static int read_summary(struct reading *g)
{
	int error = range_open(&g->range, &g->reader, g->report.path, &g->wanted->range);

	g->report.range = g->range;
	g->report.reader = g->reader;
	g->report.summary = &g->summary;
	error = error ?: summary_read(&g->summary, g->reader);
	if (!error && g->range)
		g->report.elapsed_ns = g->range->elapsed_ns;
	else
		g->report.elapsed_ns = g->summary.end_ns - g->summary.start_ns;
	return error;
}

static int read_stalls(struct reading *g)
{
	int error = profile_reader_open_again(&g->again, g->reader);

	g->report.stalls = &g->stalls;
	return error ?: kernel_stalls_read(&g->stalls, g->again);
}

static int read_counters(struct reading *g)
{
	g->report.counters = &g->counters;
	return counter_sums_read(&g->counters, g->reader);
}

static int read_probes(struct reading *g)
{
	int error = report_probes_read(&g->probes, g->reader, g->wanted->top);

	g->has_probes = true;
	g->report.probes = &g->probes;
	return error;
}

static int read_gaps(struct reading *g)
{
	const struct internals *internals = &g->summary.internals;
	int error;

	g->report.gaps_unknown = g->summary.estimated;
	if (g->report.gaps_unknown)
		return 0;
	error = gaps_read(&g->gaps, internals, &g->summary);
	g->report.gaps = &g->gaps;
	g->report.sync_waits = &g->sync_waits;
	return error ?: sync_waits_find(&g->sync_waits, &g->gaps.events, internals);
}

static int read_functions(struct reading *g)
{
	const struct summary *s = &g->summary;
	int error = location_texts_init(&g->texts, g->reader, false);

	g->report.texts = &g->texts;
	g->report.functions = &g->functions;
	return error
		       ?: function_sums_read(&g->functions, &s->sampled, &s->internals, &g->texts,
				  g->report.inlines);
}

static bool wants_stalls(const struct report_wanted *w)
{
	return w->stalls;
}

static bool wants_counters(const struct report_wanted *w)
{
	return w->counters;
}

static bool wants_probes(const struct report_wanted *w)
{
	return w->probes;
}

static bool wants_gaps(const struct report_wanted *w)
{
	/* GPUs are idle, not threads. */
	return !w->stalls && !w->counters && !w->probes && !w->range.thread;
}

/* A part may need those before it. */
static const struct part {
	bool (*is_wanted)(const struct report_wanted *w); /* NULL: always */
	int (*read)(struct reading *g);
} parts[] = {
	{NULL, read_summary},
	{wants_stalls, read_stalls},
	{wants_counters, read_counters},
	{wants_probes, read_probes},
	{wants_gaps, read_gaps},
	{NULL, read_functions},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

int report_open(struct report **ret, const char *path, const struct report_wanted *w)
{
	struct reading *g = calloc(1, sizeof(*g));
	int error = 0;

	if (!g)
		return error_errno(-ENOMEM, "cannot read '%s'", path);
	g->report = (struct report){.path = path,
		.inlines = w->inlines,
		.top = w->top,
		.top_gaps = w->top_gaps,
		.width = w->width};
	g->wanted = w;
	for (size_t i = 0; i < PARTS && !error; i++)
		if (!parts[i].is_wanted || parts[i].is_wanted(w))
			error = parts[i].read(g);
	if (error)
		report_close(&g->report);
	else
		*ret = &g->report;
	return error;
}

void report_close(struct report *r)
{
	struct reading *g = (struct reading *)r; /* its first member */

	if (!g)
		return;
	/* What was not read is zeroed, as it began. */
	function_sums_release(&g->functions);
	location_texts_release(&g->texts);
	sync_waits_release(&g->sync_waits);
	gaps_release(&g->gaps);
	if (g->has_probes)
		report_probes_release(&g->probes);
	counter_sums_release(&g->counters);
	kernel_stalls_release(&g->stalls);
	profile_reader_close(g->again);
	summary_release(&g->summary);
	profile_reader_close(g->reader);
	range_free(g->range);
	free(g);
}
