// SPDX-License-Identifier: MIT
/*
 * The exported runtime API, made from runtime_api.def, and what it adds to the driver: the device a
 * thread chose, its primary context, the last error.
 */
#include "rt.h"

#include <string.h>

enum { DEVICES = 16 };

static _Thread_local struct {
	int device;
	cudaError_t last_error;
} thread;

static _Atomic(CUcontext) primary[DEVICES];

CUresult rt_primary(int device, CUcontext *ret)
{
	CUcontext ctx, none = NULL;
	CUresult result;

	if (device < 0 || device >= DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = primary[device];
	if (!ctx) {
		result = cuDevicePrimaryCtxRetain(&ctx, device);
		if (result)
			return result;
		atomic_compare_exchange_strong(&primary[device], &none, ctx);
	}
	*ret = ctx;
	return CUDA_SUCCESS;
}

/* What every call but the simplest begins with. */
static CUresult need_context(void)
{
	CUcontext ctx = xpuprof_sim_context();
	CUresult result;

	if (ctx)
		return CUDA_SUCCESS;
	result = rt_primary(thread.device, &ctx);
	return result ? result : cuCtxSetCurrent(ctx);
}

static cudaError_t note(CUresult result)
{
	cudaError_t error = (cudaError_t)result; /* the values are the same since CUDA 10.1 */

	if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
		thread.last_error = error;
	return error;
}

/* The driver starts with the first call, before CUPTI could hear of that. */
#define CALL(id, fn, context, kernel, work, args)                                                  \
	cudaError_t result_ = cudaErrorUnknown;                                                    \
	struct sim_call call_ = {                                                                  \
		.domain = SIM_RUNTIME,                                                             \
		.cbid = (id),                                                                      \
		.name = #fn,                                                                       \
		.params = (args),                                                                  \
		.result = (int *)&result_,                                                         \
	};                                                                                         \
	CUresult start_ = xpuprof_sim_start();                                                     \
	if (start_)                                                                                \
		return note(start_);                                                               \
	if (atomic_load_explicit(                                                                  \
		    &xpuprof_sim_tools.callbacks[SIM_RUNTIME][id], memory_order_relaxed))          \
		call_.symbol = (kernel);                                                           \
	xpuprof_sim_enter(&call_);                                                                 \
	start_ = (context) ? need_context() : CUDA_SUCCESS;                                        \
	result_ = note(start_ ? start_ : (work));                                                  \
	xpuprof_sim_exit(&call_);                                                                  \
	return result_;

#define DEFINE(id, fn, context, kernel, work, ...)                                                 \
	SIM_EXPORT cudaError_t fn(ARGS_DECLARE(__VA_ARGS__))                                       \
	{                                                                                          \
		const struct fn##_params {                                                         \
			ARGS_FIELDS(__VA_ARGS__)                                                   \
		} params_ = {ARGS_NAMES(__VA_ARGS__)};                                             \
		CALL(id, fn, context, kernel, work, &params_)                                      \
	}

#define R(id, since, fn, work, ...) DEFINE(id, fn, true, NULL, work, __VA_ARGS__)
#define N(id, since, fn, work, ...) DEFINE(id, fn, false, NULL, work, __VA_ARGS__)
#define K(id, since, fn, kernel, work, ...)                                                        \
	DEFINE(id, fn, true, xpuprof_sim_symbol(rt_function(kernel)), work, __VA_ARGS__)
#define R0(id, since, fn, work)                                                                    \
	SIM_EXPORT cudaError_t fn(void)                                                            \
	{                                                                                          \
		CALL(id, fn, true, NULL, work, NULL)                                               \
	}
#include "runtime_api.def"

CUresult rt_version(int *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = CUDART_VERSION;
	return CUDA_SUCCESS;
}

CUresult rt_set_device(int device)
{
	CUcontext ctx;
	CUresult result = rt_primary(device, &ctx);

	if (result)
		return result;
	thread.device = device;
	return cuCtxSetCurrent(ctx);
}

CUresult rt_get_device(int *ret)
{
	*ret = thread.device;
	return CUDA_SUCCESS;
}

CUresult rt_init_device(int device)
{
	CUcontext ctx;

	return rt_primary(device, &ctx);
}

CUresult rt_peer_enable(int device, unsigned int flags)
{
	CUcontext ctx;
	CUresult result = rt_primary(device, &ctx);

	return result ? result : cuCtxEnablePeerAccess(ctx, flags);
}

static int attribute(CUdevice_attribute which, int device)
{
	int value = 0;

	cuDeviceGetAttribute(&value, which, device);
	return value;
}

/* What lies behind `rest` may not be there when the caller was compiled with another header. */
CUresult rt_properties(struct cudaDeviceProp *ret, int device)
{
	CUresult result;

	memset(ret, 0, offsetof(struct cudaDeviceProp, rest));
	result = cuDeviceGetName(ret->name, sizeof(ret->name), device);
	if (result)
		return result;
	cuDeviceGetUuid_v2(&ret->uuid, device);
	cuDeviceTotalMem_v2(&ret->totalGlobalMem, device);
	cuDeviceComputeCapability(&ret->major, &ret->minor, device);
	ret->sharedMemPerBlock =
		(size_t)attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device);
	ret->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, device);
	ret->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
	ret->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
	for (int i = 0; i < 3; i++) {
		ret->maxThreadsDim[i] = attribute(
			(CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i), device);
		ret->maxGridSize[i] = attribute(
			(CUdevice_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i), device);
	}
	ret->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	return CUDA_SUCCESS;
}

CUresult rt_entry_point(const char *symbol, void **ret, int version, unsigned long long flags,
	cudaDriverEntryPointQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status;
	CUresult result = cuGetProcAddress_v2(symbol, ret, version, flags, &status);

	if (ret_status)
		*ret_status = (cudaDriverEntryPointQueryResult)status;
	return result;
}

SIM_EXPORT cudaError_t cudaGetLastError(void)
{
	cudaError_t error = thread.last_error;

	thread.last_error = cudaSuccess;
	return error;
}

SIM_EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return thread.last_error;
}

static const struct {
	cudaError_t error;
	const char *name;
	const char *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
	{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
		"invalid configuration argument"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
		"invalid device function"},
	{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
		"invalid resource handle"},
	{cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
		"too many resources requested for launch"},
	{cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
		"too many blocks in cooperative launch"},
	{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

SIM_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	const char *text;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			return errors[i].text;
	return cuGetErrorString((CUresult)error, &text) ? "unrecognized error code" : text;
}

SIM_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].error == error)
			return errors[i].name;
	return "cudaErrorUnknown";
}
