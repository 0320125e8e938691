// SPDX-License-Identifier: MIT
/*
 * Writes profiles of threads that wait, for tests of what shows them.
 *
 *	wait_profile small FILE    one process with two threads, recorded for 100 ms
 *	wait_profile hostile FILE  the same, with names that try to break out of every format
 *	wait_profile none FILE     CPU samples only: nobody asked for waits
 *	wait_profile idle FILE     waits were asked for, and there are none
 *	wait_profile gpu FILE      one thread that waits for a GPU
 *	wait_profile unreported FILE the same, but its synchronizing call does not report what it waited for
 *	wait_profile cut FILE      four waits, of which one has no stack, one an incomplete one, and two are whole; and the sum of others
 *	wait_profile ways FILE     one function that waits for one reason in two functions of the kernel, and for another
 *	wait_profile pool FILE     five threads of one name at one call site in native code, one of them at another, too, and in CUDA
 *	wait_profile held FILE     threads that wait for locks and for each other, and who ended that
 *	wait_profile many FILE     thirty threads that wait for the same
 *	wait_profile endless FILE  two waits that are longer than 64 bits of nanoseconds
 *	wait_profile stalls FILE   as gpu, with samples of instructions: of gemm 30 at one, 10 at another
 *	wait_profile named FILE    as small, and a thread of the program's that is called xpuprof
 *	wait_profile own FILE      as named, and the profiler's own thread, of the same name, which is only reported late
 *
 * "small", in ms:
 *
 *	main        life 100, on a CPU 78
 *	  main;nap;nanosleep         asleep 10 to 20, of which 1 in the run queue
 *	  main;work;lock             lock 30 to 32 and for 3 more, in 5 waits without stack
 *	  main;work                  preempted 50 to 54
 *	  without stack              lock, 3 in 100 waits
 *	worker      life 60 from 40 on, on a CPU 0
 *	  read                       I/O 40 to 100
 *
 * "gpu", in ms; kernels were launched by main;step:
 *
 *	stream 7    gemm 10 to 40, norm 45 to 50, copy 63 to 69, copy 80 to 85
 *	stream 8    side 52 to 56
 *	main        life 100, on a CPU 89
 *	  main;step                  runs at 5 and 15
 *	  main;loss                  cudaStreamSynchronize of stream 7, 20 to 60; asleep 30 to 35; sampled at 40
 *	  main;fetch                 cudaMemcpy 60 to 70: the first copy
 *	  main;send                  cudaMemcpyAsync 70 to 71: the second
 *	  main;nap                   asleep 72 to 78
 *	  main;think                 runs at 90
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define MS 1000000ull

struct waits {
	struct profile_writer *w;
	uint32_t process, threads[4];
	bool hostile;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "wait_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct waits *s, const char *text)
{
	uint32_t id = 0;

	if (s->hostile)
		text = "a;b\n<&\"']]>";
	check(profile_add_string(s->w, text, strlen(text), &id));
	return id;
}

/* Native code: "@name" is of the C library, "^name" of the vDSO, "+name" of the program, "~" of
 * CUDA. */
static uint32_t native(struct waits *s, const char *text)
{
	struct profile_module m = {.kind = *text == '^' ? MODULE_VDSO : MODULE_FILE};
	struct profile_location l = {.kind = FRAME_USER};
	uint32_t name = string(s, text + 1), location;

	m.path = string(s, *text == '^'	  ? "[vdso]"
			   : *text == '@' ? "/lib/libc.so.6"
			   : *text == '~' ? "/lib/libcuda.so.1"
					  : "/bin/app");
	check(profile_add_module(s->w, &m, &l.module));
	l.address = 0x1000ull * name;
	check(profile_add_location(s->w, &l, &location));
	if (text[1])
		check(profile_add_symbol(s->w, location, name, 0, 0, 0));
	return location;
}

/* "main;nap;_schedule": root first, with _ before names of the kernel, @, ^, + and ~ before those
 * of native code, and notes in brackets. */
static uint32_t stack(struct waits *s, const char *path)
{
	uint32_t id = 0, location;

	for (char text[64]; *path; path += strcspn(path, ";"), path += *path == ';') {
		bool kernel = *path == '_';
		struct profile_location l = {.kind = kernel	    ? FRAME_KERNEL
						     : *path == '[' ? FRAME_NOTE
								    : FRAME_PYTHON};
		uint32_t name;

		snprintf(text, sizeof(text), "%.*s", (int)strcspn(path, ";"), path);
		if (strchr("@^+~", *text)) {
			check(profile_add_stack_node(s->w, id, native(s, text), &id));
			continue;
		}
		name = string(s, text + kernel);
		if (kernel)
			l.address = 0x1000ull * name;
		else
			l.name = name;
		l.file = kernel ? 0 : string(s, "app.py");
		check(profile_add_location(s->w, &l, &location));
		if (kernel)
			check(profile_add_symbol(s->w, location, name, 0, 0, 0));
		check(profile_add_stack_node(s->w, id, location, &id));
	}
	return id;
}

static void begin(struct waits *s, const char *path)
{
	static const char *const names[] = {"main", "worker", "xpuprof", "xpuprof"};
	struct profile_process p = {.pid = 10};

	check(profile_writer_open(&s->w, path));
	p.comm = string(s, "app");
	check(profile_add_process(s->w, &p, &s->process));
	for (uint32_t n = 0; n < 4; n++) {
		struct profile_thread t = {
			.process = s->process, .tid = 10 + n, .name = string(s, names[n])};

		check(profile_add_thread(s->w, &t, &s->threads[n]));
	}
	check(profile_set_meta(s->w, META_START_NS, "0"));
	check(profile_set_meta(s->w, META_END_NS, "100000000"));
}

static void waited(struct waits *s, uint32_t thread, const char *path,
	enum profile_wait_reason reason, uint64_t start_ms, uint64_t duration_ms,
	uint64_t queued_ms, uint64_t others, uint64_t others_ms)
{
	struct profile_wait w = {
		.start_ns = start_ms * MS,
		.duration_ns = duration_ms * MS,
		.queued_ns = queued_ms * MS,
		.others_ns = others_ms * MS,
		.others = others,
		.thread = s->threads[thread],
		.stack = stack(s, path),
		.reason = reason,
	};

	check(profile_write_wait(s->w, &w));
}

static void lived(
	struct waits *s, uint32_t thread, uint64_t start_ms, uint64_t duration_ms, uint64_t run_ms)
{
	struct profile_life l = {start_ms * MS, duration_ms * MS, run_ms * MS, s->threads[thread]};

	check(profile_write_life(s->w, &l));
}

static void sampled(struct waits *s, uint32_t thread, const char *path, uint64_t time_ms)
{
	struct profile_sample e = {time_ms * MS, 10 * MS, s->threads[thread], stack(s, path), 0};

	check(profile_write_sample(s->w, &e));
}

static void write_small(struct waits *s)
{
	check(profile_set_meta(s->w, META_OFF_CPU, "1000"));
	waited(s, 0,
		"main;nap;nanosleep;_do_syscall_64;_do_nanosleep;_schedule;___schedule;_on_switch",
		WAIT_SLEEP, 10, 10, 1, 0, 0);
	sampled(s, 0, "main;work", 25);
	waited(s, 0, "main;work;lock;_do_syscall_64;_futex_wait;_schedule_timeout;___schedule",
		WAIT_LOCK, 30, 2, 0, 5, 3);
	waited(s, 0, "main;work;_asm_sysvec_apic_timer_interrupt;_irqentry_exit;___schedule",
		WAIT_RUN_QUEUE, 50, 4, 4, 0, 0);
	sampled(s, 0, "main;work", 60);
	sampled(s, 0, "main;think", 70);
	waited(s, 1, "read;_do_syscall_64;_pipe_read", WAIT_IO, 40, 60, 0, 0, 0);
	waited(s, 0, "", WAIT_LOCK, 100, 0, 0, 100, 3);
	lived(s, 0, 0, 100, 78);
	lived(s, 1, 40, 60, 0);
}

static void write_named(struct waits *s)
{
	write_small(s);
	waited(s, 2, "main;watch", WAIT_EVENTS, 0, 90, 0, 0, 0);
	lived(s, 2, 0, 100, 10);
}

static void write_own(struct waits *s)
{
	write_named(s);
	waited(s, 3, "collector", WAIT_LOCK, 0, 50, 5, 10, 20);
	waited(s, 3, "collector", WAIT_LOCK, 60, 10, 0, 0, 0);
	waited(s, 3, "", WAIT_IO, 100, 0, 0, 100, 3);
	sampled(s, 3, "collector;flush", 55);
	lived(s, 3, 0, 100, 17);
	check(profile_writer_push(s->w));
	check(profile_flag_thread(s->w, s->threads[3], THREAD_PROFILER));
}

static void write_cut(struct waits *s)
{
	check(profile_set_meta(s->w, META_OFF_CPU, "1000"));
	waited(s, 0, "main;nap", WAIT_SLEEP, 10, 10, 0, 0, 0);
	waited(s, 0, "main;lock;_futex_wait", WAIT_LOCK, 30, 2, 0, 5, 3);
	waited(s, 0, "[incomplete stack: too deep];_pipe_read", WAIT_IO, 40, 1, 0, 0, 0);
	waited(s, 0, "", WAIT_IO, 50, 1, 0, 0, 0);
	waited(s, 0, "", WAIT_LOCK, 100, 0, 0, 100, 3);
	lived(s, 0, 0, 100, 80);
}

static void write_ways(struct waits *s)
{
	waited(s, 0, "main;save;_do_syscall_64;_ksys_write", WAIT_IO, 10, 3, 1, 0, 0);
	waited(s, 0, "main;save;_do_syscall_64;_ksys_fsync", WAIT_IO, 20, 4, 0, 0, 0);
	waited(s, 0, "main;save;_do_syscall_64;_ksys_write", WAIT_RUN_QUEUE, 30, 2, 2, 0, 0);
	waited(s, 1, "main;save;_do_syscall_64;_ksys_write", WAIT_IO, 30, 5, 0, 0, 0);
}

static void write_pool(struct waits *s)
{
	static const char here[] = "@start_thread;+run;+spin;@clock_gettime;^__vdso_clock_gettime";

	for (uint32_t n = 0; n < 4; n++) {
		struct profile_thread t = {
			.process = s->process, .tid = 20 + n, .name = string(s, "worker")};

		waited(s, 1, here, WAIT_RUN_QUEUE, 10 + n, 1, 1, n == 0, n == 0 ? 5 : 0);
		check(profile_add_thread(s->w, &t, &s->threads[1]));
	}
	waited(s, 1, here, WAIT_RUN_QUEUE, 20, 3, 3, 0, 0);
	waited(s, 1, "@start_thread;+run;@read", WAIT_IO, 30, 2, 0, 0, 0);
	waited(s, 0, "@_start;@__libc_start_main;@pause", WAIT_EVENTS, 30, 1, 0, 0, 0);
	waited(s, 1, "@start_thread;~;~;@poll;_do_poll", WAIT_EVENTS, 33, 4, 0, 0, 0);
}

/* A wait without a part in the run queue, and who ended it: a thread's number, -1: nobody. */
static void ended(struct waits *s, uint32_t thread, const char *path,
	enum profile_wait_reason reason, uint64_t start_ms, uint64_t duration_ms, int waker)
{
	struct profile_wait w = {
		.start_ns = start_ms * MS,
		.duration_ns = duration_ms * MS,
		.thread = s->threads[thread],
		.stack = stack(s, path),
		.waker = waker < 0 ? 0 : s->threads[waker],
		.reason = reason,
	};

	check(profile_write_wait(s->w, &w));
}

/* The two called xpuprof are of the program: 2 stands in line behind 3, which saves while it has
 * the lock. */
static void write_held(struct waits *s)
{
	ended(s, 1, "main;nap", WAIT_SLEEP, 11, 8, -1);
	ended(s, 0, "main;update;_futex_wait", WAIT_LOCK, 10, 10, 1);
	ended(s, 0, "main;update;_futex_wait", WAIT_LOCK, 25, 1, -1);
	ended(s, 3, "main;save", WAIT_IO, 30, 10, -1);
	ended(s, 2, "main;insert;_futex_wait", WAIT_LOCK, 31, 9, 3);
	ended(s, 1, "main;insert;_futex_wait", WAIT_LOCK, 32, 8, 2);
	ended(s, 0, "main;queue;_futex_wait", WAIT_LOCK, 50, 6, -1);
	ended(s, 0, "main;queue;_futex_wait", WAIT_LOCK, 60, 3, 2);
	ended(s, 0, "main;queue;_futex_wait", WAIT_LOCK, 65, 1, 3);
	waited(s, 1, "main;storm;_futex_wait", WAIT_LOCK, 70, 1, 0, 10, 9);
	waited(s, 2, "main;storm;_futex_wait", WAIT_LOCK, 80, 0, 0, 100, 1);
	for (int n = 0; n < 6; n++) {
		struct profile_thread t = {.process = s->process, .tid = 20 + (uint32_t)n};
		char name[] = "a";

		name[0] = (char)('a' + n);
		t.name = string(s, name);
		check(profile_add_thread(s->w, &t, &s->threads[1]));
		ended(s, 0, "main;crowd;_futex_wait", WAIT_LOCK, 82 + (uint64_t)n, 1, 1);
	}
}

static void write_many(struct waits *s)
{
	for (uint32_t n = 0; n < 30; n++) {
		struct profile_thread t = {
			.process = s->process, .tid = 20 + n, .name = string(s, "worker")};

		check(profile_add_thread(s->w, &t, &s->threads[1]));
		waited(s, 1, "main;lock;_futex_wait", WAIT_LOCK, 10, 50, 0, 0, 0);
		lived(s, 1, 10, 50, 0);
	}
}

static void write_endless(struct waits *s)
{
	waited(s, 0, "main;nap", WAIT_SLEEP, 10, UINT64_MAX / MS - 10, 0, 0, 0);
	waited(s, 0, "main;nap", WAIT_SLEEP, 10, 0, 0, 3, UINT64_MAX / MS - 10);
}

static void work(struct waits *s, enum profile_op_kind kind, const char *name, uint32_t stream,
	uint64_t start_ms, uint64_t duration_ms, uint64_t launch_ms, uint32_t correlation,
	const char *path)
{
	struct profile_device d = {.uuid = {1}, .name = string(s, "GPU")};
	struct profile_op op = {.kind = kind,
		.process = s->process,
		.context = 1,
		.stream = stream,
		.name = string(s, name),
		.copy_kind = COPY_DTOH};
	struct profile_work e = {
		.start_ns = start_ms * MS,
		.duration_ns = duration_ms * MS,
		.launch_ns = launch_ms * MS,
		.thread = s->threads[0],
		.stack = stack(s, path),
		.api = string(s, kind == OP_COPY ? "cudaMemcpyAsync" : "cudaLaunchKernel"),
		.instance = 1,
		.correlation = correlation,
	};

	check(profile_add_device(s->w, &d, &op.device));
	check(profile_add_op(s->w, &op, &e.op));
	check(profile_write_work(s->w, &e));
}

static void called(struct waits *s, const char *path, const char *api, enum profile_call_kind kind,
	uint64_t start_ms, uint64_t duration_ms, uint32_t correlation)
{
	struct profile_call c = {start_ms * MS, duration_ms * MS, s->threads[0], stack(s, path),
		string(s, api), kind, 0, 1, correlation};

	check(profile_write_call(s->w, &c));
}

static void write_gpu(struct waits *s, bool reported)
{
	struct profile_sync sync = {.start_ns = 20 * MS,
		.duration_ns = 40 * MS,
		.instance = 1,
		.correlation = 4,
		.thread = s->threads[0],
		.stack = stack(s, "main;loss"),
		.api = string(s, "cudaStreamSynchronize"),
		.device = 1,
		.context = 1,
		.stream = 7,
		.kind = SYNC_STREAM};

	check(profile_set_meta(s->w, META_OFF_CPU, "1000"));
	sampled(s, 0, "main;step", 5);
	sampled(s, 0, "main;step", 15);
	waited(s, 0, "main;loss;_do_syscall_64;_futex_wait;___schedule", WAIT_LOCK, 30, 5, 0, 0, 0);
	sampled(s, 0, "main;loss", 40);
	called(s, "main;loss", "cudaStreamSynchronize", CALL_SYNC, 20, 40, 4);
	called(s, "main;fetch", "cudaMemcpy", CALL_COPY, 60, 10, 5);
	called(s, "main;send", "cudaMemcpyAsync", CALL_COPY, 70, 1, 6);
	waited(s, 0, "main;nap;_do_syscall_64;_do_nanosleep;___schedule", WAIT_SLEEP, 72, 6, 0, 0,
		0);
	sampled(s, 0, "main;think", 90);
	work(s, OP_KERNEL, "gemm", 7, 10, 30, 5, 1, "main;step");
	work(s, OP_KERNEL, "norm", 7, 45, 5, 6, 2, "main;step");
	work(s, OP_KERNEL, "side", 8, 52, 4, 7, 3, "main;step");
	work(s, OP_COPY, "", 7, 63, 6, 60, 5, "main;fetch");
	work(s, OP_COPY, "", 7, 80, 5, 70, 6, "main;send");
	if (reported)
		check(profile_write_sync(s->w, &sync));
	lived(s, 0, 0, 100, 89);
}

static void stalled(
	struct waits *s, uint32_t window, uint32_t offset, const char *reason, uint64_t samples)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct profile_gpu_function f = {.name = string(s, "gemm"), .index = 1};
	struct profile_instruction i = {.offset = offset};
	struct profile_stall e = {
		.window = window, .reason = string(s, reason), .samples = samples};

	check(profile_add_module(s->w, &m, &f.module));
	check(profile_add_gpu_function(s->w, &f, &i.function));
	check(profile_add_instruction(s->w, &i, &e.instruction));
	check(profile_write_stall(s->w, &e));
}

static void write_stalls(struct waits *s)
{
	struct profile_window window = {.process = s->process,
		.instance = 1,
		.device = 1,
		.context = 1,
		.end_ns = 100 * MS,
		.samples = 40};
	uint32_t id;

	check(profile_add_window(s->w, &window, &id));
	stalled(s, id, 16, "smsp__pcsamp_warps_issue_stalled_long_scoreboard", 30);
	stalled(s, id, 32, "smsp__pcsamp_warps_issue_stalled_wait", 10);
}

int main(int argc, char **argv)
{
	struct waits s = {.hostile = argc == 3 && !strcmp(argv[1], "hostile")};

	if (argc != 3) {
		fprintf(stderr, "usage: wait_profile "
				"small|hostile|none|idle|gpu|unreported|cut|ways|pool|held|many|"
				"endless|stalls|named|own FILE\n");
		return 2;
	}
	begin(&s, argv[2]);
	if (!strcmp(argv[1], "none"))
		sampled(&s, 0, "main;work", 25);
	else if (!strcmp(argv[1], "idle"))
		check(profile_set_meta(s.w, META_OFF_CPU, "1000"));
	else if (!strcmp(argv[1], "cut"))
		write_cut(&s);
	else if (!strcmp(argv[1], "named"))
		write_named(&s);
	else if (!strcmp(argv[1], "own"))
		write_own(&s);
	else if (!strcmp(argv[1], "ways"))
		write_ways(&s);
	else if (!strcmp(argv[1], "pool"))
		write_pool(&s);
	else if (!strcmp(argv[1], "held"))
		write_held(&s);
	else if (!strcmp(argv[1], "many"))
		write_many(&s);
	else if (!strcmp(argv[1], "endless"))
		write_endless(&s);
	else if (!strcmp(argv[1], "gpu") || !strcmp(argv[1], "unreported") ||
		 !strcmp(argv[1], "stalls"))
		write_gpu(&s, strcmp(argv[1], "unreported"));
	else
		write_small(&s);
	if (!strcmp(argv[1], "stalls"))
		write_stalls(&s);
	check(profile_writer_close(s.w));
	return 0;
}
