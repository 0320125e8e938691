/* SPDX-License-Identifier: MIT */
/* Functions in a report, and call paths: which calls in the program led to an event, by its
 * stack. */
#pragma once

#include "report/report.h"

#define REPORT_FUNCTIONS 2 /* of a call path, where there is room for so many */

/* Appends what a location (NULL: of a damaged file) is called; plain: "a::reduce" of "void
 * a::reduce<int>(int)". */
void report_location(
	const struct report *r, struct buf *out, const struct profile_location *l, bool plain);
/* Which functions of a stack are shown. */
enum report_path {
	REPORT_PATH,	     /* to a call: those of the program */
	REPORT_PATH_INLINED, /* and those that were inlined there */
	REPORT_PATH_CPU,     /* to CPU time: those that flame graphs show */
};

/* The functions of a call path as a member, a list. */
void report_call_path_json(const struct report *r, struct json_writer *w, const char *name,
	uint32_t stack, enum report_path kind);

/* Appends `before` and the innermost functions of a stack, the innermost last, and the Python
 * function that called them. Where no function is known, as in threads of the GPU's libraries, it
 * is the file of the code, "[libc.so.6]", or nothing. Functions of the C library at the inner end
 * are left out. `functions`: at most LAUNCH_PATH_MAX. */
void report_call_path(const struct report *r, struct buf *out, const char *before, uint32_t stack,
	unsigned int functions);
/*
 * Appends "72.1 % from a > b > c": a share that ends at column `end`, and the innermost functions of
 * a stack, as many as have room, at most four. Without what begins the thread or the program;
 * nothing where no other function is known.
 */
void report_path_line(const struct report *r, struct buf *out, unsigned int end, const char *share,
	uint32_t stack, enum report_path kind);
/* Appends a line, cut to the width of the report, and releases its buffer. */
void report_line(const struct report *r, struct buf *out, struct buf *line);
