/* SPDX-License-Identifier: MIT */
/*
 * An interner: equal byte strings get the same dense id, counted from 1 in order of first
 * appearance; id 0 stands for "none". The bytes live in an arena and never move; each is followed
 * by a NUL that is not part of its length, so text can be used as a C string.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct interner;

int interner_new(struct interner **ret);
void interner_free(struct interner *in);
/* The id of these bytes, adding them when new: *ret_id, and *ret_added (may be NULL) says which. 0
 * or -ENOMEM (also when 2^32 - 1 ids are used up). */
int interner_add(
	struct interner *in, const void *data, size_t size, uint32_t *ret_id, int *ret_added);
/* As interner_add for each item in turn, several times as fast for many ids: the look-ups
 * overlap. */
struct interner_item {
	const void *data;
	size_t size;
	uint64_t hash; /* not to be filled in */
	uint32_t id;   /* the result */
};

int interner_add_all(struct interner *in, struct interner_item *items, size_t count);
/* The id of these bytes, or 0. */
uint32_t interner_find(const struct interner *in, const void *data, size_t size);
/* The bytes of an id, *ret_size (may be NULL) their length; "" for 0 and for ids never given
 * out. */
const char *interner_get(const struct interner *in, uint32_t id, size_t *ret_size);
