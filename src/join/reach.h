/* SPDX-License-Identifier: MIT */
/*
 * Whether a program can reach the library where it is told to load it from: a file in memory that
 * it makes, which its loader opens by its own number in /proc. Asked before anything in it is
 * changed.
 *
 * The program is not trusted, and arranges its /proc itself. What it can gain is to be refused, or
 * to fail later.
 */
#pragma once

#include <stdint.h>

/* 0 also where that cannot be found out; or -errno with error_text. The process may be traced by
 * us. */
int reach_check(uint32_t pid);
/* Its kernel has not let it make the file: -EACCES, with error_text. */
int reach_refuse_memory(void);
