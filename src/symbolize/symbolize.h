/* SPDX-License-Identifier: MIT */
/*
 * Gives names to the native locations of a profile: user code from ELF symbol tables, kernel code from
 * /proc/kallsyms.
 *
 * Runs at the end of a recording, on the writer's own tables. A file is used only when its build id (or,
 * without one, its identity when it was mapped) is that of the module: a name never comes from another
 * file of the same name. What cannot be named stays unnamed and is shown as module+0xoffset.
 */
#pragma once

#include "profile/writer.h"

struct symbolize_stats {
	uint64_t locations;      /* native ones looked at */
	uint64_t named;
	uint64_t modules_absent; /* file gone, replaced or unreadable */
};

/* Adds a symbol for every location that can be named. 0 or -errno (short memory, writer failure); files
 * that are missing or damaged are counted, not errors. */
int symbolize_profile(struct profile_writer *w, struct symbolize_stats *ret);
