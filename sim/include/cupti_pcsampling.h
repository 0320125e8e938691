/* SPDX-License-Identifier: MIT */
/*
 * The part of CUPTI's PC sampling API that the simulator has, as in CUPTI 13.0; see cupti.h.
 */
#pragma once

#include <cupti.h>
#include <stddef.h>

#define CUPTI_STALL_REASON_STRING_SIZE 128
#define CUPTI_PCSAMPLING_STRUCT_SIZE(type_, lastfield_)                                            \
	(offsetof(type_, lastfield_) + sizeof(((type_ *)0)->lastfield_))

typedef enum {
	CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS = 1,
	CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED = 2
} CUpti_PCSamplingCollectionMode;

typedef enum { CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED = 1 } CUpti_PCSamplingOutputDataFormat;

typedef struct CUPTI_RECORD {
	uint32_t pcSamplingStallReasonIndex;
	uint32_t samples;
} CUpti_PCSamplingStallReason;

typedef struct CUPTI_RECORD {
	size_t size;
	uint64_t cubinCrc;
	uint64_t pcOffset;
	uint32_t functionIndex;
	uint32_t pad;
	char *functionName;
	size_t stallReasonCount;
	CUpti_PCSamplingStallReason *stallReason;
	uint32_t correlationId;
} CUpti_PCSamplingPCData;

typedef struct CUPTI_RECORD {
	size_t size;
	size_t collectNumPcs;
	uint64_t totalSamples;
	uint64_t droppedSamples;
	size_t totalNumPcs;
	size_t remainingNumPcs;
	uint64_t rangeId;
	CUpti_PCSamplingPCData *pPcData;
	uint64_t nonUsrKernelsTotalSamples;
	uint8_t hardwareBufferFull;
} CUpti_PCSamplingData;

typedef enum {
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD = 1,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON = 2,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE = 3,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE = 4,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE = 5,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL = 6,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT = 7,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER = 8,
	CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN = 9
} CUpti_PCSamplingConfigurationAttributeType;

typedef struct {
	CUpti_PCSamplingConfigurationAttributeType attributeType;
	CUptiResult attributeStatus;
	union {
		struct {
			uint64_t data[3];
		} invalidData;
		struct {
			uint32_t samplingPeriod;
		} samplingPeriodData;
		struct {
			CUpti_PCSamplingCollectionMode collectionMode;
		} collectionModeData;
		struct {
			uint32_t enableStartStopControl;
		} enableStartStopControlData;
		struct {
			void *samplingDataBuffer;
		} samplingDataBufferData;
	} attributeData;
} CUpti_PCSamplingConfigurationInfo;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t numAttributes;
	CUpti_PCSamplingConfigurationInfo *pPCSamplingConfigurationInfo;
} CUpti_PCSamplingConfigurationInfoParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	void *pcSamplingData;
} CUpti_PCSamplingGetDataParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
} CUpti_PCSamplingEnableParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
} CUpti_PCSamplingDisableParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
} CUpti_PCSamplingStartParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
} CUpti_PCSamplingStopParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t *numStallReasons;
} CUpti_PCSamplingGetNumStallReasonsParams;

typedef struct {
	size_t size;
	void *pPriv;
	CUcontext ctx;
	size_t numStallReasons;
	uint32_t *stallReasonIndex;
	char **stallReasons;
} CUpti_PCSamplingGetStallReasonsParams;

typedef struct {
	size_t size;
	size_t cubinSize;
	const void *cubin;
	uint64_t cubinCrc;
} CUpti_GetCubinCrcParams;

#define CUpti_PCSamplingConfigurationInfoParamsSize                                                \
	CUPTI_PCSAMPLING_STRUCT_SIZE(                                                              \
		CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo)
#define CUpti_PCSamplingGetDataParamsSize                                                          \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetDataParams, pcSamplingData)
#define CUpti_PCSamplingEnableParamsSize                                                           \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingEnableParams, ctx)
#define CUpti_PCSamplingStartParamsSize                                                            \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingStartParams, ctx)
#define CUpti_PCSamplingStopParamsSize CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingStopParams, ctx)
#define CUpti_PCSamplingDisableParamsSize                                                          \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingDisableParams, ctx)
#define CUpti_PCSamplingGetNumStallReasonsParamsSize                                               \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons)
#define CUpti_PCSamplingGetStallReasonsParamsSize                                                  \
	CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingGetStallReasonsParams, stallReasons)
#define CUpti_GetCubinCrcParamsSize CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_GetCubinCrcParams, cubinCrc)

typedef void (*CUpti_ComputeCrcCallbackFunc)(
	const void *cubin, size_t cubinSize, uint64_t *cubinCrc);

#ifdef __cplusplus
extern "C" {
#endif
CUptiResult cuptiPCSamplingSetConfigurationAttribute(
	CUpti_PCSamplingConfigurationInfoParams *pParams);
CUptiResult cuptiPCSamplingGetConfigurationAttribute(
	CUpti_PCSamplingConfigurationInfoParams *pParams);
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *pParams);
CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *pParams);
CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *pParams);
CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *pParams);
CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *pParams);
CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *pParams);
CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *pParams);
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *pParams);
CUptiResult cuptiRegisterComputeCrcCallback(CUpti_ComputeCrcCallbackFunc funcComputeCubinCrc);
#ifdef __cplusplus
}
#endif
