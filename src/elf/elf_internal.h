/* SPDX-License-Identifier: MIT */
/* What the files of src/elf/ know about an open ELF file; nobody else includes this. */
#pragma once

#include <elf.h>
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

/* A place where notes are. */
struct elf_note_range {
	uint64_t offset;
	uint64_t size;
	bool wide; /* aligned to 8 bytes */
};

/* Contents that lie outside the file have offset and size 0; so have compressed ones, which only
 * contents.c reads. */
struct elf_section {
	uint64_t offset;
	uint64_t size;
	uint64_t vaddr;
	uint64_t vaddr_end;
	uint32_t name; /* in the section names */
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
	struct elf_file *file;
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
	char *memory; /* its contents; NULL: they are those of fd */
	uint64_t size;
	uint64_t reads_left;   /* bytes that may still be read (limits.h) */
	uint64_t checked_left; /* the same, of files that its debug link leads to */
	bool too_large;
	bool is_64bit;
	uint16_t machine;
	uint64_t entry;
	struct vec(struct elf_segment) segments;
	struct vec(struct elf_section) sections;
	struct vec(struct elf_note_range) notes; /* of segments, then of sections */
	char *section_names;
	size_t section_names_size;
	bool build_id_sought;
	size_t build_id_size;
	uint8_t build_id[ELF_BUILD_ID_MAX];

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
	size_t names_left;	       /* bytes that names may still take */
	const struct elf_symbol *last; /* the latest answer */
	const char *last_name;
};

/* Opens a file that is in memory, which is the file's from then on, and is freed when this fails.
 * `size` is not 0. As elf_file_open_fd. */
int elf_open_memory(struct elf_file **ret, char *data, size_t size, const char *name);
/* Fills in what the file's headers say: 0 or -errno with error_text (-EFBIG: they are larger than
 * any real ones). */
int elf_read_headers(struct elf_file *f);
/* Reads up to `size` bytes: how many there were, or -errno; -EFBIG: so much of this file was read
 * that it is left alone. All reads of files in this room go through here. */
ssize_t elf_read(struct elf_file *f, uint64_t offset, void *data, size_t size);
/* Whether all of it is there. */
bool elf_read_whole(struct elf_file *f, uint64_t offset, void *data, size_t size);
bool elf_in_file(const struct elf_file *f, uint64_t offset, uint64_t size);

/* The first section of this type with contents in the file, or NULL. */
const struct elf_section *elf_find_section(const struct elf_file *f, uint32_t type);
/* The first section of this name with contents in the file, or NULL. */
const struct elf_section *elf_find_named_section(const struct elf_file *f, const char *name);
/* Whether it has debug information, compressed or not. */
bool elf_has_dwarf(const struct elf_file *f);
const char *elf_section_name(const struct elf_file *f, const struct elf_section *s);
/* The executable segment that covers `vaddr`, or NULL. */
const struct elf_segment *elf_find_code(const struct elf_file *f, uint64_t vaddr);

/* Calls visit for every symbol of the table until it returns non-zero, which is passed on. A table
 * that ends early is only shorter; -EFBIG: it has more than any real one, none was visited. */
typedef int (*elf_symbol_visit)(void *context, const Elf64_Sym *s);
int elf_each_symbol(
	struct elf_file *f, const struct elf_section *table, elf_symbol_visit visit, void *context);
bool elf_read_symbol(
	struct elf_file *f, const struct elf_section *table, uint64_t index, Elf64_Sym *ret);
/* The string table of a symbol table; false when there is none in the file. `table` may be NULL. */
bool elf_strings_of(struct elf_file *f, const struct elf_section *table, struct elf_strings *ret);
/* Where the code of `f` that a symbol names may end; 0 when it names no code. `source`: the file
 * whose symbol it is. */
uint64_t elf_code_end(const struct elf_file *f, const struct elf_file *source, const Elf64_Sym *s);

/* What elf_file_function_start has read. */
void elf_extents_free(struct extents *e);
/* Frees what elf_file_function_at built. */
void elf_symbols_release(struct elf_file *f);
