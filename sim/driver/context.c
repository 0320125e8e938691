// SPDX-License-Identifier: MIT
/*
 * Contexts: each thread has a stack of them. A primary context belongs to its device and is
 * counted.
 */
#include "sim.h"

#include <stdlib.h>

static bool valid(CUcontext ctx)
{
	return ctx && ctx->magic == SIM_CONTEXT;
}

CUcontext sim_current(void)
{
	struct sim_thread *t = &sim_thread;

	return t->context_count ? t->contexts[t->context_count - 1] : NULL;
}

static CUcontext context_new(CUdevice dev, unsigned int flags, bool primary)
{
	CUcontext ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->magic = SIM_CONTEXT;
	ctx->id = atomic_fetch_add(&sim.next_context, 1);
	ctx->device = dev;
	ctx->flags = flags;
	ctx->primary = primary;
	sim_stream_init(&ctx->legacy, ctx, CU_STREAM_DEFAULT, 0);
	ctx->legacy.legacy = true;
	return ctx;
}

/* The sampling of a context is torn down with it, whether anybody wants to know or not. */
static void report(enum sim_resource what, CUcontext ctx)
{
	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][what] ||
		(what == SIM_CONTEXT_DESTROY_STARTING && xpuprof_sim_tools.sampled))
		xpuprof_sim_tools.resource(what, ctx, NULL, NULL);
}

static void context_free(CUcontext ctx)
{
	struct sim_thread *t = &sim_thread;
	unsigned int kept = 0;

	sim_wait_until(ctx->idle_ns);
	report(SIM_CONTEXT_DESTROY_STARTING, ctx);
	for (unsigned int i = 0; i < t->context_count; i++)
		if (t->contexts[i] != ctx)
			t->contexts[kept++] = t->contexts[i];
	t->context_count = kept;
	sim_streams_end(ctx);
	sim_stream_release(&ctx->legacy);
	ctx->magic = 0;
	free(ctx);
}

CUresult sim_primary_retain(CUcontext *ret, CUdevice dev)
{
	struct sim_device *d;
	CUcontext made = NULL;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	d = &sim.devices[dev];
	pthread_mutex_lock(&sim.lock);
	if (!d->primary)
		d->primary = made = context_new(dev, d->primary_flags, true);
	d->primary_users++;
	*ret = d->primary;
	pthread_mutex_unlock(&sim.lock);
	if (made)
		report(SIM_CONTEXT_CREATED, made);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult primary_drop(CUdevice dev, bool all)
{
	struct sim_device *d;
	CUcontext gone = NULL;

	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	d = &sim.devices[dev];
	pthread_mutex_lock(&sim.lock);
	if (!d->primary_users) {
		pthread_mutex_unlock(&sim.lock);
		return all ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	}
	d->primary_users = all ? 0 : d->primary_users - 1;
	if (!d->primary_users) {
		gone = d->primary;
		d->primary = NULL;
	}
	pthread_mutex_unlock(&sim.lock);
	if (gone)
		context_free(gone);
	return CUDA_SUCCESS;
}

CUresult sim_primary_release(CUdevice dev)
{
	return primary_drop(dev, false);
}

CUresult sim_primary_reset(CUdevice dev)
{
	return primary_drop(dev, true);
}

CUresult sim_primary_set_flags(CUdevice dev, unsigned int flags)
{
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sim.devices[dev].primary_flags = flags;
	return CUDA_SUCCESS;
}

CUresult sim_primary_state(CUdevice dev, unsigned int *ret_flags, int *ret_active)
{
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_flags = sim.devices[dev].primary_flags;
	*ret_active = sim.devices[dev].primary != NULL;
	return CUDA_SUCCESS;
}

CUresult sim_context_create(CUcontext *ret, unsigned int flags, CUdevice dev)
{
	CUcontext ctx;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = context_new(dev, flags, false);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_context_push(ctx);
	report(SIM_CONTEXT_CREATED, ctx);
	*ret = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_context_destroy(CUcontext ctx)
{
	if (!valid(ctx) || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_free(ctx);
	return CUDA_SUCCESS;
}

CUresult sim_context_push(CUcontext ctx)
{
	struct sim_thread *t = &sim_thread;

	if (!valid(ctx) || t->context_count == SIM_CONTEXT_DEPTH)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->contexts[t->context_count++] = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_context_pop(CUcontext *ret)
{
	struct sim_thread *t = &sim_thread;

	if (!t->context_count)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->context_count--;
	if (ret)
		*ret = t->contexts[t->context_count];
	return CUDA_SUCCESS;
}

CUresult sim_context_set(CUcontext ctx)
{
	struct sim_thread *t = &sim_thread;

	if (ctx && !valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->context_count)
		t->context_count--;
	return ctx ? sim_context_push(ctx) : CUDA_SUCCESS;
}

CUresult sim_context_get(CUcontext *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = sim_current();
	return CUDA_SUCCESS;
}

CUresult sim_context_device(CUdevice *ret)
{
	CUcontext ctx = sim_current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = ctx->device;
	return CUDA_SUCCESS;
}

CUresult sim_context_synchronize(void)
{
	CUcontext ctx = sim_current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_wait_until(ctx->idle_ns);
	while (atomic_load(&ctx->host_functions))
		sim_wait_until(sim_now() + 20000);
	if (xpuprof_sim_tools.callbacks[SIM_SYNCHRONIZE][SIM_CONTEXT_SYNCHRONIZED])
		xpuprof_sim_tools.synchronized(SIM_CONTEXT_SYNCHRONIZED, ctx, NULL);
	return CUDA_SUCCESS;
}

CUresult sim_context_api_version(CUcontext ctx, unsigned int *ret)
{
	if (ctx && !valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = 3020;
	return CUDA_SUCCESS;
}

CUresult sim_context_id(CUcontext ctx, unsigned long long *ret)
{
	if (!ctx)
		ctx = sim_current();
	if (!valid(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = ctx->id;
	return CUDA_SUCCESS;
}

CUresult sim_context_set_limit(CUlimit limit, size_t value)
{
	return sim_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_context_get_limit(size_t *ret, CUlimit limit)
{
	if (!sim_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = limit == CU_LIMIT_STACK_SIZE ? 1024 : 1 << 20;
	return CUDA_SUCCESS;
}

CUresult sim_peer_enable(CUcontext peer, unsigned int flags)
{
	CUcontext ctx = sim_current();
	uint64_t bit;

	if (!ctx || !valid(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->device == ctx->device)
		return CUDA_ERROR_INVALID_DEVICE;
	bit = (uint64_t)1 << peer->device;
	return atomic_fetch_or(&ctx->peers, bit) & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
						       : CUDA_SUCCESS;
}

CUresult sim_peer_disable(CUcontext peer)
{
	CUcontext ctx = sim_current();
	uint64_t bit;

	if (!ctx || !valid(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	bit = (uint64_t)1 << peer->device;
	return atomic_fetch_and(&ctx->peers, ~bit) & bit ? CUDA_SUCCESS
							 : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
