// SPDX-License-Identifier: MIT
#include "cmd/monitor/code_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"
#include "symbolize/name_files.h"

/* A file as the kernel numbers it. */
struct file_number {
	uint64_t device, inode;
};

struct code_files {
	struct child *opener, *reader; /* NULL: none */
	struct name_files files;
	const char *refusal;
	struct vec(struct file_number) unreadable;
};

static void end_processes(struct code_files *c)
{
	child_free(c->opener);
	child_free(c->reader);
	c->opener = c->reader = NULL;
}

static int begin_processes(struct code_files *c, const char *program)
{
	int error;

	c->opener = child_new(program, SANDBOX_OPENER, -1);
	c->reader = child_new(program, SANDBOX_READER, -1);
	if (!c->opener || !c->reader)
		return error_memory(NULL);
	error = child_greet(c->opener) ?: child_greet(c->reader);
	if (error) {
		end_processes(c);
		c->refusal = strerror(-error);
	}
	return 0;
}

int code_files_new(const char *program, struct code_files **ret)
{
	struct code_files *c = calloc(1, sizeof(*c));
	int error = !c ? error_memory(NULL) : program ? begin_processes(c, program) : 0;

	if (error) {
		code_files_free(c);
		return error;
	}
	name_files_init(&c->files, c->opener, c->reader);
	c->files.read_left_ns = STACKS_READ_LOST_NS;
	*ret = c;
	return 0;
}

void code_files_free(struct code_files *c)
{
	if (!c)
		return;
	name_files_release(&c->files);
	end_processes(c);
	vec_release(&c->unreadable);
	free(c);
}

const char *code_files_refusal(const struct code_files *c)
{
	return c->refusal;
}

uint64_t code_files_unreadable(const struct code_files *c)
{
	return c->unreadable.count;
}

/* --- one file --------------------------------------------------------------------------------- */

struct code_file {
	struct code_files *files;
	uint32_t pid;
	const char *path;
	int fd, debug_fd; /* -1: none */
	struct names_facts facts;
	struct buf names; /* behind the facts */
};

static int open_file(struct code_file *f, const struct proc_mapping *m)
{
	const struct open_mapped r = {.pid = f->pid,
		.start = m->start,
		.end = m->end,
		.if_gone = {OPEN_NOBODY, OPEN_NOBODY}};
	struct opened opened;

	return name_files_open_mapped(&f->files->files, &r, f->path, &opened, &f->fd);
}

/* -EPROTO is of a process that was taken over. */
static int ask(struct code_file *f, const uint64_t *offsets, size_t count)
{
	const struct names_question q = {
		.fd = f->fd, .debug_fd = f->debug_fd, .places = offsets, .count = count};
	struct name_files *files = &f->files->files;
	int error = name_files_names(files, &q, &f->names);

	error = error ?: names_read_facts(f->names.data, f->names.size, &f->facts);
	files->failures += error == -EPROTO;
	return error;
}

/* Asks once more, if the file has no table of symbols. Without a debug file, or where that is of no
 * use, the first answer stays. */
static void ask_with_debug_file(struct code_file *f, const uint64_t *offsets, size_t count)
{
	struct open_debug r = {.pid = f->pid, .build_id_size = f->facts.build_id_size};
	struct code_file with = *f;

	if (f->facts.has_symtab)
		return;
	memcpy(r.build_id, f->facts.build_id, sizeof(r.build_id));
	memcpy(r.link, f->facts.debug_link, sizeof(r.link));
	if (name_files_open_debug(&f->files->files, &r, f->path, &with.debug_fd))
		return;
	f->debug_fd = with.debug_fd;
	with.names = BUF_INIT;
	if (ask(&with, offsets, count)) {
		buf_release(&with.names);
		return;
	}
	buf_release(&f->names);
	*f = with;
}

/* --- what it says ----------------------------------------------------------------------------- */

static int add_name(void *context, size_t n, const char *name, size_t length, uint64_t function)
{
	struct code_place **places = context, *p = places[n];

	if (!name || !function || function > p->offset)
		return 0;
	p->name = strndup(name, length);
	if (p->name)
		p->at = p->offset - function;
	return 0;
}

static void add_address(const struct names_facts *facts, struct code_place *p)
{
	for (uint32_t i = 0; i < facts->code_count; i++) {
		const struct elf_code *code = &facts->code[i];

		if (p->offset >= code->offset && p->offset - code->offset < code->size)
			p->at = p->offset - code->offset + code->vaddr;
	}
}

/* What came before an error counts. */
static void add_answer(const struct code_file *f, struct code_place **places, size_t count)
{
	const struct names_reader r = {count, add_name, places};

	for (size_t i = 0; i < count; i++)
		add_address(&f->facts, places[i]);
	if (names_read(&r, f->names.data, f->names.size, sizeof(f->facts)))
		f->files->files.failures++;
}

static int by_offset(const void *left, const void *right)
{
	const struct code_place *const *a = left, *const *b = right;

	return ((*a)->offset > (*b)->offset) - ((*a)->offset < (*b)->offset);
}

static void name_places(
	struct code_file *f, const struct proc_mapping *m, struct code_place **places, size_t count)
{
	uint64_t *offsets = calloc(count, sizeof(*offsets));
	int error;

	if (!offsets)
		return;
	for (size_t i = 0; i < count; i++)
		offsets[i] = places[i]->offset;
	error = open_file(f, m);
	error = error ?: ask(f, offsets, count);
	if (!error) {
		ask_with_debug_file(f, offsets, count);
		add_answer(f, places, count);
	}
	free(offsets);
}

static bool is_unreadable(const struct code_files *c, const struct file_number *file)
{
	vec_foreach (known, &c->unreadable)
		if (known->device == file->device && known->inode == file->inode)
			return true;
	return false;
}

/* A process that ended has its successor begin before the next file is asked about, so that its
 * beginning does not count as that one's time. Short of memory this one may be asked about once
 * more. */
static void give_up(struct code_files *c, const struct file_number *file)
{
	(void)vec_push(&c->unreadable, *file);
	if (c->opener)
		(void)child_greet(c->opener);
	if (c->reader)
		(void)child_greet(c->reader);
}

void code_files_name(struct code_files *c, uint32_t pid, const struct proc_mapping *m,
	struct code_place **places, size_t count)
{
	const struct file_number file = {makedev(m->major, m->minor), m->inode};
	char *path = strndup(m->path, m->path_size);
	struct code_file f = {.files = c, .pid = pid, .path = path, .fd = -1, .debug_fd = -1};
	uint64_t failures = c->files.failures;

	for (size_t i = 0; i < count; i++)
		places[i]->at = places[i]->offset;
	qsort(places, count, sizeof(*places), by_offset);
	if (path && count && !is_unreadable(c, &file))
		name_places(&f, m, places, count);
	if (c->files.failures != failures)
		give_up(c, &file);
	if (f.fd >= 0)
		close(f.fd);
	if (f.debug_fd >= 0)
		close(f.debug_fd);
	buf_release(&f.names);
	free(path);
}
