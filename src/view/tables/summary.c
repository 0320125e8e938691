// SPDX-License-Identifier: MIT
/*
 * Events are added to arrays by id while they are read:
 *
 *	ops[op]         times of one kind of work, and its latest launching stack
 *	pairs{op,stack} time by launching stack, fed from ops[] when the stack changes, as is uses[stack]
 *	threads[thread], devices[device], calls{api,kind}, uses[stack], samples by stack
 *	estimates{of,key}  of works and calls that were recorded in bursts
 *
 * After the last event, when names are final, ops that differ in shape only are put together by
 * name, and stacks that differ in addresses only by the names of their functions.
 */
#include "view/tables/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map.h"
#include "base/busy.h"
#include "view/names/device.h"
#include "view/tables/estimates.h"
#include "view/names/launch_path.h"

/* Launches of graphs that are remembered, to count each once: two generations of this many. */
#define GRAPH_LAUNCHES ((size_t)64 << 10)

/* Additions to addresses all over memory are done in groups of this many, so that their loads
 * overlap. */
#define WAITING 64

/* An array by id that grows with zeros. */
struct by_id {
	void *items;
	size_t count; /* ids below this are there */
};

struct op_sum {
	struct summary_time time;
	uint64_t bytes;
	uint64_t stack_works, stack_ns; /* not yet in the uses and the pairs */
	uint32_t stack;
};

struct thread_sum {
	struct summary_task task;
	double launches;      /* those of task are rounded */
	uint64_t last_launch; /* instance << 32 | correlation */
};

struct device_sum {
	struct summary_device device;
	struct busy busy;
};

/* What stacks are of. Those of samples are counted in summary.sampled. */
enum stack_use { OF_LAUNCH, OF_WORK, OF_WAIT, OF_SAMPLE, STACK_USES };

struct stack_uses {
	uint64_t counts[OF_SAMPLE];
};

/* One to be counted. */
struct waiting_use {
	uint32_t stack;
	enum stack_use use;
	uint64_t count;
};

/* Time to be added to a pair. */
struct waiting_pair {
	uint64_t key, ns;
};

struct gathering {
	struct summary *s;
	struct profile_reader *r;
	struct by_id ops, threads, devices, stacks;
	struct map pairs; /* op << 32 | stack -> nanoseconds */
	struct waiting_use uses_waiting[WAITING];
	struct waiting_pair pairs_waiting[WAITING];
	size_t use_count, pair_count; /* of these */
	struct map call_index;	      /* key_of_call -> index of call_times */
	uint64_t call_key;	      /* of the last call: the next is mostly alike */
	size_t call_at;		      /* its index */
	struct map graph_launches[2];
	uint64_t first_ns, last_ns;
	uint64_t bytes, calls_ns; /* grand totals, watched for overflow */
	struct estimates estimates;
	double latency_rest; /* of a work that counts as a whole number of them */
};

static bool grow_to(struct by_id *a, uint32_t id, size_t size)
{
	size_t count = a->count ? a->count : 64;
	char *items;

	while (count <= id)
		count *= 2;
	items = realloc(a->items, count * size);
	if (!items)
		return false;
	memset(items + a->count * size, 0, (count - a->count) * size);
	a->items = items;
	a->count = count;
	return true;
}

static inline void *at_id(struct by_id *a, uint32_t id, size_t size)
{
	if (id >= a->count && !grow_to(a, id, size))
		return NULL;
	return (char *)a->items + id * size;
}

/* Of a piece, too: it counts if the whole begins with it, and its length may be the longest. */
static void add_time(
	struct summary_time *t, uint64_t ns, uint64_t weighed_ns, const struct profile_cut *cut)
{
	t->total_ns += weighed_ns;
	if (ns > t->max_ns)
		t->max_ns = ns;
	if (cut->continued)
		return;
	if (!t->count || ns < t->min_ns)
		t->min_ns = ns;
	t->count++;
}

/* Of a part of the recording it may have only what began before. */
static bool was_there(const struct summary_time *t)
{
	return t->count || t->total_ns;
}

static void join_times(struct summary_time *t, const struct summary_time *more)
{
	if (more->count && (!t->count || more->min_ns < t->min_ns))
		t->min_ns = more->min_ns;
	if (more->max_ns > t->max_ns)
		t->max_ns = more->max_ns;
	t->count += more->count;
	t->total_ns += more->total_ns;
}

/* Every smaller sum of the same times fits when the grand total does. */
static int add_total(uint64_t *total, uint64_t more)
{
	return __builtin_add_overflow(*total, more, total) ? -EOVERFLOW : 0;
}

static void see_times(struct gathering *g, uint64_t start_ns, uint64_t end_ns)
{
	if (!g->first_ns || start_ns < g->first_ns)
		g->first_ns = start_ns;
	if (end_ns > g->last_ns)
		g->last_ns = end_ns;
}

static struct summary_stacks *stacks_of(struct summary *s, enum stack_use use)
{
	struct summary_stacks *const stacks[STACK_USES] = {
		[OF_SAMPLE] = &s->sample_stacks,
		[OF_LAUNCH] = &s->launch_stacks,
		[OF_WORK] = &s->work_stacks,
		[OF_WAIT] = &s->wait_stacks,
	};

	return stacks[use];
}

static void count_uses(struct gathering *g)
{
	for (size_t i = 0; i < g->use_count; i++) {
		const struct waiting_use *w = &g->uses_waiting[i];

		((struct stack_uses *)g->stacks.items)[w->stack].counts[w->use] += w->count;
	}
	g->use_count = 0;
}

static int count_stack(struct gathering *g, uint32_t stack, enum stack_use use, uint64_t count)
{
	struct stack_uses *uses;

	stacks_of(g->s, use)->count += count;
	if (!stack)
		return 0;
	uses = at_id(&g->stacks, stack, sizeof(*uses));
	if (!uses)
		return -ENOMEM;
	__builtin_prefetch(&uses->counts[use], 1);
	g->uses_waiting[g->use_count++] = (struct waiting_use){stack, use, count};
	if (g->use_count == WAITING)
		count_uses(g);
	return 0;
}

static struct thread_sum *thread_of(struct gathering *g, uint32_t thread)
{
	return at_id(&g->threads, thread, sizeof(struct thread_sum));
}

static int add_sample(struct gathering *g, const struct profile_sample *e)
{
	struct thread_sum *t = thread_of(g, e->thread);
	int error;

	if (!t)
		return -ENOMEM;
	t->task.cpu_ns += e->period_ns;
	error = add_total(&g->s->cpu_ns, e->period_ns);
	if (error || e->kind != SAMPLE_SEEN) {
		g->s->sampled.unsampled_ns[e->kind] += e->period_ns;
		return error;
	}
	t->task.samples++;
	g->s->samples++;
	g->s->sample_stacks.count++;
	see_times(g, e->time_ns, e->time_ns);
	error = wait_sums_add_sample(&g->s->waits, e);
	return error ?: stack_sums_add(&g->s->sampled, e->stack, e->period_ns);
}

static uint64_t key_of_call(uint32_t api, enum profile_call_kind kind, bool observed)
{
	return (uint64_t)api << 8 | (uint64_t)observed << 7 | kind;
}

/* NULL: there is no memory for it. */
static struct summary_call *call_of(struct gathering *g, const struct profile_call *e)
{
	const struct summary_call new = {.api = e->api, .kind = e->kind, .observed = e->observed};
	uint64_t key = key_of_call(e->api, e->kind, e->observed);
	const uint64_t *found;

	if (g->s->call_times.count && key == g->call_key)
		return &g->s->call_times.items[g->call_at];
	found = map_get(&g->call_index, key);
	if (!found && (vec_push(&g->s->call_times, new) ||
			      map_put(&g->call_index, key, g->s->call_times.count - 1)))
		return NULL;
	g->call_key = key;
	g->call_at = found ? *found : g->s->call_times.count - 1;
	return &g->s->call_times.items[g->call_at];
}

static int estimate_call(struct gathering *g, const struct profile_call *e)
{
	const struct estimate_part part = {
		e->burst, e->weight, 0, e->duration_ns, e->result != 0, e->cut.continued};

	return estimates_add(
		&g->estimates, ESTIMATE_CALLS, key_of_call(e->api, e->kind, e->observed), &part);
}

/* No work comes that would be counted. */
static int add_observed(struct gathering *g, const struct profile_call *e)
{
	struct thread_sum *t = thread_of(g, e->thread);

	if (!t)
		return -ENOMEM;
	t->launches += e->weight;
	return 0;
}

static int count_call(struct gathering *g, const struct profile_call *e, struct summary_call *call)
{
	call->failed += e->result != 0;
	g->s->calls++;
	if (e->kind != CALL_SYNC && count_stack(g, e->stack, OF_LAUNCH, 1))
		return -ENOMEM;
	if (e->observed && e->kind != CALL_SYNC && add_observed(g, e))
		return -ENOMEM;
	return 0;
}

static int add_call(struct gathering *g, const struct profile_call *e)
{
	struct summary_call *call = call_of(g, e);

	if (!call)
		return -ENOMEM;
	add_time(&call->time, e->duration_ns, profile_call_ns(e), &e->cut);
	see_times(g, e->start_ns, e->start_ns + e->duration_ns);
	if (add_total(&g->calls_ns, profile_call_ns(e)))
		return -EOVERFLOW;
	if (g->s->estimated && estimate_call(g, e))
		return -ENOMEM;
	return e->cut.continued ? 0 : count_call(g, e, call);
}

static int add_pairs(struct gathering *g)
{
	size_t count = g->pair_count;

	g->pair_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct waiting_pair *w = &g->pairs_waiting[i];
		uint64_t *sum = map_get(&g->pairs, w->key);

		if (sum)
			*sum += w->ns;
		else if (map_put(&g->pairs, w->key, w->ns))
			return -ENOMEM;
	}
	return 0;
}

static int add_to_pairs(struct gathering *g, uint32_t op, uint32_t stack, uint64_t ns)
{
	uint64_t key = (uint64_t)op << 32 | stack;

	map_prefetch(&g->pairs, key);
	g->pairs_waiting[g->pair_count++] = (struct waiting_pair){key, ns};
	return g->pair_count < WAITING ? 0 : add_pairs(g);
}

/* What was added to an op since its stack changed is its stack's. */
static int add_to_stack(struct gathering *g, uint32_t id, struct op_sum *op)
{
	int error = op->stack_works ? count_stack(g, op->stack, OF_WORK, op->stack_works) : 0;

	if (!error && op->stack_ns)
		error = add_to_pairs(g, id, op->stack, op->stack_ns);
	op->stack_works = op->stack_ns = 0;
	return error;
}

/* The same stack mostly launches the same work again, so that stacks and pairs are looked up when
 * it changes. */
static int add_to_op(struct gathering *g, const struct profile_work *e)
{
	struct op_sum *op = at_id(&g->ops, e->op, sizeof(*op));
	int error = 0;

	if (!op)
		return -ENOMEM;
	if (op->stack != e->stack)
		error = add_to_stack(g, e->op, op);
	op->stack = e->stack;
	op->stack_works += !e->cut.continued;
	op->stack_ns += profile_work_ns(e);
	op->bytes += profile_weighed(e->bytes, e->weight);
	add_time(&op->time, e->duration_ns, profile_work_ns(e), &e->cut);
	return error;
}

static int add_to_device(struct gathering *g, const struct profile_work *e, uint32_t device)
{
	struct device_sum *d = at_id(&g->devices, device, sizeof(*d));
	uint64_t end_ns = e->start_ns + e->duration_ns;

	if (!d)
		return -ENOMEM;
	if (!d->device.last_ns || e->start_ns < d->device.first_ns)
		d->device.first_ns = e->start_ns;
	if (end_ns > d->device.last_ns)
		d->device.last_ns = end_ns;
	d->device.works += !e->cut.continued;
	d->device.work_ns += profile_work_ns(e);
	/* Nobody knows what ran beside it. */
	return g->s->estimated ? 0 : busy_add(&d->busy, e->start_ns, end_ns);
}

/* True when this launch of a graph was not seen before. One launch has many works, which mostly but
 * not always follow each other. */
static int is_new_graph_launch(struct gathering *g, uint64_t launch, bool *ret_new)
{
	*ret_new =
		!map_get(&g->graph_launches[0], launch) && !map_get(&g->graph_launches[1], launch);
	if (!*ret_new)
		return 0;
	if (g->graph_launches[0].count >= GRAPH_LAUNCHES) {
		map_release(&g->graph_launches[1]);
		g->graph_launches[1] = g->graph_launches[0];
		g->graph_launches[0] = MAP_INIT;
	}
	return map_put(&g->graph_launches[0], launch, 0);
}

static int add_to_thread(struct gathering *g, const struct profile_work *e)
{
	uint64_t launch = (uint64_t)e->instance << 32 | e->correlation;
	struct thread_sum *t = thread_of(g, e->thread);
	bool is_new;
	int error = 0;

	if (!t)
		return -ENOMEM;
	t->task.gpu_ns += profile_work_ns(e);
	if (e->cut.continued)
		return 0;
	t->task.works++;
	is_new = launch != t->last_launch;
	if (is_new && e->graph_node)
		error = is_new_graph_launch(g, launch, &is_new);
	t->last_launch = launch;
	t->launches += is_new && e->thread ? e->weight : 0;
	return error;
}

/* As many works as it stands for; what is left over goes to the next one. */
static uint64_t whole_works(struct gathering *g, double weight)
{
	double works = weight + g->latency_rest;
	uint64_t whole = works < 0x1p53 ? (uint64_t)works : (uint64_t)1 << 53;

	g->latency_rest = works < 0x1p53 ? works - (double)whole : 0;
	return whole;
}

static void add_latency(struct gathering *g, const struct profile_work *e)
{
	struct summary_latency *l = &g->s->latency;
	uint64_t works;

	/* of no length: it has no times */
	if (!e->launch_ns || !e->duration_ns || e->cut.continued)
		return;
	works = whole_works(g, e->weight);
	if (e->graph_node)
		l->in_graphs += works;
	else if (e->start_ns < e->launch_ns)
		l->backwards += works;
	else
		histogram_add_times(&l->times, e->start_ns - e->launch_ns, works);
}

static uint64_t key_of_copy(const struct profile_op *op)
{
	return (uint64_t)op->copy_kind << 16 | (uint64_t)op->source_memory << 8 | op->target_memory;
}

static int estimate_work(
	struct gathering *g, const struct profile_work *e, const struct profile_op *op)
{
	const struct estimate_part part = {e->burst, e->weight, profile_sort(g->r, e),
		e->duration_ns, e->bytes, e->cut.continued};
	struct estimates *all = &g->estimates;
	int error = estimates_add(all, ESTIMATE_WORK, 0, &part);

	error = error ?: estimates_add(all, ESTIMATE_THREAD, e->thread, &part);
	error = error ?: estimates_add(all, ESTIMATE_DEVICE, op ? op->device : 0, &part);
	if (error || !op)
		return error;
	error = estimates_add(all, ESTIMATE_PROCESS, op->process, &part);
	if (!error && op->kind == OP_KERNEL)
		error = estimates_add(all, ESTIMATE_KERNEL, op->name, &part);
	else if (!error && op->kind == OP_COPY)
		error = estimates_add(all, ESTIMATE_COPY, key_of_copy(op), &part);
	else if (!error)
		error = estimates_add(all, ESTIMATE_SET, op->target_memory, &part);
	return error;
}

static int add_work(struct gathering *g, const struct profile_work *e)
{
	const struct profile_op *op = profile_op(g->r, e->op);
	int error;

	g->s->works += !e->cut.continued;
	g->s->joins[e->join < JOIN_REASONS ? e->join : JOIN_NO_LAUNCH] += !e->cut.continued;
	see_times(g, e->start_ns, e->start_ns + e->duration_ns);
	add_latency(g, e);
	error = add_total(&g->s->gpu_ns, profile_work_ns(e));
	error = error ?: add_total(&g->bytes, profile_weighed(e->bytes, e->weight));
	error = error ?: add_to_op(g, e);
	error = error ?: add_to_device(g, e, op ? op->device : 0);
	error = error ?: add_to_thread(g, e);
	if (!error && g->s->estimated)
		error = estimate_work(g, e, op);
	return error;
}

static int add_pending(struct gathering *g, const struct profile_pending *e)
{
	struct thread_sum *t = thread_of(g, e->thread);

	if (!t)
		return -ENOMEM;
	t->launches += e->weight;
	g->s->pending[e->reason < PENDING_REASONS ? e->reason : 0]++;
	see_times(g, e->start_ns, e->start_ns);
	return 0;
}

/* Waits recorded as a sum of times have no stack of their own, and lack none. */
static int add_wait(struct gathering *g, const struct profile_wait *e)
{
	bool is_own = e->duration_ns && !e->assumed && !e->cut.continued;
	int error = is_own ? count_stack(g, e->stack, OF_WAIT, 1) : 0;

	return error ?: wait_sums_add(&g->s->waits, e);
}

static int add_driver(struct gathering *g, const struct profile_driver *e)
{
	see_times(g, e->start_ns, e->start_ns + e->duration_ns);
	return driver_sums_add(&g->s->drivers, e);
}

static int add_event(struct gathering *g, const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return add_sample(g, &e->sample);
	case EVENT_CALL:
		return add_call(g, &e->call);
	case EVENT_WORK:
		return add_work(g, &e->work);
	case EVENT_PENDING:
		return add_pending(g, &e->pending);
	case EVENT_DRIVER:
		return add_driver(g, &e->driver);
	case EVENT_WAIT:
		return add_wait(g, &e->wait);
	case EVENT_COUNT:
		return metric_sums_add(&g->s->metrics, &e->count);
	case EVENT_STALL:
	case EVENT_LIFE:
	case EVENT_SYNC:
	case EVENT_FOUND:
		break;
	case EVENT_MARKER:
		see_times(g, e->marker.start_ns, e->marker.start_ns + e->marker.duration_ns);
		return marker_sums_add(&g->s->markers, &e->marker);
	}
	return 0;
}

static int read_events(struct gathering *g)
{
	struct profile_event e;
	int result;

	while ((result = profile_reader_next(g->r, &e)) > 0) {
		int error = add_event(g, &e);

		error = error ?: chunk_times_add(&g->s->chunks, g->r, &e);
		if (error == -EOVERFLOW)
			return error_set(
				error, "the times of the profile add up to more than 64 bits");
		if (error)
			return error_errno(error, "cannot sum up the profile");
	}
	return result;
}

/* After the last event: from ids to tables. */

/* The row with this key, new when there was none; -1 when memory is short. The table must hold less
 * than 2^63 rows. */
#define row_for(index, key, rows)                                                                  \
	({                                                                                         \
		const uint64_t *known_ = map_get((index), (key));                                  \
		ssize_t at_ = known_ ? (ssize_t)*known_ : (ssize_t)(rows)->count;                  \
		if (!known_ && (vec_reserve((rows), 1) || map_put((index), (key), (uint64_t)at_))) \
			at_ = -1;                                                                  \
		else if (!known_)                                                                  \
			memset(&(rows)->items[(rows)->count++], 0, sizeof(*(rows)->items));        \
		at_;                                                                               \
	})

static int put_kernel(struct gathering *g, struct map *index, const struct profile_op *op,
	const struct op_sum *sum)
{
	ssize_t at = row_for(index, op->name, &g->s->kernels);

	if (at < 0)
		return -ENOMEM;
	g->s->kernels.items[at].name = op->name;
	join_times(&g->s->kernels.items[at].time, &sum->time);
	return 0;
}

static int put_copy(struct gathering *g, struct map *index, const struct profile_op *op,
	const struct op_sum *sum)
{
	ssize_t at = row_for(index, key_of_copy(op), &g->s->copies);
	struct summary_copy *row;

	if (at < 0)
		return -ENOMEM;
	row = &g->s->copies.items[at];
	row->kind = op->copy_kind;
	row->source = op->source_memory;
	row->target = op->target_memory;
	row->bytes += sum->bytes;
	join_times(&row->time, &sum->time);
	return 0;
}

static int put_set(struct gathering *g, struct map *index, const struct profile_op *op,
	const struct op_sum *sum)
{
	ssize_t at = row_for(index, op->target_memory, &g->s->sets);

	if (at < 0)
		return -ENOMEM;
	g->s->sets.items[at].target = op->target_memory;
	g->s->sets.items[at].bytes += sum->bytes;
	join_times(&g->s->sets.items[at].time, &sum->time);
	return 0;
}

/* The ways to launching calls. */
struct paths {
	const uint32_t *first; /* see launch_path_merge */
	uint32_t *path_of;     /* by stack: its path + 1; 0: not looked up yet */
};

static uint32_t path_of(const struct gathering *g, struct paths *p, uint32_t stack)
{
	if (!p->path_of[stack])
		p->path_of[stack] = p->first[launch_path_of(g->r, stack)] + 1;
	return p->path_of[stack] - 1;
}

/* Time by (kernel's name << 32 | path to the launching call). */
static int sum_paths(struct gathering *g, struct paths *paths, struct map *sums)
{
	int error = 0;

	for (size_t i = 0; !error && g->pairs.slots && i <= g->pairs.mask; i++) {
		const struct map_slot *pair = &g->pairs.slots[i];
		const struct profile_op *op =
			pair->used ? profile_op(g->r, (uint32_t)(pair->key >> 32)) : NULL;
		uint64_t key, *sum;

		if (!op || op->kind != OP_KERNEL)
			continue;
		key = (uint64_t)op->name << 32 | path_of(g, paths, (uint32_t)pair->key);
		sum = map_get(sums, key);
		if (sum)
			*sum += pair->value;
		else
			error = map_put(sums, key, pair->value);
	}
	return error;
}

/* The hottest path of each kernel. */
static int put_paths(struct gathering *g, const struct map *kernel_index)
{
	struct map sums = MAP_INIT;
	struct paths paths = {.path_of = calloc((size_t)profile_counts(g->r).stack_nodes + 1,
				      sizeof(*paths.path_of))};
	int error = paths.path_of ? launch_path_merge(&g->s->internals, PATH_PROGRAM, &paths.first)
				  : -ENOMEM;

	error = error ?: sum_paths(g, &paths, &sums);
	for (size_t i = 0; !error && sums.slots && i <= sums.mask; i++) {
		const struct map_slot *sum = &sums.slots[i];
		uint32_t stack = (uint32_t)sum->key;
		struct summary_kernel *k;

		if (!sum->used || !stack)
			continue;
		k = &g->s->kernels.items[*map_get(kernel_index, sum->key >> 32)];
		if (k->stack && (sum->value < k->stack_ns ||
					(sum->value == k->stack_ns && stack > k->stack)))
			continue;
		k->stack = stack;
		k->stack_ns = sum->value;
	}
	map_release(&sums);
	free(paths.path_of);
	return error;
}

static int put_ops(struct gathering *g)
{
	struct map kernels = MAP_INIT, copies = MAP_INIT, sets = MAP_INIT;
	int error = 0;

	for (uint32_t id = 1; !error && id < g->ops.count; id++) {
		struct op_sum *sum = (struct op_sum *)g->ops.items + id;
		const struct profile_op *op = was_there(&sum->time) ? profile_op(g->r, id) : NULL;

		if (!op)
			continue;
		error = add_to_stack(g, id, sum);
		if (!error && op->kind == OP_KERNEL)
			error = put_kernel(g, &kernels, op, sum);
		else if (!error && op->kind == OP_COPY)
			error = put_copy(g, &copies, op, sum);
		else if (!error)
			error = put_set(g, &sets, op, sum);
	}
	error = error ?: add_pairs(g);
	if (!error && g->s->kernels.count)
		error = put_paths(g, &kernels);
	map_release(&kernels);
	map_release(&copies);
	map_release(&sets);
	return error;
}

static int put_devices(struct gathering *g)
{
	struct device_numbers numbers;
	int error = device_numbers_init(&numbers, g->r);

	for (uint32_t id = 0; !error && id < g->devices.count; id++) {
		struct device_sum *d = (struct device_sum *)g->devices.items + id;

		if (!d->device.works && !d->device.work_ns)
			continue;
		d->device.device = id;
		d->device.number = device_number(&numbers, g->r, id);
		error = busy_total(&d->busy, &d->device.busy_ns, &d->device.uncertain_ns);
		error = error ?: vec_push(&g->s->devices, d->device);
	}
	return error;
}

static struct summary_task *process_row(struct gathering *g, struct map *index, uint32_t process)
{
	ssize_t at = row_for(index, process, &g->s->processes);

	if (at < 0)
		return NULL;
	g->s->processes.items[at].id = process;
	return &g->s->processes.items[at];
}

/* CPU time and launches of a process are its threads'; GPU work names its process. */
static int put_tasks(struct gathering *g)
{
	struct map index = MAP_INIT;
	struct summary_task *p;
	int error = 0;

	for (uint32_t id = 0; !error && id < g->threads.count; id++) {
		struct thread_sum *t = (struct thread_sum *)g->threads.items + id;
		const struct profile_thread *thread = profile_thread(g->r, id);

		t->task.launches = profile_rounded(t->launches);
		if (!(t->task.samples || t->task.cpu_ns || t->task.launches || t->task.works ||
			    t->task.gpu_ns))
			continue;
		t->task.id = id;
		t->task.sampled = t->task.samples && !profile_account(g->r, id);
		t->task.figures = t->task.sampled ? t->task.samples : UINT64_MAX;
		g->s->sampled_time |= t->task.sampled;
		error = vec_push(&g->s->threads, t->task);
		if (error || !(t->task.samples || t->task.cpu_ns || t->task.launches))
			continue;
		p = process_row(g, &index, thread ? thread->process : 0);
		if (!p) {
			error = -ENOMEM;
			break;
		}
		p->samples += t->task.samples;
		p->cpu_ns += t->task.cpu_ns;
		p->sampled |= t->task.sampled;
		p->figures = p->sampled ? p->samples : UINT64_MAX;
		p->launches += t->task.launches;
	}
	for (uint32_t id = 1; !error && id < g->ops.count; id++) {
		const struct op_sum *sum = (const struct op_sum *)g->ops.items + id;
		const struct profile_op *op = was_there(&sum->time) ? profile_op(g->r, id) : NULL;

		if (!op)
			continue;
		p = process_row(g, &index, op->process);
		if (!p)
			error = -ENOMEM;
		else {
			p->works += sum->time.count;
			p->gpu_ns += sum->time.total_ns;
		}
	}
	map_release(&index);
	return error;
}

/*
 * How many pids are in no row. A process that executes a program is another of the profile's, but
 * not for people: it is in the rows if any of its images is.
 */
static int count_processes_without(struct gathering *g)
{
	struct map seen = MAP_INIT;
	const struct profile_process *p;
	int error = 0;

	vec_foreach (row, &g->s->processes)
		if (!error && (p = profile_process(g->r, row->id)))
			error = map_put(&seen, p->pid, 0);
	for (uint32_t id = 1; !error && (p = profile_process(g->r, id)); id++) {
		if (map_get(&seen, p->pid))
			continue;
		g->s->processes_without++;
		error = map_put(&seen, p->pid, 0);
	}
	map_release(&seen);
	return error;
}

/* So too of threads. */
static int count_threads_without(struct gathering *g)
{
	struct map seen = MAP_INIT;
	const struct profile_thread *t;
	int error = 0;

	vec_foreach (row, &g->s->threads)
		if (!error && (t = profile_thread(g->r, row->id)))
			error = map_put(&seen, t->tid, 0);
	for (uint32_t id = 1; !error && (t = profile_thread(g->r, id)); id++) {
		if (profile_is_profiler(g->r, id) || map_get(&seen, t->tid))
			continue;
		g->s->threads_without++;
		error = map_put(&seen, t->tid, 0);
	}
	map_release(&seen);
	return error;
}

/* The string of the note at the root of an incomplete stack, when this node is it; else 0. */
static uint32_t incomplete_note(const struct profile_reader *r, const struct profile_stack_node *n)
{
	const struct profile_location *l = n->parent ? NULL : profile_location(r, n->location);

	return l && l->kind == FRAME_NOTE &&
			       profile_note_is_incomplete(profile_string(r, l->name, NULL))
		       ? l->name
		       : 0;
}

static int add_reason(struct summary_stacks *s, uint32_t note, uint64_t count)
{
	s->incomplete += count;
	vec_foreach (reason, &s->reasons)
		if (reason->note == note) {
			reason->count += count;
			return 0;
		}
	return vec_push(&s->reasons, (struct summary_reason){.note = note, .count = count});
}

static uint64_t count_uses_of(const struct gathering *g, uint32_t stack, enum stack_use use)
{
	if (use == OF_SAMPLE)
		return stack < g->s->sampled.count ? g->s->sampled.items[stack].samples : 0;
	return stack < g->stacks.count
		       ? ((const struct stack_uses *)g->stacks.items)[stack].counts[use]
		       : 0;
}

static int add_uses(struct gathering *g, uint32_t stack, uint32_t note)
{
	bool python = internals_has_python(&g->s->internals, stack);
	int error = 0;

	for (int use = 0; !error && use < STACK_USES; use++) {
		struct summary_stacks *s = stacks_of(g->s, (enum stack_use)use);
		uint64_t count = count_uses_of(g, stack, (enum stack_use)use);

		s->with_stack += count;
		s->python += python ? count : 0;
		if (note && count)
			error = add_reason(s, note, count);
	}
	return error;
}

/* A stack is incomplete when there is a note at its root. Parents have smaller ids. */
static int judge_stacks(struct gathering *g)
{
	uint32_t count = profile_counts(g->r).stack_nodes;
	uint32_t *notes = calloc((size_t)count + 1, sizeof(*notes));
	int error = notes ? 0 : -ENOMEM;

	count_uses(g);
	for (uint32_t id = 1; !error && id <= count; id++) {
		const struct profile_stack_node *n = profile_stack_node(g->r, id);

		notes[id] =
			n->parent && n->parent < id ? notes[n->parent] : incomplete_note(g->r, n);
		error = add_uses(g, id, notes[id]);
	}
	free(notes);
	return error;
}

static int order(uint64_t a, uint64_t b, uint64_t a_id, uint64_t b_id)
{
	if (a != b)
		return a > b ? -1 : 1;
	return a_id < b_id ? -1 : a_id > b_id;
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct summary_kernel *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns, a->name, b->name);
}

static int by_copy_time(const void *left, const void *right)
{
	const struct summary_copy *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns,
		(uint64_t)a->kind << 16 | (uint64_t)a->source << 8 | a->target,
		(uint64_t)b->kind << 16 | (uint64_t)b->source << 8 | b->target);
}

static int by_set_time(const void *left, const void *right)
{
	const struct summary_set *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns, a->target, b->target);
}

static int by_call_time(const void *left, const void *right)
{
	const struct summary_call *a = left, *b = right;

	if (a->time.total_ns == b->time.total_ns)
		return order(a->time.count, b->time.count, a->api, b->api);
	return order(a->time.total_ns, b->time.total_ns, a->api, b->api);
}

static int by_device_number(const void *left, const void *right)
{
	const struct summary_device *a = left, *b = right;

	return order(b->number, a->number, a->device, b->device);
}

/* By GPU time, then CPU time: the two are not added up. */
static int by_task_time(const void *left, const void *right)
{
	const struct summary_task *a = left, *b = right;

	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns > b->gpu_ns ? -1 : 1;
	return order(a->cpu_ns, b->cpu_ns, a->id, b->id);
}

#define sort(rows, compare)                                                                        \
	do {                                                                                       \
		if ((rows)->count)                                                                 \
			qsort((rows)->items, (rows)->count, sizeof(*(rows)->items), compare);      \
	} while (0)

static int by_reason_count(const void *left, const void *right)
{
	const struct summary_reason *a = left, *b = right;

	return order(a->count, b->count, a->note, b->note);
}

static void sort_tables(struct summary *s)
{
	for (int use = 0; use < STACK_USES; use++)
		sort(&stacks_of(s, (enum stack_use)use)->reasons, by_reason_count);
	sort(&s->kernels, by_kernel_time);
	sort(&s->copies, by_copy_time);
	sort(&s->sets, by_set_time);
	sort(&s->call_times, by_call_time);
	sort(&s->devices, by_device_number);
	sort(&s->processes, by_task_time);
	sort(&s->threads, by_task_time);
}

/* Where the sums of a row are. */
struct estimated {
	uint64_t *count, *others;
	struct spread_range *time_range, *count_range;
};

static void estimate_row(
	const struct gathering *g, enum estimate_of of, uint64_t key, const struct estimated *row)
{
	const struct estimate *e = estimates_find(&g->estimates, of, key);

	*row->time_range = *row->count_range = (struct spread_range){.high = SPREAD_NOT_KNOWN};
	if (!e)
		return;
	*row->count = profile_rounded(e->count.sum);
	if (row->others)
		*row->others = profile_rounded(e->others);
	*row->time_range = estimate_time(&g->estimates, e);
	*row->count_range = estimate_count(&g->estimates, e);
}

static void estimate_times(const struct gathering *g, enum estimate_of of, uint64_t key,
	struct summary_time *t, uint64_t *others)
{
	estimate_row(g, of, key,
		&(struct estimated){&t->count, others, &t->total_range, &t->count_range});
}

static void estimate_task(const struct gathering *g, enum estimate_of of, struct summary_task *t)
{
	estimate_row(
		g, of, t->id, &(struct estimated){&t->works, NULL, &t->gpu_range, &t->works_range});
}

static uint64_t key_of_copies(const struct summary_copy *c)
{
	const struct profile_op op = {
		.copy_kind = c->kind, .source_memory = c->source, .target_memory = c->target};

	return key_of_copy(&op);
}

/* Numbers so far are what is in the file. */
static void put_estimates(struct gathering *g)
{
	const struct bursts *bursts = profile_bursts(g->r);
	struct summary *s = g->s;
	const struct estimate *all;

	s->without_bursts = bursts->without;
	s->bursts = bursts_extent(bursts);
	all = estimates_find(&g->estimates, ESTIMATE_WORK, 0);
	s->seen_works = s->works;
	s->seen_gpu_ns = all ? all->seen_ns : s->gpu_ns;
	estimate_row(g, ESTIMATE_WORK, 0,
		&(struct estimated){&s->works, NULL, &s->gpu_range, &s->works_range});
	vec_foreach (k, &s->kernels)
		estimate_times(g, ESTIMATE_KERNEL, k->name, &k->time, NULL);
	vec_foreach (c, &s->copies)
		estimate_times(g, ESTIMATE_COPY, key_of_copies(c), &c->time, &c->bytes);
	vec_foreach (set, &s->sets)
		estimate_times(g, ESTIMATE_SET, set->target, &set->time, &set->bytes);
	vec_foreach (c, &s->call_times)
		estimate_times(g, ESTIMATE_CALLS, key_of_call(c->api, c->kind, c->observed),
			&c->time, &c->failed);
	vec_foreach (d, &s->devices)
		estimate_row(g, ESTIMATE_DEVICE, d->device,
			&(struct estimated){&d->works, NULL, &d->work_range, &d->works_range});
	vec_foreach (p, &s->processes)
		estimate_task(g, ESTIMATE_PROCESS, p);
	vec_foreach (t, &s->threads)
		estimate_task(g, ESTIMATE_THREAD, t);
}

static int put_tables(struct gathering *g)
{
	int error = internals_init(&g->s->internals, g->r);

	error = error ?: put_ops(g);
	error = error ?: put_devices(g);
	error = error ?: put_tasks(g);
	error = error ?: count_processes_without(g);
	error = error ?: count_threads_without(g);
	error = error ?: judge_stacks(g);
	error = error ?: driver_sums_finish(&g->s->drivers);
	marker_sums_finish(&g->s->markers);
	metric_sums_finish(&g->s->metrics);
	error = error ?: wait_sums_finish(&g->s->waits, &g->s->internals);
	if (error)
		return error_errno(error, "cannot sum up the profile");
	g->s->start_ns = profile_meta_number(g->r, META_START_NS, g->first_ns);
	g->s->end_ns = profile_meta_number(g->r, META_END_NS, g->last_ns);
	if (g->s->end_ns < g->s->start_ns)
		g->s->end_ns = g->s->start_ns;
	g->s->in_bursts = profile_is_in_bursts(g->r);
	g->s->estimated = profile_is_estimated(g->r);
	if (g->s->estimated)
		put_estimates(g);
	sort_tables(g->s);
	return 0;
}

static void release_gathering(struct gathering *g)
{
	for (uint32_t id = 0; id < g->devices.count; id++)
		busy_release(&((struct device_sum *)g->devices.items)[id].busy);
	free(g->ops.items);
	free(g->threads.items);
	free(g->devices.items);
	free(g->stacks.items);
	map_release(&g->pairs);
	map_release(&g->call_index);
	map_release(&g->graph_launches[0]);
	map_release(&g->graph_launches[1]);
	estimates_release(&g->estimates);
}

int summary_read(struct summary *s, struct profile_reader *r)
{
	struct gathering g = {.s = s, .r = r};
	int error;

	g.estimates.bursts = profile_bursts(r);
	s->in_bursts = profile_is_in_bursts(r);
	s->estimated = profile_is_estimated(r);
	error = read_events(&g);
	error = error ?: put_tables(&g);
	release_gathering(&g);
	return error;
}

void summary_release(struct summary *s)
{
	for (int use = 0; use < STACK_USES; use++)
		vec_release(&stacks_of(s, (enum stack_use)use)->reasons);
	internals_release(&s->internals);
	vec_release(&s->kernels);
	vec_release(&s->copies);
	vec_release(&s->sets);
	vec_release(&s->call_times);
	vec_release(&s->devices);
	vec_release(&s->processes);
	vec_release(&s->threads);
	driver_sums_release(&s->drivers);
	marker_sums_release(&s->markers);
	metric_sums_release(&s->metrics);
	wait_sums_release(&s->waits);
	stack_sums_release(&s->sampled);
	chunk_times_release(&s->chunks);
}
