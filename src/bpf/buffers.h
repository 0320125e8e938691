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

/* A turn adds one native frame at least, or the rule for one, or PYTHON_STEPS. The verifier goes
 * through a loop turn by turn: loops of turns are short, and within each other. */
#define TURNS	    16
#define TURNS_MANY  32
#define TURNS_MOST  40
#define TURNS_BOUND (2 * WALK_FOLLOWED_MAX + WALK_PYTHON_STEPS_MAX / PYTHON_STEPS)
#define MORE_MOST   (RAW_PIECES > NEW_CODES ? RAW_PIECES : NEW_CODES)

_Static_assert(
	(TURNS) * (TURNS_MANY) * (TURNS_MOST) >= TURNS_BOUND, "the deepest stacks are walked");

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

/* The Python side that belongs to a buffer of the CPU; NULL: it has none. */
static __always_inline struct python_buffer *python_of_cpu(
	const struct stack_buffer *b, const uint32_t buffer)
{
	uint32_t key = buffer; /* a map that is not there must not seem to be used */

	return b->has_python ? bpf_map_lookup_elem(&cpu_pythons, &key) : NULL;
}

/*
 * The turns of the walks, and many turns: functions that the verifier looks into once each
 * (walker.h). Where there is task storage functions may take pointers. Which rings there are
 * depends on what is recorded, so a function that names one is for one kind of record.
 *
 * They return long: of an int the verifier would have to see the upper half cleared each time.
 */

__noinline long thread_rule_turn(struct stack_buffer *b)
{
	if (b)
		find_rule(&b->walker);
	return b ? TURN_AGAIN : TURN_END;
}

__noinline long thread_native_turn(struct stack_buffer *b)
{
	return b ? take_native_turn(b) : TURN_END;
}

__noinline long thread_guess_turn(struct stack_buffer *b)
{
	return b ? take_guess_turn(b) : TURN_END;
}

__noinline long thread_python_turn(struct stack_buffer *b, struct python_buffer *p)
{
	return b && p ? take_python_turn(b, p) : TURN_END;
}

__noinline long cpu_rule_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	if (b)
		find_rule(&b->walker);
	return b ? TURN_AGAIN : TURN_END;
}

__noinline long cpu_native_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b ? take_native_turn(b) : TURN_END;
}

__noinline long cpu_guess_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b ? take_guess_turn(b) : TURN_END;
}

__noinline long cpu_python_turn(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	struct python_buffer *p = bpf_map_lookup_elem(&cpu_pythons, &buffer);

	return b && p ? take_python_turn(b, p) : TURN_END;
}

/* Evaluates the expression so often, or until it is 0; so is the result then. */
#define REPEAT(most, expression)                                                                   \
	({                                                                                         \
		long on_ = 1;                                                                      \
                                                                                                   \
		for (long i_ = 0; i_ < (most) && on_; i_++)                                        \
			on_ = (expression);                                                        \
		on_;                                                                               \
	})

/* 0: the walk is done. */
#define TAKE_TURNS(b, native, rule, guess, python, part)                                           \
	REPEAT(TURNS, ({                                                                           \
		long turn_ = (b)->guessing ? (guess) : (b)->python_turn ? (python) : (native);     \
                                                                                                   \
		turn_ == TURN_RULE ? (rule) : turn_ == TURN_PART ? (part) : turn_;                 \
	}))

/* Sends what goes in front of a record. */
__noinline long thread_more(
	struct stack_buffer *b, struct python_buffer *p, uint32_t what, uint32_t i)
{
	return b && send_more(b, p, CPU_BUFFERS, what, i);
}

__noinline long thread_all(struct stack_buffer *b, struct python_buffer *p, uint32_t what)
{
	uint32_t i = 0;

	return REPEAT(MORE_MOST, thread_more(b, p, what, i++));
}

__noinline long thread_turns(struct stack_buffer *b, struct python_buffer *p)
{
	return b ? TAKE_TURNS(b, thread_native_turn(b), thread_rule_turn(b), thread_guess_turn(b),
			   thread_python_turn(b, p), thread_more(b, p, MORE_PART, 0))
		 : 0;
}

__noinline long thread_many_turns(struct stack_buffer *b, struct python_buffer *p)
{
	return REPEAT(TURNS_MANY, thread_turns(b, p));
}

/* The same for a buffer of the CPU. */
#define FUNCTIONS_OF(kind, buffer)                                                                 \
	__noinline long kind##_more(uint32_t what, uint32_t i)                                     \
	{                                                                                          \
		uint32_t key = (buffer);                                                           \
		struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &key);                  \
                                                                                                   \
		return b && send_more(b, python_of_cpu(b, buffer), buffer, what, i);               \
	}                                                                                          \
                                                                                                   \
	__noinline long kind##_all(uint32_t what)                                                  \
	{                                                                                          \
		uint32_t i = 0;                                                                    \
                                                                                                   \
		return REPEAT(MORE_MOST, kind##_more(what, i++));                                  \
	}                                                                                          \
                                                                                                   \
	__noinline long kind##_turns(void)                                                         \
	{                                                                                          \
		uint32_t key = (buffer);                                                           \
		struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &key);                  \
                                                                                                   \
		return b ? TAKE_TURNS(b, cpu_native_turn(buffer), cpu_rule_turn(buffer),           \
				   cpu_guess_turn(buffer), cpu_python_turn(buffer),                \
				   kind##_more(MORE_PART, 0))                                      \
			 : 0;                                                                      \
	}                                                                                          \
                                                                                                   \
	__noinline long kind##_many_turns(void)                                                    \
	{                                                                                          \
		return REPEAT(TURNS_MANY, kind##_turns());                                         \
	}

FUNCTIONS_OF(sample, SAMPLE_BUFFER)
FUNCTIONS_OF(launch, LAUNCH_BUFFER)
FUNCTIONS_OF(wait, WAIT_BUFFER)

static __always_inline void take_turns(
	struct stack_buffer *b, struct python_buffer *p, const uint32_t buffer)
{
	switch (buffer) {
	case SAMPLE_BUFFER:
		REPEAT(TURNS_MOST, sample_many_turns());
		break;
	case LAUNCH_BUFFER:
		REPEAT(TURNS_MOST, launch_many_turns());
		break;
	case WAIT_BUFFER:
		REPEAT(TURNS_MOST, wait_many_turns());
		break;
	default:
		REPEAT(TURNS_MOST, thread_many_turns(b, p));
	}
}

/* Sends all that there is of something in front of the record. */
static __always_inline void send_all(
	struct stack_buffer *b, struct python_buffer *p, const uint32_t buffer, enum more what)
{
	switch (buffer) {
	case SAMPLE_BUFFER:
		sample_all(what);
		break;
	case LAUNCH_BUFFER:
		launch_all(what);
		break;
	case WAIT_BUFFER:
		wait_all(what);
		break;
	default:
		thread_all(b, p, what);
	}
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
	send_all(b, p, buffer, MORE_RAW);
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
	take_turns(b, runs_python ? p : NULL, buffer);
	walker_finish(&b->walker);
	if (runs_python && p->new_count)
		send_all(b, p, buffer, MORE_CODE);
	return p;
}
