/* SPDX-License-Identifier: MIT */
/*
 * The launches that the samples of a function in a window may belong to, with weights: the first
 * step of stalls.h.
 *
 * Numbers, all from 0: contexts (windows.h); kernels, each a name in a context; launches, each of
 * one kernel, numbered by the caller.
 *
 * For stalls.c. Owned by the caller; holds on to the reader. One thread at a time.
 */
#pragma once

#include "base/order.h"
#include "view/stalls/windows.h"

struct stall_kernel {
	uint32_t context;
	uint32_t name; /* string */
};

/* What an operation of the profile is here. */
struct stall_op {
	bool filled; /* it was looked up */
	uint32_t context, kernel;
	/* the first operation of the same kernel, and stream if these are distinguished */
	uint32_t first;
};

struct stall_launch {
	uint32_t kernel;
	uint64_t time_ns;
};

struct stall_owner {
	uint32_t launch;
	uint64_t weight; /* not 0 */
};

struct stall_owners {
	const struct profile_reader *reader;
	bool streams; /* distinguish the streams of a kernel */
	struct stall_windows windows;
	struct vec(struct stall_op) ops; /* by operation id */
	struct map kernel_ids;		 /* context << 32 | name -> kernel */
	struct map first_ops;		 /* kernel << 32 | stream -> operation */
	struct vec(struct stall_kernel) kernels;
	struct vec(struct stall_launch) launches;
	/* After stall_owners_finish: */
	struct order by_kernel;	     /* launches by kernel */
	uint32_t *first_launch;	     /* by kernel, and one more: where its launches begin there */
	struct map function_kernels; /* context << 32 | function -> where its list begins */
	struct vec(uint32_t) lists;  /* a count, then that many kernels */
	/* The latest answer, and to which question. */
	uint32_t window, function, correlation;
	struct vec(struct stall_owner) owners;
	uint64_t weight; /* of all */
	bool elsewhere;	 /* nothing of them ran in the window */
};

void stall_owners_init(struct stall_owners *o, const struct profile_reader *r, bool streams);
void stall_owners_release(struct stall_owners *o);
/* All: 0 or -ENOMEM with error_text. */
/* What the operation of a kernel is; good until the next call. */
int stall_owners_op(struct stall_owners *o, uint32_t id, const struct profile_op *op,
	const struct stall_op **ret);
/* Launches are added in the order of their numbers. */
int stall_owners_add_launch(struct stall_owners *o, uint32_t kernel);
int stall_owners_add_work(struct stall_owners *o, uint32_t launch, const struct profile_work *work);
/* After the last event. */
int stall_owners_finish(struct stall_owners *o);
/* Fills `owners`, `weight` and `elsewhere`; no owners: nothing that these samples may be of ran at
 * all. */
int stall_owners_choose(
	struct stall_owners *o, uint32_t window, uint32_t function, uint32_t correlation);
