// SPDX-License-Identifier: MIT
/*
 * A simulated Level Zero: the loader's interface, its tracing layer (tracers.c), and devices
 * behind it (device.c), whose work takes as many cycles as it has groups or pages. The library
 * has the name of the real loader, for LD_LIBRARY_PATH=build/sim/levelzero.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "device.h"
#include "tracers.h"

#define PAGE	 4096
#define WAITS	 uint32_t wait_count, void **waits
#define WORK(of) SIM_LEVELZERO_CYCLES(of)

struct pool_object {
	bool has_times;
};

#define IS_KERNEL 0x6b65726e656cull

/* What the program has of a kernel where the loader gives out handles of its own. */
struct kernel_handle {
	struct kernel_object *of;
};

struct kernel_object {
	uint64_t kind; /* IS_KERNEL */
	char name[256];
	struct sim_code code;
};

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

static int32_t make_list(void *context, const void *device, void **ret, bool immediate)
{
	int32_t result = make(ret, sizeof(struct list_object));
	struct list_object *l = *ret;

	if (!result) {
		l->context = context;
		l->immediate = immediate;
		l->line.device = device;
	}
	return result;
}

static int32_t make_queue(const void *device, void **ret)
{
	int32_t result = make(ret, sizeof(struct queue_object));

	if (!result)
		((struct queue_object *)*ret)->line.device = device;
	return result;
}

static int32_t make_fence(struct queue_object *queue, void **ret)
{
	int32_t result = make(ret, sizeof(struct fence_object));

	if (!result)
		((struct fence_object *)*ret)->queue = queue;
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

	if (!k)
		return result;
	k->kind = IS_KERNEL;
	snprintf(k->name, sizeof(k->name), "%s", desc->name);
	if (module)
		sim_code_find(module, k->name, &k->code);
	if (!sim_wraps())
		return 0;
	result = make(ret, sizeof(struct kernel_handle));
	if (!result)
		((struct kernel_handle *)*ret)->of = k;
	return result;
}

/* The driver's. */
static struct kernel_object *kernel_of(void *handle)
{
	return sim_wraps() ? ((struct kernel_handle *)handle)->of : handle;
}

static int32_t destroy_kernel(void *handle)
{
	struct kernel_object *k = kernel_of(handle);

	if (handle != (void *)k)
		destroy(handle);
	return destroy(k);
}

/* Four bytes a point, whatever is asked for. */
static int32_t make_image(const struct levelzero_image_desc *desc, void **ret)
{
	int32_t result = make(ret, sizeof(struct image_object));

	if (!result)
		((struct image_object *)*ret)->bytes = desc->width * desc->height * 4;
	return result;
}

static int32_t destroy_list(struct list_object *l)
{
	free(l->commands);
	return destroy(l);
}

static int32_t destroy_event(struct event_object *e)
{
	free(e->changes);
	return destroy(e);
}

static int32_t reset_list(struct list_object *l)
{
	l->count = 0;
	return 0;
}

static int32_t wait_for(const struct line *line)
{
	sim_wait(line->busy_until);
	return 0;
}

static int32_t work(void *list, uint64_t amount, void *event)
{
	return sim_append(
		list, &(struct command){.kind = SIM_WORK, .cycles = WORK(amount), .event = event});
}

static int32_t no_work(void *list, enum command_kind kind, void *event)
{
	return sim_append(list, &(struct command){.kind = kind, .event = event});
}

static int32_t execute(
	struct queue_object *q, uint32_t count, void **lists, struct fence_object *fence)
{
	sim_execute(&q->line, count, lists);
	if (fence) {
		fence->at = q->line.busy_until;
		fence->is_signalled = true;
	}
	return 0;
}

static int32_t append_lists(struct list_object *l, uint32_t count, void **lists, void *event)
{
	if (!l->immediate)
		return 0x78000004;
	sim_execute(&l->line, count, lists);
	if (event)
		sim_signal(&l->line, event);
	return 0;
}

static int32_t fence_status(const struct fence_object *f)
{
	return f->is_signalled && sim_cycles() >= f->at ? 0 : LEVELZERO_NOT_READY;
}

static int32_t wait_for_fence(const struct fence_object *f, uint64_t timeout)
{
	if (f->is_signalled && timeout)
		sim_wait(f->at);
	return fence_status(f);
}

static int32_t reset_fence(struct fence_object *f)
{
	f->is_signalled = false;
	return 0;
}

static int32_t launch(
	void *list, void *kernel, const struct levelzero_group_count *groups, void *event)
{
	return sim_append(list, &(struct command){.kind = SIM_WORK,
					.cycles = WORK(groups->count[0]),
					.code = &kernel_of(kernel)->code,
					.event = event});
}

static uint64_t pages_of(const struct levelzero_copy_region *r)
{
	return (uint64_t)r->size[0] * r->size[1] / PAGE;
}

static uint64_t image_pages(const struct image_object *i)
{
	return i->bytes / PAGE;
}

/* Each driver has as many. */
static uint32_t devices_each(void)
{
	return sim_number("XPUPROF_SIM_ZE_DEVICES", 1, SIM_DEVICES_MAX / SIM_DRIVERS_MAX);
}

static uint32_t driver_of(const struct device_object *d)
{
	return d->index / devices_each();
}

/* --- the calls */

TRACED(ContextDestroy, (void *context), (&context), destroy(context))
TRACED(MemAllocDevice,
	(void *context, const void *desc, size_t size, size_t alignment, void *device, void **ret),
	(&context, &desc, &size, &alignment, &device, &ret),
	sim_allocate(LEVELZERO_MEMORY_DEVICE, size, ret))
TRACED(MemAllocHost, (void *context, const void *desc, size_t size, size_t alignment, void **ret),
	(&context, &desc, &size, &alignment, &ret), sim_allocate(LEVELZERO_MEMORY_HOST, size, ret))
TRACED(MemAllocShared,
	(void *context, const void *of_device, const void *of_host, size_t size, size_t alignment,
		void *device, void **ret),
	(&context, &of_device, &of_host, &size, &alignment, &device, &ret),
	sim_allocate(LEVELZERO_MEMORY_SHARED, size, ret))
TRACED(MemFree, (void *context, void *at), (&context, &at), sim_free(at))
TRACED(ImageCreate,
	(void *context, void *device, const struct levelzero_image_desc *desc, void **ret),
	(&context, &device, &desc, &ret), make_image(desc, ret))
TRACED(ImageDestroy, (void *image), (&image), destroy(image))
TRACED(CommandQueueCreate, (void *context, void *device, const void *desc, void **ret),
	(&context, &device, &desc, &ret), make_queue(device, ret))
TRACED(CommandQueueDestroy, (void *queue), (&queue), destroy(queue))
TRACED(CommandQueueExecuteCommandLists, (void *queue, uint32_t count, void **lists, void *fence),
	(&queue, &count, &lists, &fence), execute(queue, count, lists, fence))
TRACED(CommandQueueSynchronize, (void *queue, uint64_t timeout), (&queue, &timeout),
	wait_for(&((struct queue_object *)queue)->line))
TRACED(FenceCreate, (void *queue, const struct levelzero_fence_desc *desc, void **ret),
	(&queue, &desc, &ret), make_fence(queue, ret))
TRACED(FenceDestroy, (void *fence), (&fence), destroy(fence))
TRACED(FenceHostSynchronize, (void *fence, uint64_t timeout), (&fence, &timeout),
	wait_for_fence(fence, timeout))
TRACED(FenceReset, (void *fence), (&fence), reset_fence(fence))
TRACED(CommandListCreateImmediate, (void *context, void *device, const void *desc, void **ret),
	(&context, &device, &desc, &ret), make_list(context, device, ret, true))
TRACED(CommandListCreate, (void *context, void *device, const void *desc, void **ret),
	(&context, &device, &desc, &ret), make_list(context, device, ret, false))
TRACED(CommandListDestroy, (void *list), (&list), destroy_list(list))
TRACED(CommandListClose, (void *list), (&list), 0)
TRACED(CommandListReset, (void *list), (&list), reset_list(list))
TRACED(CommandListHostSynchronize, (void *list, uint64_t timeout), (&list, &timeout),
	wait_for(&((struct list_object *)list)->line))
TRACED(CommandListImmediateAppendCommandListsExp,
	(void *list, uint32_t count, void **lists, void *event, WAITS),
	(&list, &count, &lists, &event, &wait_count, &waits),
	append_lists(list, count, lists, event))
TRACED(CommandListImmediateAppendCommandListsWithParameters,
	(void *list, uint32_t count, void **lists, const void *parameters, void *event, WAITS),
	(&list, &count, &lists, &parameters, &event, &wait_count, &waits),
	append_lists(list, count, lists, event))
TRACED(CommandListAppendMemoryCopyWithParameters,
	(void *list, void *to, const void *from, size_t size, const void *parameters, void *event,
		WAITS),
	(&list, &to, &from, &size, &parameters, &event, &wait_count, &waits),
	work(list, size / PAGE, event))
TRACED(CommandListAppendMemoryFillWithParameters,
	(void *list, void *to, const void *pattern, size_t pattern_size, size_t size,
		const void *parameters, void *event, WAITS),
	(&list, &to, &pattern, &pattern_size, &size, &parameters, &event, &wait_count, &waits),
	work(list, size / PAGE, event))
TRACED(CommandListAppendBarrier, (void *list, void *event, WAITS),
	(&list, &event, &wait_count, &waits), no_work(list, SIM_SIGNAL, event))
TRACED(CommandListAppendSignalEvent, (void *list, void *event), (&list, &event),
	no_work(list, SIM_SIGNAL, event))
TRACED(CommandListAppendEventReset, (void *list, void *event), (&list, &event),
	no_work(list, SIM_RESET, event))
TRACED(CommandListAppendLaunchKernel,
	(void *list, void *kernel, const struct levelzero_group_count *groups, void *event, WAITS),
	(&list, &kernel, &groups, &event, &wait_count, &waits), launch(list, kernel, groups, event))
TRACED(CommandListAppendMemoryCopy,
	(void *list, void *to, const void *from, size_t size, void *event, WAITS),
	(&list, &to, &from, &size, &event, &wait_count, &waits), work(list, size / PAGE, event))
TRACED(CommandListAppendMemoryCopyRegion,
	(void *list, void *to, const struct levelzero_copy_region *region, uint32_t pitch,
		uint32_t slice, const void *from, const struct levelzero_copy_region *from_region,
		uint32_t from_pitch, uint32_t from_slice, void *event, WAITS),
	(&list, &to, &region, &pitch, &slice, &from, &from_region, &from_pitch, &from_slice, &event,
		&wait_count, &waits),
	work(list, pages_of(region), event))
TRACED(CommandListAppendMemoryFill,
	(void *list, void *to, const void *pattern, size_t pattern_size, size_t size, void *event,
		WAITS),
	(&list, &to, &pattern, &pattern_size, &size, &event, &wait_count, &waits),
	work(list, size / PAGE, event))
TRACED(CommandListAppendImageCopy, (void *list, void *to, void *from, void *event, WAITS),
	(&list, &to, &from, &event, &wait_count, &waits), work(list, image_pages(from), event))
TRACED(CommandListAppendImageCopyToMemory,
	(void *list, void *to, void *from, const struct levelzero_copy_region *part, void *event,
		WAITS),
	(&list, &to, &from, &part, &event, &wait_count, &waits),
	work(list, image_pages(from), event))
TRACED(CommandListAppendImageCopyFromMemory,
	(void *list, void *to, const void *from, const struct levelzero_copy_region *part,
		void *event, WAITS),
	(&list, &to, &from, &part, &event, &wait_count, &waits), work(list, image_pages(to), event))
TRACED(KernelCreate, (void *module, const struct levelzero_kernel_desc *desc, void **ret),
	(&module, &desc, &ret), make_kernel(module, desc, ret))
TRACED(ModuleCreate,
	(void *context, void *device, const struct sim_module_desc *desc, void **ret,
		void **ret_log),
	(&context, &device, &desc, &ret, &ret_log),
	sim_module_make(desc->input, desc->size, driver_of(device), ret))
TRACED(ModuleDestroy, (void *module), (&module), sim_module_free(module))
TRACED(KernelDestroy, (void *kernel), (&kernel), destroy_kernel(kernel))
TRACED(KernelSetGroupSize, (void *kernel, uint32_t x, uint32_t y, uint32_t z),
	(&kernel, &x, &y, &z), 0)
TRACED(EventPoolCreate,
	(void *context, const struct levelzero_event_pool_desc *desc, uint32_t count,
		void **devices, void **ret),
	(&context, &desc, &count, &devices, &ret), make_pool(desc, ret))
TRACED(EventPoolDestroy, (void *pool), (&pool), destroy(pool))
TRACED(EventCreate, (void *pool, const struct levelzero_event_desc *desc, void **ret),
	(&pool, &desc, &ret), make_event(pool, ret))
TRACED(EventDestroy, (void *event), (&event), destroy_event(event))
TRACED(EventHostReset, (void *event), (&event), sim_reset(event))
TRACED(EventHostSynchronize, (void *event, uint64_t timeout), (&event, &timeout),
	sim_wait_for_event(event, timeout))

/* --- calls that nobody traces here */

SIM_EXPORT int32_t zeInit(uint32_t flags)
{
	if (getenv("XPUPROF_SIM_ZE_NO_DEVICE"))
		return LEVELZERO_UNINITIALIZED;
	sim_begin();
	return 0;
}

/* Of programs that only look at devices. */
SIM_EXPORT int32_t zesInit(uint32_t flags);
int32_t zesInit(uint32_t flags)
{
	return 0;
}

SIM_EXPORT int32_t zeInitDrivers(uint32_t *count, void **drivers, void *desc);
int32_t zeInitDrivers(uint32_t *count, void **drivers, void *desc)
{
	sim_begin();
	return zeDriverGet(count, drivers);
}

/* How many there are, and as many as are asked for. */
static int32_t list_objects(
	struct device_object *of, uint32_t there_are, uint32_t *count, void **ret)
{
	for (uint32_t n = 0; ret && n < *count && n < there_are; n++)
		ret[n] = &of[n];
	if (!ret || *count > there_are)
		*count = there_are;
	return 0;
}

SIM_EXPORT int32_t zeDriverGet(uint32_t *count, void **ret)
{
	return list_objects(
		sim_drivers, sim_number("XPUPROF_SIM_ZE_DRIVERS", 1, SIM_DRIVERS_MAX), count, ret);
}

SIM_EXPORT int32_t zeDeviceGet(void *driver, uint32_t *count, void **ret)
{
	uint32_t each = devices_each();
	uint32_t first = ((struct device_object *)driver)->index * each;

	return list_objects(sim_devices + first, each, count, ret);
}

SIM_EXPORT int32_t zeDeviceGetSubDevices(void *device, uint32_t *count, void **ret)
{
	const struct device_object *d = device;

	return list_objects(d->parts, d->part_count, count, ret);
}

SIM_EXPORT int32_t zeContextCreate(void *driver, const void *desc, void **ret)
{
	return make(ret, 1);
}

SIM_EXPORT int32_t zeCommandListIsImmediate(void *list, uint8_t *ret);
int32_t zeCommandListIsImmediate(void *list, uint8_t *ret)
{
	*ret = ((struct list_object *)list)->immediate;
	return 0;
}

SIM_EXPORT int32_t zeCommandListGetContextHandle(void *list, void **ret);
int32_t zeCommandListGetContextHandle(void *list, void **ret)
{
	*ret = ((struct list_object *)list)->context;
	return 0;
}

SIM_EXPORT int32_t zeCommandListGetDeviceHandle(void *list, const void **ret);
int32_t zeCommandListGetDeviceHandle(void *list, const void **ret)
{
	*ret = ((struct list_object *)list)->line.device;
	return 0;
}

SIM_EXPORT int32_t zeKernelGetName(void *kernel, size_t *size, char *ret);
int32_t zeKernelGetName(void *kernel, size_t *size, char *ret)
{
	const char *name = kernel_of(kernel)->name;

	if (ret)
		snprintf(ret, *size, "%s", name);
	*size = strlen(name) + 1;
	return 0;
}

/* Before version 1.2 of the properties, and with a driver from before, the resolution is in
 * nanoseconds. */
SIM_EXPORT int32_t zeDeviceGetProperties(void *device, struct levelzero_device_properties *p)
{
	const struct device_object *d = device;
	bool in_hz = p->stype == LEVELZERO_IS_DEVICE_PROPERTIES_1_2 &&
		     !getenv("XPUPROF_SIM_ZE_TIMER_IN_NS");

	p->timer_resolution = in_hz ? sim_hz() : 1000000000ull / sim_hz();
	p->timestamp_bits = sim_number("XPUPROF_SIM_ZE_TIMER_BITS", 36, 64);
	p->kernel_timestamp_bits = sim_number("XPUPROF_SIM_ZE_STAMP_BITS", 32, 64);
	p->slices = 5;
	p->subslices_per_slice = 4;
	p->core_mhz = 2850;
	p->uuid[0] = 0x86; /* Intel's, at no place of the PCI bus */
	p->uuid[1] = 0x80;
	p->uuid[14] = (uint8_t)d->index;
	p->uuid[15] = (uint8_t)d->part;
	snprintf(p->name, sizeof(p->name), d->index ? "%s %u" : "%s", "Simulated GPU (Level Zero)",
		d->index + 1);
	return 0;
}

SIM_EXPORT int32_t zeDeviceGetGlobalTimestamps(void *device, uint64_t *host, uint64_t *device_time)
{
	*host = sim_clock_ns();
	*device_time = sim_timer(device);
	return sim_lies("timer-none") ? 0x70000001 : 0;
}

SIM_EXPORT int32_t zeModuleGetNativeBinary(void *module, size_t *size, uint8_t *ret)
{
	return sim_module_image(module, size, ret);
}

SIM_EXPORT int32_t zeKernelGetBinaryExp(void *kernel, size_t *size, uint8_t *ret)
{
	const struct sim_code *code = &kernel_of(kernel)->code;

	if (ret)
		memcpy(ret, code->bytes, code->size < *size ? code->size : *size);
	*size = code->size;
	return 0;
}

/* The first driver's, which knows no handles but its own. */
static int32_t base_address(void *kernel, uint64_t *ret)
{
	const struct kernel_object *k = kernel;

	if (k->kind != IS_KERNEL || k->code.driver)
		abort();
	*ret = k->code.address;
	return *ret ? 0 : LEVELZERO_UNSUPPORTED;
}

SIM_EXPORT int32_t zelLoaderTranslateHandle(int kind, void *handle, void **ret);
int32_t zelLoaderTranslateHandle(int kind, void *handle, void **ret)
{
	if (kind != 11)
		return LEVELZERO_UNSUPPORTED;
	*ret = kernel_of(handle);
	return 0;
}

SIM_EXPORT int32_t zeDriverGetExtensionFunctionAddress(void *driver, const char *name, void **ret)
{
	if (((struct device_object *)driver)->index || strcmp(name, "zexKernelGetBaseAddress"))
		return LEVELZERO_UNSUPPORTED;
	*ret = (void *)base_address;
	return 0;
}

SIM_EXPORT int32_t zeMemGetAllocProperties(
	void *context, const void *at, struct levelzero_memory_properties *ret, void **device)
{
	ret->type = sim_memory_kind(at);
	*device = ret->type ? &sim_devices[0] : NULL;
	return 0;
}

SIM_EXPORT int32_t zeFenceQueryStatus(void *fence)
{
	return fence_status(fence);
}

SIM_EXPORT int32_t zeEventQueryStatus(void *event)
{
	return sim_status(event);
}

SIM_EXPORT int32_t zeEventQueryKernelTimestamp(void *event, struct levelzero_timestamps *ret)
{
	return sim_times(event, ret);
}
