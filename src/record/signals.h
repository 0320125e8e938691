/* SPDX-License-Identifier: MIT */
/*
 * The signals that a recording handles (INT, TERM, QUIT, HUP, and CHLD for the end of the program).
 * From signals_open on they are read from a descriptor, so that none of them ends us half-way. A
 * program that we start gets the signals as we were started with: signals_restore in the forked
 * child.
 *
 * A SIGHUP that was ignored when we were started (nohup) stays ignored. SIGPIPE is ignored: a
 * reader that closes our output ends neither the recording nor its files. So is SIGXFSZ: a file
 * that may not grow (ulimit -f) is a write that fails.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when one has come; -1: not open */
	sigset_t original_mask;
	struct sigaction original_child;
	struct sigaction original_pipe;
	struct sigaction original_size;
};

#define SIGNALS_INIT ((struct signals){.fd = -1})

/* 0 or -errno with error_text. */
int signals_open(struct signals *s);
/* Also discards signals that were not read: what they could end is over. */
void signals_close(struct signals *s);
/* Puts back what signals_open changed; does nothing when it was not called. Safe after fork. */
void signals_restore(const struct signals *s);
/* The next one: its number, and whether it was sent to us alone (and not by the terminal or the
 * kernel, to the whole group); 0 when there is none. */
int signals_next(const struct signals *s, bool *ret_alone);
