// SPDX-License-Identifier: MIT
/*
 * A stack that came with registers and stack memory is walked again: most often its mapping or
 * table is there by now. If a table is still being made, a sample (or the beginning of a thread's
 * wait) is set aside and others go on. A launch waits at once: its stack must be there before the
 * GPU side's records of the launch are drained. How long launches wait is bounded for the whole
 * recording.
 *
 * Names of Python code, and where the threads of a file begin, are read by other processes. Until
 * they have answered, a sample is set aside, too, and a launch waits (for names, a moment).
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/raw_walk.h"
#include "sandbox/limits.h"
#include "vendor/vendor.h"

#define WAIT_MAX_NS   (3 * NS_PER_SECOND) /* in all, while it records, */
#define WAIT_END_NS   (5 * NS_PER_SECOND) /* and with the end */
#define WAIT_FILES_NS (5 * NS_PER_MS)
#define WAIT_NAMES_NS NS_PER_SECOND /* at the end */

/* A process that no event reported is older than the recording, or its event was lost: its mappings
 * are read from
 * /proc. */
int capture_process(struct capture *c, uint32_t pid, struct process **ret)
{
	struct process *process = processes_find(c->processes, pid);
	int error = 0;

	if (!process) {
		process = processes_get(c->processes, pid);
		if (!process)
			return error_errno(-ENOMEM, "cannot keep process %u", pid);
		error = processes_read_maps(c->processes, process, clock_now_ns());
	}
	if (!error)
		*ret = process;
	return error;
}

/* ------------------------------------------------------------------ walking again */

/* Whether this module's table is being made; one that had to make room is asked for again. */
static int table_is_coming(struct capture *c, uint32_t module, bool *ret)
{
	int error = modules_want_table(c->modules, module);
	const struct module *m = modules_at(c->modules, module);

	*ret = m->asked ||
	       (m->table && unwind_tables_state(c->tables, m->table, NULL) == UNWIND_PENDING);
	return error;
}

/* Whose code is looked at where callers are guessed. With programs in the kernel these do that; who
 * is root reads nothing of a process that could hold it up. */
static uint32_t pid_to_guess(const struct capture *c, uint32_t pid)
{
	return c->programs ? 0 : pid;
}

/* *ret_blocked: a table that it needs is being made. */
static int walk_again(struct capture *c, struct process *process, const struct raw_stack *raw,
	struct raw_walk *walk, bool *ret_blocked)
{
	bool read = false;
	int error = raw_walk(
		c->spaces, c->tables, process->space, pid_to_guess(c, process->pid), raw, walk);

	if (!error && walk->end == WALK_NO_MAPPING)
		error = processes_refresh(c->processes, process, clock_now_ns(), &read);
	if (!error && read)
		error = raw_walk(c->spaces, c->tables, process->space,
			pid_to_guess(c, process->pid), raw, walk);
	*ret_blocked = false;
	if (!error && walk->end == WALK_PENDING)
		error = table_is_coming(c, walk->blocked_module, ret_blocked);
	return error;
}

/* For what is known of files, or a moment. */
static int wait_for_answers(struct capture *c)
{
	uint64_t before_ns = clock_now_ns();
	int error = files_finish(c->files, WAIT_FILES_NS);

	c->waited_ns += clock_now_ns() - before_ns;
	error = error ?: capture_update_files(c);
	return error ?: capture_update_tables(c);
}

static uint64_t time_left_ns(const struct capture *c)
{
	uint64_t most_ns = c->stopped ? WAIT_END_NS : WAIT_MAX_NS;

	return c->waited_ns < most_ns ? most_ns - c->waited_ns : 0;
}

/* Waits for a table, or what comes before it, as long as there is time for that. *ret_ready: it is
 * worth another try. */
static int wait_for_table(struct capture *c, uint32_t module, bool *ret_ready)
{
	const struct module *m = modules_at(c->modules, module);
	uint64_t before_ns = clock_now_ns();

	*ret_ready = time_left_ns(c);
	if (!*ret_ready)
		return 0;
	if (m->asked)
		return wait_for_answers(c);
	*ret_ready = unwind_tables_wait(c->tables, &m->table, 1, time_left_ns(c));
	c->waited_ns += clock_now_ns() - before_ns;
	return capture_update_tables(c);
}

/* ------------------------------------------------------------------ into the profile */

static int count_lacks(struct capture *c, const struct stack_result *result)
{
	int error = profile_count_loss(c->w, LOSS_PYTHON_INCOMPLETE, result->python_incomplete);

	c->stacks_in_jit += result->in_jit;
	error = error ?: profile_count_loss(c->w, LOSS_PYTHON_UNPLACED, result->python_unplaced);
	error = error ?: profile_count_loss(c->w, LOSS_PYTHON_MOVED, result->python_moved);
	return error ?: profile_count_loss(c->w, LOSS_STACKS_CUT, result->cut);
}

/* The process that a stack is of, NULL when it has no user side. */
static int find_process(
	struct capture *c, uint32_t pid, struct raw_stack *raw, struct process **ret)
{
	int error = 0;

	*ret = NULL;
	if (raw->user_depth || raw->python_depth || raw->start)
		error = capture_process(c, pid, ret);
	if (error || !*ret)
		return error;
	/* In the middle of exec the registers are still those of a program that is gone. */
	if ((*ret)->exec_begun) {
		raw->user_depth = raw->python_depth = 0;
		raw->start = NULL;
	}
	raw_walk_cut((*ret)->space, raw);
	if ((*ret)->python.state == PYTHON_FOUND && raw->python_depth)
		raw->loops = raw->python_later ? (*ret)->python.python.evaluation
					       : (*ret)->python.python.loops;
	return 0;
}

/* *ret_lacks: nothing was made. Without may_wait it is made as well as can be, but for names. */
static int intern_now(struct capture *c, uint32_t pid, struct process *process,
	const struct raw_stack *raw, bool may_wait, enum stack_lack *ret_lacks, uint32_t *ret_stack,
	uint32_t *ret_incomplete)
{
	struct stack_origin origin = {.pid = pid,
		.process = process,
		.space = process ? process->space : NULL,
		.may_wait = may_wait};
	struct stack_result result = {0};
	int error = stacks_intern(c->stacks, &origin, raw, &result);

	*ret_lacks = result.lacks;
	if (error || result.lacks)
		return error;
	/* Mappings from /proc that no event has reported; they may be as old as the latest
	 * drain. */
	if (process && process->space->replaced != process->replaced_sent)
		error = capture_send_code_change(c, process, c->drained_ns);
	error = error ?: count_lacks(c, &result);
	if (error)
		return error;
	*ret_stack = result.stack;
	*ret_incomplete = result.incomplete;
	return 0;
}

/* What has no name after a moment is unknown. */
static int name_in_a_moment(struct capture *c, struct process *process, struct raw_stack *raw,
	uint32_t locations[WALK_PYTHON_FRAMES_MAX])
{
	struct python_code *code = python_code_ref(process->python.code);
	int error;

	python_names_settle(c->names, ANSWER_WAIT_NS);
	error = stacks_name_python_late(c->stacks, code, raw->python, raw->python_depth, locations);
	python_code_unref(code);
	raw->python_locations = locations;
	return error;
}

/* Waits for names a moment, and, if for_root, for where its threads begin as long as there is time
 * for that. */
static int intern_waiting(struct capture *c, uint32_t pid, struct process *process,
	struct raw_stack *raw, bool for_root, uint32_t *ret_stack, uint32_t *ret_incomplete)
{
	uint32_t locations[WALK_PYTHON_FRAMES_MAX];
	enum stack_lack lacks;
	int error;

	do {
		bool may_wait = for_root && time_left_ns(c);

		error = intern_now(
			c, pid, process, raw, may_wait, &lacks, ret_stack, ret_incomplete);
		if (!error && lacks == LACKS_NAMES)
			error = name_in_a_moment(c, process, raw, locations);
		else if (!error && lacks == LACKS_ROOT)
			error = wait_for_answers(c);
	} while (!error && lacks);
	raw->python_locations = NULL;
	return error;
}

int capture_intern(struct capture *c, uint32_t pid, struct raw_stack *raw, uint32_t *ret_stack,
	uint32_t *ret_incomplete)
{
	struct process *process;
	struct raw_walk walk;
	bool blocked = false, ready = true;
	int error = find_process(c, pid, raw, &process);

	if (!error && raw_walk_is_worth_it(raw)) {
		error = walk_again(c, process, raw, &walk, &blocked);
		while (!error && blocked && ready) {
			error = wait_for_table(c, walk.blocked_module, &ready);
			if (!error && ready)
				error = walk_again(c, process, raw, &walk, &blocked);
		}
		if (!error)
			raw_walk_apply(&walk, raw);
	}
	error = error ?: profile_count_loss(c->w, LOSS_STACKS_GIVEN_UP, blocked);
	return error ?: intern_waiting(c, pid, process, raw, true, ret_stack, ret_incomplete);
}

/* The program itself, the library of the GPU driver, and our library: no program unloads these
 * while it launches. */
static bool stays(const struct capture *c, const struct mapping *m, uint32_t pid)
{
	const struct module *module = modules_at(c->modules, m->module);
	char link[32], path[PATH_MAX];
	ssize_t size;

	if (module->instrument || vendor_is_driver_library(module->path))
		return true;
	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	return !strcmp(module->path, path);
}

/* What is mapped now may have come after the stack was walked: such frames, and with them their
 * callers, are not known. Without mapping events, so are frames in code that had not been seen
 * then, or may have been unmapped then. */
static int cut_later(struct capture *c, const struct walked_stack *stack, struct raw_stack *raw)
{
	const struct process *process;
	int error = stack->doubtful ? capture_look_again(c, stack->pid) : 0;

	process = processes_find(c->processes, stack->pid);
	for (uint32_t i = 0; !error && process && i < raw->user_depth; i++) {
		uint64_t address =
			(raw->user[i] & WALK_FRAME_ADDRESS) - !(raw->user[i] & WALK_FRAME_EXACT);
		const struct mapping *m = address_space_find(process->space, address);

		if (walk_is_cut(raw->user[i]) ||
			(m ? m->since_ns <= stack->time_ns &&
						(!stack->unloaded || stays(c, m, stack->pid))
			   : capture_is_reported(c)))
			continue;
		raw->user_depth = i;
		raw->walk_end = m ? WALK_STALE : WALK_NO_MAPPING;
	}
	return error;
}

int capture_resolve(void *context, const struct walked_stack *stack, uint32_t *ret_stack,
	uint32_t *ret_incomplete)
{
	struct capture *c = context;
	struct raw_stack raw = {.user = stack->user,
		.user_depth = stack->user_depth,
		.python = stack->python,
		.python_depth = stack->python_depth,
		.python_incomplete = stack->python_incomplete,
		.walk_end = stack->walk_end,
		.space = stack->generation,
		.launch = true};
	int error;

	c->launch_stacks++;
	if (raw.user_depth > WALK_FRAMES_MAX || raw.python_depth > WALK_PYTHON_FRAMES_MAX ||
		stack->walk_end >= WALK_ENDS) {
		*ret_stack = *ret_incomplete = 0;
		return profile_count_loss(c->w, LOSS_GPU_INVALID, 1);
	}
	error = cut_later(c, stack, &raw);
	return error ?: capture_intern(c, stack->pid, &raw, ret_stack, ret_incomplete);
}

/* ------------------------------------------------------------------ samples that wait */

/* Keeps a stack; `what` it is for. NULL: there is no room for it, or an error. */
static struct pending_sample *keep_stack(struct capture *c, struct process *process,
	const struct raw_stack *raw, const struct pending_sample *what, int *ret_error)
{
	struct pending_sample *kept = pending_add(&c->pending, raw, process->space);
	bool coming;

	*ret_error = 0;
	if (!kept)
		return NULL;
	kept->sample = what->sample;
	kept->ticket = what->ticket;
	kept->pid = process->pid;
	kept->tid = what->tid;
	kept->until_ns = clock_now_ns() + PENDING_AGE_NS;
	*ret_error = stacks_name_python(c->stacks, process, raw->python, raw->python_depth,
		kept->python_locations, &coming);
	if (!*ret_error && coming)
		kept->code = python_code_ref(process->python.code);
	return kept;
}

/* Until the table of `module` is there. */
static int keep_for_table(struct capture *c, struct process *process, const struct raw_stack *raw,
	const struct pending_sample *what, uint32_t module, bool *ret_kept)
{
	int error;
	struct pending_sample *kept = keep_stack(c, process, raw, what, &error);

	*ret_kept = kept;
	if (!kept)
		return profile_count_loss(c->w, LOSS_STACKS_GIVEN_UP, 1);
	kept->walks = true;
	kept->module = module;
	return error;
}

/* Until what it lacks is there; it is not walked again. */
static int keep_walked(struct capture *c, struct process *process, const struct raw_stack *found,
	const struct pending_sample *what, bool *ret_kept)
{
	struct raw_stack lean = *found;
	int error;

	lean.start = NULL;
	lean.memory = NULL;
	lean.memory_size = 0;
	lean.absent = NULL;
	*ret_kept = keep_stack(c, process, &lean, what, &error);
	return error;
}

/* The profile's stack, unless it has to wait (*ret_kept). */
static int intern_or_keep(struct capture *c, struct raw_stack *raw,
	const struct pending_sample *what, bool *ret_kept, uint32_t *ret_stack,
	uint32_t *ret_incomplete)
{
	struct process *process;
	struct raw_walk walk;
	bool blocked = false;
	enum stack_lack lacks = LACKS_NOTHING;
	int error = find_process(c, what->pid, raw, &process);

	*ret_kept = false;
	if (!error && raw_walk_is_worth_it(raw)) {
		error = walk_again(c, process, raw, &walk, &blocked);
		if (!error && blocked)
			error = keep_for_table(
				c, process, raw, what, walk.blocked_module, ret_kept);
		if (error || *ret_kept)
			return error;
		raw_walk_apply(&walk, raw);
	}
	error = error
			?: intern_now(c, what->pid, process, raw, true, &lacks, ret_stack,
				   ret_incomplete);
	if (!error && lacks)
		error = keep_walked(c, process, raw, what, ret_kept);
	if (error || !lacks || *ret_kept)
		return error;
	return intern_waiting(c, what->pid, process, raw, false, ret_stack, ret_incomplete);
}

/* With its stack. */
static int write_sample(
	struct capture *c, const struct profile_sample *sample, uint32_t stack, uint32_t incomplete)
{
	struct profile_sample complete = *sample;
	int error = profile_count_incomplete(c->w, incomplete);

	complete.stack = stack;
	return error ?: profile_write_sample(c->w, &complete);
}

int capture_add_sample(
	struct capture *c, uint32_t pid, struct raw_stack *raw, const struct profile_sample *sample)
{
	const struct pending_sample what = {.sample = *sample, .pid = pid};
	uint32_t stack, incomplete;
	bool kept;
	int error = intern_or_keep(c, raw, &what, &kept, &stack, &incomplete);

	return error || kept ? error : write_sample(c, sample, stack, incomplete);
}

int capture_begin_wait(struct capture *c, uint32_t pid, uint32_t tid, struct raw_stack *raw,
	const struct wait_begin *begin)
{
	const struct pending_sample what = {.ticket = ++c->tickets, .pid = pid, .tid = tid};
	struct wait_begin begun = *begin;
	bool kept;
	int error = intern_or_keep(c, raw, &what, &kept, &begun.stack, &begun.incomplete);

	if (!error && kept)
		begun.ticket = what.ticket;
	return error ?: waits_begin(c->waits, pid, tid, &begun);
}

int capture_add_wait_stack(
	struct capture *c, uint32_t pid, uint32_t tid, uint64_t ticket, struct raw_stack *raw)
{
	const struct pending_sample what = {.ticket = ticket, .pid = pid, .tid = tid};
	uint32_t stack, incomplete;
	bool kept;
	int error = intern_or_keep(c, raw, &what, &kept, &stack, &incomplete);

	return error || kept ? error : waits_stack(c->waits, pid, tid, ticket, stack, incomplete);
}

struct late {
	struct capture *c;
	uint64_t now_ns;
	bool unnamed; /* names are not waited for any more */
};

static int write_resolved(
	struct capture *c, struct pending_sample *s, const struct stack_result *result)
{
	int error = count_lacks(c, result);

	if (error)
		return error;
	return s->ticket ? waits_stack(c->waits, s->pid, s->tid, s->ticket, result->stack,
				   result->incomplete)
			 : write_sample(c, &s->sample, result->stack, result->incomplete);
}

/* One that was walked to its end, or as far as it gets. */
static int write_late(const struct late *late, struct pending_sample *s,
	const struct raw_stack *raw, bool *ret_done)
{
	struct capture *c = late->c;
	struct process *process = processes_find(c->processes, s->pid);
	struct stack_origin origin = {
		.pid = s->pid, .space = s->space, .may_wait = late->now_ns < s->until_ns};
	struct stack_result result;
	int error;

	if (process && process->space == s->space)
		origin.process = process;
	error = stacks_intern(c->stacks, &origin, raw, &result);
	if (error || result.lacks)
		return error;
	*ret_done = true;
	error = profile_count_loss(
		c->w, LOSS_STACKS_GIVEN_UP, s->walks && raw->walk_end == WALK_PENDING);
	return error ?: write_resolved(c, s, &result);
}

static bool names_are_coming(const struct pending_sample *s)
{
	for (uint32_t i = 0; i < s->stack.python_depth; i++)
		if (python_code_is_coming(s->code, &s->stack.python[i]))
			return true;
	return false;
}

/* *ret_coming: they are being read. */
static int name_late(const struct late *late, struct pending_sample *s, bool *ret_coming)
{
	int error;

	*ret_coming =
		s->code && !late->unnamed && late->now_ns < s->until_ns && names_are_coming(s);
	if (!s->code || *ret_coming)
		return 0;
	error = stacks_name_python_late(late->c->stacks, s->code, s->stack.python,
		s->stack.python_depth, s->python_locations);
	python_code_unref(s->code);
	s->code = NULL;
	return error;
}

/* The process it is of; 0: that is gone, or runs another program by now. */
static uint32_t pid_of_program(const struct capture *c, const struct pending_sample *s)
{
	const struct process *process = processes_find(c->processes, s->pid);

	return process && process->space->image_generation == s->space->image_generation ? s->pid
											 : 0;
}

/* Walks it once more, to *ret. *ret_coming: a table that it needs is being made. */
static int walk_late(const struct late *late, struct pending_sample *s, struct raw_walk *walk,
	struct raw_stack *ret, bool *ret_coming)
{
	struct capture *c = late->c;
	bool may_wait = late->now_ns < s->until_ns;
	int error = 0;

	*ret = s->stack;
	*ret_coming = false;
	if (!s->walks)
		return 0;
	if (may_wait)
		error = table_is_coming(c, s->module, ret_coming);
	if (error || *ret_coming)
		return error;
	error = raw_walk(c->spaces, c->tables, s->space, pid_to_guess(c, pid_of_program(c, s)),
		&s->stack, walk);
	if (!error && walk->end == WALK_PENDING && may_wait) {
		s->module = walk->blocked_module;
		error = table_is_coming(c, s->module, ret_coming);
	}
	if (!error)
		raw_walk_apply(walk, ret);
	return error;
}

/* Writes it if all is there that it needs, or cannot be waited for any more. */
static int look_at_late(void *context, struct pending_sample *s, bool *ret_done)
{
	const struct late *late = context;
	struct raw_stack raw;
	struct raw_walk walk;
	bool coming;
	int error = name_late(late, s, &coming);

	if (!error && !coming)
		error = walk_late(late, s, &walk, &raw, &coming);
	return error || coming ? error : write_late(late, s, &raw, ret_done);
}

static int wait_for_one(struct capture *c, const struct pending_sample *s, bool *ret_ready)
{
	if (s->walks)
		return wait_for_table(c, s->module, ret_ready);
	*ret_ready = time_left_ns(c);
	return *ret_ready ? wait_for_answers(c) : 0;
}

/* At the end: those that wait do so together, for what the first of them needs. */
static int wait_for_the_last(struct capture *c)
{
	struct late late = {.c = c, .now_ns = clock_now_ns(), .unnamed = true};
	bool ready = true;
	int error;

	python_names_finish(c->names, WAIT_NAMES_NS);
	error = pending_each(&c->pending, look_at_late, &late);
	while (!error && ready && c->pending.samples.count) {
		error = wait_for_one(c, c->pending.samples.items[0], &ready);
		late.now_ns = clock_now_ns();
		error = error ?: pending_each(&c->pending, look_at_late, &late);
	}
	late.now_ns = UINT64_MAX;
	return error ?: pending_each(&c->pending, look_at_late, &late);
}

int capture_walk_pending(struct capture *c)
{
	struct late late = {.c = c, .now_ns = clock_now_ns()};
	int error = pending_each(&c->pending, look_at_late, &late);

	return error || !c->stopped ? error : wait_for_the_last(c);
}
