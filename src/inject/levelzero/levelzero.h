/* SPDX-License-Identifier: MIT */
/*
 * Level Zero in the injected library: a tracer of the loader's, which calls back before and after
 * each call that is followed.
 *
 *	levelzero.c   begin and end; the tracer
 *	commands.c    commands, each described, and waits: the launch path
 *	objects.c     contexts, command lists and kernels by their handles
 *	gpus.c        devices, as they are reported; their timers
 *	pieces.c      commands whose end is awaited: the launch path, and our thread
 *	report.c      work as records: our thread
 *	code.c        images of code, and where kernels are: where they are made, and our thread
 *
 * Commands of immediate lists are reported, as they run once, and at once. The program is to see
 * nothing of this: commands without an event get one of ours, with timestamps; pools of events that
 * the program makes get timestamps, too, and its events are read before it can reset them.
 *
 * `levelzero` is constant before the first callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/device_clock.h"
#include "inject/launches.h"
#include "inject/levelzero/abi.h"
#include "inject/library.h"
#include "inject/names.h"
#include "vendor/intel/calls.h"

extern struct levelzero_functions levelzero;

/* Has the loader call these before or after a call, "CommandListCreate": false, it does not know
 * it. */
bool tracer_register(const char *name, levelzero_callback *before, levelzero_callback *after);
void commands_register(void);
void objects_register(void);
void pieces_register(void);
void code_register(void);
/* A function of the loader's; NULL: it has none of this name. */
void *loader_symbol(const char *name);

/* --- gpus.c    */

#define GPUS_MAX 64

struct device {
	void *handle;
	uint64_t hz;	     /* of its timer */
	uint64_t cycles;     /* of its timer, when it was asked last, as if it never wrapped */
	uint8_t bits;	     /* of its timer */
	uint8_t kernel_bits; /* of timestamps */
	struct device_clock clock; /* times are cycles as nanoseconds */
	bool sent;
	char name[256];
	struct wire_device record;
};

extern struct device gpus[GPUS_MAX];

/* The index of a device; -1: there are too many. Not on the launch path. */
int gpus_find(void *device);
uint64_t gpu_ns(const struct device *d, uint64_t cycles);
/* Our thread: asks it for its time, now and then. */
void gpus_ask(struct device *d);
/* The cycles of a timestamp, as if it never wrapped: the one that is nearest to when it was
 * asked. */
uint64_t gpus_unwrap(const struct device *d, uint64_t timestamp);
/* Our thread: sends it, once. */
void gpus_introduce(struct device *d);

/* --- objects.c */

struct context {
	void *handle;
	uint32_t number;  /* as work names it */
	uint64_t free;	  /* pieces with an event of ours in this context: pieces.c */
	void *pools[192]; /* so many chunks of them */
	uint32_t pool_count;
	bool gone; /* the program has destroyed it */
};

struct list {
	struct context *context; /* NULL: there is no room for the list */
	uint32_t number;
	uint16_t device; /* index */
	bool immediate;
};

struct kernel {
	struct named *name;
	uint32_t block[3];
};

int objects_init(void);
/* NULL: it is not known. */
struct list *objects_list(const void *list);
struct kernel *objects_kernel(const void *kernel);

/* The number of a context, as work names it; 0: there is no room for it. Any thread. */
uint32_t objects_context(void *context);

/* --- code.c */

/* A kernel was made, not on the launch path: where its code is will be reported, where instructions
 * are sampled. */
void code_is_made(void *module, void *kernel, const char *name);
/* Our thread: sends what was noted. False: the rest has to wait. */
bool code_send(void);

/* --- pieces.c */

/* What a command is to do. */
struct work {
	const char *name; /* of a kernel; NULL: it is none */
	uint64_t bytes;
	uint32_t grid[3], block[3];
	uint8_t kind; /* enum wire_work_kind */
};

/* A command, from its call until its work is reported. */
struct piece {
	uint32_t next; /* index plus one; 0: the last */
	struct context *context;
	void *own;   /* an event of ours, which the piece keeps */
	void *event; /* that it waits for: this one, or the program's */
	struct list *list;
	struct open_call open;
	struct work work;
	uint64_t returned_ns;
	bool has_times;
	uint64_t start, end; /* timestamps */
};

int pieces_init(void);
/* The launch path. NULL: there are too many. */
struct piece *pieces_take(struct context *c);
void pieces_give_back(struct piece *p);
/* Its call has returned. */
void pieces_push(struct piece *p);
/* The program is about to let go of an event, or to use it again. */
void pieces_settle(const void *event);
/* So too of a context: none of our events in it is used any more. */
void pieces_leave_context(struct context *c);
/* Our thread: all pieces that have ended. */
void pieces_drain(void (*visit)(struct piece *p));
/* Our thread: those that are left are let go. */
void pieces_close(void);
uint64_t pieces_sleep_ns(uint64_t most_ns);
/* Our thread: whether any are waited for; how many have ended so far. */
bool pieces_waiting(void);
uint64_t pieces_ended(void);

/* --- report.c */

void report_piece(struct piece *p);
void report_end_round(void);
