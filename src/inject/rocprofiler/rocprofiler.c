// SPDX-License-Identifier: MIT
/*
 * rocprofiler-sdk as one of the library's APIs (inject/api.h).
 *
 * It is loaded by AMD's runtimes where $ROCP_TOOL_LIBRARIES names a tool, asks the tool whether it
 * wants anything, and has it set up what it wants while the program is in its first call. Its
 * functions are looked up in the library that calls us: it is there, and nothing is loaded.
 *
 * There is one buffer for all. Where it is full, rocprofiler-sdk's own thread waits until our
 * callback has copied what is in it, which is soon. The other policy, to drop, loses half of all
 * records in 1.0, and does not count them.
 */
#include "inject/rocprofiler/rocprofiler.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "inject/api.h"
#include "inject/images.h"
#include "inject/rocprofiler/hip_graphs.h"
#include "vendor/amd/amd.h"

#define BUFFER_BYTES	   (4u << 20)
#define WATERMARK_BYTES	   (1u << 20)
#define BUFFERS		   2
#define KINDS_MAX	   64
#define FINISH_STEP_NS	   1000000
#define FINISH_PATIENCE_NS 100000000ull /* without an end of anything */
#define FINISH_MAX_NS	   1000000000ull

struct rocprofiler_functions rocprofiler;

static struct {
	void *library;
	char path[4096];
	uint32_t version;
	uint64_t context;
	uint64_t dispatches; /* contexts of their own; 0: there is none */
	uint64_t hsa;
	uint32_t hsa_ended;
	uint64_t buffer; /* of work */
	uint64_t buffers[BUFFERS];
	size_t buffer_count;
	uint32_t gone; /* it has ended: none of its functions may be called */
} tracer;

__attribute__((visibility("default"))) struct rocprofiler_tool *xpuprof_rocprofiler_configure(
	const void *caller, uint32_t version, struct rocprofiler_client *client);

/* --- setting up */

static bool find_functions(void)
{
	bool all = true;

#define FUNCTION(name, parameters)                                                                 \
	*(void **)&rocprofiler.name = dlsym(tracer.library, "rocprofiler_" #name);                 \
	all &= rocprofiler.name != NULL;
	ROCPROFILER_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name, parameters)                                                                 \
	*(void **)&rocprofiler.name = dlsym(tracer.library, "rocprofiler_" #name);
	ROCPROFILER_OPTIONAL(FUNCTION)
#undef FUNCTION
	return all;
}

/* By its name; 0: this version does not have it. */
static int32_t find_kind(int (*name_of)(int32_t, const char **, uint64_t *), const char *wanted)
{
	for (int32_t kind = 1; kind < KINDS_MAX; kind++) {
		const char *name = NULL;

		if (!name_of(kind, &name, NULL) && name && !strcmp(name, wanted))
			return kind;
	}
	return 0;
}

static bool trace_calls(void)
{
	int32_t operations[AMD_CALL_NUMBERS];
	int32_t calls = find_kind(rocprofiler.query_callback_tracing_kind_name, "HIP_RUNTIME_API");
	int32_t code = find_kind(rocprofiler.query_callback_tracing_kind_name, "CODE_OBJECT");
	size_t count = calls ? calls_find(CALLS_OF_HIP, calls, operations) : 0;

	return count && code &&
	       !rocprofiler.configure_callback_tracing_service(
		       tracer.context, calls, operations, count, on_call, NULL) &&
	       !rocprofiler.configure_callback_tracing_service(
		       tracer.context, code, NULL, 0, on_code, NULL);
}

int make_buffer(rocprofiler_on_buffer *callback, uint64_t *ret)
{
	int error = rocprofiler.create_buffer(tracer.context, BUFFER_BYTES, WATERMARK_BYTES,
		ROCPROFILER_POLICY_LOSSLESS, callback, NULL, ret);

	if (!error && tracer.buffer_count < BUFFERS)
		tracer.buffers[tracer.buffer_count++] = *ret;
	return error;
}

static bool trace_work(void)
{
	static const int32_t requests[] = {ROCPROFILER_REQUEST_COPY, ROCPROFILER_REQUEST_DISPATCH};
	int32_t dispatches =
		find_kind(rocprofiler.query_buffer_tracing_kind_name, "KERNEL_DISPATCH");
	int32_t copies = find_kind(rocprofiler.query_buffer_tracing_kind_name, "MEMORY_COPY");

	ended_kinds.dispatch = (uint32_t)dispatches;
	ended_kinds.copy = (uint32_t)copies;
	return dispatches && copies && !make_buffer(on_buffer, &tracer.buffer) &&
	       !rocprofiler.configure_buffer_tracing_service(
		       tracer.context, dispatches, NULL, 0, tracer.buffer) &&
	       !rocprofiler.configure_buffer_tracing_service(
		       tracer.context, copies, NULL, 0, tracer.buffer) &&
	       !rocprofiler.configure_external_correlation_id_request_service(
		       tracer.context, requests, 2, on_request, NULL);
}

static int is_hip(struct dl_phdr_info *info, size_t size, void *data)
{
	return info->dlpi_name && strstr(info->dlpi_name, AMD_HIP_NAME) != NULL;
}

static bool trace_hsa_calls(enum call_table table, const char *name)
{
	int32_t operations[AMD_CALL_NUMBERS];
	int32_t kind = find_kind(rocprofiler.query_callback_tracing_kind_name, name);
	size_t count = kind ? calls_find(table, kind, operations) : 0;

	return count && !rocprofiler.configure_callback_tracing_service(tracer.hsa, kind,
				operations, count, on_hsa_call, (void *)(uintptr_t)table);
}

/* HIP's runtime calls HSA all the time, which is not to cost anything more. */
static void prepare_hsa(void)
{
	if (dl_iterate_phdr(is_hip, NULL) || rocprofiler.create_context(&tracer.hsa) ||
		!trace_hsa_calls(CALLS_OF_HSA, "HSA_CORE_API") ||
		!trace_hsa_calls(CALLS_OF_HSA_EXTENSIONS, "HSA_AMD_EXT_API"))
		tracer.hsa = 0;
}

void hsa_is_not_alone(void)
{
	if (tracer.hsa && !__atomic_load_n(&tracer.hsa_ended, __ATOMIC_RELAXED) &&
		!__atomic_exchange_n(&tracer.hsa_ended, 1, __ATOMIC_SEQ_CST))
		rocprofiler.stop_context(tracer.hsa);
}

/* What it costs is only for programs with graphs. Without it their work has no nodes. */
static void prepare_dispatches(void)
{
	static const int32_t enqueued = ROCPROFILER_ENQUEUE;
	int32_t kind = find_kind(rocprofiler.query_callback_tracing_kind_name, "KERNEL_DISPATCH");

	if (!kind || rocprofiler.create_context(&tracer.dispatches) ||
		rocprofiler.configure_callback_tracing_service(
			tracer.dispatches, kind, &enqueued, 1, on_dispatch, NULL))
		tracer.dispatches = 0;
}

void follow_dispatches(void)
{
	static uint32_t begun;

	if (tracer.dispatches && !__atomic_exchange_n(&begun, 1, __ATOMIC_SEQ_CST))
		rocprofiler.start_context(tracer.dispatches);
}

static enum wire_reason start(void)
{
	if (hip_streams_init() || hip_graphs_init() || symbols_init() || ended_init())
		return WIRE_REASON_MEMORY;
	if (tracer.version < ROCPROFILER_VERSION_FIRST ||
		tracer.version >= ROCPROFILER_VERSION_AFTER || !find_functions())
		return WIRE_REASON_NO_TRACER;
	if (!agents_find() || rocprofiler.create_context(&tracer.context) || !trace_calls() ||
		!trace_work())
		return WIRE_REASON_REFUSED;
	prepare_dispatches();
	prepare_hsa();
	samples_begin(tracer.context, tracer.version);
	return WIRE_REASON_NONE;
}

static enum wire_reason follow_calls(void)
{
	if (tracer.hsa)
		rocprofiler.start_context(tracer.hsa);
	return rocprofiler.start_context(tracer.context) ? WIRE_REASON_REFUSED : WIRE_REASON_NONE;
}

/* --- the API */

static bool is_there(void)
{
	return !__atomic_load_n(&tracer.gone, __ATOMIC_SEQ_CST);
}

/* Returns when on_buffer has had all that has ended. */
static void flush(void)
{
	pthread_mutex_lock(&library.no_fork);
	for (size_t n = 0; n < tracer.buffer_count && is_there(); n++)
		rocprofiler.flush_buffer(tracer.buffers[n]);
	pthread_mutex_unlock(&library.no_fork);
}

static void report_tracer(void)
{
	struct wire_tracer record = {.type = WIRE_TRACER,
		.api = AMD_API,
		.api_version = tracer.version,
		.path_size = (uint32_t)strlen(tracer.path)};

	send_long(&record, sizeof(record), tracer.path, record.path_size);
}

static void drain(void)
{
	static bool introduced;

	if (!introduced)
		report_tracer();
	introduced = true;
	if (is_there())
		agents_ask();
	ended_drain(report_ended);
	samples_drain();
	images_send();
	report_ended_round();
}

static void stop(void)
{
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
}

/* Work that goes on ends soon, or not at all. */
static void await_ends(void)
{
	struct timespec step = {.tv_nsec = FINISH_STEP_NS};
	uint64_t begun_ns = now_ns(), seen_ns = begun_ns, arrived = ended_arrived();

	while (is_there() && arrived < calls_asked() && now_ns() - seen_ns < FINISH_PATIENCE_NS &&
		now_ns() - begun_ns < FINISH_MAX_NS) {
		nanosleep(&step, NULL);
		flush();
		drain();
		if (ended_arrived() != arrived)
			seen_ns = now_ns();
		arrived = ended_arrived();
	}
}

static void finish(bool program_goes_on)
{
	flush();
	drain();
	await_ends();
	images_finish();
}

static void leave(void)
{
	if (tracer.context && is_there())
		rocprofiler.stop_context(tracer.context);
	if (tracer.dispatches && is_there())
		rocprofiler.stop_context(tracer.dispatches);
	if (tracer.hsa && is_there())
		rocprofiler.stop_context(tracer.hsa);
}

static void discard(void)
{
	images_drop();
}

static const struct inject_api api = {
	.start = start,
	.follow_calls = follow_calls,
	.flush = flush,
	.drain = drain,
	.stop = stop,
	.finish = finish,
	.discard = discard,
	.leave = leave,
};

/* --- what rocprofiler-sdk calls */

static int initialize(void *finalize, void *data)
{
	return inject_begin(&api) ? 0 : -1;
}

/* The process ends, or another tool has ended rocprofiler-sdk. Our own exit handler comes before
 * its, so in the first case all is reported already. */
static void finalize(void *data)
{
	__atomic_store_n(&tracer.gone, 1, __ATOMIC_SEQ_CST);
}

/* The library that the caller is in. */
static bool find_tracer(const void *caller)
{
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname ||
		strlen(info.dli_fname) >= sizeof(tracer.path))
		return false;
	strcpy(tracer.path, info.dli_fname);
	tracer.library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return tracer.library;
}

struct rocprofiler_tool *xpuprof_rocprofiler_configure(
	const void *caller, uint32_t version, struct rocprofiler_client *client)
{
	static struct rocprofiler_tool tool = {sizeof(tool), initialize, finalize, NULL};
	static uint32_t configured;
	const char *address = getenv(WIRE_ENV_SOCKET);

	if (!address || !*address || __atomic_exchange_n(&configured, 1, __ATOMIC_SEQ_CST) ||
		!find_tracer(caller))
		return NULL;
	tracer.version = version;
	if (client && client->size >= offsetof(struct rocprofiler_client, handle))
		client->name = "xpuprof";
	return &tool;
}
