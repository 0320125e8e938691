/* SPDX-License-Identifier: MIT */
/*
 * Bursts (struct profile_burst) in memory, for who reads works and calls: what each of them stands
 * for. A burst begins at a random time of its period, so what was asked for in it is a sample of
 * the whole period: it counts (length of the period / length of the burst) times. A period without
 * a burst, at the end of a program, is shared among the others.
 *
 * Functions return 0 or -ENOMEM, without error_text.
 */
#pragma once

#include "base/vec.h"
#include "profile/model.h"

struct burst {
	struct profile_burst is;
	double weight;
	uint32_t stratum; /* bursts that may be compared with each other */
};

/* How much of the time some of them are. */
struct bursts_extent {
	size_t count;
	double recorded_ns, of_ns; /* their lengths, and that of all periods */
	double of_squares;	   /* the sum of the squares of what each stands for */
};

/* By instance, then by time; nothing of one without a length. */
struct bursts {
	struct vec(struct burst) all;
	/* the first is that of all instances with one burst, then one for each other */
	struct vec(struct bursts_extent) strata;
	uint32_t without; /* instances that have none with a length: nothing of theirs is known */
	/* works were drawn (profile_work.stands_for): what was not stands for itself */
	bool drawn;
};

void bursts_release(struct bursts *b);
/* Instead of what `to` has. */
int bursts_copy(struct bursts *to, const struct bursts *from);
/* In any order. One that makes no sense is left out. */
int bursts_add(struct bursts *b, const struct profile_burst *burst);
/* After the last one: from now on they can be found. */
int bursts_weigh(struct bursts *b);
/* The burst of the instance that was the last to begin by then, or else its first: its number,
 * counted from 1; 0: the instance has none. */
uint32_t bursts_find(const struct bursts *b, uint32_t instance, uint64_t time_ns);
/* 1 where there is none of this number. */
double bursts_weight(const struct bursts *b, uint32_t number);
/* How much time it stands for. */
double burst_stands_for_ns(const struct burst *b);
/* Of all. */
struct bursts_extent bursts_extent(const struct bursts *b);
