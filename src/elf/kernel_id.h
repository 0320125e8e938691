/* SPDX-License-Identifier: MIT */
/* Which kernel this is: the build id among the notes that it shows in /sys/kernel/notes. */
#pragma once

#include "elf/elf_file.h"

/* Its size in bytes; 0 when the kernel shows none. */
size_t kernel_build_id(uint8_t ret_id[ELF_BUILD_ID_MAX]);
/* The number of this boot, which identifies one kernel at one address in memory; "" if unknown. */
void kernel_boot_id(char ret_id[40]);
