// SPDX-License-Identifier: MIT
/*
 * The moments of a stretch are put in the order of time and then added to those before. What comes
 * before its time waits for its stretch.
 */
#include "view/wall/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/order.h"
#include "view/fold/event_nodes.h"
#include "view/stalls/kept.h"
#include "view/wall/stretch.h"

#define SUBJECT	   "the wall view"
#define COMING_MAX ((size_t)4 << 20) /* of 32 bytes, and 12 while they are put in order */

struct comings vec(struct moment); /* that wait to be put in order */
struct numbers vec(uint32_t);

struct building {
	struct wall_kept *kept;
	struct wall_events events;
	struct wall_receiver receiver;
	struct numbers of_key[WALL_KEPT_GPU]; /* by key of the events: key of the moments, plus 1 */
	struct map of_gpu;		      /* by key of gpu_waits_divide */
	struct comings coming, later;
	struct order order;
};

void wall_kept_release(struct wall_kept *k)
{
	keys_release(&k->keys);
	moments_release(&k->moments);
	vec_release(&k->of);
	vec_release(&k->spreads);
	vec_release(&k->threads);
	vec_release(&k->observed);
	*k = (struct wall_kept){0};
}

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

/* ------------------------------------------------------------------ keys of the moments */

static int add_key(struct building *b, struct wall_kept_key key, uint32_t *ret)
{
	if (b->kept->of.count >= UINT32_MAX)
		return error_set(-EOVERFLOW, "the wall view has too many keys");
	*ret = (uint32_t)b->kept->of.count;
	return vec_push(&b->kept->of, key) ? short_memory() : 0;
}

static int find_key(struct building *b, uint32_t kind, uint32_t key, uint32_t *ret)
{
	struct numbers *numbers = &b->of_key[kind];
	int error = 0;

	while (numbers->count <= key)
		if (vec_push(numbers, 0))
			return short_memory();
	if (!numbers->items[key]) {
		error = add_key(b, (struct wall_kept_key){kind, key, 0}, ret);
		numbers->items[key] = error ? 0 : *ret + 1;
	}
	*ret = numbers->items[key] - 1;
	return error;
}

static int find_gpu_key(struct building *b, uint64_t key, uint32_t *ret)
{
	const uint64_t *found = map_get(&b->of_gpu, key);
	const struct wall_kept_key of = {WALL_KEPT_GPU, (uint32_t)(key >> 32), (uint32_t)key};
	int error;

	if (found) {
		*ret = (uint32_t)*found;
		return 0;
	}
	error = add_key(b, of, ret);
	if (!error && map_put(&b->of_gpu, key, *ret))
		error = short_memory();
	return error;
}

/* ------------------------------------------------------------------ moments */

/* Threads that wait have a moment for each stretch of work that they wait for together. */
static int come(struct building *b, const struct moment *m)
{
	if (b->coming.count >= COMING_MAX) {
		b->kept->too_large = true;
		return error_set(-E2BIG, "the wall view is not kept");
	}
	return vec_push(&b->coming, *m) ? short_memory() : 0;
}

static int add_amount(
	void *building, enum wall_kind kind, uint32_t key, uint64_t time_ns, uint64_t ns)
{
	struct building *b = building;
	struct moment m = {time_ns, ns, 0, false};

	return find_key(b, kind, key, &m.key) ?: come(b, &m);
}

static int add_spread(
	void *building, uint32_t key, uint64_t start_ns, uint64_t end_ns, uint64_t amount_ns)
{
	struct building *b = building;
	const struct wall_kept_spread spread = {key, start_ns, end_ns, amount_ns};

	return vec_push(&b->kept->spreads, spread) ? short_memory() : 0;
}

static int add_waited(void *building, uint32_t key, bool assumed, uint64_t from_ns, uint64_t to_ns)
{
	struct building *b = building;
	struct moment m = {from_ns, to_ns - from_ns, 0, true};
	uint32_t kind = assumed ? WALL_KEPT_ASSUMED : WALL_KEPT_WAITED;

	return find_key(b, kind, key, &m.key) ?: come(b, &m);
}

static int add_gpu(void *building, uint64_t key, uint64_t from_ns, uint64_t to_ns)
{
	struct building *b = building;
	struct moment m = {from_ns, to_ns - from_ns, 0, true};

	return find_gpu_key(b, key, &m.key) ?: come(b, &m);
}

/* ------------------------------------------------------------------ stretches */

static void number_by_time(struct building *b, uint64_t base_ns, unsigned int shift)
{
	for (size_t i = 0; i < b->coming.count; i++)
		b->order.numbers[i] = (uint32_t)((b->coming.items[i].begin_ns - base_ns) >> shift);
}

static int put_in_order(struct building *b)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	int error = order_init(&b->order, b->coming.count);

	if (error)
		return error;
	vec_foreach (c, &b->coming) {
		first_ns = c->begin_ns < first_ns ? c->begin_ns : first_ns;
		last_ns = c->begin_ns > last_ns ? c->begin_ns : last_ns;
	}
	number_by_time(b, first_ns, 0);
	order_sort(&b->order);
	if (last_ns - first_ns > UINT32_MAX) {
		number_by_time(b, first_ns, 32);
		order_sort(&b->order);
	}
	return 0;
}

/* Of what waits. */
static int take_later(struct building *b)
{
	struct comings all = b->later;
	uint64_t to_ns = b->events.to_ns;
	int error = 0;

	b->later = (struct comings){0};
	vec_foreach (c, &all)
		if (!error && vec_push(c->begin_ns <= to_ns ? &b->coming : &b->later, *c))
			error = short_memory();
	vec_release(&all);
	return error;
}

/* Rests, and amounts of threads whose life begins behind the stretch, come before their time. */
static int take_stretch(struct building *b)
{
	size_t kept = 0;
	int error = 0;

	vec_foreach (c, &b->coming)
		if (c->begin_ns <= b->events.to_ns)
			b->coming.items[kept++] = *c;
		else if (!error && vec_push(&b->later, *c))
			error = short_memory();
	b->coming.count = kept;
	return error ?: take_later(b);
}

static int keep_stretch(struct building *b)
{
	struct moments *m = &b->kept->moments;
	int error = take_stretch(b);

	if (error || !b->coming.count)
		return error;
	error = put_in_order(b);
	for (size_t i = 0; !error && i < b->coming.count; i++)
		if (moments_add(m, &b->coming.items[b->order.items[i]]))
			error = short_memory();
	order_release(&b->order);
	b->coming.count = 0;
	return error;
}

static bool is_too_large(const struct building *b)
{
	const struct wall_kept *k = b->kept;

	return moments_bytes(&k->moments) + k->of.count * sizeof(*k->of.items) +
		       b->later.count * sizeof(*b->later.items) +
		       k->spreads.count * sizeof(*k->spreads.items) >
	       WALL_KEPT_BYTES;
}

static int read_stretches(struct building *b, struct profile_reader *r)
{
	int error = 0, more;

	for (more = wall_events_first(&b->events, r); !error && more > 0;
		more = error ?: wall_events_next(&b->events)) {
		error = wall_stretch_sum(&b->events);
		error = error ?: keep_stretch(b);
		b->kept->too_large |= !error && is_too_large(b);
		if (b->kept->too_large)
			return 0;
	}
	return b->kept->too_large ? 0 : error ?: more;
}

/* ------------------------------------------------------------------ the recording */

/* From the events, which go. */
static int take_over(struct building *b)
{
	struct wall_kept *k = b->kept;
	struct wall_events *e = &b->events;

	vec_foreach (t, &e->threads)
		if (vec_push(&k->threads, *t))
			return short_memory();
	for (size_t n = 0; e->observed.count && n <= e->observed.mask; n++)
		if (e->observed.slots[n].used &&
			vec_push(&k->observed, (uint32_t)e->observed.slots[n].key))
			return short_memory();
	k->keys = e->keys;
	e->keys = (struct keys){0};
	k->has_stalls = e->has_stalls;
	return 0;
}

static void release_building(struct building *b)
{
	for (size_t kind = 0; kind < WALL_KEPT_GPU; kind++)
		vec_release(&b->of_key[kind]);
	map_release(&b->of_gpu);
	vec_release(&b->coming);
	vec_release(&b->later);
	wall_events_release(&b->events);
}

static int read_all(struct wall_kept *k, struct profile_reader *r, size_t most)
{
	struct building b = {.kept = k};
	int error;

	b.receiver = (struct wall_receiver){.arg = &b,
		.amount = add_amount,
		.spread = add_spread,
		.waited = add_waited,
		.gpu = add_gpu};
	profile_reader_clip(r, NULL);
	wall_events_init(&b.events, r, NULL, most, &b.receiver, NULL);
	error = read_stretches(&b, r);
	error = error ?: take_over(&b);
	release_building(&b);
	return error;
}

int wall_kept_read_within(struct wall_kept *k, const struct range_known *known, size_t most)
{
	struct profile_reader *r;
	bool too_large;
	int error = k->read ? 0 : profile_reader_open_again(&r, known->done);

	if (error || k->read)
		return error;
	error = read_all(k, r, most);
	profile_reader_close(r);
	too_large = k->too_large;
	if (error || too_large)
		wall_kept_release(k);
	k->too_large = too_large;
	k->read = !error;
	return error;
}

int wall_kept_read(struct wall_kept *k, const struct range_known *known)
{
	return wall_kept_read_within(k, known, WALL_EVENTS_MAX);
}

/* ------------------------------------------------------------------ the sums of a part */

struct filling {
	const struct wall_kept *kept;
	const struct view_options *options;
	struct wall_sums *sums;
	struct numbers keys; /* by key of `kept`: that of the sums' events, plus 1 */
	size_t edge;	     /* that is looked at */
};

static int map_key(struct filling *f, uint32_t key, uint32_t *ret)
{
	struct gather_key reduced = event_key_for(&f->kept->keys.items.items[key], f->options);
	int error = 0;

	if (!f->keys.items[key]) {
		error = keys_add(&f->sums->events->keys, &reduced, ret);
		f->keys.items[key] = error ? 0 : *ret + 1;
	}
	*ret = f->keys.items[key] - 1;
	return error;
}

/* Which launch it was, whose instructions may have been sampled. */
static int note_launch(struct filling *f, uint32_t whole, uint32_t key)
{
	struct wall_events *e = f->sums->events;
	const struct gather_key *work = &f->kept->keys.items.items[whole];
	const struct profile_op *op = profile_op(e->reader, work->op);
	uint32_t launch = 0;
	int error;

	if (!f->kept->has_stalls || !op || op->kind != OP_KERNEL)
		return 0;
	error = stalls_kept_launch(f->options->stalls, work, f->options, &launch);
	while (!error && e->launch_of.count <= key)
		if (vec_push(&e->launch_of, 0))
			error = short_memory();
	if (!error)
		e->launch_of.items[key] = launch + 1;
	return error;
}

static int map_gpu_key(struct filling *f, const struct wall_kept_key *of, uint64_t *ret)
{
	uint32_t wait = 0, what = of->what;
	int error = map_key(f, of->key, &wait);

	if (!error && of->what >= GPU_WAIT_WORK) {
		error = map_key(f, of->what - GPU_WAIT_WORK, &what);
		error = error ?: note_launch(f, of->what - GPU_WAIT_WORK, what);
		what += GPU_WAIT_WORK;
	}
	*ret = (uint64_t)wait << 32 | what;
	return error;
}

static int fill_gpu(
	struct filling *f, const struct wall_kept_key *of, uint64_t all_ns, uint64_t edge_ns)
{
	struct wall_sums *s = f->sums;
	uint64_t key = 0;
	int error = map_gpu_key(f, of, &key);

	if (!error && all_ns)
		error = wall_sums_add_gpu(s, key, all_ns);
	return error || !s->clip ? error : edges_add(&s->gpu_edges, key, f->edge, edge_ns);
}

static int fill_waited(struct filling *f, const struct wall_kept_key *of, uint64_t ns)
{
	uint32_t key = 0;
	int error = map_key(f, of->key, &key);

	return error ?: wall_sums_add_waiting(f->sums, key, of->kind == WALL_KEPT_ASSUMED, ns);
}

static int fill_divided(
	struct filling *f, const struct wall_kept_key *of, uint64_t all_ns, uint64_t edge_ns)
{
	struct wall_divided *d = &f->sums->divided[of->kind];
	uint32_t key = 0;
	int error = map_key(f, of->key, &key);

	if (!error && all_ns)
		error = gather_add(&d->all, &f->sums->events->keys.items.items[key], all_ns);
	return error || !f->sums->clip ? error : edges_add(&d->edges, key, f->edge, edge_ns);
}

/* What a key has in all, where that is still to be added, and up to the edge from the one
 * before. */
static int fill_key(
	struct filling *f, const struct wall_kept_key *of, uint64_t all_ns, uint64_t edge_ns)
{
	bool shown = !f->sums->clip || f->edge % 2;

	if (!all_ns && !edge_ns)
		return 0;
	if (of->kind == WALL_KEPT_GPU)
		return fill_gpu(f, of, all_ns, edge_ns);
	if (of->kind < WALL_KINDS)
		return fill_divided(f, of, all_ns, edge_ns);
	return shown ? fill_waited(f, of, edge_ns) : 0;
}

/* Up to the edge that is looked at. */
static int fill_until(struct filling *f, uint64_t *before, const struct moment_sums *sums)
{
	const struct moment_sums *all = &f->kept->moments.sums;
	int error = 0;

	for (uint32_t key = 0; !error && key < all->count; key++) {
		uint64_t until = key < sums->count ? sums->items[key] : 0;

		error = fill_key(f, &f->kept->of.items[key], f->edge ? 0 : all->items[key],
			until - before[key]);
		before[key] = until;
	}
	return error;
}

static int fill_spreads(struct filling *f)
{
	struct wall_divided *d = &f->sums->divided[WALL_RUNNING];
	int error = 0;

	vec_foreach (s, &f->kept->spreads) {
		uint32_t key = 0;

		error = error ?: map_key(f, s->key, &key);
		if (!error)
			error = gather_add(
				&d->all, &f->sums->events->keys.items.items[key], s->amount_ns);
		error = error
				?: edges_add_spread(
					   &d->edges, key, s->start_ns, s->end_ns, s->amount_ns);
	}
	return error;
}

static int fill_threads(struct filling *f)
{
	struct wall_events *e = f->sums->events;

	vec_foreach (t, &f->kept->threads)
		if (vec_push(&e->threads, *t))
			return short_memory();
	vec_foreach (process, &f->kept->observed)
		if (map_put(&e->observed, *process, 1))
			return short_memory();
	return 0;
}

static int fill_edges(struct filling *f, uint64_t *before)
{
	const struct profile_clip *c = f->sums->clip;
	const struct moments *m = &f->kept->moments;
	struct moments_look look = {0};
	int error = 0;

	for (size_t n = 0; c && !error && n < 2 * c->span_count; n++, f->edge++) {
		const struct profile_span *span = &c->spans[n / 2];

		error = moments_look_until(&look, m, n % 2 ? span->to_ns : span->from_ns)
				? short_memory()
				: 0;
		error = error ?: fill_until(f, before, &look.sums);
	}
	moments_look_release(&look);
	return error ?: fill_until(f, before, &m->sums);
}

int wall_kept_fill(const struct wall_kept *k, const struct view_options *o, struct wall_sums *sums)
{
	struct filling f = {.kept = k, .options = o, .sums = sums};
	uint64_t *before = calloc(k->of.count + 1, sizeof(*before));
	int error;

	f.keys.items = calloc(k->keys.items.count + 1, sizeof(*f.keys.items));
	error = before && f.keys.items ? fill_threads(&f) : short_memory();
	error = error ?: fill_edges(&f, before);
	error = error ?: fill_spreads(&f);
	free(f.keys.items);
	free(before);
	return error;
}
