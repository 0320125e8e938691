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

#define LOOKED_AT 32u /* events of a call: the last ones */

static struct queue *queue_of(void *event)
{
	void *queue = NULL;

	if (opencl.clGetEventInfo(event, OPENCL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL))
		return NULL;
	return queue ? queues_find(queue) : NULL;
}

/* When the work of an event ended, by its device's clock; 0: nobody knows. */
static uint64_t end_of(void *event)
{
	uint64_t end = 0;

	return opencl.clGetEventProfilingInfo(
		       event, OPENCL_PROFILING_QUEUED + TIME_END, sizeof(end), &end, NULL)
		       ? 0
		       : end;
}

/* Another thread of the program may let go of them as soon as they have ended. */
static uint32_t hold(uint32_t count, void *const *waited, void *held[LOOKED_AT])
{
	uint32_t kept = 0;

	for (uint32_t n = count < LOOKED_AT ? count : LOOKED_AT; n; n--)
		if (!opencl.clRetainEvent(waited[count - n]))
			held[kept++] = waited[count - n];
	return kept;
}

/* A record has room for one event: of those that a call has waited for, that which has ended last.
 * Devices have different clocks, so it is of the device of the last of them. One without a queue is
 * the program's own: nobody knows what it stands for. */
static void *find_last(uint32_t count, void *const held[], struct queue **ret_queue)
{
	void *last = held[count - 1];
	struct queue *queue = queue_of(last);
	uint64_t end = count > 1 && queue ? end_of(last) : 0;

	for (uint32_t n = count - 1; end && n; n--) {
		void *event = held[n - 1];
		struct queue *other = queue_of(event);
		uint64_t other_end = other && other->device == queue->device ? end_of(event) : 0;

		if (other_end <= end)
			continue;
		end = other_end;
		last = event;
		queue = other;
	}
	*ret_queue = queue;
	return last;
}

static int32_t wait_for_events(uint32_t count, void *const *waited)
{
	struct open_call open;
	bool followed = wait_begin(&open, NUMBER_clWaitForEvents, __builtin_frame_address(0));
	void *held[LOOKED_AT], *last;
	uint32_t kept = followed && library.syncs && waited ? hold(count, waited, held) : 0;
	int32_t result = opencl.clWaitForEvents(count, waited);
	struct queue *queue = NULL;

	last = !result && count && waited ? waited[count - 1] : NULL;
	if (kept)
		last = find_last(kept, held, &queue);
	if (followed)
		wait_end(&open, result, WIRE_SYNC_EVENT, queue, last);
	while (kept)
		opencl.clReleaseEvent(held[--kept]);
	return result;
}

void waits_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clFinish, finish_queue);
	put_entry(table, entries, OPENCL_AT_clWaitForEvents, wait_for_events);
}
