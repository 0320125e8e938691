// SPDX-License-Identifier: MIT
/*
 * One sweep over the beginnings of waits and runs. Each wait that is going on has an owner: the run
 * that its time belongs to at present. An owner ends last of all that run. So when it is over
 * nothing else runs, and that moment needs no event of its own. Of each lane the run that ends last
 * is kept, for waits that begin while it runs.
 */
#include "view/waits/gpu_waits.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/vec.h"

#define SUBJECT "what threads waited for"

/* A wait that is going on. */
struct going {
	const struct gpu_wait *wait;
	uint64_t at_ns; /* divided up to here */
	uint64_t owner_end_ns;
	uint64_t others_end_ns;
	uint32_t owner;
};

struct sweep {
	const struct gpu_lane *lanes;
	const struct gpu_run **latest; /* by lane; NULL: none yet */
	size_t lane_count;
	struct vec(struct going) going;
	const struct gpu_wait_parts *parts;
};

/* Work of a graph may be of another context than the stream, and numbers of streams count in
 * theirs. */
uint32_t gpu_waits_stream(const struct profile_work *w, const struct profile_op *op)
{
	if (!w->graph_node)
		return op->stream;
	return w->graph_context == op->context ? w->graph_stream : 0;
}

static bool is_waited_for(const struct gpu_wait *w, const struct gpu_lane *l, uint64_t launch_ns)
{
	if (l->process != w->process || (w->context && l->context != w->context))
		return false;
	if ((w->kind == SYNC_STREAM || w->kind == SYNC_EVENT) && l->stream != w->stream &&
		!l->any_stream)
		return false;
	return !w->launched_ns || launch_ns <= w->launched_ns;
}

static bool is_beside(const struct gpu_wait *w, const struct gpu_lane *l)
{
	return w->device ? l->device == w->device : l->process == w->process;
}

static int add(struct sweep *s, struct going *g, uint32_t what, uint64_t until_ns)
{
	uint64_t from_ns = g->at_ns;

	g->at_ns = until_ns;
	return s->parts->add(s->parts->arg, (uint64_t)g->wait->key << 32 | what, from_ns, until_ns);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Divides up to this time, or the end of the wait. */
static int advance(struct sweep *s, struct going *g, uint64_t until_ns)
{
	int error = 0;

	until_ns = earlier(until_ns, g->wait->end_ns);
	while (!error && g->at_ns < until_ns) {
		if (g->owner_end_ns > g->at_ns)
			error = add(s, g, g->owner, earlier(until_ns, g->owner_end_ns));
		else if (g->others_end_ns > g->at_ns)
			error = add(s, g, GPU_WAIT_OTHERS, earlier(until_ns, g->others_end_ns));
		else
			error = add(s, g, GPU_WAIT_IDLE, until_ns);
	}
	return error;
}

/* A run that began at or before the time that the wait is divided up to. */
static void consider(const struct sweep *s, struct going *g, const struct gpu_run *r)
{
	const struct gpu_lane *l = &s->lanes[r->lane];

	if (is_waited_for(g->wait, l, r->launch_ns)) {
		if (r->end_ns <= g->owner_end_ns)
			return;
		g->owner_end_ns = r->end_ns;
		g->owner = GPU_WAIT_WORK + r->key;
	} else if (is_beside(g->wait, l) && r->end_ns > g->others_end_ns) {
		g->others_end_ns = r->end_ns;
	}
}

static int begin_wait(struct sweep *s, const struct gpu_wait *w)
{
	struct going g = {.wait = w, .at_ns = w->start_ns};

	for (size_t n = 0; n < s->lane_count; n++)
		if (s->latest[n])
			consider(s, &g, s->latest[n]);
	return vec_push(&s->going, g) ? error_memory(SUBJECT) : 0;
}

static int begin_run(struct sweep *s, const struct gpu_run *r)
{
	const struct gpu_run **latest = &s->latest[r->lane];
	size_t kept = 0;
	int error = 0;

	for (size_t n = 0; n < s->going.count; n++) {
		struct going *g = &s->going.items[n];

		error = error ?: advance(s, g, r->start_ns);
		if (g->at_ns >= g->wait->end_ns)
			continue;
		consider(s, g, r);
		s->going.items[kept++] = *g;
	}
	s->going.count = kept;
	if (!*latest || r->end_ns > (*latest)->end_ns)
		*latest = r;
	return error;
}

static int sweep_all(struct sweep *s, const struct gpu_wait *const *waits, size_t wait_count,
	const struct gpu_run *runs, size_t run_count)
{
	size_t w = 0, r = 0;
	int error = 0;

	while (!error && w < wait_count) {
		if (r < run_count && runs[r].start_ns <= waits[w]->start_ns)
			error = begin_run(s, &runs[r++]);
		else
			error = begin_wait(s, waits[w++]);
	}
	while (!error && r < run_count && s->going.count)
		error = begin_run(s, &runs[r++]);
	vec_foreach (g, &s->going)
		error = error ?: advance(s, g, UINT64_MAX);
	return error;
}

static int compare_runs(const void *a, const void *b)
{
	const struct gpu_run *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_waits(const void *a, const void *b)
{
	const struct gpu_wait *x = *(const struct gpu_wait *const *)a,
			      *y = *(const struct gpu_wait *const *)b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int gpu_waits_divide(const struct gpu_wait *waits, size_t wait_count, struct gpu_run *runs,
	size_t run_count, const struct gpu_lane *lanes, size_t lane_count,
	const struct gpu_wait_parts *parts)
{
	struct sweep s = {.lanes = lanes, .lane_count = lane_count, .parts = parts};
	const struct gpu_wait **ordered;
	int error;

	if (!wait_count)
		return 0;
	s.latest = calloc(lane_count + 1, sizeof(*s.latest));
	ordered = calloc(wait_count, sizeof(*ordered));
	if (s.latest && ordered) {
		for (size_t n = 0; n < wait_count; n++)
			ordered[n] = &waits[n];
		qsort(ordered, wait_count, sizeof(*ordered), compare_waits);
		if (run_count)
			qsort(runs, run_count, sizeof(*runs), compare_runs);
		error = sweep_all(&s, ordered, wait_count, runs, run_count);
	} else {
		error = error_memory(SUBJECT);
	}
	vec_release(&s.going);
	free(s.latest);
	free(ordered);
	return error;
}
