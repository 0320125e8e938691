/* SPDX-License-Identifier: MIT */
/*
 * What a picture has to say of a recording of which not all GPU work has times, as it was recorded
 * in bursts or drawn: how much of it, and how far its GPU time may be off.
 */
#pragma once

#include "profile/reader.h"
#include "profile/spread.h"
#include "view/fold/result.h"

/* Comes zeroed. */
struct gpu_bursts {
	struct spread time;
	uint64_t seen_ns;
	uint64_t seen; /* works */
	double of;     /* so many that these stand for */
};

void gpu_bursts_release(struct gpu_bursts *b);
/* 0 or -ENOMEM with error_text. */
int gpu_bursts_add(
	struct gpu_bursts *b, const struct profile_reader *r, const struct profile_work *w);
/* Adds a fact and remarks, after the last event; nothing where all work was recorded. 0 or -ENOMEM
 * with error_text. */
int gpu_bursts_describe(
	const struct gpu_bursts *b, const struct profile_reader *r, struct view_result *v);
/* The same for what shows no GPU time, as `what` is not known: one remark. */
int gpu_bursts_leave_out(const struct profile_reader *r, struct view_result *v, const char *what);
