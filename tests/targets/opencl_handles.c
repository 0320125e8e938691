// SPDX-License-Identifier: MIT
/*
 * An OpenCL driver that uses addresses of handles again at once and calls back as it likes, and a
 * program that uses it through layers (opencl_layers.h). What the program sees, it prints; that is
 * to be the same whoever is between them. The first argument says what it does:
 *
 *	fork		launches; a forked child lets go of the queue, makes one with profiling at its address,
 *			and launches there; the parent launches on
 *	outlive		the same in one process, 2.5 seconds later
 *	queues COUNT	makes so many queues, of which 300,000 live at a time, and launches in each hundredth
 *	destroyed COUNT	lets go of so many contexts whose work has ended: destructors are called in these calls
 *	waits		a destructor that is called late launches, and waits for a thread that asks for counts
 *	locked		a callback of an event asks for counts while the driver has its lock
 *	locks COUNT	so many callbacks that launch and let go, from a thread of the driver's that has its lock
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "opencl_layers.h"

#define WORK_NS	 100
#define DEVICE	 ((void *)48)
#define PLATFORM ((void *)16)
#define KERNEL	 ((void *)80)

/* A context, a queue or an event. Each holds what it is of. */
struct object {
	struct object *next; /* of those that are free */
	struct object *of;
	int32_t references, status;
	uint64_t properties, times[4];
	void (*ended)(void *event, int32_t status, void *data);
	void (*destroyed)(void *context, void *data);
	void *data;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct object *free_objects, *running[1 << 16];
static uint32_t running_count;
static bool runs_late;
static void *driver[OPENCL_ENTRIES];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* --- the driver */

static void *make(struct object *of)
{
	struct object *o;

	pthread_mutex_lock(&lock);
	o = free_objects;
	if (o)
		free_objects = o->next;
	else
		o = malloc(sizeof(*o));
	*o = (struct object){.of = of, .references = 1};
	if (of)
		of->references++;
	pthread_mutex_unlock(&lock);
	return o;
}

static int32_t retain(void *object)
{
	pthread_mutex_lock(&lock);
	((struct object *)object)->references++;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Contexts are destroyed without the lock. */
static int32_t release(void *object)
{
	struct object *o = object, *of = NULL, as = {0};
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = !--o->references;
	if (is_last) {
		as = *o;
		of = o->of;
		o->next = free_objects;
		free_objects = o;
	}
	pthread_mutex_unlock(&lock);
	if (as.destroyed)
		as.destroyed(object, as.data);
	return of ? release(of) : 0;
}

static void end_work(struct object *e)
{
	pthread_mutex_lock(&lock);
	e->times[2] = now_ns();
	e->times[3] = e->times[2] + WORK_NS;
	e->status = 0;
	if (e->ended)
		e->ended(e, 0, e->data);
	pthread_mutex_unlock(&lock);
	release(e);
}

/* What is launched in callbacks meanwhile is next. */
static void end_all(void)
{
	for (uint32_t n = 0;; n++) {
		struct object *e = NULL;

		pthread_mutex_lock(&lock);
		if (n < running_count)
			e = running[n];
		else
			running_count = 0;
		pthread_mutex_unlock(&lock);
		if (!e)
			return;
		end_work(e);
	}
}

static int32_t launch(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local, WAITS_AND_EVENT)
{
	struct object *e = make(queue);

	e->status = 2;
	e->times[0] = e->times[1] = now_ns();
	if (event) {
		*event = e;
		retain(e);
	}
	if (!runs_late) {
		end_work(e);
		return 0;
	}
	pthread_mutex_lock(&lock);
	if (running_count < sizeof(running) / sizeof(running[0]))
		running[running_count++] = e;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void *create_context(const intptr_t *properties, uint32_t count, void *const *devices,
	void (*notify)(const char *, const void *, size_t, void *), void *data, int32_t *error)
{
	return make(NULL);
}

static void *create_queue(void *context, void *device, uint64_t properties, int32_t *error)
{
	struct object *q = make(context);

	q->properties = properties;
	return q;
}

static void *create_kernel(void *program, const char *name, int32_t *error)
{
	return KERNEL;
}

static int32_t set_event_callback(void *event, int32_t status,
	void (*callback)(void *event, int32_t status, void *data), void *data)
{
	struct object *e = event;

	e->data = data;
	e->ended = callback;
	return 0;
}

static int32_t set_destructor(
	void *context, void (*callback)(void *context, void *data), void *data)
{
	struct object *c = context;

	c->data = data;
	c->destroyed = callback;
	return 0;
}

static int32_t queue_info(void *queue, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct object *q = queue;

	return what == OPENCL_QUEUE_REFERENCE_COUNT
		       ? answer(&q->references, sizeof(q->references), size, value, ret_size)
		       : answer(&q->properties, sizeof(q->properties), size, value, ret_size);
}

static int32_t event_info(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct object *e = event;
	int32_t references, status;
	void *queue;

	pthread_mutex_lock(&lock);
	references = e->references - (e->status > 0); /* one is the driver's own */
	status = e->status;
	queue = e->of;
	pthread_mutex_unlock(&lock);
	if (what == OPENCL_EVENT_COMMAND_QUEUE)
		return answer(&queue, sizeof(queue), size, value, ret_size);
	return answer(what == OPENCL_EVENT_REFERENCE_COUNT ? &references : &status,
		sizeof(references), size, value, ret_size);
}

static int32_t event_times(void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct object *e = event;

	if (!(e->of->properties & OPENCL_QUEUE_PROFILING) || e->status)
		return OPENCL_PROFILING_INFO_NOT_AVAILABLE;
	return answer(&e->times[what - OPENCL_PROFILING_QUEUED], sizeof(e->times[0]), size, value,
		ret_size);
}

static int32_t device_info(void *device, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const uint64_t profiling = OPENCL_QUEUE_PROFILING;
	void *const platform = PLATFORM;

	if (what == OPENCL_DEVICE_NAME)
		return answer("Device", 7, size, value, ret_size);
	if (what == OPENCL_DEVICE_QUEUE_PROPERTIES)
		return answer(&profiling, sizeof(profiling), size, value, ret_size);
	if (what == OPENCL_DEVICE_PLATFORM)
		return answer(&platform, sizeof(platform), size, value, ret_size);
	return OPENCL_INVALID_VALUE;
}

static int32_t name_info(void *object, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	return answer("handles", 8, size, value, ret_size);
}

static int32_t finish(void *queue)
{
	end_all();
	return 0;
}

static void begin(void)
{
	driver[OPENCL_AT_clGetDeviceInfo] = device_info;
	driver[OPENCL_AT_clGetPlatformInfo] = name_info;
	driver[OPENCL_AT_clGetKernelInfo] = name_info;
	driver[OPENCL_AT_clGetImageInfo] = name_info;
	driver[OPENCL_AT_clGetMemObjectInfo] = name_info;
	driver[OPENCL_AT_clGetCommandQueueInfo] = queue_info;
	driver[OPENCL_AT_clGetEventInfo] = event_info;
	driver[OPENCL_AT_clGetEventProfilingInfo] = event_times;
	driver[OPENCL_AT_clRetainEvent] = retain;
	driver[OPENCL_AT_clReleaseEvent] = release;
	driver[OPENCL_AT_clReleaseCommandQueue] = release;
	driver[OPENCL_AT_clReleaseContext] = release;
	driver[OPENCL_AT_clCreateContext] = create_context;
	driver[OPENCL_AT_clCreateCommandQueue] = create_queue;
	driver[OPENCL_AT_clCreateKernel] = create_kernel;
	driver[OPENCL_AT_clEnqueueNDRangeKernel] = launch;
	driver[OPENCL_AT_clFinish] = finish;
	driver[OPENCL_AT_clSetEventCallback] = set_event_callback;
	driver[OPENCL_AT_clSetContextDestructorCallback] = set_destructor;
	load_layers(driver);
}

/* --- the program */

#define CALL(name, type) ((type *)layers[OPENCL_AT_##name])

typedef int32_t on_object(void *object);
typedef int32_t on_info(void *object, uint32_t what, size_t size, void *value, size_t *ret_size);

static void *call_create_context(void)
{
	return CALL(clCreateContext, __typeof__(create_context))(NULL, 0, NULL, NULL, NULL, NULL);
}

static void *call_create_queue(void *context, uint64_t properties)
{
	return CALL(clCreateCommandQueue, __typeof__(create_queue))(
		context, DEVICE, properties, NULL);
}

static void call_launch(void *queue, void **event)
{
	const size_t items = 64;

	CALL(clEnqueueNDRangeKernel, __typeof__(launch))
	(queue, KERNEL, 1, NULL, &items, &items, 0, NULL, event);
}

static void call_release(enum opencl_entry how, void *object)
{
	((on_object *)layers[how])(object);
}

static uint32_t references_of(void *event)
{
	uint32_t count = 0;

	CALL(clGetEventInfo, on_info)
	(event, OPENCL_EVENT_REFERENCE_COUNT, sizeof(count), &count, NULL);
	return count;
}

/* A queue with profiling that the program has asked for, at the address of another. */
static void look_at_new_queue(void *context, const void *earlier)
{
	void *queue = call_create_queue(context, OPENCL_QUEUE_PROFILING), *event;
	uint64_t properties = 0, ns = 0;
	int32_t error;

	CALL(clGetCommandQueueInfo, on_info)
	(queue, OPENCL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
	call_launch(queue, &event);
	error = CALL(clGetEventProfilingInfo, on_info)(
		event, OPENCL_PROFILING_QUEUED + 2, sizeof(ns), &ns, NULL);
	printf("there again: %d, properties: %llu, times: %d %d, references: %u\n",
		queue == earlier, (unsigned long long)properties, (int)error, ns != 0,
		references_of(event));
	call_release(OPENCL_AT_clReleaseEvent, event);
}

static void *launch_in_new_queue(void *context)
{
	void *queue = call_create_queue(context, 0);

	call_launch(queue, NULL);
	CALL(clFinish, on_object)(queue);
	sleep_ms(100); /* whoever keeps events lets go of them */
	return queue;
}

static int forks(void)
{
	void *context = call_create_context(), *queue = launch_in_new_queue(context);
	int status = 1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		call_release(OPENCL_AT_clReleaseCommandQueue, queue);
		look_at_new_queue(context, queue);
		exit(0);
	}
	waitpid(child, &status, 0);
	call_launch(queue, NULL);
	CALL(clFinish, on_object)(queue);
	return status;
}

static int outlive(void)
{
	void *context = call_create_context(), *queue = launch_in_new_queue(context);

	sleep_ms(2500);
	call_release(OPENCL_AT_clReleaseCommandQueue, queue);
	look_at_new_queue(context, queue);
	return 0;
}

/* So many of them live at a time. */
static int many_queues(int count)
{
	enum { ALIVE = 300000 };
	static void *alive[ALIVE];
	void *context = call_create_context();

	for (int n = 0; n < count; n++) {
		void **at = &alive[n % ALIVE];

		if (*at)
			call_release(OPENCL_AT_clReleaseCommandQueue, *at);
		*at = call_create_queue(context, 0);
		if (n % 100 == 99)
			call_launch(*at, NULL);
	}
	look_at_new_queue(context, NULL);
	return 0;
}

static pthread_t in_call;
static bool is_in_call;
static uint32_t destroyed_in_call;

static void note_destroyed(void *context, void *data)
{
	destroyed_in_call += is_in_call && pthread_equal(in_call, pthread_self());
}

static void set_on_context(void *context, void (*callback)(void *, void *), void *data)
{
	CALL(clSetContextDestructorCallback, __typeof__(set_destructor))(context, callback, data);
}

static int destroyed(int count)
{
	in_call = pthread_self();
	for (int n = 0; n < count; n++) {
		void *context = call_create_context(), *queue = call_create_queue(context, 0);

		set_on_context(context, note_destroyed, NULL);
		call_launch(queue, NULL);
		call_release(OPENCL_AT_clReleaseCommandQueue, queue);
		is_in_call = true;
		call_release(OPENCL_AT_clReleaseContext, context);
		is_in_call = false;
	}
	printf("destroyed in their calls: %u\n", destroyed_in_call);
	return 0;
}

static pthread_mutex_t of_program = PTHREAD_MUTEX_INITIALIZER;
static uint32_t called_back;

static void *late_queue, *late_event;

/* Takes what another thread has while that asks for counts. */
static void wait_when_destroyed(void *context, void *data)
{
	__atomic_store_n(&called_back, 1, __ATOMIC_SEQ_CST);
	call_launch(late_queue, NULL);
	pthread_mutex_lock(&of_program);
	pthread_mutex_unlock(&of_program);
	__atomic_store_n(&called_back, 2, __ATOMIC_SEQ_CST);
}

static void await_call_back(uint32_t state)
{
	for (int n = 0; n < 5000 && __atomic_load_n(&called_back, __ATOMIC_SEQ_CST) < state; n++)
		sleep_ms(1);
}

static void *end_late(void *unused)
{
	end_all();
	return NULL;
}

static int waits(void)
{
	void *context = call_create_context(), *queue = call_create_queue(context, 0);
	pthread_t ending;

	late_queue = call_create_queue(call_create_context(), 0);
	call_launch(late_queue, &late_event);
	runs_late = true;
	set_on_context(context, wait_when_destroyed, NULL);
	call_launch(queue, NULL);
	call_release(OPENCL_AT_clReleaseCommandQueue, queue);
	call_release(OPENCL_AT_clReleaseContext, context);
	runs_late = false;
	pthread_mutex_lock(&of_program);
	pthread_create(&ending, NULL, end_late, NULL); /* whoever lets go last calls back */
	await_call_back(1);
	printf("references: %u\n", references_of(late_event));
	pthread_mutex_unlock(&of_program);
	await_call_back(2);
	pthread_join(ending, NULL);
	printf("called back: %u\n", called_back);
	return 0;
}

static void ask_when_ended(void *event, int32_t status, void *data)
{
	sleep_ms(100); /* others come to wait for the driver */
	printf("references: %u\n", references_of(late_event));
}

static int locked(void)
{
	void *context = call_create_context(), *queue = call_create_queue(context, 0), *event;

	call_launch(queue, &late_event);
	sleep_ms(100);
	runs_late = true;
	for (int n = 0; n < 5; n++) {
		call_launch(queue, &event);
		CALL(clSetEventCallback, __typeof__(set_event_callback))
		(event, 0, ask_when_ended, NULL);
		end_all();
	}
	return 0;
}

static uint32_t left;

static void launch_when_ended(void *event, int32_t status, void *data)
{
	void *next;

	call_release(OPENCL_AT_clReleaseEvent, event);
	if (!left)
		return;
	left--;
	call_launch(data, &next);
	CALL(clSetEventCallback, __typeof__(set_event_callback))(next, 0, launch_when_ended, data);
}

/* From a thread of the driver's, that ends what is running. */
static int locks(int count)
{
	void *context = call_create_context(), *queue = call_create_queue(context, 0), *event;

	runs_late = true;
	left = (uint32_t)count - 1;
	call_launch(queue, &event);
	CALL(clSetEventCallback, __typeof__(set_event_callback))
	(event, 0, launch_when_ended, queue);
	while (running_count) {
		pthread_t thread;

		pthread_create(&thread, NULL, end_late, NULL);
		pthread_join(thread, NULL);
	}
	printf("left: %u\n", left);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 1000;

	begin();
	CALL(clCreateKernel, __typeof__(create_kernel))(NULL, "handles", NULL);
	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "outlive"))
		return outlive();
	if (!strcmp(what, "queues"))
		return many_queues(count);
	if (!strcmp(what, "destroyed"))
		return destroyed(count);
	if (!strcmp(what, "waits"))
		return waits();
	if (!strcmp(what, "locked"))
		return locked();
	if (!strcmp(what, "locks"))
		return locks(count);
	fprintf(stderr, "what is '%s'?\n", what);
	return 2;
}
