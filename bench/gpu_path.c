// SPDX-License-Identifier: MIT
/*
 * What a launch costs in our own code, without CUDA: the callbacks on the launch path, the
 * conversion of activity records in the library's thread, and the recorder's reading of the ring.
 * Prints a table: the median of the runs, the fastest and the slowest, in nanoseconds.
 *
 * A launch is a runtime call with a driver call inside, so four callbacks. "stack by number" means
 * that the launch path reads the chain of frame pointers and finds it among the stacks the recorder
 * knows; "marker" that it calls the marker, without a probe on it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/nvidia/instance.h"
#include "inject/calls.h"
#include "inject/library.h"
#include "inject/marker.h"
#include "inject/stacks.h"

#define RUNS	21
#define BATCH	20000
#define SLOTS	65536u
#define RECORDS 1000

static struct cupti_kernel records[RECORDS];
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

/* A stack of some depth, as programs have it. */
static __attribute__((noinline)) void launches_from(int depth)
{
	if (depth) {
		launches_from(depth - 1);
		__asm__ volatile(""); /* no tail call */
		return;
	}
	for (int n = 0; n < BATCH; n++)
		launch();
	__asm__ volatile("");
}

static void measure_launches(const char *name, int depth)
{
	struct figure f;

	for (int run = 0; run < RUNS; run++) {
		uint64_t begin_ns = now_ns();

		launches_from(depth);
		f.ns[run] = (double)(now_ns() - begin_ns) / BATCH;
		empty_ring();
	}
	print_figure(name, &f);
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

static int take_launch(void *context, const struct gpu_launch *e)
{
	return 0;
}

static int take_call(void *context, const struct gpu_call *e)
{
	return 0;
}

static int take_work(void *context, const struct gpu_work *e)
{
	return 0;
}

static int take_node(void *context, const struct gpu_node *e)
{
	return 0;
}

static int take_end(void *context, uint32_t instance)
{
	return 0;
}

/* Half calls, half work, through the recorder's side up to the sink. */
static void measure_reading(struct instance *i)
{
	struct figure f;
	bool busy;

	for (int run = 0; run < RUNS; run++) {
		uint64_t taken_ns = 0, taken = 0;

		while (taken < 1000000) {
			uint64_t begin_ns;

			launches_from(0);
			for (int n = 0; n < 20; n++)
				convert_buffer((uint8_t *)records, sizeof(records));
			begin_ns = now_ns();
			instance_snapshot(i, false);
			if (instance_drain(i, &busy) || i->phase != INSTANCE_LIVE)
				exit(1);
			taken_ns += now_ns() - begin_ns;
			taken += 2 * BATCH;
		}
		f.ns[run] = (double)taken_ns / (double)taken;
	}
	print_figure("ring record to event, recorder", &f);
}

static struct instance *make_instance(struct nvidia_session *s)
{
	struct instance *i;

	*s = (struct nvidia_session){.sink = {.launch = take_launch,
					     .call = take_call,
					     .work = take_work,
					     .node = take_node,
					     .instance_end = take_end}};
	if (profile_writer_open(&s->writer, "/dev/null") || tasks_new(&s->tasks, s->writer) ||
		instance_open(&i, s, -1, (uint32_t)getpid()) ||
		tasks_process(s->tasks, i->pid, &i->process))
		exit(1);
	i->slots = SLOTS;
	i->memory = library.ring.control;
	i->phase = INSTANCE_LIVE;
	i->echo_ns = now_ns();
	ring_reader_init(&i->reader, i->memory, SLOTS);
	return i;
}

static void make_library(void)
{
	void *memory = mmap(NULL, ring_bytes(SLOTS), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	library.guard = calloc(1, sizeof(*library.guard));
	if (memory == MAP_FAILED || !library.guard || tables_init() || stacks_init())
		exit(1);
	library.guard->alive = library.guard->recording = 1;
	library.ring = ring_at(memory, SLOTS);
	library.ring.control->slots = SLOTS;
	library.cupti.ActivityGetNextRecord = next_record;
}

int main(void)
{
	struct nvidia_session session;

	make_library();
	make_records();
	printf("%-52s %8s %8s %8s\n", "ns", "median", "fastest", "slowest");
	measure_reading(make_instance(&session));
	empty_ring();
	measure_conversion();
	measure_launches("launch: callbacks and call record", 0);
	library.marker = xpuprof_launch_marker_nop5;
	measure_launches("launch: the same and marker, 25 frames", 20);
	stacks_answer();
	memset(library.ring.control->known_stacks, 0xff,
		sizeof(library.ring.control->known_stacks));
	measure_launches("launch: the same and stack by number, 25 frames", 20);
	return 0;
}
