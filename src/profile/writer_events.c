// SPDX-License-Identifier: MIT
/*
 * Events are written as they come, one after another, each after a check that what it refers to is
 * there.
 */
#include "profile/writer_internal.h"

/* Makes room for one more event. */
static int reserve_event(struct profile_writer *w)
{
	if (w->error)
		return profile_writer_fail_sticky(w);
	return w->events_used + EVENT_MAX_BYTES <= w->chunk_bytes ? 0
								  : profile_writer_push_events(w);
}

static void event_written(struct profile_writer *w, const uint8_t *end)
{
	w->events_used = (size_t)(end - w->events);
}

int profile_write_sample(struct profile_writer *w, const struct profile_sample *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!sample_is_valid(s, w->counts))
		return profile_writer_fail_invalid(w, "sample");
	event_written(w, event_encode_sample(&w->coder, s, w->events + w->events_used));
	w->totals.samples++;
	w->totals.stacks += s->stack != 0;
	w->totals.cpu_ns += s->period_ns;
	return cpu_times_add_period(&w->accounts, s->thread, s->period_ns)
		       ? profile_writer_fail_memory(w)
		       : 0;
}

int profile_add_account(
	struct profile_writer *w, uint32_t thread, const struct profile_account *account)
{
	if (w->error)
		return profile_writer_fail_sticky(w);
	if (!thread || thread > w->counts[TABLE_THREADS] || account->kernel_ns > account->run_ns)
		return profile_writer_fail_invalid(w, "CPU time");
	w->totals.account_ns += account->run_ns;
	return cpu_times_add(&w->accounts, thread, account) ? profile_writer_fail_memory(w) : 0;
}

int profile_write_call(struct profile_writer *w, const struct profile_call *c)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!call_is_valid(c, w->counts))
		return profile_writer_fail_invalid(w, "call");
	event_written(w, event_encode_call(&w->coder, c, w->events + w->events_used));
	w->totals.calls++;
	w->totals.stacks += c->stack != 0;
	return 0;
}

int profile_write_work(struct profile_writer *w, const struct profile_work *work)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!work_is_valid(work, w->counts))
		return profile_writer_fail_invalid(w, "work");
	event_written(w, event_encode_work(&w->coder, work, w->events + w->events_used));
	w->totals.works++;
	w->totals.gpu_ns += work->duration_ns;
	w->totals.works_without_stack += !work->stack;
	w->totals.join_by_reason[work->join]++;
	return 0;
}

int profile_write_pending(struct profile_writer *w, const struct profile_pending *p)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!pending_is_valid(p, w->counts))
		return profile_writer_fail_invalid(w, "pending call");
	event_written(w, event_encode_pending(&w->coder, p, w->events + w->events_used));
	w->totals.pendings++;
	w->totals.pending_by_reason[p->reason]++;
	return 0;
}

int profile_write_stall(struct profile_writer *w, const struct profile_stall *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!stall_is_valid(s, w->counts))
		return profile_writer_fail_invalid(w, "instruction sample");
	event_written(w, event_encode_stall(&w->coder, s, w->events + w->events_used));
	w->totals.stalls++;
	w->totals.stall_samples += s->samples;
	return 0;
}

int profile_write_count(struct profile_writer *w, const struct profile_count *c)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!count_is_valid(c, w->counts))
		return profile_writer_fail_invalid(w, "sample of a counter");
	event_written(w, event_encode_count(&w->coder, c, w->events + w->events_used));
	w->totals.counts++;
	return 0;
}

int profile_write_driver(struct profile_writer *w, const struct profile_driver *d)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!driver_is_valid(d, w->counts))
		return profile_writer_fail_invalid(w, "event of a driver");
	event_written(w, event_encode_driver(&w->coder, d, w->events + w->events_used));
	w->totals.drivers++;
	return 0;
}

int profile_write_wait(struct profile_writer *w, const struct profile_wait *wait)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!wait_is_valid(wait, w->counts))
		return profile_writer_fail_invalid(w, "wait");
	event_written(w, event_encode_wait(&w->coder, wait, w->events + w->events_used));
	w->totals.waits++;
	w->totals.stacks += wait->stack && wait->duration_ns && !wait->assumed;
	return 0;
}

int profile_write_life(struct profile_writer *w, const struct profile_life *l)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!life_is_valid(l, w->counts))
		return profile_writer_fail_invalid(w, "life");
	event_written(w, event_encode_life(&w->coder, l, w->events + w->events_used));
	w->totals.lives++;
	return 0;
}

int profile_write_sync(struct profile_writer *w, const struct profile_sync *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!sync_is_valid(s, w->counts))
		return profile_writer_fail_invalid(w, "sync");
	event_written(w, event_encode_sync(&w->coder, s, w->events + w->events_used));
	w->totals.syncs++;
	return 0;
}

int profile_write_marker(struct profile_writer *w, const struct profile_marker *m)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!marker_is_valid(m, w->counts))
		return profile_writer_fail_invalid(w, "marker");
	event_written(w, event_encode_marker(&w->coder, m, w->events + w->events_used));
	w->totals.markers++;
	return 0;
}

int profile_write_found(struct profile_writer *w, const struct profile_found *f)
{
	int error = reserve_event(w);

	if (!error && f->size > FOUND_MAX_BYTES)
		return profile_writer_fail_invalid(w, "finding");
	if (!error && w->events_used + EVENT_MAX_BYTES + f->size > EVENTS_BYTES)
		error = profile_writer_push_events(w);
	if (error)
		return error;
	if (!found_is_valid(f, w->counts))
		return profile_writer_fail_invalid(w, "finding");
	event_written(w, event_encode_found(&w->coder, f, w->events + w->events_used));
	w->totals.founds++;
	return 0;
}
