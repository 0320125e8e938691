/* SPDX-License-Identifier: MIT */
/*
 * What the GPU time of a profile was spent on, by instruction samples.
 *
 * Samples come in windows (profile_window): stretches of time of one context. A sample names an
 * instruction and a reason, and no launch. The launch follows from what ran in the window. Then the
 * time of each launch is divided among its samples:
 *
 *	window 1, samples of kernel k: 400		launched by stack A for 30 us, by stack B for 10 us
 *	  LDG  long_scoreboard 300			A: 225 + 75 samples, B: 75 + 25
 *	  FMUL wait            100
 *						all of A's time with k, to the nanosecond, is shared 225 : 75 + what
 *						other windows have
 *
 * 1. Samples to launches. The samples of a kernel go to the launches of it (equal gather_key:
 *    stack, call, thread, ... as the options distinguish them) whose work overlaps the window, by the time of
 *    that overlap. That is exact where one launch did, and in exact windows, where the correlation id
 *    names the work; else the samples are `apportioned`, and counted so. Where no work of the kernel
 *    overlaps (samples come a little late), its work in the window before, then after, then in the
 *    whole recording counts instead (`elsewhere`). Samples of a function that is no kernel go to the
 *    kernels of its image that ran, or to the one that its name is of ("$kernel$function"), by the
 *    same rules. What belongs to no kernel that ran is `without_kernel`, and in no row.
 * 2. Time to instructions. The whole GPU time of a launch is divided among its (instruction,
 *    reason) by their share of its samples. A launch without any sample has no rows: all of its time is not
 *    sampled.
 *
 * Every step divides whole numbers without a rest (stalls_divide): the rows' times of a launch add
 * up to its time to the nanosecond, and the samples of all rows to those that came, in parts of a
 * sample (STALLS_SAMPLE). Equal profiles give equal results.
 *
 * The vendor counts each reason twice: all samples, and those of cycles in which the warp's
 * scheduler issued nothing ("..._not_issued", latency samples). The second are a part of the first.
 * Both are one row here, with two numbers, and time is divided by the first.
 *
 * Memory: rows, what each launch has in each window, and stalls as they come; when these are many,
 * windows are joined (seen.h; counts.windows_joined). Works are not kept (windows.h).
 *
 * Of a part of the recording all this is found out of the whole, which the reader has to read. Then
 * each launch has in the part the time of its works there, and each of its rows the same share of
 * that which it has of the whole (edges, stalls_divide_edges).
 *
 * Holds on to the reader. One thread at a time.
 */
#pragma once

#include "base/vec.h"
#include "view/fold/gather.h"
#include "view/stalls/reasons.h"
#include "profile/reader.h"
#include "view/range/edges.h"
#include "view/fold/options.h"

/* Samples are counted in parts of this. */
#define STALLS_SAMPLE ((uint64_t)1 << 20)

/* 192 MiB of them. */
#define STALLS_SEEN_MAX ((size_t)8 << 20)

/* A kernel in one context under one gather_key: the smallest thing with GPU time of its own.
 * `key.op` is the first operation of this kind: launches of other shapes are separate only where
 * options ask for it (streams). */
struct stalls_launch {
	struct gather_key key;
	uint32_t kernel; /* string: mangled name */
	uint64_t works;
	uint64_t works_inside; /* begin in the part of the recording that is shown */
	uint64_t time_ns;
	uint64_t samples;	     /* in parts */
	size_t first_row, row_count; /* of stalls.rows; 0 rows: [not sampled] */
};

/* What was seen of a launch at an instruction, for one reason. */
struct stalls_row {
	uint32_t launch;      /* index */
	uint32_t instruction; /* id */
	uint32_t reason;      /* index of stalls.reasons */
	uint64_t samples;     /* in parts */
	uint64_t latency;     /* in parts: of them */
	uint64_t time_ns;
};

struct stalls_reason {
	char *name; /* the short one: "long_scoreboard" */
	/* for the words: the vendor's name of it, without the mark of latency samples */
	struct stall_name vendor;
};

/* In samples, whole ones. */
struct stalls_counts {
	uint64_t windows; /* of the profile */
	/* in code that the driver does not identify; they are no stalls */
	uint64_t without_code;
	uint64_t samples;	 /* of all stalls of the profile */
	uint64_t latency;	 /* of them */
	uint64_t issuing;	 /* of them: the warp issued the instruction */
	uint64_t without_kernel; /* of them: of no kernel that ran */
	uint64_t apportioned;	 /* of them: more than one launch may have had them */
	uint64_t elsewhere;	 /* of them: no work of their kernel was seen in their window */
	/* so many were looked at as one, to save memory; 1: each for itself */
	uint64_t windows_joined;
	uint64_t kernel_ns;    /* GPU time of kernels */
	uint64_t unsampled_ns; /* of it: launches without any sample */
};

/* Samples of no kernel that ran. */
struct stalls_ownerless {
	uint32_t window, instruction;
	uint32_t reason; /* string */
	uint64_t samples;
};

struct stalls_reading;

struct stalls {
	struct vec(struct stalls_launch) launches; /* in the order of their first work */
	/* by launch, function, offset and reason; only with samples */
	struct vec(struct stalls_row) rows;
	struct vec(struct stalls_reason) reasons; /* in the order of their names */
	struct stalls_counts counts;
	size_t seen_max; /* stalls kept apart: STALLS_SEEN_MAX, or less to try what happens then */
	uint32_t latest; /* while it reads: launch of the last work that was a kernel's */
	const struct profile_reader *reader;
	/* of a part of the recording: launches' times in it, and samples without a launch */
	struct edges edges;
	struct vec(struct stalls_ownerless) ownerless;
	/* asked for before the first event: by operation, the first one of its kernel */
	bool keeps_firsts;
	struct vec(uint32_t) firsts;
	/* asked for so too: sees each part of a stall that a launch gets (`samples`, in parts),
	 * but no latency samples. 0 or -errno with error_text. */
	int (*each)(void *arg, const struct stalls_row *part, uint32_t window);
	void *each_arg;
	struct stalls_reading *reading; /* stalls.c's, until stalls_finish */
};

/* `o` sets which launches are distinguished, and has to outlive `s`; `clip` is the part that will
 * be shown, NULL: all. All: 0 or -errno with error_text; release it in any case.
 * -EOVERFLOW: numbers that add up to more than 64 bits hold. */
int stalls_init(struct stalls *s, const struct profile_reader *r, const struct view_options *o,
	const struct profile_clip *clip);
/* Adds works of kernels, and stalls; ignores other events. In the order of the file. */
int stalls_event(struct stalls *s, const struct profile_event *e);
/* After the last event. Instead of the parts into which all of a launch's time is divided: what of
 * each is in the part of the recording that is shown. */
int stalls_divide_edges(
	const struct stalls *s, const struct stalls_launch *l, uint64_t *parts, size_t count);
/* So too of an amount that is divided by the launch's time. */
uint64_t stalls_share(const struct stalls *s, const struct stalls_launch *l, uint64_t amount);
/* How much of its time is in the part, or all. */
uint64_t stalls_inside(const struct stalls *s, const struct stalls_launch *l);
/* After the last event: launches, rows, reasons and counts are there. */
int stalls_finish(struct stalls *s);
void stalls_release(struct stalls *s);

/*
 * Divides `total` by shares, one after the other, so that nothing is left in the end:
 *
 *	struct stalls_division d = {.total = 100, .sum = 3};
 *	stalls_part(&d, 1) == 33, stalls_part(&d, 1) == 33, stalls_part(&d, 1) == 34
 *
 * Each part is less than 1 off its exact value, and so is the sum of any run of them. The shares
 * add up to `sum`.
 */
struct stalls_division {
	uint64_t total, sum;
	uint64_t shares, given; /* so far */
};

uint64_t stalls_part(struct stalls_division *d, uint64_t share);
