// SPDX-License-Identifier: MIT
/*
 * Calls of HIP, as they begin and end: the launch path.
 *
 * A call may call others: only the outermost counts, and work of inner ones is its. It is kept by
 * its thread, with the frame of our callback. One that was left behind (by longjmp) is recognized
 * by that: what is inside of a call has a frame below the call's.
 */
#include "inject/rocprofiler/rocprofiler.h"

#include "inject/bursts.h"

#define OPERATIONS_MAX 4096
#define DATA_BYTES_MAX 65536u

struct followed {
	const char *name;
	uint8_t kind; /* enum wire_call_kind */
	uint16_t stream;
};

#define ROW(number, kind, name, stream) [number] = {#name, WIRE_CALL_##kind, stream},
static const struct followed calls[AMD_CALL_NUMBERS] = {
	// clang-format off
	AMD_CALLS(ROW) AMD_EVENTS(ROW) AMD_STREAMS(ROW)
	// clang-format on
};
#undef ROW

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { AMD_WAITS(CALL_NUMBER) };
#undef CALL_NUMBER

/* Our numbers by those of this version; 0: not followed. */
static uint8_t numbers[OPERATIONS_MAX];
static uint64_t asked;

/* A call that the thread is in. */
struct entered {
	struct open_call open; /* correlation 0: none */
	uint32_t stream;
	uint32_t asked; /* pieces of work so far */
	const void *frame;
};

static __thread struct entered current;

/* --- which calls there are */

struct finding {
	int32_t *operations;
	size_t count;
};

static int on_operation(int32_t kind, int32_t operation, void *data)
{
	struct finding *f = data;
	const char *name = NULL;

	if (operation < 0 || operation >= OPERATIONS_MAX || f->count == AMD_CALL_NUMBERS ||
		rocprofiler.query_callback_tracing_kind_operation_name(
			kind, operation, &name, NULL) ||
		!name)
		return 0;
	for (uint8_t n = 0; n < AMD_CALL_NUMBERS; n++) {
		if (!calls[n].name || strcmp(calls[n].name, name) != 0)
			continue;
		if (calls[n].kind == WIRE_CALL_EVENT && !library.syncs)
			continue;
		numbers[operation] = n;
		f->operations[f->count++] = operation;
	}
	return 0;
}

size_t calls_find(int32_t kind, int32_t *ret_operations)
{
	struct finding f = {.operations = ret_operations};

	rocprofiler.iterate_callback_tracing_kind_operations(kind, on_operation, &f);
	return f.count;
}

uint64_t calls_asked(void)
{
	return __atomic_load_n(&asked, __ATOMIC_SEQ_CST);
}

/* --- arguments and results */

/* A word of the arguments: false, this version has none there. */
static bool argument_at(const struct rocprofiler_call_data *data, size_t place, void **ret)
{
	if (!data || data->size > DATA_BYTES_MAX ||
		data->size < sizeof(*data) + place + sizeof(*ret) + ROCPROFILER_RESULT_BYTES)
		return false;
	memcpy(ret, data->arguments + place, sizeof(*ret));
	return true;
}

/* What cannot be told is no failure, but counted. */
static int32_t result_of(const struct rocprofiler_call_data *data)
{
	int32_t result;

	if (!data || data->size > DATA_BYTES_MAX ||
		data->size < sizeof(*data) + ROCPROFILER_RESULT_BYTES) {
		count(WIRE_UNKNOWN, 1);
		return 0;
	}
	memcpy(&result, (const uint8_t *)data + data->size - ROCPROFILER_RESULT_BYTES,
		sizeof(result));
	return result;
}

static uint32_t stream_of(const struct followed *f, const struct rocprofiler_call_data *data)
{
	void *handle;

	if (f->stream == AMD_NO_STREAM || !argument_at(data, f->stream, &handle))
		return 0;
	return hip_streams_number(handle);
}

/* --- begin and end */

static uint32_t next_id(void)
{
	static uint32_t latest;

	return WIRE_ID(AMD_API, __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED));
}

static bool asks_for_work(const struct followed *f)
{
	return f->kind != WIRE_CALL_SYNC;
}

static void enter(uint8_t number, const struct rocprofiler_call_data *data, uint64_t *user_data,
	const void *frame)
{
	const struct followed *f = &calls[number];

	if (!is_recording() || (current.open.correlation && frame < current.frame))
		return;
	current = (struct entered){.frame = frame,
		.stream = stream_of(f, data),
		.open = {.correlation = next_id(),
			.call = number,
			.flags = library.marker || library.walk ? 0 : WIRE_FLAG_UNMARKED,
			.start_ns = now_ns()}};
	*user_data = current.open.correlation;
	if (library.overhead && asks_for_work(f))
		bursts_call_begins();
	if (!(current.open.flags & WIRE_FLAG_UNMARKED))
		call_report_stack(&current.open, f->kind, frame);
}

static void describe_wait(const struct rocprofiler_call_data *data, struct wire_call *record)
{
	bool of_stream = calls[current.open.call].stream != AMD_NO_STREAM;
	void *event;

	record->context = of_stream ? hip_streams_context(current.stream) : 0;
	if (record->context) {
		record->waits_for = WIRE_SYNC_STREAM;
		record->stream = current.stream;
	} else if (current.open.call == NUMBER_hipEventSynchronize &&
		   argument_at(data, 0, &event)) {
		record->waits_for = WIRE_SYNC_EVENT;
		record->event = (uintptr_t)event;
	}
}

/* A call that handed nothing to a GPU has none to wait for: it copied by itself, or what it asked
 * for became part of a graph. */
static void leave(const struct rocprofiler_call_data *data)
{
	const struct followed *f = &calls[current.open.call];
	struct wire_call record = call_record(&current.open, f->kind,
		AMD_API << WIRE_API_SHIFT | current.open.call, result_of(data));

	if (f->kind == WIRE_CALL_SYNC && library.syncs)
		describe_wait(data, &record);
	else if (f->kind != WIRE_CALL_SYNC && !current.asked)
		record.flags |= WIRE_FLAG_EMPTY;
	call_report(&record);
	if (library.overhead && asks_for_work(f))
		bursts_call_ends();
	current.open.correlation = 0;
}

/* Nothing is reported of an event before it is known where its stream is. */
static void event_is_recorded(const struct followed *f, const struct rocprofiler_call_data *data)
{
	uint32_t stream = stream_of(f, data);
	struct wire_event_record record = {.type = WIRE_EVENT_RECORD,
		.context = hip_streams_context(stream),
		.stream = stream,
		.time_ns = now_ns()};
	void *event;

	if (!is_recording() || !record.context || result_of(data) || !argument_at(data, 0, &event))
		return;
	record.event = (uintptr_t)event;
	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

static void stream_is_made(const struct rocprofiler_call_data *data)
{
	void *at;

	if (!result_of(data) && argument_at(data, 0, &at) && at)
		hip_streams_made(*(void **)at);
}

void on_call(struct rocprofiler_call_record r, uint64_t *user_data, void *data)
{
	const void *frame = __builtin_frame_address(0);
	uint8_t number;

	if (!is_alive() || r.operation < 0 || r.operation >= OPERATIONS_MAX)
		return;
	number = numbers[r.operation];
	if (calls[number].kind == WIRE_CALL_EVENT && r.phase == ROCPROFILER_PHASE_EXIT)
		event_is_recorded(&calls[number], r.payload);
	else if (calls[number].kind == WIRE_CALL_NODE && r.phase == ROCPROFILER_PHASE_EXIT)
		stream_is_made(r.payload);
	else if (calls[number].kind == WIRE_CALL_EVENT || calls[number].kind == WIRE_CALL_NODE)
		return;
	else if (number && r.phase == ROCPROFILER_PHASE_ENTER)
		enter(number, r.payload, user_data, frame);
	else if (number && r.phase == ROCPROFILER_PHASE_EXIT && *user_data &&
		 *user_data == current.open.correlation)
		leave(r.payload);
}

/* In the thread that hands work to a GPU. That is the one that calls, unless the program has asked
 * HIP for threads of its own: such work is of no call. */
int on_request(uint64_t thread, uint64_t context, int32_t kind, int32_t operation,
	uint64_t internal, uint64_t *external, void *data)
{
	*external = NOT_RECORDED;
	if (!is_alive() || !is_recording())
		return 0;
	*external = current.open.correlation
			    ? (uint64_t)current.stream << 32 | current.open.correlation
			    : 0;
	current.asked++;
	__atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
	return 0;
}
