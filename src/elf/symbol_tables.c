// SPDX-License-Identifier: MIT
/* Tables of symbols, of both classes of files. They are read in pieces and dropped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_internal.h"
#include "elf/limits.h"

#define SYMBOLS_AT_ONCE 8192

static size_t symbol_size(const struct elf_file *f)
{
	return f->is_64bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static Elf64_Sym decode(const struct elf_file *f, const char *bytes)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (f->is_64bit) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return (Elf64_Sym){.st_name = narrow.st_name,
		.st_info = narrow.st_info,
		.st_other = narrow.st_other,
		.st_shndx = narrow.st_shndx,
		.st_value = narrow.st_value,
		.st_size = narrow.st_size};
}

int elf_each_symbol(
	struct elf_file *f, const struct elf_section *table, elf_symbol_visit visit, void *context)
{
	size_t entry = symbol_size(f);
	uint64_t left = table->size / entry, at = table->offset;
	char *piece;
	int result = 0;

	if (left > ELF_SYMBOLS_MAX) {
		f->too_large = true;
		return -EFBIG;
	}
	piece = malloc(SYMBOLS_AT_ONCE * entry);
	if (!piece)
		return -ENOMEM;
	while (!result && left) {
		size_t count = left < SYMBOLS_AT_ONCE ? (size_t)left : SYMBOLS_AT_ONCE;
		ssize_t got = elf_read(f, at, piece, count * entry);

		if (got < (ssize_t)entry)
			break;
		count = (size_t)got / entry;
		for (size_t i = 0; !result && i < count; i++) {
			Elf64_Sym s = decode(f, piece + i * entry);

			result = visit(context, &s);
		}
		left -= count;
		at += count * entry;
	}
	free(piece);
	return result;
}

bool elf_read_symbol(
	struct elf_file *f, const struct elf_section *table, uint64_t index, Elf64_Sym *ret)
{
	size_t size = symbol_size(f);
	char bytes[sizeof(Elf64_Sym)];

	if (index >= table->size / size ||
		!elf_read_whole(f, table->offset + index * size, bytes, size))
		return false;
	*ret = decode(f, bytes);
	return true;
}

bool elf_strings_of(struct elf_file *f, const struct elf_section *table, struct elf_strings *ret)
{
	const struct elf_section *s;

	if (!table || table->link >= f->sections.count)
		return false;
	s = &f->sections.items[table->link];
	if (s->type != SHT_STRTAB || !s->size)
		return false;
	*ret = (struct elf_strings){f, s->offset, s->size};
	return true;
}
