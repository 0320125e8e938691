// SPDX-License-Identifier: MIT
/*
 * Every table has its numbers first, right-aligned, and the name last, so that long names are cut
 * without moving anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "view/names/name.h"
#include "report/report.h"
#include "base/text.h"
#include "view/names/launch_path.h"
#include "view/view.h"

/* Names are given at least this many columns, whatever the terminal. */
#define NAME_COLUMNS_MIN 14
/* Below that, shortest and longest times make room for names. */
#define FULL_COLUMNS_MIN 100
#define PATH_FRAMES	 4

size_t report_rows_shown(const struct report *r, size_t count)
{
	return r->top && r->top < count ? r->top : count;
}

void report_heading(const struct report *r, struct buf *out, const char *title, size_t count)
{
	size_t shown = report_rows_shown(r, count);

	buf_printf(out, "\n%s", title);
	if (shown < count)
		buf_printf(out, " (%zu of %zu)", shown, count);
	buf_putc(out, '\n');
}

unsigned int report_columns_left(const struct report *r, unsigned int used)
{
	if (!r->width)
		return 0;
	return r->width > used + NAME_COLUMNS_MIN ? r->width - used : NAME_COLUMNS_MIN;
}

/* Ends a line that is `used` columns long with a name. */
static void name_cell(const struct report *r, struct buf *out, unsigned int used, const char *name)
{
	text_fit(out, name, report_columns_left(r, used));
	buf_putc(out, '\n');
}

static const char *string(const struct report *r, uint32_t id)
{
	return profile_string(r->reader, id, NULL);
}

static const char *meta(const struct report *r, const char *key)
{
	const char *text = profile_meta(r->reader, key);

	return text && *text ? text : NULL;
}

/* Paths and reasons are of no use when cut, so these lines may be longer than the width. */
static void field(struct buf *out, const char *title, const char *text)
{
	if (!text)
		return;
	buf_printf(out, "%-13s ", title);
	text_fit(out, text, 0);
	buf_putc(out, '\n');
}

/* As field, for a text of several lines. */
static void field_lines(struct buf *out, const char *title, const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		struct buf line = BUF_INIT;

		buf_append(&line, text, length);
		field(out, title, buf_text(&line));
		out->failed |= line.failed;
		buf_release(&line);
		title = "";
		text += length + (text[length] != '\0');
	}
}

/* What the driver said, where the profile has something else. */
static void put_reported(const struct report *r, struct buf *out)
{
	uint64_t here_ns = r->summary->gpu_ns;
	uint64_t reported_ns = profile_meta_number(r->reader, META_GPU_REPORTED, here_ns);
	char all[TEXT_CELL], difference[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (reported_ns == here_ns)
		return;
	buf_printf(&line, "%s, %s %s than here", text_duration(all, reported_ns),
		text_duration(difference, reported_ns > here_ns ? reported_ns - here_ns
								 : here_ns - reported_ns),
		reported_ns > here_ns ? "more" : "less");
	field(out, "by the driver", buf_text(&line));
	out->failed |= line.failed;
	buf_release(&line);
}

/* Nothing is told apart from what was not asked for, and from what a recording that was cut short does not have. */
static void put_cpu_time(const struct report *r, struct buf *line)
{
	const struct summary *s = r->summary;
	const char *hz = meta(r, META_SAMPLE_HZ);
	bool sampled = hz && strcmp(hz, "0");
	char cell[TEXT_CELL], count[TEXT_CELL];

	if (!s->samples && !sampled) {
		buf_puts(line, profile_reader_incomplete(r->reader) ? "not known" : "not sampled");
		return;
	}
	buf_printf(line, "%s in %s sample%s", text_duration(cell, s->cpu_ns), text_count(count, s->samples),
		s->samples == 1 ? "" : "s");
	if (sampled)
		buf_printf(line, ", %s a second", hz);
}

static void put_gpu_time(const struct report *r, struct buf *line)
{
	const struct summary *s = r->summary;
	char cell[TEXT_CELL], count[TEXT_CELL];

	if (!s->works) {
		buf_puts(line, profile_reader_incomplete(r->reader) ? "not known" : "none recorded");
		return;
	}
	buf_printf(line, "%s in %s piece%s of work", text_duration(cell, s->gpu_ns), text_count(count, s->works),
		s->works == 1 ? "" : "s");
	if (view_is_simulated(r->reader))
		buf_puts(line, ", simulated GPU");
}

static void put_header(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	char cell[TEXT_CELL];
	struct buf line = BUF_INIT;

	field(out, "recording", r->path);
	field(out, "INCOMPLETE", profile_reader_incomplete(r->reader));
	if (meta(r, META_COMMAND)) {
		buf_puts(out, "command       ");
		name_cell(r, out, 14, meta(r, META_COMMAND));
	}
	field(out, "exit status", meta(r, META_EXIT_STATUS));
	field(out, "elapsed", s->end_ns == s->start_ns && profile_reader_incomplete(r->reader) ?
		"not known" : text_duration(cell, s->end_ns - s->start_ns));
	put_cpu_time(r, &line);
	field(out, "CPU time", buf_text(&line));
	buf_reset(&line);
	put_gpu_time(r, &line);
	field(out, "GPU time", buf_text(&line));
	put_reported(r, out);
	out->failed |= line.failed;
	buf_release(&line);
}

static void put_devices(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	uint64_t elapsed_ns = s->end_ns - s->start_ns;

	if (!s->devices.count)
		return;
	buf_printf(out, "\nGPUs\n%10s %9s %9s %11s %8s  device\n", "busy", "share", "idle", "work",
		"at once");
	vec_foreach (d, &s->devices) {
		const struct profile_device *device = profile_device(r->reader, d->device);
		uint64_t idle_ns = elapsed_ns > d->busy_ns ? elapsed_ns - d->busy_ns : 0;
		char busy[TEXT_CELL], share[TEXT_CELL], idle[TEXT_CELL], works[TEXT_CELL];
		struct buf name = BUF_INIT;

		if (device)
			buf_printf(&name, "%u %s", d->number, string(r, device->name));
		else
			buf_puts(&name, "not known");
		buf_printf(out, "%10s %9s %9s %11s %8.2f  ", text_duration(busy, d->busy_ns),
			text_percent(share, d->busy_ns, elapsed_ns),
			text_percent(idle, idle_ns, elapsed_ns), text_count(works, d->works),
			d->busy_ns ? (double)d->work_ns / (double)d->busy_ns : 0.0);
		name_cell(r, out, 53, buf_text(&name));
		buf_release(&name);
		if (d->uncertain_ns)
			buf_printf(out,
				"%10s busy may be up to %s more: its work came far out of order\n",
				"", text_duration(busy, d->uncertain_ns));
	}
}

static void put_one(const struct report *r, struct buf *b, const struct profile_location *l)
{
	struct buf readable = BUF_INIT;
	enum tree_kind kind = location_text(r->texts, l, &readable);

	if (r->width && kind == TREE_CXX)
		name_plain(b, buf_text(&readable));
	else
		text_fit(b, buf_text(&readable), 0);
	b->failed |= readable.failed;
	buf_release(&readable);
}

static void put_function(const struct report *r, struct buf *b, uint32_t location)
{
	uint32_t chain[INLINES_MAX];
	size_t count = r->inlines ? location_inlines(r->reader, location, chain) : 0;

	put_one(r, b, profile_location(r->reader, location));
	for (size_t n = 0; n < count; n++) {
		const struct profile_location l = location_of_inline(r->reader, chain[n]);

		buf_puts(b, " > ");
		put_one(r, b, &l);
	}
}

/* The last functions of a path that have room, at least one, with " > " between them. */
static void join_path(const struct report *r, struct buf *path, const uint32_t *locations,
	unsigned int count, unsigned int columns)
{
	struct buf longer = BUF_INIT;

	while (count--) {
		buf_reset(&longer);
		put_function(r, &longer, locations[count]);
		if (path->size)
			buf_printf(&longer, " > %s", path->data);
		if (path->size && columns && text_columns(buf_text(&longer)) > columns)
			break;
		buf_reset(path);
		buf_puts(path, buf_text(&longer));
	}
	path->failed |= longer.failed;
	buf_release(&longer);
}

/* "72.1 % from a > b > c", the hottest way to a kernel. */
static void put_path(const struct report *r, struct buf *out, const struct summary_kernel *k)
{
	uint32_t locations[LAUNCH_PATH_MAX];
	unsigned int count = launch_path_functions(&r->summary->internals, k->stack, PATH_FRAMES, locations);
	struct buf path = BUF_INIT;
	char share[TEXT_CELL];

	if (!count)
		return;
	join_path(r, &path, locations, count, report_columns_left(r, 34));
	buf_printf(out, "%21s%7s from ", "", text_percent(share, k->stack_ns, k->time.total_ns));
	name_cell(r, out, 34, buf_text(&path));
	out->failed |= path.failed;
	buf_release(&path);
}

static bool has_room_for_extremes(const struct report *r)
{
	return !r->width || r->width >= FULL_COLUMNS_MIN;
}

static void put_kernel(const struct report *r, struct buf *out, const struct summary_kernel *k)
{
	const struct summary_time *t = &k->time;
	char total[TEXT_CELL], share[TEXT_CELL], count[TEXT_CELL], mean[TEXT_CELL];
	char min[TEXT_CELL], max[TEXT_CELL];
	struct buf name = BUF_INIT;

	demangle(string(r, k->name), &name);
	buf_printf(out, "%10s %8s %11s %9s  ", text_duration(total, t->total_ns),
		text_percent(share, t->total_ns, r->summary->gpu_ns), text_count(count, t->count),
		text_duration(mean, t->total_ns / t->count));
	if (has_room_for_extremes(r))
		buf_printf(out, "%8s %9s  ", text_duration(min, t->min_ns),
			text_duration(max, t->max_ns));
	name_fit(out, name.size ? buf_text(&name) : "(no name)",
		report_columns_left(r, has_room_for_extremes(r) ? 63 : 43));
	buf_putc(out, '\n');
	out->failed |= name.failed;
	buf_release(&name);
	put_path(r, out, k);
}

static void put_kernels(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	size_t shown = report_rows_shown(r, s->kernels.count);

	if (!shown)
		return;
	report_heading(r, out, "Kernels", s->kernels.count);
	buf_printf(out, "%10s %8s %11s %9s%s  kernel\n", "total", "of GPU", "count", "mean",
		has_room_for_extremes(r) ? "       min       max" : "");
	for (size_t i = 0; i < shown; i++)
		put_kernel(r, out, &s->kernels.items[i]);
}

/* One row of copies or memsets. */
static void put_transfer(const struct report *r, struct buf *out, const struct summary_time *t,
	uint64_t bytes, const char *name)
{
	char total[TEXT_CELL], share[TEXT_CELL], count[TEXT_CELL], mean[TEXT_CELL];
	char size[TEXT_CELL], rate[TEXT_CELL];

	buf_printf(out, "%10s %8s %11s %9s %9s %12s  ", text_duration(total, t->total_ns),
		text_percent(share, t->total_ns, r->summary->gpu_ns), text_count(count, t->count),
		text_duration(mean, t->total_ns / t->count), text_bytes(size, bytes),
		text_bandwidth(rate, bytes, t->total_ns));
	name_cell(r, out, 66, name);
}

static void transfer_heading(
	const struct report *r, struct buf *out, const char *title, size_t count)
{
	report_heading(r, out, title, count);
	buf_printf(out, "%10s %8s %11s %9s %9s %12s  kind\n", "total", "of GPU", "count", "mean",
		"bytes", "bandwidth");
}

static void put_copies(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	size_t shown = report_rows_shown(r, s->copies.count);

	if (shown)
		transfer_heading(r, out, "Copies", s->copies.count);
	for (size_t i = 0; i < shown; i++) {
		const struct summary_copy *c = &s->copies.items[i];
		struct buf name = BUF_INIT;

		buf_printf(&name, "%s, %s to %s", profile_copy_name(c->kind),
			profile_memory_name(c->source), profile_memory_name(c->target));
		put_transfer(r, out, &c->time, c->bytes, buf_text(&name));
		buf_release(&name);
	}
}

static void put_sets(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	size_t shown = report_rows_shown(r, s->sets.count);

	if (shown)
		transfer_heading(r, out, "Memory sets", s->sets.count);
	for (size_t i = 0; i < shown; i++) {
		const struct summary_set *set = &s->sets.items[i];

		put_transfer(r, out, &set->time, set->bytes, profile_memory_name(set->target));
	}
}

static bool is_wait(const struct summary_call *c)
{
	return c->kind == CALL_SYNC;
}

static size_t count_calls(const struct summary *s, bool waits)
{
	size_t count = 0;

	vec_foreach (c, &s->call_times)
		count += is_wait(c) == waits;
	return count;
}

static void put_call(const struct report *r, struct buf *out, const struct summary_call *c)
{
	const struct summary_time *t = &c->time;
	char total[TEXT_CELL], calls[TEXT_CELL], mean[TEXT_CELL], min[TEXT_CELL], max[TEXT_CELL];
	struct buf name = BUF_INIT;

	buf_puts(&name, *string(r, c->api) ? string(r, c->api) : "(no name)");
	if (c->failed)
		buf_printf(&name, " (%s failed)", text_count(total, c->failed));
	buf_printf(out, "%10s %20s %9s %9s %9s  ", text_duration(total, t->total_ns),
		text_count(calls, t->count), text_duration(mean, t->total_ns / t->count),
		text_duration(min, t->min_ns), text_duration(max, t->max_ns));
	name_cell(r, out, 63, buf_text(&name));
	out->failed |= name.failed;
	buf_release(&name);
}

/* Time of CUDA calls on the CPU: those that wait for the GPU, and the others. */
static void put_calls(const struct report *r, struct buf *out, const char *title, bool waits)
{
	const struct summary *s = r->summary;
	size_t count = count_calls(s, waits), left = report_rows_shown(r, count);

	if (!count)
		return;
	report_heading(r, out, title, count);
	buf_printf(out, "%10s %20s %9s %9s %9s  call\n", "total", "count", "mean", "min", "max");
	vec_foreach (c, &s->call_times) {
		if (is_wait(c) != waits || !left)
			continue;
		left--;
		put_call(r, out, c);
	}
}

static void put_latency(const struct report *r, struct buf *out)
{
	static const double percents[] = {50, 90, 99, 99.9};
	const struct summary_latency *l = &r->summary->latency;
	const struct histogram *h = &l->times;
	char cell[TEXT_CELL];

	if (!h->count && !l->backwards)
		return;
	buf_puts(out, "\nFrom launch to start, of work outside graphs\n");
	if (h->count) {
		buf_printf(out, "%10s %9s %9s %9s %9s %9s %9s %9s\n", "count", "mean", "min", "p50",
			"p90", "p99", "p99.9", "max");
		buf_printf(out, "%10s", text_count(cell, h->count));
		buf_printf(out, " %9s", text_duration(cell, h->sum / h->count));
		buf_printf(out, " %9s", text_duration(cell, h->min));
		for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
			buf_printf(out, " %9s",
				text_duration(cell, histogram_percentile(h, percents[i])));
		buf_printf(out, " %9s\n", text_duration(cell, h->max));
	}
	if (l->backwards)
		buf_printf(out,
			"%10s started before their launch, by the clocks, and are not in these\n",
			text_count(cell, l->backwards));
}

static void put_task(const struct report *r, struct buf *out, const struct summary_task *t,
	const char *name)
{
	char cpu[TEXT_CELL], gpu[TEXT_CELL], launches[TEXT_CELL], works[TEXT_CELL];

	buf_printf(out, "%10s %9s %11s %11s  ", text_duration(cpu, t->cpu_ns),
		text_duration(gpu, t->gpu_ns), text_count(launches, t->launches),
		text_count(works, t->works));
	name_cell(r, out, 46, name);
}

static void task_heading(const struct report *r, struct buf *out, const char *title, size_t count,
	const char *last)
{
	report_heading(r, out, title, count);
	buf_printf(
		out, "%10s %9s %11s %11s  %s\n", "CPU time", "GPU time", "launches", "work", last);
}

/* The end of a table of tasks: how many are in none of its rows. */
static void put_without(struct buf *out, size_t rows, uint32_t without, const char *title)
{
	char count[TEXT_CELL];

	if (!without)
		return;
	if (!rows)
		buf_printf(out, "\n%s\n", title);
	buf_printf(out, "%10s %swith neither CPU samples nor GPU work\n", text_count(count, without), rows ? "more " : "");
}

static void put_processes(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	size_t shown = report_rows_shown(r, s->processes.count);

	if (shown)
		task_heading(r, out, "Processes", s->processes.count, "process");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_process *p =
			profile_process(r->reader, s->processes.items[i].id);
		struct buf name = BUF_INIT;

		if (p)
			buf_printf(&name, "%s (%u)", string(r, p->comm), p->pid);
		else
			buf_puts(&name, "not known");
		put_task(r, out, &s->processes.items[i], buf_text(&name));
		buf_release(&name);
	}
	put_without(out, shown, s->processes_without, "Processes");
}

static void put_threads(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	size_t shown = report_rows_shown(r, s->threads.count);

	if (shown)
		task_heading(r, out, "Threads", s->threads.count, "thread (process)");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_thread *t = profile_thread(r->reader, s->threads.items[i].id);
		const struct profile_process *p = t ? profile_process(r->reader, t->process) : NULL;
		struct buf name = BUF_INIT;

		if (t)
			buf_printf(&name, "%s %u (%s %u)", profile_thread_name(r->reader, t, NULL), t->tid,
				p ? string(r, p->comm) : "?", p ? p->pid : 0);
		else
			buf_puts(&name, "not known");
		put_task(r, out, &s->threads.items[i], buf_text(&name));
		buf_release(&name);
	}
	put_without(out, shown, s->threads_without, "Threads");
}

/* "99.7 % of 1,234 stacks of CPU samples are complete", and why the others are not. */
static void put_complete(const struct report *r, struct buf *out, const struct summary_stacks *s,
	const char *what)
{
	char share[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (!s->taken)
		return;
	buf_printf(out, "%10s of %s stacks of %s are complete\n",
		text_percent(share, s->taken - s->incomplete, s->taken),
		text_count(count, s->taken), what);
	if (s->python)
		buf_printf(out, "%10s of them have Python frames\n",
			text_percent(share, s->python, s->taken));
	vec_foreach (reason, &s->reasons) {
		buf_reset(&line);
		report_reason(r, reason->note, &line);
		buf_printf(out, "%10s %11s ", text_percent(share, reason->count, s->taken),
			text_count(count, reason->count));
		name_cell(r, out, 23, buf_text(&line));
	}
	out->failed |= line.failed;
	buf_release(&line);
}

static void put_stacks(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	const char *source = meta(r, META_STACK_SOURCE);
	struct buf launches = BUF_INIT;

	if (!s->sample_stacks.taken && !s->launch_stacks.taken && !s->work_stacks.taken && !s->wait_stacks.taken)
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
	if (!s->launch_stacks.taken)
		put_complete(r, out, &s->work_stacks, "GPU work");
	put_complete(r, out, &s->wait_stacks, "waits");
	out->failed |= launches.failed;
	buf_release(&launches);
}

static uint64_t sum_of(const uint64_t *counts, size_t from, size_t to)
{
	uint64_t sum = 0;

	for (size_t i = from; i < to; i++)
		sum += counts[i];
	return sum;
}

static void put_joins(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	char cell[TEXT_CELL];

	if (sum_of(s->pending, 0, PENDING_REASONS))
		buf_puts(out, "\nLaunches without GPU work\n");
	for (unsigned int i = 0; i < PENDING_REASONS; i++)
		if (s->pending[i])
			buf_printf(out, "%10s %s\n", text_count(cell, s->pending[i]),
				profile_pending_text(i));
	if (sum_of(s->joins, JOIN_OK + 1, JOIN_REASONS))
		buf_puts(out, "\nGPU work without a stack\n");
	for (unsigned int i = JOIN_OK + 1; i < JOIN_REASONS; i++)
		if (s->joins[i])
			buf_printf(out, "%10s %s\n", text_count(cell, s->joins[i]),
				profile_join_text(i));
}

static void put_losses(const struct report *r, struct buf *out)
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

/* CPU time that the profiler itself took in the program; not that of its calls in the program's own threads. */
static void put_own_time(const struct report *r, struct buf *out)
{
	char time[TEXT_CELL], share[TEXT_CELL];
	struct buf line = BUF_INIT;
	uint64_t own_ns = 0;

	vec_foreach (t, &r->summary->threads)
		own_ns += profile_is_profiler(r->reader, t->id) ? t->cpu_ns : 0;
	if (own_ns)
		buf_printf(&line, "%s of the CPU time (%s) is that of its own threads in programs, whose waits are left out",
			text_duration(time, own_ns), text_percent(share, own_ns, r->summary->cpu_ns));
	field(out, "profiler", line.size ? buf_text(&line) : NULL);
	out->failed |= line.failed;
	buf_release(&line);
}

static void put_notes(const struct report *r, struct buf *out)
{
	static const struct {
		const char *key, *title;
	} notes[] = {
		{META_STACK_SOURCE, "stacks by"},
		{META_CUPTI_ENDED, "not recorded"},
		{META_STALLS_REFUSED, "not sampled"},
		{META_COUNTERS_REFUSED, "no counters"},
		{META_DRIVERS, "drivers"},
		{META_DRIVERS_REFUSED, "not watched"},
		{META_CUPTI, "CUPTI"},
		{META_HOSTNAME, "machine"},
		{META_KERNEL, "kernel"},
		{META_CPUS, "CPUs"},
		{META_VERSION, "xpuprof"},
	};
	const char *error = meta(r, META_CLOCK_ERROR), *taken = meta(r, META_STACKS_TAKEN);
	bool launched = r->summary->works || r->summary->calls;
	struct buf lines = BUF_INIT, clocks = BUF_INIT, launches = BUF_INIT;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (launched || strcmp(notes[i].key, META_STACK_SOURCE))
			field_lines(&lines, notes[i].title, meta(r, notes[i].key));
	if (taken && launched)
		buf_printf(&launches, "%s stacks taken; launches beyond these repeat one of them", taken);
	field(&lines, "launches", launches.size ? buf_text(&launches) : NULL);
	put_own_time(r, &lines);
	if (error)
		buf_printf(&clocks, "GPU times may be off by %s ns", error);
	field(&lines, "clocks", clocks.size ? buf_text(&clocks) : NULL);
	if (lines.size)
		buf_printf(out, "\nAbout this recording\n%s", lines.data);
	out->failed |= lines.failed || clocks.failed || launches.failed;
	buf_release(&lines);
	buf_release(&clocks);
	buf_release(&launches);
}

/* Instead of all tables. */
static int put_wanted(const struct report *r, struct buf *out)
{
	int error = r->stalls ? report_stalls_text(r, out) : 0;

	return error || !r->counters ? error : report_counters_text(r, out);
}

int report_text(const struct report *r, struct buf *out)
{
	put_header(r, out);
	if (r->stalls || r->counters)
		return put_wanted(r, out);
	put_devices(r, out);
	report_idle_text(r, out);
	put_kernels(r, out);
	put_copies(r, out);
	put_sets(r, out);
	put_calls(r, out, "Calls that wait for the GPU", true);
	put_calls(r, out, "Calls that ask for GPU work", false);
	put_latency(r, out);
	report_gaps_text(r, out);
	report_sync_waits_text(r, out);
	report_functions_text(r, out);
	report_waits_text(r, out);
	report_drivers_text(r, out);
	put_processes(r, out);
	put_threads(r, out);
	put_stacks(r, out);
	put_joins(r, out);
	put_losses(r, out);
	put_notes(r, out);
	return 0;
}
