// SPDX-License-Identifier: MIT
/*
 * Writes a profile of many launches, each a call and a piece of work: `profile_gen FILE PAIRS`.
 * 250 kernels in 1,000 shapes, 8 GPUs, 8 threads, 200 stacks of 25 frames, as a busy program has
 * them.
 *
 * `profile_gen FILE PAIRS ROWS` writes as many launches of 2,000 kernels on one GPU, and ROWS
 * samples of their instructions in 100 windows: each of another (function, instruction, reason) up
 * to a million, beyond which they come again. A kernel is launched from one of 64 stacks, every
 * tenth from two; an instruction has its text and its source line, most are in inlined functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define GPUS	     8
#define THREADS	     8
#define OPS	     1000
#define SHAPES	     4
#define STACKS	     200
#define DEPTH	     25
#define SHARED_DEPTH 20

#define FUNCTIONS	  2000
#define IMAGES		  20
#define INSTRUCTIONS	  100 /* of a function */
#define REASONS		  5   /* of an instruction */
#define ALL_REASONS	  40
#define WINDOWS		  100
#define WINDOW_NS	  100000000ull
#define LAUNCH_STACKS	  64
#define INSTRUCTION_BYTES 16

struct made {
	struct profile_writer *w;
	uint32_t api, process;
	uint32_t threads[THREADS], devices[GPUS], ops[OPS], stacks[STACKS];
	uint32_t kernels[FUNCTIONS]; /* ops */
	uint32_t instructions[FUNCTIONS * INSTRUCTIONS];
	uint32_t windows[WINDOWS], reasons[ALL_REASONS];
};

/* Errors are sticky and come back from profile_writer_close. */
static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	(void)profile_add_string(m->w, text, strlen(text), &id);
	return id;
}

static void make_tasks(struct made *m)
{
	struct profile_process p = {.pid = 100, .comm = string(m, "train")};

	(void)profile_add_process(m->w, &p, &m->process);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct profile_thread t = {.process = m->process, .tid = 100 + i, .name = p.comm};

		(void)profile_add_thread(m->w, &t, &m->threads[i]);
	}
	for (uint32_t i = 0; i < GPUS; i++) {
		struct profile_device d = {
			.ordinal = i, .name = string(m, "Some GPU"), .uuid = {(uint8_t)i}};

		(void)profile_add_device(m->w, &d, &m->devices[i]);
	}
}

static void make_ops(struct made *m)
{
	for (uint32_t i = 0; i < OPS; i++) {
		struct profile_op op = {.kind = OP_KERNEL,
			.process = m->process,
			.device = m->devices[i % GPUS],
			.stream = 7,
			.grid = {i + 1, 1, 1}};
		char name[64];

		snprintf(name, sizeof(name), "_Z6kernelILi%uEEvPf", i / SHAPES);
		op.name = string(m, name);
		(void)profile_add_op(m->w, &op, &m->ops[i]);
	}
}

/* Alike up to SHARED_DEPTH, as the stacks of a program are. */
static void make_stacks(struct made *m)
{
	for (uint32_t i = 0; i < STACKS; i++)
		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			struct profile_location l = {.kind = FRAME_USER,
				.address = depth < SHARED_DEPTH ? depth : i * 100 + depth};
			uint32_t location = 0;

			(void)profile_add_location(m->w, &l, &location);
			(void)profile_add_stack_node(m->w, m->stacks[i], location, &m->stacks[i]);
		}
}

static void write_pairs(struct made *m, unsigned long pairs)
{
	uint64_t now_ns = 1000000000;
	unsigned int seed = 1;

	for (unsigned long i = 0; i < pairs; i++) {
		unsigned int random = (unsigned int)rand_r(&seed), op = random % OPS;
		struct profile_call call = {.start_ns = now_ns,
			.duration_ns = 2000 + random % 1000,
			.thread = m->threads[op % THREADS],
			.stack = m->stacks[op % STACKS],
			.api = m->api,
			.kind = CALL_LAUNCH,
			.instance = 1,
			.correlation = (uint32_t)i + 1};
		struct profile_work work = {.start_ns = now_ns + 5000 + (random >> 4) % 3000,
			.duration_ns = 500 + random % 700,
			.launch_ns = now_ns,
			.op = m->ops[op],
			.thread = call.thread,
			.stack = call.stack,
			.api = m->api,
			.instance = 1,
			.correlation = call.correlation};

		(void)profile_write_call(m->w, &call);
		(void)profile_write_work(m->w, &work);
		now_ns += 1000 + random % 500;
	}
}

static uint32_t kernel_name(struct made *m, uint32_t function)
{
	char name[64];

	snprintf(name, sizeof(name), "_Z6kernelILi%uEEvPf", function);
	return string(m, name);
}

static void make_kernels(struct made *m)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_op op = {.kind = OP_KERNEL,
			.process = m->process,
			.context = 1,
			.device = m->devices[0],
			.stream = 7,
			.grid = {132, 1, 1},
			.block = {256, 1, 1},
			.name = kernel_name(m, i)};

		(void)profile_add_op(m->w, &op, &m->kernels[i]);
	}
}

/* Of three functions, one inlined into the other; of the innermost, one line in four is shared. */
static uint32_t inlined_at(struct made *m, uint32_t function, uint32_t instruction)
{
	struct profile_inline in = {.file = string(m, "/src/include/tensor/apply.h")};
	char name[64];

	for (uint32_t depth = 0; depth < instruction % 4; depth++) {
		snprintf(name, sizeof(name), "_ZN6tensor5applyILi%uEEEvv", depth + function % 50);
		in.name = string(m, name);
		in.line = 40 + depth * 100 + instruction / 4;
		(void)profile_add_inline(m->w, &in, &in.caller);
	}
	return in.caller;
}

static void make_instructions(struct made *m, uint32_t function, uint32_t id, uint32_t file)
{
	static const char *const mnemonics[] = {"LDG.E.128.CONSTANT", "FFMA", "STG.E",
		"BAR.SYNC.DEFER_BLOCKING", "HMMA.16816.F32", "LDS.U.128", "IMAD.WIDE",
		"ISETP.GE.AND", "@P0 BRA", "MUFU.EX2"};
	char text[64];

	for (uint32_t n = 0; n < INSTRUCTIONS; n++) {
		struct profile_instruction i = {.function = id,
			.offset = n * INSTRUCTION_BYTES,
			.file = file,
			.line = 100 + n / 3,
			.inlined = inlined_at(m, function, n)};

		snprintf(text, sizeof(text), "%s R%u, R%u", mnemonics[n % 10], n, function % 64);
		i.text = string(m, text);
		(void)profile_add_instruction(
			m->w, &i, &m->instructions[function * INSTRUCTIONS + n]);
	}
}

static void make_gpu_code(struct made *m)
{
	uint32_t modules[IMAGES];
	char text[64];

	for (uint32_t i = 0; i < IMAGES; i++) {
		struct profile_module image = {.kind = MODULE_GPU_CODE,
			.build_id_size = 8,
			.build_id = {(uint8_t)(i + 1)}};

		(void)profile_add_module(m->w, &image, &modules[i]);
	}
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct profile_gpu_function f = {.module = modules[i % IMAGES],
			.name = kernel_name(m, i),
			.index = i / IMAGES + 1};
		uint32_t id = 0;

		snprintf(text, sizeof(text), "/src/kernels/part%u/kernel%u.cu", i % 16, i / 10);
		(void)profile_add_gpu_function(m->w, &f, &id);
		make_instructions(m, i, id, string(m, text));
	}
}

static void make_windows(struct made *m, unsigned long rows)
{
	static const char *const names[ALL_REASONS / 2] = {"long_scoreboard", "short_scoreboard",
		"lg_throttle", "mio_throttle", "tex_throttle", "imc_miss", "drain", "wait",
		"math_pipe_throttle", "gmma", "dispatch_stall", "barrier", "membar",
		"warpgroup_arrive", "no_instructions", "branch_resolving", "sleeping", "selected",
		"not_selected", "misc"};
	char text[80];

	for (uint32_t i = 0; i < WINDOWS; i++) {
		struct profile_window window = {.process = m->process,
			.instance = 1,
			.device = m->devices[0],
			.context = 1,
			.start_ns = i * WINDOW_NS,
			.end_ns = (i + 1) * WINDOW_NS,
			.period_cycles = 4096,
			.samples = rows / WINDOWS * 4};

		(void)profile_add_window(m->w, &window, &m->windows[i]);
	}
	for (uint32_t i = 0; i < ALL_REASONS; i++) {
		snprintf(text, sizeof(text), "smsp__pcsamp_warps_issue_stalled_%s%s", names[i / 2],
			i % 2 ? "_not_issued" : "");
		m->reasons[i] = string(m, text);
	}
}

/* The kernels of a window follow one another in it, again and again. */
static void write_launches(struct made *m, unsigned long pairs)
{
	uint32_t per_window = FUNCTIONS / WINDOWS;
	uint64_t step_ns = WINDOWS * WINDOW_NS / (pairs ? pairs : 1);

	for (unsigned long i = 0; i < pairs; i++) {
		uint64_t now_ns = i * step_ns;
		uint32_t function =
			(uint32_t)(now_ns / WINDOW_NS) * per_window + (uint32_t)(i % per_window);
		uint32_t stack =
			(function + (function % 10 ? 0 : i / per_window % 2)) % LAUNCH_STACKS;
		struct profile_call call = {.start_ns = now_ns,
			.duration_ns = 1000,
			.thread = m->threads[0],
			.stack = m->stacks[stack],
			.api = m->api,
			.kind = CALL_LAUNCH,
			.instance = 1,
			.correlation = (uint32_t)i + 1};
		struct profile_work work = {.start_ns = now_ns + 2000,
			.duration_ns = step_ns / 10 * 9,
			.launch_ns = now_ns,
			.op = m->kernels[function],
			.thread = call.thread,
			.stack = call.stack,
			.api = m->api,
			.instance = 1,
			.correlation = call.correlation};

		(void)profile_write_call(m->w, &call);
		(void)profile_write_work(m->w, &work);
	}
}

/* Three reasons for each instruction, two of them with latency samples, which are some of the
 * same. */
static void write_stalls(struct made *m, unsigned long rows)
{
	unsigned long per_window = FUNCTIONS / WINDOWS * INSTRUCTIONS * REASONS;
	unsigned int seed = 1;

	for (unsigned long i = 0; i < rows; i++) {
		unsigned long row = i % (WINDOWS * per_window);
		uint32_t instruction = (uint32_t)(row / REASONS);
		struct profile_stall s = {.window = m->windows[row / per_window],
			.instruction = m->instructions[instruction],
			.samples = row % REASONS % 2 ? 1 : 1 + rand_r(&seed) % 7u,
			.reason = m->reasons[(instruction * 6 + row % REASONS) % ALL_REASONS]};

		(void)profile_write_stall(m->w, &s);
	}
}

static void write_all(struct made *m, unsigned long pairs, unsigned long rows)
{
	m->api = string(m, "cudaLaunchKernel");
	make_tasks(m);
	make_stacks(m);
	if (!rows) {
		make_ops(m);
		write_pairs(m, pairs);
		return;
	}
	make_kernels(m);
	make_gpu_code(m);
	make_windows(m, rows);
	write_launches(m, pairs);
	write_stalls(m, rows);
	(void)profile_set_meta(m->w, META_STALLS, "continuous");
	(void)profile_set_meta(m->w, META_GPU_TEXT, "decoded");
}

int main(int argc, char **argv)
{
	static struct made m;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: profile_gen FILE PAIRS [ROWS]\n");
		return 2;
	}
	if (!profile_writer_open(&m.w, argv[1])) {
		write_all(
			&m, strtoul(argv[2], NULL, 10), argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
		if (!profile_writer_close(m.w))
			return 0;
	}
	fprintf(stderr, "profile_gen: %s\n", error_text());
	return 1;
}
