// SPDX-License-Identifier: MIT
#include <stdatomic.h>

#include <cuda_runtime.h>

#include "sim_harness.h"

#define RUNTIME_FUNCTIONS(X)                                                                       \
	X(cudaMalloc)                                                                              \
	X(cudaMemcpy)                                                                              \
	X(cudaDeviceSynchronize)                                                                   \
	X(cudaGetLastError)                                                                        \
	X(cudaPeekAtLastError)                                                                     \
	X(cudaGetErrorName)                                                                        \
	X(cudaLaunchKernel)                                                                        \
	X(cudaLaunchHostFunc)                                                                      \
	X(cudaSetDevice)                                                                           \
	X(cudaGetDevice)                                                                           \
	X(cudaGetDeviceProperties)

static struct {
#define FIELD(name) __typeof__(name) *name;
	RUNTIME_FUNCTIONS(FIELD)
#undef FIELD
	/* what code made by nvcc calls before main, and at a launch */
	void (*__cudaRegisterFunction)(void **handle, const char *host, char *device,
		const char *name, int limit, void *tid, void *bid, dim3 *block, dim3 *grid,
		int *warp);
	cudaError_t (*__cudaGetKernel)(cudaKernel_t *ret, const void *host);
} r;

static const dim3 grid = {4, 1, 1}, block = {32, 1, 1};

static void load_runtime(void)
{
	const char *build = getenv("XPUPROF_BUILD");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/sim/libcudart.so.13", build ? build : "build");
	library = dlopen(path, RTLD_NOW);
	CHECK(library != NULL);
#define LOAD(name) *(void **)&r.name = dlsym(library, #name);
	RUNTIME_FUNCTIONS(LOAD)
	LOAD(__cudaRegisterFunction)
	LOAD(__cudaGetKernel)
#undef LOAD
}

/* Stands for the host side of a kernel. */
static void host_side(void)
{
}

SIM_TEST(a_kernel_registered_by_its_host_function_is_launched, "", "1")
{
	cudaKernel_t handle;

	load_runtime();
	collect();
	r.__cudaRegisterFunction(NULL, (const char *)host_side, NULL, "_Z6kernelv", -1, NULL, NULL,
		NULL, NULL, NULL);
	OK(r.cudaLaunchKernel((const void *)host_side, grid, block, NULL, 0, NULL));
	OK(r.__cudaGetKernel(&handle, (const void *)host_side));
	OK(r.cudaLaunchKernel((const void *)handle, grid, block, NULL, 0, NULL));
	OK(r.cudaDeviceSynchronize());
	flush();
	CHECK(record_count == 2);
	CHECK_TEXT(records[0].kernel.name, "_Z6kernelv");
	CHECK_TEXT(records[1].kernel.name, "_Z6kernelv");
}

SIM_TEST(the_last_error_stays_until_it_is_asked_for, "", "1")
{
	dim3 too_large = {2048, 1, 1};

	load_runtime();
	r.__cudaRegisterFunction(
		NULL, (const char *)host_side, NULL, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(r.cudaLaunchKernel((const void *)host_side, grid, too_large, NULL, 0, NULL) ==
		cudaErrorInvalidConfiguration);
	OK(r.cudaDeviceSynchronize());
	CHECK(r.cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
	CHECK(r.cudaGetLastError() == cudaErrorInvalidConfiguration);
	CHECK(r.cudaGetLastError() == cudaSuccess);
	CHECK(r.cudaLaunchKernel((const void *)&too_large, grid, block, NULL, 0, NULL) ==
		cudaErrorInvalidDeviceFunction);
	CHECK_TEXT(r.cudaGetErrorName(r.cudaGetLastError()), "cudaErrorInvalidDeviceFunction");
}

static void count(void *data)
{
	atomic_fetch_add((_Atomic int *)data, 1);
}

SIM_TEST(a_host_function_has_run_when_its_stream_is_synchronized, "", "1")
{
	_Atomic int ran = 0;

	load_runtime();
	for (int i = 0; i < 5; i++)
		OK(r.cudaLaunchHostFunc(NULL, count, (void *)&ran));
	OK(r.cudaDeviceSynchronize());
	CHECK(ran == 5);
}

SIM_TEST(each_device_has_its_own_context_and_memory, "", "2")
{
	struct cudaDeviceProp properties;
	char text[8] = "devices", back[8] = {0};
	void *one, *other;
	int device = -1;

	load_runtime();
	collect();
	OK(r.cudaMalloc(&one, 8));
	OK(r.cudaMemcpy(one, text, 8, cudaMemcpyHostToDevice));
	OK(r.cudaSetDevice(1));
	OK(r.cudaGetDevice(&device));
	CHECK(device == 1);
	OK(r.cudaGetDeviceProperties(&properties, 1));
	CHECK_TEXT(properties.name, "Simulated GPU 1");
	OK(r.cudaMalloc(&other, 8));
	OK(r.cudaMemcpy(other, text, 8, cudaMemcpyHostToDevice));
	OK(r.cudaMemcpy(back, other, 8, cudaMemcpyDefault));
	CHECK_TEXT(back, "devices");
	CHECK(r.cudaSetDevice(2) == cudaErrorInvalidDevice);
	flush();
	CHECK(record_count == 3);
	CHECK(records[0].copy.deviceId == 0 && records[1].copy.deviceId == 1);
	CHECK(records[0].copy.contextId != records[1].copy.contextId);
	CHECK(records[2].copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
}

int main(void)
{
	RUN(a_kernel_registered_by_its_host_function_is_launched);
	RUN(the_last_error_stays_until_it_is_asked_for);
	RUN(a_host_function_has_run_when_its_stream_is_synchronized);
	RUN(each_device_has_its_own_context_and_memory);
	return tap_end();
}
