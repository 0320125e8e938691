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
 * In its first call it does what rocprofiler-register does in the real one (register.h).
 */
#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hip.h"
#include "register.h"

#define EXPORT __attribute__((visibility("default")))

#define KERNELS_MAX    131072
#define NAME_BYTES     256
#define CAPTURED_MAX   64
#define REGISTERED_MAX 64

struct kernel {
	char name[NAME_BYTES];
	uint64_t id;
};

/* What a node of a graph does: a kernel, or a copy. */
struct launch {
	const struct kernel *kernel; /* NULL: it is a copy */
	uint32_t groups[3], workgroup[3], shared;
	size_t bytes;
	int direction;
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
	struct graph *captured; /* by the stream that it was recorded in */
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

static struct kernel *make_kernel(const char *name, const struct sim_amd_code *code)
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
		tracer.loaded(k->id, k->name, code);
	return k;
}

static struct kernel *fill_kernel;

static void begin_once(void)
{
	register_runtime(&tracer);
	for (int n = 0; n < SIM_AMD_DEVICES; n++)
		defaults[n] = (struct stream){.device = n, .queue = (uint64_t)n + 1};
	fill_kernel = make_kernel(SIM_AMD_FILL, NULL);
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

static void run_launch(struct stream *s, const struct launch *l)
{
	struct sim_amd_work w = {.is_copy = !l->kernel,
		.kernel = l->kernel ? l->kernel->id : 0,
		.shared = l->shared,
		.bytes = l->bytes,
		.direction = l->direction};
	uint64_t groups = (uint64_t)l->groups[0] * l->groups[1] * l->groups[2];

	memcpy(w.groups, l->groups, sizeof(w.groups));
	memcpy(w.workgroup, l->workgroup, sizeof(w.workgroup));
	run(s, &w, l->kernel ? SIM_AMD_KERNEL_NS(groups) : SIM_AMD_COPY_NS(l->bytes));
}

static void add_launch(struct graph *g, const struct launch *l)
{
	if (g->count == CAPTURED_MAX)
		abort();
	g->launches[g->count++] = *l;
}

static void run_or_capture(struct stream *s, const struct launch *l)
{
	if (s->captured)
		add_launch(s->captured, l);
	else
		run_launch(s, l);
}

/* --- what the runtime calls when a stream has come there, in a thread of its own */

struct callback {
	void (*function)(void *stream, int status, void *data);
	void *stream, *data;
	uint64_t after;
};

static void *call_back(void *data)
{
	struct callback *c = data;

	wait_until(c->after);
	c->function(c->stream, 0, c->data);
	free(c);
	return NULL;
}

EXPORT int hipStreamAddCallback(void *stream,
	void (*function)(void *stream, int status, void *data), void *data, unsigned int flags)
{
	struct callback *c = malloc(sizeof(*c));
	pthread_t thread;

	if (!c)
		return HIP_INVALID_VALUE;
	*c = (struct callback){function, stream, data, stream_of(stream)->busy_until};
	if (pthread_create(&thread, NULL, call_back, c))
		return HIP_INVALID_VALUE;
	pthread_detach(thread);
	return 0;
}

/* A kernel that goes wrong: the driver tells the runtime, which aborts the program. */
static void fault(void *stream, int status, void *data)
{
	static const char text[] = "Memory access fault by GPU\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
		abort();
	abort();
}

/* --- launches */

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
	run_or_capture(stream_of(stream), &l);
	if (!strcmp(k->name, SIM_AMD_FAULT))
		hipStreamAddCallback(stream, fault, NULL, 0);
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
	const struct launch l = {.bytes = size, .direction = kind};

	enter(__func__, &traced, sizeof(traced));
	if (!size)
		return leave(0);
	memcpy(to, from, size);
	run_or_capture(stream_of(stream), &l);
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
	((struct event *)event)->captured = stream_of(stream)->captured;
	return leave(0);
}

/* A stream that waits for one that is captured is captured, too. */
EXPORT int hipStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
	ARGUMENTS(void *stream; void *event; unsigned int flags;) = {stream, event, flags};
	struct stream *s = stream_of(stream);
	struct event *e = event;

	enter(__func__, &traced, sizeof(traced));
	if (e->captured)
		s->captured = e->captured;
	else if (s->busy_until < e->ends)
		s->busy_until = e->ends;
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
	ARGUMENTS(void *stream; int mode;) = {stream, mode};
	struct stream *s = stream_of(stream);

	enter(__func__, &traced, sizeof(traced));
	s->captured = calloc(1, sizeof(*s->captured));
	return leave(s->captured ? 0 : HIP_INVALID_VALUE);
}

EXPORT int hipStreamEndCapture(void *stream, void **ret_graph)
{
	ARGUMENTS(void *stream; void **ret_graph;) = {stream, ret_graph};
	struct stream *s = stream_of(stream);

	enter(__func__, &traced, sizeof(traced));
	*ret_graph = s->captured;
	s->captured = NULL;
	return leave(0);
}

EXPORT int hipGraphCreate(void **ret, unsigned int flags)
{
	ARGUMENTS(void **ret; unsigned int flags;) = {ret, flags};

	enter(__func__, &traced, sizeof(traced));
	*ret = calloc(1, sizeof(struct graph));
	return leave(*ret ? 0 : HIP_INVALID_VALUE);
}

EXPORT int hipGraphAddKernelNode(
	void **ret, void *graph, void *const *on, size_t count, const struct hip_kernel_node *node)
{
	ARGUMENTS(void **ret; void *graph; void *const *on; size_t count;
		  const struct hip_kernel_node *node;) = {ret, graph, on, count, node};
	const struct launch l = {.kernel = kernel_of(node->function),
		.groups = {node->grid.x, node->grid.y, node->grid.z},
		.workgroup = {node->block.x, node->block.y, node->block.z},
		.shared = node->shared};
	struct graph *g = graph;

	enter(__func__, &traced, sizeof(traced));
	if (!l.kernel)
		return leave(HIP_INVALID_VALUE);
	add_launch(g, &l);
	*ret = &g->launches[g->count - 1];
	return leave(0);
}

EXPORT int hipGraphInstantiate(void **ret, void *graph, void *node, char *log, size_t log_size)
{
	ARGUMENTS(void **ret; void *graph; void *node; char *log; size_t log_size;) = {
		ret, graph, node, log, log_size};

	enter(__func__, &traced, sizeof(traced));
	*ret = malloc(sizeof(struct graph));
	if (*ret)
		memcpy(*ret, graph, sizeof(struct graph));
	return leave(*ret ? 0 : HIP_INVALID_VALUE);
}

/* From now on the node, which is one of the graph that it was made from, is not executed. */
EXPORT int hipGraphNodeSetEnabled(void *exec, void *node, unsigned int enabled)
{
	ARGUMENTS(void *exec; void *node; unsigned int enabled;) = {exec, node, enabled};
	struct graph *g = exec;

	enter(__func__, &traced, sizeof(traced));
	g->count--;
	memmove(&g->launches[0], &g->launches[1], g->count * sizeof(g->launches[0]));
	return leave(0);
}

static int destroy(const char *name, void *graph)
{
	ARGUMENTS(void *graph;) = {graph};

	enter(name, &traced, sizeof(traced));
	free(graph);
	return leave(0);
}

EXPORT int hipGraphDestroy(void *graph)
{
	return destroy(__func__, graph);
}

EXPORT int hipGraphExecDestroy(void *exec)
{
	return destroy(__func__, exec);
}

EXPORT int hipGraphLaunch(void *graph, void *stream)
{
	ARGUMENTS(void *graph; void *stream;) = {graph, stream};
	struct graph *g = graph;

	enter(__func__, &traced, sizeof(traced));
	for (size_t n = 0; n < g->count; n++)
		run_launch(stream_of(stream), &g->launches[n]);
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

/* Code objects of the program's; another module is NULL. */
static void *make_module(const void *image, size_t size, const char *path)
{
	struct sim_amd_code *code = malloc(sizeof(*code));

	if (!code)
		abort();
	*code = (struct sim_amd_code){image, size, path};
	return code;
}

EXPORT int hipModuleLoadData(void **ret, const void *image)
{
	char text[NAME_BYTES * 8], *rest, *name;
	const Elf64_Ehdr *h = image;

	begin();
	*ret = NULL;
	if (!memcmp(image, ELFMAG, SELFMAG)) {
		/* the table of sections is at its end */
		*ret = make_module(image, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, NULL);
		return 0;
	}
	snprintf(text, sizeof(text), "%s", (const char *)image);
	for (name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		make_kernel(name, NULL);
	return 0;
}

EXPORT int hipModuleLoad(void **ret, const char *path)
{
	FILE *file = fopen(path, "rb");
	long size = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
	void *image = size > 0 ? malloc((size_t)size) : NULL;

	begin();
	if (!image || fseek(file, 0, SEEK_SET) || fread(image, (size_t)size, 1, file) != 1)
		return HIP_NOT_FOUND;
	fclose(file);
	*ret = make_module(image, (size_t)size, strdup(path));
	return 0;
}

static int find_function(void **ret, void *module, const char *name)
{
	for (uint64_t n = kernel_count; n; n--)
		if (!strcmp(kernels[n - 1].name, name)) {
			*ret = &kernels[n - 1];
			return 0;
		}
	if (!module)
		return HIP_NOT_FOUND;
	*ret = make_kernel(name, module);
	return 0;
}

EXPORT int hipModuleGetFunction(void **ret, void *module, const char *name)
{
	ARGUMENTS(void **ret; void *module; const char *name;) = {ret, module, name};

	enter(__func__, &traced, sizeof(traced));
	return leave(find_function(ret, module, name));
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
	registered[registered_count].kernel = make_kernel(name, NULL);
	if (tracer.registered)
		tracer.registered(registered[registered_count].kernel->id, name, function);
	registered_count++;
}
