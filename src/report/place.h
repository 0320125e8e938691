/* SPDX-License-Identifier: MIT */
/* Places in the program, in a report: the functions of a stack. */
#pragma once

#include "report/report.h"

#define REPORT_FUNCTIONS 2 /* of a place, where there is room for so many */

/* Appends `before` and the innermost functions of a stack, the innermost last, and the Python function that called them;
 * where none is known, as in CUDA's own threads, the file of the code, "[libcuda.so.1]", or nothing. What they call in the C
 * library is left out. `functions`: at most LAUNCH_PATH_MAX. */
void report_place(const struct report *r, struct buf *out, const char *before, uint32_t stack, unsigned int functions);
/* The same with all of them, as a member that is a list. */
void report_place_json(const struct report *r, struct json_writer *w, const char *name, uint32_t stack);
/* A line as wide as the report may be. */
void report_line(const struct report *r, struct buf *out, const struct buf *line);
