// SPDX-License-Identifier: MIT
/*
 * A simulated HIP runtime with two GPUs. The library has the name of the real one, for
 * LD_LIBRARY_PATH=build/sim/amd.
 *
 * A stream is a line of work of its own; the default stream is each device's. Kernels compute
 * nothing, and take as long as they have groups; copies move their bytes at once, and take as long
 * as they have bytes. Fills are kernels of the runtime's, as in the real one, and a copy that waits
 * is made of two other calls of the API.
 *
 * In its first call it does what rocprofiler-register does in the real one: where a tool is named,
 * or there is one in the process, it loads rocprofiler-sdk, and aborts if it cannot.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip.h"
#include "tracer.h"

#define EXPORT __attribute__((visibility("default")))

#define KERNELS_MAX    4096
#define NAME_BYTES     256
#define CAPTURED_MAX   64
#define REGISTERED_MAX 64

struct kernel {
	char name[NAME_BYTES];
	uint64_t id;
};

struct launch {
	const struct kernel *kernel;
	uint32_t groups[3], workgroup[3], shared;
};

struct graph {
	struct launch launches[CAPTURED_MAX];
	size_t count;
};

struct stream {
	int device;
	uint64_t queue;
	uint64_t busy_until;
	struct graph *captured; /* NULL: nothing is */
};

struct event {
	uint64_t ends;
};

static struct sim_amd_tracer tracer;
static struct kernel kernels[KERNELS_MAX];
static uint64_t kernel_count;
static struct stream defaults[SIM_AMD_DEVICES];
static struct {
	const void *function;
	struct kernel *kernel;
} registered[REGISTERED_MAX];
static size_t registered_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int current_device;

/* --- begin */

static uint64_t own_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool has_text(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text;
}

static void load_tracer(void)
{
	const char *path = has_text("ROCPROFILER_REGISTER_LIBRARY")
				   ? getenv("ROCPROFILER_REGISTER_LIBRARY")
				   : "librocprofiler-sdk.so.1";
	void (*enter)(struct sim_amd_tracer *);
	void *library;

	if (!has_text("ROCP_TOOL_LIBRARIES") && !has_text("ROCPROFILER_REGISTER_LIBRARY") &&
		!dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
		return;
	library = dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	*(void **)&enter = dlsym(library, "sim_amd_begin");
	enter(&tracer);
}

static struct kernel *make_kernel(const char *name)
{
	struct kernel *k;

	pthread_mutex_lock(&lock);
	if (kernel_count == KERNELS_MAX)
		abort();
	k = &kernels[kernel_count];
	k->id = ++kernel_count;
	snprintf(k->name, sizeof(k->name), "%s", name);
	pthread_mutex_unlock(&lock);
	if (tracer.loaded)
		tracer.loaded(k->id, k->name);
	return k;
}

static struct kernel *fill_kernel;

static void begin_once(void)
{
	load_tracer();
	for (int n = 0; n < SIM_AMD_DEVICES; n++)
		defaults[n] = (struct stream){.device = n, .queue = (uint64_t)n + 1};
	fill_kernel = make_kernel(SIM_AMD_FILL);
}

static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin_once);
}

static void enter(const char *name, const void *arguments, size_t size)
{
	begin();
	if (tracer.enter)
		tracer.enter(name, arguments, size);
}

static int leave(int result)
{
	if (tracer.leave)
		tracer.leave(result);
	return result;
}

/* A call is traced with a structure of its arguments. */
#define ARGUMENTS(...)                                                                             \
	struct {                                                                                   \
		__VA_ARGS__                                                                        \
	} traced

/* --- work */

static uint64_t now(void)
{
	return tracer.now ? tracer.now() : own_clock();
}

static void wait_until(uint64_t ns)
{
	while (now() < ns)
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static struct stream *stream_of(void *handle)
{
	return (uintptr_t)handle > 2 ? handle : &defaults[current_device];
}

static void run(struct stream *s, struct sim_amd_work *w, uint64_t takes_ns)
{
	uint64_t at = now();

	pthread_mutex_lock(&lock);
	w->device = s->device;
	w->queue = s->queue;
	w->start_ns = s->busy_until > at ? s->busy_until : at;
	w->end_ns = s->busy_until = w->start_ns + takes_ns;
	pthread_mutex_unlock(&lock);
	if (tracer.handed)
		tracer.handed(w);
}

static void run_kernel(struct stream *s, const struct launch *l)
{
	struct sim_amd_work w = {.kernel = l->kernel->id, .shared = l->shared};
	uint64_t groups = (uint64_t)l->groups[0] * l->groups[1] * l->groups[2];

	memcpy(w.groups, l->groups, sizeof(w.groups));
	memcpy(w.workgroup, l->workgroup, sizeof(w.workgroup));
	if (s->captured && s->captured->count < CAPTURED_MAX)
		s->captured->launches[s->captured->count++] = *l;
	else if (!s->captured)
		run(s, &w, SIM_AMD_KERNEL_NS(groups));
}

static int launch(void *stream, const struct kernel *k, struct hip_dim3 grid, struct hip_dim3 block,
	uint32_t shared)
{
	const struct launch l = {.kernel = k,
		.groups = {grid.x, grid.y, grid.z},
		.workgroup = {block.x, block.y, block.z},
		.shared = shared};

	if (!k)
		return HIP_INVALID_VALUE;
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
		return HIP_INVALID_CONFIGURATION;
	run_kernel(stream_of(stream), &l);
	return 0;
}

EXPORT int hipModuleLaunchKernel(void *function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
	uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared, void *stream,
	void **parameters, void **extra)
{
	ARGUMENTS(void *function; uint32_t grid[3], block[3], shared; void *stream;
		  void **parameters; void **extra;) = {function, {grid_x, grid_y, grid_z},
		{block_x, block_y, block_z}, shared, stream, parameters, extra};

	enter(__func__, &traced, sizeof(traced));
	return leave(launch(stream, function, (struct hip_dim3){grid_x, grid_y, grid_z},
		(struct hip_dim3){block_x, block_y, block_z}, shared));
}

static const struct kernel *kernel_of(const void *function)
{
	for (size_t n = 0; n < registered_count; n++)
		if (registered[n].function == function)
			return registered[n].kernel;
	return NULL;
}

EXPORT int hipLaunchKernel(const void *function, struct hip_dim3 grid, struct hip_dim3 block,
	void **arguments, size_t shared, void *stream)
{
	ARGUMENTS(const void *function; struct hip_dim3 grid, block; void **arguments;
		  size_t shared;
		  void *stream;) = {function, grid, block, arguments, shared, stream};

	enter(__func__, &traced, sizeof(traced));
	return leave(launch(stream, kernel_of(function), grid, block, (uint32_t)shared));
}

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
	ARGUMENTS(void *to; const void *from; size_t size; int kind; void *stream;) = {
		to, from, size, kind, stream};
	struct sim_amd_work w = {.is_copy = true, .bytes = size, .direction = kind};

	enter(__func__, &traced, sizeof(traced));
	if (!size)
		return leave(0);
	memcpy(to, from, size);
	run(stream_of(stream), &w, SIM_AMD_COPY_NS(size));
	return leave(0);
}

EXPORT int hipMemcpy(void *to, const void *from, size_t size, int kind)
{
	ARGUMENTS(void *to; const void *from; size_t size; int kind;) = {to, from, size, kind};
	int result;

	enter(__func__, &traced, sizeof(traced));
	result = hipMemcpyAsync(to, from, size, kind, NULL);
	return leave(result ? result : hipStreamSynchronize(NULL));
}

EXPORT int hipMemsetAsync(void *to, int value, size_t size, void *stream)
{
	ARGUMENTS(void *to; int value; size_t size; void *stream;) = {to, value, size, stream};
	const struct hip_dim3 groups = {SIM_AMD_GROUPS, 1, 1}, items = {256, 1, 1};

	enter(__func__, &traced, sizeof(traced));
	memset(to, value, size);
	return leave(launch(stream, fill_kernel, groups, items, 0));
}

/* --- streams and events */

EXPORT int hipStreamCreate(void **ret)
{
	static uint64_t queues = SIM_AMD_DEVICES;
	ARGUMENTS(void **ret;) = {ret};
	struct stream *s;

	enter(__func__, &traced, sizeof(traced));
	s = calloc(1, sizeof(*s));
	if (s) {
		s->device = current_device;
		s->queue = __atomic_add_fetch(&queues, 1, __ATOMIC_RELAXED);
	}
	*ret = s;
	return leave(s ? 0 : HIP_INVALID_VALUE);
}

EXPORT int hipStreamDestroy(void *stream)
{
	free(stream);
	return 0;
}

EXPORT int hipStreamSynchronize(void *stream)
{
	ARGUMENTS(void *stream;) = {stream};

	enter(__func__, &traced, sizeof(traced));
	wait_until(stream_of(stream)->busy_until);
	return leave(0);
}

/* Of the default stream only: programs here wait for their own. */
EXPORT int hipDeviceSynchronize(void)
{
	const char none = 0;

	enter(__func__, &none, sizeof(none));
	wait_until(defaults[current_device].busy_until);
	return leave(0);
}

EXPORT int hipEventCreate(void **ret)
{
	begin();
	*ret = calloc(1, sizeof(struct event));
	return *ret ? 0 : HIP_INVALID_VALUE;
}

EXPORT int hipEventRecord(void *event, void *stream)
{
	ARGUMENTS(void *event; void *stream;) = {event, stream};

	enter(__func__, &traced, sizeof(traced));
	((struct event *)event)->ends = stream_of(stream)->busy_until;
	return leave(0);
}

EXPORT int hipEventSynchronize(void *event)
{
	ARGUMENTS(void *event;) = {event};

	enter(__func__, &traced, sizeof(traced));
	wait_until(((struct event *)event)->ends);
	return leave(0);
}

/* --- graphs */

EXPORT int hipStreamBeginCapture(void *stream, int mode)
{
	struct stream *s = stream_of(stream);

	s->captured = calloc(1, sizeof(*s->captured));
	return s->captured ? 0 : HIP_INVALID_VALUE;
}

EXPORT int hipStreamEndCapture(void *stream, void **ret_graph)
{
	struct stream *s = stream_of(stream);

	*ret_graph = s->captured;
	s->captured = NULL;
	return 0;
}

EXPORT int hipGraphInstantiate(void **ret, void *graph, void *node, char *log, size_t log_size)
{
	*ret = graph;
	return 0;
}

EXPORT int hipGraphLaunch(void *graph, void *stream)
{
	ARGUMENTS(void *graph; void *stream;) = {graph, stream};
	struct graph *g = graph;

	enter(__func__, &traced, sizeof(traced));
	for (size_t n = 0; n < g->count; n++)
		run_kernel(stream_of(stream), &g->launches[n]);
	return leave(0);
}

/* --- devices, memory and code */

EXPORT int hipGetDeviceCount(int *ret)
{
	begin();
	*ret = SIM_AMD_DEVICES;
	return 0;
}

EXPORT int hipSetDevice(int device)
{
	begin();
	if (device < 0 || device >= SIM_AMD_DEVICES)
		return HIP_INVALID_VALUE;
	current_device = device;
	return 0;
}

EXPORT int hipMalloc(void **ret, size_t size)
{
	*ret = malloc(size);
	return *ret ? 0 : HIP_INVALID_VALUE;
}

EXPORT int hipFree(void *memory)
{
	free(memory);
	return 0;
}

EXPORT int hipModuleLoadData(void **ret, const void *image)
{
	char text[NAME_BYTES * 8], *rest, *name;

	begin();
	snprintf(text, sizeof(text), "%s", (const char *)image);
	for (name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		make_kernel(name);
	*ret = kernels;
	return 0;
}

EXPORT int hipModuleGetFunction(void **ret, void *module, const char *name)
{
	for (uint64_t n = kernel_count; n; n--)
		if (!strcmp(kernels[n - 1].name, name)) {
			*ret = &kernels[n - 1];
			return 0;
		}
	return HIP_NOT_FOUND;
}

EXPORT void **__hipRegisterFatBinary(const void *data)
{
	static void *modules[1];

	return modules;
}

EXPORT void __hipRegisterFunction(void **modules, const void *function, char *device_function,
	const char *name, unsigned int limit, void *tid, void *bid, void *block, void *grid,
	int *size)
{
	begin();
	if (registered_count == REGISTERED_MAX)
		return;
	registered[registered_count].function = function;
	registered[registered_count++].kernel = make_kernel(name);
}
