// SPDX-License-Identifier: MIT
/* All lengths of one name are kept while they are read; sorting takes time linear in them. */
#include "view/timeline/repeats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/order.h"
#include "base/printable.h"
#include "view/names/kernel_name.h"

#define SUBJECT	  "what happens again"
#define ITEMS_MAX ((size_t)4 << 20) /* 24 bytes each, and 12 more while they are sorted */
#define FAR_APART 16		    /* lengths: the longest in so many of the shortest */

struct item {
	uint64_t start_ns, length_ns;
	uint32_t group; /* launches that follow each other */
};

struct reading {
	struct repeats *result;
	const struct profile_reader *names;
	const struct repeats_wanted *wanted;
	struct vec(struct item) items;
	struct interner *texts; /* number - 1: place in result->names */
	struct map name_of;	/* string << 1 | is_marker: place in result->names */
	struct map group_of;	/* process << 32 | device: group */
};

int repeats_parse(const char *text, enum repeats_of *ret)
{
	static const char *const names[REPEATS_KINDS] = {
		[REPEATS_LAUNCHES] = "launches",
		[REPEATS_PERIODS] = "periods",
		[REPEATS_MARKERS] = "markers",
	};

	for (unsigned int i = 0; i < REPEATS_KINDS; i++)
		if (!strcmp(names[i], text)) {
			*ret = i;
			return 0;
		}
	return error_set(-EINVAL, "there are launches, periods and markers");
}

void repeats_release(struct repeats *p)
{
	vec_foreach (name, &p->names)
		free(name->text);
	vec_release(&p->names);
	vec_release(&p->bars);
	vec_release(&p->longest);
}

/* ------------------------------------------------------------------ names */

/* Strings that read the same are one name. */
static int find_text(struct reading *g, const struct buf *text, bool is_marker, uint64_t *ret)
{
	struct repeats_name new = {.is_marker = is_marker};
	struct buf key = BUF_INIT;
	uint32_t id = 0;
	int added = 0, error;

	buf_putc(&key, is_marker ? 'm' : 'k');
	buf_append(&key, text->data, text->size);
	error = key.failed || interner_add(g->texts, key.data, key.size, &id, &added);
	buf_release(&key);
	*ret = id - 1;
	if (!error && added) {
		new.text = strdup(buf_text(text));
		error = !new.text || vec_push(&g->result->names, new);
		if (error)
			free(new.text);
	}
	return error ? error_memory(SUBJECT) : 0;
}

/* There are far fewer names than events. */
static int name_of(struct reading *g, uint32_t string, bool is_marker, struct repeats_name **ret)
{
	uint64_t key = (uint64_t)string << 1 | is_marker, at = 0;
	const uint64_t *known = map_get(&g->name_of, key);
	struct buf readable = BUF_INIT, text = BUF_INIT;
	int error = 0;

	if (known) {
		*ret = &g->result->names.items[*known];
		return 0;
	}
	if (is_marker)
		buf_puts(&readable, profile_string(g->names, string, NULL));
	else
		kernel_readable(g->names, string, &readable);
	printable_put(&text, buf_text(&readable), readable.size);
	if (readable.failed || text.failed)
		error = error_memory(SUBJECT);
	error = error ?: find_text(g, &text, is_marker, &at);
	if (!error && map_put(&g->name_of, key, at))
		error = error_memory(SUBJECT);
	buf_release(&readable);
	buf_release(&text);
	*ret = error ? NULL : &g->result->names.items[at];
	return error;
}

static int by_time(const void *left, const void *right)
{
	const struct repeats_name *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->text, b->text);
}

/* ------------------------------------------------------------------ reading */

static int group_of(struct reading *g, const struct profile_op *op, uint32_t *ret)
{
	uint64_t key = (uint64_t)op->process << 32 | op->device;
	const uint64_t *known = map_get(&g->group_of, key);

	*ret = known ? (uint32_t)*known : (uint32_t)g->group_of.count;
	return !known && map_put(&g->group_of, key, *ret) ? error_memory(SUBJECT) : 0;
}

static int add(struct reading *g, uint32_t string, const struct profile_op *op, uint64_t start_ns,
	uint64_t length_ns)
{
	const struct repeats_wanted *w = g->wanted;
	struct item item = {start_ns, length_ns, 0};
	struct repeats_name *name = NULL;
	int error;

	if (start_ns < w->from_ns || start_ns >= w->to_ns)
		return 0;
	error = name_of(g, string, !op, &name);
	if (error)
		return error;
	name->count++;
	name->time_ns += length_ns;
	if (!w->name || (w->of == REPEATS_MARKERS) != !op || strcmp(name->text, w->name) != 0)
		return 0;
	if (g->items.count == ITEMS_MAX)
		return error_set(-ERANGE,
			"there are more than %zu of these here: select a shorter range", ITEMS_MAX);
	error = op ? group_of(g, op, &item.group) : 0;
	if (!error && vec_push(&g->items, item))
		error = error_memory(SUBJECT);
	return error;
}

static int add_event(struct reading *g, const struct profile_event *e)
{
	const struct profile_op *op =
		e->kind == EVENT_WORK ? profile_op(g->names, e->work.op) : NULL;

	if (op && op->kind == OP_KERNEL)
		return add(g, op->name, op, e->work.start_ns, e->work.duration_ns);
	if (e->kind == EVENT_MARKER && e->marker.duration_ns)
		return add(g, e->marker.name, NULL, e->marker.start_ns, e->marker.duration_ns);
	return 0;
}

/* ------------------------------------------------------------------ lengths */

static uint64_t end_of(uint64_t start_ns, uint64_t length_ns)
{
	return length_ns < UINT64_MAX - start_ns ? start_ns + length_ns : UINT64_MAX;
}

enum item_number { START, LENGTH, GROUP };

static void sort_by(struct order *o, const struct item *items, enum item_number number)
{
	for (unsigned int shift = 0; shift < (number == GROUP ? 32 : 64); shift += 32) {
		for (size_t i = 0; i < o->count; i++) {
			uint64_t n = number == START	? items[i].start_ns
				     : number == LENGTH ? items[i].length_ns
							: items[i].group;

			o->numbers[i] = (uint32_t)(n >> shift);
		}
		order_sort(o);
	}
}

/* Each launch lasts until the next one of its group; the last ones have none. */
static int make_periods(struct reading *g)
{
	struct item *items = g->items.items, *sorted;
	struct order o;
	size_t kept = 0;
	int error = order_init(&o, g->items.count);

	sorted = error ? NULL : calloc(o.count + 1, sizeof(*sorted));
	if (sorted) {
		sort_by(&o, items, START);
		sort_by(&o, items, GROUP);
		for (size_t i = 0; i < o.count; i++)
			sorted[i] = items[o.items[i]];
		for (size_t i = 1; i < o.count; i++)
			if (sorted[i].group == sorted[i - 1].group)
				items[kept++] = (struct item){sorted[i - 1].start_ns,
					sorted[i].start_ns - sorted[i - 1].start_ns, 0};
		g->items.count = kept;
	} else if (!error) {
		error = error_memory(SUBJECT);
	}
	free(sorted);
	order_release(&o);
	return error;
}

/* A step of lengths from here: a part of all, or a quarter of the power of two that they are in. */
static uint64_t step_from(const struct repeats *p, uint64_t length_ns)
{
	uint64_t all_ns = p->max_ns - p->min_ns, step_ns;

	if (p->max_ns / FAR_APART <= p->min_ns)
		step_ns = all_ns / REPEATS_BARS + 1;
	else
		step_ns = length_ns ? (uint64_t)1 << (63 - __builtin_clzll(length_ns)) >> 2 : 1;
	return step_ns ? step_ns : 1;
}

static int make_bars(struct repeats *p, const struct item *items, const struct order *o)
{
	uint64_t step_ns = step_from(p, p->min_ns), to_ns;
	struct repeats_bar bar = {0};

	bar.from_ns =
		p->max_ns / FAR_APART <= p->min_ns ? p->min_ns : p->min_ns / step_ns * step_ns;
	for (size_t at = 0; at < o->count; bar.from_ns = to_ns) {
		to_ns = end_of(bar.from_ns, step_from(p, bar.from_ns));
		bar.to_ns = to_ns;
		for (bar.count = 0; at < o->count &&
				    (items[o->items[at]].length_ns < to_ns || to_ns == UINT64_MAX);
			at++)
			bar.count++;
		if (vec_push(&p->bars, bar))
			return error_memory(SUBJECT);
	}
	return 0;
}

static int list_one(struct repeats *p, const struct item *item, const struct repeats_wanted *w)
{
	if (item->length_ns < w->at_least_ns || item->length_ns >= w->below_ns)
		return 0;
	if (p->matching++ >= w->most)
		return 0;
	return vec_push(&p->longest, (struct repeat){item->start_ns, item->length_ns})
		       ? error_memory(SUBJECT)
		       : 0;
}

/* Of equal ones the earliest read first. */
static int list_longest(struct repeats *p, const struct item *items, const struct order *o,
	const struct repeats_wanted *w)
{
	size_t first, end;
	int error = 0;

	for (end = o->count; end && !error; end = first) {
		for (first = end - 1; first && items[o->items[first - 1]].length_ns ==
						       items[o->items[first]].length_ns;)
			first--;
		for (size_t i = first; !error && i < end; i++)
			error = list_one(p, &items[o->items[i]], w);
	}
	return error;
}

static int describe(struct reading *g)
{
	struct repeats *p = g->result;
	const struct item *items = g->items.items;
	struct order o;
	int error = order_init(&o, g->items.count);

	if (!error && o.count) {
		sort_by(&o, items, LENGTH);
		p->count = o.count;
		p->min_ns = items[o.items[0]].length_ns;
		p->median_ns = items[o.items[o.count / 2]].length_ns;
		p->max_ns = items[o.items[o.count - 1]].length_ns;
		for (size_t i = 0; i < o.count; i++)
			p->total_ns += items[i].length_ns;
		error = make_bars(p, items, &o);
		error = error ?: list_longest(p, items, &o, g->wanted);
	}
	order_release(&o);
	return error;
}

int repeats_read(struct repeats *p, struct profile_reader *r, const struct profile_reader *names,
	const struct repeats_wanted *w)
{
	struct reading g = {.result = p, .names = names, .wanted = w};
	struct profile_event e;
	int more, error = interner_new(&g.texts) ? error_memory(SUBJECT) : 0;

	while (!error && (more = profile_reader_next(r, &e)))
		error = more < 0 ? more : add_event(&g, &e);
	if (!error && w->of == REPEATS_PERIODS)
		error = make_periods(&g);
	error = error ?: describe(&g);
	if (p->names.count)
		qsort(p->names.items, p->names.count, sizeof(*p->names.items), by_time);
	vec_release(&g.items);
	interner_free(g.texts);
	map_release(&g.name_of);
	map_release(&g.group_of);
	return error;
}
