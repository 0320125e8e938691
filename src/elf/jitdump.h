/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of code that a program made at run time, from a jitdump: a binary file that
 * compilers of such code write for perf (Linux:
 * tools/perf/Documentation/jitdump-specification.txt). It says which code came to an address when,
 * so it also holds for code that has made room for other code since.
 *
 * The file is not trusted, and neither is the answer, which is written in a process that a file may
 * have taken over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What comes behind that is not read. */
#define JITDUMP_MAX_BYTES ((uint64_t)1 << 30)

/* Whether a file of this path is one that programs map to have perf see it: "jit-PID.dump". */
bool jitdump_is_path(const char *path);

struct jit_place {
	uint64_t address;
	uint64_t time_ns; /* when the code was there, by CLOCK_MONOTONIC */
};

struct jit_name {
	const char *name, *file; /* without an end; file: NULL when it is not known */
	size_t name_length, file_length;
	uint32_t line; /* 0: not known */
	/* Other code was there at a later time, of which the place may be, too. */
	bool replaced;
};

/* Writes what is known of the places, whose addresses rise, by the open file. 0 or -errno. */
int jitdump_write(int fd, const struct jit_place *places, size_t count, struct buf *ret);

struct jitdump_reader {
	size_t count; /* of places that were asked for */
	int (*visit)(void *context, size_t n, const struct jit_name *name); /* 0 or -errno */
	void *context;
};

/* Reads such an answer: 0, -EPROTO when it makes no sense, or what `visit` returned. *ret_cut:
 * there was more in the file than was read, or it is damaged. */
int jitdump_read(const struct jitdump_reader *r, const void *data, size_t size, bool *ret_cut);
