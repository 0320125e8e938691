/* SPDX-License-Identifier: MIT */
/* The vdso: the ELF image that the kernel maps into every process and that is in no file. */
#pragma once

#include "elf/elf_file.h"

/* Opens the one that process `pid` has mapped from `start` to `end`: 0 or -errno (the process is gone, or
 * not ours to look at). It stays readable when the process ends. */
int vdso_open(struct elf_file **ret, uint32_t pid, uint64_t start, uint64_t end);
/* Opens our own: 0 or -errno (-ENOENT: we have none). */
int vdso_open_own(struct elf_file **ret);
