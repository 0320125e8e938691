/* SPDX-License-Identifier: MIT */
/*
 * The calls that the correlator remembers, by (instance, correlation id), in two lists by age:
 * those that wait for something and those that are done.
 *
 * There is room for a fixed number, all of it allocated at the start (and touched only when used).
 * The caller makes room before it adds. A pointer is good until its launch is removed. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LAUNCH_MARKED =
		1 << 0, /* the launch marker was seen: thread, stack, kind, start_ns are known */
	LAUNCH_CALLED = 1 << 1,	  /* the call has returned: api too is known */
	LAUNCH_UNMARKED = 1 << 2, /* the call said that its marker would not be called */
	LAUNCH_WORKED = 1 << 3,	  /* some of its work has come */
	LAUNCH_DECIDED = 1 << 4,  /* it was written that no work would come */
};

enum launch_list {
	LAUNCH_WAITING, /* for its work or, when it asks for none, for its return */
	LAUNCH_DONE,
	LAUNCH_LISTS
};

struct launch {
	uint64_t start_ns;
	uint32_t instance;
	uint32_t correlation;
	uint32_t thread;
	uint32_t stack;
	uint32_t api;
	uint32_t graph_context, graph_stream; /* what it launched a graph into; 0: not known */
	uint32_t older, newer;		      /* numbers of its neighbours in its list; 0: none */
	uint8_t kind;			      /* enum profile_call_kind; 0: not known */
	uint8_t flags;
	uint8_t list; /* enum launch_list */
};

struct launch_slot {
	uint32_t number; /* of its launch; 0: free */
	uint32_t hash;
};

struct launches {
	struct launch *items; /* number n is item n - 1 */
	size_t max;
	size_t fresh;		   /* items from here on were never used */
	uint32_t free;		   /* number of the first free item, chained by `newer` */
	struct launch_slot *index; /* open addressing, at most a quarter full */
	size_t index_mask;
	uint32_t oldest[LAUNCH_LISTS], newest[LAUNCH_LISTS];
	size_t count[LAUNCH_LISTS];
};

/* Room for `max` launches, at least 1: 0 or -ENOMEM. */
int launches_init(struct launches *l, size_t max);
void launches_release(struct launches *l);
bool launches_are_full(const struct launches *l);
/* NULL when there is none. */
struct launch *launches_find(const struct launches *l, uint32_t instance, uint32_t correlation);
/* Adds one that is not there, as the newest of `list`, all else zero. There must be room. */
struct launch *launches_add(
	struct launches *l, uint32_t instance, uint32_t correlation, enum launch_list list);
/* Makes it the newest of a list. */
void launches_move(struct launches *l, struct launch *launch, enum launch_list list);
void launches_remove(struct launches *l, struct launch *launch);
/* NULL when the list is empty, or `launch` its newest. */
struct launch *launches_oldest(const struct launches *l, enum launch_list list);
struct launch *launches_next(const struct launches *l, const struct launch *launch);
