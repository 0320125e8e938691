// SPDX-License-Identifier: MIT
#include "capture/own_code.h"

#include <link.h>

struct search {
	uintptr_t address;
	struct own_code *found;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || search->address < start ||
			search->address - start >= segment->p_filesz)
			continue;
		search->found->path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
		search->found->offset = search->address - start + segment->p_offset;
		return 1;
	}
	return 0;
}

bool own_code_find(struct own_code *ret, uintptr_t address)
{
	struct search search = {address, ret};

	return dl_iterate_phdr(look_into, &search);
}
