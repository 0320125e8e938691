/* SPDX-License-Identifier: MIT */
/*
 * Time of events, added up by the two halves of their keys (keys.h) in lists of sums. There may be
 * several sums of one pair in a list, until it is merged. Owned by the caller.
 */
#pragma once

#include "view/fold/keys.h"

#define EVENT_SUM_TIME_BITS  44
#define EVENT_SUM_COUNT_BITS (64 - EVENT_SUM_TIME_BITS)

struct event_sum {
	struct event_pair pair;
	uint64_t time_ns : EVENT_SUM_TIME_BITS;
	uint64_t count : EVENT_SUM_COUNT_BITS; /* of work what begins there */
};

struct event_sum_list vec(struct event_sum);

/* What is still to be added: what that reads is all over memory, and of a group it is loaded
 * together. */
#define EVENT_SUMS_WAITING 32

struct event_sum_waiting {
	struct event_sum_list *to;
	struct event_keys_step key;
	uint64_t count, time_ns;
};

struct event_sums {
	struct event_keys keys;
	uint32_t *places; /* by hash of a pair: of the sum that was added to last, in its list */
	struct event_sum_waiting waiting[EVENT_SUMS_WAITING];
	size_t waiting_count;
	size_t sums; /* of all lists */
};

/* All: 0 or -ENOMEM with error_text. Comes zeroed; release it in either case. */
int event_sums_init(struct event_sums *s);
void event_sums_release(struct event_sums *s);
/* By the whole key of an event. The list has to stay where it is until event_sums_rest, which adds
 * all that waits. */
int event_sums_add(struct event_sums *s, struct event_sum_list *to, const struct gather_key *whole,
	uint64_t time_ns, uint64_t count);
int event_sums_rest(struct event_sums *s);
/* Frees what only makes adding faster: little is to be added from here on. */
void event_sums_settle(struct event_sums *s);
/* At once. */
int event_sums_put(struct event_sums *s, struct event_sum_list *to, struct event_sum sum);
/* Orders a list by code, with one sum of each pair (or several of very long times). */
int event_sums_merge(struct event_sums *s, struct event_sum_list *list);
