// SPDX-License-Identifier: MIT
/*
 * Our own description of Level Zero's binary interface (inject/levelzero/abi.h) against the real
 * headers, at compile time, where those are installed; and places of arguments
 * (vendor/intel/calls.h) against those of what tracers get.
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
#define ARGUMENTS(at, call)                                                                        \
	ARGUMENT(at, call, phSignalEvent);                                                         \
	ARGUMENT(0, call, phCommandList);
#define COMMAND(number, kind, name, event) ARGUMENTS(event, OF_##name)
LEVELZERO_COMMANDS(COMMAND)
#undef COMMAND

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
	SKIP("the headers of Level Zero are not installed (libze-dev)");
}

#endif

int main(void)
{
	RUN(structures_are_those_of_the_real_headers);
	return tap_end();
}
