// SPDX-License-Identifier: MIT
/*
 * The switches of each context make a timeline; a launch is in the state that all live contexts of
 * its process and device had, from its begin to its end. The clocks of CPU and GPU may be apart by
 * what the recording says, and so much farther a launch has to be from each switch.
 */
#include "probe/recorded/cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"

#define RESAMPLES     1000
#define RESAMPLES_MIN 200
#define DRAWS_MAX     2000000.0 /* of the turns of one kernel */
#define TURNS_MIN     5		/* in each state */

/* A stretch of one context in one state: from the end of a switch to the begin of the next. */
struct stretch {
	uint64_t from_ns, to_ns;
	enum server_switched state;
};

struct timeline {
	struct vec(struct stretch) stretches;
	uint32_t process, device; /* ids of the recording */
};

struct reading {
	struct cost *cost;
	const struct profile_reader *done;
	struct vec(struct timeline) contexts; /* by arena */
	struct map probed;		      /* hash of a name: has programs */
	struct map kernels;		      /* string: index in `cost` */
	struct map turns;		      /* of kernel and stretch: index in the kernel's */
	uint64_t margin_ns;
};

static int no_memory(void)
{
	return error_memory("what probes cost");
}

static uint64_t name_hash(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* Times are a process's: whatever they are, stretches follow each other. */
static int add_switch(struct reading *g, const struct server_switch *s)
{
	struct timeline *t = &g->contexts.items[s->arena];
	struct stretch *last =
		t->stretches.count ? &t->stretches.items[t->stretches.count - 1] : NULL;
	struct stretch new = {.from_ns = s->to_ns, .to_ns = UINT64_MAX, .state = s->state};

	if (last) {
		last->to_ns = s->from_ns > last->from_ns ? s->from_ns : last->from_ns;
		if (new.from_ns < last->to_ns)
			new.from_ns = last->to_ns;
	}
	g->cost->switches += last && s->state <= SERVER_OFF;
	return vec_push(&t->stretches, new) ? no_memory() : 0;
}

static int make_timelines(struct reading *g, const struct recorded_reading *r)
{
	struct profile_counts n = profile_counts(g->done);
	int error = 0;

	for (uint32_t id = 1; !error && id <= n.probe_contexts; id++) {
		const struct profile_probe_context *c = profile_probe_context(g->done, id);
		struct timeline t = {.process = c->process, .device = c->device};

		error = vec_push(&g->contexts, t) ? no_memory() : 0;
	}
	vec_foreach (s, &r->switches)
		if (!error && s->arena < g->contexts.count)
			error = add_switch(g, s);
	vec_foreach (k, &r->server.kernels)
		if (!error && map_put(&g->probed, name_hash(k->name), 1))
			error = no_memory();
	return error;
}

/* The last stretch that began before; NULL: none. */
static const struct stretch *stretch_at(const struct timeline *t, uint64_t time_ns)
{
	size_t low = 0, high = t->stretches.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->stretches.items[middle].from_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->stretches.items[low - 1] : NULL;
}

enum fit { FITS, STRADDLES, UNKNOWN };

static enum fit fit_one(const struct reading *g, const struct timeline *t,
	const struct profile_work *w, const struct stretch **ret)
{
	uint64_t begin = w->start_ns > g->margin_ns ? w->start_ns - g->margin_ns : 0;
	const struct stretch *s = stretch_at(t, begin);
	uint64_t end;

	if (__builtin_add_overflow(w->start_ns, w->duration_ns, &end) ||
		__builtin_add_overflow(end, g->margin_ns, &end))
		return UNKNOWN;
	*ret = s;
	if (!s)
		return stretch_at(t, end) ? STRADDLES : UNKNOWN;
	if (s->state == SERVER_GONE)
		return FITS;
	if (s->state == SERVER_UNKNOWN)
		return UNKNOWN;
	/* At the end of its context a launch has ended, too. */
	if (s + 1 < t->stretches.items + t->stretches.count && s[1].state != SERVER_GONE &&
		end > s->to_ns)
		return STRADDLES;
	return FITS;
}

/* In all contexts that live then: contexts before it that have ended do not matter. `ret_key`
 * identifies the turn. */
static enum fit fit(const struct reading *g, const struct profile_op *op,
	const struct profile_work *w, unsigned int *ret_state, uint64_t *ret_key)
{
	enum fit result = UNKNOWN;

	vec_foreach (t, &g->contexts) {
		const struct stretch *s = NULL;
		unsigned int state;
		enum fit one;

		if (t->process != op->process || t->device != op->device || !t->stretches.count)
			continue;
		one = fit_one(g, t, w, &s);
		/* It had not begun. */
		if (!s && one == UNKNOWN)
			continue;
		if (one != FITS)
			return one;
		if (s->state == SERVER_GONE)
			continue;
		state = s->state == SERVER_ON ? COST_ON : COST_OFF;
		if (result == FITS && state != *ret_state)
			return STRADDLES;
		if (result != FITS)
			*ret_key = hash_combine((uint64_t)(t - g->contexts.items),
				(uint64_t)(s - t->stretches.items));
		result = FITS;
		*ret_state = state;
	}
	return result;
}

static struct cost_kernel *kernel_of(struct reading *g, uint32_t name, int *ret_error)
{
	const uint64_t *at = map_get(&g->kernels, name);
	const char *text;

	if (at)
		return &g->cost->kernels.items[*at];
	text = profile_string(g->done, name, NULL);
	if (!text || !map_get(&g->probed, name_hash(text)))
		return NULL;
	if (vec_push(&g->cost->kernels, ((struct cost_kernel){.name = name})) ||
		map_put(&g->kernels, name, g->cost->kernels.count - 1)) {
		*ret_error = no_memory();
		return NULL;
	}
	return &g->cost->kernels.items[g->cost->kernels.count - 1];
}

static int add_launch(struct reading *g, struct cost_kernel *k, unsigned int state, uint64_t turn,
	uint64_t duration_ns)
{
	uint64_t key = hash_combine(turn, k->name);
	const uint64_t *at = map_get(&g->turns, key);
	struct cost_state *s = &k->states[state];
	struct cost_turn *t;

	if (!at && (vec_push(&k->turns, ((struct cost_turn){.state = state})) ||
			   map_put(&g->turns, key, k->turns.count - 1)))
		return no_memory();
	t = &k->turns.items[at ? *at : k->turns.count - 1];
	t->count++;
	t->sum_ns += duration_ns;
	s->sum_ns += duration_ns;
	return vec_push(&s->times_ns, duration_ns) ? no_memory() : 0;
}

static int add_work(struct reading *g, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(g->done, w->op);
	struct cost_kernel *k;
	unsigned int state = 0;
	uint64_t turn = 0;
	int error = 0;

	if (!op || op->kind != OP_KERNEL)
		return 0;
	k = kernel_of(g, op->name, &error);
	if (!k)
		return error;
	switch (fit(g, op, w, &state, &turn)) {
	case FITS:
		return add_launch(g, k, state, turn, w->duration_ns);
	case STRADDLES:
		k->straddling++;
		return 0;
	case UNKNOWN:
		break;
	}
	k->unknown++;
	return 0;
}

static int read_works(struct reading *g)
{
	struct profile_reader *reader = NULL;
	struct profile_event e;
	int error = profile_reader_open_again(&reader, g->done), got = 0;

	while (!error && (got = profile_reader_next(reader, &e)) > 0)
		if (e.kind == EVENT_WORK)
			error = add_work(g, &e.work);
	profile_reader_close(reader);
	return error ? error : got;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_ratio(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int by_time(const void *a, const void *b)
{
	const struct cost_kernel *x = a, *y = b;
	uint64_t p = x->states[COST_ON].sum_ns + x->states[COST_OFF].sum_ns;
	uint64_t q = y->states[COST_ON].sum_ns + y->states[COST_OFF].sum_ns;

	return p > q ? -1 : p < q;
}

/* xorshift: the same recording has the same interval. */
static size_t draw(uint64_t *random, size_t count)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (size_t)(*random % count);
}

/* Turns of one state stand together. */
static double draw_mean(const struct cost_turn *turns, size_t count, uint64_t *random)
{
	double launches = 0, sum_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const struct cost_turn *t = &turns[draw(random, count)];

		launches += (double)t->count;
		sum_ns += (double)t->sum_ns;
	}
	return sum_ns / launches;
}

static int by_state(const void *a, const void *b)
{
	const struct cost_turn *x = a, *y = b;

	return (int)x->state - (int)y->state;
}

static void find_interval(struct cost_kernel *k)
{
	double ratios[RESAMPLES];
	double wanted = k->turns.count ? DRAWS_MAX / (double)k->turns.count : 0;
	size_t n = wanted > RESAMPLES	    ? RESAMPLES
		   : wanted < RESAMPLES_MIN ? RESAMPLES_MIN
					    : (size_t)wanted;
	uint64_t random = 0x9e3779b97f4a7c15ull;
	size_t on = 0;

	vec_foreach (t, &k->turns)
		on += t->state == COST_ON;
	if (on < TURNS_MIN || k->turns.count - on < TURNS_MIN)
		return;
	qsort(k->turns.items, k->turns.count, sizeof(*k->turns.items), by_state);
	for (size_t i = 0; i < n; i++) {
		double with = draw_mean(k->turns.items, on, &random);
		double without = draw_mean(k->turns.items + on, k->turns.count - on, &random);

		ratios[i] = without > 0 ? with / without : 0;
	}
	qsort(ratios, n, sizeof(*ratios), by_ratio);
	k->low = ratios[n * 25 / 1000];
	k->high = ratios[n - 1 - n * 25 / 1000];
}

static void finish(struct cost *c)
{
	vec_foreach (k, &c->kernels) {
		double without = cost_mean_ns(&k->states[COST_OFF]);

		for (int i = 0; i < COST_STATES; i++)
			if (k->states[i].times_ns.count)
				qsort(k->states[i].times_ns.items, k->states[i].times_ns.count,
					sizeof(uint64_t), by_number);
		if (!k->states[COST_ON].times_ns.count || without <= 0)
			continue;
		k->ratio = cost_mean_ns(&k->states[COST_ON]) / without;
		find_interval(k);
	}
	if (c->kernels.count)
		qsort(c->kernels.items, c->kernels.count, sizeof(*c->kernels.items), by_time);
}

int cost_read(struct cost *c, const struct recorded_reading *r, const struct profile_reader *done)
{
	struct reading g = {.cost = c, .done = done};
	int error;

	*c = (struct cost){.is_measured = r->switches.count > 0};
	if (!c->is_measured)
		return 0;
	g.margin_ns = profile_meta_number(done, META_CLOCK_ERROR, 0);
	error = make_timelines(&g, r);
	error = error ?: read_works(&g);
	if (!error)
		finish(c);
	vec_foreach (t, &g.contexts)
		vec_release(&t->stretches);
	vec_release(&g.contexts);
	map_release(&g.probed);
	map_release(&g.kernels);
	map_release(&g.turns);
	return error;
}

void cost_release(struct cost *c)
{
	vec_foreach (k, &c->kernels) {
		for (int i = 0; i < COST_STATES; i++)
			vec_release(&k->states[i].times_ns);
		vec_release(&k->turns);
	}
	vec_release(&c->kernels);
}

uint64_t cost_median_ns(const struct cost_state *s)
{
	return s->times_ns.count ? s->times_ns.items[s->times_ns.count / 2] : 0;
}

double cost_mean_ns(const struct cost_state *s)
{
	return s->times_ns.count ? (double)s->sum_ns / (double)s->times_ns.count : 0;
}
