// SPDX-License-Identifier: MIT
/* The profile file: what is written is read back, and nothing else ever is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "profile/crc32c.h"
#include "profile/entries.h"
#include "profile/events.h"
#include "profile/format.h"
#include "profile/reader.h"
#include "profile/varint.h"
#include "profile/table.h"
#include "profile/writer.h"
#include "random.h"
#include "tap.h"

#define MUST(condition) CHECK(condition)
#include "profile_sense.h"

/* A file in memory, as it is written many thousands of times. */
static char path[64];

/* Numbers of any length, short ones as often as long ones, now and then the largest. */
static uint64_t random_number(unsigned int bits)
{
	uint64_t x = random_u64() >> (64 - bits);

	return random_u64() % 16 ? x >> random_u64() % bits : ~0ull >> (64 - bits);
}

static uint32_t random_u32(void)
{
	return (uint32_t)random_number(32);
}

static uint32_t random_id(uint32_t count)
{
	return (uint32_t)(random_u64() % ((uint64_t)count + 1));
}

#define STRINGS	     60
#define MODULES	     20
#define LOCATIONS    50
#define STACKS	     80
#define PROCESSES    6
#define THREADS	     15
#define DEVICES	     3
#define OPS	     30
#define FUNCTIONS    12
#define INSTRUCTIONS 70
#define WINDOWS	     20
#define COUNTERS     9
#define BURSTS	     11
#define PROBE_MAPS   5
#define CONTEXTS     3
/* Behind the number of bursts in an end mark: markers, and these. */
#define PROBE_COUNTS 0, 1, PROBE_MAPS, CONTEXTS, 1, 1

/* What was written, to be compared with what is read. */
static struct recording {
	struct vec(char *) strings;
	struct vec(struct profile_module) modules;
	struct vec(struct profile_location) locations;
	struct vec(struct profile_stack_node) stacks;
	struct vec(struct profile_process) processes;
	struct vec(struct profile_thread) threads;
	struct vec(struct profile_device) devices;
	struct vec(struct profile_op) ops;
	struct vec(struct profile_gpu_function) functions;
	struct vec(struct profile_instruction) instructions;
	struct vec(struct profile_window) windows;
	struct vec(struct profile_counter) counters;
	struct vec(struct profile_burst) bursts;
	struct vec(struct profile_event) events;
} wrote;

static void forget_recording(void)
{
	vec_foreach (text, &wrote.strings)
		free(*text);
	vec_release(&wrote.strings);
	vec_release(&wrote.modules);
	vec_release(&wrote.locations);
	vec_release(&wrote.stacks);
	vec_release(&wrote.processes);
	vec_release(&wrote.threads);
	vec_release(&wrote.devices);
	vec_release(&wrote.ops);
	vec_release(&wrote.functions);
	vec_release(&wrote.instructions);
	vec_release(&wrote.windows);
	vec_release(&wrote.counters);
	vec_release(&wrote.bursts);
	vec_release(&wrote.events);
}

/* Entries are made different by a running number, so that ids are those of the lists. */

static void write_strings(struct profile_writer *w)
{
	char text[64];
	uint32_t id;

	for (uint32_t i = 0; i < STRINGS; i++) {
		snprintf(text, sizeof(text), "string %u of %" PRIx64, i, random_number(64));
		CHECK(!profile_add_string(w, text, strlen(text), &id));
		CHECK(id == i + 1);
		vec_push(&wrote.strings, strdup(text));
	}
}

static void write_modules(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < MODULES; i++) {
		struct profile_module m = {.kind = 1 + i % 5,
			.path = i + 1,
			.flags = i % 3 ? 0 : i,
			.build_id_size = (uint8_t)(i % 21)};

		for (int byte = 0; byte < m.build_id_size; byte++)
			m.build_id[byte] = (uint8_t)random_u64();
		CHECK(!profile_add_module(w, &m, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.modules, m);
	}
}

static void write_locations(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < LOCATIONS; i++) {
		struct profile_location l = {.kind = 1 + i % 4, .module = random_id(MODULES)};

		l.address = random_number(56) << 8 | i;
		if (l.kind == FRAME_PYTHON || l.kind == FRAME_NOTE) {
			l.name = random_id(STRINGS);
			l.file = random_id(STRINGS);
			l.line = random_u32();
		}
		CHECK(!profile_add_location(w, &l, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.locations, l);
	}
}

static void write_stacks(struct profile_writer *w)
{
	uint32_t id, count = 0;

	while (count < STACKS) {
		struct profile_stack_node node = {random_id(count), 1 + random_id(LOCATIONS - 1)};

		CHECK(!profile_add_stack_node(w, node.parent, node.location, &id));
		if (id <= count)
			continue;
		CHECK(id == ++count);
		vec_push(&wrote.stacks, node);
	}
}

static void write_tasks(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct profile_process p = {.pid = i,
			.parent = random_id(i),
			.start_ns = random_number(64),
			.comm = random_id(STRINGS),
			.cmdline = random_id(STRINGS)};

		CHECK(!profile_add_process(w, &p, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.processes, p);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		struct profile_thread t = {.process = random_id(PROCESSES),
			.tid = i,
			.name = random_id(STRINGS),
			.flags = i % 3 ? 0 : THREAD_PROFILER};

		CHECK(!profile_add_thread(w, &t, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.threads, t);
	}
}

static void write_devices(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < DEVICES; i++) {
		struct profile_device d;

		memset(&d, 0xa5, sizeof(d)); /* its padding must not matter */
		for (size_t byte = 0; byte < sizeof(d.uuid); byte++)
			d.uuid[byte] = (uint8_t)random_u64();
		d.ordinal = i;
		d.name = random_id(STRINGS);
		d.sm_count = random_u32();
		d.clock_khz = random_u32();
		d.memory_bytes = random_number(64);
		CHECK(!profile_add_device(w, &d, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.devices, d);
	}
}

static void write_ops(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < OPS; i++) {
		struct profile_op op = {.kind = 1 + i % 3,
			.process = random_id(PROCESSES),
			.device = random_id(DEVICES),
			.context = random_u32(),
			.stream = i,
			.name = random_id(STRINGS),
			.registers = random_u32(),
			.grid = {random_u32(), random_u32(), random_u32()},
			.block = {random_u32(), random_u32(), random_u32()},
			.shared_static_bytes = random_u32(),
			.shared_dynamic_bytes = random_u32(),
			.copy_kind = (uint8_t)(random_u64() % COPY_KINDS),
			.source_memory = (uint8_t)(random_u64() % MEMORY_KINDS),
			.target_memory = (uint8_t)(random_u64() % MEMORY_KINDS)};

		CHECK(!profile_add_op(w, &op, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.ops, op);
	}
}

static void write_gpu_code(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_gpu_function f = {.module = 1 + random_id(MODULES - 1),
			.name = random_id(STRINGS),
			.index = i};

		CHECK(!profile_add_gpu_function(w, &f, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.functions, f);
	}
	for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
		struct profile_instruction in = {
			.function = 1 + random_id(FUNCTIONS - 1), .offset = i * 16};

		if (i % 3 == 0) {
			in.text = random_id(STRINGS);
			in.file = random_id(STRINGS);
			in.line = random_u32();
		}
		CHECK(!profile_add_instruction(w, &in, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.instructions, in);
	}
}

static void write_windows(struct profile_writer *w)
{
	uint32_t id;

	for (uint32_t i = 0; i < WINDOWS; i++) {
		struct profile_window window = {.process = random_id(PROCESSES),
			.instance = random_u32(),
			.device = random_id(DEVICES),
			.context = random_u32(),
			.start_ns = random_number(64),
			.end_ns = random_number(64),
			.period_cycles = random_number(64),
			.samples = random_number(64),
			.dropped = random_number(64),
			.without_code = random_number(64),
			.exact = i & 1};

		/* Equal ones stay two. */
		if (i == 1)
			window = wrote.windows.items[0];
		CHECK(!profile_add_window(w, &window, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.windows, window);
	}
	for (uint32_t i = 0; i < COUNTERS; i++) {
		struct profile_counter c = {.name = i + 1, .unit = random_id(STRINGS)};

		CHECK(!profile_add_counter(w, &c, &id));
		CHECK(id == i + 1);
		vec_push(&wrote.counters, c);
	}
}

/* Of instances that calls have, some of them without a burst, some of no sense. */
static void write_bursts(struct profile_writer *w)
{
	for (uint32_t i = 0; i < BURSTS; i++) {
		struct profile_burst b = {.process = random_id(PROCESSES),
			.instance = random_id(3),
			.since_ns = random_number(62)};

		b.start_ns = b.since_ns + random_number(40);
		b.end_ns = b.start_ns + (i % 4 ? random_number(40) : 0);
		b.until_ns = b.end_ns + random_number(40);
		if (i == BURSTS - 1)
			b.until_ns = b.since_ns - 1;
		CHECK(!profile_add_burst(w, &b));
		vec_push(&wrote.bursts, b);
	}
}

static void write_probes(struct profile_writer *w)
{
	struct profile_probe_kernel kernel = {.hash = UINT64_MAX,
		.name = 1,
		.programs = 2,
		.returns = 3,
		.accesses = 4,
		.images = 5,
		.about = 2,
		.module = UINT64_MAX,
		.bound = 64};
	struct profile_probe_line line = {
		.kernel = UINT64_MAX, .insn = 7, .file = 2, .line = 12, .bytes = 8, .kind = 1};
	struct profile_probe_object object = {.name = 1, .tool = 2, .file = 3};
	struct profile_probe_context context = {.process = 1, .device = 1};
	uint32_t id;

	CHECK(!profile_add_probe_object(w, &object, &id) && id == 1);
	for (uint32_t i = 1; i <= PROBE_MAPS; i++)
		CHECK(!profile_add_probe_map(w,
			      &(struct profile_probe_map){.object = 1, .number = i, .name = i},
			      &id) &&
			id == i);
	for (uint32_t i = 1; i <= CONTEXTS; i++)
		CHECK(!profile_add_probe_context(w, &context, &id) && id == i);
	CHECK(!profile_add_probe_kernel(w, &kernel));
	CHECK(!profile_add_probe_line(w, &line));
}

static void write_tables(struct profile_writer *w)
{
	write_strings(w);
	write_modules(w);
	write_locations(w);
	write_stacks(w);
	write_tasks(w);
	write_devices(w);
	write_ops(w);
	write_gpu_code(w);
	write_windows(w);
	write_bursts(w);
	write_probes(w);
}

static struct profile_sample random_sample(void)
{
	return (struct profile_sample){.time_ns = random_number(64),
		.period_ns = random_number(2),
		.thread = random_id(THREADS),
		.stack = random_id(STACKS),
		.cpu = random_u32()};
}

/* Few ids, so that works meet calls. */
static struct profile_call random_call(void)
{
	return (struct profile_call){.start_ns = random_number(64),
		.duration_ns = random_number(64),
		.thread = random_id(THREADS),
		.stack = random_id(STACKS),
		.api = random_id(STRINGS),
		.kind = 1 + random_u64() % (CALL_KINDS - 1),
		.result = random_u64() % 4 ? 0 : (int32_t)random_u32(),
		.instance = random_id(3),
		.correlation = (uint32_t)random_number(5)};
}

static struct profile_work random_work(const struct profile_call *last)
{
	struct profile_work w = {.start_ns = random_number(64),
		.duration_ns = random_number(64),
		.op = 1 + random_id(OPS - 1),
		.correlation = random_u32(),
		.instance = random_u32(),
		.join = random_u64() % 2 ? JOIN_OK : random_u64() % JOIN_REASONS};

	if (random_u64() % 2)
		w.bytes = random_number(64);
	if (random_u64() % 2)
		w.queued_ns = random_number(64);
	if (random_u64() % 2)
		w.submitted_ns = random_number(64);
	if (random_u64() % 2)
		w.graph_node = random_number(64);
	if (random_u64() % 2)
		w.node_stack = random_id(STACKS);
	if (random_u64() % 2)
		w.graph_context = random_u32();
	if (random_u64() % 2)
		w.graph_stream = random_u32();
	if (random_u64() % 2)
		w.grid = random_number(64);
	if (random_u64() % 2)
		w.stands_for = random_u32() % (WORK_STANDS_FOR_MAX + 1);
	if (random_u64() % 2) {
		w.launch_ns = random_number(64);
		w.thread = random_id(THREADS);
		w.stack = random_id(STACKS);
		w.api = random_id(STRINGS);
	} else if (last->kind) {
		w.instance = last->instance;
		w.correlation = last->correlation;
		w.launch_ns = last->start_ns + !(random_u64() % 4);
		w.thread = last->thread;
		w.stack = last->stack;
		w.api = last->api;
	}
	return w;
}

static struct profile_pending random_pending(void)
{
	return (struct profile_pending){.start_ns = random_number(64),
		.thread = random_id(THREADS),
		.stack = random_id(STACKS),
		.api = random_id(STRINGS),
		.instance = random_u32(),
		.correlation = random_u32(),
		.reason = 1 + random_u64() % (PENDING_REASONS - 1)};
}

static struct profile_stall random_stall(void)
{
	return (struct profile_stall){.window = 1 + random_id(random_u64() % 4 ? 1 : WINDOWS - 1),
		.instruction = 1 + random_id(INSTRUCTIONS - 1),
		.reason = random_id(STRINGS),
		.correlation = random_u64() % 4 ? 0 : random_u32(),
		.samples = random_number(64)};
}

static struct profile_count random_count(void)
{
	return (struct profile_count){.start_ns = random_number(64),
		.duration_ns = random_number(2),
		.device = random_id(DEVICES),
		.counter = 1 + random_id(COUNTERS - 1),
		.value = (double)(int64_t)random_u64() / 3};
}

static struct profile_driver random_driver(void)
{
	struct profile_driver d = {.start_ns = random_number(64),
		.duration_ns = random_number(64),
		.bytes = random_u64() % 2 ? 0 : random_number(64),
		.job = random_u64() % 2 ? 0 : random_number(64),
		.thread = random_id(THREADS),
		.source = random_id(1),
		.ring = random_id(STRINGS),
		.name = random_id(STRINGS),
		.kind = 1 + random_u64() % (DRIVER_KINDS - 1),
		.foreign = random_u64() % 2,
		.unfinished = random_u64() % 2};

	if (d.kind == DRIVER_MOMENT)
		d.duration_ns = 0;
	return d;
}

static struct profile_wait random_wait(void)
{
	uint64_t duration_ns = random_number(64);

	return (struct profile_wait){.start_ns = random_number(64),
		.duration_ns = duration_ns,
		.queued_ns = random_u64() % 2 ? 0 : duration_ns / 3,
		.others_ns = random_u64() % 2 ? 0 : random_number(64),
		.others = random_u64() % 2 ? 0 : random_number(64),
		.thread = random_id(THREADS),
		.stack = random_id(STACKS),
		.waker = random_u64() % 2 ? 0 : random_id(THREADS),
		.assumed = random_u64() % 2,
		.reason = 1 + random_u64() % (WAIT_REASONS - 1)};
}

static struct profile_life random_life(void)
{
	uint64_t duration_ns = random_number(64);

	return (struct profile_life){.start_ns = random_number(64),
		.duration_ns = duration_ns,
		.run_ns = duration_ns / 2,
		.thread = 1 + random_id(THREADS - 1)};
}

static struct profile_marker random_marker(void)
{
	struct profile_marker m = {.start_ns = random_number(64),
		.duration_ns = random_number(64),
		.thread = random_id(THREADS),
		.name = random_id(STRINGS),
		.domain = random_u64() % 2,
		.kind = 1 + random_u64() % (MARKER_KINDS - 1),
		.unfinished = random_u64() % 2};

	if (m.kind == MARKER_MOMENT)
		m.duration_ns = 0;
	return m;
}

/* Half of them are of the last call. */
static struct profile_sync random_sync(const struct profile_call *last)
{
	struct profile_sync s = {.start_ns = random_number(64),
		.duration_ns = random_number(64),
		.recorded_ns = random_u64() % 2 ? 0 : random_number(64),
		.instance = random_id(3),
		.correlation = random_u32(),
		.thread = random_id(THREADS),
		.stack = random_id(STACKS),
		.api = random_id(STRINGS),
		.device = random_id(DEVICES),
		.context = random_u32(),
		.stream = random_u32(),
		.kind = 1 + random_u64() % (SYNC_KINDS - 1)};

	if (random_u64() % 2) {
		s.instance = last->instance;
		s.correlation = last->correlation;
		s.thread = last->thread;
		s.stack = last->stack;
		s.api = last->api;
	}
	return s;
}

static uint8_t found_bytes[FOUND_MAX_BYTES];

/* Most are short; some are longer than any other event. */
static struct profile_found random_found(void)
{
	bool record = random_u64() % 2;

	for (size_t i = 0; !found_bytes[0] && i < sizeof(found_bytes); i++)
		found_bytes[i] = (uint8_t)(i * 7 + 1);
	return (struct profile_found){.time_ns = random_number(64),
		.grid = record ? random_number(64) : 0,
		.map = 1 + random_id(PROBE_MAPS - 1),
		.context = 1 + random_id(CONTEXTS - 1),
		.program = record ? 1 + random_id(3) : 0,
		.text = record ? random_id(3) : 0,
		.sm = random_u64() % 2 ? 0 : random_u32(),
		.thread = random_u64() % 2 ? 0 : random_number(64),
		.size = (uint32_t)(random_u64() % 64 ? random_u64() % 100
						     : random_u64() % (FOUND_MAX_BYTES + 1)),
		.bytes = found_bytes};
}

static struct profile_event random_event(struct profile_call *last)
{
	struct profile_event e = {.kind = EVENT_SAMPLE + random_u64() % EVENT_LAST};

	switch (e.kind) {
	case EVENT_SAMPLE:
		e.sample = random_sample();
		break;
	case EVENT_CALL:
		e.call = *last = random_call();
		break;
	case EVENT_WORK:
		e.work = random_work(last);
		break;
	case EVENT_PENDING:
		e.pending = random_pending();
		break;
	case EVENT_STALL:
		e.stall = random_stall();
		break;
	case EVENT_COUNT:
		e.count = random_count();
		break;
	case EVENT_DRIVER:
		e.driver = random_driver();
		break;
	case EVENT_WAIT:
		e.wait = random_wait();
		break;
	case EVENT_LIFE:
		e.life = random_life();
		break;
	case EVENT_MARKER:
		e.marker = random_marker();
		break;
	case EVENT_SYNC:
		e.sync = random_sync(last);
		break;
	case EVENT_FOUND:
		e.found = random_found();
		break;
	}
	return e;
}

static int write_event(struct profile_writer *w, const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return profile_write_sample(w, &e->sample);
	case EVENT_CALL:
		return profile_write_call(w, &e->call);
	case EVENT_WORK:
		return profile_write_work(w, &e->work);
	case EVENT_PENDING:
		return profile_write_pending(w, &e->pending);
	case EVENT_STALL:
		return profile_write_stall(w, &e->stall);
	case EVENT_COUNT:
		return profile_write_count(w, &e->count);
	case EVENT_DRIVER:
		return profile_write_driver(w, &e->driver);
	case EVENT_WAIT:
		return profile_write_wait(w, &e->wait);
	case EVENT_LIFE:
		return profile_write_life(w, &e->life);
	case EVENT_SYNC:
		return profile_write_sync(w, &e->sync);
	case EVENT_MARKER:
		return profile_write_marker(w, &e->marker);
	case EVENT_FOUND:
		return profile_write_found(w, &e->found);
	}
	return -EINVAL;
}

static void write_events(struct profile_writer *w, size_t count, size_t flush_every)
{
	struct profile_call last = {0};

	for (size_t i = 0; i < count; i++) {
		struct profile_event e = random_event(&last);

		CHECK(!write_event(w, &e));
		vec_push(&wrote.events, e);
		if (i % flush_every == flush_every - 1)
			CHECK(!profile_writer_flush(w));
	}
}

static void write_recording(size_t events, size_t flush_every)
{
	struct profile_writer *w;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_set_meta(w, META_COMMAND, "will be replaced"));
	write_tables(w);
	write_events(w, events, flush_every);
	CHECK(!profile_count_loss(w, LOSS_GPU_RING_FULL, 40));
	CHECK(!profile_writer_flush(w));
	CHECK(!profile_count_loss(w, LOSS_GPU_RING_FULL, 2));
	CHECK(!profile_set_meta(w, META_COMMAND, "./train --fast"));
	CHECK(!profile_set_meta(w, "own key", ""));
	CHECK(!profile_writer_close(w));
}

static bool same_event(const struct profile_event *a, const struct profile_event *b)
{
	if (a->kind != b->kind)
		return false;
#define SAME(of, member) (a->of.member == b->of.member)
	switch (a->kind) {
	case EVENT_SAMPLE:
		return SAME(sample, time_ns) && SAME(sample, period_ns) && SAME(sample, thread) &&
		       SAME(sample, stack) && SAME(sample, cpu);
	case EVENT_CALL:
		return SAME(call, start_ns) && SAME(call, duration_ns) && SAME(call, thread) &&
		       SAME(call, stack) && SAME(call, api) && SAME(call, kind) &&
		       SAME(call, result) && SAME(call, instance) && SAME(call, correlation);
	case EVENT_WORK:
		return SAME(work, start_ns) && SAME(work, duration_ns) && SAME(work, bytes) &&
		       SAME(work, queued_ns) && SAME(work, submitted_ns) &&
		       SAME(work, graph_node) && SAME(work, launch_ns) && SAME(work, op) &&
		       SAME(work, thread) && SAME(work, stack) && SAME(work, node_stack) &&
		       SAME(work, api) && SAME(work, instance) && SAME(work, correlation) &&
		       SAME(work, graph_context) && SAME(work, graph_stream) && SAME(work, join) &&
		       SAME(work, grid) && SAME(work, stands_for);
	case EVENT_PENDING:
		return SAME(pending, start_ns) && SAME(pending, thread) && SAME(pending, stack) &&
		       SAME(pending, api) && SAME(pending, instance) &&
		       SAME(pending, correlation) && SAME(pending, reason);
	case EVENT_STALL:
		return SAME(stall, window) && SAME(stall, instruction) && SAME(stall, reason) &&
		       SAME(stall, correlation) && SAME(stall, samples);
	case EVENT_COUNT:
		return SAME(count, start_ns) && SAME(count, duration_ns) && SAME(count, device) &&
		       SAME(count, counter) && SAME(count, value);
	case EVENT_DRIVER:
		return SAME(driver, start_ns) && SAME(driver, duration_ns) && SAME(driver, bytes) &&
		       SAME(driver, job) && SAME(driver, thread) && SAME(driver, source) &&
		       SAME(driver, ring) && SAME(driver, name) && SAME(driver, kind) &&
		       SAME(driver, foreign) && SAME(driver, unfinished);
	case EVENT_WAIT:
		return SAME(wait, start_ns) && SAME(wait, duration_ns) && SAME(wait, queued_ns) &&
		       SAME(wait, others_ns) && SAME(wait, others) && SAME(wait, thread) &&
		       SAME(wait, stack) && SAME(wait, waker) && SAME(wait, reason) &&
		       SAME(wait, assumed);
	case EVENT_LIFE:
		return SAME(life, start_ns) && SAME(life, duration_ns) && SAME(life, run_ns) &&
		       SAME(life, thread);
	case EVENT_SYNC:
		return SAME(sync, start_ns) && SAME(sync, duration_ns) && SAME(sync, recorded_ns) &&
		       SAME(sync, instance) && SAME(sync, correlation) && SAME(sync, thread) &&
		       SAME(sync, stack) && SAME(sync, api) && SAME(sync, device) &&
		       SAME(sync, context) && SAME(sync, stream) && SAME(sync, kind);
	case EVENT_MARKER:
		return SAME(marker, start_ns) && SAME(marker, duration_ns) &&
		       SAME(marker, thread) && SAME(marker, name) && SAME(marker, domain) &&
		       SAME(marker, kind) && SAME(marker, unfinished);
	case EVENT_FOUND:
		return SAME(found, time_ns) && SAME(found, grid) && SAME(found, map) &&
		       SAME(found, context) && SAME(found, program) && SAME(found, text) &&
		       SAME(found, sm) && SAME(found, thread) && SAME(found, size) &&
		       !memcmp(a->found.bytes, b->found.bytes, a->found.size);
	}
	return false;
}

static bool same_location(const struct profile_location *a, const struct profile_location *b)
{
	return a->kind == b->kind && a->module == b->module && a->address == b->address &&
	       a->name == b->name && a->file == b->file && a->line == b->line;
}

static bool same_module(const struct profile_module *a, const struct profile_module *b)
{
	return a->kind == b->kind && a->path == b->path && a->flags == b->flags &&
	       a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, BUILD_ID_MAX);
}

static bool same_process(const struct profile_process *a, const struct profile_process *b)
{
	return a->pid == b->pid && a->parent == b->parent && a->start_ns == b->start_ns &&
	       a->comm == b->comm && a->cmdline == b->cmdline;
}

static bool same_thread(const struct profile_thread *a, const struct profile_thread *b)
{
	return a->process == b->process && a->tid == b->tid && a->name == b->name &&
	       a->flags == b->flags;
}

static bool same_device(const struct profile_device *a, const struct profile_device *b)
{
	return !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) && a->ordinal == b->ordinal &&
	       a->name == b->name && a->sm_count == b->sm_count && a->clock_khz == b->clock_khz &&
	       a->memory_bytes == b->memory_bytes;
}

static bool same_op(const struct profile_op *a, const struct profile_op *b)
{
	return a->kind == b->kind && a->process == b->process && a->device == b->device &&
	       a->context == b->context && a->stream == b->stream && a->name == b->name &&
	       !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
	       !memcmp(a->block, b->block, sizeof(a->block)) && a->registers == b->registers &&
	       a->shared_static_bytes == b->shared_static_bytes &&
	       a->shared_dynamic_bytes == b->shared_dynamic_bytes && a->copy_kind == b->copy_kind &&
	       a->source_memory == b->source_memory && a->target_memory == b->target_memory;
}

static bool same_function(
	const struct profile_gpu_function *a, const struct profile_gpu_function *b)
{
	return a->module == b->module && a->name == b->name && a->index == b->index;
}

static bool same_instruction(
	const struct profile_instruction *a, const struct profile_instruction *b)
{
	return a->function == b->function && a->offset == b->offset && a->text == b->text &&
	       a->file == b->file && a->line == b->line && a->inlined == b->inlined;
}

static bool same_window(const struct profile_window *a, const struct profile_window *b)
{
	return a->process == b->process && a->instance == b->instance && a->device == b->device &&
	       a->context == b->context && a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
	       a->period_cycles == b->period_cycles && a->samples == b->samples &&
	       a->dropped == b->dropped && a->without_code == b->without_code &&
	       a->exact == b->exact;
}

static bool same_counter(const struct profile_counter *a, const struct profile_counter *b)
{
	return a->name == b->name && a->unit == b->unit;
}

static bool same_burst(const struct profile_burst *a, const struct profile_burst *b)
{
	return a->process == b->process && a->instance == b->instance &&
	       a->since_ns == b->since_ns && a->until_ns == b->until_ns &&
	       a->start_ns == b->start_ns && a->end_ns == b->end_ns;
}

static void check_tables(const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);
	size_t size;

	CHECK(counts.strings == STRINGS && counts.modules == MODULES &&
		counts.locations == LOCATIONS);
	CHECK(counts.stack_nodes == STACKS && counts.processes == PROCESSES);
	CHECK(counts.threads == THREADS && counts.devices == DEVICES && counts.ops == OPS);
	CHECK(counts.gpu_functions == FUNCTIONS && counts.instructions == INSTRUCTIONS);
	CHECK(counts.windows == WINDOWS && counts.counters == COUNTERS && counts.bursts == BURSTS);
	CHECK(counts.probe_objects == 1 && counts.probe_maps == PROBE_MAPS &&
		counts.probe_contexts == CONTEXTS && counts.probe_kernels == 1 &&
		counts.probe_lines == 1);
	for (uint32_t i = 0; i < STRINGS; i++) {
		CHECK_TEXT(profile_string(r, i + 1, &size), wrote.strings.items[i]);
		CHECK(size == strlen(wrote.strings.items[i]));
	}
#define CHECK_TABLE(list, get, same)                                                               \
	for (uint32_t i = 0; i < wrote.list.count; i++)                                            \
		CHECK(same(get(r, i + 1), &wrote.list.items[i]));                                  \
	CHECK(!get(r, 0) && !get(r, (uint32_t)wrote.list.count + 1) && !get(r, UINT32_MAX))
	CHECK_TABLE(modules, profile_module, same_module);
	CHECK_TABLE(locations, profile_location, same_location);
	CHECK_TABLE(processes, profile_process, same_process);
	CHECK_TABLE(threads, profile_thread, same_thread);
	CHECK_TABLE(devices, profile_device, same_device);
	CHECK_TABLE(ops, profile_op, same_op);
	CHECK_TABLE(functions, profile_gpu_function, same_function);
	CHECK_TABLE(instructions, profile_instruction, same_instruction);
	CHECK_TABLE(windows, profile_window, same_window);
	CHECK_TABLE(counters, profile_counter, same_counter);
	CHECK_TABLE(bursts, profile_burst, same_burst);
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct profile_stack_node *node = profile_stack_node(r, i + 1);

		CHECK(node->parent == wrote.stacks.items[i].parent);
		CHECK(node->location == wrote.stacks.items[i].location);
	}
	CHECK_TEXT(profile_string(r, STRINGS + 1, &size), "");
	CHECK(size == 0);
}

static void check_recording(void)
{
	struct profile_reader *r;
	struct profile_event e;
	const char *key, *value;
	size_t same = 0, count = 0;
	int got;

	CHECK(!profile_reader_open(&r, path));
	while ((got = profile_reader_next(r, &e)) > 0) {
		same += count < wrote.events.count && same_event(&e, &wrote.events.items[count]);
		count++;
	}
	CHECK(got == 0);
	CHECK(!profile_reader_incomplete(r));
	CHECK(count == wrote.events.count);
	CHECK(same == count);
	check_tables(r);
	CHECK(profile_loss_count(r, LOSS_GPU_RING_FULL) == 42);
	CHECK(profile_loss_count(r, LOSS_GPU_DROPPED) == 0);
	CHECK_TEXT(profile_meta(r, META_COMMAND), "./train --fast");
	CHECK_TEXT(profile_meta(r, "own key"), "");
	CHECK(!profile_meta(r, META_CPUS));
	CHECK(profile_meta_at(r, 1, &key, &value) && !strcmp(key, "own key"));
	CHECK(!profile_meta_at(r, 2, &key, &value));
	CHECK(profile_reader_next(r, &e) == 0);
	profile_reader_close(r);
}

static void every_event_and_table_entry_reads_back_as_it_was_written(void)
{
	write_recording(100000, 1u << 30);
	check_recording();
}

static void flushing_at_any_moment_changes_nothing_that_is_read(void)
{
	write_recording(2000, 7);
	check_recording();
}

static void an_entry_without_fields_that_were_added_later_has_them_as_0(void)
{
	struct profile_module m = {.kind = MODULE_FILE, .path = 3, .flags = MODULE_PYTHON}, read;
	uint8_t bytes[ENTRY_MAX_BYTES];
	const uint8_t *end = entry_encode(TABLE_MODULES, &m, bytes), *at = bytes;

	CHECK(entry_decode(TABLE_MODULES, &at, end, &read) && at == end &&
		read.flags == MODULE_PYTHON);
	at = bytes;
	CHECK(entry_decode(TABLE_MODULES, &at, end - 1, &read) && at == end - 1);
	CHECK(read.path == 3 && !read.flags);
}

static void equal_entries_get_the_id_they_have(void)
{
	struct profile_writer *w;
	uint32_t id;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
#define CHECK_AGAIN(list, add)                                                                     \
	for (uint32_t i = 0; i < wrote.list.count; i++)                                            \
	CHECK(!add(w, &wrote.list.items[i], &id) && id == i + 1)
	CHECK_AGAIN(modules, profile_add_module);
	CHECK_AGAIN(locations, profile_add_location);
	CHECK_AGAIN(processes, profile_add_process);
	CHECK_AGAIN(threads, profile_add_thread);
	CHECK_AGAIN(devices, profile_add_device);
	CHECK_AGAIN(ops, profile_add_op);
	CHECK_AGAIN(functions, profile_add_gpu_function);
	CHECK_AGAIN(instructions, profile_add_instruction);
	CHECK_AGAIN(counters, profile_add_counter);
	for (uint32_t i = 0; i < STACKS; i++)
		CHECK(!profile_add_stack_node(w, wrote.stacks.items[i].parent,
			      wrote.stacks.items[i].location, &id) &&
			id == i + 1);
	for (uint32_t i = 0; i < STRINGS; i++)
		CHECK(!profile_add_string(
			      w, wrote.strings.items[i], strlen(wrote.strings.items[i]), &id) &&
			id == i + 1);
	profile_writer_abort(w);
}

static void an_entry_that_is_replaced_for_ever_takes_no_more_memory(void)
{
	struct table t;
	uint64_t entry = 0;
	uint32_t id, hash;

	table_init(&t, sizeof(entry));
	CHECK(!table_find(&t, &entry, sizeof(entry), &hash));
	CHECK(!table_append(&t, &entry, hash, &id));
	for (entry = 1; entry <= 100000; entry++)
		if (table_replace(&t, id, &entry, sizeof(entry)))
			CHECK(!"replaced");
	CHECK(t.index_mask < 256);
	entry = 100000;
	CHECK(table_find(&t, &entry, sizeof(entry), &hash) == id);
	entry = 99999;
	CHECK(!table_find(&t, &entry, sizeof(entry), &hash));
	table_release(&t);
}

static void a_gpu_is_one_device_whatever_number_a_process_has_for_it(void)
{
	struct profile_device d = {.uuid = {1}, .ordinal = 1, .memory_bytes = 5},
			      none = {.ordinal = 0};
	struct profile_writer *w;
	uint32_t first = 0, id = 0;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_device(w, &d, &first));
	d.ordinal = 0;
	CHECK(!profile_add_device(w, &d, &id) && id == first);
	d.uuid[15] = 2;
	CHECK(!profile_add_device(w, &d, &id) && id != first);
	CHECK(!profile_add_device(w, &none, &first));
	none.ordinal = 1;
	CHECK(!profile_add_device(w, &none, &id) && id != first);
	profile_writer_abort(w);
}

static void updated_processes_and_threads_read_back_with_their_last_names(void)
{
	struct profile_process p;
	struct profile_thread t;
	struct profile_writer *w;
	uint32_t id;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	for (int round = 0; round < 100; round++) {
		id = random_id(PROCESSES - 1);
		p = wrote.processes.items[id];
		p.comm = random_id(STRINGS);
		CHECK(!profile_update_process(w, id + 1, &p));
		wrote.processes.items[id] = p;
		id = random_id(THREADS - 1);
		t = wrote.threads.items[id];
		t.name = random_id(STRINGS);
		CHECK(!profile_update_thread(w, id + 1, &t));
		wrote.threads.items[id] = t;
		if (round % 10 == 0)
			CHECK(!profile_writer_flush(w));
	}
	CHECK(!profile_add_process(w, &p, &id));
	CHECK(same_process(&p, &wrote.processes.items[id - 1]));
	CHECK(profile_update_process(w, PROCESSES + 1, &p) == -EINVAL);
	CHECK(profile_update_thread(w, 0, &t) == -EINVAL);
	write_events(w, 10, 100);
	CHECK(!profile_count_loss(w, LOSS_GPU_RING_FULL, 42));
	CHECK(!profile_set_meta(w, META_COMMAND, "./train --fast"));
	CHECK(!profile_set_meta(w, "own key", ""));
	CHECK(!profile_writer_close(w));
	check_recording();
}

static void symbols_name_native_locations_and_the_last_one_wins(void)
{
	struct profile_reader *r;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t id;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!profile_add_symbol(w, 1, 1, 0, 0, 0));
	CHECK(!profile_add_symbol(w, 2, 5, 6, 77, 0));
	CHECK(!profile_add_symbol(w, 1, 3, 4, 12, 0));
	CHECK(profile_writer_location_count(w) == LOCATIONS);
	CHECK(profile_writer_location(w, 1)->line == 12);
	CHECK(profile_writer_module(w, 1)->kind == MODULE_FILE);
	CHECK_TEXT(profile_writer_string(w, 3), wrote.strings.items[2]);
	/* An address is the same place before and after it has a name. */
	CHECK(!profile_add_location(w, &wrote.locations.items[0], &id) && id == 1);
	CHECK(profile_add_symbol(w, 3, 1, 0, 0, 0) == -EINVAL); /* Python */
	CHECK(profile_add_symbol(w, LOCATIONS + 1, 1, 0, 0, 0) == -EINVAL);
	CHECK(profile_add_symbol(w, 1, STRINGS + 1, 0, 0, 0) == -EINVAL);
	CHECK(!profile_add_function_start(w, 2, 0x1234));
	CHECK(profile_add_function_start(w, 3, 0x1234) == -EINVAL);
	CHECK(profile_add_function_start(w, LOCATIONS + 1, 0x1234) == -EINVAL);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(!profile_reader_incomplete(r));
	CHECK(profile_location(r, 2)->function == 0x1234 && !profile_location(r, 1)->function);
	CHECK(profile_location(r, 1)->name == 3 && profile_location(r, 1)->file == 4);
	CHECK(profile_location(r, 1)->line == 12 && profile_location(r, 2)->line == 77);
	CHECK(profile_location(r, 1)->address == wrote.locations.items[0].address);
	profile_reader_close(r);
}

static void an_instruction_is_its_place_and_can_be_described_later(void)
{
	struct profile_inline in = {.name = 7, .line = 4};
	struct profile_instruction i;
	struct profile_reader *r;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t id;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!profile_writer_flush(w));
	CHECK(!profile_add_inline(w, &in, &id));
	i = wrote.instructions.items[1];
	i.inlined = id;
	i.text = 2;
	CHECK(!profile_add_instruction(w, &i, &id) && id == 2);
	CHECK(!profile_writer_instruction(w, 2)->text);
	CHECK(!profile_describe_instruction(w, 2, &i));
	CHECK(!profile_add_instruction(w, &wrote.instructions.items[1], &id) && id == 2);
	CHECK(profile_writer_instruction(w, 2)->text == 2);
	CHECK(profile_writer_instruction_count(w) == INSTRUCTIONS);
	CHECK(same_function(profile_writer_gpu_function(w, 3), &wrote.functions.items[2]));
	CHECK(profile_describe_instruction(w, 3, &i) == -EINVAL); /* that is another place */
	CHECK(profile_describe_instruction(w, INSTRUCTIONS + 1, &i) == -EINVAL);
	i.text = STRINGS + 1;
	CHECK(profile_describe_instruction(w, 2, &i) == -EINVAL);
	CHECK(!profile_writer_close(w));
	i.text = 2;
	wrote.instructions.items[1] = i;
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(!profile_reader_incomplete(r));
	check_tables(r);
	profile_reader_close(r);
}

/* As many rows as a window of a busy program has. */
static void a_row_of_instruction_samples_takes_six_bytes_or_less(void)
{
	struct profile_totals before, after;
	struct profile_writer *w;
	uint32_t id;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	for (uint32_t i = 0; i < 20000; i++) {
		struct profile_instruction in = {.function = 1, .offset = (INSTRUCTIONS + i) * 16};

		CHECK(!profile_add_instruction(w, &in, &id));
	}
	CHECK(!profile_writer_flush(w));
	profile_writer_totals(w, &before);
	for (uint32_t i = 0; i < 100000; i++) {
		struct profile_stall s = {.window = 1 + i / 10000,
			.instruction = 1 + (i * 7 + (uint32_t)random_number(9)) % 20000,
			.reason = 1 + (uint32_t)(random_u64() % 40),
			.samples = random_number(12)};

		CHECK(!profile_write_stall(w, &s));
	}
	CHECK(!profile_writer_flush(w));
	profile_writer_totals(w, &after);
	CHECK(after.file_bytes - before.file_bytes <= 600000);
	profile_writer_abort(w);
}

static void an_empty_recording_is_complete(void)
{
	struct profile_reader *r;
	struct profile_writer *w;
	struct profile_event e;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(!profile_reader_incomplete(r));
	CHECK(!profile_meta(r, META_COMMAND));
	profile_reader_close(r);
}

static void what_refers_to_nothing_is_refused_and_the_file_stays_good(void)
{
	struct profile_sample sample = {.thread = THREADS + 1};
	struct profile_call call = {.kind = CALL_KINDS};
	struct profile_work work = {.op = OPS + 1},
			    of_all = {.op = 1, .stands_for = WORK_STANDS_FOR_MAX + 1};
	struct profile_pending pending = {.reason = 0};
	struct profile_module module = {.kind = MODULE_FILE, .path = STRINGS + 1};
	struct profile_process process = {.pid = 99, .parent = PROCESSES + 1};
	struct profile_stall stall = {.window = 1, .instruction = INSTRUCTIONS + 1};
	struct profile_count count = {.counter = COUNTERS + 1};
	struct profile_gpu_function function = {.name = 1};
	struct profile_instruction instruction = {.function = FUNCTIONS + 1};
	struct profile_window window = {.device = DEVICES + 1};
	struct profile_counter counter = {.name = 0};
	struct profile_burst burst = {.process = PROCESSES + 1};
	struct profile_writer *w;
	uint32_t id = 7;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(profile_write_sample(w, &sample) == -EINVAL);
	CHECK(profile_write_call(w, &call) == -EINVAL);
	CHECK(profile_write_work(w, &of_all) == -EINVAL);
	CHECK(profile_write_work(w, &work) == -EINVAL);
	CHECK(profile_write_pending(w, &pending) == -EINVAL);
	CHECK(profile_add_module(w, &module, &id) == -EINVAL);
	CHECK(profile_add_process(w, &process, &id) == -EINVAL);
	CHECK(profile_write_stall(w, &stall) == -EINVAL);
	stall = (struct profile_stall){.window = WINDOWS + 1, .instruction = 1};
	CHECK(profile_write_stall(w, &stall) == -EINVAL);
	CHECK(profile_write_count(w, &count) == -EINVAL);
	count = (struct profile_count){.counter = 1, .value = NAN};
	CHECK(profile_write_count(w, &count) == -EINVAL);
	CHECK(profile_add_gpu_function(w, &function, &id) == -EINVAL);
	CHECK(profile_add_instruction(w, &instruction, &id) == -EINVAL);
	CHECK(profile_add_window(w, &window, &id) == -EINVAL);
	CHECK(profile_add_burst(w, &burst) == -EINVAL);
	CHECK(profile_add_counter(w, &counter, &id) == -EINVAL);
	CHECK(profile_add_stack_node(w, STACKS + 1, 1, &id) == -EINVAL);
	CHECK(profile_add_stack_node(w, 0, 0, &id) == -EINVAL);
	CHECK(profile_count_loss(w, LOSS_KINDS, 1) == -EINVAL);
	CHECK(id == 7);
	write_events(w, 10, 100);
	CHECK(!profile_count_loss(w, LOSS_GPU_RING_FULL, 42));
	CHECK(!profile_set_meta(w, META_COMMAND, "./train --fast"));
	CHECK(!profile_set_meta(w, "own key", ""));
	CHECK(!profile_writer_close(w));
	check_recording();
}

static void totals_add_up_while_writing(void)
{
	struct profile_totals t;
	struct profile_writer *w;
	struct profile_sample s = {.period_ns = 10};
	struct profile_work work = {.op = 1, .duration_ns = 7, .join = JOIN_LATE};
	struct profile_call c = {.kind = CALL_SYNC};
	struct profile_pending p = {.reason = PENDING_EMPTY};
	struct profile_stall stall = {.window = 1, .instruction = 1, .samples = 30};
	struct profile_count count = {.counter = 1};
	struct profile_wait wait = {.stack = 1, .reason = WAIT_LOCK, .duration_ns = 5};

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!profile_write_sample(w, &s) && !profile_write_sample(w, &s));
	CHECK(!profile_write_wait(w, &wait));
	wait.assumed = true; /* a stack that is counted with its own wait */
	CHECK(!profile_write_wait(w, &wait));
	CHECK(!profile_write_work(w, &work));
	work.stack = 1;
	work.join = JOIN_OK;
	CHECK(!profile_write_work(w, &work));
	CHECK(!profile_write_call(w, &c));
	CHECK(!profile_write_pending(w, &p));
	CHECK(!profile_write_stall(w, &stall) && !profile_write_stall(w, &stall));
	CHECK(!profile_write_count(w, &count));
	CHECK(!profile_count_loss(w, LOSS_GPU_TAKEN, 3));
	CHECK(!profile_writer_flush(w));
	profile_writer_totals(w, &t);
	CHECK(t.stalls == 2 && t.stall_samples == 60 && t.counts == 1);
	CHECK(t.waits == 2 && t.stacks == 1);
	CHECK(t.samples == 2 && t.cpu_ns == 20 && t.works == 2 && t.gpu_ns == 14);
	CHECK(t.calls == 1 && t.pendings == 1 && t.works_without_stack == 1);
	CHECK(t.join_by_reason[JOIN_LATE] == 1 && t.join_by_reason[JOIN_OK] == 1);
	CHECK(t.pending_by_reason[PENDING_EMPTY] == 1 && t.losses[LOSS_GPU_TAKEN] == 3);
	CHECK(t.file_bytes > FILE_HEADER_BYTES);
	profile_writer_abort(w);
}

/* ------------------------------------------------------------------ CPU times */

#define RAN(ns)	      (&(struct profile_account){.run_ns = (ns), .end_ns = 99})
#define SAMPLE(t, ns) (&(struct profile_sample){.thread = (t), .period_ns = (ns)})

/* Thread 1: three samples and an account. 2: an account and no sample. 3: the other way round. */
static void write_accounts(struct profile_writer *w)
{
	CHECK(!profile_write_sample(w, SAMPLE(1, 10)) && !profile_write_sample(w, SAMPLE(1, 10)));
	CHECK(!profile_write_sample(w, SAMPLE(3, 10)) && !profile_write_sample(w, SAMPLE(1, 10)));
	CHECK(!profile_add_account(w, 1, RAN(90)) && !profile_add_account(w, 1, RAN(10)));
	CHECK(!profile_add_account(w, 2, RAN(7)));
}

static void write_account_profile(void)
{
	struct profile_writer *w;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	write_accounts(w);
	CHECK(profile_add_account(w, THREADS + 1, RAN(1)) == -EINVAL);
	CHECK(!profile_writer_close(w));
}

static void samples_divide_what_their_thread_ran_to_the_nanosecond(void)
{
	static const struct profile_sample due[] = {
		{.thread = 1, .period_ns = 33},
		{.thread = 1, .period_ns = 33},
		{.thread = 3, .period_ns = 10},
		{.thread = 1, .period_ns = 34},
		{.thread = 2, .period_ns = 7, .time_ns = 99, .kind = SAMPLE_ABSENT},
	};
	struct profile_reader *r;
	struct profile_event e;

	write_account_profile();
	CHECK(!profile_reader_open(&r, path));
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_SAMPLE);
		CHECK(e.sample.thread == due[i].thread && e.sample.period_ns == due[i].period_ns);
		CHECK(e.sample.time_ns == due[i].time_ns && e.sample.kind == due[i].kind);
	}
	CHECK(!profile_reader_next(r, &e) && !profile_reader_incomplete(r));
	CHECK(profile_account(r, 1)->run_ns == 100 && profile_account(r, 2)->run_ns == 7);
	CHECK(!profile_account(r, 3) && !profile_account(r, THREADS + 1));
	CHECK(profile_reader_sums(r).samples == 4 && profile_reader_sums(r).cpu_ns == 40);
	profile_reader_close(r);
}

static void the_totals_of_an_ended_profile_have_all_bytes_of_its_file(void)
{
	struct profile_totals t;
	struct profile_writer *w;
	struct stat st;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	write_accounts(w);
	CHECK(!profile_writer_end(w));
	profile_writer_totals(w, &t);
	CHECK(!stat(path, &st) && (uint64_t)st.st_size == t.file_bytes);
	CHECK(!profile_writer_close(w));
	CHECK(!stat(path, &st) && (uint64_t)st.st_size == t.file_bytes);
}

static void what_ran_in_a_kernel_without_samples_is_not_divided(void)
{
	struct profile_account ran = {.run_ns = 100, .kernel_ns = 40};
	struct profile_writer *w;
	struct profile_reader *r;
	struct profile_event e;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!profile_write_sample(w, SAMPLE(1, 10)) && !profile_add_account(w, 1, &ran));
	CHECK(!profile_add_account(w, 2, &ran) && !profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.sample.period_ns == 60);
	CHECK(profile_reader_next(r, &e) == 1 && e.sample.kind == SAMPLE_KERNEL);
	CHECK(e.sample.thread == 1 && e.sample.period_ns == 40);
	CHECK(profile_reader_next(r, &e) == 1 && e.sample.kind == SAMPLE_ABSENT);
	CHECK(e.sample.thread == 2 && e.sample.period_ns == 60);
	CHECK(profile_reader_next(r, &e) == 1 && e.sample.kind == SAMPLE_KERNEL);
	CHECK(!profile_reader_next(r, &e));
	profile_reader_close(r);
}

static void a_recording_without_accounts_has_the_time_of_its_samples(void)
{
	struct profile_writer *w;
	struct profile_reader *r;
	struct profile_event e;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	write_accounts(w);
	CHECK(!profile_writer_flush(w));
	CHECK(!profile_reader_open(&r, path)); /* as one that was cut short */
	for (int i = 0; i < 4; i++)
		CHECK(profile_reader_next(r, &e) == 1 && e.sample.period_ns == 10);
	CHECK(!profile_reader_next(r, &e));
	profile_reader_close(r);
	profile_writer_abort(w);
}

/* So much is in the file by now, or a moment later. */
static bool file_has(uint64_t samples)
{
	struct profile_event e;
	struct profile_reader *r;
	uint64_t found = 0;

	for (int tries = 0; tries < 1000 && found < samples; tries++) {
		usleep(tries ? 10000 : 0);
		CHECK(!profile_reader_open(&r, path));
		while (profile_reader_next(r, &e) == 1)
			;
		found = profile_reader_sums(r).samples;
		profile_reader_close(r);
	}
	return found == samples;
}

static void what_waits_is_in_the_file_a_second_later_and_the_first_events_at_once(void)
{
	struct profile_sample s = {.period_ns = 10};
	struct profile_writer *w;
	uint64_t now_ns = 5000 * NS_PER_MS;

	forget_recording();
	CHECK(!profile_writer_open(&w, path) && !profile_writer_begin(w));
	write_tables(w);
	CHECK(!profile_write_sample(w, &s) && !profile_writer_push_due(w, now_ns));
	CHECK(!profile_writer_push_due(w, now_ns + 149 * NS_PER_MS) && file_has(0));
	CHECK(!profile_writer_push_due(w, now_ns + 150 * NS_PER_MS) && file_has(1));
	now_ns += 60000 * NS_PER_MS;
	CHECK(!profile_writer_push_due(w, now_ns));
	CHECK(!profile_write_sample(w, &s) && !profile_writer_push_due(w, now_ns));
	CHECK(!profile_writer_push_due(w, now_ns + 599 * NS_PER_MS) && file_has(1));
	CHECK(!profile_writer_push_due(w, now_ns + 600 * NS_PER_MS) && file_has(2));
	profile_writer_abort(w);
}

/* Reads a file that was cut short, and says where. */
static uint64_t bytes_that_make_sense(uint64_t *ret_samples)
{
	unsigned long long at = 0;
	struct profile_reader *r;
	struct profile_event e;
	int more;

	CHECK(!profile_reader_open(&r, path));
	while ((more = profile_reader_next(r, &e)) == 1)
		;
	CHECK(!more && profile_reader_incomplete(r));
	CHECK(sscanf(profile_reader_incomplete(r), "ends at byte %llu without", &at) == 1);
	CHECK(strstr(profile_reader_incomplete(r), ": the recording goes on, or was cut") != NULL);
	*ret_samples = profile_reader_sums(r).samples;
	profile_reader_close(r);
	return at;
}

static void a_full_disk_keeps_most_of_what_fits_and_no_half_chunk(void)
{
	struct rlimit before, small;
	struct profile_sample s = {.period_ns = 10};
	struct profile_totals t;
	struct profile_writer *w;
	uint64_t samples;
	struct stat st;
	int error = 0;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	for (rlim_t limit = 40000; limit < 1000000; limit *= 5) {
		small = (struct rlimit){.rlim_cur = limit, .rlim_max = before.rlim_max};
		CHECK(!setrlimit(RLIMIT_FSIZE, &small));
		forget_recording();
		CHECK(!profile_writer_open(&w, path) && !profile_writer_begin(w));
		write_tables(w);
		for (error = 0; !error; s.time_ns += 1000000)
			error = profile_write_sample(w, &s);
		CHECK(!setrlimit(RLIMIT_FSIZE, &before));
		profile_writer_totals(w, &t);
		CHECK(error == -EFBIG && strstr(error_text(), "File too large"));
		CHECK(!stat(path, &st) && (uint64_t)st.st_size == t.file_bytes);
		CHECK(t.file_bytes > limit / 2 && t.file_bytes <= limit);
		CHECK(bytes_that_make_sense(&samples) == t.file_bytes && samples > 0);
		profile_writer_abort(w);
	}
}

static void read_file(struct buf *b)
{
	CHECK(!io_read_file(path, 1u << 30, b));
}

static void write_file(const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK(fd >= 0 && !io_write_all(fd, data, size));
	close(fd);
}

/* Reads whatever there is: the number of events, or -1 when it is not a profile at all. */
static int read_anything(bool *ret_complete)
{
	struct profile_reader *r;
	struct profile_event e;
	int got, count = 0;

	got = profile_reader_open(&r, path);
	if (got) {
		CHECK(got == -EINVAL);
		return -1;
	}
	while ((got = profile_reader_next(r, &e)) > 0) {
		check_event(r, &e);
		count++;
	}
	CHECK(got == 0);
	check_all_tables(r);
	*ret_complete = !profile_reader_incomplete(r);
	profile_reader_close(r);
	return count;
}

static void a_file_cut_anywhere_reads_back_to_its_last_whole_chunk(void)
{
	struct buf file = BUF_INIT;
	bool complete = false;
	int count, last = 0;

	write_recording(60, 10);
	read_file(&file);
	for (size_t size = 0; size < file.size; size++) {
		write_file(file.data, size);
		count = read_anything(&complete);
		if (size < FILE_HEADER_BYTES) {
			CHECK(count == -1);
			continue;
		}
		CHECK(!complete);
		CHECK(count >= last && count % 10 == 0);
		last = count;
	}
	CHECK(last == 60);
	write_file(file.data, file.size);
	CHECK(read_anything(&complete) == 60 && complete);
	buf_release(&file);
}

static void no_flipped_byte_goes_unnoticed_or_yields_an_id_outside_the_tables(void)
{
	struct buf file = BUF_INIT;
	bool complete = false;

	write_recording(30, 10);
	read_file(&file);
	for (size_t at = 0; at < file.size; at++) {
		char byte = file.data[at];

		file.data[at] = (char)(byte ^ (1 + random_u64() % 255));
		write_file(file.data, file.size);
		if (read_anything(&complete) >= 0)
			CHECK(!complete);
		else
			CHECK(at < FILE_HEADER_BYTES);
		file.data[at] = byte;
	}
	buf_release(&file);
}

/* About half of all chunks, told by where they begin. */
static bool is_left_out(const void *count, uint64_t chunk)
{
	++*(size_t *)count;
	return chunk * HASH_FACTOR >> 63;
}

static void events_that_are_left_out_change_nothing_about_the_others(void)
{
	struct profile_reader *r;
	struct profile_event e, same;
	struct vec(struct profile_event) wanted = {0};
	size_t chunks = 0, count = 0;

	write_recording(100000, 2500);
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		if (!is_left_out(&chunks, profile_reader_chunk(r))) {
			if (e.kind == EVENT_FOUND)
				e.found.bytes = found_bytes;
			CHECK(!vec_push(&wanted, e));
		}
	profile_reader_close(r);
	CHECK(wanted.count > 20000 && wanted.count < 80000);
	chunks = 0;
	CHECK(!profile_reader_open(&r, path));
	profile_reader_skip(r, is_left_out, &chunks);
	for (; profile_reader_next(r, &same) > 0; count++)
		CHECK(count < wanted.count && same_event(&same, &wanted.items[count]));
	CHECK(count == wanted.count && chunks >= 40);
	CHECK(!profile_reader_incomplete(r));
	check_tables(r);
	CHECK_TEXT(profile_meta(r, META_COMMAND), "./train --fast");
	profile_reader_close(r);
	vec_release(&wanted);
}

static bool is_events(const void *none, uint64_t chunk)
{
	return true;
}

/* Returns whether it is complete. */
static bool read_tables(void)
{
	struct profile_reader *r;
	struct profile_event e;
	bool complete;

	if (profile_reader_open(&r, path))
		return false;
	profile_reader_skip(r, is_events, NULL);
	CHECK(profile_reader_next(r, &e) == 0);
	check_all_tables(r);
	complete = !profile_reader_incomplete(r);
	profile_reader_close(r);
	return complete;
}

static void a_file_that_is_cut_is_incomplete_with_its_events_left_out_too(void)
{
	struct buf file = BUF_INIT;

	write_recording(60, 10);
	read_file(&file);
	for (size_t size = 0; size < file.size; size++) {
		write_file(file.data, size);
		CHECK(!read_tables());
	}
	write_file(file.data, file.size);
	CHECK(read_tables());
	buf_release(&file);
}

static void damage_in_what_is_left_out_is_not_looked_for(void)
{
	struct buf file = BUF_INIT;
	size_t unnoticed = 0;

	write_recording(30, 10);
	read_file(&file);
	for (size_t at = 0; at < file.size; at++) {
		char byte = file.data[at];

		file.data[at] = (char)(byte ^ (1 + random_u64() % 255));
		write_file(file.data, file.size);
		unnoticed += read_tables();
		file.data[at] = byte;
	}
	CHECK(unnoticed > 30 * 4 && unnoticed < file.size / 2);
	buf_release(&file);
}

/* Makes the checksums right, so that what they protect is put to the test. */
static void mend_checksums(char *data, size_t size)
{
	size_t at = FILE_HEADER_BYTES;
	uint32_t payload;

	while (size - at >= CHUNK_HEADER_BYTES) {
		uint8_t *header = (uint8_t *)data + at;

		payload = get_u32(header + 4);
		if (payload > size - at - CHUNK_HEADER_BYTES)
			return;
		put_u32(header + 8,
			crc32c(crc32c(0, header, 8), header + CHUNK_HEADER_BYTES, payload));
		at += CHUNK_HEADER_BYTES + payload;
	}
}

static void forged_bytes_with_right_checksums_never_yield_an_id_outside_the_tables(void)
{
	struct buf file = BUF_INIT;
	char *forged;
	bool complete;

	write_recording(30, 10);
	read_file(&file);
	forged = malloc(file.size);
	for (size_t at = FILE_HEADER_BYTES; at < file.size; at++) {
		for (int round = 0; round < 4; round++) {
			memcpy(forged, file.data, file.size);
			forged[at] = (char)(round ? random_u64() : 0xff);
			mend_checksums(forged, file.size);
			write_file(forged, file.size);
			CHECK(read_anything(&complete) >= 0);
		}
	}
	free(forged);
	buf_release(&file);
}

static void append_chunk(struct buf *file, uint32_t type, const void *payload, size_t size)
{
	uint8_t header[CHUNK_HEADER_BYTES];

	put_u32(header, type);
	put_u32(header + 4, (uint32_t)size);
	put_u32(header + 8, crc32c(crc32c(0, header, 8), payload, size));
	buf_append(file, header, sizeof(header));
	buf_append(file, payload, size);
}

/* A file header, and a string and a process, without an end mark. */
static void begin_file(struct buf *file)
{
	struct profile_writer *w;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!profile_writer_flush(w));
	profile_writer_abort(w);
	read_file(file);
}

static void unknown_chunks_events_and_trailing_fields_are_skipped(void)
{
	/* Two samples (one with two bytes more than known), around an event of an unknown kind. */
	static const uint8_t events[] = {
		5, 1, 20, 1, 1, 3, 4, 7 << 3, 0xff, 0xff, 0xff, 7, 1, 2, 1, 1, 3, 9, 9};
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	append_chunk(&file, CHUNK_TYPE('N', 'E', 'W', '!'),
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10);
	append_chunk(&file, CHUNK_EVENTS, events, sizeof(events));
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_SAMPLE);
	CHECK(e.sample.time_ns == 10 && e.sample.thread == 1 && e.sample.stack == 1 &&
		e.sample.cpu == 3);
	CHECK(profile_reader_next(r, &e) == 1 && e.sample.time_ns == 11);
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(strstr(profile_reader_incomplete(r), "without an end mark"));
	profile_reader_close(r);
	buf_release(&file);
}

/* Appends this chunk to a sound beginning: reading must stop there. */
static void check_refused(uint32_t type, const void *payload, size_t size)
{
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	append_chunk(&file, type, payload, size);
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(strstr(profile_reader_incomplete(r), "is damaged: the chunk at byte"));
	check_all_tables(r);
	profile_reader_close(r);
	buf_release(&file);
}

/* The last instruction's difference to none, in two bytes. */
#define LAST_ROW (INSTRUCTIONS * 2 - 128)

/* The same as some that are refused, but for what is wrong with those. */
static void instruction_samples_and_counts_are_read_up_to_the_last_id(void)
{
	static const uint8_t events[] = {5, 5 | 1 << 3, 0x80 | LAST_ROW, 1, 0, WINDOWS * 2, 11, 6,
		2, COUNTERS * 2, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	append_chunk(&file, CHUNK_EVENTS, events, sizeof(events));
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_STALL);
	CHECK(e.stall.instruction == INSTRUCTIONS && e.stall.window == WINDOWS &&
		e.stall.samples == 1);
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_COUNT);
	CHECK(e.count.counter == COUNTERS && e.count.value == 1);
	profile_reader_close(r);
	buf_release(&file);
}

static void events_of_drivers_are_read_up_to_the_last_id(void)
{
	static const uint8_t events[] = {
		7, 7 | 15 << 3, 40, 1 << 3 | DRIVER_RUN, STRINGS, 1, THREADS, 5};
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	append_chunk(&file, CHUNK_EVENTS, events, sizeof(events));
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_DRIVER);
	CHECK(e.driver.source == STRINGS && e.driver.ring == 1 && e.driver.name == 1);
	CHECK(e.driver.thread == THREADS && e.driver.kind == DRIVER_RUN && !e.driver.foreign);
	CHECK(e.driver.start_ns == 15 && e.driver.duration_ns == 5);
	profile_reader_close(r);
	buf_release(&file);
}

static void waits_and_syncs_are_read_up_to_the_last_id(void)
{
	static const uint8_t events[] = {6, 1 << 6, 20, 5, WAIT_LOCK, THREADS, 0, 5, 1 << 3, 2, 5,
		5, THREADS, 11, 2 << 3, 2, 2, 5, SYNC_STREAM, DEVICES, 3, 7, THREADS, 1, 1};
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	append_chunk(&file, CHUNK_EVENTS, events, sizeof(events));
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_WAIT && e.wait.thread == THREADS);
	CHECK(e.wait.start_ns == 10 && e.wait.duration_ns == 5 && e.wait.reason == WAIT_LOCK);
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_LIFE && e.life.thread == THREADS);
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_SYNC && e.sync.thread == THREADS);
	CHECK(e.sync.device == DEVICES && e.sync.context == 3 && e.sync.stream == 7);
	CHECK(profile_reader_next(r, &e) == 0);
	profile_reader_close(r);
	buf_release(&file);
}

static void entries_and_events_that_make_no_sense_end_the_reading(void)
{
#define REFUSED(type, ...)                                                                         \
	check_refused(type, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
	REFUSED(CHUNK_STACKS, STACKS + 1, 2, STACKS + 1, 1); /* its own parent */
	REFUSED(CHUNK_STACKS, STACKS + 1, 2, STACKS + 2, 1); /* a parent yet to come */
	REFUSED(CHUNK_STACKS, STACKS + 1, 2, 0, 0);	     /* no location */
	REFUSED(CHUNK_STACKS, STACKS + 1, 2, 0, LOCATIONS + 1);
	REFUSED(CHUNK_STACKS, STACKS + 1, 3, 0, 1); /* longer than the chunk */
	REFUSED(CHUNK_STACKS, STACKS + 1, 1, 0);    /* too short */
	REFUSED(CHUNK_STACKS, STACKS, 2, 0, 1);	    /* an id that is taken */
	REFUSED(CHUNK_STACKS, STACKS + 2, 2, 0, 1); /* a gap */
	REFUSED(CHUNK_PROCESSES, PROCESSES + 1, 5, 1, PROCESSES + 1, 1, 1, 1);
	REFUSED(CHUNK_THREADS, THREADS + 1, 7, 1, 0xff, 0xff, 0xff, 0xff, 0x7f,
		1); /* 35 bits of tid */
	REFUSED(CHUNK_STRINGS, STRINGS + 1, 5, 'a', 'b');
	REFUSED(CHUNK_STRINGS, STRINGS + 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		1);
	REFUSED(CHUNK_UPDATES, 4, 1, 2, 0, 1); /* stacks never change */
	REFUSED(CHUNK_UPDATES, 5, PROCESSES + 1, 5, 1, 0, 1, 1, 1);
	REFUSED(CHUNK_UPDATES, 5, 1, 5, 1, 1, 1, 1, 1); /* its own parent */
	REFUSED(CHUNK_EVENTS, 0);			/* no head */
	REFUSED(CHUNK_EVENTS, 5, 1, 20, THREADS + 1, 1, 3);
	REFUSED(CHUNK_EVENTS, 5, 1, 20, 1, STACKS + 1, 3);
	REFUSED(CHUNK_EVENTS, 4, 1, 20, 1, 1);		     /* too short */
	REFUSED(CHUNK_EVENTS, 0x7f, 1, 20, 1, 1);	     /* longer than the chunk */
	REFUSED(CHUNK_EVENTS, 6, 3 | 1 << 3, 2, 2, 2, 1, 1); /* as a call that is not there */
	REFUSED(CHUNK_EVENTS, 5, 5 | 1 << 3, 0x80 | (LAST_ROW + 2), 1, 0, 2);
	REFUSED(CHUNK_EVENTS, 4, 5 | 1 << 3, 2, 2, (WINDOWS + 1) * 2);
	REFUSED(CHUNK_EVENTS, 3, 5, 2, 2);				  /* in no window */
	REFUSED(CHUNK_EVENTS, 11, 6, 2, 2, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f); /* infinite */
	REFUSED(CHUNK_EVENTS, 11, 6, 2, (COUNTERS + 1) * 2, 0, 0, 0, 0, 0, 0, 0, 0);
	REFUSED(CHUNK_EVENTS, 9, 6, 2, 2, 0, 0, 0, 0, 0, 0); /* too short */
	REFUSED(CHUNK_EVENTS, 4, 0, 2, 5, 0);		     /* a wait for no reason */
	/* at a stack that is not there */
	REFUSED(CHUNK_EVENTS, 5, 0, 2, 5, 0x80 | WAIT_LOCK, 0x7f);
	REFUSED(CHUNK_EVENTS, 5, 1 << 6, 2, 5, WAIT_LOCK, THREADS + 1);
	/* longer in the queue than it waited */
	REFUSED(CHUNK_EVENTS, 6, 2 << 6, 1, 2, 5, WAIT_LOCK, 6);
	REFUSED(CHUNK_EVENTS, 5, 1 << 3, 2, 5, 5, 0); /* a life of no thread */
	/* that ran longer than it lasted */
	REFUSED(CHUNK_EVENTS, 5, 1 << 3, 2, 5, 6, 1);
	REFUSED(CHUNK_EVENTS, 11, 2 << 3, 2, 2, 5, 0, 0, 0, 0, 0, 0, 0); /* a sync of no kind */
	REFUSED(CHUNK_EVENTS, 11, 2 << 3, 2, 2, 5, SYNC_STREAM, DEVICES + 1, 0, 0, 0, 0, 0);
	/* of no call */
	REFUSED(CHUNK_EVENTS, 9, 2 << 3 | 2 << 6, 1, 2, 2, 5, SYNC_STREAM, 0, 0, 0);
	REFUSED(CHUNK_EVENTS, 3, 7, 2, 1 << 3); /* of no kind */
	REFUSED(CHUNK_EVENTS, 3, 7, 2, 1 << 3 | DRIVER_KINDS);
	REFUSED(CHUNK_EVENTS, 4, 7, 2, 0x80 | DRIVER_RUN, 8); /* a name that is not there */
	REFUSED(CHUNK_EVENTS, 4, 7 | 1 << 3, 2, 1 << 3 | DRIVER_RUN, STRINGS + 1);
	REFUSED(CHUNK_EVENTS, 4, 7 | 2 << 3, 2, 1 << 3 | DRIVER_RUN, STRINGS + 1);
	REFUSED(CHUNK_EVENTS, 4, 7 | 4 << 3, 2, 1 << 3 | DRIVER_RUN, THREADS + 1);
	/* a moment that lasts */
	REFUSED(CHUNK_EVENTS, 4, 7 | 8 << 3, 2, 1 << 3 | DRIVER_MOMENT, 1);
	REFUSED(CHUNK_GPU_FUNCTIONS, FUNCTIONS + 1, 3, 0, 1, 1);
	REFUSED(CHUNK_GPU_FUNCTIONS, FUNCTIONS + 1, 3, MODULES + 1, 1, 1);
	REFUSED(CHUNK_INSTRUCTIONS, INSTRUCTIONS + 1, 2, FUNCTIONS + 1, 1);
	REFUSED(CHUNK_INSTRUCTIONS, INSTRUCTIONS + 1, 6, 1, 1, STRINGS + 1, 1, 1, 0);
	REFUSED(CHUNK_INSTRUCTIONS, INSTRUCTIONS + 1, 6, 1, 1, 1, 1, 1, 1); /* inlines are none */
	REFUSED(CHUNK_WINDOWS, WINDOWS + 1, 11, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2);
	REFUSED(CHUNK_WINDOWS, WINDOWS + 1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
	REFUSED(CHUNK_COUNTERS, COUNTERS + 1, 2, 0, 1);
	REFUSED(CHUNK_UPDATES, 12, 1, 2, FUNCTIONS + 1, 1);
	REFUSED(CHUNK_UPDATES, 13, 1, 2, 1, 1); /* windows never change */
	REFUSED(CHUNK_LOSSES, 1, 0xff);
	REFUSED(CHUNK_META, 1, 'k', 4, 'v');
	REFUSED(CHUNK_END, 1, 2, 3);
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS + 1, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0,
		0, 0, 0, 0, 0, BURSTS, PROBE_COUNTS);
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS, 1, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0, 0, 0,
		0, 0, 0, BURSTS, PROBE_COUNTS); /* no inlined function is there */
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0, 1, 0,
		0, 0, 0, BURSTS, PROBE_COUNTS); /* nor a count of a counter */
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0, 0, 1,
		0, 0, 0, BURSTS, PROBE_COUNTS); /* nor an event of a driver */
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0, 0, 0,
		0, 0, 0, BURSTS + 1, PROBE_COUNTS);
	REFUSED(CHUNK_END, 0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS, PROCESSES,
		THREADS, DEVICES, OPS, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS, 0, 0, 0, 0,
		0, 0, 0, BURSTS, 0, 1, PROBE_MAPS, CONTEXTS, 1, 2);
	REFUSED(CHUNK_PROBE_MAPS, PROBE_MAPS + 1, 3, 2, 0, 1); /* of an object that is not there */
	REFUSED(CHUNK_PROBE_CONTEXTS, CONTEXTS + 1, 2, PROCESSES + 1, 1);
	REFUSED(CHUNK_BURSTS, BURSTS + 1, 6, PROCESSES + 1, 1, 1, 4, 2, 3);
	REFUSED(CHUNK_BURSTS, BURSTS + 2, 6, 1, 1, 1, 4, 2, 3);
	REFUSED(CHUNK_BURSTS, BURSTS + 1, 6, 1, 1, 1, 4, 2, 0x80);
	REFUSED(CHUNK_BURSTS, BURSTS + 1, 7, 1, 1, 1, 4, 2, 3);
	REFUSED(CHUNK_UPDATES, 15, 1, 1, 1, 1, 4, 2, 3); /* bursts never change */
	REFUSED(CHUNK_INLINES, 1, 4, 1, 1, 1, 5);	 /* its own caller */
	REFUSED(CHUNK_SEGMENTS, 1, 4, MODULES + 1, 0, 1, 1);
}

static void more_after_an_end_mark_needs_another_end_mark(void)
{
	static const uint8_t end[] = {0, 0, 0, 0, 0, 0, STRINGS, MODULES, LOCATIONS, STACKS,
		PROCESSES, THREADS, DEVICES, OPS, 0, 0, FUNCTIONS, INSTRUCTIONS, WINDOWS, COUNTERS,
		0, 0, 0, 0, 0, 0, 0, BURSTS, PROBE_COUNTS};
	struct buf file = BUF_INIT;
	bool complete;

	begin_file(&file);
	append_chunk(&file, CHUNK_END, end, sizeof(end));
	write_file(file.data, file.size);
	CHECK(read_anything(&complete) == 0 && complete);
	append_chunk(&file, CHUNK_META, "\1k\1v", 4);
	write_file(file.data, file.size);
	CHECK(read_anything(&complete) == 0 && !complete);
	append_chunk(&file, CHUNK_END, end, sizeof(end));
	write_file(file.data, file.size);
	CHECK(read_anything(&complete) == 0 && complete);
	buf_release(&file);
}

static void a_chunk_size_beyond_the_limit_is_damage(void)
{
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	struct profile_event e;

	begin_file(&file);
	buf_append(&file, "EVTS\xff\xff\xff\xff....", 12);
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(strstr(profile_reader_incomplete(r), "too large"));
	profile_reader_close(r);
	buf_release(&file);
}

static void what_is_not_a_profile_is_refused_with_a_reason(void)
{
	struct profile_reader *r = NULL;
	struct buf file = BUF_INIT;

	CHECK(profile_reader_open(&r, "/nonexistent/x.xpu") == -ENOENT);
	CHECK_TEXT(error_text(), "cannot open '/nonexistent/x.xpu': No such file or directory");
	CHECK(profile_reader_open(&r, "/") == -EISDIR);
	write_file("", 0);
	CHECK(profile_reader_open(&r, path) == -EINVAL);
	CHECK(strstr(error_text(), "it is empty"));
	write_file("main;work 12\nmain;other 3\n", 26);
	CHECK(profile_reader_open(&r, path) == -EINVAL);
	CHECK(strstr(error_text(), "it is not an xpuprof profile"));
	write_recording(0, 1);
	read_file(&file);
	file.data[8]++;
	write_file(file.data, file.size);
	CHECK(profile_reader_open(&r, path) == -EINVAL);
	CHECK(strstr(error_text(), "its header is damaged"));
	put_u32((uint8_t *)file.data + 12, crc32c(0, file.data, 12));
	write_file(file.data, file.size);
	CHECK(profile_reader_open(&r, path) == -EINVAL);
	CHECK(strstr(error_text(), "its format is version 3, this xpuprof reads 1 to 2"));
	CHECK(!r);
	buf_release(&file);
}

static void what_was_flushed_is_readable_before_the_recording_ends(void)
{
	struct profile_writer *w;
	bool complete = true;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	write_events(w, 25, 20);
	CHECK(read_anything(&complete) == 20 && !complete);
	profile_writer_abort(w);
	CHECK(read_anything(&complete) == 20 && !complete);
}

static void an_unwritable_file_is_named_with_the_reason(void)
{
	struct profile_writer *w = NULL;

	CHECK(profile_writer_open(&w, "/nonexistent/x.xpu") == -ENOENT);
	CHECK_TEXT(error_text(), "cannot create '/nonexistent/x.xpu': No such file or directory");
	CHECK(!w);
	CHECK(!profile_writer_open(&w, "/dev/full"));
	CHECK(profile_writer_begin(w) == -ENOSPC);
	CHECK_TEXT(error_text(), "cannot write '/dev/full': No space left on device");
	profile_writer_abort(w);
	CHECK(!profile_writer_close(NULL));
	profile_writer_abort(NULL);
	profile_reader_close(NULL);
}

static void a_full_disk_is_a_lasting_error_and_what_was_written_stays_readable(void)
{
	struct rlimit old, limit;
	struct profile_writer *w;
	struct profile_sample s = {0};
	char expected[128];
	bool complete = true;
	int error = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1000000;
	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	for (int i = 0; i < 1000000 && !error; i++)
		error = profile_write_sample(w, &s);
	setrlimit(RLIMIT_FSIZE, &old);
	snprintf(expected, sizeof(expected), "cannot write '%s': File too large", path);
	CHECK(error == -EFBIG);
	CHECK_TEXT(error_text(), expected);
	error_set(-EIO, "something else");
	CHECK(profile_write_sample(w, &s) == -EFBIG);
	CHECK_TEXT(error_text(), expected);
	CHECK(profile_writer_close(w) == -EFBIG);
	CHECK_TEXT(error_text(), expected);
	CHECK(read_anything(&complete) > 100000 && !complete);
}

static void long_strings_are_cut_and_the_rest_is_kept(void)
{
	size_t size = STRING_MAX_BYTES + 10;
	char *text = malloc(size);
	struct profile_reader *r;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t id, again;

	memset(text, 'x', size);
	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_string(w, text, size, &id));
	CHECK(!profile_add_string(w, text, size - 1, &again) && again == id);
	CHECK(!profile_add_string(w, "a\0b", 3, &again) && again == id + 1);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0 && !profile_reader_incomplete(r));
	profile_string(r, id, &size);
	CHECK(size == STRING_MAX_BYTES);
	CHECK(!memcmp(profile_string(r, again, &size), "a\0b", 4) && size == 3);
	profile_reader_close(r);
	free(text);
}

/* The example of docs/file-format.md. */
// clang-format off
static const uint8_t example[] = {
	0x58, 0x50, 0x55, 0x50, 0x52, 0x4f, 0x46, 0x00, 0x02, 0x00, 0x00, 0x00, 0x07, 0xbe,
	0x91, 0xf7, 0x53, 0x54, 0x52, 0x53, 0x0b, 0x00, 0x00, 0x00, 0x43, 0xb5, 0xec, 0x7c,
	0x01, 0x02, 0x73, 0x68, 0x06, 0x63, 0x75, 0x49, 0x6e, 0x69, 0x74, 0x4c, 0x4f, 0x43,
	0x53, 0x09, 0x00, 0x00, 0x00, 0xda, 0x33, 0x36, 0xe9, 0x01, 0x07, 0x02, 0x00, 0xb4,
	0x24, 0x00, 0x00, 0x00, 0x53, 0x54, 0x4b, 0x53, 0x04, 0x00, 0x00, 0x00, 0xaa, 0x86,
	0xa4, 0xa2, 0x01, 0x02, 0x00, 0x01, 0x50, 0x52, 0x4f, 0x43, 0x09, 0x00, 0x00, 0x00,
	0x9d, 0x36, 0xfd, 0xfa, 0x01, 0x07, 0xac, 0x02, 0x00, 0xe8, 0x07, 0x01, 0x00, 0x54,
	0x48, 0x52, 0x44, 0x06, 0x00, 0x00, 0x00, 0xf9, 0x31, 0xdf, 0xf2, 0x01, 0x04, 0x01,
	0xac, 0x02, 0x01, 0x4f, 0x50, 0x53, 0x20, 0x14, 0x00, 0x00, 0x00, 0xc8, 0x7c, 0x47,
	0x84, 0x01, 0x12, 0x03, 0x01, 0x00, 0x01, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x45, 0x56, 0x54, 0x53, 0x12, 0x00, 0x00,
	0x00, 0x36, 0xeb, 0xef, 0x0a, 0x09, 0x0a, 0x01, 0x12, 0x90, 0x4e, 0x64, 0x01, 0x01,
	0x13, 0x07, 0x1b, 0x12, 0xe0, 0x5d, 0x32, 0x01, 0x40, 0x4c, 0x4f, 0x53, 0x53, 0x02,
	0x00, 0x00, 0x00, 0x1e, 0x11, 0x7c, 0xaf, 0x06, 0x03, 0x4d, 0x45, 0x54, 0x41, 0x07,
	0x00, 0x00, 0x00, 0x9f, 0xae, 0x6f, 0xe7, 0x04, 0x63, 0x70, 0x75, 0x73, 0x01, 0x34,
	0x45, 0x4e, 0x44, 0x21, 0x0e, 0x00, 0x00, 0x00, 0x22, 0xdb, 0xd8, 0x5e, 0x00, 0x01,
	0x01, 0x00, 0x00, 0x32, 0x02, 0x00, 0x01, 0x01, 0x01, 0x01, 0x00, 0x01,
};
// clang-format on

static void the_format_is_still_that_of_the_documented_example(void)
{
	struct profile_process p = {.pid = 300, .start_ns = 1000, .comm = 1};
	struct profile_thread t = {.process = 1, .tid = 300, .name = 1};
	struct profile_location l = {.kind = FRAME_KERNEL, .address = 0x1234};
	struct profile_op op = {.kind = OP_SET,
		.process = 1,
		.context = 1,
		.stream = 7,
		.target_memory = MEMORY_DEVICE};
	struct profile_call call = {.start_ns = 5000,
		.duration_ns = 100,
		.thread = 1,
		.stack = 1,
		.api = 2,
		.kind = CALL_SET,
		.instance = 1,
		.correlation = 9};
	struct profile_work work = {.start_ns = 6000,
		.duration_ns = 50,
		.op = 1,
		.bytes = 64,
		.thread = 1,
		.stack = 1,
		.api = 2,
		.launch_ns = 5000,
		.instance = 1,
		.correlation = 9};
	struct buf file = BUF_INIT;
	struct profile_writer *w;
	uint32_t id;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_string(w, "sh", 2, &id) && !profile_add_string(w, "cuInit", 6, &id));
	CHECK(!profile_add_process(w, &p, &id) && !profile_add_thread(w, &t, &id));
	CHECK(!profile_add_location(w, &l, &id) && !profile_add_stack_node(w, 0, id, &id));
	CHECK(!profile_add_op(w, &op, &id));
	CHECK(!profile_write_call(w, &call) && !profile_write_work(w, &work));
	CHECK(!profile_count_loss(w, LOSS_GPU_DROPPED, 3) && !profile_set_meta(w, META_CPUS, "4"));
	CHECK(!profile_writer_close(w));
	read_file(&file);
	CHECK(file.size == sizeof(example) && !memcmp(file.data, example, sizeof(example)));
	buf_release(&file);
}

static void a_file_of_the_first_version_is_still_read(void)
{
	uint8_t file[sizeof(example)];
	struct profile_reader *r;
	struct profile_event e;

	memcpy(file, example, sizeof(file));
	put_u32(file + FILE_MAGIC_BYTES, 1);
	put_u32(file + 12, crc32c(0, file, 12));
	write_file(file, sizeof(file));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_CALL);
	CHECK(profile_reader_next(r, &e) == 1 && e.kind == EVENT_WORK);
	CHECK(profile_reader_next(r, &e) == 0 && !profile_reader_incomplete(r));
	profile_reader_close(r);
}

/* A profile with one user location, called "outer", and its END mark; its path. */
static void write_one_location(uint32_t *ret_location)
{
	struct profile_module m = {.kind = MODULE_FILE, .build_id_size = 2, .build_id = {1, 2}};
	struct profile_location l = {.kind = FRAME_USER, .address = 0x10};
	struct profile_sample sample = {.time_ns = 5, .period_ns = 7};
	struct profile_writer *w;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_string(w, "/bin/x", 6, &m.path) &&
		!profile_add_module(w, &m, &l.module));
	CHECK(!profile_add_location(w, &l, ret_location));
	CHECK(!profile_add_stack_node(w, 0, *ret_location, &sample.stack));
	CHECK(!profile_write_sample(w, &sample));
	CHECK(!profile_count_loss(w, LOSS_MAPS_LOST, 4) && !profile_set_meta(w, META_CPUS, "4"));
	CHECK(!profile_writer_close(w));
}

static struct profile_reader *read_all_of(const char *file)
{
	struct profile_event e;
	struct profile_reader *r;

	CHECK(!profile_reader_open(&r, file));
	while (profile_reader_next(r, &e) > 0)
		;
	return r;
}

/* Reads it once more: how many events there are. No id is one that `done` does not have. */
static size_t read_again(const struct profile_reader *done, bool *ret_complete)
{
	struct profile_counts before = profile_counts(done), counts;
	struct profile_reader *r;
	struct profile_event e;
	size_t count = 0;

	CHECK(!profile_reader_open_again(&r, done));
	while (profile_reader_next(r, &e) > 0)
		count++;
	counts = profile_counts(r);
	CHECK(counts.strings <= before.strings && counts.stack_nodes <= before.stack_nodes &&
		counts.threads <= before.threads && counts.ops <= before.ops);
	*ret_complete = !profile_reader_incomplete(r);
	profile_reader_close(r);
	return count;
}

/* 20 events, and 20 more that are not in the file yet. */
static struct profile_writer *write_twice(void)
{
	struct profile_writer *w;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_tables(w);
	write_events(w, 20, 20);
	write_events(w, 20, 21);
	return w;
}

static void a_file_that_grows_is_read_once_more_as_far_as_before(void)
{
	struct profile_writer *w = write_twice();
	struct profile_reader *done = read_all_of(path);
	bool complete = true;

	CHECK(!profile_writer_close(w));
	CHECK(read_anything(&complete) == 40 && complete);
	CHECK(read_again(done, &complete) == 20 && !complete);
	profile_reader_close(done);
	done = read_all_of(path);
	CHECK(read_again(done, &complete) == 40 && complete);
	profile_reader_close(done);
}

/* ------------------------------------------------------------------ bursts */

static void write_period(struct profile_writer *w, uint64_t since_ns, uint64_t length_ns)
{
	struct profile_burst b = {.process = 1,
		.instance = 7,
		.since_ns = since_ns,
		.start_ns = since_ns + 100,
		.end_ns = since_ns + 100 + length_ns,
		.until_ns = since_ns + 1000};

	CHECK(!profile_add_burst(w, &b));
}

/* Works of two instances, of which the bursts come behind all of them. */
static struct profile_writer *write_weighed(void)
{
	struct profile_work work = {.op = 1, .instance = 7, .start_ns = 5000, .launch_ns = 1110};
	struct profile_call call = {.kind = CALL_LAUNCH, .instance = 7, .start_ns = 1110};
	struct profile_pending pending = {
		.reason = PENDING_FAILED, .instance = 7, .start_ns = 1110};
	struct profile_writer *w;

	forget_recording();
	CHECK(!profile_writer_open(&w, path));
	write_strings(w);
	write_tasks(w);
	write_devices(w);
	write_ops(w);
	CHECK(!profile_write_work(w, &work));
	CHECK(!profile_write_call(w, &call));
	CHECK(!profile_write_pending(w, &pending));
	work.launch_ns = 0;
	CHECK(!profile_write_work(w, &work));
	work.instance = 8;
	CHECK(!profile_write_work(w, &work));
	CHECK(!profile_writer_flush(w));
	write_period(w, 1000, 50);
	write_period(w, 2000, 20);
	CHECK(!profile_writer_flush(w));
	return w;
}

static void check_weights(struct profile_reader *r, double first, double second)
{
	struct profile_event e;
	uint32_t burst = first > 1;

	CHECK(profile_reader_next(r, &e) == 1 && e.work.weight == first && e.work.burst == burst);
	CHECK(profile_reader_next(r, &e) == 1 && e.call.weight == first && e.call.burst == burst);
	CHECK(profile_reader_next(r, &e) == 1 && e.pending.weight == first);
	CHECK(profile_reader_next(r, &e) == 1 && e.work.weight == second &&
		e.work.burst == 2 * burst);
	CHECK(profile_reader_next(r, &e) == 1 && e.work.weight == 1 && e.work.burst == 0);
	CHECK(profile_reader_next(r, &e) == 0);
}

static void works_calls_and_launches_stand_for_the_period_of_their_burst(void)
{
	struct profile_writer *w = write_weighed();
	struct profile_reader *r;

	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	check_weights(r, 20, 50);
	CHECK(!profile_reader_incomplete(r) && profile_is_in_bursts(r));
	profile_reader_close(r);
}

static void weights_are_the_same_when_a_file_that_grew_is_read_once_more(void)
{
	struct profile_writer *w = write_weighed();
	struct profile_reader *done, *again, *now;

	CHECK(!profile_reader_open(&done, path));
	check_weights(done, 20, 50);
	write_period(w, 3000, 0);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open_again(&again, done));
	check_weights(again, 20, 50);
	CHECK(!profile_reader_open(&now, path));
	check_weights(now, 30, 75);
	profile_reader_close(done);
	profile_reader_close(again);
	profile_reader_close(now);
}

/* The reading ends at the chunk. What was before it stands for itself. */
static void bursts_of_a_damaged_chunk_weigh_nothing(void)
{
	struct buf file = BUF_INIT;
	struct profile_reader *r;
	char *at;

	CHECK(!profile_writer_close(write_weighed()));
	read_file(&file);
	at = memmem(file.data, file.size, "BRST", 4);
	CHECK(at);
	at[CHUNK_HEADER_BYTES + 3] ^= 1;
	write_file(file.data, file.size);
	CHECK(!profile_reader_open(&r, path));
	check_weights(r, 1, 1);
	CHECK(strstr(profile_reader_incomplete(r), "does not match its checksum"));
	CHECK(!profile_is_in_bursts(r));
	profile_reader_close(r);
	buf_release(&file);
}

static void a_file_that_became_another_is_not_read_once_more(void)
{
	struct profile_writer *w = write_twice();
	struct profile_reader *done = read_all_of(path), *r;
	struct buf more = BUF_INIT;
	int fd = atoi(strrchr(path, '/') + 1), before = dup(fd),
	    other = memfd_create("other", MFD_CLOEXEC);
	bool complete = true;

	/* Other bytes in the same file: more strings than before, in fewer bytes. */
	CHECK(!profile_writer_close(w));
	read_file(&more);
	more.size = FILE_HEADER_BYTES;
	for (uint8_t n = 0; n < 100; n++)
		append_chunk(&more, CHUNK_STRINGS, (const uint8_t[]){(uint8_t)(n + 1), 1, 'x'}, 3);
	CHECK(profile_counts(done).strings < 100);
	write_file(more.data, more.size);
	CHECK(read_again(done, &complete) == 0 && !complete);
	/* And another file at its path. */
	CHECK(dup2(other, fd) == fd);
	write_file(more.data, more.size);
	CHECK(profile_reader_open_again(&r, done) == -ESTALE && strstr(error_text(), path));
	CHECK(dup2(before, fd) == fd);
	close(before);
	close(other);
	profile_reader_close(done);
	buf_release(&more);
}

/* Adds a name, two inlined functions and a segment to a copy of the file, and puts it in its
 * place. */
static void name_location(uint32_t location)
{
	struct profile_inline i = {.line = 3};
	struct profile_segment segment = {
		.module = 1, .offset = 0x1000, .size = 50, .vaddr = 0x2000};
	struct profile_reader *r = read_all_of(path);
	struct profile_location late = {.kind = FRAME_USER, .module = 1, .address = 0x11};
	struct profile_writer *w;
	uint32_t outer, id;
	char copy[64];
	struct buf bytes = BUF_INIT;
	int fd = memfd_create("copy", MFD_CLOEXEC);

	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	CHECK(!profile_writer_continue(&w, copy, dup(fd), r));
	profile_reader_close(r);
	CHECK_TEXT(profile_writer_string(w, profile_writer_module(w, 1)->path), "/bin/x");
	CHECK(!profile_add_string(w, "outer", 5, &outer) &&
		!profile_add_string(w, "inner", 5, &i.name));
	CHECK(!profile_add_inline(w, &i, &i.caller) && !profile_add_inline(w, &i, &id));
	CHECK(!profile_add_segment(w, &segment, &id) && id == 1);
	CHECK(!profile_add_symbol(w, location, outer, 0, 9, 2));
	CHECK(profile_add_symbol(w, location, outer, 0, 9, 3) == -EINVAL);
	CHECK(profile_add_stack_node(w, 0, location, &id) == -EINVAL);
	late.inlined = 1;
	CHECK(profile_add_location(w, &late, &id) == -EINVAL);
	CHECK(!profile_writer_close(w));
	CHECK(!io_read_file(copy, 1 << 20, &bytes));
	write_file(bytes.data, bytes.size);
	buf_release(&bytes);
	close(fd);
}

static void check_named(uint32_t location, bool whole)
{
	struct profile_reader *r = read_all_of(path);
	const struct profile_location *l = profile_location(r, location);
	const struct profile_inline *i = profile_inline(r, l->inlined);

	CHECK(!profile_reader_incomplete(r) == whole);
	CHECK_TEXT(profile_string(r, l->name, NULL), "outer");
	CHECK(l->line == 9 && i && i->line == 3);
	if (i) {
		CHECK_TEXT(profile_string(r, i->name, NULL), "inner");
		CHECK(i->caller == 1 && !profile_inline(r, 1)->caller);
	}
	CHECK(profile_counts(r).segments == 1 && profile_segment(r, 1)->vaddr == 0x2000);
	CHECK(profile_reader_sums(r).samples == 1 && profile_reader_sums(r).cpu_ns == 7);
	profile_reader_close(r);
}

static void names_and_inlined_functions_can_be_added_to_a_finished_profile(void)
{
	struct buf before = BUF_INIT, after = BUF_INIT;
	struct profile_reader *r;
	uint32_t location;

	write_one_location(&location);
	read_file(&before);
	name_location(location);
	read_file(&after);
	CHECK(after.size > before.size && !memcmp(before.data, after.data, before.size));
	check_named(location, true);
	r = read_all_of(path);
	CHECK(profile_loss_count(r, LOSS_MAPS_LOST) == 4);
	CHECK_TEXT(profile_meta(r, META_CPUS), "4");
	profile_reader_close(r);
	buf_release(&before);
	buf_release(&after);
}

static void instructions_of_a_finished_profile_can_be_described_and_windows_are_what_they_were(void)
{
	struct profile_instruction i;
	struct profile_window window = {.instance = 1};
	struct buf bytes = BUF_INIT;
	struct profile_writer *w;
	struct profile_reader *r;
	char copy[64];
	uint32_t id;
	int fd = memfd_create("copy", MFD_CLOEXEC);

	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fd);
	write_recording(500, 100);
	r = read_all_of(path);
	CHECK(!profile_writer_continue(&w, copy, dup(fd), r));
	profile_reader_close(r);
	i = *profile_writer_instruction(w, 2);
	i.text = 4;
	CHECK(!profile_describe_instruction(w, 2, &i));
	wrote.instructions.items[1] = i;
	CHECK(profile_add_window(w, &window, &id) == -EINVAL);
	CHECK(!profile_writer_close(w));
	CHECK(!io_read_file(copy, 1 << 20, &bytes));
	write_file(bytes.data, bytes.size);
	check_recording();
	buf_release(&bytes);
	close(fd);
}

static void a_profile_that_was_cut_short_can_be_named_and_stays_marked(void)
{
	struct buf file = BUF_INIT;
	uint32_t location;

	write_one_location(&location);
	read_file(&file);
	write_file(file.data, file.size - 3);
	name_location(location);
	check_named(location, false);
	buf_release(&file);
}

static void checksums_are_those_of_the_standard_in_both_ways(void)
{
	unsigned char bytes[300];

	CHECK(crc32c(0, "123456789", 9) == 0xe3069283);
	CHECK(crc32c_portable(0, "123456789", 9) == 0xe3069283);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random_u64();
	for (size_t size = 0; size < sizeof(bytes); size++) {
		size_t half = size / 3;

		CHECK(crc32c(0, bytes, size) == crc32c_portable(0, bytes, size));
		CHECK(crc32c_portable(crc32c_portable(0, bytes, half), bytes + half, size - half) ==
			crc32c(0, bytes, size));
	}
}

static void numbers_of_every_length_survive_coding(void)
{
	uint8_t bytes[VARINT_MAX_BYTES + 8] = {0};
	const uint8_t *end;

	for (int bits = 0; bits <= 64; bits++) {
		for (int below = 0; below < 3; below++) {
			uint64_t x = (bits == 64 ? 0 : 1ull << bits) - (uint64_t)below;

			memset(bytes, 0xff, sizeof(bytes));
			end = bytes;
			CHECK(varint_put(bytes, x) <= bytes + VARINT_MAX_BYTES);
			CHECK(varint_get(&end) == x);
			CHECK(end == varint_put(bytes, x));
			CHECK(unzigzag(zigzag((int64_t)x)) == (int64_t)x);
		}
	}
	memset(bytes, 0xff, sizeof(bytes));
	end = bytes;
	varint_get(&end);
	CHECK(end == bytes + VARINT_MAX_BYTES);
}

static void every_kind_and_reason_has_a_name(void)
{
	for (unsigned int i = 0; i < COPY_KINDS; i++)
		CHECK(i == COPY_UNKNOWN || strcmp(profile_copy_name(i), "unknown"));
	for (unsigned int i = 1; i < MEMORY_KINDS; i++)
		CHECK(strcmp(profile_memory_name(i), "unknown"));
	for (unsigned int i = 1; i < CALL_KINDS; i++)
		CHECK(strcmp(profile_call_kind_name(i), "unknown"));
	for (unsigned int i = 0; i < JOIN_REASONS; i++)
		CHECK(strcmp(profile_join_text(i), "unknown"));
	for (unsigned int i = 1; i < PENDING_REASONS; i++)
		CHECK(strcmp(profile_pending_text(i), "unknown"));
	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		CHECK(profile_loss_key(i) && profile_loss_text(i, 1) && profile_loss_text(i, 2));
	CHECK_TEXT(profile_copy_name(COPY_KINDS), "unknown");
	CHECK_TEXT(profile_pending_text(12345), "unknown");
	CHECK(!profile_loss_key(LOSS_KINDS) && !profile_loss_text(LOSS_KINDS, 1));
}

static void notes_of_incomplete_stacks_are_known_whatever_the_reason(void)
{
	int reasons = 0;

	for (unsigned int i = 0; i <= LOSS_KINDS; i++) {
		CHECK(profile_note_is_incomplete(profile_incomplete_note((enum profile_loss)i)));
		reasons += profile_loss_is_reason(i);
		CHECK(!profile_loss_is_reason(i) || !profile_loss_is_event(i));
	}
	CHECK(reasons == 11);
	CHECK(profile_note_is_incomplete(NOTE_INCOMPLETE));
	CHECK(!profile_note_is_incomplete("[incomplete stacks]") &&
		!profile_note_is_incomplete(NULL));
	CHECK(!profile_note_is_incomplete("[unknown]"));
}

static void a_stack_that_is_incomplete_is_counted_in_all_and_by_reason(void)
{
	struct profile_writer *w;
	struct profile_totals totals;

	CHECK(!profile_writer_open(&w, "/dev/null"));
	CHECK(!profile_count_incomplete(w, 0));
	CHECK(!profile_count_incomplete(w, LOSS_WALK_FAULT));
	CHECK(!profile_count_incomplete(w, LOSS_WALK_DEPTH));
	profile_writer_totals(w, &totals);
	CHECK(totals.losses[LOSS_STACKS_INCOMPLETE] == 2);
	CHECK(totals.losses[LOSS_WALK_FAULT] == 1 && totals.losses[LOSS_WALK_DEPTH] == 1);
	profile_writer_abort(w);
}

/* Three frames: those of `names`, outermost first. */
static uint32_t add_stack(struct profile_writer *w, const char *const names[3])
{
	uint32_t stack = 0;

	for (int n = 0; n < 3; n++) {
		struct profile_location l = {.kind = FRAME_NOTE};
		uint32_t location;

		CHECK(!profile_add_string(w, names[n], strlen(names[n]), &l.name));
		CHECK(!profile_add_location(w, &l, &location));
		CHECK(!profile_add_stack_node(w, stack, location, &stack));
	}
	return stack;
}

static void while_tables_are_frozen_a_stack_ends_at_its_last_frame_that_is_there(void)
{
	static const char *const known[] = {"main", "train", "step"},
				 *const other[] = {"main", "eval", "step"},
				 *const leaf[] = {"main", "train", "log"},
				 *const none[] = {"start", "train", "step"};
	struct profile_writer *w;
	struct profile_totals totals;
	uint32_t whole, string;
	uint64_t bytes;

	CHECK(!profile_writer_open(&w, "/dev/null"));
	whole = add_stack(w, known);
	bytes = profile_writer_table_bytes(w);
	profile_writer_freeze(w, true);
	CHECK(add_stack(w, known) == whole && !profile_writer_refused(w));
	CHECK(add_stack(w, leaf) == whole - 1 && add_stack(w, other) == whole - 2);
	CHECK(profile_writer_refused(w) && add_stack(w, known) == whole);
	CHECK(add_stack(w, none) == 0);
	CHECK(!profile_add_string(w, "new", 3, &string));
	CHECK_TEXT(profile_writer_string(w, string), NAME_LEFT_OUT);
	CHECK(profile_writer_table_bytes(w) < bytes + 200); /* but for that name */
	profile_writer_freeze(w, false);
	CHECK(add_stack(w, leaf) > whole);
	profile_writer_totals(w, &totals);
	CHECK(!totals.losses[LOSS_TABLES_FULL]); /* whoever froze them counts */
	profile_writer_abort(w);
}

int main(void)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);

	if (fd < 0)
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	RUN(numbers_of_every_length_survive_coding);
	RUN(checksums_are_those_of_the_standard_in_both_ways);
	RUN(every_kind_and_reason_has_a_name);
	RUN(notes_of_incomplete_stacks_are_known_whatever_the_reason);
	RUN(a_stack_that_is_incomplete_is_counted_in_all_and_by_reason);
	RUN(names_and_inlined_functions_can_be_added_to_a_finished_profile);
	RUN(instructions_of_a_finished_profile_can_be_described_and_windows_are_what_they_were);
	RUN(a_profile_that_was_cut_short_can_be_named_and_stays_marked);
	RUN(the_format_is_still_that_of_the_documented_example);
	RUN(a_file_of_the_first_version_is_still_read);
	RUN(every_event_and_table_entry_reads_back_as_it_was_written);
	RUN(flushing_at_any_moment_changes_nothing_that_is_read);
	RUN(an_entry_without_fields_that_were_added_later_has_them_as_0);
	RUN(equal_entries_get_the_id_they_have);
	RUN(an_entry_that_is_replaced_for_ever_takes_no_more_memory);
	RUN(a_gpu_is_one_device_whatever_number_a_process_has_for_it);
	RUN(updated_processes_and_threads_read_back_with_their_last_names);
	RUN(symbols_name_native_locations_and_the_last_one_wins);
	RUN(an_instruction_is_its_place_and_can_be_described_later);
	RUN(a_row_of_instruction_samples_takes_six_bytes_or_less);
	RUN(an_empty_recording_is_complete);
	RUN(what_refers_to_nothing_is_refused_and_the_file_stays_good);
	RUN(totals_add_up_while_writing);
	RUN(samples_divide_what_their_thread_ran_to_the_nanosecond);
	RUN(the_totals_of_an_ended_profile_have_all_bytes_of_its_file);
	RUN(what_ran_in_a_kernel_without_samples_is_not_divided);
	RUN(a_recording_without_accounts_has_the_time_of_its_samples);
	RUN(what_waits_is_in_the_file_a_second_later_and_the_first_events_at_once);
	RUN(a_full_disk_keeps_most_of_what_fits_and_no_half_chunk);
	RUN(a_file_cut_anywhere_reads_back_to_its_last_whole_chunk);
	RUN(no_flipped_byte_goes_unnoticed_or_yields_an_id_outside_the_tables);
	RUN(events_that_are_left_out_change_nothing_about_the_others);
	RUN(a_file_that_is_cut_is_incomplete_with_its_events_left_out_too);
	RUN(damage_in_what_is_left_out_is_not_looked_for);
	RUN(a_file_that_grows_is_read_once_more_as_far_as_before);
	RUN(works_calls_and_launches_stand_for_the_period_of_their_burst);
	RUN(weights_are_the_same_when_a_file_that_grew_is_read_once_more);
	RUN(bursts_of_a_damaged_chunk_weigh_nothing);
	RUN(a_file_that_became_another_is_not_read_once_more);
	RUN(forged_bytes_with_right_checksums_never_yield_an_id_outside_the_tables);
	RUN(unknown_chunks_events_and_trailing_fields_are_skipped);
	RUN(instruction_samples_and_counts_are_read_up_to_the_last_id);
	RUN(events_of_drivers_are_read_up_to_the_last_id);
	RUN(waits_and_syncs_are_read_up_to_the_last_id);
	RUN(entries_and_events_that_make_no_sense_end_the_reading);
	RUN(more_after_an_end_mark_needs_another_end_mark);
	RUN(a_chunk_size_beyond_the_limit_is_damage);
	RUN(what_is_not_a_profile_is_refused_with_a_reason);
	RUN(what_was_flushed_is_readable_before_the_recording_ends);
	RUN(an_unwritable_file_is_named_with_the_reason);
	RUN(a_full_disk_is_a_lasting_error_and_what_was_written_stays_readable);
	RUN(long_strings_are_cut_and_the_rest_is_kept);
	RUN(while_tables_are_frozen_a_stack_ends_at_its_last_frame_that_is_there);
	forget_recording();
	close(fd);
	return tap_end();
}
