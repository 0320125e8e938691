// SPDX-License-Identifier: MIT
/*
 * The callback API: one subscriber in a process, and which callbacks it wants.
 */
#include "code.h"

#include <stdio.h>

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *userdata;
};

static struct {
	struct CUpti_Subscriber_st subscriber;
	_Atomic bool subscribed;
	_Atomic bool forked; /* this is a child of a process that used CUPTI */
	_Atomic bool ended;
	_Atomic uint64_t calls; /* reported */
	_Atomic int api_users;
	pthread_mutex_t lock;
	uint8_t wanted[SIM_DOMAINS][SIM_CALLBACK_IDS];
} cb = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_call(struct sim_call *call, bool exit)
{
	CUcontext ctx = xpuprof_sim_context();
	CUpti_CallbackData data = {
		.callbackSite = exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->name,
		.functionParams = call->params,
		.functionReturnValue = exit ? call->result : NULL,
		.symbolName = call->symbol,
		.context = ctx,
		.contextUid = ctx ? ctx->id : 0,
		.correlationData = &call->data,
		.correlationId = call->correlation,
	};
	bool before = xpuprof_sim_in_callback(true);

	if (!exit)
		call->start_ns = sim_now();
	if (!exit && ++cb.calls == xpuprof_sim_driver()->faults.cupti_ends)
		sim_cupti_end("an error that was made up");
	if (cb.wanted[call->domain][call->cbid])
		cb.subscriber.callback(cb.subscriber.userdata, (CUpti_CallbackDomain)call->domain,
			call->cbid, &data);
	xpuprof_sim_in_callback(before);
	if (exit && sim_cupti_api_wanted(call->domain))
		sim_cupti_api_record(call);
}

static void report_resource(
	enum sim_resource what, CUcontext ctx, CUstream stream, void *descriptor)
{
	CUpti_ResourceData data = {ctx, {stream}, descriptor};
	bool before = xpuprof_sim_in_callback(true);

	cb.subscriber.callback(cb.subscriber.userdata, CUPTI_CB_DOMAIN_RESOURCE, what, &data);
	xpuprof_sim_in_callback(before);
}

/* Modules of text are compiled; for some the result is given in a file. */
static void report_compiled(enum sim_resource what, CUcontext ctx, CUpti_ModuleResourceData *module)
{
	struct code_image *image = module->pCubin ? code_image_of(module->pCubin) : NULL;
	CUpti_ModuleResourceData compiled = *module;

	if (image) {
		compiled.pCubin = image->bytes;
		compiled.cubinSize = image->size;
	}
	report_resource(what, ctx, NULL, &compiled);
}

static void on_resource(enum sim_resource what, CUcontext ctx, CUstream stream, void *descriptor)
{
	if (what == SIM_MODULE_LOADED) {
		report_compiled(what, ctx, descriptor);
		return;
	}
	if (what == SIM_CONTEXT_DESTROY_STARTING)
		sim_cupti_context_destroying(true);
	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][what])
		report_resource(what, ctx, stream, descriptor);
	if (what != SIM_CONTEXT_DESTROY_STARTING)
		return;
	sim_cupti_context_destroying(false);
	sim_cupti_context_gone(ctx);
}

void sim_cupti_report_module(uint32_t id, const char *image, size_t size)
{
	CUpti_ModuleResourceData module = {id, size, image};

	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][SIM_MODULE_LOADED])
		report_resource(SIM_MODULE_LOADED, xpuprof_sim_context(), NULL, &module);
}

static void on_synchronize(enum sim_synchronized what, CUcontext ctx, CUstream stream)
{
	CUpti_SynchronizeData data = {ctx, stream};
	bool before = xpuprof_sim_in_callback(true);

	cb.subscriber.callback(cb.subscriber.userdata, CUPTI_CB_DOMAIN_SYNCHRONIZE, what, &data);
	xpuprof_sim_in_callback(before);
}

/* The fault of a second subscriber that comes when the program is already running. */
static void later_subscriber(void)
{
	CUpti_SubscriberHandle handle;
	CUptiResult result;

	if (!xpuprof_sim_driver()->faults.subscriber_after)
		return;
	result = cuptiSubscribe(&handle, (CUpti_CallbackFunc)later_subscriber, NULL);
	fprintf(stderr, "simulated CUDA: a later subscriber got %d\n", (int)result);
}

static void forked(void)
{
	cb.forked = true;
}

__attribute__((constructor)) static void connect_to_driver(void)
{
	struct sim_tools *tools = &xpuprof_sim_tools;

	tools->call = on_call;
	tools->resource = on_resource;
	tools->synchronized = on_synchronize;
	tools->work = sim_cupti_work;
	tools->graph_run = sim_cupti_graph_run;
	tools->stream_gone = sim_cupti_stream_gone;
	tools->first_launch = later_subscriber;
	pthread_atfork(NULL, NULL, forked);
}

bool sim_cupti_usable(CUptiResult *ret_why)
{
	*ret_why = CUPTI_ERROR_NOT_INITIALIZED;
	return !cb.forked && !xpuprof_sim_driver()->faults.no_cupti;
}

bool sim_cupti_has_ended(void)
{
	return cb.ended;
}

bool sim_cupti_has_subscriber(void)
{
	return cb.subscribed;
}

void sim_cupti_count_api_user(int change)
{
	xpuprof_sim_tools.active = atomic_fetch_add(&cb.api_users, change) + change > 0;
}

SIM_EXPORT CUptiResult cuptiSubscribe(
	CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata)
{
	CUptiResult why;

	if (!subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_cupti_usable(&why))
		return why;
	if (xpuprof_sim_driver()->faults.subscriber_before || atomic_exchange(&cb.subscribed, true))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	sim_cupti_used(SIM_SUBSCRIBED);
	cb.subscriber.callback = callback;
	cb.subscriber.userdata = userdata;
	*subscriber = &cb.subscriber;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
	CUpti_CallbackFunc callback, void *userdata, CUpti_SubscriberParams *params)
{
	return params ? cuptiSubscribe(subscriber, callback, userdata)
		      : CUPTI_ERROR_INVALID_PARAMETER;
}

static bool ours(CUpti_SubscriberHandle subscriber)
{
	return cb.subscribed && subscriber == &cb.subscriber;
}

static uint32_t ids_of(CUpti_CallbackDomain domain)
{
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		return SIM_CALLBACK_IDS;
	case CUPTI_CB_DOMAIN_RESOURCE:
		return CUPTI_CBID_RESOURCE_SIZE;
	case CUPTI_CB_DOMAIN_SYNCHRONIZE:
		return CUPTI_CBID_SYNCHRONIZE_SIZE;
	case CUPTI_CB_DOMAIN_NVTX:
	case CUPTI_CB_DOMAIN_STATE:
		return 8;
	default:
		return 0;
	}
}

static bool is_api(unsigned int domain)
{
	return domain == SIM_DRIVER || domain == SIM_RUNTIME;
}

static void watch(unsigned int domain, uint32_t id)
{
	xpuprof_sim_tools.callbacks[domain][id] =
		cb.wanted[domain][id] ||
		(is_api(domain) && sim_cupti_api_wanted((enum sim_domain)domain));
}

void sim_cupti_watch(enum sim_domain domain)
{
	pthread_mutex_lock(&cb.lock);
	for (uint32_t id = 0; id < SIM_CALLBACK_IDS; id++)
		watch(domain, id);
	pthread_mutex_unlock(&cb.lock);
}

static void want(unsigned int domain, uint32_t id, bool on)
{
	if (cb.wanted[domain][id] == on)
		return;
	cb.wanted[domain][id] = on;
	watch(domain, id);
	if (is_api(domain))
		sim_cupti_count_api_user(on ? 1 : -1);
}

static CUptiResult want_range(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
	uint32_t from, uint32_t to, bool on)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	if (cb.ended || !ours(subscriber) || !ids_of(domain) || to > ids_of(domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&cb.lock);
	for (uint32_t id = from; id < to; id++)
		want(domain, id, on);
	pthread_mutex_unlock(&cb.lock);
	if (on && domain == CUPTI_CB_DOMAIN_RESOURCE)
		sim_cupti_used(SIM_FOLLOWED);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	return want_range(subscriber, domain, cbid, cbid + 1, enable);
}

static void follow_whole(bool on)
{
	if (xpuprof_sim_tools.whole && !on)
		xpuprof_sim_tools.cuts++;
	xpuprof_sim_tools.whole = on;
}

SIM_EXPORT CUptiResult cuptiEnableDomain(
	uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	CUptiResult result = want_range(subscriber, domain, 0, ids_of(domain), enable);

	if (!result && domain == CUPTI_CB_DOMAIN_DRIVER_API)
		follow_whole(enable);
	return result;
}

SIM_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = CUPTI_SUCCESS;

	for (int d = CUPTI_CB_DOMAIN_DRIVER_API; d < CUPTI_CB_DOMAIN_SIZE && !result; d++)
		result = cuptiEnableDomain(enable, subscriber, (CUpti_CallbackDomain)d);
	return result;
}

SIM_EXPORT CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (!enable || !ours(subscriber) || cbid >= ids_of(domain))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = cb.wanted[domain][cbid];
	return CUPTI_SUCCESS;
}

static void want_nothing(void)
{
	pthread_mutex_lock(&cb.lock);
	for (unsigned int d = CUPTI_CB_DOMAIN_DRIVER_API; d < CUPTI_CB_DOMAIN_SIZE; d++)
		for (uint32_t id = 0; id < ids_of((CUpti_CallbackDomain)d); id++)
			want(d, id, false);
	pthread_mutex_unlock(&cb.lock);
}

void sim_cupti_end(const char *message)
{
	CUpti_StateData data = {{{CUPTI_ERROR_UNKNOWN, message}}};

	if (atomic_exchange(&cb.ended, true))
		return;
	if (message && cb.wanted[SIM_STATE][CUPTI_CBID_STATE_FATAL_ERROR])
		cb.subscriber.callback(cb.subscriber.userdata, CUPTI_CB_DOMAIN_STATE,
			CUPTI_CBID_STATE_FATAL_ERROR, &data);
	want_nothing();
	sim_cupti_lose_activity();
	cb.subscribed = false;
}

SIM_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	if (!ours(subscriber))
		return cb.ended ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
	want_nothing();
	xpuprof_sim_tools.whole = false;
	cb.subscribed = false;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiFinalize(void)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	sim_cupti_stop_activity();
	want_nothing();
	cb.subscribed = false;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiSupportedDomains(size_t *count, const CUpti_CallbackDomain **table)
{
	static const CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};

	*count = sizeof(domains) / sizeof(*domains);
	*table = domains;
	return CUPTI_SUCCESS;
}
