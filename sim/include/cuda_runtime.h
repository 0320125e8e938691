/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA runtime API that the simulator has, for host programs in C or C++. Names,
 * values and layouts are those of CUDA 13.0. As with NVIDIA's header, defining
 * CUDA_API_PER_THREAD_DEFAULT_STREAM before it makes the default stream each thread's own.
 */
#pragma once

#include <cuda.h>

#define CUDART_VERSION 13000

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUfunction cudaFunction_t;
typedef struct cudaArray *cudaArray_t;
typedef CUhostFn cudaHostFn_t;
typedef CUgraphEdgeData cudaGraphEdgeData;

#define cudaStreamLegacy    ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

typedef enum cudaError {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorDeviceUninitialized = 201,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorSymbolNotFound = 500,
	cudaErrorNotReady = 600,
	cudaErrorLaunchOutOfResources = 701,
	cudaErrorCooperativeLaunchTooLarge = 720,
	cudaErrorNotSupported = 801,
	cudaErrorUnknown = 999
} cudaError_t;

typedef enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4
} cudaMemcpyKind;

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaHostAllocDefault = 0 };
enum { cudaMemAttachGlobal = 1 };

typedef enum cudaStreamCaptureMode {
	cudaStreamCaptureModeGlobal = 0,
	cudaStreamCaptureModeThreadLocal = 1,
	cudaStreamCaptureModeRelaxed = 2
} cudaStreamCaptureMode;

typedef enum cudaStreamCaptureStatus {
	cudaStreamCaptureStatusNone = 0,
	cudaStreamCaptureStatusActive = 1,
	cudaStreamCaptureStatusInvalidated = 2
} cudaStreamCaptureStatus;

typedef enum cudaFuncAttribute {
	cudaFuncAttributeMaxDynamicSharedMemorySize = 8
} cudaFuncAttribute;
typedef CUdevice_attribute cudaDeviceAttr;
typedef CUjit_option cudaJitOption;
typedef CUlibraryOption cudaLibraryOption;

typedef enum cudaDriverEntryPointQueryResult {
	cudaDriverEntryPointSuccess = 0,
	cudaDriverEntryPointSymbolNotFound = 1
} cudaDriverEntryPointQueryResult;

typedef enum cudaLaunchAttributeID {
	cudaLaunchAttributeIgnore = 0,
	cudaLaunchAttributeCooperative = 2,
	cudaLaunchAttributeClusterDimension = 4,
	cudaLaunchAttributePriority = 8
} cudaLaunchAttributeID;

typedef CUlaunchAttributeValue cudaLaunchAttributeValue;

typedef struct cudaLaunchAttribute_st {
	cudaLaunchAttributeID id;
	char pad[8 - sizeof(cudaLaunchAttributeID)];
	cudaLaunchAttributeValue val;
} cudaLaunchAttribute;

typedef struct cudaLaunchConfig_st {
	dim3 gridDim;
	dim3 blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams;
	void **extra;
};

struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned int value;
	unsigned int elementSize;
	size_t width;
	size_t height;
};

typedef enum cudaGraphExecUpdateResult { cudaGraphExecUpdateSuccess = 0 } cudaGraphExecUpdateResult;

typedef struct cudaGraphExecUpdateResultInfo_st {
	cudaGraphExecUpdateResult result;
	cudaGraphNode_t errorNode;
	cudaGraphNode_t errorFromNode;
} cudaGraphExecUpdateResultInfo;

struct cudaDeviceProp {
	char name[256];
	CUuuid uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	int multiProcessorCount;
	int rest[160]; /* textures, surfaces and much else: zero here */
};

#ifdef __cplusplus
extern "C" {
#endif
#define R(cbid, since, name, work, ...) cudaError_t name(ARGS_DECLARE(__VA_ARGS__));
#define R0(cbid, since, name, work)	cudaError_t name(void);
#include "../runtime/runtime_api.def"

const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
#ifdef __cplusplus
}
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaMemcpy		    cudaMemcpy_ptds
#define cudaMemcpy2D		    cudaMemcpy2D_ptds
#define cudaMemset		    cudaMemset_ptds
#define cudaMemset2D		    cudaMemset2D_ptds
#define cudaMemcpyAsync		    cudaMemcpyAsync_ptsz
#define cudaMemcpy2DAsync	    cudaMemcpy2DAsync_ptsz
#define cudaMemsetAsync		    cudaMemsetAsync_ptsz
#define cudaMemset2DAsync	    cudaMemset2DAsync_ptsz
#define cudaLaunchKernel	    cudaLaunchKernel_ptsz
#define cudaLaunchKernelExC	    cudaLaunchKernelExC_ptsz
#define cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz
#define cudaLaunchHostFunc	    cudaLaunchHostFunc_ptsz
#define cudaGraphLaunch		    cudaGraphLaunch_ptsz
#define cudaStreamQuery		    cudaStreamQuery_ptsz
#define cudaStreamSynchronize	    cudaStreamSynchronize_ptsz
#define cudaStreamWaitEvent	    cudaStreamWaitEvent_ptsz
#define cudaStreamBeginCapture	    cudaStreamBeginCapture_ptsz
#define cudaStreamEndCapture	    cudaStreamEndCapture_ptsz
#define cudaStreamIsCapturing	    cudaStreamIsCapturing_ptsz
#define cudaEventRecord		    cudaEventRecord_ptsz
#define cudaMallocAsync		    cudaMallocAsync_ptsz
#define cudaFreeAsync		    cudaFreeAsync_ptsz
#endif
