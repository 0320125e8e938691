/* SPDX-License-Identifier: MIT */
/* The unlikely part of a function, which compilers put away from the rest of it, in a file without
 * symbol table. */
#pragma once

#include "walk/frame.h"

struct elf_file;

/* The part that belongs to the function at `body`: 0 (an empty range: there is none, or it was
 * not found) or -ENOMEM. Without a size of body (end not above start) the size is set too. */
int python_cold_part(struct elf_file *f, struct walk_range *body, struct walk_range *ret);
