// SPDX-License-Identifier: MIT
/* Causes of gaps in GPU work, on profiles made by hand. Times are microseconds. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/busy.h"
#include "base/error.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/gaps/gaps.h"
#include "view/gaps/sync_waits.h"

#define US 1000ull

enum { MAIN = 1, OTHER, HELPER };

static char path[] = "/tmp/gaps_test.XXXXXX";
static struct profile_writer *w;
static uint32_t app, kernel_op, copy_op, correlation;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(w, text, strlen(text), &id) == 0);
	return id;
}

/* A function; Python's where the name has a blank in front: "
 * fetch@/lib/torch/utils/data/fetch.py". */
static uint32_t function(const char *text, size_t size)
{
	bool python = *text == ' ';
	struct profile_location l = {
		.kind = python ? FRAME_PYTHON : FRAME_USER, .module = python ? 0 : app};
	size_t name_size = strcspn(text, "@;");
	char name[32], file[64] = "";
	uint32_t id = 0, name_id;

	snprintf(name, sizeof(name), "%.*s", (int)(name_size < size ? name_size : size), text);
	if (name_size < size)
		snprintf(file, sizeof(file), "%.*s", (int)(size - name_size - 1),
			text + name_size + 1);
	name_id = string(name);
	if (python) {
		l.name = name_id;
		l.file = *file ? string(file) : 0;
	} else {
		l.address = 0x1000ull * name_id;
	}
	CHECK(profile_add_location(w, &l, &id) == 0);
	if (!python)
		CHECK(profile_add_symbol(w, id, name_id, 0, 0, 0) == 0);
	return id;
}

/* "main;launch": functions, root first. */
static uint32_t stack(const char *functions)
{
	uint32_t id = 0;

	for (size_t size; *functions; functions += size + (functions[size] == ';')) {
		size = strcspn(functions, ";");
		CHECK(profile_add_stack_node(w, id, function(functions, size), &id) == 0);
	}
	return id;
}

static void begin(bool off_cpu)
{
	struct profile_process p = {.pid = 10};
	struct profile_module m = {.kind = MODULE_FILE};
	struct profile_device d = {.uuid = {1}};
	struct profile_op op = {.kind = OP_KERNEL, .context = 1, .stream = 7};

	CHECK(profile_writer_open(&w, path) == 0);
	m.path = string("/opt/app");
	CHECK(profile_add_module(w, &m, &app) == 0);
	CHECK(profile_add_process(w, &p, &op.process) == 0);
	for (uint32_t tid = 10; tid < 13; tid++) {
		struct profile_thread t = {.process = op.process, .tid = tid};
		uint32_t id = 0;

		CHECK(profile_add_thread(w, &t, &id) == 0);
	}
	CHECK(profile_add_device(w, &d, &op.device) == 0);
	op.name = string("kernel");
	CHECK(profile_add_op(w, &op, &kernel_op) == 0);
	op.kind = OP_COPY;
	op.name = 0;
	CHECK(profile_add_op(w, &op, &copy_op) == 0);
	if (off_cpu)
		CHECK(profile_set_meta(w, META_OFF_CPU, "1000") == 0);
	correlation = 0;
}

static void work_from(
	const char *functions, uint32_t thread, uint64_t launch, uint64_t start, uint64_t end)
{
	struct profile_work e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.launch_ns = launch * US,
		.op = kernel_op,
		.thread = thread,
		.stack = stack(functions),
		.instance = 1,
		.correlation = ++correlation};

	CHECK(profile_write_work(w, &e) == 0);
}

static void work(uint32_t thread, uint64_t launch, uint64_t start, uint64_t end)
{
	work_from("launch", thread, launch, start, end);
}

static void of_graph_into(
	uint32_t context, uint32_t stream, uint64_t launch, uint64_t start, uint64_t end)
{
	struct profile_work e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.launch_ns = launch * US,
		.op = kernel_op,
		.thread = MAIN,
		.stack = stack("launch"),
		.graph_node = 1,
		.graph_context = context,
		.graph_stream = stream,
		.instance = 1,
		.correlation = ++correlation};

	CHECK(profile_write_work(w, &e) == 0);
}

static void of_graph(uint64_t launch, uint64_t start, uint64_t end)
{
	of_graph_into(0, 0, launch, start, end);
}

static void waited(uint32_t thread, enum profile_wait_reason reason, uint64_t start, uint64_t end,
	uint32_t waker)
{
	struct profile_wait e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.thread = thread,
		.stack = stack("wait"),
		.reason = reason,
		.waker = waker};

	CHECK(profile_write_wait(w, &e) == 0);
}

static void called(uint32_t thread, enum profile_call_kind kind, uint64_t start, uint64_t end)
{
	struct profile_call e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.thread = thread,
		.stack = stack("call"),
		.api = string("cudaCall"),
		.kind = kind,
		.instance = 1,
		.correlation = ++correlation};

	CHECK(profile_write_call(w, &e) == 0);
}

static void sampled(
	uint32_t thread, const char *function, uint64_t first, uint64_t end, uint64_t every)
{
	for (uint64_t at = first; at < end; at += every) {
		struct profile_sample e = {at * US, every * US, thread, stack(function), 0};

		CHECK(profile_write_sample(w, &e) == 0);
	}
}

static void finish_within(struct gaps *g, size_t most)
{
	struct profile_event e;
	struct profile_reader *r;
	struct internals internals = {0};

	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &e) > 0)
		;
	CHECK(internals_init(&internals, r) == 0);
	*g = (struct gaps){0};
	CHECK(gaps_read_within(g, &internals, most) == 0);
	internals_release(&internals);
	profile_reader_close(r);
}

static void finish(struct gaps *g)
{
	finish_within(g, GAP_EVENTS_MAX);
}

/* The causes of all gaps in the order of time: "input queued". */
static const char *causes(void)
{
	static char text[256];
	struct gaps g;
	uint64_t after_ns = 0;

	finish(&g);
	text[0] = '\0';
	for (size_t i = 0; i < g.gaps.count; i++) {
		const struct gap *next = NULL;

		vec_foreach (gap, &g.gaps)
			if (gap->end_ns > after_ns && (!next || gap->end_ns < next->end_ns))
				next = gap;
		after_ns = next->end_ns;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			gap_cause_name(next->cause));
	}
	gaps_release(&g);
	return text;
}

static void a_thread_that_waited_for_most_of_the_gap_waited_for_input(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	waited(MAIN, WAIT_SLEEP, 110, 480, 0);
	work(MAIN, 490, 500, 600);
	waited(MAIN, WAIT_IO, 610, 700, 0);
	work(MAIN, 990, 1000, 1100);
	CHECK_TEXT(causes(), "input launch_rate");
}

static void work_that_was_launched_before_the_gap_was_queued(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	work(MAIN, 90, 120, 200);
	CHECK_TEXT(causes(), "queued");
}

static void after_a_synchronizing_call_gaps_are_its_until_work_is_queued_again(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_SYNC, 50, 105);
	work(MAIN, 130, 140, 200);
	work(MAIN, 220, 230, 300);
	work(MAIN, 280, 310, 400);
	work(MAIN, 420, 430, 500);
	CHECK_TEXT(causes(), "synchronization synchronization queued launch_rate");
}

static void a_synchronizing_call_does_not_explain_what_comes_long_after(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_SYNC, 50, 105);
	work(MAIN, 1000, 1010, 1020);
	CHECK_TEXT(causes(), "launch_rate");
}

static void waiting_in_a_synchronizing_call_is_not_for_input(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_SYNC, 50, 500);
	waited(MAIN, WAIT_EVENTS, 60, 499, 0);
	work(MAIN, 510, 520, 600);
	CHECK_TEXT(causes(), "synchronization");
}

static void a_copy_that_its_call_waits_for_synchronizes(void)
{
	struct profile_work copy = {.start_ns = 60 * US,
		.duration_ns = 40 * US,
		.launch_ns = 50 * US,
		.thread = MAIN,
		.instance = 1,
		.correlation = 1};

	begin(true);
	called(MAIN, CALL_COPY, 50, 105);
	copy.op = copy_op;
	CHECK(profile_write_work(w, &copy) == 0);
	work(MAIN, 130, 140, 200);
	CHECK_TEXT(causes(), "synchronization");
}

static void samples_tell_python_from_native_code(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	sampled(MAIN, " forward", 100, 1000, 100);
	work(MAIN, 1000, 1010, 1100);
	sampled(MAIN, "gemm_setup", 1100, 2000, 100);
	work(MAIN, 2000, 2010, 2100);
	sampled(MAIN, " forward", 2100, 3000, 100);
	called(MAIN, CALL_LAUNCH, 2110, 2990);
	work(MAIN, 3000, 3010, 3100);
	CHECK_TEXT(causes(), "python launch_rate launch_rate");
}

static void a_thread_that_could_have_run_had_no_cpu(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	waited(MAIN, WAIT_RUN_QUEUE, 110, 480, 0);
	work(MAIN, 490, 500, 600);
	CHECK_TEXT(causes(), "cpu");
}

static void waiting_for_another_launching_thread_is_what_that_one_does(void)
{
	begin(true);
	work(OTHER, 1, 2, 100);
	waited(MAIN, WAIT_LOCK, 50, 480, OTHER);
	work(MAIN, 490, 500, 600);
	waited(OTHER, WAIT_LOCK, 590, 980, HELPER);
	work(OTHER, 990, 1000, 1100);
	waited(MAIN, WAIT_LOCK, 1000, 1480, OTHER);
	waited(OTHER, WAIT_SLEEP, 1100, 1450, 0);
	work(MAIN, 1490, 1500, 1600);
	waited(OTHER, WAIT_LOCK, 1500, 1980, 0);
	work(OTHER, 1990, 2000, 2100);
	CHECK_TEXT(causes(), "launch_rate input input launch_rate");
}

static void without_waits_a_thread_that_is_never_seen_to_run_is_not_known_to(void)
{
	begin(false);
	sampled(MAIN, "work", 0, 100, 10);
	work(MAIN, 1, 2, 100);
	work(MAIN, 490, 500, 600);
	sampled(MAIN, "work", 600, 990, 10);
	work(MAIN, 990, 1000, 1100);
	work(0, 0, 1200, 1300);
	CHECK_TEXT(causes(), "unknown launch_rate unknown");
}

static void gaps_that_come_again_are_told_from_those_that_happen_once(void)
{
	struct gaps g;

	begin(true);
	for (uint64_t at = 0; at < 10; at++)
		work(MAIN, at * 100 + 89, at * 100 + 90, at * 100 + 100);
	work(MAIN, 5000, 5001, 5010);
	finish(&g);
	CHECK(g.devices.count == 1 && g.gaps.count == 10);
	CHECK(g.devices.items[0].many[GAP_LAUNCH].count == 9 &&
		g.devices.items[0].many[GAP_LAUNCH].total_ns == 810 * US);
	CHECK(g.devices.items[0].once[GAP_WORK].count == 1 &&
		g.devices.items[0].once[GAP_WORK].total_ns == 4001 * US);
	CHECK(g.devices.items[0].idle_ns == 4811 * US);
	CHECK(gaps_longest(&g, g.devices.items, 0)->once &&
		!gaps_longest(&g, g.devices.items, 1)->once);
	CHECK(g.devices.items[0].many[GAP_LAUNCH].stack &&
		g.devices.items[0].many[GAP_LAUNCH].stack_ns == 810 * US);
	gaps_release(&g);
}

/* Whether the first cause of what happens again and again, but for the GPU's own, is this one, and
 * shows in this function. */
static bool is_first(const struct gaps *g, enum gap_cause cause, const char *name)
{
	const struct gap_sum *many = g->devices.items[0].many;
	struct profile_reader *r;
	struct profile_event e;
	unsigned int best = GAP_UNKNOWN;
	bool same;

	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		if (i != GAP_QUEUED && many[i].total_ns > many[best].total_ns)
			best = i;
	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &e) > 0)
		;
	same = best == cause && many[best].stack &&
	       !strcmp(name, profile_string(r,
				     profile_location(
					     r, profile_stack_node(r, many[best].stack)->location)
					     ->name,
				     NULL));
	profile_reader_close(r);
	return same;
}

#define FETCH " train; fetch@/lib/torch/utils/data/_utils/fetch.py"

/* Steps of 17 ms, of which work for the GPU takes one; a sample each 10 ms, of one function and the
 * other in turn. */
static void run_steps(unsigned int steps, const char *one, const char *other)
{
	for (uint64_t step = 0; step < steps; step++)
		for (uint64_t k = 0, at = step * 17000 + 16000; k < 4; k++)
			work_from(k ? " train; forward;launch" : " train;copy", MAIN, at + k * 200,
				at + k * 200 + 8, at + k * 200 + 10);
	for (uint64_t at = 5000; one && at < steps * 17000; at += 10000)
		sampled(MAIN, at % 20000 < 10000 ? one : other, at, at + 1, 10000);
}

static void data_that_the_launching_thread_makes_itself_is_input(void)
{
	struct gaps g;

	begin(true);
	run_steps(
		40, FETCH "; getitem@/home/me/train.py", FETCH "; getitem@/home/me/train.py;clock");
	finish(&g);
	CHECK(is_first(&g, GAP_INPUT, " getitem"));
	/* The time to the first work is no gap; the gaps between the four pieces of work of a step
	 * are launches. */
	CHECK(g.devices.items[0].many[GAP_INPUT].count == 39 &&
		g.devices.items[0].many[GAP_LAUNCH].count == 120);
	CHECK(g.devices.items[0].many[GAP_INPUT].stack_ns ==
		g.devices.items[0].many[GAP_INPUT].total_ns);
	gaps_release(&g);
}

static void other_work_in_long_gaps_is_told_by_what_does_it(void)
{
	struct gaps g;

	begin(true);
	run_steps(40, " train; log; encode", " train; log; encode;sort");
	finish(&g);
	CHECK(is_first(&g, GAP_PYTHON, " encode") || is_first(&g, GAP_PYTHON, "sort"));
	gaps_release(&g);
	begin(true);
	run_steps(40, " train;sort", " train;sort");
	finish(&g);
	CHECK(is_first(&g, GAP_WORK, "sort"));
	gaps_release(&g);
	begin(true);
	run_steps(40, " train;copy", " train;copy");
	finish(&g);
	CHECK(is_first(&g, GAP_LAUNCH, "copy"));
	gaps_release(&g);
}

static void code_that_loads_data_does_not_make_its_launches_input(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	sampled(MAIN, FETCH "; getitem", 105, 900, 100);
	work_from(FETCH "; getitem;launch", MAIN, 990, 1000, 1100);
	CHECK_TEXT(causes(), "python");
}

static void long_gaps_without_samples_are_not_for_launches(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	work(MAIN, 5000, 5010, 5100);
	called(MAIN, CALL_LAUNCH, 5200, 8000);
	work(MAIN, 9000, 9010, 9100);
	CHECK_TEXT(causes(), "cpu_work launch_rate");
	begin(false);
	work(MAIN, 1, 2, 100);
	work(MAIN, 5000, 5010, 5100);
	CHECK_TEXT(causes(), "unknown");
}

/* Steps as above in which the thread waits for 15 ms, of which not every time is recorded. */
static void run_waiting_steps(unsigned int steps, unsigned int recorded_of_3)
{
	begin(true);
	run_steps(steps, NULL, NULL);
	for (uint64_t step = 0; step < steps; step++)
		if (step % 3 < recorded_of_3)
			waited(MAIN, WAIT_EVENTS, step * 17000 + 800, step * 17000 + 15800, 0);
	/* By chance two of its steps have a sample. */
	for (uint64_t step = 4; step < 10; step += 4)
		sampled(MAIN, " train; log", step * 17000 + 15900, step * 17000 + 15901, 10000);
}

static void where_waits_are_not_all_recorded_the_site_tells_the_cause(void)
{
	struct gaps g;

	run_waiting_steps(42, 2);
	finish(&g);
	CHECK(is_first(&g, GAP_INPUT, "wait") && g.devices.items[0].many[GAP_INPUT].count >= 39);
	gaps_release(&g);
	run_waiting_steps(42, 0);
	finish(&g);
	CHECK(g.devices.items[0].many[GAP_UNKNOWN].count == 39 &&
		!g.devices.items[0].many[GAP_WORK].count);
	CHECK(g.devices.items[0].many[GAP_LAUNCH].count == 126);
	gaps_release(&g);
}

/*
 * A start: 50 gaps of 300 us within 20 ms and one of 4 s. Then 300 steps: 50 kernels that are
 * queued, and the value that is read at the end.
 */
static void a_value_that_is_read_in_each_step_is_told_before_the_start(void)
{
	struct gaps g;
	uint64_t host, gpu;

	begin(true);
	for (uint64_t k = 0; k < 50; k++)
		work_from(" train; to_gpu", MAIN, k * 400 + 1, k * 400 + 10, k * 400 + 100);
	host = gpu = 4000000;
	for (unsigned int step = 0; step < 300; step++, host = gpu + 40) {
		for (uint64_t k = 0; k < 50; k++, host += 10) {
			uint64_t start = host + 8 > gpu + 2 ? host + 8 : gpu + 2;

			/* A step begins as its kernels go on: from the same stack. */
			work_from(" train; forward", MAIN, host, start, start + 200);
			gpu = start + 200;
		}
		called(MAIN, CALL_SYNC, host, gpu + 5);
	}
	finish(&g);
	CHECK(is_first(&g, GAP_SYNC, "call") && g.devices.items[0].many[GAP_SYNC].count == 299);
	CHECK(g.devices.items[0].once[GAP_LAUNCH].count == 49 &&
		!g.devices.items[0].many[GAP_LAUNCH].count);
	CHECK(g.devices.items[0].once[GAP_WORK].count == 1);
	gaps_release(&g);
}

static void large_kernels_leave_no_gaps_to_speak_of(void)
{
	struct gaps g;
	const struct gap_process *p;
	uint64_t host = 1, gpu = 0;

	begin(true);
	for (unsigned int step = 0; step < 20; step++, host = gpu + 10) {
		for (uint64_t k = 0; k < 50; k++, host += 10) {
			uint64_t start = host + 8 > gpu + 2 ? host + 8 : gpu + 2;

			work(MAIN, host, start, start + 2500);
			gpu = start + 2500;
		}
		called(MAIN, CALL_SYNC, host, gpu + 5);
	}
	finish(&g);
	p = g.processes.items;
	CHECK(p->kernels_ns > (p->span_ns - p->once_ns) / 100 * 99 && !p->once_ns);
	CHECK(is_first(&g, GAP_SYNC, "call"));
	gaps_release(&g);
}

static void a_process_has_its_time_divided_to_the_end(void)
{
	struct profile_work copy = {.start_ns = 200 * US,
		.duration_ns = 100 * US,
		.launch_ns = 150 * US,
		.thread = MAIN,
		.instance = 1,
		.correlation = 77};
	struct gaps g;
	const struct gap_process *p;

	begin(true);
	work(MAIN, 1, 100, 250);
	copy.op = copy_op;
	CHECK(profile_write_work(w, &copy) == 0);
	waited(MAIN, WAIT_SLEEP, 300, 700, 0);
	work(MAIN, 700, 700, 800);
	finish(&g);
	p = g.processes.items;
	CHECK(g.processes.count == 1 && p->span_ns == 700 * US);
	CHECK(p->kernels_ns == 250 * US && p->transfers_ns == 50 * US && p->once_ns == 400 * US);
	gaps_release(&g);
}

/* Each has more stretches of work than struct busy remembers. */
static void work_of_two_gpus_in_turn_is_all_counted(void)
{
	struct profile_device second = {.ordinal = 1, .uuid = {2}};
	struct profile_op op = {.kind = OP_KERNEL, .process = 1, .context = 2, .stream = 7};
	struct profile_work kernel = {.duration_ns = 4 * US, .thread = MAIN, .instance = 1};
	uint64_t count = BUSY_WINDOW + BUSY_WINDOW / 8;
	uint32_t other_op = 0;
	struct gaps g;

	begin(false);
	CHECK(profile_add_device(w, &second, &op.device) == 0);
	CHECK(profile_add_op(w, &op, &other_op) == 0);
	for (uint64_t i = 0; i < 2 * count; i++) {
		kernel.start_ns = (1 + i) * 5 * US;
		kernel.op = i % 2 ? other_op : kernel_op;
		CHECK(profile_write_work(w, &kernel) == 0);
	}
	finish(&g);
	CHECK(g.devices.count == 2 && g.processes.count == 1);
	CHECK(g.processes.items[0].span_ns == (2 * count * 5 - 1) * US &&
		g.processes.items[0].kernels_ns == 2 * count * 4 * US);
	gaps_release(&g);
}

static void what_a_thread_did_adds_up(void)
{
	struct gap_doing d;
	struct gaps g;

	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_LAUNCH, 110, 150);
	waited(MAIN, WAIT_LOCK, 140, 200, 0);
	called(MAIN, CALL_SYNC, 250, 300);
	waited(MAIN, WAIT_EVENTS, 260, 290, 0);
	work(MAIN, 400, 500, 600);
	finish(&g);
	gap_events_doing(&g.events, MAIN, 100 * US, 500 * US, &d);
	CHECK(d.call_ns == 30 * US && d.wait_ns[WAIT_LOCK] == 60 * US && d.sync_ns == 50 * US);
	CHECK(d.run_ns == 260 * US && d.is_wait);
	gap_events_doing(&g.events, 4711, 100 * US, 500 * US, &d);
	CHECK(!d.run_ns);
	gaps_release(&g);
}

static void more_events_than_fit_are_left_out_and_said(void)
{
	struct gaps g;

	begin(true);
	for (uint64_t at = 0; at < 10; at++)
		work(MAIN, at * 100 + 89, at * 100 + 90, at * 100 + 100);
	finish_within(&g, 4);
	CHECK(g.events.works.count == 4 && g.events.cut_ns == 490 * US && g.gaps.count == 3);
	gaps_release(&g);
	begin(true);
	for (uint64_t at = 0; at < 10; at++) {
		work(MAIN, at * 100 + 89, at * 100 + 90, at * 100 + 100);
		waited(MAIN, WAIT_SLEEP, at * 100 + 10, at * 100 + 75, 0);
	}
	finish_within(&g, 14);
	/* Without what threads did, the causes would be wrong. */
	CHECK(g.events.cut_ns == 510 * US && g.events.works.count == 5 && g.gaps.count == 4);
	vec_foreach (gap, &g.gaps)
		CHECK(gap->cause == GAP_INPUT);
	gaps_release(&g);
}

/* What a training loop launches in a step. */
struct loop {
	uint64_t kernels, kernel_us;
	uint64_t launch_us; /* from one launch to the next */
	/* a value is fetched at the end: a copy, and a call that waits for it */
	bool item;
};

/*
 * Ten steps on a GPU that begins 8 us after a launch, and 1 us after the work before; a
 * synchronizing call returns 5 us after its work, and the next step begins 30 us later.
 */
static void run_loop(const struct loop *loop, struct gaps *ret)
{
	uint64_t host = 100, gpu = 0;

	begin(true);
	for (unsigned int step = 0; step < 10; step++, host += 30) {
		for (uint64_t k = 0; k < loop->kernels + loop->item; k++, host += loop->launch_us) {
			uint64_t start = host + 8 > gpu + 1 ? host + 8 : gpu + 1;

			called(MAIN, k < loop->kernels ? CALL_LAUNCH : CALL_COPY, host,
				host + loop->launch_us - 1);
			gpu = start + (k < loop->kernels ? loop->kernel_us : 2);
			work(MAIN, host, start, gpu);
		}
		if (loop->item) {
			called(MAIN, CALL_SYNC, host, gpu + 5);
			host = gpu + 5;
		}
	}
	finish(ret);
}

/* The cause of the most time in which the GPU was idle, but for its own; *ret_share of all of
 * that. */
static unsigned int main_cause(const struct loop *loop, double *ret_share)
{
	struct gaps g;
	uint64_t sums[GAP_CAUSES] = {0}, total = 0;
	unsigned int best = GAP_UNKNOWN;

	run_loop(loop, &g);
	vec_foreach (gap, &g.gaps)
		sums[gap->cause] += gap->end_ns - gap->start_ns;
	sums[GAP_QUEUED] = 0;
	for (unsigned int i = 0; i < GAP_CAUSES; i++) {
		total += sums[i];
		best = sums[i] > sums[best] ? i : best;
	}
	*ret_share = (double)sums[best] / (double)total;
	gaps_release(&g);
	return best;
}

static void a_model_that_keeps_the_gpu_busy_but_for_its_item_synchronizes(void)
{
	double share;

	CHECK(main_cause(&(struct loop){300, 10, 6, true}, &share) == GAP_SYNC && share > 0.9);
	CHECK(main_cause(&(struct loop){300, 10, 6, false}, &share) != GAP_SYNC);
}

static void tiny_kernels_are_short_of_launches_with_an_item_and_without(void)
{
	double share;

	CHECK(main_cause(&(struct loop){300, 2, 6, false}, &share) == GAP_LAUNCH && share > 0.9);
	CHECK(main_cause(&(struct loop){300, 2, 6, true}, &share) == GAP_LAUNCH && share > 0.9);
}

static void an_item_after_each_tiny_kernel_synchronizes(void)
{
	double share;

	CHECK(main_cause(&(struct loop){1, 2, 6, true}, &share) == GAP_SYNC && share > 0.8);
}

static void work_that_was_launched_just_before_the_gap_was_launched_too_late(void)
{
	begin(true);
	for (uint64_t at = 0; at < 5; at++)
		work(MAIN, at * 100 + 90, at * 100 + 98, at * 100 + 100);
	/* The GPU takes 8 us to begin, so that this could not have begun before 498. */
	work(MAIN, 490, 498, 505);
	work(MAIN, 500, 508, 520);
	CHECK_TEXT(causes(), "launch_rate launch_rate launch_rate launch_rate launch_rate");
}

static void a_launch_that_takes_long_itself_is_no_queue(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_LAUNCH, 50, 900);
	work(MAIN, 50, 910, 920);
	CHECK_TEXT(causes(), "launch_rate");
}

static void a_call_that_synchronizes_an_idle_gpu_is_not_why_it_is(void)
{
	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_SYNC, 110, 115);
	work(MAIN, 140, 150, 200);
	CHECK_TEXT(causes(), "launch_rate");
}

static void of_more_events_parts_of_the_time_are_looked_at(void)
{
	static struct summary summary;
	struct gap_parts parts = gap_parts_of(1600, 1600 + 16 * 100 - 1, 1000, 250);
	struct gaps g = {0};
	struct profile_reader *r;
	struct internals internals = {0};
	struct profile_event e;

	CHECK(parts.period_ns == 100 && parts.length_ns == 25);
	CHECK(gap_part(&parts, 1599) == -1 && gap_part(&parts, 1600) == 0 &&
		gap_part(&parts, 1624) == 0);
	CHECK(gap_part(&parts, 1625) == -1 && gap_part(&parts, 1700) == 1 &&
		gap_part(&parts, 3100) == 15);
	CHECK(gap_part(&parts, 3200) == -1 && gap_part(&parts, UINT64_MAX) == -1);
	CHECK(gap_part_end(&parts, 1600) == 1700 && gap_part_end(&parts, 1699) == 1700 &&
		gap_part_end(&parts, 3100) == 3200);
	parts = gap_parts_of(0, 1000, 250, 250);
	CHECK(!parts.period_ns && gap_part(&parts, 4711) == 0 && !gap_part_end(&parts, 4711));
	begin(true);
	for (uint64_t at = 0; at < 1600; at += 10)
		work(MAIN, at + 3, at + 4, at + 8);
	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &e) > 0)
		;
	CHECK(internals_init(&internals, r) == 0);
	g.events.parts = (struct gap_parts){0, 100 * US, 50 * US};
	CHECK(gaps_read_within(&g, &internals, GAP_EVENTS_MAX) == 0);
	/* Five pieces of work in each, with four gaps between them; none from one part to the
	 * next. */
	CHECK(g.events.works.count == 80 && g.gaps.count == 64 &&
		g.devices.items[0].idle_ns == 64 * 6 * US);
	CHECK(g.devices.items[0].span_ns == 16 * 44 * US &&
		g.processes.items[0].span_ns == 16 * 44 * US);
	CHECK(g.processes.items[0].kernels_ns == 80 * 4 * US &&
		g.processes.items[0].causes_ns[GAP_LAUNCH] == 64 * 6 * US);
	gaps_release(&g);
	g = (struct gaps){0};
	summary.end_ns = 1600 * US;
	summary.works = GAP_EVENTS_MAX;
	CHECK(gaps_read(&g, &internals, &summary) == 0 && g.gaps.count == 159);
	CHECK(!g.events.parts.period_ns);
	gaps_release(&g);
	g = (struct gaps){0};
	summary.calls = GAP_EVENTS_MAX;
	CHECK(gaps_read(&g, &internals, &summary) == 0 && g.gaps.count == 16);
	CHECK(g.events.parts.length_ns / 1000 == 20);
	gaps_release(&g);
	internals_release(&internals);
	profile_reader_close(r);
}

static void copied(uint64_t start, uint64_t end)
{
	struct profile_work copy = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.launch_ns = start * US,
		.op = copy_op,
		.thread = MAIN,
		.instance = 1};

	called(MAIN, CALL_COPY, start, end + 1);
	copy.correlation = correlation;
	CHECK(profile_write_work(w, &copy) == 0);
}

/* 16 times 100 ms, in which a GPU works for 4 us of every 10 us; a thread waits for 5 ms again and
 * again. A chunk has 5 ms. HELPER has a wait from 50 to 110 ms, written at 50 ms, a life, written
 * at 70 ms, and a sample at 85 ms: behind the first part. */
static void write_long_recording(void)
{
	begin(true);
	for (uint64_t at = 10; at < 1600000; at += 10) {
		if (at % 100)
			work(MAIN, at + 3, at + 4, at + 8);
		else
			copied(at + 3, at + 7);
		if (at % 20000 == 0)
			waited(OTHER, WAIT_LOCK, at - 5000 + 1, at - 1, 0);
		if (at == 50000)
			waited(HELPER, WAIT_IO, at, 110000, 0);
		if (at % 1000 == 0)
			sampled(MAIN, "work", at, at + 1, 1000);
		if (at % 5000 == 0)
			CHECK(profile_writer_push(w) == 0);
		if (at == 85000)
			sampled(HELPER, "work", at, at + 1, 77);
		if (at == 70000)
			CHECK(profile_write_life(
				      w, &(struct profile_life){.duration_ns = 110000 * US,
						 .thread = HELPER}) == 0);
	}
	CHECK(profile_writer_close(w) == 0);
}

static bool same_threads(const struct gap_events *a, const struct gap_events *b)
{
	bool same = a->threads.count == b->threads.count;

	for (size_t i = 0; same && i < a->threads.count; i++)
		same = a->threads.items[i].period_ns == b->threads.items[i].period_ns &&
		       a->threads.items[i].end_ns == b->threads.items[i].end_ns;
	return same;
}

static bool same_gaps(const struct gaps *a, const struct gaps *b)
{
	bool same = a->gaps.count == b->gaps.count &&
		    a->events.works.count == b->events.works.count &&
		    a->events.calls.count == b->events.calls.count &&
		    a->events.waits.count == b->events.waits.count &&
		    a->events.samples.count == b->events.samples.count &&
		    same_threads(&a->events, &b->events);

	for (size_t i = 0; same && i < a->gaps.count; i++) {
		const struct gap *x = &a->gaps.items[i], *y = &b->gaps.items[i];

		same = x->start_ns == y->start_ns && x->end_ns == y->end_ns && x->next == y->next &&
		       x->stack == y->stack && x->cause == y->cause && x->once == y->once &&
		       a->longest.items[i] == b->longest.items[i];
	}
	return same;
}

/* Reads the parts of the recording, and passes over what is known to be outside of them or not. */
static void read_parts(struct gaps *g, const struct summary *s, bool pass_over)
{
	*g = (struct gaps){0};
	if (pass_over) {
		CHECK(gaps_read(g, &s->internals, s) == 0);
		return;
	}
	g->events.parts = gap_parts_of(s->start_ns, s->end_ns, s->works, GAP_EVENTS_PART);
	CHECK(gaps_read_within(g, &s->internals, GAP_EVENTS_MAX) == 0);
}

/* Damages all chunks of events that are outside of the parts, and not just before one. Returns how
 * many stretches of them there are. */
static size_t damage_outside(const struct summary *s, const struct gap_parts *parts)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t count = 0;

	CHECK(fd >= 0);
	for (size_t i = 0; i + 1 < s->chunks.items.count; i++) {
		const struct chunk_time *t = &s->chunks.items.items[i];

		if (gap_parts_overlap(parts, t->first_ns, t->last_ns) ||
			gap_part(parts, t->last_ns + 100 * US) >= 0)
			continue;
		CHECK(pwrite(fd, "damage", 6, (off_t)t->begin + 1000) == 6);
		count++;
	}
	close(fd);
	return count;
}

static void what_is_outside_of_the_parts_is_not_even_read(void)
{
	static struct summary s;
	struct profile_reader *r;
	struct gaps all, some;
	size_t stretches;

	write_long_recording();
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(summary_read(&s, r) == 0);
	/* As if it were so long that a quarter of it is looked at. */
	s.works = 4 * GAP_EVENTS_PART;
	s.calls = s.samples = s.wait_stacks.count = 0;
	read_parts(&all, &s, false);
	read_parts(&some, &s, true);
	CHECK(some.events.parts.period_ns / 1000000 == 99 && some.gaps.count > 35000 &&
		same_gaps(&all, &some));
	CHECK(some.events.threads.items[HELPER].period_ns == 77 * US &&
		some.events.threads.items[HELPER].end_ns == 110000 * US);
	CHECK(chunk_times_find(&s.chunks, s.chunks.items.items[1].begin) ==
		&s.chunks.items.items[1]);
	stretches = s.chunks.items.count;
	CHECK(!chunk_times_find(&s.chunks, s.chunks.items.items[stretches - 1].begin) &&
		chunk_times_find(&s.chunks, s.chunks.items.items[stretches - 2].begin));
	gaps_release(&some);
	CHECK(damage_outside(&s, &all.events.parts) >= 8);
	read_parts(&some, &s, true);
	CHECK(same_gaps(&all, &some));
	gaps_release(&some);
	read_parts(&some, &s, false);
	CHECK(!same_gaps(&all, &some));
	gaps_release(&some);
	gaps_release(&all);
	summary_release(&s);
	profile_reader_close(r);
}

static void parts_are_found_in_a_stretch_of_time(void)
{
	struct gap_parts all = {0}, parts = {.start_ns = 1600, .period_ns = 100, .length_ns = 25};

	CHECK(gap_parts_overlap(&all, 5, 5) && !gap_parts_overlap(&all, UINT64_MAX, 0));
	CHECK(!gap_parts_overlap(&parts, 0, 1599) && gap_parts_overlap(&parts, 0, 1600) &&
		gap_parts_overlap(&parts, 0, UINT64_MAX));
	CHECK(gap_parts_overlap(&parts, 1624, 1630) && !gap_parts_overlap(&parts, 1625, 1699));
	CHECK(gap_parts_overlap(&parts, 1625, 1700) && gap_parts_overlap(&parts, 1690, 9999));
	CHECK(gap_parts_overlap(&parts, 3100, 3100) &&
		!gap_parts_overlap(&parts, 3125, UINT64_MAX));
	CHECK(!gap_parts_overlap(&parts, UINT64_MAX, 0));
}

static void synced(uint32_t kind, uint32_t stream, uint64_t recorded, uint64_t start, uint64_t end)
{
	struct profile_sync e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.recorded_ns = recorded * US,
		.thread = MAIN,
		.context = 1,
		.stream = stream,
		.kind = kind};

	CHECK(profile_write_sync(w, &e) == 0);
}

static bool waited_for(
	const struct sync_wait *wait, uint64_t us, uint64_t count, bool work_is_known)
{
	return wait->total_ns == us * US && wait->count == count && !wait->op == !work_is_known;
}

static void a_call_waits_for_the_work_that_ended_last_before_it_did(void)
{
	struct profile_reader *r;
	struct internals internals = {0};
	struct gap_events e = {0};
	struct sync_waits s = {0};

	begin(true);
	work(MAIN, 1, 2, 100);
	called(MAIN, CALL_SYNC, 50, 150);
	work(OTHER, 220, 230, 240);
	called(MAIN, CALL_SYNC, 210, 250);
	synced(SYNC_STREAM, 7, 0, 301, 399);
	work(MAIN, 299, 310, 390);
	called(MAIN, CALL_SYNC, 300, 400);
	synced(SYNC_STREAM, 8, 0, 501, 599);
	work(MAIN, 499, 510, 590);
	called(MAIN, CALL_SYNC, 500, 600);
	/* The same in a graph, which the driver runs on streams of its own. */
	synced(SYNC_STREAM, 8, 0, 701, 729);
	of_graph(700, 710, 720);
	called(MAIN, CALL_SYNC, 700, 730);
	/* Where it was launched is known: into this stream, into another one, and into this one of
	 * another context. */
	synced(SYNC_STREAM, 8, 0, 801, 803);
	of_graph_into(1, 8, 800, 801, 802);
	called(MAIN, CALL_SYNC, 800, 804);
	synced(SYNC_STREAM, 8, 0, 901, 907);
	of_graph_into(1, 7, 900, 901, 906);
	called(MAIN, CALL_SYNC, 900, 908);
	synced(SYNC_STREAM, 9, 0, 1001, 1015);
	of_graph_into(2, 8, 1000, 1001, 1014);
	called(MAIN, CALL_SYNC, 1000, 1016);
	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(gap_events_read_works(&e, r, GAP_EVENTS_MAX) == 0);
	profile_reader_close(r);
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(gap_events_read_threads(&e, r) == 0);
	CHECK(internals_init(&internals, r) == 0);
	CHECK(sync_waits_find(&s, &e, &internals) == 0 && s.waits.count == 2);
	/* The first, the third, the graphs but the third; the second began before any work was
	 * launched, the fourth was for another stream. */
	CHECK(waited_for(&s.waits.items[0], 230 + 4 + 16, 5, true) &&
		s.waits.items[0].max_ns == 100 * US);
	CHECK(waited_for(&s.waits.items[1], 140 + 8, 3, false));
	CHECK(s.waits.items[0].launch_stack && !s.waits.items[1].launch_stack);
	sync_waits_release(&s);
	gap_events_release(&e);
	internals_release(&internals);
	profile_reader_close(r);
}

/* The later one began, the earlier it ended: sorting them by insertion would take too long. */
static void work_that_ends_in_another_order_is_found_by_its_end(void)
{
	struct profile_reader *r;
	struct internals internals = {0};
	struct gap_events e = {0};
	struct sync_waits s = {0};

	begin(true);
	for (uint64_t i = 0; i < 200; i++)
		work_from(i % 2 ? "launch" : "other", MAIN, i + 1, 300 + i, 1000 - i);
	called(MAIN, CALL_SYNC, 700, 850);
	called(OTHER, CALL_SYNC, 700, 849);
	called(HELPER, CALL_SYNC, 700, 848);
	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(gap_events_read_works(&e, r, GAP_EVENTS_MAX) == 0);
	profile_reader_close(r);
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(gap_events_read_threads(&e, r) == 0);
	CHECK(internals_init(&internals, r) == 0);
	CHECK(sync_waits_find(&s, &e, &internals) == 0 && s.waits.count == 3);
	/* Those that ended with them. */
	for (size_t i = 0; i < 3; i++)
		CHECK(waited_for(&s.waits.items[i], 150 - i, 1, true));
	CHECK(s.waits.items[0].launch_stack == s.waits.items[2].launch_stack);
	CHECK(s.waits.items[0].launch_stack != s.waits.items[1].launch_stack);
	sync_waits_release(&s);
	gap_events_release(&e);
	internals_release(&internals);
	profile_reader_close(r);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(a_thread_that_waited_for_most_of_the_gap_waited_for_input);
	RUN(work_that_was_launched_before_the_gap_was_queued);
	RUN(after_a_synchronizing_call_gaps_are_its_until_work_is_queued_again);
	RUN(a_synchronizing_call_does_not_explain_what_comes_long_after);
	RUN(waiting_in_a_synchronizing_call_is_not_for_input);
	RUN(a_copy_that_its_call_waits_for_synchronizes);
	RUN(samples_tell_python_from_native_code);
	RUN(a_thread_that_could_have_run_had_no_cpu);
	RUN(waiting_for_another_launching_thread_is_what_that_one_does);
	RUN(without_waits_a_thread_that_is_never_seen_to_run_is_not_known_to);
	RUN(gaps_that_come_again_are_told_from_those_that_happen_once);
	RUN(data_that_the_launching_thread_makes_itself_is_input);
	RUN(other_work_in_long_gaps_is_told_by_what_does_it);
	RUN(code_that_loads_data_does_not_make_its_launches_input);
	RUN(long_gaps_without_samples_are_not_for_launches);
	RUN(where_waits_are_not_all_recorded_the_site_tells_the_cause);
	RUN(a_value_that_is_read_in_each_step_is_told_before_the_start);
	RUN(large_kernels_leave_no_gaps_to_speak_of);
	RUN(a_process_has_its_time_divided_to_the_end);
	RUN(work_of_two_gpus_in_turn_is_all_counted);
	RUN(what_a_thread_did_adds_up);
	RUN(more_events_than_fit_are_left_out_and_said);
	RUN(a_model_that_keeps_the_gpu_busy_but_for_its_item_synchronizes);
	RUN(tiny_kernels_are_short_of_launches_with_an_item_and_without);
	RUN(an_item_after_each_tiny_kernel_synchronizes);
	RUN(work_that_was_launched_just_before_the_gap_was_launched_too_late);
	RUN(a_launch_that_takes_long_itself_is_no_queue);
	RUN(a_call_that_synchronizes_an_idle_gpu_is_not_why_it_is);
	RUN(of_more_events_parts_of_the_time_are_looked_at);
	RUN(parts_are_found_in_a_stretch_of_time);
	RUN(what_is_outside_of_the_parts_is_not_even_read);
	RUN(a_call_waits_for_the_work_that_ended_last_before_it_did);
	RUN(work_that_ends_in_another_order_is_found_by_its_end);
	unlink(path);
	return tap_end();
}
