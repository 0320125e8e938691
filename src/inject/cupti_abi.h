/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA driver's and CUPTI's binary interface that we use, written down once, so
 * that neither is needed to build. Valid for CUPTI 12.0 (API version 19) to 13.0 (130001); facts
 * from cupti_activity.h, cupti_callbacks.h, cupti_result.h and cuda.h of CUDA 13.0, compared with
 * the real headers by tests/unit/cupti_abi_test.c.
 *
 * Activity records grow at their end only, with the version of the library that makes them:
 *
 *	kernel   Kernel5 (11.0) ... Kernel9 (12.x), Kernel10 (13.0)
 *	memcpy   Memcpy4 (11.1), Memcpy5 (11.6), Memcpy6 (12.8)
 *	peer     MemcpyPtoP3 (11.1), MemcpyPtoP4 (11.6)
 *	memset   Memset3 (11.1), Memset4 (11.6)
 *
 * Within a row all are equal up to and including graphNodeId, so the prefixes below hold for all of
 * them, and what follows is never looked at. Records lie on 8-byte boundaries and their structs are
 * packed to 8, which is the natural layout here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12, /* also: a second subscriber, in old versions */
	CUPTI_INVALID_KIND = 21,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

enum cupti_domain {
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
};

enum cupti_site {
	CUPTI_SITE_ENTER = 0,
	CUPTI_SITE_EXIT = 1,
};

enum cupti_resource {
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_RESOURCE_NODE_CREATED = 13,
	CUPTI_RESOURCE_NODE_DESTROY_STARTING = 14,
	CUPTI_RESOURCE_EXEC_CREATE_STARTING = 17,
	CUPTI_RESOURCE_EXEC_CREATED = 18,
	CUPTI_RESOURCE_EXEC_DESTROY_STARTING = 19,
	CUPTI_RESOURCE_NODE_CLONED = 20,
};

enum cupti_activity_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_KERNEL = 3,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MEMCPY_PEER = 22, /* CUPTI calls it MEMCPY2 */
};

enum cupti_attribute {
	CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ATTRIBUTE_ZEROED_OUT_BUFFER = 5,
};

#define CUPTI_FLUSH_FORCED 1u

struct cupti_callback_data {
	uint32_t site; /* enum cupti_site */
	const char *function_name;
	const void *params;
	void *return_value; /* cudaError_t or CUresult, on EXIT */
	const char *symbol_name;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

struct cupti_resource_data {
	void *context;
	void *handle;
	void *descriptor; /* struct cupti_graph_data for graph callbacks */
};

struct cupti_graph_data {
	void *graph;
	void *original_graph;
	void *node;
	void *original_node;
	uint32_t node_type; /* always 0, of driver 580 at least */
	void *dependency;
	void *graph_exec;
};

struct cupti_record {
	uint32_t kind; /* enum cupti_activity_kind */
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config;
	uint8_t shared_memory_config;
	uint16_t registers;
	uint32_t partitioned_cache_requested;
	uint32_t partitioned_cache_executed;
	uint64_t start;
	uint64_t end;
	uint64_t completed;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	int32_t grid[3];
	int32_t block[3];
	int32_t shared_static;
	int32_t shared_dynamic;
	uint32_t local_per_thread;
	uint32_t local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued;
	uint64_t submitted;
	uint8_t launch_type;
	uint8_t carveout_requested_set;
	uint8_t carveout_requested;
	uint8_t padding;
	uint32_t shared_executed;
	uint64_t graph_node;
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t target_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint32_t runtime_correlation;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind;
	uint8_t source_kind;
	uint8_t target_kind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t source_device;
	uint32_t source_context;
	uint32_t target_device;
	uint32_t target_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_memset {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;
	uint16_t flags;
	uint16_t memory_kind;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
};

typedef void (*cupti_callback)(void *userdata, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
typedef uint64_t (*cupti_clock)(void);

/*
 * CUPTI's functions, each with its name after "cupti" and its parameters. All return a CUptiResult,
 * an int. REQUIRED ones must be there; OPTIONAL ones came later or can be done without.
 */
#define CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)                                                        \
	REQUIRED(GetVersion, (uint32_t * version))                                                 \
	REQUIRED(Subscribe, (void **subscriber, cupti_callback callback, void *userdata))          \
	REQUIRED(Unsubscribe, (void *subscriber))                                                  \
	REQUIRED(                                                                                  \
		EnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)) \
	REQUIRED(ActivityRegisterCallbacks,                                                        \
		(cupti_buffer_requested requested, cupti_buffer_completed completed))              \
	REQUIRED(ActivityEnable, (uint32_t kind))                                                  \
	REQUIRED(ActivityDisable, (uint32_t kind))                                                 \
	REQUIRED(ActivityFlushAll, (uint32_t flag))                                                \
	REQUIRED(ActivityGetNextRecord,                                                            \
		(uint8_t * buffer, size_t valid_size, struct cupti_record * *record))              \
	REQUIRED(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))  \
	OPTIONAL(ActivitySetAttribute, (uint32_t attribute, size_t * size, void *value))           \
	OPTIONAL(ActivityRegisterTimestampCallback, (cupti_clock clock))                           \
	OPTIONAL(ActivityEnableLatencyTimestamps, (uint8_t enable))                                \
	OPTIONAL(GetTimestamp, (uint64_t * timestamp))                                             \
	OPTIONAL(GetGraphNodeId, (void *node, uint64_t *id))

/* The driver's, by their exported names. All return a CUresult, an int. */
#define CUDA_FUNCTIONS(OPTIONAL)                                                                   \
	OPTIONAL(cuDriverGetVersion, (int *version))                                               \
	OPTIONAL(cuDeviceGet, (int *device, int ordinal))                                          \
	OPTIONAL(cuDeviceGetName, (char *name, int size, int device))                              \
	OPTIONAL(cuDeviceGetUuid_v2, (uint8_t * uuid, int device))                                 \
	OPTIONAL(cuDeviceGetUuid, (uint8_t * uuid, int device))                                    \
	OPTIONAL(cuDeviceGetAttribute, (int *value, int attribute, int device))                    \
	OPTIONAL(cuDeviceTotalMem_v2, (size_t * bytes, int device))

#define CUDA_ATTRIBUTE_SM_COUNT 16

/* The CUDA major version that a CUPTI API version belongs to (the list in cupti_version.h); 0:
 * older than 12. */
static inline uint32_t cupti_cuda_major(uint32_t api_version)
{
	if (api_version >= 100000)
		return api_version / 10000;
	return api_version >= 19 ? 12 : 0;
}
