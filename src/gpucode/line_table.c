// SPDX-License-Identifier: MIT
/*
 * The programs are run once (line_program.c); then their sequences are sorted. A look-up goes from
 * the section to its sequence and searches its rows from where the row would be if all were of one
 * length.
 */
#include "gpucode/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "gpucode/line_program.h"

/* For the paths of all files of an image: 4 bytes of a damaged one could name 4,000. */
#define PATHS_MAX  (64u << 20)
#define GUESS_ROWS 16

static int by_start(const void *a_, const void *b_)
{
	const struct line_sequence *a = a_, *b = b_;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int sort_sequences(struct line_table *t, const struct code_elf *elf)
{
	uint32_t n = 0;

	if (!t->sequences.count)
		return 0;
	qsort(t->sequences.items, t->sequences.count, sizeof(*t->sequences.items), by_start);
	if (vec_reserve(&t->ends, elf->sections.count))
		return -ENOMEM;
	for (uint32_t i = 0; i < elf->sections.count; i++) {
		while (n < t->sequences.count && t->sequences.items[n].section == i)
			n++;
		t->ends.items[t->ends.count++] = n;
	}
	return 0;
}

int line_table_init(struct line_table *t, const struct line_programs *of, const char *section)
{
	const struct code_elf *elf = of->elf;
	size_t index = code_elf_named(elf, section);
	struct line_machine m = {
		.t = t,
		.elf = elf,
		.dialect = of->dialect,
		.owner = of->owner,
		.paths = of->paths,
		.paths_room = PATHS_MAX,
		.section = code_elf_bytes(elf, index),
		.strings = code_elf_strings(elf, code_elf_named(elf, ".debug_str")),
		.line_strings = code_elf_strings(elf, code_elf_named(elf, ".debug_line_str")),
		.only_code = of->only_code,
	};

	*t = (struct line_table){0};
	if (index)
		line_relocations_read(&m, index);
	if (m.section.size && !m.error)
		line_programs_run(&m);
	if (!m.error && m.dialect->finish)
		m.dialect->finish(&m);
	if (!m.error)
		m.error = sort_sequences(t, elf);
	vec_release(&m.relocations);
	vec_release(&m.names);
	vec_release(&m.folders);
	vec_release(&m.files);
	return m.error;
}

void line_table_release(struct line_table *t)
{
	vec_release(&t->rows);
	vec_release(&t->sequences);
	vec_release(&t->ends);
}

/* Sections have one sequence each, nearly always. */
static const struct line_sequence *find_sequence(
	const struct line_table *t, uint32_t section, uint64_t offset)
{
	size_t first, behind;

	if (section >= t->ends.count)
		return NULL;
	first = section ? t->ends.items[section - 1] : 0;
	behind = search_first(
		i, first, t->ends.items[section], t->sequences.items[i].start > offset);
	if (behind == first || t->sequences.items[behind - 1].end <= offset)
		return NULL;
	return &t->sequences.items[behind - 1];
}

/* Narrows the rows to search down to some around the one that would be it if all were of one
 * length, when it is among them: fewer cache lines are touched. */
static void guess_rows(const struct line_table *t, const struct line_sequence *s, uint64_t offset,
	size_t *low, size_t *high)
{
	size_t guess = (size_t)((offset - s->start) * s->count / ((uint64_t)s->end - s->start));
	size_t from = guess > GUESS_ROWS ? s->first + guess - GUESS_ROWS : s->first;
	size_t to = s->first + guess + GUESS_ROWS;

	if (t->rows.items[from].offset <= offset)
		*low = from;
	if (to < *high && t->rows.items[to].offset > offset)
		*high = to;
}

const struct line_row *line_table_find(const struct line_table *t, uint32_t section,
	uint64_t offset, const struct line_sequence **ret_sequence)
{
	const struct line_sequence *s = find_sequence(t, section, offset);
	size_t low, high;

	if (!s)
		return NULL;
	/* The last row at or before the offset; the first one is. */
	low = s->first;
	high = (size_t)s->first + s->count;
	guess_rows(t, s, offset, &low, &high);
	*ret_sequence = s;
	return &t->rows.items[search_first(i, low + 1, high, t->rows.items[i].offset > offset) - 1];
}
