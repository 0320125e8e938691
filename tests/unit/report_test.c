// SPDX-License-Identifier: MIT
/* `xpuprof report` over a small profile of known contents: the sums, the text and the JSON. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "export/exporter.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/tables/summary.h"

#define MS 1000000ull
#define US 1000ull

static char folder[] = "/tmp/report_test.XXXXXX";
static char profile_path[64], output_path[64], empty_path[64], cut_path[64];

/* Ids of the profile that write_profile makes. */
struct made {
	struct profile_writer *w;
	uint32_t main_thread, other_thread, device[2];
	uint32_t kernel_op[2], copy_op, set_op;
	uint32_t train_stack, train_again_stack, eval_stack, cut_stack, python_stack;
};

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(m->w, text, strlen(text), &id) == 0);
	return id;
}

static uint32_t location(struct made *m, enum profile_frame_kind kind, uint32_t module,
	uint64_t address, const char *name)
{
	struct profile_location l = {.kind = kind, .module = module, .address = address};
	uint32_t id = 0;

	if (kind == FRAME_NOTE)
		l.name = string(m, name);
	CHECK(profile_add_location(m->w, &l, &id) == 0);
	if (kind != FRAME_NOTE)
		CHECK(profile_add_symbol(m->w, id, string(m, name), 0, 0, 0) == 0);
	return id;
}

static uint32_t python_location(struct made *m, const char *name, const char *file, uint32_t line)
{
	struct profile_location l = {.kind = FRAME_PYTHON,
		.name = string(m, name),
		.file = string(m, file),
		.line = line};
	uint32_t id = 0;

	CHECK(profile_add_location(m->w, &l, &id) == 0);
	return id;
}

static uint32_t stack(struct made *m, uint32_t parent, uint32_t location_id)
{
	uint32_t id = 0;

	CHECK(profile_add_stack_node(m->w, parent, location_id, &id) == 0);
	return id;
}

static void make_stacks(struct made *m)
{
	struct profile_module app = {.kind = MODULE_FILE, .path = string(m, "/opt/app")};
	struct profile_module cuda = {
		.kind = MODULE_FILE, .path = string(m, "/lib/libcudart.so.12")};
	struct profile_module driver = {
		.kind = MODULE_FILE, .path = string(m, "/lib/libcuda.so.1")};
	uint32_t app_id = 0, cuda_id = 0, driver_id = 0, base, launch, linked_in, inside, note, why;

	CHECK(profile_add_module(m->w, &app, &app_id) == 0);
	CHECK(profile_add_module(m->w, &cuda, &cuda_id) == 0);
	CHECK(profile_add_module(m->w, &driver, &driver_id) == 0);
	base = stack(m, 0, location(m, FRAME_USER, app_id, 0x10, "main"));
	launch = location(m, FRAME_USER, cuda_id, 0x20, "cudaLaunchKernel");
	note = location(m, FRAME_NOTE, 0, 0, NOTE_INCOMPLETE);
	why = location(m, FRAME_NOTE, 0, 0, "[incomplete stack: no unwind information]");
	/* The CUDA runtime is in a library for one, and linked into the program for the other. */
	m->train_stack = stack(m, base, location(m, FRAME_USER, app_id, 0x30, "_Z5trainPfi"));
	linked_in =
		stack(m, m->train_stack, location(m, FRAME_USER, app_id, 0x60, "cudaLaunchKernel"));
	inside = stack(m, linked_in, location(m, FRAME_USER, app_id, 0x70, "cudart_inside"));
	m->train_stack =
		stack(m, inside, location(m, FRAME_USER, driver_id, 0x80, "cuLaunchKernel"));
	/* Another call in the same function. */
	m->train_again_stack = stack(
		m, stack(m, base, location(m, FRAME_USER, app_id, 0x31, "_Z5trainPfi")), launch);
	m->eval_stack =
		stack(m, stack(m, base, location(m, FRAME_USER, app_id, 0x40, "evaluate")), launch);
	m->cut_stack = stack(m, stack(m, 0, note), location(m, FRAME_USER, app_id, 0x50, "helper"));
	m->python_stack = stack(m, stack(m, 0, why), python_location(m, "step", "/a/train.py", 3));
}

/* main has setup inlined, which has prepare inlined. */
static void make_inlines(struct made *m)
{
	struct profile_inline i = {.name = string(m, "setup")};
	uint32_t id = 0;

	CHECK(profile_add_inline(m->w, &i, &id) == 0);
	i = (struct profile_inline){.caller = id, .name = string(m, "prepare")};
	CHECK(profile_add_inline(m->w, &i, &id) == 0);
	CHECK(profile_add_symbol(m->w, 1, string(m, "main"), 0, 0, id) == 0);
}

static void make_tasks(struct made *m)
{
	struct profile_process p = {
		.pid = 4711, .comm = string(m, "train"), .cmdline = string(m, "./train --fast")};
	struct profile_thread t = {.tid = 4711, .name = string(m, "train")};
	struct profile_device d = {.name = string(m, "Simulated GPU A"), .uuid = {0xab}};
	uint32_t process = 0;

	CHECK(profile_add_process(m->w, &p, &process) == 0);
	t.process = process;
	CHECK(profile_add_thread(m->w, &t, &m->main_thread) == 0);
	t.tid = 4712;
	t.name = string(m, "worker");
	CHECK(profile_add_thread(m->w, &t, &m->other_thread) == 0);
	CHECK(profile_add_device(m->w, &d, &m->device[0]) == 0);
	d.ordinal = 1;
	d.uuid[0] = 0xcd;
	CHECK(profile_add_device(m->w, &d, &m->device[1]) == 0);
}

static void make_ops(struct made *m)
{
	struct profile_op op = {.kind = OP_KERNEL,
		.process = 1,
		.device = m->device[0],
		.name = string(m, "_Z10vector_addPfS_i"),
		.grid = {1, 1, 1}};

	CHECK(profile_add_op(m->w, &op, &m->kernel_op[0]) == 0);
	op.grid[0] = 2;
	CHECK(profile_add_op(m->w, &op, &m->kernel_op[1]) == 0);
	op = (struct profile_op){.kind = OP_COPY,
		.process = 1,
		.device = m->device[0],
		.copy_kind = COPY_HTOD,
		.source_memory = MEMORY_PINNED,
		.target_memory = MEMORY_DEVICE};
	CHECK(profile_add_op(m->w, &op, &m->copy_op) == 0);
	op = (struct profile_op){.kind = OP_SET,
		.process = 1,
		.device = m->device[1],
		.target_memory = MEMORY_DEVICE};
	CHECK(profile_add_op(m->w, &op, &m->set_op) == 0);
}

static void write_work(struct made *m, struct profile_work work)
{
	CHECK(profile_write_work(m->w, &work) == 0);
}

static void write_works(struct made *m)
{
	/* Two shapes of one kernel: 3 + 1 + 2 ms, mostly from train(); the second overlaps the
	 * first by 1 ms. */
	write_work(m, (struct profile_work){.op = m->kernel_op[0],
			      .thread = m->main_thread,
			      .start_ns = 1010 * MS,
			      .duration_ns = 3 * MS,
			      .stack = m->train_stack,
			      .launch_ns = 1010 * MS - 10 * US,
			      .instance = 1,
			      .correlation = 1});
	write_work(m, (struct profile_work){.op = m->kernel_op[1],
			      .thread = m->main_thread,
			      .start_ns = 1012 * MS,
			      .duration_ns = 2 * MS,
			      .stack = m->eval_stack,
			      .launch_ns = 1012 * MS - 20 * US,
			      .instance = 1,
			      .correlation = 2});
	write_work(m, (struct profile_work){.op = m->kernel_op[1],
			      .thread = m->main_thread,
			      .start_ns = 1020 * MS,
			      .duration_ns = 1 * MS,
			      .stack = m->train_again_stack,
			      .launch_ns = 1021 * MS,
			      .instance = 1,
			      .correlation = 3});
	write_work(m, (struct profile_work){.op = m->copy_op,
			      .thread = m->other_thread,
			      .start_ns = 1030 * MS,
			      .duration_ns = 2 * MS,
			      .bytes = 50000000,
			      .stack = m->cut_stack,
			      .launch_ns = 1030 * MS - 30 * US,
			      .instance = 1,
			      .correlation = 4});
	/* One launch of a graph: two pieces of work, without a stack. */
	for (uint64_t node = 1; node <= 2; node++)
		write_work(m, (struct profile_work){.op = m->set_op,
				      .thread = m->other_thread,
				      .start_ns = (1039 + node) * MS,
				      .duration_ns = MS / 2,
				      .bytes = 1000000,
				      .graph_node = node,
				      .launch_ns = 1039 * MS,
				      .instance = 1,
				      .correlation = 5,
				      .join = JOIN_STACK_LOST});
}

static void write_rest(struct made *m)
{
	struct profile_sample sample = {.time_ns = 1001 * MS,
		.period_ns = 10 * MS,
		.thread = m->main_thread,
		.stack = m->train_stack};
	struct profile_call call = {.start_ns = 1050 * MS,
		.duration_ns = 7 * MS,
		.kind = CALL_SYNC,
		.thread = m->main_thread,
		.api = string(m, "cudaDeviceSynchronize")};
	struct profile_pending pending = {
		.start_ns = 1060 * MS, .thread = m->main_thread, .reason = PENDING_FAILED};

	CHECK(profile_write_sample(m->w, &sample) == 0);
	sample.stack = m->cut_stack;
	sample.thread = m->other_thread;
	CHECK(profile_write_sample(m->w, &sample) == 0);
	CHECK(profile_write_call(m->w, &call) == 0);
	call.duration_ns = 3 * MS;
	call.result = 700;
	CHECK(profile_write_call(m->w, &call) == 0);
	call = (struct profile_call){.start_ns = 1010 * MS - 10 * US,
		.duration_ns = 4 * US,
		.kind = CALL_LAUNCH,
		.thread = m->main_thread,
		.api = string(m, "cudaLaunchKernel")};
	CHECK(profile_write_call(m->w, &call) == 0);
	call.stack = m->train_stack;
	CHECK(profile_write_call(m->w, &call) == 0);
	call.stack = m->cut_stack;
	CHECK(profile_write_call(m->w, &call) == 0);
	call.stack = m->python_stack;
	for (int i = 0; i < 2; i++)
		CHECK(profile_write_call(m->w, &call) == 0);
	CHECK(profile_write_pending(m->w, &pending) == 0);
	CHECK(profile_count_loss(m->w, LOSS_GPU_DROPPED, 1234) == 0);
	CHECK(profile_set_meta(m->w, META_COMMAND, "./train --fast\x1b[31m") == 0);
	CHECK(profile_set_meta(m->w, META_START_NS, "1000000000") == 0);
	CHECK(profile_set_meta(m->w, META_END_NS, "1100000000") == 0);
	CHECK(profile_set_meta(m->w, META_SAMPLE_HZ, "99") == 0);
	CHECK(profile_set_meta(m->w, META_SIMULATED, "1") == 0);
	CHECK(profile_set_meta(m->w, META_EXIT_STATUS, "3") == 0);
	CHECK(profile_set_meta(m->w, META_STACK_SOURCE, "bpf") == 0);
	CHECK(profile_set_meta(m->w, META_TRACER, "13.0 /a\n12.4 /b") == 0);
	CHECK(profile_set_meta(m->w, META_CLOCK_ERROR, "850") == 0);
	CHECK(profile_set_meta(m->w, META_GPU_REPORTED, "9000000") == 0);
}

static void a_profile_of_known_contents_can_be_written(void)
{
	struct made m = {0};

	CHECK(profile_writer_open(&m.w, profile_path) == 0);
	make_stacks(&m);
	make_inlines(&m);
	make_tasks(&m);
	make_ops(&m);
	write_works(&m);
	write_rest(&m);
	CHECK(profile_writer_close(m.w) == 0);
}

/* What `xpuprof report ARGUMENTS` prints, and its exit status. */
static const char *report(int *ret_status, const char *a, const char *b, const char *c)
{
	static struct buf text;
	const char *argv[] = {"report", a, b, c, NULL};
	int saved = dup(STDOUT_FILENO), argc = 1;
	int fd = open(output_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	while (argv[argc])
		argc++;
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	*ret_status = cmd_report(argc, (char **)argv);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	buf_reset(&text);
	CHECK(io_read_file(output_path, (size_t)1 << 20, &text) == 0);
	return buf_text(&text);
}

static const char golden[] =
	"command       ./train --fast\\x1b[31m\n"
	"exit status   3\n"
	"elapsed       100 ms\n"
	"CPU time      20 ms in 2 samples, 99 a second\n"
	"GPU time      9.00 ms in 6 pieces of work, simulated GPU\n"
	"\n"
	"GPUs\n"
	"      busy     share      idle        work  at once  device\n"
	"   7.00 ms     7.0 %    93.0 %           4     1.14  0 Simulated GPU A\n"
	"   1.00 ms     1.0 %    99.0 %           2     1.00  1 Simulated GPU A\n"
	"\n"
	"Why GPUs were idle\n"
	"train (4711) is mostly compute-bound: of 8.00 ms kernels ran for 62.5 %, only copies for "
	"37.5 %; the GPU was idle for 23.5 ms in gaps that happened once or were\n"
	"  unusually long\n"
	"GPU 0: idle 68.2 % of the time between its first and last work: 15.0 ms of 22.0 ms, in 2 "
	"gaps\n"
	"  once, or unusually long: 15.0 ms\n"
	"   15.0 ms  100.0 %         2  not known; at helper\n"
	"GPU 1: idle 33.3 % of the time between its first and last work: 500 us of 1.50 ms, in 1 "
	"gap\n"
	"  once, or unusually long: 500 us\n"
	"    500 us  100.0 %         1  between work that was queued\n"
	"  whether threads waited is not known: see xpuprof record --off-cpu\n"
	"\n"
	"Kernels\n"
	"     total   of GPU       count      mean       min       max  kernel\n"
	"   6.00 ms   66.7 %           3   2.00 ms   1.00 ms   3.00 ms  vector_add(float*, float*, "
	"int)\n"
	"                      66.7 % from main > train\n"
	"\n"
	"CPU time by function\n"
	"      self   of CPU     total   of CPU  function\n"
	"     10 ms     50 %     10 ms     50 %  cuLaunchKernel [libcuda.so.1]\n"
	"                             100 % from main > train > cudaLaunchKernel > "
	"cudart_inside\n"
	"     10 ms     50 %     10 ms     50 %  helper [app]\n"
	"      0 ns      0 %     10 ms     50 %  [incomplete stack]\n"
	"      0 ns      0 %     10 ms     50 %  cudaLaunchKernel [app]\n"
	"      0 ns      0 %     10 ms     50 %  cudart_inside [app]\n"
	"      0 ns      0 %     10 ms     50 %  main [app]\n"
	"      0 ns      0 %     10 ms     50 %  train(float*, int) [app]\n"
	"\n"
	"Copies\n"
	"     total   of GPU       count      mean     bytes    bandwidth  kind\n"
	"   2.00 ms   22.2 %           1   2.00 ms   50.0 MB    25.0 GB/s  HtoD, pinned to device\n"
	"\n"
	"Memory sets\n"
	"     total   of GPU       count      mean     bytes    bandwidth  kind\n"
	"   1.00 ms   11.1 %           2    500 us   2.00 MB    2.00 GB/s  device\n"
	"\n"
	"Calls that wait for the GPU\n"
	"     total                count      mean       min       max  call\n"
	"   10.0 ms                    2   5.00 ms   3.00 ms   7.00 ms  cudaDeviceSynchronize (1 "
	"failed)\n"
	"\n"
	"Calls that ask for GPU work\n"
	"     total                count      mean       min       max  call\n"
	"   20.0 us                    5   4.00 us   4.00 us   4.00 us  cudaLaunchKernel\n"
	"\n"
	"From launch to start, of work outside graphs\n"
	"     count      mean       min       p50       p90       p99     p99.9       max\n"
	"         3   20.0 us   10.0 us   20.1 us   30.0 us   30.0 us   30.0 us   30.0 us\n"
	"         1 started before their launch, by the clocks, and are not in these\n"
	"\n"
	"Longest gaps of GPU 0\n"
	"    length        at  likely cause, and what threads did meanwhile\n"
	"   9.00 ms   21.0 ms  not known; at helper\n"
	"   6.00 ms   14.0 ms  not known; at main > train\n"
	"\n"
	"Longest gaps of GPU 1\n"
	"    length        at  likely cause, and what threads did meanwhile\n"
	"    500 us   40.5 ms  between work that was queued\n"
	"\n"
	"Waits for GPU work\n"
	"     total       count   longest  thread and call, and what it waited for\n"
	"   7.00 ms           2   7.00 ms  train 4711 in cudaDeviceSynchronize\n"
	"                                  for nothing that is known\n"
	"\n"
	"Processes\n"
	"  CPU time  GPU time    launches        work  process\n"
	"     20 ms   9.00 ms           6           6  train (4711)\n"
	"\n"
	"Threads\n"
	"  CPU time  GPU time    launches        work  thread (process)\n"
	"     10 ms   6.00 ms           4           3  train 4711 (train 4711)\n"
	"     10 ms   3.00 ms           2           3  worker 4712 (train 4711)\n"
	"\n"
	"Stacks\n"
	"    50.0 % of 2 stacks of CPU samples are complete\n"
	"    50.0 %           1 reason not known\n"
	"    25.0 % of 4 stacks of launches (taken by bpf) are complete\n"
	"    50.0 % of them have Python frames\n"
	"    50.0 %           2 no unwind information\n"
	"    25.0 %           1 reason not known\n"
	"\n"
	"Launches without GPU work\n"
	"         1 failed\n"
	"\n"
	"GPU work without a stack\n"
	"         2 the launching call's stack was lost\n"
	"\n"
	"Lost or incomplete\n"
	"     1,234 GPU records dropped by CUPTI\n"
	"\n"
	"About this recording\n"
	"stacks by     bpf\n"
	"tracer        13.0 /a\n"
	"              12.4 /b\n";

static void the_text_is_what_it_always_was(void)
{
	int status;
	const char *text = report(&status, profile_path, NULL, NULL), *line = strchr(text, '\n');
	const char *clocks = strstr(text, "\nclocks");

	CHECK(status == EXIT_OK);
	CHECK(!strncmp(text, "recording     /tmp/", 19) && line);
	for (const char *g = golden, *t = line ? line + 1 : ""; *g;) {
		size_t length = strcspn(g, "\n");

		if (strncmp(g, t, length + 1)) {
			printf("# golden: %.*s\n# got:    %.*s\n", (int)length, g,
				(int)strcspn(t, "\n"), t);
			CHECK(!"the same line");
			break;
		}
		g += length + 1;
		t += length + 1;
	}
	CHECK(clocks && !strcmp(clocks, "\nclocks        GPU times may be off by 850 ns\n"));
}

static void json_holds_the_same_sums(void)
{
	static const char *const parts[] = {
		"\"simulated\":true",
		"\"elapsed_ns\":100000000",
		"\"cpu_ns\":20000000",
		"\"gpu_ns\":9000000",
		("\"linker_name\":\"_Z10vector_addPfS_i\",\"count\":3,\"total_ns\":6000000,\"mean_"
		 "ns\":2e+06,"
		 "\"min_ns\":1000000,\"max_ns\":3000000"),
		"\"path\":[\"main\",\"train(float*, int)\"],\"path_ns\":4000000",
		"\"gb_per_s\":25}",
		"\"busy_ns\":7000000,\"busy_uncertain_ns\":0",
		"\"backwards\":1,\"in_graphs\":2",
		"\"failed\":1,\"captured\":0",
		"\"stack_lost\":2",
		("\"stacks\":{\"source\":\"bpf\",\"samples\":2,\"samples_incomplete\":1,\"samples_"
		 "python\":0,"
		 "\"samples_reasons\":[{\"reason\":\"reason not known\",\"count\":1}],"
		 "\"launches\":4,\"launches_incomplete\":3,\"launches_python\":2,\"launches_"
		 "without\":1,"
		 "\"launches_reasons\":[{\"reason\":\"no unwind information\",\"count\":2},"
		 "{\"reason\":\"reason not "
		 "known\",\"count\":1}],\"works\":4,\"works_incomplete\":1,"),
		("\"functions\":[{\"name\":\"cuLaunchKernel\",\"module\":\"/lib/"
		 "libcuda.so.1\",\"self_ns\":10000000,"
		 "\"total_ns\":10000000,\"self_samples\":1,\"samples\":1,"
		 "\"self_low_ns\":1890573,\"self_high_ns\":18109426,"
		 "\"total_low_ns\":1890573,\"total_high_ns\":18109426,\"path\":[\"main\","
		 "\"train(float*, "
		 "int)\",\"cudaLaunchKernel\",\"cudart_inside\"],\"path_ns\":10000000},"),
		"{\"name\":\"[incomplete "
		"stack]\",\"self_ns\":0,\"total_ns\":10000000,\"self_samples\":0,\"samples\":1,"
		"\"self_low_ns\":0,\"self_high_ns\":0,"
		"\"total_low_ns\":1890573,\"total_high_ns\":18109426,"
		"\"path\":[],\"path_ns\":0}",
		"\"processes_without\":0",
		"\"threads_without\":0",
		"\"gpu_dropped\":1234",
		"\"command\":\"./train --fast\\\\x1b[31m\"",
		"\"incomplete\":null",
	};
	char command[256];
	int status;
	const char *text = report(&status, "--json", profile_path, NULL);

	CHECK(status == EXIT_OK);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strstr(text, parts[i]))
			printf("# missing: %s\n", parts[i]);
		CHECK(strstr(text, parts[i]));
	}
	snprintf(command, sizeof(command), "python3 -m json.tool %s >/dev/null", output_path);
	CHECK(system(command) == 0);
}

static void wide_gives_names_whole(void)
{
	int status;
	const char *text;

	setenv("COLUMNS", "60", 1);
	text = report(&status, "--wide", profile_path, NULL);
	unsetenv("COLUMNS");
	CHECK(status == EXIT_OK);
	CHECK(strstr(text, "       max  kernel\n") &&
		strstr(text, "  vector_add(float*, float*, int)\n"));
	CHECK(strstr(text, " from main > train(float*, int)\n"));
}

static void inlined_functions_are_named_when_asked_for(void)
{
	int status;

	CHECK(strstr(report(&status, "--inline", "--wide", profile_path),
		" from main > setup > prepare > train(float*, int)\n"));
	CHECK(status == EXIT_OK);
	CHECK(strstr(report(&status, "--json", "--inline", profile_path),
		"\"path\":[\"main\",\"setup\",\"prepare\",\"train(float*, int)\"]"));
	CHECK(!strstr(report(&status, "--json", profile_path, NULL), "prepare"));
}

static void a_narrow_terminal_cuts_names_and_leaves_out_extremes(void)
{
	int status;
	const char *text;

	setenv("COLUMNS", "80", 1);
	text = report(&status, profile_path, NULL, NULL);
	unsetenv("COLUMNS");
	CHECK(strstr(text, "  mean  kernel\n") &&
		strstr(text, "  vector_add(float*, float*, int)\n"));
	CHECK(strstr(text, " 66.7 % from main > train\n"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") <= 80);
}

static void work_of_no_thread_is_in_the_table_of_threads_too(void)
{
	struct made m = {0};
	int status;
	const char *text;

	CHECK(profile_writer_open(&m.w, empty_path) == 0);
	make_tasks(&m);
	make_ops(&m);
	write_work(&m, (struct profile_work){.op = m.kernel_op[0],
			       .start_ns = 5,
			       .duration_ns = 8 * MS,
			       .join = JOIN_NO_LAUNCH});
	CHECK(profile_writer_close(m.w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	CHECK(strstr(text, "\n   8.00 ms           0           1  not known\n"));
	CHECK(!strstr(text, "CPU time  GPU time"));
	CHECK(strstr(text, "\n   8.00 ms           0           1  train (4711)\n"));
}

static void add_idle_tasks(struct made *m)
{
	struct profile_process forked = {.pid = 4711, .comm = string(m, "sh")},
			       idle = {.pid = 5000, .comm = string(m, "sleep")};
	struct profile_thread main_thread = {.tid = 5000},
			      profiler = {.tid = 5001, .flags = THREAD_PROFILER};
	uint32_t id = 0;

	CHECK(profile_add_process(m->w, &forked, &id) == 0);
	CHECK(profile_add_process(m->w, &idle, &id) == 0);
	idle.start_ns = 7;
	CHECK(profile_add_process(m->w, &idle, &id) == 0);
	main_thread.process = profiler.process = id;
	CHECK(profile_add_thread(m->w, &main_thread, &id) == 0);
	CHECK(profile_add_thread(m->w, &profiler, &id) == 0);
}

static void tasks_that_are_in_no_row_are_counted(void)
{
	struct made m = {0};
	struct profile_sample sample = {.period_ns = MS};
	int status;
	const char *text;

	/* Of the process that is in a row there is another image, and the idle one has two. */
	CHECK(profile_writer_open(&m.w, empty_path) == 0);
	make_tasks(&m);
	add_idle_tasks(&m);
	sample.thread = m.main_thread;
	CHECK(profile_write_sample(m.w, &sample) == 0);
	CHECK(profile_writer_close(m.w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	CHECK(strstr(text, "  train (4711)\n         1 more with neither CPU samples nor GPU "
			   "work\n\nThreads\n"));
	CHECK(strstr(text, "  train 4711 (train 4711)\n         2 more with neither CPU samples "
			   "nor GPU work\n\n"));
	/* No columns of zeros. */
	CHECK(strstr(text, "\nProcesses\n  CPU time  process\n      1 ms  train (4711)\n"));
	CHECK(strstr(text, "      1 ms    100 %      1 ms    100 %  [no stack]\n"));
	text = report(&status, "--json", empty_path, NULL);
	CHECK(strstr(text, "\"processes_without\":1,") && strstr(text, "\"threads_without\":2,"));
}

static void tables_of_tasks_without_rows_say_how_many_there_were(void)
{
	struct made m = {0};
	int status;
	const char *text;

	CHECK(profile_writer_open(&m.w, empty_path) == 0);
	add_idle_tasks(&m);
	CHECK(profile_writer_close(m.w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	CHECK(strstr(text, "\nProcesses\n         2 with neither CPU samples nor GPU work\n"));
	CHECK(!strstr(text, "Threads"));
	CHECK(!strstr(text, "CPU time by function"));
}

/* What `xpuprof export --to folded --by device` prints of empty_path. */
static const char *folded_by_device(void)
{
	static struct buf text;
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct export_result result;

	options.view.by = VIEW_BY_DEVICE;
	CHECK(!export_file(exporter_by_name("folded"), empty_path, output_path, &options, &result));
	buf_reset(&text);
	CHECK(io_read_file(output_path, (size_t)1 << 20, &text) == 0);
	return buf_text(&text);
}

static void gpus_stand_in_the_order_of_their_numbers(void)
{
	struct profile_device d = {.uuid = {7}, .ordinal = 5};
	struct profile_op op = {.kind = OP_SET};
	struct made m = {0};
	int status;
	const char *text, *five;

	CHECK(profile_writer_open(&m.w, empty_path) == 0);
	d.name = string(&m, "B");
	for (uint64_t i = 0; i < 2; i++, d.ordinal = 3, d.uuid[0] = 8) {
		uint32_t id = 0;

		CHECK(profile_add_device(m.w, &d, &op.device) == 0);
		CHECK(profile_add_op(m.w, &op, &id) == 0);
		write_work(
			&m, (struct profile_work){.op = id, .start_ns = 5, .duration_ns = 2 - i});
	}
	CHECK(profile_writer_close(m.w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	five = strstr(text, "  5 B\n");
	CHECK(five && strstr(text, "  3 B\n") && strstr(text, "  3 B\n") < five);
}

static void gpus_that_each_process_calls_0_are_told_apart(void)
{
	struct profile_device d = {.uuid = {0xef}};
	struct profile_op op = {.kind = OP_KERNEL, .process = 1};
	struct made m = {0};
	uint32_t id = 0;
	int status;
	const char *text;

	CHECK(profile_writer_open(&m.w, empty_path) == 0);
	make_tasks(&m);
	make_ops(&m);
	d.name = string(&m, "Simulated GPU B");
	CHECK(profile_add_device(m.w, &d, &op.device) == 0);
	op.name = string(&m, "other");
	CHECK(profile_add_op(m.w, &op, &id) == 0);
	write_work(&m,
		(struct profile_work){.op = m.kernel_op[0], .start_ns = 5, .duration_ns = 1 * MS});
	write_work(&m, (struct profile_work){.op = id, .start_ns = 9, .duration_ns = 2 * MS});
	CHECK(profile_writer_close(m.w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	CHECK(strstr(text, "  0 Simulated GPU A\n") && strstr(text, "  2 Simulated GPU B\n"));
	text = folded_by_device();
	CHECK(strstr(text, "[GPU0_Kernel]_Z10vector_addPfS_i 1000\n"));
	CHECK(strstr(text, "[GPU2_Kernel]other 2000\n"));
}

static void top_limits_the_rows_and_says_so(void)
{
	int status;
	const char *text = report(&status, "--top", "1", profile_path);
	const char *threads = strstr(text, "\nThreads (1 of 2)\n");

	CHECK(status == EXIT_OK);
	CHECK(threads && strstr(threads, "train 4711") && !strstr(threads, "worker 4712"));
	CHECK(strstr(text, "\nCPU time by function (1 of 7)\n") && !strstr(text, "helper [app]"));
}

static void an_empty_recording_is_a_report_too(void)
{
	struct profile_writer *w;
	int status;
	const char *text;

	CHECK(profile_writer_open(&w, empty_path) == 0);
	CHECK(profile_set_meta(w, META_STACK_SOURCE, "inprocess") == 0);
	CHECK(profile_writer_close(w) == 0);
	text = report(&status, empty_path, NULL, NULL);
	CHECK(status == EXIT_OK);
	CHECK(strstr(text, "CPU time      not sampled\nGPU time      none recorded\n"));
	CHECK(!strstr(text, "stacks by"));
	CHECK(strstr(text, "\nLost or incomplete\n   nothing\n"));
	CHECK(!strstr(text, "Kernels") && !strstr(text, "INCOMPLETE"));
	report(&status, "--json", empty_path, NULL);
	CHECK(status == EXIT_OK);
}

static void gpu_time_that_the_driver_reported_and_that_is_not_here_is_told(void)
{
	struct profile_writer *w;
	int status;

	CHECK(profile_writer_open(&w, empty_path) == 0);
	CHECK(profile_set_meta(w, META_GPU_REPORTED, "1500") == 0);
	CHECK(profile_writer_close(w) == 0);
	CHECK(strstr(report(&status, empty_path, NULL, NULL),
		"\nby the driver 1.50 us, 1.50 us more than here\n"));
	CHECK(!strstr(report(&status, profile_path, NULL, NULL), "by the driver"));
}

static void a_cut_file_is_reported_as_far_as_it_goes_with_a_warning(void)
{
	struct buf whole = BUF_INIT;
	int status, fd = open(cut_path, O_WRONLY | O_CREAT, 0600);
	const char *text;

	CHECK(io_read_file(profile_path, (size_t)1 << 20, &whole) == 0);
	CHECK(io_write_all(fd, whole.data, whole.size - 9) == 0);
	close(fd);
	text = report(&status, cut_path, NULL, NULL);
	CHECK(status == EXIT_OK);
	CHECK(strstr(text, "\nINCOMPLETE    "));
	CHECK(!truncate(cut_path, 40));
	text = report(&status, cut_path, NULL, NULL);
	CHECK(status == EXIT_OK);
	CHECK(strstr(text,
		"\nelapsed       not known\nCPU time      not known\nGPU time      not known\n"));
	buf_release(&whole);
}

static void wrong_use_and_missing_files_fail(void)
{
	int status;

	fflush(stdout);
	report(&status, "/nonexistent.xpu", NULL, NULL);
	CHECK(status == EXIT_FAILED);
	report(&status, profile_path, profile_path, NULL);
	CHECK(status == EXIT_USAGE);
	report(&status, "--top", "0", NULL);
	CHECK(status == EXIT_USAGE);
}

int main(void)
{
	unsetenv("COLUMNS");
	if (!mkdtemp(folder))
		return 1;
	snprintf(profile_path, sizeof(profile_path), "%s/p.xpu", folder);
	snprintf(output_path, sizeof(output_path), "%s/out", folder);
	snprintf(empty_path, sizeof(empty_path), "%s/empty.xpu", folder);
	snprintf(cut_path, sizeof(cut_path), "%s/cut.xpu", folder);
	RUN(a_profile_of_known_contents_can_be_written);
	RUN(the_text_is_what_it_always_was);
	RUN(json_holds_the_same_sums);
	RUN(inlined_functions_are_named_when_asked_for);
	RUN(a_narrow_terminal_cuts_names_and_leaves_out_extremes);
	RUN(wide_gives_names_whole);
	RUN(gpus_stand_in_the_order_of_their_numbers);
	RUN(gpus_that_each_process_calls_0_are_told_apart);
	RUN(work_of_no_thread_is_in_the_table_of_threads_too);
	RUN(tasks_that_are_in_no_row_are_counted);
	RUN(tables_of_tasks_without_rows_say_how_many_there_were);
	RUN(top_limits_the_rows_and_says_so);
	RUN(an_empty_recording_is_a_report_too);
	RUN(gpu_time_that_the_driver_reported_and_that_is_not_here_is_told);
	RUN(a_cut_file_is_reported_as_far_as_it_goes_with_a_warning);
	RUN(wrong_use_and_missing_files_fail);
	unlink(profile_path);
	unlink(output_path);
	unlink(empty_path);
	unlink(cut_path);
	rmdir(folder);
	return tap_end();
}
