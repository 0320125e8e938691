// SPDX-License-Identifier: MIT
/* What was recorded, in short, and notes on the recording. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "profile/runtimes.h"
#include "report/sections.h"
#include "view/view.h"

#define FORM_VERSION 1
#define MUCH	     10 /* one part in so many without a name is worth a line */
/* Asks those of all distributions. */
#define SERVERS "https://debuginfod.elfutils.org/"

/* Paths and reasons are of no use when cut, so these lines may be longer than the width. */
static void field(struct buf *out, const char *title, const char *text)
{
	if (!text)
		return;
	buf_printf(out, "%-13s ", title);
	text_fit(out, text, 0);
	buf_putc(out, '\n');
}

/* The driver's own words, where the profile has something else. */
static void put_reported(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	uint64_t here_ns = s->estimated ? s->seen_gpu_ns : s->gpu_ns;
	uint64_t reported_ns = profile_meta_number(r->reader, META_GPU_REPORTED, here_ns);
	char all[TEXT_CELL], difference[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (r->range || reported_ns == here_ns)
		return; /* it reported all of it */
	buf_printf(&line, "%s, %s %s than here", text_duration(all, reported_ns),
		text_duration(difference,
			reported_ns > here_ns ? reported_ns - here_ns : here_ns - reported_ns),
		reported_ns > here_ns ? "more" : "less");
	field(out, "by the driver", buf_text(&line));
	buf_release_for(&line, out);
}

/* Distinguishes no CPU time from time that was not asked for, and from time that a recording cut
 * short lacks. */
static void put_cpu_time(const struct report *r, struct buf *line)
{
	const struct summary *s = r->summary;
	const char *hz = report_meta(r, META_SAMPLE_HZ), *of = report_meta(r, META_SAMPLES_OF),
		   *why = report_meta(r, META_SAMPLES_REFUSED);
	bool sampled = hz && strcmp(hz, "0");
	char cell[TEXT_CELL], count[TEXT_CELL];

	if (!s->samples && !s->cpu_ns && !sampled) {
		buf_puts(line, profile_reader_incomplete(r->reader) ? "not known" : "not sampled");
		if (why)
			buf_printf(line, ": %s", why);
		return;
	}
	buf_printf(line, "%s in %s sample%s",
		text_sampled_duration(cell, s->cpu_ns, s->sampled_time ? s->samples : UINT64_MAX),
		text_count(count, s->samples), s->samples == 1 ? "" : "s");
	if (sampled)
		buf_printf(line, ", %s a second", hz);
	if (of && !strcmp(of, "user"))
		buf_puts(line, "; the kernel's work was not sampled");
}

static void put_gpu_time(const struct report *r, struct buf *line)
{
	const struct summary *s = r->summary;
	char cell[TEXT_CELL], count[TEXT_CELL], error[TEXT_CELL];

	if (!s->works) {
		buf_puts(
			line, profile_reader_incomplete(r->reader) ? "not known" : "none recorded");
		return;
	}
	buf_puts(line, text_duration(cell, s->gpu_ns));
	if (s->estimated)
		buf_printf(line, " (%s)", text_error(error, s->gpu_ns, s->gpu_range.high));
	buf_printf(line, " in %s piece%s of work", text_count(count, s->works),
		s->works == 1 ? "" : "s");
	if (s->estimated)
		buf_printf(line, " (%s)", text_error(error, s->works, s->works_range.high));
	if (view_is_simulated(r->reader))
		buf_puts(line, ", simulated GPU");
}

/* What the budget of bursts does not cover. */
static void put_besides(const struct report *r, struct buf *out)
{
	uint64_t cpu_ns = profile_meta_number(r->reader, META_RECORDER_CPU, 0),
		 start_ns = profile_meta_number(r->reader, META_START_NS, 0),
		 end_ns = profile_meta_number(r->reader, META_END_NS, 0);
	char time[TEXT_CELL], share[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_puts(&line, "what the tracer of GPUs that have one costs while it is loaded (on an "
			"H200 0 to 2.3 % of "
			"the time of small graphs, once 7.3 %)");
	if (cpu_ns && end_ns > start_ns)
		buf_printf(&line, "; CPU time of the recorder itself, %s (%s of a CPU)",
			text_duration(time, cpu_ns),
			text_share(share, (double)cpu_ns, (double)(end_ns - start_ns)));
	field(out, "not in that", buf_text(&line));
	buf_release_for(&line, out);
}

/* How much of the GPU work is in the file, and what that makes of the sums. */
static void put_bursts(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	const char *percent = report_meta(r, META_OVERHEAD);
	char share[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (!s->in_bursts)
		return;
	if (s->bursts.count)
		buf_printf(&line, "GPU work was recorded for %s of the time, in %s burst%s",
			text_share(share, s->bursts.recorded_ns, s->bursts.of_ns),
			text_count(count, s->bursts.count), s->bursts.count == 1 ? "" : "s");
	else
		buf_puts(&line, "no burst came in which GPU work was to be recorded");
	if (percent)
		buf_printf(&line, ", to cost %s %% at most", percent);
	buf_puts(&line, s->bursts.count ? ": its times and numbers are estimates"
					: ": how much there was is not known");
	field(out, "in bursts", buf_text(&line));
	if (percent)
		put_besides(r, out);
	buf_reset(&line);
	if (s->without_bursts)
		buf_printf(&line, "GPU work of %s process%s: no burst came while %s ran",
			text_count(count, s->without_bursts), s->without_bursts == 1 ? "" : "es",
			s->without_bursts == 1 ? "it" : "they");
	field(out, "not recorded", line.size ? buf_text(&line) : NULL);
	buf_release_for(&line, out);
}

/* So too where works were drawn. */
static void put_draws(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	const char *part = report_meta(r, META_OPENCL_TIMES);
	char seen[TEXT_CELL], count[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (!part)
		return;
	buf_printf(&line, "of %s of %s pieces of work (--opencl-times %s): times are estimates",
		text_count(seen, s->seen_works), text_count(count, s->works), part);
	field(out, "GPU times", buf_text(&line));
	buf_release_for(&line, out);
}

/* The module of this kind with most CPU time of its own in code without a name; NULL: it is
 * little. */
static const struct profile_module *find_nameless(
	const struct report *r, enum profile_module_kind kind, struct stack_sum *ret)
{
	const struct profile_module *found = NULL;

	*ret = (struct stack_sum){0};
	/* The most time first: the file of the first is the one, but for many small functions. */
	vec_foreach (f, &r->functions->rows) {
		const struct profile_module *m = profile_module(r->reader, f->nameless);

		if (!m || m->kind != kind || (found && found != m))
			continue;
		found = m;
		ret->ns += f->self.ns;
		ret->samples += f->self.samples;
	}
	return ret->ns && ret->ns >= r->summary->cpu_ns / MUCH ? found : NULL;
}

/* Names are found when a recording ends. */
static bool waits_for_names(const struct report *r)
{
	const struct profile_location *l;

	if (!profile_reader_incomplete(r->reader))
		return false;
	for (uint32_t id = 1; (l = profile_location(r->reader, id)); id++)
		if (l->kind == FRAME_USER && l->name)
			return false;
	return true;
}

/* What would name it. */
static void put_nameless(const struct report *r, struct buf *out)
{
	static const char late[] = "the end of the recording, where names are found, is not there: "
				   "run 'xpuprof symbolize'";
	static const char none[] = "install its debug package (-dbgsym, -debuginfo) or set "
				   "DEBUGINFOD_URLS=" SERVERS ", then run 'xpuprof symbolize'";
	struct stack_sum sum;
	const struct profile_module *m = find_nameless(r, MODULE_FILE, &sum);
	struct buf line = BUF_INIT;
	char share[TEXT_CELL];

	if (m)
		buf_printf(&line, "%s of the CPU time, in '%s': %s",
			text_sampled_percent(share, sum.ns, r->summary->cpu_ns, sum.samples),
			profile_string(r->reader, m->path, NULL), waits_for_names(r) ? late : none);
	field(out, "no names", m ? buf_text(&line) : NULL);
	buf_release_for(&line, out);
}

/* So too for code that a program made while it ran. */
static void put_nameless_jit(const struct report *r, struct buf *out)
{
	struct stack_sum sum;
	const struct profile_module *m = find_nameless(r, MODULE_ANON, &sum);
	const struct runtime *runtime = runtime_info(m ? runtime_of_flags(m->flags) : 0);
	struct buf line = BUF_INIT;
	char share[TEXT_CELL];

	if (m)
		buf_printf(&line, "%s of the CPU time, in code that %s made while it ran: %s",
			text_sampled_percent(share, sum.ns, r->summary->cpu_ns, sum.samples),
			runtime->name, runtime->hint);
	field(out, "no names", m ? buf_text(&line) : NULL);
	buf_release_for(&line, out);
}

/* What of GPU work is known of programs that could not be joined. */
static void put_observed(const struct report *r, struct buf *out)
{
	const char *line = report_meta(r, META_OBSERVED);
	struct buf b = BUF_INIT;

	while (line && *line) {
		int size = (int)strcspn(line, "\n");

		buf_printf(&b, "process %.*s\n", size, line);
		line += size + (line[size] == '\n');
	}
	if (b.size)
		buf_puts(&b, "of their GPU work only calls are known: no kernels, no GPU times");
	report_lines(out, "observed      ", "              ", b.size ? buf_text(&b) : NULL);
	buf_release_for(&b, out);
}

void report_head_text(const struct report *r, struct buf *out)
{
	const struct summary *s = r->summary;
	char cell[TEXT_CELL];
	struct buf line = BUF_INIT;

	field(out, "recording", r->path);
	field(out, "INCOMPLETE", profile_reader_incomplete(r->reader));
	if (report_meta(r, META_COMMAND)) {
		buf_puts(out, "command       ");
		text_fit(out, report_meta(r, META_COMMAND), report_columns_left(r, 14));
		buf_putc(out, '\n');
	}
	field(out, "exit status", report_meta(r, META_EXIT_STATUS));
	field(out, "elapsed",
		s->end_ns == s->start_ns && profile_reader_incomplete(r->reader)
			? "not known"
			: text_duration(cell, r->elapsed_ns));
	field(out, "range", r->range ? r->range->text : NULL);
	put_cpu_time(r, &line);
	field(out, "CPU time", buf_text(&line));
	buf_reset(&line);
	put_gpu_time(r, &line);
	field(out, "GPU time", buf_text(&line));
	put_bursts(r, out);
	put_draws(r, out);
	put_reported(r, out);
	put_observed(r, out);
	put_nameless(r, out);
	put_nameless_jit(r, out);
	buf_release_for(&line, out);
}

static void put_estimates_json(const struct report *r, struct json_writer *w)
{
	const struct summary *s = r->summary;

	if (!s->estimated)
		return;
	report_range_json(w, "gpu_low_ns", "gpu_high_ns", &s->gpu_range);
	report_range_json(w, "works_low", "works_high", &s->works_range);
	if (!s->in_bursts) {
		json_number(w, "works_timed", s->seen_works);
		return;
	}
	json_begin(w, "bursts", '{');
	json_number(w, "count", s->bursts.count);
	json_number(w, "recorded_ns", profile_rounded(s->bursts.recorded_ns));
	json_number(w, "of_ns", profile_rounded(s->bursts.of_ns));
	json_number(w, "works_recorded", s->seen_works);
	json_number(w, "gpu_recorded_ns", s->seen_gpu_ns);
	json_number(w, "processes_without", s->without_bursts);
	json_end(w, '}');
}

void report_head_json(const struct report *r, struct json_writer *w)
{
	const struct summary *s = r->summary;
	const char *name, *value;

	json_number(w, "form", FORM_VERSION);
	json_text(w, "file", r->path);
	json_text(w, "incomplete", profile_reader_incomplete(r->reader));
	json_bool(w, "simulated", view_is_simulated(r->reader));
	json_begin(w, "meta", '{');
	for (size_t i = 0; profile_meta_at(r->reader, i, &name, &value); i++)
		json_text_lines(w, name, value);
	json_end(w, '}');
	json_number(w, "elapsed_ns", r->elapsed_ns);
	json_text(w, "range", r->range ? r->range->text : NULL);
	json_number(w, "samples", s->samples);
	json_number(w, "cpu_ns", s->cpu_ns);
	json_bool(w, "cpu_exact", s->cpu_ns && !s->sampled_time);
	json_number(w, "works", s->works);
	json_number(w, "gpu_ns", s->gpu_ns);
	put_estimates_json(r, w);
}

/* CPU time that the profiler itself took in the program; not that of its calls in the program's own
 * threads. */
static void put_own_time(const struct report *r, struct buf *out)
{
	char time[TEXT_CELL], share[TEXT_CELL];
	struct buf line = BUF_INIT;
	uint64_t own_ns = 0, samples = 0;

	vec_foreach (t, &r->summary->threads) {
		if (!profile_is_profiler(r->reader, t->id))
			continue;
		own_ns += t->cpu_ns;
		samples += t->samples;
	}
	if (own_ns)
		buf_printf(&line,
			"%s of the CPU time (%s) is that of its own threads in programs, whose "
			"waits are left out",
			text_sampled_duration(time, own_ns, samples),
			text_sampled_percent(share, own_ns, r->summary->cpu_ns, samples));
	field(out, "profiler", line.size ? buf_text(&line) : NULL);
	buf_release_for(&line, out);
}

/* `lines` may be NULL. */
static bool has_line(const char *lines, const char *text, size_t size)
{
	while (lines && *lines) {
		size_t length = strcspn(lines, "\n");

		if (length == size && !memcmp(lines, text, size))
			return true;
		lines += length + (lines[length] == '\n');
	}
	return false;
}

/* What began before the recording. */
static void put_joined(const struct report *r, struct buf *out)
{
	const char *woken = report_meta(r, META_WOKEN);
	struct buf line = BUF_INIT;

	for (const char *pids = report_meta(r, META_JOINED); pids && *pids;) {
		int size = (int)strcspn(pids, "\n");

		buf_printf(&line, "%s%.*s%s", line.size ? ", " : "process ", size, pids,
			has_line(woken, pids, (size_t)size) ? " (prepared)" : "");
		pids += size + (pids[size] == '\n');
	}
	if (line.size)
		buf_puts(&line,
			", which ran already: where graphs and lists were made before is not "
			"known, nor always what is in them");
	field(out, "joined", line.size ? buf_text(&line) : NULL);
	buf_release_for(&line, out);
}

void report_notes_text(const struct report *r, struct buf *out)
{
	static const struct {
		const char *key, *title;
	} notes[] = {
		{META_STACK_SOURCE, "stacks by"},
		{META_TRACER_ENDED, "not recorded"},
		{META_JOINED_LATE, "joined late"},
		{META_STALLS_REFUSED, "not sampled"},
		{META_STALLS_CONTESTED, "contested"},
		{META_STALLS_HELD, "held"},
		{META_COUNTERS_REFUSED, "no counters"},
		{META_DRIVERS, "drivers"},
		{META_DRIVERS_REFUSED, "not watched"},
		{META_TRACER, "tracer"},
		{META_HOSTNAME, "machine"},
		{META_KERNEL, "kernel"},
		{META_CPUS, "CPUs"},
		{META_VERSION, "xpuprof"},
	};
	const char *error = report_meta(r, META_CLOCK_ERROR),
		   *taken = report_meta(r, META_STACKS_TAKEN);
	bool launched = r->summary->works || r->summary->calls;
	char title[16];
	struct buf lines = BUF_INIT, clocks = BUF_INIT, launches = BUF_INIT;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		snprintf(title, sizeof(title), "%-13s ", notes[i].title);
		if (launched || strcmp(notes[i].key, META_STACK_SOURCE))
			report_lines(&lines, title, "              ", report_meta(r, notes[i].key));
	}
	if (taken && launched)
		buf_printf(&launches, "%s stacks taken; launches beyond these repeat one of them",
			taken);
	field(&lines, "launches", launches.size ? buf_text(&launches) : NULL);
	put_joined(r, &lines);
	put_own_time(r, &lines);
	if (error)
		buf_printf(&clocks, "GPU times may be off by %s ns", error);
	field(&lines, "clocks", clocks.size ? buf_text(&clocks) : NULL);
	if (lines.size)
		buf_printf(out, "\nAbout this recording\n%s", lines.data);
	buf_release_for(&lines, out);
	buf_release_for(&clocks, out);
	buf_release_for(&launches, out);
}
