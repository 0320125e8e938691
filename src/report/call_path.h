/* SPDX-License-Identifier: MIT */
/* Places in the program, in a report: functions, and those of a stack. */
#pragma once

#include "report/report.h"

#define REPORT_FUNCTIONS 2 /* of a place, where there is room for so many */

/* Appends what a location (NULL: of a damaged file) is called; plain: "a::reduce" of "void a::reduce<int>(int)". */
void report_location(const struct report *r, struct buf *out, const struct profile_location *l, bool plain);
/* A list of what is called so, as a member: the functions that lead to a stack; inlined ones, too, if asked for. */
void report_path_json(const struct report *r, struct json_writer *w, const char *name, uint32_t stack, bool inlines);

/* Appends `before` and the innermost functions of a stack, the innermost last, and the Python function that called them;
 * where none is known, as in threads of the GPU's libraries, the file of the code, "[libc.so.6]", or nothing. What they call in the C
 * library is left out. `functions`: at most LAUNCH_PATH_MAX. */
void report_place(const struct report *r, struct buf *out, const char *before, uint32_t stack, unsigned int functions);
/* Appends a line as wide as the report may be, and releases the buffer it is in. */
void report_line(const struct report *r, struct buf *out, struct buf *line);
