// SPDX-License-Identifier: MIT
/*
 * The simulated device as a driver, below a real loader: the library has the name of Intel's, for
 * LD_LIBRARY_PATH=build/sim/levelzero/driver. The loader asks for tables of functions
 * (level_zero/ze_ddi.h), as many entries as it knows, of which we have some; their places are those
 * of version 1.3 and later.
 */
#include <stdbool.h>

#include "levelzero.h"

#define EXPORT __attribute__((visibility("default")))

/* TABLE(name, entries): a function that fills in its table. ENTRY(place, function). */
#define TABLE(name, entries)                                                                       \
	EXPORT int32_t name##ProcAddrTable(uint32_t version, void **table);                        \
	int32_t name##ProcAddrTable(uint32_t version, void **table)                                \
	{                                                                                          \
		entries return 0;                                                                  \
	}
#define ENTRY(place, function) table[place] = (void *)function;

static int32_t api_version(void *driver, uint32_t *ret)
{
	*ret = 1 << 16 | 3;
	return 0;
}

TABLE(zeGetGlobal, ENTRY(0, zeInit))
TABLE(zeGetDriver, ENTRY(0, zeDriverGet) ENTRY(1, api_version))
TABLE(zeGetDevice, ENTRY(0, zeDeviceGet) ENTRY(1, zeDeviceGetSubDevices)
			   ENTRY(2, zeDeviceGetProperties) ENTRY(14, zeDeviceGetGlobalTimestamps))
TABLE(zeGetContext, ENTRY(0, zeContextCreate) ENTRY(1, zeContextDestroy))
TABLE(zeGetCommandQueue,
	ENTRY(0, zeCommandQueueCreate) ENTRY(1, zeCommandQueueDestroy)
		ENTRY(2, zeCommandQueueExecuteCommandLists) ENTRY(3, zeCommandQueueSynchronize))
TABLE(zeGetCommandList,
	ENTRY(0, zeCommandListCreate) ENTRY(1, zeCommandListCreateImmediate) ENTRY(
		2, zeCommandListDestroy) ENTRY(3, zeCommandListClose) ENTRY(4, zeCommandListReset)
		ENTRY(6, zeCommandListAppendBarrier) ENTRY(8, zeCommandListAppendMemoryCopy) ENTRY(
			9, zeCommandListAppendMemoryFill) ENTRY(10,
			zeCommandListAppendMemoryCopyRegion) ENTRY(12, zeCommandListAppendImageCopy)
			ENTRY(14, zeCommandListAppendImageCopyToMemory)
				ENTRY(15, zeCommandListAppendImageCopyFromMemory)
					ENTRY(18, zeCommandListAppendSignalEvent)
						ENTRY(20, zeCommandListAppendEventReset)
							ENTRY(22, zeCommandListAppendLaunchKernel))
TABLE(zeGetImage, ENTRY(1, zeImageCreate) ENTRY(2, zeImageDestroy))
TABLE(zeGetFence, ENTRY(0, zeFenceCreate) ENTRY(1, zeFenceDestroy) ENTRY(2, zeFenceHostSynchronize)
			  ENTRY(3, zeFenceQueryStatus) ENTRY(4, zeFenceReset))
TABLE(zeGetEventPool, ENTRY(0, zeEventPoolCreate) ENTRY(1, zeEventPoolDestroy))
TABLE(zeGetEvent, ENTRY(0, zeEventCreate) ENTRY(1, zeEventDestroy) ENTRY(3, zeEventHostSynchronize)
			  ENTRY(4, zeEventQueryStatus) ENTRY(5, zeEventHostReset)
				  ENTRY(6, zeEventQueryKernelTimestamp))
TABLE(zeGetModule,
	ENTRY(0, zeModuleCreate) ENTRY(1, zeModuleDestroy) ENTRY(4, zeModuleGetNativeBinary))
TABLE(zeGetModuleBuildLog, )
TABLE(zeGetKernel,
	ENTRY(0, zeKernelCreate) ENTRY(1, zeKernelDestroy) ENTRY(3, zeKernelSetGroupSize))
TABLE(zeGetSampler, )
TABLE(zeGetPhysicalMem, )
TABLE(zeGetMem, ENTRY(0, zeMemAllocShared) ENTRY(1, zeMemAllocDevice) ENTRY(2, zeMemAllocHost)
			ENTRY(3, zeMemFree) ENTRY(4, zeMemGetAllocProperties))
TABLE(zeGetVirtualMem, )

/* Of what is optional, and of tools: nothing, but the loader wants all tables. */
TABLE(zeGetDeviceExp, )
TABLE(zeGetEventExp, )
TABLE(zeGetImageExp, )
TABLE(zeGetKernelExp, )
TABLE(zeGetFabricEdgeExp, )
TABLE(zeGetFabricVertexExp, )
TABLE(zetGetCommandList, )
TABLE(zetGetContext, )
TABLE(zetGetDebug, )
TABLE(zetGetDevice, )
TABLE(zetGetKernel, )
TABLE(zetGetMetric, )
TABLE(zetGetMetricGroup, )
TABLE(zetGetMetricGroupExp, )
TABLE(zetGetMetricQuery, )
TABLE(zetGetMetricQueryPool, )
TABLE(zetGetMetricStreamer, )
TABLE(zetGetModule, )
TABLE(zetGetTracerExp, )
TABLE(zesGetDevice, )
TABLE(zesGetDiagnostics, )
TABLE(zesGetDriver, )
TABLE(zesGetEngine, )
TABLE(zesGetFabricPort, )
TABLE(zesGetFan, )
TABLE(zesGetFirmware, )
TABLE(zesGetFrequency, )
TABLE(zesGetLed, )
TABLE(zesGetMemory, )
TABLE(zesGetPerformanceFactor, )
TABLE(zesGetPower, )
TABLE(zesGetPsu, )
TABLE(zesGetRas, )
TABLE(zesGetScheduler, )
TABLE(zesGetStandby, )
TABLE(zesGetTemperature, )
