// SPDX-License-Identifier: MIT
#include "view/tables/metric_sums.h"

int metric_sums_add(struct metric_sums *s, const struct profile_count *c)
{
	struct metric_row *row;

	if (c->device)
		return 0;
	for (uint32_t id = (uint32_t)s->rows.count; id <= c->counter; id++)
		if (vec_push(&s->rows, (struct metric_row){.counter = id}))
			return -ENOMEM;
	row = &s->rows.items[c->counter];
	row->min = row->count && row->min < c->value ? row->min : c->value;
	row->max = row->count && row->max > c->value ? row->max : c->value;
	row->count++;
	row->total_ns += c->duration_ns;
	row->weighted += c->value * (double)c->duration_ns;
	return 0;
}

void metric_sums_finish(struct metric_sums *s)
{
	size_t kept = 0;

	vec_foreach (row, &s->rows)
		if (row->count)
			s->rows.items[kept++] = *row;
	s->rows.count = kept;
}

void metric_sums_release(struct metric_sums *s)
{
	vec_release(&s->rows);
}

double metric_average(const struct metric_row *row)
{
	return row->total_ns ? row->weighted / (double)row->total_ns : row->max;
}
