/* SPDX-License-Identifier: MIT */
/*
 * How coarse the data of a page without a server are, by age: the time is divided into AGES parts
 * of equal length, and each is one level coarser than the one behind it, until that of the newest,
 * which is the finest there is:
 *
 *	level 0		|  1  1  1  1 |		steps together, by part
 *	level 2		| 10  2  1  1 |		(they grow as nice_factor has it)
 *	level 3		| 20 10  2  1 |
 *
 * Where that does not do, the steps themselves have to become longer.
 */
#pragma once

#include "base/json_writer.h"

#define AGES 4

struct ages {
	uint32_t count; /* steps */
	uint64_t width_ns;
	uint32_t level; /* of the oldest part; below AGES */
};

/* How many steps stand together from the n-th on: the first of its part, or one behind such. */
uint32_t ages_steps(const struct ages *a, uint32_t n);
/* How many do in the part that the n-th is in. */
uint32_t ages_together(const struct ages *a, uint32_t n);
/* Makes older parts coarser, so that what takes `size` bytes may take `room`: false where all are
 * as coarse as they become. */
bool ages_grow(struct ages *a, size_t size, size_t room);
/* [end, steps, ...], from the oldest on, of the parts in which steps stand together. */
void ages_json(struct json_writer *w, const char *name, const struct ages *a);
