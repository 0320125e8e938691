// SPDX-License-Identifier: MIT
/*
 * A program that uses Level Zero, linked with its loader. The first argument says what it does:
 *
 *	truth		launches two kernels from two functions, with and without events of its own, copies and
 *			fills; prints "NAME COUNT NANOSECONDS", as the simulated device takes
 *	events		uses one event again and again, with what it may do between: sees its state and times, as
 *			it would alone, and prints them
 *	contexts [COUNT]	makes, uses and destroys contexts with all that is in them; prints how many
 *	pieces COUNT	launches so many, and waits now and then
 *	long SECONDS	launches so long, with a wait now and then; prints how often
 *	drivers COUNT	the same as pieces, begun by zeInitDrivers
 *	open		appends to a list that is recorded and never executed, which is no work by itself
 *	recorded	executes lists again and again, with fences, events and what else may tell that they are over;
 *			prints "NAME COUNT NANOSECONDS"
 *	overrun COUNT	executes a list so often without a wait
 *	lists COUNT	makes so many lists, queues, fences and kernels, and destroys them
 *	queues COUNT	makes so many queues of the last device, which all stay, and executes a list in each
 *	kernels COUNT	makes so many kernels of three names, which all stay, and launches each
 *	fork		launches; a forked child makes a list of its own and launches there, waits, and prints how
 *			that went; the parent launches on
 *	appended	appends recorded lists to an immediate one
 *	twice		executes a list twice in one call, in both ways
 *	parameters	appends lists, copies and fills by the calls that have parameters, whose events are as without
 *			us; prints their state, and "NAME COUNT NANOSECONDS"
 *	unawaited	appends a recorded list again and again without a wait, and launches a longer kernel beside it; prints
 *			"NAME COUNT NANOSECONDS" of that
 *	copies		copies of all kinds
 *	reset		resets an event of a recorded list in that list, and uses one twice
 *	devices		launches on all devices and parts of all drivers; prints how many these are
 *	cost COUNT	prints the nanoseconds of this thread that an append takes; `traced`: so too with a tracer of
 *			its own that does nothing; `timed`: and with events of its own
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "levelzero.h"

#define STEP __attribute__((noinline, used))

static void *driver, *device, *context, *list;

static void check(const char *what, int32_t result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %#x\n", what, (unsigned int)result);
	exit(1);
}

/* Loaders before 1.10 have no such call. */
#pragma weak zeInitDrivers
int32_t zeInitDrivers(uint32_t *count, void **drivers, void *desc);

static void begin(bool by_drivers)
{
	uint32_t one = 1;

	if (by_drivers && zeInitDrivers) {
		check("zeInitDrivers", zeInitDrivers(&one, &driver, NULL));
	} else {
		check("zeInit", zeInit(0));
		check("driver", zeDriverGet(&one, &driver));
	}
	check("device", zeDeviceGet(driver, &one, &device));
	check("context", zeContextCreate(driver, NULL, &context));
	check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
}

static void *make_kernel(const char *name)
{
	const struct levelzero_kernel_desc desc = {.stype = 0x1d, .name = name};
	void *kernel;

	check("kernel", zeKernelCreate(NULL, &desc, &kernel));
	check("group size", zeKernelSetGroupSize(kernel, 64, 2, 1));
	return kernel;
}

static void *make_pool(void)
{
	const struct levelzero_event_pool_desc desc = {
		.stype = LEVELZERO_IS_EVENT_POOL_DESC, .count = 8};
	void *pool;

	check("pool", zeEventPoolCreate(context, &desc, 0, NULL, &pool));
	return pool;
}

static void *make_event(void *pool)
{
	const struct levelzero_event_desc desc = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *event;

	check("event", zeEventCreate(pool, &desc, &event));
	return event;
}

static int launch(void *to, void *kernel, uint32_t groups, void *event)
{
	const struct levelzero_group_count count = {{groups, 1, 1}};

	check("launch", zeCommandListAppendLaunchKernel(to, kernel, &count, event, 0, NULL));
	return 1;
}

STEP static int launch_large(void *kernel, void *event)
{
	return launch(list, kernel, 100, event) + 1;
}

STEP static int launch_small(void *kernel, void *event)
{
	return launch(list, kernel, 1, event) + 2;
}

STEP static int copy_something(void)
{
	static char from[40960], to[40960];
	const int zero = 0;

	check("copy", zeCommandListAppendMemoryCopy(list, to, from, sizeof(to), NULL, 0, NULL));
	check("fill",
		zeCommandListAppendMemoryFill(list, to, &zero, sizeof(zero), 8192, NULL, 0, NULL));
	return 1;
}

/* Loaders before 1.9 have no such call. */
#pragma weak zeCommandListHostSynchronize

STEP static int wait_for_list(void)
{
	if (!zeCommandListHostSynchronize) {
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		return 0;
	}
	check("wait", zeCommandListHostSynchronize(list, UINT64_MAX));
	return 1;
}

static unsigned long long ns_of(uint64_t amount)
{
	return SIM_LEVELZERO_CYCLES(amount) * 1000000000ull / SIM_LEVELZERO_HZ;
}

/* The timer of the simulated device wraps meanwhile. */
STEP static int truth(void)
{
	enum { COUNT = 100 };
	void *large = make_kernel("large"), *small = make_kernel("small");
	void *event = make_event(make_pool());

	for (int n = 0; n < COUNT; n++) {
		launch_large(large, n % 2 ? NULL : event);
		launch_small(small, NULL);
		copy_something();
		wait_for_list();
		if (n % 2)
			check("reset", zeEventHostReset(event));
	}
	printf("copy %d %llu\n", COUNT, COUNT * ns_of(10));
	printf("large %d %llu\n", COUNT, COUNT * ns_of(100));
	printf("set %d %llu\n", COUNT, COUNT * ns_of(2));
	printf("small %d %llu\n", COUNT, COUNT * ns_of(1));
	return 0;
}

static int use_events(void)
{
	void *kernel = make_kernel("again"), *pool = make_pool(), *event = make_event(pool);
	struct levelzero_timestamps times;

	for (int n = 0; n < 20; n++) {
		launch(list, kernel, 10, event);
		if (n % 2) /* it is signalled since the last time */
			wait_for_list();
		check("wait", zeEventHostSynchronize(event, UINT64_MAX));
		printf("%d", (int)zeEventQueryStatus(event));
		if (n % 2)
			check("reset", zeEventHostReset(event));
		printf("%d ", (int)zeEventQueryStatus(event));
	}
	printf("%d\n", (int)zeEventQueryKernelTimestamp(event, &times) == LEVELZERO_NOT_READY);
	launch(list, kernel, 10, event);
	wait_for_list();
	check("destroy", zeEventDestroy(event));
	check("destroy", zeEventPoolDestroy(pool));
	return 0;
}

static int contexts(int count)
{
	void *kernel = make_kernel("alone");

	for (int n = 0; n < count; n++) {
		check("context", zeContextCreate(driver, NULL, &context));
		check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
		launch(list, kernel, 1, NULL);
		wait_for_list();
		check("destroy", zeCommandListDestroy(list));
		check("destroy", zeContextDestroy(context));
	}
	printf("%d\n", count);
	return 0;
}

static int pieces(int count)
{
	void *kernel = make_kernel("one");

	for (int n = 0; n < count; n++) {
		launch(list, kernel, 0, NULL);
		if (n % 100 == 99)
			wait_for_list();
	}
	wait_for_list();
	return 0;
}

static int last_long(int seconds)
{
	void *kernel = make_kernel("one");
	time_t end = time(NULL) + seconds;
	int count = 0;

	for (; time(NULL) < end; count++) {
		launch(list, kernel, 0, NULL);
		if (count % 100 == 99)
			wait_for_list();
	}
	wait_for_list();
	printf("%d\n", count);
	return 0;
}

static void *make_list(void)
{
	void *made;

	check("list", zeCommandListCreate(context, device, NULL, &made));
	return made;
}

static void *make_queue(void)
{
	void *made;

	check("queue", zeCommandQueueCreate(context, device, NULL, &made));
	return made;
}

STEP static int record_large(void *to, void *kernel, void *event)
{
	return launch(to, kernel, 100, event) + 1;
}

STEP static int record_small(void *to, void *kernel, void *event)
{
	return launch(to, kernel, 1, event) + 2;
}

STEP static int execute(void *queue, void *one, void *fence)
{
	check("execute", zeCommandQueueExecuteCommandLists(queue, 1, &one, fence));
	return 3;
}

STEP static int execute_both(void *queue, void *one, void *other)
{
	void *both[] = {one, other};

	check("execute", zeCommandQueueExecuteCommandLists(queue, 2, both, NULL));
	return 4;
}

STEP static int wait_for_queue(void *queue)
{
	check("wait", zeCommandQueueSynchronize(queue, UINT64_MAX));
	return 1;
}

STEP static int wait_for_fence(void *fence)
{
	check("wait", zeFenceHostSynchronize(fence, UINT64_MAX));
	check("reset", zeFenceReset(fence));
	return 2;
}

/* Each of the two lists, in all the ways in which a program may learn that it is over. */
static int recorded(void)
{
	enum { ROUNDS = 50 };
	const struct levelzero_fence_desc desc = {.stype = LEVELZERO_IS_FENCE_DESC};
	void *large = make_kernel("large"), *small = make_kernel("small");
	void *one = make_list(), *other = make_list(), *queue = make_queue(),
	     *second = make_queue();
	void *event = make_event(make_pool()), *fence;

	check("fence", zeFenceCreate(queue, &desc, &fence));
	record_large(one, large, NULL);
	record_small(one, small, NULL);
	check("barrier", zeCommandListAppendBarrier(one, NULL, 0, NULL));
	record_small(other, small, event);
	check("close", zeCommandListClose(one));
	check("close", zeCommandListClose(other));
	for (int n = 0; n < ROUNDS; n++) {
		execute(queue, one, NULL);
		wait_for_queue(queue);
		execute(queue, one, fence);
		wait_for_fence(fence);
		execute(second, other, NULL);
		check("wait", zeEventHostSynchronize(event, UINT64_MAX));
		check("reset", zeEventHostReset(event));
		execute_both(second, one, other);
		wait_for_queue(second);
		check("reset", zeEventHostReset(event));
	}
	check("reset", zeCommandListReset(one));
	record_large(one, large, NULL);
	check("close", zeCommandListClose(one));
	execute(queue, one, NULL);
	wait_for_queue(queue);
	check("destroy", zeCommandListDestroy(one));
	check("destroy", zeFenceDestroy(fence));
	check("destroy", zeCommandQueueDestroy(queue));
	printf("large %d %llu\n", 3 * ROUNDS + 1, (3 * ROUNDS + 1) * ns_of(100));
	printf("small %d %llu\n", 5 * ROUNDS, 5 * ROUNDS * ns_of(1));
	return 0;
}

static int overrun(int count)
{
	void *kernel = make_kernel("again"), *one = make_list(), *queue = make_queue();

	launch(one, kernel, 100, NULL);
	launch(one, kernel, 100, NULL);
	check("close", zeCommandListClose(one));
	for (int n = 0; n < count; n++)
		execute(queue, one, NULL);
	wait_for_queue(queue);
	return 0;
}

static int many_lists(int count)
{
	const struct levelzero_fence_desc desc = {.stype = LEVELZERO_IS_FENCE_DESC};

	for (int n = 0; n < count; n++) {
		void *kernel = make_kernel("once"), *one = make_list(), *queue = make_queue(),
		     *fence;

		check("fence", zeFenceCreate(queue, &desc, &fence));
		launch(one, kernel, 0, NULL);
		check("close", zeCommandListClose(one));
		execute(queue, one, n % 2 ? fence : NULL);
		wait_for_queue(queue);
		check("destroy", zeFenceDestroy(fence));
		check("destroy", zeCommandQueueDestroy(queue));
		check("destroy", zeCommandListDestroy(one));
		check("destroy", zeKernelDestroy(kernel));
	}
	return 0;
}

/* On the last device. */
static int many_queues(int count)
{
	void *all[16], *one, *queue;
	uint32_t device_count = 16;

	check("devices", zeDeviceGet(driver, &device_count, all));
	device = all[device_count - 1];
	one = make_list();
	launch(one, make_kernel("everywhere"), 0, NULL);
	check("close", zeCommandListClose(one));
	for (int n = 0; n < count; n++) {
		queue = make_queue();
		execute(queue, one, NULL);
		wait_for_queue(queue);
	}
	return 0;
}

static int many_kernels(int count)
{
	static const char *const names[] = {"one", "three", "two"};

	for (int n = 0; n < count; n++) {
		launch(list, make_kernel(names[n % 3]), 0, NULL);
		if (n % 100 == 99)
			wait_for_list();
	}
	wait_for_list();
	return 0;
}

static int forks(void)
{
	void *kernel = make_kernel("forked"), *event = make_event(make_pool());
	int status = 1;
	pid_t child;

	launch(list, kernel, 1, NULL);
	wait_for_list();
	child = fork();
	if (!child) {
		check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
		launch(list, kernel, 1, event);
		launch(list, make_kernel("own"), 1, NULL);
		wait_for_list();
		printf("child: %d\n", (int)zeEventQueryStatus(event));
		check("reset", zeEventHostReset(event));
		check("destroy", zeCommandListDestroy(list));
		check("destroy", zeContextDestroy(context));
		exit(0);
	}
	waitpid(child, &status, 0);
	launch(list, kernel, 1, event);
	wait_for_list();
	printf("parent: %d\n", (int)zeEventQueryStatus(event));
	return status;
}

/* Loaders before 1.9 have no such call. */
#pragma weak zeCommandListImmediateAppendCommandListsExp

static int appended(void)
{
	void *kernel = make_kernel("appended"), *one = make_list();
	void *event = make_event(make_pool());

	record_small(one, kernel, NULL);
	check("close", zeCommandListClose(one));
	for (int n = 0; n < 20; n++) {
		check("append", zeCommandListImmediateAppendCommandListsExp(
					list, 1, &one, n % 2 ? event : NULL, 0, NULL));
		wait_for_list();
		printf("%d ", n % 2 ? (int)zeEventQueryStatus(event) : 0);
		if (n % 2)
			check("reset", zeEventHostReset(event));
	}
	printf("\n");
	return 0;
}

static int twice(void)
{
	enum { ROUNDS = 10 };
	void *one = make_list(), *other = make_list(), *queue = make_queue(), *both[] = {one, one};

	record_large(one, make_kernel("twice"), NULL);
	record_small(other, make_kernel("after"), NULL);
	check("close", zeCommandListClose(one));
	check("close", zeCommandListClose(other));
	for (int n = 0; n < ROUNDS; n++) {
		execute_both(queue, one, one);
		wait_for_queue(queue);
		execute(queue, one, NULL);
		wait_for_queue(queue);
		check("append",
			zeCommandListImmediateAppendCommandListsExp(list, 2, both, NULL, 0, NULL));
		check("append", zeCommandListImmediateAppendCommandListsExp(
					list, 1, &other, NULL, 0, NULL));
		wait_for_list();
	}
	printf("after %d %llu\n", ROUNDS, ROUNDS * ns_of(1));
	printf("twice %d %llu\n", 5 * ROUNDS, ROUNDS * ns_of(100));
	return 0;
}

/* Loaders before version 1.16 of the API have no such calls. */
#pragma weak zeCommandListImmediateAppendCommandListsWithParameters
#pragma weak zeCommandListAppendMemoryCopyWithParameters
#pragma weak zeCommandListAppendMemoryFillWithParameters

static int with_parameters(void)
{
	enum { ROUNDS = 10 };
	static char from[40960], to[40960];
	void *one = make_list(), *event = make_event(make_pool());
	const int zero = 0;

	record_large(one, make_kernel("appended"), NULL);
	check("close", zeCommandListClose(one));
	for (int n = 0; n < ROUNDS; n++) {
		check("append", zeCommandListImmediateAppendCommandListsWithParameters(
					list, 1, &one, NULL, n % 2 ? event : NULL, 0, NULL));
		check("copy", zeCommandListAppendMemoryCopyWithParameters(
				      list, to, from, sizeof(to), NULL, NULL, 0, NULL));
		check("fill", zeCommandListAppendMemoryFillWithParameters(
				      list, to, &zero, 4, 8192, NULL, NULL, 0, NULL));
		wait_for_list();
		printf("%d ", n % 2 ? (int)zeEventQueryStatus(event) : 0);
		if (n % 2)
			check("reset", zeEventHostReset(event));
	}
	printf("\nappended %d %llu\ncopy %d %llu\nset %d %llu\n", ROUNDS, ROUNDS * ns_of(100),
		ROUNDS, ROUNDS * ns_of(10), ROUNDS, ROUNDS * ns_of(2));
	return 0;
}

/* What of the recorded list is over late is not to be taken for what was launched meanwhile. */
static int unawaited(void)
{
	enum { TIMES = 4, GROUPS = 50000 };
	void *one = make_list(), *beside = list;

	launch(one, make_kernel("again"), GROUPS, NULL);
	check("close", zeCommandListClose(one));
	check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
	for (int n = 0; n < TIMES; n++)
		check("append",
			zeCommandListImmediateAppendCommandListsExp(list, 1, &one, NULL, 0, NULL));
	for (int n = 0; n < TIMES; n++)
		launch(beside, make_kernel("beside"), TIMES * GROUPS, NULL);
	wait_for_list();
	list = beside;
	wait_for_list();
	printf("beside %d %llu\n", TIMES, TIMES * ns_of(TIMES * GROUPS));
	return 0;
}

static void *allocate(uint32_t kind)
{
	const size_t size = 16 << 12;
	void *at;

	check("memory", kind == LEVELZERO_MEMORY_DEVICE
				? zeMemAllocDevice(context, NULL, size, 1, device, &at)
			: kind == LEVELZERO_MEMORY_HOST
				? zeMemAllocHost(context, NULL, size, 1, &at)
				: zeMemAllocShared(context, NULL, NULL, size, 1, device, &at));
	return at;
}

/* Each of its own size, by which it is known. */
static int copies(void)
{
	const struct levelzero_image_desc desc = {
		.stype = LEVELZERO_IS_IMAGE_DESC, .layout = 4, .width = 64, .height = 64};
	const struct levelzero_copy_region part = {.size = {100, 10, 0}},
					   of_image = {.size = {10, 10, 1}};
	void *on_device = allocate(LEVELZERO_MEMORY_DEVICE),
	     *other = allocate(LEVELZERO_MEMORY_DEVICE), *pinned = allocate(LEVELZERO_MEMORY_HOST),
	     *shared = allocate(LEVELZERO_MEMORY_SHARED), *pageable = calloc(16, 4096), *image;
	const int zero = 0;

	check("image", zeImageCreate(context, device, &desc, &image));
	check("copy", zeCommandListAppendMemoryCopy(list, on_device, pageable, 1, NULL, 0, NULL));
	check("copy", zeCommandListAppendMemoryCopy(list, on_device, pinned, 2, NULL, 0, NULL));
	check("copy", zeCommandListAppendMemoryCopy(list, pageable, on_device, 3, NULL, 0, NULL));
	check("copy", zeCommandListAppendMemoryCopy(list, other, on_device, 4, NULL, 0, NULL));
	check("copy", zeCommandListAppendMemoryCopy(list, shared, pinned, 5, NULL, 0, NULL));
	check("copy", zeCommandListAppendMemoryCopy(list, pinned, pageable, 6, NULL, 0, NULL));
	check("region", zeCommandListAppendMemoryCopyRegion(
				list, on_device, &part, 0, 0, pinned, &part, 0, 0, NULL, 0, NULL));
	check("image", zeCommandListAppendImageCopy(list, image, image, NULL, 0, NULL));
	check("image", zeCommandListAppendImageCopyToMemory(
			       list, pinned, image, &of_image, NULL, 0, NULL));
	check("image", zeCommandListAppendImageCopyFromMemory(
			       list, image, on_device, NULL, NULL, 0, NULL));
	check("fill", zeCommandListAppendMemoryFill(list, on_device, &zero, 4, 7, NULL, 0, NULL));
	wait_for_list();
	check("free", zeMemFree(context, other));
	check("copy", zeCommandListAppendMemoryCopy(list, pinned, other, 8, NULL, 0, NULL));
	wait_for_list();
	return 0;
}

/* What is reset by the list itself, or used twice in it, nobody can read in time. */
static int reset_in_list(void)
{
	void *pool = make_pool(), *event = make_event(pool), *twice = make_event(pool);
	void *one = make_list(), *queue = make_queue();

	launch(one, make_kernel("reset"), 1, event);
	check("reset", zeCommandListAppendEventReset(one, event));
	launch(one, make_kernel("first"), 1, twice);
	check("reset", zeCommandListAppendEventReset(one, twice));
	launch(one, make_kernel("second"), 10, twice);
	check("close", zeCommandListClose(one));
	for (int n = 0; n < 10; n++) {
		execute(queue, one, NULL);
		wait_for_queue(queue);
	}
	return 0;
}

static int launch_on(void *on, void *kernel)
{
	check("list", zeCommandListCreateImmediate(context, on, NULL, &list));
	for (int n = 0; n < 10; n++)
		launch(list, kernel, 10, NULL);
	wait_for_list();
	return 1;
}

static int devices(void)
{
	void *all[16], *parts[16], *drivers[4], *kernel = make_kernel("everywhere");
	uint32_t driver_count = 4;
	int count = 0;

	check("drivers", zeDriverGet(&driver_count, drivers));
	for (uint32_t n = 0; n < driver_count; n++) {
		uint32_t device_count = 16;

		check("context", zeContextCreate(drivers[n], NULL, &context));
		check("devices", zeDeviceGet(drivers[n], &device_count, all));
		for (uint32_t m = 0; m < device_count; m++) {
			uint32_t part_count = 16;

			count += launch_on(all[m], kernel);
			check("parts", zeDeviceGetSubDevices(all[m], &part_count, parts));
			for (uint32_t part = 0; part < part_count; part++)
				count += launch_on(parts[part], kernel);
		}
	}
	printf("%d\n", count);
	return 0;
}

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* In batches, so that there is room for each; the first ones make it. */
enum { BATCH = 200 };

static int cost_with(int count, void *events[])
{
	enum { FIRST = 10 };
	void *kernel = make_kernel("nothing");
	uint64_t spent_ns = 0;

	for (int n = 0; n < count / BATCH + FIRST; n++) {
		uint64_t begun_ns = thread_ns();

		for (int m = 0; m < BATCH; m++)
			launch(list, kernel, 0, events[m]);
		spent_ns += n < FIRST ? 0 : thread_ns() - begun_ns;
		wait_for_list();
		for (int m = 0; m < BATCH; m++)
			if (events[m])
				check("reset", zeEventHostReset(events[m]));
	}
	printf("%.1f\n", (double)spent_ns / (count / BATCH * BATCH));
	return 0;
}

static int cost(int count)
{
	void *none[BATCH] = {NULL};

	return cost_with(count, none);
}

static void do_nothing(void **arguments, int32_t result, void *user_data, void **instance)
{
}

int32_t zelTracerCommandListAppendLaunchKernelRegisterCallback(
	void *tracer, int when, levelzero_callback *callback);

/* A tracer of our own, that does nothing. */
static void trace_nothing(void)
{
	const struct levelzero_tracer_desc desc = {.stype = LEVELZERO_IS_TRACER_DESC};
	void *tracer;

	check("tracer", zelTracerCreate(&desc, &tracer));
	for (int when = LEVELZERO_PROLOGUE; when <= LEVELZERO_EPILOGUE; when++)
		check("callback", zelTracerCommandListAppendLaunchKernelRegisterCallback(
					  tracer, when, do_nothing));
	check("tracer", zelTracerSetEnabled(tracer, 1));
}

static int cost_traced(int count)
{
	trace_nothing();
	return cost(count);
}

/* And with events, whose times it could read. */
static int cost_events(int count)
{
	const struct levelzero_event_pool_desc desc = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE | LEVELZERO_POOL_TIMESTAMPS,
		.count = BATCH};
	struct levelzero_event_desc of_event = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *pool, *events[BATCH];

	check("pool", zeEventPoolCreate(context, &desc, 0, NULL, &pool));
	for (; of_event.index < BATCH; of_event.index++)
		check("event", zeEventCreate(pool, &of_event, &events[of_event.index]));
	trace_nothing();
	return cost_with(count, events);
}

static int open_list(void)
{
	launch(make_list(), make_kernel("later"), 1, NULL);
	return 0;
}

static int run(const char *what, int count)
{
	static const struct {
		const char *name;
		int (*of_count)(int count);
		int otherwise; /* so many */
		int (*alone)(void);
	} all[] = {
		{"truth", .alone = truth},
		{"events", .alone = use_events},
		{"contexts", contexts, 50},
		{"pieces", pieces, 1000},
		{"long", last_long, 5},
		{"drivers", pieces, 1000},
		{"open", .alone = open_list},
		{"recorded", .alone = recorded},
		{"overrun", overrun, 100},
		{"lists", many_lists, 1000},
		{"queues", many_queues, 1000},
		{"kernels", many_kernels, 1000},
		{"fork", .alone = forks},
		{"appended", .alone = appended},
		{"twice", .alone = twice},
		{"parameters", .alone = with_parameters},
		{"unawaited", .alone = unawaited},
		{"copies", .alone = copies},
		{"reset", .alone = reset_in_list},
		{"devices", .alone = devices},
		{"cost", cost, 20000},
		{"traced", cost_traced, 20000},
		{"timed", cost_events, 20000},
	};

	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(what, all[n].name))
			return all[n].alone ? all[n].alone()
					    : all[n].of_count(count ? count : all[n].otherwise);
	fprintf(stderr, "what is '%s'?\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "truth";

	begin(!strcmp(what, "drivers"));
	return run(what, argc > 2 ? atoi(argv[2]) : 0);
}
