/* SPDX-License-Identifier: MIT */
/*
 * The part of CUPTI's callback and activity API that the simulator has: names, values and
 * layouts are those of CUPTI 13.0 (tests/cli/sim_layout.t compares them with NVIDIA's headers where
 * those are installed). Kept apart from the header the injected library uses, on purpose: one error
 * must not be able to cancel the other.
 */
#pragma once

#include <cuda.h>

#define CUPTI_API_VERSION 130001

typedef enum {
	CUPTI_SUCCESS = 0,
	CUPTI_ERROR_INVALID_PARAMETER = 1,
	CUPTI_ERROR_INVALID_DEVICE = 2,
	CUPTI_ERROR_INVALID_CONTEXT = 3,
	CUPTI_ERROR_INVALID_OPERATION = 7,
	CUPTI_ERROR_OUT_OF_MEMORY = 8,
	CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
	CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
	CUPTI_ERROR_NOT_COMPATIBLE = 14,
	CUPTI_ERROR_NOT_INITIALIZED = 15,
	CUPTI_ERROR_INVALID_STREAM = 20,
	CUPTI_ERROR_INVALID_KIND = 21,
	CUPTI_ERROR_HARDWARE_BUSY = 26,
	CUPTI_ERROR_NOT_SUPPORTED = 27,
	CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
	CUPTI_ERROR_UNKNOWN = 999
} CUptiResult;

typedef enum {
	CUPTI_CB_DOMAIN_INVALID = 0,
	CUPTI_CB_DOMAIN_DRIVER_API = 1,
	CUPTI_CB_DOMAIN_RUNTIME_API = 2,
	CUPTI_CB_DOMAIN_RESOURCE = 3,
	CUPTI_CB_DOMAIN_SYNCHRONIZE = 4,
	CUPTI_CB_DOMAIN_NVTX = 5,
	CUPTI_CB_DOMAIN_STATE = 6,
	CUPTI_CB_DOMAIN_SIZE
} CUpti_CallbackDomain;

typedef enum { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 } CUpti_ApiCallbackSite;

typedef enum {
	CUPTI_CBID_RESOURCE_CONTEXT_CREATED = 1,
	CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING = 2,
	CUPTI_CBID_RESOURCE_STREAM_CREATED = 3,
	CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING = 4,
	CUPTI_CBID_RESOURCE_CU_INIT_FINISHED = 5,
	CUPTI_CBID_RESOURCE_MODULE_LOADED = 6,
	CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING = 7,
	CUPTI_CBID_RESOURCE_MODULE_PROFILED = 8,
	CUPTI_CBID_RESOURCE_GRAPH_CREATED = 9,
	CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING = 10,
	CUPTI_CBID_RESOURCE_GRAPH_CLONED = 11,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING = 12,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED = 13,
	CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING = 14,
	CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED = 15,
	CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING = 16,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING = 17,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED = 18,
	CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING = 19,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED = 20,
	CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED = 21,
	CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED = 22,
	CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS = 23,
	CUPTI_CBID_RESOURCE_SIZE
} CUpti_CallbackIdResource;

typedef enum {
	CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED = 1,
	CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED = 2,
	CUPTI_CBID_SYNCHRONIZE_SIZE
} CUpti_CallbackIdSync;

typedef struct {
	CUpti_ApiCallbackSite callbackSite;
	const char *functionName;
	const void *functionParams;
	void *functionReturnValue;
	const char *symbolName;
	CUcontext context;
	uint32_t contextUid;
	uint64_t *correlationData;
	uint32_t correlationId;
} CUpti_CallbackData;

typedef enum {
	CUPTI_CBID_STATE_INVALID = 0,
	CUPTI_CBID_STATE_FATAL_ERROR = 1,
	CUPTI_CBID_STATE_ERROR = 2,
	CUPTI_CBID_STATE_WARNING = 3,
	CUPTI_CBID_STATE_SIZE
} CUpti_CallbackIdState;

typedef struct {
	union {
		struct {
			CUptiResult result;
			const char *message;
		} notification;
	};
} CUpti_StateData;

typedef struct {
	CUcontext context;
	union {
		CUstream stream;
	} resourceHandle;
	void *resourceDescriptor;
} CUpti_ResourceData;

typedef struct {
	uint32_t moduleId;
	size_t cubinSize;
	const char *pCubin;
} CUpti_ModuleResourceData;

typedef struct {
	CUgraph graph;
	CUgraph originalGraph;
	CUgraphNode node;
	CUgraphNode originalNode;
	CUgraphNodeType nodeType;
	CUgraphNode dependency;
	CUgraphExec graphExec;
} CUpti_GraphData;

typedef struct {
	CUcontext context;
	CUstream stream;
} CUpti_SynchronizeData;

typedef uint32_t CUpti_CallbackId;
typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;
typedef void (*CUpti_CallbackFunc)(
	void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *cbdata);

typedef struct {
	size_t structSize;
	const char *subscriberName;
	char *oldSubscriberName;
	size_t oldSubscriberSize;
} CUpti_SubscriberParams;

typedef enum {
	CUPTI_ACTIVITY_KIND_INVALID = 0,
	CUPTI_ACTIVITY_KIND_MEMCPY = 1,
	CUPTI_ACTIVITY_KIND_MEMSET = 2,
	CUPTI_ACTIVITY_KIND_KERNEL = 3,
	CUPTI_ACTIVITY_KIND_DRIVER = 4,
	CUPTI_ACTIVITY_KIND_RUNTIME = 5,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ACTIVITY_KIND_MARKER = 12,
	CUPTI_ACTIVITY_KIND_MEMCPY2 = 22,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38,
	CUPTI_ACTIVITY_KIND_GRAPH_TRACE = 51,
	CUPTI_ACTIVITY_KIND_COUNT = 56
} CUpti_ActivityKind;

enum {
	CUPTI_ACTIVITY_FLAG_NONE = 0,
	CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC = 1,
	CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC = 1,
	CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1
};

typedef enum {
	CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN = 0,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
	CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
	CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
	CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
	CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10
} CUpti_ActivityMemcpyKind;

typedef enum {
	CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR = 0,
	CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE = 1
} CUpti_ActivityLaunchType;

typedef enum {
	CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_UNKNOWN = 0
} CUpti_ActivityPartitionedGlobalCacheConfig;

typedef enum { CUPTI_FUNC_SHMEM_LIMIT_DEFAULT = 0 } CUpti_FuncShmemLimitConfig;

typedef enum {
	CUPTI_CHANNEL_TYPE_INVALID = 0,
	CUPTI_CHANNEL_TYPE_COMPUTE = 1,
	CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY = 2
} CUpti_ChannelType;

typedef enum {
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE = 0,
	CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9
} CUpti_ActivityAttribute;

#define CUPTI_RECORD __attribute__((packed, aligned(8)))

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
} CUpti_Activity;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint8_t copyKind;
	uint8_t srcKind;
	uint8_t dstKind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t deviceId;
	uint32_t contextId;
	uint32_t streamId;
	uint32_t correlationId;
	uint32_t runtimeCorrelationId;
	uint32_t pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
	uint32_t channelID;
	CUpti_ChannelType channelType;
	uint8_t isDeviceLaunched;
	uint8_t pad2[3];
	uint64_t copyCount;
} CUpti_ActivityMemcpy6;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint8_t copyKind;
	uint8_t srcKind;
	uint8_t dstKind;
	uint8_t flags;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t deviceId;
	uint32_t contextId;
	uint32_t streamId;
	uint32_t srcDeviceId;
	uint32_t srcContextId;
	uint32_t dstDeviceId;
	uint32_t dstContextId;
	uint32_t correlationId;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
	uint32_t channelID;
	CUpti_ChannelType channelType;
} CUpti_ActivityMemcpyPtoP4;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t deviceId;
	uint32_t contextId;
	uint32_t streamId;
	uint32_t correlationId;
	uint16_t flags;
	uint16_t memoryKind;
	uint32_t pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId;
	uint32_t channelID;
	CUpti_ChannelType channelType;
	uint8_t isDeviceLaunched;
	uint8_t pad2[3];
} CUpti_ActivityMemset4;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	union {
		uint8_t both;
		struct {
			uint8_t requested : 4;
			uint8_t executed : 4;
		} config;
	} cacheConfig;
	uint8_t sharedMemoryConfig;
	uint16_t registersPerThread;
	CUpti_ActivityPartitionedGlobalCacheConfig partitionedGlobalCacheRequested;
	CUpti_ActivityPartitionedGlobalCacheConfig partitionedGlobalCacheExecuted;
	uint64_t start;
	uint64_t end;
	uint64_t completed;
	uint32_t deviceId;
	uint32_t contextId;
	uint32_t streamId;
	int32_t gridX;
	int32_t gridY;
	int32_t gridZ;
	int32_t blockX;
	int32_t blockY;
	int32_t blockZ;
	int32_t staticSharedMemory;
	int32_t dynamicSharedMemory;
	uint32_t localMemoryPerThread;
	uint32_t localMemoryTotal;
	uint32_t correlationId;
	int64_t gridId;
	const char *name;
	void *reserved0;
	uint64_t queued;
	uint64_t submitted;
	uint8_t launchType;
	uint8_t isSharedMemoryCarveoutRequested;
	uint8_t sharedMemoryCarveoutRequested;
	uint8_t padding;
	uint32_t sharedMemoryExecuted;
	uint64_t graphNodeId;
	CUpti_FuncShmemLimitConfig shmemLimitConfig;
	uint32_t graphId;
	void *pAccessPolicyWindow;
	uint32_t channelID;
	CUpti_ChannelType channelType;
	uint32_t clusterX;
	uint32_t clusterY;
	uint32_t clusterZ;
	uint32_t clusterSchedulingPolicy;
	uint64_t localMemoryTotal_v2;
	uint32_t maxPotentialClusterSize;
	uint32_t maxActiveClusters;
	uint8_t isDeviceLaunched;
	uint8_t padding3[7];
} CUpti_ActivityKernel10;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_CallbackId cbid;
	uint64_t start;
	uint64_t end;
	uint32_t processId;
	uint32_t threadId;
	uint32_t correlationId;
	uint32_t returnValue;
} CUpti_ActivityAPI;

typedef enum {
	CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS = 1 << 0,
	CUPTI_ACTIVITY_FLAG_MARKER_START = 1 << 1,
	CUPTI_ACTIVITY_FLAG_MARKER_END = 1 << 2
} CUpti_ActivityFlag;

typedef enum { CUPTI_ACTIVITY_OBJECT_THREAD = 2 } CUpti_ActivityObjectKind;

typedef union {
	struct {
		uint32_t processId;
		uint32_t threadId;
	} pt;
	struct {
		uint32_t deviceId;
		uint32_t contextId;
		uint32_t streamId;
	} dcs;
} CUpti_ActivityObjectKindId;

typedef struct CUPTI_RECORD {
	CUpti_ActivityKind kind;
	CUpti_ActivityFlag flags;
	uint64_t timestamp;
	uint32_t id;
	CUpti_ActivityObjectKind objectKind;
	CUpti_ActivityObjectKindId objectId;
	uint32_t pad;
	const char *name;
	const char *domain;
} CUpti_ActivityMarker2;

typedef enum {
	CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT = 0,
	CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM = 1
} CUpti_ActivityThreadIdType;

typedef struct {
	CUpti_ActivityKind kind;
	uint32_t correlationId;
	uint64_t start;
	uint64_t end;
	uint32_t deviceId;
	uint32_t graphId;
	uint32_t contextId;
	uint32_t streamId;
	void *reserved;
	uint32_t endDeviceId;
	uint32_t endContextId;
} CUpti_ActivityGraphTrace2;

typedef void (*CUpti_BuffersCallbackRequestFunc)(
	uint8_t **buffer, size_t *size, size_t *maxNumRecords);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(
	CUcontext context, uint32_t streamId, uint8_t *buffer, size_t size, size_t validSize);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);

#ifdef __cplusplus
extern "C" {
#endif
CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetResultString(CUptiResult result, const char **str);
CUptiResult cuptiSubscribe(
	CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata);
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
	void *userdata, CUpti_SubscriberParams *pParams);
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber);
CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult cuptiEnableDomain(
	uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain);
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name);
CUptiResult cuptiSupportedDomains(size_t *domainCount, const CUpti_CallbackDomain **domainTable);
CUptiResult cuptiFinalize(void);

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
	CUpti_BuffersCallbackCompleteFunc funcBufferCompleted);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag);
CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUptiResult cuptiActivityFlushPeriod(uint32_t time);
CUptiResult cuptiActivityGetNextRecord(
	uint8_t *buffer, size_t validBufferSizeBytes, CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords(
	CUcontext context, uint32_t streamId, size_t *dropped);
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value);
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value);
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp);
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable);
CUptiResult cuptiActivityEnableHWTrace(uint8_t enable);
CUptiResult cuptiGetTimestamp(uint64_t *timestamp);
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId);
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId);
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId);
CUptiResult cuptiGetStreamIdEx(
	CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId);
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId);
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId);
CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);
CUptiResult cuptiGetLastError(void);
#ifdef __cplusplus
}
#endif
