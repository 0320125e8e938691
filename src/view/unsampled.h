/* SPDX-License-Identifier: MIT */
/*
 * The view `stall` (stalls/flame.h). Without samples of instructions it is the GPU work, each
 * kernel with the note [not sampled]: where sums are kept, they are enough for that, and no launch
 * is looked at by itself.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

/* A view's build function. */
int stall_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
