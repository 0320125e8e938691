/* SPDX-License-Identifier: MIT */
/*
 * Puts a library into a program that runs already (x86-64, glibc), and has one function of it
 * called in a thread of its own. The program is not stopped: one of its threads is borrowed for
 * about half a millisecond, and goes back by itself.
 *
 *	join.c      the door: a process of ours that does it, and its result
 *	joiner.c    the course, in that process
 *	subject.c   what is known of the program before anything in it is changed
 *	subject_files.c   what its files say, by the sandbox
 *	reach.c     whether it can reach a library in memory where it runs
 *	filters.c   what its seccomp filters will say
 *	threads.c   which thread is borrowed, and when
 *	tracee.c    one thread, stopped
 *	schedule.c  where and when the thread runs that was made
 *	stub.S      the code that the program runs for us
 *	wake.c      does without all that where a library sleeps in the program already
 *	copy.c      the library's copy that the program loads
 *	left.c      whether that has left again
 *
 * Whoever is killed, and whenever: the program goes on. The process that joins does not end with
 * the recorder. It is bounded in time, and once the borrowed thread runs again nothing of ours is
 * needed to bring it back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct join_options {
	uint32_t pid;
	/* What is executed for the processes of the sandbox that read the program's files
	 * ("/proc/self/exe"); NULL: they are read without. */
	const char *sandbox;
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
struct join_result {
	int socket;    /* the other end of the library's (AF_UNIX, SOCK_SEQPACKET), the caller's */
	bool woken;    /* a library slept in the program, and was woken */
	uint64_t copy; /* the number of the file that the program has loaded (an inode of tmpfs) */
};

/* The result, which is waited for: 0, or -errno with error_text, which says why the program was
 * left alone. Frees `j`. */
int join_end(struct join *j, struct join_result *ret);

enum join_leave {
	JOIN_NOT_LEFT = 0, /* not so far */
	JOIN_LEFT,
	JOIN_STAYS,  /* it cannot leave: it sleeps, and goes on trying */
	JOIN_OTHERS, /* it has left, but one that another recording brought is there */
};

/* Whether the library is still in the program, when it should leave. Does not wait. */
enum join_leave join_has_left(uint32_t pid, uint64_t copy);
