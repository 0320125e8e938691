// SPDX-License-Identifier: MIT
/*
 * Headers of line programs, DWARF 2 to 5. Where a header ends 4 bytes after its tables, these are a
 * dialect's, which adds them to the offsets of the names of inlined functions.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "gpucode/line_program.h"

enum {
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

/* Interns the path of a file and appends it to the program's. */
static void add_file(struct line_machine *m, uint64_t folder, const char *name)
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
	/* Names may be long, and each be named by a few bytes: what is not used counts, too. */
	length = m->paths_room ? snprintf(path, sizeof(path), "%.*s%s%.*s", PATH_MAX, above,
					 above[0] ? "/" : "", PATH_MAX, name)
			       : -1;
	if (length < 0 || (size_t)length >= sizeof(path) || (size_t)length > m->paths_room) {
		m->t->damage.programs++;
		m->paths_room -= m->paths_room < sizeof(path) ? m->paths_room : sizeof(path);
	} else if (name[0]) {
		m->paths_room -= (size_t)length;
		m->error = interner_add(m->paths, path, (size_t)length, &id, NULL);
	}
	if (!m->error)
		m->error = vec_push(&m->files, id);
}

void line_file_read(struct line_machine *m, struct line_cursor *r, const char *name)
{
	uint64_t folder = read_uleb(r);

	(void)read_uleb(r); /* time */
	(void)read_uleb(r); /* size */
	if (!r->bad)
		add_file(m, folder, name);
}

static void read_old_tables(struct line_machine *m, struct line_cursor *r)
{
	const char *text;

	while (!r->bad && !m->error && *(text = read_text(r)))
		m->error = vec_push(&m->folders, text);
	while (!r->bad && !m->error && *(text = read_text(r)))
		line_file_read(m, r, text);
}

struct entry {
	const char *text;
	uint64_t folder;
};

static void read_field(struct line_machine *m, struct line_cursor *r, uint64_t content,
	uint64_t form, struct entry *e)
{
	const char *text = NULL;
	uint64_t number = 0;

	switch (form) {
	case DW_FORM_string:
		text = read_text(r);
		break;
	case DW_FORM_strp:
		text = code_string(m->strings, read_number(r, m->wide ? 8 : 4));
		break;
	case DW_FORM_line_strp:
		text = code_string(m->line_strings, read_number(r, m->wide ? 8 : 4));
		break;
	case DW_FORM_udata:
		number = read_uleb(r);
		break;
	case DW_FORM_data1:
	case DW_FORM_data2:
		number = read_number(r, form == DW_FORM_data1 ? 1 : 2);
		break;
	case DW_FORM_data4:
	case DW_FORM_data8:
		number = read_number(r, form == DW_FORM_data4 ? 4 : 8);
		break;
	case DW_FORM_data16:
		(void)read_bytes(r, 16);
		break;
	case DW_FORM_block:
		(void)read_bytes(r, read_uleb(r));
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
static void read_table(struct line_machine *m, struct line_cursor *r, bool files)
{
	uint8_t fields = read_byte(r);
	struct line_cursor formats = *r;
	uint64_t count;

	for (int i = 0; i < 2 * fields; i++)
		(void)read_uleb(r);
	count = read_uleb(r);
	for (uint64_t i = 0; fields && i < count && !r->bad && !m->error; i++) {
		struct line_cursor format = formats;
		struct entry e = {.text = ""};

		for (int k = 0; k < fields && !r->bad; k++) {
			uint64_t content = read_uleb(&format);

			read_field(m, r, content, read_uleb(&format), &e);
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
static void read_names_base(struct line_machine *m, struct line_cursor *r)
{
	const uint8_t *at = r->at;
	uint32_t section;

	m->names_base = 0;
	if (r->end - r->at != 4)
		return;
	m->names_base = read_number(r, 4);
	(void)line_relocate(m, at, m->names_base, &section, &m->names_base);
}

bool line_header_read(struct line_machine *m, struct line_cursor *r)
{
	uint64_t length;
	struct line_cursor tables;

	m->folders.count = m->files.count = 0;
	m->version = (uint16_t)read_number(r, 2);
	if (r->bad || m->version < 2 || m->version > 5)
		return false;
	if (m->version >= 5)
		(void)read_bytes(r, 2); /* sizes of addresses and segment selectors */
	length = read_number(r, m->wide ? 8 : 4);
	tables.at = r->at;
	if (!read_bytes(r, length))
		return false;
	tables.end = r->at;
	tables.bad = false;
	m->min_step = read_byte(&tables);
	if (m->version >= 4)
		(void)read_byte(&tables); /* operations in an instruction: GPUs have 1 */
	(void)read_byte(&tables);	  /* default_is_stmt */
	m->line_base = (int8_t)read_byte(&tables);
	m->line_range = read_byte(&tables);
	m->opcode_base = read_byte(&tables);
	m->operands = read_bytes(&tables, m->opcode_base ? m->opcode_base - 1 : 0);
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
