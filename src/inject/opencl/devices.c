// SPDX-License-Identifier: MIT
/*
 * Devices, in the order in which queues were made for them. A part of a device (a sub-device)
 * counts as the device that it is a part of: its handle may be used again for another part, while
 * those of whole devices stay. Found under a lock, where queues are made; what an entry says is
 * constant once `found_count` has it.
 */
#include <string.h>

#include "inject/opencl/opencl.h"
#include "vendor/opencl/opencl.h"

struct device devices[DEVICES_MAX];

static uint32_t found_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool ask(void *device, uint32_t what, void *value, size_t size)
{
	return !opencl.clGetDeviceInfo(device, what, size, value, NULL);
}

static void *whole_of(void *device)
{
	void *parent = NULL;

	while (ask(device, OPENCL_DEVICE_PARENT_DEVICE, &parent, sizeof(parent)) && parent)
		device = parent;
	return device;
}

/* A CPU is no GPU, whatever its driver calls it. */
static void name_device(struct device *d)
{
	static const char cpu[] = " (CPU)";
	uint64_t type = 0;
	size_t size;

	if (!ask(d->handle, OPENCL_DEVICE_NAME, d->name, sizeof(d->name) - sizeof(cpu)))
		d->name[0] = '\0';
	size = strnlen(d->name, sizeof(d->name) - sizeof(cpu));
	if (ask(d->handle, OPENCL_DEVICE_TYPE, &type, sizeof(type)) && type & OPENCL_DEVICE_IS_CPU)
		memcpy(d->name + size, cpu, sizeof(cpu));
}

/* "Portable Computing Language, OpenCL 3.0 PoCL 3.1 ..." */
static void name_platform(struct device *d)
{
	size_t room = sizeof(d->platform_name), size;

	if (!d->platform || opencl.clGetPlatformInfo(d->platform, OPENCL_PLATFORM_NAME, room / 2,
				    d->platform_name, NULL))
		d->platform_name[0] = '\0';
	size = strnlen(d->platform_name, room / 2);
	memcpy(d->platform_name + size, ", ", 3);
	if (!d->platform || opencl.clGetPlatformInfo(d->platform, OPENCL_PLATFORM_VERSION,
				    room - size - 2, d->platform_name + size + 2, NULL))
		d->platform_name[size] = '\0';
}

/* Its work is to be reported once: here, where its calls are. */
static void note_built_on(const struct device *d)
{
	if (!strncmp(d->platform_name, OPENCL_PLATFORM_ON_HSA, sizeof(OPENCL_PLATFORM_ON_HSA) - 1))
		__atomic_store_n(&library.opencl_above, 1, __ATOMIC_SEQ_CST);
}

static void describe(struct device *d, uint32_t index, void *device)
{
	uint32_t mhz = 0;
	uint64_t bytes = 0;
	size_t resolution = 0;
	struct wire_device *r = &d->record;

	d->handle = device;
	ask(device, OPENCL_DEVICE_PLATFORM, &d->platform, sizeof(d->platform));
	name_device(d);
	name_platform(d);
	note_built_on(d);
	r->type = WIRE_DEVICE;
	r->number = OPENCL_API * WIRE_API_DEVICES + index;
	ask(device, OPENCL_DEVICE_MAX_COMPUTE_UNITS, &r->sm_count, sizeof(r->sm_count));
	if (ask(device, OPENCL_DEVICE_MAX_CLOCK_FREQUENCY, &mhz, sizeof(mhz)))
		r->clock_khz = mhz * 1000;
	if (ask(device, OPENCL_DEVICE_GLOBAL_MEM_SIZE, &bytes, sizeof(bytes)))
		r->memory_bytes = bytes;
	if (!ask(device, OPENCL_DEVICE_UUID, r->uuid, sizeof(r->uuid)))
		memset(r->uuid, 0, sizeof(r->uuid));
	if (ask(device, OPENCL_DEVICE_PROFILING_TIMER_RESOLUTION, &resolution, sizeof(resolution)))
		d->resolution_ns = resolution < 1000000 ? resolution : 1000000;
	r->name_size = (uint32_t)strnlen(d->name, sizeof(d->name));
}

int devices_find(void *device)
{
	int found = -1;

	device = whole_of(device);
	pthread_mutex_lock(&lock);
	for (uint32_t n = 0; found < 0 && n < found_count; n++)
		if (devices[n].handle == device)
			found = (int)n;
	if (found < 0 && found_count < DEVICES_MAX) {
		describe(&devices[found_count], found_count, device);
		found = (int)found_count;
		__atomic_store_n(&found_count, found_count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void report_platform(const struct device *d)
{
	struct wire_tracer record = {.type = WIRE_TRACER,
		.api = OPENCL_API,
		.path_size = (uint32_t)strnlen(d->platform_name, sizeof(d->platform_name))};

	send_long(&record, sizeof(record), d->platform_name, record.path_size);
}

void devices_introduce(uint32_t index)
{
	struct device *d = &devices[index];

	if (d->sent)
		return;
	report_platform(d);
	d->sent = send_long(&d->record, sizeof(d->record), d->name, d->record.name_size);
}
