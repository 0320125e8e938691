// SPDX-License-Identifier: MIT
/* When GPUs had nothing to do, and why (gaps.h has the rules): the causes first, then the longest gaps. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/place.h"
#include "base/text.h"
#include "view/names/device.h"
#include "view/gaps/gaps.h"

#define THREADS_SHOWN 4

/* A sentence, on as many lines as it needs. */
static void put_sentence(const struct report *r, struct buf *out, const struct buf *sentence)
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
	out->failed |= clean.failed || sentence->failed;
	buf_release(&clean);
}

static uint64_t total_of(const struct gap_sum *sums)
{
	uint64_t total_ns = 0;

	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		total_ns += sums[i].total_ns;
	return total_ns;
}

/* The next cause in falling order of time; GAP_CAUSES: no more. `done` has those before. What the GPU takes between queued
 * work comes last: nobody let it starve. */
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

static const char *word_before(unsigned int cause)
{
	return cause == GAP_INPUT || cause == GAP_PYTHON ? "; in " : "; at ";
}

static void put_causes(const struct report *r, struct buf *out, const char *title, const struct gap_sum *sums)
{
	uint64_t total_ns = total_of(sums);
	unsigned int done = 0, cause;
	char time[TEXT_CELL], share[TEXT_CELL], count[TEXT_CELL];

	if (!total_ns)
		return;
	buf_printf(out, "  %s: %s\n", title, text_duration(time, total_ns));
	while ((cause = next_cause(sums, &done)) < GAP_CAUSES) {
		const struct gap_sum *s = &sums[cause];
		struct buf line = BUF_INIT;

		buf_printf(&line, "%10s %8s %9s  %s", text_duration(time, s->total_ns),
			text_percent(share, s->total_ns, total_ns), text_count(count, s->count), gap_cause_text(cause));
		if (s->stack)
			report_place(r, &line, word_before(cause), s->stack, REPORT_FUNCTIONS);
		report_line(r, out, &line);
		buf_release(&line);
	}
}

static void put_device_name(const struct report *r, struct buf *out, const struct device_numbers *numbers, uint32_t id)
{
	const struct profile_device *d = profile_device(r->reader, id);

	if (d)
		buf_printf(out, "GPU %u", device_number(numbers, r->reader, id));
	else
		buf_puts(out, "GPU not known");
}

static void put_device(const struct report *r, struct buf *out, const struct device_numbers *numbers,
	const struct gap_device *d)
{
	char share[TEXT_CELL], idle[TEXT_CELL], span[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	put_device_name(r, &line, numbers, d->device);
	buf_printf(&line, ": idle %s of the time between its first and last work: %s of %s, in %s gap%s",
		text_percent(share, d->idle_ns, d->span_ns), text_duration(idle, d->idle_ns),
		text_duration(span, d->span_ns), text_count(count, d->count), d->count == 1 ? "" : "s");
	put_sentence(r, out, &line);
	buf_release(&line);
	put_causes(r, out, "again and again", d->many);
	put_causes(r, out, "once, or unusually long", d->once);
}

/* Less would be 0.0 %. */
static bool is_worth_telling(uint64_t ns, uint64_t whole_ns)
{
	return ns && ns >= whole_ns / 2000;
}

/* What GPUs were idle for, in the words of people who tune programs. */
struct shortage {
	uint64_t ns;
	const char *bound, *why;
};

#define SHORTAGES 5

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
		{ns[GAP_LAUNCH] + ns[GAP_PYTHON] + ns[GAP_WORK] + ns[GAP_CPU], "launch-bound", "for lack of launches"},
		{ns[GAP_SYNC], "bound by synchronization", "because of synchronization"},
		{ns[GAP_INPUT], "input-bound", "for lack of input"},
		{ns[GAP_QUEUED], "idle between queued work", "between queued work"},
		{ns[GAP_UNKNOWN], "idle, for reasons that are not known", "for reasons that are not known"},
	};

	memcpy(ret, all, sizeof(all));
	qsort(ret, SHORTAGES, sizeof(*ret), by_time);
}

/* What it has to do where GPUs are busy for half of the time, or else what they lack. */
static const char *word_for(const struct gap_process *p, uint64_t whole_ns, const struct shortage *shortages)
{
	if (p->kernels_ns + p->transfers_ns >= whole_ns - whole_ns / 2)
		return p->transfers_ns > p->kernels_ns ? "transfer-bound" : "compute-bound";
	return shortages[0].bound;
}

/* Gaps that happened once are no part of these shares: how long they are says more of when the program was stopped. */
static void put_process(const struct report *r, struct buf *out, const struct gap_process *p)
{
	const struct profile_process *process = profile_process(r->reader, p->process);
	uint64_t whole_ns = p->span_ns > p->once_ns ? p->span_ns - p->once_ns : 0;
	struct shortage shortages[SHORTAGES];
	char cells[3][TEXT_CELL];
	const char *between = "; the GPU was idle for ";
	struct buf line = BUF_INIT;

	find_shortages(p, shortages);
	buf_printf(&line, "%s (%u) is mostly %s: of %s", process ? profile_string(r->reader, process->comm, NULL) : "?",
		process ? process->pid : 0, word_for(p, whole_ns, shortages), text_duration(cells[0], whole_ns));
	buf_printf(&line, " kernels ran for %s, only copies for %s", text_percent(cells[1], p->kernels_ns, whole_ns),
		text_percent(cells[2], p->transfers_ns, whole_ns));
	for (size_t i = 0; i < SHORTAGES && is_worth_telling(shortages[i].ns, whole_ns); i++) {
		buf_printf(&line, "%s%s %s", between, text_percent(cells[0], shortages[i].ns, whole_ns), shortages[i].why);
		between = ", ";
	}
	if (p->once_ns)
		buf_printf(&line, "%s%s in gaps that happened once or were unusually long", between, text_duration(cells[0], p->once_ns));
	put_sentence(r, out, &line);
	buf_release(&line);
}

static void put_parts(struct buf *out, const struct gap_parts *p)
{
	char share[TEXT_CELL];

	if (p->period_ns)
		buf_printf(out,
			"  this, the gaps and the waits for GPU work are of %s of the time, in %d parts of it: there are too many events\n",
			text_percent(share, p->length_ns, p->period_ns), GAP_PARTS_COUNT);
}

void report_idle_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;
	char cell[TEXT_CELL];

	if (!r->gaps->gaps.count || device_numbers_init(&numbers, r->reader))
		return;
	buf_puts(out, "\nWhy GPUs were idle\n");
	for (size_t i = 0; i < r->gaps->processes.count && (!r->top || i < r->top); i++)
		put_process(r, out, &r->gaps->processes.items[i]);
	vec_foreach (d, &r->gaps->devices)
		if (d->count)
			put_device(r, out, &numbers, d);
	if (!r->gaps->events.has_waits)
		buf_puts(out, "  whether threads waited is not known: see xpuprof record --off-cpu\n");
	put_parts(out, &r->gaps->events.parts);
	if (r->gaps->events.cut_ns)
		buf_printf(out, "  only of the first %s: there are too many events\n",
			text_duration(cell, r->gaps->events.cut_ns - r->summary->start_ns));
}

/* ------------------------------------------------------------------ the longest gaps */

static unsigned int longest_wait(const struct gap_doing *d)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < WAIT_REASONS; i++)
		if (d->wait_ns[i] > d->wait_ns[best])
			best = i;
	return best;
}

/* It did something, or would have if there had been a CPU. */
static uint64_t active_ns(const struct gap_doing *d, bool has_waits)
{
	return d->sync_ns + d->call_ns + d->wait_ns[WAIT_RUN_QUEUE] + (has_waits ? d->run_ns : d->sampled_ns);
}

/* "ran 12 %, waited 88 % (lock), in cond_wait" */
static void put_doing(const struct report *r, struct buf *line, const struct gap_doing *d, uint64_t length_ns)
{
	bool has_waits = r->gaps->events.has_waits;
	uint64_t waits_ns = 0;
	char share[TEXT_CELL];
	const char *comma = "";

	for (unsigned int i = 0; i < WAIT_REASONS; i++)
		waits_ns += d->wait_ns[i];
	if (has_waits && is_worth_telling(d->run_ns, length_ns)) {
		buf_printf(line, "ran %s", text_percent(share, d->run_ns, length_ns));
		comma = ", ";
	} else if (!has_waits && d->sampled_ns) {
		buf_printf(line, "sampled for %s",
			text_percent(share, d->sampled_ns < length_ns ? d->sampled_ns : length_ns, length_ns));
		comma = ", ";
	}
	if (is_worth_telling(d->call_ns, length_ns)) {
		buf_printf(line, "%sin CUDA calls %s", comma, text_percent(share, d->call_ns, length_ns));
		comma = ", ";
	}
	if (is_worth_telling(d->sync_ns, length_ns)) {
		buf_printf(line, "%ssynchronizing %s", comma, text_percent(share, d->sync_ns, length_ns));
		comma = ", ";
	}
	if (is_worth_telling(waits_ns, length_ns))
		buf_printf(line, "%swaited %s (mostly %s)", comma, text_percent(share, waits_ns, length_ns),
			profile_wait_reason_name(longest_wait(d)));
	if (!has_waits && !active_ns(d, false))
		buf_puts(line, "not seen");
	report_place(r, line, ": ", d->stack, 1);
}

struct thread_doing {
	uint32_t thread;
	struct gap_doing doing;
};

/* The launching thread, then those that did most. Returns how many of the others there are. */
static size_t find_busiest(const struct report *r, const struct gap_device *d, const struct gap *gap,
	struct thread_doing ret[THREADS_SHOWN], size_t *ret_count)
{
	const struct gap_events *e = &r->gaps->events;
	uint32_t launcher = e->works.items[gap->next].thread;
	size_t count = 0, all = 0;

	for (uint32_t id = 1; id < e->threads.count; id++) {
		struct thread_doing one = {.thread = id};
		size_t at;

		if (!gaps_concerns(r->gaps, r->reader, d->device, id))
			continue;
		gap_events_doing(e, id, gap->start_ns, gap->end_ns, &one.doing);
		all++;
		for (at = count; at > 0; at--)
			if (ret[at - 1].thread == launcher || (id != launcher &&
				active_ns(&ret[at - 1].doing, e->has_waits) >= active_ns(&one.doing, e->has_waits)))
				break;
		if (at == THREADS_SHOWN || (id != launcher && active_ns(&one.doing, e->has_waits) <= (gap->end_ns - gap->start_ns) / 100))
			continue;
		count += count < THREADS_SHOWN;
		memmove(&ret[at + 1], &ret[at], (count - at - 1) * sizeof(*ret));
		ret[at] = one;
	}
	*ret_count = count;
	return all - count;
}

static void put_threads(const struct report *r, struct buf *out, const struct gap_device *d, const struct gap *gap)
{
	struct thread_doing threads[THREADS_SHOWN];
	size_t count, others = find_busiest(r, d, gap, threads, &count);
	char cell[TEXT_CELL];

	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *t = profile_thread(r->reader, threads[i].thread);
		struct buf line = BUF_INIT;

		buf_printf(&line, "%24s%s %u ", "", profile_string(r->reader, t->name, NULL), t->tid);
		put_doing(r, &line, &threads[i].doing, gap->end_ns - gap->start_ns);
		report_line(r, out, &line);
		buf_release(&line);
	}
	if (others)
		buf_printf(out, "%24s%s other thread%s: %s\n", "", text_count(cell, others), others == 1 ? "" : "s",
			count == THREADS_SHOWN	  ? "less" :
			r->gaps->events.has_waits ? "waiting (nearly) all the time" :
						    "not seen");
}

static void put_gap(const struct report *r, struct buf *out, const struct gap_device *d, const struct gap *gap)
{
	char length[TEXT_CELL], at[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "%10s %9s  %s", text_duration(length, gap->end_ns - gap->start_ns),
		text_duration(at, gap->start_ns > r->summary->start_ns ? gap->start_ns - r->summary->start_ns : 0),
		gap_cause_text(gap->cause));
	if (gap->stack)
		report_place(r, &line, word_before(gap->cause), gap->stack, REPORT_FUNCTIONS);
	report_line(r, out, &line);
	buf_release(&line);
	if (gap_needs_threads(gap->start_ns, &r->gaps->events.works.items[gap->next], d->latency_ns))
		put_threads(r, out, d, gap);
}

void report_gaps_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;
	char count[TEXT_CELL];

	if (!r->gaps->gaps.count || device_numbers_init(&numbers, r->reader))
		return;
	vec_foreach (d, &r->gaps->devices) {
		size_t shown = r->top && r->top < d->count ? r->top : d->count;

		if (!shown)
			continue;
		buf_puts(out, "\nLongest gaps of ");
		put_device_name(r, out, &numbers, d->device);
		if (shown < d->count)
			buf_printf(out, " (%zu of %s)", shown, text_count(count, d->count));
		buf_printf(out, "\n%10s %9s  likely cause, and what threads did meanwhile\n", "length", "at");
		for (size_t i = 0; i < shown; i++)
			put_gap(r, out, d, gaps_longest(r->gaps, d, i));
	}
}
