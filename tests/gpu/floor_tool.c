// SPDX-License-Identifier: MIT
/*
 * The least that a tool using CUPTI costs: a library for CUDA_INJECTION64_PATH that receives and
 * counts, and does nothing else. What it adds to a program is the floor under any profiler's
 * overhead.
 *
 *	XPUPROF_FLOOR=activity		records of kernels, copies and sets
 *	XPUPROF_FLOOR=callbacks		ENTER and EXIT of launches, of the runtime and the driver
 *	XPUPROF_FLOOR=driver		the driver's only
 *	XPUPROF_FLOOR=runtime		the runtime's only
 *	XPUPROF_FLOOR=activity,callbacks
 *	XPUPROF_FLOOR=left		none: subscribes and unsubscribes at once
 *
 * Prints at the end, on stderr, what it received. It links nothing of CUDA.
 */
#include <cupti.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER_BYTES = 1 << 20, BUFFERS = 64, FLUSH_NS = 50000000 };

static struct {
	_Atomic unsigned long callbacks, records;
	pthread_mutex_t lock;
	uint8_t *free[BUFFERS];
	int free_count;
	__typeof__(cuptiSubscribe) *Subscribe;
	__typeof__(cuptiUnsubscribe) *Unsubscribe;
	__typeof__(cuptiEnableCallback) *EnableCallback;
	__typeof__(cuptiActivityRegisterCallbacks) *ActivityRegisterCallbacks;
	__typeof__(cuptiActivityEnable) *ActivityEnable;
	__typeof__(cuptiActivityFlushAll) *ActivityFlushAll;
	__typeof__(cuptiActivityGetNextRecord) *ActivityGetNextRecord;
	__typeof__(cuptiActivityGetNumDroppedRecords) *ActivityGetNumDroppedRecords;
} tool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void callback(
	void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	atomic_fetch_add_explicit(&tool.callbacks, 1, memory_order_relaxed);
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	pthread_mutex_lock(&tool.lock);
	*buffer = tool.free_count ? tool.free[--tool.free_count] : NULL;
	pthread_mutex_unlock(&tool.lock);
	if (!*buffer)
		*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (valid && !tool.ActivityGetNextRecord(buffer, valid, &record))
		tool.records++;
	pthread_mutex_lock(&tool.lock);
	if (tool.free_count < BUFFERS) {
		tool.free[tool.free_count++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&tool.lock);
	free(buffer);
}

static void *flush_now_and_then(void *unused)
{
	struct timespec pause = {0, FLUSH_NS};

	while (1) {
		nanosleep(&pause, NULL);
		tool.ActivityFlushAll(0);
	}
	return NULL;
}

static void finish(void)
{
	size_t dropped = 0;

	tool.ActivityFlushAll(1);
	tool.ActivityGetNumDroppedRecords(NULL, 0, &dropped);
	fprintf(stderr, "callbacks %lu, records %lu, dropped %zu\n", tool.callbacks, tool.records,
		dropped);
}

static bool load(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);

	if (!cupti)
		cupti = dlopen("libcupti.so.12", RTLD_NOW);
	if (!cupti)
		return false;
#define LOAD(name)                                                                                 \
	*(void **)&tool.name = dlsym(cupti, "cupti" #name);                                        \
	if (!tool.name)                                                                            \
		return false;
	LOAD(Subscribe)
	LOAD(Unsubscribe)
	LOAD(EnableCallback)
	LOAD(ActivityRegisterCallbacks)
	LOAD(ActivityEnable)
	LOAD(ActivityFlushAll)
	LOAD(ActivityGetNextRecord)
	LOAD(ActivityGetNumDroppedRecords)
#undef LOAD
	return true;
}

/* The numbers of cupti_driver_cbid.h and cupti_runtime_cbid.h. */
static int enable_callbacks(bool of_driver, bool of_runtime)
{
	static const CUpti_CallbackId driver[] = {307, 442, 477, 478, 514, 515, 652, 653};
	static const CUpti_CallbackId runtime[] = {
		211, 214, 269, 270, 311, 312, 430, 431, 505, 506};
	CUpti_SubscriberHandle subscriber;
	int error = tool.Subscribe(&subscriber, callback, NULL);

	for (size_t i = 0; i < sizeof(driver) / sizeof(*driver) && of_driver && !error; i++)
		error = tool.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, driver[i]);
	/* The last two are new in CUDA 13. */
	for (size_t i = 0; i < sizeof(runtime) / sizeof(*runtime) && of_runtime && !error; i++)
		if (tool.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, runtime[i]) &&
			runtime[i] < 505)
			error = CUPTI_ERROR_UNKNOWN;
	return error;
}

static int enable_activity(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_MEMSET};
	int error = tool.ActivityRegisterCallbacks(request, complete);
	pthread_t thread;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !error; i++)
		error = tool.ActivityEnable(kinds[i]);
	if (!error && !pthread_create(&thread, NULL, flush_now_and_then, NULL))
		pthread_detach(thread);
	return error;
}

static int leave(void)
{
	CUpti_SubscriberHandle subscriber;
	int error = tool.Subscribe(&subscriber, callback, NULL);

	if (!error)
		error = tool.Unsubscribe(subscriber);
	return error;
}

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *what = getenv("XPUPROF_FLOOR");
	bool callbacks, driver, runtime;
	int error = 0;

	if (!load()) {
		fprintf(stderr, "floor_tool: no CUPTI (its folder belongs in LD_LIBRARY_PATH)\n");
		return 1;
	}
	if (!what)
		what = "activity";
	callbacks = strstr(what, "callbacks");
	driver = callbacks || strstr(what, "driver");
	runtime = callbacks || strstr(what, "runtime");
	if (strstr(what, "left"))
		error = leave();
	if (driver || runtime)
		error = enable_callbacks(driver, runtime);
	if (!error && strstr(what, "activity"))
		error = enable_activity();
	if (error)
		fprintf(stderr, "floor_tool: CUPTI error %d\n", error);
	else
		atexit(finish);
	return 1;
}
