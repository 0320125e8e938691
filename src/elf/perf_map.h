/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a program made at run time: /tmp/perf-PID.map, a text that compilers of such
 * code write for perf (Linux: tools/perf/Documentation/jit-interface.txt), "START SIZE NAME" a
 * line, the numbers hexadecimal. Where lines overlap the last one holds. The text is not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a larger map the end is read, which is what was compiled last. */
#define PERF_MAP_MAX_BYTES ((size_t)128 << 20)

/*
 * Opens the map of a process whose number in its own namespace is `pid`, below its root folder
 * `root` (a descriptor, perhaps O_PATH). Nothing outside of that folder is followed. It must be a
 * regular file of root's or of the user `uid`, as perf has it: a descriptor or -errno.
 */
int perf_map_open(int root, uint32_t pid, uid_t uid);

struct perf_map_match {
	uint64_t address;
	const char *name; /* inside the text; NULL: in no line */
	size_t name_length;
};

/* Fills in the matches, which come sorted by address and without names: 0 or -ENOMEM. */
int perf_map_match(const char *text, size_t size, struct perf_map_match *matches, size_t count);
