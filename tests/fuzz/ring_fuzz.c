// SPDX-License-Identifier: MIT
/*
 * The recorder's side of a shared ring against a library that does anything at all with the memory.
 * The input is a list of steps: well-formed records with any contents, pokes anywhere, holes,
 * drains, and code that takes the place of other code.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/injected/instance.h"
#include "gpu/nvidia/tracer.h"

#define SLOTS	  WIRE_MIN_SLOTS
#define RUNS_EACH 512 /* with one profile; its tables would else grow for ever */

enum step { STEP_RECORD, STEP_POKE, STEP_HOLE, STEP_DRAIN, STEP_CODE, STEPS };

struct input {
	const uint8_t *at;
	size_t left;
};

static struct gpu_shared shared;
static struct injected session;
static unsigned int runs;

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
	if (e->end_ns < e->start_ns)
		abort();
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

/* All of the frames are there, whatever is in them. */
static int take_stack(
	void *context, const struct walked_stack *s, uint32_t *ret_stack, uint32_t *ret_incomplete)
{
	uint64_t sum = 0;

	if (s->user_depth > WALK_FRAMES_MAX || s->python_depth > WALK_PYTHON_FRAMES_MAX ||
		s->walk_end >= WALK_ENDS)
		abort();
	for (uint32_t n = 0; n < s->user_depth; n++)
		sum += s->user[n];
	for (uint32_t n = 0; n < s->python_depth; n++)
		sum += s->python[n].code ^ s->python[n].at;
	*ret_stack = (uint32_t)sum;
	*ret_incomplete = 0;
	return 0;
}

static void open_session(void)
{
	shared = (struct gpu_shared){.events = {.launch = take_launch,
					     .call = take_call,
					     .work = take_work,
					     .node = take_node,
					     .instance_end = take_end}};
	session = (struct injected){.apis = injected_apis,
		.shared = &shared,
		.options.stacks.resolve = take_stack,
		.deadline_ns = UINT64_MAX};
	for (uint32_t n = 0; n < WIRE_APIS; n++) {
		session.call_names[n] = calloc(injected_apis[n]->call_count, sizeof(uint32_t));
		if (!session.call_names[n])
			abort();
	}
	if (profile_writer_open(&shared.writer, "/dev/null") ||
		tasks_new(&shared.tasks, shared.writer))
		abort();
}

static void close_session(void)
{
	tasks_free(shared.tasks);
	profile_writer_abort(shared.writer);
	buf_release(&session.tracer_lines);
	buf_release(&session.refusal_lines);
	buf_release(&session.contest_lines);
	buf_release(&session.ended_lines);
	buf_release(&session.held_lines);
	buf_release(&session.late_lines);
	map_release(&session.connected);
	map_release(&session.failures);
	map_release(&session.stop_times);
	map_release(&session.by_number);
	for (uint32_t n = 0; n < WIRE_APIS; n++)
		free(session.call_names[n]);
}

/* An instance as it is after the welcome. */
static struct instance *open_instance(void)
{
	struct instance *i;

	if (instance_open(&i, &session, -1, (uint32_t)getpid()))
		abort();
	i->slots = SLOTS;
	i->memory = mmap(
		NULL, ring_bytes(SLOTS), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (i->memory == MAP_FAILED || tasks_process(shared.tasks, i->pid, &i->process))
		abort();
	ring_reader_init(&i->reader, i->memory, SLOTS);
	i->number = 1;
	i->phase = INSTANCE_LIVE;
	return i;
}

static uint64_t take(struct input *in, size_t size)
{
	uint64_t value = 0;

	if (size > in->left)
		size = in->left;
	memcpy(&value, in->at, size);
	in->at += size;
	in->left -= size;
	return value;
}

static void drain(struct instance *i, bool force)
{
	bool busy;

	instance_snapshot(i, force);
	if (instance_drain(i, &busy))
		abort(); /* nothing of ours is short, so nothing may fail */
}

static void do_step(struct instance *i, struct input *in)
{
	struct ring ring = ring_at(i->memory, SLOTS);
	struct code_change change = {.pid = i->pid, .replaced = true};
	uint64_t position, offset, size;

	switch (take(in, 1) % STEPS) {
	case STEP_RECORD:
		size = take(in, 2);
		if (size > in->left)
			size = in->left;
		ring_put_long(&ring, in->at, size, NULL, 0);
		in->at += size;
		in->left -= size;
		break;
	case STEP_POKE:
		offset = take(in, 3) % (ring_bytes(SLOTS) - 8);
		position = take(in, 8);
		memcpy((char *)i->memory + offset, &position, 8);
		break;
	case STEP_HOLE:
		ring_reserve(&ring, take(in, 1) % 8 + 1, &position);
		break;
	case STEP_DRAIN:
		drain(i, false);
		break;
	case STEP_CODE:
		change.time_ns = clock_now_ns();
		instance_code_mapped(i, &change);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct instance *i;

	if (runs++ % RUNS_EACH == 0) {
		if (shared.writer)
			close_session();
		open_session();
	}
	i = open_instance();
	while (in.left && i->phase == INSTANCE_LIVE)
		do_step(i, &in);
	drain(i, true);
	instance_free(i);
	return 0;
}
