/* SPDX-License-Identifier: MIT */
/*
 * Frames that show how Python is run instead of what the program does.
 *
 *	shown                              the whole stack, root first
 *	                                   _start, __libc_start_main, main, Py_BytesMain, ..., run_mod
 *	                                   _PyEval_EvalFrameDefault
 *	<module> (train.py)                <module> (train.py)
 *	                                   PyObject_Vectorcall, cfunction_vectorcall_FASTCALL
 *	builtin_sorted, list_sort          builtin_sorted, list_sort
 *	                                   _PyFunction_Vectorcall, _PyEval_EvalFrameDefault
 *	key (train.py)                     key (train.py)
 *	                                   _PyEval_EvalFrameDefault, PyObject_Vectorcall, cfunction_call
 *	torch::autograd::mm                torch::autograd::mm
 *
 * In a stack with Python frames, of modules that have the interpreter in them (MODULE_PYTHON)
 *
 *	before the first Python frame      all is hidden
 *	after it                           its evaluation loop and what calls functions
 *	                                   (python_calls.h); what it does for the program is shown
 *
 * An interpreter without symbols does not tell the one from the other. Its functions without a name
 * are one row (internals_nameless), where nothing but the interpreter, the C library and the kernel
 * is nearer to the leaf; elsewhere they are hidden, most of them call functions.
 *
 * Where such a module is not Python's own (python3, libpython3.11.so) but a program with the
 * interpreter linked in, only functions of Python's C API count as the interpreter's. What starts
 * the process or the thread is hidden where nothing but it and the interpreter lies between the
 * root and the first Python frame. Stacks without Python frames are shown whole, and notes always.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to the
 * reader.
 */
#pragma once

#include <stdbool.h>

#include "profile/reader.h"

/* Which frames are of a path. */
enum path_frames {
	PATH_PROGRAM, /* of Python's interpreter and of the libraries of GPU vendors none */
	PATH_SHOWN,   /* all that flame graphs show */
	PATH_FRAMES,
};

struct internals {
	const struct profile_reader *reader;
	uint8_t *modules;     /* by module */
	uint8_t *locations;   /* by location */
	uint8_t *stacks;      /* by stack node */
	uint32_t *programs;   /* by stack node: the nearest to it of the program's own; 0: none */
	uint32_t stack_count; /* 0: there are no Python frames in this profile */
	/* launch_path_merge's, by enum path_frames, once it was asked for; NULL: not yet */
	uint32_t **merged;
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
/*
 * All three: `node` is the stack's leaf or lies on the way from there to its root.
 */
/* Whether a stack is to be shown without the frame of `node`. */
bool internals_hide(const struct internals *i, uint32_t stack, uint32_t node);
/* Whether it is of the interpreter, hidden or not, or starts a stack that begins with Python. */
bool internals_inside(const struct internals *i, uint32_t stack, uint32_t node);
/* Whether nothing of the program's own is between the two. Stacks for which this is the same are
 * shown without the same frames of those from `node` to the root, if both have Python frames. */
bool internals_at_end(const struct internals *i, uint32_t stack, uint32_t node);

/* Whether a frame, where it is not hidden, stands for all functions of the interpreter that have no
 * name. */
bool internals_nameless(const struct internals *i, uint32_t node);
/* The one node of a stack for which that holds; 0: there is none. */
uint32_t internals_row(const struct internals *i, uint32_t stack);
