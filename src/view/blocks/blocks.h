/* SPDX-License-Identifier: MIT */
/*
 * Blocks of kernels, as a tool saw them from inside: which multiprocessor each ran on,
 * and when, on the time axis of the recording.
 *
 * A block is of the work that has its grid id, in the same process and device. In a graph a node
 * has the same id in each run, and these follow each other: if no block is missing, the first are
 * of the first run, and so on; else a block is of the run in whose time it began, if that can only
 * be one.
 *
 * The GPU's clock is compared with the recording's by the kernels themselves: no block began before
 * its kernel or ended after it. Each kernel leaves a range of possible differences. What several
 * have in common is narrower, until the clocks have drifted apart and it begins anew. The middle is
 * taken; how far it may be off is half the range.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "profile/reader.h"

struct block {
	uint64_t start_ns, duration_ns;
	uint64_t number; /* in the grid */
	uint32_t sm;
	uint32_t group;
};

/* A piece of work that has blocks. */
struct block_run {
	uint64_t start_ns, duration_ns;
	uint32_t group;	       /* those of one process, device and grid id */
	uint32_t first, count; /* blocks, by when they began */
	uint64_t grid_blocks;  /* that it is to have */
	uint64_t launch_ns;    /* as in profile_work */
	uint32_t op;
	/* how far their times may be off; BLOCKS_FIRST: how much later they may be */
	uint64_t error_ns;
};

struct block_group {
	uint64_t grid;
	uint32_t process, device;
	uint32_t first, count; /* blocks, by when they began */
	uint32_t first_run, run_count;
};

struct blocks {
	const struct blocks_source *source;
	struct vec(struct block) items;
	struct vec(struct block_run) runs;
	struct vec(struct block_group) groups;
	struct map group_of;
	uint64_t left_out; /* blocks: there are too many */
	/* blocks of work that was not recorded, or of a node of a graph, and it is not known in
	 * which of its runs */
	uint64_t unplaced;
};

enum blocks_of {
	BLOCKS_ALL,   /* tool `blocks` */
	BLOCKS_FIRST, /* tool `launchlate`: the first of each grid, and only when it began */
};

/* `done` has read everything. 0 or -errno with error_text. */
int blocks_read(struct blocks *b, const struct profile_reader *done, enum blocks_of of);
void blocks_release(struct blocks *b);
/* That of a piece of work; NULL: it has no blocks. */
const struct block_run *blocks_of(
	const struct blocks *b, const struct profile_op *op, const struct profile_work *w);
