// SPDX-License-Identifier: MIT
/*
 * Units are listed first, each with its abbreviations (dwarf_units.c), since a name may be in
 * another unit than the call. Then their entries are walked: functions and inlined calls that have
 * code become scopes, whose ranges are cut into intervals that do not overlap:
 *
 *	function   |-----------------------------|
 *	inlined        |-------|    |----|
 *	in that           |--|
 *	intervals  |   |  |  | |    |    |       |
 *
 * A scope begins inside the one around it, and what of it lies outside of that does not count.
 */
#include "gpucode/inline_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "gpucode/dwarf_units.h"

enum {
	DW_TAG_inlined_subroutine = 0x1d,
	DW_TAG_subprogram = 0x2e,
};

#define ORIGINS_MAX 8	 /* entries that lead to a name */
#define DEPTH_MAX   1024 /* of entries in entries: deeper ones are not read */

struct range {
	uint64_t start, end;
	uint32_t scope; /* counted from 1 */
	uint32_t depth;
};

struct span {
	uint64_t start, end;
};

struct building {
	struct inline_calls *c;
	struct dwarf_units *units;
	struct map names;	      /* of entries, by their places: addresses of texts */
	struct vec(struct span) code; /* where the image has some, by start */
	struct vec(struct range) ranges;
	struct vec(uint32_t) around; /* scopes of the entries around the present one */
	int error;
};

/* What is read of a function or a call. */
struct entry {
	struct dwarf_value low, high, ranges, origin, linkage, name, file, line;
};

static void take_attribute(void *context, uint64_t attribute, const struct dwarf_value *v)
{
	struct entry *e = context;

	switch (attribute) {
	case DW_AT_low_pc:
		e->low = *v;
		break;
	case DW_AT_high_pc:
		e->high = *v;
		break;
	case DW_AT_ranges:
		e->ranges = *v;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		e->origin = *v;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		e->linkage = *v;
		break;
	case DW_AT_name:
		e->name = *v;
		break;
	case DW_AT_call_file:
		e->file = *v;
		break;
	case DW_AT_call_line:
		e->line = *v;
		break;
	}
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *own_name(
	const struct building *b, const struct dwarf_unit *u, const struct entry *e)
{
	const char *name = dwarf_text(b->units, u, &e->linkage);

	return name ?: dwarf_text(b->units, u, &e->name);
}

/* A linkage name behind an origin comes before the plain name of what refers to it. */
static const char *find_name(
	struct building *b, const struct dwarf_unit *unit, const struct entry *entry)
{
	const char *plain = dwarf_text(b->units, unit, &entry->name);
	const char *name = dwarf_text(b->units, unit, &entry->linkage);
	struct dwarf_unit *u = dwarf_unit_of(b->units, unit, &entry->origin);
	uint64_t place = entry->origin.number;

	for (int n = 0; !name && u && n < ORIGINS_MAX; n++) {
		struct entry e = {0};

		if (!dwarf_entry_at(b->units, u, place, take_attribute, &e))
			break;
		name = dwarf_text(b->units, u, &e.linkage);
		plain = plain ?: own_name(b, u, &e);
		place = e.origin.number;
		u = dwarf_unit_of(b->units, u, &e.origin);
	}
	return name ?: plain ?: "";
}

/* Calls of one function have one name, which is looked up once. */
static const char *name_of(struct building *b, const struct dwarf_unit *u, const struct entry *e)
{
	const uint64_t *known;
	const char *name;

	/* What is no place of an entry (a signature, say) may be the same number. */
	if (e->linkage.form || e->name.form || !dwarf_unit_of(b->units, u, &e->origin))
		return find_name(b, u, e);
	known = map_get(&b->names, e->origin.number);
	if (known)
		return (const char *)(uintptr_t)*known;
	name = find_name(b, u, e);
	b->error = map_put(&b->names, e->origin.number, (uintptr_t)name);
	return name;
}

/* --- scopes ----------------------------------------------------------------------------------- */

static int by_address(const void *a_, const void *b_)
{
	const struct span *a = a_, *b = b_;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void find_code(struct building *b, const struct code_elf *elf)
{
	for (size_t n = 0; n < elf->sections.count && !b->error; n++) {
		const struct code_section *s = &elf->sections.items[n];

		if (code_section_has_code(s) && s->size <= UINT64_MAX - s->address)
			b->error =
				vec_push(&b->code, (struct span){s->address, s->address + s->size});
	}
	if (b->code.count)
		qsort(b->code.items, b->code.count, sizeof(*b->code.items), by_address);
}

/* Functions that the linker has left out keep their entries, with ranges from 0 on, which would
 * cover what is really there. */
static bool is_code(const struct building *b, uint64_t start, uint64_t end)
{
	size_t behind = search_first(i, 0, b->code.count, b->code.items[i].start > start);

	return behind && start < end && end <= b->code.items[behind - 1].end;
}

static void add_range(void *context, uint64_t start, uint64_t end)
{
	struct building *b = context;

	if (is_code(b, start, end) && !b->error)
		b->error = vec_push(
			&b->ranges, (struct range){start, end, (uint32_t)b->c->scopes.count + 1,
					    (uint32_t)b->around.count});
}

/* The scope that entries inside this one are in. */
static uint32_t add_scope(struct building *b, struct dwarf_unit *u, uint64_t tag, uint32_t around)
{
	bool inlined = tag == DW_TAG_inlined_subroutine;
	size_t ranges = b->ranges.count;
	struct entry e = {0};
	const char *function;

	if (!dwarf_attributes(b->units, u, take_attribute, &e))
		return around;
	if (!inlined)
		around = 0;
	if (b->c->scopes.count >= UINT32_MAX - 1)
		return around;
	dwarf_visit_ranges(b->units, u, &e.low, &e.high, &e.ranges, add_range, b);
	if (b->ranges.count == ranges || b->error)
		return around;
	function = name_of(b, u, &e);
	b->error =
		b->error
			?: vec_push(&b->c->scopes,
				   (struct inline_scope){
					   .function = function,
					   .outer = around,
					   .inlined = inlined,
					   .path = inlined ? dwarf_path(b->units, u, &e.file) : 0,
					   .line = e.line.number <= UINT32_MAX
							   ? (uint32_t)e.line.number
							   : 0,
				   });
	return (uint32_t)b->c->scopes.count;
}

static void walk_unit(struct building *b, struct dwarf_unit *u)
{
	uint32_t around = 0;
	uint64_t tag;
	bool inside;

	b->around.count = 0;
	dwarf_rewind(b->units, u);
	while (!b->error && dwarf_next(b->units, u, &tag, &inside)) {
		uint32_t scope = around;

		if (!tag) {
			/* the end of what is inside an entry */
			if (!b->around.count)
				return;
			around = b->around.items[--b->around.count];
			continue;
		}
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
			scope = add_scope(b, u, tag, around);
		else if (!dwarf_attributes(b->units, u, NULL, NULL))
			return;
		if (inside && b->around.count == DEPTH_MAX)
			return;
		if (inside && !b->error) {
			b->error = vec_push(&b->around, around);
			around = scope;
		}
	}
}

/* --- intervals -------------------------------------------------------------------------------- */

static int by_start(const void *a_, const void *b_)
{
	const struct range *a = a_, *b = b_;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->scope < b->scope ? -1 : a->scope > b->scope;
}

static void begin_interval(struct building *b, uint64_t start, uint32_t scope)
{
	struct inline_calls *c = b->c;
	size_t n = c->intervals.count;

	if (n && c->intervals.items[n - 1].start == start)
		c->intervals.items[n - 1].scope = scope;
	else if (!b->error)
		b->error = vec_push(&c->intervals, (struct inline_interval){start, scope});
}

/* Ranges that are open at the present address are a stack, each inside the one before. */
static void cut_ranges(struct building *b)
{
	struct vec(struct range) open = {0};

	if (b->ranges.count)
		qsort(b->ranges.items, b->ranges.count, sizeof(*b->ranges.items), by_start);
	for (size_t n = 0; n <= b->ranges.count && !b->error; n++) {
		struct range *r = n < b->ranges.count ? &b->ranges.items[n] : NULL;
		uint64_t start = r ? r->start : UINT64_MAX;

		while (open.count && open.items[open.count - 1].end <= start) {
			uint64_t end = open.items[--open.count].end;

			begin_interval(b, end, open.count ? open.items[open.count - 1].scope : 0);
		}
		if (!r)
			break;
		if (open.count && open.items[open.count - 1].end < r->end)
			r->end = open.items[open.count - 1].end;
		begin_interval(b, r->start, r->scope);
		if (!b->error)
			b->error = vec_push(&open, *r);
	}
	vec_release(&open);
}

/* --- all of it -------------------------------------------------------------------------------- */

int inline_calls_init(struct inline_calls *c, const struct code_elf *elf, struct interner *paths)
{
	struct building b = {.c = c};

	*c = (struct inline_calls){0};
	find_code(&b, elf);
	b.error = b.error ?: dwarf_units_new(elf, paths, &b.units);
	for (size_t n = 0; !b.error && n < dwarf_unit_count(b.units); n++)
		walk_unit(&b, dwarf_unit_at(b.units, n));
	if (!b.error)
		cut_ranges(&b);
	if (b.units) {
		b.error = b.error ?: dwarf_error(b.units);
		c->damage = dwarf_damage(b.units);
	}
	dwarf_units_free(b.units);
	map_release(&b.names);
	vec_release(&b.code);
	vec_release(&b.ranges);
	vec_release(&b.around);
	return b.error;
}

void inline_calls_release(struct inline_calls *c)
{
	vec_release(&c->scopes);
	vec_release(&c->intervals);
}

static const struct inline_scope *scope_at(const struct inline_calls *c, uint32_t number)
{
	return number ? &c->scopes.items[number - 1] : NULL;
}

const struct inline_scope *inline_calls_find(const struct inline_calls *c, uint64_t address)
{
	size_t behind =
		search_first(i, 0, c->intervals.count, c->intervals.items[i].start > address);

	return behind ? scope_at(c, c->intervals.items[behind - 1].scope) : NULL;
}

const struct inline_scope *inline_calls_outer(
	const struct inline_calls *c, const struct inline_scope *s)
{
	return scope_at(c, s->outer);
}
