// SPDX-License-Identifier: MIT
/* Replaces dwarf.c where libdw is missing. */
#include "elf/dwarf.h"

#include <errno.h>

bool dwarf_supported(void)
{
	return false;
}

int dwarf_file_open(struct dwarf_file **ret, int fd)
{
	return -ENOENT;
}

void dwarf_file_close(struct dwarf_file *d)
{
}

unsigned int dwarf_file_units_used(const struct dwarf_file *d)
{
	return 0;
}

int dwarf_file_frames(
	struct dwarf_file *d, uint64_t vaddr, struct dwarf_frame ret[DWARF_FRAMES_MAX])
{
	return 0;
}
