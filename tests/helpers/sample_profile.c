// SPDX-License-Identifier: MIT
/*
 * Writes profiles for tests of what reads them.
 *
 *	sample_profile small FILE       a little of everything, with known times
 *	sample_profile simulated FILE   the same, on a simulated GPU
 *	sample_profile unfinished FILE  the same, without its end mark
 *	sample_profile early FILE       the same, with work that came before its call had returned
 *	sample_profile hostile FILE     names that try to break out of every format
 *	sample_profile python FILE      stacks with Python frames, and the interpreter between them
 *	sample_profile empty FILE       no events
 *	sample_profile pairs FILE N     N launches and their kernels, for benchmarks
 *
 * The stacks of "small", root first (CUDA's inside is cudart;cuda;inject):
 *
 *	1  main;solve
 *	2  main;solve;math::step(int)
 *	3  main;solve;math::step(int);<cudart: cudaLaunchKernel>;<cuda>;<inject>
 *	4  train (train.py:12);forward (train.py:30);<cudart: cudaGraphLaunch>;<cuda>;<inject>
 *	5  train (train.py:12);capture (train.py:20);<cudart: cudaLaunchKernel>;<cuda>;<inject>
 *	6  main;app+0x1234;do_syscall_64 (kernel)
 *	7  [incomplete];<[u8; 4] as Hash>::hash
 *	8  main;cudaMemcpy (the program's own, runtime linked in);<cuda>;<inject>
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

enum { MAIN_THREAD = 0, LOADER_THREAD, OTHER_THREAD, THREADS };
enum { STACKS = 9 };

struct sample {
	struct profile_writer *w;
	uint32_t app, cudart, cuda, inject, kernel;
	uint32_t processes[2];
	uint32_t threads[THREADS];
	uint32_t devices[2];
	uint32_t stacks[STACKS];
	bool simulated, early;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "sample_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct sample *s, const char *text)
{
	uint32_t id;

	check(profile_add_string(s->w, text, strlen(text), &id));
	return id;
}

static uint32_t module(struct sample *s, enum profile_module_kind kind, const char *path)
{
	struct profile_module m = {.kind = kind, .path = string(s, path)};
	uint32_t id;

	check(profile_add_module(s->w, &m, &id));
	return id;
}

static uint32_t native(struct sample *s, uint32_t module_id, uint64_t address, const char *name)
{
	struct profile_location l = {
		.kind = module_id == s->kernel ? FRAME_KERNEL : FRAME_USER,
		.module = module_id,
		.address = address,
	};
	uint32_t id;

	check(profile_add_location(s->w, &l, &id));
	if (name)
		check(profile_add_symbol(s->w, id, string(s, name), 0, 0, 0));
	return id;
}

static uint32_t named(struct sample *s, enum profile_frame_kind kind, const char *name,
	const char *file, uint32_t line)
{
	struct profile_location l = {.kind = kind, .name = string(s, name), .line = line};
	uint32_t id;

	if (file)
		l.file = string(s, file);
	check(profile_add_location(s->w, &l, &id));
	return id;
}

static uint32_t stack(struct sample *s, uint32_t parent, uint32_t location)
{
	uint32_t id;

	check(profile_add_stack_node(s->w, parent, location, &id));
	return id;
}

/* The inside of CUDA below a call, as a launch marker sees it. */
static uint32_t launch(struct sample *s, uint32_t parent, uint64_t address, const char *call)
{
	uint32_t id = stack(s, parent, native(s, s->cudart, address, call));

	id = stack(s, id, native(s, s->cuda, 0x9000, NULL));
	return stack(s, id, native(s, s->inject, 0x40, "xpuprof_launch_marker"));
}

static void add_stacks(struct sample *s)
{
	uint32_t root = stack(s, 0, native(s, s->app, 0x1000, "main"));
	uint32_t train = stack(s, 0, named(s, FRAME_PYTHON, "train", "/home/u/train.py", 12));
	uint32_t note = stack(s, 0, named(s, FRAME_NOTE, "[incomplete]", NULL, 0)), id;

	s->stacks[1] = stack(s, root, native(s, s->app, 0x1100, "solve"));
	s->stacks[2] = stack(s, s->stacks[1], native(s, s->app, 0x1180, "_ZN4math4stepEi"));
	s->stacks[3] = launch(s, s->stacks[2], 0x500, "cudaLaunchKernel");
	id = stack(s, train, named(s, FRAME_PYTHON, "forward", "/home/u/train.py", 30));
	s->stacks[4] = launch(s, id, 0x600, "cudaGraphLaunch");
	id = stack(s, train, named(s, FRAME_PYTHON, "capture", "/home/u/train.py", 20));
	s->stacks[5] = launch(s, id, 0x500, "cudaLaunchKernel");
	id = stack(s, root, native(s, s->app, 0x1234, NULL));
	s->stacks[6] = stack(s, id, native(s, s->kernel, 0xffffffff81000010, "do_syscall_64"));
	s->stacks[7] = stack(s, note, native(s, s->app, 0x1300, "<[u8; 4] as Hash>::hash"));
	id = stack(s, root, native(s, s->app, 0x1400, "cudaMemcpy"));
	id = stack(s, id, native(s, s->cuda, 0x9100, NULL));
	s->stacks[8] = stack(s, id, native(s, s->inject, 0x40, "xpuprof_launch_marker"));
}

static void add_tasks(struct sample *s)
{
	struct profile_process first = {.pid = 100, .start_ns = 500, .comm = string(s, "my app")};
	struct profile_process second = {.pid = 200, .start_ns = 600, .comm = string(s, "python3")};
	struct profile_thread t;

	check(profile_add_process(s->w, &first, &s->processes[0]));
	check(profile_add_process(s->w, &second, &s->processes[1]));
	t = (struct profile_thread){s->processes[0], 100, string(s, "my app")};
	check(profile_add_thread(s->w, &t, &s->threads[MAIN_THREAD]));
	t = (struct profile_thread){s->processes[0], 101, string(s, "loader;1")};
	check(profile_add_thread(s->w, &t, &s->threads[LOADER_THREAD]));
	t = (struct profile_thread){s->processes[1], 200, string(s, "python3")};
	check(profile_add_thread(s->w, &t, &s->threads[OTHER_THREAD]));
}

static void add_devices(struct sample *s)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_device d = {
			.uuid = {(uint8_t)(i + 1)},
			.ordinal = i,
			.name = string(s, s->simulated ? "Simulated GPU" : "Example GPU"),
			.sm_count = 100,
			.memory_bytes = 1ull << 30,
		};

		check(profile_add_device(s->w, &d, &s->devices[i]));
	}
}

static uint32_t kernel_op(struct sample *s, unsigned int process, unsigned int device,
	uint32_t stream, const char *name)
{
	struct profile_op op = {
		.kind = OP_KERNEL,
		.process = s->processes[process],
		.device = s->devices[device],
		.context = 1,
		.stream = stream,
		.name = string(s, name),
		.grid = {128, 2, 1},
		.block = {256, 1, 1},
		.registers = 32,
		.shared_static_bytes = 1024,
	};
	uint32_t id;

	check(profile_add_op(s->w, &op, &id));
	return id;
}

static uint32_t memory_op(struct sample *s, enum profile_op_kind kind, uint32_t stream)
{
	struct profile_op op = {
		.kind = kind,
		.process = s->processes[0],
		.device = s->devices[0],
		.context = 1,
		.stream = stream,
		.target_memory = MEMORY_DEVICE,
	};
	uint32_t id;

	if (kind == OP_COPY) {
		op.copy_kind = COPY_HTOD;
		op.source_memory = MEMORY_PINNED;
	}
	check(profile_add_op(s->w, &op, &id));
	return id;
}

static void sample(struct sample *s, uint64_t time_ns, unsigned int thread,
	unsigned int stack_number, uint64_t period_ns)
{
	struct profile_sample e = {
		.time_ns = time_ns,
		.period_ns = period_ns,
		.thread = s->threads[thread],
		.stack = s->stacks[stack_number],
		.cpu = 3,
	};

	check(profile_write_sample(s->w, &e));
}

static void call(struct sample *s, uint32_t correlation, uint64_t start_ns, unsigned int thread,
	unsigned int stack_number, enum profile_call_kind kind, const char *api)
{
	struct profile_call e = {
		.start_ns = start_ns,
		.duration_ns = 2500,
		.thread = s->threads[thread],
		.stack = s->stacks[stack_number],
		.api = string(s, api),
		.kind = kind,
		.instance = 1,
		.correlation = correlation,
	};

	check(profile_write_call(s->w, &e));
}

static struct profile_work work(struct sample *s, uint32_t correlation, uint64_t start_ns,
	uint64_t duration_ns, uint32_t op)
{
	return (struct profile_work){
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.op = op,
		.thread = s->threads[MAIN_THREAD],
		.instance = 1,
		.correlation = correlation,
	};
}

static void write_samples(struct sample *s)
{
	sample(s, 1000000, MAIN_THREAD, 1, 10000000);
	sample(s, 2000000, MAIN_THREAD, 1, 10000000);
	sample(s, 3000000, MAIN_THREAD, 2, 10000000);
	sample(s, 4000000, LOADER_THREAD, 6, 5000400);
	sample(s, 5000000, LOADER_THREAD, 7, 5000400);
	sample(s, 6000000, OTHER_THREAD, 5, 200);
}

static void write_works(struct sample *s)
{
	uint32_t launch_api = string(s, "cudaLaunchKernel"),
		 graph_api = string(s, "cudaGraphLaunch");
	uint32_t copy_api = string(s, "cudaMemcpy");
	struct profile_work e;

	call(s, 1, 7000000, MAIN_THREAD, 3, CALL_LAUNCH, "cudaLaunchKernel");
	e = work(s, 1, 7010000, 1234567, kernel_op(s, 0, 0, 7, "_Z4gemmPfS_i"));
	e.stack = s->stacks[3];
	e.api = launch_api;
	check(profile_write_work(s->w, &e));
	e = work(s, 2, 7500000, 900, kernel_op(s, 0, 1, 8, "_Z4gemmPfS_i"));
	e.stack = s->stacks[3];
	e.api = s->early ? 0 : launch_api;
	check(profile_write_work(s->w, &e));
	call(s, 3, 8300000, MAIN_THREAD, 8, CALL_COPY, "cudaMemcpy");
	e = work(s, 3, 8310000, 50000, memory_op(s, OP_COPY, 7));
	e.stack = s->stacks[8];
	e.api = copy_api;
	e.bytes = 4096;
	check(profile_write_work(s->w, &e));
	e = work(s, 4, 8400000, 1000, memory_op(s, OP_SET, 7));
	e.join = JOIN_NO_LAUNCH;
	e.bytes = 64;
	check(profile_write_work(s->w, &e));
	call(s, 5, 9000000, OTHER_THREAD, 4, CALL_GRAPH, "cudaGraphLaunch");
	e = work(s, 5, 9010000, 30000, kernel_op(s, 1, 0, 9, "softmax"));
	e.thread = s->threads[OTHER_THREAD];
	e.stack = s->stacks[4];
	e.node_stack = s->stacks[5];
	e.api = graph_api;
	e.graph_node = 77;
	check(profile_write_work(s->w, &e));
	/* At the same time on the same stream: another branch of the graph. */
	e.start_ns = 9020000;
	e.graph_node = 78;
	check(profile_write_work(s->w, &e));
}

static void write_pending(struct sample *s)
{
	struct profile_pending e = {
		.start_ns = 9500000,
		.thread = s->threads[MAIN_THREAD],
		.stack = s->stacks[3],
		.api = string(s, "cudaLaunchKernel"),
		.instance = 1,
		.correlation = 6,
		.reason = PENDING_UNFINISHED,
	};

	check(profile_write_pending(s->w, &e));
	e.correlation = 7;
	e.reason = PENDING_FAILED;
	check(profile_write_pending(s->w, &e));
	e.correlation = 8;
	e.reason = PENDING_CAPTURED;
	check(profile_write_pending(s->w, &e));
}

static void begin(struct sample *s)
{
	s->app = module(s, MODULE_FILE, "/opt/app");
	s->cudart = module(s, MODULE_FILE, "/usr/lib/libcudart.so.12");
	s->cuda = module(s, MODULE_FILE, "/usr/lib/libcuda.so.1");
	s->inject = module(s, MODULE_FILE, "/usr/lib/xpuprof/libxpuprof-inject.so");
	s->kernel = module(s, MODULE_KERNEL, "[kernel]");
	add_tasks(s);
	add_devices(s);
	add_stacks(s);
	check(profile_set_meta(s->w, META_COMMAND, "python3 train.py --fast <now>"));
	check(profile_set_meta(s->w, META_START_NS, "500"));
	check(profile_set_meta(s->w, META_END_NS, "10000500"));
	if (s->simulated)
		check(profile_set_meta(s->w, META_SIMULATED, "1"));
}

static void write_small(struct sample *s)
{
	begin(s);
	write_samples(s);
	write_works(s);
	write_pending(s);
	check(profile_count_loss(s->w, LOSS_SAMPLES_RING_FULL, 3));
}

static void write_hostile(struct sample *s)
{
	static const char *const names[] = {
		"</script><script>document.title='taken'</script>",
		"]]></metadata><script>document.title='taken'</script>",
		"\"}],\"x\":[{\"&quot;&#60;",
		"a\nb\tc\x01 d;e 5",
		"\xff\xfe\xc0\x80 invalid",
		"\xe2\x80\xae gnp.exe",
		"",
	};

	begin(s);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t id = stack(s, 0, named(s, FRAME_PYTHON, names[i], NULL, 0));
		struct profile_work e = work(s, (uint32_t)i + 1, 1000000 * (i + 1), 500000,
			kernel_op(s, 0, 0, 7, names[i]));

		s->stacks[0] = id;
		sample(s, 1000000 * (i + 1), MAIN_THREAD, 0, 1000000);
		call(s, (uint32_t)i + 1, 1000000 * (i + 1), MAIN_THREAD, 0, CALL_LAUNCH, names[i]);
		e.stack = id;
		e.api = string(s, names[i]);
		check(profile_write_work(s->w, &e));
	}
	check(profile_set_meta(
		s->w, META_COMMAND, "]]></script><script>document.title='taken'</script>\x02"));
}

/* Stacks as they are recorded from Python programs: native frames and Python's in their true
 * order. */
struct python {
	struct sample *s;
	uint32_t python, libc, torch, server;
	uint32_t at;	  /* the leaf of the stack that is being made */
	uint64_t address; /* of the latest native frame */
};

static void enter(struct python *p, uint32_t module_id, const char *name)
{
	p->at = stack(p->s, p->at, native(p->s, module_id, p->address += 16, name));
}

static void enter_python(struct python *p, const char *function, const char *file, uint32_t line)
{
	p->at = stack(p->s, p->at, named(p->s, FRAME_PYTHON, function, file, line));
}

static void start_interpreter(struct python *p)
{
	p->at = 0;
	p->address = 0x1000; /* the same places every time */
	enter(p, p->python, "_start");
	enter(p, p->libc, NULL);
	enter(p, p->python, NULL);
	enter(p, p->python, "Py_BytesMain");
}

static void run_training(struct python *p, uint32_t line)
{
	start_interpreter(p);
	enter(p, p->python, "PyEval_EvalCode");
	enter(p, p->python, "_PyEval_EvalFrameDefault");
	enter_python(p, "<module>", "/home/u/train.py", 40);
	enter_python(p, "main", "/home/u/train.py", line);
	enter(p, p->python, "PyObject_Vectorcall");
	enter(p, p->torch, "_ZN2at2mmEv");
	enter(p, p->python, "PyObject_Call");
	enter(p, p->python, "_PyEval_EvalFrameDefault");
	enter_python(p, "Function.backward",
		"/usr/local/lib/python3.11/site-packages/torch/autograd/function.py", 289);
	enter(p, p->python, "cfunction_call");
	enter(p, p->torch, "_ZN2at6launchEv");
}

static void launch_from(struct python *p, uint32_t correlation, uint64_t duration_ns)
{
	struct sample *s = p->s;
	struct profile_work e;

	s->stacks[0] = launch(s, p->at, 0x500, "cudaLaunchKernel");
	call(s, correlation, correlation * 1000000, OTHER_THREAD, 0, CALL_LAUNCH,
		"cudaLaunchKernel");
	e = work(s, correlation, correlation * 1000000 + 5000, duration_ns,
		kernel_op(s, 1, 0, 7, "_Z4gemmPfS_i"));
	e.thread = s->threads[OTHER_THREAD];
	e.stack = s->stacks[0];
	e.api = string(s, "cudaLaunchKernel");
	check(profile_write_work(s->w, &e));
}

static void sample_here(struct python *p, uint64_t time_ns, uint64_t period_ns)
{
	p->s->stacks[0] = p->at;
	sample(p->s, time_ns, OTHER_THREAD, 0, period_ns);
}

static void run_thread(struct python *p, const char *file)
{
	p->at = 0;
	p->address = 0x2000;
	enter(p, p->libc, "clone3");
	enter(p, p->libc, "start_thread");
	enter(p, p->python, NULL);
	enter(p, p->python, "_PyEval_EvalFrameDefault");
	enter_python(p, "Thread._bootstrap", "/usr/lib/python3.11/threading.py", 995);
	enter_python(p, "load", file, 7);
	enter(p, p->python, "PyObject_Malloc");
	enter(p, p->libc, "memcpy");
}

static void run_server(struct python *p)
{
	p->at = 0;
	p->address = 0x3000;
	enter(p, p->server, "_start");
	enter(p, p->libc, NULL);
	enter(p, p->server, "main");
	enter(p, p->server, "_ZN6Server3runEv");
	enter(p, p->server, "PyRun_StringFlags");
	enter(p, p->server, "_PyEval_EvalFrameDefault");
	enter_python(p, "<module>", "<string>", 1);
}

static void write_python(struct sample *s)
{
	struct profile_module interpreter = {.kind = MODULE_FILE, .flags = MODULE_PYTHON};
	struct python p = {.s = s};

	begin(s);
	p.libc = module(s, MODULE_FILE, "/lib/libc.so.6");
	p.torch = module(s, MODULE_FILE, "/opt/torch/lib/libtorch_cuda.so");
	interpreter.path = string(s, "/usr/bin/python3.11");
	check(profile_add_module(s->w, &interpreter, &p.python));
	interpreter.path = string(s, "/opt/server");
	check(profile_add_module(s->w, &interpreter, &p.server));
	run_training(&p, 30);
	launch_from(&p, 1, 3000000);
	sample_here(&p, 1000000, 2000000);
	run_training(&p, 31);
	launch_from(&p, 2, 1000000);
	run_thread(&p, "/home/u/a/util.py");
	sample_here(&p, 2000000, 1000000);
	run_thread(&p, "/home/u/b/util.py");
	sample_here(&p, 3000000, 1000000);
	run_server(&p);
	sample_here(&p, 4000000, 500000);
	/* Before there is a Python frame the interpreter is all there is to see. */
	start_interpreter(&p);
	p.address += 0x100;
	enter(&p, p.python, "Py_InitializeFromConfig");
	sample_here(&p, 5000000, 250000);
	p.at = stack(
		s, 0, named(s, FRAME_NOTE, "[incomplete stack: no unwind information]", NULL, 0));
	enter(&p, p.python, "_PyEval_EvalFrameDefault");
	enter_python(&p, "step", "/home/u/train.py", 12);
	sample_here(&p, 6000000, 125000);
}

/* 1,000 stacks of 20 frames, 50 kernels: what a training loop looks like. */
static void write_pairs(struct sample *s, unsigned long count)
{
	uint32_t stacks[1000], ops[50], root = s->stacks[1], api;
	char name[64];

	for (unsigned int i = 0; i < 1000; i++) {
		uint32_t at = root;

		for (unsigned int depth = 0; depth < 16; depth++) {
			uint64_t address = 0x100000 + depth * 0x1000 + i % (1u << depth);

			snprintf(name, sizeof(name), "layer_%u_function_%u", depth,
				i % (1u << depth));
			at = stack(s, at, native(s, s->app, address, name));
		}
		stacks[i] = launch(s, at, 0x500, "cudaLaunchKernel");
	}
	for (unsigned int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "_Z12kernel_no_%02uPfS_i", i);
		ops[i] = kernel_op(s, 0, 0, 7 + i % 4, name);
	}
	api = string(s, "cudaLaunchKernel");
	for (unsigned long i = 0; i < count; i++) {
		uint32_t id = (uint32_t)i + 1;
		struct profile_work e =
			work(s, id, 1000000 + i * 5000 + 3000, 1000 + i % 3000, ops[i % 50]);

		s->stacks[0] = e.stack = stacks[i * 7 % 1000];
		e.api = api;
		e.launch_ns = 1000000 + i * 5000;
		call(s, id, 1000000 + i * 5000, MAIN_THREAD, 0, CALL_LAUNCH, "cudaLaunchKernel");
		check(profile_write_work(s->w, &e));
	}
}

int main(int argc, char **argv)
{
	struct sample s = {0};
	const char *what = argc > 1 ? argv[1] : "";

	if (argc < 3 || (!strcmp(what, "pairs") && argc != 4)) {
		fprintf(stderr, "usage: sample_profile WHAT FILE [N]\n");
		return 2;
	}
	check(profile_writer_open(&s.w, argv[2]));
	s.simulated = !strcmp(what, "simulated");
	s.early = !strcmp(what, "early");
	if (!strcmp(what, "hostile")) {
		write_hostile(&s);
	} else if (!strcmp(what, "pairs")) {
		begin(&s);
		write_pairs(&s, strtoul(argv[3], NULL, 10));
	} else if (!strcmp(what, "python")) {
		write_python(&s);
	} else if (!strcmp(what, "empty")) {
		begin(&s);
	} else {
		write_small(&s);
	}
	if (!strcmp(what, "unfinished")) {
		check(profile_writer_flush(s.w));
		profile_writer_abort(s.w);
		return 0;
	}
	check(profile_writer_close(s.w));
	return 0;
}
