// SPDX-License-Identifier: MIT
/*
 * A program that a real driver of Level Zero can run: it says all that has to be said. The first
 * argument says what it does, the second is the zebin that its kernels are in, "tiny" and "busy":
 *
 *	kernels		launches each from a function of its own, on an immediate list
 *	events		the same, with events of its own, whose times it reads itself
 *	recorded	executes a recorded list with both again and again, with fences and without
 *	copies		copies and fills memory, and checks what a copy engine can have done
 *	streamer	samples its GPU's instructions itself, and then launches; says whether it could
 *	devices		launches each on every device of the driver
 *	modules		makes and destroys the module again and again, and launches of each
 *	rounds		until SIGTERM: launches "busy" on the immediate list, executes a list that was recorded once, with
 *			"tiny", and one that is recorded anew, with "tiny"; prints "ready", how many rounds, and "done"
 *	kernels_anew	rounds, for each of which a kernel is made, of the same module
 *	patient		the same, while another thread waits for what never comes, three seconds at a time
 *
 * Prints "NAME COUNT NANOSECONDS" of its kernels, as the simulated command streamer takes them
 * (sim/xe/) or as its events say.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "levelzero.h"

#define STEP	 __attribute__((noinline, used))
#define FILE_MAX (1u << 20)

enum { TINY_GROUPS = 10, BUSY_GROUPS = 1000, COUNT = 40, BYTES = 65536 };

struct desc { /* of a context, a list, a queue, an allocation, with all that is not 0 */
	uint32_t stype;
	const void *next;
	uint32_t more[8];
};

static void *driver, *device, *context, *list;
static void *module, *tiny, *busy, *memory;
static uint8_t image[FILE_MAX];
static size_t image_size;

static void check(const char *what, int32_t result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %#x\n", what, (unsigned int)result);
	exit(1);
}

static void begin(const char *path)
{
	const struct desc of_context = {.stype = 0xd}, of_queue = {.stype = 0xe};
	FILE *f = fopen(path, "rb");
	uint32_t one = 1;

	image_size = f ? fread(image, 1, sizeof(image), f) : 0;
	check("image", image_size ? 0 : -1);
	fclose(f);
	check("zeInit", zeInit(0));
	check("driver", zeDriverGet(&one, &driver));
	check("device", zeDeviceGet(driver, &one, &device));
	check("context", zeContextCreate(driver, &of_context, &context));
	check("list", zeCommandListCreateImmediate(context, device, &of_queue, &list));
}

static void *allocate(uint32_t stype)
{
	const struct desc desc = {.stype = stype};
	void *at;

	if (stype == 0x15)
		check("memory", zeMemAllocDevice(context, &desc, BYTES, 64, device, &at));
	else
		check("memory", zeMemAllocHost(context, &desc, BYTES, 64, &at));
	return at;
}

int32_t zeKernelSetArgumentValue(void *kernel, uint32_t index, size_t size, const void *value);

/* The simulated loader has no such call. */
#pragma weak zeKernelSetArgumentValue

static void *make_kernel(const char *name)
{
	const struct levelzero_kernel_desc desc = {.stype = 0x1d, .name = name};
	void *kernel;

	check("kernel", zeKernelCreate(module, &desc, &kernel));
	check("group size", zeKernelSetGroupSize(kernel, 16, 1, 1));
	if (zeKernelSetArgumentValue)
		check("argument", zeKernelSetArgumentValue(kernel, 0, sizeof(memory), &memory));
	return kernel;
}

static void make_kernels(void)
{
	const struct sim_module_desc desc = {
		.stype = 0x1b, .format = 1, .size = image_size, .input = image};

	if (!memory)
		memory = allocate(0x15);
	check("module", zeModuleCreate(context, device, &desc, &module, NULL));
	tiny = make_kernel("tiny");
	busy = make_kernel("busy");
}

static void destroy_kernels(void)
{
	check("destroy", zeKernelDestroy(tiny));
	check("destroy", zeKernelDestroy(busy));
	check("destroy", zeModuleDestroy(module));
}

static unsigned long long ns_of(uint64_t cycles)
{
	return cycles * 1000000000ull / SIM_LEVELZERO_HZ;
}

static void print(unsigned int count, unsigned long long busy_ns, unsigned long long tiny_ns)
{
	printf("busy %u %llu\ntiny %u %llu\n", count, busy_ns, count, tiny_ns);
}

static void print_simulated(unsigned int count)
{
	print(count, count * ns_of(SIM_LEVELZERO_CYCLES(BUSY_GROUPS)),
		count * ns_of(SIM_LEVELZERO_CYCLES(TINY_GROUPS)));
}

static int launch(void *to, void *kernel, uint32_t groups, void *event)
{
	const struct levelzero_group_count count = {{groups, 1, 1}};

	check("launch", zeCommandListAppendLaunchKernel(to, kernel, &count, event, 0, NULL));
	return 1;
}

STEP static int launch_tiny(void *to, void *event)
{
	return launch(to, tiny, TINY_GROUPS, event) + 1;
}

STEP static int launch_busy(void *to, void *event)
{
	return launch(to, busy, BUSY_GROUPS, event) + 2;
}

STEP static int wait_for_list(void)
{
	check("wait", zeCommandListHostSynchronize(list, UINT64_MAX));
	return 1;
}

static void run_kernels(void)
{
	make_kernels();
	for (int n = 0; n < COUNT; n++) {
		launch_tiny(list, NULL);
		launch_busy(list, NULL);
		if (n % 4 == 3)
			wait_for_list();
	}
	print_simulated(COUNT);
}

static void use_devices(void)
{
	const struct desc of_queue = {.stype = 0xe};
	void *devices[8];
	uint32_t count = 8;

	check("devices", zeDeviceGet(driver, &count, devices));
	for (uint32_t i = 0; i < count; i++) {
		device = devices[i];
		memory = NULL;
		check("list", zeCommandListCreateImmediate(context, device, &of_queue, &list));
		make_kernels();
		for (int n = 0; n < COUNT; n++) {
			launch_tiny(list, NULL);
			launch_busy(list, NULL);
			wait_for_list();
		}
	}
	print_simulated(count * COUNT);
}

static unsigned long long time_of(void *event)
{
	struct levelzero_timestamps t;

	check("wait", zeEventHostSynchronize(event, UINT64_MAX));
	check("times", zeEventQueryKernelTimestamp(event, &t));
	check("reset", zeEventHostReset(event));
	return ns_of(t.end - t.start);
}

static void use_events(void)
{
	const struct levelzero_event_pool_desc of_pool = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE | LEVELZERO_POOL_TIMESTAMPS,
		.count = 2};
	struct levelzero_event_desc desc = {.stype = LEVELZERO_IS_EVENT_DESC, .signal = 4};
	unsigned long long busy_ns = 0, tiny_ns = 0;
	void *pool, *events[2];

	make_kernels();
	check("pool", zeEventPoolCreate(context, &of_pool, 1, &device, &pool));
	for (; desc.index < 2; desc.index++)
		check("event", zeEventCreate(pool, &desc, &events[desc.index]));
	for (int n = 0; n < COUNT; n++) {
		launch_tiny(list, events[0]);
		launch_busy(list, events[1]);
		tiny_ns += time_of(events[0]);
		busy_ns += time_of(events[1]);
	}
	print(COUNT, busy_ns, tiny_ns);
}

STEP static int execute(void *queue, void *recorded, void *fence)
{
	check("execute", zeCommandQueueExecuteCommandLists(queue, 1, &recorded, fence));
	return 3;
}

static void run_recorded(void)
{
	const struct desc of_list = {.stype = 0xf}, of_queue = {.stype = 0xe};
	const struct levelzero_fence_desc of_fence = {.stype = LEVELZERO_IS_FENCE_DESC};
	void *recorded, *queue, *fence;

	make_kernels();
	check("list", zeCommandListCreate(context, device, &of_list, &recorded));
	check("queue", zeCommandQueueCreate(context, device, &of_queue, &queue));
	check("fence", zeFenceCreate(queue, &of_fence, &fence));
	launch_tiny(recorded, NULL);
	check("barrier", zeCommandListAppendBarrier(recorded, NULL, 0, NULL));
	launch_busy(recorded, NULL);
	check("close", zeCommandListClose(recorded));
	for (int n = 0; n < COUNT; n++) {
		execute(queue, recorded, n % 2 ? fence : NULL);
		if (n % 2) {
			check("wait", zeFenceHostSynchronize(fence, UINT64_MAX));
			check("reset", zeFenceReset(fence));
		} else {
			check("wait", zeCommandQueueSynchronize(queue, UINT64_MAX));
		}
	}
	print_simulated(COUNT);
}

STEP static int copy(void *to, const void *from)
{
	check("copy", zeCommandListAppendMemoryCopy(list, to, from, BYTES, NULL, 0, NULL));
	return 1;
}

static void run_copies(void)
{
	uint8_t *from = allocate(0x16), *to = allocate(0x16), byte = 7;
	void *there = allocate(0x15);

	memset(from, 42, BYTES);
	for (int n = 0; n < COUNT; n++) {
		copy(there, from);
		copy(to, there);
		check("fill", zeCommandListAppendMemoryFill(
				      list, there, &byte, 1, BYTES / 2, NULL, 0, NULL));
		wait_for_list();
	}
	printf("%s\n", to[0] == 42 && to[BYTES - 1] == 42 ? "copied" : "not copied");
}

static int32_t open_streamer(void)
{
	struct desc of_streamer = {.stype = 3, .more = {100, 1000000}};
	int32_t (*get)(void *device, uint32_t *count, void **ret) =
		(__typeof__(get))dlsym(RTLD_DEFAULT, "zetMetricGroupGet");
	int32_t (*activate)(void *context, void *device, uint32_t count, void **groups) =
		(__typeof__(activate))dlsym(RTLD_DEFAULT, "zetContextActivateMetricGroups");
	int32_t (*open)(void *context, void *device, void *group, void *desc, void *event,
		void **ret) = (__typeof__(open))dlsym(RTLD_DEFAULT, "zetMetricStreamerOpen");
	uint32_t one = 1;
	void *group, *streamer;

	check("groups", get(device, &one, &group));
	check("activate", activate(context, device, 1, &group));
	return open(context, device, group, &of_streamer, NULL, &streamer);
}

static void use_streamer(void)
{
	printf("%#x\n", (unsigned int)open_streamer());
	run_kernels();
}

static void use_modules(void)
{
	for (int n = 0; n < COUNT; n++) {
		make_kernels();
		launch_tiny(list, NULL);
		launch_busy(list, NULL);
		wait_for_list();
		destroy_kernels();
	}
	print_simulated(COUNT);
}

static volatile sig_atomic_t ends;
static bool anew;

static void end(int signal)
{
	ends = 1;
}

static void *make_recorded(void)
{
	const struct desc of_list = {.stype = 0xf};
	void *made;

	check("list", zeCommandListCreate(context, device, &of_list, &made));
	return made;
}

STEP static int record_tiny(void *to)
{
	launch_tiny(to, NULL);
	check("close", zeCommandListClose(to));
	return 4;
}

static void run_rounds(void)
{
	const struct desc of_queue = {.stype = 0xe};
	const struct levelzero_fence_desc of_fence = {.stype = LEVELZERO_IS_FENCE_DESC};
	const struct timespec pause = {.tv_nsec = 2000000};
	void *kept = make_recorded(), *again = make_recorded(), *queue, *fence;
	int rounds = 0;

	make_kernels();
	signal(SIGTERM, end);
	check("queue", zeCommandQueueCreate(context, device, &of_queue, &queue));
	check("fence", zeFenceCreate(queue, &of_fence, &fence));
	record_tiny(kept);
	puts("ready");
	fflush(stdout);
	for (; !ends; rounds++) {
		if (anew) {
			check("destroy", zeKernelDestroy(busy));
			busy = make_kernel("busy");
		}
		launch_busy(list, NULL);
		execute(queue, kept, NULL);
		check("wait", zeCommandQueueSynchronize(queue, UINT64_MAX));
		check("reset", zeCommandListReset(again));
		record_tiny(again);
		execute(queue, again, fence);
		check("wait", zeFenceHostSynchronize(fence, UINT64_MAX));
		check("reset", zeFenceReset(fence));
		wait_for_list();
		nanosleep(&pause, NULL);
	}
	printf("%d rounds\ndone\n", rounds);
}

static void run_rounds_anew(void)
{
	anew = true;
	run_rounds();
}

static void *wait_in_vain(void *event)
{
	while (!ends)
		zeEventHostSynchronize(event, 3000000000ull);
	return NULL;
}

static void run_rounds_beside_wait(void)
{
	const struct levelzero_event_pool_desc of_pool = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE,
		.count = 1};
	const struct levelzero_event_desc of_event = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *pool, *event;
	pthread_t thread;

	check("pool", zeEventPoolCreate(context, &of_pool, 1, &device, &pool));
	check("event", zeEventCreate(pool, &of_event, &event));
	check("thread", pthread_create(&thread, NULL, wait_in_vain, event));
	run_rounds();
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"kernels", run_kernels}, {"events", use_events}, {"recorded", run_recorded},
		{"copies", run_copies}, {"streamer", use_streamer}, {"modules", use_modules},
		{"devices", use_devices}, {"rounds", run_rounds}, {"kernels_anew", run_rounds_anew},
		{"patient", run_rounds_beside_wait}};

	if (argc < 3)
		return 2;
	begin(argv[2]);
	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(argv[1], all[n].name))
			all[n].run();
	return 0;
}
