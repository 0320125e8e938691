/* SPDX-License-Identifier: MIT */
/*
 * OpenCL in the injected library: a layer between the loader and the drivers.
 *
 *	opencl.c      begin and end; our thread's rounds
 *	commands.c    commands of queues, each described: the launch path
 *	command.c     what is done for each of them: the launch path
 *	extensions.c  commands that are not in the loader's table
 *	waits.c       calls that wait for the GPU
 *	queues.c      queues and contexts, and what we change of queues
 *	hidden.c      what the program is told of them
 *	kernels.c     names of kernels
 *	devices.c     devices, as they are reported
 *	events.c      commands whose end is awaited: the launch path, and our thread
 *	report.c      work as records: our thread
 *
 * The program is to see nothing of this. Queues that it makes without profiling get it, and say
 * that they have not; commands that it makes without an event get one of ours; of its own events we
 * hold a reference until the command has ended. The driver never calls back for us, and nothing is
 * flushed: our thread looks now and then what has ended.
 *
 * `opencl` is filled before the first call can come, and constant from then on. When recording has
 * ended, or never began, all calls go straight on, but what was hidden stays hidden.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/library.h"
#include "inject/links.h"
#include "inject/names.h"
#include "inject/opencl/abi.h"
#include "vendor/opencl/calls.h"

extern struct opencl_functions opencl;

#define CALL_NUMBER(number, kind, name) NUMBER_##name = (number),
enum opencl_call { OPENCL_CALLS(CALL_NUMBER) };
#undef CALL_NUMBER

/* Puts our functions into the table that the loader will call: those of them that it has. */
void commands_put(void **table, uint32_t entries);
void waits_put(void **table, uint32_t entries);
void queues_put(void **table, uint32_t entries);
void hidden_put(void **table, uint32_t entries);
void kernels_put(void **table, uint32_t entries);
void extensions_put(void **table, uint32_t entries);

static inline void put_entry(
	void **table, uint32_t entries, enum opencl_entry at, const void *function)
{
	if ((uint32_t)at < entries && table[at])
		table[at] = (void *)(uintptr_t)function;
}

/* --- queues.c */

struct queue {
	void *platform;
	uint32_t context; /* their numbers, as work names them */
	uint32_t number;
	uint16_t device; /* index */
	bool in_order;
	bool times;  /* its commands can have times */
	bool forced; /* though the program has not asked for that */
	bool released;
	bool appended;	     /* its properties had no OPENCL_QUEUE_PROPERTIES */
	bool had_none;	     /* nor any others */
	uint32_t references; /* the program's */

	/* events.c, under its lock: commands that have not ended, in order */
	struct links_list waiting;
	uint32_t count; /* of them */
	uint32_t added; /* since our thread looked last */
	struct queue *next_busy;
	bool is_busy;
};

int queues_init(void);
/* NULL: it is not known. */
struct queue *queues_find(const void *queue);
/* Whether any queue was ever forced to have times. */
bool queues_any_is_forced(void);
/* What a queue of this device and context is, whoever made it. */
void *queues_make_khr(void *context, void *device, const uint64_t *properties, int32_t *error,
	void *(*make)(void *, void *, const uint64_t *, int32_t *));

/* --- kernels.c */

int kernels_init(void);
/* Kernels of one name are one. It stays valid. */
struct named *kernels_find(void *kernel);

/* --- devices.c */

#define DEVICES_MAX 64

struct device {
	void *handle;
	void *platform;
	uint64_t resolution_ns;
	bool sent;
	char name[256];
	struct wire_device record;
	char platform_name[256];
};

extern struct device devices[DEVICES_MAX];

/* The index of a device, or of the one that it is a part of; -1: there are too many. Not on the
 * launch path. */
int devices_find(void *device);
/* Our thread: sends it, once. */
void devices_introduce(uint32_t index);

/* --- events.c */

/* What a command is to do. */
struct work {
	const char *name; /* of a kernel; NULL: it is none */
	uint64_t bytes;
	uint32_t grid[3], block[3];
	uint8_t kind; /* enum wire_work_kind */
	uint8_t copy_kind;
	uint8_t source_memory, target_memory;
};

enum { TIME_QUEUED, TIME_SUBMITTED, TIME_START, TIME_END, TIMES };

/* A command that was accepted, until its work is reported. */
struct piece {
	uint32_t next; /* first of all: links.h */
	uint32_t correlation;
	struct queue *queue;
	void *event; /* of which we hold a reference; NULL: there is none */
	struct work work;
	uint64_t entered_ns, returned_ns; /* the call */
	uint64_t times[TIMES];		  /* the device's; START is 0: unknown */
	uint32_t stands_for;		  /* draws.h; 0: itself */
	bool not_timed;			  /* it was not drawn */
	/* our thread: its times were compared with others; it is to be visited again */
	bool learned, waits;
};

int events_init(void);
/* The launch path. NULL: too many are waited for already. timed: with an event. */
struct piece *events_take(bool timed);
void events_give_back(struct piece *p);
void events_push(struct piece *p);
/* The launch path, after that: if there are too many, reads times of some of this queue. */
void events_help(struct queue *q);
/* A thread of the program's, when it has waited for all of this queue, or this event: reads times
 * of all that have ended, if that was the latest. One of the two may be NULL. */
void events_waited(struct queue *queue, const void *event);
/* Any thread but of a forked child: lets go of all events whose commands have ended. */
void events_look(void);
/* Whether we hold a reference to this event. */
bool events_hold(const void *event);
/* Our thread: all pieces that have ended, in the order in which that was seen. With may_wait, visit
 * may keep some, which then come again. */
void events_drain(
	void (*visit)(struct piece *pieces[], size_t count, bool may_wait), bool may_wait);
/* Our thread: no more are taken, and those that are left are let go. */
void events_close(void);
uint64_t events_sleep_ns(uint64_t most_ns);
/* How many have ended so far. */
uint64_t events_ended(void);
/* Our thread: whether any are waited for. */
bool events_waiting(void);

/* --- report.c */

void report_pieces(struct piece *pieces[], size_t count, bool may_wait);
