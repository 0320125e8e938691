// SPDX-License-Identifier: MIT
/* The longest gaps of each GPU, one by one: how long, why, and what threads did meanwhile. */
#include "report/gaps.h"

#include <string.h>

#include "base/intern.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/call_path.h"
#include "report/sections.h"

#define THREADS_SHOWN 4
/* That many of the longest gaps of a device have threads in JSON. */
#define WITH_THREADS 100
/* The default for how many are listed there of a device of which not all gaps are known. */
#define OF_PARTS 10000

void report_gap_cause(const struct report *r, struct buf *b, unsigned int cause, uint32_t stack)
{
	buf_puts(b, gap_cause_text(cause));
	if (stack)
		report_call_path(r, b,
			cause == GAP_INPUT || cause == GAP_PYTHON ? "; in " : "; at ", stack,
			REPORT_FUNCTIONS);
}

bool report_is_worth_showing(uint64_t ns, uint64_t whole_ns)
{
	return ns && ns >= whole_ns / 2000;
}

void report_gap_device(
	const struct report *r, struct buf *b, const struct device_numbers *numbers, uint32_t id)
{
	const struct profile_device *d = profile_device(r->reader, id);

	if (d)
		buf_printf(b, "GPU %u", device_number(numbers, r->reader, id));
	else
		buf_puts(b, "GPU not known");
}

/* ------------------------------------------------------------------ what threads did */

static uint64_t length_of(const struct gap *gap)
{
	return gap->end_ns - gap->start_ns;
}

static unsigned int longest_wait(const struct gap_doing *d)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < WAIT_REASONS; i++)
		if (d->wait_ns[i] > d->wait_ns[best])
			best = i;
	return best;
}

/* It ran, or waited for a CPU. */
static uint64_t active_ns(const struct gap_doing *d, bool has_waits)
{
	return d->sync_ns + d->call_ns + d->wait_ns[WAIT_RUN_QUEUE] +
	       (has_waits ? d->run_ns : d->sampled_ns);
}

/* "ran 12 %, waited 88 % (lock), in cond_wait" */
static void put_doing(
	const struct report *r, struct buf *line, const struct gap_doing *d, uint64_t length_ns)
{
	bool has_waits = r->gaps->events.has_waits;
	uint64_t waits_ns = 0;
	char share[TEXT_CELL];
	const char *comma = "";

	for (unsigned int i = 0; i < WAIT_REASONS; i++)
		waits_ns += d->wait_ns[i];
	if (has_waits && report_is_worth_showing(d->run_ns, length_ns)) {
		buf_printf(line, "ran %s", text_percent(share, d->run_ns, length_ns));
		comma = ", ";
	} else if (!has_waits && d->sampled_ns) {
		buf_printf(line, "sampled for %s",
			text_percent(share, d->sampled_ns < length_ns ? d->sampled_ns : length_ns,
				length_ns));
		comma = ", ";
	}
	if (report_is_worth_showing(d->call_ns, length_ns)) {
		buf_printf(line, "%sin API calls %s", comma,
			text_percent(share, d->call_ns, length_ns));
		comma = ", ";
	}
	if (report_is_worth_showing(d->sync_ns, length_ns)) {
		buf_printf(line, "%ssynchronizing %s", comma,
			text_percent(share, d->sync_ns, length_ns));
		comma = ", ";
	}
	if (report_is_worth_showing(waits_ns, length_ns))
		buf_printf(line, "%swaited %s (mostly %s)", comma,
			text_percent(share, waits_ns, length_ns),
			profile_wait_reason_name(longest_wait(d)));
	report_call_path(r, line, ": ", d->stack, 1);
}

struct thread_doing {
	uint32_t thread;
	struct gap_doing doing;
};

/* Whether there is anything to say of it. Of recordings without waits, where most have nothing, a
 * line above all gaps says that it is not known. */
static bool was_seen(const struct report *r, const struct gap_doing *d)
{
	return r->gaps->events.has_waits || active_ns(d, false);
}

/* The launching thread, then those that did most. Returns how many of the others there are. */
static size_t find_busiest(const struct report *r, const struct gap_device *d,
	const struct gap *gap, struct thread_doing ret[THREADS_SHOWN], size_t *ret_count)
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
		if (!was_seen(r, &one.doing))
			continue;
		all++;
		for (at = count; at > 0; at--)
			if (ret[at - 1].thread == launcher ||
				(id != launcher && active_ns(&ret[at - 1].doing, e->has_waits) >=
							   active_ns(&one.doing, e->has_waits)))
				break;
		if (at == THREADS_SHOWN || (id != launcher && active_ns(&one.doing, e->has_waits) <=
								      length_of(gap) / 100))
			continue;
		count += count < THREADS_SHOWN;
		memmove(&ret[at + 1], &ret[at], (count - at - 1) * sizeof(*ret));
		ret[at] = one;
	}
	*ret_count = count;
	return all - count;
}

static void put_threads(
	const struct report *r, struct buf *out, const struct gap_device *d, const struct gap *gap)
{
	struct thread_doing threads[THREADS_SHOWN];
	size_t count, others = find_busiest(r, d, gap, threads, &count);
	char cell[TEXT_CELL];

	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *t = profile_thread(r->reader, threads[i].thread);
		struct buf line = BUF_INIT;

		buf_printf(
			&line, "%24s%s %u ", "", profile_string(r->reader, t->name, NULL), t->tid);
		put_doing(r, &line, &threads[i].doing, length_of(gap));
		report_line(r, out, &line);
	}
	if (others)
		buf_printf(out, "%24s%s other thread%s: %s\n", "", text_count(cell, others),
			others == 1 ? "" : "s",
			count == THREADS_SHOWN || !r->gaps->events.has_waits
				? "less"
				: "waiting (nearly) all the time");
}

static void put_thread_json(
	const struct report *r, struct json_writer *w, uint32_t id, const struct gap *gap)
{
	const struct profile_thread *t = profile_thread(r->reader, id);
	struct gap_doing d;

	gap_events_doing(&r->gaps->events, id, gap->start_ns, gap->end_ns, &d);
	json_begin(w, NULL, '{');
	json_number(w, "tid", t->tid);
	json_text(w, "name", profile_string(r->reader, t->name, NULL));
	json_number(w, r->gaps->events.has_waits ? "run_ns" : "run_or_wait_ns", d.run_ns);
	json_number(w, "sampled_ns", d.sampled_ns);
	json_number(w, "cuda_ns", d.call_ns);
	json_number(w, "synchronizing_ns", d.sync_ns);
	json_begin(w, "waits_ns", '{');
	for (unsigned int i = 1; i < WAIT_REASONS; i++)
		if (d.wait_ns[i])
			json_number(w, profile_wait_reason_name(i), d.wait_ns[i]);
	json_end(w, '}');
	report_call_path_json(r, w, "path", d.stack, REPORT_PATH);
	json_end(w, '}');
}

/* ------------------------------------------------------------------ the gaps */

static bool needs_threads(const struct report *r, const struct gap_device *d, const struct gap *gap)
{
	return gap_needs_threads(
		gap->start_ns, &r->gaps->events.works.items[gap->next], d->latency_ns);
}

/* Gaps of a device that are listed already, by cause and place. */
struct listed {
	struct interner *causes;
	struct vec(const struct gap *) first;
};

/* The one that the lines of this gap would repeat; itself: there is none. */
static const struct gap *find_same(
	const struct report *r, struct listed *l, const struct gap *gap, struct buf *ret_cause)
{
	uint32_t id = 0;
	int added = 0;

	report_gap_cause(r, ret_cause, gap->cause, gap->stack);
	if (interner_add(l->causes, ret_cause->data, ret_cause->size, &id, &added) ||
		(added && vec_push(&l->first, gap)))
		return gap;
	return l->first.items[id - 1];
}

static const char *time_of(const struct report *r, char cell[TEXT_CELL], const struct gap *gap)
{
	uint64_t start_ns = r->summary->start_ns;

	return text_duration(cell, gap->start_ns > start_ns ? gap->start_ns - start_ns : 0);
}

static void put_gap(const struct report *r, struct buf *out, const struct gap_device *d,
	struct listed *listed, const struct gap *gap)
{
	char length[TEXT_CELL], at[TEXT_CELL];
	struct buf line = BUF_INIT, cause = BUF_INIT;
	const struct gap *same = find_same(r, listed, gap, &cause);

	buf_printf(&line, "%10s %9s  ", text_duration(length, length_of(gap)), time_of(r, at, gap));
	if (same == gap)
		buf_puts(&line, buf_text(&cause));
	else
		buf_printf(&line, "as at %s", time_of(r, at, same));
	report_line(r, out, &line);
	buf_release_for(&cause, out);
	if (same == gap && needs_threads(r, d, gap))
		put_threads(r, out, d, gap);
}

static void put_gaps(
	const struct report *r, struct buf *out, const struct gap_device *d, size_t shown)
{
	struct listed listed = {0};

	out->failed |= interner_new(&listed.causes) != 0;
	for (size_t i = 0; i < shown && !out->failed; i++)
		put_gap(r, out, d, &listed, gaps_longest(r->gaps, d, i));
	interner_free(listed.causes);
	vec_release(&listed.first);
}

void report_gaps_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;
	char count[TEXT_CELL];

	if (!r->gaps->gaps.count)
		return;
	out->failed |= device_numbers_init(&numbers, r->reader) != 0;
	vec_foreach (d, &r->gaps->devices) {
		size_t shown = r->top_gaps && r->top_gaps < d->count ? r->top_gaps : d->count;

		if (!shown)
			continue;
		buf_puts(out, "\nLongest gaps of ");
		report_gap_device(r, out, &numbers, d->device);
		if (shown < d->count)
			buf_printf(out, " (%zu of %s)", shown, text_count(count, d->count));
		buf_printf(out, "\n%10s %9s  likely cause, and what threads did meanwhile\n",
			"length", "at");
		put_gaps(r, out, d, shown);
	}
}

static void put_gap_json(
	const struct report *r, struct json_writer *w, const struct gap_device *d, size_t n)
{
	const struct gap *gap = gaps_longest(r->gaps, d, n);
	const struct profile_thread *t =
		profile_thread(r->reader, r->gaps->events.works.items[gap->next].thread);

	json_begin(w, NULL, '{');
	json_number(w, "start_ns", gap->start_ns);
	json_number(w, "duration_ns", length_of(gap));
	json_text(w, "cause", gap_cause_name(gap->cause));
	json_bool(w, "once", gap->once);
	if (t)
		json_number(w, "launching_tid", t->tid);
	report_call_path_json(r, w, "path", gap->stack, REPORT_PATH);
	if (n < WITH_THREADS && needs_threads(r, d, gap)) {
		json_begin(w, "threads", '[');
		for (uint32_t id = 1; id < r->gaps->events.threads.count; id++)
			if (gaps_concerns(r->gaps, r->reader, d->device, id))
				put_thread_json(r, w, id, gap);
		json_end(w, ']');
	}
	json_end(w, '}');
}

void report_device_gaps_json(
	const struct report *r, struct json_writer *w, const struct gap_device *d)
{
	size_t most = r->top_gaps			? r->top_gaps
		      : r->gaps->events.parts.period_ns ? OF_PARTS
							: d->count;

	json_begin(w, "gaps", '[');
	for (size_t i = 0; i < d->count && i < most; i++)
		put_gap_json(r, w, d, i);
	json_end(w, ']');
}
