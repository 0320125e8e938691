/* SPDX-License-Identifier: MIT */
/* Calls of GPU APIs that ask for work, counted, above the code that made them. */
#pragma once

#include "profile/reader.h"
#include "view/fold/options.h"
#include "view/fold/result.h"

/* A view's build function. */
int calls_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
