// SPDX-License-Identifier: MIT
/*
 * A simulated Level Zero: the loader's interface, its tracing layer, and one device behind it,
 * whose work takes as many cycles as it has groups or pages. The library has the name of the real
 * loader, for LD_LIBRARY_PATH=build/sim/levelzero.
 *
 * Each immediate list is a line of work of its own: a command begins when it is appended, or when
 * the one before it has ended. Events get their timestamps at once, and count as signalled when
 * that time has come.
 *
 * The device's timer has 36 bits, and timestamps of work have 32, as on a B580. It is set so that
 * both wrap soon after the program begins.
 *
 * Callbacks of tracers come as from the real layer: around each call, with the addresses of its
 * arguments, those before it in the order in which tracers were made. A call inside a callback is
 * not traced.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "code.h"
#include "levelzero.h"

#define EXPORT __attribute__((visibility("default")))

#define HZ	     SIM_LEVELZERO_HZ
#define TIMER_BITS   36
#define STAMP_BITS   32
#define WRAPS_IN_NS  30000000ull /* of the first zeInit */
#define TRACERS_MAX  4
#define TRACED_CALLS 32

static uint64_t mask(int bits)
{
	return (1ull << bits) - 1;
}

/* --- the device */

static struct device_object {
	int unused;
} the_driver, the_device;

struct event_object {
	bool has_times, is_signalled;
	uint64_t start, end; /* cycles that never wrap */
};

struct list_object {
	bool immediate;
	uint64_t busy_until;
};

struct pool_object {
	bool has_times;
};

struct kernel_object {
	char name[256];
	struct sim_code code;
};

static uint64_t begun_ns;

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Starts a little before both counters wrap. */
static uint64_t now_cycles(void)
{
	uint64_t passed_ns = clock_ns() - begun_ns;

	return (1ull << (TIMER_BITS + 1)) - WRAPS_IN_NS * HZ / 1000000000ull +
	       passed_ns / 1000000000ull * HZ + passed_ns % 1000000000ull * HZ / 1000000000ull;
}

static void wait_until(uint64_t cycles)
{
	while (now_cycles() < cycles)
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static int32_t run(struct list_object *l, struct event_object *event, uint64_t cycles)
{
	uint64_t now = now_cycles(), start = l->busy_until > now ? l->busy_until : now;

	if (!l->immediate)
		return 0;
	l->busy_until = start + cycles;
	if (event) {
		event->start = start;
		event->end = l->busy_until;
		event->is_signalled = true;
	}
	return 0;
}

/* --- tracers */

struct traced {
	const char *name;
	levelzero_callback *callbacks[2];
};

static struct tracer {
	bool enabled;
	void *user_data;
	struct traced calls[TRACED_CALLS];
} tracers[TRACERS_MAX];

static int tracer_count;
static __thread bool in_callback;

EXPORT int32_t zelTracerCreate(const struct levelzero_tracer_desc *desc, void **ret)
{
	const char *wanted = getenv("ZE_ENABLE_TRACING_LAYER");

	if (!wanted || strcmp(wanted, "1"))
		return LEVELZERO_UNINITIALIZED;
	if (tracer_count == TRACERS_MAX)
		return LEVELZERO_UNSUPPORTED;
	tracers[tracer_count].user_data = desc->user_data;
	*ret = &tracers[tracer_count++];
	return 0;
}

EXPORT int32_t zelTracerDestroy(void *tracer)
{
	memset(tracer, 0, sizeof(struct tracer));
	return 0;
}

EXPORT int32_t zelTracerSetEnabled(void *tracer, uint8_t enable)
{
	((struct tracer *)tracer)->enabled = enable;
	return 0;
}

static int32_t set_callback(
	struct tracer *t, const char *name, int when, levelzero_callback *callback)
{
	struct traced *c = t->calls;

	if (t->enabled || when < 0 || when > 1)
		return LEVELZERO_UNSUPPORTED;
	while (c->name && strcmp(c->name, name))
		c++;
	c->name = name;
	c->callbacks[when] = callback;
	return 0;
}

static void call_back(
	const char *name, int when, void **arguments, int32_t result, void **instances)
{
	if (in_callback)
		return;
	in_callback = true;
	for (int t = 0; t < tracer_count; t++)
		for (struct traced *c = tracers[t].calls; tracers[t].enabled && c->name; c++)
			if (!strcmp(c->name, name) && c->callbacks[when])
				c->callbacks[when](
					arguments, result, tracers[t].user_data, &instances[t]);
	in_callback = false;
}

/* CALL(name, parameters, addresses of them, what it does): the function, and how tracers ask for
 * its callbacks. */
#define CALL(name, parameters, addresses, action)                                                  \
	EXPORT int32_t zelTracer##name##RegisterCallback(                                          \
		void *tracer, int when, levelzero_callback *callback);                             \
	int32_t zelTracer##name##RegisterCallback(                                                 \
		void *tracer, int when, levelzero_callback *callback)                              \
	{                                                                                          \
		return set_callback(tracer, #name, when, callback);                                \
	}                                                                                          \
	EXPORT int32_t ze##name parameters                                                         \
	{                                                                                          \
		void *arguments[] = {SIM_UNPACK addresses}, *instances[TRACERS_MAX] = {NULL};      \
		int32_t result;                                                                    \
                                                                                                   \
		call_back(#name, 0, arguments, 0, instances);                                      \
		result = (action);                                                                 \
		call_back(#name, 1, arguments, result, instances);                                 \
		return result;                                                                     \
	}
#define SIM_UNPACK(...) __VA_ARGS__

/* --- what the calls do */

static int32_t make(void **ret, size_t size)
{
	*ret = calloc(1, size);
	return *ret ? 0 : 0x70000002;
}

static int32_t destroy(void *object)
{
	memset(object, 0x55, 1);
	free(object);
	return 0;
}

static int32_t make_list(void **ret, bool immediate)
{
	int32_t result = make(ret, sizeof(struct list_object));

	if (!result)
		((struct list_object *)*ret)->immediate = immediate;
	return result;
}

static int32_t make_pool(const struct levelzero_event_pool_desc *desc, void **ret)
{
	int32_t result = make(ret, sizeof(struct pool_object));

	if (!result)
		((struct pool_object *)*ret)->has_times = desc->flags & LEVELZERO_POOL_TIMESTAMPS;
	return result;
}

static int32_t make_event(const struct pool_object *pool, void **ret)
{
	int32_t result = make(ret, sizeof(struct event_object));

	if (!result)
		((struct event_object *)*ret)->has_times = pool->has_times;
	return result;
}

static int32_t make_kernel(
	const struct sim_module *module, const struct levelzero_kernel_desc *desc, void **ret)
{
	int32_t result = make(ret, sizeof(struct kernel_object));
	struct kernel_object *k = result ? NULL : *ret;

	if (k)
		snprintf(k->name, sizeof(k->name), "%s", desc->name);
	if (k && module)
		sim_code_find(module, k->name, &k->code);
	return result;
}

static int32_t status(const struct event_object *e)
{
	return e->is_signalled && now_cycles() >= e->end ? 0 : LEVELZERO_NOT_READY;
}

static int32_t wait_for_event(const struct event_object *e, uint64_t timeout)
{
	if (!e->is_signalled || !timeout)
		return status(e);
	wait_until(e->end);
	return 0;
}

static int32_t reset(struct event_object *e)
{
	e->is_signalled = false;
	return 0;
}

static int32_t times_of(const struct event_object *e, struct levelzero_timestamps *ret)
{
	if (status(e))
		return LEVELZERO_NOT_READY;
	if (!e->has_times)
		return 0x78000004;
	ret->start = ret->context_start = e->start & mask(STAMP_BITS);
	ret->end = ret->context_end = e->end & mask(STAMP_BITS);
	return 0;
}

static int32_t wait_for_list(const struct list_object *l)
{
	wait_until(l->busy_until);
	return 0;
}

static int32_t launch(struct list_object *l, const struct kernel_object *kernel,
	const struct levelzero_group_count *groups, struct event_object *event)
{
	sim_code_run(&kernel->code);
	return run(l, event, SIM_LEVELZERO_CYCLES(groups->count[0]));
}

#define WAITS uint32_t wait_count, void **waits

CALL(CommandListCreateImmediate, (void *context, void *device, const void *desc, void **ret),
	(&context, &device, &desc, &ret), make_list(ret, true))
CALL(CommandListCreate, (void *context, void *device, const void *desc, void **ret),
	(&context, &device, &desc, &ret), make_list(ret, false))
CALL(CommandListDestroy, (void *list), (&list), destroy(list))
CALL(CommandListHostSynchronize, (void *list, uint64_t timeout), (&list, &timeout),
	wait_for_list(list))
CALL(ContextDestroy, (void *context), (&context), destroy(context))
CALL(EventPoolCreate,
	(void *context, const struct levelzero_event_pool_desc *desc, uint32_t count,
		void **devices, void **ret),
	(&context, &desc, &count, &devices, &ret), make_pool(desc, ret))
CALL(EventPoolDestroy, (void *pool), (&pool), destroy(pool))
CALL(EventCreate, (void *pool, const struct levelzero_event_desc *desc, void **ret),
	(&pool, &desc, &ret), make_event(pool, ret))
CALL(EventDestroy, (void *event), (&event), destroy(event))
CALL(EventHostReset, (void *event), (&event), reset(event))
CALL(EventHostSynchronize, (void *event, uint64_t timeout), (&event, &timeout),
	wait_for_event(event, timeout))
CALL(KernelCreate, (void *module, const struct levelzero_kernel_desc *desc, void **ret),
	(&module, &desc, &ret), make_kernel(module, desc, ret))
CALL(ModuleCreate,
	(void *context, void *device, const struct sim_module_desc *desc, void **ret,
		void **ret_log),
	(&context, &device, &desc, &ret, &ret_log), sim_module_make(desc->input, desc->size, ret))
CALL(ModuleDestroy, (void *module), (&module), sim_module_free(module))
CALL(KernelSetGroupSize, (void *kernel, uint32_t x, uint32_t y, uint32_t z), (&kernel, &x, &y, &z),
	0)
CALL(CommandListAppendLaunchKernel,
	(void *list, void *kernel, const struct levelzero_group_count *groups, void *event, WAITS),
	(&list, &kernel, &groups, &event, &wait_count, &waits), launch(list, kernel, groups, event))
CALL(CommandListAppendMemoryCopy,
	(void *list, void *to, const void *from, size_t size, void *event, WAITS),
	(&list, &to, &from, &size, &event, &wait_count, &waits),
	run(list, event, SIM_LEVELZERO_CYCLES(size / 4096)))
CALL(CommandListAppendMemoryFill,
	(void *list, void *to, const void *pattern, size_t pattern_size, size_t size, void *event,
		WAITS),
	(&list, &to, &pattern, &pattern_size, &size, &event, &wait_count, &waits),
	run(list, event, SIM_LEVELZERO_CYCLES(size / 4096)))

/* --- calls that nobody traces here */

EXPORT int32_t zeInit(uint32_t flags)
{
	if (!begun_ns)
		begun_ns = clock_ns();
	return 0;
}

EXPORT int32_t zeDriverGet(uint32_t *count, void **drivers)
{
	if (*count && drivers)
		drivers[0] = &the_driver;
	*count = 1;
	return 0;
}

EXPORT int32_t zeDeviceGet(void *driver, uint32_t *count, void **devices)
{
	if (*count && devices)
		devices[0] = &the_device;
	*count = 1;
	return 0;
}

EXPORT int32_t zeContextCreate(void *driver, const void *desc, void **ret)
{
	return make(ret, 1);
}

EXPORT int32_t zeDeviceGetProperties(void *device, struct levelzero_device_properties *p)
{
	bool in_hz = p->stype == LEVELZERO_IS_DEVICE_PROPERTIES_1_2;

	p->timer_resolution = in_hz ? HZ : 1000000000ull / HZ;
	p->timestamp_bits = TIMER_BITS;
	p->kernel_timestamp_bits = STAMP_BITS;
	p->slices = 5;
	p->subslices_per_slice = 4;
	p->core_mhz = 2850;
	p->uuid[0] = 0x86; /* Intel's, at no place of the PCI bus */
	p->uuid[1] = 0x80;
	snprintf(p->name, sizeof(p->name), "%s", "Simulated GPU (Level Zero)");
	return 0;
}

EXPORT int32_t zeDeviceGetGlobalTimestamps(void *device, uint64_t *host, uint64_t *device_time)
{
	*host = clock_ns();
	*device_time = now_cycles() & mask(TIMER_BITS);
	return 0;
}

EXPORT int32_t zeModuleGetNativeBinary(void *module, size_t *size, uint8_t *ret)
{
	return sim_module_image(module, size, ret);
}

EXPORT int32_t zeKernelGetBinaryExp(void *kernel, size_t *size, uint8_t *ret)
{
	const struct sim_code *code = &((struct kernel_object *)kernel)->code;

	if (ret)
		memcpy(ret, code->bytes, code->size < *size ? code->size : *size);
	*size = code->size;
	return 0;
}

static int32_t base_address(void *kernel, uint64_t *ret)
{
	*ret = ((struct kernel_object *)kernel)->code.address;
	return *ret ? 0 : LEVELZERO_UNSUPPORTED;
}

EXPORT int32_t zeDriverGetExtensionFunctionAddress(void *driver, const char *name, void **ret)
{
	if (strcmp(name, "zexKernelGetBaseAddress"))
		return LEVELZERO_UNSUPPORTED;
	*ret = (void *)base_address;
	return 0;
}

EXPORT int32_t zeEventQueryStatus(void *event)
{
	return status(event);
}

EXPORT int32_t zeEventQueryKernelTimestamp(void *event, struct levelzero_timestamps *ret)
{
	return times_of(event, ret);
}
