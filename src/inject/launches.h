/* SPDX-License-Identifier: MIT */
/*
 * Calls of the API in the program's threads, from their begin to their end: what an API's callbacks do at each that
 * it follows, whichever API it is.
 *
 * An API may call back for a call inside a call, with the same correlation id. Only the outermost counts. A thread
 * keeps the few calls it is in:
 *
 *	outer call begins, id 7     not among the open ones  -> call_open, call_report_stack
 *	  inner call begins, id 7   open already             -> nothing
 *	  inner call ends, id 7     not the one that was opened -> nothing
 *	outer call ends, id 7       it is                    -> call_close, call_report
 *
 * A call that never returns (longjmp, an exception, a thread that ends) leaves an open entry
 * behind. Ids do not come again, so it harms nothing, and it goes when its place is needed.
 *
 * All of this happens at every launch. There are no allocations, no locks and no system calls but
 * the thread's first gettid, and a bounded wait while launches are held; hence also functions that the compiler
 * can put into the API's callback. The thread-local part is small because it must fit into the space that the loader
 * keeps for libraries that come late.
 */
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "inject/library.h"
#include "inject/stacks.h"

#define OPEN_CALLS 3

/* As GPU_CALL_* of the recorder's profile/gpu_events.h. */
enum {
	CALL_CAPTURED = 1 << 0,
	CALL_EMPTY = 1 << 1,
	CALL_UNMARKED = 1 << 2,
};

/* Where a call waits, records an event or launches a graph, by the API's numbers. */
struct call_place {
	uint32_t context; /* the stream's own, where there is one; 0: not known */
	uint32_t stream;  /* 0: none, or not known */
};

struct open_call {
	uint64_t start_ns;
	uint32_t correlation;
	uint16_t call; /* the API's number of it */
	uint16_t flags; /* CALL_* */
	struct call_place place;
};

struct launching_thread {
	uint32_t tid;
	uint16_t depth;
	uint16_t holds; /* it holds launches: its own, which the API may make, are not held */
	struct open_call calls[OPEN_CALLS];
};

extern __thread struct launching_thread launching;

/* What a thread of the program's is to find again as it was. */
struct undisturbed {
	int cancel_state;
	int error; /* errno */
};

/* Around what may wait in the program's thread: nothing of ours, the API's or the driver's is to stay locked because
 * the program cancels the thread. */
void begin_slow(struct undisturbed *ret);
void end_slow(const struct undisturbed *u);

/*
 * Threads that come to launch wait for a moment, but not for long, until launches_release; those that are launching
 * have mostly left when it returns. For the program's own threads, several at a time, around what the API cannot do
 * while another thread launches.
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

/* Where a call begins: false when it is inside another, or is not to be recorded. */
static inline bool call_is_new(uint32_t correlation)
{
	for (int i = 0; i < launching.depth; i++)
		if (launching.calls[i].correlation == correlation)
			return false;
	if (launches_are_held() && !launching.holds)
		launches_wait();
	return is_recording();
}

/* Its time, and what more the API says of it, are still to be filled in. */
static inline struct open_call *call_open(uint32_t correlation, uint16_t call)
{
	struct open_call *open;

	if (launching.depth == OPEN_CALLS) {
		memmove(launching.calls, launching.calls + 1,
			sizeof(launching.calls) - sizeof(launching.calls[0]));
		launching.depth--;
	}
	open = &launching.calls[launching.depth++];
	open->correlation = correlation;
	open->call = call;
	open->flags = library.marker || library.walk ? 0 : CALL_UNMARKED;
	open->place = (struct call_place){0};
	return open;
}

/* The innermost call that the thread is in; NULL: none. */
static inline struct open_call *call_inside(void)
{
	return launching.depth ? &launching.calls[launching.depth - 1] : NULL;
}

/* Where a call ends: what was opened, valid until the thread opens another; NULL: that was another call. */
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

/* Reports the stack that leads to the callback with this frame. The library walks it when it can; else the marker fires,
 * and the probe there takes the stack. */
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

	if (library.walk && stacks_tell(frame, &record))
		return;
	if (library.marker)
		library.marker(library.instance, open->correlation, kind);
	__asm__ volatile(
		""); /* no jump in place of the call: the marker's stack begins where ours does */
}

/* The record of a call that has just ended, with the API's own number and result of it; what it waited for is still to
 * be filled in. */
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
