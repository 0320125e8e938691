/* SPDX-License-Identifier: MIT */
/*
 * An ELF image of GPU code: its sections, and what its symbols are at. What vendors' compilers put
 * into it is for their folders.
 *
 * Images come from programs that are not trusted: every range is checked against the image, once,
 * when it is opened. What lies outside is without contents, and is counted. Nothing is copied: the
 * image must stay unchanged as long as this is used, and names point into it.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct code_section {
	uint64_t offset;  /* in the image */
	uint64_t size;	  /* as the header has it */
	uint64_t address; /* of linked images; else 0 */
	uint64_t stored;  /* bytes that are in the image: the size or, of damaged ones and bss, 0 */
	const char *name;
	uint32_t type;
	uint32_t link;
	uint32_t info;
	uint64_t flags;
};

struct code_elf {
	const uint8_t *image;
	size_t size;
	struct vec(struct code_section) sections;
	size_t symbol_table;  /* section index; 0: none */
	size_t section_table; /* of section indices that do not fit its symbols; 0: none */
	size_t damaged;	      /* sections that lie outside the image, or have no name */
};

/* What an image has to be. */
struct code_elf_kind {
	const char *name; /* what such images are called, for errors */
	uint16_t machine;
};

/* Some bytes of the image, inside it. */
struct code_bytes {
	const uint8_t *data;
	size_t size;
};

/* 0 or -errno with error_text: -ENOEXEC for what is no such image, -EINVAL where its headers are
 * damaged, -ENOMEM. Also after an error it is good for release. */
int code_elf_init(struct code_elf *e, const void *image, size_t size,
	const struct code_elf_kind *kind, Elf64_Ehdr *ret);
void code_elf_release(struct code_elf *e);

/* Contents of a section, without any for an index that is not one. */
struct code_bytes code_elf_bytes(const struct code_elf *e, size_t section);
/* The same, up to its last NUL. */
struct code_bytes code_elf_strings(const struct code_elf *e, size_t section);
/* The first section of this name with contents; 0: there is none. */
size_t code_elf_named(const struct code_elf *e, const char *name);
/* The text at `offset` of a string table; NULL: there is none. */
const char *code_string(struct code_bytes table, uint64_t offset);

/* A symbol; false: there is none of this index. */
bool code_elf_symbol(const struct code_elf *e, uint64_t i, Elf64_Sym *ret);
/* The section that a symbol names; 0: it is not in one. It may be none of the image's. */
uint32_t code_elf_symbol_section(const struct code_elf *e, uint64_t i, const Elf64_Sym *s);
/* The section of a symbol, and the offset in it: false when it is not defined here. */
bool code_elf_position(
	const struct code_elf *e, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset);

static inline bool code_section_has_code(const struct code_section *s)
{
	return s->flags & SHF_EXECINSTR && (s->type == SHT_PROGBITS || s->type == SHT_NOBITS);
}

/* Names of symbols from a table of strings. A damaged table of symbols could name one long text a
 * million times: all names together are of bounded length. */
struct code_names {
	struct code_bytes table;
	uint64_t room;
};

struct code_names code_elf_names(const struct code_elf *e);
/* The name of a symbol; NULL: it has none. */
const char *code_names_next(struct code_names *names, const Elf64_Sym *s);
