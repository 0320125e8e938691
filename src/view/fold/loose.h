/* SPDX-License-Identifier: MIT */
/*
 * Sums of events as a loose tree (view_options.loose): all of the code, and on its leaves a node
 * for each sum, whether there is one like it or not. Nothing is looked up, so millions of sums take
 * little time.
 */
#pragma once

#include "view/fold/fold.h"

/* Whether that is asked for, nothing stands below the code, and few sums are alike. */
bool loose_fits(const struct fold *f);
/* With the code tree made: as fold_add. */
int loose_add(const struct fold *f, struct view_result *ret);
