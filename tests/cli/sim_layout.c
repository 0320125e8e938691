// SPDX-License-Identifier: MIT
/*
 * Prints where the fields of the structs lie and what constants are worth, by whichever CUDA
 * headers it is compiled with; sim_layout.t compiles it twice and compares.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_pcsampling.h>

#include <stddef.h>
#include <stdio.h>

#define SIZE(type)	printf("sizeof " #type " %zu\n", sizeof(type));
#define AT(type, field) printf(#type "." #field " %zu\n", offsetof(type, field));
#define VALUE(name)	printf(#name " %lld\n", (long long)(name));

/* clang-format off */
static void driver_structs(void)
{
	SIZE(CUDA_MEMCPY2D) AT(CUDA_MEMCPY2D, srcDevice) AT(CUDA_MEMCPY2D, dstMemoryType)
	AT(CUDA_MEMCPY2D, Height)
	SIZE(CUDA_MEMCPY3D) AT(CUDA_MEMCPY3D, srcDevice) AT(CUDA_MEMCPY3D, dstDevice)
	AT(CUDA_MEMCPY3D, Depth)
	SIZE(CUDA_KERNEL_NODE_PARAMS) AT(CUDA_KERNEL_NODE_PARAMS, kernelParams)
	AT(CUDA_KERNEL_NODE_PARAMS, ctx)
	SIZE(CUDA_MEMSET_NODE_PARAMS) AT(CUDA_MEMSET_NODE_PARAMS, height)
	SIZE(CUlaunchAttribute) AT(CUlaunchAttribute, value)
	SIZE(CUlaunchConfig) AT(CUlaunchConfig, hStream) AT(CUlaunchConfig, numAttrs)
	SIZE(CUgraphExecUpdateResultInfo) SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS)
	AT(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out)
	SIZE(CUgraphEdgeData) SIZE(CUctxCreateParams) SIZE(CUuuid)
}

static void runtime_structs(void)
{
	SIZE(dim3) SIZE(cudaLaunchConfig_t) AT(cudaLaunchConfig_t, dynamicSmemBytes)
	AT(cudaLaunchConfig_t, numAttrs)
	SIZE(cudaLaunchAttribute) SIZE(struct cudaKernelNodeParams)
	AT(struct cudaKernelNodeParams, kernelParams) SIZE(struct cudaMemsetParams)
	AT(struct cudaMemsetParams, height) SIZE(cudaGraphExecUpdateResultInfo)
	AT(struct cudaDeviceProp, totalGlobalMem) AT(struct cudaDeviceProp, totalConstMem)
	AT(struct cudaDeviceProp, multiProcessorCount)
}

static void pm_sampling_structs(void)
{
	SIZE(CUpti_Device_GetChipName_Params) SIZE(CUpti_Profiler_Initialize_Params)
	SIZE(CUpti_Profiler_DeviceSupported_Params) AT(CUpti_Profiler_DeviceSupported_Params, api)
	SIZE(CUpti_Profiler_Host_Initialize_Params) AT(CUpti_Profiler_Host_Initialize_Params, pHostObject)
	SIZE(CUpti_Profiler_Host_EvaluateToGpuValues_Params)
	AT(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues)
	SIZE(CUpti_Profiler_Host_ConfigAddMetrics_Params) SIZE(CUpti_Profiler_Host_GetConfigImage_Params)
	SIZE(CUpti_Profiler_Host_GetConfigImageSize_Params) SIZE(CUpti_Profiler_Host_GetNumOfPasses_Params)
	AT(CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses)
	SIZE(CUpti_PmSampling_SetConfig_Params) AT(CUpti_PmSampling_SetConfig_Params, samplingInterval)
	AT(CUpti_PmSampling_SetConfig_Params, triggerMode) SIZE(CUpti_PmSampling_Enable_Params)
	SIZE(CUpti_PmSampling_Start_Params) SIZE(CUpti_PmSampling_DecodeData_Params)
	AT(CUpti_PmSampling_DecodeData_Params, overflow)
	SIZE(CUpti_PmSampling_GetCounterAvailability_Params)
	SIZE(CUpti_PmSampling_GetCounterDataSize_Params)
	AT(CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize)
	SIZE(CUpti_PmSampling_CounterDataImage_Initialize_Params)
	SIZE(CUpti_PmSampling_GetCounterDataInfo_Params)
	SIZE(CUpti_PmSampling_CounterData_GetSampleInfo_Params)
	AT(CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp)
	VALUE(CUPTI_PROFILER_PM_SAMPLING) VALUE(CUPTI_PROFILER_TYPE_PM_SAMPLING)
	VALUE(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
	VALUE(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS) VALUE(CUPTI_ERROR_HARDWARE_BUSY)
}

static void cupti_structs(void)
{
	SIZE(CUpti_PCSamplingStallReason) SIZE(CUpti_PCSamplingPCData) SIZE(CUpti_PCSamplingData)
	AT(CUpti_PCSamplingPCData, functionIndex) AT(CUpti_PCSamplingPCData, stallReason)
	AT(CUpti_PCSamplingPCData, correlationId) AT(CUpti_PCSamplingData, totalNumPcs)
	AT(CUpti_PCSamplingData, nonUsrKernelsTotalSamples) AT(CUpti_PCSamplingData, hardwareBufferFull)
	SIZE(CUpti_PCSamplingConfigurationInfo) AT(CUpti_PCSamplingConfigurationInfo, attributeData)
	SIZE(CUpti_PCSamplingConfigurationInfoParams) SIZE(CUpti_PCSamplingGetDataParams)
	SIZE(CUpti_PCSamplingStartParams) SIZE(CUpti_PCSamplingStopParams)
	SIZE(CUpti_PCSamplingEnableParams) SIZE(CUpti_PCSamplingGetNumStallReasonsParams)
	SIZE(CUpti_PCSamplingGetStallReasonsParams) SIZE(CUpti_GetCubinCrcParams)
	AT(CUpti_GetCubinCrcParams, cubinCrc)
	VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
	VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE)
	VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
	VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
	VALUE(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN)
	VALUE(CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED)
	VALUE(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
	SIZE(CUpti_CallbackData) AT(CUpti_CallbackData, symbolName) AT(CUpti_CallbackData, correlationId)
	SIZE(CUpti_ResourceData) SIZE(CUpti_StateData) SIZE(CUpti_ModuleResourceData) SIZE(CUpti_GraphData)
	AT(CUpti_GraphData, nodeType) AT(CUpti_GraphData, graphExec) SIZE(CUpti_SynchronizeData)
	SIZE(CUpti_SubscriberParams)
	SIZE(CUpti_ActivityKernel10) AT(CUpti_ActivityKernel10, start) AT(CUpti_ActivityKernel10, gridX)
	AT(CUpti_ActivityKernel10, correlationId) AT(CUpti_ActivityKernel10, name)
	AT(CUpti_ActivityKernel10, queued) AT(CUpti_ActivityKernel10, graphNodeId)
	AT(CUpti_ActivityKernel10, graphId) AT(CUpti_ActivityKernel10, clusterX)
	AT(CUpti_ActivityKernel10, isDeviceLaunched)
	SIZE(CUpti_ActivityMemcpy6) AT(CUpti_ActivityMemcpy6, correlationId)
	AT(CUpti_ActivityMemcpy6, graphNodeId) AT(CUpti_ActivityMemcpy6, copyCount)
	SIZE(CUpti_ActivityMemcpyPtoP4) AT(CUpti_ActivityMemcpyPtoP4, correlationId)
	AT(CUpti_ActivityMemcpyPtoP4, graphId)
	SIZE(CUpti_ActivityMemset4) AT(CUpti_ActivityMemset4, memoryKind)
	AT(CUpti_ActivityMemset4, graphNodeId)
	SIZE(CUpti_ActivityAPI) AT(CUpti_ActivityAPI, returnValue)
	SIZE(CUpti_ActivityGraphTrace2) AT(CUpti_ActivityGraphTrace2, graphId)
	AT(CUpti_ActivityGraphTrace2, endContextId)
}

static void constants(void)
{
	VALUE(CUDA_VERSION) VALUE(CUPTI_API_VERSION) VALUE(CUDART_VERSION)
	VALUE(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
	VALUE(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) VALUE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
	VALUE(CUDA_ERROR_CAPTURED_EVENT) VALUE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
	VALUE(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) VALUE(CUDA_ERROR_ILLEGAL_STATE)
	VALUE(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
	VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
	VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
	VALUE(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
	VALUE(CU_POINTER_ATTRIBUTE_IS_MANAGED) VALUE(CU_POINTER_ATTRIBUTE_RANGE_SIZE)
	VALUE(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) VALUE(CU_MEMORYTYPE_UNIFIED)
	VALUE(CU_GRAPH_NODE_TYPE_MEMSET) VALUE(CU_GRAPH_NODE_TYPE_EMPTY)
	VALUE(CU_LAUNCH_ATTRIBUTE_COOPERATIVE) VALUE(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
	VALUE(cudaErrorInvalidConfiguration) VALUE(cudaErrorInvalidDeviceFunction)
	VALUE(cudaErrorDeviceUninitialized) VALUE(cudaMemcpyDefault)
	VALUE(CUPTI_ERROR_NOT_INITIALIZED) VALUE(CUPTI_ERROR_MAX_LIMIT_REACHED)
	VALUE(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) VALUE(CUPTI_ERROR_NOT_SUPPORTED)
	VALUE(CUPTI_CB_DOMAIN_SIZE) VALUE(CUPTI_CBID_RESOURCE_SIZE) VALUE(CUPTI_CBID_SYNCHRONIZE_SIZE)
	VALUE(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) VALUE(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
	VALUE(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS)
	VALUE(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) VALUE(CUPTI_ACTIVITY_KIND_MEMCPY2)
	VALUE(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) VALUE(CUPTI_ACTIVITY_KIND_COUNT)
	VALUE(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) VALUE(CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY)
	VALUE(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
}

/* clang-format on */
int main(void)
{
	driver_structs();
	runtime_structs();
	cupti_structs();
	pm_sampling_structs();
	constants();
	return 0;
}
