// SPDX-License-Identifier: MIT
/*
 * What a scrape costs here, beside fetching the cells: processes on rings of the drm monitor, put
 * into Prometheus' text.
 *
 *	metrics PROCESSES RINGS    prints rows, lines, bytes and the CPU time of the median of 21
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bucket.h"
#include "monitor/metrics/metrics.h"

#define TIMES 21

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SECOND + (uint64_t)ts.tv_nsec;
}

static int add_row(
	struct totals *t, const struct monitor *m, uint16_t series, uint32_t pid, unsigned int ring)
{
	struct total row = {
		.series = series, .pid = m->series[series].by_process ? pid : 0, .comm = "python3"};

	snprintf(row.label[0], sizeof(row.label[0]), "comp_1.%u.0", ring);
	for (uint64_t ns = 10000; ns < 100000000; ns += ns / 7) {
		row.count++;
		row.sum += ns;
		row.max = ns;
		row.buckets[total_bucket(ns)]++;
	}
	return vec_push(&t->rows, row);
}

static int fill(
	struct totals *t, const struct monitor *m, unsigned int processes, unsigned int rings)
{
	int error = 0;

	for (uint16_t s = 0; m->series[s].name; s++)
		for (unsigned int p = 0; p < (m->series[s].by_process ? processes : 1); p++)
			for (unsigned int r = 0; r < rings && !error; r++)
				error = add_row(t, m, s, 1000 + p, r);
	return error;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static uint64_t median_ns(const struct metrics_input *in, struct buf *text)
{
	uint64_t times[TIMES];

	for (int i = 0; i < TIMES; i++) {
		uint64_t before = cpu_ns();

		buf_reset(text);
		if (metrics_write(in, text) < 0)
			return 0;
		times[i] = cpu_ns() - before;
	}
	qsort(times, TIMES, sizeof(*times), by_value);
	return times[TIMES / 2];
}

int main(int argc, char **argv)
{
	const struct monitor *m = monitor_find("drm");
	struct watch_event_status *events = calloc(monitor_event_count(m), sizeof(*events));
	const struct held_list nothing = HELD_LIST_INIT;
	struct metrics_input in = {.monitor = m, .held = &nothing, .events = events};
	struct totals t = TOTALS_INIT;
	struct buf text = BUF_INIT;
	struct accounts a;
	size_t lines = 0;
	uint64_t ns;

	if (argc != 3 || !events || accounts_init(&a, "") < 0 ||
		fill(&t, m, (unsigned int)atoi(argv[1]), (unsigned int)atoi(argv[2])) < 0)
		return 1;
	in.totals = &t;
	in.accounts = &a;
	ns = median_ns(&in, &text);
	for (size_t i = 0; i < text.size; i++)
		lines += text.data[i] == '\n';
	printf("%zu %zu %zu %.2f\n", t.rows.count, lines, text.size, (double)ns / NS_PER_MS);
	totals_release(&t);
	accounts_release(&a);
	buf_release(&text);
	free(events);
	return ns ? 0 : 1;
}
