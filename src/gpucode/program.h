/* SPDX-License-Identifier: MIT */
/*
 * A program of a vendor's, or of a compiler's, that writes what instructions are: where it is, and
 * how it is run.
 *
 * It runs as a child process without a shell and without capabilities, as the user that we are or a
 * lesser one, and never as root: code comes from the profiled program. Where root cannot become
 * nobody, as where a container has no such user, or could not end that user's process, it does not
 * run. It reads its standard input, which is also /proc/self/fd/0, and what it writes is untrusted.
 * Neither a child that hangs nor one that writes without end holds us up, and what memory and
 * processor time it may use is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "gpucode/format.h"

#define CODE_PROGRAM_INPUT "/proc/self/fd/0"

struct code_program_search {
	const char *name;
	const char *variable; /* of the environment: its path; "": do without it */
	/* Where it may be: patterns of paths, in this order and of what fits one the highest
	 * version first, up to a NULL; a "$NAME/" at the begin stands for a variable, and a text
	 * without a '/' for the folders of $PATH. */
	const char *const *places;
};

/* Appends its path. Unless `trusting`, only a program counts that nobody but root can change
 * (base/trust.h). 0, or with error_text -ENOENT, or -EPERM where others can change it. */
int code_program_find(const struct code_program_search *s, bool trusting, struct buf *ret_path);

struct code_program {
	const char *name;		 /* for errors */
	char *const *arguments;		 /* of which the first is its path; ends with a NULL */
	const struct gpucode_user *user; /* NULL: the one we run as, or nobody
						  * where that is root */
	int input;
	/* A line of what it writes, without the end, which it may change: 0, or -errno to stop with
	 * it. */
	int (*line)(void *context, char *line);
	void *context;
	bool (*stopped)(void *stop_context); /* NULL: never; asked several times a second */
	void *stop_context;
	uint64_t deadline_ns; /* as clock_now_ns() */
};

/* 0, with *ret_failed: it ended otherwise than well; or -errno with error_text: -EIO (a line has no
 * end, or there is no process), -ETIME, -EINTR (stopped), why it cannot be run (-EACCES: not by
 * that user; -EPERM: not without root's rights), or what `line` returned. */
int code_program_run(const struct code_program *p, bool *ret_failed);

/* Whether the error concerns the program alone, so that the rest of the work goes on without it. */
bool code_program_is_harmless(int error);
/* Whether a user can do something about it. */
bool code_program_is_to_be_told(int error);
