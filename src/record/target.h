/* SPDX-License-Identifier: MIT */
/*
 * The program under the profiler. It is started with the user, environment, signals, files and
 * terminal that it would have without us; its exit status becomes ours.
 *
 * It is created stopped at a gate, so that the recorder can attach to its pid before its first
 * instruction; target_release opens the gate and reports a failed exec. If the recorder dies before
 * that, the process ends without running the program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/user.h"
#include "record/signals.h"

/* Who the program runs as, and with what environment. */
struct target_user {
	struct user account;
	char **environment; /* NULL-terminated; owned */
	/* "LD_LIBRARY_PATH, PATH": what sudo removed or changed; NULL: nothing */
	char *changed_by_sudo;
};

/*
 * Finds the user: the caller of sudo, if we run under it and not `as_root`; else ourselves. The
 * caller gets back the environment from before sudo, as far as the sudo process still shows it. 0
 * or -errno.
 */
int target_user_find(struct target_user *u, bool as_root);
void target_user_release(struct target_user *u);
/* Sets NAME=value in its environment: 0 or -ENOMEM. */
int target_user_setenv(struct target_user *u, const char *name, const char *value);
/* The value of NAME in its environment, or NULL. */
const char *target_user_getenv(const struct target_user *u, const char *name);

/* Whether `command` can be found and executed with this user's PATH: 0, or -errno with error_text.
 * A first look, so that a typing error costs nothing; exec has the last word. */
int target_check_command(const struct target_user *u, const char *command);

struct target {
	pid_t pid;
	int pidfd;  /* readable when it has ended */
	int gate;   /* a byte lets the program run, an end without one ends it */
	int failed; /* carries the errno of a failed exec */
};

#define TARGET_INIT ((struct target){.pid = -1, .pidfd = -1, .gate = -1, .failed = -1})

/* Forks the gated process, which will begin with the signals as they were before `signals` (may be
 * NULL) was opened: 0 or -errno with error_text. */
int target_spawn(
	struct target *t, const struct target_user *u, const struct signals *signals, char **argv);
/* Lets it exec `command`: 0, or the -errno of the exec with error_text. */
int target_release(struct target *t, const char *command);
/* Its wait status when it has ended; false while it runs. */
bool target_reap(struct target *t, int *ret_status);
/* Kills it if it still waits at the gate; closes what is open. */
void target_close(struct target *t);

/* What a shell would call this wait status: the exit status, or 128 + the signal. */
int target_shell_status(int wait_status);
