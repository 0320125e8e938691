// SPDX-License-Identifier: MIT
#include "view/stalls/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"

#define SUBJECT "the instruction samples"

void stall_rows_release(struct stall_rows *t)
{
	free(t->index);
	*t = (struct stall_rows){0};
}

/* Where the row is, or would be. */
static size_t slot_of(
	const struct stall_rows *t, const struct stalls *s, const struct stalls_row *row)
{
	size_t i =
		hash_combine((uint64_t)row->launch << 32 | row->instruction, row->reason) & t->mask;

	for (; t->index[i]; i = (i + 1) & t->mask) {
		const struct stalls_row *r = &s->rows.items[t->index[i] - 1];

		if (r->instruction == row->instruction && r->launch == row->launch &&
			r->reason == row->reason)
			break;
	}
	return i;
}

static int grow(struct stall_rows *t, const struct stalls *s)
{
	size_t capacity = t->index ? (t->mask + 1) * 2 : 4096;
	uint32_t *index = calloc(capacity, sizeof(*index));

	if (!index || s->rows.count >= UINT32_MAX - 1) {
		free(index);
		return error_memory(SUBJECT);
	}
	free(t->index);
	t->index = index;
	t->mask = capacity - 1;
	for (size_t i = 0; i < s->rows.count; i++)
		index[slot_of(t, s, &s->rows.items[i])] = (uint32_t)i + 1;
	return 0;
}

int stall_rows_add(struct stall_rows *t, struct stalls *s, const struct stalls_row *row)
{
	struct stalls_row *found;
	size_t slot;

	if (!t->index || (s->rows.count + 1) * 2 > t->mask) {
		int error = grow(t, s);

		if (error)
			return error;
	}
	slot = slot_of(t, s, row);
	if (!t->index[slot]) {
		if (vec_push(&s->rows, *row))
			return error_memory(SUBJECT);
		t->index[slot] = (uint32_t)s->rows.count;
		return 0;
	}
	found = &s->rows.items[t->index[slot] - 1];
	found->samples += row->samples;
	found->latency += row->latency;
	return 0;
}

/* Allocates, by id, the rank of each instruction among all by function and offset. */
static int rank_instructions(const struct profile_reader *r, uint32_t **ret)
{
	size_t count = (size_t)profile_counts(r).instructions + 1;
	uint32_t *rank = calloc(count, sizeof(*rank));
	struct order o = {0};
	int error = rank ? order_init(&o, count) : error_memory(SUBJECT);

	for (uint32_t id = 1; !error && id < count; id++)
		o.numbers[id] = profile_instruction(r, id)->offset;
	if (!error)
		order_sort(&o);
	for (uint32_t id = 1; !error && id < count; id++)
		o.numbers[id] = profile_instruction(r, id)->function;
	if (!error)
		order_sort(&o);
	for (uint32_t i = 0; !error && i < count; i++)
		rank[o.items[i]] = i;
	order_release(&o);
	if (error)
		free(rank);
	else
		*ret = rank;
	return error;
}

static void sort_by_number(struct order *o, const struct stalls_row *rows, const uint32_t *rank)
{
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = rows[i].reason;
	order_sort(o);
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = rank[rows[i].instruction];
	order_sort(o);
	for (size_t i = 0; i < o->count; i++)
		o->numbers[i] = rows[i].launch;
	order_sort(o);
}

int stall_rows_sort(const struct profile_reader *r, struct stalls_row *rows, size_t count)
{
	struct stalls_row *copy = calloc(count + 1, sizeof(*copy));
	uint32_t *rank = NULL;
	struct order o = {0};
	int error = copy ? order_init(&o, count) : error_memory(SUBJECT);

	error = error ?: rank_instructions(r, &rank);
	if (!error && count) {
		sort_by_number(&o, rows, rank);
		memcpy(copy, rows, count * sizeof(*rows));
		for (size_t i = 0; i < count; i++)
			rows[i] = copy[o.items[i]];
	}
	order_release(&o);
	free(copy);
	free(rank);
	return error;
}
