/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files: where distributions keep the symbols they strip from programs.
 *
 * A file is taken only when it provably belongs: by equal build ids, or (without build ids) by the
 * checksum in .gnu_debuglink.
 */
#pragma once

#include "elf/elf_file.h"

/* The folder that build ids are looked up in. */
#define DEBUG_FILE_ROOT "/usr/lib/debug"

/* Opens the debug file of `f`, which was opened at `path`: 0 or -ENOENT. */
int debug_file_open(struct elf_file **ret, struct elf_file *f, const char *path);
