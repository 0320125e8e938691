// SPDX-License-Identifier: MIT
/* What threads waited for: which GPU work, in the calls that wait for it, and everything, where waits were recorded. */
#include <string.h>

#include "base/demangle.h"
#include "view/names/name.h"
#include "report/report.h"
#include "report/place.h"
#include "base/text.h"
#include "report/wait_rows.h"

#define MUCH	     5 /* one part in so many is worth to be named */
#define LITTLE	     100 /* and less than that says nothing */
#define WAKERS_SHOWN 2

/* ------------------------------------------------------------------ for GPU work */

static void put_work(const struct report *r, struct buf *line, const struct sync_wait *w)
{
	const struct profile_op *op = profile_op(r->reader, w->op);
	struct buf name = BUF_INIT;

	if (!op) {
		buf_puts(line, "nothing that is known");
	} else if (op->kind == OP_KERNEL) {
		demangle(profile_string(r->reader, op->name, NULL), &name);
		name_plain(line, buf_text(&name));
	} else {
		buf_printf(line, "%s", op->kind == OP_SET ? "a memory set" : "copy ");
		buf_puts(line, op->kind == OP_SET ? "" : profile_copy_name(op->copy_kind));
	}
	line->failed |= name.failed;
	buf_release(&name);
}

static void put_sync_wait(const struct report *r, struct buf *out, const struct sync_wait *w)
{
	const struct profile_thread *t = profile_thread(r->reader, w->thread);
	char total[TEXT_CELL], count[TEXT_CELL], longest[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "%10s %11s %9s  %s %u in %s", text_duration(total, w->total_ns), text_count(count, w->count),
		text_duration(longest, w->max_ns), t ? profile_string(r->reader, t->name, NULL) : "?", t ? t->tid : 0,
		profile_string(r->reader, w->api, NULL));
	report_place(r, &line, " at ", w->stack, REPORT_FUNCTIONS);
	report_line(r, out, &line);
	buf_reset(&line);
	buf_printf(&line, "%34sfor ", "");
	put_work(r, &line, w);
	report_place(r, &line, " launched at ", w->launch_stack, REPORT_FUNCTIONS);
	report_line(r, out, &line);
	buf_release(&line);
}

void report_sync_waits_text(const struct report *r, struct buf *out)
{
	size_t count = r->sync_waits->waits.count, shown = r->top && r->top < count ? r->top : count;

	if (!shown)
		return;
	buf_puts(out, "\nWaits for GPU work");
	if (shown < count)
		buf_printf(out, " (%zu of %zu)", shown, count);
	buf_printf(out, "\n%10s %11s %9s  thread and call, and what it waited for\n", "total", "count", "longest");
	for (size_t i = 0; i < shown; i++)
		put_sync_wait(r, out, &r->sync_waits->waits.items[i]);
}

/* ------------------------------------------------------------------ for anything */

/* How much time of all was waited for what, the most first. */
static void put_reasons(const struct wait_sums *s, struct buf *out)
{
	uint64_t left_ns[WAIT_REASONS];
	char cell[TEXT_CELL];

	memcpy(left_ns, s->reason_ns, sizeof(left_ns));
	for (unsigned int n = 0; n < WAIT_REASONS; n++) {
		unsigned int most = 0;

		for (unsigned int i = 1; i < WAIT_REASONS; i++)
			most = left_ns[i] > left_ns[most] ? i : most;
		if (!left_ns[most])
			break;
		buf_printf(out, "%s %s %s", n ? "," : ":", profile_wait_reason_name(most), text_duration(cell, left_ns[most]));
		left_ns[most] = 0;
	}
	buf_putc(out, '\n');
}

static void put_threads(const struct report *r, struct buf *line, const struct wait_row *w)
{
	const struct profile_thread *t = profile_thread(r->reader, w->sum.thread);
	const struct profile_process *p = t ? profile_process(r->reader, t->process) : NULL;
	const char *name = t ? profile_string(r->reader, t->name, NULL) : "?";

	if (w->thread_count > 1)
		buf_printf(line, "%s (%u threads of %u)", name, w->thread_count, p ? p->pid : 0);
	else
		buf_printf(line, "%s %u", name, t ? t->tid : 0);
}

static bool is_much(uint64_t part_ns, uint64_t ns)
{
	return part_ns && part_ns >= ns / MUCH;
}

/* With its number, if it is one. */
static void put_name(const struct report *r, struct buf *line, const struct wait_share *s)
{
	const struct profile_thread *t = profile_thread(r->reader, s->one);

	buf_puts(line, t ? profile_thread_name(r->reader, t, NULL) : "nobody recorded");
	if (t && s->threads == 1)
		buf_printf(line, " %u", t->tid);
}

/* For all that the reader is told of them. */
static bool is_same(const struct wait_share *a, const struct wait_share *b)
{
	return a->thread == b->thread && (a->threads > 1 || b->threads > 1 || a->one == b->one);
}

static void put_waker(const struct report *r, struct buf *line, const struct wait_share *s, uint64_t whole_ns)
{
	char share[TEXT_CELL];

	put_name(r, line, s);
	buf_puts(line, " (");
	if (s->threads > 1)
		buf_printf(line, "%u threads, ", s->threads);
	buf_printf(line, "%s)", text_percent(share, s->total_ns, whole_ns));
}

/* Who ended the waits, of the time of those of which that was looked for. */
static void put_wakers(const struct report *r, struct buf *line, const struct wait_sum *s, struct wait_range wakers)
{
	char share[TEXT_CELL];
	size_t i;

	buf_printf(line, "%44swoken by ", "");
	for (i = 0; i < wakers.count && i < WAKERS_SHOWN && is_much(wakers.items[i].total_ns, s->watched_ns); i++) {
		buf_puts(line, i ? ", " : "");
		put_waker(r, line, &wakers.items[i], s->watched_ns);
	}
	if (!i)
		buf_printf(line, "many, none of them %s or more", text_percent(share, 1, MUCH));
	if (s->watched_ns < s->total_ns / 2)
		buf_printf(line, ", known of %s of the time", text_percent(share, s->watched_ns, s->total_ns));
}

/* What most of the time was that wakers, or whom they waited for themselves, spent meanwhile. */
static void put_meanwhile(const struct report *r, struct buf *line, const struct wait_rows *rows, const struct wait_sum *s,
	const struct wait_share *waker)
{
	struct wait_range doings = wait_shares_of(&rows->doings, s->number);
	const struct wait_share *most = doings.items;
	char share[TEXT_CELL];

	if (!doings.count || !is_much(most->total_ns, s->followed_ns))
		return;
	buf_puts(line, ", meanwhile ");
	if (!is_same(most, waker)) {
		put_name(r, line, most);
		buf_puts(line, ": ");
	}
	buf_printf(line, "%s (%s)", most->reason ? profile_wait_reason_name(most->reason) : "running",
		text_percent(share, most->total_ns, s->followed_ns));
	buf_puts(line, most->stack ? interner_get(rows->places, most->stack, NULL) : "");
}

/* Where it was looked for. */
static void put_end(const struct report *r, struct buf *out, const struct wait_rows *rows, const struct wait_sum *s)
{
	struct wait_range wakers = wait_shares_of(&rows->wakers, s->number);
	struct buf line = BUF_INIT;

	if (!wakers.count || s->watched_ns < s->total_ns / LITTLE)
		return;
	put_wakers(r, &line, s, wakers);
	if (wakers.items->thread)
		put_meanwhile(r, &line, rows, s, wakers.items);
	report_line(r, out, &line);
	buf_release(&line);
}

static void put_wait(const struct report *r, struct buf *out, const struct wait_rows *rows, const struct wait_row *w)
{
	const struct wait_sum *s = &w->sum;
	char total[TEXT_CELL], count[TEXT_CELL], longest[TEXT_CELL], queued[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "%10s %11s %9s %9s  %-10s  ", text_duration(total, s->total_ns), text_count(count, s->count),
		s->max_ns ? text_duration(longest, s->max_ns) : "-", text_percent(queued, s->queued_ns, s->total_ns),
		profile_wait_reason_name(s->reason));
	put_threads(r, &line, w);
	buf_puts(&line, w->place ? interner_get(rows->places, w->place, NULL) : ", without a stack");
	report_line(r, out, &line);
	buf_release(&line);
	put_end(r, out, rows, s);
}

void report_waits_text(const struct report *r, struct buf *out)
{
	struct wait_rows w;
	char count[TEXT_CELL];
	size_t shown;

	out->failed |= wait_rows_init(&w, r) != 0;
	shown = r->top && r->top < w.rows.count ? r->top : w.rows.count;
	if (shown && !out->failed) {
		buf_puts(out, "\nWaits of threads");
		if (shown < w.rows.count)
			buf_printf(out, " (%zu of %s)", shown, text_count(count, w.rows.count));
		put_reasons(&r->summary->waits, out);
		buf_printf(out, "%10s %11s %9s %9s  reason      threads, and where\n", "total", "count", "longest", "run queue");
		for (size_t i = 0; i < shown; i++)
			put_wait(r, out, &w, &w.rows.items[i]);
	}
	wait_rows_release(&w);
}
