// SPDX-License-Identifier: MIT
/*
 * Sums are kept by what event_key says, with the thread. A wait has two parts, for its reason and
 * for the run queue, as in off_cpu.c. Whole samples of instructions come from parts of samples by
 * division over all rows, as in the view of stalls.
 */
#include "view/events/costs.h"

#include "base/error.h"
#include "view/stalls/stall_tree.h"

static bool wants(const struct costs *c, enum cost_kind kind)
{
	return c->kinds & 1u << kind;
}

static int add(struct costs *c, const struct gather_key *key, uint64_t value)
{
	return value ? gather_later(&c->sums, &c->waiting, key, value) : 0;
}

static int add_wait(struct costs *c, const struct profile_event *e)
{
	const struct profile_wait *w = &e->wait;
	struct gather_key key = event_key(e, &c->keyed);
	uint64_t queued_ns = w->queued_ns < w->duration_ns ? w->queued_ns : w->duration_ns;
	int error = add(c, &key, w->duration_ns - queued_ns);

	error = error ?: add(c, &key, w->others_ns);
	key.reason = WAIT_RUN_QUEUE;
	return error ?: add(c, &key, queued_ns);
}

static int add_event(struct costs *c, const struct profile_event *e)
{
	struct gather_key key;

	if (e->kind == EVENT_WAIT && wants(c, COST_OFF_CPU))
		return add_wait(c, e);
	if (e->kind == EVENT_SAMPLE && wants(c, COST_CPU)) {
		key = event_key(e, &c->keyed);
		return add(c, &key, e->sample.period_ns);
	}
	if (e->kind == EVENT_WORK && wants(c, COST_GPU)) {
		key = event_key(e, &c->keyed);
		return add(c, &key, profile_work_ns(&e->work));
	}
	return 0;
}

/* Work is looked at once more where there are samples of it; that takes longer than all else. All
 * of it, as samples are divided among all launches. */
static int read_stalls(struct costs *c)
{
	struct profile_reader *again;
	struct profile_event event;
	int more, error = profile_reader_open_again(&again, c->reader);

	if (error)
		return error;
	profile_reader_clip(again, NULL);
	while (!error && (more = profile_reader_next(again, &event)))
		error = more < 0 ? more : stalls_event(&c->stalls, &event);
	profile_reader_close(again);
	return error;
}

int costs_read(
	struct costs *c, struct profile_reader *r, const struct view_options *o, unsigned int kinds)
{
	struct profile_event event;
	int more, error;

	*c = (struct costs){.reader = r, .keyed = *o, .shown = *o, .kinds = kinds};
	c->keyed.by |= VIEW_BY_THREAD;
	error = tree_new(&c->tree);
	error = error ?: stalls_init(&c->stalls, r, &c->keyed, profile_reader_clip_of(r));
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : add_event(c, &event);
	error = error ?: gather_rest(&c->sums, &c->waiting);
	if (!error && wants(c, COST_STALLS) && profile_reader_sums(r).stalls)
		error = read_stalls(c);
	return error ?: stalls_finish(&c->stalls);
}

void costs_release(struct costs *c)
{
	gather_release(&c->sums);
	stalls_release(&c->stalls);
	tree_free(c->tree);
	*c = (struct costs){0};
}

struct handing {
	struct costs *costs;
	struct event_nodes nodes;
	struct stall_tree rows;
	struct stalls_division samples; /* whole ones, over all rows */
	int (*handle)(void *arg, const struct cost *cost);
	void *arg;
};

static enum cost_kind kind_of(const struct gather_key *key)
{
	return key->event == EVENT_SAMPLE ? COST_CPU
	       : key->event == EVENT_WAIT ? COST_OFF_CPU
					  : COST_GPU;
}

static int hand_sums(struct handing *h)
{
	const struct gather_sum *sum;
	size_t n = 0;
	int error = 0;

	while (!error && (sum = gather_next(&h->costs->sums, &n))) {
		struct cost cost = {.kind = kind_of(&sum->key),
			.value = sum->time_ns,
			.thread = sum->key.thread,
			.op = sum->key.op};

		if (cost.kind == COST_OFF_CPU && profile_is_profiler(h->costs->reader, cost.thread))
			continue;
		if (cost.kind == COST_OFF_CPU)
			cost.reason = profile_wait_reason_name(sum->key.reason);
		error = event_nodes_add(&h->nodes, &sum->key, &cost.node);
		error = error ?: h->handle(h->arg, &cost);
	}
	return error;
}

static int hand_rows(struct handing *h, const struct stalls_launch *l)
{
	const struct stalls *stalls = &h->costs->stalls;
	uint32_t kernel = 0;
	int error = l->row_count ? event_nodes_add(&h->nodes, &l->key, &kernel) : 0;

	for (size_t i = 0; !error && i < l->row_count; i++) {
		const struct stalls_row *row = &stalls->rows.items[l->first_row + i];
		struct cost cost = {.kind = COST_STALLS,
			.value = stalls_share(stalls, l, stalls_part(&h->samples, row->samples)),
			.thread = l->key.thread,
			.op = l->key.op,
			.reason = stalls->reasons.items[row->reason].name};

		if (!cost.value)
			continue;
		error = stall_tree_find(&h->rows, kernel, row, &cost.node);
		error = error ?: h->handle(h->arg, &cost);
	}
	return error;
}

static int hand_stalls(struct handing *h)
{
	const struct stalls *stalls = &h->costs->stalls;
	int error = 0;

	vec_foreach (row, &stalls->rows)
		h->samples.sum += row->samples;
	h->samples.total = h->samples.sum / STALLS_SAMPLE;
	h->samples.sum += !h->samples.sum;
	vec_foreach (l, &stalls->launches) {
		error = hand_rows(h, l);
		if (error)
			break;
	}
	return error;
}

int costs_each(struct costs *c, int (*handle)(void *arg, const struct cost *cost), void *arg)
{
	struct handing h = {.costs = c, .handle = handle, .arg = arg};
	int error = event_nodes_init(&h.nodes, c->reader, &c->shown, c->tree);

	error = error ?: hand_sums(&h);
	if (!error && wants(c, COST_STALLS)) {
		error = stall_tree_init(&h.rows, &c->stalls, c->tree, &c->shown);
		error = error ?: hand_stalls(&h);
		stall_tree_release(&h.rows);
	}
	event_nodes_release(&h.nodes);
	return error;
}
