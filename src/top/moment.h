/* SPDX-License-Identifier: MIT */
/*
 * What a screen of `xpuprof top` shows: a stretch of a recording, by the same reports and views
 * that show whole ones, and the stacks that most of its time is on.
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "report/report.h"
#include "view/fold/result.h"

/* The time on one stack, and of what kind it is. */
struct moment_stack {
	uint32_t node; /* of view.tree: its leaf */
	uint64_t ns;
	bool gpu;
};

/* What GPUs did that is called the same. */
struct moment_work {
	enum profile_op_kind kind;
	uint32_t what; /* a kernel's name (string), the kind of a copy, the memory of a set */
	uint64_t count, total_ns;
};

struct moment {
	uint64_t from_ns, to_ns;
	struct report *report; /* NULL: nothing happened */
	struct view_result view;
	struct vec(struct summary_task) processes;
	struct vec(struct moment_work) works;
	struct vec(struct moment_stack) stacks;
};

/* Reads a part of a recording that began at `start_ns`: 0 or -errno with error_text. Release it in
 * either case. */
int moment_read(
	struct moment *m, const char *path, uint64_t start_ns, uint64_t from_ns, uint64_t to_ns);
void moment_release(struct moment *m);
/* When the recording in this file began and ended; 0: it does not say. 0 or -errno with
 * error_text. */
int moment_bounds(const char *path, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
