// SPDX-License-Identifier: MIT
/*
 * Deeds lie in one ring, in the order of the file. That is the order of their ends, with few
 * exceptions, which count for less than they were. Each deed has the number of the one before of
 * the same thread: a thread's deeds are walked from the latest back.
 */
#include "view/waits/meanwhile.h"

#include <errno.h>
#include <stdlib.h>

/* A wait, or a CPU sample. */
struct deed {
	uint64_t start_ns, end_ns; /* of a sample: both its time */
	union {
		uint64_t ready_ns;  /* of a wait: from then on it was in the run queue */
		uint64_t period_ns; /* of a sample: how long it stands for */
	};
	uint64_t before; /* the thread's one before, as far as it is there; 0: none */
	uint32_t thread, stack;
	uint32_t waker;
	uint16_t reason; /* 0: a sample */
	bool open;	 /* nobody was seen to end the wait, but somebody may have */
};

_Static_assert(sizeof(struct deed) == 48, "as meanwhile.h says");

/* Of one wait. */
struct following {
	struct meanwhile *m;
	uint32_t row, waiter;
	unsigned int steps;
};

void meanwhile_release(struct meanwhile *m)
{
	free(m->deeds);
	m->deeds = NULL;
	vec_release(&m->last);
	wait_shares_release(&m->doings);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ------------------------------------------------------------------ what is kept */

static int add_deed(struct meanwhile *m, const struct deed *deed)
{
	struct deed *d;

	if (!m->deeds)
		m->deeds = calloc(MEANWHILE_DEEDS, sizeof(*m->deeds));
	if (!m->deeds)
		return -ENOMEM;
	while (m->last.count <= deed->thread)
		if (vec_push(&m->last, 0))
			return -ENOMEM;
	d = &m->deeds[++m->count % MEANWHILE_DEEDS];
	*d = *deed;
	d->before = m->last.items[deed->thread];
	m->last.items[deed->thread] = m->count;
	return 0;
}

/* NULL: there was none, or it was overwritten. */
static const struct deed *deed_at(const struct meanwhile *m, uint64_t number)
{
	return number && m->count - number < MEANWHILE_DEEDS ? &m->deeds[number % MEANWHILE_DEEDS]
							     : NULL;
}

static const struct deed *last_deed(const struct meanwhile *m, uint32_t thread)
{
	return thread < m->last.count ? deed_at(m, m->last.items[thread]) : NULL;
}

/* When it was woken; false: its times are not sound. */
static bool wait_ready(const struct profile_wait *w, uint64_t *ret_ns)
{
	return w->queued_ns <= w->duration_ns &&
	       !__builtin_add_overflow(w->start_ns, w->duration_ns - w->queued_ns, ret_ns);
}

int meanwhile_add_wait(struct meanwhile *m, const struct profile_wait *w, bool watched)
{
	struct deed d = {.start_ns = w->start_ns,
		.thread = w->thread,
		.stack = w->stack,
		.waker = w->waker,
		.reason = (uint16_t)w->reason,
		.open = !watched && (w->reason == WAIT_LOCK || w->reason == WAIT_PROCESS)};

	if (!w->duration_ns || !wait_ready(w, &d.ready_ns) ||
		__builtin_add_overflow(w->start_ns, w->duration_ns, &d.end_ns))
		return 0;
	return add_deed(m, &d);
}

int meanwhile_add_sample(struct meanwhile *m, const struct profile_sample *e)
{
	struct deed d = {.start_ns = e->time_ns,
		.end_ns = e->time_ns,
		.period_ns = e->period_ns,
		.thread = e->thread,
		.stack = e->stack};

	return add_deed(m, &d);
}

/* ------------------------------------------------------------------ following */

static int add_doing(struct following *f, const struct deed *d, uint32_t reason, uint64_t ns)
{
	const struct wait_share doing = {.row = f->row,
		.thread = d->thread,
		.reason = reason,
		.stack = d->stack,
		.count = 1,
		.total_ns = ns};

	return ns && f->m->doings.items.count < MEANWHILE_MAX
		       ? wait_shares_add(&f->m->doings, &doing)
		       : 0;
}

static int follow(
	struct following *f, uint32_t thread, uint64_t from_ns, uint64_t until_ns, int depth);

/* A wait, up to a time that becomes its beginning. */
static int follow_wait(
	struct following *f, const struct deed *d, uint64_t from_ns, uint64_t *until_ns, int depth)
{
	uint64_t start_ns = later(d->start_ns, from_ns), end_ns = earlier(d->end_ns, *until_ns);
	uint64_t ready_ns = later(earlier(d->ready_ns, end_ns), start_ns);
	int error;

	if (start_ns >= end_ns)
		return 0;
	*until_ns = start_ns;
	error = add_doing(f, d, WAIT_RUN_QUEUE, end_ns - ready_ns);
	if (error || ready_ns == start_ns)
		return error;
	if (!d->waker)
		return d->open ? 0 : add_doing(f, d, d->reason, ready_ns - start_ns);
	if (d->waker == f->waiter || depth == MEANWHILE_DEPTH)
		return 0;
	return follow(f, d->waker, start_ns, ready_ns, depth + 1);
}

/* A sample stands for its period, as far as there is so much time since what the thread did
 * before. */
static int follow_sample(
	struct following *f, const struct deed *d, uint64_t before_ns, uint64_t *until_ns)
{
	uint64_t ns;

	if (d->end_ns > *until_ns || before_ns >= *until_ns)
		return 0;
	ns = earlier(d->period_ns, *until_ns - before_ns);
	*until_ns -= ns;
	return add_doing(f, d, 0, ns);
}

/* What a thread did in a stretch of time: from its end back. */
static int follow(
	struct following *f, uint32_t thread, uint64_t from_ns, uint64_t until_ns, int depth)
{
	const struct deed *d = last_deed(f->m, thread);
	int error = 0;

	while (!error && d && d->end_ns > from_ns && until_ns > from_ns &&
		f->steps < MEANWHILE_STEPS_OF_ONE) {
		const struct deed *before = deed_at(f->m, d->before);

		f->steps++;
		if (d->reason)
			error = follow_wait(f, d, from_ns, &until_ns, depth);
		else
			error = follow_sample(
				f, d, later(before ? before->end_ns : 0, from_ns), &until_ns);
		d = before;
	}
	return error;
}

int meanwhile_follow(
	struct meanwhile *m, const struct profile_wait *w, uint32_t row, uint64_t *ret_ns)
{
	struct following f = {.m = m, .row = row, .waiter = w->thread};
	uint64_t ready_ns;
	int error;

	*ret_ns = 0;
	if (!w->waker || w->waker == w->thread || !wait_ready(w, &ready_ns))
		return 0;
	if (m->steps > MEANWHILE_STEPS + m->count / MEANWHILE_DEEDS_A_STEP)
		return 0;
	*ret_ns = ready_ns - w->start_ns;
	error = follow(&f, w->waker, w->start_ns, ready_ns, 0);
	m->steps += f.steps;
	return error;
}
