// SPDX-License-Identifier: MIT
/*
 * The hash table of exported symbols (.gnu.hash), 32-bit words but for the filter's, which are
 * addresses:
 *
 *	buckets | first symbol | filter words | filter shift | filter... | bucket... | chain...
 *
 * A bucket names the first symbol of its chain in .dynsym. Chains have one word for each symbol
 * from `first symbol` on: the hash of its name without the lowest bit, which is set at the end of
 * a chain. The filter only saves work, and a few reads are not much work.
 *
 * A file that has only the older .hash is searched from one end of .dynsym to the other.
 */
#include "elf/named.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_internal.h"

#define CHAIN_MAX	   512 /* symbols of one bucket; real ones have a few */
#define EXPORTED_NAMES_MAX ((uint64_t)64 << 20)

/* True when symbol `index` of the table is a defined one of this name. */
static bool symbol_is(const struct elf_section *table, const struct elf_strings *strings,
	uint64_t index, const char *name, struct elf_named *ret)
{
	size_t length = strlen(name) + 1;
	char text[256];
	Elf64_Sym s;

	if (!elf_read_symbol(strings->file, table, index, &s) || s.st_shndx == SHN_UNDEF ||
		s.st_name >= strings->size || strings->size - s.st_name < length ||
		length > sizeof(text) ||
		!elf_read_whole(strings->file, strings->offset + s.st_name, text, length) ||
		memcmp(text, name, length))
		return false;
	*ret = (struct elf_named){s.st_value, s.st_size};
	return true;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

static int find_by_hash(struct elf_file *f, const struct elf_section *hash,
	const struct elf_section *table, const struct elf_strings *strings, const char *name,
	struct elf_named *ret)
{
	uint32_t head[4], wanted = gnu_hash(name), symbol, word;
	uint64_t buckets, chains;

	if (hash->size < sizeof(head) || !elf_read_whole(f, hash->offset, head, sizeof(head)) ||
		!head[0])
		return -ENOENT;
	buckets = hash->offset + sizeof(head) + (uint64_t)head[2] * (f->is_64bit ? 8 : 4);
	chains = buckets + (uint64_t)head[0] * 4;
	if (!elf_read_whole(f, buckets + (uint64_t)(wanted % head[0]) * 4, &symbol, 4) ||
		symbol < head[1])
		return -ENOENT;
	for (int i = 0; i < CHAIN_MAX; i++, symbol++) {
		if (!elf_read_whole(f, chains + (uint64_t)(symbol - head[1]) * 4, &word, 4))
			return -ENOENT;
		if ((word | 1) == (wanted | 1) && symbol_is(table, strings, symbol, name, ret))
			return 0;
		if (word & 1)
			break;
	}
	return -ENOENT;
}

/* A pass over a symbol table, and what it looks for. */
struct pass {
	struct elf_file *f;
	const struct elf_section *table;
	const char *strings; /* ends in NUL */
	uint64_t strings_size;
	const char *prefix;
	size_t prefix_length;
	elf_named_visit visit;
	void *context;
};

static int visit_symbol(void *context, const Elf64_Sym *s)
{
	const struct pass *p = context;
	struct elf_named named = {s->st_value, s->st_size};

	if (s->st_shndx == SHN_UNDEF || s->st_name >= p->strings_size ||
		ELF64_ST_TYPE(s->st_info) == STT_SECTION)
		return 0;
	if (!strncmp(p->strings + s->st_name, p->prefix, p->prefix_length))
		p->visit(p->context, p->strings + s->st_name, &named);
	return 0;
}

static int each_of_table(struct pass *p, uint64_t names_max)
{
	struct elf_strings where;
	char *strings;
	int error = -EIO;

	if (!elf_strings_of(p->f, p->table, &where) || where.size > names_max)
		return -ENOENT;
	strings = malloc(where.size + 1);
	if (!strings)
		return -ENOMEM;
	if (elf_read_whole(p->f, where.offset, strings, where.size)) {
		strings[where.size] = 0;
		p->strings = strings;
		p->strings_size = where.size;
		error = elf_each_symbol(p->f, p->table, visit_symbol, p);
	}
	free(strings);
	return error == -EFBIG ? -ENOENT : error;
}

int elf_each_named(struct elf_file *f, const char *prefix, uint64_t names_max,
	elf_named_visit visit, void *context)
{
	struct pass p = {.f = f,
		.table = elf_find_section(f, SHT_SYMTAB),
		.prefix = prefix,
		.prefix_length = strlen(prefix),
		.visit = visit,
		.context = context};

	return each_of_table(&p, names_max);
}

struct exact_search {
	const char *name;
	struct elf_named found;
	bool is_found;
};

static void match_exactly(void *context, const char *name, const struct elf_named *s)
{
	struct exact_search *e = context;

	if (strcmp(name, e->name))
		return;
	e->found = *s;
	e->is_found = true;
}

int elf_find_exported(struct elf_file *f, const char *name, struct elf_named *ret)
{
	const struct elf_section *table = elf_find_section(f, SHT_DYNSYM);
	const struct elf_section *hash = elf_find_section(f, SHT_GNU_HASH);
	struct elf_strings strings;
	struct exact_search e = {.name = name};
	struct pass p = {.f = f,
		.table = table,
		.prefix = name,
		.prefix_length = strlen(name),
		.visit = match_exactly,
		.context = &e};

	if (!elf_strings_of(f, table, &strings))
		return -ENOENT;
	if (hash)
		return find_by_hash(f, hash, table, &strings, name, ret);
	if (each_of_table(&p, EXPORTED_NAMES_MAX) || !e.is_found)
		return -ENOENT;
	*ret = e.found;
	return 0;
}

int elf_section_named(struct elf_file *f, const char *name, struct elf_named *ret)
{
	uint64_t start, end;
	int error = elf_file_section_range(f, name, &start, &end);

	if (!error)
		*ret = (struct elf_named){start, end - start};
	return error;
}

int elf_read_vaddr(struct elf_file *f, uint64_t vaddr, void *ret, size_t size)
{
	vec_foreach (s, &f->segments) {
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		if (size > s->file_size - (vaddr - s->vaddr))
			return -ENOENT;
		return elf_read_whole(f, vaddr - s->vaddr + s->offset, ret, size) ? 0 : -ENOENT;
	}
	return -ENOENT;
}
