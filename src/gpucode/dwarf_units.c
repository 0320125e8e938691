// SPDX-License-Identifier: MIT
/*
 * Abbreviations are read once for each place in .debug_abbrev that units name. A unit's own entry
 * is read with its header, for the places of its tables: texts and addresses may be numbers in
 * them, and it names its tables after it has used them.
 */
#include "gpucode/dwarf_units.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "gpucode/line_program.h"

enum {
	DW_UT_skeleton = 4,
	DW_UT_split_compile,
	DW_UT_type = 2,
	DW_UT_split_type = 6,

	DW_FORM_addr = 0x01,
	DW_FORM_block2 = 0x03,
	DW_FORM_block4,
	DW_FORM_data2,
	DW_FORM_data4,
	DW_FORM_data8,
	DW_FORM_string,
	DW_FORM_block,
	DW_FORM_block1,
	DW_FORM_data1,
	DW_FORM_flag,
	DW_FORM_sdata,
	DW_FORM_strp,
	DW_FORM_udata,
	DW_FORM_ref_addr,
	DW_FORM_ref1,
	DW_FORM_ref2,
	DW_FORM_ref4,
	DW_FORM_ref8,
	DW_FORM_ref_udata,
	DW_FORM_indirect,
	DW_FORM_sec_offset,
	DW_FORM_exprloc,
	DW_FORM_flag_present,
	DW_FORM_strx,
	DW_FORM_addrx,
	DW_FORM_ref_sup4,
	DW_FORM_strp_sup,
	DW_FORM_data16,
	DW_FORM_line_strp,
	DW_FORM_ref_sig8,
	DW_FORM_implicit_const,
	DW_FORM_loclistx,
	DW_FORM_rnglistx,
	DW_FORM_ref_sup8,
	DW_FORM_strx1,
	DW_FORM_strx2,
	DW_FORM_strx3,
	DW_FORM_strx4,
	DW_FORM_addrx1,
	DW_FORM_addrx2,
	DW_FORM_addrx3,
	DW_FORM_addrx4,

	DW_RLE_end_of_list = 0,
	DW_RLE_base_addressx,
	DW_RLE_startx_endx,
	DW_RLE_startx_length,
	DW_RLE_offset_pair,
	DW_RLE_base_address,
	DW_RLE_start_end,
	DW_RLE_start_length,
};

#define INDIRECT_MAX 4
/* Each byte may be read so often, in the mean: entries are read for themselves and as origins of
 * others, 3 times or so, at 3 times their bytes, and a range counts for what is kept of it. */
#define STOCK_FACTOR 32
#define STOCK_LEAST  65536
#define RANGE_COST   16
#define PATHS_MAX    (64u << 20)

struct attribute {
	uint64_t name, form;
	uint64_t constant;
};

struct abbreviation {
	uint64_t code, tag;
	bool inside;
	uint32_t first, count; /* of its attributes */
};

struct dwarf_unit {
	uint64_t begin, entries, end; /* places in the section */
	uint16_t version;
	bool wide, damaged;
	uint8_t address_size;
	uint32_t first, count;		  /* of its abbreviations */
	uint64_t texts, addresses, lists; /* of its tables, in their sections */
	uint64_t low, lines;
	bool has_lines;

	struct line_cursor at;
	const struct abbreviation *present;
};

struct dwarf_units {
	struct code_bytes info, abbreviations_section;
	struct code_bytes strings, line_strings, offsets, addresses, ranges, lists;
	struct vec(struct dwarf_unit) units;
	struct vec(struct abbreviation) abbreviations;
	struct vec(struct attribute) attributes;
	struct map tables; /* of abbreviations, by place: first << 32 | count */
	uint64_t room;	   /* for attributes of abbreviations */
	uint64_t stock;	   /* of work */
	size_t damaged;
	int error;
	/* The files of the line program that was asked for last. */
	struct line_machine lines;
	struct line_table line_damage;
	uint64_t lines_at;
	bool lines_read;
};

static void is_damaged(struct dwarf_units *d, struct dwarf_unit *u)
{
	d->damaged += !u->damaged;
	u->damaged = true;
}

static bool spend(struct dwarf_units *d, uint64_t work)
{
	if (work > d->stock) {
		d->stock = 0;
		return false;
	}
	d->stock -= work;
	return true;
}

static struct line_cursor cursor_at(struct code_bytes section, uint64_t place)
{
	struct line_cursor r = {.bad = place > section.size};

	if (!section.size)
		return r;
	r.end = section.data + section.size;
	r.at = r.bad ? r.end : section.data + place;
	return r;
}

static uint64_t place_of(const struct dwarf_units *d, const uint8_t *at)
{
	return (uint64_t)(at - d->info.data);
}

/* --- abbreviations ---------------------------------------------------------------------------- */

/* False at the end. */
static bool read_abbreviation(struct dwarf_units *d, struct line_cursor *r)
{
	struct abbreviation a = {.code = read_uleb(r), .first = (uint32_t)d->attributes.count};

	if (r->bad || !a.code || !d->room)
		return false;
	d->room--;
	a.tag = read_uleb(r);
	a.inside = read_byte(r);
	for (;;) {
		struct attribute t = {.name = read_uleb(r)};

		t.form = read_uleb(r);
		if (t.form == DW_FORM_implicit_const)
			t.constant = (uint64_t)read_sleb(r);
		if (r->bad || (!t.name && !t.form))
			break;
		if (!d->room)
			return false;
		d->room--;
		d->error = d->error ?: vec_push(&d->attributes, t);
		a.count++;
		if (d->error)
			return false;
	}
	d->error = r->bad ? d->error : vec_push(&d->abbreviations, a);
	return !r->bad && !d->error;
}

static void find_abbreviations(struct dwarf_units *d, struct dwarf_unit *u, uint64_t place)
{
	const uint64_t *known = map_get(&d->tables, place);
	struct line_cursor r = cursor_at(d->abbreviations_section, place);
	uint64_t first = d->abbreviations.count;

	if (known) {
		u->first = (uint32_t)(*known >> 32);
		u->count = (uint32_t)*known;
		return;
	}
	while (first < UINT32_MAX / 2 && !d->error && read_abbreviation(d, &r))
		;
	u->first = (uint32_t)first;
	u->count = (uint32_t)(d->abbreviations.count - first);
	d->error = d->error ?: map_put(&d->tables, place, first << 32 | u->count);
}

/* Codes are counted from 1 up, as a rule. */
static const struct abbreviation *abbreviation_of(
	struct dwarf_units *d, const struct dwarf_unit *u, uint64_t code)
{
	const struct abbreviation *all;

	if (!u->count)
		return NULL;
	all = &d->abbreviations.items[u->first];
	if (code && code <= u->count && all[code - 1].code == code)
		return &all[code - 1];
	for (uint32_t n = 0; n < u->count && spend(d, 1); n++)
		if (all[n].code == code)
			return &all[n];
	return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static void read_reference(const struct dwarf_unit *u, struct line_cursor *r, struct dwarf_value *v)
{
	switch (v->form) {
	case DW_FORM_ref_udata:
		v->number = read_uleb(r);
		break;
	case DW_FORM_ref_addr:
		v->number = read_number(r, u->wide ? 8 : 4);
		return;
	default:
		v->number = read_number(r, (size_t)1 << (v->form - DW_FORM_ref1));
	}
	v->number += u->begin;
}

static void read_block(struct line_cursor *r, uint64_t form)
{
	uint64_t size = form == DW_FORM_block1	 ? read_byte(r)
			: form == DW_FORM_block2 ? read_number(r, 2)
			: form == DW_FORM_block4 ? read_number(r, 4)
						 : read_uleb(r);

	(void)read_bytes(r, size);
}

static void read_value(const struct dwarf_unit *u, struct line_cursor *r, struct dwarf_value *v)
{
	size_t offset_size = u->wide ? 8 : 4;

	switch (v->form) {
	case DW_FORM_addr:
		v->number = read_number(r, u->address_size);
		break;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		v->number = read_byte(r);
		break;
	case DW_FORM_data2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		v->number = read_number(r, 2);
		break;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		v->number = read_number(r, 3);
		break;
	case DW_FORM_data4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		v->number = read_number(r, 4);
		break;
	case DW_FORM_data8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		v->number = read_number(r, 8);
		break;
	case DW_FORM_data16:
		(void)read_bytes(r, 16);
		break;
	case DW_FORM_sdata:
		v->number = (uint64_t)read_sleb(r);
		break;
	case DW_FORM_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
		v->number = read_uleb(r);
		break;
	case DW_FORM_string:
		v->text = read_text(r);
		break;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
		v->number = read_number(r, offset_size);
		break;
	case DW_FORM_ref_addr:
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		read_reference(u, r, v);
		break;
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
		read_block(r, v->form);
		break;
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		break;
	default:
		r->bad = true;
	}
}

/* For what was read since `from`, and for so many things that were done. */
static bool spend_from(
	struct dwarf_units *d, const uint8_t *from, const struct line_cursor *r, uint64_t work)
{
	return spend(d, (uint64_t)(r->at - from) + work);
}

/* The attributes at `r`, of an entry of this kind. */
static bool read_attributes(struct dwarf_units *d, const struct dwarf_unit *u,
	const struct abbreviation *a, struct line_cursor *r, dwarf_visit *visit, void *context)
{
	const uint8_t *begin = r->at;

	if (!spend(d, 1 + (uint64_t)a->count))
		return false;
	for (uint32_t n = 0; n < a->count && !r->bad; n++) {
		const struct attribute *t = &d->attributes.items[a->first + n];
		struct dwarf_value v = {.form = t->form, .number = t->constant};

		for (int k = 0; v.form == DW_FORM_indirect && k < INDIRECT_MAX; k++)
			v.form = read_uleb(r);
		read_value(u, r, &v);
		if (visit && !r->bad)
			visit(context, t->name, &v);
	}
	return spend_from(d, begin, r, 0) && !r->bad;
}

static bool is_indexed(uint64_t form, uint64_t plain, uint64_t first, uint64_t last)
{
	return form == plain || (first <= form && form <= last);
}

/* A number of `size` bytes of a section. */
static bool number_at(
	struct code_bytes section, uint64_t base, uint64_t index, size_t size, uint64_t *ret)
{
	struct line_cursor r;

	if (index > section.size / size || base > section.size)
		return false;
	r = cursor_at(section, base + index * size);
	*ret = read_number(&r, size);
	return !r.bad;
}

const char *dwarf_text(
	const struct dwarf_units *d, const struct dwarf_unit *u, const struct dwarf_value *v)
{
	uint64_t offset;

	if (v->form == DW_FORM_string)
		return v->text;
	if (v->form == DW_FORM_strp)
		return code_string(d->strings, v->number);
	if (v->form == DW_FORM_line_strp)
		return code_string(d->line_strings, v->number);
	if (is_indexed(v->form, DW_FORM_strx, DW_FORM_strx1, DW_FORM_strx4) &&
		number_at(d->offsets, u->texts, v->number, u->wide ? 8 : 4, &offset))
		return code_string(d->strings, offset);
	return NULL;
}

static bool address_of(const struct dwarf_units *d, const struct dwarf_unit *u,
	const struct dwarf_value *v, uint64_t *ret)
{
	if (is_indexed(v->form, DW_FORM_addrx, DW_FORM_addrx1, DW_FORM_addrx4))
		return number_at(d->addresses, u->addresses, v->number, u->address_size, ret);
	*ret = v->number;
	return v->form == DW_FORM_addr;
}

/* --- units ------------------------------------------------------------------------------------ */

struct root {
	struct dwarf_value low, lines;
	struct dwarf_unit *unit;
};

static void take_root(void *context, uint64_t attribute, const struct dwarf_value *v)
{
	struct root *root = context;

	switch (attribute) {
	case DW_AT_low_pc:
		root->low = *v;
		break;
	case DW_AT_stmt_list:
		root->lines = *v;
		break;
	case DW_AT_str_offsets_base:
		root->unit->texts = v->number;
		break;
	case DW_AT_addr_base:
		root->unit->addresses = v->number;
		break;
	case DW_AT_rnglists_base:
		root->unit->lists = v->number;
		break;
	}
}

/* False: it is of another kind, or makes no sense. */
static bool read_header(struct dwarf_units *d, struct line_cursor *r, struct dwarf_unit *u)
{
	uint8_t kind = 1;
	uint64_t table;

	u->version = (uint16_t)read_number(r, 2);
	if (u->version >= 5) {
		kind = read_byte(r);
		u->address_size = read_byte(r);
	}
	table = read_number(r, u->wide ? 8 : 4);
	if (u->version < 5)
		u->address_size = read_byte(r);
	if (kind == DW_UT_skeleton || kind == DW_UT_split_compile)
		(void)read_bytes(r, 8);
	if (kind == DW_UT_type || kind == DW_UT_split_type)
		return false;
	if (r->bad || u->version < 4 || u->version > 5 ||
		(u->address_size != 8 && u->address_size != 4))
		return false;
	u->entries = place_of(d, r->at);
	find_abbreviations(d, u, table);
	return true;
}

static void read_root(struct dwarf_units *d, struct dwarf_unit *u)
{
	struct root root = {.unit = u};
	uint64_t tag;
	bool inside;

	/* Where the tables begin that a unit does not name. */
	u->texts = u->addresses = u->lists = u->version < 5 ? 0 : u->wide ? 16 : 8;
	dwarf_rewind(d, u);
	if (!dwarf_next(d, u, &tag, &inside) || !tag || !dwarf_attributes(d, u, take_root, &root))
		return;
	(void)address_of(d, u, &root.low, &u->low);
	u->has_lines = root.lines.form;
	u->lines = root.lines.number;
}

static void read_units(struct dwarf_units *d)
{
	struct line_cursor all = cursor_at(d->info, 0);

	while (d->info.size && all.at < all.end && !d->error) {
		struct dwarf_unit u = {.begin = place_of(d, all.at)};
		uint64_t length = read_number(&all, 4);
		struct line_cursor r;

		u.wide = length == UINT32_MAX;
		if (u.wide)
			length = read_number(&all, 8);
		r = all;
		if (all.bad || !read_bytes(&all, length)) {
			d->damaged++;
			return;
		}
		r.end = all.at;
		u.end = place_of(d, all.at);
		if (!read_header(d, &r, &u)) {
			d->damaged++;
			continue;
		}
		if (!d->error)
			read_root(d, &u);
		d->error = d->error ?: vec_push(&d->units, u);
	}
}

int dwarf_units_new(const struct code_elf *elf, struct interner *paths, struct dwarf_units **ret)
{
	struct dwarf_units *d = calloc(1, sizeof(*d));
	struct code_bytes line = code_elf_bytes(elf, code_elf_named(elf, ".debug_line"));

	*ret = d;
	if (!d)
		return -ENOMEM;
	d->info = code_elf_bytes(elf, code_elf_named(elf, ".debug_info"));
	d->abbreviations_section = code_elf_bytes(elf, code_elf_named(elf, ".debug_abbrev"));
	d->strings = code_elf_strings(elf, code_elf_named(elf, ".debug_str"));
	d->line_strings = code_elf_strings(elf, code_elf_named(elf, ".debug_line_str"));
	d->offsets = code_elf_bytes(elf, code_elf_named(elf, ".debug_str_offsets"));
	d->addresses = code_elf_bytes(elf, code_elf_named(elf, ".debug_addr"));
	d->ranges = code_elf_bytes(elf, code_elf_named(elf, ".debug_ranges"));
	d->lists = code_elf_bytes(elf, code_elf_named(elf, ".debug_rnglists"));
	d->lines = (struct line_machine){.t = &d->line_damage,
		.elf = elf,
		.paths = paths,
		.paths_room = PATHS_MAX,
		.section = line,
		.strings = d->strings,
		.line_strings = d->line_strings};
	d->room = d->abbreviations_section.size;
	d->stock = STOCK_LEAST + STOCK_FACTOR * ((uint64_t)d->info.size + line.size +
							d->abbreviations_section.size +
							d->lists.size + d->ranges.size);
	read_units(d);
	return d->error;
}

void dwarf_units_free(struct dwarf_units *d)
{
	if (!d)
		return;
	vec_release(&d->lines.folders);
	vec_release(&d->lines.files);
	vec_release(&d->units);
	vec_release(&d->abbreviations);
	vec_release(&d->attributes);
	map_release(&d->tables);
	free(d);
}

size_t dwarf_unit_count(const struct dwarf_units *d)
{
	return d->units.count;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_units *d, size_t n)
{
	return &d->units.items[n];
}

int dwarf_error(const struct dwarf_units *d)
{
	return d->error;
}

size_t dwarf_damage(const struct dwarf_units *d)
{
	return d->damaged;
}

/* --- entries ---------------------------------------------------------------------------------- */

void dwarf_rewind(struct dwarf_units *d, struct dwarf_unit *u)
{
	u->at = cursor_at(d->info, u->entries);
	u->at.end = d->info.data + u->end;
	u->present = NULL;
}

bool dwarf_next(struct dwarf_units *d, struct dwarf_unit *u, uint64_t *ret_tag, bool *ret_inside)
{
	uint64_t code;

	if (u->at.bad || u->at.at >= u->at.end)
		return false;
	code = read_uleb(&u->at);
	*ret_tag = 0;
	*ret_inside = false;
	if (!code)
		return !u->at.bad && spend(d, 1);
	u->present = u->at.bad ? NULL : abbreviation_of(d, u, code);
	if (!u->present) {
		is_damaged(d, u);
		return false;
	}
	*ret_tag = u->present->tag;
	*ret_inside = u->present->inside;
	/* No entry has a tag of 0, which is the end of some here. */
	return *ret_tag != 0;
}

bool dwarf_attributes(
	struct dwarf_units *d, struct dwarf_unit *u, dwarf_visit *visit, void *context)
{
	if (u->present && read_attributes(d, u, u->present, &u->at, visit, context))
		return true;
	is_damaged(d, u);
	u->at.at = u->at.end;
	return false;
}

bool dwarf_entry_at(struct dwarf_units *d, struct dwarf_unit *u, uint64_t place, dwarf_visit *visit,
	void *context)
{
	struct line_cursor r = cursor_at(d->info, place);
	const struct abbreviation *a;

	if (place < u->entries || place >= u->end)
		return false;
	r.end = d->info.data + u->end;
	a = abbreviation_of(d, u, read_uleb(&r));
	return a && !r.bad && read_attributes(d, u, a, &r, visit, context);
}

struct dwarf_unit *dwarf_unit_of(
	struct dwarf_units *d, const struct dwarf_unit *u, const struct dwarf_value *reference)
{
	uint64_t place = reference->number;
	size_t behind;

	if (reference->form != DW_FORM_ref_addr &&
		!is_indexed(reference->form, DW_FORM_ref_udata, DW_FORM_ref1, DW_FORM_ref8))
		return NULL;
	if (reference->form != DW_FORM_ref_addr)
		return place < u->begin || place >= u->end ? NULL
							   : &d->units.items[u - d->units.items];
	behind = search_first(i, 0, d->units.count, d->units.items[i].begin > place);
	if (!behind || place >= d->units.items[behind - 1].end)
		return NULL;
	return &d->units.items[behind - 1];
}

/* --- files ------------------------------------------------------------------------------------ */

static void read_files(struct dwarf_units *d, uint64_t place)
{
	struct line_cursor r = cursor_at(d->lines.section, place);
	uint64_t length = read_number(&r, 4);
	const uint8_t *begin;

	d->lines_at = place;
	d->lines_read = true;
	d->lines.folders.count = d->lines.files.count = 0;
	d->lines.wide = length == UINT32_MAX;
	if (d->lines.wide)
		length = read_number(&r, 8);
	begin = r.at;
	if (r.bad || !read_bytes(&r, length))
		return;
	r.end = r.at;
	r.at = begin;
	if (!line_header_read(&d->lines, &r))
		d->lines.files.count = 0;
	(void)spend(d, (uint64_t)(r.at - begin));
	d->error = d->error ?: d->lines.error;
}

uint32_t dwarf_path(struct dwarf_units *d, struct dwarf_unit *u, const struct dwarf_value *file)
{
	uint64_t first, n = file->number;

	if (!file->form || !u->has_lines || !d->stock)
		return 0;
	if (!d->lines_read || d->lines_at != u->lines)
		read_files(d, u->lines);
	first = d->lines.version >= 5 ? 0 : 1;
	return n >= first && n - first < d->lines.files.count ? d->lines.files.items[n - first] : 0;
}

/* --- ranges ----------------------------------------------------------------------------------- */

struct ranges {
	struct dwarf_units *d;
	struct dwarf_unit *u;
	uint64_t base;
	void (*visit)(void *context, uint64_t start, uint64_t end);
	void *context;
};

static bool indexed_address(struct ranges *s, struct line_cursor *r, uint64_t *ret)
{
	return number_at(s->d->addresses, s->u->addresses, read_uleb(r), s->u->address_size, ret);
}

/* One entry of a list of version 5. False at its end. */
static bool read_list_entry(struct ranges *s, struct line_cursor *r)
{
	uint64_t start = 0, end = 0;
	bool good = true;

	switch (read_byte(r)) {
	case DW_RLE_base_addressx:
		return indexed_address(s, r, &s->base) && !r->bad;
	case DW_RLE_base_address:
		s->base = read_number(r, s->u->address_size);
		return !r->bad;
	case DW_RLE_startx_endx:
		good = indexed_address(s, r, &start) && indexed_address(s, r, &end);
		break;
	case DW_RLE_startx_length:
		good = indexed_address(s, r, &start);
		end = start + read_uleb(r);
		break;
	case DW_RLE_offset_pair:
		start = s->base + read_uleb(r);
		end = s->base + read_uleb(r);
		break;
	case DW_RLE_start_end:
		start = read_number(r, s->u->address_size);
		end = read_number(r, s->u->address_size);
		break;
	case DW_RLE_start_length:
		start = read_number(r, s->u->address_size);
		end = start + read_uleb(r);
		break;
	default:
		return false;
	}
	if (good && !r->bad)
		s->visit(s->context, start, end);
	return good && !r->bad;
}

/* One of version 4. */
static bool read_pair(struct ranges *s, struct line_cursor *r)
{
	uint64_t all_ones = s->u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t start = read_number(r, s->u->address_size);
	uint64_t end = read_number(r, s->u->address_size);

	if (r->bad || (!start && !end))
		return false;
	if (start == all_ones)
		s->base = end;
	else
		s->visit(s->context, s->base + start, s->base + end);
	return true;
}

/* Many entries may have one list. */
static void visit_list(struct ranges *s, const struct dwarf_value *v)
{
	bool is_old = s->u->version < 5, more = true;
	uint64_t place = v->number;
	struct line_cursor r;

	if (v->form == DW_FORM_rnglistx) {
		if (!number_at(s->d->lists, s->u->lists, v->number, s->u->wide ? 8 : 4, &place))
			return;
		place += s->u->lists;
	}
	r = cursor_at(is_old ? s->d->ranges : s->d->lists, place);
	while (more && !r.bad) {
		const uint8_t *begin = r.at;

		more = (is_old ? read_pair(s, &r) : read_list_entry(s, &r)) &&
		       spend_from(s->d, begin, &r, RANGE_COST);
	}
	if (!s->d->stock)
		is_damaged(s->d, s->u);
}

void dwarf_visit_ranges(struct dwarf_units *d, struct dwarf_unit *u, const struct dwarf_value *low,
	const struct dwarf_value *high, const struct dwarf_value *ranges,
	void (*visit)(void *context, uint64_t start, uint64_t end), void *context)
{
	struct ranges s = {d, u, u->low, visit, context};
	uint64_t start, end;

	if (ranges->form) {
		visit_list(&s, ranges);
		return;
	}
	if (!high->form || !address_of(d, u, low, &start))
		return;
	/* A number that is no address is a length. */
	if (!address_of(d, u, high, &end))
		end = start + high->number;
	visit(context, start, end);
}
