// SPDX-License-Identifier: MIT
/*
 * The life of a launch:
 *
 *	 marker ----> WAITING ----call, failed, captured or empty: PENDING----> DONE ---> forgotten
 *	                 |  \                                                   ^
 *	                 |   `-------------------work: WORK--------------------'
 *	                 `--> forgotten, or the end: PENDING
 *
 * A call writes its CALL event whenever it comes, work its WORK event. Work without a marker or a
 * call makes a launch too, one that is done from the start, so that a call which comes after it (of
 * a copy that waits, for example) does not count as one without work. Calls that ask for no work
 * wait for their return only; those that add a node to a graph stay then for its sake, those that
 * wait for the GPU go.
 *
 * When there is no more room the oldest of the done ones goes; but where most are waiting (for work
 * that was lost, say) it is the oldest of those, or else the work that follows work would find
 * nothing.
 */
#include "correlate/correlate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "correlate/event_records.h"
#include "correlate/instances.h"
#include "correlate/launches.h"

#define DEFAULT_MAX_LAUNCHES ((size_t)256 << 10)

struct correlator {
	struct profile_writer *writer;
	bool have_markers;
	struct launches launches;
	struct instances instances;
	struct event_records event_records;
	uint64_t outstanding;
};

int correlator_new(
	struct correlator **ret, struct profile_writer *w, const struct correlator_options *options)
{
	size_t max = options->max_launches ? options->max_launches : DEFAULT_MAX_LAUNCHES;
	struct correlator *c = calloc(1, sizeof(*c));

	if (!c || launches_init(&c->launches, max)) {
		free(c);
		return error_errno(-ENOMEM, "cannot set up the correlator");
	}
	c->writer = w;
	c->have_markers = options->have_markers;
	*ret = c;
	return 0;
}

void correlator_free(struct correlator *c)
{
	if (!c)
		return;
	launches_release(&c->launches);
	instances_release(&c->instances);
	event_records_release(&c->event_records);
	free(c);
}

static int fail_memory(void)
{
	return error_errno(-ENOMEM, "cannot correlate");
}

static bool kind_is_known(enum profile_call_kind kind)
{
	return kind >= 1 && kind < CALL_KINDS;
}

static bool asks_for_work(const struct launch *l)
{
	return l->kind == CALL_LAUNCH || l->kind == CALL_COPY || l->kind == CALL_SET ||
	       l->kind == CALL_GRAPH;
}

/* It asked for work, none came, and nothing was written about that. */
static bool is_outstanding(const struct launch *l)
{
	return asks_for_work(l) && !(l->flags & (LAUNCH_WORKED | LAUNCH_DECIDED));
}

/* To be called around every change of what is_outstanding looks at. */
static void count_out(struct correlator *c, const struct launch *l)
{
	c->outstanding -= is_outstanding(l);
}

static void count_in(struct correlator *c, const struct launch *l)
{
	c->outstanding += is_outstanding(l);
}

static int write_pending(
	struct correlator *c, const struct launch *l, enum profile_pending_reason reason)
{
	struct profile_pending pending = {
		.start_ns = l->start_ns,
		.thread = l->thread,
		.stack = l->stack,
		.api = l->api,
		.instance = l->instance,
		.correlation = l->correlation,
		.reason = reason,
	};

	return profile_write_pending(c->writer, &pending);
}

/* Removes a launch; writes a PENDING event when it still waits for its work. */
static int drop(struct correlator *c, struct launch *l, enum profile_pending_reason reason)
{
	int error = is_outstanding(l) ? write_pending(c, l, reason) : 0;

	count_out(c, l);
	launches_remove(&c->launches, l);
	return error;
}

/* Nothing more will come for it. */
static int lose_launch(struct correlator *c, struct launch *l)
{
	return drop(c, l, PENDING_LOST);
}

/* The same, and its call or its work is what did not end. */
static int end_launch(struct correlator *c, struct launch *l)
{
	return drop(c, l, l->flags & LAUNCH_CALLED ? PENDING_UNFINISHED : PENDING_NO_EXIT);
}

static int forget_oldest(struct correlator *c)
{
	const struct launches *all = &c->launches;
	bool mostly_waiting = all->count[LAUNCH_WAITING] > all->max / 2;
	struct launch *l = launches_oldest(all, mostly_waiting ? LAUNCH_WAITING : LAUNCH_DONE);

	if (l->flags & (LAUNCH_MARKED | LAUNCH_CALLED) &&
		instances_forget_launch(&c->instances, l->instance, l->correlation))
		return fail_memory();
	return drop(c, l, PENDING_FORGOTTEN);
}

/* Those that are done have half of the room: memory that is not used costs nothing. */
static bool has_to_forget(const struct launches *l)
{
	return launches_are_full(l) || l->count[LAUNCH_DONE] > l->max / 2;
}

static int add_launch(struct correlator *c, uint32_t instance, uint32_t correlation,
	enum launch_list list, struct launch **ret)
{
	int error = has_to_forget(&c->launches) ? forget_oldest(c) : 0;

	if (!error)
		*ret = launches_add(&c->launches, instance, correlation, list);
	return error;
}

static int on_launch(void *context, const struct gpu_launch *e)
{
	struct correlator *c = context;
	struct launch *l = launches_find(&c->launches, e->instance, e->correlation);
	int error;

	if (!kind_is_known(e->kind))
		return profile_count_loss(c->writer, LOSS_GPU_INVALID, 1);
	/* The marker comes first: what has this id is an earlier launch, from before ids
	 * wrapped. */
	error = l ? end_launch(c, l) : 0;
	error = error ?: add_launch(c, e->instance, e->correlation, LAUNCH_WAITING, &l);
	if (error)
		return error;
	l->start_ns = e->time_ns;
	l->thread = e->thread;
	l->stack = e->stack;
	l->kind = (uint8_t)e->kind;
	l->flags = LAUNCH_MARKED;
	count_in(c, l);
	return 0;
}

static int write_call(
	struct correlator *c, const struct gpu_call *e, uint32_t thread, uint32_t stack)
{
	struct profile_call call = {
		.start_ns = e->start_ns,
		.duration_ns = e->end_ns - e->start_ns,
		.thread = thread,
		.stack = stack,
		.api = e->api,
		.kind = e->kind,
		.result = e->result,
		.instance = e->instance,
		.correlation = e->correlation,
	};

	return profile_write_call(c->writer, &call);
}

/* The launch that a call belongs to, made where there is none; NULL when the call stands alone. */
static int launch_of_call(struct correlator *c, const struct gpu_call *e, struct launch **ret)
{
	struct launch *l = launches_find(&c->launches, e->instance, e->correlation);
	int error;

	if (l && l->flags & LAUNCH_CALLED) {
		/* Again an id that was reused, and the new launch's marker was lost. */
		error = end_launch(c, l);
		if (error)
			return error;
		l = NULL;
	}
	*ret = l;
	if (l || e->kind == CALL_SYNC)
		return 0;
	/* Where there are no markers every call is new; else this one's launch may be forgotten. */
	if (c->have_markers && instances_has_forgotten(&c->instances, e->instance, e->correlation))
		return 0;
	return add_launch(c, e->instance, e->correlation, LAUNCH_WAITING, ret);
}

/* Why no work will come of it; 0 when some may. */
static unsigned int decide(const struct gpu_call *e)
{
	if (e->result)
		return PENDING_FAILED;
	if (e->flags & GPU_CALL_CAPTURED)
		return PENDING_CAPTURED;
	return e->flags & GPU_CALL_EMPTY ? PENDING_EMPTY : 0;
}

static void note_call(struct launch *l, const struct gpu_call *e)
{
	l->start_ns = e->start_ns;
	l->api = e->api;
	l->kind = (uint8_t)e->kind;
	l->graph_context = e->graph_context;
	l->graph_stream = e->graph_stream;
	if (e->thread)
		l->thread = e->thread;
	l->flags |= LAUNCH_CALLED | (e->flags & GPU_CALL_UNMARKED ? LAUNCH_UNMARKED : 0);
}

/* What becomes of a launch whose call has returned. */
static int settle(struct correlator *c, struct launch *l, unsigned int reason)
{
	int error = 0;

	if (l->kind == CALL_SYNC)
		return drop(c, l, PENDING_UNFINISHED);
	if (asks_for_work(l) && !reason)
		return 0;
	if (is_outstanding(l)) {
		error = write_pending(c, l, reason);
		count_out(c, l);
		l->flags |= LAUNCH_DECIDED;
	}
	if (l->list == LAUNCH_WAITING)
		launches_move(&c->launches, l, LAUNCH_DONE);
	return error;
}

/* What a call waited for, if that was reported. */
static int write_sync(
	struct correlator *c, const struct gpu_call *e, uint32_t thread, uint32_t stack)
{
	const struct gpu_wait_target *target = &e->waits_for;
	const struct gpu_event_record *recorded = NULL;
	struct profile_sync sync = {.start_ns = e->start_ns,
		.duration_ns = e->end_ns - e->start_ns,
		.instance = e->instance,
		.correlation = e->correlation,
		.thread = thread,
		.stack = stack,
		.api = e->api,
		.device = target->device,
		.context = target->context,
		.stream = target->stream,
		.kind = target->kind};

	if (!target->kind)
		return 0;
	if (target->kind == SYNC_EVENT)
		recorded = event_records_find(
			&c->event_records, e->instance, target->event, e->start_ns);
	if (recorded) {
		sync.device = recorded->device;
		sync.context = recorded->context;
		sync.stream = recorded->stream;
		sync.recorded_ns = recorded->time_ns;
	}
	return profile_write_sync(c->writer, &sync);
}

static int on_event_record(void *context, const struct gpu_event_record *e)
{
	struct correlator *c = context;

	return event_records_add(&c->event_records, e) ? fail_memory() : 0;
}

static int on_call(void *context, const struct gpu_call *e)
{
	struct correlator *c = context;
	struct launch *l;
	int error;

	if (!kind_is_known(e->kind) || e->end_ns < e->start_ns)
		return profile_count_loss(c->writer, LOSS_GPU_INVALID, 1);
	error = launch_of_call(c, e, &l);
	if (error)
		return error;
	if (!l) {
		error = write_call(c, e, e->thread, 0);
		return error ?: write_sync(c, e, e->thread, 0);
	}
	count_out(c, l);
	note_call(l, e);
	count_in(c, l);
	error = write_call(c, e, l->thread, l->stack);
	error = error ?: write_sync(c, e, l->thread, l->stack);
	return error ?: settle(c, l, decide(e));
}

static enum profile_join join_of(const struct correlator *c, const struct launch *l)
{
	if (l->stack)
		return JOIN_OK;
	if (!c->have_markers || l->flags & LAUNCH_UNMARKED)
		return JOIN_NO_CPU_SIDE;
	return l->flags & (LAUNCH_MARKED | LAUNCH_CALLED) ? JOIN_STACK_LOST : JOIN_NO_LAUNCH;
}

/* Work of which nothing is remembered; a launch is made for it, unless it had been forgotten. */
static int join_unknown(struct correlator *c, struct profile_work *work)
{
	bool late = instances_has_forgotten(&c->instances, work->instance, work->correlation);
	struct launch *l;
	int error;

	work->join = !c->have_markers ? JOIN_NO_CPU_SIDE : late ? JOIN_LATE : JOIN_NO_LAUNCH;
	if (late)
		return 0;
	error = add_launch(c, work->instance, work->correlation, LAUNCH_DONE, &l);
	if (!error)
		l->flags = LAUNCH_WORKED;
	return error;
}

static int join(struct correlator *c, struct profile_work *work)
{
	struct launch *l = launches_find(&c->launches, work->instance, work->correlation);

	if (!l)
		return join_unknown(c, work);
	work->thread = l->thread;
	work->stack = l->stack;
	work->api = l->api;
	work->launch_ns = l->start_ns;
	work->join = join_of(c, l);
	if (work->graph_node) {
		work->graph_context = l->graph_context;
		work->graph_stream = l->graph_stream;
	}
	count_out(c, l);
	l->flags |= LAUNCH_WORKED;
	if (asks_for_work(l) && l->list == LAUNCH_WAITING)
		launches_move(&c->launches, l, LAUNCH_DONE);
	return 0;
}

static int on_work(void *context, const struct gpu_work *e)
{
	struct correlator *c = context;
	struct profile_work work = {
		.start_ns = e->start_ns,
		.duration_ns = e->end_ns - e->start_ns,
		.bytes = e->bytes,
		.queued_ns = e->queued_ns,
		.submitted_ns = e->submitted_ns,
		.graph_node = e->graph_node,
		.grid = e->grid,
		.op = e->op,
		.instance = e->instance,
		.correlation = e->correlation,
		.stands_for = e->stands_for,
	};
	int error;

	if (!e->start_ns || !e->end_ns || e->start_ns > e->end_ns)
		return profile_count_loss(c->writer, LOSS_GPU_INVALID, 1);
	if (e->graph_node)
		work.node_stack = instances_node_stack(&c->instances, e->instance, e->graph_node);
	error = join(c, &work);
	return error || e->not_timed ? error : profile_write_work(c->writer, &work);
}

/* The stack at which a node was made; 0 when it is not known. */
static uint32_t node_origin(const struct correlator *c, const struct gpu_node *e)
{
	const struct launch *l;

	if (e->change == GPU_NODE_CLONED)
		return instances_node_stack(&c->instances, e->instance, e->original);
	if (!e->correlation)
		return 0;
	l = launches_find(&c->launches, e->instance, e->correlation);
	return l ? l->stack : 0;
}

static int on_node(void *context, const struct gpu_node *e)
{
	struct correlator *c = context;
	bool kept;

	switch (e->change) {
	case GPU_NODE_CREATED:
	case GPU_NODE_CLONED:
		if (instances_put_node(
			    &c->instances, e->instance, e->node, node_origin(c, e), &kept))
			return fail_memory();
		return kept ? 0 : profile_count_loss(c->writer, LOSS_GPU_NODES_FORGOTTEN, 1);
	case GPU_NODE_DESTROYED:
		return instances_destroy_node(&c->instances, e->instance, e->node) ? fail_memory()
										   : 0;
	}
	return profile_count_loss(c->writer, LOSS_GPU_INVALID, 1);
}

/* Ends what waits, of one instance or (0) of all. */
static int end_waiting(struct correlator *c, uint32_t instance,
	int (*end_one)(struct correlator *c, struct launch *l))
{
	struct launch *l = launches_oldest(&c->launches, LAUNCH_WAITING), *next;
	int error = 0;

	for (; l && !error; l = next) {
		next = launches_next(&c->launches, l);
		if (!instance || l->instance == instance)
			error = end_one(c, l);
	}
	return error;
}

static int on_instance_broken(void *context, uint32_t instance)
{
	return end_waiting(context, instance, lose_launch);
}

static int on_instance_end(void *context, uint32_t instance)
{
	struct correlator *c = context;
	instances_end(&c->instances, instance);
	return instance ? end_waiting(c, instance, end_launch) : 0;
}

void correlator_expect_no_markers(struct correlator *c)
{
	c->have_markers = false;
}

struct gpu_events correlator_events(struct correlator *c)
{
	return (struct gpu_events){
		.context = c,
		.launch = on_launch,
		.call = on_call,
		.work = on_work,
		.node = on_node,
		.event_record = on_event_record,
		.instance_broken = on_instance_broken,
		.instance_end = on_instance_end,
	};
}

int correlator_finish(struct correlator *c)
{
	return end_waiting(c, 0, end_launch);
}

uint64_t correlator_outstanding(const struct correlator *c)
{
	return c->outstanding;
}
