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

static int add(const struct estimates *e, struct spread *to, const struct estimate_part *part,
	double amount)
{
	return part->sort ? spread_add_draw(to, part->sort, part->weight, amount)
			  : spread_add(to, e->bursts, part->burst, amount);
}

int estimates_add(
	struct estimates *e, enum estimate_of of, uint64_t key, const struct estimate_part *part)
{
	struct estimate *row = row_of(e, key_of(of, key));

	if (!row)
		return -ENOMEM;
	if (add(e, &row->time, part, (double)part->duration_ns * part->weight))
		return -ENOMEM;
	row->seen_ns += part->duration_ns;
	if (part->continued)
		return 0;
	if (add(e, &row->count, part, part->weight))
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

/* All works are in this row. */
static const struct spread *whole(const struct estimates *e)
{
	const struct estimate *all = estimates_find(e, ESTIMATE_WORK, 0);

	return all ? &all->time : NULL;
}

struct spread_range estimate_time(const struct estimates *e, const struct estimate *of)
{
	return spread_range(&of->time, e->bursts, whole(e), of->seen_ns);
}

struct spread_range estimate_count(const struct estimates *e, const struct estimate *of)
{
	return spread_range(&of->count, e->bursts, whole(e), of->seen_count);
}
