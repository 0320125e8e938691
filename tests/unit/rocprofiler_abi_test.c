// SPDX-License-Identifier: MIT
/*
 * Our own description of rocprofiler-sdk's binary interface (inject/rocprofiler/abi.h) against the
 * real headers, at compile time, where those are installed; and places of arguments
 * (vendor/amd/calls.h) against those of what tools get.
 */
#include "inject/rocprofiler/abi.h"
#include "tap.h"
#include "vendor/amd/calls.h"

#if __has_include(<rocprofiler-sdk/rocprofiler.h>) && __has_include(<hip/hip_runtime_api.h>)

#define __HIP_PLATFORM_AMD__ 1
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define PLACE(ours, member, theirs, their_member)                                                  \
	SAME(offsetof(struct rocprofiler_##ours, member),                                          \
		offsetof(rocprofiler_##theirs, their_member))
#define BEGINS(ours, theirs)                                                                       \
	_Static_assert(sizeof(struct rocprofiler_##ours) <= sizeof(rocprofiler_##theirs), #theirs)

SAME(ROCPROFILER_AGENTS_VERSION, ROCPROFILER_AGENT_INFO_VERSION_0);
SAME(ROCPROFILER_ERROR, ROCPROFILER_STATUS_ERROR);
SAME(ROCPROFILER_AGENT_IS_GPU, ROCPROFILER_AGENT_TYPE_GPU);
SAME(ROCPROFILER_PHASE_ENTER, ROCPROFILER_CALLBACK_PHASE_ENTER);
SAME(ROCPROFILER_PHASE_EXIT, ROCPROFILER_CALLBACK_PHASE_EXIT);
SAME(ROCPROFILER_POLICY_LOSSLESS, ROCPROFILER_BUFFER_POLICY_LOSSLESS);
SAME(ROCPROFILER_CATEGORY_TRACING, ROCPROFILER_BUFFER_CATEGORY_TRACING);
SAME(ROCPROFILER_KERNEL_SYMBOL, ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER);
SAME(ROCPROFILER_HOST_FUNCTION, ROCPROFILER_CODE_OBJECT_HOST_KERNEL_SYMBOL_REGISTER);
SAME(ROCPROFILER_ENQUEUE, ROCPROFILER_KERNEL_DISPATCH_ENQUEUE);
SAME(ROCPROFILER_REQUEST_COPY, ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_COPY);
SAME(ROCPROFILER_REQUEST_DISPATCH, ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH);
SAME(ROCPROFILER_HOST_TO_HOST, ROCPROFILER_MEMORY_COPY_HOST_TO_HOST);
SAME(ROCPROFILER_HOST_TO_DEVICE, ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE);
SAME(ROCPROFILER_DEVICE_TO_HOST, ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST);
SAME(ROCPROFILER_DEVICE_TO_DEVICE, ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE);

PLACE(agent, id, agent_v0_t, id);
PLACE(agent, type, agent_v0_t, type);
PLACE(agent, cu_count, agent_v0_t, cu_count);
PLACE(agent, mhz, agent_v0_t, max_engine_clk_fcompute);
PLACE(agent, memory_bytes, agent_v0_t, local_mem_size);
PLACE(agent, name, agent_v0_t, name);
PLACE(agent, product_name, agent_v0_t, product_name);
PLACE(agent, uuid, agent_v0_t, uuid);
/* In ROCm 7.0's 1.0.0 the uuid has 8 bytes, and is left alone. */
_Static_assert(offsetof(struct rocprofiler_agent, uuid) <= sizeof(rocprofiler_agent_v0_t), "agent");

SAME(sizeof(struct rocprofiler_call_record), sizeof(rocprofiler_callback_tracing_record_t));
PLACE(call_record, thread, callback_tracing_record_t, thread_id);
PLACE(call_record, internal, callback_tracing_record_t, correlation_id.internal);
PLACE(call_record, external, callback_tracing_record_t, correlation_id.external);
PLACE(call_record, ancestor, callback_tracing_record_t, correlation_id.ancestor);
PLACE(call_record, kind, callback_tracing_record_t, kind);
PLACE(call_record, operation, callback_tracing_record_t, operation);
PLACE(call_record, phase, callback_tracing_record_t, phase);
PLACE(call_record, payload, callback_tracing_record_t, payload);

PLACE(call_data, arguments, callback_tracing_hip_api_data_t, args);
SAME(ROCPROFILER_RESULT_BYTES, sizeof(rocprofiler_hip_api_retval_t));
SAME(sizeof(rocprofiler_callback_tracing_hip_api_data_t) - ROCPROFILER_RESULT_BYTES,
	offsetof(rocprofiler_callback_tracing_hip_api_data_t, retval));

PLACE(call_data, arguments, callback_tracing_hsa_api_data_t, args);
SAME(sizeof(uint64_t), sizeof(rocprofiler_hsa_api_retval_t));
SAME(sizeof(rocprofiler_callback_tracing_hsa_api_data_t) - sizeof(uint64_t),
	offsetof(rocprofiler_callback_tracing_hsa_api_data_t, retval));

typedef rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t rocprofiler_symbol;
PLACE(kernel_symbol, kernel, symbol, kernel_id);
PLACE(kernel_symbol, code_object, symbol, code_object_id);
PLACE(kernel_symbol, name, symbol, kernel_name);
PLACE(kernel_symbol, group_bytes, symbol, group_segment_size);
PLACE(kernel_symbol, vector_registers, symbol, arch_vgpr_count);
BEGINS(kernel_symbol, symbol);

typedef rocprofiler_callback_tracing_code_object_host_kernel_symbol_register_data_t
	rocprofiler_host;
PLACE(host_function, kernel, host, kernel_id);
PLACE(host_function, function, host, host_function);
PLACE(host_function, name, host, device_function);
BEGINS(host_function, host);

PLACE(dispatch_call, kernel, callback_tracing_kernel_dispatch_data_t, dispatch_info.kernel_id);
BEGINS(dispatch_call, callback_tracing_kernel_dispatch_data_t);

SAME(sizeof(struct rocprofiler_header), sizeof(rocprofiler_record_header_t));
PLACE(header, category, record_header_t, category);
PLACE(header, kind, record_header_t, kind);
PLACE(header, payload, record_header_t, payload);

typedef rocprofiler_buffer_tracing_kernel_dispatch_record_t rocprofiler_kernel_record;
PLACE(dispatch, kind, kernel_record, kind);
PLACE(dispatch, internal, kernel_record, correlation_id.internal);
PLACE(dispatch, external, kernel_record, correlation_id.external);
PLACE(dispatch, thread, kernel_record, thread_id);
PLACE(dispatch, start_ns, kernel_record, start_timestamp);
PLACE(dispatch, end_ns, kernel_record, end_timestamp);
PLACE(dispatch, agent, kernel_record, dispatch_info.agent_id);
PLACE(dispatch, queue, kernel_record, dispatch_info.queue_id);
PLACE(dispatch, kernel, kernel_record, dispatch_info.kernel_id);
PLACE(dispatch, group_bytes, kernel_record, dispatch_info.group_segment_size);
PLACE(dispatch, workgroup, kernel_record, dispatch_info.workgroup_size);
PLACE(dispatch, grid, kernel_record, dispatch_info.grid_size);
BEGINS(dispatch, kernel_record);

typedef rocprofiler_buffer_tracing_memory_copy_record_t rocprofiler_copy_record;
PLACE(copy, operation, copy_record, operation);
PLACE(copy, external, copy_record, correlation_id.external);
PLACE(copy, start_ns, copy_record, start_timestamp);
PLACE(copy, end_ns, copy_record, end_timestamp);
PLACE(copy, target_agent, copy_record, dst_agent_id);
PLACE(copy, source_agent, copy_record, src_agent_id);
PLACE(copy, bytes, copy_record, bytes);
BEGINS(copy, copy_record);

SAME(sizeof(struct rocprofiler_client), sizeof(rocprofiler_client_id_t));
PLACE(client, name, client_id_t, name);
SAME(sizeof(struct rocprofiler_tool), sizeof(rocprofiler_tool_configure_result_t));
PLACE(tool, initialize, tool_configure_result_t, initialize);
PLACE(tool, finalize, tool_configure_result_t, finalize);
PLACE(tool, data, tool_configure_result_t, tool_data);

typedef rocprofiler_callback_tracing_code_object_load_data_t rocprofiler_object;
SAME(ROCPROFILER_CODE_LOADED, ROCPROFILER_CODE_OBJECT_LOAD);
SAME(ROCPROFILER_STORED_IN_FILE, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_FILE);
SAME(ROCPROFILER_STORED_IN_MEMORY, ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_MEMORY);
PLACE(code_object, id, object, code_object_id);
PLACE(code_object, agent, object, agent_id);
PLACE(code_object, uri, object, uri);
PLACE(code_object, load_base, object, load_base);
PLACE(code_object, load_delta, object, load_delta);
PLACE(code_object, storage, object, storage_type);
PLACE(code_object, memory, object, memory_base);
PLACE(code_object, memory_size, object, memory_size);

SAME(ROCPROFILER_CATEGORY_SAMPLES, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING);
SAME(ROCPROFILER_STOCHASTIC, ROCPROFILER_PC_SAMPLING_METHOD_STOCHASTIC);
SAME(ROCPROFILER_HOST_TRAP, ROCPROFILER_PC_SAMPLING_METHOD_HOST_TRAP);
SAME(ROCPROFILER_UNIT_CYCLES, ROCPROFILER_PC_SAMPLING_UNIT_CYCLES);
SAME(ROCPROFILER_HOST_TRAP_SAMPLE, ROCPROFILER_PC_SAMPLING_RECORD_HOST_TRAP_V0_SAMPLE);
SAME(ROCPROFILER_STOCHASTIC_SAMPLE, ROCPROFILER_PC_SAMPLING_RECORD_STOCHASTIC_V0_SAMPLE);
SAME(ROCPROFILER_NOT_ISSUED_REASONS, ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_LAST);
PLACE(host_trap, code_object, pc_sampling_record_host_trap_v0_t, pc.code_object_id);
PLACE(host_trap, offset, pc_sampling_record_host_trap_v0_t, pc.code_object_offset);
PLACE(host_trap, external, pc_sampling_record_host_trap_v0_t, correlation_id.external);
PLACE(stochastic, wave, pc_sampling_record_stochastic_v0_t, wave_in_group);
PLACE(stochastic, hardware, pc_sampling_record_stochastic_v0_t, hw_id);
PLACE(stochastic, code_object, pc_sampling_record_stochastic_v0_t, pc.code_object_id);
PLACE(stochastic, external, pc_sampling_record_stochastic_v0_t, correlation_id.external);
PLACE(stochastic, snapshot, pc_sampling_record_stochastic_v0_t, snapshot);
PLACE(sampling, method, pc_sampling_configuration_t, method);
PLACE(sampling, unit, pc_sampling_configuration_t, unit);
PLACE(sampling, least, pc_sampling_configuration_t, min_interval);
PLACE(sampling, most, pc_sampling_configuration_t, max_interval);

/* Where calls have a stream, it is where we look for it: below, those that have one. */
#define STREAM(name)                                                                               \
	SAME(PLACE_OF_##name, offsetof(rocprofiler_hip_api_args_t, name.stream) -                  \
				      offsetof(rocprofiler_hip_api_args_t, name))
#define PLACE_OF(number, kind, name, stream) PLACE_OF_##name = (stream),
enum { AMD_CALLS(PLACE_OF) AMD_EVENTS(PLACE_OF) };

STREAM(hipLaunchKernel);
STREAM(hipLaunchKernel_spt);
STREAM(hipExtLaunchKernel);
STREAM(hipLaunchCooperativeKernel);
STREAM(hipLaunchCooperativeKernel_spt);
STREAM(hipModuleLaunchKernel);
STREAM(hipModuleLaunchCooperativeKernel);
STREAM(hipExtModuleLaunchKernel);
STREAM(hipHccModuleLaunchKernel);
STREAM(hipGraphLaunch);
STREAM(hipGraphLaunch_spt);
STREAM(hipMemcpyAsync);
STREAM(hipMemcpyAsync_spt);
STREAM(hipMemcpyWithStream);
STREAM(hipMemcpyHtoDAsync);
STREAM(hipMemcpyDtoHAsync);
STREAM(hipMemcpyDtoDAsync);
STREAM(hipMemcpy2DAsync);
STREAM(hipMemcpy2DAsync_spt);
STREAM(hipMemcpy3DAsync);
STREAM(hipMemcpy3DAsync_spt);
STREAM(hipMemcpyPeerAsync);
STREAM(hipMemcpyToSymbolAsync);
STREAM(hipMemcpyToSymbolAsync_spt);
STREAM(hipMemcpyFromSymbolAsync);
STREAM(hipMemcpyFromSymbolAsync_spt);
STREAM(hipMemcpyParam2DAsync);
STREAM(hipDrvMemcpy3DAsync);
STREAM(hipMemcpy2DToArrayAsync);
STREAM(hipMemcpy2DFromArrayAsync);
STREAM(hipMemcpyAtoHAsync);
STREAM(hipMemcpyHtoAAsync);
STREAM(hipMemsetAsync);
STREAM(hipMemsetAsync_spt);
STREAM(hipMemsetD8Async);
STREAM(hipMemsetD16Async);
STREAM(hipMemsetD32Async);
STREAM(hipMemset2DAsync);
STREAM(hipMemset2DAsync_spt);
STREAM(hipMemset3DAsync);
STREAM(hipMemset3DAsync_spt);
STREAM(hipStreamSynchronize);
STREAM(hipStreamSynchronize_spt);
STREAM(hipEventRecord);
STREAM(hipEventRecord_spt);
#if HIP_RUNTIME_API_TABLE_STEP_VERSION >= 10
STREAM(hipEventRecordWithFlags);
#endif

/* What hip_graphs.c reads of calls that make or change graphs. */
#define ARGUMENT(name, member, place)                                                              \
	SAME(place, offsetof(rocprofiler_hip_api_args_t, name.member) -                            \
			    offsetof(rocprofiler_hip_api_args_t, name))
#define GRAPH_NODE(name, node, graph, on)                                                          \
	ARGUMENT(name, node, 0);                                                                   \
	ARGUMENT(name, graph, 8);                                                                  \
	ARGUMENT(name, on, 16);                                                                    \
	ARGUMENT(name, numDependencies, 24)

GRAPH_NODE(hipGraphAddKernelNode, pGraphNode, graph, pDependencies);
GRAPH_NODE(hipGraphAddMemcpyNode, pGraphNode, graph, pDependencies);
GRAPH_NODE(hipGraphAddMemcpyNode1D, pGraphNode, graph, pDependencies);
GRAPH_NODE(hipGraphAddMemcpyNodeFromSymbol, pGraphNode, graph, pDependencies);
GRAPH_NODE(hipGraphAddMemcpyNodeToSymbol, pGraphNode, graph, pDependencies);
GRAPH_NODE(hipDrvGraphAddMemcpyNode, phGraphNode, hGraph, dependencies);
GRAPH_NODE(hipGraphAddMemsetNode, pGraphNode, graph, pDependencies);
ARGUMENT(hipGraphAddKernelNode, pNodeParams, 32);
SAME(24, offsetof(hipKernelNodeParams, func));
ARGUMENT(hipStreamBeginCapture, stream, 0);
ARGUMENT(hipStreamEndCapture, stream, 0);
ARGUMENT(hipStreamEndCapture, pGraph, 8);
ARGUMENT(hipStreamWaitEvent, stream, 0);
ARGUMENT(hipStreamWaitEvent, event, 8);
ARGUMENT(hipGraphCreate, pGraph, 0);
ARGUMENT(hipGraphDestroy, graph, 0);
ARGUMENT(hipGraphExecDestroy, graphExec, 0);
ARGUMENT(hipGraphClone, pGraphClone, 0);
ARGUMENT(hipGraphClone, originalGraph, 8);
ARGUMENT(hipGraphInstantiate, pGraphExec, 0);
ARGUMENT(hipGraphInstantiate, graph, 8);
ARGUMENT(hipGraphInstantiateWithFlags, pGraphExec, 0);
ARGUMENT(hipGraphInstantiateWithFlags, graph, 8);
ARGUMENT(hipGraphExecUpdate, hGraphExec, 0);
ARGUMENT(hipGraphExecUpdate, hGraph, 8);
ARGUMENT(hipGraphAddChildGraphNode, graph, 8);
ARGUMENT(hipGraphRemoveDependencies, graph, 0);
ARGUMENT(hipGraphExecKernelNodeSetParams, hGraphExec, 0);
ARGUMENT(hipGraphExecChildGraphNodeSetParams, hGraphExec, 0);
ARGUMENT(hipGraphNodeSetEnabled, hGraphExec, 0);
ARGUMENT(hipGraphLaunch, graphExec, 0);
ARGUMENT(hipModuleGetFunction, function, 0);
ARGUMENT(hipModuleGetFunction, kname, 16);
ARGUMENT(hipGetFuncBySymbol, functionPtr, 0);
ARGUMENT(hipGetFuncBySymbol, symbolPtr, 8);
#if HIP_RUNTIME_API_TABLE_STEP_VERSION >= 2
ARGUMENT(hipStreamBeginCaptureToGraph, graph, 8);
#endif
#if HIP_RUNTIME_API_TABLE_STEP_VERSION >= 11
ARGUMENT(hipLaunchKernelExC, config, 0);
ARGUMENT(hipLaunchKernelExC, fPtr, 8);
ARGUMENT(hipDrvLaunchKernelEx, config, 0);
ARGUMENT(hipDrvLaunchKernelEx, f, 8);
SAME(AMD_CONFIGURATION_STREAM, offsetof(hipLaunchConfig_t, stream));
SAME(AMD_CONFIGURATION_STREAM, offsetof(HIP_LAUNCH_CONFIG, hStream));
#endif

static void structures_are_those_of_the_real_headers(void)
{
	CHECK(true);
}

#else

static void structures_are_those_of_the_real_headers(void)
{
	SKIP("the headers of rocprofiler-sdk are not installed");
}

#endif

int main(void)
{
	RUN(structures_are_those_of_the_real_headers);
	return tap_end();
}
