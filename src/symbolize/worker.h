/* SPDX-License-Identifier: MIT */
/*
 * A piece of work in a process of its own, which may crash, hang, or take too much memory without
 * taking us along. It hands its results over through a pipe, and they are not trusted.
 *
 * The child begins as a copy of us, so it finds its input in memory. It gets no signal meant for
 * us, but Ctrl-C ends it, and our end does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker_limits {
	bool (*stopped)(void *stop_context); /* asked now and then; NULL: never */
	void *stop_context;
	uint64_t ns; /* how long it may take */
};

struct worker {
	/* In the child: writes results to `out`. Its return value is the exit status. */
	int (*run)(void *context, int out);
	/* In the parent: takes whole results off the front of what has come; returns how many bytes
	 * that were, or -errno, which ends the work. */
	long (*take)(void *context, const char *data, size_t size);
	void *context;
	struct worker_limits limits;
};

/* No result may be longer. */
#define WORKER_RESULT_MAX ((size_t)4 << 20)

/* 0, -ETIME, -EINTR (stopped), -EIO (it failed or crashed), what `take` returned, or another -errno
 * when it could not begin. What was taken before counts. */
int worker_run(const struct worker *w);
