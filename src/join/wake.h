/* SPDX-License-Identifier: MIT */
/*
 * Wakes a library that sleeps in a program (wire/door.h): nothing is stopped, and nothing is
 * written into the program.
 */
#pragma once

#include "join/join.h"

/* 0, or -errno, and then the program is as it was, or
 * will be in a moment: it has no door that opens. */
int wake(const struct join_options *options, struct join_result *ret);
/* Whether a copy sleeps in the program that was to leave it, and cannot. */
bool wake_finds_copy(uint32_t pid);
