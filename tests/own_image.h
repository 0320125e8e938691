/* SPDX-License-Identifier: MIT */
/* The files that are mapped into this program as a walker wants them: mappings, and unwind tables
 * in one array. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/vdso.h"
#include "unwind/cfi.h"

#define OWN_MAPPINGS_MAX 64
#define OWN_WORDS_MAX	 (2 * WALK_CHUNK_WORDS)

struct own_image {
	struct walk_mapping mappings[OWN_MAPPINGS_MAX];
	uint32_t mapping_count;
	uint32_t *words; /* room for OWN_WORDS_MAX */
	uint32_t word_count;
};

static inline void own_image_add_table(
	struct own_image *i, struct walk_mapping *m, struct elf_file *f)
{
	struct walk_table_header header;
	uint32_t *words;

	if (unwind_build(f, &words, NULL))
		return;
	memcpy(&header, words, sizeof(header));
	if (unwind_table_is_sound(words, header.words) &&
		i->word_count + header.words <= OWN_WORDS_MAX) {
		memcpy(i->words + i->word_count, words, (size_t)header.words * 4);
		m->kind = WALK_MAPPING_TABLE;
		m->table = i->word_count;
		i->word_count += header.words;
	}
	free(words);
}

/* A line of /proc/self/maps. */
static inline void own_image_add_mapping(struct own_image *i, const char *line)
{
	struct walk_mapping m = {0};
	uint64_t offset, vaddr;
	char permissions[5], path[512] = "";
	struct elf_file *f;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s", &m.start, &m.end,
		    permissions, &offset, path) < 4 ||
		permissions[2] != 'x' || i->mapping_count == OWN_MAPPINGS_MAX)
		return;
	if (!strcmp(path, "[vdso]") ? vdso_open(&f) : path[0] != '/' || elf_file_open(&f, path))
		return;
	if (!elf_file_offset_to_vaddr(f, path[0] == '[' ? 0 : offset, &vaddr)) {
		m.bias = m.start - vaddr;
		own_image_add_table(i, &m, f);
		i->mappings[i->mapping_count++] = m;
	}
	elf_file_close(f);
}

/* Into `words`, which are 0. */
static inline bool own_image_load(struct own_image *i, uint32_t *words)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];

	i->words = words;
	i->mapping_count = 0;
	i->word_count = WALK_TABLE_ALIGN;
	if (!maps || !i->words)
		return false;
	while (fgets(line, sizeof(line), maps))
		own_image_add_mapping(i, line);
	fclose(maps);
	return i->mapping_count > 0;
}
