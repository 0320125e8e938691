// SPDX-License-Identifier: MIT
/* The member "idle": documented in xpuprof-report(1). */
#include "base/json_writer.h"
#include "report/report.h"
#include "report/place.h"
#include "view/gaps/gaps.h"

/* That many of the longest gaps of a device have threads. */
#define WITH_THREADS 100
/* So many are listed of a device of which not all gaps are known, where nobody says how many. */
#define OF_PARTS 10000

static void put_sums(const struct report *r, struct json_writer *w, const char *name, const struct gap_sum *sums)
{
	json_begin(w, name, '[');
	for (unsigned int i = 0; i < GAP_CAUSES; i++) {
		if (!sums[i].count)
			continue;
		json_begin(w, NULL, '{');
		json_text(w, "cause", gap_cause_name(i));
		json_number(w, "count", sums[i].count);
		json_number(w, "total_ns", sums[i].total_ns);
		report_place_json(r, w, "path", sums[i].stack);
		json_number(w, "path_ns", sums[i].stack_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void put_thread(const struct report *r, struct json_writer *w, uint32_t id, const struct gap *gap)
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
	report_place_json(r, w, "path", d.stack);
	json_end(w, '}');
}

static void put_gap(const struct report *r, struct json_writer *w, const struct gap_device *d, size_t n)
{
	const struct gap *gap = gaps_longest(r->gaps, d, n);
	const struct gap_work *next = &r->gaps->events.works.items[gap->next];
	const struct profile_thread *t = profile_thread(r->reader, next->thread);

	json_begin(w, NULL, '{');
	json_number(w, "start_ns", gap->start_ns);
	json_number(w, "duration_ns", gap->end_ns - gap->start_ns);
	json_text(w, "cause", gap_cause_name(gap->cause));
	json_key(w, "once");
	buf_puts(w->out, gap->once ? "true" : "false");
	if (t)
		json_number(w, "launching_tid", t->tid);
	report_place_json(r, w, "path", gap->stack);
	if (n < WITH_THREADS && gap_needs_threads(gap->start_ns, next, d->latency_ns)) {
		json_begin(w, "threads", '[');
		for (uint32_t id = 1; id < r->gaps->events.threads.count; id++)
			if (gaps_concerns(r->gaps, r->reader, d->device, id))
				put_thread(r, w, id, gap);
		json_end(w, ']');
	}
	json_end(w, '}');
}

static void put_process(const struct report *r, struct json_writer *w, const struct gap_process *p)
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

static size_t gaps_shown(const struct report *r, const struct gap_device *d)
{
	size_t most = r->top ? r->top : r->gaps->events.parts.period_ns ? OF_PARTS : d->count;

	return most < d->count ? most : d->count;
}

static void put_device(const struct report *r, struct json_writer *w, const struct gap_device *d)
{
	size_t shown = gaps_shown(r, d);

	json_begin(w, NULL, '{');
	json_number(w, "device", d->device);
	json_number(w, "first_ns", d->first_ns);
	json_number(w, "last_ns", d->last_ns);
	json_number(w, "span_ns", d->span_ns);
	json_number(w, "idle_ns", d->idle_ns);
	json_number(w, "launch_latency_ns", d->latency_ns);
	json_number(w, "count", d->count);
	put_sums(r, w, "many", d->many);
	put_sums(r, w, "once", d->once);
	json_begin(w, "gaps", '[');
	for (size_t i = 0; i < shown; i++)
		put_gap(r, w, d, i);
	json_end(w, ']');
	json_end(w, '}');
}

void report_gaps_json(const struct report *r, struct json_writer *w)
{
	const struct gap_parts *parts = &r->gaps->events.parts;

	json_begin(w, "idle", '{');
	json_key(w, "waits_recorded");
	buf_puts(w->out, r->gaps->events.has_waits ? "true" : "false");
	json_real(w, "share", parts->period_ns ? (double)parts->length_ns / (double)parts->period_ns : 1);
	if (r->gaps->events.cut_ns)
		json_number(w, "until_ns", r->gaps->events.cut_ns);
	json_begin(w, "processes", '[');
	vec_foreach (p, &r->gaps->processes)
		put_process(r, w, p);
	json_end(w, ']');
	json_begin(w, "devices", '[');
	vec_foreach (d, &r->gaps->devices)
		put_device(r, w, d);
	json_end(w, ']');
	json_end(w, '}');
}
