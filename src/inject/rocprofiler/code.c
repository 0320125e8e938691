// SPDX-License-Identifier: MIT
/* Everything is checked before it is used: sizes and places in the image are the program's. */
#include "inject/rocprofiler/code.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EM_AMD_GPU 224 /* EM_AMDGPU, which only newer elf.h have */
#define NAME_BYTES 4096u

struct image {
	const uint8_t *data;
	size_t size;
};

static bool has(const struct image *m, uint64_t at, uint64_t size)
{
	return at <= m->size && size <= m->size - at;
}

static bool read_at(const struct image *m, uint64_t at, void *ret, size_t size)
{
	if (!has(m, at, size))
		return false;
	memcpy(ret, m->data + at, size);
	return true;
}

static bool read_section(const struct image *m, const Elf64_Ehdr *h, uint32_t n, Elf64_Shdr *ret)
{
	return n < h->e_shnum && h->e_shentsize == sizeof(*ret) && h->e_shoff < m->size &&
	       read_at(m, h->e_shoff + (uint64_t)n * sizeof(*ret), ret, sizeof(*ret)) &&
	       (ret->sh_type == SHT_NOBITS || has(m, ret->sh_offset, ret->sh_size));
}

/* Stripped ones have that of the dynamic linker only. */
static bool find_symbols(const struct image *m, const Elf64_Ehdr *h, Elf64_Shdr *ret)
{
	bool found = false;
	Elf64_Shdr s;

	for (uint32_t n = 0; n < h->e_shnum; n++) {
		if (!read_section(m, h, n, &s) || s.sh_entsize != sizeof(Elf64_Sym) ||
			(s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM))
			continue;
		if (!found || s.sh_type == SHT_SYMTAB)
			*ret = s;
		found = true;
	}
	return found;
}

/* NULL: it does not end in its table, or is too long. */
static const char *name_at(const struct image *m, const Elf64_Shdr *names, uint32_t at)
{
	const char *name = (const char *)m->data + names->sh_offset + at;
	uint64_t left = at < names->sh_size ? names->sh_size - at : 0;

	if (left > NAME_BYTES)
		left = NAME_BYTES;
	return left && *name && memchr(name, 0, left) ? name : NULL;
}

static int by_address(const void *a_, const void *b_)
{
	const struct code_function *a = a_, *b = b_;

	return a->address < b->address ? -1 : a->address > b->address;
}

size_t code_functions(const void *data, size_t size, struct code_function *ret, size_t room)
{
	const struct image m = {data, size};
	Elf64_Shdr symbols, names;
	size_t found = 0;
	Elf64_Ehdr h;
	Elf64_Sym s;

	if (!read_at(&m, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
		h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_AMD_GPU ||
		!find_symbols(&m, &h, &symbols) || !read_section(&m, &h, symbols.sh_link, &names) ||
		names.sh_type != SHT_STRTAB)
		return 0;
	for (uint64_t n = 0; n < symbols.sh_size / sizeof(s) && found < room; n++) {
		memcpy(&s, m.data + symbols.sh_offset + n * sizeof(s), sizeof(s));
		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !s.st_size ||
			!name_at(&m, &names, s.st_name))
			continue;
		ret[found++] = (struct code_function){.address = s.st_value,
			.size = s.st_size,
			.index = (uint32_t)n,
			.name = name_at(&m, &names, s.st_name)};
	}
	qsort(ret, found, sizeof(*ret), by_address);
	return found;
}
