/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined functions of many addresses of one file (dwarf.h), as bytes: they are
 * written in a process that may crash, and whoever reads them does not trust them.
 */
#pragma once

#include "base/buf.h"
#include "elf/dwarf.h"

struct lines_request {
	int fd;			/* of the file that has the DWARF */
	const uint64_t *vaddrs; /* rising */
	size_t count;
	/* Gets results, which may be any part of them, and empties the buffer: 0 or -errno; NULL:
	 * all of them stay in it. */
	int (*put)(void *context, struct buf *results);
	void *context;
};

/* 0 or -errno. Results go to `ret`, then to `put`. */
int lines_write(const struct lines_request *r, struct buf *ret);

struct lines_reader {
	size_t count; /* of addresses that were asked for */
	/* For each address something is known of: its functions, the one that was not inlined
	 * first. 0 or -errno, which ends the reading. */
	int (*visit)(void *context, size_t n, const struct dwarf_frame *frames, size_t count);
	void *context;
};

/* Reads the whole results at the front of what has come: how many bytes they were, or -errno. Its
 * context is a struct lines_reader. */
long lines_read(void *context, const char *data, size_t size);
