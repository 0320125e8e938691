/* SPDX-License-Identifier: MIT */
/*
 * Frames that show how Python is run instead of what the program does: the inside of the
 * interpreter.
 *
 *	shown                              the whole stack, root first
 *	                                   _start, __libc_start_main, main, Py_BytesMain, ..., run_mod
 *	                                   _PyEval_EvalFrameDefault
 *	<module> (train.py)                <module> (train.py)
 *	                                   _PyEval_EvalFrameDefault, PyObject_Vectorcall, cfunction_call
 *	torch::autograd::mm                torch::autograd::mm
 *
 * A stack with Python frames is shown without the frames of modules that have the interpreter in
 * them (MODULE_PYTHON). Where such a module is not Python's own (python3, libpython3.11.so) but a
 * program with the interpreter linked in, only functions of Python's C API are hidden. What starts
 * the process or the thread is hidden where nothing but it and the interpreter lies between the
 * root and the first Python frame. Stacks without Python frames are shown whole, and notes always.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to the
 * reader.
 */
#pragma once

#include <stdbool.h>

#include "profile/reader.h"

struct internals {
	const struct profile_reader *reader;
	uint8_t *modules;     /* by module */
	uint8_t *stacks;      /* by stack node */
	uint32_t stack_count; /* 0: there are no Python frames in this profile */
};

/* 0 or -ENOMEM with error_text; release it in either case. */
int internals_init(struct internals *i, const struct profile_reader *r);
void internals_release(struct internals *i);

/* Whether a Python frame is among those from this node to the root. */
bool internals_has_python(const struct internals *i, uint32_t stack);
/* Stacks of one kind are shown without the same frames of those that are on the way to the root of
 * both. */
#define INTERNALS_KINDS 3
unsigned int internals_kind(const struct internals *i, uint32_t stack);
/* Whether a stack is to be shown without the frame of `node`, which is the stack's leaf or lies on
 * the way from there to its root. */
bool internals_hide(const struct internals *i, uint32_t stack, uint32_t node);
