/* SPDX-License-Identifier: MIT */
/*
 * For tests of the simulated CUDA: each test runs in a child process of its own, as a driver starts
 * only once in a process and reads its faults then. In the child `d` is the driver, `c` is CUPTI,
 * and records are collected as the library would.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "driver.h"
#include "tap.h"

/* clang-format off */
#define CUPTI_FUNCTIONS(X) \
	X(Subscribe) X(Unsubscribe) X(EnableCallback) X(EnableDomain) X(Finalize) X(GetVersion) \
	X(ActivityRegisterCallbacks) X(ActivityEnable) X(ActivityDisable) X(ActivityFlushAll) \
	X(ActivityGetNextRecord) X(ActivityGetNumDroppedRecords) \
	X(ActivityRegisterTimestampCallback) X(ActivityEnableLatencyTimestamps) X(GetTimestamp) \
	X(GetGraphNodeId) X(GetGraphExecId) X(GetGraphId) X(GetContextId) X(GetStreamIdEx) \
	X(GetCallbackName) X(GetResultString)
/* clang-format on */

struct cupti {
#define FIELD(name) __typeof__(cupti##name) *name;
	CUPTI_FUNCTIONS(FIELD)
#undef FIELD
};

enum { MAX_RECORDS = 20000, RECORD_BYTES = 512, BUFFER_BYTES = 1 << 16 };

union record {
	CUpti_Activity any;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemcpyPtoP4 peer;
	CUpti_ActivityMemset4 set;
	CUpti_ActivityAPI api;
	char bytes[RECORD_BYTES];
};

static struct driver d;
static struct cupti c;
static CUcontext context;
static CUmodule module;
static union record records[MAX_RECORDS];
static int record_count, buffers_completed;
static size_t buffer_bytes = BUFFER_BYTES;

#define OK(call) CHECK((call) == 0)

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
			  ".visible .entry quick_ns500() { ret; }\n"
			  ".visible .entry slow_us20000()\n{ ret; }\n"
			  ".visible .entry\n  endless_us60000000() { ret; }\n"
			  ".visible .entry plain(.param .u64 p) { ret; }\n";

static inline uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void buffer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, buffer_bytes);
	*size = buffer_bytes;
	*max_records = 0;
}

static void buffer_complete(
	CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	buffers_completed++;
	while (valid && !c.ActivityGetNextRecord(buffer, valid, &r) && record_count < MAX_RECORDS) {
		size_t left = valid - (size_t)((uint8_t *)r - buffer);

		memcpy(&records[record_count++], r, left < RECORD_BYTES ? left : RECORD_BYTES);
	}
	free(buffer);
}

static void load_libraries(void)
{
	const char *build = getenv("XPUPROF_BUILD");
	char path[4096];
	void *cupti;

	snprintf(path, sizeof(path), "%s/sim/libcuda.so.1", build ? build : "build");
	if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL) || !driver_open(&d, "test"))
		printf("# %s\n", dlerror());
	snprintf(path, sizeof(path), "%s/sim/libcupti.so.13", build ? build : "build");
	cupti = dlopen(path, RTLD_NOW);
	CHECK(cupti != NULL);
#define LOAD(name) *(void **)&c.name = cupti ? dlsym(cupti, "cupti" #name) : NULL;
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
}

/* The driver up, a context, the kernels above. */
static inline void start(void)
{
	OK(d.cuInit(0));
	OK(d.cuDevicePrimaryCtxRetain(&context, 0));
	OK(d.cuCtxSetCurrent(context));
	OK(d.cuModuleLoadData(&module, ptx));
}

/* Records of kernels, copies and sets on our clock. */
static inline void collect(void)
{
	OK(c.ActivityRegisterTimestampCallback(monotonic));
	OK(c.ActivityRegisterCallbacks(buffer_request, buffer_complete));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
}

static inline CUfunction function(const char *name)
{
	CUfunction f = NULL;

	OK(d.cuModuleGetFunction(&f, module, name));
	return f;
}

static inline CUresult launch(CUfunction f, CUstream s)
{
	return d.cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

/* Everything that has ended, oldest start first. */
static int by_start(const void *a, const void *b)
{
	const union record *l = a, *r = b;

	return l->kernel.start < r->kernel.start ? -1 : l->kernel.start > r->kernel.start;
}

static inline void flush(void)
{
	OK(c.ActivityFlushAll(0));
	qsort(records, (size_t)record_count, sizeof(*records), by_start);
}

/* Runs body in a child with these faults and as many devices. */
static inline void in_child(const char *faults, const char *devices, void (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("XPUPROF_SIM_FAULTS", faults, 1);
		setenv("XPUPROF_SIM_DEVICES", devices, 1);
		unsetenv("CUDA_INJECTION64_PATH");
		alarm(60);
		load_libraries();
		body();
		fflush(stdout);
		_exit(tap_ok ? 0 : 1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

/* A test is a function body run in such a child. */
#define SIM_TEST(name, faults, devices)                                                            \
	static void name##_body(void);                                                             \
	static void name(void)                                                                     \
	{                                                                                          \
		in_child(faults, devices, name##_body);                                            \
	}                                                                                          \
	static void name##_body(void)
