/* SPDX-License-Identifier: MIT */
/*
 * Calls of the API in the program's threads, from their begin to their end: what the callbacks of
 * any API do for each call that they follow.
 *
 * An API may call back for a call inside a call, with the same correlation id. Only the outermost
 * counts. A thread keeps the few calls it is in:
 *
 *	outer call begins, id 7     not among the open ones  -> call_open, call_report_stack
 *	  inner call begins, id 7   open already             -> nothing
 *	  inner call ends, id 7     not the one that was opened -> nothing
 *	outer call ends, id 7       it is                    -> call_close, call_report
 *
 * A call that never returns (longjmp, an exception, a thread that ends) leaves an open entry
 * behind. Ids do not come again, so it harms nothing. It is dropped when its slot is needed.
 *
 * All of this happens at every launch: no allocations, no locks, and no system calls but the
 * thread's first gettid and a bounded wait while launches are held. That is also why the functions
 * are in a header: the compiler can put them into the API's callback. The thread-local part is
 * small, because it must fit into the space that the loader keeps for libraries that are loaded
 * late.
 */
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "inject/library.h"
#include "inject/stacks.h"

#define OPEN_CALLS 3

/* The stream that a call waits for, records an event in or launches a graph into, by the API's
 * numbers. */
struct call_target {
	uint32_t context; /* the stream's own, if it has one; 0: unknown */
	uint32_t stream;  /* 0: none, or unknown */
};

/* Of an open call, beside enum wire_call_flag: it is timed (bursts.h), and nothing else. */
#define CALL_IS_TIMED (1u << 15)

struct open_call {
	uint64_t start_ns;
	uint32_t correlation;
	uint16_t call;	/* the API's number of it */
	uint16_t flags; /* enum wire_call_flag */
	struct call_target target;
};

struct launching_thread {
	uint32_t tid;
	uint16_t depth;
	uint16_t holds; /* it holds launches: its own, which the API may make, are not held */
	struct open_call calls[OPEN_CALLS];
};

extern __thread struct launching_thread launching;

/* What a thread of the program must find as it was. */
struct undisturbed {
	int cancel_state;
	int error; /* errno */
};

/* Around code that may wait in the program's thread: no lock of ours, the API's or the driver's may
 * stay locked because the program cancels the thread. */
void begin_slow(struct undisturbed *ret);
void end_slow(const struct undisturbed *u);

/*
 * Threads that begin to launch wait until launches_release, but not for long. Those that are
 * launching have mostly left when it returns. The program's own threads call it, several at a time,
 * around what the API cannot do while another thread launches.
 */
void launches_hold(void);
void launches_release(void);
/* Waits while others hold launches. */
void launches_wait(void);

static inline uint32_t launching_thread_id(void)
{
	if (!launching.tid)
		launching.tid = (uint32_t)syscall(SYS_gettid);
	return launching.tid;
}

static inline bool launches_are_held(void)
{
	return __atomic_load_n(&library.guard->held, __ATOMIC_RELAXED);
}

/* In a program that was joined, the least correlation id of a call that was reported: an API's ids
 * grow, so work with a lesser one was asked for before. 0: none was. */
extern uint32_t first_correlation;

/* The least id of a call that began when recording had stopped; 0: none has. Work with this id or a
 * greater one was asked for afterwards. */
extern uint32_t first_unrecorded;

static inline void note_least(uint32_t *noted, uint32_t correlation)
{
	uint32_t least = __atomic_load_n(noted, __ATOMIC_RELAXED);

	while ((!least || correlation < least) &&
		!__atomic_compare_exchange_n(
			noted, &least, correlation, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Our thread: whether the call that asked for work was before we came. */
static inline bool is_from_before(uint32_t correlation)
{
	uint32_t first = __atomic_load_n(&first_correlation, __ATOMIC_RELAXED);

	return library.joined && (!first || correlation < first);
}

/* Our thread: whether recording had stopped. */
static inline bool is_from_after(uint32_t correlation)
{
	uint32_t first = __atomic_load_n(&first_unrecorded, __ATOMIC_RELAXED);

	return first && correlation >= first;
}

/* When a call begins: false when it is inside another, or is not to be recorded. */
static inline bool call_is_new(uint32_t correlation)
{
	for (int i = 0; i < launching.depth; i++)
		if (launching.calls[i].correlation == correlation)
			return false;
	if (launches_are_held() && !launching.holds)
		launches_wait();
	if (__atomic_load_n(&library.guard->stopping, __ATOMIC_RELAXED))
		note_least(&first_unrecorded, correlation);
	return is_recording() || is_timing();
}

/* The caller fills in its time, and what else the API reports of it. */
static inline struct open_call *call_open(uint32_t correlation, uint16_t call)
{
	struct open_call *open;

	if (launching.depth == OPEN_CALLS) {
		memmove(launching.calls, launching.calls + 1,
			sizeof(launching.calls) - sizeof(launching.calls[0]));
		launching.depth--;
	}
	if (library.joined)
		note_least(&first_correlation, correlation);
	open = &launching.calls[launching.depth++];
	open->correlation = correlation;
	open->call = call;
	open->flags = library.marker || library.walk ? 0 : WIRE_FLAG_UNMARKED;
	open->target = (struct call_target){0};
	return open;
}

/* The innermost call that the thread is in; NULL: none. */
static inline struct open_call *call_inside(void)
{
	return launching.depth ? &launching.calls[launching.depth - 1] : NULL;
}

/* When a call ends: its entry, valid until the thread opens another; NULL: another call was
 * opened. */
static inline struct open_call *call_close(uint32_t correlation, uint16_t call)
{
	int i = launching.depth - 1;

	while (i >= 0 &&
		(launching.calls[i].correlation != correlation || launching.calls[i].call != call))
		i--;
	if (i < 0)
		return NULL;
	launching.depth = (uint16_t)i;
	return &launching.calls[i];
}

/* Reports the stack that leads to the callback with this frame. The library walks it when it can;
 * else the marker fires, and the probe there walks the stack. */
static inline void call_report_stack(
	const struct open_call *open, enum wire_call_kind kind, const void *frame)
{
	struct wire_launch record = {
		.type = WIRE_LAUNCH,
		.kind = (uint8_t)kind,
		.tid = launching_thread_id(),
		.correlation = open->correlation,
		.time_ns = open->start_ns,
	};

	if (library.walk && stacks_send(frame, &record))
		return;
	if (library.marker)
		library.marker(library.instance, open->correlation, kind);
	__asm__ volatile(
		""); /* no jump in place of the call: the marker's stack begins where ours does */
}

/* The record of a call that has just ended, with the API's own number and result of it. The caller
 * fills in what it waited for. */
static inline struct wire_call call_record(
	const struct open_call *open, enum wire_call_kind kind, uint32_t api, int32_t result)
{
	return (struct wire_call){
		.type = WIRE_CALL,
		.kind = (uint8_t)kind,
		.flags = open->flags,
		.tid = launching_thread_id(),
		.correlation = open->correlation,
		.result = result,
		.start_ns = open->start_ns,
		.end_ns = now_ns(),
		.api = api,
	};
}

static inline void call_report(const struct wire_call *record)
{
	if (!ring_put(&library.ring, record))
		count(WIRE_LOST_CALLS, 1);
}
