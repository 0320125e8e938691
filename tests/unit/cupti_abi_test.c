// SPDX-License-Identifier: MIT
/*
 * Our own description of CUPTI's binary interface (inject/cupti/abi.h, vendor/nvidia/calls.h)
 * against the real headers, at compile time, where those are installed. The one thing found out at
 * run time is which calls the header has that our tables lack.
 */
#include "vendor/nvidia/calls.h"
#include "inject/cupti/abi.h"
#include "wire/wire.h"
#include "tap.h"

#if __has_include(<cupti.h>)

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stdlib.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                           \
	SAME(offsetof(ours, our_field), offsetof(theirs, their_field));                            \
	SAME(sizeof(((ours *)0)->our_field), sizeof(((theirs *)0)->their_field))

SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME(CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
SAME(CUPTI_STATE_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
SAME(CUDA_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUDA_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_SITE_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_SITE_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_RESOURCE_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
SAME(CUPTI_RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(CUPTI_RESOURCE_NODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
SAME(CUPTI_RESOURCE_EXEC_CREATE_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
SAME(CUPTI_RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME(CUPTI_RESOURCE_EXEC_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME(CUPTI_RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_KIND_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
SAME(CUPTI_ATTRIBUTE_ZEROED_OUT_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUDA_ATTRIBUTE_SM_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);

SAME(CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME(CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(CUPTI_VIRTUAL_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_RIGHTS, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_OTHER_PROFILER, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
SAME(CUPTI_LEGACY_DEVICE, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
SAME(CUPTI_VIRTUAL_DEVICE_RIGHTS, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME(CUPTI_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(CUPTI_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
SAME(CUPTI_RESOURCE_STREAM_DESTROY_STARTING, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
SAME(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUDA_ATTRIBUTE_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(CUDA_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);

#define DATA(ours, theirs) SAME_FIELD(struct cupti_callback_data, ours, CUpti_CallbackData, theirs)
DATA(site, callbackSite);
DATA(function_name, functionName);
DATA(params, functionParams);
DATA(return_value, functionReturnValue);
DATA(context, context);
DATA(correlation_data, correlationData);
DATA(correlation_id, correlationId);

#define GRAPH(ours, theirs) SAME_FIELD(struct cupti_graph_data, ours, CUpti_GraphData, theirs)
GRAPH(graph, graph);
GRAPH(node, node);
GRAPH(original_node, originalNode);
GRAPH(node_type, nodeType);
GRAPH(graph_exec, graphExec);
SAME_FIELD(struct cupti_state_data, result, CUpti_StateData, notification.result);
SAME_FIELD(struct cupti_state_data, message, CUpti_StateData, notification.message);
SAME_FIELD(struct cupti_resource_data, context, CUpti_ResourceData, context);
SAME_FIELD(struct cupti_resource_data, handle, CUpti_ResourceData, resourceHandle.stream);
SAME_FIELD(struct cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);

#define MODULE(ours, theirs)                                                                       \
	SAME_FIELD(struct cupti_module_data, ours, CUpti_ModuleResourceData, theirs)
MODULE(module, moduleId);
MODULE(image_size, cubinSize);
MODULE(image, pCubin);

SAME(CUPTI_STALL_NAME_BYTES, CUPTI_STALL_REASON_STRING_SIZE);
SAME(CUPTI_SAMPLING_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(CUPTI_SAMPLING_SERIALIZED, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED);
#define ATTRIBUTE(ours, theirs) SAME(ours, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##theirs)
ATTRIBUTE(CUPTI_SAMPLING_PERIOD, SAMPLING_PERIOD);
ATTRIBUTE(CUPTI_SAMPLING_MEMORY, HARDWARE_BUFFER_SIZE);
ATTRIBUTE(CUPTI_SAMPLING_MODE, COLLECTION_MODE);
ATTRIBUTE(CUPTI_SAMPLING_START_STOP, ENABLE_START_STOP_CONTROL);
ATTRIBUTE(CUPTI_SAMPLING_OUTPUT, OUTPUT_DATA_FORMAT);
ATTRIBUTE(CUPTI_SAMPLING_BUFFER, SAMPLING_DATA_BUFFER);
ATTRIBUTE(CUPTI_SAMPLING_SLEEP, WORKER_THREAD_PERIODIC_SLEEP_SPAN);

#define STALL(ours, theirs)                                                                        \
	SAME_FIELD(struct cupti_stall, ours, CUpti_PCSamplingStallReason, theirs)
STALL(reason, pcSamplingStallReasonIndex);
STALL(samples, samples);
SAME(sizeof(struct cupti_stall), sizeof(CUpti_PCSamplingStallReason));

#define PC(ours, theirs) SAME_FIELD(struct cupti_pc, ours, CUpti_PCSamplingPCData, theirs)
PC(size, size);
PC(image, cubinCrc);
PC(offset, pcOffset);
PC(function, functionIndex);
PC(name, functionName);
PC(stall_count, stallReasonCount);
PC(stalls, stallReason);
#if CUPTI_API_VERSION >= 22
PC(correlation, correlationId);
SAME(sizeof(struct cupti_pc), sizeof(CUpti_PCSamplingPCData));
#else
SAME(CUPTI_PC_BYTES_OLD, sizeof(CUpti_PCSamplingPCData));
#endif

#define PCS(ours, theirs) SAME_FIELD(struct cupti_pcs, ours, CUpti_PCSamplingData, theirs)
PCS(size, size);
PCS(room, collectNumPcs);
PCS(samples, totalSamples);
PCS(dropped, droppedSamples);
PCS(count, totalNumPcs);
PCS(remaining, remainingNumPcs);
PCS(range, rangeId);
PCS(pcs, pPcData);
PCS(without_code, nonUsrKernelsTotalSamples);
PCS(buffer_full, hardwareBufferFull);
SAME(sizeof(struct cupti_pcs), sizeof(CUpti_PCSamplingData));

#define SETTING(ours, theirs)                                                                      \
	SAME_FIELD(struct cupti_sampling_setting, ours, CUpti_PCSamplingConfigurationInfo, theirs)
SETTING(attribute, attributeType);
SETTING(status, attributeStatus);
SETTING(number, attributeData.samplingPeriodData.samplingPeriod);
SETTING(number, attributeData.collectionModeData.collectionMode);
SETTING(number, attributeData.enableStartStopControlData.enableStartStopControl);
SETTING(number, attributeData.outputDataFormatData.outputDataFormat);
SETTING(number, attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan);
SETTING(bytes, attributeData.hardwareBufferSizeData.hardwareBufferSize);
SETTING(pointer, attributeData.samplingDataBufferData.samplingDataBuffer);
SAME(sizeof(struct cupti_sampling_setting), sizeof(CUpti_PCSamplingConfigurationInfo));

#define PARAMS(ours, last, theirs)                                                                 \
	SAME_FIELD(ours, context, theirs, ctx);                                                    \
	SAME(CUPTI_SIZE_UP_TO(ours, last), theirs##Size)
PARAMS(struct cupti_sampling_settings, settings, CUpti_PCSamplingConfigurationInfoParams);
PARAMS(struct cupti_sampling_context, context, CUpti_PCSamplingEnableParams);
PARAMS(struct cupti_sampling_context, context, CUpti_PCSamplingDisableParams);
PARAMS(struct cupti_sampling_context, context, CUpti_PCSamplingStartParams);
PARAMS(struct cupti_sampling_context, context, CUpti_PCSamplingStopParams);
PARAMS(struct cupti_sampling_data, data, CUpti_PCSamplingGetDataParams);
PARAMS(struct cupti_stall_count, count, CUpti_PCSamplingGetNumStallReasonsParams);
PARAMS(struct cupti_stall_names, names, CUpti_PCSamplingGetStallReasonsParams);
SAME_FIELD(struct cupti_sampling_settings, count, CUpti_PCSamplingConfigurationInfoParams,
	numAttributes);
SAME_FIELD(struct cupti_stall_names, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME_FIELD(
	struct cupti_stall_names, indexes, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
SAME_FIELD(struct cupti_image_checksum, image, CUpti_GetCubinCrcParams, cubin);
SAME_FIELD(struct cupti_image_checksum, image_size, CUpti_GetCubinCrcParams, cubinSize);
SAME(CUPTI_SIZE_UP_TO(struct cupti_image_checksum, checksum), CUpti_GetCubinCrcParamsSize);

#define KERNEL(theirs)                                                                             \
	SAME_FIELD(struct cupti_kernel, kind, theirs, kind);                                       \
	SAME_FIELD(struct cupti_kernel, registers, theirs, registersPerThread);                    \
	SAME_FIELD(struct cupti_kernel, start, theirs, start);                                     \
	SAME_FIELD(struct cupti_kernel, end, theirs, end);                                         \
	SAME_FIELD(struct cupti_kernel, device, theirs, deviceId);                                 \
	SAME_FIELD(struct cupti_kernel, context, theirs, contextId);                               \
	SAME_FIELD(struct cupti_kernel, stream, theirs, streamId);                                 \
	SAME(offsetof(struct cupti_kernel, grid), offsetof(theirs, gridX));                        \
	SAME(offsetof(struct cupti_kernel, block), offsetof(theirs, blockX));                      \
	SAME_FIELD(struct cupti_kernel, shared_static, theirs, staticSharedMemory);                \
	SAME_FIELD(struct cupti_kernel, shared_dynamic, theirs, dynamicSharedMemory);              \
	SAME_FIELD(struct cupti_kernel, correlation, theirs, correlationId);                       \
	SAME_FIELD(struct cupti_kernel, name, theirs, name);                                       \
	SAME_FIELD(struct cupti_kernel, queued, theirs, queued);                                   \
	SAME_FIELD(struct cupti_kernel, submitted, theirs, submitted);                             \
	SAME_FIELD(struct cupti_kernel, graph_node, theirs, graphNodeId)

#define MEMCPY(theirs)                                                                             \
	SAME_FIELD(struct cupti_memcpy, copy_kind, theirs, copyKind);                              \
	SAME_FIELD(struct cupti_memcpy, source_kind, theirs, srcKind);                             \
	SAME_FIELD(struct cupti_memcpy, target_kind, theirs, dstKind);                             \
	SAME_FIELD(struct cupti_memcpy, bytes, theirs, bytes);                                     \
	SAME_FIELD(struct cupti_memcpy, start, theirs, start);                                     \
	SAME_FIELD(struct cupti_memcpy, end, theirs, end);                                         \
	SAME_FIELD(struct cupti_memcpy, device, theirs, deviceId);                                 \
	SAME_FIELD(struct cupti_memcpy, context, theirs, contextId);                               \
	SAME_FIELD(struct cupti_memcpy, stream, theirs, streamId);                                 \
	SAME_FIELD(struct cupti_memcpy, correlation, theirs, correlationId);                       \
	SAME_FIELD(struct cupti_memcpy, graph_node, theirs, graphNodeId)

#define PEER(theirs)                                                                               \
	SAME_FIELD(struct cupti_memcpy_peer, copy_kind, theirs, copyKind);                         \
	SAME_FIELD(struct cupti_memcpy_peer, bytes, theirs, bytes);                                \
	SAME_FIELD(struct cupti_memcpy_peer, start, theirs, start);                                \
	SAME_FIELD(struct cupti_memcpy_peer, end, theirs, end);                                    \
	SAME_FIELD(struct cupti_memcpy_peer, device, theirs, deviceId);                            \
	SAME_FIELD(struct cupti_memcpy_peer, stream, theirs, streamId);                            \
	SAME_FIELD(struct cupti_memcpy_peer, correlation, theirs, correlationId);                  \
	SAME_FIELD(struct cupti_memcpy_peer, graph_node, theirs, graphNodeId)

#define MEMSET(theirs)                                                                             \
	SAME_FIELD(struct cupti_memset, bytes, theirs, bytes);                                     \
	SAME_FIELD(struct cupti_memset, start, theirs, start);                                     \
	SAME_FIELD(struct cupti_memset, end, theirs, end);                                         \
	SAME_FIELD(struct cupti_memset, device, theirs, deviceId);                                 \
	SAME_FIELD(struct cupti_memset, context, theirs, contextId);                               \
	SAME_FIELD(struct cupti_memset, stream, theirs, streamId);                                 \
	SAME_FIELD(struct cupti_memset, correlation, theirs, correlationId);                       \
	SAME_FIELD(struct cupti_memset, memory_kind, theirs, memoryKind);                          \
	SAME_FIELD(struct cupti_memset, graph_node, theirs, graphNodeId)

#if CUPTI_API_VERSION >= 130000
KERNEL(CUpti_ActivityKernel10);
KERNEL(CUpti_ActivityKernel9);
KERNEL(CUpti_ActivityKernel8);
KERNEL(CUpti_ActivityKernel7);
KERNEL(CUpti_ActivityKernel6);
KERNEL(CUpti_ActivityKernel5);
MEMCPY(CUpti_ActivityMemcpy6);
MEMCPY(CUpti_ActivityMemcpy5);
MEMCPY(CUpti_ActivityMemcpy4);
PEER(CUpti_ActivityMemcpyPtoP4);
PEER(CUpti_ActivityMemcpyPtoP3);
MEMSET(CUpti_ActivityMemset4);
MEMSET(CUpti_ActivityMemset3);
#else
KERNEL(CUpti_ActivityKernel9);
MEMCPY(CUpti_ActivityMemcpy5);
PEER(CUpti_ActivityMemcpyPtoP4);
MEMSET(CUpti_ActivityMemset4);
#endif

/* Callback ids. Headers older than a call lack it, so only the newest of ours is compared. */
#if CUPTI_API_VERSION >= 130000
#define RUNTIME(id, kind, name, version, first, second)                                            \
	SAME(id, CUPTI_RUNTIME_TRACE_CBID_##name##_##version);
#define DRIVER(id, kind, name, first, second) SAME(id, CUPTI_DRIVER_TRACE_CBID_##name);
CUDA_RUNTIME_CALLS(RUNTIME)
CUDA_DRIVER_CALLS(DRIVER)
#undef RUNTIME
#undef DRIVER
#endif

/* Where the sizes are: one of each shape. */
#define WORD(type, field) (offsetof(type, field) / sizeof(size_t))
enum { MEMSET_3D_WIDTH_WORD = 5 };
SAME(WORD(cudaMemcpy_v3020_params, count), 2);
SAME(WORD(cudaMemcpyAsync_ptsz_v7000_params, count), 2);
SAME(WORD(cudaMemcpyPeerAsync_v4000_params, count), 4);
SAME(WORD(cudaMemcpy2DToArrayAsync_v3020_params, width), 5);
SAME(WORD(cudaMemcpy2DToArrayAsync_v3020_params, height), 6);
SAME(WORD(cudaMemset_v3020_params, count), 2);
SAME(WORD(cudaMemset2DAsync_v3020_params, width), 3);
SAME(WORD(cudaMemset3D_v3020_params, extent), MEMSET_3D_WIDTH_WORD);
SAME(WORD(cuMemcpyHtoD_v2_params, ByteCount), 2);
SAME(WORD(cuMemcpyPeer_params, ByteCount), 4);
SAME(WORD(cuMemsetD8_v2_params, N), 2);
SAME(WORD(cuMemsetD2D32_v2_params, Width), 3);
SAME(WORD(cuMemsetD2D32_v2_params, Height), 4);
/* And what is waited for, or recorded. */
SAME(offsetof(cudaStreamSynchronize_v3020_params, stream), 0);
SAME(offsetof(cudaStreamSynchronize_ptsz_v7000_params, stream), 0);
SAME(offsetof(cudaEventSynchronize_v3020_params, event), 0);
SAME(offsetof(cuStreamSynchronize_params, hStream), 0);
SAME(offsetof(cuEventSynchronize_params, hEvent), 0);
SAME(WORD(cudaEventRecord_v3020_params, event), 0);
SAME(WORD(cudaEventRecord_v3020_params, stream), 1);
SAME(WORD(cudaEventRecordWithFlags_ptsz_v11010_params, event), 0);
SAME(WORD(cudaEventRecordWithFlags_ptsz_v11010_params, stream), 1);
SAME(WORD(cuEventRecord_params, hEvent), 0);
SAME(WORD(cuEventRecord_params, hStream), 1);
SAME(WORD(cuEventRecordWithFlags_params, hEvent), 0);
SAME(WORD(cuEventRecordWithFlags_params, hStream), 1);
#if CUPTI_API_VERSION >= 130000
SAME(offsetof(cuCtxSynchronize_v2_params, ctx), 0);
#endif
SAME(offsetof(cudaGraphLaunch_v10000_params, graphExec), 0);
SAME(offsetof(cuGraphLaunch_params, hGraph), 0);

static void our_structs_ids_and_values_are_those_of_the_installed_headers(void)
{
	printf("# CUPTI API version %d\n", CUPTI_API_VERSION);
	CHECK(cupti_cuda_major(CUPTI_API_VERSION) >= 12);
}

#define RUNTIME(id, kind, name, version, first, second)                                            \
	"CUPTI_RUNTIME_TRACE_CBID_" #name "_" #version,
#define DRIVER(id, kind, name, first, second) "CUPTI_DRIVER_TRACE_CBID_" #name,
static const char *const followed[] = {CUDA_RUNTIME_CALLS(RUNTIME) CUDA_DRIVER_CALLS(DRIVER)};
#undef RUNTIME
#undef DRIVER

static bool is_followed(const char *name, size_t size)
{
	for (size_t n = 0; n < sizeof(followed) / sizeof(followed[0]); n++)
		if (strlen(followed[n]) == size && !memcmp(followed[n], name, size))
			return true;
	return false;
}

/* Launches, copies, sets, graph launches, waits and records of events by their names. */
static bool is_to_be_followed(const char *name)
{
	static const char *const beginnings[] = {"cudaLaunch", "__cudaLaunch", "cudaMemcpy",
		"cudaMemset", "cudaGraphLaunch", "cuLaunch", "cuMemcpy", "cuMemset",
		"cuGraphLaunch", "cudaEventRecord", "cuEventRecord", "cudaStreamSynchronize",
		"cuStreamSynchronize", "cudaEventSynchronize", "cuEventSynchronize",
		"cudaDeviceSynchronize", "cuCtxSynchronize"};

	if (strstr(name, "HostFunc") || strstr(name, "Attribute"))
		return false;
	for (size_t n = 0; n < sizeof(beginnings) / sizeof(beginnings[0]); n++)
		if (!strncmp(name, beginnings[n], strlen(beginnings[n])))
			return true;
	return false;
}

/* Stream 0 is the thread's own if the name ends in _ptsz; otherwise the second detail is about a
 * context. */
static void the_details_of_calls_say_whose_stream_0_is(void)
{
#define RUNTIME(id, kind, name, version, first, second) {WIRE_CALL_##kind, #name, first, second},
#define DRIVER(id, kind, name, first, second)		{WIRE_CALL_##kind, #name, first, second},
	static const struct {
		int kind;
		const char *name;
		int first, second;
	} calls[] = {CUDA_RUNTIME_CALLS(RUNTIME) CUDA_DRIVER_CALLS(DRIVER)};
#undef RUNTIME
#undef DRIVER
	int checked = 0;

	for (size_t n = 0; n < sizeof(calls) / sizeof(calls[0]); n++) {
		bool own = strstr(calls[n].name, "_ptsz") != NULL;

		if (calls[n].kind != WIRE_CALL_SYNC && calls[n].kind != WIRE_CALL_EVENT &&
			calls[n].kind != WIRE_CALL_GRAPH)
			continue;
		checked++;
		if (calls[n].kind != WIRE_CALL_SYNC)
			CHECK(calls[n].first == 0 && calls[n].second == own);
		else if (strstr(calls[n].name, "Stream"))
			CHECK(calls[n].first == 1 && calls[n].second == own);
		else if (strstr(calls[n].name, "Event"))
			CHECK(calls[n].first == 2 && calls[n].second == 0);
		else
			CHECK(calls[n].first == 3 &&
				calls[n].second == !strcmp(calls[n].name, "cuCtxSynchronize_v2"));
	}
	CHECK(checked == 22);
}

static void check_header(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];

	CHECK(file);
	while (file && fgets(line, sizeof(line), file)) {
		char *name = strstr(line, "CUPTI_"), *call;

		call = name ? strstr(name, "_CBID_") : NULL;
		if (!call || !is_to_be_followed(call + 6))
			continue;
		name[strcspn(name, " =,")] = '\0';
		if (!is_followed(name, strlen(name))) {
			printf("# not followed: %s\n", name);
			CHECK(!"in our tables");
		}
	}
	if (file)
		fclose(file);
}

static void every_call_of_the_headers_that_matters_is_followed(void)
{
	check_header(CUDA_INCLUDE "/cupti_runtime_cbid.h");
	check_header(CUDA_INCLUDE "/cupti_driver_cbid.h");
}

int main(void)
{
	RUN(our_structs_ids_and_values_are_those_of_the_installed_headers);
	RUN(the_details_of_calls_say_whose_stream_0_is);
	RUN(every_call_of_the_headers_that_matters_is_followed);
	return tap_end();
}

#else

static void our_structs_ids_and_values_are_those_of_the_installed_headers(void)
{
	SKIP("no cupti.h: set CUDA_HOME to a CUDA toolkit to compare with it");
}

int main(void)
{
	RUN(our_structs_ids_and_values_are_those_of_the_installed_headers);
	return tap_end();
}

#endif
