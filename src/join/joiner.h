/* SPDX-License-Identifier: MIT */
/* The course of joining, in a process of its own: join.c begins it and takes its result. */
#pragma once

#include "join/join.h"

#define JOINER_TEXT 512

/* What the joiner sends, with the socket as a descriptor if there is no error. */
struct joiner_result {
	int32_t error; /* -errno */
	int32_t woken;
	uint64_t copy;
	char text[JOINER_TEXT];
};

/* All of it; sends one result to `channel`. */
void joiner_run(int channel, const struct join_options *options);
