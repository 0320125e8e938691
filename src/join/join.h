/* SPDX-License-Identifier: MIT */
/*
 * Puts a library into a program that runs already (x86-64, glibc), and has one function of it
 * called in a thread of its own. The program is not stopped: one of its threads is borrowed for
 * about half a millisecond, and goes back by itself.
 *
 *	join.c      the door: a process of ours that does it, and its result
 *	joiner.c    the course, in that process
 *	subject.c    what is known of the program before anything in it is changed
 *	filters.c   what its seccomp filters will say
 *	threads.c   which thread is borrowed, and when
 *	tracee.c    one thread, stopped
 *	stub.S      the code that the program runs for us
 *
 * Whoever is killed, and whenever: the program goes on. The process that joins does not end with
 * the recorder. It is bounded in time, and once the borrowed thread runs again nothing of ours is
 * needed to bring it back.
 */
#pragma once

#include <stdint.h>

struct join_options {
	uint32_t pid;
	/* A descriptor of the library's file, which is copied into memory of the program's. */
	int library;
	/*
	 * void *(*)(int socket, void *handle): runs in a thread of the program's that is made for
	 * it, and owns both. It ends with dlclose(handle) as a tail call, so that nobody returns
	 * into the library, or just returns, and then the library stays.
	 */
	const char *entry;
};

struct join;

/* Begins: 0 or -errno with error_text. */
int join_begin(struct join **ret, const struct join_options *options);
/* Readable when there is a result. */
int join_fd(const struct join *j);
/* The result, which is waited for: 0 and the other end of the library's socket (AF_UNIX,
 * SOCK_SEQPACKET), which the caller owns; or -errno with error_text, which says why the program was
 * left alone. Frees `j`. */
int join_end(struct join *j, int *ret_socket);
