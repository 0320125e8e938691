/* SPDX-License-Identifier: MIT */
/*
 * Gives names to the native locations of a profile: user code from ELF symbol tables, kernel code
 * from /proc/kallsyms.
 *
 * Runs at the end of a recording, on the writer's own tables. A file is used only when its build id
 * is that of the module, or (neither having one) when it has not changed since this program
 * started: a name never comes from another file of the same name. What cannot be named stays
 * unnamed and is shown as module+0xoffset. Names are stored as linkers write them; views demangle.
 */
#pragma once

#include "profile/writer.h"

struct symbolize_stats {
	uint64_t locations;      /* native ones looked at */
	uint64_t named;
	uint64_t modules_absent; /* file gone, replaced or unreadable; also a kernel that hides its
				    symbols */
};

/* Adds a symbol for every location that can be named and has no name yet. 0 or -errno (short
 * memory, writer failure); files that are missing or damaged are counted, not errors. */
int symbolize_profile(struct profile_writer *w, struct symbolize_stats *ret);
