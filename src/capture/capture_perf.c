// SPDX-License-Identifier: MIT
/* Samples by perf events, where BPF programs cannot be had: see perf_samples.h. */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

int capture_open_perf(struct capture *c, unsigned int hz)
{
	int error = perf_samples_open(&c->perf, hz);

	if (!error) {
		c->perf_python = perf_python_new();
		return c->perf_python ? 0 : error_memory("CPU samples");
	}
	if (error == -ENOMEM)
		return error;
	c->perf_refusal = strdup(error_text());
	return c->perf_refusal ? error : error_memory("CPU samples");
}

int capture_track_perf(struct capture *c, struct process *process, bool runs)
{
	return perf_samples_track(c->perf, (pid_t)process->pid, runs, &process->threads);
}

/* What is walked is the copy, and later, if its table is not ready. A 32-bit program has none. */
static struct raw_stack raw_of(const struct perf_sample *s)
{
	if (!s->start.pc)
		return (struct raw_stack){.walk_end = WALK_UNSUPPORTED};
	return (struct raw_stack){.walk_end = WALK_PENDING,
		.start = &s->start,
		.memory = s->memory,
		.memory_size = s->memory_size};
}

/* Python's frames, if it runs any, and they can be had; else that is counted. */
static int add_python(struct capture *c, const struct perf_sample *s, struct raw_stack *raw)
{
	const struct process *process = processes_find(c->processes, s->pid);
	const struct python_stack *found;
	enum perf_python_found result;

	if (!process || process->python.state != PYTHON_FOUND || process->python.given_up ||
		!raw->start)
		return 0;
	result = perf_python_read(c->perf_python, &process->python.python, s, &found);
	if (result == PERF_PYTHON_FOUND) {
		raw->python = found->frames;
		raw->python_depth = found->depth;
		raw->python_incomplete = !found->complete;
		raw->python_later = true;
		raw->entries = found->entries;
		raw->entry_count = found->entry_count;
	}
	return profile_count_loss(c->w, LOSS_PYTHON_MOVED, result == PERF_PYTHON_MOVED);
}

static int add_sample(struct capture *c, const struct perf_sample *s)
{
	struct profile_sample sample = {
		.time_ns = s->time_ns, .period_ns = perf_samples_period_ns(c->perf), .cpu = s->cpu};
	struct raw_stack raw = raw_of(s);
	int error = capture_apply_until(c, s->time_ns);

	error = error ?: tasks_thread(c->tasks, s->pid, s->tid, NULL, &sample.thread);
	error = error ?: add_python(c, s, &raw);
	return error ?: capture_add_sample(c, s->pid, &raw, &sample);
}

int capture_drain_perf(struct capture *c, uint64_t snapshot_ns)
{
	struct perf_sample s;
	int error;

	perf_samples_snapshot(c->perf);
	error = capture_gather_changes(c);
	while (!error && perf_samples_next(c->perf, &s))
		error = add_sample(c, &s);
	return error ?: capture_apply_until(c, snapshot_ns);
}
