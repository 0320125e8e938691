// SPDX-License-Identifier: MIT
#include "view/stall_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "view/order.h"

static int short_of_memory(void)
{
	return error_set(-ENOMEM, "not enough memory for the instruction samples");
}

void stall_rows_release(struct stall_rows *t)
{
	free(t->index);
	*t = (struct stall_rows){0};
}

/* Where the row is, or would be. */
static size_t slot_of(const struct stall_rows *t, const struct stalls *s, const struct stalls_row *row)
{
	size_t i = hash_combine((uint64_t)row->launch << 32 | row->instruction, row->reason) & t->mask;

	for (; t->index[i]; i = (i + 1) & t->mask) {
		const struct stalls_row *r = &s->rows.items[t->index[i] - 1];

		if (r->instruction == row->instruction && r->launch == row->launch && r->reason == row->reason)
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
		return short_of_memory();
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
	struct stalls_row *known;
	size_t slot;

	if (!t->index || (s->rows.count + 1) * 2 > t->mask) {
		int error = grow(t, s);

		if (error)
			return error;
	}
	slot = slot_of(t, s, row);
	if (!t->index[slot]) {
		if (vec_push(&s->rows, *row))
			return short_of_memory();
		t->index[slot] = (uint32_t)s->rows.count;
		return 0;
	}
	known = &s->rows.items[t->index[slot] - 1];
	known->samples += row->samples;
	known->latency += row->latency;
	return 0;
}

/* Allocates, by id, the place of each instruction among all by function and offset. */
static int rank_instructions(const struct profile_reader *r, uint32_t **ret)
{
	size_t count = (size_t)profile_counts(r).instructions + 1;
	uint32_t *rank = calloc(count, sizeof(*rank));
	struct order o = {0};
	int error = rank ? order_init(&o, count) : short_of_memory();

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
	int error = copy ? order_init(&o, count) : short_of_memory();

	if (!error)
		error = rank_instructions(r, &rank);
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

static int compare_kernels(const void *a, const void *b)
{
	const struct stalls_kernel *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int add_kernels(const struct stalls *s, struct stalls_kernels *k, struct map *places)
{
	vec_foreach (l, &s->launches) {
		const uint64_t *known = map_get(places, l->kernel);
		struct stalls_kernel *kernel;

		if (!known && (map_put(places, l->kernel, k->kernels.count) ||
				      vec_push(&k->kernels, (struct stalls_kernel){.name = l->kernel})))
			return short_of_memory();
		kernel = &k->kernels.items[known ? *known : k->kernels.count - 1];
		kernel->works += l->works;
		kernel->time_ns += l->time_ns;
		kernel->unsampled_ns += l->row_count ? 0 : l->time_ns;
		kernel->samples += l->samples;
		kernel->latency += l->latency;
		kernel->apportioned += l->apportioned;
	}
	if (k->kernels.count)
		qsort(k->kernels.items, k->kernels.count, sizeof(*k->kernels.items), compare_kernels);
	for (size_t i = 0; i < k->kernels.count; i++)
		if (map_put(places, k->kernels.items[i].name, i))
			return short_of_memory();
	return 0;
}

static int copy_rows(const struct stalls *s, struct stalls_kernels *k, const struct map *places)
{
	if (vec_reserve(&k->rows, s->rows.count))
		return short_of_memory();
	vec_foreach (row, &s->rows) {
		struct stalls_row *copy = &k->rows.items[k->rows.count++];

		*copy = *row;
		copy->launch = (uint32_t)*map_get(places, s->launches.items[row->launch].kernel);
	}
	return stall_rows_sort(s->reader, k->rows.items, k->rows.count);
}

static bool is_same_row(const struct stalls_row *a, const struct stalls_row *b)
{
	return a->launch == b->launch && a->instruction == b->instruction && a->reason == b->reason;
}

/* Rows of several launches become one; kernels learn where theirs are. */
static void merge_rows(const struct stalls *s, struct stalls_kernels *k)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->rows.count; i++) {
		const struct stalls_row *row = &k->rows.items[i];
		struct stalls_kernel *kernel = &k->kernels.items[row->launch];

		if (stall_is_issuing(&s->reasons.items[row->reason].vendor))
			kernel->issuing += row->samples;
		if (kept && is_same_row(&k->rows.items[kept - 1], row)) {
			k->rows.items[kept - 1].samples += row->samples;
			k->rows.items[kept - 1].latency += row->latency;
			k->rows.items[kept - 1].time_ns += row->time_ns;
			continue;
		}
		if (!kernel->row_count++)
			kernel->first_row = kept;
		k->rows.items[kept++] = *row;
	}
	k->rows.count = kept;
}

int stalls_by_kernel(const struct stalls *s, struct stalls_kernels *ret)
{
	struct map places = MAP_INIT; /* name -> kernel */
	int error;

	*ret = (struct stalls_kernels){0};
	error = add_kernels(s, ret, &places);
	if (!error)
		error = copy_rows(s, ret, &places);
	if (!error)
		merge_rows(s, ret);
	map_release(&places);
	return error;
}

void stalls_kernels_release(struct stalls_kernels *k)
{
	vec_release(&k->kernels);
	vec_release(&k->rows);
	*k = (struct stalls_kernels){0};
}
