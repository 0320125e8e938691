/* SPDX-License-Identifier: MIT */
/*
 * Mini debug info: the section .gnu_debugdata, an xz-compressed ELF file with the symbols that
 * .dynsym has not (the GDB manual describes it; Fedora and its relatives ship it in every program).
 */
#pragma once

#include "elf/elf_file.h"

/* Opens what is in the section, decompressed: 0, -ENOMEM, or -ENOENT when there is none, when it is
 * damaged or larger than any program needs, and where xpuprof was built without liblzma. */
int mini_debug_open(struct elf_file **ret, struct elf_file *f);
/* Whether this build can read it. */
bool mini_debug_supported(void);
