/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of Python code objects, read from the memory of the running process and kept:
 * addresses are reused, so what is kept is known by address and check (walk_python_frame).
 *
 * The memory of the program is not trusted: sizes are bounded, types are checked, and what does not
 * fit is unnamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walk/python.h"

/* The code objects of one process image. */
struct python_code;

struct python_line {
	const char *function; /* qualified name where there is one (3.11 and later); UTF-8, valid
				 until free */
	const char *file;     /* co_filename */
	uint32_t line;	      /* of the instruction; 0: none */
	uint32_t first_line;  /* of the function */
	/* The frame had not begun to run the function's own code: arguments were being put in
	 * place, or it is a stand-in that the interpreter pushes for itself. Python's own
	 * tracebacks leave such frames out. */
	bool incomplete;
};

/* 0, -ENOTSUP (a layout that python_find does not give), -EIO (the process cannot be read) or
 * -ENOMEM. */
struct python_memory;
int python_code_new(
	struct python_code **ret, const struct python_memory *m, const struct walk_python *python);
void python_code_free(struct python_code *c);
/* 0; -ENOENT: it cannot be read any more, or is no code object; -ENOSPC: the program has more
 * different names than we keep; or -ENOMEM. */
int python_code_line(
	struct python_code *c, const struct walk_python_frame *frame, struct python_line *ret);
