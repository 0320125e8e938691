// SPDX-License-Identifier: MIT
/*
 * An OpenCL driver that lies, and a program that uses it through our layer: no loader and no OpenCL
 * are needed. Its commands end at once, unless it says otherwise. The first argument says what is
 * wrong, the second how many kernels are launched (1,000); the sum of their times is printed.
 *
 *	monotonic, raw, realtime	nothing: times of one of the system's clocks
 *	counter		nothing: a clock of its own, that cannot be asked
 *	timer		nothing: a clock of its own, that can
 *	zero		all times are 0
 *	reversed	work ends before it begins
 *	early		it begins a second before it is asked for
 *	late		it ends in an hour
 *	huge		times of 2^63 and more
 *	jump		the clock is set in the middle
 *	refused		events have no times
 *	failed		commands fail when they run
 *	never		no command ends
 *	queues		each kernel in a queue of its own, all of which stay
 *	kernels		each kernel is another, of the same few names
 *	platforms	nothing: two platforms, of which each has a device with a clock of its own, and the second
 *			one has a part of its device, too; kernels go to the three by turns
 *	cuda-first, cuda-last	nothing, and CUDA is used, too, before or afterwards: ten kernels
 *	cost		prints the nanoseconds of this thread that a launch takes, directly and through the layer
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"
#include "inject/opencl/abi.h"

#define WORK_NS 100
#define EVENTS	(1 << 18)

/* Handles. */
#define PLATFORM     ((void *)16)
#define CONTEXT	     ((void *)32)
#define DEVICE	     ((void *)48)
#define OTHER_DEVICE ((void *)64) /* with a clock of its own, of another platform */
#define PART	     ((void *)80) /* of that */

struct event {
	int32_t references, status;
	void *queue;
	uint64_t times[4];
};

struct object {
	void *device;
	uint64_t properties;
	char name[32];
};

static struct event *events;
static uint64_t event_count, sum_ns, launched;
static const char *lie;
static void *table[OPENCL_ENTRIES];
static void *const *layer;

static bool is(const char *what)
{
	return !strcmp(lie, what);
}

static uint64_t clock_now(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static uint64_t device_now(const void *device)
{
	if (device == OTHER_DEVICE || device == PART)
		return clock_now(CLOCK_MONOTONIC) + 987654321098765ull;
	if (is("raw"))
		return clock_now(CLOCK_MONOTONIC_RAW);
	if (is("realtime"))
		return clock_now(CLOCK_REALTIME);
	if (is("counter") || is("timer"))
		return clock_now(CLOCK_MONOTONIC) + 123456789012345ull;
	if (is("jump") && launched > 500)
		return clock_now(CLOCK_MONOTONIC) + 10000000000ull;
	return clock_now(CLOCK_MONOTONIC);
}

static int32_t answer(const void *from, size_t have, size_t size, void *value, size_t *ret_size)
{
	if (value && size < have)
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, from, have);
	if (ret_size)
		*ret_size = have;
	return 0;
}

static int32_t device_info(void *device, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const uint64_t profiling = OPENCL_QUEUE_PROFILING;
	void *const platform = device == DEVICE ? PLATFORM : OTHER_DEVICE;

	if (what == OPENCL_DEVICE_NAME)
		return answer(device == DEVICE ? "Liar" : "Other", 6, size, value, ret_size);
	if (what == OPENCL_DEVICE_PARENT_DEVICE && device == PART)
		return answer(&(void *){OTHER_DEVICE}, sizeof(void *), size, value, ret_size);
	if (what == OPENCL_DEVICE_QUEUE_PROPERTIES)
		return answer(&profiling, sizeof(profiling), size, value, ret_size);
	if (what == OPENCL_DEVICE_PLATFORM)
		return answer(&platform, sizeof(platform), size, value, ret_size);
	return OPENCL_INVALID_VALUE;
}

static int32_t platform_info(void *p, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	return answer(p == PLATFORM ? "liar" : "else", 5, size, value, ret_size);
}

static int32_t queue_info(void *queue, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	return answer(&((struct object *)queue)->properties, 8, size, value, ret_size);
}

static int32_t kernel_info(void *kernel, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const char *name = ((struct object *)kernel)->name;

	return answer(name, strlen(name) + 1, size, value, ret_size);
}

static int32_t no_info(void *object, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	return OPENCL_INVALID_VALUE;
}

static void *create_queue(void *context, void *device, uint64_t properties, int32_t *error)
{
	struct object *o = calloc(1, sizeof(*o));

	o->device = device;
	o->properties = properties;
	return o;
}

static void *create_kernel(void *program, const char *name, int32_t *error)
{
	struct object *o = calloc(1, sizeof(*o));

	snprintf(o->name, sizeof(o->name), "%s", name);
	return o;
}

static void make_times(struct event *e)
{
	uint64_t now = device_now(((struct object *)e->queue)->device);

	for (int n = 0; n < 4; n++)
		e->times[n] = now;
	e->times[3] += WORK_NS;
	if (is("zero"))
		memset(e->times, 0, sizeof(e->times));
	else if (is("reversed"))
		e->times[3] = e->times[2] - 5;
	else if (is("early"))
		e->times[2] -= 1000000000ull;
	else if (is("late"))
		e->times[3] += 3600 * 1000000000ull;
	else if (is("huge"))
		e->times[2] = (1ull << 63) + 5, e->times[3] = UINT64_MAX;
	sum_ns += e->times[3] - e->times[2];
}

static int32_t launch(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local, WAITS_AND_EVENT)
{
	struct event *e = &events[event_count++ % EVENTS];

	if (!event)
		return 0;
	*e = (struct event){.references = 1, .status = is("never") ? 2 : 0, .queue = queue};
	if (is("failed"))
		e->status = -5;
	make_times(e);
	*event = e;
	return 0;
}

static int32_t event_info(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct event *e = event;

	if (what == OPENCL_EVENT_COMMAND_QUEUE)
		return answer(&e->queue, sizeof(e->queue), size, value, ret_size);
	if (what == OPENCL_EVENT_EXECUTION_STATUS)
		return answer(&e->status, sizeof(e->status), size, value, ret_size);
	return answer(&e->references, sizeof(e->references), size, value, ret_size);
}

static int32_t event_times(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	if (is("refused"))
		return OPENCL_PROFILING_INFO_NOT_AVAILABLE;
	return answer(&((struct event *)event)->times[what - OPENCL_PROFILING_QUEUED], 8, size,
		value, ret_size);
}

static int32_t retain_event(void *event)
{
	__atomic_fetch_add(&((struct event *)event)->references, 1, __ATOMIC_RELAXED);
	return 0;
}

static int32_t release_event(void *event)
{
	__atomic_fetch_sub(&((struct event *)event)->references, 1, __ATOMIC_RELAXED);
	return 0;
}

static int32_t nothing(void *object)
{
	return 0;
}

static int32_t timer(void *device, uint64_t *device_ns, uint64_t *host_ns)
{
	if (!is("timer"))
		return -59;
	*device_ns = device_now(device);
	*host_ns = 1;
	return 0;
}

static void make_table(void)
{
	table[OPENCL_AT_clGetDeviceInfo] = device_info;
	table[OPENCL_AT_clGetPlatformInfo] = platform_info;
	table[OPENCL_AT_clGetCommandQueueInfo] = queue_info;
	table[OPENCL_AT_clGetKernelInfo] = kernel_info;
	table[OPENCL_AT_clGetImageInfo] = no_info;
	table[OPENCL_AT_clGetMemObjectInfo] = no_info;
	table[OPENCL_AT_clGetEventInfo] = event_info;
	table[OPENCL_AT_clGetEventProfilingInfo] = event_times;
	table[OPENCL_AT_clRetainEvent] = retain_event;
	table[OPENCL_AT_clReleaseEvent] = release_event;
	table[OPENCL_AT_clReleaseCommandQueue] = nothing;
	table[OPENCL_AT_clCreateCommandQueue] = create_queue;
	table[OPENCL_AT_clCreateKernel] = create_kernel;
	table[OPENCL_AT_clEnqueueNDRangeKernel] = launch;
	table[OPENCL_AT_clFinish] = nothing;
	table[OPENCL_AT_clGetDeviceAndHostTimer] = timer;
}

/* As the loader does it. */
static void load_layer(void)
{
	const char *path = getenv("OPENCL_LAYERS");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int32_t (*init)(uint32_t, void *const *, uint32_t *, void *const **);
	uint32_t count;

	make_table();
	layer = table;
	*(void **)&init = library ? dlsym(library, "clInitLayer") : NULL;
	if (init && init(OPENCL_ENTRIES, table, &count, &layer))
		exit(1);
}

static void *call_create_queue(void *device)
{
	void *(*make)(void *, void *, uint64_t, int32_t *);

	*(void **)&make = layer[OPENCL_AT_clCreateCommandQueue];
	return make(CONTEXT, device, 0, NULL);
}

static void *call_create_kernel(const char *name)
{
	void *(*make)(void *, const char *, int32_t *);

	*(void **)&make = layer[OPENCL_AT_clCreateKernel];
	return make(NULL, name, NULL);
}

static int32_t call_launch(void *const *functions, void *queue, void *kernel)
{
	int32_t (*call)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
		uint32_t, void *const *, void **);
	const size_t items = 64;

	*(void **)&call = functions[OPENCL_AT_clEnqueueNDRangeKernel];
	launched++;
	return call(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
}

static double cost(void *const *functions, void *queue, void *kernel)
{
	uint64_t best_ns = UINT64_MAX, begun_ns;

	for (int run = 0; run < 200; run++) {
		begun_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
		for (int n = 0; n < 1000; n++)
			call_launch(functions, queue, kernel);
		begun_ns = clock_now(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
		best_ns = begun_ns < best_ns ? begun_ns : best_ns;
		nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
	}
	return (double)best_ns / 1000;
}

static void use_cuda(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry axpy(.param .u64 a) { ret; }\n";
	struct driver d;
	CUcontext context;
	CUmodule module;
	CUfunction axpy;
	CUdeviceptr memory;
	CUdevice device;

	if (!driver_open(&d, "opencl_liar") || d.cuInit(0) || d.cuDeviceGet(&device, 0) ||
		d.cuDevicePrimaryCtxRetain(&context, device) || d.cuCtxSetCurrent(context) ||
		d.cuModuleLoadData(&module, ptx) || d.cuModuleGetFunction(&axpy, module, "axpy") ||
		d.cuMemAlloc_v2(&memory, 4096))
		exit(1);
	for (int n = 0; n < 10; n++) {
		void *parameters[] = {&memory};

		if (d.cuLaunchKernel(axpy, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL))
			exit(1);
	}
	if (d.cuCtxSynchronize())
		exit(1);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"one", "two", "three"};
	void *const on[] = {DEVICE, OTHER_DEVICE, PART};
	int count = argc > 2 ? atoi(argv[2]) : 1000;
	void *queues[3], *queue, *kernel;

	lie = argc > 1 ? argv[1] : "monotonic";
	events = calloc(EVENTS, sizeof(*events));
	if (is("cuda-first"))
		use_cuda();
	load_layer();
	for (int n = 0; n < 3; n++)
		queues[n] = call_create_queue(is("platforms") ? on[n] : DEVICE);
	queue = queues[0];
	kernel = call_create_kernel("kernel");
	if (is("cost")) {
		printf("%.0f %.0f\n", cost(table, queue, kernel), cost(layer, queue, kernel));
		return 0;
	}
	for (int n = 0; n < count; n++) {
		if (is("queues"))
			queue = call_create_queue(DEVICE);
		if (is("platforms"))
			queue = queues[n % 3];
		if (is("kernels"))
			kernel = call_create_kernel(names[n % 3]);
		call_launch(layer, queue, kernel);
		if (n % 2000 == 1999) /* slower than what is written is read */
			nanosleep(&(struct timespec){.tv_nsec = 80000000}, NULL);
	}
	if (is("cuda-last"))
		use_cuda();
	printf("%llu\n", (unsigned long long)sum_ns);
	return 0;
}
