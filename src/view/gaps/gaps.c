// SPDX-License-Identifier: MIT
#include "view/gaps/gaps.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/large.h"
#include "base/map.h"
#include "view/gaps/processes.h"
#include "view/gaps/sites.h"
#include "view/gaps/works.h"
#include "view/names/launch_path.h"

#define SUBJECT "the gaps of GPUs"

void gaps_release(struct gaps *g)
{
	gap_events_release(&g->events);
	vec_release(&g->gaps);
	vec_release(&g->longest);
	vec_release(&g->devices);
	vec_release(&g->processes);
	map_release(&g->users);
}

/* ------------------------------------------------------------------ all gaps of a device */

/* By process: the thread that launched last << 32 | another one that did before. Returns that
 * which is not the work's. */
static int note_launch(struct map *last, const struct gap_work *w, uint32_t *ret_before)
{
	const uint64_t *found = map_get(last, w->process);
	uint64_t threads = found ? *found : 0;

	if (threads >> 32 != w->thread) {
		threads = (uint64_t)w->thread << 32 | threads >> 32;
		if (map_put(last, w->process, threads))
			return error_memory(SUBJECT);
	}
	*ret_before = (uint32_t)threads;
	return 0;
}

static int add_gap(struct gaps *g, const struct gap *gap)
{
	return large_push(&g->gaps, *gap) ? error_memory(SUBJECT) : 0;
}

static int add_device(struct gaps *g, size_t first, size_t end, const struct gap_stacks *stacks)
{
	const struct gap_work *works = g->events.works.items;
	struct gap_device d = {.device = works[first].device,
		.first_ns = works[first].start_ns,
		.first = g->gaps.count};
	struct gap_search search = {.events = &g->events,
		.stacks = stacks,
		.latency_ns = gap_latency(works + first, end - first)};
	uint64_t at_ns = works[first].end_ns, part_ns = works[first].start_ns;
	uint64_t part_end_ns = gap_part_end(&g->events.parts, part_ns);
	struct map last = MAP_INIT;
	uint32_t before;
	int error = note_launch(&last, &works[first], &before);

	for (size_t i = first + 1; !error && i < end; i++) {
		struct gap gap = {
			.start_ns = at_ns, .end_ns = works[i].start_ns, .next = (uint32_t)i};

		error = note_launch(&last, &works[i], &before);
		if (part_end_ns && works[i].start_ns >= part_end_ns) {
			part_end_ns = gap_part_end(&g->events.parts, works[i].start_ns);
			d.span_ns += clip_inside(g->clip, part_ns, at_ns);
			part_ns = works[i].start_ns;
			at_ns = works[i].end_ns;
			gap_search_queued(&search);
			continue;
		}
		if (gap.end_ns > gap.start_ns) {
			gap_find_cause(&search, before, &gap);
			d.idle_ns += clip_inside(g->clip, gap.start_ns, gap.end_ns);
			error = error ?: add_gap(g, &gap);
		} else {
			gap_search_queued(&search);
		}
		at_ns = works[i].end_ns > at_ns ? works[i].end_ns : at_ns;
	}
	map_release(&last);
	d.last_ns = at_ns;
	d.span_ns += clip_inside(g->clip, part_ns, at_ns);
	d.latency_ns = search.latency_ns;
	d.count = g->gaps.count - d.first;
	if (!error && vec_push(&g->devices, d))
		error = error_memory(SUBJECT);
	return error;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The longest first, of equal ones the earliest. */
static int list_longest(struct gaps *g, const struct gap_rows *r)
{
	size_t first, end;

	if (vec_reserve(&g->longest, r->count))
		return error_memory(SUBJECT);
	for (end = r->count; end; end = first) {
		for (first = end - 1; first && r->rows[first - 1].ns == r->rows[first].ns;)
			first--;
		for (size_t i = first; i < end; i++)
			g->longest.items[g->longest.count++] = r->rows[i].gap;
	}
	return 0;
}

static int sort_gaps(struct gaps *g, const struct gap_device *d, size_t works,
	const uint32_t *merged, struct gap_rows *rows)
{
	struct gap_sites s = {.events = &g->events,
		.merged = merged,
		.gaps = g->gaps.items,
		.span_ns = d->last_ns - d->first_ns,
		.works = works};
	int error =
		gap_rows_set(rows, g->gaps.items, d->first, d->count) ? error_memory(SUBJECT) : 0;

	error = error ?: list_longest(g, rows);
	if (!error)
		gap_sites_explain(&s, rows);
	return error;
}

static int sum_up(struct gaps *g, struct gap_device *d, const uint32_t *merged)
{
	struct map sums = MAP_INIT;
	int error = 0;

	for (size_t i = 0; !error && i < d->count; i++) {
		const struct gap *gap = &g->gaps.items[d->first + i];
		struct gap_sum *sum = &(gap->once ? d->once : d->many)[gap->cause];
		uint32_t stack = gap->stack ? merged[gap->stack] : 0;
		uint64_t key = (uint64_t)stack << 8 | (uint64_t)gap->cause << 1 | gap->once,
			 ns = clip_inside(g->clip, gap->start_ns, gap->end_ns);
		uint64_t *found = map_get(&sums, key);
		uint64_t total_ns = ns + (found ? *found : 0);

		if (found)
			*found = total_ns;
		else if (map_put(&sums, key, total_ns))
			error = error_memory(SUBJECT);
		sum->count += clip_has_time(g->clip, gap->start_ns);
		d->begun += clip_has_time(g->clip, gap->start_ns);
		sum->total_ns += ns;
		if (stack && total_ns > sum->stack_ns) {
			sum->stack_ns = total_ns;
			sum->stack = stack;
		}
	}
	map_release(&sums);
	return error;
}

static int by_length(const void *left, const void *right, void *gaps)
{
	const struct gap *all = gaps, *a = &all[*(const uint32_t *)left],
			 *b = &all[*(const uint32_t *)right];
	uint64_t of_a = a->end_ns - a->start_ns, of_b = b->end_ns - b->start_ns;

	return of_a != of_b ? order(of_b, of_a) : order(a->start_ns, b->start_ns);
}

/* Cuts the gaps of a device to what is shown, from the first of it to the last, and leaves out the
 * others of the list of the longest. */
static void cut_gaps(struct gaps *g, struct gap_device *d)
{
	uint32_t *longest = g->longest.items + d->first;
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct gap *gap = &g->gaps.items[longest[i]];

		clip_hull(g->clip, &gap->start_ns, &gap->end_ns);
		if (gap->end_ns > gap->start_ns)
			longest[kept++] = longest[i];
	}
	d->count = kept;
	clip_hull(g->clip, &d->first_ns, &d->last_ns);
	if (kept)
		qsort_r(longest, kept, sizeof(*longest), by_length, g->gaps.items);
}

static int by_idle(const void *left, const void *right)
{
	const struct gap_device *a = left, *b = right;

	return a->idle_ns != b->idle_ns ? order(b->idle_ns, a->idle_ns)
					: order(a->device, b->device);
}

/* Where the work of the next device begins. */
static size_t end_of_device(const struct gap_events *e, size_t first)
{
	size_t end = first;

	while (end < e->works.count && e->works.items[end].device == e->works.items[first].device)
		end++;
	return end;
}

static int add_devices(struct gaps *g, const struct gap_stacks *stacks)
{
	struct gap_rows rows = {0};
	size_t first, end;
	int error = 0;

	for (first = 0; !error && first < g->events.works.count; first = end) {
		struct gap_device *d;

		end = end_of_device(&g->events, first);
		if (!clip_has_device(g->clip, g->events.works.items[first].device))
			continue;
		error = add_device(g, first, end, stacks);
		if (error)
			break;
		d = &g->devices.items[g->devices.count - 1];
		error = sort_gaps(g, d, end - first, stacks->merged, &rows);
		error = error ?: sum_up(g, d, stacks->merged);
		if (!error && g->clip)
			cut_gaps(g, d);
		if (g->clip && !d->span_ns)
			g->devices.count--; /* nothing of it is shown */
	}
	gap_rows_release(&rows);
	if (g->devices.count)
		qsort(g->devices.items, g->devices.count, sizeof(*g->devices.items), by_idle);
	return error;
}

static int find_gaps(struct gaps *g, const struct internals *in)
{
	struct gap_stacks stacks = {0};
	const uint32_t *merged = NULL;
	int error = 0;

	if (!g->events.works.count)
		return 0;
	if (launch_path_merge(in, PATH_PROGRAM, &merged) || gap_stacks_init(&stacks, in, merged))
		error = error_memory(SUBJECT);
	error = error ?: add_devices(g, &stacks);
	gap_stacks_release(&stacks);
	return error;
}

/* A device while its work is looked through. */
struct looked {
	uint64_t latency_ns;
	uint64_t at_ns; /* all work so far has ended */
	uint64_t part_end_ns;
};

static struct looked *look_at_devices(const struct gap_works *works, const struct gap_parts *parts)
{
	struct looked *l = calloc(works->devices.count + 1, sizeof(*l));

	for (size_t i = 0; l && i < works->devices.count; i++) {
		const struct gap_works_device *d = &works->devices.items[i];

		l[i] = (struct looked){gap_latency(works->works + d->first, d->end - d->first),
			works->works[d->first].end_ns,
			gap_part_end(parts, works->works[d->first].start_ns)};
	}
	return l;
}

/* Adds the stretch of time before a piece of work in which it matters what threads did. */
static int add_window(struct gap_events *e, struct looked *l, size_t work)
{
	const struct gap_work *w = &e->works.items[work];
	uint64_t from_ns = l->at_ns > GAP_LATENCY_MAX_NS ? l->at_ns - GAP_LATENCY_MAX_NS : 0;
	int error = 0;

	if (l->part_end_ns && w->start_ns >= l->part_end_ns) {
		l->part_end_ns = gap_part_end(&e->parts, w->start_ns);
		l->at_ns = w->end_ns;
	} else if (w->start_ns > l->at_ns && gap_needs_threads(l->at_ns, w, l->latency_ns)) {
		error = gap_events_add_window(e, from_ns, w->start_ns);
	}
	l->at_ns = w->end_ns > l->at_ns ? w->end_ns : l->at_ns;
	return error;
}

static int add_windows(struct gap_events *e)
{
	struct gap_works works;
	int error = gap_works_init(&works, e);
	struct looked *looked = error ? NULL : look_at_devices(&works, &e->parts);
	size_t work, device;

	if (!looked)
		error = error_memory(SUBJECT);
	while (!error && gap_works_next(&works, &work, &device))
		error = add_window(e, &looked[device], work);
	free(looked);
	gap_works_release(&works);
	return error;
}

const struct gap *gaps_longest(const struct gaps *g, const struct gap_device *d, size_t n)
{
	return &g->gaps.items[g->longest.items[d->first + n]];
}

bool gaps_concerns(
	const struct gaps *g, const struct profile_reader *r, uint32_t device, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r, thread);

	return t && t->process && !(t->flags & THREAD_PROFILER) &&
	       map_get(&g->users, (uint64_t)device << 32 | t->process);
}

static int read_works(struct gaps *g, const struct profile_reader *done, size_t most)
{
	struct profile_reader *r;
	int error = profile_reader_open_again(&r, done);

	if (error)
		return error;
	profile_reader_clip(r, NULL);
	error = gap_events_read_works(&g->events, r, most);
	error = error ?: add_windows(&g->events);
	profile_reader_close(r);
	return error;
}

int gaps_read_within(struct gaps *g, const struct internals *internals, size_t most)
{
	struct profile_reader *r;
	int error;

	g->clip = profile_reader_clip_of(internals->reader);
	error = read_works(g, internals->reader, most);
	if (error)
		return error;
	error = profile_reader_open_again(&r, internals->reader);
	if (error)
		return error;
	profile_reader_clip(r, NULL);
	error = gap_events_read_threads(&g->events, r);
	error = error ?: find_gaps(g, internals);
	error = error ?: gap_processes_add(g, r);
	profile_reader_close(r);
	return error;
}

/* Chunks of the file that lie outside of the parts need not be read. Of a part of the recording it
 * is not known which these are. */
static int skip_chunks(
	struct gap_events *e, const struct profile_reader *reader, const struct summary *s)
{
	int error = 0;

	e->chunks = profile_reader_clip_of(reader) ? NULL : &s->chunks;
	vec_foreach (t, &s->threads)
		if (t->samples && !error)
			error = gap_events_set_period(e, t->id, t->cpu_ns / t->samples);
	return error;
}

int gaps_read(struct gaps *g, const struct internals *internals, const struct summary *s)
{
	const struct profile_sums sums = profile_reader_sums(internals->reader);
	const struct profile_clip *clip = profile_reader_clip_of(internals->reader);
	uint64_t events =
		clip ? clip->events : s->works + s->calls + s->samples + s->wait_stacks.count;
	int error;

	if (!clip && !sums.works && !sums.calls && !sums.syncs) {
		g->events.has_waits = sums.waits || profile_meta(internals->reader, META_OFF_CPU);
		return 0;
	}
	if (events > GAP_EVENTS_MAX)
		g->events.parts = gap_parts_of(s->start_ns, s->end_ns, events, GAP_EVENTS_PART);
	error = g->events.parts.period_ns ? skip_chunks(&g->events, internals->reader, s) : 0;
	if (error)
		return error;
	return gaps_read_within(g, internals, GAP_EVENTS_MAX + GAP_EVENTS_MAX / 2);
}
