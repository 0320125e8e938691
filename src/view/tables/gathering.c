// SPDX-License-Identifier: MIT
#include "view/tables/gathering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Launches of graphs that are remembered, to count each once: two generations of this many. */
#define GRAPH_LAUNCHES ((size_t)64 << 10)

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

/* NULL: there is no memory for it. */
static struct summary_call *call_of(struct gathering *g, const struct profile_call *e)
{
	const struct summary_call new = {.api = e->api, .kind = e->kind, .observed = e->observed};
	uint64_t key = gathering_call_key(e->api, e->kind, e->observed);
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

	return estimates_add(&g->estimates, ESTIMATE_CALLS,
		gathering_call_key(e->api, e->kind, e->observed), &part);
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
	if (e->kind != CALL_SYNC && stack_uses_count(&g->uses, g->s, OF_LAUNCH, e->stack))
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

static int add_to_stack(struct gathering *g, struct op_sum *op)
{
	uint64_t ns = op->stack_ns, works = op->stack_works;

	op->stack_works = op->stack_ns = 0;
	return launch_sums_add(&op->stacks, &g->index, op->stack, ns, works);
}

static int add_to_op(struct gathering *g, const struct profile_work *e)
{
	struct op_sum *op = at_id(&g->ops, e->op, sizeof(*op));

	if (!op || (op->stack != e->stack && add_to_stack(g, op)))
		return -ENOMEM;
	op->stack = e->stack;
	op->stack_works += !e->cut.continued;
	op->stack_ns += profile_work_ns(e);
	op->bytes += profile_weighed(e->bytes, e->weight);
	add_time(&op->time, e->duration_ns, profile_work_ns(e), &e->cut);
	return 0;
}

/* What is left of all. */
static int add_to_stacks(struct gathering *g)
{
	int error = 0;

	for (uint32_t id = 0; !error && id < g->ops.count; id++)
		error = add_to_stack(g, gathering_op(g, id));
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
		error = estimates_add(all, ESTIMATE_COPY,
			gathering_copy_key(op->copy_kind, op->source_memory, op->target_memory),
			&part);
	else if (!error)
		error = estimates_add(all, ESTIMATE_SET, op->target_memory, &part);
	return error;
}

static int add_work(struct gathering *g, const struct profile_work *e)
{
	const struct profile_op *op = profile_op(g->r, e->op);
	int error;

	g->s->works += !e->cut.continued;
	g->s->work_stacks.count += !e->cut.continued;
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
	int error = is_own ? stack_uses_count(&g->uses, g->s, OF_WAIT, e->stack) : 0;

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

int gathering_read(struct gathering *g)
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
	if (!result && add_to_stacks(g))
		return error_errno(-ENOMEM, "cannot sum up the profile");
	return result;
}

void gathering_release(struct gathering *g)
{
	for (uint32_t id = 0; id < g->ops.count; id++)
		launch_sums_release(&gathering_op(g, id)->stacks);
	for (uint32_t id = 0; id < g->devices.count; id++)
		busy_release(&((struct device_sum *)g->devices.items)[id].busy);
	free(g->ops.items);
	free(g->threads.items);
	free(g->devices.items);
	launch_sums_index_release(&g->index);
	stack_uses_release(&g->uses);
	map_release(&g->call_index);
	map_release(&g->graph_launches[0]);
	map_release(&g->graph_launches[1]);
	estimates_release(&g->estimates);
}
