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
 *	recorded	appends to a list that is recorded, which is no work by itself
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void begin(void)
{
	uint32_t one = 1;

	check("zeInit", zeInit(0));
	check("driver", zeDriverGet(&one, &driver));
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

static int recorded(void)
{
	void *kernel = make_kernel("later"), *other;

	check("list", zeCommandListCreate(context, device, NULL, &other));
	launch(other, kernel, 1, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "truth";

	begin();
	if (!strcmp(what, "truth"))
		return truth();
	if (!strcmp(what, "events"))
		return use_events();
	if (!strcmp(what, "contexts"))
		return contexts(argc > 2 ? atoi(argv[2]) : 50);
	if (!strcmp(what, "pieces"))
		return pieces(argc > 2 ? atoi(argv[2]) : 1000);
	if (!strcmp(what, "recorded"))
		return recorded();
	fprintf(stderr, "what is '%s'?\n", what);
	return 2;
}
