// SPDX-License-Identifier: MIT
/* How whole a recording is: its stacks, what was not joined, and what was lost. */
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"

/* ------------------------------------------------------------------ stacks */

/* The reason in an incomplete stack's note: of "[incomplete stack: no unwind information]" what
 * follows ": ". */
static void put_reason(const struct report *r, uint32_t note, struct buf *b)
{
	const char *text = profile_string(r->reader, note, NULL), *why = strstr(text, ": ");
	size_t size = why ? strlen(why + 2) : 0;

	if (size > 1)
		buf_append(b, why + 2, why[size + 1] == ']' ? size - 1 : size);
	else
		buf_puts(b, "reason not known");
}

/* "99.7 % of 1,234 stacks of CPU samples are complete", and why the others are not. */
static void put_complete(
	const struct report *r, struct buf *out, const struct summary_stacks *s, const char *what)
{
	char share[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (!s->with_stack)
		return;
	buf_printf(out, "%10s of %s stacks of %s are complete\n",
		text_percent(share, s->with_stack - s->incomplete, s->with_stack),
		text_count(count, s->with_stack), what);
	if (s->python)
		buf_printf(out, "%10s of them have Python frames\n",
			text_percent(share, s->python, s->with_stack));
	vec_foreach (reason, &s->reasons) {
		buf_reset(&line);
		put_reason(r, reason->note, &line);
		buf_printf(out, "%10s %11s ", text_percent(share, reason->count, s->with_stack),
			text_count(count, reason->count));
		text_fit(out, buf_text(&line), report_columns_left(r, 23));
		buf_putc(out, '\n');
	}
	buf_release_for(&line, out);
}

void report_stacks_text(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	const char *source = report_meta(r, META_STACK_SOURCE);
	struct buf launches = BUF_INIT;

	if (!s->sample_stacks.with_stack && !s->launch_stacks.with_stack &&
		!s->work_stacks.with_stack && !s->wait_stacks.with_stack)
		return;
	buf_puts(&launches, "launches");
	if (source) {
		buf_puts(&launches, " (taken by ");
		text_fit(&launches, source, 20);
		buf_putc(&launches, ')');
	}
	buf_puts(out, "\nStacks\n");
	put_complete(r, out, &s->sample_stacks, "CPU samples");
	put_complete(r, out, &s->launch_stacks, buf_text(&launches));
	/* Where the calls themselves are not in the recording. */
	if (!s->launch_stacks.with_stack)
		put_complete(r, out, &s->work_stacks, "GPU work");
	put_complete(r, out, &s->wait_stacks, "waits");
	buf_release_for(&launches, out);
}

static void put_reasons_json(const struct report *r, struct json_writer *w, const char *key,
	const struct summary_stacks *s)
{
	json_begin(w, key, '[');
	vec_foreach (reason, &s->reasons) {
		struct buf b = BUF_INIT;

		put_reason(r, reason->note, &b);
		json_begin(w, NULL, '{');
		json_text(w, "reason", buf_text(&b));
		json_number(w, "count", reason->count);
		json_end(w, '}');
		buf_release_for(&b, w->out);
	}
	json_end(w, ']');
}

void report_stacks_json(const struct report *r, struct json_writer *w)
{
	const struct summary *s = r->summary;

	json_begin(w, "stacks", '{');
	json_text(w, "source", profile_meta(r->reader, META_STACK_SOURCE));
	json_number(w, "samples", s->sample_stacks.with_stack);
	json_number(w, "samples_incomplete", s->sample_stacks.incomplete);
	json_number(w, "samples_python", s->sample_stacks.python);
	put_reasons_json(r, w, "samples_reasons", &s->sample_stacks);
	json_number(w, "launches", s->launch_stacks.with_stack);
	json_number(w, "launches_incomplete", s->launch_stacks.incomplete);
	json_number(w, "launches_python", s->launch_stacks.python);
	json_number(w, "launches_without", s->launch_stacks.count - s->launch_stacks.with_stack);
	put_reasons_json(r, w, "launches_reasons", &s->launch_stacks);
	json_number(w, "works", s->work_stacks.with_stack);
	json_number(w, "works_incomplete", s->work_stacks.incomplete);
	json_number(w, "waits", s->wait_stacks.with_stack);
	json_number(w, "waits_incomplete", s->wait_stacks.incomplete);
	json_number(w, "waits_python", s->wait_stacks.python);
	put_reasons_json(r, w, "waits_reasons", &s->wait_stacks);
	json_end(w, '}');
}

/* ------------------------------------------------------------------ what was not joined */

/* Numbers by their cause: text has those that are not 0, JSON those with a key. */
struct causes {
	const char *title, *key;
	const char *(*text_of)(unsigned int cause);
	const char *keys[PENDING_REASONS]; /* of which there are more than of joins */
};

static const struct causes without_work = {"Launches without GPU work", "launches_without_work",
	profile_pending_text,
	{
		[PENDING_FAILED] = "failed",
		[PENDING_CAPTURED] = "captured",
		[PENDING_EMPTY] = "empty",
		[PENDING_UNFINISHED] = "unfinished",
		[PENDING_NO_EXIT] = "no_exit",
		[PENDING_FORGOTTEN] = "forgotten",
		[PENDING_LOST] = "lost",
	}};

static const struct causes without_stack = {"GPU work without a stack", "works_without_stack",
	profile_join_text,
	{
		[JOIN_NO_CPU_SIDE] = "no_cpu_side",
		[JOIN_STACK_LOST] = "stack_lost",
		[JOIN_NO_LAUNCH] = "no_launch",
		[JOIN_LATE] = "late",
	}};

static void put_causes(struct buf *out, const struct causes *c, const uint64_t *counts,
	unsigned int first, unsigned int end)
{
	const char *title = c->title;
	char cell[TEXT_CELL];

	for (unsigned int i = first; i < end; i++) {
		if (!counts[i])
			continue;
		if (title)
			buf_printf(out, "\n%s\n", title);
		buf_printf(out, "%10s %s\n", text_count(cell, counts[i]), c->text_of(i));
		title = NULL;
	}
}

void report_joins_text(const struct report *r, struct buf *out)
{
	put_causes(out, &without_work, r->summary->pending, 0, PENDING_REASONS);
	put_causes(out, &without_stack, r->summary->joins, JOIN_OK + 1, JOIN_REASONS);
}

static void put_causes_json(struct json_writer *w, const struct causes *c, const uint64_t *counts)
{
	json_begin(w, c->key, '{');
	for (unsigned int i = 0; i < PENDING_REASONS; i++)
		if (c->keys[i])
			json_number(w, c->keys[i], counts[i]);
	json_end(w, '}');
}

void report_joins_json(const struct report *r, struct json_writer *w)
{
	put_causes_json(w, &without_work, r->summary->pending);
	put_causes_json(w, &without_stack, r->summary->joins);
}

/* ------------------------------------------------------------------ losses */

void report_losses_text(const struct report *r, struct buf *out)
{
	bool any = false;
	char cell[TEXT_CELL];

	buf_puts(out, "\nLost or incomplete\n");
	for (unsigned int i = 1; i < LOSS_KINDS; i++) {
		uint64_t count = profile_loss_count(r->reader, (enum profile_loss)i);

		/* Why stacks are incomplete stands with the stacks. */
		if (!count || profile_loss_is_reason(i))
			continue;
		buf_printf(out, "%10s %s\n", text_count(cell, count), profile_loss_text(i, count));
		any = true;
	}
	if (!any)
		buf_printf(out, "%10s\n",
			profile_reader_incomplete(r->reader) ? "not known" : "nothing");
}

void report_losses_json(const struct report *r, struct json_writer *w)
{
	json_begin(w, "losses", '{');
	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		json_number(w, profile_loss_key(i),
			profile_loss_count(r->reader, (enum profile_loss)i));
	json_end(w, '}');
}
