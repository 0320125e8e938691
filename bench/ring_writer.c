// SPDX-License-Identifier: MIT
/*
 * Stands for a CUDA program and the injected library, to be recorded: writes launch-and-work pairs
 * into the shared ring, as fast as the recorder reads them.
 *
 *	xpuprof record --gpu-only -- ring_writer PAIRS [CPU [marker]]
 *
 * It connects as the library does, sends the stacks of STACKS paths of its own, and from then on
 * names them by number: three records a pair (launch, call, work), in batches, the work of a batch
 * behind the calls of the next. When the ring is full it waits, so nothing is ever lost, and only
 * the recorder's CPU time is left to measure. CPU: where it runs; give the recorder another. With
 * `marker` every launch fires the launch marker instead (that of $CUDA_INJECTION64_PATH, which has
 * the probe), as launches do whose stack cannot be walked in the program. Then batches come with
 * pauses, since a program cannot wait for the kernel's ring.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "vendor/nvidia/calls.h"
#include "inject/library.h"
#include "wire/marker.h"

#define STACKS	    3000
#define LEVELS	    12 /* 2^LEVELS paths */
#define DEPTH	    25
#define OPS	    300
#define FRAME_BYTES 65536 /* of a frame, at most */
#define BATCH	    1000
#define SHAPES	    65536
#define GAP_NS	    50 /* at least; twice that on average: less than a pair takes here */
#define CALL_ID	    CUDA_CALL_ID(CUDA_RUNTIME, 211) /* cudaLaunchKernel */

enum { OP_KERNEL = 1 };

typedef void (*marker_function)(uint64_t instance, uint64_t correlation, uint64_t kind);

/* What is random about a pair. */
struct shape {
	uint16_t gap_ns, call_ns, wait_ns, stack, op;
	uint32_t work_ns;
};

struct writer {
	struct ring ring;
	marker_function marker;
	bool marker_only;
	uint32_t tid;
	uint32_t correlation;
	uint64_t now_ns;
	struct shape shapes[SHAPES];
	struct wire_work late[BATCH];
	size_t late_count;
};

static void fail(const char *what)
{
	fprintf(stderr, "ring_writer: %s\n", what);
	exit(1);
}

static void wait_a_moment(void)
{
	struct timespec pause = {.tv_nsec = 100000};

	connection_hurry(&library.connection);
	nanosleep(&pause, NULL);
}

static void put(const struct writer *w, const void *record)
{
	while (!ring_put(&w->ring, record))
		wait_a_moment();
}

static void put_long(const struct writer *w, const void *head, size_t head_size, const void *body,
	size_t body_size)
{
	while (!ring_put_long(&w->ring, head, head_size, body, body_size))
		wait_a_moment();
}

static void send_operations(const struct writer *w)
{
	static const char device_name[] = "Simulated GPU of a benchmark";
	struct wire_device device = {.type = WIRE_DEVICE, .name_size = sizeof(device_name) - 1};

	put_long(w, &device, sizeof(device), device_name, device.name_size);
	for (uint32_t i = 1; i <= OPS; i++) {
		struct wire_op op = {.type = WIRE_OP,
			.kind = OP_KERNEL,
			.id = i,
			.name = i,
			.context = 1,
			.stream = 7 + i % 4,
			.grid = {i, 1, 1},
			.block = {256, 1, 1}};
		struct wire_string name = {.type = WIRE_STRING, .id = i};
		char text[64];

		name.size = (uint32_t)snprintf(
			text, sizeof(text), "_ZN2at6native18elementwise_kernelILi%uEEEvi", i);
		put_long(w, &name, sizeof(name), text, name.size);
		put_long(w, &op, sizeof(op), NULL, 0);
	}
}

static void put_call(const struct writer *w, uint64_t start_ns, uint64_t end_ns)
{
	struct wire_call call = {.type = WIRE_CALL,
		.kind = WIRE_CALL_LAUNCH,
		.tid = w->tid,
		.correlation = w->correlation,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.api = CALL_ID};

	put(w, &call);
}

static struct wire_work make_work(
	const struct writer *w, uint32_t op, uint64_t start_ns, uint64_t end_ns)
{
	return (struct wire_work){.type = WIRE_WORK,
		.kind = OP_KERNEL,
		.op = op + 1,
		.correlation = w->correlation,
		.start_ns = start_ns,
		.end_ns = end_ns};
}

/* The stack that leads here, by frame pointers, as far as they lead upwards. */
static __attribute__((noipa)) void send_stack(struct writer *w, uint32_t number)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	struct wire_stack stack = {.type = WIRE_STACK,
		.walk_end = WALK_COMPLETE,
		.number = number,
		.time_ns = now_ns()};
	uint64_t words[WALK_FRAMES_MAX];

	words[stack.user_depth++] = frame[1];
	while (*frame > (uintptr_t)frame && *frame - (uintptr_t)frame < FRAME_BYTES &&
		stack.user_depth < WALK_FRAMES_MAX) {
		frame = (const uintptr_t *)*frame;
		words[stack.user_depth++] = frame[1];
	}
	while (!words[stack.user_depth - 1])
		stack.user_depth--;
	put_long(w, &stack, sizeof(stack), words, stack.user_depth * sizeof(words[0]));
}

/* Number 0: the marker fires. */
static void send_from_here(struct writer *w, uint32_t number)
{
	if (number)
		send_stack(w, number);
	else
		w->marker(w->ring.control->instance, w->correlation, WIRE_CALL_LAUNCH);
}

/* The bits of the path choose the calls on the way: each path has a stack of its own. */
static __attribute__((noipa)) void fire_from(
	struct writer *w, uint32_t path, int level, uint32_t number)
{
	if (level == DEPTH) {
		send_from_here(w, number);
		__asm__ volatile("");
	} else if (level < LEVELS && path >> level & 1) {
		fire_from(w, path, level + 1, number);
		__asm__ volatile("nop");
	} else {
		fire_from(w, path, level + 1, number);
		__asm__ volatile("nop; nop");
	}
}

static void send_stacks(struct writer *w)
{
	for (uint32_t number = 1; number <= STACKS; number++)
		fire_from(w, number, 0, number);
}

static void put_launch(struct writer *w, const struct shape *s)
{
	struct wire_launch launch = {.type = WIRE_LAUNCH,
		.kind = WIRE_CALL_LAUNCH,
		.tid = w->tid,
		.correlation = w->correlation,
		.stack = 1u + s->stack,
		.time_ns = w->now_ns};

	if (w->marker_only)
		fire_from(w, launch.stack, 0, 0);
	else
		put(w, &launch);
}

static void put_batch(struct writer *w, const struct shape *shapes, size_t count)
{
	static struct wire_work works[BATCH];
	uint64_t now = now_ns();

	if (w->now_ns < now)
		w->now_ns = now;
	for (size_t i = 0; i < count; i++) {
		const struct shape *s = &shapes[i];
		uint64_t start_ns = w->now_ns + s->wait_ns;

		w->correlation++;
		put_launch(w, s);
		put_call(w, w->now_ns, w->now_ns + s->call_ns);
		works[i] = make_work(w, s->op, start_ns, start_ns + s->work_ns);
		w->now_ns += s->gap_ns;
	}
	for (size_t i = 0; i < w->late_count; i++)
		put(w, &w->late[i]);
	memcpy(w->late, works, count * sizeof(works[0]));
	w->late_count = count;
}

static void put_all(struct writer *w, uint64_t pairs)
{
	struct timespec pause = {.tv_nsec = 4000000};

	while (pairs) {
		size_t count = pairs < BATCH ? (size_t)pairs : BATCH;

		put_batch(w, &w->shapes[random_below(SHAPES - BATCH)], count);
		if (w->marker_only)
			nanosleep(&pause, NULL);
		pairs -= count;
	}
	for (size_t i = 0; i < w->late_count; i++)
		put(w, &w->late[i]);
}

static void draw_shapes(struct writer *w)
{
	for (int i = 0; i < SHAPES; i++)
		w->shapes[i] = (struct shape){
			.gap_ns = (uint16_t)(GAP_NS + random_below(2 * GAP_NS)),
			.call_ns = (uint16_t)(GAP_NS / 2 + random_below(GAP_NS / 2)),
			.wait_ns = (uint16_t)random_below(60000),
			.stack = (uint16_t)random_below(STACKS),
			.op = (uint16_t)random_below(OPS),
			.work_ns = 1000 + random_below(1u << (10 + random_below(10))),
		};
}

static void connect_to_recorder(struct writer *w)
{
	const char *socket = getenv(WIRE_ENV_SOCKET), *injected = getenv("CUDA_INJECTION64_PATH");
	void *memory, *handle = injected ? dlopen(injected, RTLD_NOW) : NULL;
	uint32_t slots;

	if (!socket || !handle)
		fail("this is not being recorded");
	if (connection_open(&library.connection, socket, &memory, &slots))
		fail("cannot connect to the recorder");
	w->ring = library.ring = ring_at(memory, slots);
	w->marker = (marker_function)dlsym(handle,
		w->ring.control->marker == LAUNCH_MARKER_NOP10	? "xpuprof_launch_marker_nop10"
		: w->ring.control->marker == LAUNCH_MARKER_NOP5 ? "xpuprof_launch_marker_nop5"
								: "xpuprof_launch_marker_nop1");
	if (!w->marker || w->ring.control->marker == LAUNCH_MARKER_NONE)
		fail("the recorder takes no stacks here (no rights for BPF?)");
}

static void stay_on(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(strtoul(cpu, NULL, 10), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("cannot stay on this CPU");
}

int main(int argc, char **argv)
{
	static struct writer w;
	uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	if (!pairs || argc > 4) {
		fprintf(stderr, "usage: ring_writer PAIRS [CPU [marker]]\n");
		return 2;
	}
	if (argc > 2)
		stay_on(argv[2]);
	w.marker_only = argc > 3;
	w.tid = (uint32_t)getpid();
	draw_shapes(&w);
	connect_to_recorder(&w);
	send_operations(&w);
	send_stacks(&w);
	put_all(&w, pairs);
	__atomic_store_n(&w.ring.control->state, WIRE_DONE, __ATOMIC_RELEASE);
	connection_hurry(&library.connection);
	return 0;
}
