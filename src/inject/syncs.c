// SPDX-License-Identifier: MIT
/*
 * The parameters are handles. A stream's is turned into the number that work names it by, which only CUPTI can do; an
 * event's stays as it is, since nothing but other calls with that event is compared with it.
 */
#include "inject/syncs.h"

#define OWN_STREAM ((void *)2) /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
#define LEGACY_STREAM ((void *)1)

/* As enum profile_sync_kind of the recorder's profile/model.h. */
enum {
	SYNC_STREAM = 1,
	SYNC_EVENT = 2,
	SYNC_CONTEXT = 3,
};

/* The parameters of all these calls begin with one or two handles. */
static void *handle(const struct cupti_callback_data *d, int n)
{
	return d->params ? ((void *const *)d->params)[n] : NULL;
}

/* Also when that is not known. A stream that is captured is not asked for its number, as queries may end a capture (asking
 * whether it is captured does not); what is recorded there is not recorded for any wait. */
static bool is_captured(void *stream, bool own)
{
	int status = 0;

	if (!stream && own)
		stream = OWN_STREAM;
	return !library.driver.cuStreamIsCapturing ||
	       library.driver.cuStreamIsCapturing(stream, &status) || status;
}

static bool find_stream(void *context, void *stream, bool own, uint32_t *ret)
{
	bool per_thread = stream == OWN_STREAM || (!stream && own);

	if (stream == OWN_STREAM || stream == LEGACY_STREAM)
		stream = NULL;
	return library.cupti.GetStreamIdEx && !library.cupti.GetStreamIdEx(context, stream, per_thread, ret);
}

/* The context that is waited for when it is not the thread's. */
static uint32_t number_of_context(void *context)
{
	uint32_t number = 0;

	if (!context || !library.cupti.GetContextId || library.cupti.GetContextId(context, &number))
		return 0;
	return number;
}

void syncs_find_place(uint8_t waits_for, uint8_t other, const struct cupti_callback_data *d,
	struct sync_place *ret)
{
	struct sync_place place = {.context = d->context_uid};

	if (!d->context)
		return;
	if (waits_for == SYNC_CONTEXT && other)
		place.context = number_of_context(handle(d, 0));
	if (waits_for == SYNC_STREAM && !find_stream(d->context, handle(d, 0), other, &place.stream))
		return;
	*ret = place;
}

void syncs_find_place_of_record(
	uint8_t other, const struct cupti_callback_data *d, struct sync_place *ret)
{
	struct sync_place place = {.context = d->context_uid};

	if (!d->context || is_captured(handle(d, 1), other))
		return;
	if (find_stream(d->context, handle(d, 1), other, &place.stream))
		*ret = place;
}

void syncs_tell(uint8_t waits_for, const struct cupti_callback_data *d, const struct sync_place *place,
	struct wire_call *ret)
{
	ret->waits_for = waits_for;
	ret->context = place->context;
	ret->stream = place->stream;
	ret->event = waits_for == SYNC_EVENT ? (uintptr_t)handle(d, 0) : 0;
}

void syncs_tell_record(
	const struct cupti_callback_data *d, const struct sync_place *place, uint64_t time_ns)
{
	struct wire_event_record record = {
		.type = WIRE_EVENT_RECORD,
		.context = place->context,
		.stream = place->stream,
		.event = (uintptr_t)handle(d, 0),
		.time_ns = time_ns,
	};

	if (!place->context || !d->return_value || *(const int32_t *)d->return_value)
		return;
	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}
