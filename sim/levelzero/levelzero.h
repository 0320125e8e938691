/* SPDX-License-Identifier: MIT */
/* Calls of Level Zero that are simulated, and what programs know of the simulated devices. */
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

/* CALL(name, parameters): what every version of the simulated loader exports. */
#define SIM_LEVELZERO_CALLS(CALL)                                                                  \
	CALL(zeInit, (uint32_t flags))                                                             \
	CALL(zeDriverGet, (uint32_t * count, void **ret))                                          \
	CALL(zeDeviceGet, (void *driver, uint32_t *count, void **ret))                             \
	CALL(zeDeviceGetSubDevices, (void *device, uint32_t *count, void **ret))                   \
	CALL(zeDeviceGetProperties, (void *device, struct levelzero_device_properties *ret))       \
	CALL(zeDeviceGetGlobalTimestamps,                                                          \
		(void *device, uint64_t *ret_host, uint64_t *ret_device))                          \
	CALL(zeContextCreate, (void *driver, const void *desc, void **ret))                        \
	CALL(zeContextDestroy, (void *context))                                                    \
	CALL(zeMemAllocDevice, (void *context, const void *desc, size_t size, size_t alignment,    \
				       void *device, void **ret))                                  \
	CALL(zeMemAllocHost,                                                                       \
		(void *context, const void *desc, size_t size, size_t alignment, void **ret))      \
	CALL(zeMemAllocShared, (void *context, const void *of_device, const void *of_host,         \
				       size_t size, size_t alignment, void *device, void **ret))   \
	CALL(zeMemFree, (void *context, void *at))                                                 \
	CALL(zeMemGetAllocProperties,                                                              \
		(void *context, const void *at, struct levelzero_memory_properties *ret,           \
			void **ret_device))                                                        \
	CALL(zeImageCreate, (void *context, void *device, const struct levelzero_image_desc *desc, \
				    void **ret))                                                   \
	CALL(zeImageDestroy, (void *image))                                                        \
	CALL(zeCommandQueueCreate, (void *context, void *device, const void *desc, void **ret))    \
	CALL(zeCommandQueueDestroy, (void *queue))                                                 \
	CALL(zeCommandQueueExecuteCommandLists,                                                    \
		(void *queue, uint32_t count, void **lists, void *fence))                          \
	CALL(zeCommandQueueSynchronize, (void *queue, uint64_t timeout))                           \
	CALL(zeFenceCreate, (void *queue, const struct levelzero_fence_desc *desc, void **ret))    \
	CALL(zeFenceDestroy, (void *fence))                                                        \
	CALL(zeFenceHostSynchronize, (void *fence, uint64_t timeout))                              \
	CALL(zeFenceQueryStatus, (void *fence))                                                    \
	CALL(zeFenceReset, (void *fence))                                                          \
	CALL(zeCommandListCreate, (void *context, void *device, const void *desc, void **ret))     \
	CALL(zeCommandListCreateImmediate,                                                         \
		(void *context, void *device, const void *desc, void **ret))                       \
	CALL(zeCommandListDestroy, (void *list))                                                   \
	CALL(zeCommandListClose, (void *list))                                                     \
	CALL(zeCommandListReset, (void *list))                                                     \
	CALL(zeCommandListHostSynchronize, (void *list, uint64_t timeout))                         \
	CALL(zeCommandListImmediateAppendCommandListsExp,                                          \
		(void *list, uint32_t count, void **lists, void *event, uint32_t wait_count,       \
			void **waits))                                                             \
	CALL(zeCommandListImmediateAppendCommandListsWithParameters,                               \
		(void *list, uint32_t count, void **lists, const void *parameters, void *event,    \
			uint32_t wait_count, void **waits))                                        \
	CALL(zeCommandListAppendMemoryCopyWithParameters,                                          \
		(void *list, void *to, const void *from, size_t size, const void *parameters,      \
			void *event, uint32_t wait_count, void **waits))                           \
	CALL(zeCommandListAppendMemoryFillWithParameters,                                          \
		(void *list, void *to, const void *pattern, size_t pattern_size, size_t size,      \
			const void *parameters, void *event, uint32_t wait_count, void **waits))   \
	CALL(zeCommandListAppendBarrier,                                                           \
		(void *list, void *event, uint32_t wait_count, void **waits))                      \
	CALL(zeCommandListAppendSignalEvent, (void *list, void *event))                            \
	CALL(zeCommandListAppendEventReset, (void *list, void *event))                             \
	CALL(zeCommandListAppendLaunchKernel,                                                      \
		(void *list, void *kernel, const struct levelzero_group_count *groups,             \
			void *event, uint32_t wait_count, void **waits))                           \
	CALL(zeCommandListAppendMemoryCopy,                                                        \
		(void *list, void *to, const void *from, size_t size, void *event,                 \
			uint32_t wait_count, void **waits))                                        \
	CALL(zeCommandListAppendMemoryCopyRegion,                                                  \
		(void *list, void *to, const struct levelzero_copy_region *region, uint32_t pitch, \
			uint32_t slice, const void *from,                                          \
			const struct levelzero_copy_region *from_region, uint32_t from_pitch,      \
			uint32_t from_slice, void *event, uint32_t wait_count, void **waits))      \
	CALL(zeCommandListAppendMemoryFill,                                                        \
		(void *list, void *to, const void *pattern, size_t pattern_size, size_t size,      \
			void *event, uint32_t wait_count, void **waits))                           \
	CALL(zeCommandListAppendImageCopy, (void *list, void *to, void *from, void *event,         \
						   uint32_t wait_count, void **waits))             \
	CALL(zeCommandListAppendImageCopyToMemory,                                                 \
		(void *list, void *to, void *from, const struct levelzero_copy_region *part,       \
			void *event, uint32_t wait_count, void **waits))                           \
	CALL(zeCommandListAppendImageCopyFromMemory,                                               \
		(void *list, void *to, const void *from, const struct levelzero_copy_region *part, \
			void *event, uint32_t wait_count, void **waits))                           \
	CALL(zeModuleCreate, (void *context, void *device, const struct sim_module_desc *desc,     \
				     void **ret, void **ret_log))                                  \
	CALL(zeModuleDestroy, (void *module))                                                      \
	CALL(zeModuleGetNativeBinary, (void *module, size_t *size, uint8_t *ret))                  \
	CALL(zeKernelGetBinaryExp, (void *kernel, size_t *size, uint8_t *ret))                     \
	CALL(zeDriverGetExtensionFunctionAddress, (void *driver, const char *name, void **ret))    \
	CALL(zeKernelCreate, (void *module, const struct levelzero_kernel_desc *desc, void **ret)) \
	CALL(zeKernelDestroy, (void *kernel))                                                      \
	CALL(zeKernelSetGroupSize, (void *kernel, uint32_t x, uint32_t y, uint32_t z))             \
	CALL(zeEventPoolCreate, (void *context, const struct levelzero_event_pool_desc *desc,      \
					uint32_t count, void **devices, void **ret))               \
	CALL(zeEventPoolDestroy, (void *pool))                                                     \
	CALL(zeEventCreate, (void *pool, const struct levelzero_event_desc *desc, void **ret))     \
	CALL(zeEventDestroy, (void *event))                                                        \
	CALL(zeEventHostReset, (void *event))                                                      \
	CALL(zeEventHostSynchronize, (void *event, uint64_t timeout))                              \
	CALL(zeEventQueryStatus, (void *event))                                                    \
	CALL(zeEventQueryKernelTimestamp, (void *event, struct levelzero_timestamps *ret))         \
	CALL(zelTracerCreate, (const struct levelzero_tracer_desc *desc, void **ret))              \
	CALL(zelTracerDestroy, (void *tracer))                                                     \
	CALL(zelTracerSetEnabled, (void *tracer, uint8_t enable))

#define CALL(name, parameters) int32_t name parameters;
SIM_LEVELZERO_CALLS(CALL)
#undef CALL
