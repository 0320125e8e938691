// SPDX-License-Identifier: MIT
#include "ebpf/image.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define SYMBOLS_MAX  65536
#define SECTIONS_MAX 4096

static bool read_at(const struct ebpf_image *image, uint64_t offset, void *ret, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	memcpy(ret, image->data + offset, size);
	return true;
}

/* A text of a string table, which ends with a NUL, or "". */
static const char *string_at(const struct ebpf_section *table, uint64_t offset)
{
	if (!table->has_bytes || offset >= table->size || table->data[table->size - 1])
		return "";
	return (const char *)table->data + offset;
}

static int read_header(const struct ebpf_image *image, Elf64_Ehdr *ret)
{
	if (!read_at(image, 0, ret, sizeof(*ret)) || memcmp(ret->e_ident, ELFMAG, SELFMAG))
		return error_set(-ENOEXEC, "not an eBPF object: no ELF file");
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(
			-ENOEXEC, "not an eBPF object of 64 bits whose lowest byte is first");
	if (ret->e_machine != EM_BPF)
		return error_set(
			-ENOEXEC, "not an eBPF object: an ELF file for machine %u", ret->e_machine);
	if (ret->e_type != ET_REL)
		return error_set(-ENOEXEC, "not an eBPF object: it is linked");
	if (ret->e_shentsize != sizeof(Elf64_Shdr) || !ret->e_shnum)
		return error_set(-ENOEXEC, "an eBPF object has no sections");
	if (ret->e_shnum > SECTIONS_MAX)
		return error_set(-E2BIG, "an eBPF object has more than %d sections", SECTIONS_MAX);
	return 0;
}

static int add_section(struct ebpf_image *image, const Elf64_Shdr *h)
{
	struct ebpf_section s = {
		.name = "",
		.size = h->sh_size,
		.type = h->sh_type,
		.link = h->sh_link,
		.info = h->sh_info,
		.is_code = h->sh_type == SHT_PROGBITS && h->sh_flags & SHF_EXECINSTR,
	};

	if (h->sh_type != SHT_NOBITS && h->sh_type != SHT_NULL) {
		if (h->sh_offset > image->size || h->sh_size > image->size - h->sh_offset)
			return error_set(-EINVAL, "section %zu of an eBPF object is cut off",
				image->sections.count);
		s.has_bytes = true;
		s.data = image->data + h->sh_offset;
	}
	return vec_push(&image->sections, s);
}

static int read_sections(struct ebpf_image *image, const Elf64_Ehdr *h)
{
	Elf64_Shdr s;
	int error = 0;

	for (size_t i = 0; !error && i < h->e_shnum; i++) {
		if (!read_at(image, h->e_shoff + i * sizeof(s), &s, sizeof(s)))
			return error_set(-EINVAL, "an eBPF object ends in its section headers");
		error = add_section(image, &s);
	}
	if (error || h->e_shstrndx >= image->sections.count)
		return error;
	for (size_t i = 0; i < h->e_shnum; i++) {
		(void)read_at(image, h->e_shoff + i * sizeof(s), &s, sizeof(s));
		image->sections.items[i].name =
			string_at(&image->sections.items[h->e_shstrndx], s.sh_name);
	}
	return 0;
}

static int add_symbols(struct ebpf_image *image, const struct ebpf_section *table)
{
	size_t count = table->size / sizeof(Elf64_Sym);
	const struct ebpf_section *names;

	if (table->link >= image->sections.count || count > SYMBOLS_MAX)
		return error_set(-EINVAL, "an eBPF object has a damaged symbol table");
	names = &image->sections.items[table->link];
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym s;
		struct ebpf_symbol symbol;

		memcpy(&s, table->data + i * sizeof(s), sizeof(s));
		symbol = (struct ebpf_symbol){
			.name = string_at(names, s.st_name),
			.value = s.st_value,
			.size = s.st_size,
			.section = s.st_shndx < image->sections.count ? s.st_shndx : 0,
			.type = ELF64_ST_TYPE(s.st_info),
			.binding = ELF64_ST_BIND(s.st_info),
		};
		if (vec_push(&image->symbols, symbol))
			return -ENOMEM;
	}
	return 0;
}

static int read_symbols(struct ebpf_image *image)
{
	vec_foreach (s, &image->sections)
		if (s->type == SHT_SYMTAB && s->has_bytes)
			return add_symbols(image, s);
	return error_set(-EINVAL, "an eBPF object has no symbols");
}

int ebpf_image_open(struct ebpf_image *image, const void *data, size_t size)
{
	Elf64_Ehdr h;
	int error;

	*image = (struct ebpf_image){.data = data, .size = size};
	error = read_header(image, &h);
	error = error ?: read_sections(image, &h);
	error = error ?: read_symbols(image);
	if (error)
		ebpf_image_release(image);
	return error == -ENOMEM ? error_memory("the tables of an eBPF object") : error;
}

void ebpf_image_release(struct ebpf_image *image)
{
	vec_release(&image->sections);
	vec_release(&image->symbols);
}

const struct ebpf_section *ebpf_image_section(const struct ebpf_image *image, const char *name)
{
	vec_foreach (s, &image->sections)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const char *ebpf_image_text(const struct ebpf_image *image, const char *section)
{
	const struct ebpf_section *s = ebpf_image_section(image, section);

	return s ? string_at(s, 0) : "";
}
