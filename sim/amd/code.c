// SPDX-License-Identifier: MIT
/*
 * Code objects as AMD's compilers make them, as far as a profiler reads them: an ELF file with a
 * table of symbols. A kernel has two, its function and its description (".kd").
 *
 *	header | sections: none, symbols, names | symbols: none, function, description | names
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk.h"

#define SECTIONS   3
#define SYMBOLS	   3
#define NAME_BYTES 512

struct code {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[SYMBOLS];
	char names[1 + 2 * NAME_BYTES];
};

void *make_code(const char *kernel, size_t *ret_size)
{
	struct code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->header = (Elf64_Ehdr){.e_type = ET_DYN,
		.e_machine = 224,
		.e_shoff = offsetof(struct code, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS};
	memcpy(c->header.e_ident, ELFMAG, SELFMAG);
	c->header.e_ident[EI_CLASS] = ELFCLASS64;
	c->header.e_ident[EI_DATA] = ELFDATA2LSB;
	c->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
		.sh_offset = offsetof(struct code, symbols),
		.sh_size = sizeof(c->symbols),
		.sh_entsize = sizeof(Elf64_Sym),
		.sh_link = 2};
	c->sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct code, names),
		.sh_size = sizeof(c->names)};
	snprintf(c->names + 1, NAME_BYTES, "%s", kernel);
	snprintf(c->names + 1 + NAME_BYTES, NAME_BYTES, "%s.kd", kernel);
	c->symbols[1] = (Elf64_Sym){.st_name = 1 + NAME_BYTES,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		.st_value = SIM_CODE_BASE,
		.st_size = 64};
	c->symbols[2] = (Elf64_Sym){.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_value = SIM_CODE_FUNCTION,
		.st_size = SIM_CODE_BYTES};
	*ret_size = sizeof(*c);
	return c;
}

uint64_t code_function(const void *image, const char *name)
{
	const Elf64_Ehdr *h = image;
	const uint8_t *bytes = image;
	const Elf64_Shdr *sections = (const void *)(bytes + h->e_shoff);

	for (int n = 0; n < h->e_shnum; n++) {
		const Elf64_Sym *s = (const void *)(bytes + sections[n].sh_offset);
		const char *names = (const char *)bytes + sections[sections[n].sh_link].sh_offset;

		for (size_t i = 0;
			sections[n].sh_type == SHT_DYNSYM && i < sections[n].sh_size / sizeof(*s);
			i++)
			if (ELF64_ST_TYPE(s[i].st_info) == STT_FUNC &&
				!strcmp(names + s[i].st_name, name))
				return s[i].st_value;
	}
	return 0;
}
