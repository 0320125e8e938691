/* SPDX-License-Identifier: MIT */
/*
 * Arenas: the memory of programs on a GPU, one in each context that has a module with programs.
 *
 * One thread at a time has to do with them and with the list of modules (turn.h, modules.h). What
 * it calls are copies and allocations, in streams of our own: its turn lasts for as long as these
 * take, and where a context ends two seconds at most until kernels of ours have. In each call the
 * thread's capture mode is relaxed, so that graphs that are being captured do not mind.
 */
#pragma once

#include <stdbool.h>

#include "preload/nvidia/abi.h"
#include "wire/probe.h"

struct arena {
	bool live;
	bool primary;
	bool is_registered;	      /* memory of the host that the GPU uses */
	void *maps[PROBE_SHARED_MAX]; /* arrays of the kernel's */
	uint32_t maps_registered;     /* the first of them */
	uint32_t slot;
	cu_context context;
	unsigned long long id; /* of the context; 0: this driver does not say */
	cu_device device;
	cu_stream stream;
	cu_address at; /* 0: it could not be made, and no programs run here */
	struct probe_shared *shared;
	uint64_t *tails; /* as the GPU has them */
	uint32_t off;	 /* as its modules have it */
	cu_stream alone; /* in which programs run that are kernels (alone.h) */
	bool alone_has_run;
};

/* Between these two, calls do not disturb captures, and xpuprof_probe_is_calling is true: a library
 * that records what the program asks of the GPU leaves them out. */
struct calls {
	int mode;
};

void calls_begin(struct calls *c);
void calls_end(struct calls *c);
__attribute__((visibility("default"))) bool xpuprof_probe_is_calling(void);

extern struct arena arenas[PROBE_ARENAS_MAX];

/* All below: in a turn. */

/* That of the calling thread's context, which is made where there is none so far; NULL: there is no
 * context, or no place for one more. */
struct arena *arena_here(bool *ret_is_new);
/* Copies to the GPU, and waits for the copy: a result of the driver. */
cu_result arena_copy_to(struct arena *a, cu_address to, const void *from, size_t bytes);
/* Gives the GPU the tails that have moved. Its context has to be current. */
void arena_push_tails(struct arena *a);
/* Copies the arena into the shared memory. Its context has to be current. */
void arena_read(struct arena *a, uint32_t asked);
/* Tells xpuprof. */
void arena_note_switch(struct arena *a, const struct probe_switch *s);
/* Makes its context the thread's; false: that is not possible (any more). */
bool arena_enter(struct arena *a);
void arena_leave(void);

/* The last values of one whose context is about to end; it is not live from then on. */
void arena_ends(struct arena *a);
/* Its context has ended. */
void arena_is_gone(struct arena *a);
/* All at once: the process ends. */
void arenas_end(void);
