// SPDX-License-Identifier: MIT
/*
 * Line programs are those of DWARF 2 to 5 (ptxas of CUDA 13 writes version 2), with two
 * differences:
 *
 * - DW_LNE_NVIDIA_inlined_call (0x90) with two ULEB128 operands: the rows from here on were
 * inlined. The first operand is the number of the row of their call, counted from 1 in each
 * sequence (0: not inlined any more); the second is the name of the inlined function, an offset in
 * .debug_str. DW_LNE_NVIDIA_set_function_name (0x91) with one operand sets the name alone.
 * elfutils' dwarf.h has these numbers. A row that is called from stands directly before, often at
 * the same address as the rows inlined there: of several rows at one address the last one counts.
 *
 * - A header that ends 4 bytes after its tables has there what is to be added to the offsets of
 *   names. nvlink (13.0) puts the strings of several compilations one behind the other and leaves
 *   this number at 0, so each program's names would be looked for among those of the first.
 *   settle_names() finds where they really are.
 *
 * The address of a sequence is a relocation against the symbol of a function or its section.
 */
#include "cubin/line_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the paths of all files of an image: 4 bytes of a damaged one could name 4,000. */
#define PATHS_MAX (64u << 20)

enum {
	DW_LNS_copy = 1,
	DW_LNS_advance_pc,
	DW_LNS_advance_line,
	DW_LNS_set_file,
	DW_LNS_set_column,
	DW_LNS_negate_stmt,
	DW_LNS_set_basic_block,
	DW_LNS_const_add_pc,
	DW_LNS_fixed_advance_pc,

	DW_LNE_end_sequence = 1,
	DW_LNE_set_address,
	DW_LNE_define_file,
	DW_LNE_NVIDIA_inlined_call = 0x90,
	DW_LNE_NVIDIA_set_function_name,

	DW_LNCT_path = 1,
	DW_LNCT_directory_index,

	DW_FORM_data2 = 0x05,
	DW_FORM_data4 = 0x06,
	DW_FORM_data8 = 0x07,
	DW_FORM_string = 0x08,
	DW_FORM_block = 0x09,
	DW_FORM_data1 = 0x0b,
	DW_FORM_strp = 0x0e,
	DW_FORM_udata = 0x0f,
	DW_FORM_data16 = 0x1e,
	DW_FORM_line_strp = 0x1f,
};

/* Bytes that are read from front to back; `bad` once there were too few. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static const uint8_t *take(struct cursor *r, uint64_t size)
{
	const uint8_t *at = r->at;

	if (size > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
		return NULL;
	}
	r->at += size;
	return at;
}

static uint64_t take_number(struct cursor *r, size_t size)
{
	const uint8_t *bytes = take(r, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static uint8_t take_byte(struct cursor *r)
{
	return (uint8_t)take_number(r, 1);
}

static uint64_t take_uleb(struct cursor *r)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned int shift = 0;

	do {
		byte = take_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static int64_t take_sleb(struct cursor *r)
{
	uint64_t value = 0;
	uint8_t byte;
	unsigned int shift = 0;

	do {
		byte = take_byte(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

/* Never NULL. */
static const char *take_text(struct cursor *r)
{
	const uint8_t *nul = memchr(r->at, 0, (size_t)(r->end - r->at));
	const char *text = (const char *)r->at;

	if (!nul) {
		r->bad = true;
		r->at = r->end;
		return "";
	}
	r->at = nul + 1;
	return text;
}

struct relocation {
	uint64_t offset;
	uint64_t symbol;
	uint64_t addend;
	bool explicit_addend;
};

/* A program whose rows have names that are not settled yet. */
struct naming {
	uint32_t program;    /* counted from 0 */
	uint32_t first, end; /* rows */
	uint64_t base;
	uint32_t last; /* the greatest offset that it names */
};

struct machine {
	struct line_table *t;
	struct cubin *c;
	struct interner *paths;
	size_t paths_room; /* for this many more bytes of paths */
	struct cubin_bytes section;
	struct cubin_bytes strings, line_strings; /* .debug_str, .debug_line_str */
	struct vec(struct relocation) relocations;
	struct vec(struct naming) names;
	uint32_t only_code; /* the one section of code, or 0 */
	int error;	    /* -ENOMEM */

	/* Of the present program. */
	uint32_t program;
	bool wide; /* 64-bit DWARF */
	uint16_t version;
	uint8_t min_step;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *operands; /* how many each standard opcode has */
	uint64_t names_base;
	struct vec(const char *) folders;
	struct vec(uint32_t) files;

	/* Of the present sequence. */
	uint32_t code; /* section; 0: not known where */
	uint64_t address;
	uint64_t file;
	uint64_t line;
	uint32_t context;
	uint32_t function;
	uint32_t first;
};

static int by_offset(const void *a_, const void *b_)
{
	const struct relocation *a = a_, *b = b_;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void read_relocations(struct machine *m, const struct cubin_section *s)
{
	bool rela = s->type == SHT_RELA;
	size_t entry = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rela r = {0};

	for (uint64_t at = 0; at + entry <= s->stored && !m->error; at += entry) {
		memcpy(&r, m->c->image + s->offset + at, entry);
		m->error =
			vec_push(&m->relocations, (struct relocation){
							  .offset = r.r_offset,
							  .symbol = ELF64_R_SYM(r.r_info),
							  .addend = rela ? (uint64_t)r.r_addend : 0,
							  .explicit_addend = rela,
						  });
	}
}

static void find_relocations(struct machine *m, size_t section)
{
	vec_foreach (s, &m->c->sections)
		if ((s->type == SHT_RELA || s->type == SHT_REL) && s->info == section)
			read_relocations(m, s);
	if (m->relocations.count)
		qsort(m->relocations.items, m->relocations.count, sizeof(*m->relocations.items),
			by_offset);
}

/* What the linker would put at `at`: true with a place that differs from the stored number. */
static bool relocate(struct machine *m, const uint8_t *at, uint64_t stored, uint32_t *ret_section,
	uint64_t *ret_offset)
{
	struct relocation key = {.offset = (uint64_t)(at - m->section.data)}, *r;

	if (!m->relocations.count)
		return false;
	r = bsearch(&key, m->relocations.items, m->relocations.count, sizeof(key), by_offset);
	if (!r || !cubin_symbol_place(m->c, r->symbol, ret_section, ret_offset))
		return false;
	*ret_offset += r->explicit_addend ? r->addend : stored;
	return true;
}

static void set_address(struct machine *m, struct cursor *r, uint64_t size)
{
	const uint8_t *at = r->at;
	uint64_t stored;

	if (size > sizeof(stored)) {
		r->bad = true;
		return;
	}
	stored = take_number(r, size);
	m->code = m->only_code;
	m->address = stored;
	(void)relocate(m, at, stored, &m->code, &m->address);
}

static void begin_sequence(struct machine *m)
{
	m->code = 0;
	m->address = 0;
	m->file = 1;
	m->line = 1;
	m->context = 0;
	m->function = LINE_NO_NAME;
	m->first = (uint32_t)m->t->rows.count;
}

/* Ends a sequence before the row that comes next. */
static void end_sequence(struct machine *m, uint64_t end)
{
	uint32_t count = (uint32_t)m->t->rows.count - m->first;

	if (!count || m->error)
		return;
	m->error = vec_push(
		&m->t->sequences, (struct line_sequence){
					  .section = m->code,
					  .start = m->t->rows.items[m->first].offset,
					  .end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX,
					  .first = m->first,
					  .count = count,
				  });
}

static void name_row(struct machine *m)
{
	uint32_t row = (uint32_t)m->t->rows.count;
	struct naming *n = m->names.count ? &m->names.items[m->names.count - 1] : NULL;

	if (!n || n->program != m->program) {
		m->error = vec_push(
			&m->names, (struct naming){m->program, row, row, m->names_base, 0});
		if (m->error)
			return;
		n = &m->names.items[m->names.count - 1];
	}
	n->end = row + 1;
	if (m->function > n->last)
		n->last = m->function;
}

static uint32_t find_path(const struct machine *m)
{
	uint64_t first = m->version >= 5 ? 0 : 1;

	if (m->file < first || m->file - first >= m->files.count)
		return 0;
	return m->files.items[m->file - first];
}

/* A row that cannot be is counted and says what the one before says, since later ones name rows by
 * their numbers. */
static void add_row(struct machine *m)
{
	struct line_table *t = m->t;
	uint32_t number = (uint32_t)t->rows.count - m->first;
	const struct line_row *before = number ? &t->rows.items[t->rows.count - 1] : NULL;
	struct line_row row = {
		.offset = m->address < UINT32_MAX ? (uint32_t)m->address : UINT32_MAX,
		.path = find_path(m),
		.line = m->line <= UINT32_MAX ? (uint32_t)m->line : 0,
		.context = m->context,
		.function = m->function,
	};

	if (!m->code || t->rows.count >= UINT32_MAX) {
		m->c->damage.rows++;
		return;
	}
	if (row.context > number || (before && row.offset < before->offset)) {
		m->c->damage.rows++;
		row = before ? *before
			     : (struct line_row){.offset = row.offset, .function = LINE_NO_NAME};
	} else if (row.function != LINE_NO_NAME) {
		name_row(m);
	}
	if (!m->error)
		m->error = vec_push(&t->rows, row);
}

static void set_names(struct machine *m, uint64_t offset)
{
	m->function = offset < LINE_NO_NAME ? (uint32_t)offset : LINE_NO_NAME;
}

/* Interns the path of a file and appends it to the program's. */
static void add_file(struct machine *m, uint64_t folder, const char *name)
{
	const char *above = "";
	char path[PATH_MAX];
	uint32_t id = 0;
	int length;

	/* Before version 5 folder 0 was that of the compiler, which .debug_line does not name. */
	if (m->version < 5)
		above = folder && folder <= m->folders.count ? m->folders.items[folder - 1] : "";
	else if (folder < m->folders.count)
		above = m->folders.items[folder];
	if (name[0] == '/')
		above = "";
	length = snprintf(path, sizeof(path), "%.*s%s%.*s", PATH_MAX, above, above[0] ? "/" : "",
		PATH_MAX, name);
	if (length < 0 || (size_t)length >= sizeof(path) || (size_t)length > m->paths_room) {
		m->c->damage.programs++;
	} else if (name[0]) {
		m->paths_room -= (size_t)length;
		m->error = interner_add(m->paths, path, (size_t)length, &id, NULL);
	}
	if (!m->error)
		m->error = vec_push(&m->files, id);
}

static void read_file_entry(struct machine *m, struct cursor *r, const char *name)
{
	uint64_t folder = take_uleb(r);

	(void)take_uleb(r); /* time */
	(void)take_uleb(r); /* size */
	if (!r->bad)
		add_file(m, folder, name);
}

static void read_old_tables(struct machine *m, struct cursor *r)
{
	const char *text;

	while (!r->bad && !m->error && *(text = take_text(r)))
		m->error = vec_push(&m->folders, text);
	while (!r->bad && !m->error && *(text = take_text(r)))
		read_file_entry(m, r, text);
}

struct entry {
	const char *text;
	uint64_t folder;
};

static void read_field(
	struct machine *m, struct cursor *r, uint64_t content, uint64_t form, struct entry *e)
{
	const char *text = NULL;
	uint64_t number = 0;

	switch (form) {
	case DW_FORM_string:
		text = take_text(r);
		break;
	case DW_FORM_strp:
		text = cubin_string(m->strings, take_number(r, m->wide ? 8 : 4));
		break;
	case DW_FORM_line_strp:
		text = cubin_string(m->line_strings, take_number(r, m->wide ? 8 : 4));
		break;
	case DW_FORM_udata:
		number = take_uleb(r);
		break;
	case DW_FORM_data1:
	case DW_FORM_data2:
		number = take_number(r, form == DW_FORM_data1 ? 1 : 2);
		break;
	case DW_FORM_data4:
	case DW_FORM_data8:
		number = take_number(r, form == DW_FORM_data4 ? 4 : 8);
		break;
	case DW_FORM_data16:
		(void)take(r, 16);
		break;
	case DW_FORM_block:
		(void)take(r, take_uleb(r));
		break;
	default:
		r->bad = true;
	}
	if (content == DW_LNCT_path && text)
		e->text = text;
	if (content == DW_LNCT_directory_index)
		e->folder = number;
}

/* A table of version 5: the folders or the files. */
static void read_table(struct machine *m, struct cursor *r, bool files)
{
	uint8_t fields = take_byte(r);
	struct cursor formats = *r;
	uint64_t count;

	for (int i = 0; i < 2 * fields; i++)
		(void)take_uleb(r);
	count = take_uleb(r);
	for (uint64_t i = 0; fields && i < count && !r->bad && !m->error; i++) {
		struct cursor format = formats;
		struct entry e = {.text = ""};

		for (int k = 0; k < fields && !r->bad; k++) {
			uint64_t content = take_uleb(&format);

			read_field(m, r, content, take_uleb(&format), &e);
		}
		if (r->bad)
			break;
		if (files)
			add_file(m, e.folder, e.text);
		else
			m->error = vec_push(&m->folders, e.text);
	}
}

/* The rest of a header that nothing but this may follow. */
static void read_names_base(struct machine *m, struct cursor *r)
{
	const uint8_t *at = r->at;
	uint32_t section;

	m->names_base = 0;
	if (r->end - r->at != 4)
		return;
	m->names_base = take_number(r, 4);
	(void)relocate(m, at, m->names_base, &section, &m->names_base);
}

/* Leaves `r` at the instructions; false: the header makes no sense. */
static bool read_header(struct machine *m, struct cursor *r)
{
	uint64_t length;
	struct cursor tables;

	m->folders.count = m->files.count = 0;
	m->version = (uint16_t)take_number(r, 2);
	if (r->bad || m->version < 2 || m->version > 5)
		return false;
	if (m->version >= 5)
		(void)take(r, 2); /* sizes of addresses and segment selectors */
	length = take_number(r, m->wide ? 8 : 4);
	tables.at = r->at;
	if (!take(r, length))
		return false;
	tables.end = r->at;
	tables.bad = false;
	m->min_step = take_byte(&tables);
	if (m->version >= 4)
		(void)take_byte(&tables); /* operations in an instruction: GPUs have 1 */
	(void)take_byte(&tables);	  /* default_is_stmt */
	m->line_base = (int8_t)take_byte(&tables);
	m->line_range = take_byte(&tables);
	m->opcode_base = take_byte(&tables);
	m->operands = take(&tables, m->opcode_base ? m->opcode_base - 1 : 0);
	if (tables.bad || !m->line_range || !m->opcode_base)
		return false;
	if (m->version >= 5) {
		read_table(m, &tables, false);
		read_table(m, &tables, true);
	} else {
		read_old_tables(m, &tables);
	}
	if (!tables.bad)
		read_names_base(m, &tables);
	return !tables.bad;
}

static void run_extended(struct machine *m, struct cursor *r)
{
	uint64_t size = take_uleb(r), context;
	const uint8_t *operands = take(r, size);
	struct cursor in = {.at = operands, .end = r->at};

	if (!operands || !size)
		return;
	switch (take_byte(&in)) {
	case DW_LNE_end_sequence:
		end_sequence(m, m->address);
		begin_sequence(m);
		break;
	case DW_LNE_set_address:
		set_address(m, &in, size - 1);
		break;
	case DW_LNE_define_file:
		read_file_entry(m, &in, take_text(&in));
		break;
	case DW_LNE_NVIDIA_inlined_call:
		context = take_uleb(&in);
		m->context = context <= UINT32_MAX ? (uint32_t)context : UINT32_MAX;
		set_names(m, take_uleb(&in));
		if (!m->context)
			m->function = LINE_NO_NAME;
		break;
	case DW_LNE_NVIDIA_set_function_name:
		set_names(m, take_uleb(&in));
		break;
	}
	r->bad |= in.bad;
}

static void run_standard(struct machine *m, struct cursor *r, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		add_row(m);
		break;
	case DW_LNS_advance_pc:
		m->address += take_uleb(r) * m->min_step;
		break;
	case DW_LNS_advance_line:
		m->line += (uint64_t)take_sleb(r);
		break;
	case DW_LNS_set_file:
		m->file = take_uleb(r);
		break;
	case DW_LNS_const_add_pc:
		m->address += (uint64_t)((255 - m->opcode_base) / m->line_range) * m->min_step;
		break;
	case DW_LNS_fixed_advance_pc:
		m->address += take_number(r, 2);
		break;
	default:
		for (int i = 0; i < m->operands[opcode - 1]; i++)
			(void)take_uleb(r);
	}
}

static void run_special(struct machine *m, uint8_t opcode)
{
	uint8_t step = opcode - m->opcode_base;

	m->address += (uint64_t)(step / m->line_range) * m->min_step;
	m->line += (uint64_t)(int64_t)(m->line_base + step % m->line_range);
	add_row(m);
}

static void run_instructions(struct machine *m, struct cursor *r)
{
	begin_sequence(m);
	while (r->at < r->end && !r->bad && !m->error) {
		uint8_t opcode = take_byte(r);

		if (opcode >= m->opcode_base)
			run_special(m, opcode);
		else if (opcode)
			run_standard(m, r, opcode);
		else
			run_extended(m, r);
	}
	/* Where the last row of a sequence ends, which was never ended, nobody knows. */
	m->c->damage.programs += r->bad || m->t->rows.count > m->first;
	if (m->t->rows.count > m->first)
		end_sequence(m, m->t->rows.items[m->t->rows.count - 1].offset);
}

static void run_programs(struct machine *m)
{
	struct cursor all = {.at = m->section.data, .end = m->section.data + m->section.size};

	for (; all.at < all.end && !m->error; m->program++) {
		uint64_t length = take_number(&all, 4);
		struct cursor r = {0};

		m->wide = length == UINT32_MAX;
		if (m->wide)
			length = take_number(&all, 8);
		r.at = all.at;
		if (!all.bad && take(&all, length)) {
			r.end = all.at;
		} else {
			/* It ends too early: what is there is good. */
			r.end = all.end;
			m->c->damage.programs++;
		}
		if (read_header(m, &r))
			run_instructions(m, &r);
		else
			m->c->damage.programs++;
	}
}

/* How much of .debug_str the names of a program take that begin at `base`; 0: they are not there.
 */
static uint64_t names_size(const struct machine *m, const struct naming *n, uint64_t base)
{
	const char *last = cubin_string(m->strings, base + n->last);

	return last ? n->last + strlen(last) + 1 : 0;
}

static void shift_names(struct machine *m, const struct naming *n, uint64_t base, bool known)
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
 * Where headers say nothing of it and several programs name functions, each program's names begin
 * behind those of the one before. This is proven when what they use, taken together, is all of
 * .debug_str: then none has strings that we do not see. Otherwise only the first program's are
 * known.
 */
static void settle_names(struct machine *m)
{
	uint64_t base = 0, size = 1;
	bool given = m->names.count < 2, proven;

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
	struct machine m = {
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
		find_relocations(&m, index);
	if (m.section.size && !m.error)
		run_programs(&m);
	if (!m.error)
		settle_names(&m);
	if (t->sequences.count)
		qsort(t->sequences.items, t->sequences.count, sizeof(*t->sequences.items),
			by_start);
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
}

static const struct line_sequence *find_sequence(
	const struct line_table *t, uint32_t section, uint64_t offset)
{
	size_t low = 0, high = t->sequences.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct line_sequence *s = &t->sequences.items[middle];

		if (s->section < section || (s->section == section && s->start <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || t->sequences.items[low - 1].section != section ||
		t->sequences.items[low - 1].end <= offset)
		return NULL;
	return &t->sequences.items[low - 1];
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
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (t->rows.items[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	*ret_sequence = s;
	return &t->rows.items[low];
}
