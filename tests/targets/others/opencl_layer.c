// SPDX-License-Identifier: MIT
/*
 * Somebody else's OpenCL layer, beside ours: it follows kernels by ways that profilers have, with
 * queues that it makes profile and events of its own, and keeps references to them for a while. At
 * the end it writes to the file that $OTHER_SAYS names how many kernels it saw, how many had times,
 * and how often it could not let go of an event.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/opencl/abi.h"

#define KEPT 64

static struct opencl_functions below;
static void *table[OPENCL_ENTRIES];
static uint64_t launched, timed, refused;
static void *kept[KEPT];

__attribute__((visibility("default"))) int32_t clGetLayerInfo(
	uint32_t what, size_t size, void *value, size_t *ret_size);
__attribute__((visibility("default"))) int32_t clInitLayer(
	uint32_t count, void *const *target, uint32_t *ret_count, void *const **ret_table);

int32_t clGetLayerInfo(uint32_t what, size_t size, void *value, size_t *ret_size)
{
	static const uint32_t version = OPENCL_LAYER_API_100;

	if (what != OPENCL_LAYER_API_VERSION || (value && size < sizeof(version)))
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, &version, sizeof(version));
	if (ret_size)
		*ret_size = sizeof(version);
	return 0;
}

static void look_at(void *event)
{
	uint64_t start = 0, end = 0;

	if (!below.clGetEventProfilingInfo(
		    event, OPENCL_PROFILING_QUEUED + 2, sizeof(start), &start, NULL) &&
		!below.clGetEventProfilingInfo(
			event, OPENCL_PROFILING_QUEUED + 3, sizeof(end), &end, NULL) &&
		start && start <= end)
		timed++;
	refused += below.clReleaseEvent(event) != 0;
}

static void look_at_all(void)
{
	for (int n = 0; n < KEPT; n++) {
		if (kept[n])
			look_at(kept[n]);
		kept[n] = NULL;
	}
}

static int32_t launch(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
	const size_t *global, const size_t *local, WAITS_AND_EVENT)
{
	void *own = NULL, **made = event ? event : &own;
	int32_t result = below.clEnqueueNDRangeKernel(
		queue, kernel, dimensions, offset, global, local, wait_count, waits, made);

	if (result || !*made)
		return result;
	if (event)
		below.clRetainEvent(*made);
	if (kept[launched % KEPT]) {
		below.clWaitForEvents(1, &kept[launched % KEPT]);
		look_at(kept[launched % KEPT]);
	}
	kept[launched++ % KEPT] = *made;
	return result;
}

static int32_t finish(void *queue)
{
	int32_t result = below.clFinish(queue);

	look_at_all();
	return result;
}

static void *create_queue(void *context, void *device, uint64_t properties, int32_t *error)
{
	return below.clCreateCommandQueue(
		context, device, properties | OPENCL_QUEUE_PROFILING, error);
}

int32_t clInitLayer(
	uint32_t count, void *const *target, uint32_t *ret_count, void *const **ret_table)
{
	uint32_t ours = count < OPENCL_ENTRIES ? count : OPENCL_ENTRIES;

	memcpy(table, target, ours * sizeof(table[0]));
#define FUNCTION(result, name, parameters)   *(void **)&below.name = table[OPENCL_AT_##name];
#define COMMAND(name, parameters, arguments) FUNCTION(, name, )
	OPENCL_COMMANDS(COMMAND)
	OPENCL_FUNCTIONS(FUNCTION)
#undef COMMAND
#undef FUNCTION
	table[OPENCL_AT_clEnqueueNDRangeKernel] = (void *)launch;
	table[OPENCL_AT_clFinish] = (void *)finish;
	table[OPENCL_AT_clCreateCommandQueue] = (void *)create_queue;
	*ret_count = ours;
	*ret_table = table;
	return 0;
}

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("OTHER_SAYS");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%llu %llu %llu\n", (unsigned long long)launched, (unsigned long long)timed,
		(unsigned long long)refused);
	fclose(f);
}
