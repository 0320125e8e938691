/* SPDX-License-Identifier: MIT */
/* A library's copy in memory, sealed against changes: what a program loads. 0 or -errno with
 * error_text. */
#pragma once

#include <stdint.h>

/* Fills a new file in memory, and seals it. */
int copy_library(int from, int to);
/* Makes one of our own. */
int copy_make(int from, int *ret);
/* What a file in memory is known by among others (join_result); 0: it is none. */
uint64_t copy_number(int fd);
