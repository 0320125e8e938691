// SPDX-License-Identifier: MIT
/*
 * Calls of HIP, as they begin and end: the launch path.
 *
 * A call may call others: only the outermost counts, and work of inner ones is its. It is kept by
 * its thread, with the frame of our callback. One that was left behind (by longjmp) is recognized
 * by that: what is inside of a call has a frame below the call's.
 */
#include "inject/rocprofiler/hip_graphs.h"
#include "inject/rocprofiler/rocprofiler.h"

#include "inject/bursts.h"

#define OPERATIONS_MAX 4096
#define DATA_BYTES_MAX 65536u

struct followed {
	const char *name;
	uint8_t kind; /* enum wire_call_kind, or one of those below */
	uint16_t stream;
};

/* Calls that are never sent. */
enum { WIRE_CALL_STREAM = 0x80, WIRE_CALL_CHANGE };

#define ROW(number, kind, name, stream) [number] = {#name, WIRE_CALL_##kind, stream},
static const struct followed calls[AMD_CALL_NUMBERS] = {
	// clang-format off
	AMD_CALLS(ROW) AMD_EVENTS(ROW) AMD_STREAMS(ROW) AMD_GRAPHS(ROW) AMD_HSA(ROW)
	AMD_HSA_EXTENSIONS(ROW)
	// clang-format on
};
#undef ROW

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { AMD_WAITS(CALL_NUMBER) };
#undef CALL_NUMBER

/* Our numbers by those of this version; 0: not followed. */
static uint8_t numbers[CALL_TABLES][OPERATIONS_MAX];
static uint64_t asked;

/* A call that the thread is in. */
struct entered {
	struct open_call open; /* correlation 0: none */
	uint32_t stream;
	uint32_t asked;	   /* pieces of work so far */
	uint32_t launched; /* the graph that it launches (hip_graphs.h) */
	uint32_t ticket;   /* of a kernel that it hands over */
	const void *frame;
};

static __thread struct entered current;

/* A call of HSA that the thread is in: it becomes one that is open when it hands over work. */
static __thread struct {
	uint8_t number; /* 0: none */
	uint64_t start_ns;
} inside_hsa;

/* --- which calls there are */

struct finding {
	enum call_table table;
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
		numbers[f->table][operation] = n;
		f->operations[f->count++] = operation;
	}
	return 0;
}

size_t calls_find(enum call_table table, int32_t kind, int32_t *ret_operations)
{
	struct finding f = {.table = table, .operations = ret_operations};

	rocprofiler.iterate_callback_tracing_kind_operations(kind, on_operation, &f);
	return f.count;
}

uint64_t calls_asked(void)
{
	return __atomic_load_n(&asked, __ATOMIC_SEQ_CST);
}

/* --- arguments and results */

bool calls_argument(const struct rocprofiler_call_data *data, size_t place, void **ret)
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

/* False: it has none. */
static bool find_stream(
	const struct followed *f, const struct rocprofiler_call_data *data, void **ret)
{
	void *configuration;

	if (f->stream == AMD_NO_STREAM)
		return false;
	if (f->stream != AMD_CONFIGURED_STREAM)
		return calls_argument(data, f->stream, ret);
	if (!calls_argument(data, 0, &configuration) || !configuration)
		return false;
	memcpy(ret, (const char *)configuration + AMD_CONFIGURATION_STREAM, sizeof(*ret));
	return true;
}

static uint32_t stream_of(const struct followed *f, const struct rocprofiler_call_data *data)
{
	void *handle;

	return find_stream(f, data, &handle) ? hip_streams_number(handle) : 0;
}

/* --- begin and end */

static uint32_t next_id(void)
{
	static uint32_t latest;

	return WIRE_ID(AMD_API, __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED));
}

static bool asks_for_work(const struct followed *f)
{
	return f->kind != WIRE_CALL_SYNC && f->kind != WIRE_CALL_NODE;
}

static uint32_t launched_graph(const struct followed *f, const struct rocprofiler_call_data *data)
{
	void *exec;

	return f->kind == WIRE_CALL_GRAPH && calls_argument(data, 0, &exec)
		       ? hip_graphs_launch(exec)
		       : 0;
}

static void enter(uint8_t number, const struct rocprofiler_call_data *data, uint64_t *user_data,
	const void *frame)
{
	const struct followed *f = &calls[number];

	if (!is_recording() || (current.open.correlation && frame < current.frame))
		return;
	current = (struct entered){.frame = frame,
		.stream = stream_of(f, data),
		.launched = launched_graph(f, data),
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
		   calls_argument(data, 0, &event)) {
		record->waits_for = WIRE_SYNC_EVENT;
		record->event = (uintptr_t)event;
	}
}

/* Whether the call has made a node of a graph. */
static bool has_made_node(const struct followed *f, const struct rocprofiler_call_data *data)
{
	uint8_t number = (uint8_t)current.open.call;
	void *stream;

	if (f->kind == WIRE_CALL_NODE)
		return hip_graphs_add(number, data, &current.open);
	return hip_graphs_captures() && find_stream(f, data, &stream) &&
	       hip_graphs_captured(stream, number, f->kind, data, &current.open);
}

/* A call that handed nothing to a GPU has none to wait for: what it asked for became part of a
 * graph, or it copied by itself. */
static void leave(const struct rocprofiler_call_data *data, int32_t result)
{
	const struct followed *f = &calls[current.open.call];
	struct wire_call record;

	if (f->kind != WIRE_CALL_SYNC && !current.asked)
		current.open.flags |=
			!result && has_made_node(f, data) ? WIRE_FLAG_CAPTURED : WIRE_FLAG_EMPTY;
	record = call_record(
		&current.open, f->kind, AMD_API << WIRE_API_SHIFT | current.open.call, result);
	if (f->kind == WIRE_CALL_SYNC && library.syncs)
		describe_wait(data, &record);
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
	void *event, *handle;

	if (result_of(data) || !calls_argument(data, 0, &event))
		return;
	if (find_stream(f, data, &handle))
		hip_graphs_event(event, handle);
	if (!library.syncs || !is_recording() || !record.context)
		return;
	record.event = (uintptr_t)event;
	if (!ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

static void stream_is_made(const struct rocprofiler_call_data *data)
{
	void *at;

	if (!result_of(data) && calls_argument(data, 0, &at) && at)
		hip_streams_made(*(void **)at);
}

/* What is not reported of a call that it is not inside of: the node that it may have made. */
static void miss(const struct followed *f, const struct rocprofiler_call_data *data)
{
	void *stream;

	if (f->kind == WIRE_CALL_NODE)
		hip_graphs_add((uint8_t)(f - calls), data, NULL);
	else if (hip_graphs_captures() && find_stream(f, data, &stream))
		hip_graphs_missed(stream);
}

static void has_returned(uint8_t number, const struct rocprofiler_call_data *data, uint64_t opened)
{
	const struct followed *f = &calls[number];

	if (f->kind == WIRE_CALL_EVENT)
		event_is_recorded(f, data);
	else if (f->kind == WIRE_CALL_STREAM)
		stream_is_made(data);
	else if (f->kind == WIRE_CALL_CHANGE)
		hip_graphs_change(number, data, result_of(data));
	else if (opened && opened == current.open.correlation)
		leave(data, result_of(data));
	else if (!current.open.correlation)
		miss(f, data);
}

void on_call(struct rocprofiler_call_record r, uint64_t *user_data, void *data)
{
	const void *frame = __builtin_frame_address(0);
	uint8_t number;

	if (!is_alive() || r.operation < 0 || r.operation >= OPERATIONS_MAX)
		return;
	hsa_is_not_alone();
	number = numbers[CALLS_OF_HIP][r.operation];
	if (number && r.phase == ROCPROFILER_PHASE_EXIT)
		has_returned(number, r.payload, *user_data);
	else if (number && r.phase == ROCPROFILER_PHASE_ENTER &&
		 calls[number].kind < WIRE_CALL_EVENT)
		enter(number, r.payload, user_data, frame);
}

/* --- HSA, without HIP */

static bool waits(uint8_t number)
{
	return calls[number].kind == WIRE_CALL_SYNC;
}

/* In its own member of a union of words, behind the arguments. */
static int32_t hsa_result(uint8_t number, const struct rocprofiler_call_data *data)
{
	int32_t result = 0;

	if (calls[number].kind == WIRE_CALL_COPY && data && data->size <= DATA_BYTES_MAX &&
		data->size >= sizeof(*data) + sizeof(uint64_t))
		memcpy(&result, (const uint8_t *)data + data->size - sizeof(uint64_t),
			sizeof(result));
	return result;
}

/* OpenCL is reported, and asks HSA for its work: only HIP's is ours then. */
static bool is_below_another(void)
{
	return __atomic_load_n(&library.opencl_above, __ATOMIC_RELAXED);
}

/* Most of them only change a signal: their stacks are not worth walking. */
void on_hsa_call(struct rocprofiler_call_record r, uint64_t *user_data, void *data)
{
	const void *frame = __builtin_frame_address(0);
	enum call_table table = (enum call_table)(uintptr_t)data;
	uint8_t number;

	if (!is_alive() || r.operation < 0 || r.operation >= OPERATIONS_MAX)
		return;
	number = numbers[table][r.operation];
	if (is_below_another() && r.phase == ROCPROFILER_PHASE_ENTER) {
		hsa_is_not_alone();
	} else if (number && r.phase == ROCPROFILER_PHASE_ENTER && waits(number)) {
		enter(number, r.payload, user_data, frame);
	} else if (number && r.phase == ROCPROFILER_PHASE_ENTER && !current.open.correlation) {
		inside_hsa.number = number;
		inside_hsa.start_ns = now_ns();
	} else if (number && r.phase == ROCPROFILER_PHASE_EXIT) {
		if (current.open.correlation && current.open.call == number)
			leave(r.payload, hsa_result(number, r.payload));
		inside_hsa.number = 0;
	}
}

static void open_hsa_call(const void *frame)
{
	const struct followed *f = &calls[inside_hsa.number];

	current = (struct entered){.frame = frame,
		.stream = STREAM_OF_QUEUE,
		.open = {.correlation = next_id(),
			.call = inside_hsa.number,
			.flags = library.marker || library.walk ? 0 : WIRE_FLAG_UNMARKED,
			.start_ns = inside_hsa.start_ns}};
	if (library.overhead)
		bursts_call_begins();
	if (!(current.open.flags & WIRE_FLAG_UNMARKED))
		call_report_stack(&current.open, f->kind, frame);
}

/* --- work */

/* In the thread that hands work to a GPU. That is the one that calls, unless the program has asked
 * HIP for threads of its own: such work is of no call. */
int on_request(uint64_t thread, uint64_t context, int32_t kind, int32_t operation,
	uint64_t internal, uint64_t *external, void *data)
{
	*external = NOT_RECORDED;
	if (!is_alive() || !is_recording() || (is_below_another() && !current.open.correlation))
		return 0;
	if (!current.open.correlation && inside_hsa.number)
		open_hsa_call(__builtin_frame_address(0));
	current.ticket = current.launched ? tickets_take() : 0;
	*external = current.open.correlation
			    ? work_id(current.open.correlation, current.stream, current.ticket)
			    : 0;
	if (current.ticket && kind == ROCPROFILER_REQUEST_COPY)
		tickets_fill(current.ticket, current.open.correlation,
			hip_graphs_node(current.launched, NULL));
	current.asked++;
	__atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* In the same thread, behind that: which kernel it is. */
void on_dispatch(struct rocprofiler_call_record r, uint64_t *user_data, void *data)
{
	const struct rocprofiler_dispatch_call *d = r.payload;

	if (!is_alive() || !current.open.correlation || !current.ticket ||
		r.operation != ROCPROFILER_ENQUEUE || r.phase != ROCPROFILER_PHASE_ENTER || !d ||
		d->size < sizeof(*d))
		return;
	tickets_fill(current.ticket, current.open.correlation,
		hip_graphs_node(current.launched, symbols_get(d->kernel).name));
	current.ticket = 0;
}
