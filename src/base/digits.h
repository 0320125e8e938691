/* SPDX-License-Identifier: MIT */
/* Numbers as people read them. */
#pragma once

#include <stdint.h>

#define DIGITS_SIZE 32

/* "12,345" */
const char *digits_group(char text[DIGITS_SIZE], uint64_t number);
