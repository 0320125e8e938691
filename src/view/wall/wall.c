// SPDX-License-Identifier: MIT
/*
 * The events of each stretch are summed by their keys, or the sums come from what is kept of them
 * (kept.h). After the last stretch it is clear how much of each thread's time is left for what was
 * sampled, or recorded as a sum. Then the tree is built.
 */
#include "view/wall/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"
#include "view/fold/gpu_bursts.h"
#include "view/fold/missing.h"
#include "view/stalls/kept.h"
#include "view/stalls/stall_tree.h"
#include "view/wall/kept.h"
#include "view/wall/stretch.h"
#include "view/wall/sums.h"

/* How the time of a thread is divided among its sums. */
struct wall_divisions {
	struct stalls_division of[WALL_KINDS];
};

struct wall_totals {
	uint64_t all_ns; /* of all threads, shown or not: no sum is more than that */
	uint64_t running_ns, waiting_ns, gpu_ns, others_ns, rests_ns, assumed_ns, unsampled_ns,
		unknown_ns;
	uint64_t lives;		/* threads that have a life */
	uint64_t unknown_lives; /* others that have any time */
};

/* As many frames may be instructions of what was waited for. */
#define ROWS_MAX ((size_t)4 << 20)

struct wall {
	struct view_options options;
	const struct profile_clip *clip; /* the part that is shown; NULL: all */
	struct view_result *result;
	struct wall_events events;
	struct wall_sums sums;
	struct wall_divisions *divisions; /* by thread */
	struct wall_totals totals;
	struct stalls stalls; /* those that are kept where `kept` */
	bool kept;
	struct stall_tree rows;
	bool show_rows;
	struct vec(struct map_slot) waits; /* for the GPU: those of the sums */
	struct vec(uint64_t) parts;	   /* of a time, by row */
	struct event_nodes nodes;
};

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

	while (!error && (sum = gather_next(&v->sums.waiting, &at)))
		if (!profile_is_profiler(v->events.reader, sum->key.thread))
			error = add_shown(v, sum, sum->time_ns, &v->totals.waiting_ns);
	return error;
}

/* In the same order whatever order they came in, as shares are rounded one after the other. */
static int sort_sums(struct wall *v)
{
	int error = gather_sort(&v->sums.waiting);

	for (size_t kind = 0; !error && kind < WALL_KINDS; kind++)
		error = gather_sort(&v->sums.divided[kind].all);
	return error;
}

static int add_divided(struct wall *v, enum wall_kind kind, uint64_t *total)
{
	const struct wall_divided *d = &v->sums.divided[kind];
	const struct gather_sum *sum;
	int error = 0;

	for (size_t at = 0; !error && (sum = gather_next(&d->all, &at));) {
		struct stalls_division *division = &v->divisions[sum->key.thread].of[kind];
		uint64_t ns = division->sum ? stalls_part(division, sum->time_ns) : 0;

		error = find_shown(v, sum, &d->edges, &ns);
		error = error ?: add_shown(v, sum, ns, total);
	}
	return error;
}

static int add_sums(struct wall *v)
{
	uint64_t *const totals[WALL_KINDS] = {
		[WALL_RUNNING] = &v->totals.running_ns,
		[WALL_OTHERS_INSIDE] = &v->totals.others_ns,
		[WALL_OTHERS_OUTSIDE] = &v->totals.others_ns,
		[WALL_RESTS] = &v->totals.rests_ns,
	};
	int error = sort_sums(v);

	error = error ?: add_waiting(v);
	for (size_t kind = 0; !error && kind < WALL_KINDS; kind++)
		error = add_divided(v, (enum wall_kind)kind, totals[kind]);
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

	*d = (struct wall_divisions){{
		[WALL_RUNNING] = {.total = s.run_ns - unsampled_ns, .sum = t->samples_ns},
		[WALL_OTHERS_INSIDE] = {.total = s.others_inside_ns, .sum = t->others_inside_ns},
		[WALL_OTHERS_OUTSIDE] = {.total = s.others_outside_ns, .sum = t->others_outside_ns},
		[WALL_RESTS] = {.total = s.rests_ns, .sum = t->rests_ns},
	}};
	if (!clip_has_thread(v->clip, id))
		return wall_add_up(&totals->all_ns, sum_ns);
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
	return error ?: wall_add_up(&totals->all_ns, sum_ns);
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
		error = edges_divide(&v->sums.gpu_edges, key, v->parts.items, l->row_count);
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
	uint64_t ns = v->clip ? edges_inside(&v->sums.gpu_edges, slot->key) : slot->value;
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

	vec_foreach (slot, &v->waits) {
		const struct stalls_launch *l = launch_of(v, (uint32_t)slot->key);

		count += l ? l->row_count : 0;
	}
	return count;
}

static int compare_whats(const struct gather_key *keys, uint32_t a, uint32_t b)
{
	if (a < GPU_WAIT_WORK || b < GPU_WAIT_WORK)
		return a < b ? -1 : a > b;
	return memcmp(&keys[a - GPU_WAIT_WORK], &keys[b - GPU_WAIT_WORK], sizeof(*keys));
}

static int compare_waits(const void *a, const void *b, void *keys)
{
	const struct map_slot *x = a, *y = b;
	const struct gather_key *of = keys;
	int order = memcmp(&of[x->key >> 32], &of[y->key >> 32], sizeof(*of));

	return order ?: compare_whats(of, (uint32_t)x->key, (uint32_t)y->key);
}

/* In the same order whatever order they came in. */
static int list_waits(struct wall *v)
{
	const struct map *gpu = &v->sums.gpu;

	if (!gpu->count)
		return 0;
	if (vec_reserve(&v->waits, gpu->count))
		return error_memory("what threads waited for");
	for (size_t n = 0; n <= gpu->mask; n++)
		if (gpu->slots[n].used)
			v->waits.items[v->waits.count++] = gpu->slots[n];
	qsort_r(v->waits.items, v->waits.count, sizeof(*v->waits.items), compare_waits,
		v->events.keys.items.items);
	return 0;
}

static int add_gpu_waits(struct wall *v)
{
	int error = stall_tree_init(&v->rows, &v->stalls, v->result->tree, &v->options);

	error = error ?: list_waits(v);
	v->show_rows = count_rows(v) <= ROWS_MAX;
	vec_foreach (slot, &v->waits)
		error = error ?: add_gpu_wait(v, slot);
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
	if (!v->kept)
		stalls_release(&v->stalls);
	else if (v->options.stalls)
		stalls_kept_trim(v->options.stalls);
	free(v->divisions);
	vec_release(&v->waits);
	vec_release(&v->parts);
	wall_sums_release(&v->sums);
	wall_events_release(&v->events);
}

static bool skips_all(const void *arg, uint64_t chunk)
{
	(void)arg;
	(void)chunk;
	return true;
}

/* Without events. */
static int read_tables(struct profile_reader *r)
{
	struct profile_event event;
	int more;

	profile_reader_clip(r, NULL);
	profile_reader_skip(r, skips_all, NULL);
	while ((more = profile_reader_next(r, &event)) > 0)
		continue;
	return more;
}

/* Whether instructions were sampled: only then each launch matters. */
static int find_windows(const struct profile_reader *r, bool *ret)
{
	struct profile_reader *again;
	int error = profile_reader_open_beside(&again, r);

	if (error)
		return error;
	error = read_tables(again);
	*ret = profile_window(again, 1);
	profile_reader_close(again);
	return error;
}

static int read_events(struct wall *v, struct profile_reader *r)
{
	bool sampled = false;
	int error = stalls_init(&v->stalls, r, &v->options, NULL), more = 0;

	error = error ?: find_windows(r, &sampled);
	if (!sampled)
		v->events.stalls = NULL;
	profile_reader_clip(r, NULL); /* times are divided by all that a thread did */
	for (more = error ?: wall_events_first(&v->events, r); !error && more > 0;
		more = error ?: wall_events_next(&v->events))
		error = wall_stretch_sum(&v->events);
	error = error ?: more;
	return error ?: stalls_finish(&v->stalls);
}

/* Instead of all events. */
static int read_kept(struct wall *v, struct profile_reader *r)
{
	const struct wall_kept *kept = v->options.wall;
	int error = read_tables(r);

	if (!error && kept->has_stalls)
		error = stalls_kept_read(v->options.stalls, &v->options);
	if (!error && kept->has_stalls)
		v->stalls = v->options.stalls->stalls;
	v->stalls.reader = r;
	return error ?: wall_kept_fill(kept, &v->options, &v->sums);
}

/* Whether all is in memory, or can be from now on. */
static int find_kept(struct wall *v)
{
	struct view_options *o = &v->options;
	int error;

	if (!o->sums || !o->stalls || !o->wall || !o->range.known || o->range.marker)
		return 0;
	error = wall_kept_read(o->wall, o->range.known);
	v->kept = !error && !o->wall->too_large;
	return error;
}

static int build(struct wall *v, struct profile_reader *r, size_t most)
{
	int error = wall_sums_init(&v->sums, &v->events, v->clip);

	wall_events_init(&v->events, r, &v->options, most, &v->sums.receiver, &v->stalls);
	error = error ?: find_kept(v);
	if (!error)
		error = v->kept ? read_kept(v, r) : read_events(v, r);
	error = error ?: build_tree(v);
	return error ?: describe(v);
}

int wall_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	return wall_build_within(r, o, ret, WALL_EVENTS_MAX);
}

int wall_build_within(struct profile_reader *r, const struct view_options *o,
	struct view_result *ret, size_t most)
{
	struct wall v = {.options = *o, .result = ret, .clip = profile_reader_clip_of(r)};
	int error;

	v.options.by = view_by_task(o);
	view_one_time(ret, "time of threads");
	error = build(&v, r, most);
	release(&v);
	return error ?: view_many_threads(ret, o);
}
