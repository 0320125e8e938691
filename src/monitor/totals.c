// SPDX-License-Identifier: MIT
/*
 * Cells that differ only in their CPU become one row. What distinguishes rows is interned as bytes,
 * and its number is the row's; the order for people is made at the end.
 */
#include "monitor/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "monitor/line.h"

#define PART_BITS 3 /* log2(MONITOR_BUCKET_PARTS) */

_Static_assert(1 << PART_BITS == MONITOR_BUCKET_PARTS, "");

/* ------------------------------------------------------------------ buckets */

uint64_t total_bucket_low(unsigned int bucket)
{
	unsigned int highest = bucket / MONITOR_BUCKET_PARTS + 2;

	if (bucket < MONITOR_BUCKET_PARTS)
		return bucket;
	if (bucket >= MONITOR_BUCKETS)
		return UINT64_MAX;
	return (uint64_t)(MONITOR_BUCKET_PARTS + bucket % MONITOR_BUCKET_PARTS)
	       << (highest - PART_BITS);
}

static uint64_t bucket_high(unsigned int bucket)
{
	return bucket + 1 < MONITOR_BUCKETS ? total_bucket_low(bucket + 1) - 1 : UINT64_MAX;
}

static uint64_t within(uint64_t value, const struct total *t)
{
	return value < t->min ? t->min : value > t->max ? t->max : value;
}

uint64_t total_percentile(const struct total *t, double percent)
{
	uint64_t seen = 0, all = 0;
	double wanted;

	/* Not t->count: a cell may be read between its count and its bucket. */
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++)
		all += t->buckets[i];
	wanted = (double)all * percent / 100;
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++) {
		seen += t->buckets[i];
		if (!seen || (double)seen < wanted)
			continue;
		if (i == MONITOR_BUCKETS - 1)
			return t->max;
		return within(total_bucket_low(i) + (bucket_high(i) - total_bucket_low(i)) / 2, t);
	}
	return t->max;
}

/* ------------------------------------------------------------------ rows */

void totals_release(struct totals *t)
{
	vec_release(&t->rows);
	vec_release(&t->busy);
	interner_free(t->index);
	*t = TOTALS_INIT;
}

static int label_text(
	const struct monitor *m, const char *list, const char *label, char ret[TOTAL_LABEL_BYTES])
{
	struct buf b = BUF_INIT;
	int error;

	line_label(m, list, label, &b);
	error = b.failed ? -ENOMEM : 0;
	/* Each byte of a label is at most one of text; names in lists are short. */
	snprintf(ret, TOTAL_LABEL_BYTES, "%s", buf_text(&b));
	buf_release(&b);
	return error;
}

static const struct monitor_series *series_of(const struct monitor *m, unsigned int series)
{
	static const struct monitor_series labels = {.name = "labels"};

	return series == MONITOR_SERIES_LABELS ? &labels : &m->series[series];
}

static size_t series_count(const struct monitor *m)
{
	size_t count = 0;

	while (m->series && m->series[count].name)
		count++;
	return count;
}

static const char *list_of(const struct monitor *m, unsigned int series, size_t label)
{
	if (series == MONITOR_SERIES_LABELS)
		return label ? NULL : m->ring_list;
	return m->series[series].list[label];
}

static int start_row(struct total *row, const struct monitor *m, const struct monitor_cell_key *key)
{
	int error = 0;

	row->series = key->series;
	row->pid = key->pid;
	row->client = key->client;
	row->min = UINT64_MAX;
	for (size_t i = 0; !error && i < MONITOR_LABELS; i++)
		error = label_text(m, list_of(m, key->series, i), key->label[i], row->label[i]);
	return error;
}

static void add_counts(struct total *row, uint64_t count, uint64_t sum, uint64_t min, uint64_t max,
	const uint64_t buckets[MONITOR_BUCKETS])
{
	row->count += count;
	row->sum += sum;
	if (count && min < row->min)
		row->min = min;
	if (count && max > row->max)
		row->max = max;
	for (size_t i = 0; i < MONITOR_BUCKETS; i++)
		row->buckets[i] += buckets[i];
}

static void name_row(struct total *row, uint64_t cgroup, const char comm[MONITOR_COMM_BYTES])
{
	if (!row->cgroup)
		row->cgroup = cgroup;
	if (!row->comm[0]) {
		memcpy(row->comm, comm, MONITOR_COMM_BYTES);
		row->comm[MONITOR_COMM_BYTES - 1] = '\0';
	}
}

/* The row of a key, a new one when there is none: *ret_new says so. */
static int find_row(
	struct totals *t, const void *key, size_t size, struct total **ret, bool *ret_new)
{
	uint32_t id;
	int added, error = t->index ? 0 : interner_new(&t->index);

	error = error ?: interner_add(t->index, key, size, &id, &added);
	if (!error && added)
		error = vec_push(&t->rows, (struct total){0});
	if (error)
		return error;
	*ret = &t->rows.items[id - 1];
	*ret_new = added;
	return 0;
}

int totals_add(struct totals *t, const struct monitor *m, const struct monitor_cell_key *key,
	const struct monitor_cell *cell)
{
	struct monitor_cell_key known = *key;
	struct total *row;
	bool is_new;
	int error;

	if (key->series != MONITOR_SERIES_LABELS && key->series >= series_count(m))
		return 0;
	known.cpu = 0;
	error = find_row(t, &known, sizeof(known), &row, &is_new);
	if (!error && is_new)
		error = start_row(row, m, key);
	if (error)
		return error_set(error, "out of memory");
	name_row(row, cell->cgroup, cell->comm);
	add_counts(row, cell->count, cell->sum, cell->min, cell->max, cell->buckets);
	return 0;
}

bool totals_has_sums(const struct monitor *m, unsigned int series)
{
	for (size_t e = 0; series != MONITOR_SERIES_LABELS && m->events[e].name; e++)
		for (size_t n = 0; n < MONITOR_COUNTS; n++) {
			const struct monitor_count *c = &m->events[e].counts[n];

			if (c->series == series && c->value > VALUE_ONE)
				return true;
		}
	return false;
}

static uint64_t weight(const struct total *t)
{
	return t->sum ? t->sum : t->count;
}

static int by_weight(const void *left, const void *right)
{
	const struct total *a = left, *b = right;
	int order = (a->series > b->series) - (a->series < b->series);

	order = order ? order : (weight(a) < weight(b)) - (weight(a) > weight(b));
	order = order ? order : strcmp(a->label[0], b->label[0]);
	order = order ? order : strcmp(a->label[1], b->label[1]);
	order = order ? order : (a->pid > b->pid) - (a->pid < b->pid);
	return order ? order : (a->client > b->client) - (a->client < b->client);
}

/* The order for people; the numbers of rows are of no use any more. */
static void put_in_order(struct totals *t)
{
	interner_free(t->index);
	t->index = NULL;
	if (t->rows.count)
		qsort(t->rows.items, t->rows.count, sizeof(*t->rows.items), by_weight);
}

static int by_busy_key(const void *left, const void *right)
{
	const struct total_busy *a = left, *b = right;
	int order = (a->series > b->series) - (a->series < b->series);

	order = order ? order : (a->pid > b->pid) - (a->pid < b->pid);
	order = order ? order : strcmp(a->label[0], b->label[0]);
	return order ? order : strcmp(a->label[1], b->label[1]);
}

struct adding {
	struct totals *totals;
	const struct monitor *monitor;
};

static int add_union(
	void *context, const struct busy_key *key, uint64_t busy_ns, uint64_t uncertain_ns)
{
	const struct adding *to = context;
	const struct monitor_series *s = &to->monitor->series[key->series];
	struct total_busy row = {.series = (uint16_t)key->series,
		.pid = key->pid,
		.busy_ns = busy_ns,
		.uncertain_ns = uncertain_ns};
	int error = 0;

	for (size_t i = 0; !error && i < MONITOR_LABELS; i++)
		error = label_text(to->monitor, s->list[i], key->label[i], row.label[i]);
	return error ?: vec_push(&to->totals->busy, row);
}

/* In the order that find_busy looks by. */
static int add_busy(struct totals *t, const struct monitor *m, struct busy_times *b)
{
	struct adding to = {t, m};
	int error = busy_times_each(b, add_union, &to);

	if (t->busy.count)
		qsort(t->busy.items, t->busy.count, sizeof(*t->busy.items), by_busy_key);
	return error ? error_set(error, "out of memory") : 0;
}

/* `label`: NULL for none. */
static const struct total_busy *find_busy(const struct totals *t, uint16_t series,
	const char label[MONITOR_LABELS][TOTAL_LABEL_BYTES], uint32_t pid)
{
	struct total_busy wanted = {.series = series, .pid = pid};

	if (!t->busy.count)
		return NULL;
	if (label)
		memcpy(wanted.label, label, sizeof(wanted.label));
	return bsearch(&wanted, t->busy.items, t->busy.count, sizeof(wanted), by_busy_key);
}

static void set_busy(const struct totals *t, struct total *row, bool by_label, uint32_t pid)
{
	const struct total_busy *b = find_busy(t, row->series, by_label ? row->label : NULL, pid);

	if (!b)
		return;
	row->busy_ns = b->busy_ns;
	row->busy_uncertain_ns = b->uncertain_ns;
}

static int by_owner(const void *left, const void *right)
{
	const struct total *a = left, *b = right;
	int order = (a->series > b->series) - (a->series < b->series);

	order = order ? order : (a->pid > b->pid) - (a->pid < b->pid);
	return order ? order : (a->client > b->client) - (a->client < b->client);
}

/* Rows of processes that have one client: of several clients only the union is known. */
static void set_busy_of_rows(struct totals *t, const struct monitor *m)
{
	struct total *row = t->rows.items, *end = row + t->rows.count, *next;
	const struct monitor_series *s;

	qsort(row, t->rows.count, sizeof(*row), by_owner);
	for (; row < end; row = next) {
		for (next = row;
			next < end && next->series == row->series && next->pid == row->pid;)
			next++;
		s = series_of(m, row->series);
		if (!s->busy || next[-1].client != row->client || (s->by_process && !row->pid))
			continue;
		for (struct total *r = row; r < next; r++)
			set_busy(t, r, true, r->pid);
	}
}

/* What distinguishes a row from the others, as bytes. */
struct row_key {
	uint64_t client;
	uint32_t pid;
	uint32_t series;
	char label[MONITOR_LABELS][TOTAL_LABEL_BYTES];
};

static struct row_key key_of(const struct total *row)
{
	struct row_key key = {.client = row->client, .pid = row->pid, .series = row->series};

	memcpy(key.label, row->label, sizeof(key.label));
	return key;
}

/* Labels that differ may be the same as text, where that has something else for what cannot be
 * printed. */
static int join_same_rows(struct totals *t)
{
	struct interner *index = NULL;
	size_t kept = 0;
	int error = interner_new(&index), added;
	uint32_t id;

	for (size_t i = 0; !error && i < t->rows.count; i++) {
		const struct total *row = &t->rows.items[i];
		struct row_key key = key_of(row);

		error = interner_add(index, &key, sizeof(key), &id, &added);
		if (!error && added)
			t->rows.items[kept++] = *row;
		else if (!error)
			add_counts(&t->rows.items[id - 1], row->count, row->sum, row->min, row->max,
				row->buckets);
	}
	if (!error)
		t->rows.count = kept;
	interner_free(index);
	return error ? error_set(error, "out of memory") : 0;
}

int totals_finish(struct totals *t, const struct monitor *m, struct busy_times *busy)
{
	int error = join_same_rows(t);

	error = error || !busy ? error : add_busy(t, m, busy);
	if (error)
		return error;
	vec_foreach (row, &t->rows) {
		if (!totals_has_sums(m, row->series))
			row->sum = row->max = row->min = 0;
		if (!row->count)
			row->min = 0;
	}
	if (t->busy.count && t->rows.count)
		set_busy_of_rows(t, m);
	put_in_order(t);
	return 0;
}

struct fetching {
	struct totals *totals;
	const struct monitor *monitor;
};

static int visit_cell(
	void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell)
{
	struct fetching *f = context;

	return totals_add(f->totals, f->monitor, key, cell);
}

int totals_fetch(
	const struct monitor *m, struct watch *w, struct busy_times *busy, struct totals *ret)
{
	struct totals t = TOTALS_INIT;
	struct fetching f = {&t, m};
	int error = watch_cells(w, visit_cell, &f);

	t.until_ns = clock_now_ns();
	error = error ?: totals_finish(&t, m, busy);
	if (error) {
		totals_release(&t);
		return error;
	}
	*ret = t;
	return 0;
}

/* ------------------------------------------------------------------ differences */

static int index_rows(const struct totals *t, struct interner **ret)
{
	struct interner *index;
	uint32_t id;
	int error = interner_new(&index);

	if (error)
		return error;
	vec_foreach (row, &t->rows) {
		struct row_key key = key_of(row);

		error = error ?: interner_add(index, &key, sizeof(key), &id, NULL);
	}
	if (error) {
		interner_free(index);
		return error;
	}
	*ret = index;
	return 0;
}

/* As exactly as the buckets allow. */
static void guess_extremes(struct total *row, const struct total *now)
{
	unsigned int low = 0, high = MONITOR_BUCKETS - 1;

	row->min = row->max = 0;
	while (low < MONITOR_BUCKETS && !row->buckets[low])
		low++;
	if (low == MONITOR_BUCKETS)
		return;
	while (!row->buckets[high])
		high--;
	row->min = within(total_bucket_low(low), now);
	row->max = within(bucket_high(high), now);
}

/* A row whose cells were forgotten and began anew has less than before, and all of it is new. */
static void subtract(struct total *row, const struct total *before)
{
	const struct total now = *row;

	if (now.count >= before->count && now.sum >= before->sum) {
		row->count -= before->count;
		row->sum -= before->sum;
		for (size_t i = 0; i < MONITOR_BUCKETS; i++)
			row->buckets[i] -= before->buckets[i] < now.buckets[i] ? before->buckets[i]
									       : now.buckets[i];
	}
	if (now.busy_ns >= before->busy_ns)
		row->busy_ns -= before->busy_ns;
	if (now.busy_uncertain_ns >= before->busy_uncertain_ns)
		row->busy_uncertain_ns -= before->busy_uncertain_ns;
	guess_extremes(row, &now);
}

static int busy_since(const struct totals *now, const struct totals *before, struct totals *ret)
{
	vec_foreach (b, &now->busy) {
		const struct total_busy *old = find_busy(before, b->series, b->label, b->pid);
		struct total_busy row = *b;

		if (old && old->busy_ns <= b->busy_ns) {
			row.busy_ns -= old->busy_ns;
			row.uncertain_ns -=
				old->uncertain_ns <= b->uncertain_ns ? old->uncertain_ns : 0;
		}
		if (row.busy_ns && vec_push(&ret->busy, row))
			return -ENOMEM;
	}
	return 0;
}

static int rows_since(const struct totals *now, const struct totals *before,
	const struct interner *index, struct totals *ret)
{
	vec_foreach (row, &now->rows) {
		struct row_key key = key_of(row);
		uint32_t id = interner_find(index, &key, sizeof(key));

		if (vec_push(&ret->rows, *row))
			return -ENOMEM;
		if (id)
			subtract(
				&ret->rows.items[ret->rows.count - 1], &before->rows.items[id - 1]);
		if (!ret->rows.items[ret->rows.count - 1].count)
			ret->rows.count--;
	}
	return 0;
}

int totals_since(const struct totals *now, const struct totals *before, struct totals *ret)
{
	struct totals t = {.from_ns = before->until_ns, .until_ns = now->until_ns};
	struct interner *index = NULL;
	int error = index_rows(before, &index);

	error = error ?: rows_since(now, before, index, &t);
	error = error ?: busy_since(now, before, &t);
	interner_free(index);
	if (error) {
		totals_release(&t);
		return error_set(error, "out of memory");
	}
	put_in_order(&t);
	*ret = t;
	return 0;
}

/* ------------------------------------------------------------------ sums of rows */

static struct row_key merged_key(const struct total *row, unsigned int by)
{
	struct row_key key = {.series = row->series};

	if (by & TOTAL_BY_LABEL_0)
		memcpy(key.label[0], row->label[0], sizeof(key.label[0]));
	if (by & TOTAL_BY_LABEL_1)
		memcpy(key.label[1], row->label[1], sizeof(key.label[1]));
	if (by & (TOTAL_BY_PROCESS | TOTAL_BY_CLIENT))
		key.pid = row->pid;
	if (by & TOTAL_BY_CLIENT)
		key.client = row->client;
	return key;
}

static int merge_row(struct totals *t, const struct total *row, unsigned int by)
{
	struct row_key key = merged_key(row, by);
	struct total *sum;
	bool is_new;
	int error = find_row(t, &key, sizeof(key), &sum, &is_new);

	if (error)
		return error;
	if (is_new) {
		sum->series = row->series;
		sum->pid = key.pid;
		sum->client = row->client;
		sum->min = UINT64_MAX;
		memcpy(sum->label, key.label, sizeof(sum->label));
	}
	if (sum->client != row->client)
		sum->client = 0;
	if (key.pid)
		name_row(sum, row->cgroup, row->comm);
	add_counts(sum, row->count, row->sum, row->min, row->max, row->buckets);
	return 0;
}

static void merge_busy(const struct totals *t, struct total *sum, unsigned int by)
{
	bool of_process = by & TOTAL_BY_PROCESS, of_ring = by & TOTAL_BY_LABELS;

	if ((by & TOTAL_BY_CLIENT) || (!of_process && !of_ring))
		return;
	/* What has no process has a union by ring only, which is that of all processes. */
	if (of_process && !sum->pid)
		return;
	set_busy(t, sum, of_ring, of_process ? sum->pid : 0);
}

int totals_merge(const struct totals *t, uint16_t series, unsigned int by, struct totals *ret)
{
	struct totals merged = {.from_ns = t->from_ns, .until_ns = t->until_ns};
	int error = 0;

	vec_foreach (row, &t->rows)
		if (!error && row->series == series)
			error = merge_row(&merged, row, by);
	if (error) {
		totals_release(&merged);
		return error_set(error, "out of memory");
	}
	vec_foreach (sum, &merged.rows) {
		if (!sum->count)
			sum->min = 0;
		merge_busy(t, sum, by);
	}
	put_in_order(&merged);
	*ret = merged;
	return 0;
}
