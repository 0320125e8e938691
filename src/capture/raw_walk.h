/* SPDX-License-Identifier: MIT */
/*
 * Walks stacks again whose walk by BPF came to code without a table, or without a known mapping:
 * from the registers and the copy of stack memory that came with them, by the mappings of their
 * time and the tables of now.
 */
#pragma once

#include "capture/spaces.h"
#include "capture/stacks.h"
#include "unwind/unwind.h"

struct raw_walk {
	uint32_t depth;
	enum walk_end end;
	uint32_t blocked_module; /* WALK_PENDING: which module's table is not ready */
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_loops loops; /* by raw->loops */
};

/* Cuts off frames that were found by code that has been replaced since, where the stack can be
 * walked anew. */
void raw_walk_cut(const struct address_space *space, struct raw_stack *raw);
/* Whether a walk anew may come further. */
bool raw_walk_is_worth_it(const struct raw_stack *raw);
/* 0 or -ENOMEM with error_text. `pid`: whose code is looked at where callers are guessed; 0: the
 * program is another by now. */
int raw_walk(struct spaces *spaces, const struct unwind_tables *tables,
	const struct address_space *space, uint32_t pid, const struct raw_stack *raw,
	struct raw_walk *ret);
/* Makes the frames of `w` the stack's native side, if they are no fewer than it has; it then points
 * into `w`. */
void raw_walk_apply(const struct raw_walk *w, struct raw_stack *raw);
