/* SPDX-License-Identifier: MIT */
/*
 * Finds the Python interpreter in a process and where it keeps what the walkers read (walk/python.h).
 *
 * By content: a mapped file that defines _PyRuntime is an interpreter, whatever it is called. Its version comes from
 * the running process (Py_Version, or the text of Py_GetVersion), offsets from the runtime's own description where
 * there is one (_Py_DebugOffsets, 3.13 and later), else from a table that is then checked against the
 * process: a type object called "code", frames whose code objects are of that type, and so on. What does not
 * check is not walked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "walk/python.h"

/* What one ELF file says of it, for all processes that map it: kept by the caller for each module. */
struct python_file {
	uint64_t runtime;         /* _PyRuntime, as virtual addresses of the file; 0: the file is no interpreter */
	uint64_t version_address; /* Py_Version; 0: none */
	uint64_t get_version;     /* Py_GetVersion; 0: none */
	struct walk_range loops[WALK_LOOP_RANGES];
	uint32_t version_hint; /* from names and texts in the file; 0: none */
};

struct elf_file;

/* 0, also for files that are no interpreters, or -errno with error_text. */
int python_file_inspect(struct elf_file *f, struct python_file *ret);

enum python_found {
	PYTHON_FOUND = 1,
	PYTHON_NOT_YET,     /* the interpreter has not been set up so far: ask again */
	PYTHON_UNSUPPORTED, /* a version, or a layout, that we do not know; *ret->version may say which */
};

/* The interpreter in process `pid`, whose file is mapped with this bias (address less virtual address). Reads the
 * process's memory. */
enum python_found python_find(uint32_t pid, const struct python_file *file, uint64_t bias, struct walk_python *ret);
