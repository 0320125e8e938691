// SPDX-License-Identifier: MIT
/*
 * The headers are read by ourselves: libelf keeps whatever it reads until the file is closed, also
 * the same bytes once more for each header that leads to them. They are copied into plain tables,
 * with every range checked against the size of the file, so that the rest of the room deals in
 * numbers that hold.
 *
 * Both classes of files are read as Elf64 structures. A table that is not wholly in the file counts
 * as none, as in a file that was cut off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "elf/elf_internal.h"
#include "elf/limits.h"

static int too_large(const struct elf_file *f)
{
	return error_set(-EFBIG, "the headers of '%s' are too large", f->path);
}

static Elf64_Ehdr widen_header(const Elf32_Ehdr *h)
{
	return (Elf64_Ehdr){
		.e_machine = h->e_machine,
		.e_entry = h->e_entry,
		.e_phoff = h->e_phoff,
		.e_shoff = h->e_shoff,
		.e_phentsize = h->e_phentsize,
		.e_phnum = h->e_phnum,
		.e_shentsize = h->e_shentsize,
		.e_shnum = h->e_shnum,
		.e_shstrndx = h->e_shstrndx,
	};
}

static Elf64_Phdr segment_header(const struct elf_file *f, const void *bytes)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (f->is_64bit) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz,
		.p_align = narrow.p_align,
	};
}

static Elf64_Shdr section_header(const struct elf_file *f, const void *bytes)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (f->is_64bit) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return (Elf64_Shdr){
		.sh_name = narrow.sh_name,
		.sh_type = narrow.sh_type,
		.sh_flags = narrow.sh_flags,
		.sh_addr = narrow.sh_addr,
		.sh_offset = narrow.sh_offset,
		.sh_size = narrow.sh_size,
		.sh_link = narrow.sh_link,
		.sh_info = narrow.sh_info,
		.sh_addralign = narrow.sh_addralign,
		.sh_entsize = narrow.sh_entsize,
	};
}

static size_t segment_header_size(const struct elf_file *f)
{
	return f->is_64bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static size_t section_header_size(const struct elf_file *f)
{
	return f->is_64bit ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static int read_header(struct elf_file *f, Elf64_Ehdr *ret)
{
	const unsigned char native =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	unsigned char id[EI_NIDENT];
	Elf32_Ehdr narrow;
	bool whole;

	if (!elf_read_whole(f, 0, id, sizeof(id)) || memcmp(id, ELFMAG, SELFMAG) ||
		(id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64) ||
		id[EI_VERSION] != EV_CURRENT)
		return error_set(-ENOEXEC, "'%s' is not an ELF file", f->path);
	if (id[EI_DATA] != native)
		return error_set(
			-ENOEXEC, "'%s' has another byte order than this machine", f->path);
	f->is_64bit = id[EI_CLASS] == ELFCLASS64;
	if (f->is_64bit) {
		whole = elf_read_whole(f, 0, ret, sizeof(*ret));
	} else {
		whole = elf_read_whole(f, 0, &narrow, sizeof(narrow));
		*ret = widen_header(&narrow);
	}
	return whole ? 0 : error_set(-ENOEXEC, "'%s' is not an ELF file", f->path);
}

/* Counts that do not fit the header are in the first section's. */
static void read_large_counts(struct elf_file *f, Elf64_Ehdr *h, uint64_t *ret_segments,
	uint64_t *ret_sections, uint64_t *ret_names)
{
	char bytes[sizeof(Elf64_Shdr)];
	Elf64_Shdr first = {0};

	if (h->e_shentsize != section_header_size(f))
		h->e_shoff = 0;
	if (h->e_shoff && elf_read_whole(f, h->e_shoff, bytes, section_header_size(f)))
		first = section_header(f, bytes);
	*ret_segments = h->e_phnum == PN_XNUM ? first.sh_info : h->e_phnum;
	*ret_sections = h->e_shnum ? h->e_shnum : first.sh_size;
	*ret_names = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
}

/* A table of the file, to be freed; *ret NULL: it is not wholly there. */
static int read_table(struct elf_file *f, uint64_t offset, uint64_t count, size_t size, char **ret)
{
	char *table;

	*ret = NULL;
	if (!offset || !count || !elf_in_file(f, offset, count * size))
		return 0;
	table = malloc(count * size);
	if (!table)
		return -ENOMEM;
	if (elf_read_whole(f, offset, table, count * size))
		*ret = table;
	else
		free(table);
	return 0;
}

static int add_segment(struct elf_file *f, const Elf64_Phdr *p)
{
	if (p->p_memsz > UINT64_MAX - p->p_vaddr || p->p_filesz > UINT64_MAX - p->p_offset)
		return 0;
	if (p->p_type == PT_NOTE)
		return vec_push(&f->notes,
			(struct elf_note_range){p->p_offset, p->p_filesz, p->p_align == 8});
	if (p->p_type != PT_LOAD)
		return 0;
	return vec_push(&f->segments, (struct elf_segment){
					      .offset = p->p_offset,
					      .file_size = p->p_filesz,
					      .vaddr = p->p_vaddr,
					      .memory_size = p->p_memsz,
					      .executable = p->p_flags & PF_X,
				      });
}

static int read_segments(struct elf_file *f, const Elf64_Ehdr *h, uint64_t count)
{
	size_t size = segment_header_size(f);
	char *table = NULL;
	int error = 0;

	if (count > ELF_SEGMENTS_MAX)
		return too_large(f);
	if (h->e_phentsize == size)
		error = read_table(f, h->e_phoff, count, size, &table);
	for (uint64_t i = 0; !error && table && i < count; i++) {
		Elf64_Phdr p = segment_header(f, table + i * size);

		error = add_segment(f, &p);
	}
	free(table);
	return error;
}

static struct elf_section section_of(const struct elf_file *f, const Elf64_Shdr *h)
{
	struct elf_section s = {
		.name = h->sh_name,
		.type = h->sh_type,
		.link = h->sh_link,
		.entry_bytes = h->sh_entsize ? h->sh_entsize : h->sh_addralign,
		.vaddr = h->sh_addr,
		.vaddr_end = h->sh_addr,
		.executable = h->sh_flags & SHF_EXECINSTR,
	};

	if (h->sh_size <= UINT64_MAX - h->sh_addr)
		s.vaddr_end = h->sh_addr + h->sh_size;
	if (h->sh_type == SHT_NOBITS || !elf_in_file(f, h->sh_offset, h->sh_size))
		return s;
	s.compressed = h->sh_flags & SHF_COMPRESSED;
	s.stored_offset = h->sh_offset;
	s.stored_size = h->sh_size;
	if (!s.compressed) {
		s.offset = s.stored_offset;
		s.size = s.stored_size;
	}
	return s;
}

/* A separate debug file has its notes in the sections only, behind those of segments. */
static int add_section(struct elf_file *f, const Elf64_Shdr *h)
{
	struct elf_section s = section_of(f, h);
	int error = vec_push(&f->sections, s);

	if (error || s.type != SHT_NOTE || !s.size)
		return error;
	return vec_push(&f->notes, (struct elf_note_range){s.offset, s.size, false});
}

static int read_sections(struct elf_file *f, const Elf64_Ehdr *h, uint64_t count)
{
	size_t size = section_header_size(f);
	char *table;
	int error;

	if (count > ELF_SECTIONS_MAX)
		return too_large(f);
	error = read_table(f, h->e_shoff, count, size, &table);
	for (uint64_t i = 0; !error && table && i < count; i++) {
		Elf64_Shdr s = section_header(f, table + i * size);

		error = add_section(f, &s);
	}
	free(table);
	return error;
}

/* Without them the sections are nameless. */
static int read_section_names(struct elf_file *f, uint64_t index)
{
	const struct elf_section *s;

	if (!index || index >= f->sections.count)
		return 0;
	s = &f->sections.items[index];
	if (s->size > ELF_SECTION_NAMES_MAX_BYTES)
		return too_large(f);
	f->section_names = malloc(s->size + 1);
	if (!f->section_names)
		return -ENOMEM;
	if (elf_read_whole(f, s->offset, f->section_names, s->size))
		f->section_names_size = s->size;
	f->section_names[f->section_names_size] = '\0';
	return 0;
}

int elf_read_headers(struct elf_file *f)
{
	uint64_t segments, sections, names;
	Elf64_Ehdr h;
	int error = read_header(f, &h);

	if (error)
		return error;
	f->machine = h.e_machine;
	f->entry = h.e_entry;
	read_large_counts(f, &h, &segments, &sections, &names);
	error = read_segments(f, &h, segments);
	error = error ?: read_sections(f, &h, sections);
	error = error ?: read_section_names(f, names);
	return error == -ENOMEM ? error_memory("the headers of a file") : error;
}

const char *elf_section_name(const struct elf_file *f, const struct elf_section *s)
{
	return s->name < f->section_names_size ? f->section_names + s->name : "";
}
