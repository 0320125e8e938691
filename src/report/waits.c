// SPDX-License-Identifier: MIT
/* What threads waited for: which GPU work, in the calls that wait for it, and everything, where
 * waits were recorded. */
#include <string.h>

#include "base/demangle.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/call_path.h"
#include "report/sections.h"
#include "report/table.h"
#include "report/wait_rows.h"
#include "view/names/name.h"

#define MUCH	      5	  /* one part in so many is worth to be named */
#define LITTLE	      100 /* and less than that is left out */
#define WAKERS_SHOWN  2	  /* in text, */
#define SHARES_LISTED 3	  /* in JSON: the largest */

static void put_thread_json(const struct report *r, struct json_writer *w, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r->reader, thread);

	if (!t)
		return;
	json_number(w, "process", t->process);
	json_number(w, "tid", t->tid);
	json_text(w, "thread", profile_string(r->reader, t->name, NULL));
}

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
	buf_release_for(&name, line);
}

static void sync_thread_and_call(const struct report *r, const void *row, struct buf *line)
{
	const struct sync_wait *w = row;
	const struct profile_thread *t = profile_thread(r->reader, w->thread);

	buf_printf(line, "%s %u in %s", t ? profile_string(r->reader, t->name, NULL) : "?",
		t ? t->tid : 0, profile_string(r->reader, w->api, NULL));
	report_call_path(r, line, " at ", w->stack, REPORT_FUNCTIONS);
}

static void put_waited_for(const struct report *r, const void *row, struct buf *out)
{
	const struct sync_wait *w = row;
	struct buf line = BUF_INIT;

	buf_printf(&line, "%34sfor ", "");
	put_work(r, &line, w);
	report_call_path(r, &line, " launched at ", w->launch_stack, REPORT_FUNCTIONS);
	report_line(r, out, &line);
}

static void put_work_json(
	const struct report *r, struct json_writer *w, const struct sync_wait *wait)
{
	static const char *const kinds[] = {
		[OP_KERNEL] = "kernel", [OP_COPY] = "copy", [OP_SET] = "set"};
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
	buf_release_for(&name, w->out);
}

static void sync_what_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct sync_wait *wait = row;

	put_thread_json(r, w, wait->thread);
	json_text(w, "api", profile_string(r->reader, wait->api, NULL));
	report_call_path_json(r, w, "path", wait->stack, REPORT_PATH);
	put_work_json(r, w, wait);
	report_call_path_json(r, w, "launch_path", wait->launch_stack, REPORT_PATH);
}

// clang-format off
static const struct column sync_columns[] = {
	{.json = sync_what_json},
	{"count", "count", 2, 11, COUNT(struct sync_wait, count)},
	{"total", "total_ns", 1, 10, DURATION(struct sync_wait, total_ns)},
	{"longest", "max_ns", 3, 9, DURATION(struct sync_wait, max_ns)},
	{"thread and call, and what it waited for", NULL, COLUMN_LAST, .text = sync_thread_and_call},
};
// clang-format on

const struct table report_sync_waits = {.title = "Waits for GPU work",
	.key = "gpu_waits",
	TABLE_COLUMNS(sync_columns),
	TABLE_ROWS(sync_waits, waits),
	.below = put_waited_for,
	.whole_lines = true};

/* ------------------------------------------------------------- for anything: text, of wait_rows */

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
		buf_printf(out, "%s %s %s", n ? "," : ":", profile_wait_reason_name(most),
			text_duration(cell, left_ns[most]));
		left_ns[most] = 0;
	}
	buf_putc(out, '\n');
}

static void threads_and_path(const struct report *r, const void *row, struct buf *line)
{
	const struct wait_row *w = row;
	const struct profile_thread *t = profile_thread(r->reader, w->sum.thread);
	const struct profile_process *p = t ? profile_process(r->reader, t->process) : NULL;
	const char *name = t ? profile_string(r->reader, t->name, NULL) : "?";

	if (w->thread_count > 1)
		buf_printf(line, "%s (%u threads of %u)", name, w->thread_count, p ? p->pid : 0);
	else
		buf_printf(line, "%s %u", name, t ? t->tid : 0);
	buf_puts(line, w->path ? interner_get(w->all->paths, w->path, NULL) : ", without a stack");
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

/* Whether the text shows the same of both. */
static bool is_same(const struct wait_share *a, const struct wait_share *b)
{
	return a->thread == b->thread && (a->threads > 1 || b->threads > 1 || a->one == b->one);
}

static void put_waker(
	const struct report *r, struct buf *line, const struct wait_share *s, uint64_t whole_ns)
{
	char share[TEXT_CELL];

	put_name(r, line, s);
	buf_puts(line, " (");
	if (s->threads > 1)
		buf_printf(line, "%u threads, ", s->threads);
	buf_printf(line, "%s)", text_percent(share, s->total_ns, whole_ns));
}

/* Who ended the waits, as shares of the waits whose waker was looked for. */
static void put_wakers(const struct report *r, struct buf *line, const struct wait_sum *s,
	struct wait_range wakers)
{
	char share[TEXT_CELL];
	size_t i;

	buf_printf(line, "%44swoken by ", "");
	for (i = 0; i < wakers.count && i < WAKERS_SHOWN &&
		    is_much(wakers.items[i].total_ns, s->watched_ns);
		i++) {
		buf_puts(line, i ? ", " : "");
		put_waker(r, line, &wakers.items[i], s->watched_ns);
	}
	if (!i)
		buf_printf(line, "many, none of them %s or more", text_percent(share, 1, MUCH));
	if (s->watched_ns < s->total_ns / 2)
		buf_printf(line, ", known of %s of the time",
			text_percent(share, s->watched_ns, s->total_ns));
}

/* How wakers, or the threads that these waited for, spent most of the time meanwhile. */
static void put_meanwhile(const struct report *r, struct buf *line, const struct wait_rows *rows,
	const struct wait_sum *s, const struct wait_share *waker)
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
	buf_printf(line, "%s (%s)",
		most->reason ? profile_wait_reason_name(most->reason) : "running",
		text_percent(share, most->total_ns, s->followed_ns));
	buf_puts(line, most->stack ? interner_get(rows->paths, most->stack, NULL) : "");
}

/* Where it was looked for. */
static void put_end(const struct report *r, const void *row, struct buf *out)
{
	const struct wait_rows *rows = ((const struct wait_row *)row)->all;
	const struct wait_sum *s = row;
	struct wait_range wakers = wait_shares_of(&rows->wakers, s->number);
	struct buf line = BUF_INIT;

	if (!wakers.count || s->watched_ns < s->total_ns / LITTLE)
		return;
	put_wakers(r, &line, s, wakers);
	if (wakers.items->thread)
		put_meanwhile(r, &line, rows, s, wakers.items);
	report_line(r, out, &line);
}

/* ------------------------------------------------------------------ JSON */

static void put_wakers_json(const struct report *r, struct json_writer *w, struct wait_range wakers)
{
	json_begin(w, "wakers", '[');
	for (size_t i = 0, listed = 0; i < wakers.count && listed < SHARES_LISTED; i++) {
		if (!wakers.items[i].thread)
			continue;
		json_begin(w, NULL, '{');
		put_thread_json(r, w, wakers.items[i].thread);
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
		put_thread_json(r, w, s->thread);
		json_text(w, "reason", s->reason ? profile_wait_reason_name(s->reason) : "running");
		report_call_path_json(r, w, "path", s->stack, REPORT_PATH);
		json_number(w, "total_ns", s->total_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
}

/* Who ended the waits, where that was looked for. */
static void end_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct wait_sum *wait = row;
	struct wait_range wakers = wait_shares_of(&r->summary->waits.wakers, wait->number);
	uint64_t nobody_ns = 0;

	if (!wakers.count)
		return;
	for (size_t i = 0; i < wakers.count; i++)
		nobody_ns += wakers.items[i].thread ? 0 : wakers.items[i].total_ns;
	put_wakers_json(r, w, wakers);
	json_number(w, "no_waker_ns", nobody_ns);
	json_number(w, "waker_not_known_ns", wait->total_ns - wait->watched_ns);
	put_doings(r, w, wait_shares_of(&r->summary->waits.meanwhile.doings, wait->number));
	json_number(w, "meanwhile_of_ns", wait->followed_ns);
}

static void thread_json(const struct report *r, const void *row, struct json_writer *w)
{
	put_thread_json(r, w, ((const struct wait_sum *)row)->thread);
}

static void path_json(const struct report *r, const void *row, struct json_writer *w)
{
	report_call_path_json(r, w, "path", ((const struct wait_sum *)row)->stack, REPORT_PATH);
}

/* ------------------------------------------------------------------ both */

static bool has_no_longest(const void *row)
{
	return !((const struct wait_sum *)row)->max_ns;
}

/* Of wait_sum in JSON; of wait_row in the text, which begins with one. */
// clang-format off
static const struct column wait_columns[] = {
	{.json = thread_json},
	{"reason", "reason", 5, 10, NAME(struct wait_sum, reason, profile_wait_reason_name), .left = true, .apart = true},
	{.json = path_json},
	{"count", "count", 2, 11, COUNT(struct wait_sum, count)},
	{"total", "total_ns", 1, 10, DURATION(struct wait_sum, total_ns)},
	{.key = "queued_ns", DURATION(struct wait_sum, queued_ns)},
	{"run queue", NULL, 4, 9, SHARE(struct wait_sum, queued_ns, total_ns)},
	{"longest", "max_ns", 3, 9, DURATION(struct wait_sum, max_ns), .is_absent = has_no_longest},
	{.json = end_json},
	{"threads, and where", NULL, COLUMN_LAST, .text = threads_and_path},
};
// clang-format on

_Static_assert(!offsetof(struct wait_row, sum), "a row begins with its sum");

static const struct table waits = {.key = "rows",
	TABLE_COLUMNS(wait_columns),
	TABLE_ROWS(summary, waits.rows),
	.below = put_end,
	.whole_lines = true};

void report_waits_text(const struct report *r, struct buf *out)
{
	struct wait_rows w;
	char count[TEXT_CELL];
	size_t shown;

	out->failed |= wait_rows_init(&w, r) != 0;
	shown = report_rows_shown(r, w.rows.count);
	if (shown && !out->failed) {
		buf_puts(out, "\nWaits of threads");
		if (shown < w.rows.count)
			buf_printf(out, " (%zu of %s)", shown, text_count(count, w.rows.count));
		put_reasons(&r->summary->waits, out);
		table_headings(r, &waits, out);
		for (size_t i = 0; i < shown; i++)
			table_row_text(r, &waits, &w.rows.items[i], out);
	}
	wait_rows_release(&w);
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
	table_json(r, &waits, w);
	json_end(w, '}');
}
