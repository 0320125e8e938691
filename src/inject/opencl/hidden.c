// SPDX-License-Identifier: MIT
/*
 * What the program is told of queues, events and contexts: what it would be told without us. The
 * properties of a queue are those that were asked for, and its events have no times. References of
 * ours to events that have ended are let go before any count of references is returned, as an event
 * may keep its queue and context.
 */
#include <string.h>

#include "inject/opencl/opencl.h"

#define WORDS_MAX 64 /* of properties */

/* Without what we have added: bytes. */
static size_t original_array(const struct queue *q, uint64_t *words, size_t size)
{
	size_t count = size / sizeof(*words);

	for (size_t n = 0; n + 1 < count && words[n]; n += 2) {
		if (words[n] != OPENCL_QUEUE_PROPERTIES)
			continue;
		if (!q->appended) {
			words[n + 1] &= ~(uint64_t)OPENCL_QUEUE_PROFILING;
			return size;
		}
		memmove(words + n, words + n + 2, (count - n - 2) * sizeof(*words));
		return q->had_none ? 0 : size - 2 * sizeof(*words);
	}
	return size;
}

static int32_t get_array(
	const struct queue *q, void *queue, size_t size, void *value, size_t *ret_size)
{
	uint64_t words[WORDS_MAX];
	size_t have = 0;
	int32_t result = opencl.clGetCommandQueueInfo(
		queue, OPENCL_QUEUE_PROPERTIES_ARRAY, sizeof(words), words, &have);

	if (result)
		return result;
	have = original_array(q, words, have);
	if (value && size < have)
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, words, have);
	if (ret_size)
		*ret_size = have;
	return OPENCL_SUCCESS;
}

static int32_t get_queue_info(
	void *queue, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	const struct queue *q = queues_find(queue);
	int32_t result;

	if (what == OPENCL_QUEUE_REFERENCE_COUNT)
		events_look();
	if (q && q->forced && what == OPENCL_QUEUE_PROPERTIES_ARRAY)
		return get_array(q, queue, size, value, ret_size);
	result = opencl.clGetCommandQueueInfo(queue, what, size, value, ret_size);
	if (!result && value && q && q->forced && what == OPENCL_QUEUE_PROPERTIES)
		*(uint64_t *)value &= ~(uint64_t)OPENCL_QUEUE_PROFILING;
	return result;
}

static bool is_forced(void *event)
{
	const struct queue *q;
	void *queue = NULL;

	if (!queues_any_is_forced() || opencl.clGetEventInfo(event, OPENCL_EVENT_COMMAND_QUEUE,
					       sizeof(queue), &queue, NULL))
		return false;
	q = queues_find(queue);
	return q && q->forced;
}

static int32_t get_profiling_info(
	void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	return is_forced(event)
		       ? OPENCL_PROFILING_INFO_NOT_AVAILABLE
		       : opencl.clGetEventProfilingInfo(event, what, size, value, ret_size);
}

static int32_t get_event_info(
	void *event, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	bool counts = what == OPENCL_EVENT_REFERENCE_COUNT;
	int32_t result;

	if (counts)
		events_look();
	result = opencl.clGetEventInfo(event, what, size, value, ret_size);
	if (!result && counts && value && events_hold(event))
		--*(uint32_t *)value;
	return result;
}

static int32_t get_context_info(
	void *context, uint32_t what, size_t size, void *value, size_t *ret_size)
{
	if (what == OPENCL_CONTEXT_REFERENCE_COUNT)
		events_look();
	return opencl.clGetContextInfo(context, what, size, value, ret_size);
}

void hidden_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clGetContextInfo, get_context_info);
	put_entry(table, entries, OPENCL_AT_clGetCommandQueueInfo, get_queue_info);
	put_entry(table, entries, OPENCL_AT_clGetEventProfilingInfo, get_profiling_info);
	put_entry(table, entries, OPENCL_AT_clGetEventInfo, get_event_info);
}
