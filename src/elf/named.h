/* SPDX-License-Identifier: MIT */
/*
 * Symbols of any type by their names, and sections by theirs: for finding known data and code in a
 * file.
 *
 * What a file exports is found through its hash table, with a few small reads however large the
 * file is; so every file of a process can be asked. What it does not export takes a pass over
 * .symtab.
 */
#pragma once

#include "elf/elf_file.h"

struct elf_named {
	uint64_t vaddr;
	uint64_t size; /* 0: not said */
};

/* A defined symbol of .dynsym: 0 or -ENOENT. */
int elf_find_exported(struct elf_file *f, const char *name, struct elf_named *ret);

/* Calls visit for each defined symbol of .symtab whose name begins with `prefix`: 0, -ENOENT (there
 * is no .symtab, or one of more than `names_max` bytes of names), -EIO or -ENOMEM. */
typedef void (*elf_named_visit)(void *context, const char *name, const struct elf_named *s);
int elf_each_named(struct elf_file *f, const char *prefix, uint64_t names_max,
	elf_named_visit visit, void *context);

/* The section of this name, with or without contents in the file: 0 or -ENOENT. */
int elf_section_named(struct elf_file *f, const char *name, struct elf_named *ret);

/* Reads `size` bytes of what the file says is at `vaddr`: 0, or -ENOENT when it does not say, or
 * says less. */
int elf_read_vaddr(struct elf_file *f, uint64_t vaddr, void *ret, size_t size);
