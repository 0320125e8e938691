/* SPDX-License-Identifier: MIT */
/*
 * Makes the unwind table (walk/table.h) of an ELF file from its .eh_frame and .debug_frame (the
 * latter also from its separate debug file; where both describe a function, .eh_frame holds), of
 * Go's functions from Go's own table (go.h), and for some code that none describes (uncovered.h).
 * The sections are untrusted: damaged entries are left out, rules that cannot be expressed become
 * WALK_CFA_UNSUPPORTED, and both are counted.
 *
 * Any thread, one at a time for each elf_file.
 */
#pragma once

#include "elf/elf_file.h"
#include "walk/table.h"

struct unwind_stats {
	uint64_t functions;   /* FDEs that were used */
	uint64_t damaged;     /* and that were not */
	uint64_t elsewhere;   /* for code that is not in the file: linkers leave those of dropped
				 functions */
	uint64_t unsupported; /* rows of a kind that walkers do not follow */
};

/* *ret_words: the table, to be freed; its size is in its header. 0; -ENODATA: the file has no
 * unwind information; or another -errno; all with error_text. `ret_stats` may be NULL. */
int unwind_build(struct elf_file *f, uint32_t **ret_words, struct unwind_stats *ret_stats);
/* Whether `count` words are a table whose every index lies within it. */
bool unwind_table_is_sound(const uint32_t *words, uint64_t count);
