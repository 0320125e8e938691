/* SPDX-License-Identifier: MIT */
/*
 * Opens the files that names are in, and reads them: in the processes of the sandbox
 * (sandbox/sandbox.h), or here, with our rights. Here is where users name what is theirs.
 *
 * Those processes are the caller's, and nobody else asks them meanwhile. What files cost that are
 * never answered is bounded in sum (sandbox/limits.h); then no more is asked.
 *
 * One thread.
 */
#pragma once

#include "base/buf.h"
#include "base/file_identity.h"
#include "elf/jitdump.h"
#include "elf/lines.h"
#include "elf/names.h"
#include "sandbox/child.h"
#include "sandbox/opener.h"

struct name_files {
	struct child *opener, *reader;	/* NULL: all is done here */
	bool (*stopped)(void *context); /* asked while we wait; NULL: never */
	void *context;
	uint64_t failures; /* files that could not be read: hostile or damaged */
	uint64_t open_left_ns, read_left_ns, lines_left_ns; /* what may still be lost, */
	uint64_t dumps_left_ns;				    /* and what jitdumps may still take */
	struct names_file here;
};

/* The rest of `f` is zeros. What was asked of the processes before is dropped. */
void name_files_init(struct name_files *f, struct child *opener, struct child *reader);
void name_files_release(struct name_files *f);

/* Paths as in struct open_listed. */
struct name_paths {
	struct open_rights rights; /* count where the sandbox opens */
	int root;
	struct buf text;
};

/* Opens the first that there is from the path number `from` on: 0 or -errno without text. */
int name_files_open(struct name_files *f, const struct name_paths *paths, uint32_t from,
	struct opened_listed *ret, int *ret_fd);
/* The perf map of a process that may be gone (struct open_later). */
int name_files_open_map(struct name_files *f, const struct open_later *r, int root,
	struct file_identity *ret, int *ret_fd);

/* The file that a process maps, which runs, and the separate debug file of that: likewise. */
int name_files_open_mapped(struct name_files *f, const struct open_mapped *r, const char *path,
	struct opened *ret, int *ret_fd);
int name_files_open_debug(
	struct name_files *f, const struct open_debug *r, const char *path, int *ret_fd);

/* These are of PLACES_MAX places at most (sandbox/reader.h): 0 or -errno without text. */
int name_files_names(struct name_files *f, const struct names_question *q, struct buf *ret);
int name_files_map_names(struct name_files *f, const struct names_question *q, struct buf *ret);

/* Of JIT_PLACES_MAX places at most; the answer is for jitdump_read (elf/jitdump.h). Likewise. */
int name_files_jitdump(struct name_files *f, int fd, const struct jit_place *places, size_t count,
	struct buf *ret);

/* Asks the reader, which there has to be, about an image of GPU code: a struct code_question and
 * what follows that. Likewise. */
int name_files_code(
	struct name_files *f, uint32_t kind, int fd, const struct buf *question, struct buf *ret);

/* Any number of places: 0 or -errno, as worker_run. What was visited before counts. */
int name_files_lines(struct name_files *f, const struct names_question *q, uint64_t limit_ns,
	const struct lines_reader *r);
