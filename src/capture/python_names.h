/* SPDX-License-Identifier: MIT */
/*
 * Reads Python in the processes of the recording: whether an interpreter is set up, and what the
 * code of frames is called. With a program for it another process reads (sandbox/memory.h), as
 * memory can be of a kind that holds up whoever reads it, for ever.
 *
 * There is one question at a time, and the loop waits for no more than moments (limits.h): what
 * frames of one drain need is asked together, and stacks that lack it are set aside. The process
 * that reads is left behind when it is held up, and the program that did that is not asked again;
 * nor are others of its user, if some of them did so, too.
 *
 * One thread.
 */
#pragma once

#include "capture/processes.h"

struct python_names;

struct python_names_totals {
	uint64_t unsupported; /* interpreters that cannot be walked */
	uint64_t unreadable;  /* processes that held up, or ended, what read their memory */
};

/* `program` is executed for what reads; NULL: this process reads. 0 or -errno with error_text. */
int python_names_new(struct python_names **ret, const char *program, struct processes *processes);
void python_names_free(struct python_names *n);
/* As without a program. Nothing has been asked yet. */
void python_names_read_here(struct python_names *n);
/* Readable when an answer has come; -1: nothing comes. */
int python_names_poll_fd(const struct python_names *n);

/* Looks whether its interpreter is set up, if it is time to. The answer may come later. */
void python_names_look(struct python_names *n, struct process *process, uint64_t now_ns);
/* Asks for what is not known of these frames; *ret_coming: something is being read, and
 * process->python.code will have it. 0 or -ENOMEM. */
int python_names_want(struct python_names *n, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, bool *ret_coming);
/* Keeps a copy of code that a thread of the process runs, until its names are asked for: 0 or
 * -ENOMEM. */
int python_names_offer(struct process *process, const struct walk_python_code *copy);
/* As python_code_line. */
int python_names_line(
	struct process *process, const struct walk_python_frame *frame, struct python_line *ret);

/* Stacks of threads that sleep are read by whatever reads Python, for its care for itself. */
struct sleepers_question {
	uint32_t pid;
	const void *request; /* of sandbox/sleepers.h; the asker's, until `done` */
	size_t size;
	/* Called once, when something is asked or pumped: 0 with a reply, or -errno. */
	void (*done)(void *context, int error, const void *reply, size_t size);
	void *context;
};

/* Asks for them: 0; -ENOTSUP: this process would have to read, which may hold it up; -EBUSY. */
int python_names_ask_sleepers(struct python_names *n, const struct sleepers_question *q);

/* Handles the answers that have come, and asks what can be asked. Does not wait. */
void python_names_pump(struct python_names *n);
/* Waits for what is asked of code, at most so long, and as long as the loop has time for that. */
void python_names_settle(struct python_names *n, uint64_t most_ns);
/* Waits for all that is asked, at most so long. */
void python_names_finish(struct python_names *n, uint64_t most_ns);
struct python_names_totals python_names_totals(const struct python_names *n);
