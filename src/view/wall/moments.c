// SPDX-License-Identifier: MIT
/*
 * A moment is its distance to the one before, its key, and its amount, as varints. When the marks
 * take too much memory, every other one goes.
 */
#include "view/wall/moments.h"

#include <string.h>

#include "base/search.h"
#include "profile/varint.h"

#define EVERY	     ((uint64_t)1 << 12)
#define MARKED_BYTES ((size_t)16 << 20)
#define GOING_MIN    64

void moments_release(struct moments *m)
{
	vec_release(&m->text);
	vec_release(&m->sums);
	vec_release(&m->going);
	vec_release(&m->marks);
	vec_release(&m->marked_sums);
	vec_release(&m->marked_going);
	*m = (struct moments){0};
}

static size_t marked_bytes(const struct moments *m)
{
	return m->marked_sums.count * sizeof(*m->marked_sums.items) +
	       m->marked_going.count * sizeof(*m->marked_going.items);
}

size_t moments_bytes(const struct moments *m)
{
	return m->text.count + m->marks.count * sizeof(*m->marks.items) + marked_bytes(m) +
	       m->sums.count * sizeof(*m->sums.items);
}

/* ------------------------------------------------------------------ marks */

static void drop_ended(struct moment_goings *going, uint64_t time_ns)
{
	size_t kept = 0;

	vec_foreach (g, going)
		if (g->end_ns > time_ns)
			going->items[kept++] = *g;
	going->count = kept;
}

static void drop_every_other_mark(struct moments *m)
{
	size_t kept = 0, sums = 0, going = 0;

	for (size_t i = 1; i < m->marks.count; i += 2) {
		struct moment_mark mark = m->marks.items[i];

		memmove(m->marked_sums.items + sums, m->marked_sums.items + mark.first_sum,
			mark.sum_count * sizeof(*m->marked_sums.items));
		if (mark.going_count)
			memmove(m->marked_going.items + going,
				m->marked_going.items + mark.first_going,
				mark.going_count * sizeof(*m->marked_going.items));
		mark.first_sum = sums;
		mark.first_going = going;
		sums += mark.sum_count;
		going += mark.going_count;
		m->marks.items[kept++] = mark;
	}
	m->marks.count = kept;
	m->marked_sums.count = sums;
	m->marked_going.count = going;
	m->every *= 2;
}

static int put_mark(struct moments *m)
{
	const struct moment_mark mark = {m->last_ns, m->text.count, m->marked_sums.count,
		m->sums.count, m->marked_going.count, m->going.count};

	if (vec_reserve(&m->marked_sums, m->sums.count) ||
		vec_reserve(&m->marked_going, m->going.count) || vec_push(&m->marks, mark))
		return -ENOMEM;
	memcpy(m->marked_sums.items + mark.first_sum, m->sums.items,
		m->sums.count * sizeof(*m->sums.items));
	if (mark.going_count)
		memcpy(m->marked_going.items + mark.first_going, m->going.items,
			m->going.count * sizeof(*m->going.items));
	m->marked_sums.count += m->sums.count;
	m->marked_going.count += m->going.count;
	return 0;
}

static int add_mark(struct moments *m)
{
	size_t bytes;

	m->since = 0;
	drop_ended(&m->going, m->last_ns);
	bytes = m->sums.count * sizeof(*m->sums.items) + m->going.count * sizeof(*m->going.items);
	while (m->marks.count && marked_bytes(m) + bytes > MARKED_BYTES)
		drop_every_other_mark(m);
	return bytes > MARKED_BYTES ? 0 : put_mark(m);
}

/* ------------------------------------------------------------------ moments */

static int add_to_sum(struct moment_sums *sums, uint32_t key, uint64_t amount)
{
	while (sums->count <= key)
		if (vec_push(sums, 0))
			return -ENOMEM;
	sums->items[key] += amount;
	return 0;
}

static int add_going(struct moments *m, const struct moment *added)
{
	const struct moment_going g = {added->begin_ns + added->amount, added->key};

	if (m->going.count > m->going_max) {
		drop_ended(&m->going, m->last_ns);
		m->going_max = 2 * m->going.count + GOING_MIN;
	}
	return vec_push(&m->going, g);
}

static int put(struct moments *m, const struct moment *added)
{
	uint8_t *p;

	if (vec_reserve(&m->text, 3 * VARINT_MAX_BYTES))
		return -ENOMEM;
	p = m->text.items + m->text.count;
	p = varint_put(p, added->begin_ns - m->last_ns);
	p = varint_put(p, (uint64_t)added->key << 1 | added->is_time);
	p = varint_put(p, added->amount);
	m->text.count = (size_t)(p - m->text.items);
	m->last_ns = added->begin_ns;
	return 0;
}

int moments_add(struct moments *m, const struct moment *added)
{
	if (put(m, added) || add_to_sum(&m->sums, added->key, added->amount) ||
		(added->is_time && add_going(m, added)))
		return -ENOMEM;
	if (!m->every)
		m->every = EVERY;
	return ++m->since < m->every ? 0 : add_mark(m);
}

/* ------------------------------------------------------------------ looks */

void moments_look_release(struct moments_look *l)
{
	vec_release(&l->sums);
	vec_release(&l->going);
	*l = (struct moments_look){0};
}

/* Of the last mark before a time, if that is further on. */
static int go_to_mark(struct moments_look *l, const struct moments *m, uint64_t time_ns)
{
	size_t n = search_first(i, 0, m->marks.count, m->marks.items[i].time_ns >= time_ns);
	const struct moment_mark *mark = n ? &m->marks.items[n - 1] : NULL;

	if (!mark || mark->at <= l->at)
		return 0;
	l->sums.count = l->going.count = 0;
	if (vec_reserve(&l->sums, mark->sum_count) || vec_reserve(&l->going, mark->going_count))
		return -ENOMEM;
	memcpy(l->sums.items, m->marked_sums.items + mark->first_sum,
		mark->sum_count * sizeof(*l->sums.items));
	if (mark->going_count)
		memcpy(l->going.items, m->marked_going.items + mark->first_going,
			mark->going_count * sizeof(*l->going.items));
	l->sums.count = mark->sum_count;
	l->going.count = mark->going_count;
	l->last_ns = mark->time_ns;
	l->at = mark->at;
	return 0;
}

static int take_in(struct moments_look *l, const struct moment *m, uint64_t time_ns)
{
	const struct moment_going g = {m->begin_ns + m->amount, m->key};

	if (add_to_sum(&l->sums, m->key, m->amount))
		return -ENOMEM;
	return m->is_time && g.end_ns > time_ns ? vec_push(&l->going, g) : 0;
}

static int take_in_until(struct moments_look *l, const struct moments *m, uint64_t time_ns)
{
	const uint8_t *p = m->text.items + l->at, *end = m->text.items + m->text.count;
	int error = 0;

	while (!error && p < end) {
		struct moment next = {.begin_ns = l->last_ns + varint_get(&p)};
		uint64_t key;

		if (next.begin_ns >= time_ns)
			break;
		key = varint_get(&p);
		next.key = (uint32_t)(key >> 1);
		next.is_time = key & 1;
		next.amount = varint_get(&p);
		error = take_in(l, &next, time_ns);
		l->last_ns = next.begin_ns;
		l->at = (size_t)(p - m->text.items);
	}
	return error;
}

int moments_look_until(struct moments_look *l, const struct moments *m, uint64_t time_ns)
{
	int error;

	vec_foreach (g, &l->going)
		l->sums.items[g->key] += g->end_ns - l->time_ns;
	error = go_to_mark(l, m, time_ns) ?: take_in_until(l, m, time_ns);
	drop_ended(&l->going, time_ns);
	vec_foreach (g, &l->going)
		l->sums.items[g->key] -= g->end_ns - time_ns;
	l->time_ns = time_ns;
	return error;
}
