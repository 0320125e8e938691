// SPDX-License-Identifier: MIT
/*
 * Writes profiles with instruction samples, for tests of what shows them.
 *
 *	stall_profile small FILE SOURCE     two kernels, a function they call, two images of one of them, and one
 *	                                    kernel without samples; SOURCE is the folder of kernel.cu
 *	stall_profile unfinished FILE ...   the same, without its end mark
 *	stall_profile hostile FILE SOURCE   names, reasons and texts that try to break out of every format
 *	stall_profile refused FILE ...      kernels, and why no samples were taken
 *	stall_profile none FILE ...         kernels, nobody asked for samples
 *
 * The lines of "small" (kernel.cu is tests/data/stalls/kernel.cu):
 *
 *	matmul<16>(float const*, float const*, float*, int)   image 1, two launches from two places, 3 ms
 *	  0x000  kernel.cu:13                                 10 samples
 *	  0x010  load_tile (kernel.cu:5), inlined at 15       200 long_scoreboard (150 latency), 10 selected
 *	  0x020  load_tile (kernel.cu:5), inlined at 16       90 long_scoreboard
 *	  0x030  square in load_tile (math.h:3; 6; 15)        40 wait
 *	  0x040  kernel.cu:17                                 60 barrier (50 latency)
 *	  0x050  kernel.cu:17, no samples
 *	  0x060  not decoded, no line                         5 of a reason that is not known
 *	the same in image 2: 0x000 with 25 samples
 *	reduce(float*)                                        100 samples, no lines; 1 ms
 *	norm(float), called by it                             30 samples; no kernel
 *	tiny()                                                no samples, 2 us
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define REASON "smsp__pcsamp_warps_issue_stalled_"

struct stalls {
	struct profile_writer *w;
	char kernel_cu[4096], math_h[4096];
	uint32_t process, thread, device, window, stacks[2];
	bool hostile;
};

struct code {
	uint32_t offset;
	const char *text, *file;
	uint32_t line, inlined;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "stall_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct stalls *s, const char *text)
{
	uint32_t id = 0;

	if (text)
		check(profile_add_string(s->w, text, strlen(text), &id));
	return id;
}

static uint32_t image(struct stalls *s, uint8_t checksum)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE,
		.path = string(s, "sm_90"),
		.build_id_size = 8,
		.build_id = {[7] = checksum}};
	uint32_t id;

	check(profile_add_module(s->w, &m, &id));
	return id;
}

static uint32_t function(struct stalls *s, uint32_t module, const char *name)
{
	struct profile_gpu_function f = {.module = module, .name = string(s, name), .index = 1};
	uint32_t id;

	check(profile_add_gpu_function(s->w, &f, &id));
	return id;
}

static uint32_t inlined(
	struct stalls *s, uint32_t caller, const char *name, const char *file, uint32_t line)
{
	struct profile_inline i = {caller, string(s, name), string(s, file), line};
	uint32_t id;

	check(profile_add_inline(s->w, &i, &id));
	return id;
}

static uint32_t instruction(struct stalls *s, uint32_t function_id, const struct code *c)
{
	struct profile_instruction i = {
		.function = function_id,
		.offset = c->offset,
		.text = string(s, c->text),
		.file = string(s, c->file),
		.line = c->line,
		.inlined = c->inlined,
	};
	uint32_t id;

	check(profile_add_instruction(s->w, &i, &id));
	check(profile_describe_instruction(s->w, id, &i));
	return id;
}

/* As the vendor counts: all of them, and once more those of cycles in which nothing was issued. */
static void seen(
	struct stalls *s, uint32_t id, const char *reason, uint64_t samples, uint64_t latency)
{
	struct profile_stall e = {.window = s->window, .instruction = id, .samples = samples};
	char name[256];

	snprintf(name, sizeof(name), "%s%s", s->hostile ? "" : REASON, reason);
	e.reason = string(s, name);
	check(profile_write_stall(s->w, &e));
	if (!latency)
		return;
	strcat(name, "_not_issued");
	e.reason = string(s, name);
	e.samples = latency;
	check(profile_write_stall(s->w, &e));
}

static void ran(struct stalls *s, const char *name, uint32_t correlation, uint64_t start_ns,
	uint64_t duration_ns, unsigned int stack)
{
	struct profile_op op = {
		.kind = OP_KERNEL,
		.process = s->process,
		.device = s->device,
		.context = 1,
		.stream = 7,
		.name = string(s, name),
		.grid = {64, 1, 1},
		.block = {256, 1, 1},
	};
	struct profile_work e = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.thread = s->thread,
		.stack = s->stacks[stack],
		.api = string(s, "cudaLaunchKernel"),
		.instance = 1,
		.correlation = correlation,
	};

	check(profile_add_op(s->w, &op, &e.op));
	check(profile_write_work(s->w, &e));
}

static void begin(struct stalls *s)
{
	struct profile_process p = {.pid = 100, .comm = string(s, "app")};
	struct profile_device d = {
		.uuid = {1}, .name = string(s, "Example GPU"), .sm_count = 100, .clock_khz = 25000};
	struct profile_module m = {.kind = MODULE_FILE, .path = string(s, "/opt/app")};
	struct profile_thread t = {.tid = 100, .name = string(s, "app")};
	uint32_t module, location;

	check(profile_add_process(s->w, &p, &s->process));
	t.process = s->process;
	check(profile_add_thread(s->w, &t, &s->thread));
	check(profile_add_device(s->w, &d, &s->device));
	check(profile_add_module(s->w, &m, &module));
	for (unsigned int i = 0; i < 2; i++) {
		struct profile_location l = {
			.kind = FRAME_USER, .module = module, .address = 0x1000 + i};

		check(profile_add_location(s->w, &l, &location));
		check(profile_add_symbol(
			s->w, location, string(s, i ? "second" : "first"), 0, 0, 0));
		check(profile_add_stack_node(s->w, 0, location, &s->stacks[i]));
	}
	check(profile_set_meta(s->w, META_COMMAND, "./app --size 4096"));
	check(profile_set_meta(s->w, META_GPU_TEXT, "nvdisasm, decoded"));
	check(profile_set_meta(s->w, META_START_NS, "0"));
	check(profile_set_meta(s->w, META_END_NS, "10000000"));
	/* As if recorded in 2100, so that sources are older. */
	check(profile_set_meta(s->w, META_REALTIME_NS, "4102444800000000000"));
}

static void begin_window(struct stalls *s, uint64_t samples)
{
	struct profile_window w = {
		.process = s->process,
		.instance = 1,
		.device = s->device,
		.context = 1,
		.start_ns = 1000000,
		.end_ns = 9000000,
		.period_cycles = 4096,
		.samples = samples,
		.dropped = 7,
		.without_code = 20,
	};

	check(profile_add_window(s->w, &w, &s->window));
	check(profile_set_meta(s->w, META_STALLS, "continuous"));
}

static const char *const matmul = "_Z6matmulILi16EEvPKfS1_Pfi";

static void write_matmul(struct stalls *s)
{
	uint32_t f = function(s, image(s, 1), matmul), g = function(s, image(s, 2), matmul);
	uint32_t first = inlined(s, 0, "_Z9load_tilePKfi", s->kernel_cu, 5);
	uint32_t second = inlined(s, 0, "_Z9load_tilePKfi", s->kernel_cu, 6);
	uint32_t square = inlined(s, second, "_Z6squaref", s->math_h, 3);
	const struct code code[] = {
		{0x00, "MOV R1, c[0x0][0x28]", s->kernel_cu, 13, 0},
		{0x10, "LDG.E R2, [R4.64]", s->kernel_cu, 15, first},
		{0x20, "LDG.E R3, [R6.64+0x40]", s->kernel_cu, 16, first},
		{0x30, "FMUL R2, R2, R2", s->kernel_cu, 15, square},
		{0x40, "BAR.SYNC.DEFER_BLOCKING 0x0", s->kernel_cu, 17, 0},
		{0x50, "NOP", s->kernel_cu, 17, 0},
		{0x60, NULL, NULL, 0, 0},
	};
	uint32_t ids[7];

	for (size_t i = 0; i < 7; i++)
		ids[i] = instruction(s, f, &code[i]);
	seen(s, ids[0], "imc_miss", 6, 6);
	seen(s, ids[0], "selected", 4, 0);
	seen(s, ids[1], "long_scoreboard", 200, 150);
	seen(s, ids[1], "selected", 10, 0);
	seen(s, ids[2], "long_scoreboard", 90, 30);
	seen(s, ids[3], "wait", 40, 0);
	seen(s, ids[4], "barrier", 60, 50);
	seen(s, ids[6], "tea_break", 5, 1);
	seen(s, instruction(s, g, &code[0]), "selected", 25, 0);
	ran(s, matmul, 1, 1500000, 2000000, 0);
	ran(s, matmul, 2, 4000000, 1000000, 1);
}

static void write_others(struct stalls *s)
{
	uint32_t module = image(s, 1);
	uint32_t f = function(s, module, "_Z6reducePf"),
		 g = function(s, module, "$_Z6reducePf$_Z4normf");
	const struct code add = {0x100, "FADD R0, R0, R1", NULL, 0, 0},
			  ret = {0x20, "RET.REL.NODEC R20", NULL, 0, 0};
	uint32_t id = instruction(s, f, &add);

	seen(s, id, "short_scoreboard", 70, 0);
	seen(s, id, "selected", 30, 0);
	seen(s, instruction(s, g, &ret), "branch_resolving", 30, 10);
	ran(s, "_Z6reducePf", 3, 6000000, 1000000, 0);
	ran(s, "_Z4tinyv", 4, 8000000, 2000, 0);
}

static void write_small(struct stalls *s)
{
	begin(s);
	begin_window(s, 597);
	write_matmul(s);
	write_others(s);
}

static void write_hostile(struct stalls *s)
{
	static const char *const bad[] = {
		"</script><script>document.title='taken'</script>",
		"\"><img src=x onerror=\"document.title='taken'\">",
		"a\x1b[31mb\nc\t\x01",
		"\xff\xfe\xc0\x80 invalid",
		"\xe2\x80\xae gnp.exe",
		"",
	};
	uint32_t module;

	s->hostile = true;
	begin(s);
	begin_window(s, 600);
	module = image(s, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t f = function(s, module, bad[i]), in = inlined(s, 0, bad[i], bad[i], 3);
		struct code at = {0, bad[i], bad[i], 7, 0},
			    below = {16, bad[i], s->kernel_cu, 5, in};

		seen(s, instruction(s, f, &at), bad[i], 60, 5);
		seen(s, instruction(s, f, &below), bad[i], 40, 0);
		ran(s, bad[i], (uint32_t)i + 1, 1000000 * (i + 1), 500000, 0);
	}
	check(profile_set_meta(s->w, META_COMMAND, bad[0]));
}

static void write_refused(struct stalls *s)
{
	begin(s);
	ran(s, matmul, 1, 1500000, 2000000, 0);
	check(profile_set_meta(
		s->w, META_STALLS_REFUSED, "the driver lets only administrators sample"));
}

static void write_none(struct stalls *s)
{
	begin(s);
	ran(s, matmul, 1, 1500000, 2000000, 0);
}

static void stop_halfway(struct stalls *s)
{
	check(profile_writer_flush(s->w));
	profile_writer_abort(s->w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*write)(struct stalls *s);
	} kinds[] = {
		{"small", write_small},
		{"unfinished", write_small},
		{"hostile", write_hostile},
		{"refused", write_refused},
		{"none", write_none},
	};
	struct stalls s = {0};

	if (argc < 4) {
		fprintf(stderr, "usage: stall_profile KIND FILE SOURCE|N\n");
		return 2;
	}
	snprintf(s.kernel_cu, sizeof(s.kernel_cu), "%s/kernel.cu", argv[3]);
	snprintf(s.math_h, sizeof(s.math_h), "%s/math.h", argv[3]);
	check(profile_writer_open(&s.w, argv[2]));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].write(&s);
	if (strcmp(argv[1], "unfinished"))
		check(profile_writer_close(s.w));
	else
		stop_halfway(&s);
	return 0;
}
