/* SPDX-License-Identifier: MIT */
/*
 * What a summary is made from: sums of the events of a recording by the ids that they have. It is
 * complete after the last event, when names are final. Owned by the caller; holds on to the summary
 * and the reader.
 */
#pragma once

#include "base/busy.h"
#include "base/map.h"
#include "view/tables/estimates.h"
#include "view/tables/launch_sums.h"
#include "view/tables/stack_uses.h"
#include "view/tables/summary.h"

/* An array by id that grows with zeros. */
struct by_id {
	void *items;
	size_t count; /* ids below this are there */
};

/* The same stack mostly launches the same work again: what was added since it changed is not yet in
 * the sums by stack. */
struct op_sum {
	struct summary_time time;
	uint64_t bytes;
	uint32_t stack;
	uint64_t stack_works, stack_ns;
	struct launch_sums stacks;
};

struct thread_sum {
	struct summary_task task;
	double launches;      /* those of task are rounded */
	uint64_t last_launch; /* instance << 32 | correlation */
};

struct device_sum {
	struct summary_device device;
	struct busy busy;
};

struct gathering {
	struct summary *s;
	struct profile_reader *r;
	struct by_id ops, threads, devices;
	struct launch_sums_index index;
	struct stack_uses uses;
	struct map call_index; /* gathering_call_key -> index of call_times */
	uint64_t call_key;     /* of the last call: the next is mostly alike */
	size_t call_at;	       /* its index */
	struct map graph_launches[2];
	uint64_t first_ns, last_ns;
	uint64_t bytes, calls_ns; /* grand totals, watched for overflow */
	struct estimates estimates;
	double latency_rest; /* of a work that counts as a whole number of them */
};

/* With the summary and the reader, the rest comes zeroed: 0 or -errno with error_text. */
int gathering_read(struct gathering *g);
void gathering_release(struct gathering *g);

static inline struct op_sum *gathering_op(const struct gathering *g, uint32_t op)
{
	return (struct op_sum *)g->ops.items + op;
}

/* Of a part of the recording it may have only what began before. */
static inline bool summary_was_there(const struct summary_time *t)
{
	return t->count || t->total_ns;
}

/* The keys of rows, also of estimates. */
static inline uint64_t gathering_call_key(uint32_t api, enum profile_call_kind kind, bool observed)
{
	return (uint64_t)api << 8 | (uint64_t)observed << 7 | kind;
}

static inline uint64_t gathering_copy_key(uint8_t kind, uint8_t source, uint8_t target)
{
	return (uint64_t)kind << 16 | (uint64_t)source << 8 | target;
}
