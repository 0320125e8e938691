// SPDX-License-Identifier: MIT
/*
 * The headers of the image are copied into a table of sections once, with every range checked
 * against the image.
 */
#include "gpucode/code_elf.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* names overlap in no string table so much as to be longer together */
#define NAMES_PER_TABLE_MAX 4

static bool read_at(const struct code_elf *e, uint64_t offset, void *ret, size_t size)
{
	if (offset > e->size || size > e->size - offset)
		return false;
	memcpy(ret, e->image + offset, size);
	return true;
}

struct code_bytes code_elf_bytes(const struct code_elf *e, size_t section)
{
	const struct code_section *s;

	if (section >= e->sections.count)
		return (struct code_bytes){0};
	s = &e->sections.items[section];
	return (struct code_bytes){s->stored ? e->image + s->offset : NULL, s->stored};
}

size_t code_elf_named(const struct code_elf *e, const char *name)
{
	vec_foreach (s, &e->sections)
		if (s->stored && !strcmp(s->name, name))
			return (size_t)(s - e->sections.items);
	return 0;
}

struct code_bytes code_elf_strings(const struct code_elf *e, size_t section)
{
	struct code_bytes table = code_elf_bytes(e, section);
	const uint8_t *end = table.size ? memrchr(table.data, 0, table.size) : NULL;

	table.size = end ? (size_t)(end - table.data) + 1 : 0;
	return table;
}

const char *code_string(struct code_bytes table, uint64_t offset)
{
	return offset < table.size ? (const char *)table.data + offset : NULL;
}

static int read_header(const struct code_elf *e, const struct code_elf_kind *kind, Elf64_Ehdr *ret)
{
	if (e->size < SELFMAG || memcmp(e->image, ELFMAG, SELFMAG))
		return error_set(-ENOEXEC, "not a %s: no ELF image", kind->name);
	if (!read_at(e, 0, ret, sizeof(*ret)))
		return error_set(-EINVAL, "a %s ends in its header", kind->name);
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(-ENOEXEC, "not a %s of 64 bits", kind->name);
	if (ret->e_machine != kind->machine)
		return error_set(-ENOEXEC, "not a %s: an ELF image for machine %u", kind->name,
			ret->e_machine);
	if (ret->e_shentsize != sizeof(Elf64_Shdr))
		return error_set(-EINVAL, "a %s has section headers of %u bytes", kind->name,
			ret->e_shentsize);
	return 0;
}

/* Numbers that do not fit the ELF header are in the first section header. */
static int count_sections(const struct code_elf *e, const struct code_elf_kind *kind,
	const Elf64_Ehdr *h, uint64_t *ret_count, uint64_t *ret_names)
{
	Elf64_Shdr first;
	uint64_t count = h->e_shnum, names = h->e_shstrndx;

	if (!read_at(e, h->e_shoff, &first, sizeof(first)))
		return error_set(-EINVAL, "a %s has no section headers", kind->name);
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!count || count > (e->size - h->e_shoff) / sizeof(first))
		return error_set(-EINVAL, "a %s ends in its section headers", kind->name);
	*ret_count = count;
	*ret_names = names;
	return 0;
}

static void add_section(struct code_elf *e, const Elf64_Shdr *h)
{
	struct code_section *s = &e->sections.items[e->sections.count++];

	*s = (struct code_section){
		.offset = h->sh_offset,
		.size = h->sh_size,
		.address = h->sh_addr,
		.name = "",
		.type = h->sh_type,
		.link = h->sh_link,
		.info = h->sh_info,
		.flags = h->sh_flags,
	};
	if (h->sh_type == SHT_NULL || h->sh_type == SHT_NOBITS)
		return;
	if (h->sh_offset > e->size || h->sh_size > e->size - h->sh_offset)
		e->damaged++;
	else
		s->stored = h->sh_size;
}

static void name_sections(struct code_elf *e, const Elf64_Ehdr *h, struct code_bytes table)
{
	Elf64_Shdr header;

	for (uint64_t i = 0; i < e->sections.count; i++) {
		const char *name;

		(void)read_at(e, h->e_shoff + i * sizeof(header), &header, sizeof(header));
		name = code_string(table, header.sh_name);
		if (name)
			e->sections.items[i].name = name;
		else
			e->damaged++;
	}
}

/* Once: there may be as many sections as symbols. */
static void find_section_table(struct code_elf *e)
{
	for (size_t i = 0; i < e->sections.count && !e->section_table; i++)
		if (e->sections.items[i].type == SHT_SYMTAB_SHNDX &&
			e->sections.items[i].link == e->symbol_table)
			e->section_table = i;
}

static int read_sections(struct code_elf *e, const struct code_elf_kind *kind, const Elf64_Ehdr *h)
{
	uint64_t count = 0, names = 0;
	Elf64_Shdr header;
	int error = count_sections(e, kind, h, &count, &names);

	if (error)
		return error;
	if (vec_reserve(&e->sections, count))
		return error_errno(-ENOMEM, "cannot read a %s", kind->name);
	for (uint64_t i = 0; i < count; i++) {
		(void)read_at(e, h->e_shoff + i * sizeof(header), &header, sizeof(header));
		add_section(e, &header);
		if (header.sh_type == SHT_SYMTAB && !e->symbol_table)
			e->symbol_table = i;
	}
	find_section_table(e);
	name_sections(e, h, code_elf_strings(e, names));
	return 0;
}

int code_elf_init(struct code_elf *e, const void *image, size_t size,
	const struct code_elf_kind *kind, Elf64_Ehdr *ret)
{
	int error;

	*e = (struct code_elf){.image = image, .size = size};
	error = read_header(e, kind, ret);
	return error ?: read_sections(e, kind, ret);
}

void code_elf_release(struct code_elf *e)
{
	vec_release(&e->sections);
}

bool code_elf_symbol(const struct code_elf *e, uint64_t i, Elf64_Sym *ret)
{
	struct code_bytes table = code_elf_bytes(e, e->symbol_table);

	if (!e->symbol_table || i >= table.size / sizeof(*ret))
		return false;
	memcpy(ret, table.data + i * sizeof(*ret), sizeof(*ret));
	return true;
}

/* Indices that do not fit the symbol have a table of their own. */
uint32_t code_elf_symbol_section(const struct code_elf *e, uint64_t i, const Elf64_Sym *s)
{
	const struct code_section *section;
	uint32_t index;

	if (s->st_shndx != SHN_XINDEX)
		return s->st_shndx < SHN_LORESERVE ? s->st_shndx : 0;
	section = &e->sections.items[e->section_table];
	if (!e->section_table || section->link != e->symbol_table ||
		i >= section->stored / sizeof(index))
		return 0;
	memcpy(&index, e->image + section->offset + i * sizeof(index), sizeof(index));
	return index;
}

bool code_elf_position(
	const struct code_elf *e, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset)
{
	Elf64_Sym s;
	uint32_t section;

	if (!code_elf_symbol(e, symbol, &s))
		return false;
	section = code_elf_symbol_section(e, symbol, &s);
	if (!section || section >= e->sections.count)
		return false;
	*ret_section = section;
	*ret_offset = s.st_value;
	return true;
}

struct code_names code_elf_names(const struct code_elf *e)
{
	struct code_names names = {0};

	if (e->symbol_table)
		names.table = code_elf_strings(e, e->sections.items[e->symbol_table].link);
	names.room = names.table.size * NAMES_PER_TABLE_MAX;
	return names;
}

const char *code_names_next(struct code_names *names, const Elf64_Sym *s)
{
	const char *name = code_string(names->table, s->st_name);
	size_t length = name ? strnlen(name, names->room) : 0;

	if (!name)
		return NULL;
	/* It may be asked for again and again. */
	if (length >= names->room) {
		names->room = 0;
		return NULL;
	}
	names->room -= length;
	return name;
}
