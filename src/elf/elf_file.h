/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened for reading its build id, symbols and segments. Files come from programs we do
 * not trust: everything is checked, and a damaged file yields fewer symbols, never a crash.
 *
 * Addresses: "offset" is a position in the file, "vaddr" an address as the file's headers count it. A
 * process maps offsets, symbol tables speak of vaddrs; the program headers translate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* 0 or -errno with error_text (-ENOEXEC: not an ELF file we can read). The path may be one of
 * /proc/PID/root or /proc/PID/map_files. */
int elf_file_open(struct elf_file **ret, const char *path);
void elf_file_close(struct elf_file *f);

/* The GNU build id: its size in bytes (at most 20), or 0 when there is none. */
size_t elf_file_build_id(struct elf_file *f, uint8_t ret_id[20]);

/* 0, or -ENOENT when no loadable segment covers it. */
int elf_file_offset_to_vaddr(struct elf_file *f, uint64_t offset, uint64_t *ret_vaddr);
int elf_file_vaddr_to_offset(struct elf_file *f, uint64_t vaddr, uint64_t *ret_offset);

/* The file offset of a defined function symbol (.symtab, then .dynsym): 0 or -ENOENT. */
int elf_file_find_function(struct elf_file *f, const char *name, uint64_t *ret_offset);

/* The function that covers `vaddr`, from .symtab and .dynsym (indexed on first use): its name, valid
 * until close, and its start; NULL when none does. Symbols without a size reach to the next one. */
const char *elf_file_function_at(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start);
