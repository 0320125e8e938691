/* SPDX-License-Identifier: MIT */
/*
 * What the files say that a program has mapped: where functions begin, and where code ends. Such
 * files belong to strangers, so that the one that joins neither opens nor reads them: it asks two
 * processes of the sandbox (sandbox/sandbox.h), which begin here and end with it. Where they cannot
 * begin it does the same work itself, as the recorder does then (capture/files.h).
 *
 * Each question is waited for, all of them together for ten seconds. What is answered is sound
 * (code_facts_are_sound), and need not be true.
 */
#pragma once

#include "sandbox/opener.h"
#include "sandbox/reader.h"

struct subject_files;

/* Names of functions that are looked for, at most FUNCTIONS_MAX, each with a NUL behind. */
struct function_names {
	const char *text;
	size_t size;
	uint32_t count;
};

/* `program` is executed for the processes; NULL: there are none. It is borrowed. NULL: memory is
 * short. */
struct subject_files *subject_files_new(const char *program);
/* NULL is fine. */
void subject_files_free(struct subject_files *f);

/* Both: 0 or -errno, without text. The program that a process runs, also when its file is gone. */
int subject_files_of_program(struct subject_files *f, uint32_t pid,
	const struct function_names *names, struct opened *ret_opened, struct code_facts *ret);
/* The file of a mapping: that one, if it may be opened by itself, or the file of the path, if it is
 * the same. */
int subject_files_of_mapping(struct subject_files *f, const struct open_mapped *mapped,
	const char *path, const struct function_names *names, struct code_facts *ret);
