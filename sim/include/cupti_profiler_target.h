/* SPDX-License-Identifier: MIT */
/* The part of CUPTI's profiling interface that PM sampling needs on the target; as cupti.h here. */
#pragma once

#include <cupti.h>
#include <stddef.h>

typedef struct CUpti_Profiler_Initialize_Params {
	size_t structSize;
	void *pPriv;
} CUpti_Profiler_Initialize_Params;

typedef struct CUpti_Profiler_DeInitialize_Params {
	size_t structSize;
	void *pPriv;
} CUpti_Profiler_DeInitialize_Params;

typedef enum {
	CUPTI_PROFILER_CONFIGURATION_UNKNOWN = 0,
	CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
	CUPTI_PROFILER_CONFIGURATION_DISABLED,
	CUPTI_PROFILER_CONFIGURATION_SUPPORTED
} CUpti_Profiler_Support_Level;

typedef enum {
	CUPTI_PROFILER_RANGE_PROFILING = 0,
	CUPTI_PROFILER_PC_SAMPLING,
	CUPTI_PROFILER_SASS_METRICS,
	CUPTI_PROFILER_PM_SAMPLING,
	CUPTI_PROFILER_UNKNOWN
} CUpti_Profiler_API;

typedef struct {
	size_t structSize;
	void *pPriv;
	CUdevice cuDevice;
	CUpti_Profiler_Support_Level isSupported;
	CUpti_Profiler_Support_Level architecture;
	CUpti_Profiler_Support_Level sli;
	CUpti_Profiler_Support_Level vGpu;
	CUpti_Profiler_Support_Level confidentialCompute;
	CUpti_Profiler_Support_Level cmp;
	CUpti_Profiler_Support_Level wsl;
	CUpti_Profiler_API api;
} CUpti_Profiler_DeviceSupported_Params;

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *pParams);
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *pParams);
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams);
