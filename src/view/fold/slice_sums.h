/* SPDX-License-Identifier: MIT */
/*
 * The sums of a recording by slice of its time, so that any range of it is added up at once: the
 * slices in it from memory, and what is left of it at its two ends from the file.
 *
 *	slices   |     |     |     |     |     |     |     |
 *	range            [------------------------)
 *	         from the file   from memory    from the file
 *
 * What crosses an edge of a slice is cut there as at the edges of a range (profile/clip.h), so the
 * sums of a range are the same by either way, to the nanosecond. Of these are sums kept: samples,
 * work, launches without work, calls that ask for work, and waits; none of recordings in bursts,
 * whose work has no weight before all of it is known. Samples of instructions have a window of time
 * each: those of one window and reason lie evenly in it, as whole samples. They are counted by
 * reason, and in no range (slice_part_each).
 *
 * Slices become longer when there would be too many sums. Where there are so many stacks that this
 * does not help, there may be more sums, and calls have none. Where there are too many even so,
 * sums are kept by keys without stacks, of which heatmaps by row are made, and views are read from
 * the file. Owned by the caller.
 */
#pragma once

#include "profile/clip.h"
#include "view/fold/event_sums.h"
#include "view/fold/options.h"

struct slice {
	struct event_sum_list sums;
	struct event_sum_list calls; /* which have no time: few ask for them */
};

/* Samples of instructions of one window. */
struct slice_stalls {
	uint32_t reason; /* string */
	uint64_t samples;
};

/* Time that no sample stands for, of a thread without any: it is spread evenly. */
struct slice_spread {
	struct gather_key key;
	uint64_t end_ns, time_ns;
};

struct slice_sums {
	uint64_t start_ns, width_ns;
	uint32_t count; /* of slices; the first and the last are all that is before and behind */
	struct slice *items;
	struct profile_span *spans; /* of the slices */
	struct profile_clip cut;    /* at their edges */
	struct event_sums all;
	size_t keys_max, sums_max; /* may be set to less before the first event */
	struct vec(struct slice_spread) spreads;
	struct vec(bool) sampled;		/* by thread */
	struct vec(struct slice_stalls) stalls; /* of the window that is read */
	uint32_t window;
	uint64_t total_ns; /* of all of them */
	bool callless;	   /* calls have no sums */
	bool stackless;	   /* keys are without stacks: no parts are made of them */
	bool overflow;	   /* it does not fit: the sums are not sound */
	/* of the same reading, which the owner sets: for what is read from the file */
	const struct chunk_times *chunks;
};

/* Comes zeroed; release it in either case. All: 0 or -ENOMEM with error_text. */
int slice_sums_init(struct slice_sums *s, uint64_t start_ns, uint64_t end_ns);
void slice_sums_release(struct slice_sums *s);
/* Adds an event, as a reader of the whole recording has it that was given slice_sums_clip. */
int slice_sums_add(
	struct slice_sums *s, const struct profile_reader *r, const struct profile_event *e);
/* After the last one. */
int slice_sums_finish(struct slice_sums *s, const struct profile_reader *r);
/* Longer slices; nothing where there are few. */
int slice_sums_join(struct slice_sums *s);
/* All of a recording: readers that have it say of samples what only those of parts do. */
extern const struct profile_clip slice_sums_clip;

/* A part of a recording, between memory and file. */
struct slice_part {
	const struct slice_sums *sums; /* NULL: all comes from the file */
	const struct profile_reader *reader;
	const struct profile_clip *whole; /* NULL: the recording */
	struct profile_span rest[2];
	struct profile_clip clip; /* the rest */
	uint32_t first, end;	  /* slices */
	/* of slice_part_each: set of 1 << EVENT_..., which may be set after slice_part_begin;
	 * 0: all */
	uint64_t events;
};

/* Before the first event of a reader: leaves it what no slice has of its part. `s` may be NULL; `p`
 * has to outlive the reader. */
void slice_part_begin(struct slice_part *p, const struct slice_sums *s, struct profile_reader *r);
/*
 * Hands out the sums of the slices, by event_whole_key. Of work `count` is what begins there. Of a
 * wait the time in the run queue has that reason; and what of a thread's waits has a stack that is
 * not its own (off-cpu: apportioned) comes once more, by a key without a reason.
 */
int slice_part_each(const struct slice_part *p,
	int (*handle)(void *arg, const struct gather_sum *sum), void *arg);
/* Of that only what is spread evenly. */
int slice_part_spreads(const struct slice_part *p,
	int (*handle)(void *arg, const struct gather_sum *sum), void *arg);
/* Whether what has this half of a key (keys.h: rest) is of its threads and devices. */
bool slice_part_has(const struct slice_part *p, const struct gather_key *rest);
