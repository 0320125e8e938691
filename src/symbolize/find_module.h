/* SPDX-License-Identifier: MIT */
/*
 * Where a module's symbols are: its file, provably the one that was mapped, or its debug file. It
 * is found by what it is asked first: the names of some places.
 */
#pragma once

#include "base/vec.h"
#include "symbolize/name_files.h"
#include "symbolize/symbolize.h"

struct found_module {
	int fd;			  /* -1: none was found */
	int debug_fd;		  /* of its separate debug file; -1: none */
	struct names_facts facts; /* of a debug file, addresses are those of `segments` */
	struct buf names; /* of the places that were asked for, behind the facts (elf/names.h) */
	char *path;	  /* where the program saw the file */
	struct vec(struct profile_segment) segments; /* that the profile knows */
};

struct module_search {
	const struct symbolize_options *options;
	struct profile_writer *w;
	struct name_files *files;
	uint64_t unchanged_since_ns;
};

/* Offsets in a module, rising. */
struct module_places {
	const uint64_t *offsets;
	size_t count;
};

/*
 * Finds the file with the symbols of a module (MODULE_FILE, MODULE_VDSO); `fetched` (may be NULL)
 * is the path of one that a server sent. `places` are PLACES_MAX at most. 0, -ENOMEM, or -ENOENT.
 * Release it in any case.
 */
int find_module(struct found_module *ret, const struct module_search *s, uint32_t module,
	const char *fetched, const struct module_places *places);
void found_module_release(struct found_module *f);
/* Asks it for more places: the answer replaces `names`. 0 or -errno. */
int found_module_ask(
	struct found_module *f, const struct module_search *s, const struct module_places *places);
/* The question for lines of places; `vaddrs` has room for them. */
struct names_question found_module_question(
	const struct found_module *f, const struct module_places *places, uint64_t *vaddrs);
