// SPDX-License-Identifier: MIT
#include "monitor/metrics/metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "monitor/metrics/exposition.h"
#include "monitor/metrics/families.h"

struct writer {
	const struct metrics_input *in;
	struct buf *out;
	struct metric_groups groups;
};

/* ------------------------------------------------------------------ series */

/* "CRTC" in a heading is "crtc" here: label names are in lower case by convention. */
static void label_name(const char *name, char ret[METRICS_LABEL_BYTES])
{
	size_t i = 0;

	for (; name[i] && i < METRICS_LABEL_BYTES - 1; i++)
		ret[i] = (char)tolower((unsigned char)name[i]);
	ret[i] = '\0';
}

static void add_label(struct buf *labels, const char *name, const char *value)
{
	char lower[METRICS_LABEL_BYTES];

	label_name(name, lower);
	exposition_label(labels, lower, value);
}

/* `container`: of a row of no process; NULL: as the row's cgroup says. */
static int add_row(
	struct writer *w, enum metric_level level, const struct total *row, const char *container)
{
	const struct monitor_series *s = &w->in->monitor->series[row->series];
	struct buf labels = BUF_INIT;
	int error;

	exposition_label(&labels, "monitor", w->in->monitor->name);
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (s->label[i])
			add_label(&labels, s->label[i], row->label[i]);
	metric_owner_labels(&labels, level, row->pid, row->comm,
		container ? container : containers_name(w->in->accounts->containers, row->cgroup));
	error = metric_groups_add(&w->groups, &labels, row);
	buf_release(&labels);
	return error;
}

static int add_ended(struct writer *w, size_t series, enum metric_level level, bool busy)
{
	int error = 0;

	if (level == METRIC_BY_PROCESS)
		return 0;
	vec_foreach (s, &w->in->accounts->sums)
		if (!error && s->sum.series == series && !s->container == (level == METRIC_ALL) &&
			(busy ? s->sum.busy_ns : s->sum.count))
			error = add_row(w, level, &s->sum, s->container);
	return error;
}

/* Whether events of this series are only of those whom a text of theirs names. */
static bool is_of_named(const struct monitor *m, size_t series)
{
	for (const struct monitor_event *e = m->events; e->name; e++)
		for (size_t n = 0; n < MONITOR_COUNTS && e->process_text; n++)
			if (e->counts[n].value != VALUE_NOTHING && e->counts[n].series == series)
				return true;
	return false;
}

static int gather(struct writer *w, size_t series, enum metric_level level)
{
	bool only_named = level == METRIC_BY_PROCESS && is_of_named(w->in->monitor, series);
	int error = 0;

	metric_groups_clear(&w->groups);
	vec_foreach (row, &w->in->totals->rows)
		if (!error && row->series == series && (row->pid || !only_named))
			error = add_row(w, level, row, NULL);
	return error ?: add_ended(w, series, level, false);
}

/* Busy time of a ring as one row, or of a process on it. */
static int add_busy(struct writer *w, enum metric_level level, const struct total_busy *b)
{
	struct total row = {
		.series = b->series, .busy_ns = b->busy_ns, .busy_uncertain_ns = b->uncertain_ns};
	const struct account_process *p = b->pid ? accounts_process(w->in->accounts, b->pid) : NULL;

	memcpy(row.label, b->label, sizeof(row.label));
	row.pid = b->pid;
	if (p) {
		row.cgroup = p->cgroup;
		memcpy(row.comm, p->comm, sizeof(row.comm));
	}
	return add_row(w, level, &row, NULL);
}

static int gather_busy(struct writer *w, size_t series, enum metric_level level)
{
	int error = 0;

	metric_groups_clear(&w->groups);
	vec_foreach (b, &w->in->totals->busy) {
		bool wanted =
			level == METRIC_ALL ? !b->pid : b->pid && b->label[0][0] && b->busy_ns;

		if (!error && b->series == series && wanted)
			error = add_busy(w, level, b);
	}
	return error || level == METRIC_ALL ? error : add_ended(w, series, level, true);
}

static int write_series(struct writer *w, size_t series)
{
	const struct monitor *m = w->in->monitor;
	int error = 0;

	for (enum metric_level level = METRIC_ALL; level < METRIC_LEVELS && !error; level++) {
		struct metric_families f = {.count = 0}, busy = {.count = 0};

		if (level != METRIC_ALL && !m->series[series].by_process)
			break;
		metric_series_families(m, series, level, &f);
		error = gather(w, series, level);
		if (!error)
			metric_families_write(&f, &w->groups, w->out);
		metric_busy_families(m, series, level, &busy);
		if (!error && busy.count)
			error = gather_busy(w, series, level);
		if (!error && busy.count)
			metric_families_write(&busy, &w->groups, w->out);
	}
	return error;
}

/* ------------------------------------------------------------------ what is held */

static int add_held(struct writer *w, enum metric_level level, const struct held *h)
{
	const struct account_process *p = h->pid ? accounts_process(w->in->accounts, h->pid) : NULL;
	const struct total row = {.count = h->count, .sum = h->value};
	struct buf labels = BUF_INIT;
	int error;

	exposition_label(&labels, "monitor", w->in->monitor->name);
	exposition_label(&labels, "object", w->in->monitor->objects[h->object].name);
	metric_owner_labels(&labels, level, h->pid, p ? p->comm : h->comm,
		containers_name(w->in->accounts->containers, p ? p->cgroup : h->cgroup));
	error = metric_groups_add(&w->groups, &labels, &row);
	buf_release(&labels);
	return error;
}

static int write_held(struct writer *w, enum metric_level level, bool sizes)
{
	struct metric_families f = {.count = 0};
	int error = 0;

	metric_groups_clear(&w->groups);
	vec_foreach (h, &w->in->held->rows)
		if (!error && (!sizes || w->in->monitor->objects[h->object].by_stack))
			error = add_held(w, level, h);
	metric_held_families(level, sizes, &f);
	if (!error)
		metric_families_write(&f, &w->groups, w->out);
	return error;
}

/* ------------------------------------------------------------------ about the watch itself */

static void write_one(struct writer *w, const char *name, const char *type, const char *help,
	uint64_t value, enum exposition_unit unit)
{
	struct buf labels = BUF_INIT;

	exposition_label(&labels, "monitor", w->in->monitor->name);
	exposition_family(w->out, name, type, help);
	exposition_sample(w->out, name, "", buf_text(&labels), value, unit);
	buf_release(&labels);
}

static void write_event(
	struct writer *w, const char *name, size_t event, const char *cause, uint64_t value)
{
	struct buf labels = BUF_INIT;

	exposition_label(&labels, "monitor", w->in->monitor->name);
	exposition_label(&labels, "event", w->in->monitor->events[event].name);
	exposition_label(&labels, "cause", cause);
	exposition_sample(w->out, name, "", buf_text(&labels), value, EXPOSITION_NUMBER);
	buf_release(&labels);
}

static void write_losses(struct writer *w)
{
	static const char name[] = METRIC_PREFIX "losses_total";

	exposition_family(w->out, name, "counter",
		"What could not be recorded of events, by cause; began_before is no loss of ours: "
		"it "
		"began before the watch.");
	for (size_t e = 0; w->in->monitor->events[e].name; e++) {
		const struct watch_event_status *s = &w->in->events[e];

		if (!s->attached)
			continue;
		write_event(w, name, e, "began_before", s->totals.strangers);
		write_event(w, name, e, "field_unreadable", s->totals.unread);
		if (s->missed_known)
			write_event(w, name, e, "not_run", s->missed);
		write_event(w, name, e, "ring_full", s->totals.records);
		write_event(w, name, e, "too_many_cells", s->totals.cells);
		write_event(w, name, e, "too_many_objects", s->totals.objects);
		write_event(w, name, e, "too_many_stacks", s->totals.stacks);
	}
}

static void write_events(struct writer *w)
{
	const struct monitor_event *events = w->in->monitor->events;

	exposition_family(w->out, METRIC_PREFIX "event_watched", "gauge",
		"1 while the event can be watched on this kernel.");
	for (size_t e = 0; events[e].name; e++)
		write_event(w, METRIC_PREFIX "event_watched", e, "",
			w->in->events[e].attached && !w->in->events[e].vanished);
	exposition_family(
		w->out, METRIC_PREFIX "events_total", "counter", "How often the event came.");
	for (size_t e = 0; events[e].name; e++)
		if (w->in->events[e].attached)
			write_event(w, METRIC_PREFIX "events_total", e, "",
				w->in->events[e].totals.seen);
	write_losses(w);
}

static void write_head(struct writer *w)
{
	const struct accounts *a = w->in->accounts;

	exposition_family(w->out, METRIC_PREFIX "build_info", "gauge",
		"Always 1; the version is in the label.");
	exposition_sample(w->out, METRIC_PREFIX "build_info", "", "version=\"" XPUPROF_VERSION "\"",
		1, EXPOSITION_NUMBER);
	write_one(w, METRIC_PREFIX "watched_seconds_total", "counter",
		"Time since the watch began.", w->in->watched_ns, EXPOSITION_NANOSECONDS);
	write_one(w, METRIC_PREFIX "ended_processes_total", "counter",
		"Processes that ended and are only counted with their container.", a->ended,
		EXPOSITION_NUMBER);
	write_one(w, METRIC_PREFIX "forgotten_sums_total", "counter",
		"Sums of containers that are no longer exported, as they are gone or there were "
		"too "
		"many.",
		a->forgotten, EXPOSITION_NUMBER);
}

int metrics_write(const struct metrics_input *in, struct buf *out)
{
	struct writer w = {.in = in, .out = out};
	int error = 0;

	write_head(&w);
	for (size_t s = 0; in->monitor->series && in->monitor->series[s].name && !error; s++)
		if (in->monitor->series[s].metric)
			error = write_series(&w, s);
	for (enum metric_level level = METRIC_ALL; level < METRIC_LEVELS && !error; level++) {
		error = write_held(&w, level, false);
		error = error ?: write_held(&w, level, true);
	}
	write_events(&w);
	metric_groups_release(&w.groups);
	return error || out->failed ? error_memory(NULL) : 0;
}
