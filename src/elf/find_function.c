// SPDX-License-Identifier: MIT
/*
 * One function by its name, in two passes and in little memory: where the name stands in the
 * strings (it may be the end of longer ones), then which symbol has one of these places.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "elf/elf_internal.h"
#include "elf/limits.h"

#define PIECE_BYTES 65536
#define NAME_MAX    256 /* of what is looked for */

struct name_search {
	struct elf_file *f;
	const char *name;
	size_t length;
	struct vec(uint32_t) places; /* in the strings, rising */
	uint64_t vaddr;
};

/* In a piece of the strings that has `size` bytes and begins at `offset`, names that end in it. */
static int note_places(struct name_search *n, const char *piece, size_t size, uint64_t offset)
{
	const char *end = piece + size, *at = piece;
	int error = 0;

	while (!error && (at = memmem(at, (size_t)(end - at), n->name, n->length))) {
		const char *behind = at + n->length;

		if (behind == end)
			break;
		if (n->places.count >= ELF_PLACES_MAX)
			error = -EFBIG;
		else if (!*behind || *behind == '@')
			error = vec_push(&n->places, (uint32_t)(offset + (uint64_t)(at - piece)));
		at++;
	}
	return error;
}

/* Pieces overlap by a name, so that each name is whole in one of them. */
static int search_strings(struct name_search *n, const struct elf_strings *strings)
{
	uint64_t size = strings->size < UINT32_MAX ? strings->size : UINT32_MAX, at = 0;
	char *piece = malloc(PIECE_BYTES);
	int error = piece ? 0 : -ENOMEM;

	n->places.count = 0;
	while (!error && at < size) {
		size_t want = size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES;
		ssize_t got = elf_read(n->f, strings->offset + at, piece, want);

		if (got <= 0)
			break;
		error = note_places(n, piece, (size_t)got, at);
		if ((size_t)got < want || want < PIECE_BYTES)
			break;
		at += want - n->length;
	}
	free(piece);
	return error;
}

static int match_place(void *context, const Elf64_Sym *s)
{
	struct name_search *n = context;
	size_t found = search_first(i, 0, n->places.count, n->places.items[i] >= s->st_name);

	if (found == n->places.count || n->places.items[found] != s->st_name ||
		!elf_code_end(n->f, n->f, s))
		return 0;
	n->vaddr = s->st_value;
	return 1;
}

/* 1 when found, 0 when not, or -errno. */
static int search_table(struct name_search *n, uint32_t type)
{
	const struct elf_section *table = elf_find_section(n->f, type);
	struct elf_strings strings;
	int error;

	if (!elf_strings_of(n->f, table, &strings))
		return 0;
	if (strings.size > ELF_STRINGS_MAX_BYTES)
		error = -EFBIG;
	else
		error = search_strings(n, &strings);
	if (!error && n->places.count)
		return elf_each_symbol(n->f, table, match_place, n);
	n->f->too_large |= error == -EFBIG;
	return error;
}

int elf_file_find_function(struct elf_file *f, const char *name, uint64_t *ret_offset)
{
	struct name_search n = {.f = f, .name = name, .length = strlen(name)};
	int found;

	if (!n.length || n.length > NAME_MAX)
		return -ENOENT;
	found = search_table(&n, SHT_SYMTAB);
	if (!found || found == -EFBIG)
		found = search_table(&n, SHT_DYNSYM);
	vec_release(&n.places);
	if (found < 0)
		return found;
	return found ? elf_file_vaddr_to_offset(f, n.vaddr, ret_offset) : -ENOENT;
}
