// SPDX-License-Identifier: MIT
/*
 * The start of the driver, and its devices. cuInit loads the library named by CUDA_INJECTION64_PATH
 * and calls its InitializeInjection, once, as NVIDIA's driver does. A process forked after that has
 * no driver: every call returns CUDA_ERROR_NOT_INITIALIZED there.
 */
#include "sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_MEMORY_BYTES_LOG2 = 35, CAPABILITY_MAJOR = 9, CAPABILITY_MINOR = 0 };

struct sim_driver sim = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.next_stream = 7, /* the first default stream has number 7 on NVIDIA's driver */
	.next_context = 1,
	.next_module = 1,
	.next_graph = 1,
};

static const struct {
	const char *name;
	size_t offset;
} fault_names[] = {
	{"fail-launch", offsetof(struct sim_faults, fail_launch)},
	{"fail-copy", offsetof(struct sim_faults, fail_copy)},
	{"fail-load", offsetof(struct sim_faults, fail_load)},
	{"small-blocks", offsetof(struct sim_faults, small_blocks)},
	{"drop", offsetof(struct sim_faults, drop)},
	{"zero-time", offsetof(struct sim_faults, zero_time)},
	{"reversed-time", offsetof(struct sim_faults, reversed_time)},
	{"far-time", offsetof(struct sim_faults, far_time)},
	{"reorder", offsetof(struct sim_faults, reorder)},
	{"delay-ms", offsetof(struct sim_faults, delay_ms)},
	{"record-extra", offsetof(struct sim_faults, record_extra)},
	{"cupti-version", offsetof(struct sim_faults, cupti_version)},
	{"subscriber-before", offsetof(struct sim_faults, subscriber_before)},
	{"subscriber-after", offsetof(struct sim_faults, subscriber_after)},
	{"no-cupti", offsetof(struct sim_faults, no_cupti)},
	{"counters-refused", offsetof(struct sim_faults, counters_refused)},
	{"counters-unsupported", offsetof(struct sim_faults, counters_unsupported)},
	{"counters-busy", offsetof(struct sim_faults, counters_busy)},
	{"counters-full", offsetof(struct sim_faults, counters_full)},
	{"counters-full-from", offsetof(struct sim_faults, counters_full_from)},
	{"counters-crash", offsetof(struct sim_faults, counters_crash)},
	{"counters-stop", offsetof(struct sim_faults, counters_stop)},
	{"stalls-refused", offsetof(struct sim_faults, stalls_refused)},
	{"stalls-full", offsetof(struct sim_faults, stalls_full)},
	{"stalls-dropped", offsetof(struct sim_faults, stalls_dropped)},
	{"stalls-slow-ms", offsetof(struct sim_faults, stalls_slow_ms)},
	{"stalls-delay-ms", offsetof(struct sim_faults, stalls_delay_ms)},
	{"stalls-behind", offsetof(struct sim_faults, stalls_behind)},
	{"stalls-stop", offsetof(struct sim_faults, stalls_stop)},
	{"stalls-lock", offsetof(struct sim_faults, stalls_lock)},
	{"stalls-taken", offsetof(struct sim_faults, stalls_taken)},
	{"stalls-hang", offsetof(struct sim_faults, stalls_hang)},
	{"stalls-alone", offsetof(struct sim_faults, stalls_alone)},
	{"stalls-strict", offsetof(struct sim_faults, stalls_strict)},
	{"stalls-end", offsetof(struct sim_faults, stalls_end)},
	{"one-sampler", offsetof(struct sim_faults, one_sampler)},
	{"cupti-ends", offsetof(struct sim_faults, cupti_ends)},
};

/* "name=number" or "name" (1); a misspelt fault must not pass for a passed test. */
static void read_fault(struct sim_faults *faults, const char *text)
{
	size_t length = strcspn(text, "=");
	uint64_t value = text[length] ? strtoull(text + length + 1, NULL, 0) : 1;

	for (size_t i = 0; i < sizeof(fault_names) / sizeof(*fault_names); i++) {
		if (strlen(fault_names[i].name) == length &&
			!strncmp(fault_names[i].name, text, length)) {
			memcpy((char *)faults + fault_names[i].offset, &value, sizeof(value));
			return;
		}
	}
	fprintf(stderr, "simulated CUDA: unknown fault '%s' in XPUPROF_SIM_FAULTS\n", text);
	abort();
}

static void read_faults(struct sim_faults *faults)
{
	const char *variable = getenv("XPUPROF_SIM_FAULTS");
	char *copy, *rest, *one;

	if (!variable)
		return;
	copy = rest = strdup(variable);
	while (copy && (one = strsep(&rest, ",")))
		if (*one)
			read_fault(faults, one);
	free(copy);
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *devices = getenv("XPUPROF_SIM_DEVICES");
	const char *kernel_ns = getenv("XPUPROF_SIM_KERNEL_NS");

	sim.device_count = devices ? atoi(devices) : 1;
	if (sim.device_count < 0)
		sim.device_count = 0;
	if (sim.device_count > SIM_MAX_DEVICES)
		sim.device_count = SIM_MAX_DEVICES;
	for (int i = 0; i < sim.device_count; i++)
		sim.devices[i].ordinal = i;
	sim.kernel_ns = kernel_ns ? strtoull(kernel_ns, NULL, 0) : 0;
	read_faults(&sim.faults);
}

static void forked(void)
{
	if (sim.state == SIM_READY)
		sim.state = SIM_FORKED;
}

static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

CUresult sim_init(unsigned int flags)
{
	bool first;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim.state == SIM_FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!sim.device_count)
		return CUDA_ERROR_NO_DEVICE;
	pthread_mutex_lock(&sim.lock);
	first = sim.state == SIM_NEW;
	if (first) {
		pthread_atfork(NULL, NULL, forked);
		sim.state = SIM_READY;
	}
	pthread_mutex_unlock(&sim.lock);
	if (!first)
		return CUDA_SUCCESS;
	load_injection();
	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][SIM_INIT_FINISHED])
		xpuprof_sim_tools.resource(SIM_INIT_FINISHED, NULL, NULL, NULL);
	return CUDA_SUCCESS;
}

CUresult sim_driver_version(int *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = CUDA_VERSION;
	return CUDA_SUCCESS;
}

bool sim_device_valid(CUdevice dev)
{
	return dev >= 0 && dev < sim.device_count;
}

CUresult sim_device_get(CUdevice *ret, int ordinal)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_valid(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_device_count(int *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = sim.device_count;
	return CUDA_SUCCESS;
}

CUresult sim_device_name(char *ret, int length, CUdevice dev)
{
	if (!ret || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(ret, (size_t)length, "Simulated GPU %d", dev);
	return CUDA_SUCCESS;
}

CUresult sim_device_capability(int *ret_major, int *ret_minor, CUdevice dev)
{
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_major = CAPABILITY_MAJOR;
	*ret_minor = CAPABILITY_MINOR;
	return CUDA_SUCCESS;
}

CUresult sim_device_total_memory(size_t *ret, CUdevice dev)
{
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = (size_t)1 << SIM_MEMORY_BYTES_LOG2;
	return CUDA_SUCCESS;
}

CUresult sim_device_attribute(int *ret, CUdevice_attribute attribute, CUdevice dev)
{
	static const int values[] = {
		[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
		[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
		[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
		[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
		[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 0x7fffffff,
		[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
		[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
		[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 48 << 10,
		[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 64 << 10,
		[CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
		[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 64 << 10,
		[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1500000,
		[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 64,
		[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
		[CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
		[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 2000000,
		[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 4096,
		[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
		[CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 2,
		[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
		[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = CAPABILITY_MAJOR,
		[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = CAPABILITY_MINOR,
		[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
		[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
		[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
		[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 227 << 10,
		[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
	};

	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ret || attribute <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (size_t)attribute < sizeof(values) / sizeof(*values) ? values[attribute] : 0;
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*ret = dev + 1;
	return CUDA_SUCCESS;
}

/* Of the machine's name, so that GPUs of machines with other names are others. */
static uint32_t machine_hash(void)
{
	const char *name = getenv("XPUPROF_SIM_MACHINE");
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; name && *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

CUresult sim_device_uuid(CUuuid *ret, CUdevice dev)
{
	uint32_t machine = machine_hash();

	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(ret->bytes, "simulated", 10);
	memcpy(ret->bytes + 10, &machine, sizeof(machine));
	ret->bytes[14] = 0;
	ret->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

CUresult sim_device_pci_bus_id(char *ret, int length, CUdevice dev)
{
	if (!sim_device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(ret, (size_t)length, "0000:%02x:00.0", dev + 1);
	return CUDA_SUCCESS;
}

CUresult sim_device_can_access_peer(int *ret, CUdevice dev, CUdevice peer)
{
	if (!sim_device_valid(dev) || !sim_device_valid(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = dev != peer;
	return CUDA_SUCCESS;
}
