// SPDX-License-Identifier: MIT
/* Processes and threads, with what they had CPUs and GPUs do. */
#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"
#include "report/table.h"

static bool has_gpu_work(const struct report *r)
{
	return r->summary->works || r->summary->calls;
}

static bool has_samples(const struct report *r)
{
	return r->summary->samples || r->summary->cpu_ns || !has_gpu_work(r);
}

// clang-format off
#define TASKS \
	{.key = "samples", COUNT(struct summary_task, samples)}, \
	{"CPU time", "cpu_ns", 1, 10, SAMPLED(struct summary_task, cpu_ns, figures), .is_shown = has_samples}, \
	{"launches", "launches", 4, 11, COUNT(struct summary_task, launches), .is_shown = has_gpu_work}, \
	{"work", "works", 5, 11, COUNT(struct summary_task, works), .is_shown = has_gpu_work}, \
	{"GPU time", "gpu_ns", 2, 9, DURATION(struct summary_task, gpu_ns), .is_shown = has_gpu_work}, \
	{"+-", "gpu_low_ns", 3, 10, RANGE(struct summary_task, gpu_range, gpu_ns, "gpu_high_ns"), .is_shown = has_gpu_work}, \
	{.key = "works_low", RANGE(struct summary_task, works_range, works, "works_high")}
// clang-format on

/* The end of a table of tasks: how many are in none of its rows. */
static void put_without(struct buf *out, const struct table *t, size_t rows, uint32_t without)
{
	char count[TEXT_CELL];

	if (!without)
		return;
	if (!rows)
		buf_printf(out, "\n%s\n", t->title);
	buf_printf(out, "%10s %swith neither CPU samples nor GPU work\n",
		text_count(count, without), rows ? "more " : "");
}

/* ------------------------------------------------------------------ processes */

static void process_identity(const struct report *r, const void *row, struct json_writer *w)
{
	const struct summary_task *t = row;
	const struct profile_process *p = profile_process(r->reader, t->id);

	json_number(w, "process", t->id);
	if (!p)
		return;
	json_number(w, "pid", p->pid);
	report_string_json(r, w, "name", p->comm);
	report_string_json(r, w, "command", p->cmdline);
}

static void process_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_task *t = row;
	const struct profile_process *p = profile_process(r->reader, t->id);

	if (p)
		buf_printf(b, "%s (%u)", profile_string(r->reader, p->comm, NULL), p->pid);
	else
		buf_puts(b, "not known");
}

static const struct column process_columns[] = {
	{.json = process_identity},
	TASKS,
	{"process", NULL, COLUMN_LAST, .text = process_name},
};

static const struct table processes = {.title = "Processes",
	.key = "processes",
	TABLE_COLUMNS(process_columns),
	TABLE_ROWS(summary, processes)};

void report_processes_text(const struct report *r, struct buf *out)
{
	table_text(r, &processes, out);
	put_without(out, &processes, r->summary->processes.count, r->summary->processes_without);
}

void report_processes_json(const struct report *r, struct json_writer *w)
{
	table_json(r, &processes, w);
	json_number(w, "processes_without", r->summary->processes_without);
}

/* ------------------------------------------------------------------ threads */

static void thread_identity(const struct report *r, const void *row, struct json_writer *w)
{
	const struct summary_task *task = row;
	const struct profile_thread *t = profile_thread(r->reader, task->id);

	if (!t)
		return;
	json_number(w, "process", t->process);
	json_number(w, "tid", t->tid);
	report_string_json(r, w, "name", t->name);
	if (t->flags & THREAD_PROFILER)
		json_bool(w, "profiler", true);
}

static void thread_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_task *task = row;
	const struct profile_thread *t = profile_thread(r->reader, task->id);
	const struct profile_process *p = t ? profile_process(r->reader, t->process) : NULL;

	if (t)
		buf_printf(b, "%s %u (%s %u)", profile_thread_name(r->reader, t, NULL), t->tid,
			p ? profile_string(r->reader, p->comm, NULL) : "?", p ? p->pid : 0);
	else
		buf_puts(b, "not known");
}

static const struct column thread_columns[] = {
	{.json = thread_identity},
	TASKS,
	{"thread (process)", NULL, COLUMN_LAST, .text = thread_name},
};

static const struct table threads = {.title = "Threads",
	.key = "threads",
	TABLE_COLUMNS(thread_columns),
	TABLE_ROWS(summary, threads)};

/* Whether threads are anything else than their processes again. */
static bool are_of_interest(const struct report *r)
{
	const struct summary *s = r->summary;

	vec_foreach (t, &s->threads)
		if (!t->id)
			return true;
	return s->threads.count > s->processes.count || s->threads_without > s->processes_without;
}

void report_threads_text(const struct report *r, struct buf *out)
{
	if (!are_of_interest(r))
		return;
	table_text(r, &threads, out);
	put_without(out, &threads, r->summary->threads.count, r->summary->threads_without);
}

void report_threads_json(const struct report *r, struct json_writer *w)
{
	table_json(r, &threads, w);
	json_number(w, "threads_without", r->summary->threads_without);
}
