/* SPDX-License-Identifier: MIT */
/*
 * Whose rights something is done with.
 *
 * Under sudo we are root, and write where the caller of sudo, and the program that is recorded, can
 * put links. What concerns files of theirs is therefore done in a child that has become the caller,
 * with its groups: then the kernel answers what that user may open, rename or remove. (setfsuid()
 * would keep root's groups.) The child makes system calls only, since other threads of ours may
 * hold locks at the fork; whatever asks servers or takes memory is done before, in user_of_sudo.
 *
 * Owned by whoever calls user_of_sudo; constant from then on, so that any thread may use it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct user {
	bool switched; /* not the one we run as; else the members after gid are unset */
	uid_t uid;
	gid_t gid;
	char *name, *home; /* NULL: nobody called sudo */
	gid_t *groups;	   /* all of them */
	size_t group_count;
};

/* Ourselves. */
void user_self(struct user *u);
/* The caller of sudo, if we are root and run under it; else ourselves: 0 or -errno with
 * error_text. */
int user_of_sudo(struct user *u);
void user_release(struct user *u);

/* As user_of_sudo, and this thread and all that it starts become that user, for good. */
int user_become_caller(struct user *u);

/* Becomes it for good, where it is another: for a child, by system calls only. 0 or -errno. */
int user_become(const struct user *u);
/* So too, and gives up what rights we have ourselves, as capabilities of our file: no program that
 * it executes has any. */
int user_become_plain(const struct user *u);

/*
 * Runs `call` with the rights of `u` (NULL: with ours): in a child where it is another, else here.
 * `call` makes system calls only, and returns 0 or -errno. A descriptor that it puts into *ret_fd
 * is the caller's, close-on-exec. The `size` bytes at `context` (at most USER_CONTEXT_MAX) come
 * back as it left them.
 *
 * A child that does not answer (the user stopped it, or a file system of the user's holds it) is
 * given up after USER_ANSWER_MS with -ETIMEDOUT, or with -EINTR when a signal that we have blocked
 * waits for us. Returns 0 or -errno, without error_text.
 */
int user_run(const struct user *u, int (*call)(void *context, int *ret_fd), void *context,
	size_t size, int *ret_fd);

#define USER_CONTEXT_MAX ((size_t)16384)
#define USER_ANSWER_MS	 30000

/* Whether a signal that ends programs is pending, which we have blocked. */
bool user_signal_waits(void);
