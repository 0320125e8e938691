/* SPDX-License-Identifier: MIT */
/*
 * Where the runtime has a code object from, as it says (its "URI"):
 *
 *	file:///opt/a%20program#offset=8192&size=13352
 *
 * a path in which bytes may stand as numbers, and which part of that file; without a size all that
 * follows, without an offset from the beginning.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct location {
	char path[PATH_MAX];
	uint64_t offset;
	uint64_t size; /* 0: up to the end */
};

/* False: it is in no file, or makes no sense. */
bool location_parse(const char *uri, struct location *ret);
/* Reads it: memory of l->size bytes, which is set where it was 0, to be unmapped; NULL: it cannot
 * be read, or is larger than any code. The file may change meanwhile. */
void *location_read(struct location *l);
