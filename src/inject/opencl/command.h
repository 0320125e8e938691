/* SPDX-License-Identifier: MIT */
/* What is done for each command of a queue, around the driver's own function: the launch path. */
#pragma once

#include "inject/bursts.h"
#include "inject/launches.h"
#include "inject/opencl/opencl.h"

#define KIND_OF(number, kind, name) KIND_##name = WIRE_CALL_##kind,
enum { OPENCL_CALLS(KIND_OF) };
#undef KIND_OF

/* Such a call, as long as it goes on. */
struct command {
	struct open_call open;
	uint8_t kind;	  /* enum wire_call_kind */
	bool is_followed; /* false: everything but `timed` is not valid */
	struct timed_call timed;
	bool blocking;	  /* the call waits for its work */
	bool seeks_queue; /* its event names it */
	struct queue *queue;
	struct piece *piece; /* NULL: nothing will be reported of its work */
	void **event;	     /* what the driver is to get */
	void **theirs;	     /* what the program has passed */
	void *own;
	struct work work;    /* filled in before the call by who knows the command */
	uint32_t *of_a_sort; /* so too, of a kernel: how many there were (draws.h) */
};

/* With the frame of our function that the program has called. */
void command_begin(struct command *c, enum opencl_call call, uint8_t kind, void *queue,
	void **event, const void *frame);
/* When work and of_a_sort are filled in: not all commands have times, if so it was wanted. */
void command_draw(struct command *c);
/* Returns the result. */
int32_t command_end(struct command *c, int32_t result);

/* Of a command whose queue is not named: its event is to lead to one. */
void command_find_queue(struct command *c);

/* What the command is. */
enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE, COPY_ANYWHERE };
void command_is_copy(struct command *c, enum copy_direction direction, size_t bytes);
void command_is_set(struct command *c, size_t bytes);

/* A call that waits for the GPU: the same. Begin is false where it is not followed. */
bool wait_begin(struct open_call *open, enum opencl_call call, const void *frame);
void wait_end(const struct open_call *open, int32_t result, enum wire_sync_kind waits_for,
	struct queue *queue, const void *event);
