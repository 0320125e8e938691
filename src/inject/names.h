/* SPDX-License-Identifier: MIT */
/*
 * Names of kernels: each text once, for as long as the library is there. A kernel's handle may be
 * used again for another one; what it was called stays. Any thread.
 */
#pragma once

#include <stdint.h>

struct named {
	uint32_t launches; /* draws.h */
	char text[];
};

/* 0 or -errno. May be called again. */
int names_init(void);
/* No name is used any more. */
void names_release(void);
/* Never NULL: what finds no room has a name that says so, and is cut if it is too long. */
struct named *names_keep(const char *text);
struct named *names_none(void);
