/* SPDX-License-Identifier: MIT */
/*
 * Orders many things by a number of each, by sorting their indices: a stable radix sort, in time
 * that is linear in their count. To order by several numbers, sort by the least important one
 * first:
 *
 *	for (size_t i = 0; i < o.count; i++)
 *		o.numbers[i] = things[i].size;
 *	order_sort(&o);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct order {
	uint32_t *items;   /* indices, in order */
	uint32_t *numbers; /* by index: what the next order_sort goes by */
	uint32_t *spare;
	size_t count;
};

/* 0, 1, 2, ...: 0 or -errno with error_text; release it in either case. */
int order_init(struct order *o, size_t count);
void order_release(struct order *o);
void order_sort(struct order *o);
