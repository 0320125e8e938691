/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined functions, from DWARF by libdw.
 *
 * libdw maps the file and trusts it more than we do: use this only in a process that may crash
 * (symbolize/worker.h). Look addresses up in rising order: the tables of the last compilation unit
 * and function are cached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_file;

/* A function at an address, and where in it the address (or the call of the function inlined into
 * it) is. Texts are good until close; NULL: not known. */
struct dwarf_frame {
	const char *name; /* as linkers write it, where DWARF has that */
	const char *file;
	uint32_t line;
};

#define DWARF_FRAMES_MAX 64

/* Whether this build has libdw. */
bool dwarf_supported(void);
/* `fd` must stay open: 0, or -errno without text (-ENOENT: no DWARF). */
int dwarf_file_open(struct dwarf_file **ret, int fd);
void dwarf_file_close(struct dwarf_file *d);
/* How many compilation units were read since open: each keeps memory until close. */
unsigned int dwarf_file_units_used(const struct dwarf_file *d);
/* Fills in the functions at `vaddr`, the one that was not inlined first: how many, 0 when nothing
 * is known of the address; -EFBIG: the compilation unit has no end, or more than limits.h allows,
 * or -ENOMEM. */
int dwarf_file_frames(
	struct dwarf_file *d, uint64_t vaddr, struct dwarf_frame ret[DWARF_FRAMES_MAX]);
