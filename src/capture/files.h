/* SPDX-License-Identifier: MIT */
/*
 * Questions about files that processes have mapped, answered by the sandbox (sandbox/sandbox.h):
 * the loop asks, waits for a moment where an answer is worth that, and goes on; an answer that
 * comes later is used then.
 *
 * What it waits is bounded (sandbox/limits.h), however slowly strangers' files open. Without a
 * program for these processes all of it is done at once, in the loop, and has no such bound.
 *
 * One thread. Whatever fails is an answer with an error, and counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/mapped_file.h"
#include "sandbox/opener.h"
#include "sandbox/reader.h"

struct files;
struct child;

enum files_purpose {
	FILES_KEEP,	    /* the file alone */
	FILES_FACTS,	    /* and what it contains, and its debug file */
	FILES_THREAD_START, /* and whether a thread begins at an offset */
	FILES_PERF_MAP,	    /* the perf map of the process, no file of a mapping */
	FILES_FUNCTIONS,    /* the file, and where some functions begin in it */
	FILES_PROBES,	    /* the file, and where probes are in it (elf/usdt.h) */
	FILES_IMAGE,	    /* a copy of an image of GPU code, and its kernels */
};

struct files_answer {
	int error;    /* 0 or -errno */
	bool late;    /* nobody waited, or not any more */
	int fd;	      /* -1: none. Whoever keeps it writes -1 here. */
	int debug_fd; /* FILES_FACTS: what may be its separate debug file; -1: none */
	struct opened opened;
	struct file_facts *facts; /* of FILES_FACTS, if there is no error */
	bool is_thread_start;
	/* of FILES_FUNCTIONS, if there is no error: of each name, as READER_FUNCTIONS has them */
	uint64_t *offsets;
	size_t offset_count;
	/* of FILES_PROBES and FILES_IMAGE, if there is no error: what READER_PROBES and
	 * READER_CODE_KERNELS reply */
	void *data;
	size_t data_size;
};

struct files_question {
	enum files_purpose purpose;
	bool wait; /* a moment */
	uint32_t pid;
	const char *path;		  /* valid until it is answered */
	const struct mapped_file *mapped; /* of FILES_IMAGE: without a place and an inode */
	uint64_t copy_bytes;		  /* of FILES_IMAGE: no larger one is opened */
	struct thread_start_question thread_start;
	/* of FILES_FUNCTIONS and FILES_PROBES: each with a NUL behind it; of FILES_IMAGE: the
	 * name of the format. Valid until it is answered */
	const char *names;
	size_t names_size;
	/* Called once, unless the files are freed before: 0, or an error that ends the
	 * recording. */
	int (*done)(void *context, uint64_t tag, struct files_answer *answer);
	void *context;
	uint64_t tag;
};

struct files_options {
	const char *program; /* executed for the processes; NULL: all is done in this one */
	struct open_rights if_gone;
};

/* 0 or -ENOMEM with error_text. */
int files_new(struct files **ret, const struct files_options *options);
/* Waits until the processes have begun. If they cannot, all is done in this one. */
void files_check(struct files *f);
/* Why they could not; NULL: they could, or there are to be none. */
const char *files_refusal(const struct files *f);
void files_free(struct files *f);
/* 0 or an error that ends the recording. */
int files_ask(struct files *f, const struct files_question *q);
/* Handles the answers that have come: 0 or an error that ends the recording. */
int files_pump(struct files *f);
/* Readable when an answer has come. */
int files_poll_fd(const struct files *f);
/* Waits until everything is answered or the time is over. */
int files_finish(struct files *f, uint64_t limit_ns);
/* Files that could not be read: damaged or hostile ones that ended a process or held it up, and
 * what came when too many were waiting. */
uint64_t files_unreadable(const struct files *f);

/* The processes, for whoever asks them when all that was asked here is answered or given up; NULL:
 * there are none. */
struct files_processes {
	struct child *opener, *reader;
	struct open_rights if_gone;
};

struct files_processes files_processes(const struct files *f);

/* No table is built any more, so that the threads that wait for one can end. */
void files_stop(struct files *f);

/* The `begin` and the `build` of unwind_tables_options, with a reader for each of its threads. */
void files_begin_builder(void *files, unsigned int thread);
int files_build_table(void *files, unsigned int thread, int fd, int debug_fd, uint32_t **ret_words,
	size_t *ret_count);
