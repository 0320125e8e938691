// SPDX-License-Identifier: MIT
#include "report/table.h"

#include <string.h>

uint64_t report_gpu_ns(const struct report *r)
{
	return r->summary->gpu_ns;
}

uint64_t report_cpu_ns(const struct report *r)
{
	return r->summary->cpu_ns;
}

uint64_t report_elapsed_ns(const struct report *r)
{
	return r->elapsed_ns;
}

bool report_is_estimated(const struct report *r)
{
	return r->summary->estimated;
}

bool column_is_in(const struct report *r, const struct column *c)
{
	return c->when == COLUMN_ALWAYS || (c->when == COLUMN_ESTIMATED) == r->summary->estimated;
}

uint64_t column_number(const struct column *c, const void *row)
{
	const void *at = (const char *)row + c->at;

	if (c->kind == COLUMN_PERCENTILE)
		return histogram_percentile(at, c->percent);
	switch (c->size) {
	case sizeof(uint8_t):
		return *(const uint8_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

uint64_t column_samples(const struct column *c, const void *row)
{
	return *(const uint64_t *)((const char *)row + c->of);
}

const struct spread_range *column_range(const struct column *c, const void *row)
{
	return (const void *)((const char *)row + c->at);
}

uint64_t column_divisor(const struct report *r, const struct column *c, const void *row)
{
	return c->whole ? c->whole(r) : column_samples(c, row);
}

/* Any vec. */
struct list {
	const void *items;
	size_t count;
};

static struct list list_of(const struct report *r, const struct table *t)
{
	const char *owner;
	struct list list;

	memcpy(&owner, (const char *)r + t->owner, sizeof(owner));
	memcpy(&list, owner + t->list, sizeof(list));
	return list;
}

size_t table_row_count(const struct report *r, const struct table *t)
{
	return list_of(r, t).count;
}

const void *table_row(const struct report *r, const struct table *t, size_t n)
{
	const void *row = (const char *)list_of(r, t).items + n * t->row_size;

	return t->pointers ? *(const void *const *)row : row;
}

size_t table_rows_shown(const struct report *r, const struct table *t, size_t count)
{
	return t->all ? count : report_rows_shown(r, count);
}
