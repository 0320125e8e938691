/* SPDX-License-Identifier: MIT */
/*
 * The Python interpreter in one process image: begins when a file with an interpreter is mapped,
 * looks until it is set up, and then names its code. Belongs to struct process.
 */
#pragma once

#include "python/code.h"
#include "python/interpreter.h"
#include "python/memory.h"

struct interpreter {
	enum python_found state; /* 0: nothing is mapped that is an interpreter */
	uint64_t bias;		 /* of its file */
	struct python_file file;
	uint64_t next_ns; /* PYTHON_NOT_YET: when to look again */
	uint64_t pause_ns;
	uint32_t doubts;	   /* how many looks found it unusable */
	struct walk_python python; /* PYTHON_FOUND */
	struct python_code *code;  /* made when the first name is asked for */
};

/* A file was mapped that is an interpreter. The first one is used, unless it is found unusable. */
void interpreter_map(struct interpreter *i, const struct python_file *file, uint64_t bias);
/*
 * When it is time to, looks whether it is set up. True when this look decided it. A look that finds
 * it unusable need not be the last one: see interpreters.c.
 */
bool interpreter_look(struct interpreter *i, const struct python_memory *memory, uint64_t now_ns);
/* The interpreter of a forked child. */
struct interpreter interpreter_fork(const struct interpreter *parent);
/* As python_code_line. */
int interpreter_line(struct interpreter *i, const struct python_memory *memory,
	const struct walk_python_frame *frame, struct python_line *ret);
/* The image is gone. */
void interpreter_release(struct interpreter *i);
