// SPDX-License-Identifier: MIT
/*
 * Publishes for walkers: unwind tables, mappings, interpreters.
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "sandbox/limits.h"
#include "unwind/cache.h"

#define PREPARE_MAX_NS (500 * NS_PER_MS)

struct table_list vec(uint32_t);

static int new_chunk(void *context, uint32_t index, int *ret_fd)
{
	const struct capture *c = context;

	return programs_new_chunk(c->programs, index, ret_fd);
}

static int write_words(void *context, uint32_t at, const uint32_t *words, uint32_t count)
{
	const struct capture *c = context;

	return programs_write_words(c->programs, at, words, count);
}

int capture_open_tables(struct capture *c)
{
	struct buf dir = BUF_INIT;
	struct unwind_tables_options options = {.cache_dir = unwind_cache_default(&dir),
		.new_chunk = c->programs ? new_chunk : NULL,
		.write_words = c->programs ? write_words : NULL,
		.context = c,
		.build = files_build_table,
		.begin = files_begin_builder,
		.build_context = c->files};
	int error = unwind_tables_new(&c->tables, &options);

	buf_release(&dir);
	return error;
}

static int put_space(void *context, uint32_t pid, const struct bpf_space *space)
{
	const struct capture *c = context;

	return !c->programs ? 0 : programs_put_space(c->programs, pid, space);
}

static int put_python(void *context, uint32_t pid, const struct walk_python *python)
{
	const struct capture *c = context;

	return !c->programs ? 0 : programs_put_python(c->programs, pid, python);
}

static void drop_space(void *context, uint32_t pid)
{
	const struct capture *c = context;

	if (c->programs)
		programs_drop_space(c->programs, pid);
}

static int send_space(void *context, const struct walker_space *space)
{
	const struct capture *c = context;

	return c->news.space ? c->news.space(c->news.context, space) : 0;
}

int capture_open_spaces(struct capture *c)
{
	struct spaces_target target = {.context = c,
		.mapping_count = BPF_MAPPINGS_MAX,
		.sees_maps = c->programs && programs_see_maps(c->programs),
		.put = put_space,
		.put_python = put_python,
		.drop = drop_space,
		.send = send_space};

	if (!c->programs)
		c->own_mappings = calloc(BPF_MAPPINGS_MAX, sizeof(*c->own_mappings));
	target.mappings = c->programs ? programs_mappings(c->programs) : c->own_mappings;
	if (!target.mappings)
		return error_errno(-ENOMEM, "cannot keep mappings");
	return spaces_new(&c->spaces, c->modules, c->tables, &target);
}

struct chunk_visit {
	struct capture *c;
	int error;
};

/* Libraries that get none leave walking to the kernel. */
static int send_chunk(void *context, uint32_t index, int fd)
{
	struct chunk_visit *v = context;
	const struct walker_news *news = &v->c->news;

	if (v->c->programs && !programs_can_share_chunks(v->c->programs))
		return 0;
	v->error = news->table_chunk(news->context, index, fd);
	return v->error;
}

static int send_chunks(struct capture *c)
{
	struct chunk_visit v = {.c = c};

	if (c->news.table_chunk)
		c->chunks = unwind_tables_chunks(c->tables, c->chunks, send_chunk, &v);
	return v.error;
}

static int count_tables(struct capture *c, const struct unwind_totals *now)
{
	const struct unwind_totals *before = &c->table_totals;
	int error = profile_count_loss(c->w, LOSS_TABLES_FAILED, now->failed - before->failed);

	return error
		       ?: profile_count_loss(
				  c->w, LOSS_TABLES_EVICTED, now->evicted - before->evicted);
}

/* A table that is evicted meanwhile may be counted in these totals, and its state be seen next time
 * only: so evictions count for two rounds. */
int capture_update_tables(struct capture *c)
{
	struct unwind_totals totals;
	bool evicted;
	int error;

	if (!unwind_tables_poll(c->tables))
		return 0;
	totals = unwind_tables_totals(c->tables);
	evicted = totals.evicted != c->table_totals.evicted;
	spaces_tables_changed(c->spaces, evicted || c->tables_evicted);
	processes_touch(c->processes, NULL);
	c->tables_evicted = evicted;
	error = count_tables(c, &totals);
	c->table_totals = totals;
	return error ?: send_chunks(c);
}

struct publishing {
	struct capture *c;
	uint64_t now_ns;
	int error;
};

/* Whether it has to be published again even if nothing happens to it. */
static bool publish_process(void *context, struct process *process)
{
	struct publishing *p = context;

	if (p->error)
		return true;
	python_names_look(p->c->names, process, p->now_ns);
	p->error = spaces_publish(p->c->spaces, process, p->now_ns);
	return process->python.state == PYTHON_NOT_YET ||
	       !spaces_is_settled(p->c->spaces, process, p->now_ns);
}

/* Exec removes what was published of the process, but not what is being published at the same
 * moment: that is of the image before, and is withdrawn here. */
static int withdraw_after_exec(struct capture *c, uint64_t now_ns)
{
	int error = capture_gather_changes(c);

	for (size_t i = c->changes.next; i < c->changes.queue.count; i++) {
		const struct change *change = &c->changes.queue.items[i];

		if (change->kind != TASK_EXEC && change->kind != CHANGE_IMAGE)
			continue;
		spaces_withdraw(c->spaces, change->pid, now_ns);
		if (processes_find(c->processes, change->pid))
			processes_touch(c->processes, processes_find(c->processes, change->pid));
	}
	return error;
}

int capture_publish(struct capture *c)
{
	struct publishing p = {.c = c, .now_ns = clock_now_ns()};
	uint64_t failed;

	if (!c->walks || c->stopped)
		return 0;
	processes_each_touched(c->processes, publish_process, &p);
	if (!p.error)
		p.error = withdraw_after_exec(c, p.now_ns);
	if (p.error)
		return p.error;
	failed = spaces_failed(c->spaces) - c->spaces_failed;
	c->spaces_failed += failed;
	return profile_count_loss(c->w, LOSS_SPACES_FULL, failed);
}

/* The tables of this process that are still being made. */
static int list_pending(struct capture *c, const struct process *process, struct table_list *ret)
{
	vec_foreach (m, &process->space->mappings) {
		uint32_t table = modules_at(c->modules, m->module)->table;

		if (table && unwind_tables_state(c->tables, table, NULL) == UNWIND_PENDING &&
			vec_push(ret, table) < 0)
			return error_errno(-ENOMEM, "cannot wait for unwind tables");
	}
	return 0;
}

/* Without events: reads what a process maps now. Changes count as of the last time it was read. */
static int look_at(struct capture *c, uint32_t pid, bool begins)
{
	struct process *process = processes_get(c->processes, pid);
	uint64_t before_ns;
	int error;

	if (!process)
		return error_errno(-ENOMEM, "cannot keep process %u", pid);
	/* It may run another program than the one that had this pid and was looked at. */
	error = begins ? processes_image(c->processes, pid) : 0;
	if (error)
		return error;
	process->exec_begun = false;
	before_ns = process->maps_read_ns;
	error = processes_read_maps(c->processes, process, clock_now_ns());
	if (!error && process->space->replaced != process->replaced_sent)
		error = capture_send_code_change(c, process, before_ns);
	return error;
}

int capture_look_again(struct capture *c, uint32_t pid)
{
	const struct process *process = processes_find(c->processes, pid);
	bool seen = process && process->maps_read_ns >= c->drained_ns;

	return capture_is_reported(c) || seen ? 0 : look_at(c, pid, false);
}

/* Until what it maps is known, so that its tables can be asked for. */
static int wait_for_files(struct capture *c, const struct process *process)
{
	bool asked = false;
	int error;

	vec_foreach (m, &process->space->mappings)
		asked |= modules_at(c->modules, m->module)->asked;
	if (!asked)
		return 0;
	error = files_finish(c->files, PREPARE_MAX_NS);
	return error ?: capture_update_files(c);
}

static int wait_for_tables(struct capture *c, const struct process *process)
{
	struct table_list pending = {0};
	int error = wait_for_files(c, process);

	error = error ?: list_pending(c, process, &pending);

	if (!error && pending.count) {
		unwind_tables_wait(c->tables, pending.items, pending.count, PREPARE_MAX_NS);
		error = capture_update_tables(c);
	}
	if (!error && pending.count)
		error = capture_publish(c);
	vec_release(&pending);
	return error;
}

/* Whether it runs Python, if that is being looked at. */
static int wait_for_python(struct capture *c, const struct process *process)
{
	if (!process->python.asked)
		return 0;
	python_names_finish(c->names, ANSWER_WAIT_NS);
	return capture_publish(c);
}

int capture_prepare(void *context, uint32_t pid, bool begins)
{
	struct capture *c = context;
	const struct process *process;
	bool busy;
	int error = capture_is_reported(c) ? 0 : look_at(c, pid, begins);

	error = error ?: capture_drain(c, &busy);
	process = processes_find(c->processes, pid);
	if (error || !process || !begins)
		return error;
	error = wait_for_tables(c, process);
	return error ?: wait_for_python(c, process);
}

int capture_done_with(void *context, uint32_t pid)
{
	struct capture *c = context;

	if (capture_is_reported(c))
		return 0;
	processes_exit(c->processes, pid);
	return spaces_forget(c->spaces, pid, clock_now_ns());
}

int capture_name_python(void *context, struct process *process,
	const struct walk_python_frame *frame, struct python_line *ret)
{
	return python_names_line(process, frame, ret);
}

int capture_want_python(void *context, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, bool *ret_coming)
{
	struct capture *c = context;
	int error = python_names_want(c->names, process, frames, depth, ret_coming);

	return error ? error_memory("names of Python code") : 0;
}

int capture_count_python(struct capture *c)
{
	struct python_names_totals now = python_names_totals(c->names), *before = &c->names_totals;
	int error = profile_count_loss(
		c->w, LOSS_PYTHON_UNSUPPORTED, now.unsupported - before->unsupported);

	error = error
			?: profile_count_loss(c->w, LOSS_PYTHON_UNREADABLE,
				   now.unreadable - before->unreadable);
	*before = now;
	return error;
}
