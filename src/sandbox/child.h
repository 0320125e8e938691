/* SPDX-License-Identifier: MIT */
/*
 * The recorder's end of one process of the sandbox: a queue of requests, each with a callback for
 * its answer.
 *
 * The process has one request at a time. When it dies, or takes longer than the request allows,
 * that request has failed (-EIO, -ETIME), and another process begins with the next one, after
 * several deaths in a row only after a pause. One that gets no CPU is given its time. It begins
 * with the first request, if not before, by executing our own program (posix_spawn, so that threads
 * do not matter), and without anything but its socket.
 *
 * Answers are not trusted: users check what is in them. One thread at a time for each child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/message.h"

struct child;

struct child_reply {
	int error;	 /* 0 or -errno */
	bool unanswered; /* the error is not what the process said: it died, was too slow, or could
			  * not be asked */
	const void *data;
	size_t size;
	int fd; /* -1: none. Whoever keeps it writes -1 here. */
};

typedef void child_done(void *context, uint64_t tag, struct child_reply *reply);

struct child_request {
	uint32_t kind;
	uint64_t limit_ns;    /* from when the process gets it; then, of CPU time, if it runs */
	const void *data;     /* copied */
	size_t size;	      /* at most REQUEST_BYTES (limits.h) */
	int fds[MESSAGE_FDS]; /* -1: none; copies are made */
	child_done *done;     /* called from child_pump and child_wait, once; not for what
			    * is dropped */
	void *context;
	uint64_t tag;
};

/* `program` is what is executed ("/proc/self/exe"), as PROGRAM sandbox ROLE: borrowed. `epoll`
 * (-1: none) watches its socket for answers. NULL: memory is short. */
struct child *child_new(const char *program, const char *role, int epoll);
/* Begins the process now, so that the first request need not wait for that. */
void child_begin(struct child *c);
/* Begins it, if it has not begun, and waits until it answers: 0, or why it does not: -errno. Not
 * while anything else has no answer. */
int child_greet(struct child *c);
/* Ends the process; what is in the queue is dropped. */
void child_free(struct child *c);
/* Drops what is in the queue, and ends a process that is at it. */
void child_drop(struct child *c);
/* Queues a request: 0; -EBUSY: there are too many; -E2BIG; or another -errno. `done` is not called
 * then. */
int child_ask(struct child *c, const struct child_request *r);
/* Handles the answers that have come, and begins what can begin. Does not wait. */
void child_pump(struct child *c);
/* Pumps until *done or a time (CLOCK_MONOTONIC): *done. */
bool child_wait(struct child *c, const bool *done, uint64_t until_ns);
/* Its process; -1: none has begun. And how many ended ones are still there, as the kernel holds
 * them. */
pid_t child_pid(const struct child *c);
size_t child_left_behind(const struct child *c);
/* Whether a request has no answer yet, */
bool child_is_busy(const struct child *c);
/* and waits for its process; and how many have no answer. */
bool child_has_unsent(const struct child *c);
size_t child_backlog(const struct child *c);
