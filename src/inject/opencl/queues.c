// SPDX-License-Identifier: MIT
/*
 * Queues and contexts by their handles, from where they are made. Queues without profiling get it,
 * where the device has it; if the driver then refuses the queue, it is made as the program wants
 * it. What we have added is hidden (hidden.c).
 *
 * What is known of a queue stays in memory for good; the table of handles may drop those that the
 * program has released.
 */
#include <string.h>
#include <sys/mman.h>

#include "inject/handles.h"
#include "inject/opencl/opencl.h"

#define QUEUES_MAX (1u << 20)
#define WORDS_MAX  64 /* of properties that we copy */
#define EXITS_MAX  8

static struct handles queues, contexts;
static struct queue *all;
static uint32_t queue_count, context_count, forced_count, exit_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int queues_init(void)
{
	int error = handles_init(&queues);

	error = error ?: handles_init(&contexts);
	all = mmap(NULL, QUEUES_MAX * sizeof(*all), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED) {
		all = NULL;
		return -1;
	}
	return error;
}

struct queue *queues_find(const void *queue)
{
	return (struct queue *)handles_get(&queues, queue);
}

/* One of which nothing is known, or that is released. */
static bool may_go(uintptr_t value)
{
	return !value || __atomic_load_n(&((struct queue *)value)->released, __ATOMIC_RELAXED);
}

/* Drivers register what they do at exit when they are first used: we have to end before that. */
static void end_before_driver(void)
{
	if (__atomic_fetch_add(&exit_count, 1, __ATOMIC_RELAXED) < EXITS_MAX)
		exit_before_others();
}

static void context_is_made(void *context)
{
	if (!context || !is_alive())
		return;
	end_before_driver();
	pthread_mutex_lock(&lock);
	handles_put(&contexts, context, ++context_count, NULL);
	pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static uint32_t context_number(void *context)
{
	uint32_t number = (uint32_t)handles_get(&contexts, context);

	if (!number) {
		number = ++context_count;
		handles_put(&contexts, context, number, NULL);
	}
	return OPENCL_API << WIRE_API_SHIFT | (number & ((1u << WIRE_API_SHIFT) - 1));
}

/* False: it is not known from here on, and nothing of it can be hidden. */
static bool queue_is_made(void *queue, void *context, void *device, const struct queue *how)
{
	int index = devices_find(device);
	struct queue *q;
	bool known;

	pthread_mutex_lock(&lock);
	if (index < 0 || !all || queue_count == QUEUES_MAX) {
		handles_put(&queues, queue, 0, may_go); /* of an earlier one nothing holds */
		pthread_mutex_unlock(&lock);
		return false;
	}
	q = &all[queue_count++];
	*q = *how;
	q->references = 1;
	q->platform = devices[index].platform;
	q->device = (uint16_t)index;
	q->context = context_number(context);
	q->number = queue_count;
	known = handles_put(&queues, queue, (uintptr_t)q, may_go);
	pthread_mutex_unlock(&lock);
	if (q->forced)
		__atomic_store_n(&forced_count, 1, __ATOMIC_RELAXED);
	return known;
}

/* As it is: nothing of it is hidden. Also when nothing is followed any more, or this is a forked
 * child: what was known is of an earlier queue. */
static void queue_is_plain(void *queue, void *context, void *device, struct queue how)
{
	if (!queue)
		return;
	how.times &= !how.forced;
	how.forced = false;
	if (is_alive())
		queue_is_made(queue, context, device, &how);
	else
		handles_forget(&queues, queue);
}

static bool can_force(void *device, uint64_t properties)
{
	uint64_t possible = 0;

	return is_alive() && !(properties & (OPENCL_QUEUE_PROFILING | OPENCL_QUEUE_ON_DEVICE)) &&
	       !opencl.clGetDeviceInfo(
		       device, OPENCL_DEVICE_QUEUE_PROPERTIES, sizeof(possible), &possible, NULL) &&
	       possible & OPENCL_QUEUE_PROFILING;
}

static struct queue how_of(uint64_t properties, bool forced)
{
	return (struct queue){.in_order = !(properties & OPENCL_QUEUE_OUT_OF_ORDER),
		.times = properties & OPENCL_QUEUE_PROFILING || forced,
		.forced = forced};
}

static void *create_queue(void *context, void *device, uint64_t properties, int32_t *error)
{
	bool force = can_force(device, properties);
	void *queue = NULL;
	struct queue how;

	if (force)
		queue = opencl.clCreateCommandQueue(
			context, device, properties | OPENCL_QUEUE_PROFILING, error);
	how = how_of(properties, queue);
	if (queue && queue_is_made(queue, context, device, &how))
		return queue;
	if (queue)
		opencl.clReleaseCommandQueue(queue);
	queue = opencl.clCreateCommandQueue(context, device, properties, error);
	queue_is_plain(queue, context, device, how);
	return queue;
}

/* A copy with profiling: false, there is no room for it. */
static bool add_profiling(const uint64_t *properties, uint64_t copy[WORDS_MAX], bool *ret_appended)
{
	size_t n = 0;

	*ret_appended = true;
	for (; properties && properties[n]; n += 2) {
		if (n + 4 >= WORDS_MAX)
			return false;
		copy[n] = properties[n];
		copy[n + 1] = properties[n + 1];
		if (copy[n] != OPENCL_QUEUE_PROPERTIES)
			continue;
		copy[n + 1] |= OPENCL_QUEUE_PROFILING;
		*ret_appended = false;
	}
	if (*ret_appended) {
		copy[n++] = OPENCL_QUEUE_PROPERTIES;
		copy[n++] = OPENCL_QUEUE_PROFILING;
	}
	copy[n] = 0;
	return true;
}

static uint64_t properties_in(const uint64_t *words)
{
	for (; words && words[0]; words += 2)
		if (words[0] == OPENCL_QUEUE_PROPERTIES)
			return words[1];
	return 0;
}

void *queues_make_khr(void *context, void *device, const uint64_t *properties, int32_t *error,
	void *(*make)(void *, void *, const uint64_t *, int32_t *))
{
	uint64_t copy[WORDS_MAX], bits = properties_in(properties);
	struct queue how;
	bool appended = false;
	void *queue = NULL;

	if (can_force(device, bits) && add_profiling(properties, copy, &appended))
		queue = make(context, device, copy, error);
	how = how_of(bits, queue);
	how.appended = appended;
	how.had_none = !properties;
	if (queue && queue_is_made(queue, context, device, &how))
		return queue;
	if (queue)
		opencl.clReleaseCommandQueue(queue);
	queue = make(context, device, properties, error);
	queue_is_plain(queue, context, device, how);
	return queue;
}

static void *create_queue_with_properties(
	void *context, void *device, const uint64_t *properties, int32_t *error)
{
	return queues_make_khr(
		context, device, properties, error, opencl.clCreateCommandQueueWithProperties);
}

static int32_t retain_queue(void *queue)
{
	struct queue *q = queues_find(queue);
	int32_t result = opencl.clRetainCommandQueue(queue);

	if (q && !result)
		__atomic_fetch_add(&q->references, 1, __ATOMIC_RELAXED);
	return result;
}

static int32_t release_queue(void *queue)
{
	struct queue *q = queues_find(queue);

	if (q && !__atomic_sub_fetch(&q->references, 1, __ATOMIC_RELAXED))
		__atomic_store_n(&q->released, true, __ATOMIC_RELAXED);
	return opencl.clReleaseCommandQueue(queue);
}

static void *create_context(const intptr_t *properties, uint32_t count, void *const *devices_in,
	void (*notify)(const char *, const void *, size_t, void *), void *user_data, int32_t *error)
{
	void *context =
		opencl.clCreateContext(properties, count, devices_in, notify, user_data, error);

	context_is_made(context);
	return context;
}

static void *create_context_from_type(const intptr_t *properties, uint64_t type,
	void (*notify)(const char *, const void *, size_t, void *), void *user_data, int32_t *error)
{
	void *context = opencl.clCreateContextFromType(properties, type, notify, user_data, error);

	context_is_made(context);
	return context;
}

/* Events keep their context: were ours the last ones, its destructors would be called later, and
 * not in this call. */
static int32_t release_context(void *context)
{
	events_look();
	return opencl.clReleaseContext(context);
}

/* Events should keep what they need. In PoCL 3.1 they do not keep a part of a device, and to let go
 * of them afterwards ends the program: so of those that we hold we let go before. */
static int32_t release_device(void *device)
{
	events_look();
	return opencl.clReleaseDevice(device);
}

/* Of OpenCL 1.0: the program may change its mind about profiling. */
static int32_t set_queue_property(void *queue, uint64_t properties, uint32_t enable, uint64_t *old)
{
	struct queue *q = queues_find(queue);
	int32_t result = opencl.clSetCommandQueueProperty(queue, properties, enable, old);

	if (result || !q)
		return result;
	if (old && q->forced)
		*old &= ~(uint64_t)OPENCL_QUEUE_PROFILING;
	if (properties & OPENCL_QUEUE_PROFILING) {
		q->forced = false;
		q->times = enable;
	}
	if (properties & OPENCL_QUEUE_OUT_OF_ORDER)
		q->in_order = !enable;
	return result;
}

bool queues_any_is_forced(void)
{
	return __atomic_load_n(&forced_count, __ATOMIC_RELAXED);
}

void queues_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clCreateContext, create_context);
	put_entry(table, entries, OPENCL_AT_clCreateContextFromType, create_context_from_type);
	put_entry(table, entries, OPENCL_AT_clReleaseContext, release_context);
	put_entry(table, entries, OPENCL_AT_clCreateCommandQueue, create_queue);
	put_entry(table, entries, OPENCL_AT_clCreateCommandQueueWithProperties,
		create_queue_with_properties);
	put_entry(table, entries, OPENCL_AT_clRetainCommandQueue, retain_queue);
	put_entry(table, entries, OPENCL_AT_clReleaseCommandQueue, release_queue);
	put_entry(table, entries, OPENCL_AT_clReleaseDevice, release_device);
	put_entry(table, entries, OPENCL_AT_clSetCommandQueueProperty, set_queue_property);
}
