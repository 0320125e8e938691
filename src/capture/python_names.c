// SPDX-License-Identifier: MIT
/*
 * A question is about an interpreter, about code or about threads that sleep. Answers find their
 * process by its number and, as that may be another image's by then, by a tag or by its code
 * objects. Those are shared with stacks that wait for them, and so outlive their process. What is
 * read of threads goes to whoever asked.
 *
 * Whether what reads is held up is asked of the kernel: then it sleeps, though nothing that it does
 * takes long. One that merely gets no CPU is given its time.
 */
#include "capture/python_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc_text.h"
#include "python/memory.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/memory.h"
#include "sandbox/sandbox.h"

#define QUESTIONS_MAX 4096
#define LOOK_NS	      (20 * NS_PER_MS) /* between two looks at what reads */
#define TRIES	      2		       /* if what reads dies */
#define USER_MAX      4 /* processes of one user may hold up what reads; then none is asked */

struct question {
	uint32_t pid;
	uint32_t tries;
	uint64_t tag;		   /* of the interpreter that is looked for */
	struct memory_place place; /* and where */
	/* that lacks something; NULL: threads are asked for, or an interpreter is looked for */
	struct python_code *code;
	struct sleepers_question sleepers; /* without `done` none are */
};

struct holder {
	uint32_t uid;
	uint32_t count;
};

struct python_names {
	struct processes *processes;
	struct child *child; /* NULL: this process reads */
	int epoll;
	int timer; /* when to look whether it is held up */
	struct vec(struct question) queue;
	struct question present; /* being answered, if `asked` */
	bool asked;
	bool answered;	    /* since it was last cleared */
	uint64_t asked_ns;  /* 0: the process that is to read begins */
	uint64_t looked_ns; /* when it was last seen held up; 0: not so far */
	uint64_t tags;
	uint64_t patience_ns; /* how long the loop may still wait, */
	uint64_t patient_ns;  /* as of this time */
	struct vec(struct holder) holders;
	struct python_names_totals totals;
};

static int open_child(struct python_names *n, const char *program)
{
	struct epoll_event event = {.events = EPOLLIN};

	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	n->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (n->epoll < 0 || n->timer < 0 || epoll_ctl(n->epoll, EPOLL_CTL_ADD, n->timer, &event))
		return error_errno(-errno, "cannot read names of Python code");
	n->child = child_new(program, SANDBOX_MEMORY, n->epoll);
	return n->child ? 0 : error_memory("names of Python code");
}

int python_names_new(struct python_names **ret, const char *program, struct processes *processes)
{
	struct python_names *n = calloc(1, sizeof(*n));
	int error = 0;

	if (!n)
		return error_memory("names of Python code");
	n->processes = processes;
	n->epoll = n->timer = -1;
	if (program && memory_can_be_read_apart())
		error = open_child(n, program);
	if (error)
		python_names_free(n);
	else
		*ret = n;
	return error;
}

void python_names_read_here(struct python_names *n)
{
	child_free(n->child);
	n->child = NULL;
}

static void answer_sleepers(struct question *q, int error, const void *reply, size_t size)
{
	const struct sleepers_question s = q->sleepers;

	q->sleepers.done = NULL;
	if (s.done)
		s.done(s.context, error, reply, size);
}

static void release_question(struct question *q)
{
	python_code_unref(q->code);
	q->code = NULL;
	answer_sleepers(q, -EIO, NULL, 0);
}

void python_names_free(struct python_names *n)
{
	if (!n)
		return;
	child_free(n->child);
	if (n->asked)
		release_question(&n->present);
	vec_foreach (q, &n->queue)
		release_question(q);
	vec_release(&n->queue);
	vec_release(&n->holders);
	if (n->epoll >= 0)
		close(n->epoll);
	if (n->timer >= 0)
		close(n->timer);
	free(n);
}

int python_names_poll_fd(const struct python_names *n)
{
	return n->epoll;
}

struct python_names_totals python_names_totals(const struct python_names *n)
{
	return n->totals;
}

/* --- who holds up ----------------------------------------------------------------------------- */

static struct holder *find_holder(struct python_names *n, uint32_t pid)
{
	struct proc_status status;

	if (!n->holders.count || !proc_status_read(pid, &status))
		return NULL;
	vec_foreach (h, &n->holders)
		if (h->uid == status.uid)
			return h;
	return NULL;
}

static void note_holder(struct python_names *n, uint32_t pid)
{
	struct holder *known = find_holder(n, pid);
	struct proc_status status;

	if (known)
		known->count++;
	else if (proc_status_read(pid, &status))
		(void)vec_push(&n->holders, (struct holder){status.uid, 1});
}

/* Its user's other processes did. */
static bool is_distrusted(struct python_names *n, uint32_t pid)
{
	const struct holder *h = find_holder(n, pid);

	return h && h->count >= USER_MAX;
}

static struct process *process_of(const struct python_names *n, const struct question *q)
{
	struct process *process = processes_find(n->processes, q->pid);
	bool same = process && (q->sleepers.done || (q->code ? process->python.code == q->code
							     : process->python.asked == q->tag));

	return same ? process : NULL;
}

/* The process is not asked again. */
static void give_up(struct python_names *n, const struct question *q)
{
	struct process *process = process_of(n, q);

	n->totals.unreadable++;
	if (process)
		interpreter_give_up(&process->python);
	if (q->code)
		python_code_give_up(q->code, true);
}

/* Wakes the loop after so long; 0: not any more. */
static void set_timer(struct python_names *n, uint64_t after_ns)
{
	const struct itimerspec when = {.it_value.tv_nsec = (long)after_ns};

	(void)timerfd_settime(n->timer, 0, &when, NULL);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void use_interpreter(
	struct python_names *n, struct interpreter *i, const struct memory_found *found)
{
	bool decided = interpreter_answer(
		i, (enum python_found)found->found, &found->python, clock_now_ns());

	n->totals.unsupported += decided && i->state == PYTHON_UNSUPPORTED;
}

static int receive_interpreter(
	struct python_names *n, const struct question *q, const void *data, size_t size)
{
	struct process *process = process_of(n, q);
	struct memory_found found;

	if (size != sizeof(found))
		return -EPROTO;
	memcpy(&found, data, sizeof(found));
	if (!memory_found_is_sound(&found))
		return -EPROTO;
	if (process)
		use_interpreter(n, &process->python, &found);
	return 0;
}

static void ask_later(struct python_names *n, const struct question *q)
{
	struct question copy = *q;

	if (n->queue.count < QUESTIONS_MAX && !vec_push(&n->queue, copy))
		return;
	if (q->code)
		python_code_give_up(q->code, true);
	release_question(&copy);
}

/* The rest of what is wanted is another question. */
static void go_on(struct python_names *n, struct question *q)
{
	q->tries = 0;
	if (q->code && python_code_is_wanting(q->code))
		ask_later(n, q);
	else
		release_question(q);
}

static bool is_gone(int error)
{
	return error == -EIO || error == -EPIPE || error == -ECONNRESET;
}

static void on_answer(void *context, uint64_t tag, struct child_reply *reply)
{
	struct python_names *n = context;
	struct question q = n->present;
	int error = reply->error;

	n->asked = false;
	n->answered = true;
	set_timer(n, 0);
	if (is_gone(error) && ++q.tries < TRIES) {
		if (q.code)
			python_code_ask_again(q.code);
		ask_later(n, &q);
		return;
	}
	if (!error && q.sleepers.done)
		answer_sleepers(&q, 0, reply->data, reply->size);
	else if (!error && q.code)
		error = python_code_answer(q.code, reply->data, reply->size);
	else if (!error)
		error = receive_interpreter(n, &q, reply->data, reply->size);
	else if (q.code)
		python_code_give_up(q.code, false);
	if (is_gone(error) || error == -ETIME || error == -EPROTO)
		give_up(n, &q);
	go_on(n, &q);
}

/* --- questions -------------------------------------------------------------------------------- */

static void append_question(const struct question *q, struct buf *b)
{
	const struct memory_request r = {.pid = q->pid};

	buf_append(b, &r, sizeof(r));
	if (q->sleepers.done)
		buf_append(b, q->sleepers.request, q->sleepers.size);
	else if (q->code)
		(void)python_code_request(q->code, b);
	else
		buf_append(b, &q->place, sizeof(q->place));
}

static uint32_t kind_of(const struct question *q)
{
	return q->sleepers.done ? MEMORY_SLEEPERS : q->code ? MEMORY_CODE : MEMORY_FIND;
}

/* Nobody has a use for the answer any more. */
static bool is_over(const struct python_names *n, const struct question *q)
{
	if (q->sleepers.done)
		return false;
	return q->code ? !python_code_is_shared(q->code) || !python_code_is_wanting(q->code)
		       : !process_of(n, q);
}

static void on_hello(void *context, uint64_t tag, struct child_reply *reply)
{
	struct python_names *n = context;

	n->asked_ns = clock_now_ns();
	set_timer(n, MEMORY_HELD_NS);
}

/* While it begins it may sleep for reasons of its own. */
static int greet(struct python_names *n)
{
	const struct child_request r = {.kind = REQUEST_HELLO,
		.limit_ns = HELLO_LIMIT_NS,
		.fds = {-1, -1},
		.done = on_hello,
		.context = n};

	n->asked_ns = 0;
	return child_ask(n->child, &r);
}

static void ask(struct python_names *n, struct question *q)
{
	struct child_request r = {.kind = kind_of(q),
		.limit_ns = MEMORY_LIMIT_NS,
		.fds = {-1, -1},
		.done = on_answer,
		.context = n};
	struct buf b = BUF_INIT;

	append_question(q, &b);
	r.data = b.data;
	r.size = b.size;
	n->present = *q;
	n->asked = true;
	n->asked_ns = clock_now_ns();
	n->looked_ns = 0;
	set_timer(n, MEMORY_HELD_NS);
	if (b.failed || (child_pid(n->child) < 0 && greet(n)) || child_ask(n->child, &r)) {
		n->asked = false;
		give_up(n, q);
		release_question(q);
	}
	buf_release(&b);
}

static void ask_next(struct python_names *n)
{
	struct question q = n->queue.items[0];

	n->queue.count--;
	memmove(n->queue.items, n->queue.items + 1, n->queue.count * sizeof(q));
	if (is_over(n, &q)) {
		release_question(&q);
	} else if (child_left_behind(n->child) >= MEMORY_LEFT_MAX || is_distrusted(n, q.pid)) {
		give_up(n, &q);
		release_question(&q);
	} else {
		ask(n, &q);
	}
}

static bool sleeps(const struct python_names *n)
{
	struct proc_stat stat;

	return proc_stat_read((uint32_t)child_pid(n->child), &stat) &&
	       (stat.state == 'D' || stat.state == 'S');
}

/* Leaves what reads behind, if it is held up. */
static void look_after(struct python_names *n)
{
	uint64_t now = clock_now_ns();
	bool held;

	if (!n->asked || !n->asked_ns || now < n->asked_ns + MEMORY_HELD_NS ||
		now < n->looked_ns + LOOK_NS)
		return;
	held = sleeps(n);
	if (!held || !n->looked_ns) {
		n->looked_ns = held ? now : 0;
		set_timer(n, LOOK_NS);
		return;
	}
	child_drop(n->child);
	n->asked = false;
	n->answered = true;
	note_holder(n, n->present.pid);
	give_up(n, &n->present);
	release_question(&n->present);
}

void python_names_pump(struct python_names *n)
{
	if (!n->child)
		return;
	child_pump(n->child);
	look_after(n);
	while (!n->asked && n->queue.count) {
		ask_next(n);
		child_pump(n->child);
	}
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Grows with the time that was not spent on waiting. */
static void renew_patience(struct python_names *n)
{
	uint64_t now = clock_now_ns(), more = (now - n->patient_ns) / ANSWER_WAIT_PARTS;

	n->patience_ns =
		more < ANSWER_WAIT_NS - n->patience_ns ? n->patience_ns + more : ANSWER_WAIT_NS;
	n->patient_ns = now;
}

static bool reads_code(const struct python_names *n)
{
	bool code = n->asked && n->present.code;

	vec_foreach (q, &n->queue)
		code |= q->code != NULL;
	return code;
}

/* For code alone, or for all. */
static void wait_until(struct python_names *n, uint64_t until_ns, bool all)
{
	uint64_t now;

	python_names_pump(n);
	while (n->asked && (all || reads_code(n)) && (now = clock_now_ns()) < until_ns) {
		n->answered = false;
		child_wait(n->child, &n->answered,
			now + LOOK_NS < until_ns ? now + LOOK_NS : until_ns);
		python_names_pump(n);
	}
}

void python_names_settle(struct python_names *n, uint64_t most_ns)
{
	uint64_t waited_ns;

	if (!n->child || (!n->asked && !n->queue.count))
		return;
	renew_patience(n);
	wait_until(n, n->patient_ns + (most_ns < n->patience_ns ? most_ns : n->patience_ns), false);
	waited_ns = clock_now_ns() - n->patient_ns;
	n->patience_ns -= waited_ns < n->patience_ns ? waited_ns : n->patience_ns;
	n->patient_ns += waited_ns;
}

void python_names_finish(struct python_names *n, uint64_t most_ns)
{
	if (n->child)
		wait_until(n, clock_now_ns() + most_ns, true);
}

/* --- what is asked ---------------------------------------------------------------------------- */

static void look_here(struct python_names *n, struct process *process)
{
	struct python_memory memory = python_memory_of(process->pid);
	struct interpreter *i = &process->python;
	struct memory_found found = {0};

	found.found = python_find(&memory, &i->file, i->bias, &found.python);
	use_interpreter(n, i, &found);
}

void python_names_look(struct python_names *n, struct process *process, uint64_t now_ns)
{
	struct interpreter *i = &process->python;
	struct question q = {.pid = process->pid};

	if (!interpreter_is_due(i, now_ns))
		return;
	if (!n->child) {
		look_here(n, process);
		return;
	}
	q.tag = i->asked = ++n->tags;
	q.place = (struct memory_place){i->file, i->bias};
	ask_later(n, &q);
	python_names_pump(n);
}

static int read_here(struct process *process)
{
	struct python_memory memory = python_memory_of(process->pid);

	return python_code_read_here(process->python.code, &memory);
}

int python_names_want(struct python_names *n, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, bool *ret_coming)
{
	struct python_code *code;
	bool wanting, coming = false;
	int error = interpreter_code(&process->python, &code);

	*ret_coming = false;
	if (error || !code)
		return error;
	wanting = python_code_is_wanting(code);
	for (uint32_t i = 0; i < depth; i++)
		if (frames[i].code && !walk_python_is_cut(&frames[i]))
			coming |= python_code_want(code, &frames[i]);
	if (!coming)
		return 0;
	if (!n->child)
		return read_here(process);
	if (!wanting)
		ask_later(
			n, &(struct question){.pid = process->pid, .code = python_code_ref(code)});
	if (!n->asked)
		python_names_pump(n); /* at once: a program may be about to end */
	*ret_coming = true;
	return 0;
}

int python_names_ask_sleepers(struct python_names *n, const struct sleepers_question *q)
{
	if (!n->child)
		return -ENOTSUP;
	if (n->queue.count >= QUESTIONS_MAX ||
		vec_push(&n->queue, ((struct question){.pid = q->pid, .sleepers = *q})) < 0)
		return -EBUSY;
	python_names_pump(n);
	return 0;
}

int python_names_offer(struct process *process, const struct walk_python_code *copy)
{
	struct python_code *code;
	int error = interpreter_code(&process->python, &code);

	return error || !code ? error : python_code_offer(code, copy);
}

int python_names_line(
	struct process *process, const struct walk_python_frame *frame, struct python_line *ret)
{
	return process->python.code ? python_code_line(process->python.code, frame, ret) : -ENOENT;
}
