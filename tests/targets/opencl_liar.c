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
 *	backwards	each command has times a second before those of the one before it
 *	begun		a clock of its own, by which all work begins at 1 and ends in time
 *	timer-zero, timer-backwards, timer-huge, timer-random	a clock that can be asked, and answers so; times are
 *			right
 *	jump		the clock is set in the middle
 *	refused		events have no times
 *	failed		commands fail when they run
 *	never		no command ends
 *	slow		nothing: other threads than the program's wait long for each answer while the queue works;
 *			waits for it at the end
 *	waits		nothing: other threads are told that commands have not ended; waits for 100 kernels again and
 *			again, and prints how often in each way, then how often all times had been read then by
 *			the thread that waited: after clFinish, a read that blocks, and a wait for the latest
 *			event, and how often any had after a wait for one in the middle
 *	queues		each kernel in a queue of its own, all of which stay
 *	kernels		each kernel is another, of the same few names
 *	platforms	nothing: two platforms, of which each has a device with a clock of its own, and the second
 *			one has a part of its device, too; kernels go to the three by turns
 *	extensions	nothing: on the same three, each command that is not in the loader's table and a queue that is
 *			made by a function that is not, of the platform of each; prints the queues' properties
 *	amd		nothing: it says that it is AMD's implementation, and hands each kernel to HSA, as that does
 *	cuda-first, cuda-last	nothing, and CUDA is used, too, before or afterwards: ten kernels
 *	cost		prints the nanoseconds of this thread that a launch takes, directly and through the layer
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "driver.h"
#include "opencl_amd.h"
#include "opencl_layers.h"

#define WORK_NS	     100
#define SUBMITTED_NS 10 /* after it was queued */
#define BEGUN_NS     30
#define EVENTS	     (1 << 18)
#define AT_ONCE	     500 /* launches */
#define SLOW_NS	     20000
#define ROUNDS	     30
#define OF_ROUND     100

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
static uint64_t read_here; /* events whose times this thread of the program's was told */
static uint32_t is_working, is_over;
static __thread bool is_program;
static void *table[OPENCL_ENTRIES];

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
	if (is("counter") || is("timer") || is("begun"))
		return clock_now(CLOCK_MONOTONIC) + 123456789012345ull;
	if (is("jump") && launched > 500)
		return clock_now(CLOCK_MONOTONIC) + 10000000000ull;
	return clock_now(CLOCK_MONOTONIC);
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
	static const char amd[] = "AMD Accelerated Parallel Processing";

	if (is("amd") && what == OPENCL_PLATFORM_NAME)
		return answer(amd, sizeof(amd), size, value, ret_size);
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

	e->times[0] = now;
	e->times[1] = now + SUBMITTED_NS;
	e->times[2] = now + BEGUN_NS;
	e->times[3] = now + BEGUN_NS + WORK_NS;
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
	else if (is("begun"))
		e->times[2] = 1;
	for (int n = 0; is("backwards") && n < 4; n++)
		e->times[n] -= launched * 1000000000ull;
	sum_ns += e->times[3] - e->times[2];
}

static int32_t add_command(void *queue, void **event)
{
	struct event *e = &events[event_count++ % EVENTS];

	__atomic_store_n(&is_working, 1, __ATOMIC_RELAXED);
	if (!event)
		return 0;
	*e = (struct event){.references = 1, .status = is("never") ? 2 : 0, .queue = queue};
	if (is("failed"))
		e->status = -5;
	make_times(e);
	*event = e;
	return 0;
}

static int32_t launch(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local, WAITS_AND_EVENT)
{
	if (is("amd"))
		under_dispatch();
	return add_command(queue, event);
}

static int32_t read_buffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
	void *to, WAITS_AND_EVENT)
{
	return add_command(queue, event);
}

static int32_t finish(void *queue)
{
	__atomic_store_n(&is_working, 0, __ATOMIC_RELAXED);
	return 0;
}

static void take_long(void)
{
	if (is("slow") && !is_program && __atomic_load_n(&is_working, __ATOMIC_RELAXED))
		nanosleep(&(struct timespec){.tv_nsec = SLOW_NS}, NULL);
}

static int32_t status_of(const struct event *e)
{
	if (is("waits") && !is_program && !__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
		return 2;
	return e->status;
}

static int32_t event_info(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct event *e = event;
	int32_t status = status_of(e);

	take_long();
	if (what == OPENCL_EVENT_COMMAND_QUEUE)
		return answer(&e->queue, sizeof(e->queue), size, value, ret_size);
	if (what == OPENCL_EVENT_EXECUTION_STATUS)
		return answer(&status, sizeof(status), size, value, ret_size);
	return answer(&e->references, sizeof(e->references), size, value, ret_size);
}

static int32_t event_times(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	if (is("refused"))
		return OPENCL_PROFILING_INFO_NOT_AVAILABLE;
	take_long();
	read_here += is_program && what == OPENCL_PROFILING_QUEUED;
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

/* --- functions that are not in the table: each platform has its own, for nobody else's queues */

static int32_t launch_for(const void *platform, void *queue, void **event)
{
	const struct object *q = queue;

	if ((q->device == DEVICE) != (platform == PLATFORM))
		exit(3);
	return add_command(queue, event);
}

#define COMMAND(name, parameters, arguments)                                                       \
	static int32_t liars_##name(OPENCL_UNPACK parameters, WAITS_AND_EVENT)                     \
	{                                                                                          \
		return launch_for(PLATFORM, queue, event);                                         \
	}                                                                                          \
	static int32_t others_##name(OPENCL_UNPACK parameters, WAITS_AND_EVENT)                    \
	{                                                                                          \
		return launch_for(OTHER_DEVICE, queue, event);                                     \
	}
OPENCL_EXTENSION_COMMANDS(COMMAND)
#undef COMMAND

static void *make_queue_for(
	const void *platform, void *context, void *device, const uint64_t *properties)
{
	uint64_t bits = 0;

	if ((device == DEVICE) != (platform == PLATFORM))
		exit(3);
	for (; properties && properties[0]; properties += 2)
		if (properties[0] == OPENCL_QUEUE_PROPERTIES)
			bits = properties[1];
	return create_queue(context, device, bits, NULL);
}

static void *liars_clCreateCommandQueueWithPropertiesKHR(
	void *context, void *device, const uint64_t *properties, int32_t *error)
{
	return make_queue_for(PLATFORM, context, device, properties);
}

static void *others_clCreateCommandQueueWithPropertiesKHR(
	void *context, void *device, const uint64_t *properties, int32_t *error)
{
	return make_queue_for(OTHER_DEVICE, context, device, properties);
}

static void *address_of(void *platform, const char *name)
{
#define COMMAND(name, parameters, arguments) {#name, (void *)liars_##name, (void *)others_##name},
	static const struct {
		const char *name;
		void *liars, *others;
	} all[] = {OPENCL_EXTENSION_COMMANDS(COMMAND)
			COMMAND(clCreateCommandQueueWithPropertiesKHR, , )};
#undef COMMAND

	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(all[n].name, name))
			return platform == PLATFORM ? all[n].liars : all[n].others;
	return NULL;
}

static int32_t wait_for_events(uint32_t count, void *const *waited)
{
	return 0;
}

static int32_t timer(void *device, uint64_t *device_ns, uint64_t *host_ns)
{
	static uint64_t asked;

	if (strncmp(lie, "timer", 5))
		return -59;
	*host_ns = 1;
	*device_ns = is("timer-zero")	     ? 0
		     : is("timer-huge")	     ? (1ull << 63) + 5
		     : is("timer-random")    ? ++asked * 0x9e3779b97f4a7c15ull
		     : is("timer-backwards") ? device_now(device) - ++asked * 1000000000ull
					     : device_now(device);
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
	table[OPENCL_AT_clEnqueueReadBuffer] = read_buffer;
	table[OPENCL_AT_clFinish] = finish;
	table[OPENCL_AT_clWaitForEvents] = wait_for_events;
	table[OPENCL_AT_clGetDeviceAndHostTimer] = timer;
	table[OPENCL_AT_clGetExtensionFunctionAddressForPlatform] = address_of;
}

static void *call_create_queue(void *device)
{
	void *(*make)(void *, void *, uint64_t, int32_t *);

	*(void **)&make = layers[OPENCL_AT_clCreateCommandQueue];
	return make(CONTEXT, device, 0, NULL);
}

static void *call_create_kernel(const char *name)
{
	void *(*make)(void *, const char *, int32_t *);

	*(void **)&make = layers[OPENCL_AT_clCreateKernel];
	return make(NULL, name, NULL);
}

static int32_t call_launch(void *const *functions, void *queue, void *kernel, void **event)
{
	int32_t (*call)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
		uint32_t, void *const *, void **);
	const size_t items = 64;

	*(void **)&call = functions[OPENCL_AT_clEnqueueNDRangeKernel];
	launched++;
	return call(queue, kernel, 1, NULL, &items, &items, 0, NULL, event);
}

static int32_t call_read(void *queue)
{
	__typeof__(read_buffer) *call;
	char to[16];

	*(void **)&call = layers[OPENCL_AT_clEnqueueReadBuffer];
	return call(queue, NULL, true, 0, sizeof(to), to, 0, NULL, NULL);
}

static int32_t call_finish(void *queue)
{
	int32_t (*call)(void *);

	*(void **)&call = layers[OPENCL_AT_clFinish];
	return call(queue);
}

static int32_t call_wait(void *event)
{
	__typeof__(wait_for_events) *call;

	*(void **)&call = layers[OPENCL_AT_clWaitForEvents];
	return call(1, &event);
}

static void *find(void *platform, const char *name)
{
	void *(*address)(void *, const char *);

	*(void **)&address = layers[OPENCL_AT_clGetExtensionFunctionAddressForPlatform];
	return address(platform, name);
}

/* All are asked for before any is called. */
static int use_extensions(void)
{
	void *const on[] = {DEVICE, OTHER_DEVICE, PART};
	__typeof__(liars_clEnqueueMemcpyINTEL) *copy[3];
	__typeof__(liars_clEnqueueMemFillINTEL) *fill[3];
	__typeof__(liars_clEnqueueMemsetINTEL) *set[3];
	__typeof__(liars_clEnqueueMigrateMemINTEL) *migrate[3];
	__typeof__(liars_clCreateCommandQueueWithPropertiesKHR) *make[3];
	char memory[1000];

	for (int n = 0; n < 3; n++) {
		void *platform = on[n] == DEVICE ? PLATFORM : OTHER_DEVICE;

		*(void **)&copy[n] = find(platform, "clEnqueueMemcpyINTEL");
		*(void **)&fill[n] = find(platform, "clEnqueueMemFillINTEL");
		*(void **)&set[n] = find(platform, "clEnqueueMemsetINTEL");
		*(void **)&migrate[n] = find(platform, "clEnqueueMigrateMemINTEL");
		*(void **)&make[n] = find(platform, "clCreateCommandQueueWithPropertiesKHR");
	}
	for (int n = 0; n < 3; n++) {
		void *queue = call_create_queue(on[n]), *made = make[n](CONTEXT, on[n], NULL, NULL);
		__typeof__(queue_info) *ask;
		uint64_t properties = 99;

		copy[n](queue, 1, memory, memory + 500, 500, 0, NULL, NULL);
		fill[n](queue, memory, memory, 1, 100, 0, NULL, NULL);
		set[n](queue, memory, 0, 10, 0, NULL, NULL);
		migrate[n](queue, memory, 7, 0, 0, NULL, NULL);
		set[n](made, memory, 0, 1000, 0, NULL, NULL);
		*(void **)&ask = layers[OPENCL_AT_clGetCommandQueueInfo];
		ask(made, OPENCL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
		printf("%llu\n", (unsigned long long)properties);
	}
	return 0;
}

/* 1: all times that there are have been read by this thread then. */
static int finish_all(void *queue, void *const launched_events[])
{
	call_finish(queue);
	return read_here == event_count;
}

static int read_at_end(void *queue, void *const launched_events[])
{
	call_read(queue);
	return read_here == event_count;
}

static int wait_for_latest(void *queue, void *const launched_events[])
{
	call_wait(launched_events[OF_ROUND - 1]);
	return read_here == event_count;
}

/* 1: any has. */
static int wait_for_middle(void *queue, void *const launched_events[])
{
	uint64_t before = read_here;
	int any;

	call_wait(launched_events[OF_ROUND / 2]);
	any = read_here != before;
	call_finish(queue);
	return any;
}

/* A round that our thread happens to be in the way of, is one of those that are not counted. */
static int use_waits(void *queue, void *kernel)
{
	int (*const ways[])(void *, void *const[]) = {
		finish_all, read_at_end, wait_for_latest, wait_for_middle};
	int32_t (*release)(void *);
	void *made[OF_ROUND];

	*(void **)&release = layers[OPENCL_AT_clReleaseEvent];
	printf("%d", ROUNDS);
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		int count = 0;

		for (int round = 0; round < ROUNDS; round++) {
			for (int n = 0; n < OF_ROUND; n++)
				call_launch(layers, queue, kernel, &made[n]);
			count += ways[way](queue, made);
			for (int n = 0; n < OF_ROUND; n++)
				release(made[n]);
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		}
		printf(" %d", count);
	}
	printf("\n");
	__atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static double cost(void *const *functions, void *queue, void *kernel)
{
	uint64_t best_ns = UINT64_MAX, begun_ns;

	for (int run = 0; run < 200; run++) {
		begun_ns = clock_now(CLOCK_THREAD_CPUTIME_ID);
		for (int n = 0; n < 1000; n++)
			call_launch(functions, queue, kernel, NULL);
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
	is_program = true;
	events = calloc(EVENTS, sizeof(*events));
	if (is("cuda-first"))
		use_cuda();
	if (is("amd"))
		under_open();
	make_table();
	load_layers(table);
	if (is("extensions"))
		return use_extensions();
	for (int n = 0; n < 3; n++)
		queues[n] = call_create_queue(is("platforms") ? on[n] : DEVICE);
	queue = queues[0];
	kernel = call_create_kernel("kernel");
	if (is("cost")) {
		printf("%.0f %.0f\n", cost(table, queue, kernel), cost(layers, queue, kernel));
		return 0;
	}
	if (is("waits"))
		return use_waits(queue, kernel);
	for (int n = 0; n < count; n++) {
		if (is("queues"))
			queue = call_create_queue(DEVICE);
		if (is("platforms"))
			queue = queues[n % 3];
		if (is("kernels"))
			kernel = call_create_kernel(names[n % 3]);
		call_launch(layers, queue, kernel, NULL);
		if (n % AT_ONCE == AT_ONCE - 1) /* slower than what is written is read */
			nanosleep(&(struct timespec){.tv_nsec = AT_ONCE * 40000}, NULL);
	}
	if (is("slow"))
		call_finish(queue);
	if (is("cuda-last"))
		use_cuda();
	printf("%llu\n", (unsigned long long)sum_ns);
	return 0;
}
