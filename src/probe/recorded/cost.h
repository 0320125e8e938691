/* SPDX-License-Identifier: MIT */
/*
 * What programs cost each kernel: they were switched off and on in turns of random length, and the
 * times of launches in both states are compared.
 *
 *	programs	 on  |  off	   | on	   | off
 *	launches	-- -- == -- -- -- == -- -- == --
 *			      ^ not in one state from begin to end: left out, and counted
 *
 * The ratio is that of the mean times. Launches of one turn have more in common than the programs
 * (the GPU's clock, what else runs), so it is turns that are drawn anew for its interval.
 */
#pragma once

#include "base/vec.h"
#include "probe/recorded/recorded.h"

enum { COST_ON, COST_OFF, COST_STATES };

/* Launches of a kernel in one turn. */
struct cost_turn {
	uint64_t count, sum_ns;
	unsigned int state;
};

struct cost_state {
	struct vec(uint64_t) times_ns; /* in order */
	uint64_t sum_ns;
};

struct cost_kernel {
	uint32_t name; /* string */
	struct cost_state states[COST_STATES];
	struct vec(struct cost_turn) turns;
	uint64_t straddling; /* launches during which programs were switched */
	uint64_t unknown;    /* of which it is not known whether programs ran */
	/* 0: there are none in one of the states, or too few turns for an interval */
	double ratio, low, high;
};

struct cost {
	struct vec(struct cost_kernel) kernels; /* those with the most time first */
	uint64_t switches;			/* of all contexts */
	bool is_measured;			/* the recording has turns */
};

/* Of a recording whose probes have been read; `done` has read everything. 0 or -errno with
 * error_text. */
int cost_read(struct cost *c, const struct recorded_reading *r, const struct profile_reader *done);
void cost_release(struct cost *c);
uint64_t cost_median_ns(const struct cost_state *s);
double cost_mean_ns(const struct cost_state *s);
