/* SPDX-License-Identifier: MIT */
/* Calls of Level Zero that are simulated, and what programs know of the simulated device. */
#pragma once

#include <stddef.h>

#include "inject/levelzero/abi.h"

#define SIM_LEVELZERO_HZ	 19200000ull
#define SIM_LEVELZERO_CYCLES(of) (1000 + 10 * (uint64_t)(of)) /* of groups, or pages */

struct sim_module_desc {
	uint32_t stype;
	const void *next;
	uint32_t format;
	size_t size;
	const uint8_t *input;
	const char *flags;
	const void *constants;
};

int32_t zeInit(uint32_t flags);
int32_t zeModuleCreate(void *context, void *device, const struct sim_module_desc *desc, void **ret,
	void **ret_log);
int32_t zeModuleDestroy(void *module);
int32_t zeModuleGetNativeBinary(void *module, size_t *size, uint8_t *ret);
int32_t zeKernelGetBinaryExp(void *kernel, size_t *size, uint8_t *ret);
int32_t zeDriverGetExtensionFunctionAddress(void *driver, const char *name, void **ret);
int32_t zeDriverGet(uint32_t *count, void **ret);
int32_t zeDeviceGet(void *driver, uint32_t *count, void **ret);
int32_t zeDeviceGetProperties(void *device, struct levelzero_device_properties *ret);
int32_t zeDeviceGetGlobalTimestamps(void *device, uint64_t *ret_host, uint64_t *ret_device);
int32_t zeContextCreate(void *driver, const void *desc, void **ret);
int32_t zeContextDestroy(void *context);
int32_t zeCommandListCreate(void *context, void *device, const void *desc, void **ret);
int32_t zeCommandListCreateImmediate(void *context, void *device, const void *desc, void **ret);
int32_t zeCommandListDestroy(void *list);
int32_t zeCommandListHostSynchronize(void *list, uint64_t timeout);
int32_t zeCommandListAppendLaunchKernel(void *list, void *kernel,
	const struct levelzero_group_count *groups, void *event, uint32_t wait_count, void **waits);
int32_t zeCommandListAppendMemoryCopy(void *list, void *to, const void *from, size_t size,
	void *event, uint32_t wait_count, void **waits);
int32_t zeCommandListAppendMemoryFill(void *list, void *to, const void *pattern,
	size_t pattern_size, size_t size, void *event, uint32_t wait_count, void **waits);
int32_t zeKernelCreate(void *module, const struct levelzero_kernel_desc *desc, void **ret);
int32_t zeKernelSetGroupSize(void *kernel, uint32_t x, uint32_t y, uint32_t z);
int32_t zeEventPoolCreate(void *context, const struct levelzero_event_pool_desc *desc,
	uint32_t count, void **devices, void **ret);
int32_t zeEventPoolDestroy(void *pool);
int32_t zeEventCreate(void *pool, const struct levelzero_event_desc *desc, void **ret);
int32_t zeEventDestroy(void *event);
int32_t zeEventHostReset(void *event);
int32_t zeEventHostSynchronize(void *event, uint64_t timeout);
int32_t zeEventQueryStatus(void *event);
int32_t zeEventQueryKernelTimestamp(void *event, struct levelzero_timestamps *ret);
int32_t zelTracerCreate(const struct levelzero_tracer_desc *desc, void **ret);
int32_t zelTracerDestroy(void *tracer);
int32_t zelTracerSetEnabled(void *tracer, uint8_t enable);
