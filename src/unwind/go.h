/* SPDX-License-Identifier: MIT */
/*
 * Unwind information of Go's functions, which Go programs have for their runtime, stripped or not:
 * it tells more than .debug_frame, as where a stack begins, and which functions change to another.
 */
#pragma once

#include "elf/elf_file.h"
#include "unwind/table.h"

/* To be called before other information is added, which it then replaces: 0 or -errno. */
int go_add(struct elf_file *f, struct table_builder *b);
