/* SPDX-License-Identifier: MIT */
/* Which of the sums of a recording a function stands under: the samples and the work with one of
 * its frames in their stack. */
#pragma once

#include "view/fold/slice_sums.h"

struct heat_function {
	bool *codes, *rests; /* by half of a key (view/fold/keys.h): either may have it */
	bool *spreads;
	size_t names; /* of how many frames */
};

/* Frames that are called so; where none is, those that have the text in their name, without regard
 * to the case of A to Z. 0 or -errno with error_text; release it in either case. */
int heat_function_find(struct heat_function *f, const struct slice_sums *s,
	const struct profile_reader *r, const char *text);
void heat_function_release(struct heat_function *f);
bool heat_function_has(const struct heat_function *f, struct event_pair pair);
