// SPDX-License-Identifier: MIT
/*
 * The launch path: what CUPTI calls in the program's own threads, before and after each call we
 * follow. The part that all APIs share is in inject/launches.h.
 *
 * A runtime call calls the driver inside, with the same correlation id, and CUPTI calls back for
 * both:
 *
 *	cudaLaunchKernel ENTER   id 7 begins: its stack
 *	  cuLaunchKernel ENTER   id 7 is open already
 *	  cuLaunchKernel EXIT    not the call that opened 7
 *	cudaLaunchKernel EXIT    it is: its record
 */
#include "inject/cupti/cupti.h"
#include "inject/asked.h"
#include "inject/bursts.h"
#include "inject/cupti/finalize.h"
#include "inject/cupti/graphs.h"
#include "inject/cupti/health.h"
#include "inject/cupti/checksums.h"
#include "inject/cupti/inside.h"
#include "inject/cupti/probes.h"
#include "inject/cupti/sampling.h"
#include "inject/cupti/streams.h"
#include "inject/cupti/syncs.h"
#include "inject/launches.h"
#include "inject/leave.h"
#include "inject/library.h"
#include "vendor/nvidia/calls.h"

struct call_info {
	uint8_t kind; /* enum wire_call_kind; 0: not followed */
	uint8_t detail[2];
};

#define RUNTIME(id, kind, name, version, first, second) [id] = {WIRE_CALL_##kind, {first, second}},
#define DRIVER(id, kind, name, first, second)		[id] = {WIRE_CALL_##kind, {first, second}},
static const struct call_info runtime_calls[CUDA_CALL_NUMBERS] = {CUDA_RUNTIME_CALLS(RUNTIME)};
static const struct call_info driver_calls[CUDA_CALL_NUMBERS] = {CUDA_DRIVER_CALLS(DRIVER)};
#undef RUNTIME
#undef DRIVER

static const uint32_t graph_resources[] = {
	CUPTI_RESOURCE_GRAPH_CLONED,
	CUPTI_RESOURCE_NODE_CREATED,
	CUPTI_RESOURCE_NODE_CLONED,
	CUPTI_RESOURCE_NODE_DESTROY_STARTING,
	CUPTI_RESOURCE_EXEC_CREATE_STARTING,
	CUPTI_RESOURCE_EXEC_CREATED,
	CUPTI_RESOURCE_EXEC_DESTROY_STARTING,
};

/* For reports of what calls wait for. */
static const uint32_t stream_resources[] = {
	CUPTI_RESOURCE_STREAM_DESTROY_STARTING,
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
};

/* So too, and to tell whose copies are whose. */
static const uint32_t new_streams[] = {
	CUPTI_RESOURCE_STREAM_CREATED,
};

/* For samples of instructions. */
static const uint32_t sampling_resources[] = {
	CUPTI_RESOURCE_CONTEXT_CREATED,
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING,
	CUPTI_RESOURCE_MODULE_LOADED,
};

static uint16_t pack_call(uint32_t domain, uint32_t id)
{
	return (uint16_t)(domain << 14 | id);
}

static bool asks_for_nothing(const struct call_info *info, const struct cupti_callback_data *d)
{
	const size_t *words = d->params;

	if ((info->kind != WIRE_CALL_COPY && info->kind != WIRE_CALL_SET) || !info->detail[0] ||
		!words)
		return false;
	return !words[info->detail[0]] || (info->detail[1] && !words[info->detail[1]]);
}

static bool is_empty(const struct call_info *info, const struct cupti_callback_data *d)
{
	return asks_for_nothing(info, d) || (info->kind == WIRE_CALL_GRAPH && graph_is_empty(d));
}

/* Only while its parameters are valid: while other threads may not destroy them. */
static void find_target(
	const struct call_info *info, const struct cupti_callback_data *d, struct open_call *open)
{
	if (!library.syncs)
		return;
	if (info->kind == WIRE_CALL_SYNC)
		syncs_find_target(info->detail[0], info->detail[1], d, &open->target);
	if (info->kind == WIRE_CALL_EVENT)
		syncs_find_target_of_record(info->detail[1], d, &open->target);
	if (info->kind == WIRE_CALL_GRAPH)
		syncs_find_target_of_graph(info->detail[1], d, &open->target);
}

static bool is_launch(const struct call_info *info)
{
	return info->kind == WIRE_CALL_LAUNCH || info->kind == WIRE_CALL_GRAPH;
}

static bool asks_for_work(const struct call_info *info)
{
	return is_launch(info) || info->kind == WIRE_CALL_COPY || info->kind == WIRE_CALL_SET;
}

/* Whether the call that begins is reported; else it is only timed. */
static bool is_reported(uint32_t correlation)
{
	return !library.overhead || (is_recording() && asked_add(correlation));
}

static void enter(const struct call_info *info, uint16_t call, const struct cupti_callback_data *d,
	const void *frame)
{
	struct open_call *open;

	if (!call_is_new(d->correlation_id))
		return;
	graphs_call_begins();
	open = call_open(d->correlation_id, call);
	if (!is_reported(d->correlation_id)) {
		open->flags = CALL_IS_TIMED;
		open->start_ns = now_ns();
		return;
	}
	if (is_empty(info, d))
		open->flags |= WIRE_FLAG_EMPTY;
	if (library.overhead && asks_for_work(info))
		bursts_call_begins();
	open->start_ns = now_ns();
	find_target(info, d, open);
	if (!(open->flags & WIRE_FLAG_UNMARKED) && info->kind != WIRE_CALL_EVENT)
		call_report_stack(open, info->kind, frame);
}

static int32_t result_of(const struct cupti_callback_data *d)
{
	return d->return_value ? *(const int32_t *)d->return_value : 0;
}

static void report_call(const struct call_info *info, uint32_t call_id,
	const struct cupti_callback_data *d, const struct open_call *open)
{
	struct wire_call record = call_record(open, info->kind, call_id, result_of(d));

	if (open->target.context)
		syncs_describe(info->kind == WIRE_CALL_SYNC ? info->detail[0] : 0, d, &open->target,
			&record);
	call_report(&record);
}

static void time_call(const struct call_info *info, const struct open_call *open, int32_t result)
{
	bool timed = open->flags & CALL_IS_TIMED;

	if (is_launch(info))
		bursts_time_call(!timed, now_ns() - open->start_ns);
	if (timed || !asks_for_work(info))
		return;
	if (info->kind == WIRE_CALL_GRAPH && !result &&
		!(open->flags & (WIRE_FLAG_EMPTY | WIRE_FLAG_CAPTURED)))
		bursts_graph_launched();
	bursts_call_ends();
}

static void leave(const struct call_info *info, uint32_t domain, uint32_t id, uint16_t call,
	const struct cupti_callback_data *d)
{
	struct open_call *open = call_close(d->correlation_id, call);

	if (!open)
		return;
	if (library.overhead)
		time_call(info, open, result_of(d));
	if (open->flags & CALL_IS_TIMED)
		return;
	if (!open->target.context)
		find_target(info, d, open); /* the call itself made the thread's context */
	if (info->kind == WIRE_CALL_EVENT)
		syncs_send_record(d, &open->target, open->start_ns);
	else
		report_call(info, CUDA_CALL_ID(domain, id), d, open);
	if (library.stalls && is_launch(info))
		sampling_launched();
}

/* In a program that was joined contexts are found by their calls. */
static void context_begins(void *context)
{
	if (!library.joined)
		sampling_context_created(context);
}

static void context_ends(void *context)
{
	if (inside_is_counted())
		inside_context_ends(context);
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
		context_begins(d->context);
	else if (id == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING)
		context_ends(d->context);
	else if (d->descriptor)
		checksums_module_loaded(d->descriptor);
	end_slow(&u);
}

static void stream_made(const struct cupti_resource_data *d)
{
	if (probes_are_calling())
		probes_stream_made(d->context, d->handle);
	else if (library.syncs)
		streams_made(d->context, d->handle);
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
		stream_made(d);
		break;
	case CUPTI_RESOURCE_STREAM_DESTROY_STARTING:
		streams_end(d->handle);
		break;
	default:
		if (d->descriptor)
			graphs_change(id, d->descriptor);
	}
}

/* A context that ends must not do so under our thread, which fetches its last samples when
 * recording has just stopped. */
static bool is_wanted(uint32_t domain, uint32_t id)
{
	if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING &&
		inside_is_counted() && sampling_late_is_kept())
		return true;
	if (is_recording() || !is_alive())
		return is_recording();
	if (domain == CUPTI_DOMAIN_RESOURCE)
		return library.overhead || id == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING;
	/* calls that are timed, or that began while they were recorded */
	return library.overhead || __atomic_load_n(&library.guard->stopping, __ATOMIC_RELAXED);
}

/* A call of the driver or the runtime. */
static void on_call(
	uint32_t domain, uint32_t id, const struct cupti_callback_data *d, const void *frame)
{
	const struct call_info *info;

	if (id >= CUDA_CALL_NUMBERS ||
		(domain != CUPTI_DOMAIN_RUNTIME && domain != CUPTI_DOMAIN_DRIVER))
		return;
	info = domain == CUPTI_DOMAIN_RUNTIME ? &runtime_calls[id] : &driver_calls[id];
	if (!info->kind || probes_are_calling())
		return;
	if (d->site == CUPTI_SITE_ENTER)
		enter(info, pack_call(domain, id), d, frame);
	else if (d->site == CUPTI_SITE_EXIT)
		leave(info, domain, id, pack_call(domain, id), d);
}

/* Of a call of the driver: false elsewhere. */
static bool is_at(uint32_t site, uint32_t domain, const void *data)
{
	return domain == CUPTI_DOMAIN_DRIVER &&
	       ((const struct cupti_callback_data *)data)->site == site;
}

static void *context_of_call(uint32_t domain, const void *data)
{
	return domain == CUPTI_DOMAIN_DRIVER ? ((const struct cupti_callback_data *)data)->context
					     : NULL;
}

/* Callbacks of contexts may be off. */
static bool may_end_context(uint32_t domain, uint32_t id)
{
	static const uint16_t ids[] = {
		11, 322,  /* cuCtxDestroy, cuCtxDestroy_v2 */
		387, 544, /* cuDevicePrimaryCtxRelease, ..._v2 */
		389, 545, /* cuDevicePrimaryCtxReset, ..._v2 */
	};

	for (size_t n = 0; domain == CUPTI_DOMAIN_DRIVER && n < sizeof(ids) / sizeof(ids[0]); n++)
		if (id == ids[n])
			return true;
	return false;
}

void on_callback(void *userdata, uint32_t domain, uint32_t id, const void *data)
{
	const void *frame = __builtin_frame_address(0);
	uint32_t *inside = leave_enter(frame);
	bool counted = data && inside_is_counted();

	if (counted && !is_at(CUPTI_SITE_EXIT, domain, data))
		inside_enter(context_of_call(domain, data), is_at(CUPTI_SITE_ENTER, domain, data));
	if (counted && may_end_context(domain, id))
		inside_contexts_end();
	if (domain == CUPTI_DOMAIN_STATE && data && is_alive())
		health_on_state(id, data);
	if (domain == CUPTI_DOMAIN_RESOURCE && library.finalize)
		finalize_on_resource(id);
	if (data && domain == CUPTI_DOMAIN_DRIVER && id == FINALIZE_DRIVER_CALL)
		finalize_on_driver_call(((const struct cupti_callback_data *)data)->site);
	if (data && is_wanted(domain, id)) {
		if (domain == CUPTI_DOMAIN_RESOURCE)
			on_resource(id, data);
		else
			on_call(domain, id, data, frame);
	}
	if (counted && !is_at(CUPTI_SITE_ENTER, domain, data))
		inside_exit();
	leave_exit(inside);
}

static bool is_followed(const struct call_info *info)
{
	return info->kind && (info->kind != WIRE_CALL_EVENT || library.syncs);
}

static void enable_resources(bool on, const uint32_t *ids, size_t count)
{
	struct cupti *c = &cupti;

	for (size_t n = 0; n < count; n++)
		c->EnableCallback(on, c->subscriber, CUPTI_DOMAIN_RESOURCE, ids[n]);
}

/* Sampling can only be switched when no thread is in any call. These callbacks end when we
 * unsubscribe, and not before: where the whole domain is switched off while a thread is in a call,
 * CUPTI (13.0) gives all its calls that one's id from then on, also for a later subscriber. */
static bool all_calls;

void count_all_calls(void)
{
	if (all_calls)
		return;
	all_calls = true;
	sampling_late_prepare();
	cupti.EnableDomain(true, cupti.subscriber, CUPTI_DOMAIN_DRIVER);
	sampling_late_begin();
}

unsigned int enable_call_callbacks(void)
{
	struct cupti *c = &cupti;
	unsigned int accepted = 0;

	for (uint32_t id = 0; id < CUDA_CALL_NUMBERS; id++) {
		if (is_followed(&runtime_calls[id]))
			accepted +=
				!c->EnableCallback(true, c->subscriber, CUPTI_DOMAIN_RUNTIME, id);
		if (is_followed(&driver_calls[id]))
			accepted +=
				!c->EnableCallback(true, c->subscriber, CUPTI_DOMAIN_DRIVER, id);
	}
	if (library.stalls && library.joined)
		count_all_calls();
	return accepted;
}

/* Those that were switched on one by one go domain by domain. Where the callback of a call of the
 * runtime is switched off alone, while a thread is inside that call, CUPTI (13.0) believes from
 * then on that the thread still is: it calls back twice for all its calls, or gives them all the id
 * of that one, also for a later subscriber. */
void disable_call_callbacks(void)
{
	cupti.EnableDomain(false, cupti.subscriber, CUPTI_DOMAIN_RUNTIME);
	if (!all_calls)
		cupti.EnableDomain(false, cupti.subscriber, CUPTI_DOMAIN_DRIVER);
}

void callbacks_are_over(void)
{
	if (all_calls)
		sampling_late_over();
	all_calls = false;
}

unsigned int enable_callbacks(void)
{
	unsigned int accepted = library.overhead ? 1 : enable_call_callbacks();

	enable_resources(
		true, graph_resources, sizeof(graph_resources) / sizeof(graph_resources[0]));
	/* Contexts end while our thread fetches their last samples: CUPTI reports that until we
	 * unsubscribe. */
	if (library.stalls)
		enable_resources(true, sampling_resources,
			sizeof(sampling_resources) / sizeof(sampling_resources[0]));
	if (library.syncs)
		enable_resources(true, stream_resources,
			sizeof(stream_resources) / sizeof(stream_resources[0]));
	if (library.syncs || probes_are_there())
		enable_resources(true, new_streams, sizeof(new_streams) / sizeof(new_streams[0]));
	health_begin();
	return accepted;
}

void disable_callbacks(void)
{
	disable_call_callbacks();
	if (library.finalize) /* until then graphs are watched */
		return;
	enable_resources(
		false, graph_resources, sizeof(graph_resources) / sizeof(graph_resources[0]));
}
