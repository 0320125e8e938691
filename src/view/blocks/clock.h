/* SPDX-License-Identifier: MIT */
/* How far the clock of each GPU is from the recording's, by kernels whose blocks are known
 * (view/blocks/blocks.h). */
#pragma once

#include "view/blocks/blocks.h"

/* Added to a time of the GPU's it is one of the recording's; modulo 2^64. */
struct clock_offset {
	int64_t offset_ns;
	uint64_t error_ns;
};

struct clock_point {
	uint64_t gpu_ns; /* from when it holds */
	uint32_t device;
	struct clock_offset is;
};

struct clocks {
	struct vec(struct clock_point) points; /* by device and time */
	struct clock_offset otherwise;
};

/* Of runs whose blocks are known. 0 or -errno with error_text. */
int clocks_read(struct clocks *c, const struct blocks *b, const struct profile_reader *r);
void clocks_release(struct clocks *c);
struct clock_offset clocks_at(const struct clocks *c, uint32_t device, uint64_t gpu_ns);
/* For the blocks of a run: none is outside of it, if that is possible. */
struct clock_offset clocks_of_run(
	const struct clocks *c, const struct blocks *b, const struct block_run *run);
