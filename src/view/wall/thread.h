/* SPDX-License-Identifier: MIT */
/*
 * How the elapsed time of one thread is divided: into its GPU waits, its other waits, and what it
 * ran.
 *
 *	elapsed   |------------------------------------------------------------------|
 *	GPU waits             |-------------------|          |---------|
 *	waits          |----|      |---|  |---|                  |-|         |------|	times are known
 *	others    ?? ???  ????								only sums are known
 *	run       a sum
 *
 * Waits inside GPU waits are a part of these. Waits that were recorded as sums ("others") are
 * divided: those that came with a wait that has a stack lie inside in the proportion of that wait,
 * the rests outside; but no more on either side than there is room. Run time is exact; what the
 * thread ran inside is what the waits leave of the GPU waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct wall_thread {
	bool has_life; /* from_ns, to_ns, elapsed_ns and run_ns were recorded */
	uint64_t from_ns, to_ns;
	uint64_t elapsed_ns, run_ns;
	uint64_t gpu_ns;     /* GPU waits */
	uint64_t inside_ns;  /* waits in them */
	uint64_t outside_ns; /* waits elsewhere */
	uint64_t others_inside_ns, others_outside_ns;
	uint64_t rests_ns;   /* waits whose times are not known */
	uint64_t assumed_ns; /* of outside_ns: their stacks were those of other waits */
	uint64_t samples_ns; /* CPU samples outside GPU waits */
};

/* What is shown of it, beside gpu_ns and outside_ns. With them it adds up to elapsed_ns. */
struct wall_shares {
	uint64_t others_outside_ns; /* of the others that seemed to be outside */
	uint64_t others_inside_ns;  /* and inside, and cannot have been */
	uint64_t rests_ns;
	uint64_t run_ns;     /* outside GPU waits */
	uint64_t unknown_ns; /* neither run nor waited: something was lost */
};

/* Of a thread without a life all that was recorded is shown, as it is. */
struct wall_shares wall_thread_divide(const struct wall_thread *t);
