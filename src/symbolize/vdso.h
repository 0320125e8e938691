/* SPDX-License-Identifier: MIT */
/* The vdso: the ELF image that the kernel maps into every process and that is in no file. */
#pragma once

#include "elf/elf_file.h"

/* Opens our own: 0 or -errno (-ENOENT: we have none). */
int vdso_open(struct elf_file **ret);
