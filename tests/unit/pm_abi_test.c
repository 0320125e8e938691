// SPDX-License-Identifier: MIT
/*
 * Our own description of CUPTI's PM sampling (gpu/nvidia/pm_abi.h) against the real headers, at
 * compile time, where those are installed. One of them asks for C++'s <string> and uses nothing of
 * it: tests/cxx has an empty one.
 */
#include "gpu/nvidia/pm_abi.h"
#include "tap.h"

#if __has_include(<cupti_pmsampling.h>)

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define FIELD(ours, our_field, theirs, their_field)                                                \
	SAME(offsetof(struct ours, our_field), offsetof(theirs, their_field));                     \
	SAME(sizeof(((struct ours *)0)->our_field), sizeof(((theirs *)0)->their_field))
#define LAST(ours, our_field, theirs, their_field)                                                 \
	FIELD(ours, our_field, theirs, their_field);                                               \
	SAME(PM_SIZE(ours, our_field), theirs##_STRUCT_SIZE)

SAME(PM_OK, CUPTI_SUCCESS);
SAME(PM_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(PM_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME(PM_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(PM_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME(PM_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(PM_VIRTUAL_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(PM_RIGHTS, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(PM_VIRTUAL_DEVICE_RIGHTS, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(PM_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME(PM_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
SAME(PM_INTERFACE, CUPTI_PROFILER_PM_SAMPLING);
SAME(PM_SUPPORT_NO, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME(PM_SUPPORT_OFF, CUPTI_PROFILER_CONFIGURATION_DISABLED);
SAME(PM_SUPPORT_YES, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
SAME(PM_HOST_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME(PM_TRIGGER_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME(PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME(PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME(PM_KEEP_LATEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
SAME(PM_DECODE_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME(PM_DECODE_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);

LAST(pm_plain, reserved, CUpti_Profiler_Initialize_Params, pPriv);
LAST(pm_plain, reserved, CUpti_Profiler_DeInitialize_Params, pPriv);

FIELD(pm_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
FIELD(pm_supported, supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
FIELD(pm_supported, architecture, CUpti_Profiler_DeviceSupported_Params, architecture);
FIELD(pm_supported, virtual_gpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
FIELD(pm_supported, confidential, CUpti_Profiler_DeviceSupported_Params, confidentialCompute);
FIELD(pm_supported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
LAST(pm_supported, interface, CUpti_Profiler_DeviceSupported_Params, api);

FIELD(pm_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
LAST(pm_chip, name, CUpti_Device_GetChipName_Params, pChipName);

FIELD(pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
FIELD(pm_availability, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
	counterAvailabilityImageSize);
LAST(pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
	pCounterAvailabilityImage);

FIELD(pm_host_begin, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
FIELD(pm_host_begin, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
FIELD(pm_host_begin, availability, CUpti_Profiler_Host_Initialize_Params,
	pCounterAvailabilityImage);
LAST(pm_host_begin, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
LAST(pm_host, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
FIELD(pm_host_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
FIELD(pm_host_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
LAST(pm_host_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
FIELD(pm_host_image_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
LAST(pm_host_image_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params,
	configImageSize);
FIELD(pm_host_image, image_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
LAST(pm_host_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
FIELD(pm_host_passes, image_size, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
FIELD(pm_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
LAST(pm_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
FIELD(pm_host_values, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
FIELD(pm_host_values, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
FIELD(pm_host_values, data_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
	counterDataImageSize);
FIELD(pm_host_values, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
FIELD(pm_host_values, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
FIELD(pm_host_values, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
LAST(pm_host_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

FIELD(pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
LAST(pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
LAST(pm_object, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
LAST(pm_object, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
LAST(pm_object, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
FIELD(pm_config, object, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
FIELD(pm_config, image_size, CUpti_PmSampling_SetConfig_Params, configSize);
FIELD(pm_config, image, CUpti_PmSampling_SetConfig_Params, pConfig);
FIELD(pm_config, buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
FIELD(pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
FIELD(pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
LAST(pm_config, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
FIELD(pm_data_size, object, CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
FIELD(pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
FIELD(pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
FIELD(pm_data_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
LAST(pm_data_size, data_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
FIELD(pm_data_begin, object, CUpti_PmSampling_CounterDataImage_Initialize_Params,
	pPmSamplingObject);
FIELD(pm_data_begin, data_size, CUpti_PmSampling_CounterDataImage_Initialize_Params,
	counterDataSize);
LAST(pm_data_begin, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
FIELD(pm_decode, object, CUpti_PmSampling_DecodeData_Params, pPmSamplingObject);
FIELD(pm_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
FIELD(pm_decode, data_size, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
FIELD(pm_decode, stop, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
LAST(pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
FIELD(pm_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
FIELD(pm_info, data_size, CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
FIELD(pm_info, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
FIELD(pm_info, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
LAST(pm_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
FIELD(pm_sample, object, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject);
FIELD(pm_sample, data, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
FIELD(pm_sample, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
FIELD(pm_sample, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
LAST(pm_sample, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);

static void our_structs_and_values_are_those_of_the_installed_headers(void)
{
	printf("# CUPTI API version %d\n", CUPTI_API_VERSION);
	CHECK(CUPTI_API_VERSION >= 24); /* CUDA 12.6, the first with PM sampling */
}

#else

static void our_structs_and_values_are_those_of_the_installed_headers(void)
{
	SKIP("no cupti_pmsampling.h: set CUDA_HOME to a CUDA toolkit to compare with it");
}

#endif

int main(void)
{
	RUN(our_structs_and_values_are_those_of_the_installed_headers);
	return tap_end();
}
