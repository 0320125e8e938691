// SPDX-License-Identifier: MIT
/*
 * Writes recordings that are extreme in one way, for tests of all that shows them.
 *
 *	extreme_profile names FILE       every name is as long as a file may have it (1 MiB)
 *	extreme_profile threads FILE N   N threads, each with a sample, a wait, a call and GPU work in a
 *	                                 stream of its own
 *	extreme_profile pause FILE       5 s of work, a minute of nothing, 5 s of work: a sample each 10 ms,
 *	                                 and a kernel of 5 ms
 *	extreme_profile hours FILE N     N hours, with the events of each in order: a thousand samples,
 *	                                 and as many kernels of 1 ms
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define MS	   1000000ull
#define SECOND	   (1000 * MS)
#define START_NS   (1000 * SECOND)
#define NAME_BYTES ((size_t)1 << 20)
#define PER_HOUR   1000

struct made {
	struct profile_writer *w;
	uint32_t process, device, api;
	uint32_t correlation;
	bool long_names, has_waits;
	char *name; /* NAME_BYTES */
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "extreme_profile: %s\n", error_text());
	exit(1);
}

/* With long names: this one, and then what breaks formats, again and again. */
static uint32_t string(struct made *m, const char *text)
{
	static const char more[] =
		"::nested<\"\xe2\x80\xae;\n\x1b[31m\xff</script>]]>&amp;\\ \xc3\xa9 9>";
	size_t size = strlen(text);
	uint32_t id = 0;

	if (m->long_names) {
		memcpy(m->name, text, size);
		for (; size < NAME_BYTES; size++)
			m->name[size] = more[size % (sizeof(more) - 1)];
		text = m->name;
	}
	check(profile_add_string(m->w, text, size, &id));
	return id;
}

static uint32_t add_frame(struct made *m, uint32_t parent, const struct profile_location *l)
{
	uint32_t location = 0, stack = 0;

	check(profile_add_location(m->w, l, &location));
	check(profile_add_stack_node(m->w, parent, location, &stack));
	return stack;
}

/* A Python function, and what it calls in a file of native code. */
static uint32_t stack_of(struct made *m, const char *function)
{
	struct profile_location python = {.kind = FRAME_PYTHON,
		.name = string(m, function),
		.file = string(m, "app.py"),
		.line = 1};
	struct profile_module file = {.kind = MODULE_FILE, .path = string(m, "/opt/app")};
	struct profile_location native = {.kind = FRAME_USER, .address = 0x1000};
	uint32_t stack = add_frame(m, 0, &python), location = 0;

	check(profile_add_module(m->w, &file, &native.module));
	check(profile_add_location(m->w, &native, &location));
	check(profile_add_symbol(m->w, location, string(m, "native"), string(m, "native.c"), 7, 0));
	return add_frame(m, stack, &native);
}

static uint32_t kernel_of(struct made *m, const char *name, uint32_t stream)
{
	struct profile_op op = {.kind = OP_KERNEL,
		.process = m->process,
		.device = m->device,
		.context = 1,
		.stream = stream,
		.name = string(m, name),
		.grid = {1, 1, 1},
		.block = {32, 1, 1}};
	uint32_t id = 0;

	check(profile_add_op(m->w, &op, &id));
	return id;
}

static uint32_t thread_of(struct made *m, uint32_t tid, uint32_t name)
{
	struct profile_thread t = {.process = m->process, .tid = tid, .name = name};
	uint32_t id = 0;

	check(profile_add_thread(m->w, &t, &id));
	return id;
}

static void begin(struct made *m)
{
	struct profile_process p = {.pid = 100, .start_ns = START_NS};
	struct profile_device d = {.uuid = {1}, .sm_count = 4};

	p.comm = string(m, "app");
	p.cmdline = string(m, "app --fast");
	d.name = string(m, "Example GPU");
	check(profile_add_process(m->w, &p, &m->process));
	check(profile_add_device(m->w, &d, &m->device));
	m->api = string(m, "cudaLaunchKernel");
}

static void end(struct made *m, uint64_t elapsed_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", START_NS);
	check(profile_set_meta(m->w, META_START_NS, text));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)(START_NS + elapsed_ns));
	check(profile_set_meta(m->w, META_END_NS, text));
	check(profile_set_meta(m->w, META_SAMPLE_HZ, "100"));
	check(profile_set_meta(m->w, META_COMMAND, "app"));
	if (m->has_waits)
		check(profile_set_meta(m->w, META_OFF_CPU, "1"));
}

static void add_sample(
	struct made *m, uint32_t thread, uint32_t stack, uint64_t at_ns, uint64_t period_ns)
{
	struct profile_sample s = {.time_ns = START_NS + at_ns,
		.period_ns = period_ns,
		.thread = thread,
		.stack = stack};

	check(profile_write_sample(m->w, &s));
}

/* Work that begins 100 us after its call. */
static void add_launch(struct made *m, uint32_t thread, uint32_t stack, uint32_t op, uint64_t at_ns,
	uint64_t duration_ns)
{
	struct profile_call call = {.start_ns = START_NS + at_ns,
		.duration_ns = 5000,
		.thread = thread,
		.stack = stack,
		.api = m->api,
		.kind = CALL_LAUNCH,
		.instance = 1,
		.correlation = ++m->correlation};
	struct profile_work work = {.start_ns = call.start_ns + 100000,
		.duration_ns = duration_ns,
		.launch_ns = call.start_ns,
		.op = op,
		.thread = thread,
		.stack = stack,
		.api = m->api,
		.instance = 1,
		.correlation = call.correlation};

	check(profile_write_call(m->w, &call));
	check(profile_write_work(m->w, &work));
}

static void add_wait(struct made *m, uint32_t thread, uint32_t stack, uint64_t at_ns)
{
	struct profile_wait wait = {.start_ns = START_NS + at_ns,
		.duration_ns = 2 * MS,
		.queued_ns = 1000,
		.thread = thread,
		.stack = stack,
		.waker = thread,
		.reason = WAIT_LOCK};

	m->has_waits = true;
	check(profile_write_wait(m->w, &wait));
}

/* ------------------------------------------------------------------ names */

/* Samples of an instruction of the kernel, so that its code can be shown. */
static void add_code(struct made *m, const char *kernel)
{
	struct profile_module image = {
		.kind = MODULE_GPU_CODE, .build_id_size = 8, .build_id = {1}};
	struct profile_gpu_function f = {.name = string(m, kernel), .index = 1};
	struct profile_instruction i = {
		.text = string(m, "LDG.E R2, R4"), .file = string(m, "/src/kernel.cu"), .line = 3};
	struct profile_window window = {.process = m->process,
		.instance = 1,
		.device = m->device,
		.context = 1,
		.start_ns = START_NS,
		.end_ns = START_NS + SECOND,
		.period_cycles = 4096,
		.samples = 10};
	struct profile_stall stall = {.samples = 10, .reason = string(m, "barrier")};

	check(profile_add_module(m->w, &image, &f.module));
	check(profile_add_gpu_function(m->w, &f, &i.function));
	check(profile_add_instruction(m->w, &i, &stall.instruction));
	check(profile_add_window(m->w, &window, &stall.window));
	check(profile_write_stall(m->w, &stall));
	check(profile_set_meta(m->w, META_STALLS, "continuous"));
	check(profile_set_meta(m->w, META_GPU_TEXT, "decoded"));
}

static void add_others(struct made *m, uint32_t thread, uint32_t stack)
{
	struct profile_marker marker = {.start_ns = START_NS + 10 * MS,
		.duration_ns = 20 * MS,
		.thread = thread,
		.name = string(m, "step"),
		.domain = string(m, "loader"),
		.kind = MARKER_RANGE};
	struct profile_counter c = {.name = string(m, "dram"), .unit = string(m, "byte/s")};
	struct profile_count count = {
		.start_ns = START_NS, .duration_ns = SECOND, .device = m->device, .value = 12.5};
	struct profile_driver driver = {.start_ns = START_NS + 40 * MS,
		.duration_ns = MS,
		.thread = thread,
		.source = string(m, "drm"),
		.ring = string(m, "gfx"),
		.name = string(m, "run"),
		.kind = DRIVER_RUN,
		.job = 1};
	struct profile_sync sync = {.start_ns = START_NS + 50 * MS,
		.duration_ns = MS,
		.instance = 1,
		.correlation = 1,
		.thread = thread,
		.stack = stack,
		.api = string(m, "cudaStreamSynchronize"),
		.device = m->device,
		.context = 1,
		.stream = 7,
		.kind = SYNC_STREAM};

	check(profile_write_marker(m->w, &marker));
	check(profile_add_counter(m->w, &c, &count.counter));
	check(profile_write_count(m->w, &count));
	check(profile_write_driver(m->w, &driver));
	check(profile_write_sync(m->w, &sync));
}

static void write_names(struct made *m)
{
	uint32_t stack, thread, op;

	m->long_names = true;
	m->name = malloc(NAME_BYTES);
	if (!m->name)
		exit(1);
	begin(m);
	stack = stack_of(m, "function");
	thread = thread_of(m, 100, string(m, "thread"));
	op = kernel_of(m, "kernel", 7);
	for (uint64_t n = 0; n < 3; n++) {
		add_sample(m, thread, stack, 100 * MS * n, 10 * MS);
		add_launch(m, thread, stack, op, 100 * MS * n, 5 * MS);
		add_wait(m, thread, stack, 100 * MS * n + 20 * MS);
	}
	add_others(m, thread, stack);
	add_code(m, "kernel");
	end(m, SECOND);
	free(m->name);
}

/* ------------------------------------------------------------------ threads, pause, hours */

static void write_threads(struct made *m, unsigned long count)
{
	uint32_t stack, name;
	char text[32];

	begin(m);
	stack = stack_of(m, "function");
	for (unsigned long n = 0; n < count; n++) {
		uint64_t at_ns = 10 * MS + n * (SECOND - 20 * MS) / count;
		uint32_t thread;

		snprintf(text, sizeof(text), "worker %lu", n);
		name = string(m, text);
		thread = thread_of(m, 1000 + (uint32_t)n, name);
		add_sample(m, thread, stack, at_ns, MS);
		add_wait(m, thread, stack, at_ns + MS);
		add_launch(m, thread, stack, kernel_of(m, "kernel", (uint32_t)n + 7), at_ns, MS);
	}
	end(m, SECOND);
}

static void write_pause(struct made *m)
{
	uint32_t before, after, thread, op;

	begin(m);
	before = stack_of(m, "before");
	after = stack_of(m, "after");
	thread = thread_of(m, 100, string(m, "app"));
	op = kernel_of(m, "kernel", 7);
	for (uint64_t n = 0; n < 1000; n++) {
		uint64_t at_ns = n * 10 * MS + (n < 500 ? 0 : 60 * SECOND);

		add_sample(m, thread, n < 500 ? before : after, at_ns, 10 * MS);
		add_launch(m, thread, n < 500 ? before : after, op, at_ns, 5 * MS);
	}
	end(m, 70 * SECOND);
}

static void write_hours(struct made *m, unsigned long hours)
{
	uint32_t stack, thread, op;

	begin(m);
	stack = stack_of(m, "function");
	thread = thread_of(m, 100, string(m, "app"));
	op = kernel_of(m, "kernel", 7);
	for (unsigned long n = 0; n < hours * PER_HOUR; n++) {
		uint64_t at_ns = n * (3600 * SECOND / PER_HOUR);

		add_sample(m, thread, stack, at_ns, 10 * MS);
		add_launch(m, thread, stack, op, at_ns, MS);
	}
	end(m, hours * 3600 * SECOND);
}

int main(int argc, char **argv)
{
	struct made m = {0};
	const char *kind = argc > 2 ? argv[1] : "";
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	if (argc < 3) {
		fprintf(stderr, "usage: extreme_profile KIND FILE [N]\n");
		return 2;
	}
	check(profile_writer_open(&m.w, argv[2]));
	if (!strcmp(kind, "names"))
		write_names(&m);
	else if (!strcmp(kind, "threads"))
		write_threads(&m, count);
	else if (!strcmp(kind, "pause"))
		write_pause(&m);
	else if (!strcmp(kind, "hours"))
		write_hours(&m, count);
	check(profile_writer_end(m.w));
	return profile_writer_close(m.w) != 0;
}
