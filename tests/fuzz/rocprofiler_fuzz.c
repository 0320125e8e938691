// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as what rocprofiler-sdk hands to its tool: records of work and of samples,
 * calls, code objects and kernels. Each structure stands in memory of exactly the size that it says
 * it has, and images and texts in memory of their own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "inject/images.h"
#include "inject/rocprofiler/hip_graphs.h"
#include "inject/rocprofiler/rocprofiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS	  4096
#define STEPS_MAX 64
#define RECORD	  256

static void *ring_memory;

/* --- what is asked of rocprofiler-sdk, before anything comes */

static int query_available_agents(
	uint32_t version, rocprofiler_on_agents *callback, size_t agent_size, void *data)
{
	static struct rocprofiler_agent agents[] = {
		{.size = sizeof(agents[0]), .id = 1, .type = ROCPROFILER_AGENT_IS_GPU, .name = "a"},
		{.size = sizeof(agents[0]),
			.id = 2,
			.type = ROCPROFILER_AGENT_IS_GPU,
			.name = "b"}};
	const void *all[] = {&agents[0], &agents[1]};

	return callback(version, all, 2, data);
}

static int query_pc_sampling(uint64_t agent, rocprofiler_on_samplings *callback, void *data)
{
	static const struct rocprofiler_sampling s = {
		.size = sizeof(s), .method = ROCPROFILER_STOCHASTIC, .least = 1, .most = 1u << 20};

	return callback(&s, 1, data);
}

static int configure_pc_sampling(uint64_t context, uint64_t agent, uint32_t method, uint32_t unit,
	uint64_t interval, uint64_t buffer, int flags)
{
	return 0;
}

static int create_buffer(uint64_t context, size_t size, size_t watermark, uint32_t policy,
	rocprofiler_on_buffer *callback, void *data, uint64_t *ret)
{
	*ret = 1;
	return 0;
}

enum { FIRST_OF_GRAPHS = 6, OPERATIONS = FIRST_OF_GRAPHS + 15 };

static int iterate_operations(int32_t kind, rocprofiler_on_operation *callback, void *data)
{
	for (int32_t n = 0; n < OPERATIONS; n++)
		callback(kind, n, data);
	return 0;
}

static int operation_name(int32_t kind, int32_t operation, const char **ret, uint64_t *ret_size)
{
	static const char *const names[] = {"hipModuleLaunchKernel", "hipMemcpyAsync",
		"hipStreamSynchronize", "hipEventRecord", "hipStreamCreate", "hipGraphLaunch",
		/* those of graphs */
		"hipStreamBeginCapture", "hipStreamEndCapture", "hipStreamWaitEvent",
		"hipEventRecordWithFlags", "hipLaunchKernel", "hipMemsetAsync",
		"hipMemcpyHtoDAsync", "hipGraphCreate", "hipGraphDestroy", "hipGraphAddKernelNode",
		"hipGraphInstantiate", "hipGraphExecUpdate", "hipGraphExecDestroy",
		"hipModuleGetFunction", "hipGraphLaunch_spt"};

	*ret = names[operation];
	return 0;
}

static void begin(void)
{
	static struct guard guard = {.alive = 1, .recording = 1};
	int32_t operations[AMD_CALL_NUMBERS];

	ring_memory = mmap(
		NULL, ring_bytes(SLOTS), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(ring_memory != MAP_FAILED && !tables_init());
	library.guard = &guard;
	library.ring = ring_at(ring_memory, SLOTS);
	library.stalls = WIRE_STALLS_CONTINUOUS;
	library.syncs = true;
	rocprofiler.query_available_agents = query_available_agents;
	rocprofiler.query_pc_sampling_agent_configurations = query_pc_sampling;
	rocprofiler.configure_pc_sampling_service = configure_pc_sampling;
	rocprofiler.create_buffer = create_buffer;
	rocprofiler.iterate_callback_tracing_kind_operations = iterate_operations;
	rocprofiler.query_callback_tracing_kind_operation_name = operation_name;
	setenv(ROCPROFILER_SAMPLES_VARIABLE, "1", 1);
	require(!hip_streams_init() && !hip_graphs_init() && !symbols_init() && !ended_init() &&
		agents_find());
	require(calls_find(CALLS_OF_HIP, 1, operations) == OPERATIONS);
	ended_kinds.dispatch = 3;
	ended_kinds.copy = 4;
	samples_begin(1, ROCPROFILER_VERSION_FIRST);
}

/* --- what comes */

/* So many of the next bytes, and zeros behind them, in memory of exactly that size. */
static uint8_t *take_bytes(struct bytes *b, size_t size)
{
	uint8_t *memory = calloc(1, size ? size : 1);
	size_t n = size < b->size ? size : b->size;

	require(memory != NULL);
	memcpy(memory, b->data, n);
	b->data += n;
	b->size -= n;
	return memory;
}

/* A structure, which begins with its size. */
static void *take_structure(struct bytes *b)
{
	uint64_t size = 8 + take(b, RECORD - 8);
	uint8_t *memory = take_bytes(b, size);

	memcpy(memory, &size, sizeof(size));
	return memory;
}

static void hand_over(struct bytes *b, rocprofiler_on_buffer *callback)
{
	struct rocprofiler_header header = {.category = take(b, 4), .kind = take(b, 6)};
	struct rocprofiler_header *headers[] = {&header, NULL};
	size_t count = 1 + (take(b, 8) == 7);

	header.payload = take(b, 16) ? take_structure(b) : NULL;
	callback(1, 1, headers, count, NULL, take(b, 200));
	free(header.payload);
}

static void load_code(struct bytes *b)
{
	struct rocprofiler_call_record r = {
		.operation = (int32_t)take(b, 4), .phase = (int32_t)take(b, 4)};
	struct rocprofiler_code_object *o = take_structure(b);
	struct rocprofiler_kernel_symbol *k = (void *)o;
	size_t size = take(b, 200) * (size_t)take(b, 64);
	uint8_t *text = take_bytes(b, 1 + take(b, 64)), *image = take_bytes(b, size);
	uint64_t user_data = 0;

	text[0] = text[0] ? text[0] : 'f';
	text = realloc(text, 128);
	require(text != NULL);
	text[64] = '\0';
	if (r.operation == ROCPROFILER_KERNEL_SYMBOL && o->size >= sizeof(*k))
		k->name = take(b, 8) ? (char *)text : NULL;
	if (r.operation == ROCPROFILER_CODE_LOADED && o->size >= sizeof(*o)) {
		o->uri = take(b, 8) ? (char *)text : NULL;
		o->memory = take(b, 8) ? (uintptr_t)image : 0;
		o->memory_size = size;
	}
	if (r.operation == ROCPROFILER_HOST_FUNCTION &&
		o->size >= sizeof(struct rocprofiler_host_function))
		((struct rocprofiler_host_function *)o)->name = take(b, 8) ? (char *)text : NULL;
	r.payload = take(b, 8) ? o : NULL;
	on_code(r, &user_data, NULL);
	free(o);
	free(text);
	free(image);
}

/* The program's own calls: what they say is of the right size. */
static void call(struct bytes *b)
{
	struct rocprofiler_call_record r = {
		.operation = (int32_t)take(b, 6), .phase = ROCPROFILER_PHASE_ENTER};
	uint64_t user_data = 0, external = 0;
	uint64_t *data = take_structure(b);

	/* hipStreamCreate's first argument is an address of the program's */
	if (r.operation == 4 && data[0] >= 16)
		data[1] = (uintptr_t)&external;
	r.payload = take(b, 16) ? data : NULL;
	on_call(r, &user_data, NULL);
	(void)on_request(1, 1, take(b, 2) ? ROCPROFILER_REQUEST_COPY : ROCPROFILER_REQUEST_DISPATCH,
		1, 1, &external, NULL);
	r.phase = ROCPROFILER_PHASE_EXIT;
	on_call(r, &user_data, NULL);
	free(data);
}

/* Calls that make, change and launch graphs, of which there are a few: all that they name are words
 * that name others. */
static void graph_call(struct bytes *b)
{
	static uint64_t words[16];
	static char names[][4] = {"a", "b", "c", "d"};
	struct rocprofiler_call_record r = {.phase = ROCPROFILER_PHASE_ENTER,
		.operation = FIRST_OF_GRAPHS + (int32_t)take(b, OPERATIONS - FIRST_OF_GRAPHS)};
	struct rocprofiler_dispatch_call dispatch = {
		.size = sizeof(dispatch), .kernel = take(b, 4)};
	struct rocprofiler_call_record dispatched = {.operation = ROCPROFILER_ENQUEUE,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &dispatch};
	struct {
		uint64_t size;
		uint64_t arguments[8];
		int32_t result[ROCPROFILER_RESULT_BYTES / 4];
	} data = {.size = sizeof(data), .result = {(int32_t)(take(b, 8) == 7)}};
	uint64_t user_data = 0, external = 0;

	for (int n = 0; n < 8; n++)
		data.arguments[n] = (uintptr_t)&words[take(b, 8)];
	words[take(b, 16)] = data.arguments[7];
	data.arguments[3] = take(b, 3);
	if (r.operation == FIRST_OF_GRAPHS + 13)
		data.arguments[2] = (uintptr_t)names[take(b, 4)];
	r.payload = &data;
	on_call(r, &user_data, NULL);
	for (uint32_t works = take(b, 4); works; works--) {
		(void)on_request(1, 1,
			take(b, 2) ? ROCPROFILER_REQUEST_COPY : ROCPROFILER_REQUEST_DISPATCH, 1, 1,
			&external, NULL);
		on_dispatch(dispatched, &external, NULL);
	}
	r.phase = ROCPROFILER_PHASE_EXIT;
	on_call(r, &user_data, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};

	if (!ring_memory)
		begin();
	for (int n = 0; n < STEPS_MAX && b.size; n++) {
		switch (take(&b, 6)) {
		case 0:
			hand_over(&b, on_buffer);
			break;
		case 1:
			hand_over(&b, on_samples);
			break;
		case 2:
			load_code(&b);
			break;
		case 3:
			call(&b);
			break;
		case 4:
			graph_call(&b);
			break;
		default:
			ended_drain(report_ended);
			samples_drain();
		}
	}
	ended_drain(report_ended);
	samples_drain();
	images_drop();
	memset(ring_memory, 0, ring_bytes(SLOTS));
	library.ring = ring_at(ring_memory, SLOTS);
	return 0;
}
