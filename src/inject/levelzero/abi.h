/* SPDX-License-Identifier: MIT */
/*
 * What we use of Level Zero's C interface (level_zero/ze_api.h, layers/zel_tracing_api.h), so that
 * nothing of Intel's has to be installed. A test compares it with the real headers where these are.
 *
 * Handles are pointers here. The loader hands a tracer's callbacks the addresses of all arguments
 * of a call, in their order, and takes what it finds there: that is `void **` here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	LEVELZERO_SUCCESS = 0,
	LEVELZERO_NOT_READY = 1,
	LEVELZERO_UNINITIALIZED = 0x78000001,
	LEVELZERO_UNSUPPORTED = 0x78000003,
};

enum {
	LEVELZERO_IS_DEVICE_PROPERTIES = 0x3, /* the timer's resolution is in nanoseconds */
	LEVELZERO_IS_EVENT_POOL_DESC = 0x10,
	LEVELZERO_IS_EVENT_DESC = 0x11,
	LEVELZERO_IS_FENCE_DESC = 0x12,
	LEVELZERO_IS_IMAGE_DESC = 0x13,
	LEVELZERO_IS_MEMORY_PROPERTIES = 0x17,
	LEVELZERO_IS_DEVICE_PROPERTIES_1_2 = 0x00020006, /* it is in cycles a second */
	LEVELZERO_IS_TRACER_DESC = 0x1,
};

enum {
	LEVELZERO_POOL_HOST_VISIBLE = 1 << 0,
	LEVELZERO_POOL_IPC = 1 << 1,
	LEVELZERO_POOL_TIMESTAMPS = 1 << 2,
};

/* Where memory is. */
enum {
	LEVELZERO_MEMORY_UNKNOWN = 0, /* to the driver: the program's own */
	LEVELZERO_MEMORY_HOST = 1,
	LEVELZERO_MEMORY_DEVICE = 2,
	LEVELZERO_MEMORY_SHARED = 3,
	LEVELZERO_MEMORY_IMPORTED = 4,
};

enum { LEVELZERO_PROLOGUE = 0, LEVELZERO_EPILOGUE = 1 };

struct levelzero_device_properties {
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice;
	uint32_t core_mhz;
	uint64_t max_allocation;
	uint32_t max_contexts, max_priority;
	uint32_t threads_per_eu, simd_width, eus_per_subslice, subslices_per_slice, slices;
	uint64_t timer_resolution;
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

struct levelzero_event_pool_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, count;
};

struct levelzero_event_desc {
	uint32_t stype;
	const void *next;
	uint32_t index, signal, wait;
};

struct levelzero_kernel_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
	const char *name;
};

struct levelzero_group_count {
	uint32_t count[3];
};

struct levelzero_copy_region {
	uint32_t origin[3];
	uint32_t size[3]; /* the depth may be 0 */
};

struct levelzero_fence_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags;
};

struct levelzero_memory_properties {
	uint32_t stype;
	void *next;
	uint32_t type;
	uint64_t id, page_size;
};

struct levelzero_image_desc {
	uint32_t stype;
	const void *next;
	uint32_t flags, type;
	uint32_t layout, format[5];
	uint64_t width;
	uint32_t height, depth, levels, mipmaps;
};

/* In cycles of the device's timer. The second pair counts only while the context ran. */
struct levelzero_timestamps {
	uint64_t start, end;
	uint64_t context_start, context_end;
};

struct levelzero_tracer_desc {
	uint32_t stype;
	const void *next;
	void *user_data;
};

typedef void levelzero_callback(void **arguments, int32_t result, void *user_data, void **instance);

/* FUNCTION(result, name, parameters): looked up in the loader. */
#define LEVELZERO_FUNCTIONS(FUNCTION)                                                              \
	FUNCTION(int32_t, zeDeviceGetProperties,                                                   \
		(void *device, struct levelzero_device_properties *ret))                           \
	FUNCTION(int32_t, zeDeviceGetGlobalTimestamps,                                             \
		(void *device, uint64_t *ret_host, uint64_t *ret_device))                          \
	FUNCTION(int32_t, zeEventPoolCreate,                                                       \
		(void *context, const struct levelzero_event_pool_desc *desc, uint32_t devices,    \
			void **of, void **ret))                                                    \
	FUNCTION(int32_t, zeEventPoolDestroy, (void *pool))                                        \
	FUNCTION(int32_t, zeEventCreate,                                                           \
		(void *pool, const struct levelzero_event_desc *desc, void **ret))                 \
	FUNCTION(int32_t, zeEventDestroy, (void *event))                                           \
	FUNCTION(int32_t, zeEventQueryStatus, (void *event))                                       \
	FUNCTION(int32_t, zeEventHostReset, (void *event))                                         \
	FUNCTION(int32_t, zeEventQueryKernelTimestamp,                                             \
		(void *event, struct levelzero_timestamps *ret))                                   \
	FUNCTION(int32_t, zeFenceCreate,                                                           \
		(void *queue, const struct levelzero_fence_desc *desc, void **ret))                \
	FUNCTION(int32_t, zeFenceDestroy, (void *fence))                                           \
	FUNCTION(int32_t, zeFenceQueryStatus, (void *fence))                                       \
	FUNCTION(int32_t, zeFenceReset, (void *fence))                                             \
	FUNCTION(int32_t, zeMemGetAllocProperties,                                                 \
		(void *context, const void *at, struct levelzero_memory_properties *ret,           \
			void **ret_device))                                                        \
	FUNCTION(int32_t, zelTracerCreate, (const struct levelzero_tracer_desc *desc, void **ret)) \
	FUNCTION(int32_t, zelTracerDestroy, (void *tracer))                                        \
	FUNCTION(int32_t, zelTracerSetEnabled, (void *tracer, uint8_t enable))

struct levelzero_functions {
#define FUNCTION(result, name, parameters) result(*name) parameters;
	LEVELZERO_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
