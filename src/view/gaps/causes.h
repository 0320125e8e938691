/* SPDX-License-Identifier: MIT */
/*
 * The likely cause of one gap in GPU work.
 *
 *	work of the device   |===|          |==||=====|      |===|
 *	gaps                     |----------|          |-----|
 *	the launching thread     ..lock....  launch             ^ the call for this came before: queued
 *
 * The cause is looked for in the thread that launched the next piece of work. What counts is what
 * the thread did in the time in which it should have launched: from the begin of the gap, less the
 * time that launches take (latency), to the launch. The first of these that holds is the cause:
 *
 *	unknown		the recording does not have when, or by which thread, the next work was launched
 *	queued		it was launched early enough: the GPU itself took so long to begin
 *	input		for at least half of the time the thread waited: for a lock, I/O, events, time, a page, a process. If a thread
 *			that launches GPU work as well ended the wait, what that one did counts instead (if nobody was seen
 *			to end a wait for a lock: the other thread of the process that launched work last)
 *	CPU		for at least half of the time it could have run, and had no CPU
 *	synchronization	it was in a call that waits for the GPU when the queue ran dry (or for at least half of the time), and launched
 *			the next work within 50 us outside of that call, or within as long as the call took
 *	launch rate	it was in API calls for at least half of the time
 *	input		its CPU samples are mostly of code that loads data (samples.c lists it)
 *	Python		they are of Python code; or of native code that Python functions called which the launch is not in
 *	other CPU work	they are of native functions that the launch is not in
 *	launch rate	else: it ran, in native code and API calls, from one launch to the next
 *
 * Up to 1 ms of native code (outside API calls) is launch rate, whatever it is of. A launch takes
 * some 10 us: a thread that takes longer than 1 ms does something else. Samples come 100 times a
 * second, so a longer gap may have none: then other gaps of its site explain it (sites.h).
 *
 * A synchronizing call also costs the lead that the thread had: it could have launched that much
 * earlier. So the gaps after the first are synchronization, too, until work is queued again.
 * Together they are no longer than the call: a program with tiny kernels would be short of launches
 * without the call as well.
 *
 * In a recording without waits a thread may have waited, unseen, where it has no CPU samples. If a
 * gap is so long that four samples were due, its cause is unknown.
 */
#pragma once

#include "view/gaps/samples.h"

/* Launches that take longer to begin have something before them. */
#define GAP_LATENCY_MAX_NS 20000
/* A thread that takes longer to get to its next launch does something else. */
#define GAP_LAUNCH_MAX_NS 1000000

enum gap_cause {
	GAP_UNKNOWN = 0,
	GAP_QUEUED,
	GAP_INPUT,
	GAP_CPU,
	GAP_SYNC,
	GAP_PYTHON,
	GAP_WORK,
	GAP_LAUNCH,
	GAP_CAUSES
};

struct gap {
	uint64_t start_ns, end_ns;
	uint32_t next; /* the work after it: index of events.works */
	/* that shows the cause: of the wait, the synchronizing call, the sample, the launch; 0:
	 * none */
	uint32_t stack;
	uint8_t cause;	 /* enum gap_cause */
	uint8_t samples; /* that its cause was found by (or more) */
	/* the thread ran or was not seen to wait, too long for a launch, and was not sampled */
	bool unexplained;
	bool once;
};

/* For the gaps of one device, in the order of time. */
struct gap_search {
	const struct gap_events *events;
	const struct gap_stacks *stacks;
	uint64_t latency_ns;
	/* the call in which the queue ran dry, while none was queued since; NULL: none */
	const struct gap_call *dry;
	/* how much earlier the thread could have launched without it, less the gaps since */
	uint64_t lead_ns;
};

/* From launch to begin where the GPU has nothing to do: the lower quartile of works after gaps, of
 * one device and by start; 0: there are none. */
uint64_t gap_latency(const struct gap_work *works, size_t count);
/* Whether a gap may need to be explained by what threads did: not if it is short, and the next work
 * was launched in time. */
bool gap_needs_threads(uint64_t start_ns, const struct gap_work *next, uint64_t latency_ns);
/* Sets stack and cause. `before` is the last other thread of the process that launched work; 0:
 * none. */
void gap_find_cause(struct gap_search *s, uint32_t before, struct gap *gap);
/* Work began without a gap. */
void gap_search_queued(struct gap_search *s);

/* "input", ..., and what it means in a few words; never NULL. */
const char *gap_cause_name(unsigned int cause);
const char *gap_cause_text(unsigned int cause);
