/* SPDX-License-Identifier: MIT */
/*
 * Sums the time of events that are alike, by ids alone: names are only final after the last event,
 * and ten million events have few distinct keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What decides which node of the tree an event has; what does not matter to a view stays 0. */
struct gather_key {
	uint32_t event; /* enum profile_event_kind */
	/* enum profile_join, profile_pending_reason, profile_wait_reason or profile_sample_kind */
	uint32_t reason;
	uint32_t thread;
	uint32_t stack;
	uint32_t node_stack;
	uint32_t api;
	uint32_t op;
};

struct gather_sum {
	struct gather_key key;
	uint64_t count; /* 0: a free slot */
	uint64_t time_ns;
};

struct gather {
	struct gather_sum *slots;
	size_t used, mask;
};

#define GATHER_INIT ((struct gather){0})

/* Events that are still to be added. Slots of a large table are all over memory: of a group of
 * events they are loaded together. */
#define GATHER_WAITING 64

struct gather_waiting {
	struct gather_sum items[GATHER_WAITING];
	size_t count;
};

void gather_release(struct gather *g);
/* Adds an event, or `count` of them, at least one: 0, -ENOMEM or -EOVERFLOW (the sum needs more
 * than 64 bits), with error_text. */
int gather_add(struct gather *g, const struct gather_key *key, uint64_t time_ns);
int gather_add_sum(
	struct gather *g, const struct gather_key *key, uint64_t time_ns, uint64_t count);
/* As gather_add, but the event may only count from gather_rest on. */
int gather_later(
	struct gather *g, struct gather_waiting *w, const struct gather_key *key, uint64_t time_ns);
/* Adds all that wait; call it behind the last event. Returns as gather_add. */
int gather_rest(struct gather *g, struct gather_waiting *w);
uint64_t gather_hash(const struct gather_key *key);
/*
 * Puts them in the order of their stacks, of which those with ids near to each other have most of
 * their frames in common: so what is looked up for one is still in the cache for the next. Nothing
 * may be added behind it. 0 or -errno with error_text.
 */
int gather_sort(struct gather *g);
/* The n-th sum, in no particular order unless they are sorted; NULL past the last. Start with
 * *n = 0. */
const struct gather_sum *gather_next(const struct gather *g, size_t *n);
