/* SPDX-License-Identifier: MIT */
/*
 * The view `stall`: GPU work as in the view `gpu`, and above each kernel what its time was spent on (stalls.h):
 *
 *	code ... code - API call - GPU kernel - "-" - directory - file - function - inlined ... - mnemonic - reason - offset
 *
 * A kernel that a place launched without any sample of it has its time in the note [not sampled]. With latency
 * samples only, the time of the others stands in the note [issuing cycles]. With samples as weight nothing has a
 * width but what was sampled, and there the parts of samples (stalls.h) are rounded, so that their sum is right.
 * Where paths are to be reversed offsets are left out: equal ones of all functions would come together.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

int stall_flame_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
