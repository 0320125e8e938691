// SPDX-License-Identifier: MIT
/* One function a member. */
#include <stdio.h>

#include "base/demangle.h"
#include "base/json_writer.h"
#include "report/report.h"
#include "view/names/launch_path.h"
#include "view/view.h"

#define FORM_VERSION 1

struct json {
	const struct report *r;
	struct json_writer w;
};

static const char *const pending_keys[PENDING_REASONS] = {
	[PENDING_FAILED] = "failed",
	[PENDING_CAPTURED] = "captured",
	[PENDING_EMPTY] = "empty",
	[PENDING_UNFINISHED] = "unfinished",
	[PENDING_NO_EXIT] = "no_exit",
	[PENDING_FORGOTTEN] = "forgotten",
	[PENDING_LOST] = "lost",
};

static const char *const join_keys[JOIN_REASONS] = {
	[JOIN_NO_CPU_SIDE] = "no_cpu_side",
	[JOIN_STACK_LOST] = "stack_lost",
	[JOIN_NO_LAUNCH] = "no_launch",
	[JOIN_LATE] = "late",
};

static void text_id(struct json *j, const char *name, uint32_t id)
{
	json_text(&j->w, name, id ? profile_string(j->r->reader, id, NULL) : NULL);
}

static void demangled(struct json *j, const char *name, uint32_t id)
{
	struct buf b = BUF_INIT;

	demangle(profile_string(j->r->reader, id, NULL), &b);
	json_text(&j->w, name, buf_text(&b));
	j->w.out->failed |= b.failed;
	buf_release(&b);
}

static void put_one(struct json *j, const struct profile_location *l)
{
	struct buf b = BUF_INIT;

	(void)location_text(j->r->texts, l, &b);
	json_text(&j->w, NULL, buf_text(&b));
	j->w.out->failed |= b.failed;
	buf_release(&b);
}

static void put_function(struct json *j, uint32_t location)
{
	uint32_t chain[INLINES_MAX];
	size_t count = j->r->inlines ? location_inlines(j->r->reader, location, chain) : 0;

	put_one(j, profile_location(j->r->reader, location));
	for (size_t n = 0; n < count; n++) {
		const struct profile_location l = location_of_inline(j->r->reader, chain[n]);

		put_one(j, &l);
	}
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void times(struct json *j, const struct summary_time *t)
{
	json_number(&j->w, "count", t->count);
	json_number(&j->w, "total_ns", t->total_ns);
	json_real(&j->w, "mean_ns", ratio(t->total_ns, t->count));
	json_number(&j->w, "min_ns", t->min_ns);
	json_number(&j->w, "max_ns", t->max_ns);
}

static size_t shown(const struct json *j, size_t count)
{
	return j->r->top && j->r->top < count ? j->r->top : count;
}

static void put_head(struct json *j)
{
	const struct summary *s = j->r->summary;
	const char *name, *value;

	json_number(&j->w, "form", FORM_VERSION);
	json_text(&j->w, "file", j->r->path);
	json_text(&j->w, "incomplete", profile_reader_incomplete(j->r->reader));
	json_key(&j->w, "simulated");
	buf_puts(j->w.out, view_is_simulated(j->r->reader) ? "true" : "false");
	json_begin(&j->w, "meta", '{');
	for (size_t i = 0; profile_meta_at(j->r->reader, i, &name, &value); i++)
		json_text(&j->w, name, value);
	json_end(&j->w, '}');
	json_number(&j->w, "elapsed_ns", s->end_ns - s->start_ns);
	json_number(&j->w, "samples", s->samples);
	json_number(&j->w, "cpu_ns", s->cpu_ns);
	json_number(&j->w, "works", s->works);
	json_number(&j->w, "gpu_ns", s->gpu_ns);
}

static void put_kernels(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "kernels", '[');
	for (size_t i = 0; i < shown(j, s->kernels.count); i++) {
		const struct summary_kernel *k = &s->kernels.items[i];
		uint32_t locations[LAUNCH_PATH_MAX];
		unsigned int count = launch_path_functions(&s->internals, k->stack, LAUNCH_PATH_MAX, locations);

		json_begin(&j->w, NULL, '{');
		demangled(j, "name", k->name);
		text_id(j, "linker_name", k->name);
		times(j, &k->time);
		json_real(&j->w, "share", ratio(k->time.total_ns, s->gpu_ns));
		json_begin(&j->w, "path", '[');
		for (unsigned int n = 0; n < count; n++)
			put_function(j, locations[n]);
		json_end(&j->w, ']');
		json_number(&j->w, "path_ns", k->stack_ns);
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
}

static void put_copies(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "copies", '[');
	for (size_t i = 0; i < shown(j, s->copies.count); i++) {
		const struct summary_copy *c = &s->copies.items[i];

		json_begin(&j->w, NULL, '{');
		json_text(&j->w, "kind", profile_copy_name(c->kind));
		json_text(&j->w, "source", profile_memory_name(c->source));
		json_text(&j->w, "target", profile_memory_name(c->target));
		times(j, &c->time);
		json_number(&j->w, "bytes", c->bytes);
		json_real(&j->w, "gb_per_s", ratio(c->bytes, c->time.total_ns));
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
}

static void put_sets(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "sets", '[');
	for (size_t i = 0; i < shown(j, s->sets.count); i++) {
		const struct summary_set *set = &s->sets.items[i];

		json_begin(&j->w, NULL, '{');
		json_text(&j->w, "target", profile_memory_name(set->target));
		times(j, &set->time);
		json_number(&j->w, "bytes", set->bytes);
		json_real(&j->w, "gb_per_s", ratio(set->bytes, set->time.total_ns));
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
}

static void put_calls(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "calls", '[');
	for (size_t i = 0; i < shown(j, s->call_times.count); i++) {
		const struct summary_call *c = &s->call_times.items[i];

		json_begin(&j->w, NULL, '{');
		text_id(j, "api", c->api);
		json_text(&j->w, "kind", profile_call_kind_name(c->kind));
		times(j, &c->time);
		json_number(&j->w, "failed", c->failed);
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
}

static void put_devices(struct json *j)
{
	const struct summary *s = j->r->summary;
	uint64_t elapsed_ns = s->end_ns - s->start_ns;

	json_begin(&j->w, "devices", '[');
	vec_foreach (d, &s->devices) {
		const struct profile_device *device = profile_device(j->r->reader, d->device);
		char uuid[2 * sizeof(device->uuid) + 1] = "";

		json_begin(&j->w, NULL, '{');
		if (device) {
			for (size_t i = 0; i < sizeof(device->uuid); i++)
				snprintf(uuid + 2 * i, 3, "%02x", device->uuid[i]);
			json_number(&j->w, "number", d->number);
			json_number(&j->w, "ordinal", device->ordinal);
			text_id(j, "name", device->name);
			json_text(&j->w, "uuid", uuid);
		}
		json_number(&j->w, "works", d->works);
		json_number(&j->w, "work_ns", d->work_ns);
		json_number(&j->w, "busy_ns", d->busy_ns);
		json_number(&j->w, "busy_uncertain_ns", d->uncertain_ns);
		json_real(&j->w, "busy_share", ratio(d->busy_ns, elapsed_ns));
		json_number(&j->w, "first_ns", d->first_ns);
		json_number(&j->w, "last_ns", d->last_ns);
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
}

static void put_latency(struct json *j)
{
	static const struct {
		const char *name;
		double percent;
	} rows[] = {{"p50_ns", 50}, {"p90_ns", 90}, {"p99_ns", 99}, {"p999_ns", 99.9}};
	const struct summary_latency *l = &j->r->summary->latency;

	json_begin(&j->w, "latency", '{');
	json_number(&j->w, "count", l->times.count);
	json_real(&j->w, "mean_ns", ratio(l->times.sum, l->times.count));
	json_number(&j->w, "min_ns", l->times.min);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_number(&j->w, rows[i].name, histogram_percentile(&l->times, rows[i].percent));
	json_number(&j->w, "max_ns", l->times.max);
	json_real(&j->w, "percentile_error_percent", HISTOGRAM_ERROR_PERCENT);
	json_number(&j->w, "backwards", l->backwards);
	json_number(&j->w, "in_graphs", l->in_graphs);
	json_end(&j->w, '}');
}

static void put_task_sums(struct json *j, const struct summary_task *t)
{
	json_number(&j->w, "samples", t->samples);
	json_number(&j->w, "cpu_ns", t->cpu_ns);
	json_number(&j->w, "launches", t->launches);
	json_number(&j->w, "works", t->works);
	json_number(&j->w, "gpu_ns", t->gpu_ns);
}

static void put_processes(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "processes", '[');
	for (size_t i = 0; i < shown(j, s->processes.count); i++) {
		const struct summary_task *t = &s->processes.items[i];
		const struct profile_process *p = profile_process(j->r->reader, t->id);

		json_begin(&j->w, NULL, '{');
		json_number(&j->w, "process", t->id);
		if (p) {
			json_number(&j->w, "pid", p->pid);
			text_id(j, "name", p->comm);
			text_id(j, "command", p->cmdline);
		}
		put_task_sums(j, t);
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
	json_number(&j->w, "processes_without", s->processes_without);
}

static void put_threads(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "threads", '[');
	for (size_t i = 0; i < shown(j, s->threads.count); i++) {
		const struct summary_task *t = &s->threads.items[i];
		const struct profile_thread *thread = profile_thread(j->r->reader, t->id);

		json_begin(&j->w, NULL, '{');
		if (thread) {
			json_number(&j->w, "process", thread->process);
			json_number(&j->w, "tid", thread->tid);
			text_id(j, "name", thread->name);
			if (thread->flags & THREAD_PROFILER) {
				json_key(&j->w, "profiler");
				buf_puts(j->w.out, "true");
			}
		}
		put_task_sums(j, t);
		json_end(&j->w, '}');
	}
	json_end(&j->w, ']');
	json_number(&j->w, "threads_without", s->threads_without);
}

static void put_reasons(struct json *j, const char *name, const struct summary_stacks *s)
{
	json_begin(&j->w, name, '[');
	vec_foreach (reason, &s->reasons) {
		struct buf b = BUF_INIT;

		report_reason(j->r, reason->note, &b);
		json_begin(&j->w, NULL, '{');
		json_text(&j->w, "reason", buf_text(&b));
		json_number(&j->w, "count", reason->count);
		json_end(&j->w, '}');
		j->w.out->failed |= b.failed;
		buf_release(&b);
	}
	json_end(&j->w, ']');
}

static void put_stacks(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "stacks", '{');
	json_text(&j->w, "source", profile_meta(j->r->reader, META_STACK_SOURCE));
	json_number(&j->w, "samples", s->sample_stacks.taken);
	json_number(&j->w, "samples_incomplete", s->sample_stacks.incomplete);
	json_number(&j->w, "samples_python", s->sample_stacks.python);
	put_reasons(j, "samples_reasons", &s->sample_stacks);
	json_number(&j->w, "launches", s->launch_stacks.taken);
	json_number(&j->w, "launches_incomplete", s->launch_stacks.incomplete);
	json_number(&j->w, "launches_python", s->launch_stacks.python);
	json_number(&j->w, "launches_without", s->launch_stacks.count - s->launch_stacks.taken);
	put_reasons(j, "launches_reasons", &s->launch_stacks);
	json_number(&j->w, "works", s->work_stacks.taken);
	json_number(&j->w, "works_incomplete", s->work_stacks.incomplete);
	json_number(&j->w, "waits", s->wait_stacks.taken);
	json_number(&j->w, "waits_incomplete", s->wait_stacks.incomplete);
	json_number(&j->w, "waits_python", s->wait_stacks.python);
	put_reasons(j, "waits_reasons", &s->wait_stacks);
	json_end(&j->w, '}');
}

static void put_losses(struct json *j)
{
	const struct summary *s = j->r->summary;

	json_begin(&j->w, "launches_without_work", '{');
	for (unsigned int i = 1; i < PENDING_REASONS; i++)
		json_number(&j->w, pending_keys[i], s->pending[i]);
	json_end(&j->w, '}');
	json_begin(&j->w, "works_without_stack", '{');
	for (unsigned int i = JOIN_OK + 1; i < JOIN_REASONS; i++)
		json_number(&j->w, join_keys[i], s->joins[i]);
	json_end(&j->w, '}');
	put_stacks(j);
	json_begin(&j->w, "losses", '{');
	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		json_number(&j->w, profile_loss_key(i),
			profile_loss_count(j->r->reader, (enum profile_loss)i));
	json_end(&j->w, '}');
}

int report_json(const struct report *r, struct buf *out)
{
	struct json j = {.r = r, .w = {.out = out}};
	int error = 0;

	json_begin(&j.w, NULL, '{');
	put_head(&j);
	put_kernels(&j);
	put_copies(&j);
	put_sets(&j);
	put_calls(&j);
	put_devices(&j);
	put_latency(&j);
	if (r->gaps) {
		report_gaps_json(r, &j.w);
		report_sync_waits_json(r, &j.w);
	}
	report_functions_json(r, &j.w);
	report_waits_json(r, &j.w);
	report_drivers_json(r, &j.w);
	put_processes(&j);
	put_threads(&j);
	put_losses(&j);
	if (r->stalls)
		error = report_stalls_json(r, &j.w);
	if (r->counters)
		report_counters_json(r, &j.w);
	json_end(&j.w, '}');
	buf_putc(out, '\n');
	return error;
}
