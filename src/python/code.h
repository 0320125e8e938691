/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of Python code objects, kept once they were read: addresses are reused, so what
 * is kept is known by address and check (walk_python_frame).
 *
 * What is not known yet is wanted first; whoever owns this has it read (code_reader.h), in this
 * process or in another one, and gives the reply. So:
 *
 *	python_code_want ---> python_code_request ---> ... ---> python_code_answer
 *	                                                        (or python_code_give_up)
 *	python_code_line: -EAGAIN meanwhile
 *
 * A code object can be freed before it is read, as that of a module is when the module was
 * imported. So a copy of it, from when it ran, may be offered before it is wanted.
 *
 * Neither the memory of the program nor a reply is trusted: sizes are bounded, types are checked,
 * and what does not fit is unnamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
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

/* 0, -ENOTSUP (a layout that python_find does not give) or -ENOMEM. It has one reference. */
int python_code_new(struct python_code **ret, const struct walk_python *python);
struct python_code *python_code_ref(struct python_code *c);
/* The last one frees it. */
void python_code_unref(struct python_code *c);
/* Whether there is more than one reference. */
bool python_code_is_shared(const struct python_code *c);

/* Whether what the frame runs is to be read first, or is being read. */
bool python_code_want(struct python_code *c, const struct walk_python_frame *frame);
bool python_code_is_coming(const struct python_code *c, const struct walk_python_frame *frame);
/* Keeps a copy of a code object until it has been read, in case that it is gone by then. 0, or
 * -ENOMEM. */
int python_code_offer(struct python_code *c, const struct walk_python_code *copy);
/* Whether anything is wanted. */
bool python_code_is_wanting(const struct python_code *c);
/* Appends a request for what is wanted; false: nothing is. There is one at a time. */
bool python_code_request(struct python_code *c, struct buf *ret);
/* Keeps what a reply has. What it lacks is still wanted: 0; -EPROTO (it makes no sense: what was
 * asked for is given up) or -ENOMEM. */
int python_code_answer(struct python_code *c, const void *reply, size_t size);
/* What was asked for is still wanted: nobody reads it any more. */
void python_code_ask_again(struct python_code *c);
/* What was asked for, or all that is wanted, cannot be read. */
void python_code_give_up(struct python_code *c, bool all);

/* By what is known so far: 0; -EAGAIN: it is coming; -ENOENT: it could not be read, is no code
 * object, or the program has more different names than we keep. */
int python_code_line(
	struct python_code *c, const struct walk_python_frame *frame, struct python_line *ret);

/* Reads all that is wanted, here and now: 0 or -ENOMEM. */
struct python_memory;
int python_code_read_here(struct python_code *c, const struct python_memory *m);
