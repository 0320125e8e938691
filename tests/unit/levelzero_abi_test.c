// SPDX-License-Identifier: MIT
/*
 * Our own description of Level Zero's binary interface (inject/levelzero/abi.h) against the real
 * headers, at compile time, where those are installed or tests/neo/fetch has fetched them; and
 * places of arguments (vendor/intel/calls.h) against those of what tracers get.
 */
#include "inject/levelzero/abi.h"
#include "tap.h"
#include "vendor/intel/calls.h"

#if __has_include(<level_zero/layers/zel_tracing_register_cb.h>)

#include <level_zero/ze_api.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SIZE(ours, theirs) SAME(sizeof(struct levelzero_##ours), sizeof(ze_##theirs))
#define PLACE(ours, member, theirs, their_member)                                                  \
	SAME(offsetof(struct levelzero_##ours, member), offsetof(ze_##theirs, their_member))

SAME(LEVELZERO_NOT_READY, ZE_RESULT_NOT_READY);
SAME(LEVELZERO_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(LEVELZERO_UNSUPPORTED, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
SAME(LEVELZERO_IS_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(LEVELZERO_IS_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(LEVELZERO_IS_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(LEVELZERO_IS_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(LEVELZERO_IS_FENCE_DESC, ZE_STRUCTURE_TYPE_FENCE_DESC);
SAME(LEVELZERO_IS_IMAGE_DESC, ZE_STRUCTURE_TYPE_IMAGE_DESC);
SAME(LEVELZERO_IS_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
SAME(LEVELZERO_MEMORY_UNKNOWN, ZE_MEMORY_TYPE_UNKNOWN);
SAME(LEVELZERO_MEMORY_HOST, ZE_MEMORY_TYPE_HOST);
SAME(LEVELZERO_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
SAME(LEVELZERO_MEMORY_SHARED, ZE_MEMORY_TYPE_SHARED);
SAME(LEVELZERO_IS_TRACER_DESC, ZEL_STRUCTURE_TYPE_TRACER_DESC);
SAME(LEVELZERO_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(LEVELZERO_POOL_IPC, ZE_EVENT_POOL_FLAG_IPC);
SAME(LEVELZERO_POOL_TIMESTAMPS, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(LEVELZERO_PROLOGUE, ZEL_REGISTER_PROLOGUE);
SAME(LEVELZERO_EPILOGUE, ZEL_REGISTER_EPILOGUE);

SIZE(device_properties, device_properties_t);
PLACE(device_properties, core_mhz, device_properties_t, coreClockRate);
PLACE(device_properties, slices, device_properties_t, numSlices);
PLACE(device_properties, subslices_per_slice, device_properties_t, numSubslicesPerSlice);
PLACE(device_properties, timer_resolution, device_properties_t, timerResolution);
PLACE(device_properties, timestamp_bits, device_properties_t, timestampValidBits);
PLACE(device_properties, kernel_timestamp_bits, device_properties_t, kernelTimestampValidBits);
PLACE(device_properties, uuid, device_properties_t, uuid);
PLACE(device_properties, name, device_properties_t, name);
SIZE(event_pool_desc, event_pool_desc_t);
PLACE(event_pool_desc, flags, event_pool_desc_t, flags);
PLACE(event_pool_desc, count, event_pool_desc_t, count);
SIZE(event_desc, event_desc_t);
PLACE(event_desc, index, event_desc_t, index);
SIZE(kernel_desc, kernel_desc_t);
PLACE(kernel_desc, name, kernel_desc_t, pKernelName);
SIZE(group_count, group_count_t);
SIZE(copy_region, copy_region_t);
PLACE(copy_region, size, copy_region_t, width);
SIZE(fence_desc, fence_desc_t);
SIZE(memory_properties, memory_allocation_properties_t);
PLACE(memory_properties, type, memory_allocation_properties_t, type);
SIZE(image_desc, image_desc_t);
PLACE(image_desc, layout, image_desc_t, format.layout);
PLACE(image_desc, width, image_desc_t, width);
PLACE(image_desc, levels, image_desc_t, arraylevels);
SIZE(copy_region, image_region_t);
PLACE(copy_region, size, image_region_t, width);
SIZE(timestamps, kernel_timestamp_result_t);
PLACE(timestamps, start, kernel_timestamp_result_t, global.kernelStart);
PLACE(timestamps, end, kernel_timestamp_result_t, global.kernelEnd);
SAME(sizeof(struct levelzero_tracer_desc), sizeof(zel_tracer_desc_t));
SAME(offsetof(struct levelzero_tracer_desc, user_data), offsetof(zel_tracer_desc_t, pUserData));

/* Arguments of tracers' callbacks are addresses, one after the other. */
#define ARGUMENT(at, call, name) SAME((at) * sizeof(void *), offsetof(ze_##call##_params_t, name))

#define OF_CommandListAppendLaunchKernel	    command_list_append_launch_kernel
#define OF_CommandListAppendLaunchCooperativeKernel command_list_append_launch_cooperative_kernel
#define OF_CommandListAppendLaunchKernelIndirect    command_list_append_launch_kernel_indirect
#define OF_CommandListAppendMemoryCopy		    command_list_append_memory_copy
#define OF_CommandListAppendMemoryCopyRegion	    command_list_append_memory_copy_region
#define OF_CommandListAppendMemoryCopyFromContext   command_list_append_memory_copy_from_context
#define OF_CommandListAppendMemoryFill		    command_list_append_memory_fill
#define OF_CommandListAppendImageCopy		    command_list_append_image_copy
#define OF_CommandListAppendImageCopyRegion	    command_list_append_image_copy_region
#define OF_CommandListAppendImageCopyToMemory	    command_list_append_image_copy_to_memory
#define OF_CommandListAppendImageCopyFromMemory	    command_list_append_image_copy_from_memory
#define OF_CommandListAppendBarrier		    command_list_append_barrier
#define OF_CommandListAppendMemoryRangesBarrier	    command_list_append_memory_ranges_barrier
#define OF_CommandListAppendWriteGlobalTimestamp    command_list_append_write_global_timestamp
#define OF_CommandListAppendQueryKernelTimestamps   command_list_append_query_kernel_timestamps
#define ARGUMENTS(at, call)                                                                        \
	ARGUMENT(at, call, phSignalEvent);                                                         \
	ARGUMENT(0, call, phCommandList);
#define COMMAND(number, kind, name, event) IF_OLD_##number(ARGUMENTS(event, OF_##name))
#define KEEP(...)			   __VA_ARGS__
#define DROP(...)
#define IF_OLD_1 KEEP
#define IF_OLD_2 KEEP
#define IF_OLD_3 KEEP
#define IF_OLD_4 KEEP
#define IF_OLD_5 KEEP
#define IF_OLD_6 KEEP
#define IF_OLD_7 KEEP
/* Version 1.8 has no structures for the arguments of these. */
#define IF_OLD_12 DROP
#define IF_OLD_13 DROP
#define IF_OLD_14 KEEP
#define IF_OLD_15 KEEP
#define IF_OLD_16 KEEP
#define IF_OLD_17 KEEP
#define IF_OLD_18 DROP
#define IF_OLD_19 DROP
#define IF_OLD_23 DROP
#define IF_OLD_24 DROP
LEVELZERO_COMMANDS(COMMAND)
#undef COMMAND

ARGUMENT(1, command_list_append_barrier, phSignalEvent);
ARGUMENT(4, command_list_append_memory_ranges_barrier, phSignalEvent);
ARGUMENT(1, command_list_append_signal_event, phEvent);
ARGUMENT(2, command_list_append_write_global_timestamp, phSignalEvent);
ARGUMENT(5, command_list_append_query_kernel_timestamps, phSignalEvent);
ARGUMENT(5, command_list_append_memory_copy_region, psrcptr);
ARGUMENT(3, command_list_append_memory_copy_from_context, psrcptr);
ARGUMENT(2, command_list_append_image_copy, phSrcImage);
ARGUMENT(4, command_list_append_image_copy_region, ppSrcRegion);
ARGUMENT(2, command_list_append_image_copy_to_memory, phSrcImage);
ARGUMENT(3, command_list_append_image_copy_to_memory, ppSrcRegion);
ARGUMENT(3, command_list_append_image_copy_from_memory, ppDstRegion);
ARGUMENT(1, command_queue_execute_command_lists, pnumCommandLists);
ARGUMENT(2, command_queue_execute_command_lists, pphCommandLists);
ARGUMENT(3, command_queue_execute_command_lists, phFence);
ARGUMENT(1, command_queue_create, phDevice);
ARGUMENT(3, command_queue_create, pphCommandQueue);
ARGUMENT(2, fence_create, pphFence);
ARGUMENT(2, image_create, pdesc);
ARGUMENT(3, image_create, pphImage);
ARGUMENT(1, command_list_append_launch_kernel, phKernel);
ARGUMENT(2, command_list_append_launch_kernel, ppLaunchFuncArgs);
ARGUMENT(3, command_list_append_memory_copy, psize);
ARGUMENT(4, command_list_append_memory_copy_from_context, psize);
ARGUMENT(2, command_list_append_memory_copy_region, pdstRegion);
ARGUMENT(4, command_list_append_memory_fill, psize);
ARGUMENT(1, command_list_create_immediate, phDevice);
ARGUMENT(3, command_list_create_immediate, pphCommandList);
ARGUMENT(3, command_list_create, pphCommandList);
ARGUMENT(1, kernel_create, pdesc);
ARGUMENT(2, kernel_create, pphKernel);
ARGUMENT(1, event_pool_create, pdesc);
ARGUMENT(1, command_list_append_event_reset, phEvent);

static void structures_are_those_of_the_real_headers(void)
{
	CHECK(true);
}

#else

static void structures_are_those_of_the_real_headers(void)
{
	SKIP("no headers of Level Zero (libze-dev; 'tests/neo/fetch build/neo')");
}

#endif

int main(void)
{
	RUN(structures_are_those_of_the_real_headers);
	return tap_end();
}
