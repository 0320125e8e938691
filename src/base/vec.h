/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays of any type.
 *
 *	struct vec(struct item) items = {0};
 *	if (vec_push(&items, item) < 0) ...
 *	vec_foreach (it, &items) ...
 *	vec_release(&items);
 *
 * vec(T) names an anonymous struct; give it a tag where it crosses functions.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define vec(type)                                                                                  \
	{                                                                                          \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

/* 0, or -ENOMEM with the array unchanged. */
static inline int vec_grow(void **items, size_t *capacity, size_t count, size_t extra, size_t size)
{
	size_t need, bytes, room = *capacity ? *capacity : 8;
	void *grown;

	if (__builtin_add_overflow(count, extra, &need))
		return -ENOMEM;
	if (need <= *capacity)
		return 0;
	while (room < need)
		if (__builtin_mul_overflow(room, (size_t)2, &room))
			return -ENOMEM;
	if (__builtin_mul_overflow(room, size, &bytes))
		return -ENOMEM;
	grown = realloc(*items, bytes);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*capacity = room;
	return 0;
}

/* Room for `extra` more items: 0 or -ENOMEM. */
#define vec_reserve(v, extra)                                                                      \
	vec_grow((void **)&(v)->items, &(v)->capacity, (v)->count, (extra), sizeof(*(v)->items))

/* Appends one item: 0 or -ENOMEM. */
#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int vec_error_ = vec_reserve((v), 1);                                              \
		if (!vec_error_)                                                                   \
			(v)->items[(v)->count++] = (__VA_ARGS__);                                  \
		vec_error_;                                                                        \
	})

/* An array that never held anything has no items to add a count to. */
#define vec_foreach(it, v)                                                                         \
	for (typeof(&*(v)->items) it = (v)->items; it && it < (v)->items + (v)->count; it++)

#define vec_release(v)                                                                             \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->count = (v)->capacity = 0;                                                    \
	} while (0)
