/* SPDX-License-Identifier: MIT */
/*
 * The view `stall`: GPU work as in the view `gpu`, and above each kernel what its time was spent on
 * (stalls.h):
 *
 *	code ... code - API call - GPU kernel - "-" - directory - file - function - inlined ... - mnemonic - reason - offset
 *
 * A launch without any sample has its time in the note [not sampled]. With latency samples only,
 * the time of the other samples is in the note [issuing cycles]. With samples as weight, only what
 * was sampled has a width; parts of samples (stalls.h) are rounded, so that their sum is right.
 * Reversed paths have no offsets, as equal offsets of different functions would become one frame.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

int stall_flame_build(
	struct profile_reader *r, const struct view_options *o, struct view_result *ret);
/* Of a recording without any samples: the facts and remarks that say so, and what is lacking. */
int stall_flame_describe_none(const struct profile_reader *r, struct view_result *v);
