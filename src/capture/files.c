// SPDX-License-Identifier: MIT
/*
 * A question goes to the opener, with the descriptor that comes back to the reader, and with what
 * that says of a debug file to the opener again. Each has a `look` from when it is asked until it
 * is answered.
 */
#include "capture/files.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"
#include "unwind/tables.h"

#define STOP_PERIOD_NS (20 * NS_PER_MS) /* how often a thread looks whether it is to stop */
#define WAIT_STEP_NS   (5 * NS_PER_MS)	/* at most, for processes that may not begin yet */
#define LOOK_BYTES     512		/* with its request */
#define PUMP_ROUNDS    3 /* an answer of one process leads to a request to the other */

struct files {
	atomic_bool here; /* there is no other process; read by the threads of the tables */
	char *refusal;
	struct open_rights if_gone;
	int epoll;
	struct child *opener;
	struct child *reader;
	struct child *builders[UNWIND_THREADS_MAX]; /* one of a thread each */
	uint64_t patience_ns;			    /* how long it may still wait, */
	uint64_t patient_ns;			    /* as of this time */
	atomic_bool stopping;			    /* read by the threads of the tables */
	uint64_t unreadable;
	uint64_t copied_bytes; /* of files that were handed out as copies */
	struct look *looks;    /* that are not answered yet, */
	size_t looks_bytes;    /* and what they take */
	int error;	       /* of a callback */
};

/* How far a question is that somebody waits for. */
struct progress {
	struct child *at;
	bool moved; /* on from there */
	bool done;
};

struct look {
	struct files *files;
	struct look *previous, *next;
	struct files_question question;
	char *path; /* of the question, our own */
	struct files_answer answer;
	struct progress *progress; /* NULL: nobody waits */
	bool unanswered;	   /* a process did not say so */
};

/* A name may have 4,096 bytes, and stands in the request, too. */
static size_t size_of(const struct look *l)
{
	return LOOK_BYTES + (l->path ? 2 * strlen(l->path) : 0) +
	       (l->answer.facts ? sizeof(*l->answer.facts) : 0);
}

static void begin_look(struct look *l)
{
	l->files->looks_bytes += size_of(l);
	l->next = l->files->looks;
	if (l->next)
		l->next->previous = l;
	l->files->looks = l;
}

static void end_look(struct look *l)
{
	l->files->looks_bytes -= size_of(l);
	if (l->previous)
		l->previous->next = l->next;
	else
		l->files->looks = l->next;
	if (l->next)
		l->next->previous = l->previous;
	if (l->answer.fd >= 0)
		close(l->answer.fd);
	if (l->answer.debug_fd >= 0)
		close(l->answer.debug_fd);
	free(l->answer.facts);
	free(l->answer.offsets);
	free(l->answer.data);
	free(l->path);
	free(l);
}

int files_new(struct files **ret, const struct files_options *options)
{
	const char *program = options->program;
	struct files *f = calloc(1, sizeof(*f));
	bool failed = !f;

	if (!failed) {
		f->here = !program;
		f->if_gone = options->if_gone;
		f->epoll = epoll_create1(EPOLL_CLOEXEC);
		failed = f->epoll < 0;
	}
	if (!failed && program) {
		f->opener = child_new(program, SANDBOX_OPENER, f->epoll);
		f->reader = child_new(program, SANDBOX_READER, f->epoll);
		failed = !f->opener || !f->reader;
		for (int i = 0; i < UNWIND_THREADS_MAX; i++) {
			f->builders[i] = child_new(program, SANDBOX_READER, -1);
			failed |= !f->builders[i];
		}
	}
	if (failed) {
		files_free(f);
		return error_memory("the files of programs");
	}
	if (program) {
		child_begin(f->opener);
		child_begin(f->reader);
	}
	*ret = f;
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	child_free(f->opener);
	child_free(f->reader);
	for (int i = 0; i < UNWIND_THREADS_MAX; i++)
		child_free(f->builders[i]);
	while (f->looks)
		end_look(f->looks);
	free(f->refusal);
	if (f->epoll >= 0)
		close(f->epoll);
	free(f);
}

void files_check(struct files *f)
{
	int error = f->here ? 0 : child_greet(f->opener) ?: child_greet(f->reader);

	if (!error)
		return;
	f->here = true;
	child_drop(f->opener);
	child_drop(f->reader);
	f->refusal = strdup(strerror(-error));
}

const char *files_refusal(const struct files *f)
{
	return f->refusal;
}

int files_poll_fd(const struct files *f)
{
	return f->epoll;
}

struct files_processes files_processes(const struct files *f)
{
	return f->here ? (struct files_processes){.if_gone = f->if_gone}
		       : (struct files_processes){f->opener, f->reader, f->if_gone};
}

void files_stop(struct files *f)
{
	atomic_store(&f->stopping, true);
}

uint64_t files_unreadable(const struct files *f)
{
	return f->unreadable;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A file that is gone, or no ELF file, is none of these. */
static bool is_unreadable(const struct look *l, int error)
{
	return l->unanswered || error == -EIO || error == -EPROTO || error == -EFBIG ||
	       error == -ENOMEM;
}

static void finish(struct look *l, int error)
{
	struct files *f = l->files;

	l->answer.error = error;
	l->answer.late = !l->progress;
	f->unreadable += is_unreadable(l, error);
	if (l->progress)
		l->progress->moved = l->progress->done = true;
	error = l->question.done(l->question.context, l->question.tag, &l->answer);
	f->error = f->error ?: error;
	end_look(l);
}

static int make_facts(struct look *l)
{
	l->answer.facts = calloc(1, sizeof(*l->answer.facts));
	if (!l->answer.facts)
		return -ENOMEM;
	l->files->looks_bytes += sizeof(*l->answer.facts);
	return 0;
}

static int copy_offsets(struct look *l, const void *data, size_t size)
{
	struct files_answer *a = &l->answer;

	if (size % sizeof(*a->offsets))
		return -EPROTO;
	a->offsets = malloc(size + 1);
	if (!a->offsets)
		return -ENOMEM;
	if (size)
		memcpy(a->offsets, data, size);
	a->offset_count = size / sizeof(*a->offsets);
	return 0;
}

static int copy_data(struct look *l, const void *data, size_t size)
{
	l->answer.data = malloc(size + 1);
	if (!l->answer.data)
		return -ENOMEM;
	if (size)
		memcpy(l->answer.data, data, size);
	l->answer.data_size = size;
	return 0;
}

static bool is_answered_by_data(const struct look *l)
{
	return l->question.purpose == FILES_PROBES || l->question.purpose == FILES_IMAGE;
}

static int receive_answer(struct look *l, const struct child_reply *reply)
{
	uint32_t start;
	int error;

	l->unanswered = reply->unanswered;
	if (reply->error)
		return reply->error;
	if (l->question.purpose == FILES_FUNCTIONS)
		return copy_offsets(l, reply->data, reply->size);
	if (is_answered_by_data(l))
		return copy_data(l, reply->data, reply->size);
	if (l->question.purpose == FILES_THREAD_START) {
		if (reply->size != sizeof(start))
			return -EPROTO;
		memcpy(&start, reply->data, sizeof(start));
		l->answer.is_thread_start = start;
		return 0;
	}
	if (reply->size != sizeof(*l->answer.facts))
		return -EPROTO;
	error = make_facts(l);
	if (error)
		return error;
	memcpy(l->answer.facts, reply->data, sizeof(*l->answer.facts));
	return file_facts_are_sound(l->answer.facts) ? 0 : -EPROTO;
}

/* --- from one process to the next ------------------------------------------------------------- */

static int ask(struct look *l, struct child *child, struct child_request *r, child_done *done)
{
	int error;

	r->done = done;
	r->context = l;
	error = child_ask(child, r);
	l->unanswered = error;
	if (!error && l->progress) {
		l->progress->at = child;
		l->progress->moved = true;
	}
	return error;
}

/* Copies take memory until they are closed: there is a limit to them. Of those that were asked for,
 * whoever asked has one. */
static int count_copy(struct files *f, const struct files_question *q, const struct opened *opened)
{
	if (!opened->copied || q->copy_bytes)
		return 0;
	if (opened->identity.size > OPEN_COPIES_BYTES - f->copied_bytes)
		return -EFBIG;
	f->copied_bytes += opened->identity.size;
	return 0;
}

static void on_debug_file(void *context, uint64_t tag, struct child_reply *reply)
{
	struct look *l = context;
	struct opened opened = {0};

	l->unanswered = reply->unanswered;
	if (reply->size == sizeof(opened))
		memcpy(&opened, reply->data, sizeof(opened));
	if (!reply->error && !count_copy(l->files, &l->question, &opened)) {
		l->answer.debug_fd = reply->fd;
		reply->fd = -1;
	}
	finish(l, 0); /* most files have none */
}

static struct open_debug debug_request(const struct look *l)
{
	const struct file_facts *facts = l->answer.facts;
	struct open_debug r = {.pid = l->question.pid, .build_id_size = facts->build_id_size};

	memcpy(r.build_id, facts->build_id, sizeof(r.build_id));
	memcpy(r.link, facts->debug_link, sizeof(r.link));
	return r;
}

static int ask_for_debug_file(struct look *l)
{
	struct open_debug debug = debug_request(l);
	struct child_request r = {
		.kind = OPENER_OPEN_DEBUG, .limit_ns = OPEN_LIMIT_NS, .fds = {-1, -1}};
	struct buf b = BUF_INIT;
	int error;

	buf_append(&b, &debug, sizeof(debug));
	buf_append(&b, l->path, strlen(l->path) + 1);
	r.data = b.data;
	r.size = b.size;
	error = b.failed ? -ENOMEM : ask(l, l->files->opener, &r, on_debug_file);
	buf_release(&b);
	return error;
}

static void on_read(void *context, uint64_t tag, struct child_reply *reply)
{
	struct look *l = context;
	int error = receive_answer(l, reply);

	if (error || l->question.purpose != FILES_FACTS)
		finish(l, error);
	else if (ask_for_debug_file(l))
		finish(l, 0); /* counted, but the rest is there */
}

/* A module's name begins with that of its format, and a colon. */
static struct code_question code_question_of(const struct files_question *q)
{
	struct code_question c = {0};

	snprintf(c.module, sizeof(c.module), "%s:", q->names);
	return c;
}

static int ask_reader(struct look *l)
{
	const struct files_question *q = &l->question;
	struct code_question code;
	struct child_request r = {
		.kind = READER_INSPECT,
		.limit_ns = INSPECT_LIMIT_NS,
		.fds = {l->answer.fd, -1},
	};

	if (q->purpose == FILES_THREAD_START) {
		r.kind = READER_THREAD_START;
		r.data = &q->thread_start;
		r.size = sizeof(q->thread_start);
	} else if (q->purpose == FILES_IMAGE) {
		code = code_question_of(q);
		r.kind = READER_CODE_KERNELS;
		r.data = &code;
		r.size = sizeof(code);
	} else if (q->purpose == FILES_FUNCTIONS || q->purpose == FILES_PROBES) {
		r.kind = q->purpose == FILES_PROBES ? READER_PROBES : READER_FUNCTIONS;
		r.data = q->names;
		r.size = q->names_size;
	}
	return ask(l, l->files->reader, &r, on_read);
}

static bool wants_a_reader(const struct look *l)
{
	return l->question.purpose == FILES_FACTS || l->question.purpose == FILES_THREAD_START ||
	       l->question.purpose == FILES_FUNCTIONS || is_answered_by_data(l);
}

static void on_opened(void *context, uint64_t tag, struct child_reply *reply)
{
	struct look *l = context;
	int error = reply->error;

	l->unanswered = reply->unanswered;
	if (!error && (reply->size != sizeof(l->answer.opened) || reply->fd < 0))
		error = -EPROTO;
	if (!error) {
		memcpy(&l->answer.opened, reply->data, sizeof(l->answer.opened));
		l->answer.fd = reply->fd;
		reply->fd = -1;
		error = count_copy(l->files, &l->question, &l->answer.opened);
	}
	if (!error && wants_a_reader(l))
		error = ask_reader(l);
	if (error || !wants_a_reader(l))
		finish(l, error);
}

static struct open_mapped mapped_request(const struct look *l)
{
	const struct files_question *q = &l->question;

	return (struct open_mapped){
		.pid = q->pid,
		.start = q->mapped->start,
		.end = q->mapped->end,
		.device = q->mapped->device,
		.inode = q->mapped->inode,
		.if_gone = l->files->if_gone,
		.copy_bytes = q->copy_bytes,
	};
}

static int ask_opener(struct look *l)
{
	const struct files_question *q = &l->question;
	struct child_request r = {.limit_ns = OPEN_LIMIT_NS, .fds = {-1, -1}};
	struct open_map map = {.pid = q->pid};
	struct buf b = BUF_INIT;
	int error;

	l->unanswered = l->files->looks_bytes > WAITING_BYTES;
	if (l->unanswered)
		return -EBUSY;
	if (q->purpose == FILES_PERF_MAP) {
		r.kind = OPENER_OPEN_MAP;
		buf_append(&b, &map, sizeof(map));
	} else {
		struct open_mapped mapped = mapped_request(l);

		r.kind = OPENER_OPEN_MAPPED;
		buf_append(&b, &mapped, sizeof(mapped));
		buf_append(&b, l->path, strlen(l->path) + 1);
	}
	r.data = b.data;
	r.size = b.size;
	error = b.failed ? -ENOMEM : ask(l, l->files->opener, &r, on_opened);
	buf_release(&b);
	return error;
}

/* --- questions -------------------------------------------------------------------------------- */

/* Grows with the time that was not spent on waiting. */
static void renew_patience(struct files *f)
{
	uint64_t now = clock_now_ns(), more = (now - f->patient_ns) / ANSWER_WAIT_PARTS;

	f->patience_ns =
		more < ANSWER_WAIT_NS - f->patience_ns ? f->patience_ns + more : ANSWER_WAIT_NS;
	f->patient_ns = now;
}

/* Waits for a moment. What is not done by then goes on without us. */
static void wait_for(struct files *f, struct look *l, struct progress *progress)
{
	uint64_t until;

	renew_patience(f);
	until = f->patient_ns + f->patience_ns;
	while (!progress->done && clock_now_ns() < until) {
		progress->moved = false;
		child_wait(progress->at, &progress->moved, until);
	}
	if (!progress->done)
		l->progress = NULL;
	f->patient_ns = clock_now_ns();
	f->patience_ns = until > f->patient_ns ? until - f->patient_ns : 0;
}

static int read_functions_here(struct look *l)
{
	struct buf b = BUF_INIT;
	int error = reader_functions(l->answer.fd, l->question.names, l->question.names_size, &b);

	error = error ?: copy_offsets(l, b.data, b.size);
	buf_release(&b);
	return error;
}

static int read_data_here(struct look *l)
{
	const struct files_question *q = &l->question;
	struct code_question code = code_question_of(q);
	struct buf b = BUF_INIT;
	int error = q->purpose == FILES_PROBES
			    ? reader_probes(l->answer.fd, q->names, q->names_size, &b)
			    : reader_kernels(l->answer.fd, code.module, &b);

	error = error ?: copy_data(l, b.data, b.size);
	buf_release(&b);
	return error;
}

static int read_here(struct look *l)
{
	const struct files_question *q = &l->question;
	struct files_answer *a = &l->answer;
	struct open_debug debug;
	struct opened opened;
	uint32_t start = 0;
	int error;

	if (q->purpose == FILES_THREAD_START) {
		error = reader_is_thread_start(a->fd, &q->thread_start, &start);
		a->is_thread_start = start;
		return error;
	}
	if (q->purpose == FILES_FUNCTIONS)
		return read_functions_here(l);
	if (is_answered_by_data(l))
		return read_data_here(l);
	error = make_facts(l);
	error = error ?: reader_inspect(a->fd, a->facts);
	if (error)
		return error;
	debug = debug_request(l);
	if (opener_open_debug(&debug, l->path, &opened, &a->debug_fd))
		a->debug_fd = -1;
	return 0;
}

static int look_here(struct look *l)
{
	const struct files_question *q = &l->question;
	struct files_answer *a = &l->answer;
	struct open_map map = {.pid = q->pid};
	struct open_mapped mapped;
	int error;

	if (q->purpose == FILES_PERF_MAP)
		return opener_open_map(&map, &a->opened, &a->fd);
	mapped = mapped_request(l);
	error = opener_open_mapped(&mapped, l->path, &a->opened, &a->fd);
	error = error ?: count_copy(l->files, q, &a->opened);
	return error || !wants_a_reader(l) ? error : read_here(l);
}

/* What is open and waits to be read takes descriptors. */
static void pump(struct files *f)
{
	for (int i = 0; i < PUMP_ROUNDS; i++) {
		if (child_backlog(f->reader) < OPEN_BACKLOG)
			child_pump(f->opener);
		child_pump(f->reader);
		if (!child_has_unsent(f->opener) && !child_has_unsent(f->reader))
			return;
	}
}

static int get_error(struct files *f)
{
	int error = f->error;

	f->error = 0;
	return error;
}

int files_ask(struct files *f, const struct files_question *q)
{
	struct look *l = malloc(sizeof(*l));
	char *path = q->path ? strdup(q->path) : NULL;
	struct progress progress = {0};
	bool waits = f->here || q->wait;
	int error;

	if (!l || (q->path && !path)) {
		free(l);
		free(path);
		return error_memory("the files of programs");
	}
	*l = (struct look){.files = f,
		.question = *q,
		.path = path,
		.answer = {.fd = -1, .debug_fd = -1},
		.progress = waits ? &progress : NULL};
	begin_look(l);
	error = f->here ? look_here(l) : ask_opener(l);
	if (error || f->here)
		finish(l, error);
	else if (waits)
		wait_for(f, l, &progress);
	else
		pump(f);
	return get_error(f);
}

int files_pump(struct files *f)
{
	if (!f->here)
		pump(f);
	return get_error(f);
}

/* For an answer, or a moment. */
static void wait_for_any(const struct files *f, uint64_t until)
{
	uint64_t now = clock_now_ns(), most = now + WAIT_STEP_NS;
	struct pollfd p = {.fd = f->epoll, .events = POLLIN};

	until = until < most ? until : most;
	if (now < until)
		(void)poll(&p, 1, (int)((until - now + NS_PER_MS - 1) / NS_PER_MS));
}

int files_finish(struct files *f, uint64_t limit_ns)
{
	uint64_t until = clock_now_ns() + limit_ns;

	if (f->here)
		return 0;
	pump(f);
	while (clock_now_ns() < until && (child_is_busy(f->opener) || child_is_busy(f->reader))) {
		wait_for_any(f, until);
		pump(f);
	}
	return get_error(f);
}

/* --- unwind tables ---------------------------------------------------------------------------- */

struct table_answer {
	bool done;
	int error;
	uint32_t *words;
	size_t count;
};

static void on_table(void *context, uint64_t tag, struct child_reply *reply)
{
	struct table_answer *a = context;

	a->done = true;
	a->error = reply->error;
	a->count = reply->size / sizeof(*a->words);
	if (!a->error && (!a->count || reply->size % sizeof(*a->words)))
		a->error = -EPROTO;
	if (!a->error)
		a->words = malloc(reply->size);
	if (!a->error && !a->words)
		a->error = -ENOMEM;
	if (!a->error)
		memcpy(a->words, reply->data, reply->size);
}

void files_begin_builder(void *files, unsigned int thread)
{
	struct files *f = files;

	if (!f->here)
		child_begin(f->builders[thread]);
}

int files_build_table(void *files, unsigned int thread, int fd, int debug_fd, uint32_t **ret_words,
	size_t *ret_count)
{
	struct files *f = files;
	struct table_answer a = {0};
	struct child_request r = {
		.kind = READER_TABLE,
		.limit_ns = TABLE_LIMIT_NS,
		.fds = {fd, debug_fd},
		.done = on_table,
		.context = &a,
	};
	int error = f->here ? reader_build_table(fd, debug_fd, ret_words, ret_count)
			    : child_ask(f->builders[thread], &r);

	if (f->here || error)
		return error;
	/* Its deadline ends it, if nothing else does. */
	while (!atomic_load(&f->stopping) &&
		!child_wait(f->builders[thread], &a.done, clock_now_ns() + STOP_PERIOD_NS))
		;
	if (!a.done) {
		child_drop(f->builders[thread]);
		return -ECANCELED;
	}
	*ret_words = a.words;
	*ret_count = a.count;
	return a.error;
}
