// SPDX-License-Identifier: MIT
/*
 * The events of each stretch are summed by their keys. After the last stretch it is clear how much
 * of each thread's time is left for what was sampled, or recorded as a sum. Then the tree is built.
 */
#include "view/wall/wall.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"
#include "view/fold/gpu_bursts.h"
#include "view/fold/missing.h"
#include "view/stalls/stall_tree.h"
#include "view/wall/events.h"

/* Sums that have a share of a thread's time, in proportion. */
struct wall_divisions {
	struct stalls_division running, others_inside, others_outside, rests;
};

struct wall_totals {
	uint64_t all_ns; /* of all threads, shown or not: no sum is more than that */
	uint64_t running_ns, waiting_ns, gpu_ns, others_ns, rests_ns, assumed_ns, unsampled_ns,
		unknown_ns;
	uint64_t lives;		/* threads that have a life */
	uint64_t unknown_lives; /* others that have any time */
};

/* Of a part of the recording: when what is divided by the whole recording was. By key, the last as
 * gpu_waits_divide has it. */
struct wall_edges {
	struct edges running, others_inside, others_outside, gpu;
};

/* As many frames may be instructions of what was waited for. */
#define ROWS_MAX ((size_t)4 << 20)

struct wall {
	struct view_options options;
	const struct profile_clip *clip; /* the part that is shown; NULL: all */
	struct wall_edges edges;
	struct view_result *result;
	struct wall_events events;
	struct gather running, waiting, others_inside, others_outside;
	struct map gpu;			  /* as gpu_waits_divide adds it up */
	struct wall_divisions *divisions; /* by thread */
	struct wall_totals totals;
	struct stalls stalls;
	struct stall_tree rows;
	bool show_rows;
	struct vec(uint64_t) parts; /* of a time, by row */
	struct event_nodes nodes;
};

static int add_up(uint64_t *sum, uint64_t ns)
{
	return __builtin_add_overflow(*sum, ns, sum)
		       ? error_set(-EOVERFLOW, "the times of a thread do not fit 64 bits")
		       : 0;
}

static int gather(struct gather *g, const struct gather_key *key, uint64_t *sum, uint64_t ns)
{
	int error = ns ? add_up(sum, ns) : 0;

	return error || !ns ? error : gather_add(g, key, ns);
}

/* ------------------------------------------------------------------ a stretch */

/* How much of it the thread was in GPU waits. */
static uint64_t inside(const struct wall *v, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpu_wait *w = wall_events_gpu_wait(&v->events, thread, start_ns);
	const struct gpu_wait *end =
		w ? v->events.gpu_waits.items + v->events.gpu_waits.count : NULL;
	uint64_t sum = 0;

	for (; w < end && w->thread == thread && w->start_ns < end_ns; w++)
		sum += (w->end_ns < end_ns ? w->end_ns : end_ns) -
		       (w->start_ns > start_ns ? w->start_ns : start_ns);
	return sum;
}

/* How much of it the thread was not in GPU waits; `shown`: of the part that is shown only. */
static uint64_t outside(
	const struct wall *v, uint32_t thread, uint64_t start_ns, uint64_t end_ns, bool shown)
{
	const struct profile_clip *c = shown ? v->clip : NULL;
	uint64_t sum = 0;

	if (!c)
		return end_ns - start_ns - inside(v, thread, start_ns, end_ns);
	for (size_t n = 0; n < c->span_count; n++) {
		uint64_t from_ns = c->spans[n].from_ns > start_ns ? c->spans[n].from_ns : start_ns;
		uint64_t to_ns = c->spans[n].to_ns < end_ns ? c->spans[n].to_ns : end_ns;

		if (from_ns < to_ns)
			sum += to_ns - from_ns - inside(v, thread, from_ns, to_ns);
	}
	return sum;
}

/* A wait outside of GPU waits: all of it counts for the thread, what is shown of it is gathered. */
static int gather_outside(struct wall *v, const struct wall_wait *w, const struct gather_key *key,
	uint64_t start_ns, uint64_t end_ns)
{
	struct wall_thread *t = &v->events.threads.items[w->thread];
	uint64_t shown_ns = outside(v, w->thread, start_ns, end_ns, true);
	int error = add_up(&t->outside_ns, outside(v, w->thread, start_ns, end_ns, false));

	if (w->assumed)
		t->assumed_ns += shown_ns;
	return error || !shown_ns ? error : gather_add(&v->waiting, key, shown_ns);
}

static int sum_wait(struct wall *v, const struct wall_wait *w)
{
	struct wall_thread *t = &v->events.threads.items[w->thread];
	struct gather_key key = v->events.keys.items.items[w->key], queue = key;
	uint64_t asleep_in = inside(v, w->thread, w->start_ns, w->queued_from_ns);
	uint64_t queued_in = inside(v, w->thread, w->queued_from_ns, w->end_ns);
	uint64_t length = w->end_ns - w->start_ns, others_in = 0;
	int error;

	queue.reason = WAIT_RUN_QUEUE;
	if (length)
		others_in = (uint64_t)((unsigned __int128)w->others_ns * (asleep_in + queued_in) /
				       length);
	error = add_up(&t->inside_ns, asleep_in + queued_in);
	error = error ?: gather_outside(v, w, &key, w->start_ns, w->queued_from_ns);
	error = error ?: gather_outside(v, w, &queue, w->queued_from_ns, w->end_ns);
	error = error ?: gather(&v->others_inside, &key, &t->others_inside_ns, others_in);
	error = error ?: edges_add_at(&v->edges.others_inside, w->key, w->start_ns, others_in);
	error = error
			?: gather(&v->others_outside, &key, &t->others_outside_ns,
				   w->others_ns - others_in);
	return error
		       ?: edges_add_at(&v->edges.others_outside, w->key, w->start_ns,
				  w->others_ns - others_in);
}

/* When it was is not known of what no sample stands for: it is spread over the time until then. */
static int add_sample_edges(struct wall *v, const struct wall_sample *s, bool seen)
{
	const struct wall_thread *t = &v->events.threads.items[s->thread];
	uint64_t start_ns =
		t->has_life ? t->from_ns
			    : profile_meta_number(v->events.reader, META_START_NS, s->time_ns);

	return seen ? edges_add_at(&v->edges.running, s->key, s->time_ns, s->period_ns)
		    : edges_add_spread(
			      &v->edges.running, s->key, start_ns, s->time_ns, s->period_ns);
}

static int sum_sample(struct wall *v, const struct wall_sample *s)
{
	const struct gpu_wait *w = wall_events_gpu_wait(&v->events, s->thread, s->time_ns);
	struct wall_thread *t = &v->events.threads.items[s->thread];
	const struct gather_key *key = &v->events.keys.items.items[s->key];

	if (w && w->start_ns <= s->time_ns)
		return 0;
	/* It has another note. */
	if (key->reason == SAMPLE_ABSENT && t->has_life)
		return 0;
	return gather(&v->running, key, &t->samples_ns, s->period_ns)
		       ?: add_sample_edges(v, s, key->reason == SAMPLE_SEEN);
}

/* The list has an entry for every thread. */
static int add_known_threads(struct wall *v)
{
	uint32_t count = profile_counts(v->events.reader).threads;

	while (v->events.threads.count <= count)
		if (vec_push(&v->events.threads, (struct wall_thread){.to_ns = UINT64_MAX}))
			return error_memory("the threads");
	return 0;
}

static int sum_stretch(struct wall *v)
{
	struct wall_events *e = &v->events;
	int error = add_known_threads(v);

	for (size_t n = 0; !error && n < e->waits.count; n++)
		error = sum_wait(v, &e->waits.items[n]);
	for (size_t n = 0; !error && n < e->samples.count; n++)
		error = sum_sample(v, &e->samples.items[n]);
	for (size_t n = 0; !error && n < e->gpu_waits.count; n++) {
		const struct gpu_wait *w = &e->gpu_waits.items[n];

		error = add_up(&e->threads.items[w->thread].gpu_ns, w->end_ns - w->start_ns);
	}
	return error
		       ?: gpu_waits_divide(e->gpu_waits.items, e->gpu_waits.count, e->runs.items,
				  e->runs.count, e->lanes.items, e->lanes.count, &v->gpu,
				  v->clip ? &v->edges.gpu : NULL);
}

static int sum_rests(struct wall *v)
{
	const struct gather_sum *sum;
	size_t n = 0;
	int error = 0;

	while (!error && (sum = gather_next(&v->events.rests, &n)))
		error = add_up(&v->events.threads.items[sum->key.thread].rests_ns, sum->time_ns);
	return error;
}

/* ------------------------------------------------------------------ the tree */

static int add_time(struct wall *v, uint32_t node, uint64_t ns)
{
	return ns ? tree_add_time(v->result->tree, node, ns) : 0;
}

/* What is shown of a time that all of the sum has. */
static int find_shown(
	struct wall *v, const struct gather_sum *sum, const struct edges *edges, uint64_t *ns)
{
	uint32_t key = 0;
	int error = edges->clip ? keys_add(&v->events.keys, &sum->key, &key) : 0;

	if (!error && edges->clip)
		*ns = edges_share(edges, key, sum->time_ns, *ns);
	return error;
}

static int add_shown(struct wall *v, const struct gather_sum *sum, uint64_t ns, uint64_t *total)
{
	uint32_t node = 0;
	int error = 0;

	if (!ns || !clip_has_thread(v->clip, sum->key.thread))
		return 0;
	*total += ns;
	error = event_nodes_add(&v->nodes, &sum->key, &node);
	return error ?: add_time(v, node, ns);
}

static int add_waiting(struct wall *v)
{
	const struct gather_sum *sum;
	size_t at = 0;
	int error = 0;

	while (!error && (sum = gather_next(&v->waiting, &at)))
		if (!profile_is_profiler(v->events.reader, sum->key.thread))
			error = add_shown(v, sum, sum->time_ns, &v->totals.waiting_ns);
	return error;
}

static int add_sums(struct wall *v)
{
	const struct {
		const struct gather *sums;
		size_t division; /* where in wall_divisions */
		const struct edges *edges;
		uint64_t *total;
	} shared[] = {
		{&v->running, offsetof(struct wall_divisions, running), &v->edges.running,
			&v->totals.running_ns},
		{&v->others_inside, offsetof(struct wall_divisions, others_inside),
			&v->edges.others_inside, &v->totals.others_ns},
		{&v->others_outside, offsetof(struct wall_divisions, others_outside),
			&v->edges.others_outside, &v->totals.others_ns},
		{&v->events.rests, offsetof(struct wall_divisions, rests), &v->events.rest_edges,
			&v->totals.rests_ns},
	};
	int error = add_waiting(v);

	for (size_t n = 0; n < sizeof(shared) / sizeof(shared[0]); n++) {
		const struct gather_sum *sum;

		for (size_t at = 0; !error && (sum = gather_next(shared[n].sums, &at));) {
			struct stalls_division *division =
				(void *)((char *)&v->divisions[sum->key.thread] +
					 shared[n].division);
			uint64_t ns = division->sum ? stalls_part(division, sum->time_ns) : 0;

			error = find_shown(v, sum, shared[n].edges, &ns);
			error = error ?: add_shown(v, sum, ns, shared[n].total);
		}
	}
	return error;
}

static int add_thread_note(struct wall *v, uint32_t thread, const char *note, uint64_t ns)
{
	uint32_t node = 0;
	int error = ns ? event_nodes_add_task(&v->nodes, thread, &node) : 0;

	if (!error && ns)
		error = event_nodes_add_note(&v->nodes, node, TREE_NOTE, note, &node);
	return error ?: add_time(v, node, ns);
}

/* The notes of a thread, and how its time is divided. */
static int add_thread(struct wall *v, uint32_t id, const struct wall_thread *t)
{
	struct wall_shares s = wall_thread_divide(t);
	struct wall_divisions *d = &v->divisions[id];
	struct wall_totals *totals = &v->totals;
	uint64_t waiting_ns = t->outside_ns + s.others_outside_ns + s.others_inside_ns + s.rests_ns;
	uint64_t sum_ns = t->gpu_ns + waiting_ns + s.run_ns + s.unknown_ns;
	uint64_t unsampled_ns = t->samples_ns ? 0 : s.run_ns;
	uint64_t shown_unsampled_ns = unsampled_ns, shown_unknown_ns = s.unknown_ns;
	int error;

	d->running =
		(struct stalls_division){.total = s.run_ns - unsampled_ns, .sum = t->samples_ns};
	d->others_outside =
		(struct stalls_division){.total = s.others_outside_ns, .sum = t->others_outside_ns};
	d->others_inside =
		(struct stalls_division){.total = s.others_inside_ns, .sum = t->others_inside_ns};
	d->rests = (struct stalls_division){.total = s.rests_ns, .sum = t->rests_ns};
	if (!clip_has_thread(v->clip, id))
		return add_up(&totals->all_ns, sum_ns);
	if (v->clip && t->has_life) {
		shown_unsampled_ns = clip_share(v->clip, t->from_ns, t->to_ns, unsampled_ns);
		shown_unknown_ns = clip_share(v->clip, t->from_ns, t->to_ns, s.unknown_ns);
	}
	totals->assumed_ns += t->assumed_ns;
	totals->unsampled_ns += shown_unsampled_ns;
	totals->unknown_ns += shown_unknown_ns;
	totals->lives += t->has_life;
	totals->unknown_lives += !t->has_life && sum_ns;
	error = add_thread_note(v, id, "running, not sampled", shown_unsampled_ns);
	error = error ?: add_thread_note(v, id, "not recorded", shown_unknown_ns);
	return error ?: add_up(&totals->all_ns, sum_ns);
}

static int add_threads(struct wall *v)
{
	int error = 0;

	v->divisions = calloc(v->events.threads.count, sizeof(*v->divisions));
	if (!v->divisions)
		return error_memory("the threads");
	for (uint32_t id = 0; !error && id < v->events.threads.count; id++)
		if (!profile_is_profiler(v->events.reader, id))
			error = add_thread(v, id, &v->events.threads.items[id]);
	return error;
}

/* A copy that waits for itself need not be led to twice. */
static bool is_own_work(const struct gather_key *wait, const struct gather_key *work)
{
	return wait->stack && wait->thread == work->thread && wait->stack == work->stack &&
	       !work->node_stack;
}

/* The launch whose rows have the instructions of a part of a GPU wait; NULL: none were sampled, or
 * it is no kernel. */
static const struct stalls_launch *launch_of(const struct wall *v, uint32_t what)
{
	uint32_t key = what - GPU_WAIT_WORK, launch;

	if (what < GPU_WAIT_WORK || key >= v->events.launch_of.count)
		return NULL;
	launch = v->events.launch_of.items[key];
	return launch && v->stalls.launches.items[launch - 1].row_count
		       ? &v->stalls.launches.items[launch - 1]
		       : NULL;
}

/* On its instructions, as all of the launch's time is shared out among them. */
static int add_kernel_time(
	struct wall *v, uint32_t kernel, const struct stalls_launch *l, uint64_t key, uint64_t ns)
{
	struct stalls_division d = {.total = ns, .sum = l->samples};
	int error = 0;

	v->parts.count = 0;
	if (vec_reserve(&v->parts, l->row_count))
		return error_memory("the instruction samples");
	for (size_t n = 0; n < l->row_count; n++)
		v->parts.items[n] = stalls_part(&d, v->stalls.rows.items[l->first_row + n].samples);
	if (v->clip)
		error = edges_divide(&v->edges.gpu, key, v->parts.items, l->row_count);
	for (size_t n = 0; !error && n < l->row_count; n++)
		if (v->parts.items[n])
			error = stall_tree_add(&v->rows, kernel,
				&v->stalls.rows.items[l->first_row + n], v->parts.items[n]);
	return error;
}

/* `slot` has the wait's key << 32 | what it was for. */
static int add_gpu_wait(struct wall *v, const struct map_slot *slot)
{
	const struct gather_key *keys = v->events.keys.items.items, *wait = &keys[slot->key >> 32];
	uint32_t node = 0, what = (uint32_t)slot->key;
	const struct stalls_launch *launch = launch_of(v, what);
	uint64_t ns = v->clip ? edges_inside(&v->edges.gpu, slot->key) : slot->value;
	int error;

	if ((v->clip && !ns) || !clip_has_thread(v->clip, wait->thread))
		return 0;
	v->totals.gpu_ns += ns;
	error = event_nodes_add(&v->nodes, wait, &node);

	error = error
			?: event_nodes_add_note(
				   &v->nodes, node, TREE_WAIT, "waiting for the GPU", &node);
	if (!error && what >= GPU_WAIT_WORK)
		error = event_nodes_add_work(&v->nodes, node, &keys[what - GPU_WAIT_WORK],
			!is_own_work(wait, &keys[what - GPU_WAIT_WORK]), &node);
	else if (!error)
		error = event_nodes_add_note(&v->nodes, node, TREE_NOTE,
			wall_events_is_observed(&v->events, wait->thread) ? "work not recorded"
			: what == GPU_WAIT_IDLE				  ? "GPU idle"
									  : "other streams",
			&node);
	if (!error && launch && v->show_rows)
		return add_kernel_time(v, node, launch, slot->key, slot->value);
	return error ?: add_time(v, node, ns);
}

/* How many instructions and reasons there will be above what was waited for, each time. */
static size_t count_rows(const struct wall *v)
{
	size_t count = 0;

	for (size_t n = 0; v->gpu.count && n <= v->gpu.mask; n++) {
		const struct stalls_launch *l =
			v->gpu.slots[n].used ? launch_of(v, (uint32_t)v->gpu.slots[n].key) : NULL;

		count += l ? l->row_count : 0;
	}
	return count;
}

static int add_gpu_waits(struct wall *v)
{
	int error = stall_tree_init(&v->rows, &v->stalls, v->result->tree, &v->options);

	v->show_rows = count_rows(v) <= ROWS_MAX;
	for (size_t n = 0; !error && v->gpu.count && n <= v->gpu.mask; n++) {
		const struct map_slot *s = &v->gpu.slots[n];

		if (s->used)
			error = add_gpu_wait(v, s);
	}
	return error;
}

static int build_tree(struct wall *v)
{
	int error = event_nodes_init(&v->nodes, v->events.reader, &v->options, v->result->tree);

	error = error ?: add_threads(v);
	error = error ?: add_sums(v);
	error = error ?: add_gpu_waits(v);
	stall_tree_release(&v->rows);
	event_nodes_release(&v->nodes);
	return error;
}

/* ------------------------------------------------------------------ */

static int describe(const struct wall *v)
{
	const struct wall_totals *t = &v->totals;
	uint64_t running_ns = t->running_ns + t->unsampled_ns,
		 waiting_ns = t->waiting_ns + t->others_ns + t->rests_ns;
	uint64_t elapsed_ns = running_ns + waiting_ns + t->gpu_ns + t->unknown_ns;
	const struct missing none = {0};
	const struct {
		const char *name;
		uint64_t ns;
	} shares[] = {
		{"running", running_ns},
		{"waiting", waiting_ns},
		{profile_is_estimated(v->events.reader) ? NULL : "waiting for the GPU", t->gpu_ns},
		{"apportioned waits", t->others_ns + t->assumed_ns},
		{"running, not sampled", t->unsampled_ns},
		{"not recorded", t->unknown_ns},
	};
	int error = 0;

	for (size_t n = 0; !error && n < sizeof(shares) / sizeof(shares[0]); n++)
		if (shares[n].name && (n < 3 || shares[n].ns))
			error = view_share(v->result, shares[n].name, shares[n].ns, elapsed_ns);
	if (!error && !t->lives && !profile_meta(v->events.reader, META_OFF_CPU)) {
		v->result->lacking = "waits of threads";
		v->result->help = "'xpuprof record --off-cpu' records them";
		error = view_remark(v->result,
			"not all time of threads is shown: waits were not recorded, see xpuprof "
			"record --off-cpu");
	} else if (!error && t->unknown_lives) {
		error = view_remark(v->result,
			"of %llu threads not all time is shown: how long they were there is not "
			"known",
			(unsigned long long)t->unknown_lives);
	}
	if (!error && !v->show_rows)
		error = view_remark(v->result, "instructions of what was waited for are not shown, "
					       "they are too many: see --view stall");
	error = error
			?: gpu_bursts_leave_out(
				   v->events.reader, v->result, "what waits were for the GPU");
	return error ?: missing_remarks(&none, v->events.reader, v->result);
}

static void release(struct wall *v)
{
	gather_release(&v->running);
	gather_release(&v->waiting);
	gather_release(&v->others_inside);
	gather_release(&v->others_outside);
	map_release(&v->gpu);
	free(v->divisions);
	vec_release(&v->parts);
	edges_release(&v->edges.running);
	edges_release(&v->edges.others_inside);
	edges_release(&v->edges.others_outside);
	edges_release(&v->edges.gpu);
	stalls_release(&v->stalls);
	wall_events_release(&v->events);
}

static int init_edges(struct wall *v)
{
	int error = edges_init(&v->edges.running, v->clip);

	error = error ?: edges_init(&v->edges.others_inside, v->clip);
	error = error ?: edges_init(&v->edges.others_outside, v->clip);
	error = error ?: edges_init(&v->edges.gpu, v->clip);
	return error ?: edges_init(&v->events.rest_edges, v->clip);
}

int wall_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	return wall_build_within(r, o, ret, WALL_EVENTS_MAX);
}

int wall_build_within(struct profile_reader *r, const struct view_options *o,
	struct view_result *ret, size_t most)
{
	struct wall v = {.options = *o, .result = ret, .clip = profile_reader_clip_of(r)};
	int more;

	profile_reader_clip(r, NULL); /* times are divided by all that a thread did */

	v.options.by = view_by_task(o);
	view_one_time(ret, "time of threads");
	wall_events_init(&v.events, r, &v.options, most, &v.stalls);
	more = stalls_init(&v.stalls, r, &v.options, NULL);
	more = more ? more : init_edges(&v);
	for (more = more ? more : wall_events_first(&v.events, r); more > 0;
		more = wall_events_next(&v.events)) {
		int error = sum_stretch(&v);

		if (error) {
			more = error;
			break;
		}
	}
	if (!more)
		more = stalls_finish(&v.stalls);
	if (!more)
		more = sum_rests(&v);
	if (!more)
		more = build_tree(&v);
	if (!more)
		more = describe(&v);
	if (!more)
		more = view_many_threads(ret, o);
	release(&v);
	return more;
}
