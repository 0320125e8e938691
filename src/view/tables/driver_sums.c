// SPDX-License-Identifier: MIT
/* Rows are found by a hash of their key; where two collide, the next slot is tried. */
#include "view/tables/driver_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

static bool is_of_ring(const struct driver_ring *r, const struct profile_driver *e)
{
	return r->source == e->source && r->ring == e->ring;
}

static bool is_of_row(const struct driver_row *r, const struct profile_driver *e)
{
	return r->source == e->source && r->ring == e->ring && r->name == e->name &&
	       r->kind == e->kind;
}

static uint64_t hash_of_ring(const struct profile_driver *e)
{
	return hash_u64((uint64_t)e->source << 32 | e->ring);
}

static uint64_t hash_of_row(const struct profile_driver *e)
{
	return hash_combine(hash_of_ring(e), (uint64_t)e->name << 32 | e->kind);
}

/* The row of an event, new when there was none: 0, with NULL when there is no room for one more; or
 * -ENOMEM. */
#define find_row(rows, index, hash, is_of, e, ret)                                                 \
	({                                                                                         \
		typeof(*(rows)->items) row_ = NULL;                                                \
		uint64_t key_ = (hash), *at_;                                                      \
		int error_ = 0;                                                                    \
		while ((at_ = map_get((index), key_)) && !is_of((rows)->items[*at_], (e)))         \
			key_++;                                                                    \
		if (at_)                                                                           \
			row_ = (rows)->items[*at_];                                                \
		else if ((rows)->count < DRIVER_ROWS_MAX) {                                        \
			row_ = calloc(1, sizeof(*row_));                                           \
			if (!row_ || map_put((index), key_, (rows)->count) ||                      \
				vec_push((rows), row_)) {                                          \
				free(row_);                                                        \
				row_ = NULL;                                                       \
				error_ = -ENOMEM;                                                  \
			}                                                                          \
		}                                                                                  \
		*(ret) = row_;                                                                     \
		error_;                                                                            \
	})

static int add_total(uint64_t *total, uint64_t more)
{
	return __builtin_add_overflow(*total, more, total) ? -EOVERFLOW : 0;
}

static int add_run(struct driver_ring *r, const struct profile_driver *e)
{
	r->jobs += !e->cut.continued;
	r->run_ns += e->duration_ns;
	r->foreign_jobs += e->foreign && !e->cut.continued;
	r->foreign_ns += e->foreign ? e->duration_ns : 0;
	if (!e->unfinished && !e->cut.continued)
		histogram_add(&r->run, e->duration_ns);
	return busy_add(&r->busy, e->start_ns, e->start_ns + e->duration_ns);
}

static int add_to_ring(struct driver_sums *s, const struct profile_driver *e)
{
	struct driver_ring *r;
	int error = find_row(&s->rings, &s->ring_of, hash_of_ring(e), is_of_ring, e, &r);

	if (error || !r) {
		s->uncounted += !error;
		return error;
	}
	r->source = e->source;
	r->ring = e->ring;
	r->unfinished += e->unfinished && !e->cut.continued;
	if (e->kind == DRIVER_RUN)
		return add_run(r, e);
	if (!e->unfinished && !e->cut.continued)
		histogram_add(&r->queued, e->duration_ns);
	return 0;
}

static int add_to_row(struct driver_sums *s, const struct profile_driver *e)
{
	struct driver_row *r;
	int error = find_row(&s->rows, &s->row_of, hash_of_row(e), is_of_row, e, &r);

	if (error || !r) {
		s->uncounted += !error;
		return error;
	}
	r->source = e->source;
	r->ring = e->ring;
	r->name = e->name;
	r->kind = e->kind;
	r->count += !e->cut.continued;
	r->foreign += e->foreign && !e->cut.continued;
	r->unfinished += e->unfinished && !e->cut.continued;
	r->bytes += e->bytes;
	r->total_ns += e->duration_ns;
	if (e->kind != DRIVER_MOMENT && !e->unfinished && !e->cut.continued)
		histogram_add(&r->times, e->duration_ns);
	return 0;
}

int driver_sums_add(struct driver_sums *s, const struct profile_driver *e)
{
	int error = add_total(&s->total_ns, e->duration_ns);

	error = error ?: add_total(&s->bytes, e->bytes);
	if (error)
		return error;
	s->count += !e->cut.continued;
	return e->kind == DRIVER_RUN || e->kind == DRIVER_QUEUED ? add_to_ring(s, e)
								 : add_to_row(s, e);
}

static int order(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_run_time(const void *left, const void *right)
{
	const struct driver_ring *a = *(struct driver_ring *const *)left,
				 *b = *(struct driver_ring *const *)right;

	if (a->run_ns != b->run_ns)
		return order(a->run_ns, b->run_ns);
	return a->source != b->source ? order(b->source, a->source) : order(b->ring, a->ring);
}

static int by_time(const void *left, const void *right)
{
	const struct driver_row *a = *(struct driver_row *const *)left,
				*b = *(struct driver_row *const *)right;

	if (a->total_ns != b->total_ns)
		return order(a->total_ns, b->total_ns);
	if (a->count != b->count)
		return order(a->count, b->count);
	if (a->source != b->source)
		return order(b->source, a->source);
	return a->ring != b->ring ? order(b->ring, a->ring) : order(b->name, a->name);
}

int driver_sums_finish(struct driver_sums *s)
{
	int error = 0;

	vec_foreach (r, &s->rings)
		error = error ?: busy_total(&(*r)->busy, &(*r)->busy_ns, &(*r)->uncertain_ns);
	if (s->rings.count)
		qsort(s->rings.items, s->rings.count, sizeof(*s->rings.items), by_run_time);
	if (s->rows.count)
		qsort(s->rows.items, s->rows.count, sizeof(*s->rows.items), by_time);
	map_release(&s->ring_of);
	map_release(&s->row_of);
	return error;
}

void driver_sums_release(struct driver_sums *s)
{
	vec_foreach (r, &s->rings) {
		busy_release(&(*r)->busy);
		free(*r);
	}
	vec_foreach (r, &s->rows)
		free(*r);
	vec_release(&s->rings);
	vec_release(&s->rows);
	map_release(&s->ring_of);
	map_release(&s->row_of);
}
