// SPDX-License-Identifier: MIT
/*
 * The parameters are handles. A stream's handle is turned into the number by which work names it:
 * from what is kept of each stream (streams.h), or, for default streams and those that are not
 * kept, by CUPTI, as one of the thread's current context. An event's handle stays as it is, since
 * only other calls with that event are compared with it.
 */
#include "inject/cupti/syncs.h"

#include "inject/cupti/cupti.h"
#include "inject/cupti/streams.h"

#define OWN_STREAM    ((void *)2) /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
#define LEGACY_STREAM ((void *)1)

/* The parameters of all these calls begin with one or two handles. */
static void *handle(const struct cupti_callback_data *d, int n)
{
	return d->params ? ((void *const *)d->params)[n] : NULL;
}

/* True also when that is unknown. CUPTI is not asked for the number of a stream that is captured,
 * as queries may end a capture (asking whether it is captured does not). An event that is recorded
 * there is not recorded for any wait. */
static bool is_captured(void *stream, bool own)
{
	int status = 0;

	if (!stream && own)
		stream = OWN_STREAM;
	return !cuda_driver.cuStreamIsCapturing ||
	       cuda_driver.cuStreamIsCapturing(stream, &status) || status;
}

static bool ask_for_stream(void *context, void *stream, bool own, uint32_t *ret)
{
	bool per_thread = stream == OWN_STREAM || (!stream && own);

	if (stream == OWN_STREAM || stream == LEGACY_STREAM)
		stream = NULL;
	return cupti.GetStreamIdEx && !cupti.GetStreamIdEx(context, stream, per_thread, ret);
}

/* Of a stream that is not kept: it counts as one of the current context. */
static void ask_for_target(
	void *stream, bool own, const struct cupti_callback_data *d, struct call_target *ret)
{
	struct call_target target = {.context = d->context_uid};

	if (d->context && ask_for_stream(d->context, stream, own, &target.stream))
		*ret = target;
}

void syncs_find_target(uint8_t waits_for, uint8_t other, const struct cupti_callback_data *d,
	struct call_target *ret)
{
	if (waits_for == WIRE_SYNC_STREAM) {
		if (!streams_find(handle(d, 0), &ret->context, &ret->stream))
			ask_for_target(handle(d, 0), other, d, ret);
	} else if (d->context) {
		ret->context = waits_for == WIRE_SYNC_CONTEXT && other
				       ? streams_context(handle(d, 0))
				       : d->context_uid;
	}
}

void syncs_find_target_of_record(
	uint8_t own, const struct cupti_callback_data *d, struct call_target *ret)
{
	void *stream = handle(d, 1);

	if (!is_captured(stream, own) && !streams_find(stream, &ret->context, &ret->stream))
		ask_for_target(stream, own, d, ret);
}

void syncs_find_target_of_graph(
	uint8_t own, const struct cupti_callback_data *d, struct call_target *ret)
{
	void *stream = handle(d, 1);

	if (!streams_find(stream, &ret->context, &ret->stream) && !is_captured(stream, own))
		ask_for_target(stream, own, d, ret);
}

void syncs_describe(uint8_t waits_for, const struct cupti_callback_data *d,
	const struct call_target *target, struct wire_call *ret)
{
	ret->waits_for = waits_for;
	ret->context = target->context;
	ret->stream = target->stream;
	ret->event = waits_for == WIRE_SYNC_EVENT ? (uintptr_t)handle(d, 0) : 0;
}

void syncs_send_record(
	const struct cupti_callback_data *d, const struct call_target *target, uint64_t time_ns)
{
	struct wire_event_record record = {
		.type = WIRE_EVENT_RECORD,
		.context = target->context,
		.stream = target->stream,
		.event = (uintptr_t)handle(d, 0),
		.time_ns = time_ns,
	};

	if (!target->context || !d->return_value || *(const int32_t *)d->return_value)
		return;
	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}
