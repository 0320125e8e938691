/* SPDX-License-Identifier: MIT */
/*
 * A piece of work in a process of its own, which may crash, hang, or use too much memory without
 * harm to us. It sends its results through a pipe, and they are not trusted.
 *
 * The child begins as a copy of us, so its input is in its memory. It gets no signal that is meant
 * for us; Ctrl-C ends it, and so does our end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/user.h"

struct worker_limits {
	bool (*stopped)(void *stop_context); /* asked now and then; NULL: never */
	void *stop_context;
	uint64_t ns; /* how long it may take */
};

struct worker {
	/* In the child: writes results to `out`. Its return value is the exit status. */
	int (*run)(void *context, int out);
	/* In the parent: handles the whole results at the front of what has come; returns how many
	 * bytes they were, or -errno, which ends the work. */
	long (*handle)(void *context, const char *data, size_t size);
	void *context;
	struct worker_limits limits;
	/* Whose rights the child has, for good; NULL: ours. */
	const struct user *user;
};

/* No result may be longer. */
#define WORKER_RESULT_MAX ((size_t)4 << 20)

/* 0, -ETIME, -EINTR (stopped), -EIO (it failed or crashed), what `handle` returned, or another
 * -errno when it could not begin. Results that were handled before count. */
int worker_run(const struct worker *w);
