/* SPDX-License-Identifier: MIT */
/*
 * Starts the process that samples hardware counters (counter_sampler.h): this program, executed
 * anew, so that it has nothing of the recorder's but a socket.
 *
 * With more rights than the program's user has it gets an environment that is made here: NVIDIA's
 * libraries and the loader read nothing of what that user set, but for which devices may be seen.
 * Without, it gets the user's environment. What that says of where CUPTI may be comes under other
 * names, too, which no loader reads; with rights, what is found there has to be trusted
 * (base/trust.h).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/user.h"

/* Before the names of variables that say where CUPTI may be. */
#define COUNTER_SEARCH_PREFIX "XPUPROF_SEARCH_"

struct counter_process_options {
	uint64_t interval_ns;
	char **environment;	 /* the program's; NULL: ours */
	const struct user *user; /* to run as, without rights; NULL: as we are */
};

/* 0 or -errno with error_text; the caller reaps the process and closes the socket. */
int counter_process_start(const struct counter_process_options *o, pid_t *ret_pid, int *ret_socket);
