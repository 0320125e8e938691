// SPDX-License-Identifier: MIT
#include "join/subject_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"

#define ALL_NS (10 * NS_PER_SECOND)

struct subject_files {
	struct child *opener, *reader; /* NULL: they could not begin */
	uint64_t deadline_ns;
};

static void end_processes(struct subject_files *f)
{
	child_free(f->opener);
	child_free(f->reader);
	f->opener = f->reader = NULL;
}

void subject_files_free(struct subject_files *f)
{
	if (!f)
		return;
	end_processes(f);
	free(f);
}

/* Both begin at the same time. */
static int begin_processes(struct subject_files *f, const char *program)
{
	f->opener = child_new(program, SANDBOX_OPENER, -1);
	f->reader = child_new(program, SANDBOX_READER, -1);
	if (!f->opener || !f->reader)
		return -ENOMEM;
	child_begin(f->opener);
	child_begin(f->reader);
	return child_greet(f->opener) ?: child_greet(f->reader);
}

struct subject_files *subject_files_new(const char *program)
{
	struct subject_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	if (program && begin_processes(f, program))
		end_processes(f);
	f->deadline_ns = clock_now_ns() + ALL_NS;
	return f;
}

/* --- questions -------------------------------------------------------------------------------- */

/* What is to come, and what came of it. */
struct answer {
	void *data;
	size_t size;
	bool done;
	int error;
	int fd;
};

static void on_answer(void *context, uint64_t tag, struct child_reply *reply)
{
	struct answer *a = context;

	a->done = true;
	a->error = reply->error;
	if (!a->error && reply->size != a->size)
		a->error = -EPROTO;
	if (a->error)
		return;
	memcpy(a->data, reply->data, a->size);
	a->fd = reply->fd;
	reply->fd = -1;
}

static int ask(
	struct subject_files *f, struct child *child, struct child_request *r, struct answer *a)
{
	uint64_t now_ns = clock_now_ns();
	int error;

	if (now_ns >= f->deadline_ns)
		return -ETIME;
	if (r->limit_ns > f->deadline_ns - now_ns)
		r->limit_ns = f->deadline_ns - now_ns;
	r->done = on_answer;
	r->context = a;
	error = child_ask(child, r);
	if (!error && !child_wait(child, &a->done, f->deadline_ns)) {
		child_drop(child);
		error = -ETIME;
	}
	return error ?: a->error;
}

static int ask_opener(struct subject_files *f, uint32_t kind, const struct buf *b,
	struct opened *ret, int *ret_fd)
{
	struct answer a = {.data = ret, .size = sizeof(*ret), .fd = -1};
	struct child_request r = {.kind = kind,
		.limit_ns = OPEN_LIMIT_NS,
		.data = b->data,
		.size = b->size,
		.fds = {-1, -1}};
	int error = b->failed ? -ENOMEM : ask(f, f->opener, &r, &a);

	if (!error && a.fd < 0)
		error = -EPROTO;
	if (!error)
		*ret_fd = a.fd;
	return error;
}

static int ask_reader(
	struct subject_files *f, int fd, const struct function_names *names, struct code_facts *ret)
{
	struct answer a = {.data = ret, .size = sizeof(*ret), .fd = -1};
	struct child_request r = {.kind = READER_CODE_FACTS,
		.limit_ns = INSPECT_LIMIT_NS,
		.data = names->text,
		.size = names->size,
		.fds = {fd, -1}};
	int error = ask(f, f->reader, &r, &a);

	if (a.fd >= 0)
		close(a.fd);
	if (error)
		return error;
	return code_facts_are_sound(ret) && ret->function_count == names->count ? 0 : -EPROTO;
}

/* Closes the descriptor. */
static int read_file(
	struct subject_files *f, int fd, const struct function_names *names, struct code_facts *ret)
{
	int error = f->reader ? ask_reader(f, fd, names, ret)
			      : reader_code_facts(fd, names->text, names->size, ret);

	close(fd);
	return error;
}

int subject_files_of_program(struct subject_files *f, uint32_t pid,
	const struct function_names *names, struct opened *ret_opened, struct code_facts *ret)
{
	const struct open_program r = {.pid = pid};
	struct buf b = BUF_INIT;
	int fd, error;

	buf_append(&b, &r, sizeof(r));
	error = f->opener ? ask_opener(f, OPENER_OPEN_PROGRAM, &b, ret_opened, &fd)
			  : opener_open_program(&r, ret_opened, &fd);
	buf_release(&b);
	return error ?: read_file(f, fd, names, ret);
}

static int open_mapped(
	struct subject_files *f, const struct open_mapped *mapped, const char *path, int *ret_fd)
{
	struct opened opened;
	struct buf b = BUF_INIT;
	int error;

	buf_append(&b, mapped, sizeof(*mapped));
	buf_append(&b, path, strlen(path) + 1);
	error = f->opener ? ask_opener(f, OPENER_OPEN_MAPPED, &b, &opened, ret_fd)
			  : opener_open_mapped(mapped, path, &opened, ret_fd);
	buf_release(&b);
	return error;
}

/* Some file systems call a file otherwise where it is mapped than where it is opened (btrfs,
 * overlayfs). Then the mapping says which it is: nothing else, as no path is a folder's. */
int subject_files_of_mapping(struct subject_files *f, const struct open_mapped *mapped,
	const char *path, const struct function_names *names, struct code_facts *ret)
{
	struct open_mapped alone = {.pid = mapped->pid, .start = mapped->start, .end = mapped->end};
	int fd, error = open_mapped(f, mapped, path, &fd);

	if (error == -ESTALE)
		error = open_mapped(f, &alone, "/", &fd);
	return error ?: read_file(f, fd, names, ret);
}
