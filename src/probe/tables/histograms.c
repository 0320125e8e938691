// SPDX-License-Identifier: MIT
/* Tables of counts by a number: times by powers of 2, lanes, runs of threads. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "probe/tables/table.h"

#define POWERS 64
#define LANES  33
#define RUNS   64 /* rows of threadhist */

/* The counts by key, up to `count` keys: the largest. */
static uint64_t read_counts(const struct values *v, uint64_t *counts, uint32_t count)
{
	uint64_t most = 0;

	vec_foreach (e, &v->entries) {
		uint64_t key = values_key_number(v, e, 0);

		if (key >= count)
			continue;
		counts[key] += values_number(v, e, 0);
		if (counts[key] > most)
			most = counts[key];
	}
	return most;
}

static uint64_t add_all(const uint64_t *counts, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all += counts[i];
	return all;
}

int put_blocktime(const struct show *show)
{
	uint64_t counts[POWERS] = {0}, most;
	char from[TEXT_CELL], to[TEXT_CELL], cell[TEXT_CELL];
	int first = 0, last = POWERS - 1;
	struct values v;
	int error = table_values(show, "nanoseconds", &v);

	most = read_counts(&v, counts, POWERS);
	values_release(&v);
	if (error)
		return error;
	if (!most) {
		table_none(show->out);
		return 0;
	}
	while (!counts[first])
		first++;
	while (!counts[last])
		last--;
	buf_puts(show->out, "        from          to           threads\n");
	for (int i = first; i <= last; i++) {
		buf_printf(show->out, "  %10s  %10s  %16s  ",
			i ? text_duration(from, 1ull << i) : "0 ns",
			i < POWERS - 1 ? text_duration(to, 1ull << (i + 1)) : "",
			text_count(cell, counts[i]));
		table_bar(show->out, counts[i], most);
		buf_putc(show->out, '\n');
	}
	buf_printf(show->out, "  %s threads\n", text_count(cell, add_all(counts, POWERS)));
	return 0;
}

int put_divergence(const struct show *show)
{
	uint64_t counts[LANES] = {0}, most, lanes = 0, all;
	char cell[TEXT_CELL];
	struct values v;
	int error = table_values(show, "active_lanes", &v);

	most = read_counts(&v, counts, LANES);
	values_release(&v);
	if (error)
		return error;
	if (!most) {
		table_none(show->out);
		return 0;
	}
	buf_puts(show->out, "  lanes          accesses\n");
	for (uint32_t i = 1; i < LANES; i++) {
		lanes += counts[i] * i;
		if (!counts[i])
			continue;
		buf_printf(show->out, "  %5u  %16s  ", i, text_count(cell, counts[i]));
		table_bar(show->out, counts[i], most);
		buf_putc(show->out, '\n');
	}
	all = add_all(counts, LANES);
	buf_printf(show->out, "  %s accesses of warps, %.1f lanes each\n", text_count(cell, all),
		(double)lanes / (double)all);
	return 0;
}

struct run_count {
	uint64_t runs, threads;
	uint64_t first, last; /* numbers of such threads */
};

static void note(struct run_count *rows, size_t *count, uint64_t runs, uint64_t thread)
{
	size_t i = 0;

	while (i < *count && rows[i].runs != runs)
		i++;
	if (i == RUNS)
		return;
	if (i == *count)
		rows[(*count)++] =
			(struct run_count){.runs = runs, .first = thread, .last = thread};
	rows[i].threads++;
	rows[i].first = thread < rows[i].first ? thread : rows[i].first;
	rows[i].last = thread > rows[i].last ? thread : rows[i].last;
}

static int by_runs(const void *a, const void *b)
{
	const struct run_count *x = a, *y = b;

	return x->runs < y->runs ? 1 : x->runs > y->runs ? -1 : 0;
}

/* Threads of the same number in several contexts are added up as if they were one. */
int put_threadhist(const struct show *show)
{
	struct run_count rows[RUNS];
	struct map runs = MAP_INIT;
	uint64_t all = 0;
	size_t count = 0;
	char cell[TEXT_CELL], from[TEXT_CELL], to[TEXT_CELL];
	struct values v;
	int error = table_values(show, "runs", &v);

	for (size_t i = 0; !error && i < v.entries.count; i++) {
		const struct value_entry *e = &v.entries.items[i];
		uint64_t n = values_number(&v, e, 0);
		const uint64_t *before = map_get(&runs, e->thread);

		all += n;
		error = map_put(&runs, e->thread, n + (before ? *before : 0));
	}
	for (size_t i = 0; runs.slots && i <= runs.mask; i++)
		if (runs.slots[i].used)
			note(rows, &count, runs.slots[i].value, runs.slots[i].key);
	map_release(&runs);
	values_release(&v);
	if (error)
		return error;
	qsort(rows, count, sizeof(*rows), by_runs);
	if (!count)
		table_none(show->out);
	else
		buf_puts(show->out, "          runs       threads  their numbers\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(show->out, "  %12s  %12s  %s to %s\n", text_count(cell, rows[i].runs),
			text_count((char[TEXT_CELL]){0}, rows[i].threads),
			text_count(from, rows[i].first), text_count(to, rows[i].last));
	if (count)
		buf_printf(show->out, "  %s runs%s\n", text_count(cell, all),
			count == RUNS ? ", and there are other numbers of them" : "");
	return 0;
}
