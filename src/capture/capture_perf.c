// SPDX-License-Identifier: MIT
/* Samples by perf events, where BPF programs cannot be had: see perf_samples.h. */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "capture/perf_ring.h"
#include "capture/running.h"

int capture_open_perf(struct capture *c, unsigned int hz)
{
	int error = perf_samples_open(&c->perf, hz);

	if (!error) {
		c->perf_times.period_ns = perf_samples_period_ns(c->perf);
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
	if (!runs)
		c->perf_first = process->pid;
	return perf_samples_track(c->perf, (pid_t)process->pid, runs, &process->threads);
}

#define REST_PIECE 2048 /* of a stack, read at once */
#define REST_BYTES ((size_t)512 << 10)

/* --- how long threads ran --------------------------------------------------------------------- */

int capture_add_perf_time(struct capture *c, const struct change *change)
{
	uint32_t thread;
	int error =
		tasks_thread_at(c->tasks, change->pid, change->tid, change->time_ns, NULL, &thread);

	perf_times_forget(&c->perf_times, change->tid);
	c->perf_times.reported_ns += change->run_ns;
	if (error == -ENOENT)
		return profile_count_loss(c->w, LOSS_ACCOUNTS, 1);
	map_remove(&c->perf_times.unreported, thread, NULL);
	return error
		       ?: perf_times_add_run(&c->perf_times, thread, change->tid, change->run_ns,
				  change->time_ns);
}

int capture_end_perf_thread(struct capture *c, const struct change *change)
{
	uint32_t thread;
	int error =
		tasks_thread_at(c->tasks, change->pid, change->tid, change->time_ns, NULL, &thread);

	perf_times_forget(&c->perf_times, change->tid);
	if (error == -ENOENT)
		return 0;
	return error ?: perf_times_end(&c->perf_times, thread, change->time_ns);
}

int capture_begin_perf_exec(struct capture *c, const struct change *change)
{
	uint32_t thread;
	int error = tasks_thread(c->tasks, change->pid, change->pid, NULL, &thread);

	return error ?: perf_times_add_exec(&c->perf_times, thread, change->pid, change->time_ns);
}

int capture_end_perf_exec(struct capture *c, const struct change *change)
{
	if (change->pid != c->perf_first)
		return 0;
	return tasks_thread(
		c->tasks, change->pid, change->pid, change->comm, &c->perf_first_thread);
}

struct living {
	struct capture *c;
	uint32_t pid;
	int error;
};

/* The scheduler's account of a thread; 0: it has ended. */
static uint64_t account_of(uint32_t pid, uint32_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t run_ns = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	if (!io_read_file(path, 256, &text))
		run_ns = strtoull(buf_text(&text), NULL, 10);
	buf_release(&text);
	return run_ns;
}

static int note_begin(void *context, uint32_t tid)
{
	struct living *l = context;

	return perf_times_begin(&l->c->perf_times, tid, account_of(l->pid, tid));
}

/* What the threads of a process that runs already have run before. */
static void note_begins(void *context, struct process *process)
{
	struct living *l = context;
	int error;

	l->pid = process->pid;
	if (l->error)
		return;
	error = running_each_thread(process->pid, note_begin, l);
	if (!error && !l->c->perf_first_thread)
		error = tasks_thread(l->c->tasks, l->pid, l->pid, NULL, &l->c->perf_first_thread);
	if (error && error != -ENOENT)
		l->error = error;
}

int capture_start_perf(struct capture *c)
{
	struct living l = {.c = c};
	int error = perf_samples_start(c->perf);

	if (!error && !c->perf_first)
		processes_each(c->processes, note_begins, &l);
	return error ?: l.error;
}

/* It is all in the recording if the thread began in it. */
static int add_living_thread(void *context, uint32_t tid)
{
	struct living *l = context;
	uint64_t run_ns = perf_times_since_begin(&l->c->perf_times, tid, account_of(l->pid, tid));
	uint32_t thread;
	int error;

	if (!run_ns)
		return 0;
	l->c->perf_times.reported_ns += run_ns;
	error = tasks_thread(l->c->tasks, l->pid, tid, NULL, &thread);
	return error ?: perf_times_add_run(&l->c->perf_times, thread, tid, run_ns, clock_now_ns());
}

/* One that has ended meanwhile is no error. */
static void add_living(void *context, struct process *process)
{
	struct living *l = context;
	int error;

	l->pid = process->pid;
	error = l->error ? 0 : running_each_thread(process->pid, add_living_thread, l);
	if (error && error != -ENOENT)
		l->error = error;
}

/* What is not reported of any thread is of the one that had the events which were opened. */
static int write_times(struct capture *c)
{
	struct living l = {.c = c};
	uint64_t all_ns = perf_samples_run_ns(c->perf);
	int error;

	c->perf_times_written = true;
	if (!c->perf_first_thread)
		return 0;
	processes_each(c->processes, add_living, &l);
	error = l.error;
	if (!error && all_ns > c->perf_times.reported_ns)
		error = perf_times_add_rest(
			&c->perf_times, c->perf_first_thread, all_ns - c->perf_times.reported_ns);
	return error ?: perf_times_write(&c->perf_times, c->w, c->perf_lost);
}

/* --- samples ---------------------------------------------------------------------------------- */

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

/* Reads the stack from this address on, as far as it is there, up to REST_BYTES. */
static size_t read_stack(uint32_t pid, uint64_t address, uint8_t *ret)
{
	struct iovec here = {ret, REST_BYTES}, there[REST_BYTES / REST_PIECE];
	ssize_t n;

	for (size_t i = 0; i < REST_BYTES / REST_PIECE; i++)
		there[i] =
			(struct iovec){(void *)(uintptr_t)(address + i * REST_PIECE), REST_PIECE};
	n = process_vm_readv((pid_t)pid, &here, 1, there, REST_BYTES / REST_PIECE, 0);
	return n > 0 ? (size_t)n : 0;
}

/* The stack behind the copy, read now. If the end of the copy is still as it was, the thread has
 * not returned from there; else the walk ends with the copy. */
static int add_rest(struct capture *c, struct perf_sample *s)
{
	size_t known = s->memory_size - REST_PIECE, got;

	if (!s->cut || s->memory_size < REST_PIECE)
		return 0;
	if (!c->perf_stack)
		c->perf_stack = malloc(PERF_RECORD_BYTES + REST_BYTES);
	if (!c->perf_stack)
		return error_memory("CPU samples");
	got = read_stack(s->pid, s->start.sp + known, c->perf_stack + known);
	if (got <= REST_PIECE || memcmp(c->perf_stack + known, s->memory + known, REST_PIECE))
		return 0;
	memcpy(c->perf_stack, s->memory, known);
	s->memory = c->perf_stack;
	s->memory_size = (known + got) & ~(size_t)7;
	return 0;
}

/* Python's frames, if it runs any, and they can be had; else that is counted. Which are to be there
 * the native stack says. *walk is used as long as *raw is. */
static int add_python(struct capture *c, const struct perf_sample *s, struct raw_stack *raw,
	struct raw_walk *walk)
{
	const struct process *process = processes_find(c->processes, s->pid);
	const struct python_stack *found;
	enum perf_python_found result;
	int error;

	if (!process || process->python.state != PYTHON_FOUND || process->python.given_up ||
		!raw->start)
		return 0;
	raw->loops = process->python.python.evaluation;
	error = raw_walk(c->spaces, c->tables, process->space, s->pid, raw, walk);
	if (error)
		return error;
	if (walk->end != WALK_PENDING && walk->end != WALK_NO_MAPPING)
		raw_walk_apply(walk, raw);
	result = perf_python_read(c->perf_python, &process->python.python, s, walk, &found);
	if (result == PERF_PYTHON_FOUND) {
		raw->python = found->frames;
		raw->python_depth = found->depth;
		raw->python_incomplete = !found->complete;
		raw->python_later = true;
	}
	return profile_count_loss(c->w, LOSS_PYTHON_MOVED, result == PERF_PYTHON_MOVED);
}

static int add_sample(struct capture *c, struct perf_sample *s)
{
	struct profile_sample sample = {
		.time_ns = s->time_ns, .period_ns = perf_samples_period_ns(c->perf), .cpu = s->cpu};
	struct raw_stack raw;
	struct raw_walk walk;
	int error = add_rest(c, s);

	raw = raw_of(s);
	error = error ?: capture_apply_until(c, s->time_ns);
	error = error ?: tasks_thread(c->tasks, s->pid, s->tid, NULL, &sample.thread);
	error = error ?: perf_times_add_sample(&c->perf_times, sample.thread);
	error = error ?: add_python(c, s, &raw, &walk);
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
	error = error ?: capture_apply_until(c, snapshot_ns);
	return error || !c->stopped || c->perf_times_written ? error : write_times(c);
}
