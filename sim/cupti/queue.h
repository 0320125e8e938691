/* SPDX-License-Identifier: MIT */
/*
 * Records between the driver's streams and delivery: a queue for each stream, so that launches on
 * different streams never wait for each other. One writer at a time (it holds the stream's lock),
 * one reader (it holds the delivery lock). They share only the lock of the free blocks, once in 128
 * records.
 */
#pragma once

#include "cupti_sim.h"

enum { QUEUE_BLOCK = 128, QUEUE_MAX_BLOCKS = 4096 };

struct queue_item {
	uint64_t ready_ns; /* when the work has ended, on the host's monotonic clock */
	union {
		CUpti_Activity any;
		CUpti_ActivityKernel10 kernel;
		CUpti_ActivityMemcpy6 copy;
		CUpti_ActivityMemcpyPtoP4 peer;
		CUpti_ActivityMemset4 set;
		CUpti_ActivityAPI api;
		CUpti_ActivityMarker2 marker;
		CUpti_ActivityGraphTrace2 graph;
	};
};

struct queue_block {
	_Atomic(struct queue_block *) next;
	_Atomic uint32_t filled;
	struct queue_item items[QUEUE_BLOCK];
};

struct queue {
	struct queue *next;
	_Atomic bool used;
	struct queue_block *head, *tail;
	uint32_t popped; /* of the head block */
};

/* A queue for a new stream; NULL when memory is short. */
struct queue *queue_acquire(void);
/* Its stream is gone; what is in it is still delivered. */
void queue_retire(struct queue *q);
/* The first of all queues, retired ones too. */
struct queue *queue_first(void);
/*
 * Where to write the next record, not zeroed; NULL: too many wait, it is lost. Then commit.
 */
struct queue_item *queue_reserve(struct queue *q);
void queue_commit(struct queue *q);
/* The oldest record, NULL when the queue is empty; pop removes it. */
struct queue_item *queue_peek(struct queue *q);
void queue_pop(struct queue *q);
