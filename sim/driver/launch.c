// SPDX-License-Identifier: MIT
/*
 * Launches, how long a piece of work runs, and host functions.
 *
 * Host functions run on one thread of the simulator when the work ahead of them has ended;
 * synchronizing waits for them by count.
 */
#include "sim.h"

#include <stdlib.h>

enum {
	MAX_THREADS = 1024,
	MAX_SHARED_BYTES = 227 << 10,
	COOPERATIVE_THREADS = 64 * 2048, /* what is on the device at once */
	COPY_NS = 1200,
	FILL_NS = 900,
	PAGEABLE_GB_S = 6, /* bandwidths; bytes per ns */
	PINNED_GB_S = 24,
	DEVICE_GB_S = 1200,
	FILL_GB_S = 1500,
	HOST_FUNCTION_NS = 10000,
};

static uint64_t copy_duration(const struct sim_copy *c)
{
	uint64_t bytes = c->width * c->height * c->depth;
	uint64_t rate = DEVICE_GB_S;

	if (c->peer || c->to.kind == SIM_MEMORY_PINNED || c->from.kind == SIM_MEMORY_PINNED)
		rate = PINNED_GB_S;
	if (c->to.kind == SIM_MEMORY_PAGEABLE || c->from.kind == SIM_MEMORY_PAGEABLE)
		rate = PAGEABLE_GB_S;
	return COPY_NS + bytes / rate;
}

/* The time within 3 %, by the kernel and its position in the stream: the same in every run. */
static uint64_t spread(uint64_t ns, uint64_t salt)
{
	uint64_t hash = (salt + 1) * 0x9e3779b97f4a7c15u >> 32;

	return ns + ns * (hash % 61) / 1000 - ns * 30 / 1000;
}

static uint64_t kernel_duration(const struct sim_kernel *k, uint64_t position)
{
	uint64_t threads =
		(uint64_t)k->grid.x * k->grid.y * k->grid.z * k->block.x * k->block.y * k->block.z;

	if (sim.kernel_ns)
		return sim.kernel_ns;
	if (k->function->fixed_ns)
		return k->function->fixed_ns;
	return spread(k->function->base_ns + threads * k->function->thousand_threads_ns / 1000,
		position + k->function->base_ns);
}

uint64_t sim_work_duration(const struct sim_work *work, uint64_t position)
{
	const struct sim_fill *f = &work->fill;

	switch (work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_duration(&work->kernel, position);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_duration(&work->copy);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return FILL_NS + f->width * f->height * f->element_bytes / FILL_GB_S;
	default:
		return 0;
	}
}

static bool empty(struct sim_dim d)
{
	return !d.x || !d.y || !d.z;
}

static CUresult check(const struct sim_kernel *k)
{
	uint64_t threads = (uint64_t)k->block.x * k->block.y * k->block.z;
	uint64_t blocks = (uint64_t)k->grid.x * k->grid.y * k->grid.z;

	if (!sim_symbol(k->function))
		return CUDA_ERROR_INVALID_HANDLE;
	if (empty(k->grid) || empty(k->block) || threads > MAX_THREADS || k->block.z > 64 ||
		k->grid.y > 65535 || k->grid.z > 65535 || k->shared_bytes > MAX_SHARED_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (k->flags & SIM_COOPERATIVE && blocks * threads > COOPERATIVE_THREADS)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static CUresult launch(CUstream stream, struct sim_work *work, void **params, void **extra)
{
	CUresult result;
	bool kept;

	if (!stream)
		return sim_stream_error();
	result = check(&work->kernel);
	if (result)
		return result;
	if (sim.faults.fail_launch || sim.faults.subscriber_after) {
		uint64_t n = atomic_fetch_add(&sim.launches, 1) + 1;

		if (n == 1 && xpuprof_sim_tools.first_launch)
			xpuprof_sim_tools.first_launch();
		if (sim.faults.fail_launch && n % sim.faults.fail_launch == 0)
			return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	}
	result = sim_compute_params(work->kernel.function, params, extra, &work->kernel.params);
	if (result)
		return result;
	kept = stream->capture;
	result = sim_submit(stream, work, SIM_ASYNC);
	if (!kept)
		free(work->kernel.params);
	return result;
}

CUresult sim_launch(CUfunction f, struct sim_dim grid, struct sim_dim block, uint32_t shared_bytes,
	CUstream stream, unsigned int flags, void **params, void **extra)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	work.kernel = (struct sim_kernel){
		.function = f,
		.grid = grid,
		.block = block,
		.shared_bytes = shared_bytes,
		.flags = flags,
	};
	return launch(stream, &work, params, extra);
}

CUresult sim_launch_config(
	const CUlaunchConfig *c, CUfunction f, CUstream stream, void **params, void **extra)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	work.kernel = (struct sim_kernel){
		.function = f,
		.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
		.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
		.shared_bytes = c->sharedMemBytes,
	};
	for (unsigned int i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative)
			work.kernel.flags |= SIM_COOPERATIVE;
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			work.kernel.cluster = SIM_DIM(a->value.clusterDim.x, a->value.clusterDim.y,
				a->value.clusterDim.z);
	}
	return launch(stream, &work, params, extra);
}

CUresult sim_kernel_describe(const CUDA_KERNEL_NODE_PARAMS *p, struct sim_kernel *ret)
{
	struct sim_kernel k = {.function = p->func ? p->func : (CUfunction)p->kern};
	CUresult result;

	k.grid = SIM_DIM(p->gridDimX, p->gridDimY, p->gridDimZ);
	k.block = SIM_DIM(p->blockDimX, p->blockDimY, p->blockDimZ);
	k.shared_bytes = p->sharedMemBytes;
	result = check(&k);
	if (!result)
		result = sim_compute_params(k.function, p->kernelParams, p->extra, &k.params);
	if (!result)
		*ret = k;
	return result;
}

struct host_function {
	struct host_function *next;
	CUstream stream;
	CUhostFn function;
	void *data;
	uint64_t due_ns;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t added;
	struct host_function *first; /* by due time */
	bool started;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .added = PTHREAD_COND_INITIALIZER};

static void *run_host_functions(void *unused)
{
	pthread_mutex_lock(&host.lock);
	while (1) {
		struct host_function *h = host.first;

		if (!h) {
			pthread_cond_wait(&host.added, &host.lock);
			continue;
		}
		host.first = h->next;
		pthread_mutex_unlock(&host.lock);
		sim_wait_until(h->due_ns);
		h->function(h->data);
		atomic_fetch_sub(&h->stream->context->host_functions, 1);
		atomic_fetch_sub(&h->stream->host_functions, 1);
		free(h);
		pthread_mutex_lock(&host.lock);
	}
	return NULL;
}

static bool start_host_thread(void)
{
	if (!host.started)
		host.started = xpuprof_sim_start_thread(run_host_functions);
	return host.started;
}

static bool host_add(struct host_function *h)
{
	struct host_function **at = &host.first;
	bool ok;

	pthread_mutex_lock(&host.lock);
	ok = start_host_thread();
	if (ok) {
		while (*at && (*at)->due_ns <= h->due_ns)
			at = &(*at)->next;
		h->next = *at;
		*at = h;
		pthread_cond_signal(&host.added);
	}
	pthread_mutex_unlock(&host.lock);
	return ok;
}

CUresult sim_launch_host(CUstream stream, CUhostFn fn, void *data)
{
	struct host_function *h;

	if (!stream)
		return sim_stream_error();
	if (stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->stream = stream;
	h->function = fn;
	h->data = data;
	atomic_fetch_add(&stream->host_functions, 1);
	atomic_fetch_add(&stream->context->host_functions, 1);
	h->due_ns = sim_stream_begin(stream);
	sim_stream_end(stream, h->due_ns + HOST_FUNCTION_NS);
	if (host_add(h))
		return CUDA_SUCCESS;
	atomic_fetch_sub(&stream->context->host_functions, 1);
	atomic_fetch_sub(&stream->host_functions, 1);
	free(h);
	return CUDA_ERROR_OUT_OF_MEMORY;
}
