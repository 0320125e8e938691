/* SPDX-License-Identifier: MIT */
/*
 * Symbols of any type by their names, and sections by theirs: for finding known data and code in a
 * file.
 *
 * Exported symbols are found through the hash table, with a few small reads however large the file
 * is, so every file of a process can be searched. Other symbols need a pass over .symtab.
 */
#pragma once

#include "elf/elf_file.h"

struct elf_named {
	uint64_t vaddr;
	uint64_t size; /* 0: unknown */
};

/* A defined symbol of .dynsym: 0 or -ENOENT. */
int elf_find_exported(struct elf_file *f, const char *name, struct elf_named *ret);

/* Calls visit for each defined symbol of .symtab whose name begins with `prefix`: 0, -ENOENT (there
 * is no .symtab, or one of more than `names_max` bytes of names, or of more symbols than any real
 * one), -EIO or -ENOMEM. */
typedef void (*elf_named_visit)(void *context, const char *name, const struct elf_named *s);
int elf_each_named(struct elf_file *f, const char *prefix, uint64_t names_max,
	elf_named_visit visit, void *context);

/* The section of this name, with or without contents in the file: 0 or -ENOENT. */
int elf_section_named(struct elf_file *f, const char *name, struct elf_named *ret);

/* Reads `size` bytes of the file's contents at `vaddr`: 0, or -ENOENT when it has none, or fewer,
 * there. */
int elf_read_vaddr(struct elf_file *f, uint64_t vaddr, void *ret, size_t size);
