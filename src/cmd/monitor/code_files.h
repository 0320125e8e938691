/* SPDX-License-Identifier: MIT */
/*
 * Names of code in files that processes map. They may be anybody's, so other processes open and
 * read them (sandbox/sandbox.h), which live as long as this. Where those cannot begin it is done
 * here, with our rights, and code_files_refusal says so.
 *
 * A file that could not be read (it ended a process, or held one up) is not asked about again, and
 * what all of them may cost is bounded (sandbox/limits.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/proc_text.h"

struct code_files;

struct code_place {
	uint64_t offset; /* in the file */
	char *name;	 /* of the function; NULL: not known. The caller's. */
	/* In the function. Where that is not known: in the file, as an address, as addr2line takes
	 * it; where the file cannot be read: the offset. */
	uint64_t at;
};

/* `program` is executed as in sandbox/child.h; NULL: all is done here. 0 or -ENOMEM with
 * error_text. */
int code_files_new(const char *program, struct code_files **ret);
void code_files_free(struct code_files *c);
/* Why its processes could not begin; NULL: they could, or there are to be none. */
const char *code_files_refusal(const struct code_files *c);
/* Files that could not be read: hostile, damaged or too slow ones. */
uint64_t code_files_unreadable(const struct code_files *c);
/* Looks for names of places in the file of a mapping, at most PLACES_MAX (sandbox/reader.h); has
 * them sorted by offset. */
void code_files_name(struct code_files *c, uint32_t pid, const struct proc_mapping *m,
	struct code_place **places, size_t count);
