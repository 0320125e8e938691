/* SPDX-License-Identifier: MIT */
/*
 * Things of one array that are linked by their places in it, as places can be written with a
 * counter at once: stacks without locks, and lists. Each begins with its link, a place plus one, 0
 * behind the last.
 *
 * A stack that things are taken from one by one is a word: its upper half changes with each change,
 * so that a head that went and came back is noticed. One of which all are taken at once needs no
 * such number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct links {
	char *things;
	size_t size; /* of one */
};

struct links_list {
	uint32_t first, last; /* 0: empty */
};

static inline void *links_at(const struct links *l, uint32_t one_more)
{
	return l->things + (size_t)(one_more - 1) * l->size;
}

static inline uint32_t links_number(const struct links *l, const void *thing)
{
	return (uint32_t)((size_t)((const char *)thing - l->things) / l->size) + 1;
}

/* --- a stack whose things are taken one by one: any thread */

static inline void *links_take(const struct links *l, uint64_t *stack)
{
	uint64_t head = __atomic_load_n(stack, __ATOMIC_ACQUIRE), next;

	do {
		if (!(uint32_t)head)
			return NULL;
		next = ((head >> 32) + 1) << 32 |
		       __atomic_load_n((uint32_t *)links_at(l, (uint32_t)head), __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(
		stack, &head, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return links_at(l, (uint32_t)head);
}

static inline void links_give_back(const struct links *l, uint64_t *stack, void *thing)
{
	uint64_t head = __atomic_load_n(stack, __ATOMIC_RELAXED), next;

	do {
		__atomic_store_n((uint32_t *)thing, (uint32_t)head, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | links_number(l, thing);
	} while (!__atomic_compare_exchange_n(
		stack, &head, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* One that was never taken so far, of `most`; NULL: all were. */
static inline void *links_take_fresh(const struct links *l, uint32_t *fresh, uint32_t most)
{
	uint32_t n = __atomic_load_n(fresh, __ATOMIC_RELAXED);

	do {
		if (n == most)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		fresh, &n, n + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return links_at(l, n + 1);
}

/* --- one of which all are taken at once */

static inline void links_push(const struct links *l, uint32_t *stack, void *thing)
{
	uint32_t head = __atomic_load_n(stack, __ATOMIC_RELAXED), own = links_number(l, thing);

	do
		*(uint32_t *)thing = head;
	while (!__atomic_compare_exchange_n(
		stack, &head, own, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* --- lists: under a lock */

static inline void links_append(const struct links *l, struct links_list *to, void *thing)
{
	*(uint32_t *)thing = 0;
	if (to->last)
		*(uint32_t *)links_at(l, to->last) = links_number(l, thing);
	else
		to->first = links_number(l, thing);
	to->last = links_number(l, thing);
}

static inline void links_append_list(
	const struct links *l, struct links_list *to, const struct links_list *more)
{
	if (!more->first)
		return;
	if (to->last)
		*(uint32_t *)links_at(l, to->last) = more->first;
	else
		to->first = more->first;
	to->last = more->last;
}

/* Takes the first off; NULL: there is none. */
static inline void *links_shift(const struct links *l, struct links_list *from)
{
	void *thing = from->first ? links_at(l, from->first) : NULL;

	if (!thing)
		return NULL;
	from->first = *(uint32_t *)thing;
	if (!from->first)
		from->last = 0;
	return thing;
}

/* All that was pushed, in the order in which it was. */
static inline struct links_list links_take_all(const struct links *l, uint32_t *stack)
{
	uint32_t n = __atomic_exchange_n(stack, 0, __ATOMIC_SEQ_CST), after = 0;
	struct links_list all = {.last = n};

	while (n) {
		uint32_t *thing = links_at(l, n), before = *thing;

		*thing = after;
		after = n;
		n = before;
	}
	all.first = after;
	return all;
}
