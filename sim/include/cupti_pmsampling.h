/* SPDX-License-Identifier: MIT */
/* CUPTI's sampling of hardware counters; as cupti.h here. */
#pragma once

#include <cupti.h>
#include <stddef.h>

typedef struct CUpti_PmSampling_Object CUpti_PmSampling_Object;

typedef enum CUpti_PmSampling_TriggerMode {
	CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL = 0,
	CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL = 1,
	CUPTI_PM_SAMPLING_TRIGGER_MODE_COUNT
} CUpti_PmSampling_TriggerMode;

typedef enum CUpti_PmSampling_DecodeStopReason {
	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER = 0,
	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL,
	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS,
	CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNT
} CUpti_PmSampling_DecodeStopReason;

typedef enum CUpti_PmSampling_HardwareBuffer_AppendMode {
	CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST = 0,
	CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST = 1
} CUpti_PmSampling_HardwareBuffer_AppendMode;

typedef struct CUpti_PmSampling_SetConfig_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
	size_t configSize;
	const uint8_t *pConfig;
	size_t hardwareBufferSize;
	uint64_t samplingInterval;
	CUpti_PmSampling_TriggerMode triggerMode;
	CUpti_PmSampling_HardwareBuffer_AppendMode hwBufferAppendMode;
} CUpti_PmSampling_SetConfig_Params;

typedef struct CUpti_PmSampling_Enable_Params {
	size_t structSize;
	void *pPriv;
	size_t deviceIndex;
	CUpti_PmSampling_Object *pPmSamplingObject;
} CUpti_PmSampling_Enable_Params;

typedef struct CUpti_PmSampling_Disable_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
} CUpti_PmSampling_Disable_Params;

typedef struct CUpti_PmSampling_Start_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
} CUpti_PmSampling_Start_Params;

typedef struct CUpti_PmSampling_Stop_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
} CUpti_PmSampling_Stop_Params;

typedef struct CUpti_PmSampling_DecodeData_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
	uint8_t *pCounterDataImage;
	size_t counterDataImageSize;
	CUpti_PmSampling_DecodeStopReason decodeStopReason;
	uint8_t overflow;
} CUpti_PmSampling_DecodeData_Params;

typedef struct CUpti_PmSampling_GetCounterAvailability_Params {
	size_t structSize;
	void *pPriv;
	size_t deviceIndex;
	size_t counterAvailabilityImageSize;
	uint8_t *pCounterAvailabilityImage;
} CUpti_PmSampling_GetCounterAvailability_Params;

typedef struct CUpti_PmSampling_GetCounterDataSize_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
	const char **pMetricNames;
	size_t numMetrics;
	uint32_t maxSamples;
	size_t counterDataSize;
} CUpti_PmSampling_GetCounterDataSize_Params;

typedef struct CUpti_PmSampling_CounterDataImage_Initialize_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
	size_t counterDataSize;
	uint8_t *pCounterData;
} CUpti_PmSampling_CounterDataImage_Initialize_Params;

typedef struct CUpti_PmSampling_GetCounterDataInfo_Params {
	size_t structSize;
	void *pPriv;
	const uint8_t *pCounterDataImage;
	size_t counterDataImageSize;
	size_t numTotalSamples;
	size_t numPopulatedSamples;
	size_t numCompletedSamples;
} CUpti_PmSampling_GetCounterDataInfo_Params;

typedef struct CUpti_PmSampling_CounterData_GetSampleInfo_Params {
	size_t structSize;
	void *pPriv;
	CUpti_PmSampling_Object *pPmSamplingObject;
	const uint8_t *pCounterDataImage;
	size_t counterDataImageSize;
	size_t sampleIndex;
	uint64_t startTimestamp;
	uint64_t endTimestamp;
} CUpti_PmSampling_CounterData_GetSampleInfo_Params;

CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *pParams);
CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *pParams);
CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *pParams);
CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *pParams);
CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *pParams);
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *pParams);
CUptiResult cuptiPmSamplingGetCounterAvailability(
	CUpti_PmSampling_GetCounterAvailability_Params *pParams);
CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *pParams);
CUptiResult cuptiPmSamplingCounterDataImageInitialize(
	CUpti_PmSampling_CounterDataImage_Initialize_Params *pParams);
CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *pParams);
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
	CUpti_PmSampling_CounterData_GetSampleInfo_Params *pParams);
