// SPDX-License-Identifier: MIT
/*
 * Threads that slept when the recording began, until their stacks are known.
 *
 * The kernel sends their registers (struct bpf_asleep_event). Their memory is read by another
 * process (sandbox/sleepers.h), that of some threads of a process at a time. First it has to be
 * known what the process runs, as Python's frames are read with it. A thread that wakes up before
 * its stack has come has none: the end of its wait is older than the stack then (waits_stack_of).
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "sandbox/sleepers.h"

#define SLEEPERS_KEPT_MAX 32768
#define PATIENCE_NS	  (5 * NS_PER_SECOND) /* until it is known what a process runs */
#define LOOK_NS		  (5 * NS_PER_MS)     /* between two looks at that */

struct sleeper {
	struct bpf_asleep_event *event; /* of `kernel` there is what was sent */
	uint64_t ticket;
};

struct asleep {
	struct vec(struct sleeper) threads;
	uint64_t look_ns; /* when to look again whether a process is known */
	bool asked;	  /* the first threads, so many, and nothing has come of it yet */
	size_t asked_count;
	struct buf request;
	bool answered;
	int error;
	uint64_t reply_ns; /* when it came */
	struct buf reply;
};

struct asleep *asleep_new(void)
{
	return calloc(1, sizeof(struct asleep));
}

void asleep_free(struct asleep *a)
{
	if (!a)
		return;
	vec_foreach (s, &a->threads)
		free(s->event);
	vec_release(&a->threads);
	buf_release(&a->request);
	buf_release(&a->reply);
	free(a);
}

static size_t event_bytes(const struct bpf_asleep_event *e)
{
	return offsetof(struct bpf_asleep_event, kernel) + e->kernel_depth * sizeof(*e->kernel);
}

static int keep(struct asleep *a, const struct bpf_asleep_event *e, uint64_t ticket)
{
	struct sleeper s = {.event = malloc(event_bytes(e)), .ticket = ticket};

	if (!s.event || vec_push(&a->threads, s) < 0) {
		free(s.event);
		return error_memory("threads that sleep");
	}
	memcpy(s.event, e, event_bytes(e));
	return 0;
}

/* As far as it is known without its memory; NULL of that: there is none. */
static struct raw_stack stack_of(
	const struct bpf_asleep_event *e, const struct sleeper_stack *memory)
{
	struct raw_stack raw = {.kernel = e->kernel,
		.kernel_depth = e->kernel_depth,
		.walk_end = e->start.pc ? WALK_PENDING : (enum walk_end)e->walk_end};

	if (!memory)
		return raw;
	raw.start = &e->start;
	raw.memory = memory->memory;
	raw.memory_size = memory->memory_size;
	raw.python = memory->python;
	raw.python_depth = memory->python_depth;
	raw.python_incomplete = memory->python_incomplete;
	raw.entries = memory->entries;
	raw.entry_count = memory->entry_count;
	return raw;
}

int capture_add_asleep(struct capture *c, const struct bpf_asleep_event *e)
{
	struct wait_begin begin = {
		.start_ns = e->time_ns, .reason = (enum profile_wait_reason)e->reason};
	char comm[BPF_COMM_SIZE + 1] = {0};
	struct raw_stack raw = stack_of(e, NULL);
	int error;

	memcpy(comm, e->comm, sizeof(e->comm));
	error = tasks_thread(c->tasks, e->pid, e->tid, comm, &begin.thread);
	if (error || c->asleep->threads.count >= SLEEPERS_KEPT_MAX)
		return error;
	if (!e->start.pc)
		return capture_begin_wait(c, e->pid, e->tid, &raw, &begin);
	begin.ticket = ++c->tickets;
	error = waits_begin(c->waits, e->pid, e->tid, &begin);
	return error ?: keep(c->asleep, e, begin.ticket);
}

/* ------------------------------------------------------------------ answers */

static int give_up(struct capture *c, const struct sleeper *s)
{
	return waits_stack(c->waits, s->event->pid, s->event->tid, s->ticket, 0, 0);
}

static int add_stack(struct capture *c, const struct sleeper *s, const struct sleeper_stack *memory)
{
	const struct bpf_asleep_event *e = s->event;
	struct raw_stack raw = stack_of(e, memory);
	bool wanted;
	int error =
		waits_stack_of(c->waits, e->pid, e->tid, s->ticket, c->asleep->reply_ns, &wanted);

	if (error || !wanted)
		return error ?: give_up(c, s);
	return capture_add_wait_stack(c, e->pid, e->tid, s->ticket, &raw);
}

static void forget_first(struct asleep *a, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(a->threads.items[i].event);
	a->threads.count -= count;
	memmove(a->threads.items, a->threads.items + count,
		a->threads.count * sizeof(*a->threads.items));
}

/* What is not in the reply is asked for again, if anything is in it. */
static int use_answer(struct capture *c)
{
	struct asleep *a = c->asleep;
	struct sleeper_stack memory;
	size_t at = 0, used = 0;
	int error = 0;

	a->asked = a->answered = false;
	while (!error && !a->error && used < a->asked_count &&
		sleepers_next(a->reply.data, a->reply.size, &at, &memory))
		error = add_stack(c, &a->threads.items[used++], &memory);
	for (; !error && !at && used < a->asked_count; used++)
		error = give_up(c, &a->threads.items[used]);
	forget_first(a, used);
	buf_reset(&a->reply);
	return error;
}

/* It is used later, as another stack may be in the making now. */
static void on_answer(void *context, int error, const void *reply, size_t size)
{
	struct asleep *a = context;

	a->answered = true;
	a->error = error;
	a->reply_ns = clock_now_ns();
	buf_reset(&a->reply);
	if (!error)
		buf_append(&a->reply, reply, size);
	if (a->reply.failed)
		a->error = -ENOMEM;
}

/* ------------------------------------------------------------------ questions */

/* Whether it is known what a process runs, or will not be. */
static bool is_known(const struct capture *c, const struct process *process)
{
	const struct interpreter *i = &process->python;
	bool asked = false;

	vec_foreach (m, &process->space->mappings)
		asked |= modules_at(c->modules, m->module)->asked;
	return !asked && (i->state != PYTHON_NOT_YET || i->given_up ||
				 (i->next_ns && !i->asked && !i->doubts));
}

/* Whether the process's memory can be asked for now, or never. */
static bool is_ready(const struct capture *c, const struct sleeper *s, uint64_t now_ns)
{
	const struct process *process = processes_find(c->processes, s->event->pid);

	return !process || is_known(c, process) || now_ns > s->event->time_ns + PATIENCE_NS;
}

/* Moves threads of a process that can be asked to the front; how many. */
static size_t choose(struct capture *c)
{
	struct asleep *a = c->asleep;
	uint64_t now_ns = clock_now_ns();
	uint32_t looked = 0, chosen = 0;
	size_t count = 0;

	for (size_t i = 0; i < a->threads.count && count < SLEEPERS_MAX; i++) {
		struct sleeper s = a->threads.items[i];
		uint32_t pid = s.event->pid;

		/* Those of a process are sent one after another, more or less. */
		if (!chosen && pid != looked && is_ready(c, &s, now_ns))
			chosen = pid;
		looked = pid;
		if (pid != chosen)
			continue;
		a->threads.items[i] = a->threads.items[count];
		a->threads.items[count++] = s;
	}
	return count;
}

static bool make_request(struct capture *c, size_t count)
{
	struct asleep *a = c->asleep;
	const struct process *process =
		processes_find(c->processes, a->threads.items[0].event->pid);
	struct sleepers_request r = {.count = (uint32_t)count};

	if (process && process->python.state == PYTHON_FOUND && !process->python.given_up) {
		r.has_python = 1;
		r.python = process->python.python;
	}
	buf_reset(&a->request);
	buf_append(&a->request, &r, sizeof(r));
	for (size_t i = 0; i < count; i++) {
		const struct bpf_asleep_event *e = a->threads.items[i].event;
		const struct sleeper_place place = {e->start.sp, e->stack_end, e->thread_pointer};

		buf_append(&a->request, &place, sizeof(place));
	}
	return !a->request.failed && process && !process->python.given_up;
}

static int ask(struct capture *c, size_t count)
{
	struct asleep *a = c->asleep;
	const struct sleepers_question q = {.pid = a->threads.items[0].event->pid,
		.request = a->request.data,
		.size = a->request.size,
		.done = on_answer,
		.context = a};

	a->asked = true;
	a->asked_count = count;
	return python_names_ask_sleepers(c->names, &q);
}

static void ask_next(struct capture *c)
{
	struct asleep *a = c->asleep;
	size_t count = choose(c);
	int error;

	a->look_ns = count ? 0 : clock_now_ns() + LOOK_NS;
	if (!count)
		return;
	error = make_request(c, count) ? ask(c, count) : -ESRCH;
	/* Their waits have no stack then. */
	if (error) {
		a->asked_count = count;
		on_answer(a, error, NULL, 0);
	}
}

/* Those that nobody asks for any more. */
static int give_up_all(struct capture *c)
{
	struct asleep *a = c->asleep;
	int error = 0;

	vec_foreach (s, &a->threads)
		error = error ?: give_up(c, s);
	if (!a->asked)
		forget_first(a, a->threads.count);
	return error;
}

int capture_read_asleep(struct capture *c)
{
	struct asleep *a = c->asleep;
	int error = 0;

	if (!a->threads.count)
		return 0;
	python_names_pump(c->names);
	do {
		if (a->answered)
			error = use_answer(c);
		if (!error && !a->asked && a->threads.count && !c->stopped &&
			clock_now_ns() >= a->look_ns)
			ask_next(c);
	} while (!error && a->answered);
	return error || !c->stopped ? error : give_up_all(c);
}
