/* SPDX-License-Identifier: MIT */
/* What the files of src/elf/ know about an open ELF file; nobody else includes this. */
#pragma once

#include <gelf.h>
#include <sys/types.h>

#include "base/intern.h"
#include "base/vec.h"
#include "elf/elf_file.h"

struct elf_segment {
	uint64_t offset;
	uint64_t file_size;
	uint64_t vaddr;
	uint64_t memory_size;
	bool executable;
};

/* Contents that lie outside the file have offset and size 0; so have compressed ones, which only
 * contents.c reads. */
struct elf_section {
	uint64_t offset;
	uint64_t size;
	uint64_t vaddr;
	uint64_t vaddr_end;
	uint32_t name; /* in the section name table */
	uint32_t type;
	uint32_t link;
	uint64_t entry_bytes; /* of a table; its alignment where that is not said */
	bool executable;
	bool compressed;
	/* of the compressed contents, 0 with size 0 when outside the file */
	uint64_t stored_offset;
	uint64_t stored_size;
};

struct plt;
struct extents;

/* A source of names: this file, its separate debug file or its mini debug info. */
struct elf_strings {
	int fd; /* owned by its elf_file */
	uint64_t offset;
	uint64_t size;
};

struct elf_symbol {
	uint64_t vaddr;
	uint32_t size;
	uint32_t name; /* in string table `strings` */
	uint8_t strings;
	uint8_t rank; /* lower is better, see symbols.c */
	bool unsized;
};

struct elf_file {
	char *path;
	int fd;
	Elf *elf;
	uint64_t size;
	bool is_64bit;
	uint16_t machine;
	uint64_t entry;
	size_t section_names; /* section index */
	struct vec(struct elf_segment) segments;
	struct vec(struct elf_section) sections;

	bool indexed;
	struct debug_search search;
	struct elf_file *debug; /* separate debug file, opened when it is needed */
	bool debug_sought;
	struct elf_file *mini; /* mini debug info, opened with the index */
	struct plt *plt;
	bool plt_read;
	struct extents *extents; /* read when it is first asked for */
	struct vec(struct elf_strings) strings;
	struct vec(struct elf_symbol) symbols; /* by address, the best of equals last */
	struct interner *names;
	const struct elf_symbol *last; /* the latest answer */
	const char *last_name;
};

/* The first section of this type with contents in the file, or NULL. */
const struct elf_section *elf_find_section(const struct elf_file *f, uint32_t type);
/* The first section of this name with contents in the file, or NULL. */
const struct elf_section *elf_find_named_section(struct elf_file *f, const char *name);
/* Whether it has debug information, compressed or not. */
bool elf_has_dwarf(struct elf_file *f);
bool elf_section_is_called(struct elf_file *f, const struct elf_section *s, const char *name);
bool elf_section_name_begins(struct elf_file *f, const struct elf_section *s, const char *prefix);
/* The executable segment that covers `vaddr`, or NULL. */
const struct elf_segment *elf_find_code(const struct elf_file *f, uint64_t vaddr);

/* What elf_file_function_start has read. */
void elf_extents_free(struct extents *e);
/* Frees what elf_file_function_at built. */
void elf_symbols_release(struct elf_file *f);
