/* SPDX-License-Identifier: MIT */
/*
 * Gives names to the native locations of a profile: user code from ELF symbol tables, code made at
 * run time from the maps its compilers write for perf, kernel code from /proc/kallsyms; and, when
 * asked, source lines and inlined functions from DWARF.
 *
 * Runs at the end of a recording or on a finished profile, on a writer's own tables. A file is used
 * only when its build id is that of the module, or (neither having one) when it is provably the
 * one that was mapped: a name never comes from another file of the same name. What cannot be named
 * stays unnamed and is shown as module+0xaddress, with the beginning of its function where the file
 * has unwind information. Names are stored as linkers write them; views demangle.
 *
 * Files are opened and read in the processes of the sandbox, where there are any (name_files.h).
 * Else libraries that parse much untrusted data (libdw) run in a process of their own (worker.h),
 * which may crash, hang or be killed without harm; one that talks to servers (libdebuginfod) always
 * does.
 */
#pragma once

#include "elf/kept_files.h"
#include "profile/writer.h"
#include "sandbox/child.h"
#include "sandbox/opener.h"

struct symbolize_options {
	/* Processes of the sandbox, which nobody else asks meanwhile; NULL: we open and read. */
	struct child *opener, *reader;
	struct open_rights if_gone;    /* the opener's, for files whose user `kept` does not know */
	const struct kept_files *kept; /* NULL: none */
	const char *const *folders;    /* of debug files, beside /usr/lib/debug */
	size_t folder_count;
	bool inlines; /* lines and inlined functions, too */
	/* Locations before this one (an id) are left as they are; 0, 1: none is. */
	uint32_t first;
	/* the profile is of this boot: kernel addresses and files without build ids hold */
	bool same_boot;
	/* A file without build id must not have changed since (CLOCK_REALTIME); 0: since this
	 * program started. */
	uint64_t unchanged_since_ns;
	/* When perf maps of processes that are gone may have been written (CLOCK_REALTIME); 0, 0:
	 * only maps that `kept` knows count. */
	uint64_t maps_from_ns, maps_to_ns;
	/* How long servers may be asked for debug files ($DEBUGINFOD_URLS) and how long DWARF of
	 * one module may take; 0: not at all. */
	uint64_t servers_limit_ns, dwarf_limit_ns;
	/* When a location was first seen (CLOCK_MONOTONIC), at the latest; NULL: not known. */
	uint64_t (*seen_ns)(void *context, uint32_t location);
	const struct user *user; /* who asks servers; NULL: we do */
	/* /proc/kallsyms, opened with rights that we have no more; -1: it cannot be had, 0: it is
	 * opened by us. */
	int kernel_symbols;
	/* Any of these may be NULL. True: leave the rest, the user is waiting. */
	bool (*stopped)(void *context);
	/* Something slow begins: "asking for debug files, 3 of 17". */
	void (*progress)(void *context, const char *what);
	/* A module that was not found, and how many locations stay without a name for that
	 * reason. */
	void (*absent)(void *context, const char *path, uint64_t locations);
	/* The same for one that was found, without a table of symbols and without a debug file. */
	void (*stripped)(void *context, const char *path, uint64_t locations);
	/* And for code that a process made at run time, by what it seems to run, when half of it or
	 * more stays without. */
	void (*nameless_jit)(void *context, enum profile_runtime runtime, uint64_t locations);
	void *context;
};

struct symbolize_stats {
	uint64_t locations; /* native ones looked at */
	uint64_t named;
	uint64_t with_lines;	 /* got a source line */
	uint64_t modules_absent; /* file gone, replaced or unreadable; also a kernel that hides its
				    symbols */
	uint64_t dwarf_failed;	 /* modules whose DWARF was damaged or took too long */
	uint64_t fetched;	 /* debug files that servers had */
	bool stopped;
	/* names of code made at run time, of places where other code was later */
	uint64_t maybe_replaced;
};

/* Adds a symbol for every location that can be named and has no name yet (with `inlines`, lines for
 * every one that has none). 0 or -errno (short memory, writer failure); files that are missing or
 * damaged are counted, not errors. */
int symbolize_profile(
	struct profile_writer *w, const struct symbolize_options *o, struct symbolize_stats *ret);
