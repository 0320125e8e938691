/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files: where distributions keep the symbols they strip from programs.
 *
 * A file is accepted only when it provably belongs: by equal build ids, or (without build ids) by
 * the checksum in .gnu_debuglink.
 */
#pragma once

#include "elf/elf_file.h"

/* The folder that build ids are looked up in. */
#define DEBUG_FILE_ROOT "/usr/lib/debug"

/* Opens the debug file of `f`, by f's search: 0 or -ENOENT. */
int debug_file_open(struct elf_file **ret, struct elf_file *f);

/* Opens what the folders of the search have under a build id: with `debug` a separate debug file,
 * else the program itself (which some distributions link there). 0 or -ENOENT. */
int debug_file_by_build_id(struct elf_file **ret, const uint8_t *id, size_t size,
	const struct debug_search *search, bool debug);
