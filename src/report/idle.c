// SPDX-License-Identifier: MIT
/*
 * Why GPUs had nothing to do (view/gaps/gaps.h has the rules): by process, by device and by cause.
 * The text has sentences with some of the numbers, and the causes that matter first; the JSON has
 * all. So the two forms have no common description.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/gaps.h"
#include "report/call_path.h"
#include "report/sections.h"

/* ------------------------------------------------------------------ causes */

static uint64_t total_of(const struct gap_sum *sums)
{
	uint64_t total_ns = 0;

	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		total_ns += sums[i].total_ns;
	return total_ns;
}

/* The next cause in falling order of time; GAP_CAUSES: no more. `done` has those before. The GPU's
 * own pauses between queued work come last: nothing was missing. */
static unsigned int next_cause(const struct gap_sum *sums, unsigned int *done)
{
	unsigned int best = GAP_CAUSES;

	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		if (sums[i].total_ns && !(*done & 1u << i) && i != GAP_QUEUED &&
			(best == GAP_CAUSES || sums[i].total_ns > sums[best].total_ns))
			best = i;
	if (best == GAP_CAUSES && sums[GAP_QUEUED].total_ns && !(*done & 1u << GAP_QUEUED))
		best = GAP_QUEUED;
	*done |= 1u << best;
	return best;
}

static void put_causes(
	const struct report *r, struct buf *out, const char *title, const struct gap_sum *sums)
{
	uint64_t total_ns = total_of(sums);
	unsigned int done = 0, cause;
	char time[TEXT_CELL], share[TEXT_CELL], count[TEXT_CELL];

	if (total_ns)
		buf_printf(out, "  %s: %s\n", title, text_duration(time, total_ns));
	while ((cause = next_cause(sums, &done)) < GAP_CAUSES) {
		const struct gap_sum *s = &sums[cause];
		struct buf line = BUF_INIT;

		buf_printf(&line, "%10s %8s %9s  ", text_duration(time, s->total_ns),
			text_percent(share, s->total_ns, total_ns), text_count(count, s->count));
		report_gap_cause(r, &line, cause, s->stack);
		report_line(r, out, &line);
	}
}

static void put_causes_json(
	const struct report *r, struct json_writer *w, const char *name, const struct gap_sum *sums)
{
	json_begin(w, name, '[');
	for (unsigned int i = 0; i < GAP_CAUSES; i++) {
		if (!sums[i].count && !sums[i].total_ns)
			continue;
		json_begin(w, NULL, '{');
		json_text(w, "cause", gap_cause_name(i));
		json_number(w, "count", sums[i].count);
		json_number(w, "total_ns", sums[i].total_ns);
		report_call_path_json(r, w, "path", sums[i].stack, REPORT_PATH);
		json_number(w, "path_ns", sums[i].stack_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
}

/* ------------------------------------------------------------------ text */

/* Appends a sentence, on as many lines as it needs, and releases it. */
static void put_sentence(const struct report *r, struct buf *out, struct buf *sentence)
{
	struct buf clean = BUF_INIT;
	size_t column = 0;

	text_fit(&clean, buf_text(sentence), 0);
	for (const char *word = buf_text(&clean); *word;) {
		size_t size = strcspn(word, " ");

		if (column && r->width && column + 1 + size > r->width) {
			buf_puts(out, "\n  ");
			column = 2;
		} else if (column) {
			buf_putc(out, ' ');
			column++;
		}
		buf_append(out, word, size);
		column += size;
		word += size + (word[size] == ' ');
	}
	buf_putc(out, '\n');
	buf_release_for(&clean, out);
	buf_release_for(sentence, out);
}

static void put_device(const struct report *r, struct buf *out,
	const struct device_numbers *numbers, const struct gap_device *d)
{
	char share[TEXT_CELL], idle[TEXT_CELL], span[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	report_gap_device(r, &line, numbers, d->device);
	buf_printf(&line,
		": idle %s of the time between its first and last work: %s of %s, in %s gap%s",
		text_percent(share, d->idle_ns, d->span_ns), text_duration(idle, d->idle_ns),
		text_duration(span, d->span_ns), text_count(count, d->begun),
		d->begun == 1 ? "" : "s");
	put_sentence(r, out, &line);
	put_causes(r, out, "again and again", d->many);
	put_causes(r, out, "once, or unusually long", d->once);
}

/* What GPUs were idle for, in the words of people who tune programs. */
struct shortage {
	uint64_t ns;
	const char *bound, *why;
};

#define SHORTAGES    5
#define NAME_COLUMNS 40 /* of the name of a process in a sentence */

static int by_time(const void *left, const void *right)
{
	const struct shortage *a = left, *b = right;

	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

/* The largest first. */
static void find_shortages(const struct gap_process *p, struct shortage ret[SHORTAGES])
{
	const uint64_t *ns = p->causes_ns;
	const struct shortage all[SHORTAGES] = {
		{ns[GAP_LAUNCH] + ns[GAP_PYTHON] + ns[GAP_WORK] + ns[GAP_CPU], "launch-bound",
			"for lack of launches"},
		{ns[GAP_SYNC], "bound by synchronization", "because of synchronization"},
		{ns[GAP_INPUT], "input-bound", "for lack of input"},
		{ns[GAP_QUEUED], "idle between queued work", "between queued work"},
		{ns[GAP_UNKNOWN], "idle, for reasons that are not known",
			"for reasons that are not known"},
	};

	memcpy(ret, all, sizeof(all));
	qsort(ret, SHORTAGES, sizeof(*ret), by_time);
}

/* What it has to do where GPUs are busy for half of the time, or else what they lack. */
static const char *word_for(
	const struct gap_process *p, uint64_t whole_ns, const struct shortage *shortages)
{
	if (p->kernels_ns + p->transfers_ns >= whole_ns - whole_ns / 2)
		return p->transfers_ns > p->kernels_ns ? "transfer-bound" : "compute-bound";
	return shortages[0].bound;
}

/* Gaps that happened once are no part of these shares: their length mostly depends on when the
 * program was stopped. */
static void put_process(const struct report *r, struct buf *out, const struct gap_process *p)
{
	const struct profile_process *process = profile_process(r->reader, p->process);
	uint64_t whole_ns = p->span_ns > p->once_ns ? p->span_ns - p->once_ns : 0;
	struct shortage shortages[SHORTAGES];
	char cells[3][TEXT_CELL];
	const char *between = "; the GPU was idle for ";
	struct buf line = BUF_INIT;

	find_shortages(p, shortages);
	text_fit(&line, process ? profile_string(r->reader, process->comm, NULL) : "?",
		r->width ? NAME_COLUMNS : 0);
	buf_printf(&line, " (%u) is mostly %s: of %s", process ? process->pid : 0,
		word_for(p, whole_ns, shortages), text_duration(cells[0], whole_ns));
	buf_printf(&line, " kernels ran for %s, only copies for %s",
		text_percent(cells[1], p->kernels_ns, whole_ns),
		text_percent(cells[2], p->transfers_ns, whole_ns));
	for (size_t i = 0; i < SHORTAGES && report_is_worth_showing(shortages[i].ns, whole_ns);
		i++) {
		buf_printf(&line, "%s%s %s", between,
			text_percent(cells[0], shortages[i].ns, whole_ns), shortages[i].why);
		between = ", ";
	}
	if (p->once_ns)
		buf_printf(&line, "%s%s in gaps that happened once or were unusually long", between,
			text_duration(cells[0], p->once_ns));
	put_sentence(r, out, &line);
}

static void put_parts(struct buf *out, const struct gap_parts *p)
{
	char share[TEXT_CELL];

	if (p->period_ns)
		buf_printf(out,
			"  this, the gaps and the waits for GPU work are of %s of the time, in %d "
			"parts of it: there are too many events\n",
			text_percent(share, p->length_ns, p->period_ns), GAP_PARTS_COUNT);
}

void report_idle_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;
	char cell[TEXT_CELL];

	if (!r->gaps->gaps.count)
		return;
	out->failed |= device_numbers_init(&numbers, r->reader) != 0;
	buf_puts(out, "\nWhy GPUs were idle\n");
	for (size_t i = 0; i < r->gaps->processes.count && (!r->top || i < r->top); i++)
		put_process(r, out, &r->gaps->processes.items[i]);
	vec_foreach (d, &r->gaps->devices)
		if (d->count)
			put_device(r, out, &numbers, d);
	if (!r->gaps->events.has_waits)
		buf_puts(out,
			"  whether threads waited is not known: see xpuprof record --off-cpu\n");
	put_parts(out, &r->gaps->events.parts);
	if (r->gaps->events.cut_ns)
		buf_printf(out, "  only of the first %s: there are too many events\n",
			text_duration(cell, r->gaps->events.cut_ns - r->summary->start_ns));
}

void report_idle_unknown_text(const struct report *r, struct buf *out)
{
	struct buf line = BUF_INIT;

	buf_puts(out, "\nWhy GPUs were idle\n");
	buf_puts(&line, r->summary->in_bursts
				? "Not known: GPU work was recorded in bursts, and not what GPUs "
				  "did in between, nor what threads waited for then."
				: "Not known: only some of the GPU work has times.");
	put_sentence(r, out, &line);
}

/* ------------------------------------------------------------------ JSON */

static void put_process_json(
	const struct report *r, struct json_writer *w, const struct gap_process *p)
{
	const struct profile_process *process = profile_process(r->reader, p->process);

	json_begin(w, NULL, '{');
	json_number(w, "process", p->process);
	if (process)
		json_number(w, "pid", process->pid);
	json_number(w, "span_ns", p->span_ns);
	json_number(w, "kernels_ns", p->kernels_ns);
	json_number(w, "transfers_ns", p->transfers_ns);
	json_number(w, "idle_once_ns", p->once_ns);
	json_begin(w, "idle_ns", '{');
	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		json_number(w, gap_cause_name(i), p->causes_ns[i]);
	json_end(w, '}');
	json_end(w, '}');
}

static void put_device_json(
	const struct report *r, struct json_writer *w, const struct gap_device *d)
{
	json_begin(w, NULL, '{');
	json_number(w, "device", d->device);
	json_number(w, "first_ns", d->first_ns);
	json_number(w, "last_ns", d->last_ns);
	json_number(w, "span_ns", d->span_ns);
	json_number(w, "idle_ns", d->idle_ns);
	json_number(w, "launch_latency_ns", d->latency_ns);
	json_number(w, "count", d->begun);
	put_causes_json(r, w, "many", d->many);
	put_causes_json(r, w, "once", d->once);
	report_device_gaps_json(r, w, d);
	json_end(w, '}');
}

void report_idle_json(const struct report *r, struct json_writer *w)
{
	const struct gap_parts *parts = &r->gaps->events.parts;

	json_begin(w, "idle", '{');
	json_bool(w, "waits_recorded", r->gaps->events.has_waits);
	json_real(w, "share",
		parts->period_ns ? (double)parts->length_ns / (double)parts->period_ns : 1);
	if (r->gaps->events.cut_ns)
		json_number(w, "until_ns", r->gaps->events.cut_ns);
	json_begin(w, "processes", '[');
	vec_foreach (p, &r->gaps->processes)
		put_process_json(r, w, p);
	json_end(w, ']');
	json_begin(w, "devices", '[');
	vec_foreach (d, &r->gaps->devices)
		put_device_json(r, w, d);
	json_end(w, ']');
	json_end(w, '}');
}
