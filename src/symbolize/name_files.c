// SPDX-License-Identifier: MIT
#include "symbolize/name_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "elf/debug_file.h"
#include "elf/perf_map.h"
#include "sandbox/confine.h"
#include "sandbox/limits.h"
#include "sandbox/reader.h"
#include "symbolize/worker.h"

#define LOOK_PERIOD_NS (50 * NS_PER_MS) /* how often the user is asked while we wait */

void name_files_init(struct name_files *f, struct child *opener, struct child *reader)
{
	*f = (struct name_files){.opener = opener,
		.reader = reader,
		.open_left_ns = NAMES_OPEN_LOST_NS,
		.read_left_ns = NAMES_READ_LOST_NS,
		.lines_left_ns = LINES_LOST_NS,
		.dumps_left_ns = DUMPS_READ_NS};
	if (opener)
		child_drop(opener);
	if (reader)
		child_drop(reader);
}

void name_files_release(struct name_files *f)
{
	names_file_close(&f->here);
}

/* --- asking the processes --------------------------------------------------------------------- */

struct answer {
	bool done;
	int error;
	int fd;
	struct buf data;
};

static void note_answer(void *context, uint64_t tag, struct child_reply *reply)
{
	struct answer *a = context;

	a->done = true;
	a->error = reply->error;
	buf_append(&a->data, reply->data, reply->size);
	if (!a->error && a->data.failed)
		a->error = -ENOMEM;
	a->fd = reply->fd;
	reply->fd = -1;
}

/* Errors of a process that died or was too slow, not of a file that is gone or no ELF file. */
static bool is_failure(int error)
{
	return error == -EIO || error == -ETIME || error == -EPROTO || error == -EFBIG ||
	       error == -ENOMEM || error == -EBUSY;
}

/* 0, the process's error, or -EINTR. */
static int wait_for(struct name_files *f, struct child *c, const struct answer *a)
{
	while (!child_wait(c, &a->done, clock_now_ns() + LOOK_PERIOD_NS)) {
		if (!f->stopped || !f->stopped(f->context))
			continue;
		child_drop(c);
		return -EINTR;
	}
	return a->error;
}

static void take_time(uint64_t *left_ns, uint64_t ns)
{
	*left_ns -= ns < *left_ns ? ns : *left_ns;
}

/* Half of what may be lost is left for others. The answer's contents are the caller's in any
 * case. */
static int ask(struct name_files *f, struct child *c, struct child_request *r, uint64_t *left_ns,
	struct answer *ret)
{
	uint64_t begin_ns = clock_now_ns(), spent_ns;
	int error;

	*ret = (struct answer){.fd = -1};
	r->done = note_answer;
	r->context = ret;
	if (r->limit_ns > *left_ns / 2)
		r->limit_ns = *left_ns / 2;
	error = r->limit_ns < NS_PER_MS ? -EBUSY : child_ask(c, r);
	error = error ?: wait_for(f, c, ret);
	spent_ns = clock_now_ns() - begin_ns;
	if (is_failure(error)) {
		take_time(left_ns, spent_ns);
		f->failures++;
	}
	return error;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_here(const char *path, struct file_identity *ret, int *ret_fd)
{
	struct stat st;
	int fd = io_open_regular(path, &st);

	if (fd < 0)
		return fd;
	*ret = file_identity_of(&st);
	*ret_fd = fd;
	return 0;
}

static int open_path_here(const char *path, int root, struct file_identity *ret, int *ret_fd)
{
	struct buf b = BUF_INIT;
	int error;

	if (*path == OPEN_BELOW && root >= 0)
		buf_printf(&b, "/proc/self/fd/%d", root);
	buf_puts(&b, path + 1);
	error = b.failed ? -ENOMEM : open_here(buf_text(&b), ret, ret_fd);
	buf_release(&b);
	return error;
}

static const char *next_path(const char *path)
{
	return path + strlen(path) + 1;
}

static int open_listed_here(
	const struct name_paths *paths, const char *path, struct opened_listed *ret, int *ret_fd)
{
	const char *end = paths->text.data + paths->text.size;
	int error = -ENOENT;

	*ret = (struct opened_listed){0};
	for (; error && path < end; path = next_path(path)) {
		error = open_path_here(path, paths->root, &ret->opened.identity, ret_fd);
		ret->index += error != 0;
	}
	return error;
}

/* Takes the descriptor and the data of an answer: 0 or -EPROTO. */
static int receive_opened(struct answer *a, void *ret, size_t size, int *ret_fd)
{
	if (a->fd < 0 || a->data.size != size)
		return -EPROTO;
	memcpy(ret, a->data.data, size);
	*ret_fd = a->fd;
	a->fd = -1;
	return 0;
}

static int ask_opener(struct name_files *f, uint32_t kind, const struct buf *data, int root,
	void *ret, size_t size, int *ret_fd)
{
	struct child_request r = {.kind = kind,
		.limit_ns = OPEN_LIMIT_NS,
		.data = data->data,
		.size = data->size,
		.fds = {root, -1}};
	struct answer a;
	int error = data->failed ? -ENOMEM : ask(f, f->opener, &r, &f->open_left_ns, &a);

	if (data->failed)
		return error;
	error = error ?: receive_opened(&a, ret, size, ret_fd);
	if (a.fd >= 0)
		close(a.fd);
	buf_release(&a.data);
	return error;
}

int name_files_open(struct name_files *f, const struct name_paths *paths, uint32_t from,
	struct opened_listed *ret, int *ret_fd)
{
	const struct open_listed head = {.rights = paths->rights};
	const char *end = paths->text.data + paths->text.size, *path = paths->text.data;
	struct buf b = BUF_INIT;
	int error;

	if (paths->text.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < from && path < end; i++)
		path = next_path(path);
	if (path == end)
		return -ENOENT;
	if (f->opener) {
		buf_append(&b, &head, sizeof(head));
		buf_append(&b, path, (size_t)(end - path));
		error = ask_opener(
			f, OPENER_OPEN_LISTED, &b, paths->root, ret, sizeof(*ret), ret_fd);
		buf_release(&b);
	} else {
		error = open_listed_here(paths, path, ret, ret_fd);
	}
	if (!error)
		ret->index += from;
	return error;
}

static int open_map_here(
	const struct open_later *r, int root, struct file_identity *ret, int *ret_fd)
{
	int ours = root < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = perf_map_open(root < 0 ? ours : root, r->inner_pid, r->rights.uid);
	struct stat st;

	if (ours >= 0)
		close(ours);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		close(fd);
		return -EACCES;
	}
	*ret = file_identity_of(&st);
	*ret_fd = fd;
	return 0;
}

int name_files_open_map(struct name_files *f, const struct open_later *r, int root,
	struct file_identity *ret, int *ret_fd)
{
	struct opened opened = {0};
	struct buf b = BUF_INIT;
	int error;

	if (!f->opener)
		return open_map_here(r, root, ret, ret_fd);
	buf_append(&b, r, sizeof(*r));
	error = ask_opener(f, OPENER_OPEN_LATER, &b, root, &opened, sizeof(opened), ret_fd);
	buf_release(&b);
	if (!error)
		*ret = opened.identity;
	return error;
}

/* A request, and a path behind it. */
static int ask_for_path(struct name_files *f, uint32_t kind, const void *data, size_t size,
	const char *path, struct opened *ret, int *ret_fd)
{
	struct buf b = BUF_INIT;
	int error;

	buf_append(&b, data, size);
	buf_append(&b, path, strlen(path) + 1);
	error = ask_opener(f, kind, &b, -1, ret, sizeof(*ret), ret_fd);
	buf_release(&b);
	return error;
}

int name_files_open_mapped(struct name_files *f, const struct open_mapped *r, const char *path,
	struct opened *ret, int *ret_fd)
{
	if (!f->opener)
		return opener_open_mapped(r, path, ret, ret_fd);
	return ask_for_path(f, OPENER_OPEN_MAPPED, r, sizeof(*r), path, ret, ret_fd);
}

int name_files_open_debug(
	struct name_files *f, const struct open_debug *r, const char *path, int *ret_fd)
{
	struct opened opened;

	if (!f->opener)
		return opener_open_debug(r, path, &opened, ret_fd);
	return ask_for_path(f, OPENER_OPEN_DEBUG, r, sizeof(*r), path, &opened, ret_fd);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Answers are appended to `ret`. */
static int ask_with(struct name_files *f, struct child_request *r, const struct buf *data,
	uint64_t *left_ns, struct buf *ret)
{
	struct answer a;
	int error;

	if (data->failed)
		return -ENOMEM;
	r->data = data->data;
	r->size = data->size;
	error = ask(f, f->reader, r, left_ns, &a);
	if (!error)
		buf_append(ret, a.data.data, a.data.size);
	if (a.fd >= 0)
		close(a.fd);
	buf_release(&a.data);
	return error ?: ret->failed ? -ENOMEM : 0;
}

static int ask_reader(struct name_files *f, uint32_t kind, const struct names_question *q,
	uint64_t limit_ns, uint64_t *left_ns, struct buf *ret)
{
	const struct places head = {.are_vaddrs = q->are_vaddrs, .count = (uint32_t)q->count};
	struct child_request r = {.kind = kind, .limit_ns = limit_ns, .fds = {q->fd, q->debug_fd}};
	struct buf b = BUF_INIT;
	int error;

	buf_append(&b, &head, sizeof(head));
	buf_append(&b, q->places, q->count * sizeof(*q->places));
	error = ask_with(f, &r, &b, left_ns, ret);
	buf_release(&b);
	return error;
}

int name_files_code(
	struct name_files *f, uint32_t kind, int fd, const struct buf *question, struct buf *ret)
{
	struct child_request r = {.kind = kind, .limit_ns = NAMES_LIMIT_NS, .fds = {fd, -1}};

	return ask_with(f, &r, question, &f->read_left_ns, ret);
}

int name_files_names(struct name_files *f, const struct names_question *q, struct buf *ret)
{
	if (!f->reader)
		return names_write(&f->here, q, ret);
	return ask_reader(f, READER_NAMES, q, NAMES_LIMIT_NS, &f->read_left_ns, ret);
}

int name_files_map_names(struct name_files *f, const struct names_question *q, struct buf *ret)
{
	if (!f->reader)
		return names_write_map(q->fd, q->places, q->count, ret);
	return ask_reader(f, READER_MAP, q, NAMES_LIMIT_NS, &f->read_left_ns, ret);
}

int name_files_jitdump(
	struct name_files *f, int fd, const struct jit_place *places, size_t count, struct buf *ret)
{
	const struct places head = {.count = (uint32_t)count};
	struct child_request r = {
		.kind = READER_JITDUMP, .limit_ns = NAMES_LIMIT_NS, .fds = {fd, -1}};
	uint64_t begin_ns = clock_now_ns();
	struct buf b = BUF_INIT;
	int error;

	if (!f->reader)
		return jitdump_write(fd, places, count, ret);
	buf_append(&b, &head, sizeof(head));
	buf_append(&b, places, count * sizeof(*places));
	error = ask_with(f, &r, &b, &f->dumps_left_ns, ret);
	if (!is_failure(error))
		take_time(&f->dumps_left_ns, clock_now_ns() - begin_ns);
	buf_release(&b);
	return error;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Read in a worker, as libdw trusts files, and opens others that they name. */
struct lines_work {
	struct name_files *files;
	const struct names_question *question;
	const struct lines_reader *reader;
	int out; /* of the worker */
};

static int put_lines(void *context, struct buf *results)
{
	const struct lines_work *work = context;
	int error = io_write_all(work->out, results->data, results->size);

	buf_reset(results);
	return error;
}

static int run_worker(void *context, int out)
{
	struct lines_work *work = context;
	struct buf b = BUF_INIT;
	int error = confine_worker(DEBUG_FILE_ROOT);

	work->out = out;
	error = error ?: reader_lines(&work->files->here, work->question, put_lines, work, &b);
	buf_release(&b);
	return error != 0;
}

static long handle_lines(void *context, const char *data, size_t size)
{
	const struct lines_work *work = context;

	return lines_read((void *)(uintptr_t)work->reader, data, size);
}

static int lines_by_worker(struct name_files *f, const struct names_question *q, uint64_t limit_ns,
	const struct lines_reader *r)
{
	struct lines_work work = {.files = f, .question = q, .reader = r};
	struct worker w = {run_worker, handle_lines, &work, {f->stopped, f->context, limit_ns}};

	return worker_run(&w);
}

/* Some of the places, from one request. */
struct lines_part {
	const struct lines_reader *reader;
	size_t first;
};

static int visit_part(void *context, size_t n, const struct dwarf_frame *frames, size_t count)
{
	const struct lines_part *p = context;

	return p->reader->visit(p->reader->context, p->first + n, frames, count);
}

static int ask_for_lines(struct name_files *f, const struct names_question *q, uint64_t limit_ns,
	const struct lines_part *part)
{
	struct lines_reader r = {q->count, visit_part, (void *)(uintptr_t)part};
	struct buf b = BUF_INIT;
	int error = ask_reader(f, READER_LINES, q, limit_ns, &f->lines_left_ns, &b);
	long got;

	if (error && error != -EINTR && error != -ETIME)
		error = -EIO;
	got = error ? error : lines_read(&r, b.data, b.size);
	if (got >= 0 && (size_t)got != b.size)
		got = -EIO;
	buf_release(&b);
	return got < 0 ? (int)got : 0;
}

int name_files_lines(struct name_files *f, const struct names_question *q, uint64_t limit_ns,
	const struct lines_reader *r)
{
	int error = 0;

	if (!f->reader)
		return lines_by_worker(f, q, limit_ns, r);
	for (size_t first = 0, count; !error && first < q->count; first += count) {
		struct names_question some = *q;
		struct lines_part part = {r, first};

		count = q->count - first < PLACES_MAX ? q->count - first : PLACES_MAX;
		some.places += first;
		some.count = count;
		error = ask_for_lines(f, &some, limit_ns, &part);
	}
	return error;
}
