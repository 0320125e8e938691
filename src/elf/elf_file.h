/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened for reading its build id, symbols and segments. Files come from programs we
 * do not trust: everything is checked, and a damaged file yields fewer symbols, never a crash.
 * Nothing is mapped, so a file that shrinks while we read it is a short read and not a SIGBUS. What
 * is read of a file, and kept, is bounded (limits.h), whatever the file claims.
 *
 * Addresses: "offset" is a position in the file, "vaddr" an address as the file's headers count it.
 * A process maps offsets, symbol tables speak of vaddrs; the program headers translate.
 *
 * A file without .symtab borrows that of its separate debug file (debug_file.h), or has mini debug
 * info (mini_debug.h), for function_at.
 *
 * One thread at a time for each file. Files of another byte order than ours are refused (-ENOEXEC).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 20

struct elf_file;

/* Where separate debug files are looked for, beside /usr/lib/debug. Texts are borrowed. */
struct debug_search {
	/* the root folder of the program ("/proc/12/root"); NULL: ours */
	const char *root;
	const char *path;	    /* where the program saw the file; NULL: where it was opened */
	const char *file;	    /* is tried first; NULL: none */
	const char *const *folders; /* like /usr/lib/debug, and before it */
	size_t folder_count;
	/* Nothing is searched: it is this open file (which stays the caller's), or (-1) there is
	 * none. */
	bool is_given;
	int fd;
};

/* 0 or -errno with error_text (-ENOEXEC: not an ELF file we can read; -EFBIG: its headers are
 * larger than any real ones). The path may be one of /proc/PID/root or /proc/PID/map_files. */
int elf_file_open(struct elf_file **ret, const char *path);
/* As above, of an open descriptor, which is the file's from then on, and is closed when this fails.
 * `name`: what error texts call it. */
int elf_file_open_fd(struct elf_file **ret, int fd, const char *name);
void elf_file_close(struct elf_file *f);
/* To be called before the first function_at; what it points to must outlive the file. */
void elf_file_search(struct elf_file *f, const struct debug_search *search);

/* The name of its separate debug file (.gnu_debuglink), or "". */
void elf_file_debug_link(struct elf_file *f, char *ret_name, size_t size);

/* The GNU build id: its size in bytes (at most 20), or 0 when there is none. */
size_t elf_file_build_id(struct elf_file *f, uint8_t ret_id[ELF_BUILD_ID_MAX]);

struct stat;
/* fstat of the open file: 0 or -errno with error_text. */
int elf_file_stat(const struct elf_file *f, struct stat *ret);
/* The descriptor of the open file; it stays the file's. "/proc/self/fd/N" opens it once more, also
 * after its path was removed. */
int elf_file_fd(const struct elf_file *f);
/* Whether something of it, or of its debug file, was left out because it is larger than in any real
 * file (limits.h); what was asked for is then answered as if it were not there. */
bool elf_file_too_large(const struct elf_file *f);
/* The e_machine of its header (elf.h). */
uint16_t elf_file_machine(const struct elf_file *f);
bool elf_file_is_64bit(const struct elf_file *f);
/* The vaddr that execution begins at; 0: none. */
uint64_t elf_file_entry(const struct elf_file *f);

/* A section, read whole: a copy of our own, which lasts longer than the file. */
struct elf_contents {
	uint8_t *data;
	size_t size;
	uint64_t vaddr;
};

/*
 * Reads the first section of this name that has contents in the file; one that is kept compressed
 * is decompressed. 0; -ENOENT: there is none; -EFBIG: it is larger than `limit`; -ENOTSUP: it is
 * compressed in a way we do not know; or another -errno. All with error_text.
 */
int elf_file_read_section(
	struct elf_file *f, const char *name, size_t limit, struct elf_contents *ret);
void elf_contents_release(struct elf_contents *c);
/* Where a section is in memory: 0 or -ENOENT. */
int elf_file_section_range(
	const struct elf_file *f, const char *name, uint64_t *ret_start, uint64_t *ret_end);
/* The n-th section of code, in their order; false past the last. */
bool elf_file_code_section(
	const struct elf_file *f, size_t n, uint64_t *ret_start, uint64_t *ret_end);
/* Reads code as the file has it: 0 or -errno. */
int elf_file_read_code(struct elf_file *f, uint64_t vaddr, void *data, size_t size);
/* The bounds of the executable segment that covers `vaddr`: 0 or -ENOENT. */
int elf_file_code_range(
	const struct elf_file *f, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

/* 0, or -ENOENT when no loadable segment covers it. */
int elf_file_offset_to_vaddr(struct elf_file *f, uint64_t offset, uint64_t *ret_vaddr);
int elf_file_vaddr_to_offset(struct elf_file *f, uint64_t vaddr, uint64_t *ret_offset);

/* The file offset of a defined function symbol (.symtab, then .dynsym; a symbol version after '@'
 * is not part of its name): 0 or -ENOENT. */
int elf_file_find_function(struct elf_file *f, const char *name, uint64_t *ret_offset);

/*
 * The function that covers `vaddr`, from .symtab and .dynsym (indexed on first use): its name
 * without a symbol version, valid until close, and its start; NULL when none does. Symbols without
 * a size reach to the next one or to the end of their section. A stub of the procedure linkage
 * table is called as its function, with "@plt" behind it. Of several names for one address a global
 * one is preferred, then one whose symbol has a size, then the one with the fewest leading
 * underscores.
 */
const char *elf_file_function_at(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start);

/*
 * Where the function that covers `vaddr` begins by the file's unwind information (.eh_frame), which
 * is there also when symbols are not; parts that a compiler put elsewhere begin on their own. 0 or
 * -ENOENT.
 */
int elf_file_function_start(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start);

/* Whether all functions have symbols, here or in a separate debug file; not only the exported
 * ones. */
bool elf_file_has_symtab(struct elf_file *f);
/* Whether it has a separate debug file. */
bool elf_file_has_debug_file(struct elf_file *f);
/* A descriptor of the file that has the DWARF (this one, or its separate debug file), which stays
 * the file's own; -1 when there is none. */
int elf_file_dwarf_fd(struct elf_file *f);
/* Whether it is a separate debug file: its code has addresses and no contents. */
bool elf_file_is_debug_file(const struct elf_file *f);
/* The n-th segment of code, in their order; false past the last. */
struct elf_code {
	uint64_t offset, size, vaddr;
};

bool elf_file_code_at(const struct elf_file *f, size_t n, struct elf_code *ret);
