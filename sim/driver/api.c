// SPDX-License-Identifier: MIT
/*
 * The exported driver API, made from driver_api.def: each function checks that the driver is up,
 * reports the call to CUPTI if it is wanted there, and calls the engine. The look-up of functions
 * by name is made from the same table.
 */
#include "sim.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

SIM_EXPORT struct sim_tools xpuprof_sim_tools;

_Thread_local struct sim_thread sim_thread;

static uint32_t new_correlation(void)
{
	uint32_t id;

	do /* 0 means none, also after a wrap */
		id = atomic_fetch_add_explicit(&sim.next_correlation, 1, memory_order_relaxed) + 1;
	while (!id);
	return id;
}

static void begin_outermost(struct sim_thread *t)
{
	struct sim_tools *tools = &xpuprof_sim_tools;
	bool active = atomic_load_explicit(&tools->active, memory_order_relaxed);

	t->correlation = !active ? 0 : t->stuck ? t->stuck : new_correlation();
	t->whole = atomic_load_explicit(&tools->whole, memory_order_relaxed);
	t->cuts = atomic_load_explicit(&tools->cuts, memory_order_relaxed);
	if (atomic_load_explicit(&tools->queued, memory_order_relaxed))
		t->called_ns = sim_now();
}

static void report_enter(struct sim_call *call)
{
	struct sim_thread *t = &sim_thread;

	if (++t->depth == 1)
		begin_outermost(t);
	if (t->in_callback ||
		!atomic_load_explicit(&xpuprof_sim_tools.callbacks[call->domain][call->cbid],
			memory_order_relaxed))
		return;
	call->entered = 1;
	call->data = 0;
	call->correlation = t->correlation;
	xpuprof_sim_tools.call(call, false);
}

void xpuprof_sim_enter(struct sim_call *call)
{
	report_enter(call);
	if (call->domain == SIM_DRIVER && !sim_thread.inside++)
		xpuprof_sim_tools.inside++;
}

/* As CUPTI 13.0 (tests/gpu/correlation_ids.c): where callbacks of all the driver's calls were
 * switched off as a whole while the thread was in a call, it never leaves that call's id. */
void xpuprof_sim_exit(struct sim_call *call)
{
	struct sim_thread *t = &sim_thread;

	if (t->depth == 1 && t->whole && t->cuts != xpuprof_sim_tools.cuts)
		t->stuck = t->correlation;
	if (call->domain == SIM_DRIVER && !--sim_thread.inside)
		xpuprof_sim_tools.inside--;
	if (call->entered)
		xpuprof_sim_tools.call(call, true);
	sim_thread.depth--;
}

bool xpuprof_sim_is_inside(void)
{
	return sim_thread.inside;
}

bool xpuprof_sim_others_are_inside(void)
{
	return xpuprof_sim_tools.inside > (sim_thread.inside ? 1 : 0);
}

CUresult xpuprof_sim_start(void)
{
	if (atomic_load_explicit(&sim.state, memory_order_relaxed) == SIM_READY)
		return CUDA_SUCCESS;
	return cuInit(0);
}

CUcontext xpuprof_sim_context(void)
{
	return sim_current();
}

bool xpuprof_sim_start_thread(void *(*run)(void *))
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_detach(thread);
	return !error;
}

CUstream xpuprof_sim_stream(CUstream handle, bool per_thread)
{
	return sim_stream_of(handle, per_thread);
}

struct sim_driver *xpuprof_sim_driver(void)
{
	return &sim;
}

bool xpuprof_sim_in_callback(bool inside)
{
	bool before = sim_thread.in_callback;

	sim_thread.in_callback = inside;
	return before;
}

const char *xpuprof_sim_symbol(CUfunction f)
{
	return sim_symbol(f);
}

/*
 * One exported function. The kernel's name is looked up only when somebody listens. The names end
 * in _ to keep clear of the arguments'.
 */
#define CALL(id, fn, need_start, kernel, work, args)                                               \
	CUresult result_ = CUDA_ERROR_NOT_INITIALIZED;                                             \
	struct sim_call call_ = {                                                                  \
		.domain = SIM_DRIVER,                                                              \
		.cbid = (id),                                                                      \
		.name = #fn,                                                                       \
		.params = (args),                                                                  \
		.result = (int *)&result_,                                                         \
	};                                                                                         \
	if ((need_start) && atomic_load_explicit(&sim.state, memory_order_relaxed) != SIM_READY)   \
		return result_;                                                                    \
	if (atomic_load_explicit(                                                                  \
		    &xpuprof_sim_tools.callbacks[SIM_DRIVER][id], memory_order_relaxed))           \
		call_.symbol = (kernel);                                                           \
	xpuprof_sim_enter(&call_);                                                                 \
	result_ = (work);                                                                          \
	xpuprof_sim_exit(&call_);                                                                  \
	return result_;

#define DEFINE(id, fn, need_start, kernel, work, ...)                                              \
	SIM_EXPORT CUresult fn(ARGS_DECLARE(__VA_ARGS__))                                          \
	{                                                                                          \
		const struct fn##_params {                                                         \
			ARGS_FIELDS(__VA_ARGS__)                                                   \
		} params_ = {ARGS_NAMES(__VA_ARGS__)};                                             \
		CALL(id, fn, need_start, kernel, work, &params_)                                   \
	}

#define F(id, name, call, ...)	       DEFINE(id, name, true, NULL, call, __VA_ARGS__)
#define U(id, name, call, ...)	       DEFINE(id, name, false, NULL, call, __VA_ARGS__)
#define L(id, name, kernel, call, ...) DEFINE(id, name, true, sim_symbol(kernel), call, __VA_ARGS__)
#define F0(id, name, call)                                                                         \
	SIM_EXPORT CUresult name(void)                                                             \
	{                                                                                          \
		CALL(id, name, true, NULL, call, NULL)                                             \
	}
#include "driver_api.def"

struct entry_point {
	const char *name;
	void *function;
};

// clang-format off
static const struct entry_point entry_points[] = {
#define F(id, name, ...)   { #name, (void *)name },
#define F0(id, name, call) { #name, (void *)name },
#include "driver_api.def"
};
// clang-format on

static void *exact(const char *name)
{
	for (size_t i = 0; i < sizeof(entry_points) / sizeof(*entry_points); i++)
		if (!strcmp(entry_points[i].name, name))
			return entry_points[i].function;
	return NULL;
}

/*
 * Functions of which more than one version is here: the first row with a version the caller knows.
 */
static const struct {
	const char *base;
	int since;
	const char *name;
} versions[] = {
	{"cuCtxCreate", 13000, "cuCtxCreate_v4"},
	{"cuCtxCreate", 3020, "cuCtxCreate_v2"},
	{"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
	{"cuGetProcAddress", 11030, "cuGetProcAddress"},
	{"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
	{"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
	{"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
	{"cuGraphAddDependencies", 10000, "cuGraphAddDependencies"},
	{"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
	{"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
	{"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
	{"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
	{"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
	{"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
};

static const char *versioned(const char *symbol, int version)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (!strcmp(versions[i].base, symbol) && version >= versions[i].since)
			return versions[i].name;
	return symbol;
}

/* The newest version of a function, by the suffixes that CUDA gives them. */
static void *newest(const char *symbol, const char *per_thread)
{
	static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
	char name[128];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		void *function;

		snprintf(name, sizeof(name), "%s%s%s", symbol, suffixes[i], per_thread);
		function = exact(name);
		if (function)
			return function;
	}
	return NULL;
}

CUresult sim_proc_address(const char *symbol, void **ret, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *ret_status)
{
	void *function = NULL;

	if (!symbol || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	symbol = versioned(symbol, version);
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
		function = newest(symbol, "_ptsz");
		if (!function)
			function = newest(symbol, "_ptds");
	}
	if (!function)
		function = newest(symbol, "");
	*ret = function;
	if (ret_status)
		*ret_status = function ? CU_GET_PROC_ADDRESS_SUCCESS
				       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return function || ret_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* clang-format off */
static const struct {
	CUresult error;
	const char *name;
	const char *text;
} errors[] = {
#define ERROR(name, text) { CUDA_##name, "CUDA_" #name, text }
	ERROR(SUCCESS, "no error"),
	ERROR(ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(ERROR_DEINITIALIZED, "driver shutting down"),
	ERROR(ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ERROR(ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(ERROR_PEER_ACCESS_UNSUPPORTED,
		"peer access is not supported between these two devices"),
	ERROR(ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	ERROR(ERROR_FILE_NOT_FOUND, "file not found"),
	ERROR(ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
	ERROR(ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(ERROR_NOT_READY, "device not ready"),
	ERROR(ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(ERROR_MISALIGNED_ADDRESS, "misaligned address"),
	ERROR(ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	ERROR(ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	ERROR(ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
	ERROR(ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
	ERROR(ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
	ERROR(ERROR_STREAM_CAPTURE_INVALIDATED,
		"operation failed due to a previous error during capture"),
	ERROR(ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not initiated in this stream"),
	ERROR(ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
	ERROR(ERROR_STREAM_CAPTURE_ISOLATION,
		"dependency created on uncaptured work in another stream"),
	ERROR(ERROR_STREAM_CAPTURE_IMPLICIT,
		"operation would make the legacy stream depend on a capturing blocking stream"),
	ERROR(ERROR_CAPTURED_EVENT,
		"operation not permitted on an event last recorded in a capturing stream"),
	ERROR(ERROR_STREAM_CAPTURE_WRONG_THREAD,
		"attempt to terminate a thread-local capture sequence from another thread"),
	ERROR(ERROR_GRAPH_EXEC_UPDATE_FAILURE,
		"the graph update was not performed because it included changes which violated "
		"constraints specific to instantiated graph update"),
	ERROR(ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};
/* clang-format on */

CUresult sim_error_string(CUresult error, const char **ret)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			return *ret = errors[i].text, CUDA_SUCCESS;
	return *ret = NULL, CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_error_name(CUresult error, const char **ret)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			return *ret = errors[i].name, CUDA_SUCCESS;
	return *ret = NULL, CUDA_ERROR_INVALID_VALUE;
}
