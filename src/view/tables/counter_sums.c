// SPDX-License-Identifier: MIT
/*
 * Three passes. The first finds the intervals, the second the works that ran in each, the third
 * adds the counters' values to the sums of the interval. Counts name their interval by its start.
 * Intervals overlap by no more than a clock's error; for the second pass each ends where the next
 * begins.
 */
#include "view/tables/counter_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/search.h"
#include "profile/clip.h"

#define OWNER_NONE 0u
#define OWNER_MANY UINT32_MAX
#define SUBJECT	   "hardware counters"

struct interval {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t owner;	     /* index of kernels plus 1 */
	uint32_t covered_ns; /* by its owner */
	uint32_t reached_ns; /* from the start on, up to where that is counted */
};

struct timeline {
	struct vec(struct interval) intervals; /* by start */
};

struct reading {
	struct counter_sums *c;
	struct profile_reader *reader;
	/* The part that is reported; NULL: all. Intervals belong to what ran in all of them. */
	const struct profile_clip *clip;
	struct timeline *timelines; /* by device id; NULL: no counts so far */
	uint32_t timeline_count;
	uint32_t *column_of; /* by counter id */
	uint32_t *row_of;    /* by device id: index of devices plus 1 */
	uint32_t counters;   /* ids up to this one */
	struct map kernels;  /* string id of the name: index of kernels */
};

double counter_sum_average(const struct counter_sum *s)
{
	return s->ns ? s->weighted / (double)s->ns : 0;
}

/* --- intervals ----------------------------------------------------------------------------- */

static struct timeline *timeline_of(struct reading *r, uint32_t device)
{
	return device && device < r->timeline_count ? &r->timelines[device] : NULL;
}

static int make_room(struct reading *r, uint32_t device)
{
	uint32_t count = device + 1;
	struct timeline *grown;

	if (count <= r->timeline_count)
		return 0;
	grown = realloc(r->timelines, count * sizeof(*grown));
	if (!grown)
		return error_memory(SUBJECT);
	memset(grown + r->timeline_count, 0, (count - r->timeline_count) * sizeof(*grown));
	r->timelines = grown;
	r->timeline_count = count;
	return 0;
}

/* Counts of one interval come one behind the other. */
static int note_interval(struct reading *r, const struct profile_count *count)
{
	struct interval i = {
		.start_ns = count->start_ns, .end_ns = count->start_ns + count->duration_ns};
	struct timeline *t;
	int error;

	if (!count->duration_ns || count->duration_ns > UINT32_MAX || i.end_ns < i.start_ns ||
		!profile_device(r->reader, count->device) ||
		!clip_has_device(r->clip, count->device))
		return 0;
	error = make_room(r, count->device);
	if (error)
		return error;
	t = &r->timelines[count->device];
	if (t->intervals.count && t->intervals.items[t->intervals.count - 1].start_ns == i.start_ns)
		return 0;
	return vec_push(&t->intervals, i) ? error_memory(SUBJECT) : 0;
}

static int by_start(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Each start once, and no overlaps. */
static void settle(struct timeline *t)
{
	struct interval *items = t->intervals.items;
	size_t kept = 0;

	if (!t->intervals.count)
		return;
	qsort(items, t->intervals.count, sizeof(*items), by_start);
	for (size_t n = 0; n < t->intervals.count; n++) {
		if (kept && items[kept - 1].start_ns == items[n].start_ns)
			continue;
		if (kept && items[kept - 1].end_ns > items[n].start_ns)
			items[kept - 1].end_ns = items[n].start_ns;
		items[kept++] = items[n];
	}
	t->intervals.count = kept;
}

/* The index of the first interval that starts after `ns`. */
static size_t first_after(const struct timeline *t, uint64_t ns)
{
	return search_first(i, 0, t->intervals.count, t->intervals.items[i].start_ns > ns);
}

/* --- works --------------------------------------------------------------------------------- */

static int find_kernel(struct reading *r, uint32_t name, uint32_t *ret)
{
	uint64_t *found = map_get(&r->kernels, name);
	struct counter_kernel kernel = {.name = name};

	*ret = found ? (uint32_t)*found : (uint32_t)r->c->kernels.count;
	if (found)
		return 0;
	if (map_put(&r->kernels, name, *ret) || vec_push(&r->c->kernels, kernel))
		return error_memory(SUBJECT);
	return 0;
}

static void cover(struct interval *i, uint64_t start_ns, uint64_t end_ns, uint32_t owner)
{
	uint64_t from = start_ns > i->start_ns ? start_ns : i->start_ns;
	uint64_t to = end_ns < i->end_ns ? end_ns : i->end_ns;

	if (i->owner != OWNER_NONE && i->owner != owner)
		owner = OWNER_MANY;
	i->owner = owner;
	if (from < i->start_ns + i->reached_ns)
		from = i->start_ns + i->reached_ns;
	if (to <= from)
		return;
	i->covered_ns += (uint32_t)(to - from);
	i->reached_ns = (uint32_t)(to - i->start_ns);
}

static int note_work(struct reading *r, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(r->reader, w->op);
	struct timeline *t = op ? timeline_of(r, op->device) : NULL;
	uint64_t end_ns = w->start_ns + w->duration_ns;
	uint32_t owner = OWNER_MANY;
	int error;

	if (!t || !t->intervals.count || end_ns <= w->start_ns)
		return 0;
	if (op->kind == OP_KERNEL) {
		error = find_kernel(r, op->name, &owner);
		if (error)
			return error;
		r->c->kernels.items[owner++].time_ns +=
			clip_has_thread(r->clip, w->thread)
				? clip_inside(r->clip, w->start_ns, end_ns)
				: 0;
	}
	for (size_t n = first_after(t, w->start_ns), last = t->intervals.count; n <= last; n++) {
		/* The one before the first that starts later may reach into the work. */
		struct interval *i = n ? &t->intervals.items[n - 1] : NULL;

		if (i && i->start_ns >= end_ns)
			break;
		if (i && i->end_ns > w->start_ns)
			cover(i, w->start_ns, end_ns, owner);
	}
	return 0;
}

/* --- columns ------------------------------------------------------------------------------- */

static int kind_of_counter(const struct reading *r, uint32_t id)
{
	return counter_kind_of(
		profile_string(r->reader, profile_counter(r->reader, id)->name, NULL));
}

static int add_column(struct reading *r, int kind, uint32_t counter)
{
	struct counter_column column = {.kind = kind, .counter = counter};

	r->column_of[counter] = (uint32_t)r->c->columns.count;
	return vec_push(&r->c->columns, column) ? error_memory(SUBJECT) : 0;
}

static int add_columns_of_kind(struct reading *r, int kind)
{
	bool there = false;
	int error = 0;

	for (uint32_t id = 1; !error && id <= r->counters; id++) {
		if (kind_of_counter(r, id) != kind)
			continue;
		if (there && kind >= 0)
			r->column_of[id] = (uint32_t)r->c->columns.count - 1;
		else
			error = add_column(r, kind, id);
		there = true;
	}
	return error;
}

static int make_columns(struct reading *r)
{
	int error = 0;

	r->counters = profile_counts(r->reader).counters;
	r->column_of = calloc((size_t)r->counters + 1, sizeof(*r->column_of));
	if (!r->column_of)
		return error_memory(SUBJECT);
	for (int kind = 0; !error && counter_kind_at((size_t)kind); kind++)
		error = add_columns_of_kind(r, kind);
	return error ?: add_columns_of_kind(r, -1);
}

static struct counter_sum *new_sums(const struct counter_sums *c)
{
	return calloc(c->columns.count ? c->columns.count : 1, sizeof(struct counter_sum));
}

static int make_devices(struct reading *r)
{
	r->row_of = calloc(r->timeline_count ? r->timeline_count : 1, sizeof(*r->row_of));
	if (!r->row_of)
		return error_memory(SUBJECT);
	for (uint32_t id = 1; id < r->timeline_count; id++) {
		struct counter_device d = {.device = id};

		if (!r->timelines[id].intervals.count)
			continue;
		d.all = new_sums(r->c);
		d.busy = new_sums(r->c);
		if (!d.all || !d.busy || vec_push(&r->c->devices, d)) {
			free(d.all);
			free(d.busy);
			return error_memory(SUBJECT);
		}
		r->row_of[id] = (uint32_t)r->c->devices.count;
	}
	return 0;
}

/* --- values -------------------------------------------------------------------------------- */

static void add_value(struct counter_sum *s, double value, uint64_t ns)
{
	s->weighted += value * (double)ns;
	if (!s->ns || value > s->highest)
		s->highest = value;
	s->ns += ns;
}

static bool is_alone(const struct interval *i)
{
	return i->owner != OWNER_NONE && i->owner != OWNER_MANY &&
	       (uint64_t)i->covered_ns * 100 >= (i->end_ns - i->start_ns) * COUNTER_COVERED_PERCENT;
}

static int add_to_kernel(
	struct reading *r, const struct interval *i, const struct profile_count *count, uint64_t ns)
{
	struct counter_kernel *k = &r->c->kernels.items[i->owner - 1];

	if (!k->sums)
		k->sums = new_sums(r->c);
	if (!k->sums)
		return error_memory(SUBJECT);
	add_value(&k->sums[r->column_of[count->counter]], count->value, ns);
	return 0;
}

static int note_value(struct reading *r, const struct profile_count *count)
{
	struct timeline *t = timeline_of(r, count->device);
	struct counter_device *d;
	const struct interval *i;
	uint64_t ns = clip_inside(r->clip, count->start_ns, count->start_ns + count->duration_ns);
	uint32_t column;
	size_t n;

	if (!ns || !t || !r->row_of[count->device] || !count->counter ||
		count->counter > r->counters)
		return 0;
	n = first_after(t, count->start_ns);
	i = n ? &t->intervals.items[n - 1] : NULL;
	if (!i || i->start_ns != count->start_ns)
		return 0;
	column = r->column_of[count->counter];
	d = &r->c->devices.items[r->row_of[count->device] - 1];
	add_value(&d->all[column], count->value, ns);
	if (i->owner != OWNER_NONE)
		add_value(&d->busy[column], count->value, ns);
	return is_alone(i) ? add_to_kernel(r, i, count, ns) : 0;
}

/* Numbers and lengths of intervals, each once, whatever was counted in it. */
static void sum_intervals(struct reading *r)
{
	vec_foreach (d, &r->c->devices) {
		vec_foreach (i, &r->timelines[d->device].intervals) {
			uint64_t ns = clip_inside(r->clip, i->start_ns, i->end_ns);
			bool begins = clip_has_time(r->clip, i->start_ns);

			d->samples += begins;
			d->sampled_ns += ns;
			if (i->owner == OWNER_NONE)
				continue;
			d->busy_samples += begins;
			d->busy_ns += ns;
			if (!is_alone(i))
				continue;
			r->c->kernels.items[i->owner - 1].samples += begins;
			r->c->kernels.items[i->owner - 1].alone_ns +=
				clip_share(r->clip, i->start_ns, i->end_ns, i->covered_ns);
		}
	}
}

/* --- the passes ---------------------------------------------------------------------------- */

static int pass_intervals(struct reading *r)
{
	struct profile_event e;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r->reader, &e)))
		error = more < 0 ? more : e.kind == EVENT_COUNT ? note_interval(r, &e.count) : 0;
	for (uint32_t id = 0; !error && id < r->timeline_count; id++)
		settle(&r->timelines[id]);
	error = error ?: make_columns(r);
	return error ?: make_devices(r);
}

static int pass_works(struct reading *r)
{
	struct profile_event e;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r->reader, &e)))
		error = more < 0 ? more : e.kind == EVENT_WORK ? note_work(r, &e.work) : 0;
	return error;
}

static int pass_values(struct reading *r)
{
	struct profile_event e;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r->reader, &e)))
		error = more < 0 ? more : e.kind == EVENT_COUNT ? note_value(r, &e.count) : 0;
	if (!error)
		sum_intervals(r);
	return error;
}

/* What did not run in the part that is reported. */
static void drop_kernels(struct counter_sums *c)
{
	size_t kept = 0;

	vec_foreach (k, &c->kernels) {
		if (k->time_ns || k->samples || k->alone_ns)
			c->kernels.items[kept++] = *k;
		else
			free(k->sums);
	}
	c->kernels.count = kept;
}

static int by_time(const void *left, const void *right)
{
	const struct counter_kernel *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static int run_pass(
	struct reading *r, const struct profile_reader *done, int (*pass)(struct reading *r))
{
	int error = profile_reader_open_again(&r->reader, done);

	if (error)
		return error;
	profile_reader_clip(r->reader, NULL);
	error = pass(r);
	profile_reader_close(r->reader);
	return error;
}

int counter_sums_read(struct counter_sums *c, const struct profile_reader *done)
{
	struct reading r = {.c = c, .kernels = MAP_INIT, .clip = profile_reader_clip_of(done)};
	int error = run_pass(&r, done, pass_intervals);

	c->works_known = !profile_is_estimated(done);
	if (!error && c->devices.count && c->works_known)
		error = run_pass(&r, done, pass_works);
	if (!error && c->devices.count)
		error = run_pass(&r, done, pass_values);
	if (!error && r.clip)
		drop_kernels(c);
	if (!error && c->kernels.count)
		qsort(c->kernels.items, c->kernels.count, sizeof(c->kernels.items[0]), by_time);
	for (uint32_t id = 0; id < r.timeline_count; id++)
		vec_release(&r.timelines[id].intervals);
	free(r.timelines);
	free(r.column_of);
	free(r.row_of);
	map_release(&r.kernels);
	return error;
}

void counter_sums_release(struct counter_sums *c)
{
	vec_foreach (d, &c->devices) {
		free(d->all);
		free(d->busy);
	}
	vec_foreach (k, &c->kernels)
		free(k->sums);
	vec_release(&c->columns);
	vec_release(&c->devices);
	vec_release(&c->kernels);
}
