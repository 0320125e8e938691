// SPDX-License-Identifier: MIT
/*
 * A program that uses OpenCL. The first argument says what it does:
 *
 *	truth		launches two kernels from two functions, adds up the times of its own events, and prints
 *			"KERNEL COUNT NANOSECONDS"
 *	names		makes, uses and releases kernels and queues, so that addresses are used again; prints as truth
 *			does, without times
 *	disorder	commands of a queue out of order, one after the other by events
 *	stuck		a command that waits for an event of the program's, which never comes, among others that end
 *	threads		four threads, each with a context and a queue of its own
 *	parts		a queue for the device, and one for each of its parts, in contexts of their own; prints how many parts
 *	several		waits for events of two queues at once, of which the first ends last
 *	fork		launches, forks; the child launches nothing and exits; launches again
 *	callbacks	launches in callbacks of events, which also let go of these, and lets go of contexts, whose
 *			destructors are called; prints how many of each were called
 *	killed		a kernel that ends the program, behind others
 *	queues COUNT	makes so many queues, which all stay, and launches in each
 *	long SECONDS	launches and waits, for so long; prints how often
 *	usm		copies, fills and migrates Intel's unified memory
 *	rate COUNT [N]	launches an empty kernel COUNT times, or one of N steps, and waits: prints nanoseconds of CPU time of
 *			this thread, and those that pass until all have ended, for each; both the least of 20 times
 *	events COUNT [N] the same, with an event for each, in a queue with profiling
 *	times COUNT [N]	so too, and when it has waited it reads whether each has ended, and its times
 *	sixteenth COUNT [N] as times, with an event for every 16th launch only
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "opencl_api.h"

static const char source[] =
	"__kernel void scale(__global float *a, int n) { size_t i = get_global_id(0);"
	" for (int k = 0; k < n; k++) a[i] = a[i] * 0.999f + 0.5f; }\n"
	"__kernel void add(__global float *a, int n) { size_t i = get_global_id(0);"
	" for (int k = 0; k < n; k++) a[i] += 1; }\n"
	"__kernel void empty(__global float *a) { }\n"
	"__kernel void fatal(__global float *a) { *(__global volatile int *)(get_global_id(0) * 4) "
	"= 1; }\n";

static const size_t items = 1024, group = 64;

static void print_sum(const char *name, void **events, int count)
{
	uint64_t sum_ns = 0;

	for (int n = 0; n < count; n++)
		sum_ns += event_time(events[n], 3) - event_time(events[n], 2);
	printf("%s %d %llu\n", name, count, (unsigned long long)sum_ns);
}

static int32_t launch(void *queue, void *kernel, void **event)
{
	return check("launch",
		cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, event));
}

STEP static int launch_scale(void *queue, void *kernel, void **event)
{
	return launch(queue, kernel, event) + 1;
}

STEP static int launch_add(void *queue, void *kernel, void **event)
{
	return launch(queue, kernel, event) + 2;
}

STEP static int wait_for_queue(void *queue)
{
	return check("finish", cl.clFinish(queue)) + 1;
}

static int truth(void)
{
	enum { SCALES = 20, ADDS = 30 };
	void *queue = make_queue(OPENCL_QUEUE_PROFILING);
	void *scale = make_kernel("scale", 500), *add = make_kernel("add", 200);
	void *scales[SCALES], *adds[ADDS];

	for (int n = 0; n < SCALES; n++)
		launch_scale(queue, scale, &scales[n]);
	for (int n = 0; n < ADDS; n++)
		launch_add(queue, add, &adds[n]);
	wait_for_queue(queue);
	print_sum("scale", scales, SCALES);
	print_sum("add", adds, ADDS);
	return 0;
}

static int names(void)
{
	enum { ROUNDS = 200 };
	static const char *const all[] = {"scale", "add", "empty"};
	static void *seen[ROUNDS];
	int again = 0, queues_again = 0;
	void *before = NULL;

	for (int n = 0; n < ROUNDS; n++) {
		void *queue = make_queue(n % 2 ? OPENCL_QUEUE_PROFILING : 0);
		void *kernel = make_kernel(all[n % 3], n % 3 == 2 ? 0 : 3);

		launch(queue, kernel, NULL);
		wait_for_queue(queue);
		for (int i = 0; i < n; i++)
			if (seen[i] == kernel) {
				again++;
				break;
			}
		queues_again += queue == before;
		seen[n] = before = kernel;
		before = queue;
		check("release", clReleaseKernel(kernel));
		check("release", cl.clReleaseCommandQueue(queue));
	}
	printf("scale 67\nadd 67\nempty 66\n");
	fprintf(stderr, "addresses used again: %d of kernels, %d of queues\n", again, queues_again);
	return 0;
}

static int disorder(void)
{
	enum { COUNT = 40 };
	void *queue = make_queue(OPENCL_QUEUE_OUT_OF_ORDER);
	void *scale = make_kernel("scale", 300), *add = make_kernel("add", 100), *events[COUNT];

	for (int n = 0; n < COUNT; n++)
		check("launch",
			cl.clEnqueueNDRangeKernel(queue, n % 2 ? scale : add, 1, NULL, &items,
				&group, n > 1, n > 1 ? &events[n - 2] : NULL, &events[n]));
	check("wait", cl.clWaitForEvents(2, &events[COUNT - 2]));
	return 0;
}

static int stuck(void)
{
	void *queue = make_queue(0), *blocked = make_queue(0), *scale = make_kernel("scale", 300);
	void *never = made("event", clCreateUserEvent(context, NULL));

	for (int n = 0; n < 10; n++)
		launch_scale(queue, scale, NULL);
	check("launch", cl.clEnqueueNDRangeKernel(
				blocked, scale, 1, NULL, &items, &group, 1, &never, NULL));
	for (int n = 0; n < 10; n++)
		launch_scale(queue, scale, NULL);
	wait_for_queue(queue);
	fflush(NULL);
	return 0;
}

static void *work_alone(void *unused)
{
	void *own = made("context", cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL));
	void *queue = made("queue", cl.clCreateCommandQueue(own, device, 0, NULL));
	void *memory = made("buffer", clCreateBuffer(own, 1, BUFFER_BYTES, NULL, NULL));
	const int zero = 0;

	for (int n = 0; n < 100; n++)
		check("fill", cl.clEnqueueFillBuffer(
				      queue, memory, &zero, sizeof(zero), 0, 4096, 0, NULL, NULL));
	wait_for_queue(queue);
	return NULL;
}

static int threads(void)
{
	pthread_t all[4];

	for (int n = 0; n < 4; n++)
		if (pthread_create(&all[n], NULL, work_alone, NULL))
			die("thread", -1);
	for (int n = 0; n < 4; n++)
		pthread_join(all[n], NULL);
	return 0;
}

static void fill_in(void *of)
{
	void *own = made("context", cl.clCreateContext(NULL, 1, &of, NULL, NULL, NULL));
	void *queue = made("queue", cl.clCreateCommandQueue(own, of, 0, NULL));
	void *memory = made("buffer", clCreateBuffer(own, 1, BUFFER_BYTES, NULL, NULL));
	const int zero = 0;

	for (int n = 0; n < 10; n++)
		check("fill", cl.clEnqueueFillBuffer(
				      queue, memory, &zero, sizeof(zero), 0, 4096, 0, NULL, NULL));
	wait_for_queue(queue);
}

/* Of one compute unit each. */
static int parts(void)
{
	const intptr_t equally[] = {0x1086, 1, 0};
	void *all[64];
	uint32_t count = 0;

	fill_in(device);
	if (clCreateSubDevices(device, equally, 64, all, &count))
		count = 0;
	for (uint32_t n = 0; n < count && n < 64; n++) {
		fill_in(all[n]);
		check("release", clReleaseDevice(all[n]));
	}
	printf("%u\n", (unsigned int)count);
	return 0;
}

STEP static int several(void)
{
	void *one = make_queue(0), *two = make_queue(0);
	void *scale = make_kernel("scale", 5000), *add = make_kernel("add", 20000), *events[2];

	launch_scale(one, scale, &events[1]);
	check("flush", clFlush(one));
	check("launch", cl.clEnqueueNDRangeKernel(
				two, add, 1, NULL, &items, &group, 1, &events[1], &events[0]));
	check("wait", cl.clWaitForEvents(2, events));
	return 0;
}

static int forks(void)
{
	void *queue = make_queue(0), *scale = make_kernel("scale", 100);
	int status = 1;
	pid_t child;

	launch_scale(queue, scale, NULL);
	wait_for_queue(queue);
	child = fork();
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	launch_scale(queue, scale, NULL);
	wait_for_queue(queue);
	return status;
}

/* --- callbacks, in threads of the driver's */

enum { CALLBACKS = 200 };

static uint32_t called_back, destroyed_count;

static void launch_next(void *event, int32_t status, void *data)
{
	void *next, **work = data; /* queue, kernel */

	check("release", cl.clReleaseEvent(event));
	if (__atomic_add_fetch(&called_back, 1, __ATOMIC_SEQ_CST) == CALLBACKS)
		return;
	launch_scale(work[0], work[1], &next);
	check("callback", clSetEventCallback(next, 0, launch_next, work));
	check("flush", clFlush(work[0]));
}

static void count_destroyed(void *of, void *data)
{
	__atomic_add_fetch(&destroyed_count, 1, __ATOMIC_SEQ_CST);
}

static void leave_context(void)
{
	void *own = made("context", cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL));
	void *queue = made("queue", cl.clCreateCommandQueue(own, device, 0, NULL));
	void *memory = made("buffer", clCreateBuffer(own, 1, BUFFER_BYTES, NULL, NULL));
	const int zero = 0;

	if (clSetContextDestructorCallback)
		check("destructor", clSetContextDestructorCallback(own, count_destroyed, NULL));
	check("fill",
		cl.clEnqueueFillBuffer(queue, memory, &zero, sizeof(zero), 0, 4096, 0, NULL, NULL));
	wait_for_queue(queue);
	check("release", clReleaseMemObject(memory));
	check("release", cl.clReleaseCommandQueue(queue));
	check("release", clReleaseContext(own));
}

static bool all_called(void)
{
	return called_back >= CALLBACKS &&
	       (!clSetContextDestructorCallback || destroyed_count == 10);
}

/* Destructors of contexts may be called a little later, by the layer's thread. */
static int callbacks(void)
{
	void *work[] = {make_queue(0), make_kernel("scale", 10)}, *event;

	launch_scale(work[0], work[1], &event);
	check("callback", clSetEventCallback(event, 0, launch_next, work));
	check("flush", clFlush(work[0]));
	for (int n = 0; n < 10; n++)
		leave_context();
	for (int n = 0; n < 10000 && !all_called(); n++)
		usleep(1000);
	printf("%u called back, %u of 10 destroyed\n", called_back,
		clSetContextDestructorCallback ? destroyed_count : 10);
	return 0;
}

static int killed(void)
{
	void *queue = make_queue(0), *scale = make_kernel("scale", 100);

	for (int n = 0; n < 20; n++)
		launch_scale(queue, scale, NULL);
	wait_for_queue(queue);
	usleep(300000);
	launch(queue, make_kernel("fatal", 0), NULL);
	wait_for_queue(queue);
	return 0;
}

static int many_queues(int count)
{
	void *scale = make_kernel("scale", 1);

	for (int n = 0; n < count; n++) {
		void *queue = make_queue(0);

		launch_scale(queue, scale, NULL);
		wait_for_queue(queue);
	}
	return 0;
}

static int last_long(int seconds)
{
	void *queue = make_queue(0), *scale = make_kernel("scale", 50);
	time_t end = time(NULL) + seconds;
	int count = 0;

	for (; time(NULL) < end; count++) {
		launch_scale(queue, scale, NULL);
		if (count % 16 == 15)
			wait_for_queue(queue);
	}
	wait_for_queue(queue);
	printf("%d\n", count);
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

enum events { WITHOUT_EVENTS, EVENTS, TIMES_OF_EVENTS, TIMES_OF_A_SIXTEENTH };

static void read_event(void *event)
{
	int32_t status;

	check("status", cl.clGetEventInfo(event, OPENCL_EVENT_EXECUTION_STATUS, sizeof(status),
				&status, NULL));
	for (uint32_t which = 0; !status && which < 4; which++)
		event_time(event, which);
	cl.clReleaseEvent(event);
}

static void launch_many(void *queue, void *kernel, int count, enum events how, void **events)
{
	for (int n = 0; n < count; n++) {
		bool wanted = how == TIMES_OF_A_SIXTEENTH ? n % 16 == 0 : how;

		cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &group, &group, 0, NULL,
			wanted ? &events[n] : NULL);
		if (how == EVENTS)
			cl.clReleaseEvent(events[n]);
	}
}

static void read_times(int count, enum events how, void **events)
{
	for (int n = 0; how >= TIMES_OF_EVENTS && n < count; n++)
		if (events[n])
			read_event(events[n]);
}

/* Intel's unified memory, by functions that are looked up: prints how many commands were
 * accepted. */
static int usm(void)
{
	static uint8_t host[65536];
	static const uint32_t pattern = 7;
	void *queue = make_queue(0), *memory;
	void *(*allocate)(void *, void *, const uint64_t *, size_t, uint32_t, int32_t *);
	int32_t (*copy)(
		void *, uint32_t, void *, const void *, size_t, uint32_t, void *const *, void **);
	int32_t (*fill)(
		void *, void *, const void *, size_t, size_t, uint32_t, void *const *, void **);
	int32_t (*migrate)(
		void *, const void *, size_t, uint64_t, uint32_t, void *const *, void **);
	int copies = 0, fills = 0, migrations = 0;

	*(void **)&allocate =
		cl.clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
	*(void **)&copy =
		cl.clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemcpyINTEL");
	*(void **)&fill =
		cl.clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemFillINTEL");
	*(void **)&migrate =
		cl.clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMigrateMemINTEL");
	if (!allocate || !copy || !fill || !migrate)
		return 77;
	memory = allocate(context, device, NULL, sizeof(host), 64, NULL);
	for (int n = 0; n < 20; n++) {
		copies += !copy(queue, true, memory, host, sizeof(host), 0, NULL, NULL);
		fills += !fill(queue, memory, &pattern, sizeof(pattern), 4096, 0, NULL, NULL);
	}
	migrations += !migrate(queue, memory, 4096, 1, 0, NULL, NULL);
	wait_for_queue(queue);
	printf("%d %d %d\n", copies, fills, migrations);
	return 0;
}

/* The least of several runs: what else the machine does only adds to it. */
static int rate(int count, int steps, enum events how)
{
	void *queue = make_queue(how ? OPENCL_QUEUE_PROFILING : 0);
	void *kernel = steps ? make_kernel("scale", steps) : make_kernel("empty", 0);
	uint64_t best_cpu_ns = UINT64_MAX, best_ns = UINT64_MAX;
	void **events = calloc((size_t)count, sizeof(*events));

	if (!events)
		die("memory", -1);
	launch(queue, kernel, NULL);
	wait_for_queue(queue);
	for (int run = 0; run < 20; run++) {
		uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC), took_ns;
		uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		launch_many(queue, kernel, count, how, events);
		wait_for_queue(queue);
		read_times(count, how, events);
		took_ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
		cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
		best_cpu_ns = cpu_ns < best_cpu_ns ? cpu_ns : best_cpu_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	printf("%.0f %.0f\n", (double)best_cpu_ns / count, (double)best_ns / count);
	free(events);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*alone)(void);
		int (*of_count)(int count);
	} all[] = {
		{"truth", .alone = truth},
		{"names", .alone = names},
		{"disorder", .alone = disorder},
		{"stuck", .alone = stuck},
		{"threads", .alone = threads},
		{"parts", .alone = parts},
		{"several", .alone = several},
		{"fork", .alone = forks},
		{"callbacks", .alone = callbacks},
		{"killed", .alone = killed},
		{"usm", .alone = usm},
		{"queues", .of_count = many_queues},
		{"long", .of_count = last_long},
	};
	static const char *const rates[] = {"rate", "events", "times", "sixteenth"};
	const char *what = argc > 1 ? argv[1] : "truth";
	int count = argc > 2 ? atoi(argv[2]) : 0;

	begin(source);
	for (enum events how = WITHOUT_EVENTS; how <= TIMES_OF_A_SIXTEENTH; how++)
		if (!strcmp(what, rates[how]))
			return rate(count ? count : 1000, argc > 3 ? atoi(argv[3]) : 0, how);
	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(what, all[n].name))
			return all[n].alone ? all[n].alone() : all[n].of_count(count);
	fprintf(stderr, "what is '%s'?\n", what);
	return 2;
}
