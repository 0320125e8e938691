// SPDX-License-Identifier: MIT
/*
 * The programs are run once (line_program.c); then the names of their rows are resolved and
 * their sequences sorted. A look-up goes from the section to its sequence and searches its rows
 * from where the row would be if all were of one length.
 *
 * nvlink (13.0) puts the names of several compilations one behind the other and leaves what is to
 * be added to their offsets at 0, so each program's names would be looked up among those of the
 * first. settle_names() finds where they really are.
 */
#include "gpucode/nvidia/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "gpucode/nvidia/line_program.h"

/* For the paths of all files of an image: 4 bytes of a damaged one could name 4,000. */
#define PATHS_MAX  (64u << 20)
#define GUESS_ROWS 16

/* The size of a program's names in .debug_str if they begin at `base`; 0: they do not. */
static uint64_t names_size(const struct line_machine *m, const struct line_naming *n, uint64_t base)
{
	const char *last = cubin_string(m->strings, base + n->last);

	return last ? n->last + strlen(last) + 1 : 0;
}

static void shift_names(
	struct line_machine *m, const struct line_naming *n, uint64_t base, bool known)
{
	for (uint32_t i = n->first; i < n->end; i++) {
		struct line_row *row = &m->t->rows.items[i];
		uint64_t name = base + row->function;

		if (row->function != LINE_NO_NAME)
			row->function =
				known && name < LINE_NO_NAME ? (uint32_t)name : LINE_NO_NAME;
	}
}

/*
 * Where no header has an offset and there are several programs, each one's names begin behind
 * those of the one before. This is proven when the names of all fill .debug_str:
 * then no program has names that its rows do not use. Otherwise only those of the first are known.
 */
static void settle_names(struct line_machine *m)
{
	uint64_t base = 0, size = 1;
	bool given = m->program < 2, proven;

	vec_foreach (n, &m->names)
		given |= n->base != 0;
	vec_foreach (n, &m->names) {
		size = given ? 0 : names_size(m, n, base);
		if (!size)
			break;
		base += size;
	}
	proven = size && base == m->strings.size;
	base = 0;
	vec_foreach (n, &m->names) {
		if (given)
			base = n->base;
		shift_names(m, n, base, given || proven || !n->program);
		if (proven)
			base += names_size(m, n, base);
	}
}

static int by_start(const void *a_, const void *b_)
{
	const struct line_sequence *a = a_, *b = b_;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int sort_sequences(struct line_table *t, const struct cubin *c)
{
	uint32_t n = 0;

	if (!t->sequences.count)
		return 0;
	qsort(t->sequences.items, t->sequences.count, sizeof(*t->sequences.items), by_start);
	if (vec_reserve(&t->ends, c->sections.count))
		return -ENOMEM;
	for (uint32_t i = 0; i < c->sections.count; i++) {
		while (n < t->sequences.count && t->sequences.items[n].section == i)
			n++;
		t->ends.items[t->ends.count++] = n;
	}
	return 0;
}

/* The section of all functions, when they are all in one. */
static uint32_t find_only_code(const struct cubin *c)
{
	const struct cubin_function *first = cubin_function(c, 0);
	const struct cubin_function *last = cubin_function(c, cubin_function_count(c) - 1);

	return first && first->section == last->section ? first->section : 0;
}

int line_table_init(
	struct line_table *t, struct cubin *c, const char *section, struct interner *paths)
{
	size_t index = cubin_section_named(c, section);
	struct line_machine m = {
		.t = t,
		.c = c,
		.paths = paths,
		.paths_room = PATHS_MAX,
		.section = cubin_section_bytes(c, index),
		.strings = cubin_string_table(c, cubin_section_named(c, ".debug_str")),
		.line_strings = cubin_string_table(c, cubin_section_named(c, ".debug_line_str")),
		.only_code = find_only_code(c),
	};

	*t = (struct line_table){0};
	if (index)
		line_relocations_read(&m, index);
	if (m.section.size && !m.error)
		line_programs_run(&m);
	if (!m.error)
		settle_names(&m);
	if (!m.error)
		m.error = sort_sequences(t, c);
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
