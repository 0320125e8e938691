// SPDX-License-Identifier: MIT
/* Decodes records of the kernel's rings. Every field is checked before it is used. */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* The size of the parts of a stack, in bytes; SIZE_MAX: the record makes no sense. */
static size_t stack_size(const struct bpf_stack *s)
{
	size_t words = (size_t)s->user_depth + s->kernel_depth + s->entry_count;

	if (s->user_depth > WALK_FRAMES_MAX || s->kernel_depth > BPF_KERNEL_DEPTH_MAX ||
		s->python_depth > WALK_PYTHON_FRAMES_MAX ||
		s->entry_count > WALK_PYTHON_ENTRIES_MAX || s->walk_end >= WALK_ENDS ||
		(s->more ? s->kernel_depth : s->raw_size))
		return SIZE_MAX;
	if (s->raw_size && (s->raw_size < sizeof(struct bpf_raw_stack) || s->raw_size % 8))
		return SIZE_MAX;
	return words * sizeof(uint64_t) + s->python_depth * sizeof(struct walk_python_frame) +
	       s->raw_size;
}

/* Finds the parts of the stack behind the head of a record; false: they are not there. */
static bool find_stack(
	const struct bpf_stack *s, const void *parts, size_t size, struct raw_stack *ret)
{
	const uint64_t *words = parts;

	if (stack_size(s) > size)
		return false;
	*ret = (struct raw_stack){.walk_end = s->walk_end,
		.python_incomplete = s->python_incomplete,
		.space = s->space,
		.user = words,
		.user_depth = s->user_depth,
		.kernel_depth = s->kernel_depth,
		.python_depth = s->python_depth,
		.entry_count = s->entry_count};
	ret->kernel = ret->user + s->user_depth;
	ret->python = (const struct walk_python_frame *)(ret->kernel + s->kernel_depth);
	ret->entries = (const uint64_t *)(ret->python + s->python_depth);
	if (s->raw_size) {
		ret->start = (const struct bpf_raw_stack *)(ret->entries + s->entry_count);
		ret->memory = (const uint8_t *)(ret->start + 1);
		ret->memory_size = s->raw_size - sizeof(*ret->start);
	}
	return true;
}

/* Puts the stack together that this may be the last record of. 1: it is whole; 0: it is not yet, or
 * never will be, which is counted; or -errno. */
static int join_parts(struct capture *c, enum parts_ring ring, uint32_t tid,
	const struct bpf_stack *s, enum profile_loss loss, struct raw_stack *raw)
{
	int error = s->more ? stack_parts_add(c->parts, ring, tid, s, raw)
			    : stack_parts_join(c->parts, ring, tid, s, raw);

	if (error == -EPROTO)
		return profile_count_loss(c->w, loss, !s->more);
	return error ? error_memory("stacks") : !s->more;
}

/* A code object that a stack has, whose record follows. */
static int take_code(struct capture *c, uint32_t pid, const void *code, size_t size)
{
	struct process *process = processes_find(c->processes, pid);
	struct walk_python_code copy;
	int error;

	if (size < sizeof(copy) || !process)
		return 0;
	memcpy(&copy, code, sizeof(copy));
	error = python_names_offer(process, &copy);
	return error ? error_memory("names of Python code") : 0;
}

/* Until its exec the program's process runs the recorder's own code. Records and changes come in
 * the order of time. */
static bool is_ignored(const struct capture *c, uint32_t pid)
{
	return c->ignored && pid == c->ignored;
}

int records_handle_sample(struct capture *c, const void *record, size_t size)
{
	const struct bpf_sample_event *e = record;
	struct profile_sample sample;
	char comm[BPF_COMM_SIZE + 1] = {0};
	struct raw_stack raw;
	int whole, error;

	if (size < sizeof(*e) || !find_stack(&e->stack, e + 1, size - sizeof(*e), &raw))
		return profile_count_loss(c->w, LOSS_SAMPLES_INVALID, 1);
	if (is_ignored(c, e->pid))
		return 0;
	if (e->stack.code_size)
		return take_code(c, e->pid, e + 1, size - sizeof(*e));
	whole = join_parts(c, PARTS_SAMPLES, e->tid, &e->stack, LOSS_SAMPLES_INVALID, &raw);
	if (whole <= 0)
		return whole;
	sample = (struct profile_sample){
		.time_ns = e->time_ns, .period_ns = e->period_ns, .cpu = e->cpu};
	memcpy(comm, e->comm, sizeof(e->comm));
	error = tasks_thread(c->tasks, e->pid, e->tid, comm, &sample.thread);
	return error ?: capture_add_sample(c, e->pid, &raw, &sample);
}

/* The arguments of the marker come from the profiled program, which may call it with anything. */
static bool is_plausible(const struct bpf_launch_event *e)
{
	return e->instance && e->observed <= BPF_CALL_PROBED &&
	       (e->observed || (e->call_kind && e->call_kind < CALL_KINDS));
}

int records_handle_launch(struct capture *c, const void *record, size_t size)
{
	const struct bpf_launch_event *e = record;
	struct gpu_launch launch;
	struct raw_stack raw;
	int whole, error;

	if (size >= sizeof(*e) && e->observed == BPF_CALL_FACTS && c->drivers)
		return driver_probes_facts(c->drivers, record, size);
	if (size < sizeof(*e) || !find_stack(&e->stack, e + 1, size - sizeof(*e), &raw))
		return profile_count_loss(c->w, LOSS_STACKS_INVALID, 1);
	if (!is_plausible(e))
		return profile_count_loss(c->w, LOSS_GPU_INVALID, !e->stack.more);
	if (e->stack.code_size)
		return take_code(c, e->pid, e + 1, size - sizeof(*e));
	whole = join_parts(c, PARTS_LAUNCHES, e->tid, &e->stack, LOSS_STACKS_INVALID, &raw);
	if (whole <= 0)
		return whole;
	launch = (struct gpu_launch){.instance = e->instance,
		.correlation = e->correlation,
		.time_ns = e->time_ns,
		.pid = e->pid,
		.kind = (enum profile_call_kind)e->call_kind};
	raw.launch = true;
	error = tasks_thread(c->tasks, e->pid, e->tid, NULL, &launch.thread);
	error = error ?: capture_intern(c, e->pid, &raw, &launch.stack, &launch.incomplete);
	c->launch_stacks++;
	if (!error && e->observed == BPF_CALL_PROBED && c->drivers)
		return driver_probes_stack(
			c->drivers, e, launch.thread, launch.stack, launch.incomplete);
	if (!error && e->observed)
		return profile_count_incomplete(c->w, launch.incomplete)
			       ?: capture_add_observed(c, e, launch.thread, launch.stack);
	return error ?: c->launches.launch(c->launches.context, &launch);
}

/* ------------------------------------------------------------------ waits */

/* Finds the stack of a wait that begins; false: the record makes no sense. */
static bool find_wait_stack(
	const struct bpf_wait_begin_event *e, size_t size, struct raw_stack *ret)
{
	return size >= sizeof(*e) && (e->reason || e->stack.more) && e->reason < WAIT_REASONS &&
	       find_stack(&e->stack, e + 1, size - sizeof(*e), ret);
}

static int handle_wait_begin(struct capture *c, const struct bpf_wait_begin_event *e, size_t size)
{
	struct wait_begin begin;
	struct raw_stack raw;
	char comm[BPF_COMM_SIZE + 1] = {0};
	int whole, error;

	if (!find_wait_stack(e, size, &raw))
		return profile_count_loss(c->w, LOSS_WAITS_INVALID, 1);
	if (is_ignored(c, e->pid))
		return 0;
	if (e->stack.code_size)
		return take_code(c, e->pid, e + 1, size - sizeof(*e));
	whole = join_parts(c, PARTS_WAITS, e->tid, &e->stack, LOSS_WAITS_INVALID, &raw);
	if (whole <= 0)
		return whole;
	memcpy(comm, e->comm, sizeof(e->comm));
	begin = (struct wait_begin){.start_ns = e->time_ns,
		.reason = (enum profile_wait_reason)e->reason,
		.site = e->site};
	error = tasks_thread(c->tasks, e->pid, e->tid, comm, &begin.thread);
	return error ?: capture_begin_wait(c, e->pid, e->tid, &raw, &begin);
}

static int handle_asleep(struct capture *c, const struct bpf_asleep_event *e, size_t size)
{
	const size_t head = offsetof(struct bpf_asleep_event, kernel);

	if (size < head || !e->reason || e->reason >= WAIT_REASONS || e->walk_end >= WALK_ENDS ||
		e->kernel_depth > BPF_KERNEL_DEPTH_MAX ||
		e->kernel_depth > (size - head) / sizeof(*e->kernel))
		return profile_count_loss(c->w, LOSS_WAITS_INVALID, 1);
	return is_ignored(c, e->pid) ? 0 : capture_add_asleep(c, e);
}

int records_handle_wait(struct capture *c, const void *record, size_t size)
{
	const struct bpf_wait_event *end = record;
	const struct bpf_life_event *life = record;
	const struct bpf_asleep_event *asleep = record;

	if (size >= sizeof(*end) && end->kind == BPF_WAIT_END)
		return is_ignored(c, end->pid) ? 0 : waits_end(c->waits, end);
	if (size >= sizeof(*life) && life->kind == BPF_WAIT_LIFE)
		return is_ignored(c, life->pid) ? 0 : waits_life(c->waits, life);
	if (size >= sizeof(*end) && asleep->kind == BPF_WAIT_ASLEEP)
		return handle_asleep(c, asleep, size);
	return handle_wait_begin(c, record, size);
}
