// SPDX-License-Identifier: MIT
/*
 * Fork, exec, exit, names and mappings: gathered from the ring of tasks and the mapping events of
 * all CPUs, and applied by time to the processes here and in the registry of the profile.
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

static int note_end(struct capture *c, uint32_t pid)
{
	const struct process *process = processes_find(c->processes, pid);
	struct ended_process ended = {.pid = pid};
	int error;

	if (!process || !process->maps_gpu_driver)
		return 0;
	ended.joins = process->maps_joins;
	ended.apis = process->maps_apis;
	error = tasks_process(c->tasks, pid, &ended.process);
	/* One process may stand for many that come and go. */
	if (!error && c->ended.count && c->ended.items[c->ended.count - 1].process == ended.process)
		return 0;
	if (!error && vec_push(&c->ended, ended) < 0)
		error = error_errno(-ENOMEM, "cannot keep track of process %u", pid);
	return error;
}

/* The GPU side may still have stacks that were walked in the process. */
static int report_leaving(struct capture *c, uint32_t pid)
{
	const struct walker_news *news = &c->news;

	if (c->drivers)
		driver_probes_leave(c->drivers, pid);
	return news->leaves && processes_find(c->processes, pid) ? news->leaves(news->context, pid)
								 : 0;
}

static int apply_exit(struct capture *c, uint32_t pid, uint64_t time_ns)
{
	int error = report_leaving(c, pid);

	error = error ?: note_end(c, pid);
	processes_exit(c->processes, pid);
	error = error ?: spaces_forget(c->spaces, pid, clock_now_ns());
	return error ?: tasks_exit(c->tasks, pid, time_ns);
}

static int apply_image(struct capture *c, uint32_t pid)
{
	int error = report_leaving(c, pid);

	return error ?: processes_image(c->processes, pid);
}

/* In a recording of the whole system a process is known from its first sample on, and many end
 * without one. -ENOENT: none can be told. */
static int account_thread(struct capture *c, const struct change *change, uint32_t *ret_thread)
{
	int error = tasks_thread_at(
		c->tasks, change->pid, change->tid, change->time_ns, change->comm, ret_thread);

	if (error != -ENOENT || !c->whole_system || tasks_is_present(c->tasks, change->pid))
		return error;
	return tasks_thread(c->tasks, change->pid, change->tid, change->comm, ret_thread);
}

/* How long a thread ran, up to now or in all. */
static int add_account(struct capture *c, const struct change *change)
{
	struct thread_account account = {.run_ns = change->run_ns,
		.end_ns = change->time_ns,
		.process = change->process,
		.process_ended_ns = change->process_ended_ns,
		.ended_ns = change->ended_ns,
		.last = change->last};
	int error = 0;

	if (c->ignored && c->ignored == change->pid)
		account.run_ns = 0;
	if (account.run_ns)
		error = account_thread(c, change, &account.thread);
	if (error == -ENOENT)
		error = profile_count_loss(c->w, LOSS_ACCOUNTS, 1);
	return error ?: cpu_accounts_add(&c->accounts, c->w, &account);
}

static int apply_exec(struct capture *c, const struct change *change)
{
	int error = add_account(c, change); /* of the program so far */

	if (c->perf)
		error = error ?: capture_begin_perf_exec(c, change);
	error = error ?: processes_exec(c->processes, change->pid, clock_now_ns());
	if (c->ignored == change->pid)
		c->ignored = 0;
	error = error
			?: tasks_exec(c->tasks, change->pid, change->time_ns, change->comm,
				   change->text);
	return error || !c->perf ? error : capture_end_perf_exec(c, change);
}

static int apply_fork(struct capture *c, const struct change *change)
{
	int error = processes_fork(c->processes, change->parent, change->pid);
	struct process *process = error ? NULL : processes_find(c->processes, change->pid);

	if (process)
		process->threads = 1;
	return error ?: tasks_fork(c->tasks, change->parent, change->pid, change->time_ns);
}

/* The last one's end is the process's. One without any code has just executed a program with more
 * rights than the user has, or one that the user may not read: the kernel watches it no further
 * (begin_new_exec in fs/exec.c). */
static int apply_thread_end(struct capture *c, const struct change *change)
{
	struct process *process = processes_find(c->processes, change->pid);
	int error = c->perf ? capture_end_perf_thread(c, change) : 0;

	if (error || !process || (process->threads && --process->threads))
		return error;
	if (process->image_known && !process->space->mappings.count)
		error = profile_count_loss(c->w, LOSS_SAMPLES_RIGHTS, 1);
	return error ?: apply_exit(c, change->pid, change->time_ns);
}

/* A thread has its name from its start, as it may be gone when its first stack is handled. In
 * whole-system recordings most threads have no samples, and samples carry the names. */
static int apply_thread(struct capture *c, const struct change *change)
{
	struct process *process = processes_find(c->processes, change->pid);
	const char *name = c->programs ? change->comm : NULL;
	uint32_t thread;

	if (process)
		process->threads++;
	tasks_new_thread(c->tasks, change->pid, change->tid);
	return c->whole_system ? 0
			       : tasks_thread(c->tasks, change->pid, change->tid, name, &thread);
}

int capture_send_code_change(struct capture *c, struct process *process, uint64_t time_ns)
{
	const struct code_change change = {.pid = process->pid,
		.time_ns = time_ns,
		.replaced = process->space->replaced != process->replaced_sent};

	process->replaced_sent = process->space->replaced;
	return c->news.code_mapped ? c->news.code_mapped(c->news.context, &change) : 0;
}

static int apply_map(struct capture *c, const struct change *change)
{
	struct process *process = processes_find(c->processes, change->pid);
	int error = process ? processes_map(c->processes, change) : 0;

	return error || !process ? error : capture_send_code_change(c, process, change->time_ns);
}

static int apply(struct capture *c, const struct change *change)
{
	switch (change->kind) {
	case TASK_FORK:
		return apply_fork(c, change);
	case TASK_THREAD:
		return apply_thread(c, change);
	case TASK_EXEC:
		return apply_exec(c, change);
	case TASK_RENAME:
		return tasks_rename(c->tasks, change->pid, change->tid, change->comm);
	case CHANGE_THREAD_RAN:
		return capture_add_perf_time(c, change);
	case CHANGE_THREAD_END:
		return apply_thread_end(c, change);
	case TASK_EXIT:
		return apply_exit(c, change->pid, change->time_ns);
	case TASK_ACCOUNT:
		return add_account(c, change);
	case CHANGE_MAP:
		return apply_map(c, change);
	case CHANGE_IMAGE:
		return apply_image(c, change->pid);
	default:
		return 0;
	}
}

int capture_apply_until(struct capture *c, uint64_t until_ns)
{
	const struct change *change;
	int error = 0;

	while (!error && (change = changes_peek(&c->changes, until_ns))) {
		error = apply(c, change);
		changes_drop(&c->changes);
	}
	return error;
}

/* Arguments as a line: each ends in a NUL in the record. NULL when memory is short. */
static char *join_arguments(const char *arguments, size_t size)
{
	char *line = malloc(size + 1);

	if (!line)
		return NULL;
	while (size && !arguments[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		line[i] = arguments[i] ? arguments[i] : ' ';
	line[size] = '\0';
	return line;
}

static void copy_account(const struct bpf_account_event *e, size_t size, struct change *change)
{
	if (size < sizeof(*e))
		return;
	change->process = e->process;
	change->process_ended_ns = e->process_ended_ns;
	change->ended_ns = e->ended_ns;
	change->last = e->last;
}

static int add_task_event(struct capture *c, const struct bpf_task_event *e, size_t size)
{
	struct change change = {.time_ns = e->time_ns,
		.kind = e->kind,
		.pid = e->pid,
		.tid = e->tid,
		.parent = e->parent,
		.run_ns = e->run_ns};
	size_t arguments_size = e->arguments_size;

	memcpy(change.comm, e->comm, sizeof(change.comm));
	change.comm[sizeof(change.comm) - 1] = '\0';
	if (e->kind == TASK_EXEC && arguments_size && arguments_size <= size - sizeof(*e)) {
		change.text = join_arguments((const char *)(e + 1), arguments_size);
		if (!change.text)
			return -ENOMEM;
	}
	if (e->kind == TASK_ACCOUNT)
		copy_account((const void *)e, size, &change);
	return changes_add(&c->changes, change);
}

static int gather_task_events(struct capture *c)
{
	struct ring *ring = programs_tasks(c->programs);
	const struct bpf_task_event *e;
	int error = 0;
	size_t size;

	ring_snapshot(ring);
	while (!error && (e = ring_peek(ring, &size))) {
		if (size >= sizeof(*e))
			error = add_task_event(c, e, size);
		ring_take(ring);
	}
	ring_release(ring);
	return error ? error_errno(error, "cannot keep process events") : 0;
}

static int doubt_all(struct capture *c)
{
	const struct code_change any = {.time_ns = c->drained_ns, .replaced = true};

	c->ignored = 0; /* its exec may be among them */
	processes_doubt_all(c->processes, clock_now_ns());
	return c->news.code_mapped ? c->news.code_mapped(c->news.context, &any) : 0;
}

int capture_count_lost_changes(struct capture *c, uint64_t lost)
{
	int error = lost ? doubt_all(c) : 0;

	return error ?: profile_count_loss(c->w, LOSS_MAPS_LOST, lost);
}

/* What was dropped are samples, which are large; changes may be among them. */
static int gather_perf(struct capture *c)
{
	uint64_t lost = 0;
	int error = perf_samples_gather(c->perf, &c->changes, &lost);

	c->perf_lost += lost;
	if (!error && lost)
		error = doubt_all(c);
	return error ?: profile_count_loss(c->w, LOSS_SAMPLES_RING_FULL, lost);
}

int capture_gather_changes(struct capture *c)
{
	uint64_t lost = 0;
	int error;

	if (!c->programs)
		return c->perf ? gather_perf(c) : 0;
	error = gather_task_events(c);
	error = error ?: perf_maps_read(c->perf_maps, &c->changes, &lost);
	return error ?: capture_count_lost_changes(c, lost);
}
