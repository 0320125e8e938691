/* SPDX-License-Identifier: MIT */
/*
 * CPU time by function: how much of it was spent in each function itself, and how much in it and
 * what it called.
 *
 * Functions are those that flame graphs of CPU time show: without what runs Python
 * code (internals.h), with inlined functions if asked for, with the kernel's, and with notes
 * ("[incomplete stack: ...]", "[no stack]", "[no sample]") as if they were functions. A function is identified by
 * its name and its file: two functions of one name in two files are two.
 *
 * stack_sums are added to event by event; the functions follow after the last event, when names are
 * final. One pass over the nodes of all stacks, however many samples there are. Owned by the
 * caller; the functions hold on to the reader.
 */
#pragma once

#include "base/intern.h"
#include "base/vec.h"
#include "view/names/internals.h"
#include "view/names/location_text.h"

struct stack_sum {
	uint64_t samples;
	uint64_t ns;
};

/* Samples by stack; those without one are of stack 0. */
struct stack_sums {
	uint64_t unsampled_ns
		[SAMPLE_KINDS]; /* of samples that are none; by enum profile_sample_kind */
	struct stack_sum *items;
	uint32_t count; /* stacks from here on have none */
};

/* 0 or -ENOMEM. The caller sees to it that all times together fit 64 bits. */
int stack_sums_add(struct stack_sums *s, uint32_t stack, uint64_t ns);
void stack_sums_release(struct stack_sums *s);

struct function_sum {
	const char *name; /* as location_text has it: "forward (train.py)", "math::step(int)" */
	/* the whole path: of Python's the source file, of others the module; "[kernel]"; "" */
	const char *file;
	enum tree_kind kind;
	uint32_t nameless;     /* the module of native code of which the recording has no name; 0 */
	struct stack_sum self; /* it was the innermost function */
	struct stack_sum total; /* it was among the functions, once or several times */
	/* The way to it with most of its own time, a stack that ends at its caller (0: there is
	 * none), and that time: of all stacks through the same functions, however often one of them
	 * calls itself. Callers in the kernel are no part of it. */
	uint32_t stack;
	uint64_t stack_ns;
};

struct function_sums {
	/* the most time of their own first, then in all, then by name */
	struct vec(struct function_sum) rows;
	struct interner *names;
};

/* 0 or -errno with error_text; `f` comes zeroed, and is to be released in either case. */
int function_sums_read(struct function_sums *f, const struct stack_sums *stacks,
	const struct internals *internals, const struct location_texts *texts, bool inlines);
void function_sums_release(struct function_sums *f);
