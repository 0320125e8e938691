/* SPDX-License-Identifier: MIT */
/*
 * The Python interpreter in one process image: begins when a file with an interpreter is mapped, is
 * looked at until it is set up, and then has names of its code (python_names.h). Belongs to struct
 * process.
 */
#pragma once

#include "python/code.h"
#include "python/interpreter.h"

struct interpreter {
	enum python_found state; /* 0: nothing is mapped that is an interpreter */
	uint64_t bias;		 /* of its file */
	struct python_file file;
	uint64_t next_ns; /* PYTHON_NOT_YET: when to look again */
	uint64_t pause_ns;
	uint32_t doubts;	   /* how many looks found it unusable */
	struct walk_python python; /* PYTHON_FOUND */
	struct python_code *code;  /* made when the first name is asked for; one reference */
	uint64_t asked;		   /* a look is under way: its tag; 0: none is */
	bool given_up;		   /* its memory is not read any more */
};

/* A file was mapped that is an interpreter. The first one is used, unless it is found unusable. */
void interpreter_map(struct interpreter *i, const struct python_file *file, uint64_t bias);
/* Whether it is time to look whether it is set up. */
bool interpreter_is_due(const struct interpreter *i, uint64_t now_ns);
/*
 * What a look found. True when this decided it. A look that finds it unusable need not be the last
 * one: see interpreters.c.
 */
bool interpreter_answer(struct interpreter *i, enum python_found found,
	const struct walk_python *python, uint64_t now_ns);
/* Nothing of it is read any more. */
void interpreter_give_up(struct interpreter *i);
/* The interpreter of a forked child. */
struct interpreter interpreter_fork(const struct interpreter *parent);
/* Its code objects, which stay its own; NULL: none can be known. 0 or -ENOMEM. */
int interpreter_code(struct interpreter *i, struct python_code **ret);
/* The image is gone. */
void interpreter_release(struct interpreter *i);
