/* SPDX-License-Identifier: MIT */
/*
 * What an API of GPUs does for the library: it reports calls, in the program's threads
 * (launches.h), and finished work, from our thread (library.h). Nothing else in the library depends
 * on which API it is.
 *
 * Each API is loaded in its own way. So each has an entry point of its own, in its folder, which
 * calls inject_begin with its table: cupti/cupti.c for CUDA, opencl/opencl.c for OpenCL. A program
 * may use several: the first one connects to the recorder, the others join it (apis.h).
 *
 * An API includes what is in this folder, never the other way round.
 */
#pragma once

#include <stdbool.h>

#include "wire/wire.h"

/* What an API reports, where not everything is (bursts.h). */
enum inject_follow {
	FOLLOW_NOTHING = 0,
	FOLLOW_CALLS, /* it calls back */
	FOLLOW_WORK,  /* so too, and it records the work that is asked for */
};

/* Functions that are marked so may be NULL: there is nothing to do. */
struct inject_api {
	bool can_join;	/* programs that run already can be recorded */
	bool only_says; /* it reports no calls */
	/* In the program's first call, where there is no recorder and the library is to sleep: what
	 * has to be made ready then for one that comes later, if that is wanted. */
	void (*arm)(void); /* NULL */
	/* In the thread that called inject_begin. Finds the API's library, subscribes to it and
	 * makes it report work: WIRE_REASON_NONE, or why not. */
	enum wire_reason (*start)(void);
	/* In the same thread, when stacks can be walked: from now on calls are reported, too.
	 * Under library.overhead both do nothing but find out whether that is possible. */
	enum wire_reason (*follow_calls)(void);
	/* Our thread, under library.overhead: from now on this is reported. */
	void (*follow)(enum inject_follow what); /* NULL */

	/* Our thread, every round: what the API has to do now and then. */
	void (*tick)(void); /* NULL */
	/* Our thread: how long it may sleep until it is to do a round, so long at most. NULL. */
	uint64_t (*sleep_ns)(uint64_t most_ns);
	/* Our thread, when it is time: asks for work that is finished. */
	void (*flush)(void); /* NULL */
	/* Our thread: sends what the API has handed over. */
	void (*drain)(void);

	/*
	 * The end, in our thread. The process ends: finish. The program goes on without us: stop,
	 * finish, leave. It goes on, and nobody is left to send to: stop, discard, leave.
	 */
	/* nothing new is reported: is_recording becomes false */
	void (*stop)(void);
	void (*finish)(bool program_goes_on); /* sends all work, finished or not */
	void (*discard)(void);		      /* drops it */
	/* between finish and leave: takes the API's tracer out of the program, if it is safe */
	enum wire_finalized (*finalize)(void); /* NULL */
	/* the API is free for others; also where follow_calls has failed */
	void (*leave)(void);
	/* Our thread in a program that was joined, before that: false if the API has to go on
	 * calling back so far. */
	bool (*let_go)(void); /* NULL */
	/* Our thread in a program that was joined, when no callback runs any more: gives back
	 * memory. False: the API may still call us. NULL: it cannot be joined. */
	bool (*release)(void);

	/* In a forked child, where the library is dead: lets go of what would keep others
	 * waiting. */
	void (*forget)(void); /* NULL */
};

/* Once for each API in a process: connects to the recorder, if there is one and that was not done,
 * and starts the API. On failure it stays quiet. False: it is not recorded. */
bool inject_begin(const struct inject_api *api);

/* The same for an API that only says something, in a program that the library stays in: not now,
 * but with the next one that begins, or when the program ends. The latest counts; NULL: none. */
void inject_begin_later(const struct inject_api *api);

/* The same as inject_begin in a program that runs, in a thread of ours, with a socket whose other
 * end the recorder has: all of a recording. Returns when it is over: 0 if nothing of the library is
 * in use any more, so that it can be unloaded; else it has to stay, dead. */
int inject_join(const struct inject_api *api, int socket);
