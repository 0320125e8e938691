// SPDX-License-Identifier: MIT
/*
 * Our own description of OpenCL's binary interface (inject/opencl/abi.h) against the Khronos
 * headers, at compile time, where those are installed. Found out at run time is which commands of
 * the loader's table we do not follow.
 */
#include "inject/opencl/abi.h"
#include "tap.h"
#include "vendor/opencl/calls.h"

#if __has_include(<CL/cl_layer.h>) && __has_include(<CL/cl_ext.h>)

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl_layer.h>

#include <CL/cl_ext.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

#define ENTRY(name) SAME(OPENCL_AT_##name * sizeof(void *), offsetof(cl_icd_dispatch, name));
OPENCL_TABLE(ENTRY)
#undef ENTRY

SAME(OPENCL_PROFILING_INFO_NOT_AVAILABLE, CL_PROFILING_INFO_NOT_AVAILABLE);
SAME(OPENCL_INVALID_VALUE, CL_INVALID_VALUE);
SAME(OPENCL_PLATFORM_VERSION, CL_PLATFORM_VERSION);
SAME(OPENCL_PLATFORM_NAME, CL_PLATFORM_NAME);
SAME(OPENCL_DEVICE_TYPE, CL_DEVICE_TYPE);
SAME(OPENCL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_MAX_COMPUTE_UNITS);
SAME(OPENCL_DEVICE_MAX_CLOCK_FREQUENCY, CL_DEVICE_MAX_CLOCK_FREQUENCY);
SAME(OPENCL_DEVICE_GLOBAL_MEM_SIZE, CL_DEVICE_GLOBAL_MEM_SIZE);
SAME(OPENCL_DEVICE_PROFILING_TIMER_RESOLUTION, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
SAME(OPENCL_DEVICE_QUEUE_PROPERTIES, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
SAME(OPENCL_DEVICE_NAME, CL_DEVICE_NAME);
SAME(OPENCL_DEVICE_PLATFORM, CL_DEVICE_PLATFORM);
SAME(OPENCL_DEVICE_PARENT_DEVICE, CL_DEVICE_PARENT_DEVICE);
SAME(OPENCL_DEVICE_UUID, CL_DEVICE_UUID_KHR);
SAME(OPENCL_CONTEXT_REFERENCE_COUNT, CL_CONTEXT_REFERENCE_COUNT);
SAME(OPENCL_QUEUE_CONTEXT, CL_QUEUE_CONTEXT);
SAME(OPENCL_QUEUE_DEVICE, CL_QUEUE_DEVICE);
SAME(OPENCL_QUEUE_REFERENCE_COUNT, CL_QUEUE_REFERENCE_COUNT);
SAME(OPENCL_QUEUE_PROPERTIES, CL_QUEUE_PROPERTIES);
SAME(OPENCL_QUEUE_PROPERTIES_ARRAY, CL_QUEUE_PROPERTIES_ARRAY);
SAME(OPENCL_MEM_SIZE, CL_MEM_SIZE);
SAME(OPENCL_IMAGE_ELEMENT_SIZE, CL_IMAGE_ELEMENT_SIZE);
SAME(OPENCL_KERNEL_FUNCTION_NAME, CL_KERNEL_FUNCTION_NAME);
SAME(OPENCL_EVENT_COMMAND_QUEUE, CL_EVENT_COMMAND_QUEUE);
SAME(OPENCL_EVENT_REFERENCE_COUNT, CL_EVENT_REFERENCE_COUNT);
SAME(OPENCL_EVENT_EXECUTION_STATUS, CL_EVENT_COMMAND_EXECUTION_STATUS);
SAME(OPENCL_PROFILING_QUEUED, CL_PROFILING_COMMAND_QUEUED);
SAME(OPENCL_PROFILING_QUEUED + 1, CL_PROFILING_COMMAND_SUBMIT);
SAME(OPENCL_PROFILING_QUEUED + 2, CL_PROFILING_COMMAND_START);
SAME(OPENCL_PROFILING_QUEUED + 3, CL_PROFILING_COMMAND_END);
SAME(OPENCL_LAYER_API_VERSION, CL_LAYER_API_VERSION);
SAME(OPENCL_LAYER_NAME, CL_LAYER_NAME);
SAME(OPENCL_LAYER_API_100, CL_LAYER_API_VERSION_100);
SAME(OPENCL_DEVICE_IS_CPU, CL_DEVICE_TYPE_CPU);
SAME(OPENCL_QUEUE_OUT_OF_ORDER, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
SAME(OPENCL_QUEUE_PROFILING, CL_QUEUE_PROFILING_ENABLE);
SAME(OPENCL_QUEUE_ON_DEVICE, CL_QUEUE_ON_DEVICE);

SAME(sizeof(uint32_t), sizeof(cl_bool));
SAME(sizeof(uint64_t), sizeof(cl_command_queue_properties));
SAME(sizeof(uint64_t), sizeof(cl_queue_properties));
SAME(sizeof(uint64_t), sizeof(cl_map_flags));
SAME(sizeof(uint64_t), sizeof(cl_mem_migration_flags));
SAME(sizeof(uint64_t), sizeof(cl_device_type));
SAME(sizeof(intptr_t), sizeof(cl_context_properties));

static bool is_followed(const char *name)
{
#define CALL(number, kind, call)                                                                   \
	if (!strcmp(name, #call))                                                                  \
		return true;
	OPENCL_CALLS(CALL)
#undef CALL
	return false;
}

/* Those that give a GPU nothing to do. */
static bool is_no_work(const char *name)
{
	return strstr(name, "Marker") || strstr(name, "Barrier") || strstr(name, "Acquire") ||
	       strstr(name, "Release") || !strcmp(name, "clEnqueueWaitForEvents") ||
	       !strcmp(name, "clEnqueueSVMFree");
}

static void every_command_of_the_table_that_is_work_is_followed(void)
{
#define ENTRY(name) #name,
	static const char *const names[] = {OPENCL_TABLE(ENTRY)};
#undef ENTRY
	int commands = 0;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		if (strncmp(names[n], "clEnqueue", 9) || is_no_work(names[n]))
			continue;
		commands++;
		if (!is_followed(names[n]))
			printf("# %s\n", names[n]);
		CHECK(is_followed(names[n]));
	}
	CHECK(commands == 25);
}

static void our_values_and_the_table_are_those_of_the_installed_headers(void)
{
	CHECK(sizeof(cl_icd_dispatch) >= OPENCL_ENTRIES * sizeof(void *));
}

int main(void)
{
	RUN(our_values_and_the_table_are_those_of_the_installed_headers);
	RUN(every_command_of_the_table_that_is_work_is_followed);
	return tap_end();
}

#else

static void our_values_and_the_table_are_those_of_the_installed_headers(void)
{
	SKIP("no CL/cl_layer.h: the package opencl-headers has it");
}

int main(void)
{
	RUN(our_values_and_the_table_are_those_of_the_installed_headers);
	return tap_end();
}

#endif
