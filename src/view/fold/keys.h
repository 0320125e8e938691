/* SPDX-License-Identifier: MIT */
/*
 * Gives each distinct gather_key a small number, from 0 on: for events that are kept for a while,
 * and many of which are alike.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "view/fold/gather.h"

struct keys {
	struct vec(struct gather_key) items; /* by number */
	uint32_t *index;		     /* number + 1; open addressing, at most 2/3 full */
	size_t mask;
};

void keys_release(struct keys *k);
/* 0 or -ENOMEM with error_text. */
int keys_add(struct keys *k, const struct gather_key *key, uint32_t *ret);
/* False: there is none. */
bool keys_find(const struct keys *k, const struct gather_key *key, uint32_t *ret);

/*
 * The same in two halves, as there are many pairs of few of each:
 *
 *	code	where in the program: the stacks and the call
 *	rest	which event it is, of which thread, and what work
 *
 * Why there is no stack, or why a thread waits, is in both.
 */
struct event_keys {
	struct keys codes, rests;
	/* By stack, the code that was last seen of it, and its call: mostly there is no other. Only
	 * of launches, and only until event_keys_settle. */
	struct event_key_place *places;
	uint32_t place_count;
};

struct event_key_place {
	uint32_t api, code; /* its number + 1; 0: none */
};

struct event_pair {
	uint32_t code, rest; /* numbers */
};

void event_keys_release(struct event_keys *k);
/*
 * Numbers the whole key of an event (event_whole_key), in steps: what is looked up is all over
 * memory, so of several keys at once each step is made for all before the next one.
 */
struct event_keys_step {
	struct gather_key code, rest;
	uint64_t hash; /* of the code, where it has no place */
	bool has_place;
};

void event_keys_begin(
	const struct event_keys *k, const struct gather_key *whole, struct event_keys_step *ret);
void event_keys_go_on(const struct event_keys *k, const struct event_keys_step *step);
/* 0 or -ENOMEM with error_text. */
int event_keys_end(
	struct event_keys *k, const struct event_keys_step *step, struct event_pair *ret);
/* Frees what only makes adding faster: there are to be no more, or others. */
void event_keys_settle(struct event_keys *k);
/* False: there are none of these. */
bool event_keys_find(
	const struct event_keys *k, const struct gather_key *whole, struct event_pair *ret);
/* The whole key. */
struct gather_key event_keys_at(const struct event_keys *k, struct event_pair pair);
