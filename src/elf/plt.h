/* SPDX-License-Identifier: MIT */
/*
 * Stubs of the procedure linkage table: the few instructions through which a call reaches a
 * function of another file. No symbol covers them; they get the name of what they lead to,
 * "malloc@plt".
 *
 * Only what look-ups need is kept of the tables; the elf_file must outlive it.
 */
#pragma once

#include "elf/elf_file.h"

struct plt;
struct elf_section;

/* Reads the file's relocations: 0, -ENOENT when it has no stubs or not those of x86-64, -EFBIG when
 * they are more than any real file has, or -ENOMEM. */
int plt_new(struct plt **ret, struct elf_file *f);
void plt_free(struct plt *p);

struct plt_stub {
	uint64_t start;
	uint64_t chooser; /* 0, or the vaddr of the IFUNC of this file that it leads to */
	const struct elf_section *symbols; /* else the symbol table, */
	uint32_t name;			   /* and the name in its strings */
};

/* The stub that covers `vaddr`; false when there is none. */
bool plt_find(const struct plt *p, uint64_t vaddr, struct plt_stub *ret);
