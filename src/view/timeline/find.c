// SPDX-License-Identifier: MIT
/* Names are few, and each is looked at once. Of what matches more are kept than are wanted, and
 * those too many are dropped whenever there is no more room. What comes behind all that is wanted
 * is only counted: nearly everything, as events come nearly in the order of time.
 *
 * Where it is known which stretches have which names (named.h), they are counted from that, and
 * only some stretches are read:
 *
 *	            from_ns
 *	stretch 0  |---|   .			before: counted
 *	stretch 1      |---.---|		across: read, to tell what is before
 *	stretch 2          . |----|		behind: read in this order until something is found
 *	stretch 3          .     ^  |----|	not read: what is found ends before it begins
 */
#include "view/timeline/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SUBJECT	  "the search"
#define SLACK	  16 /* times as many are kept, until they are put in order */
#define READ_MOST 12 /* stretches at once, or as many as there are across */

/* What a stretch has of the names that match. */
struct matching {
	uint64_t count;
	uint32_t first, last; /* begin, in steps */
	bool across;	      /* from_ns may be between them */
	bool chosen;	      /* it is read now */
};

struct finding {
	struct timeline_find *result;
	const struct timeline_find_wanted *wanted;
	const struct profile_reader *names;
	struct map of_kind, of_marker; /* kind or domain, and id -> whether it matches */
	struct buf text;
	bool is_full;
	uint64_t last_ns; /* then: what begins behind it is not wanted */
	/* where it is known what is where */
	const struct timeline_named *named;
	struct matching *stretches;
	size_t *order, candidates,
		next;  /* those with something that is wanted, the nearest first */
	uint32_t from; /* step */
};

void timeline_find_release(struct timeline_find *f)
{
	vec_release(&f->found);
}

static bool has_name(enum timeline_kind kind)
{
	return kind == TIMELINE_MARKERS || kind == TIMELINE_CALLS || kind == TIMELINE_WORK ||
	       kind == TIMELINE_DRIVER;
}

/* 1, 0, or -ENOMEM. */
static int matches(struct finding *g, enum timeline_kind kind, struct timeline_what what)
{
	bool is_marker = kind == TIMELINE_MARKERS;
	struct map *of = is_marker ? &g->of_marker : &g->of_kind;
	uint64_t key = (uint64_t)(is_marker ? what.domain : kind) << 32 | what.id;
	const uint64_t *known = map_get(of, key);
	bool found;

	if (known)
		return *known != 0;
	buf_reset(&g->text);
	timeline_name(g->names, kind, what, &g->text);
	found = strcasestr(buf_text(&g->text), g->wanted->text);
	return g->text.failed || map_put(of, key, found) ? error_memory(SUBJECT) : found;
}

static int by_begin(const void *a, const void *b)
{
	const struct timeline_box *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns) /* what is around the other first */
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int from_the_end(const void *a, const void *b)
{
	return by_begin(b, a);
}

static void keep_first(struct finding *g)
{
	struct timeline_find *f = g->result;

	if (f->found.count)
		qsort(f->found.items, f->found.count, sizeof(*f->found.items),
			g->wanted->back ? from_the_end : by_begin);
	if (f->found.count < g->wanted->most)
		return;
	f->found.count = g->wanted->most;
	g->is_full = true;
	g->last_ns = f->found.items[f->found.count - 1].begin_ns;
}

static bool is_wanted(const struct finding *g, uint64_t begin_ns)
{
	if ((begin_ns < g->wanted->from_ns) != g->wanted->back)
		return false;
	return !g->is_full || (g->wanted->back ? begin_ns >= g->last_ns : begin_ns <= g->last_ns);
}

/* It counts where that is not known already. */
static void count(struct finding *g, uint64_t begin_ns, uint64_t chunk)
{
	bool before = begin_ns < g->wanted->from_ns;

	if (!g->named) {
		g->result->count++;
		g->result->before += before;
	} else if (before && g->stretches[timeline_named_stretch_of(g->named, chunk)].across) {
		g->result->before++;
	}
}

static int add(struct finding *g, uint32_t row, const struct timeline_item *i)
{
	const struct timeline_box box = {row, i->what, i->begin_ns, i->end_ns};
	struct timeline_find *f = g->result;

	if (!is_wanted(g, i->begin_ns))
		return 0;
	if (f->found.count >= SLACK * g->wanted->most)
		keep_first(g);
	return vec_push(&f->found, box) ? error_memory(SUBJECT) : 0;
}

static int add_event(struct finding *g, struct timeline_rows *rows, const struct profile_reader *r,
	const struct profile_event *e)
{
	struct timeline_item item;
	enum timeline_kind kind;
	uint32_t row;
	int on = timeline_rows_of(rows, r, e, &row);

	if (on <= 0)
		return on;
	kind = rows->items.items[row].kind;
	item = timeline_item_of(e);
	on = has_name(kind) ? matches(g, kind, item.what) : 0;
	if (on <= 0)
		return on;
	count(g, item.begin_ns, profile_reader_chunk(r));
	return add(g, row, &item);
}

static bool skips(const void *finding, uint64_t chunk)
{
	const struct finding *g = finding;

	return !g->stretches[timeline_named_stretch_of(g->named, chunk)].chosen;
}

static int read_events(struct finding *g, struct timeline_rows *rows)
{
	struct profile_reader *r;
	struct profile_event e;
	int more, error = profile_reader_open_again(&r, g->names);

	if (error)
		return error;
	if (g->named)
		profile_reader_skip(r, skips, g);
	while (!error && (more = profile_reader_next(r, &e)))
		error = more < 0 ? more : add_event(g, rows, r, &e);
	profile_reader_close(r);
	keep_first(g);
	return error;
}

/* ------------------------------------------------------------------ by stretches */

static int match_place(
	struct finding *g, const struct timeline_named_place *place, struct matching *stretch)
{
	const struct timeline_named_name *name = &g->named->names.items[place->name];
	int found = matches(g, name->kind, name->what);

	if (found <= 0)
		return found;
	if (!stretch->count || place->first < stretch->first)
		stretch->first = place->first;
	if (!stretch->count || place->last > stretch->last)
		stretch->last = place->last;
	stretch->count += place->count;
	return 0;
}

static int match_stretch(struct finding *g, size_t n)
{
	const struct timeline_named *named = g->named;
	struct matching *stretch = &g->stretches[n];
	int error = 0;

	for (size_t i = named->stretches.items[n].first_place;
		!error && i < timeline_named_end(named, n); i++)
		error = match_place(g, &named->places.items[i], stretch);
	if (error || !stretch->count)
		return error;
	stretch->across =
		g->wanted->from_ns && stretch->first <= g->from && stretch->last >= g->from;
	g->result->count += stretch->count;
	if (stretch->last < g->from)
		g->result->before += stretch->count;
	if (g->wanted->back ? stretch->first <= g->from : stretch->last >= g->from)
		g->order[g->candidates++] = n;
	return 0;
}

static int nearest_first(const void *a, const void *b, void *finding)
{
	const struct finding *g = finding;
	const struct matching *x = &g->stretches[*(const size_t *)a],
			      *y = &g->stretches[*(const size_t *)b];

	if (x->across != y->across)
		return x->across ? -1 : 1;
	if (g->wanted->back)
		return x->last != y->last ? (x->last > y->last ? -1 : 1) : 0;
	return x->first != y->first ? (x->first < y->first ? -1 : 1) : 0;
}

/* The next ones: those that are across, and as many as have enough together. */
static void choose(struct finding *g, size_t most)
{
	uint64_t count = 0;

	for (size_t n = 0; n < g->next; n++)
		g->stretches[g->order[n]].chosen = false;
	for (size_t n = 0; g->next < g->candidates; n++, g->next++) {
		struct matching *stretch = &g->stretches[g->order[g->next]];

		if (!stretch->across && n && (n >= most || count >= g->wanted->most))
			break;
		stretch->chosen = true;
		count += stretch->count;
	}
}

/* What is found nearer than all that is not read: how many. */
static size_t certain(const struct finding *g)
{
	const struct timeline_find *f = g->result;
	const struct matching *next =
		g->next < g->candidates ? &g->stretches[g->order[g->next]] : NULL;
	size_t n = next ? 0 : f->found.count;

	for (; n < f->found.count; n++) {
		uint32_t step = timeline_named_step(g->named, f->found.items[n].begin_ns);

		if (g->wanted->back ? step <= next->last : step >= next->first)
			break;
	}
	return n;
}

/* The frontier of those that are not read moves on until something is before it. */
static int read_stretches(struct finding *g, struct timeline_rows *rows)
{
	size_t most = READ_MOST;
	int error = 0;

	for (size_t n = 0; !error && n < g->named->stretches.count; n++)
		error = match_stretch(g, n);
	qsort_r(g->order, g->candidates, sizeof(*g->order), nearest_first, g);
	for (; !error && g->next < g->candidates; most *= 2) {
		choose(g, most);
		error = read_events(g, rows);
		if (certain(g))
			break;
	}
	g->result->found.count = certain(g);
	return error;
}

static int read_known(struct finding *g, struct timeline_rows *rows)
{
	size_t count = g->named->stretches.count;
	int error = 0;

	g->from = timeline_named_step(g->named, g->wanted->from_ns);
	g->stretches = calloc(count + 1, sizeof(*g->stretches));
	g->order = calloc(count + 1, sizeof(*g->order));
	error = g->stretches && g->order ? read_stretches(g, rows) : error_memory(SUBJECT);
	free(g->stretches);
	free(g->order);
	return error;
}

int timeline_find_read(struct timeline_find *f, struct timeline_rows *rows,
	const struct profile_reader *done, const struct timeline_find_wanted *w)
{
	struct finding g = {.result = f, .wanted = w, .names = done, .text = BUF_INIT};
	int error;

	g.named = w->named && !w->named->overflow ? w->named : NULL;
	error = g.named ? read_known(&g, rows) : read_events(&g, rows);
	map_release(&g.of_kind);
	map_release(&g.of_marker);
	buf_release(&g.text);
	return error;
}
