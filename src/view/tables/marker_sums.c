// SPDX-License-Identifier: MIT
#include "view/tables/marker_sums.h"

#include <errno.h>
#include <stdlib.h>

/* The row of a marker; NULL: there is no room for one more. 0 or -ENOMEM. */
static int find_row(struct marker_sums *s, const struct profile_marker *m, struct marker_row **ret)
{
	uint64_t key = (uint64_t)m->domain << 32 | m->name, *index = map_get(&s->index, key);

	*ret = index ? &s->rows.items[*index] : NULL;
	if (index || s->rows.count == MARKER_ROWS_MAX)
		return 0;
	if (map_put(&s->index, key, s->rows.count) ||
		vec_push(&s->rows, (struct marker_row){.name = m->name, .domain = m->domain}))
		return -ENOMEM;
	*ret = &s->rows.items[s->rows.count - 1];
	return 0;
}

int marker_sums_add(struct marker_sums *s, const struct profile_marker *m)
{
	struct marker_row *row;
	int error = find_row(s, m, &row);

	if (error)
		return error;
	if (!row) {
		s->uncounted += !m->cut.continued;
		return 0;
	}
	row->count += !m->cut.continued;
	row->max_ns = m->duration_ns > row->max_ns ? m->duration_ns : row->max_ns;
	return __builtin_add_overflow(row->total_ns, m->duration_ns, &row->total_ns) ? -EOVERFLOW
										     : 0;
}

static int by_time(const void *left, const void *right)
{
	const struct marker_row *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->domain < b->domain ? -1 : a->domain > b->domain;
}

void marker_sums_finish(struct marker_sums *s)
{
	map_release(&s->index);
	if (s->rows.count)
		qsort(s->rows.items, s->rows.count, sizeof(*s->rows.items), by_time);
}

void marker_sums_release(struct marker_sums *s)
{
	map_release(&s->index);
	vec_release(&s->rows);
}
