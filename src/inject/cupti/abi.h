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
 *	sync     Synchronization, Synchronization2 (12.8)
 *	event    CudaEvent, CudaEvent2 (12.8)
 *
 * Within a row all are equal up to and including graphNodeId, so the prefixes below hold for all of
 * them, and what follows is never read. For the last two rows the newer form is given, and the
 * length of the older. Records lie on 8-byte boundaries and their structs are packed to 8, which is
 * the natural layout here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_INVALID_CONTEXT = 3,
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_MAX_LIMIT_REACHED = 12, /* also: a second subscriber, in old versions */
	CUPTI_NOT_COMPATIBLE = 14,    /* records, while instructions are sampled */
	CUPTI_INVALID_KIND = 21,
	CUPTI_HARDWARE_BUSY = 26,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_VIRTUAL_DEVICE = 33,
	CUPTI_RIGHTS = 35,
	CUPTI_OTHER_PROFILER = 36, /* the older profiling interface is in use */
	CUPTI_LEGACY_DEVICE = 38,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_VIRTUAL_DEVICE_RIGHTS = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_WSL_DEVICE = 45,
	CUPTI_UNKNOWN = 999,
};

enum cupti_domain {
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	CUPTI_DOMAIN_STATE = 6,
};

enum cupti_site {
	CUPTI_SITE_ENTER = 0,
	CUPTI_SITE_EXIT = 1,
};

enum cupti_resource {
	CUPTI_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_RESOURCE_STREAM_CREATED = 3,
	CUPTI_RESOURCE_STREAM_DESTROY_STARTING = 4,
	CUPTI_RESOURCE_MODULE_LOADED = 6,
	CUPTI_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_RESOURCE_NODE_CREATED = 13,
	CUPTI_RESOURCE_NODE_DESTROY_STARTING = 14,
	CUPTI_RESOURCE_EXEC_CREATE_STARTING = 17,
	CUPTI_RESOURCE_EXEC_CREATED = 18,
	CUPTI_RESOURCE_EXEC_DESTROY_STARTING = 19,
	CUPTI_RESOURCE_NODE_CLONED = 20,
};

enum cupti_state {
	CUPTI_STATE_FATAL_ERROR = 1, /* CUPTI finalizes itself then */
};

enum cupti_activity_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_KERNEL = 3,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MARKER = 12,
	CUPTI_KIND_MEMCPY_PEER = 22, /* CUPTI calls it MEMCPY2 */
};

enum cupti_marker_flag {
	CUPTI_MARKER_INSTANTANEOUS = 1 << 0,
	CUPTI_MARKER_START = 1 << 1,
	CUPTI_MARKER_END = 1 << 2,
};

#define CUPTI_OBJECT_THREAD    2u
#define CUPTI_THREAD_ID_SYSTEM 1u

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
	void *handle; /* the stream, for stream callbacks */
	/* struct cupti_graph_data for graph callbacks, struct cupti_module_data for modules */
	void *descriptor;
};

/* The image is valid during the callback. */
struct cupti_module_data {
	uint32_t module;
	size_t image_size;
	const char *image;
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

struct cupti_state_data {
	int32_t result;
	const char *message; /* may be NULL; valid during the callback */
};

struct cupti_record {
	uint32_t kind; /* enum cupti_activity_kind */
};

/* Marker2. */
struct cupti_marker {
	uint32_t kind;
	uint32_t flags; /* enum cupti_marker_flag */
	uint64_t timestamp;
	uint32_t id;
	uint32_t object_kind;
	uint32_t process, thread; /* of an object that is a thread */
	uint32_t more_of_object;
	uint32_t pad;
	const char *name;   /* NULL at an end */
	const char *domain; /* NULL: the default one */
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

/*
 * Sampling of instructions (cupti_pcsampling.h). Each struct that is passed in holds its size, up
 * to and including its last member. Records are packed to 8, and are returned one behind the other
 * at their full size.
 */
#define CUPTI_SIZE_UP_TO(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define CUPTI_STALL_NAME_BYTES	     128

struct cupti_stall {
	uint32_t reason; /* index */
	uint32_t samples;
};

/* An instruction that warps were seen at. Without the correlation id until 12.3 (API version
 * 21). */
struct cupti_pc {
	size_t size;
	uint64_t image; /* its checksum */
	uint64_t offset;
	uint32_t function; /* index of its symbol in the image */
	uint32_t pad;
	/* of the function: one for all of its instructions, as long as its module is there
	 * (13.0) */
	char *name;
	size_t stall_count;
	struct cupti_stall *stalls;
	uint32_t correlation; /* serialized mode */
	uint32_t pad2;
};

#define CUPTI_PC_BYTES_OLD 56u

struct cupti_pcs {
	size_t size;
	size_t room;	  /* records that fit behind `pcs` */
	uint64_t samples; /* the two next included */
	uint64_t dropped;
	size_t count;	  /* records returned */
	size_t remaining; /* that did not fit */
	uint64_t range;
	struct cupti_pc *pcs;
	uint64_t without_code; /* "non user kernels" */
	uint8_t buffer_full;
	uint8_t pad[7];
};

enum cupti_sampling_mode {
	CUPTI_SAMPLING_CONTINUOUS = 1,
	CUPTI_SAMPLING_SERIALIZED = 2,
};

enum cupti_sampling_attribute {
	CUPTI_SAMPLING_PERIOD = 1, /* uint32_t: 5 to 31, 2^n cycles */
	/* size_t: in which the GPU leaves samples, of the host's (512 MB) */
	CUPTI_SAMPLING_MEMORY = 4,
	CUPTI_SAMPLING_MODE = 5,       /* uint32_t: enum cupti_sampling_mode */
	CUPTI_SAMPLING_START_STOP = 6, /* uint32_t: it is switched by Start and Stop */
	CUPTI_SAMPLING_OUTPUT = 7,     /* uint32_t: 1, parsed */
	CUPTI_SAMPLING_BUFFER = 8,     /* struct cupti_pcs *: for what Disable finds */
	CUPTI_SAMPLING_SLEEP = 9,      /* uint32_t: of CUPTI's threads, ms (100) */
};

struct cupti_sampling_setting {
	uint32_t attribute; /* enum cupti_sampling_attribute */
	int32_t status;	    /* enum cupti_result */
	union {
		uint64_t words[3];
		uint32_t number;
		size_t bytes;
		void *pointer;
	};
};

struct cupti_sampling_settings {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	struct cupti_sampling_setting *settings;
};

/* Of Enable, Disable, Start and Stop. */
struct cupti_sampling_context {
	size_t size;
	void *reserved;
	void *context;
};

struct cupti_sampling_data {
	size_t size;
	void *reserved;
	void *context;
	struct cupti_pcs *data;
};

struct cupti_stall_count {
	size_t size;
	void *reserved;
	void *context;
	size_t *count;
};

struct cupti_stall_names {
	size_t size;
	void *reserved;
	void *context;
	size_t count;
	uint32_t *indexes;
	char **names; /* room for CUPTI_STALL_NAME_BYTES each */
};

struct cupti_image_checksum {
	size_t size;
	size_t image_size;
	const void *image;
	uint64_t checksum;
};

typedef void (*cupti_callback)(void *userdata, uint32_t domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
typedef uint64_t (*cupti_clock)(void);
typedef void (*cupti_compute_checksum)(const void *image, size_t size, uint64_t *checksum);

/*
 * CUPTI's functions, each with its name after "cupti" and its parameters. All return a CUptiResult,
 * an int. REQUIRED ones must be there; OPTIONAL ones came later or can be done without.
 */
// clang-format off
#define CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)                                                        \
	REQUIRED(GetVersion, (uint32_t * version))                                                 \
	REQUIRED(Subscribe, (void **subscriber, cupti_callback callback, void *userdata))          \
	REQUIRED(Unsubscribe, (void *subscriber))                                                  \
	REQUIRED(                                                                                  \
		EnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)) \
	REQUIRED(EnableDomain, (uint32_t enable, void *subscriber, uint32_t domain))               \
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
	OPTIONAL(SetThreadIdType, (uint32_t type))                                                 \
	OPTIONAL(Finalize, (void))                                                                 \
	OPTIONAL(GetTimestamp, (uint64_t * timestamp))                                             \
	OPTIONAL(GetGraphNodeId, (void *node, uint64_t *id))                                       \
	OPTIONAL(GetDeviceId, (void *context, uint32_t *device))                                   \
	OPTIONAL(GetContextId, (void *context, uint32_t *id))                                      \
	OPTIONAL(GetStreamIdEx,                                                                    \
		(void *context, void *stream, uint8_t per_thread, uint32_t *id))                   \
	OPTIONAL(GetCubinCrc, (struct cupti_image_checksum * params))                              \
	OPTIONAL(RegisterComputeCrcCallback, (cupti_compute_checksum compute))                     \
	OPTIONAL(PCSamplingEnable, (struct cupti_sampling_context * params))                       \
	OPTIONAL(PCSamplingDisable, (struct cupti_sampling_context * params))                      \
	OPTIONAL(PCSamplingStart, (struct cupti_sampling_context * params))                        \
	OPTIONAL(PCSamplingStop, (struct cupti_sampling_context * params))                         \
	OPTIONAL(PCSamplingSetConfigurationAttribute, (struct cupti_sampling_settings * params))   \
	OPTIONAL(PCSamplingGetConfigurationAttribute, (struct cupti_sampling_settings * params))   \
	OPTIONAL(PCSamplingGetNumStallReasons, (struct cupti_stall_count * params))                \
	OPTIONAL(PCSamplingGetStallReasons, (struct cupti_stall_names * params))                   \
	OPTIONAL(PCSamplingGetData, (struct cupti_sampling_data * params))
// clang-format on

/* The driver's, by their exported names. All return a CUresult, an int. */
#define CUDA_FUNCTIONS(OPTIONAL)                                                                   \
	OPTIONAL(cuDriverGetVersion, (int *version))                                               \
	OPTIONAL(cuCtxGetCurrent, (void **context))                                                \
	OPTIONAL(cuDeviceGet, (int *device, int ordinal))                                          \
	OPTIONAL(cuDeviceGetName, (char *name, int size, int device))                              \
	OPTIONAL(cuDeviceGetUuid_v2, (uint8_t * uuid, int device))                                 \
	OPTIONAL(cuDeviceGetUuid, (uint8_t * uuid, int device))                                    \
	OPTIONAL(cuDeviceGetAttribute, (int *value, int attribute, int device))                    \
	OPTIONAL(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                \
	OPTIONAL(cuStreamIsCapturing, (void *stream, int *status))

#define CUDA_ATTRIBUTE_CLOCK_KHZ 13
#define CUDA_ATTRIBUTE_SM_COUNT	 16
#define CUDA_ATTRIBUTE_MAJOR	 75 /* of the compute capability */

/* The CUDA major version that a CUPTI API version belongs to (the list in cupti_version.h); 0:
 * older than 12. */
static inline uint32_t cupti_cuda_major(uint32_t api_version)
{
	if (api_version >= 100000)
		return api_version / 10000;
	return api_version >= 19 ? 12 : 0;
}
