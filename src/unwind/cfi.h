/* SPDX-License-Identifier: MIT */
/*
 * Makes the unwind table (walk/table.h) of an ELF file from its .eh_frame, or .debug_frame where there is none
 * (also from its separate debug file). The sections come from programs nobody vouches for: what is damaged is
 * left out, what cannot be expressed becomes WALK_CFA_UNSUPPORTED, and both are counted.
 */
#pragma once

#include "elf/elf_file.h"
#include "walk/table.h"

struct unwind_stats {
	uint64_t functions;   /* FDEs that were taken */
	uint64_t damaged;     /* and that were not */
	uint64_t unsupported; /* rows of a kind that walkers do not follow */
};

/* *ret_words: the table, to be freed; its size is in its header. 0; -ENODATA: the file has no unwind
 * information; or another -errno with error_text. `ret_stats` may be NULL. `path`: where `f` was opened. */
int unwind_build(struct elf_file *f, const char *path, uint32_t **ret_words, struct unwind_stats *ret_stats);
/* Whether `count` words are a table whose every index lies within it. */
bool unwind_table_is_sound(const uint32_t *words, uint64_t count);
