/* SPDX-License-Identifier: MIT */
/*
 * The time that threads did not run, under the stack where each went to sleep:
 *
 *	process - thread - code ... code - why it waited
 *
 * At its end a wait may be over while no CPU is free: that part of it is the run queue's, beside
 * the reason. Waits without a stack are under a note, by reason. The time of waits without a stack
 * that a later one carries (profile_wait.others) is reported as apportioned. The profiler's own
 * threads are left out.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

int off_cpu_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
