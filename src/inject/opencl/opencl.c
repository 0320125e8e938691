// SPDX-License-Identifier: MIT
/*
 * OpenCL as one of the library's APIs (inject/api.h).
 *
 * OpenCL's loader opens the libraries that $OPENCL_LAYERS names in the program's first OpenCL call,
 * and gives each the table of functions below it (CL/cl_layer.h). What we return is what is called
 * from then on. Without a recorder that is the same table: then nothing of ours is in the way.
 *
 * Should the library be named twice, the second one is not there.
 */
#include "inject/opencl/opencl.h"

#include "inject/api.h"

#define FINISH_STEP_NS	   1000000
#define FINISH_PATIENCE_NS 100000000ull /* without an end of anything */
#define FINISH_MAX_NS	   1000000000ull

struct opencl_functions opencl;

static void *our_table[OPENCL_ENTRIES];

__attribute__((visibility("default"))) int32_t clGetLayerInfo(
	uint32_t what, size_t size, void *value, size_t *ret_size);
__attribute__((visibility("default"))) int32_t clInitLayer(
	uint32_t count, void *const *target, uint32_t *ret_count, void *const **ret_table);

int32_t clGetLayerInfo(uint32_t what, size_t size, void *value, size_t *ret_size)
{
	static const char name[] = "xpuprof";
	static const uint32_t version = OPENCL_LAYER_API_100;
	const void *from = what == OPENCL_LAYER_NAME ? (const void *)name : &version;
	size_t have = what == OPENCL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != OPENCL_LAYER_NAME && what != OPENCL_LAYER_API_VERSION)
		return OPENCL_INVALID_VALUE;
	if (value && size < have)
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, from, have);
	if (ret_size)
		*ret_size = have;
	return OPENCL_SUCCESS;
}

/* --- the API */

static enum wire_reason start(void)
{
	return queues_init() || kernels_init() || events_init() ? WIRE_REASON_MEMORY
								: WIRE_REASON_NONE;
}

/* Calls are reported from when our table is called. The recorder hears of us before that: there may
 * never be one that it would hear of. */
static enum wire_reason follow_calls(void)
{
	struct wire_tracer record = {.type = WIRE_TRACER, .api = OPENCL_API};

	send_long(&record, sizeof(record), "", 0);
	return WIRE_REASON_NONE;
}

static void drain(void)
{
	events_drain(report_pieces, true);
}

static void stop(void)
{
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
}

/* Work that goes on ends soon, or not at all: one that the program never starts is not waited
 * for. */
static void await_ends(void)
{
	struct timespec step = {.tv_nsec = FINISH_STEP_NS};
	uint64_t begun_ns = now_ns(), seen_ns = begun_ns, ended = 0;

	while (events_waiting() && now_ns() - seen_ns < FINISH_PATIENCE_NS &&
		now_ns() - begun_ns < FINISH_MAX_NS) {
		nanosleep(&step, NULL);
		events_drain(report_pieces, false);
		if (events_ended() != ended)
			seen_ns = now_ns();
		ended = events_ended();
	}
}

static void finish(bool program_goes_on)
{
	events_drain(report_pieces, false);
	await_ends();
	if (program_goes_on)
		events_close();
}

static void leave(void)
{
	events_close();
}

static const struct inject_api api = {
	.start = start,
	.follow_calls = follow_calls,
	.drain = drain,
	.sleep_ns = events_sleep_ns,
	.stop = stop,
	.finish = finish,
	.discard = events_close,
	.leave = leave,
};

/* --- the layer */

static void fill_functions(void *const *target, uint32_t count)
{
#define FUNCTION(result, name, parameters)                                                         \
	if (OPENCL_AT_##name < count)                                                              \
		*(void **)&opencl.name = target[OPENCL_AT_##name];
#define COMMAND(name, parameters, arguments) FUNCTION(, name, )
	OPENCL_COMMANDS(COMMAND)
	OPENCL_FUNCTIONS(FUNCTION)
#undef COMMAND
#undef FUNCTION
}

/* What every driver and loader has, and we cannot do without. */
static bool has_needed(void)
{
	return opencl.clGetDeviceInfo && opencl.clGetPlatformInfo && opencl.clGetEventInfo &&
	       opencl.clRetainEvent && opencl.clReleaseEvent && opencl.clGetEventProfilingInfo &&
	       opencl.clGetKernelInfo && opencl.clGetCommandQueueInfo && opencl.clGetImageInfo &&
	       opencl.clGetMemObjectInfo && opencl.clReleaseCommandQueue;
}

int32_t clInitLayer(
	uint32_t count, void *const *target, uint32_t *ret_count, void *const **ret_table)
{
	static uint32_t begun;
	uint32_t ours = count < OPENCL_ENTRIES ? count : OPENCL_ENTRIES;

	if (!target || !ret_count || !ret_table)
		return OPENCL_INVALID_VALUE;
	*ret_count = count;
	*ret_table = target;
	if (__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST))
		return OPENCL_SUCCESS;
	fill_functions(target, count);
	if (!has_needed() || !inject_begin(&api))
		return OPENCL_SUCCESS;
	memcpy(our_table, target, ours * sizeof(our_table[0]));
	commands_put(our_table, ours);
	waits_put(our_table, ours);
	queues_put(our_table, ours);
	hidden_put(our_table, ours);
	kernels_put(our_table, ours);
	extensions_put(our_table, ours);
	*ret_count = ours;
	*ret_table = our_table;
	return OPENCL_SUCCESS;
}
