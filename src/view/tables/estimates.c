// SPDX-License-Identifier: MIT
#include "view/tables/estimates.h"

#include <errno.h>
#include <stdlib.h>

void estimates_release(struct estimates *e)
{
	vec_foreach (row, &e->rows) {
		spread_release(&row->time);
		spread_release(&row->count);
	}
	map_release(&e->index);
	vec_release(&e->rows);
}

static uint64_t key_of(enum estimate_of of, uint64_t key)
{
	return key << 3 | of;
}

/* NULL: there is no memory for it. */
static struct estimate *row_of(struct estimates *e, uint64_t key)
{
	const uint64_t *found = map_get(&e->index, key);

	if (found)
		return &e->rows.items[*found];
	if (vec_push(&e->rows, (struct estimate){0}) || map_put(&e->index, key, e->rows.count - 1))
		return NULL;
	return &e->rows.items[e->rows.count - 1];
}

int estimates_add(
	struct estimates *e, enum estimate_of of, uint64_t key, const struct estimate_part *part)
{
	struct estimate *row = row_of(e, key_of(of, key));

	if (!row)
		return -ENOMEM;
	if (spread_add(
		    &row->time, e->bursts, part->burst, (double)part->duration_ns * part->weight))
		return -ENOMEM;
	row->seen_ns += part->duration_ns;
	if (part->continued)
		return 0;
	if (spread_add(&row->count, e->bursts, part->burst, part->weight))
		return -ENOMEM;
	row->others += (double)part->others * part->weight;
	row->seen_count++;
	return 0;
}

const struct estimate *estimates_find(const struct estimates *e, enum estimate_of of, uint64_t key)
{
	const uint64_t *found = map_get(&e->index, key_of(of, key));

	return found ? &e->rows.items[*found] : NULL;
}

struct spread_range estimate_time(const struct estimates *e, const struct estimate *of)
{
	return spread_range(&of->time, e->bursts, of->seen_ns);
}

struct spread_range estimate_count(const struct estimates *e, const struct estimate *of)
{
	return spread_range(&of->count, e->bursts, of->seen_count);
}
