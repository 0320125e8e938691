// SPDX-License-Identifier: MIT
/*
 * Streams and events: the device's time line (sim.h).
 *
 * The rules of the legacy default stream are three times per context: when its own work ends, when
 * all work of blocking streams ends, when all work ends. They only grow, so each is an atomic
 * maximum, and a launch holds only its stream's lock.
 *
 * The handle of a destroyed stream is the next one given out: NVIDIA's driver uses handles again,
 * too.
 */
#include "board.h"
#include "sim.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUBMIT_NS = 1000, /* from the call to the earliest start on an idle device */
	SPIN_NS = 60000,  /* the last part of a wait is not slept: timers are late by this much */
	HOST_FUNCTION_NS = 10000,
};

/* What programs made. */
static struct {
	pthread_mutex_t lock;
	CUstream used, free;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void raise_to(_Atomic uint64_t *time_ns, uint64_t ns)
{
	uint64_t seen = atomic_load_explicit(time_ns, memory_order_relaxed);

	while (seen < ns && !atomic_compare_exchange_weak_explicit(
				    time_ns, &seen, ns, memory_order_release, memory_order_relaxed))
		;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void sim_wait_until(uint64_t ns)
{
	uint64_t now = sim_now();

	if (now >= ns)
		return;
	if (ns - now > 2 * SPIN_NS) {
		uint64_t wake = ns - SPIN_NS;
		struct timespec t = {(time_t)(wake / 1000000000), (long)(wake % 1000000000)};

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
	}
	while (sim_now() < ns)
		sched_yield();
}

void sim_stream_init(CUstream s, CUcontext ctx, unsigned int flags, int priority)
{
	uint32_t id = atomic_fetch_add(&sim.next_stream, 1);

	/* User streams begin at 13 on NVIDIA's driver: the numbers between are its own. */
	if (id == 8) {
		atomic_fetch_add(&sim.next_stream, 5);
		id = 13;
	}
	s->magic = SIM_STREAM_MAGIC;
	s->id = id;
	s->context = ctx;
	s->flags = flags;
	s->priority = priority;
	pthread_mutex_init(&s->lock, NULL);
}

void sim_stream_release(CUstream s)
{
	if (s->tools)
		xpuprof_sim_tools.stream_gone(s);
	pthread_mutex_destroy(&s->lock);
	free(s->tips);
	s->magic = 0;
}

/* Uses the memory of a destroyed one again. */
static CUstream stream_new(CUcontext ctx, unsigned int flags, int priority)
{
	CUstream s;

	pthread_mutex_lock(&made.lock);
	s = made.free;
	if (s) {
		made.free = s->next;
		memset(s, 0, sizeof(*s));
	} else {
		s = calloc(1, sizeof(*s));
	}
	if (s) {
		sim_stream_init(s, ctx, flags, priority);
		s->next = made.used;
		made.used = s;
	}
	pthread_mutex_unlock(&made.lock);
	return s;
}

/* Moves a stream, or all of a context, to those that are free. */
static void free_streams(CUstream stream, CUcontext ctx)
{
	CUstream *link = &made.used, s;

	pthread_mutex_lock(&made.lock);
	while ((s = *link)) {
		if (s != stream && s->context != ctx) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		sim_stream_release(s);
		s->next = made.free;
		made.free = s;
	}
	pthread_mutex_unlock(&made.lock);
}

/* Whether NVIDIA's driver reports each to tools is unknown: this one does not. */
void sim_streams_end(CUcontext ctx)
{
	free_streams(NULL, ctx);
}

/* This thread's default stream in the current context. They stay until the process ends. */
static CUstream per_thread_stream(CUcontext ctx)
{
	struct sim_thread *t = &sim_thread;
	CUstream s;

	for (s = t->per_thread; s; s = s->next)
		if (s->context == ctx)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	sim_stream_init(s, ctx, CU_STREAM_DEFAULT, 0);
	s->per_thread = true;
	s->next = t->per_thread;
	t->per_thread = s;
	return s;
}

CUstream sim_stream_of(CUstream handle, bool per_thread)
{
	CUcontext ctx;

	if ((uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD)
		return handle->magic == SIM_STREAM_MAGIC ? handle : NULL;
	ctx = sim_current();
	if (!ctx)
		return NULL;
	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
		return per_thread_stream(ctx);
	return &ctx->legacy;
}

CUresult sim_stream_error(void)
{
	return sim_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
}

static bool blocking(CUstream s)
{
	return !s->legacy && !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* When everything that stream s has to wait for has ended. */
static uint64_t idle_time(CUstream s)
{
	CUcontext ctx = s->context;

	if (s->legacy)
		return later(s->idle_ns, ctx->blocking_idle_ns);
	return blocking(s) ? later(s->idle_ns, ctx->legacy_idle_ns) : s->idle_ns;
}

uint64_t sim_stream_begin(CUstream s)
{
	uint64_t now, oldest;

	pthread_mutex_lock(&s->lock);
	oldest = s->in_flight[s->submitted % SIM_IN_FLIGHT];
	now = sim_now();
	if (oldest > now) {
		sim_wait_until(oldest);
		now = sim_now();
	}
	return later(now + SUBMIT_NS, idle_time(s));
}

static void note_nameless(const struct sim_work *work, const struct sim_run *run)
{
	enum sim_unsampled how =
		atomic_load_explicit(&xpuprof_sim_tools.unsampled, memory_order_relaxed);

	if (how == SIM_SAMPLED || work->type != CU_GRAPH_NODE_TYPE_KERNEL ||
		(how == SIM_SUBSCRIBED && !run->graph_node))
		return;
	if (!atomic_load_explicit(&work->kernel.function->nameless, memory_order_relaxed))
		work->kernel.function->nameless = true;
}

void sim_stream_run(CUstream s, const struct sim_work *work, struct sim_run *run)
{
	struct sim_tools *tools = &xpuprof_sim_tools;

	run->end_ns =
		later(run->start_ns + sim_work_duration(work, s->submitted), run->computed_ns);
	sim_board_note(s->context->device, work, run);
	note_nameless(work, run);
	if (!atomic_load_explicit(&tools->records, memory_order_relaxed) &&
		!atomic_load_explicit(&tools->sampled, memory_order_relaxed))
		return;
	run->correlation = sim_thread.correlation;
	run->submitted_ns = run->start_ns - SUBMIT_NS / 2;
	run->queued_ns = sim_thread.called_ns;
	tools->work(s, work, run);
}

void sim_stream_end(CUstream s, uint64_t end_ns)
{
	CUcontext ctx = s->context;

	s->in_flight[s->submitted++ % SIM_IN_FLIGHT] = end_ns;
	s->idle_ns = later(s->idle_ns, end_ns);
	if (s->legacy)
		raise_to(&ctx->legacy_idle_ns, end_ns);
	else if (blocking(s))
		raise_to(&ctx->blocking_idle_ns, end_ns);
	raise_to(&ctx->idle_ns, end_ns);
	pthread_mutex_unlock(&s->lock);
}

CUresult sim_submit(CUstream s, const struct sim_work *work, enum sim_sync sync)
{
	struct sim_run run = {0};
	CUresult result;

	if (atomic_load_explicit(&s->capture, memory_order_relaxed))
		return sync == SIM_SYNC ? sim_capture_forbid(s) : sim_capture_work(s, work);
	if (s->legacy && s->context->captures)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	sim_work_move_bytes(work);
	run.start_ns = sim_stream_begin(s);
	result = sim_compute_run(work, &run);
	sim_stream_run(s, work, &run);
	sim_stream_end(s, run.end_ns);
	if (sync == SIM_SYNC)
		sim_wait_until(run.end_ns);
	return result;
}

static void report(enum sim_resource what, CUstream s)
{
	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][what])
		xpuprof_sim_tools.resource(what, s->context, s, NULL);
}

CUresult sim_stream_create(CUstream *ret, unsigned int flags, int priority)
{
	CUcontext ctx = sim_current();
	CUstream s;

	if (!ret || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	s = stream_new(ctx, flags, priority);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	report(SIM_STREAM_CREATED, s);
	*ret = s;
	return CUDA_SUCCESS;
}

/* Work that is still ahead of the device goes on; nothing refers to the stream for it. */
CUresult sim_stream_destroy(CUstream s)
{
	if ((uintptr_t)s <= (uintptr_t)CU_STREAM_PER_THREAD || s->magic != SIM_STREAM_MAGIC ||
		s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	while (atomic_load(&s->host_functions))
		sim_wait_until(sim_now() + HOST_FUNCTION_NS);
	if (s->capture)
		sim_capture_leave(s);
	report(SIM_STREAM_DESTROY_STARTING, s);
	free_streams(s, NULL);
	return CUDA_SUCCESS;
}

static uint64_t stream_idle(CUstream s)
{
	uint64_t ns;

	pthread_mutex_lock(&s->lock);
	ns = s->legacy ? idle_time(s) : s->idle_ns;
	pthread_mutex_unlock(&s->lock);
	return ns;
}

CUresult sim_stream_query(CUstream s)
{
	if (!s)
		return sim_stream_error();
	if (s->capture)
		return sim_capture_forbid(s);
	return stream_idle(s) > sim_now() || s->host_functions ? CUDA_ERROR_NOT_READY
							       : CUDA_SUCCESS;
}

CUresult sim_stream_synchronize(CUstream s)
{
	if (!s)
		return sim_stream_error();
	if (s->capture)
		return sim_capture_forbid(s);
	sim_wait_until(stream_idle(s));
	while (atomic_load(&s->host_functions))
		sim_wait_until(sim_now() + HOST_FUNCTION_NS);
	/* NVIDIA's driver does not report a thread's own default stream. */
	if (!s->per_thread && xpuprof_sim_tools.callbacks[SIM_SYNCHRONIZE][SIM_STREAM_SYNCHRONIZED])
		xpuprof_sim_tools.synchronized(SIM_STREAM_SYNCHRONIZED, s->context, s);
	return CUDA_SUCCESS;
}

CUresult sim_stream_priority(CUstream s, int *ret)
{
	if (!s)
		return sim_stream_error();
	*ret = s->priority;
	return CUDA_SUCCESS;
}

CUresult sim_stream_flags(CUstream s, unsigned int *ret)
{
	if (!s)
		return sim_stream_error();
	*ret = s->flags;
	return CUDA_SUCCESS;
}

CUresult sim_stream_context(CUstream s, CUcontext *ret)
{
	if (!s)
		return sim_stream_error();
	*ret = s->context;
	return CUDA_SUCCESS;
}

CUresult sim_stream_id(CUstream s, unsigned long long *ret)
{
	if (!s)
		return sim_stream_error();
	*ret = s->id;
	return CUDA_SUCCESS;
}

CUresult sim_stream_priority_range(int *ret_least, int *ret_greatest)
{
	if (!sim_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_least = 0;
	*ret_greatest = -5;
	return CUDA_SUCCESS;
}

static bool event_valid(CUevent event)
{
	return event && event->magic == SIM_EVENT;
}

CUresult sim_event_create(CUevent *ret, unsigned int flags)
{
	CUevent event;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->magic = SIM_EVENT;
	event->flags = flags;
	*ret = event;
	return CUDA_SUCCESS;
}

CUresult sim_event_record(CUevent event, CUstream s)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return sim_stream_error();
	if (s->capture)
		return sim_capture_record(s, event);
	pthread_mutex_lock(&s->lock);
	event->capture = 0;
	event->time_ns = later(idle_time(s), sim_now());
	pthread_mutex_unlock(&s->lock);
	return CUDA_SUCCESS;
}

CUresult sim_event_query(CUevent event)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	return event->time_ns > sim_now() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult sim_event_synchronize(CUevent event)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	sim_wait_until(event->time_ns);
	return CUDA_SUCCESS;
}

CUresult sim_event_destroy(CUevent event)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	event->magic = 0;
	free(event->tips);
	free(event);
	return CUDA_SUCCESS;
}

CUresult sim_event_elapsed(float *ret_ms, CUevent start, CUevent end)
{
	uint64_t from, to;

	if (!event_valid(start) || !event_valid(end) ||
		(start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	from = start->time_ns;
	to = end->time_ns;
	if (!from || !to)
		return CUDA_ERROR_INVALID_HANDLE;
	if (later(from, to) > sim_now())
		return CUDA_ERROR_NOT_READY;
	*ret_ms = (float)((double)(int64_t)(to - from) / 1e6);
	return CUDA_SUCCESS;
}

CUresult sim_stream_wait_event(CUstream s, CUevent event)
{
	if (!event_valid(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s)
		return sim_stream_error();
	if (event->capture)
		return sim_capture_wait(s, event);
	if (s->capture)
		return event->time_ns ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
	pthread_mutex_lock(&s->lock);
	s->idle_ns = later(s->idle_ns, event->time_ns);
	pthread_mutex_unlock(&s->lock);
	return CUDA_SUCCESS;
}
