// SPDX-License-Identifier: MIT
/* One pass for each digit in which the numbers differ, the least first. */
#include "base/order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

#define DIGIT_BITS 11
#define DIGITS	   ((size_t)1 << DIGIT_BITS)

int order_init(struct order *o, size_t count)
{
	*o = (struct order){.count = count};
	if (count > UINT32_MAX)
		return error_set(-EOVERFLOW, "more things to sort than can be counted");
	o->items = calloc(count + 1, sizeof(*o->items));
	o->numbers = calloc(count + 1, sizeof(*o->numbers));
	o->spare = calloc(count + 1, sizeof(*o->spare));
	if (!o->items || !o->numbers || !o->spare)
		return error_set(-ENOMEM, "not enough memory to sort");
	for (size_t i = 0; i < count; i++)
		o->items[i] = (uint32_t)i;
	return 0;
}

void order_release(struct order *o)
{
	free(o->items);
	free(o->numbers);
	free(o->spare);
	*o = (struct order){0};
}

static void sort_digit(struct order *o, unsigned int shift)
{
	uint32_t at[DIGITS] = {0}, sum = 0, *sorted = o->spare;

	for (size_t i = 0; i < o->count; i++)
		at[o->numbers[i] >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		uint32_t begin = sum;

		sum += at[digit];
		at[digit] = begin;
	}
	for (size_t i = 0; i < o->count; i++)
		sorted[at[o->numbers[o->items[i]] >> shift & (DIGITS - 1)]++] = o->items[i];
	o->spare = o->items;
	o->items = sorted;
}

void order_sort(struct order *o)
{
	uint32_t differ = 0;

	for (size_t i = 1; i < o->count; i++)
		differ |= o->numbers[i] ^ o->numbers[0];
	for (unsigned int shift = 0; shift < 32; shift += DIGIT_BITS)
		if (differ >> shift & (DIGITS - 1))
			sort_digit(o, shift);
}
