/* SPDX-License-Identifier: MIT */
/* Where a module's symbols are: its file, provably the one that was mapped, or its debug file. */
#pragma once

#include "base/vec.h"
#include "elf/elf_file.h"
#include "symbolize/symbolize.h"

struct found_module {
	struct elf_file *file;
	bool is_debug_file; /* addresses are those of `segments`, not of the file */
	char root[32];	    /* what search.root points to */
	char *path;	    /* as search.path */
	struct vec(struct profile_segment) segments; /* that the profile knows */
};

struct module_search {
	const struct symbolize_options *options;
	struct profile_writer *w;
	uint64_t unchanged_since_ns;
};

/*
 * Finds the file with the symbols of a module (MODULE_FILE, MODULE_VDSO); `debug_file` (may be
 * NULL) is one that a server sent. 0, -ENOMEM, or -ENOENT. Release it in any case.
 */
int find_module(struct found_module *ret, const struct module_search *s, uint32_t module,
	const char *debug_file);
void found_module_release(struct found_module *f);
/* The address that symbols count by, of an offset in the module: 0 or -ENOENT. */
int found_module_vaddr(const struct found_module *f, uint64_t offset, uint64_t *ret_vaddr);
