// SPDX-License-Identifier: MIT
/*
 * The launch path: what CUPTI calls in the program's own threads, before and after each call we
 * follow.
 *
 * A runtime call calls the driver inside, with the same correlation id, and CUPTI calls back for
 * both. Only the outermost counts. A thread keeps the few calls it is in:
 *
 *	cudaLaunchKernel ENTER   id 7: not among the open ones -> marker, opened
 *	  cuLaunchKernel ENTER   id 7: open already            -> nothing
 *	  cuLaunchKernel EXIT    not the call that opened 7    -> nothing
 *	cudaLaunchKernel EXIT    it is                         -> record, closed
 *
 * A call that never returns (longjmp, an exception, a thread that ends) leaves an open entry
 * behind. Ids do not come again, so it harms nothing, and it goes when its place is needed.
 *
 * Nodes of graphs are reported with the call that made them, which thereby proves to be captured:
 * it asked for a node, not for work.
 *
 * All of this happens at every launch. There are no allocations, no locks and no system calls but
 * the thread's first gettid (and a bounded wait while the sampling of instructions is switched on
 * or off); the thread-local part is small because it must fit into the space that the loader keeps
 * for libraries that come late.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "vendor/nvidia/calls.h"
#include "inject/cupti/health.h"
#include "inject/cupti/images.h"
#include "inject/library.h"
#include "inject/cupti/sampling.h"
#include "inject/stacks.h"
#include "inject/cupti/streams.h"
#include "inject/cupti/syncs.h"

#define OPEN_CALLS	 3
#define EMPTY_EXECS	 64
#define HOLD_PATIENCE_NS 2000000000ull /* of threads that are held, with all holds that overlap */
#define HOLD_PAUSE_NS	 2000000
#define HOLD_PAUSES	 10

/* As enum gpu_node_change and GPU_CALL_* of the recorder's profile/gpu_events.h. */
enum {
	NODE_CREATED = 1,
	NODE_CLONED = 2,
	NODE_DESTROYED = 3,
	CAPTURED = 1 << 0,
	EMPTY = 1 << 1,
	UNMARKED = 1 << 2,
};

struct call_info {
	uint8_t kind; /* enum wire_call_kind; 0: not followed */
	uint8_t detail[2];
};

#define RUNTIME(id, kind, name, version, first, second) [id] = {WIRE_CALL_##kind, {first, second}},
#define DRIVER(id, kind, name, first, second)	       [id] = {WIRE_CALL_##kind, {first, second}},
static const struct call_info runtime_calls[CUDA_CALL_NUMBERS] = {CUDA_RUNTIME_CALLS(RUNTIME)};
static const struct call_info driver_calls[CUDA_CALL_NUMBERS] = {CUDA_DRIVER_CALLS(DRIVER)};
#undef RUNTIME
#undef DRIVER

static const uint32_t resources[] = {
	CUPTI_RESOURCE_GRAPH_CLONED,
	CUPTI_RESOURCE_NODE_CREATED,
	CUPTI_RESOURCE_NODE_CLONED,
	CUPTI_RESOURCE_NODE_DESTROY_STARTING,
	CUPTI_RESOURCE_EXEC_CREATE_STARTING,
	CUPTI_RESOURCE_EXEC_CREATED,
	CUPTI_RESOURCE_EXEC_DESTROY_STARTING,
};

/* Where what calls wait for is told. */
static const uint32_t stream_resources[] = {
	CUPTI_RESOURCE_STREAM_CREATED,
	CUPTI_RESOURCE_STREAM_DESTROY_STARTING,
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
};

/* Where instructions are sampled. */
static const uint32_t sampling_resources[] = {
	CUPTI_RESOURCE_CONTEXT_CREATED,
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
	CUPTI_RESOURCE_MODULE_LOADED,
};

/* What a thread of the program's is to find again as it was. */
struct undisturbed {
	int cancel_state;
	int error; /* errno */
};

struct open_call {
	uint64_t start_ns;
	uint32_t correlation;
	uint16_t call; /* CUDA_CALL_ID without the gap: domain in the top bits */
	uint16_t flags;
	struct sync_place place; /* of one that waits, records an event or launches a graph */
};

static __thread struct {
	uint32_t tid;
	uint16_t depth;
	uint16_t making_exec; /* inside the instantiation of a graph */
	uint16_t holds;	      /* it holds launches: its own, which CUPTI may make, are not */
	uint32_t clones;      /* nodes cloned for the copy or executable graph that is being made */
	struct open_call calls[OPEN_CALLS];
} thread;

/* Executable graphs that do no work at all, so that their launches are known to be empty. Handles;
 * 0 is a free place. Nearly always there are none. */
static void *empty_execs[EMPTY_EXECS];
static uint32_t empty_exec_count;
/* CUPTI has reported a cloned node; until then none seen does not mean none there. */
static uint32_t clones_reported;

static uint32_t thread_id(void)
{
	if (!thread.tid)
		thread.tid = (uint32_t)syscall(SYS_gettid);
	return thread.tid;
}

static uint16_t pack_call(uint32_t domain, uint32_t id)
{
	return (uint16_t)(domain << 14 | id);
}

static bool asks_for_nothing(const struct call_info *info, const struct cupti_callback_data *d)
{
	const size_t *words = d->params;

	if ((info->kind != WIRE_CALL_COPY && info->kind != WIRE_CALL_SET) || !info->detail[0] || !words)
		return false;
	return !words[info->detail[0]] || (info->detail[1] && !words[info->detail[1]]);
}

static bool is_empty_exec(const struct cupti_callback_data *d)
{
	void *exec = d->params ? *(void *const *)d->params : NULL;

	for (int i = 0; exec && i < EMPTY_EXECS; i++)
		if (__atomic_load_n(&empty_execs[i], __ATOMIC_RELAXED) == exec)
			return true;
	return false;
}

static uint16_t flags_of(const struct call_info *info, const struct cupti_callback_data *d)
{
	uint16_t flags = library.marker || library.walk ? 0 : UNMARKED;

	if (asks_for_nothing(info, d))
		flags |= EMPTY;
	if (info->kind == WIRE_CALL_GRAPH && __atomic_load_n(&empty_exec_count, __ATOMIC_RELAXED) &&
		is_empty_exec(d))
		flags |= EMPTY;
	return flags;
}

/* By itself when it can; else the marker fires, and the probe takes the stack. */
static void tell_stack(
	const struct call_info *info, uint32_t correlation, uint64_t time_ns, const void *frame)
{
	struct wire_launch record = {
		.type = WIRE_LAUNCH,
		.kind = info->kind,
		.tid = thread_id(),
		.correlation = correlation,
		.time_ns = time_ns,
	};

	if (library.walk && stacks_tell(frame, &record))
		return;
	if (library.marker)
		library.marker(library.instance, correlation, info->kind);
	__asm__ volatile(
		""); /* no jump in place of the call: the marker's stack begins where ours does */
}

static void pause_briefly(void)
{
	struct timespec pause = {.tv_nsec = HOLD_PAUSE_NS};

	nanosleep(&pause, NULL);
}

/* Where we may wait: nothing of ours, CUPTI's or the driver's is to stay locked because the program
 * cancels the thread. */
static void begin_slow(struct undisturbed *ret)
{
	ret->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret->cancel_state);
}

static void end_slow(const struct undisturbed *u)
{
	int unused;

	pthread_setcancelstate(u->cancel_state, &unused);
	errno = u->error;
}

static bool is_held(void)
{
	return __atomic_load_n(&library.guard->held, __ATOMIC_RELAXED);
}

static bool is_patient(void)
{
	return now_ns() < __atomic_load_n(&library.guard->held_until_ns, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void wait_while_held(void)
{
	struct undisturbed u;

	begin_slow(&u);
	while (is_held() && is_patient())
		pause_briefly();
	end_slow(&u);
}

/*
 * Launches that are going on end in calls, which are told in the ring. Patience begins with the
 * first of several holds, so that launches are not stopped for good by contexts that come and go,
 * nor by one that CUPTI never comes back from.
 */
void launches_hold(void)
{
	uint64_t *place = &library.ring.control->head, head, before = 0;

	if (!is_held())
		__atomic_store_n(&library.guard->held_until_ns, now_ns() + HOLD_PATIENCE_NS,
			__ATOMIC_RELAXED);
	__atomic_fetch_add(&library.guard->held, 1, __ATOMIC_SEQ_CST);
	thread.holds++;
	for (int n = 0; n < HOLD_PAUSES; n++) {
		head = __atomic_load_n(place, __ATOMIC_RELAXED);
		if (n && head == before)
			return;
		before = head;
		pause_briefly();
	}
}

void launches_release(void)
{
	thread.holds--;
	__atomic_fetch_sub(&library.guard->held, 1, __ATOMIC_SEQ_CST);
}

/* As long as its parameters are known to be good: where other threads may not destroy them yet. */
static void find_place(
	const struct call_info *info, const struct cupti_callback_data *d, struct open_call *open)
{
	if (!library.syncs)
		return;
	if (info->kind == WIRE_CALL_SYNC)
		syncs_find_place(info->detail[0], info->detail[1], d, &open->place);
	if (info->kind == WIRE_CALL_EVENT)
		syncs_find_place_of_record(info->detail[1], d, &open->place);
	if (info->kind == WIRE_CALL_GRAPH)
		syncs_find_place_of_graph(info->detail[1], d, &open->place);
}

static void enter(const struct call_info *info, uint16_t call, const struct cupti_callback_data *d,
	const void *frame)
{
	struct open_call *open;

	for (int i = 0; i < thread.depth; i++)
		if (thread.calls[i].correlation == d->correlation_id)
			return;
	if (is_held() && !thread.holds)
		wait_while_held();
	if (!is_recording())
		return;
	if (thread.depth == OPEN_CALLS) {
		memmove(thread.calls, thread.calls + 1,
			sizeof(thread.calls) - sizeof(thread.calls[0]));
		thread.depth--;
	}
	thread.making_exec = 0; /* also when that failed half-way */
	open = &thread.calls[thread.depth++];
	open->correlation = d->correlation_id;
	open->call = call;
	open->flags = flags_of(info, d);
	open->place = (struct sync_place){0};
	open->start_ns = now_ns();
	find_place(info, d, open);
	if (!(open->flags & UNMARKED) && info->kind != WIRE_CALL_EVENT)
		tell_stack(info, d->correlation_id, open->start_ns, frame);
}

static void tell_call(const struct call_info *info, uint32_t call_id,
	const struct cupti_callback_data *d, const struct open_call *open)
{
	struct wire_call record = {
		.type = WIRE_CALL,
		.kind = info->kind,
		.flags = open->flags,
		.tid = thread_id(),
		.correlation = d->correlation_id,
		.result = d->return_value ? *(const int32_t *)d->return_value : 0,
		.start_ns = open->start_ns,
		.end_ns = now_ns(),
		.api = call_id,
	};

	if (open->place.context)
		syncs_tell(info->kind == WIRE_CALL_SYNC ? info->detail[0] : 0, d, &open->place,
			&record);
	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_CALLS, 1);
}

static void leave(const struct call_info *info, uint32_t domain, uint32_t id, uint16_t call,
	const struct cupti_callback_data *d)
{
	int i = thread.depth - 1;
	struct open_call *open;

	while (i >= 0 &&
		(thread.calls[i].correlation != d->correlation_id || thread.calls[i].call != call))
		i--;
	if (i < 0)
		return;
	thread.depth = (uint16_t)i;
	open = &thread.calls[i];
	if (!open->place.context)
		find_place(info, d, open); /* the call itself made the thread's context */
	if (info->kind == WIRE_CALL_EVENT)
		syncs_tell_record(d, &open->place, open->start_ns);
	else
		tell_call(info, CUDA_CALL_ID(domain, id), d, open);
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	if (!node || !library.cupti.GetGraphNodeId || library.cupti.GetGraphNodeId(node, &id))
		return 0;
	return id;
}

static void send_node(unsigned int change, uint32_t correlation, void *node, void *original)
{
	struct wire_node record = {
		.type = WIRE_NODE,
		.change = (uint8_t)change,
		.correlation = correlation,
		.node = node_id(node),
		.original = original ? node_id(original) : 0,
	};

	if (record.node && !ring_put(&library.ring, &record))
		count(WIRE_LOST_NODES, 1);
}

static void node_appeared(const struct cupti_graph_data *g, bool cloned)
{
	struct open_call *open = thread.depth ? &thread.calls[thread.depth - 1] : NULL;

	if (cloned) {
		thread.clones++;
		__atomic_store_n(&clones_reported, 1, __ATOMIC_RELAXED);
		send_node(NODE_CLONED, open ? open->correlation : 0, g->node, g->original_node);
		return;
	}
	if (open && !thread.making_exec) {
		open->flags |= CAPTURED;
		send_node(NODE_CREATED, open->correlation, g->node, NULL);
	}
}

/*
 * Remembers the new executable graph if launching it asks for nothing: if no node was cloned for
 * it. The driver (580) says so before it says that the instantiation begins, of every node alike,
 * and without its type; so graphs of nothing but empty nodes are not known.
 */
static void exec_appeared(void *exec)
{
	bool has_nodes = thread.clones || !__atomic_load_n(&clones_reported, __ATOMIC_RELAXED);

	thread.making_exec = 0;
	thread.clones = 0;
	if (has_nodes)
		return;
	for (int i = 0; i < EMPTY_EXECS; i++) {
		void *free_place = NULL;

		if (__atomic_compare_exchange_n(&empty_execs[i], &free_place, exec, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&empty_exec_count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

static void exec_gone(void *exec)
{
	if (!__atomic_load_n(&empty_exec_count, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < EMPTY_EXECS; i++) {
		void *expected = exec;

		if (__atomic_compare_exchange_n(&empty_execs[i], &expected, NULL, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&empty_exec_count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

static void on_graph(uint32_t id, const struct cupti_graph_data *g)
{
	switch (id) {
	case CUPTI_RESOURCE_NODE_CREATED:
		node_appeared(g, false);
		break;
	case CUPTI_RESOURCE_NODE_CLONED:
		node_appeared(g, true);
		break;
	case CUPTI_RESOURCE_GRAPH_CLONED:
		thread.clones = 0;
		break;
	case CUPTI_RESOURCE_NODE_DESTROY_STARTING:
		/* To instantiate, the driver (580) replaces nodes, whose ids work goes on to name.
		 */
		if (!thread.making_exec)
			send_node(NODE_DESTROYED, 0, g->node, NULL);
		break;
	case CUPTI_RESOURCE_EXEC_CREATE_STARTING:
		thread.making_exec = 1;
		break;
	case CUPTI_RESOURCE_EXEC_CREATED:
		exec_appeared(g->graph_exec);
		break;
	case CUPTI_RESOURCE_EXEC_DESTROY_STARTING:
		exec_gone(g->graph_exec);
		break;
	}
}

static void context_ends(void *context)
{
	if (library.syncs)
		streams_end_all(context);
	if (library.stalls)
		sampling_context_ends(context);
}

static void on_context_or_module(uint32_t id, const struct cupti_resource_data *d)
{
	struct undisturbed u;

	begin_slow(&u);
	if (id == CUPTI_RESOURCE_CONTEXT_CREATED)
		sampling_context_created(d->context);
	else if (id == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING)
		context_ends(d->context);
	else if (d->descriptor)
		images_module_loaded(d->descriptor);
	end_slow(&u);
}

static void on_resource(uint32_t id, const struct cupti_resource_data *d)
{
	switch (id) {
	case CUPTI_RESOURCE_CONTEXT_CREATED:
	case CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING:
	case CUPTI_RESOURCE_MODULE_LOADED:
		on_context_or_module(id, d);
		break;
	case CUPTI_RESOURCE_STREAM_CREATED:
		streams_made(d->context, d->handle);
		break;
	case CUPTI_RESOURCE_STREAM_DESTROY_STARTING:
		streams_end(d->handle);
		break;
	default:
		if (d->descriptor)
			on_graph(id, d->descriptor);
	}
}

/* A context that ends must not do so under our thread, which fetches its last samples when
 * recording has just stopped. */
static bool is_wanted(uint32_t domain, uint32_t id)
{
	return is_recording() || (domain == CUPTI_DOMAIN_RESOURCE && is_alive() &&
					 id == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING);
}

void on_callback(void *userdata, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_callback_data *d = data;
	const struct call_info *info;

	if (domain == CUPTI_DOMAIN_STATE && data && is_alive())
		health_on_state(id, data);
	if (!data || !is_wanted(domain, id))
		return;
	if (domain == CUPTI_DOMAIN_RESOURCE) {
		on_resource(id, data);
		return;
	}
	if (id >= CUDA_CALL_NUMBERS ||
		(domain != CUPTI_DOMAIN_RUNTIME && domain != CUPTI_DOMAIN_DRIVER))
		return;
	info = domain == CUPTI_DOMAIN_RUNTIME ? &runtime_calls[id] : &driver_calls[id];
	if (!info->kind)
		return;
	if (d->site == CUPTI_SITE_ENTER)
		enter(info, pack_call(domain, id), d, __builtin_frame_address(0));
	else if (d->site == CUPTI_SITE_EXIT)
		leave(info, domain, id, pack_call(domain, id), d);
}

static bool is_followed(const struct call_info *info)
{
	return info->kind && (info->kind != WIRE_CALL_EVENT || library.syncs);
}

static void enable_resources(bool on, const uint32_t *ids, size_t count)
{
	struct cupti *c = &library.cupti;

	for (size_t n = 0; n < count; n++)
		c->EnableCallback(on, c->subscriber, CUPTI_DOMAIN_RESOURCE, ids[n]);
}

unsigned int enable_callbacks(bool on)
{
	struct cupti *c = &library.cupti;
	unsigned int known = 0;

	for (uint32_t id = 0; id < CUDA_CALL_NUMBERS; id++) {
		if (is_followed(&runtime_calls[id]))
			known += !c->EnableCallback(on, c->subscriber, CUPTI_DOMAIN_RUNTIME, id);
		if (is_followed(&driver_calls[id]))
			known += !c->EnableCallback(on, c->subscriber, CUPTI_DOMAIN_DRIVER, id);
	}
	enable_resources(on, resources, sizeof(resources) / sizeof(resources[0]));
	/* Contexts end while our thread fetches their last samples: that is told until we
	 * unsubscribe. */
	if (on && library.stalls)
		enable_resources(true, sampling_resources,
			sizeof(sampling_resources) / sizeof(sampling_resources[0]));
	if (on && library.syncs)
		enable_resources(true, stream_resources,
			sizeof(stream_resources) / sizeof(stream_resources[0]));
	if (on)
		health_begin();
	return known;
}
