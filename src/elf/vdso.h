/* SPDX-License-Identifier: MIT */
/*
 * The vdso: the ELF image that the kernel maps into every process and that is in no file. All
 * 64-bit processes of a machine have the same one; those with 32-bit addresses have others.
 */
#pragma once

#include "elf/elf_file.h"

/* Opens our own: 0 or -errno (-ENOENT: we have none). */
int vdso_open(struct elf_file **ret);
/* True for the vdso of a process with 64-bit addresses, by where it is mapped. */
static inline bool vdso_is_64bit(uint64_t start)
{
	return start > UINT32_MAX;
}
