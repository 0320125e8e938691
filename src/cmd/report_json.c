// SPDX-License-Identifier: MIT
/* A small writer that minds commas, and one function a member. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "base/json.h"
#include "cmd/report.h"
#include "view/launch_path.h"
#include "view/view.h"

#define FORM_VERSION 1

struct json {
	const struct report *r;
	struct buf *out;
	bool comma; /* the next member follows another */
};

static const char *const pending_keys[PENDING_REASONS] = {
	[PENDING_FAILED] = "failed",
	[PENDING_CAPTURED] = "captured",
	[PENDING_EMPTY] = "empty",
	[PENDING_UNFINISHED] = "unfinished",
	[PENDING_NO_EXIT] = "no_exit",
	[PENDING_FORGOTTEN] = "forgotten",
};

static const char *const join_keys[JOIN_REASONS] = {
	[JOIN_NO_CPU_SIDE] = "no_cpu_side",
	[JOIN_STACK_LOST] = "stack_lost",
	[JOIN_NO_LAUNCH] = "no_launch",
	[JOIN_LATE] = "late",
};

static void key(struct json *j, const char *name)
{
	if (j->comma)
		buf_putc(j->out, ',');
	j->comma = true;
	if (!name)
		return;
	json_string(j->out, name, strlen(name));
	buf_putc(j->out, ':');
}

/* Opens an object or array; a NULL name inside an array. */
static void begin(struct json *j, const char *name, char bracket)
{
	key(j, name);
	buf_putc(j->out, bracket);
	j->comma = false;
}

static void end(struct json *j, char bracket)
{
	buf_putc(j->out, bracket);
	j->comma = true;
}

static void number(struct json *j, const char *name, uint64_t value)
{
	key(j, name);
	buf_printf(j->out, "%" PRIu64, value);
}

static void real(struct json *j, const char *name, double value)
{
	key(j, name);
	buf_printf(j->out, "%.6g", value);
}

static void text(struct json *j, const char *name, const char *value)
{
	key(j, name);
	if (value)
		json_string(j->out, value, strlen(value));
	else
		buf_puts(j->out, "null");
}

static void text_id(struct json *j, const char *name, uint32_t id)
{
	text(j, name, id ? profile_string(j->r->reader, id, NULL) : NULL);
}

static void demangled(struct json *j, const char *name, uint32_t id)
{
	struct buf b = BUF_INIT;

	demangle(profile_string(j->r->reader, id, NULL), &b);
	text(j, name, buf_text(&b));
	j->out->failed |= b.failed;
	buf_release(&b);
}

static void put_one(struct json *j, const struct profile_location *l)
{
	struct buf b = BUF_INIT;

	(void)location_text(j->r->texts, l, &b);
	text(j, NULL, buf_text(&b));
	j->out->failed |= b.failed;
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
	number(j, "count", t->count);
	number(j, "total_ns", t->total_ns);
	real(j, "mean_ns", ratio(t->total_ns, t->count));
	number(j, "min_ns", t->min_ns);
	number(j, "max_ns", t->max_ns);
}

static size_t shown(const struct json *j, size_t count)
{
	return j->r->top && j->r->top < count ? j->r->top : count;
}

static void put_head(struct json *j)
{
	const struct summary *s = j->r->summary;
	const char *name, *value;

	number(j, "form", FORM_VERSION);
	text(j, "file", j->r->path);
	text(j, "incomplete", profile_reader_incomplete(j->r->reader));
	key(j, "simulated");
	buf_puts(j->out, view_is_simulated(j->r->reader) ? "true" : "false");
	begin(j, "meta", '{');
	for (size_t i = 0; profile_meta_at(j->r->reader, i, &name, &value); i++)
		text(j, name, value);
	end(j, '}');
	number(j, "elapsed_ns", s->end_ns - s->start_ns);
	number(j, "samples", s->samples);
	number(j, "cpu_ns", s->cpu_ns);
	number(j, "works", s->works);
	number(j, "gpu_ns", s->gpu_ns);
}

static void put_kernels(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "kernels", '[');
	for (size_t i = 0; i < shown(j, s->kernels.count); i++) {
		const struct summary_kernel *k = &s->kernels.items[i];
		uint32_t locations[LAUNCH_PATH_MAX];
		unsigned int count = launch_path_functions(&s->internals, k->stack, LAUNCH_PATH_MAX, locations);

		begin(j, NULL, '{');
		demangled(j, "name", k->name);
		text_id(j, "linker_name", k->name);
		times(j, &k->time);
		real(j, "share", ratio(k->time.total_ns, s->gpu_ns));
		begin(j, "path", '[');
		for (unsigned int n = 0; n < count; n++)
			put_function(j, locations[n]);
		end(j, ']');
		number(j, "path_ns", k->stack_ns);
		end(j, '}');
	}
	end(j, ']');
}

static void put_copies(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "copies", '[');
	for (size_t i = 0; i < shown(j, s->copies.count); i++) {
		const struct summary_copy *c = &s->copies.items[i];

		begin(j, NULL, '{');
		text(j, "kind", profile_copy_name(c->kind));
		text(j, "source", profile_memory_name(c->source));
		text(j, "target", profile_memory_name(c->target));
		times(j, &c->time);
		number(j, "bytes", c->bytes);
		real(j, "gb_per_s", ratio(c->bytes, c->time.total_ns));
		end(j, '}');
	}
	end(j, ']');
}

static void put_sets(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "sets", '[');
	for (size_t i = 0; i < shown(j, s->sets.count); i++) {
		const struct summary_set *set = &s->sets.items[i];

		begin(j, NULL, '{');
		text(j, "target", profile_memory_name(set->target));
		times(j, &set->time);
		number(j, "bytes", set->bytes);
		real(j, "gb_per_s", ratio(set->bytes, set->time.total_ns));
		end(j, '}');
	}
	end(j, ']');
}

static void put_calls(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "calls", '[');
	for (size_t i = 0; i < shown(j, s->call_times.count); i++) {
		const struct summary_call *c = &s->call_times.items[i];

		begin(j, NULL, '{');
		text_id(j, "api", c->api);
		text(j, "kind", profile_call_kind_name(c->kind));
		times(j, &c->time);
		number(j, "failed", c->failed);
		end(j, '}');
	}
	end(j, ']');
}

static void put_devices(struct json *j)
{
	const struct summary *s = j->r->summary;
	uint64_t elapsed_ns = s->end_ns - s->start_ns;

	begin(j, "devices", '[');
	vec_foreach (d, &s->devices) {
		const struct profile_device *device = profile_device(j->r->reader, d->device);
		char uuid[2 * sizeof(device->uuid) + 1] = "";

		begin(j, NULL, '{');
		if (device) {
			for (size_t i = 0; i < sizeof(device->uuid); i++)
				snprintf(uuid + 2 * i, 3, "%02x", device->uuid[i]);
			number(j, "number", d->number);
			number(j, "ordinal", device->ordinal);
			text_id(j, "name", device->name);
			text(j, "uuid", uuid);
		}
		number(j, "works", d->works);
		number(j, "work_ns", d->work_ns);
		number(j, "busy_ns", d->busy_ns);
		number(j, "busy_uncertain_ns", d->uncertain_ns);
		real(j, "busy_share", ratio(d->busy_ns, elapsed_ns));
		number(j, "first_ns", d->first_ns);
		number(j, "last_ns", d->last_ns);
		end(j, '}');
	}
	end(j, ']');
}

static void put_latency(struct json *j)
{
	static const struct {
		const char *name;
		double percent;
	} rows[] = {{"p50_ns", 50}, {"p90_ns", 90}, {"p99_ns", 99}, {"p999_ns", 99.9}};
	const struct summary_latency *l = &j->r->summary->latency;

	begin(j, "latency", '{');
	number(j, "count", l->times.count);
	real(j, "mean_ns", ratio(l->times.sum, l->times.count));
	number(j, "min_ns", l->times.min);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		number(j, rows[i].name, histogram_percentile(&l->times, rows[i].percent));
	number(j, "max_ns", l->times.max);
	real(j, "percentile_error_percent", HISTOGRAM_ERROR_PERCENT);
	number(j, "backwards", l->backwards);
	number(j, "in_graphs", l->in_graphs);
	end(j, '}');
}

static void put_task_sums(struct json *j, const struct summary_task *t)
{
	number(j, "samples", t->samples);
	number(j, "cpu_ns", t->cpu_ns);
	number(j, "launches", t->launches);
	number(j, "works", t->works);
	number(j, "gpu_ns", t->gpu_ns);
}

static void put_processes(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "processes", '[');
	for (size_t i = 0; i < shown(j, s->processes.count); i++) {
		const struct summary_task *t = &s->processes.items[i];
		const struct profile_process *p = profile_process(j->r->reader, t->id);

		begin(j, NULL, '{');
		number(j, "process", t->id);
		if (p) {
			number(j, "pid", p->pid);
			text_id(j, "name", p->comm);
			text_id(j, "command", p->cmdline);
		}
		put_task_sums(j, t);
		end(j, '}');
	}
	end(j, ']');
}

static void put_threads(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "threads", '[');
	for (size_t i = 0; i < shown(j, s->threads.count); i++) {
		const struct summary_task *t = &s->threads.items[i];
		const struct profile_thread *thread = profile_thread(j->r->reader, t->id);

		begin(j, NULL, '{');
		if (thread) {
			number(j, "process", thread->process);
			number(j, "tid", thread->tid);
			text_id(j, "name", thread->name);
		}
		put_task_sums(j, t);
		end(j, '}');
	}
	end(j, ']');
}

static void put_reasons(struct json *j, const char *name, const struct summary_stacks *s)
{
	begin(j, name, '[');
	vec_foreach (reason, &s->reasons) {
		struct buf b = BUF_INIT;

		report_reason(j->r, reason->note, &b);
		begin(j, NULL, '{');
		text(j, "reason", buf_text(&b));
		number(j, "count", reason->count);
		end(j, '}');
		j->out->failed |= b.failed;
		buf_release(&b);
	}
	end(j, ']');
}

static void put_stacks(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "stacks", '{');
	text(j, "source", profile_meta(j->r->reader, META_STACK_SOURCE));
	number(j, "samples", s->sample_stacks.taken);
	number(j, "samples_incomplete", s->sample_stacks.incomplete);
	number(j, "samples_python", s->sample_stacks.python);
	put_reasons(j, "samples_reasons", &s->sample_stacks);
	number(j, "launches", s->launch_stacks.taken);
	number(j, "launches_incomplete", s->launch_stacks.incomplete);
	number(j, "launches_python", s->launch_stacks.python);
	number(j, "launches_without", s->launch_stacks.count - s->launch_stacks.taken);
	put_reasons(j, "launches_reasons", &s->launch_stacks);
	number(j, "works", s->work_stacks.taken);
	number(j, "works_incomplete", s->work_stacks.incomplete);
	end(j, '}');
}

static void put_losses(struct json *j)
{
	const struct summary *s = j->r->summary;

	begin(j, "launches_without_work", '{');
	for (unsigned int i = 1; i < PENDING_REASONS; i++)
		number(j, pending_keys[i], s->pending[i]);
	end(j, '}');
	begin(j, "works_without_stack", '{');
	for (unsigned int i = JOIN_OK + 1; i < JOIN_REASONS; i++)
		number(j, join_keys[i], s->joins[i]);
	end(j, '}');
	put_stacks(j);
	begin(j, "losses", '{');
	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		number(j, profile_loss_key(i),
			profile_loss_count(j->r->reader, (enum profile_loss)i));
	end(j, '}');
}

void report_json(const struct report *r, struct buf *out)
{
	struct json j = {.r = r, .out = out};

	begin(&j, NULL, '{');
	put_head(&j);
	put_kernels(&j);
	put_copies(&j);
	put_sets(&j);
	put_calls(&j);
	put_devices(&j);
	put_latency(&j);
	put_processes(&j);
	put_threads(&j);
	put_losses(&j);
	end(&j, '}');
	buf_putc(out, '\n');
}
