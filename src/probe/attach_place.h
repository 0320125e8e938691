/* SPDX-License-Identifier: MIT */
/*
 * Where a uprobe is put: "FILE:FUNCTION" or "FILE:FUNCTION+BYTES".
 *
 * Under sudo, FILE may be one that the caller of sudo can exchange or cut short at any time. So it
 * is opened once, with the caller's rights, and everything is about that open file: the function is
 * looked up by reads of it (nothing is mapped), and the kernel gets the file by its descriptor and
 * an offset. A symbol can therefore not be of one file and the breakpoint in another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/user.h"

#define ATTACH_PATH_BYTES 32

struct attach_place {
	int fd; /* the path is good while it is open */
	uint64_t offset;
	char path[ATTACH_PATH_BYTES]; /* of the descriptor */
};

/* Whether it is one by its form. */
bool attach_place_is(const char *text);
/* The place that a section names ("uprobe/FILE:FUNCTION"), with a path; NULL: it names none. */
const char *attach_place_of_section(const char *section);
/* 0 or -errno, without error_text. */
int attach_place_open(struct attach_place *ret, const struct user *u, const char *text);
void attach_place_close(struct attach_place *p);
