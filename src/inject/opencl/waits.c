// SPDX-License-Identifier: MIT
/* Calls in which a thread waits for the GPU. Those that ask for work, too, are commands
 * (command.h). */
#include "inject/opencl/command.h"

static int32_t finish_queue(void *queue)
{
	struct open_call open;
	bool followed = wait_begin(&open, NUMBER_clFinish, __builtin_frame_address(0));
	int32_t result = opencl.clFinish(queue);

	if (followed)
		wait_end(&open, result, WIRE_SYNC_STREAM, queues_find(queue), NULL);
	return result;
}

/* A record has room for one event. Of several, the last is likely to end last. One without a queue
 * is the program's own: nobody knows what it stands for. */
static int32_t wait_for_events(uint32_t count, void *const *waited)
{
	struct open_call open;
	bool followed = wait_begin(&open, NUMBER_clWaitForEvents, __builtin_frame_address(0));
	void *last = followed && count && waited ? waited[count - 1] : NULL, *queue = NULL;
	int32_t result;

	if (last && library.syncs &&
		opencl.clGetEventInfo(
			last, OPENCL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL))
		queue = NULL;
	result = opencl.clWaitForEvents(count, waited);
	if (followed)
		wait_end(&open, result, WIRE_SYNC_EVENT, queue ? queues_find(queue) : NULL, last);
	return result;
}

void waits_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clFinish, finish_queue);
	put_entry(table, entries, OPENCL_AT_clWaitForEvents, wait_for_events);
}
