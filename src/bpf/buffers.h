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

#include "bpf/python_code.h"
#include "bpf/raw.h"

#define SAMPLE_RING_BYTES (4 << 20)
#define LAUNCH_RING_BYTES (8 << 20)
#define WAIT_RING_BYTES	  (8 << 20)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLE_RING_BYTES);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LAUNCH_RING_BYTES);
} launches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAIT_RING_BYTES);
} waits SEC(".maps");

/* A turn adds one native frame at least, or PYTHON_STEPS. */
#define TURNS	  64
#define TURNS_MAX (WALK_FOLLOWED_MAX + WALK_PYTHON_STEPS_MAX / PYTHON_STEPS)

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

static __always_inline struct destination destination_of(
	const struct stack_buffer *b, const uint32_t buffer)
{
	const struct record *r = &b->record;

	if (buffer == SAMPLE_BUFFER)
		return (struct destination){
			&samples, SAMPLE_RING_BYTES, &r->sample, sizeof(r->sample)};
	if (buffer == WAIT_BUFFER)
		return (struct destination){&waits, WAIT_RING_BYTES, &r->wait, sizeof(r->wait)};
	return (struct destination){&launches, LAUNCH_RING_BYTES, &r->launch, sizeof(r->launch)};
}

/* Sends what was found so far of a deep stack: false when there is no room, which ends the walk. */
static __always_inline bool send_part(
	struct stack_buffer *b, struct python_buffer *p, struct destination to)
{
	uint64_t bytes = finish_part(b, p) * sizeof(uint64_t);

	b->part_lost = bpf_ringbuf_output(to.ring, (void *)to.head, to.head_size + bytes,
			       BPF_RB_NO_WAKEUP) != 0;
	part_is_sent(b, p);
	return !b->part_lost;
}

/* What is sent in front of a record. */
enum more { MORE_PART, MORE_RAW, MORE_CODE };

/* Sends one of these, the i-th of the latter two: false when there is none, or no room. */
static __always_inline bool send_more(struct stack_buffer *b, struct python_buffer *p,
	const uint32_t buffer, uint32_t what, uint32_t i)
{
	const struct destination to = destination_of(b, buffer);

	if (what == MORE_RAW)
		return send_piece(b, to, i);
	if (what == MORE_CODE)
		return p && send_code(b, p, to, i);
	return send_part(b, p, to);
}

static __always_inline bool send_more_of_cpu(const uint32_t buffer, uint32_t what, uint32_t i)
{
	uint32_t key = buffer; /* a map that is not there must not seem to be used */
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &key);
	struct python_buffer *p = NULL;

	if (b && b->has_python)
		p = bpf_map_lookup_elem(&cpu_pythons, &key);
	return b && send_more(b, p, buffer, what, i);
}

/*
 * The turns of the walks, and many turns: functions that the verifier looks into once each
 * (walker.h). Where there is task storage functions may take pointers. Which rings there are
 * depends on what is recorded, so a function that names one is for one kind of record.
 */

__noinline int thread_native_turn(struct stack_buffer *b)
{
	return b ? take_native_turn(b) : TURN_END;
}

__noinline int thread_guess_turn(struct stack_buffer *b)
{
	return b ? take_guess_turn(b) : TURN_END;
}

__noinline int thread_python_turn(struct stack_buffer *b, struct python_buffer *p)
{
	return b && p ? take_python_turn(b, p) : TURN_END;
}

__noinline int thread_more(
	struct stack_buffer *b, struct python_buffer *p, uint32_t what, uint32_t i)
{
	return b && send_more(b, p, CPU_BUFFERS, what, i);
}

__noinline int cpu_native_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b ? take_native_turn(b) : TURN_END;
}

__noinline int cpu_guess_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b ? take_guess_turn(b) : TURN_END;
}

__noinline int cpu_python_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	struct python_buffer *p = bpf_map_lookup_elem(&cpu_pythons, &buffer);

	return b && p ? take_python_turn(b, p) : TURN_END;
}

__noinline int sample_more(uint32_t what, uint32_t i)
{
	return send_more_of_cpu(SAMPLE_BUFFER, what, i);
}

__noinline int launch_more(uint32_t what, uint32_t i)
{
	return send_more_of_cpu(LAUNCH_BUFFER, what, i);
}

__noinline int wait_more(uint32_t what, uint32_t i)
{
	return send_more_of_cpu(WAIT_BUFFER, what, i);
}

/* 0: the walk is done. */
#define TAKE_TURNS(b, native, guess, python, part)                                                 \
	({                                                                                         \
		int go_on_ = (b) != NULL;                                                          \
                                                                                                   \
		for (int i_ = 0; i_ < TURNS && go_on_; i_++) {                                     \
			go_on_ = (b)->guessing ? (guess) : (b)->python_turn ? (python) : (native); \
			if (go_on_ == TURN_PART)                                                   \
				go_on_ = (part);                                                   \
		}                                                                                  \
		go_on_;                                                                            \
	})

__noinline int thread_turns(struct stack_buffer *b, struct python_buffer *p)
{
	return TAKE_TURNS(b, thread_native_turn(b), thread_guess_turn(b), thread_python_turn(b, p),
		thread_more(b, p, MORE_PART, 0));
}

#define TAKE_CPU_TURNS(buffer, part)                                                               \
	({                                                                                         \
		uint32_t buffer_ = (buffer);                                                       \
		struct stack_buffer *b_ = bpf_map_lookup_elem(&cpu_buffers, &buffer_);             \
                                                                                                   \
		TAKE_TURNS(b_, cpu_native_turn(buffer), cpu_guess_turn(buffer),                    \
			cpu_python_turn(buffer), part);                                            \
	})

__noinline int sample_turns(void)
{
	return TAKE_CPU_TURNS(SAMPLE_BUFFER, sample_more(MORE_PART, 0));
}

__noinline int launch_turns(void)
{
	return TAKE_CPU_TURNS(LAUNCH_BUFFER, launch_more(MORE_PART, 0));
}

__noinline int wait_turns(void)
{
	return TAKE_CPU_TURNS(WAIT_BUFFER, wait_more(MORE_PART, 0));
}

static __always_inline bool take_turns(
	struct stack_buffer *b, struct python_buffer *p, uint32_t buffer)
{
	switch (buffer) {
	case SAMPLE_BUFFER:
		return sample_turns();
	case LAUNCH_BUFFER:
		return launch_turns();
	case WAIT_BUFFER:
		return wait_turns();
	default:
		return thread_turns(b, p);
	}
}

static __always_inline bool take_more(struct stack_buffer *b, struct python_buffer *p,
	const uint32_t buffer, enum more what, uint32_t i)
{
	switch (buffer) {
	case SAMPLE_BUFFER:
		return sample_more(what, i);
	case LAUNCH_BUFFER:
		return launch_more(what, i);
	case WAIT_BUFFER:
		return wait_more(what, i);
	default:
		return thread_more(b, p, what, i);
	}
}

/* Sends copies of the code objects that are new in a stack. */
static __always_inline void send_codes(
	struct stack_buffer *b, struct python_buffer *p, const uint32_t buffer)
{
	for (uint32_t i = 0; i < NEW_CODES; i++)
		if (i >= p->new_count || !take_more(b, p, buffer, MORE_CODE, i))
			break;
}

/* Sends raw material if the stack is worth it, in front of a record that has so many words; how
 * many it has then. */
static __always_inline uint64_t add_raw(struct stack_buffer *b, struct python_buffer *p,
	const uint32_t buffer, uint64_t words, uint64_t now_ns)
{
	const struct destination to = destination_of(b, buffer);

	if (!wants_raw(b, to.ring, to.ring_bytes, now_ns))
		return words;
	b->raw_end = end_of_stack((struct task_struct *)bpf_get_current_task(), b->walker.start.sp);
	for (uint32_t i = 0; i < RAW_PIECES; i++)
		if (!take_more(b, p, buffer, MORE_RAW, i))
			break;
	return finish_raw(b, p, words);
}

static __always_inline struct python_buffer *find_python_buffer(const uint32_t buffer)
{
	uint32_t key = buffer;

	if (buffer == CPU_BUFFERS)
		return bpf_task_storage_get(&thread_pythons, bpf_get_current_task_btf(), NULL,
			BPF_LOCAL_STORAGE_GET_F_CREATE);
	return bpf_map_lookup_elem(&cpu_pythons, &key);
}

/* Walks the stack that begins with the walker's registers. `buffer`: which one of the CPU's b is,
 * or CPU_BUFFERS. Returns the Python side; NULL when the process is not known to run Python. */
static __always_inline struct python_buffer *walk_user_stack(
	struct stack_buffer *b, uint32_t buffer)
{
	const struct walk_python *interpreter = bpf_map_lookup_elem(&pythons, &b->pid);
	struct python_buffer *p = interpreter ? find_python_buffer(buffer) : NULL;
	bool runs_python = p && python_begin(p, b->pid, b->walker.walk.sp, interpreter);

	walk_begin(b, runs_python ? p : NULL);
	for (int i = 0; i < TURNS_MAX / TURNS; i++)
		if (!take_turns(b, runs_python ? p : NULL, buffer))
			break;
	walker_finish(&b->walker);
	if (runs_python && p->new_count)
		send_codes(b, p, buffer);
	return p;
}
