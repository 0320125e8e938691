/* SPDX-License-Identifier: MIT */
/*
 * Finds the Python interpreter in a process and where it keeps what the walkers read
 * (walk/python.h).
 *
 * By content: a mapped file that defines _PyRuntime is an interpreter, whatever it is called. Its
 * version comes from the running process (Py_Version, or what the runtime says of itself) or,
 * before 3.11, from which functions the file has; offsets from the runtime's own description where
 * there is one (_Py_DebugOffsets, 3.13 and later), else from a table. Then they are checked against
 * the process: its threads must be found through them by their thread-specific data, and what runs
 * on them must be objects of a type called "code". What does not check is not walked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "walk/python.h"

/* What one ELF file holds about it, for all processes that map it: kept by the caller for each
 * module. Addresses are virtual addresses of the file. */
struct python_file {
	uint64_t runtime;	  /* _PyRuntime; 0: the file is no interpreter */
	uint64_t runtime_bytes;	  /* its size; 0: not known */
	uint64_t version_address; /* Py_Version; 0: none */
	uint64_t get_state;	  /* PyGILState_GetThisThreadState; 0: none */
	uint32_t version_hint;	  /* by the functions it has: 3.8, 3.9, 3.10 or 0 */
	/* _PyEval_EvalFrameDefault and its unlikely part. */
	struct walk_range loops[WALK_LOOP_RANGES];
};

struct elf_file;

/* 0, also for files that are no interpreters, or -errno with error_text. */
int python_file_inspect(struct elf_file *f, struct python_file *ret);

enum python_found {
	PYTHON_FOUND = 1,
	PYTHON_NOT_YET, /* the interpreter has not been set up so far, or is gone already: ask again
			 */
	PYTHON_UNSUPPORTED, /* a version, a layout or a C library that we do not know; ret->version
			       may say which */
};

struct python_memory;

/* The interpreter in this memory, whose file is mapped with this bias (address less virtual
 * address). Reads the process's memory, some dozen times; a process that is stopped gives the same
 * answer as one that runs. */
enum python_found python_find(const struct python_memory *m, const struct python_file *file,
	uint64_t bias, struct walk_python *ret);
/* The thread pointer of the thread with this number (as its own namespace counts), if the
 * interpreter lists it; else 0. */
uint64_t python_find_thread(
	const struct python_memory *m, const struct walk_python *python, uint32_t tid);
