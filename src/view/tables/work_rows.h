/* SPDX-License-Identifier: MIT */
/*
 * The rows of a summary that are about GPU work: kernels with the hottest way to their launches,
 * copies and sets; and how many works have whole stacks.
 */
#pragma once

#include "view/tables/gathering.h"

/* After the last event, with the internals of the summary, and behind stack_uses_judge: 0 or
 * -ENOMEM. */
int work_rows_put(struct gathering *g);
