// SPDX-License-Identifier: MIT
/*
 * Looks a position up in the line tables, best first: .debug_line has lines of source files and the
 * calls that were inlined, .nv_debug_line_sass lines of PTX. Both are read at the first look-up.
 *
 * A row is valid up to the next one in its sequence, and a sequence covers a whole section.
 * Routines of the compiler's, such as divisions, stand behind a kernel and have no rows. So that
 * they do not get the kernel's last line, a row does not count for a function that begins behind
 * it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpucode/nvidia/cubin_internal.h"

#define PTX_SECTION ".nv_debug_ptx_txt"

struct line_tables {
	struct interner *paths;
	struct line_table source;
	struct line_table ptx;
	struct code_bytes strings; /* .debug_str */
};

void line_tables_free(struct line_tables *t)
{
	if (!t)
		return;
	line_table_release(&t->source);
	line_table_release(&t->ptx);
	interner_free(t->paths);
	free(t);
}

struct cubin_damage cubin_damage(const struct cubin *c)
{
	struct cubin_damage d = {.sections = c->elf.damaged, .symbols = c->damaged_symbols};

	if (c->lines) {
		d.lines = c->lines->source.damage;
		d.lines.programs += c->lines->ptx.damage.programs;
		d.lines.rows += c->lines->ptx.damage.rows;
	}
	return d;
}

/* The section of all functions, when they are all in one; 0: they are not. */
static uint32_t find_only_code(const struct cubin *c)
{
	const struct cubin_function *first = cubin_function(c, 0);
	const struct cubin_function *last = cubin_function(c, cubin_function_count(c) - 1);

	return first && first->section == last->section ? first->section : 0;
}

static struct line_tables *read_tables(struct cubin *c)
{
	struct line_tables *t = calloc(1, sizeof(*t));
	struct line_programs of = {
		.elf = &c->elf, .dialect = &cubin_lines, .only_code = find_only_code(c)};

	if (!t)
		return NULL;
	t->strings = code_elf_strings(&c->elf, code_elf_named(&c->elf, ".debug_str"));
	if (interner_new(&t->paths)) {
		line_tables_free(t);
		return NULL;
	}
	of.paths = t->paths;
	if (line_table_init(&t->source, &of, ".debug_line") ||
		line_table_init(&t->ptx, &of, ".nv_debug_line_sass")) {
		line_tables_free(t);
		return NULL;
	}
	return t;
}

/* A row for code of this function, not of what stands before it. */
static const struct line_row *find_row(const struct line_table *table,
	const struct cubin_function *f, uint64_t offset, const struct line_sequence **ret_sequence)
{
	const struct line_row *row = line_table_find(table, f->section, offset, ret_sequence);

	return row && row->offset >= f->offset ? row : NULL;
}

static struct cubin_frame frame_of(
	const struct line_tables *t, const struct line_row *row, const struct cubin_function *f)
{
	const char *name = NULL;

	if (row->function != LINE_NO_NAME)
		name = code_string(t->strings, row->function);
	return (struct cubin_frame){
		.function = name	   ? name
			    : row->context ? ""
					   : f->linkage_name,
		.path = interner_get(t->paths, row->path, NULL),
		.line = row->line,
	};
}

/* From a row outwards; each calling row stands before its callee's, so this ends. */
static size_t add_frames(const struct line_tables *t, const struct line_table *table,
	const struct line_sequence *s, const struct line_row *row, const struct cubin_function *f,
	struct cubin_frame *ret)
{
	size_t n = 0;

	for (; row->context && n < CUBIN_FRAMES_MAX - 1; n++) {
		ret[n] = frame_of(t, row, f);
		row = &table->rows.items[s->first + row->context - 1];
	}
	while (row->context)
		row = &table->rows.items[s->first + row->context - 1];
	ret[n++] = frame_of(t, row, f);
	return n;
}

/* `f`, or the function that stands inside it at this offset in its section. */
static const struct cubin_function *innermost(
	const struct cubin *c, const struct cubin_function *f, uint64_t offset)
{
	const struct cubin_function *next = f + 1;

	if (next == c->functions.items + c->functions.count || next->section != f->section ||
		next->offset > offset)
		return f;
	return cubin_function_at(c, f->section, offset);
}

size_t cubin_frames(struct cubin *c, const struct cubin_function *f, uint64_t offset,
	struct cubin_frame ret[CUBIN_FRAMES_MAX], enum cubin_line_kind *ret_kind)
{
	const struct line_sequence *s;
	const struct line_row *row;
	enum cubin_line_kind kind = CUBIN_LINES_NONE;
	size_t n = 1;

	if (!c->lines)
		c->lines = read_tables(c);
	if (!c->lines || offset >= f->size)
		return 0;
	offset += f->offset;
	f = innermost(c, f, offset);
	if ((row = find_row(&c->lines->source, f, offset, &s))) {
		n = add_frames(c->lines, &c->lines->source, s, row, f, ret);
		kind = CUBIN_LINES_SOURCE;
	} else if ((row = find_row(&c->lines->ptx, f, offset, &s))) {
		ret[0] = frame_of(c->lines, row, f);
		if (!ret[0].path[0])
			ret[0].path = PTX_SECTION;
		kind = CUBIN_LINES_PTX;
	} else {
		ret[0] = (struct cubin_frame){.function = f->linkage_name, .path = ""};
	}
	if (ret_kind)
		*ret_kind = kind;
	return n;
}
