/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of ours in somebody else's program: programs use low numbers, and some rely on
 * getting the lowest one, so ours move to higher ones.
 */
#pragma once

#include <stddef.h>

/*
 * Before a descriptor is made: makes room for high numbers. Where there is none yet the kernel
 * waits for all CPUs in a program with threads, for milliseconds, in which the new one would have
 * a low number.
 */
void descriptor_make_room(void);
/* The same file under a high number, or under its old one where none is free. Closed on exec. */
int descriptor_move_high(int fd);
/* A file in memory with these bytes, which nobody can change any more; -1: it cannot be made. Its
 * number is a low one. */
int descriptor_of_copy(const char *name, const void *bytes, size_t size);
