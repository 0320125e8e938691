// SPDX-License-Identifier: MIT
/* What threads waited for: which GPU work, in the calls that wait for it, and everything, where waits were recorded. */
#include <string.h>

#include "base/demangle.h"
#include "cmd/name.h"
#include "cmd/report.h"
#include "cmd/report_place.h"
#include "cmd/text.h"
#include "cmd/wait_rows.h"

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
