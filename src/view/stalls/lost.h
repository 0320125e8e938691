/* SPDX-License-Identifier: MIT */
/* What of the samples of instructions did not get into the recording, in sentences. */
#pragma once

#include "profile/reader.h"

/* Calls put for each, until it returns not 0: that, or 0. */
int stalls_each_lost(
	const struct profile_reader *r, int (*put)(void *to, const char *sentence), void *to);
