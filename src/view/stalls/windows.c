// SPDX-License-Identifier: MIT
/*
 * The time of a work in its windows goes into a map; in the end the map becomes an array, in which
 * all launches of a kernel in a window stand together.
 */
#include "view/stalls/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "base/search.h"

#define WORK_LIMIT_FIRST ((size_t)64 << 10)
#define SUBJECT		 "the windows of instruction samples"

void stall_windows_init(struct stall_windows *w, const struct profile_reader *r)
{
	*w = (struct stall_windows){.reader = r, .work_limit = WORK_LIMIT_FIRST};
}

void stall_windows_release(struct stall_windows *w)
{
	vec_foreach (c, &w->contexts) {
		vec_release(&c->spans);
		vec_release(&c->windows);
	}
	vec_release(&w->contexts);
	vec_release(&w->context_of);
	vec_release(&w->number_of);
	vec_release(&w->works);
	vec_release(&w->exact);
	map_release(&w->devices);
	map_release(&w->context_ids);
	map_release(&w->time);
	free(w->cells);
	free(w->span_of);
	*w = (struct stall_windows){0};
}

int stall_windows_context(
	struct stall_windows *w, uint32_t process, uint32_t device, uint32_t context, uint32_t *ret)
{
	uint64_t key = (uint64_t)process << 32 | device;
	const uint64_t *found = map_get(&w->devices, key);
	uint64_t number = found ? *found : w->devices.count;

	if (!found && map_put(&w->devices, key, number))
		return error_memory(SUBJECT);
	key = number << 32 | context;
	found = map_get(&w->context_ids, key);
	if (!found) {
		number = w->contexts.count;
		if (map_put(&w->context_ids, key, number) ||
			vec_push(&w->contexts, (struct stall_context){0}))
			return error_memory(SUBJECT);
	}
	*ret = (uint32_t)(found ? *found : number);
	return 0;
}

uint64_t stall_windows_period(const struct stall_windows *w, uint32_t context)
{
	const struct stall_context *c = &w->contexts.items[context];

	return c->windows.count ? profile_window(w->reader, c->windows.items[0])->period_cycles : 0;
}

static int add_window(struct stall_windows *w, uint32_t id)
{
	const struct profile_window *window = profile_window(w->reader, id);
	struct stall_span span = {
		.window = id, .start_ns = window->start_ns, .end_ns = window->end_ns};
	struct stall_context *c;
	uint32_t context = 0;
	int error = stall_windows_context(
		w, window->process, window->device, window->context, &context);

	if (error)
		return error;
	c = &w->contexts.items[context];
	c->exact |= window->exact;
	c->unsorted = true;
	if (vec_push(&w->context_of, context) ||
		vec_push(&w->number_of, (uint32_t)c->windows.count) || vec_push(&c->windows, id) ||
		vec_push(&c->spans, span))
		return error_memory(SUBJECT);
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct stall_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

static bool in_order(const struct stall_context *c)
{
	for (size_t i = 1; i < c->spans.count; i++)
		if (compare_spans(&c->spans.items[i - 1], &c->spans.items[i]) > 0)
			return false;
	return true;
}

static void sort_spans(struct stall_context *c)
{
	uint64_t reach_ns = 0;

	if (!in_order(c))
		qsort(c->spans.items, c->spans.count, sizeof(*c->spans.items), compare_spans);
	vec_foreach (s, &c->spans) {
		reach_ns = s->end_ns > reach_ns ? s->end_ns : reach_ns;
		s->reach_ns = reach_ns;
	}
	c->unsorted = false;
}

uint32_t stall_windows_joined(const struct stall_windows *w, uint32_t window)
{
	const struct stall_context *c;
	uint32_t first;

	if (!w->level || !window)
		return window;
	c = &w->contexts.items[w->context_of.items[window]];
	first = c->windows.items[w->number_of.items[window] >> w->level << w->level];
	return profile_window(w->reader, window)->exact || profile_window(w->reader, first)->exact
		       ? window
		       : first;
}

int stall_windows_update(struct stall_windows *w)
{
	uint32_t count = profile_counts(w->reader).windows;
	int error = 0;

	if (!w->context_of.count && (vec_push(&w->context_of, 0) || vec_push(&w->number_of, 0)))
		return error_memory(SUBJECT);
	for (uint32_t id = (uint32_t)w->context_of.count; !error && id <= count; id++)
		error = add_window(w, id);
	vec_foreach (c, &w->contexts)
		if (c->unsorted)
			sort_spans(c);
	return error;
}

/* The first span that may overlap something that starts then. */
static size_t first_span(const struct stall_context *c, uint64_t start_ns)
{
	return search_first(i, 0, c->spans.count, c->spans.items[i].reach_ns > start_ns);
}

static bool is_covered(const struct stall_context *c, const struct stall_work *work)
{
	uint64_t covered_ns = work->start_ns;

	for (size_t i = first_span(c, work->start_ns);
		i < c->spans.count && covered_ns < work->end_ns; i++) {
		const struct stall_span *s = &c->spans.items[i];

		if (s->start_ns > covered_ns)
			return false;
		covered_ns = s->end_ns > covered_ns ? s->end_ns : covered_ns;
	}
	return covered_ns >= work->end_ns;
}

static int add_time(struct stall_windows *w, uint32_t window, uint32_t launch, uint64_t time_ns)
{
	uint64_t key = (uint64_t)window << 32 | launch, *found = map_get(&w->time, key);

	if (!found)
		return map_put(&w->time, key, time_ns) ? error_memory(SUBJECT) : 0;
	*found += time_ns;
	return 0;
}

/* Adds a work to the windows read so far. */
static int spread_work(struct stall_windows *w, const struct stall_work *work)
{
	const struct stall_context *c = &w->contexts.items[work->context];
	int error = 0;

	for (size_t i = first_span(c, work->start_ns); !error && i < c->spans.count; i++) {
		const struct stall_span *s = &c->spans.items[i];
		uint64_t start_ns = s->start_ns > work->start_ns ? s->start_ns : work->start_ns;
		uint64_t end_ns = s->end_ns < work->end_ns ? s->end_ns : work->end_ns;

		if (s->start_ns >= work->end_ns)
			break;
		if (start_ns < end_ns)
			error = add_time(w, s->window, work->launch, end_ns - start_ns);
	}
	if (!error && c->exact) {
		struct stall_exact e = {work->id, work->launch, work->end_ns - work->start_ns};

		error = vec_push(&w->exact, e) ? error_memory(SUBJECT) : 0;
	}
	return error;
}

/* Spreads the works that are covered, and the oldest ones however that is: `at_least` in all. */
static int spread_works(struct stall_windows *w, size_t at_least)
{
	size_t kept = 0;
	int error = stall_windows_update(w);

	for (size_t i = 0; !error && i < w->works.count; i++) {
		const struct stall_work *work = &w->works.items[i];

		if (i < at_least || is_covered(&w->contexts.items[work->context], work))
			error = spread_work(w, work);
		else
			w->works.items[kept++] = *work;
	}
	if (!error)
		w->works.count = kept;
	return error;
}

/* Called when there are many works: looks again when there are twice as many as had to stay. */
static int make_room(struct stall_windows *w)
{
	int error = spread_works(w, 0);

	if (!error && w->works.count >= STALL_WORKS_MAX)
		error = spread_works(w, w->works.count / 2);
	w->work_limit = w->works.count * 2;
	if (w->work_limit < WORK_LIMIT_FIRST)
		w->work_limit = WORK_LIMIT_FIRST;
	if (w->work_limit > STALL_WORKS_MAX)
		w->work_limit = STALL_WORKS_MAX;
	return error;
}

int stall_windows_add_work(
	struct stall_windows *w, uint32_t context, uint32_t launch, const struct profile_work *work)
{
	uint64_t duration_ns = work->duration_ns ? work->duration_ns : 1;
	struct stall_work waiting = {
		.start_ns = work->start_ns,
		.context = context,
		.launch = launch,
		.id = (uint64_t)work->instance << 32 | work->correlation,
	};

	if (__builtin_add_overflow(work->start_ns, duration_ns, &waiting.end_ns)) {
		waiting.end_ns = UINT64_MAX;
		waiting.start_ns = UINT64_MAX - duration_ns;
	}
	if (vec_push(&w->works, waiting))
		return error_memory(SUBJECT);
	return w->works.count >= w->work_limit ? make_room(w) : 0;
}

static void fill_cells(struct stall_windows *w, struct stall_cell *cells, const uint32_t *kernels)
{
	size_t n = 0;

	for (size_t i = 0; w->time.slots && i <= w->time.mask; i++) {
		const struct map_slot *slot = &w->time.slots[i];
		uint32_t launch = (uint32_t)slot->key;

		if (slot->used)
			cells[n++] = (struct stall_cell){
				.window = stall_windows_joined(w, (uint32_t)(slot->key >> 32)),
				.launch = launch,
				.kernel = kernels[launch],
				.time_ns = slot->value};
	}
}

static void sort_cells(struct stall_cell *cells, struct order *o)
{
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = cells[i].launch;
	order_sort(o);
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = cells[i].kernel;
	order_sort(o);
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = cells[i].window;
	order_sort(o);
}

static bool is_same_cell(const struct stall_cell *a, const struct stall_cell *b)
{
	return a->window == b->window && a->launch == b->launch;
}

/* In order, and those of joined windows as one. */
static size_t merge_cells(
	const struct stall_cell *cells, const struct order *o, struct stall_cell *sorted)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct stall_cell *cell = &cells[o->items[i]];

		if (kept && is_same_cell(&sorted[kept - 1], cell))
			sorted[kept - 1].time_ns += cell->time_ns;
		else
			sorted[kept++] = *cell;
	}
	return kept;
}

static int make_cells(struct stall_windows *w, const uint32_t *kernels)
{
	size_t count = w->time.count;
	struct stall_cell *cells = calloc(count + 1, sizeof(*cells));
	struct stall_cell *sorted = calloc(count + 1, sizeof(*sorted));
	struct order o = {0};
	int error = cells && sorted ? order_init(&o, count) : error_memory(SUBJECT);

	if (!error) {
		fill_cells(w, cells, kernels);
		sort_cells(cells, &o);
		w->cell_count = merge_cells(cells, &o, sorted);
		w->cells = sorted;
		sorted = NULL;
		map_release(&w->time);
	}
	order_release(&o);
	free(cells);
	free(sorted);
	return error;
}

static int compare_exact(const void *a, const void *b)
{
	const struct stall_exact *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->launch < y->launch ? -1 : x->launch > y->launch;
}

static void merge_exact(struct stall_windows *w)
{
	size_t kept = 0;

	if (w->exact.count)
		qsort(w->exact.items, w->exact.count, sizeof(*w->exact.items), compare_exact);
	for (size_t i = 0; i < w->exact.count; i++) {
		struct stall_exact *last = &w->exact.items[kept - (kept > 0)];
		struct stall_exact *e = &w->exact.items[i];

		if (kept && !compare_exact(last, e))
			last->time_ns += e->time_ns;
		else
			w->exact.items[kept++] = *e;
	}
	w->exact.count = kept;
}

static int index_spans(struct stall_windows *w)
{
	w->span_of = calloc(w->context_of.count + 1, sizeof(*w->span_of));
	if (!w->span_of)
		return error_memory(SUBJECT);
	vec_foreach (c, &w->contexts)
		for (size_t i = 0; i < c->spans.count; i++)
			w->span_of[c->spans.items[i].window] = (uint32_t)i;
	return 0;
}

int stall_windows_finish(struct stall_windows *w, const uint32_t *kernels)
{
	int error = spread_works(w, SIZE_MAX);

	vec_release(&w->works);
	error = error ?: make_cells(w, kernels);
	error = error ?: index_spans(w);
	if (!error)
		merge_exact(w);
	return error;
}

static bool is_cell_before(const struct stall_cell *c, uint32_t window, uint32_t kernel)
{
	return c->window != window ? c->window < window : c->kernel < kernel;
}

size_t stall_windows_cells(const struct stall_windows *w, uint32_t window, uint32_t kernel,
	const struct stall_cell **ret)
{
	size_t first =
		search_first(i, 0, w->cell_count, !is_cell_before(&w->cells[i], window, kernel));
	size_t end;

	for (end = first; end < w->cell_count; end++)
		if (w->cells[end].window != window || w->cells[end].kernel != kernel)
			break;
	*ret = &w->cells[first];
	return end - first;
}

size_t stall_windows_exact(const struct stall_windows *w, uint32_t instance, uint32_t correlation,
	const struct stall_exact **ret)
{
	uint64_t id = (uint64_t)instance << 32 | correlation;
	size_t first = search_first(i, 0, w->exact.count, w->exact.items[i].id >= id);
	size_t end;

	for (end = first; end < w->exact.count && w->exact.items[end].id == id; end++)
		;
	*ret = first < end ? &w->exact.items[first] : NULL;
	return end - first;
}

/* The first window in this direction that is not joined with it. */
static uint32_t find_other(const struct stall_windows *w, uint32_t window, size_t step)
{
	const struct stall_context *c = &w->contexts.items[w->context_of.items[window]];
	uint32_t other = window;

	/* Before the first comes an index that is greater than the last. */
	for (size_t i = w->span_of[window]; i < c->spans.count && other == window; i += step)
		other = stall_windows_joined(w, c->spans.items[i].window);
	return other != window ? other : 0;
}

uint32_t stall_windows_before(const struct stall_windows *w, uint32_t window)
{
	return find_other(w, window, SIZE_MAX);
}

uint32_t stall_windows_after(const struct stall_windows *w, uint32_t window)
{
	return find_other(w, window, 1);
}
