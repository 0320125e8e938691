// SPDX-License-Identifier: MIT
/*
 * What a launch costs in our own code, without CUDA: the callbacks on the launch path, the walk of
 * the stack in them, the conversion of activity records in the library's thread, and the recorder's
 * reading of the ring. Prints a table: the median of the runs, the fastest and the slowest, in
 * nanoseconds.
 *
 * A launch is a runtime call with a driver call inside, so four callbacks. "marker" means that the
 * launch path calls the marker, without a probe on it. "stack" means that it walks its own stack,
 * by the unwind tables of the files that are mapped here, and sends it: whole the first time, later
 * by number. "Cold" means that no rule of its frames was met before.
 *
 * Python's frames are made up, in the layout of 3.13: a loop for every frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/injected/instance.h"
#include "gpu/nvidia/tracer.h"
#include "vendor/nvidia/calls.h"
#include "inject/cupti/cupti.h"
#include "inject/library.h"
#include "wire/marker.h"
#include "inject/stacks.h"
#include "fake_python.h"
#include "inprocess.h"

#define RUNS	21
#define BATCH	20000
#define FIRSTS	100 /* all that are measured have room in the library */
#define RECORDS 1000
#define APART	1000 /* launches, */
/* and what the program uses between two: more than the second cache holds */
#define OTHERS_BYTES (2 << 20)

static struct cupti_kernel records[RECORDS];
static struct inprocess in;
static uint32_t correlation;

struct figure {
	double ns[RUNS];
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_figure(const char *name, struct figure *f)
{
	qsort(f->ns, RUNS, sizeof(f->ns[0]), compare);
	printf("%-52s %8.1f %8.1f %8.1f\n", name, f->ns[RUNS / 2], f->ns[0], f->ns[RUNS - 1]);
}

/* As if the recorder had read everything. */
static void empty_ring(void)
{
	library.ring.control->tail = library.ring.control->head;
}

static __attribute__((noinline)) void launch(void)
{
	int32_t result = 0;
	struct cupti_callback_data d = {.correlation_id = ++correlation, .return_value = &result};

	on_callback(NULL, CUPTI_DOMAIN_RUNTIME, 211, &d);
	on_callback(NULL, CUPTI_DOMAIN_DRIVER, 307, &d);
	d.site = CUPTI_SITE_EXIT;
	on_callback(NULL, CUPTI_DOMAIN_DRIVER, 307, &d);
	on_callback(NULL, CUPTI_DOMAIN_RUNTIME, 211, &d);
}

/* ---- Python ---- */

static __attribute__((noinline)) void call_from_python(int depth, void (*call)(void))
{
	static const uint64_t code[32];
	struct python_frame entry = {.owner = PYTHON_ENTRY, .previous = python_thread.frame},
			    frame = {.code = code, .at = code, .previous = &entry};

	python_thread.frame = &frame;
	if (depth > 1)
		call_from_python(depth - 1, call);
	else
		call();
	python_thread.frame = entry.previous;
}

/* ---- the launch path ---- */

/* So many return addresses above the caller of the library, in a stack of some depth. */
static __attribute__((noinline)) void call_from(int depth, void (*call)(void))
{
	if (depth) {
		call_from(depth - 1, call);
		__asm__ volatile(""); /* no tail call */
		return;
	}
	call();
	__asm__ volatile("");
}

static void launch_a_batch(void)
{
	for (int n = 0; n < BATCH; n++)
		launch();
}

static void measure_launches(const char *name, int depth)
{
	struct figure f;

	for (int run = 0; run < RUNS; run++) {
		uint64_t begin_ns = now_ns();

		call_from(depth, launch_a_batch);
		f.ns[run] = (double)(now_ns() - begin_ns) / BATCH;
		empty_ring();
	}
	print_figure(name, &f);
}

static __attribute__((noinline)) bool send_launch(void)
{
	struct wire_launch record = {.type = WIRE_LAUNCH, .kind = WIRE_CALL_LAUNCH};

	return stacks_send(__builtin_frame_address(0), &record);
}

static void must_send(void)
{
	if (!send_launch())
		exit(1);
}

static void send_a_batch(void)
{
	for (int n = 0; n < BATCH; n++)
		must_send();
}

static uint64_t firsts_ns;
static bool is_cold;

/* In a new epoch every stack is a new one. */
static void send_firsts(void)
{
	must_send();
	firsts_ns = 0;
	for (int n = 0; n < FIRSTS; n++) {
		uint64_t begin_ns;

		library.ring.control->code_epoch++;
		if (is_cold)
			inprocess_send_space(&in);
		begin_ns = now_ns();
		must_send();
		firsts_ns += now_ns() - begin_ns;
		empty_ring();
	}
}

static uint64_t apart_ns;

/* As in a program that works between its launches, with memory of its own. */
static void send_apart(void)
{
	static volatile char others[OTHERS_BYTES];

	apart_ns = 0;
	for (int n = 0; n < APART; n++) {
		uint64_t begin_ns;

		for (size_t i = 0; i < OTHERS_BYTES; i += 64)
			others[i]++;
		begin_ns = now_ns();
		must_send();
		apart_ns += now_ns() - begin_ns;
	}
}

static void measure_apart(const char *name, void (*from)(int depth, void (*call)(void)), int depth)
{
	char line[80];
	struct figure f;

	for (int run = 0; run < RUNS; run++) {
		from(depth, send_apart);
		f.ns[run] = (double)apart_ns / APART;
		empty_ring();
	}
	snprintf(line, sizeof(line), "stack of %s: again, caches used by others", name);
	print_figure(line, &f);
}

static void measure_stacks(const char *name, void (*from)(int depth, void (*call)(void)), int depth,
	bool first, bool cold)
{
	char line[80];
	struct figure f;

	is_cold = cold;
	for (int run = 0; run < RUNS; run++) {
		uint64_t begin_ns = now_ns();

		from(depth, first ? send_firsts : send_a_batch);
		f.ns[run] =
			first ? (double)firsts_ns / FIRSTS : (double)(now_ns() - begin_ns) / BATCH;
		empty_ring();
	}
	snprintf(line, sizeof(line), "stack of %s%s", name,
		first ? cold ? ": the first time, cold" : ": the first time" : ": again");
	print_figure(line, &f);
}

static int next_record(uint8_t *buffer, size_t valid_size, struct cupti_record **record)
{
	struct cupti_kernel *k =
		*record ? (struct cupti_kernel *)*record + 1 : (struct cupti_kernel *)buffer;

	if ((uint8_t *)k >= buffer + valid_size)
		return CUPTI_MAX_LIMIT_REACHED;
	*record = (struct cupti_record *)k;
	return CUPTI_OK;
}

/* Fifty kernels in four shapes. */
static void make_records(void)
{
	static char names[50][200];
	uint64_t now = now_ns();

	for (int n = 0; n < RECORDS; n++) {
		struct cupti_kernel *k = &records[n];

		snprintf(names[n % 50], sizeof(names[0]),
			"_ZN2at6native29vectorized_elementwise_kernelILi%dENS0_"
			"11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
			"_ZN7cutlass6KernelI%d",
			n % 50, n % 50);
		k->kind = CUPTI_KIND_CONCURRENT_KERNEL;
		k->start = now + (uint64_t)n;
		k->end = now + (uint64_t)n + 1;
		k->name = names[n % 50];
		k->grid[0] = 1 + n % 4;
		k->correlation = (uint32_t)n;
	}
}

static void measure_conversion(void)
{
	struct figure f;

	for (int run = 0; run < RUNS; run++) {
		uint64_t begin_ns = now_ns();

		for (int n = 0; n < 20; n++)
			convert_buffer((uint8_t *)records, sizeof(records));
		f.ns[run] = (double)(now_ns() - begin_ns) / (20.0 * RECORDS);
		empty_ring();
	}
	print_figure("activity record to ring record, library's thread", &f);
}

static int drop_launch(void *context, const struct gpu_launch *e)
{
	return 0;
}

static int drop_call(void *context, const struct gpu_call *e)
{
	return 0;
}

static int drop_work(void *context, const struct gpu_work *e)
{
	return 0;
}

static int drop_node(void *context, const struct gpu_node *e)
{
	return 0;
}

static int drop_end(void *context, uint32_t instance)
{
	return 0;
}

/* Half calls, half work, through the recorder's side up to the events' receiver. */
static void measure_reading(struct instance *i)
{
	struct figure f;
	bool busy;

	for (int run = 0; run < RUNS; run++) {
		uint64_t read_ns = 0, read = 0;

		while (read < 1000000) {
			uint64_t begin_ns;

			launch_a_batch();
			for (int n = 0; n < 20; n++)
				convert_buffer((uint8_t *)records, sizeof(records));
			/* nobody answers here, and a busy machine takes its time */
			i->echo_ns = now_ns();
			begin_ns = now_ns();
			instance_snapshot(i, false);
			if (instance_drain(i, &busy) || i->phase != INSTANCE_LIVE)
				exit(1);
			read_ns += now_ns() - begin_ns;
			read += 2 * BATCH;
		}
		f.ns[run] = (double)read_ns / (double)read;
	}
	print_figure("ring record to event, recorder", &f);
}

/* As CUDA's library reports. */
static const struct injected_api api = {TRACER_API};
static const struct injected_api *const apis[WIRE_APIS] = {&api};

static struct instance *make_instance(struct gpu_shared *shared, struct injected *s)
{
	struct instance *i;

	*shared = (struct gpu_shared){.events = {.launch = drop_launch,
					      .call = drop_call,
					      .work = drop_work,
					      .node = drop_node,
					      .instance_end = drop_end}};
	*s = (struct injected){.apis = apis, .shared = shared};
	s->call_names[0] = calloc(TRACER_CALLS, sizeof(*s->call_names[0]));
	if (profile_writer_open(&shared->writer, "/dev/null") ||
		tasks_new(&shared->tasks, shared->writer) ||
		instance_open(&i, s, -1, (uint32_t)getpid()) ||
		tasks_process(shared->tasks, i->pid, &i->process))
		exit(1);
	i->slots = INPROCESS_SLOTS;
	i->memory = library.ring.control;
	i->phase = INSTANCE_LIVE;
	i->echo_ns = now_ns();
	ring_reader_init(&i->reader, i->memory, INPROCESS_SLOTS);
	return i;
}

static void make_library(void)
{
	if (!inprocess_begin(&in) || tables_init())
		exit(1);
	cupti.ActivityGetNextRecord = next_record;
}

static void measure_walks(const char *name, void (*from)(int depth, void (*call)(void)), int depth)
{
	measure_stacks(name, from, depth, true, true);
	measure_stacks(name, from, depth, true, false);
	measure_stacks(name, from, depth, false, false);
	measure_apart(name, from, depth);
}

int main(void)
{
	struct gpu_shared shared;
	struct injected session;

	make_library();
	make_records();
	printf("%-52s %8s %8s %8s\n", "ns", "median", "fastest", "slowest");
	library.walk = false;
	measure_reading(make_instance(&shared, &session));
	empty_ring();
	measure_conversion();
	measure_launches("launch: callbacks and call record", 0);
	library.marker = xpuprof_launch_marker_nop5;
	measure_launches("launch: the same and marker", 0);
	library.walk = true;
	measure_launches("launch: the same and stack of 30 frames instead", 24);
	measure_walks("30 frames", call_from, 24);
	measure_walks("100 frames", call_from, 94);
	if (!begin_python(&in))
		exit(1);
	measure_walks("20 native and 20 Python frames", call_from_python, 14);
	return 0;
}
