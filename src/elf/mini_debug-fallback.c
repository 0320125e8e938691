// SPDX-License-Identifier: MIT
/* Replaces mini_debug.c where liblzma is missing. */
#include "elf/mini_debug.h"

#include <errno.h>

int mini_debug_open(struct elf_file **ret, struct elf_file *f)
{
	return -ENOENT;
}

bool mini_debug_supported(void)
{
	return false;
}
