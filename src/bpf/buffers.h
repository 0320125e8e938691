/* SPDX-License-Identifier: MIT */
/*
 * Where stacks are built, and how one is walked.
 *
 * Records are built in a buffer and handed to a ring in one call of the size they have. The launch
 * program runs in the context of the launching thread. There it can be preempted by another thread
 * that runs it on the same CPU, so its buffer belongs to the thread (task storage), and one look-up
 * finds buffer and pid. Kernels before 2021 (commit a10787e6d58c) have no such storage. On them,
 * and up to commit 8c7dcb84e3b7 of 2022, uprobe programs run with preemption off, so a buffer of
 * the CPU is safe. The sampler runs in interrupt context and the program at each switch with
 * interrupts off, once at a time on each CPU: each has its own buffer of the CPU.
 */
#pragma once

#include "bpf/stack.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_buffer);
} thread_buffers SEC(".maps");

/* Those that belong to a CPU: to its sampler and, without task storage, to its launches. */
enum { SAMPLE_BUFFER, LAUNCH_BUFFER, WAIT_BUFFER, CPU_BUFFERS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_BUFFERS);
	__type(key, uint32_t);
	__type(value, struct stack_buffer);
} cpu_buffers SEC(".maps");

/* The same for the Python side. */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct python_buffer);
} thread_pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_BUFFERS);
	__type(key, uint32_t);
	__type(value, struct python_buffer);
} cpu_pythons SEC(".maps");

/* One step each, verified once; see walker.h. Where there is task storage functions may take
 * pointers. */

__noinline int step_native(struct stack_buffer *b)
{
	return b && native_steps(b);
}

__noinline int step_python(struct python_buffer *p)
{
	return p && python_step(p);
}

__noinline int step_cpu_native(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b && native_steps(b);
}

__noinline int step_cpu_python(uint32_t buffer)
{
	struct python_buffer *p = bpf_map_lookup_elem(&cpu_pythons, &buffer);

	return p && python_step(p);
}

static __always_inline struct python_buffer *find_python_buffer(uint32_t buffer)
{
	if (buffer == CPU_BUFFERS)
		return bpf_task_storage_get(&thread_pythons, bpf_get_current_task_btf(), NULL,
			BPF_LOCAL_STORAGE_GET_F_CREATE);
	return bpf_map_lookup_elem(&cpu_pythons, &buffer);
}

/* Walks Python's frames; NULL when the process is not known to run Python. */
static __always_inline struct python_buffer *walk_python_frames(
	uint32_t pid, uint64_t sp, uint32_t buffer)
{
	const struct walk_python *interpreter = bpf_map_lookup_elem(&pythons, &pid);
	struct python_buffer *p = interpreter ? find_python_buffer(buffer) : NULL;

	if (p && python_begin(p, pid, sp, interpreter))
		for (int i = 0; i < WALK_PYTHON_STEPS_MAX; i++)
			if (!(buffer == CPU_BUFFERS ? step_python(p) : step_cpu_python(buffer)))
				break;
	return p;
}

/* Walks the stack that begins with the walker's registers. `buffer`: which one of the CPU's b is,
 * or CPU_BUFFERS. Returns what walk_python_frames returns. */
static __always_inline struct python_buffer *walk_user_stack(
	struct stack_buffer *b, uint32_t buffer)
{
	struct python_buffer *p = walk_python_frames(b->pid, b->walker.walk.sp, buffer);

	native_begin(b, p);
	for (int i = 0; i < WALK_FRAMES_MAX; i++)
		if (!(buffer == CPU_BUFFERS ? step_native(b) : step_cpu_native(buffer)))
			break;
	walker_finish(&b->walker);
	return p;
}
