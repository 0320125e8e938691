// SPDX-License-Identifier: MIT
/* The members "gpu_waits" and "waits": documented in xpuprof-report(1). */
#include "base/demangle.h"
#include "base/json_writer.h"
#include "report/report.h"
#include "report/place.h"

#define SHARES_LISTED 3 /* the largest */

static void put_thread(const struct report *r, struct json_writer *w, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r->reader, thread);

	if (!t)
		return;
	json_number(w, "process", t->process);
	json_number(w, "tid", t->tid);
	json_text(w, "thread", profile_string(r->reader, t->name, NULL));
}

/* ------------------------------------------------------------------ for GPU work */

static void put_work(const struct report *r, struct json_writer *w, const struct sync_wait *wait)
{
	static const char *const kinds[] = {[OP_KERNEL] = "kernel", [OP_COPY] = "copy", [OP_SET] = "set"};
	const struct profile_op *op = profile_op(r->reader, wait->op);
	struct buf name = BUF_INIT;

	json_text(w, "work", op ? kinds[op->kind] : NULL);
	if (op && op->kind == OP_KERNEL) {
		demangle(profile_string(r->reader, op->name, NULL), &name);
		json_text(w, "name", buf_text(&name));
		json_text(w, "linker_name", profile_string(r->reader, op->name, NULL));
	} else if (op && op->kind == OP_COPY) {
		json_text(w, "name", profile_copy_name(op->copy_kind));
	}
	w->out->failed |= name.failed;
	buf_release(&name);
}

static void put_sync_wait(const struct report *r, struct json_writer *w, const struct sync_wait *wait)
{
	json_begin(w, NULL, '{');
	put_thread(r, w, wait->thread);
	json_text(w, "api", profile_string(r->reader, wait->api, NULL));
	report_place_json(r, w, "path", wait->stack);
	put_work(r, w, wait);
	report_place_json(r, w, "launch_path", wait->launch_stack);
	json_number(w, "count", wait->count);
	json_number(w, "total_ns", wait->total_ns);
	json_number(w, "max_ns", wait->max_ns);
	json_end(w, '}');
}

void report_sync_waits_json(const struct report *r, struct json_writer *w)
{
	size_t count = r->sync_waits->waits.count;

	json_begin(w, "gpu_waits", '[');
	for (size_t i = 0; i < count && (!r->top || i < r->top); i++)
		put_sync_wait(r, w, &r->sync_waits->waits.items[i]);
	json_end(w, ']');
}

/* ------------------------------------------------------------------ for anything */

static void put_wakers(const struct report *r, struct json_writer *w, struct wait_range wakers)
{
	json_begin(w, "wakers", '[');
	for (size_t i = 0, listed = 0; i < wakers.count && listed < SHARES_LISTED; i++) {
		if (!wakers.items[i].thread)
			continue;
		json_begin(w, NULL, '{');
		put_thread(r, w, wakers.items[i].thread);
		json_number(w, "count", wakers.items[i].count);
		json_number(w, "total_ns", wakers.items[i].total_ns);
		json_end(w, '}');
		listed++;
	}
	json_end(w, ']');
}

static void put_doings(const struct report *r, struct json_writer *w, struct wait_range doings)
{
	json_begin(w, "meanwhile", '[');
	for (size_t i = 0; i < doings.count && i < SHARES_LISTED; i++) {
		const struct wait_share *s = &doings.items[i];

		json_begin(w, NULL, '{');
		put_thread(r, w, s->thread);
		json_text(w, "reason", s->reason ? profile_wait_reason_name(s->reason) : "running");
		report_place_json(r, w, "path", s->stack);
		json_number(w, "total_ns", s->total_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
}

/* Who ended the waits, where that was looked for. */
static void put_end(const struct report *r, struct json_writer *w, const struct wait_sum *wait)
{
	struct wait_range wakers = wait_shares_of(&r->summary->waits.wakers, wait->number);
	uint64_t nobody_ns = 0;

	if (!wakers.count)
		return;
	for (size_t i = 0; i < wakers.count; i++)
		nobody_ns += wakers.items[i].thread ? 0 : wakers.items[i].total_ns;
	put_wakers(r, w, wakers);
	json_number(w, "no_waker_ns", nobody_ns);
	json_number(w, "waker_not_known_ns", wait->total_ns - wait->watched_ns);
	put_doings(r, w, wait_shares_of(&r->summary->waits.meanwhile.doings, wait->number));
	json_number(w, "meanwhile_of_ns", wait->followed_ns);
}

static void put_wait(const struct report *r, struct json_writer *w, const struct wait_sum *wait)
{
	json_begin(w, NULL, '{');
	put_thread(r, w, wait->thread);
	json_text(w, "reason", profile_wait_reason_name(wait->reason));
	report_place_json(r, w, "path", wait->stack);
	json_number(w, "count", wait->count);
	json_number(w, "total_ns", wait->total_ns);
	json_number(w, "queued_ns", wait->queued_ns);
	json_number(w, "max_ns", wait->max_ns);
	put_end(r, w, wait);
	json_end(w, '}');
}

void report_waits_json(const struct report *r, struct json_writer *w)
{
	const struct wait_sums *s = &r->summary->waits;

	if (!s->rows.count)
		return;
	json_begin(w, "waits", '{');
	json_begin(w, "reasons_ns", '{');
	for (unsigned int i = 1; i < WAIT_REASONS; i++)
		json_number(w, profile_wait_reason_name(i), s->reason_ns[i]);
	json_end(w, '}');
	json_begin(w, "rows", '[');
	for (size_t i = 0; i < s->rows.count && (!r->top || i < r->top); i++)
		put_wait(r, w, &s->rows.items[i]);
	json_end(w, ']');
	json_end(w, '}');
}
