/* SPDX-License-Identifier: MIT */
/*
 * What we use of rocprofiler-sdk's C interface, version 1, so that nothing of AMD's has to be
 * installed. A test compares it with the real headers where these are.
 *
 * Structures that the library hands over begin with their size, and later versions append to them:
 * ours are prefixes, read only as far as the size goes. Numbers of kinds and operations have
 * changed between versions, so they are found by their names. Version 0 had another record of
 * calls, without the ancestor, and is not supported.
 *
 * Handles are structures of one word there, which are passed as a word is.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ROCPROFILER_VERSION_FIRST 10000u /* 1.0.0 */
#define ROCPROFILER_VERSION_AFTER 20000u /* 2.0.0: unknown */

enum {
	ROCPROFILER_AGENTS_VERSION = 1,
	ROCPROFILER_AGENT_IS_GPU = 2,
	ROCPROFILER_PHASE_ENTER = 1,
	ROCPROFILER_PHASE_EXIT = 2,
	ROCPROFILER_POLICY_LOSSLESS = 2,
	ROCPROFILER_CATEGORY_TRACING = 1,
	ROCPROFILER_CATEGORY_SAMPLES = 2,
	ROCPROFILER_CODE_LOADED = 1, /* operations of code objects */
	ROCPROFILER_KERNEL_SYMBOL = 2,
	ROCPROFILER_HOST_FUNCTION = 3,
	ROCPROFILER_ENQUEUE = 1, /* operation of dispatches */
};

/* Kinds of what an external id is asked for. */
enum {
	ROCPROFILER_REQUEST_COPY = 10,
	ROCPROFILER_REQUEST_DISPATCH = 11,
};

/* Samples of instructions: how they are taken, and what they are. The functions for them are
 * experimental, and are known as they are in 1.0 and 1.1. */
#define ROCPROFILER_VERSION_SAMPLES_END 10200u
/* A status without a name of its own: among others, that another context of the process samples
 * (pc_sampling/service.cpp of 1.0). */
#define ROCPROFILER_ERROR	     1
#define ROCPROFILER_SAMPLES_VARIABLE "ROCPROFILER_PC_SAMPLING_BETA_ENABLED"

enum {
	ROCPROFILER_STOCHASTIC = 1,
	ROCPROFILER_HOST_TRAP = 2,
	ROCPROFILER_UNIT_CYCLES = 2,
	ROCPROFILER_HOST_TRAP_SAMPLE = 2, /* kinds of records */
	ROCPROFILER_STOCHASTIC_SAMPLE = 3,
	ROCPROFILER_STORED_IN_FILE = 1, /* of code objects */
	ROCPROFILER_STORED_IN_MEMORY = 2,
	ROCPROFILER_NOT_ISSUED_REASONS = 10,
};

/* Operations of copies. */
enum {
	ROCPROFILER_HOST_TO_HOST = 1,
	ROCPROFILER_HOST_TO_DEVICE,
	ROCPROFILER_DEVICE_TO_HOST,
	ROCPROFILER_DEVICE_TO_DEVICE,
};

struct rocprofiler_agent {
	uint64_t size;
	uint64_t id;
	uint32_t type;
	uint32_t skipped[13];
	uint32_t cu_count;
	uint32_t skipped2[16];
	uint32_t mhz; /* of the GPU, at most */
	uint32_t skipped3[8];
	uint64_t memory_bytes;
	uint64_t skipped4[8];
	const char *name;
	const char *vendor_name;
	const char *product_name;
	const char *model_name;
	uint32_t node[3];
	uint32_t visibility;
	uint8_t uuid[16];
};

/* Handed over by value: its layout is the version's. */
struct rocprofiler_call_record {
	uint64_t context;
	uint64_t thread;
	uint64_t internal, external, ancestor;
	int32_t kind;
	int32_t operation;
	int32_t phase;
	void *payload;
};

/* What a call's arguments and its result are in: the arguments first, and the result in the last
 * bytes. */
struct rocprofiler_call_data {
	uint64_t size;
	uint8_t arguments[];
};

#define ROCPROFILER_RESULT_BYTES 24u

struct rocprofiler_code_object {
	uint64_t size;
	uint64_t id;
	uint64_t agent;
	uint64_t hsa_agent;
	const char *uri;
	uint64_t load_base, load_size;
	int64_t load_delta; /* where it is minus where it says it is */
	int32_t storage;
	uint64_t memory, memory_size; /* of the image */
};

struct rocprofiler_kernel_symbol {
	uint64_t size;
	uint64_t kernel;
	uint64_t code_object;
	const char *name;
	uint64_t object;
	uint32_t arguments_size, arguments_alignment;
	uint32_t group_bytes;
	uint32_t private_bytes;
	uint32_t scalar_registers, vector_registers, accumulators;
};

/* What functions of the program stand for a kernel. */
struct rocprofiler_host_function {
	uint64_t size;
	uint64_t id;
	uint64_t kernel;
	uint64_t code_object;
	const void *function;
	uint64_t modules;
	const char *name;
};

/* A thread hands a kernel over. */
struct rocprofiler_dispatch_call {
	uint64_t size;
	uint64_t start_ns, end_ns;
	uint64_t info_size;
	uint64_t agent;
	uint64_t queue;
	uint64_t kernel;
};

struct rocprofiler_header {
	uint32_t category;
	uint32_t kind;
	void *payload;
};

struct rocprofiler_dispatch {
	uint64_t size;
	int32_t kind;
	int32_t operation;
	uint64_t internal, external;
	uint64_t thread;
	uint64_t start_ns, end_ns;
	uint64_t info_size;
	uint64_t agent;
	uint64_t queue;
	uint64_t kernel;
	uint64_t dispatch;
	uint32_t private_bytes;
	uint32_t group_bytes;
	uint32_t workgroup[3];
	uint32_t grid[3]; /* in items, not in groups */
};

struct rocprofiler_copy {
	uint64_t size;
	int32_t kind;
	int32_t operation;
	uint64_t internal, external;
	uint64_t thread;
	uint64_t start_ns, end_ns;
	uint64_t target_agent, source_agent;
	uint64_t bytes;
};

struct rocprofiler_host_trap {
	uint64_t size;
	uint64_t hardware;
	uint64_t code_object, offset; /* from where that is loaded */
	uint64_t lanes;
	uint64_t time_ns;
	uint64_t dispatch;
	uint64_t internal, external;
};

struct rocprofiler_stochastic {
	uint64_t size;
	uint8_t flags;
	uint8_t wave;
	uint8_t issued; /* bit 0; above it the type of the instruction */
	uint64_t hardware;
	uint64_t code_object, offset;
	uint64_t lanes;
	uint32_t workgroup[3];
	uint32_t waves;
	uint64_t time_ns;
	uint64_t dispatch;
	uint64_t internal, external;
	uint32_t snapshot; /* bits 0 to 3: why nothing was issued */
};

struct rocprofiler_sampling {
	uint64_t size;
	uint32_t method;
	uint32_t unit;
	size_t least, most; /* interval */
	uint64_t flags;
};

struct rocprofiler_client {
	size_t size;
	const char *name;
	uint32_t handle;
};

/* What a tool gives back. */
struct rocprofiler_tool {
	size_t size;
	int (*initialize)(void *finalize, void *data);
	void (*finalize)(void *data);
	void *data;
};

typedef void rocprofiler_on_call(
	struct rocprofiler_call_record record, uint64_t *user_data, void *data);
typedef void rocprofiler_on_buffer(uint64_t context, uint64_t buffer,
	struct rocprofiler_header **headers, size_t count, void *data, uint64_t dropped);
typedef int rocprofiler_on_operation(int32_t kind, int32_t operation, void *data);
typedef int rocprofiler_on_request(uint64_t thread, uint64_t context, int32_t kind,
	int32_t operation, uint64_t internal, uint64_t *external, void *data);
typedef int rocprofiler_on_agents(uint32_t version, const void **agents, size_t count, void *data);

typedef int rocprofiler_on_samplings(
	const struct rocprofiler_sampling *samplings, size_t count, void *data);

/* So too, but these may be missing. */
#define ROCPROFILER_OPTIONAL(FUNCTION)                                                             \
	FUNCTION(query_pc_sampling_agent_configurations,                                           \
		(uint64_t agent, rocprofiler_on_samplings * callback, void *data))                 \
	FUNCTION(configure_pc_sampling_service,                                                    \
		(uint64_t context, uint64_t agent, uint32_t method, uint32_t unit,                 \
			uint64_t interval, uint64_t buffer, int flags))

/* FUNCTION(name, parameters): looked up in the library, without their common prefix; all return a
 * status, 0 for success. */
#define ROCPROFILER_FUNCTIONS(FUNCTION)                                                            \
	FUNCTION(get_timestamp, (uint64_t * ret_ns))                                               \
	FUNCTION(create_context, (uint64_t * ret))                                                 \
	FUNCTION(start_context, (uint64_t context))                                                \
	FUNCTION(stop_context, (uint64_t context))                                                 \
	FUNCTION(create_buffer,                                                                    \
		(uint64_t context, size_t size, size_t watermark, uint32_t policy,                 \
			rocprofiler_on_buffer * callback, void *data, uint64_t *ret))              \
	FUNCTION(flush_buffer, (uint64_t buffer))                                                  \
	FUNCTION(configure_buffer_tracing_service,                                                 \
		(uint64_t context, int32_t kind, const int32_t *operations, size_t count,          \
			uint64_t buffer))                                                          \
	FUNCTION(configure_callback_tracing_service,                                               \
		(uint64_t context, int32_t kind, const int32_t *operations, size_t count,          \
			rocprofiler_on_call *callback, void *data))                                \
	FUNCTION(configure_external_correlation_id_request_service,                                \
		(uint64_t context, const int32_t *kinds, size_t count,                             \
			rocprofiler_on_request *callback, void *data))                             \
	FUNCTION(query_buffer_tracing_kind_name,                                                   \
		(int32_t kind, const char **ret, uint64_t *ret_size))                              \
	FUNCTION(query_callback_tracing_kind_name,                                                 \
		(int32_t kind, const char **ret, uint64_t *ret_size))                              \
	FUNCTION(query_callback_tracing_kind_operation_name,                                       \
		(int32_t kind, int32_t operation, const char **ret, uint64_t *ret_size))           \
	FUNCTION(iterate_callback_tracing_kind_operations,                                         \
		(int32_t kind, rocprofiler_on_operation * callback, void *data))                   \
	FUNCTION(query_available_agents, (uint32_t version, rocprofiler_on_agents * callback,      \
						 size_t agent_size, void *data))

struct rocprofiler_functions {
#define FUNCTION(name, parameters) int(*name) parameters;
	ROCPROFILER_FUNCTIONS(FUNCTION)
	ROCPROFILER_OPTIONAL(FUNCTION)
#undef FUNCTION
};
