// SPDX-License-Identifier: MIT
/*
 * Writes a recording of random events of all kinds, for tests that look at parts of it.
 *
 *	range_profile FILE SEED [bursts | many]
 *
 * A second of three threads in two processes, of which one has no samples and one no account, and
 * of two GPUs: kernels, copies and sets that overlap, calls that last longer than their work, waits
 * with and without stacks and others, samples of instructions in windows, counters, a driver's
 * jobs. Nothing is in the order of time, but for the events of one thread that cannot overlap.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"
#include "random.h"

#define MS	      1000000ull
#define START_NS      (5000 * MS)
#define END_NS	      (START_NS + 1000 * MS)
#define THREADS	      3
#define STACKS	      6
#define OPS	      8
#define WINDOWS	      20
#define CODES	      12
#define MANY_LAUNCHES 15000

struct made {
	struct profile_writer *w;
	uint32_t process[2], thread[THREADS], device[2], stack[STACKS], op[OPS], window[WINDOWS],
		code[CODES], reason[4], api[3], counter, source, ring, job;
	uint32_t correlation;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "range_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t named(struct made *m, const char *format, unsigned int n)
{
	char name[64];

	snprintf(name, sizeof(name), format, n);
	return string(m, name);
}

static uint64_t some_time(void)
{
	return START_NS + random_u64() % (END_NS - START_NS);
}

static void add_tasks(struct made *m)
{
	for (uint32_t n = 0; n < 2; n++) {
		struct profile_process p = {
			.pid = 100 + n, .start_ns = START_NS, .comm = named(m, "app%u", n)};
		struct profile_device d = {.name = string(m, "Example GPU"),
			.ordinal = n,
			.uuid = {(uint8_t)(n + 1)},
			.sm_count = 4};

		check(profile_add_process(m->w, &p, &m->process[n]));
		check(profile_add_device(m->w, &d, &m->device[n]));
	}
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_thread t = {.process = m->process[n / 2],
			.tid = 100 + n,
			.name = named(m, "thread%u", n)};

		check(profile_add_thread(m->w, &t, &m->thread[n]));
	}
}

static void add_stacks(struct made *m)
{
	for (uint32_t n = 0; n < STACKS; n++) {
		struct profile_location l = {.kind = FRAME_PYTHON,
			.name = named(m, "function%u", n),
			.file = string(m, "app.py"),
			.line = n + 1};
		uint32_t location = 0;

		check(profile_add_location(m->w, &l, &location));
		check(profile_add_stack_node(
			m->w, n > 1 ? m->stack[n / 2] : 0, location, &m->stack[n]));
	}
	for (uint32_t n = 0; n < 3; n++)
		m->api[n] = named(m, "cudaCall%u", n);
}

static void add_ops(struct made *m)
{
	for (uint32_t n = 0; n < OPS; n++) {
		struct profile_op op = {.kind = n < 5	? OP_KERNEL
						: n < 7 ? OP_COPY
							: OP_SET,
			.process = m->process[n % 2],
			.device = m->device[n % 2],
			.context = 1,
			.stream = 7 + n % 3,
			.grid = {1, 1, 1},
			.block = {1, 1, 1}};

		if (op.kind == OP_KERNEL)
			op.name = named(m, "kernel%u", n / 2);
		else if (op.kind == OP_COPY)
			op.copy_kind = n % 2 ? COPY_HTOD : COPY_DTOH;
		check(profile_add_op(m->w, &op, &m->op[n]));
	}
}

static void add_code(struct made *m)
{
	static const char *const reasons[] = {"wait", "wait_not_issued", "selected", "barrier"};
	struct profile_module image = {.kind = MODULE_GPU_CODE,
		.path = string(m, "sm_90"),
		.build_id_size = 8,
		.build_id = {1}};
	uint32_t module = 0, function[3];

	check(profile_add_module(m->w, &image, &module));
	for (uint32_t n = 0; n < 3; n++) {
		struct profile_gpu_function f = {
			.module = module, .name = named(m, "kernel%u", n), .index = n + 1};

		check(profile_add_gpu_function(m->w, &f, &function[n]));
	}
	for (uint32_t n = 0; n < CODES; n++) {
		struct profile_instruction i = {
			.function = function[n % 3], .offset = 16 * n, .text = named(m, "OP%u", n)};

		check(profile_add_instruction(m->w, &i, &m->code[n]));
		check(profile_describe_instruction(m->w, m->code[n], &i));
	}
	for (uint32_t n = 0; n < 4; n++) {
		char name[128];

		snprintf(name, sizeof(name), "smsp__pcsamp_warps_issue_stalled_%s", reasons[n]);
		m->reason[n] = string(m, name);
	}
}

static void add_others(struct made *m)
{
	struct profile_counter c = {.name = string(m, "counter"), .unit = string(m, "%")};

	check(profile_add_counter(m->w, &c, &m->counter));
	m->source = string(m, "drm");
	m->ring = string(m, "gfx");
	m->job = string(m, "run");
}

static void write_samples(struct made *m)
{
	for (unsigned int n = 0; n < 400; n++) {
		struct profile_sample s = {.time_ns = some_time(),
			.period_ns = MS + random_below(1000),
			.thread = m->thread[random_below(2)],
			.stack = m->stack[random_below(STACKS)]};

		check(profile_write_sample(m->w, &s));
	}
}

static void write_accounts(struct made *m)
{
	const struct profile_account sampled = {
		.run_ns = 311234567, .kernel_ns = 31234577, .end_ns = END_NS - 3 * MS};
	const struct profile_account unsampled = {
		.run_ns = 77777777, .kernel_ns = 7777777, .end_ns = END_NS - 100 * MS};

	check(profile_add_account(m->w, m->thread[0], &sampled));
	check(profile_add_account(m->w, m->thread[2], &unsampled));
}

/* A call and its work, which may begin before the call is over, and may be of a graph. */
static void write_launch(struct made *m)
{
	uint32_t n = random_below(OPS), thread = m->thread[n % 2 ? 2 : random_below(2)];
	struct profile_call c = {.start_ns = some_time(),
		.duration_ns = random_below(3 * MS),
		.thread = thread,
		.stack = m->stack[random_below(STACKS)],
		.api = m->api[random_below(2)],
		.kind = n < 5 ? CALL_LAUNCH : CALL_COPY,
		.instance = n % 2 + 1,
		.correlation = ++m->correlation};
	struct profile_work w = {.start_ns = c.start_ns + random_below(2 * MS),
		.duration_ns = random_below(4) ? random_below(9 * MS) : random_below(40),
		.bytes = n < 5 ? 0 : 4096,
		.launch_ns = c.start_ns,
		.op = m->op[n],
		.thread = random_below(20) ? c.thread : 0,
		.stack = c.stack,
		.api = c.api,
		.instance = c.instance,
		.correlation = c.correlation};

	check(profile_write_call(m->w, &c));
	check(profile_write_work(m->w, &w));
	if (!random_below(10)) {
		struct profile_pending p = {.start_ns = some_time(),
			.thread = thread,
			.stack = c.stack,
			.api = c.api,
			.instance = c.instance,
			.correlation = ++m->correlation,
			.reason = PENDING_FAILED};

		check(profile_write_pending(m->w, &p));
	}
}

/* A thread's day: waits, some of them in calls that wait for the GPU, and time between. */
static void write_waits(struct made *m, uint32_t thread)
{
	struct profile_life life = {
		.start_ns = START_NS, .duration_ns = END_NS - START_NS, .thread = thread};
	uint64_t at_ns = START_NS + random_below(3 * MS);

	life.run_ns = life.duration_ns;
	while (at_ns < END_NS - 40 * MS) {
		struct profile_wait w = {.start_ns = at_ns,
			.duration_ns = 1000 + random_below(20 * MS),
			.thread = thread,
			.stack = random_below(5) ? m->stack[random_below(STACKS)] : 0,
			.reason = 1 + random_below(WAIT_REASONS - 1),
			.assumed = !random_below(7)};

		w.queued_ns = random_below(3) ? 0 : random_below((uint32_t)w.duration_ns);
		if (!random_below(4)) {
			w.others = 1 + random_below(5);
			w.others_ns = random_below(MS);
		}
		if (!random_below(3)) {
			struct profile_sync s = {.start_ns = at_ns - 500,
				.duration_ns = w.duration_ns + 900,
				.instance = thread == m->thread[2] ? 2 : 1,
				.correlation = ++m->correlation,
				.thread = thread,
				.stack = m->stack[random_below(STACKS)],
				.api = m->api[2],
				.device = m->device[thread == m->thread[2]],
				.context = 1,
				.kind = SYNC_CONTEXT};

			check(profile_write_sync(m->w, &s));
		}
		check(profile_write_wait(m->w, &w));
		life.run_ns -= w.duration_ns + w.others_ns;
		at_ns += w.duration_ns + 1000 + random_below(20 * MS);
	}
	check(profile_write_wait(m->w, &(struct profile_wait){.start_ns = END_NS,
					       .others = 3,
					       .others_ns = 54321,
					       .thread = thread,
					       .stack = m->stack[1],
					       .reason = WAIT_LOCK}));
	life.run_ns -= 54321 + 7777777;
	check(profile_write_life(m->w, &life));
}

static void write_stalls(struct made *m)
{
	for (uint32_t n = 0; n < WINDOWS; n++) {
		uint64_t length_ns = (END_NS - START_NS) / (WINDOWS / 2);
		struct profile_window w = {.process = m->process[n % 2],
			.instance = n % 2 + 1,
			.device = m->device[n % 2],
			.context = 1,
			.start_ns = START_NS + n / 2 * length_ns,
			.end_ns = START_NS + (n / 2 + 1) * length_ns,
			.period_cycles = 1024};

		check(profile_add_window(m->w, &w, &m->window[n]));
		for (unsigned int i = 0; i < 12; i++) {
			struct profile_stall s = {.window = m->window[n],
				.instruction = m->code[random_below(CODES)],
				.samples = 2 + random_below(50),
				.reason = m->reason[random_below(4) & ~1u]};

			check(profile_write_stall(m->w, &s));
			if (s.reason != m->reason[0])
				continue;
			s.reason = m->reason[1];
			s.samples /= 2;
			check(profile_write_stall(m->w, &s));
		}
	}
}

static void write_others(struct made *m)
{
	for (unsigned int n = 0; n < 100; n++) {
		struct profile_count c = {.start_ns = START_NS + n * 10 * MS,
			.duration_ns = 10 * MS,
			.device = m->device[0],
			.counter = m->counter,
			.value = random_below(100)};
		struct profile_driver d = {.start_ns = some_time(),
			.duration_ns = random_below(5 * MS),
			.thread = m->thread[random_below(THREADS)],
			.source = m->source,
			.ring = m->ring,
			.name = m->job,
			.kind = DRIVER_RUN};

		check(profile_write_count(m->w, &c));
		check(profile_write_driver(m->w, &d));
	}
}

static void write_bursts(struct made *m)
{
	for (uint32_t n = 0; n < 20; n++) {
		struct profile_burst b = {.process = m->process[n % 2],
			.instance = n % 2 + 1,
			.since_ns = START_NS + n / 2 * 100 * MS,
			.until_ns = START_NS + (n / 2 + 1) * 100 * MS};

		b.start_ns = b.since_ns + random_below(60 * MS);
		b.end_ns = b.start_ns + 7 * MS + random_below(9 * MS);
		check(profile_add_burst(m->w, &b));
	}
}

static void set_number(struct made *m, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	check(profile_set_meta(m->w, key, text));
}

int main(int argc, char **argv)
{
	bool many = argc > 3 && !strcmp(argv[3], "many");
	struct made m = {0};

	if (argc < 3) {
		fprintf(stderr, "usage: range_profile FILE SEED [bursts | many]\n");
		return 2;
	}
	random_state += strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull;
	check(profile_writer_open(&m.w, argv[1]));
	set_number(&m, META_START_NS, START_NS);
	set_number(&m, META_END_NS, END_NS);
	/* 1 May 2026, 12:00:00 UTC when the recording began */
	set_number(&m, META_REALTIME_NS, 1777636800ull * 1000 * MS - START_NS);
	check(profile_set_meta(m.w, META_OFF_CPU, "1000"));
	check(profile_set_meta(m.w, META_STALLS, "continuous"));
	check(profile_set_meta(m.w, META_SAMPLE_HZ, "999"));
	check(profile_set_meta(m.w, META_COUNTERS, "10000000"));
	check(profile_set_meta(m.w, META_COMMAND, "app"));
	add_tasks(&m);
	add_stacks(&m);
	add_ops(&m);
	add_code(&m);
	add_others(&m);
	for (unsigned int n = 0; n < (many ? MANY_LAUNCHES : 700); n++)
		write_launch(&m);
	write_samples(&m);
	write_accounts(&m);
	for (unsigned int n = 0; n < THREADS; n++)
		write_waits(&m, m.thread[n]);
	write_stalls(&m);
	write_others(&m);
	if (argc > 3 && !many)
		write_bursts(&m);
	check(profile_writer_end(m.w));
	return profile_writer_close(m.w) != 0;
}
