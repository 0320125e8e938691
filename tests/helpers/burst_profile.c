// SPDX-License-Identifier: MIT
/*
 * Writes a recording with a known course, for tests of the time axis.
 *
 *	burst_profile FILE [THREADS]
 *
 * 70 seconds of one thread, sampled a hundred times a second in `steady`. In every seventh second,
 * 300 to 400 ms after its begin, `burst` launches ten kernels of 10 ms, one after the other; and
 * once, at 33.5 s, `rare` launches a kernel of a microsecond. So many more threads have a sample
 * each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define MS	 1000000ull
#define SECOND	 (1000 * MS)
#define START_NS (1000 * SECOND)
#define SECONDS	 70

struct made {
	struct profile_writer *w;
	uint32_t process, thread, device, api;
	uint32_t correlation;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "burst_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t stack_of(struct made *m, const char *function)
{
	struct profile_location l = {.kind = FRAME_PYTHON,
		.name = string(m, function),
		.file = string(m, "app.py"),
		.line = 1};
	uint32_t location = 0, stack = 0;

	check(profile_add_location(m->w, &l, &location));
	check(profile_add_stack_node(m->w, 0, location, &stack));
	return stack;
}

static uint32_t kernel_of(struct made *m, const char *name)
{
	struct profile_op op = {.kind = OP_KERNEL,
		.process = m->process,
		.device = m->device,
		.context = 1,
		.stream = 7,
		.name = string(m, name),
		.grid = {1, 1, 1},
		.block = {1, 1, 1}};
	uint32_t id = 0;

	check(profile_add_op(m->w, &op, &id));
	return id;
}

static void add_task(struct made *m)
{
	struct profile_process p = {.pid = 100, .start_ns = START_NS, .comm = string(m, "app")};
	struct profile_device d = {.name = string(m, "Example GPU"), .uuid = {1}, .sm_count = 4};
	struct profile_thread t = {.tid = 100, .name = string(m, "app")};

	check(profile_add_process(m->w, &p, &m->process));
	check(profile_add_device(m->w, &d, &m->device));
	t.process = m->process;
	check(profile_add_thread(m->w, &t, &m->thread));
	m->api = string(m, "cudaLaunchKernel");
}

static void add_samples(struct made *m)
{
	uint32_t stack = stack_of(m, "steady");

	for (uint64_t n = 0; n < SECONDS * 100; n++) {
		struct profile_sample s = {.time_ns = START_NS + n * 10 * MS,
			.period_ns = 10 * MS,
			.thread = m->thread,
			.stack = stack};

		check(profile_write_sample(m->w, &s));
	}
}

static void add_threads(struct made *m, unsigned long count)
{
	uint32_t stack = stack_of(m, "beside"), name = string(m, "beside");

	for (unsigned long n = 0; n < count; n++) {
		struct profile_thread t = {
			.process = m->process, .tid = 1000 + (uint32_t)n, .name = name};
		struct profile_sample s = {
			.time_ns = START_NS + n, .period_ns = MS, .stack = stack};

		check(profile_add_thread(m->w, &t, &s.thread));
		check(profile_write_sample(m->w, &s));
	}
}

static void add_work(
	struct made *m, uint32_t stack, uint32_t op, uint64_t start_ns, uint64_t duration_ns)
{
	struct profile_work w = {.start_ns = START_NS + start_ns,
		.duration_ns = duration_ns,
		.launch_ns = START_NS + start_ns - MS,
		.op = op,
		.thread = m->thread,
		.stack = stack,
		.api = m->api,
		.instance = 1,
		.correlation = ++m->correlation,
		.join = JOIN_OK};

	check(profile_write_work(m->w, &w));
}

static void add_bursts(struct made *m)
{
	uint32_t often = stack_of(m, "burst"), once = stack_of(m, "rare"),
		 kernel = kernel_of(m, "often"), other = kernel_of(m, "seldom");

	for (uint64_t second = 0; second < SECONDS; second += 7)
		for (uint64_t n = 0; n < 10; n++)
			add_work(m, often, kernel, second * SECOND + (300 + 10 * n) * MS, 10 * MS);
	add_work(m, once, other, 33500 * MS, 1000);
}

int main(int argc, char **argv)
{
	struct made m = {0};

	if (argc < 2) {
		fprintf(stderr, "usage: burst_profile FILE [THREADS]\n");
		return 2;
	}
	check(profile_writer_open(&m.w, argv[1]));
	check(profile_set_meta(m.w, META_START_NS, "1000000000000"));
	check(profile_set_meta(m.w, META_END_NS, "1070000000000"));
	check(profile_set_meta(m.w, META_SAMPLE_HZ, "100"));
	check(profile_set_meta(m.w, META_COMMAND, "app"));
	add_task(&m);
	add_samples(&m);
	add_bursts(&m);
	if (argc > 2)
		add_threads(&m, strtoul(argv[2], NULL, 10));
	check(profile_writer_end(m.w));
	return profile_writer_close(m.w) != 0;
}
