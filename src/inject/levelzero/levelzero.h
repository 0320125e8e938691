/* SPDX-License-Identifier: MIT */
/*
 * Level Zero in the injected library: a tracer of the loader's, which calls back before and after
 * each call that is followed.
 *
 *	begin.c       where programs begin
 *	levelzero.c   begin and end; the tracer
 *	commands.c    commands, each described, and waits: the launch path
 *	copies.c      where copies go, and how much they copy
 *	objects.c     contexts, queues, command lists and kernels by their handles
 *	running.c     those that a program made before the library came
 *	gpus.c        devices, as they are reported; their timers
 *	pieces.c      memory for commands, and events of ours: the launch path
 *	ends.c        commands whose end is awaited: the launch path, and our thread
 *	recorded.c    recorded lists: what is in them
 *	runs.c        their executions: the launch path
 *	signals.c     fences and events that tell when these are over
 *	report.c      work as records: our thread
 *	addresses.c   where kernels are: a driver's own function
 *	code.c        images of code, and where kernels are: where they are made, and our thread
 *
 * Commands of immediate lists run once, and at once. Those of recorded lists run whenever the
 * program executes the list. The program is to see nothing of this: commands without an event get
 * one of ours, with timestamps; pools of events that the program makes get timestamps, too, and its
 * events are read before it can reset them. Executions without a fence get one of ours.
 *
 * `levelzero` is constant before the first callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/api.h"
#include "inject/bursts.h"
#include "inject/device_clock.h"
#include "inject/launches.h"
#include "inject/levelzero/abi.h"
#include "inject/library.h"
#include "inject/links.h"
#include "inject/names.h"
#include "vendor/intel/calls.h"

extern struct levelzero_functions levelzero;
extern const struct inject_api levelzero_inject;

/* Has the loader call these before or after a call, "CommandListCreate": false, it does not know
 * it. */
bool tracer_register(const char *name, levelzero_callback *before, levelzero_callback *after);
void commands_register(void);
int copies_init(void);
void copies_release(void);
void copies_register(void);
void objects_register(void);
void ends_register(void);
void runs_register(void);
void signals_register(void);
void code_register(void);
/* begin.c: a function of the loader's; NULL: it has none of this name. */
void *loader_symbol(const char *name);
/* Lets go of it, in a program that goes on. */
void loader_release(void);
/* The thread is in a call that may take long. */
void tracer_enters(void);
void tracer_leaves(void);

#define PIECES_CHUNK 256u
#define PIECES_MAX   (384u * PIECES_CHUNK) /* with an event of ours */

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

/* --- commands.c */

uint32_t commands_next_id(void);
/* What a command is to do, by the addresses of its arguments. */
#define COMMAND(number, kind, name, ...) void describe_##name(struct work *w, void **arguments);
struct work;
LEVELZERO_COPIES(COMMAND)
#undef COMMAND

/* --- objects.c */

struct context {
	void *handle;
	uint32_t number;      /* as work names it */
	uint64_t free;	      /* a stack of pieces with an event of ours in this context */
	uint32_t piece_count; /* that are its own, wherever they are */
	uint32_t pool_count;
	void *pools[PIECES_MAX / PIECES_CHUNK];
	bool gone; /* the program has destroyed it */
	bool left; /* nothing is taken any more, as the library leaves */
};

/* Where work runs, as it is reported. */
struct place {
	uint32_t context, stream; /* numbers; 0: not known */
	uint16_t device;	  /* index */
};

/* Under the lock of pieces, but for what never changes. */
struct list {
	uint32_t next; /* of those that run with the same signal (signals.c), or are free */
	struct context *context; /* NULL: there is no room for the list */
	struct place place;
	bool immediate;
	/* of a recorded list: */
	struct links_list steps; /* pieces */
	uint32_t step_count;
	uint32_t left_out; /* commands that there was no room for */
	/* the queue, by its number, on which an earlier run may go on that nobody waits for any
	 * more; 0: there is none */
	uint32_t doubtful;
	struct run {
		struct signal *signal; /* NULL: it does not run */
		struct place place;
		uint32_t correlation;
		uint64_t start_ns, returned_ns; /* of the call */
		bool clean;			/* no event of ours was signalled when it began */
		bool alone;			/* when it is over, all earlier ones are */
		uint32_t again; /* so often more, in the same call: nothing tells these apart */
	} run;
};

struct queue {
	uint32_t next; /* those that are free */
	void *handle;
	struct place place;
	uint32_t signals; /* with fences of ours, which it keeps */
	uint32_t signal_count, next_signal;
};

struct kernel {
	uint32_t next; /* those that are free */
	struct named *name;
	uint32_t block[3]; /* 0: not known */
	/* it was there before the library, or its module was, and its code was not reported */
	bool is_earlier;
	bool has_own_code; /* that was, without its module */
};

extern struct links lists;

int objects_init(void);
/* NULL: it is not known. */
struct list *objects_list(void *list);
struct queue *objects_queue(const void *queue);
struct kernel *objects_kernel(void *kernel);
/* The same, of one that was not made while we looked; so it may be known by now. */
struct list *objects_know_list(void *handle, void *context, void *device, bool immediate);
struct queue *objects_know_queue(void *handle, void *context, void *device);
struct kernel *objects_know_kernel(void *handle, const char *name);
/* Our thread, when nothing is recorded any more: gives back what is ours in the driver. False:
 * some of it is in use so far. */
bool objects_let_go(void);
void objects_release(void);
/* Under the lock of pieces: each recorded list of a context. */
void objects_each_list(struct context *c, void (*visit)(struct list *l));
/* No piece names it any more. */
void objects_free_context(struct context *c);

/* The number of a context, as work names it; 0: there is no room for it. Any thread. */
uint32_t objects_context(void *context);

/* --- running.c: of a program that was joined, while it is recorded */

/* False: the loader cannot trace a program that runs. */
bool running_find(void);
/* Switches the tracing layer on. Only where a tracer could be made: before the loader is ready, or
 * where it has no tracing layer, it would put an empty table in the place of the program's. */
bool running_begin(void);
void running_end(void);
/* NULL: it is a recorded list, or not known. */
struct list *running_list(void *list);
/* It is empty from here on. */
void running_list_is_reset(void *list);
/* One that executes this list. */
struct queue *running_queue(void *queue, void *list);
struct kernel *running_kernel(void *kernel);
/* What a list belongs to; false: not known. */
bool running_place(void *list, void **ret_context, void **ret_device);

/* --- addresses.c */

/* A driver's. */
typedef int32_t address_function(void *kernel, uint64_t *ret);

void addresses_init(void);
/* Of the driver of a device, or of a part of one; NULL: it has none. Not on the launch path. */
address_function *addresses_of(void *device);
/* 0: it is not known. */
uint64_t address_of(address_function *f, void *kernel);

/* --- code.c */

/* A kernel was made, not on the launch path: where its code is will be reported, where instructions
 * are sampled. */
void code_is_made(void *module, void *kernel, const char *name);
/* Whether a module was made since the library came. */
bool code_knows(const void *module);
/* So too of one of a module that was made before, when it is launched: without the module's
 * image. */
void code_is_earlier(void *kernel, const struct list *l, const char *name);
/* Such a kernel, or a module, is destroyed. */
void code_is_gone(void *handle);
void code_release(void);
/* Our thread: sends what was noted. False: the rest has to wait. */
bool code_send(void);
/* So too: what is not sent by now is counted, and given back. */
void code_drop(void);
/* So too, after some patience with the recorder. */
void code_finish(void);

/* --- pieces.c */

/* What a command is to do. */
struct work {
	const char *name; /* of a kernel; NULL: it is none */
	uint64_t bytes;
	uint32_t grid[3], block[3];
	uint8_t kind; /* enum wire_work_kind; 0: nothing, it only signals an event */
	uint8_t copy_kind, source_memory, target_memory; /* as struct wire_op has them */
};

/* A command, from its call until its work is reported; or one of a recorded list, until that is
 * reset. */
struct piece {
	uint32_t next;			      /* first of all: links.h */
	uint32_t before, after;		      /* of those that wait: a list */
	uint32_t bucket_before, bucket_after; /* and those whose events have one hash */
	struct context *context;	      /* of `own` */
	void *own;   /* an event of ours, which the piece keeps; NULL: it has none */
	void *event; /* that it waits for: this one, or the program's */
	struct place place;
	struct open_call open;
	struct work work;
	uint64_t returned_ns;
	uint64_t node;	   /* of a recorded list: its number */
	struct list *list; /* whose step it is; NULL: it is none */
	bool is_shared;	   /* a step, whose event is another's, too: its times say nothing */
	bool is_fresh;	   /* a step, whose event was not signalled when its run began */
	bool is_stale;	   /* its event is signalled since before, with the times below */
	bool has_times;
	uint64_t start, end; /* timestamps */
};

int pieces_init(void);
/* The lock is for all that waits, and for recorded lists. False: the thread has it already, as what
 * we do with events of ours is traced like all calls; or this is a forked child, where another
 * thread may have had it. */
bool pieces_lock(void);
void pieces_unlock(void);
extern struct links pieces;
/* The launch path. NULL: there are too many. */
struct piece *pieces_take(struct context *c);
/* So too of one without an event. Any thread. */
struct piece *pieces_take_blank(void);
void pieces_give_back(struct piece *p);
/* One whose event may be signalled. */
void pieces_use_again(struct piece *p);
/* Under the lock: none of our events in it is used any more. */
void pieces_leave_context(struct context *c);
/* Under the lock: none is taken from here on, and those that are not in use are destroyed. False:
 * some are. */
bool pieces_let_go(struct context *c);
void pieces_release(void);

/* --- ends.c */

/* Its event is about to be signalled, perhaps again. */
void ends_prepare(struct piece *p);
/* Its call has returned. */
void ends_push(struct piece *p);
/* The program is about to let go of an event, or to use it again. */
void ends_settle(const void *event);
/* So too under the lock. */
void ends_settle_locked(const void *event);
/* Under the lock: it has ended; our thread is to report it. */
void ends_add(struct piece *p);
/* Under the lock: all that was appended to lists of a context counts as ended. */
void ends_leave_context(const struct context *c);
/* Reads the times of a piece whose event is signalled, if it has any. */
void ends_read_times(struct piece *p);
/* There is something to wait for. */
void ends_wake(void);
/* Our thread: all pieces that have ended. */
void ends_drain(void (*visit)(struct piece *p));
/* Our thread: from now on only what has an event of ours is waited for, until nobody uses that. */
void ends_close(void);
bool ends_are_closed(void);
uint64_t ends_sleep_ns(uint64_t most_ns);
/* Our thread: whether any are waited for; how many have ended so far. */
bool ends_waiting(void);
uint64_t ends_ended(void);

/* --- recorded.c */

int recorded_init(void);
/* A command was appended to a recorded list. */
void recorded_release(void);
void recorded_add(struct list *l, struct piece *p);
/* Under the lock: the list is empty from here on. */
void recorded_clear(struct list *l);
/* Under the lock: an event is about to be reset, or used again: of the step that has it, the times
 * are kept. */
void recorded_settle(const void *event);

/* Under the lock. */
void run_begin(
	struct list *l, struct signal *s, const struct place *place, const struct open_call *open);
/* It is over, or was given up: its work is reported, with the times that can be read. */
void run_end(struct list *l, bool is_over);
/* It was refused: nothing came of it. */
void run_drop(struct list *l);
/* There is nothing that tells of it: its work has no times. NULL: it is not even reported. Where
 * its queue is not known, it is where the list was made for. */
void run_unseen(struct list *l, const struct place *place, const struct wire_call *call);

/* --- signals.c: under the lock of pieces, but for what is marked */

struct signal {
	uint32_t next;		/* first of all: those that are free (links.h) */
	uint32_t before, after; /* of those that are waited for */
	uint32_t of_queue;	/* the next one with a fence of ours */
	uint32_t lists;		/* the first that runs; 0: it is not waited for */
	void *fence, *event;	/* one of them */
	bool is_used;		/* one of ours: it was given to a call */
	struct piece *piece;	/* whose event it is */
	struct place place;	/* of a fence: its queue's */
};

int signals_init(void);
/* NULL: there is no room. */
struct signal *signal_new(const struct signal *as);
/* One that is no fence, which nothing waits for. */
void signal_drop(struct signal *s);
bool signal_has_come(const struct signal *s);
void signal_enter(struct signal *s, struct list *l);
void signal_leave(struct signal *s, struct list *l);
/* Its lists have run, or are given up; what was no fence is dropped. */
void signal_end_lists(struct signal *s, bool is_over);
/* NULL: it is not known. Any thread. */
struct signal *signal_of_fence(const void *fence);
/* With a fence of ours; NULL: there are too many. */
struct signal *signal_take_ours(struct queue *q);
/* The program is about to let go of an event, or to use it again; or of a queue. */
void signals_settle(const void *event);
void signals_leave_queue(struct queue *q);
/* Destroys our fences of a queue. False: some are in use so far. */
bool signals_let_go(struct queue *q);
void signals_release(void);
/* The program's, of this queue, from before the library came. NULL: there is no room. */
struct signal *signals_know_fence(void *fence, const struct queue *q);
/* Where the queue of a fence is; NULL: not known. Any thread. */
const struct place *signals_place(const void *fence);
/* Ends the lists of those that have come. */
void signals_look(void);
void signals_close(void);
/* Any thread. */
bool signals_waiting(void);

/* --- report.c */

void report_piece(struct piece *p);
void report_end_round(void);
