/* SPDX-License-Identifier: MIT */
/*
 * Which times the events in each stretch of a file cover: for a second reading that needs only some
 * of the time.
 *
 * Events come nearly in the order of their times. So those of one hundredth of a recording are in
 * little more than one hundredth of its file, and the rest can be passed over
 * (profile_reader_skip).
 *
 *	file     | EVTS  EVTS  EVTS | EVTS  EVTS | EVTS  EVTS ...
 *	stretch    0                  1            2
 *
 * Lives of threads count for all times; samples of instructions have none.
 *
 * The samples of a thread divide its account in their order (cpu_times.h). So that a stretch with
 * samples can be passed over, too, it says how much of the division lies before its end.
 *
 * A stretch has 64 KiB of the file or more, so that memory is a thousandth of the file at most.
 */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"

struct chunk_time {
	uint64_t begin; /* in the file: of the stretch's first chunk */
	/* from the first begin or launch to the last end of its events; UINT64_MAX to 0: none */
	uint64_t first_ns, last_ns;
	/* from the first begin to the last begin of its GPU work; likewise */
	uint64_t first_work_ns, last_work_ns;
	size_t first_turn; /* of its turns; those of the next one follow */
};

/* How far a thread's account is divided behind a stretch that has samples of it. */
struct chunk_turn {
	uint32_t thread;
	uint64_t passed_ns;
};

struct chunk_times {
	struct vec(struct chunk_time) items; /* by begin */
	struct vec(struct chunk_turn) turns;
	struct vec(size_t) latest_turn; /* by thread: its last turn's number + 1 */
	/* where the last chunk of all begins that has events */
	uint64_t last;
};

void chunk_times_release(struct chunk_times *c);
/* Adds the event that the reader returned last: 0 or -ENOMEM. */
int chunk_times_add(
	struct chunk_times *c, const struct profile_reader *r, const struct profile_event *e);
/*
 * The stretch with the chunk that begins there. NULL for the last stretch and what follows it: they
 * may not have been read to their end.
 */
const struct chunk_time *chunk_times_find(const struct chunk_times *c, uint64_t chunk);
/* The turns of a stretch that was found: how many, and the first. */
size_t chunk_times_turns(
	const struct chunk_times *c, const struct chunk_time *t, const struct chunk_turn **ret);
