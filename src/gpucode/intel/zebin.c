// SPDX-License-Identifier: MIT
/*
 * The functions are read from the symbol table when the image is opened, the lines with the first
 * question about them.
 *
 * An image is relocatable: `.rela.debug_line` has where the lines of each kernel begin. Its
 * relocations are Intel's own (1 stores 64 bits, 2 stores 32), which the tools of binutils do not
 * know. Their symbols are called like the section that is meant (".text.NAME"), but are in the
 * section that is relocated; so a symbol is looked up among the sections by its name. The compiler
 * (IGC 2.40) takes these names from memory that it has given back, so that some are other texts, as
 * a rule empty ones: what such a symbol means is found by how long the lines are (find_nameless).
 *
 * The image that the driver makes for debuggers is linked: its sections have the addresses that
 * they were loaded at, and so have its symbols. Its relocations are still there. As what is looked
 * for is the section and the offset in it, they are done again, less the section's address.
 *
 * Which GPU the code is for is in a note of `.note.intelgt.compat`: the architecture's version,
 * major in bits 22 to 31, minor in bits 14 to 21.
 */
#include "gpucode/intel/zebin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "gpucode/line_program.h"

#define EM_INTELGT_GPU 205 /* EM_INTELGT, which only newer elf.h have */
#define NOTES	       ".note.intelgt.compat"
#define NOTE_OWNER     "IntelGT"
#define NOTE_VERSION   6 /* of the architecture */
#define CODE_PREFIX    ".text."
/* Longer names of sections are not looked for: a damaged image could ask for it at each symbol. */
#define NAME_MAX_BYTES 16384
#define NAMELESS_MAX   64 /* kernels whose symbols have lost their names, that are looked for */

struct zebin {
	struct code_elf elf;
	unsigned int target;
	struct vec(struct zebin_function) functions; /* by section and offset */
	struct vec(uint32_t) by_name;		     /* of these */
	struct vec(uint32_t) code_by_name;	     /* sections with code */
	size_t damaged_symbols;
	bool lines_read;
	struct line_table lines;
	struct interner *paths;
};

/* --- functions -------------------------------------------------------------------------------- */

static bool is_kernel(const struct code_section *s, const char *name, uint64_t offset)
{
	return !offset && !strncmp(s->name, CODE_PREFIX, strlen(CODE_PREFIX)) &&
	       !strcmp(s->name + strlen(CODE_PREFIX), name);
}

static int add_function(
	struct zebin *z, uint32_t symbol, const Elf64_Sym *s, struct code_names *names)
{
	uint32_t section = code_elf_symbol_section(&z->elf, symbol, s);
	const struct code_section *code;
	const char *name;
	uint64_t offset, room;

	if (!section)
		return 0; /* a function of another module */
	code = section < z->elf.sections.count ? &z->elf.sections.items[section] : NULL;
	name = code_names_next(names, s);
	offset = code ? s->st_value - code->address : 0;
	if (!code || !code_section_has_code(code) || offset >= code->size || !name) {
		z->damaged_symbols++;
		return 0;
	}
	room = code->size - offset;
	z->damaged_symbols += s->st_size > room;
	return vec_push(
		&z->functions, (struct zebin_function){
				       .name = name,
				       .section = section,
				       .offset = offset,
				       .size = s->st_size && s->st_size < room ? s->st_size : room,
				       .kernel = is_kernel(code, name, offset),
			       });
}

static int by_position(const void *a_, const void *b_)
{
	const struct zebin_function *a = a_, *b = b_;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->size > b->size ? -1 : a->size < b->size;
}

static int by_name(const void *a_, const void *b_, void *functions)
{
	const struct zebin_function *a = functions, *b = a + *(const uint32_t *)b_;
	int order;

	a += *(const uint32_t *)a_;
	order = strcmp(a->name, b->name);
	if (order || a->kernel != b->kernel)
		return order ?: a->kernel ? -1 : 1;
	return (a > b) - (a < b);
}

static int read_functions(struct zebin *z)
{
	struct code_names names = code_elf_names(&z->elf);
	Elf64_Sym s;

	for (uint32_t i = 1; code_elf_symbol(&z->elf, i, &s); i++)
		if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && add_function(z, i, &s, &names))
			return -ENOMEM;
	if (!z->functions.count)
		return 0;
	qsort(z->functions.items, z->functions.count, sizeof(*z->functions.items), by_position);
	for (uint32_t i = 0; i < z->functions.count; i++)
		if (vec_push(&z->by_name, i))
			return -ENOMEM;
	qsort_r(z->by_name.items, z->by_name.count, sizeof(*z->by_name.items), by_name,
		z->functions.items);
	return 0;
}

/* --- which GPU -------------------------------------------------------------------------------- */

/* Sizes in notes are rounded up to 4. */
static const uint8_t *take_padded(struct line_cursor *r, uint64_t size)
{
	const uint8_t *at = read_bytes(r, size);
	uint64_t left = (uint64_t)(r->end - r->at), padding = -size & 3;

	(void)read_bytes(r, padding < left ? padding : left);
	return at;
}

static void read_target(struct zebin *z)
{
	struct code_bytes notes = code_elf_bytes(&z->elf, code_elf_named(&z->elf, NOTES));
	struct line_cursor r = {.at = notes.data};

	r.end = notes.size ? notes.data + notes.size : notes.data;
	while (r.at < r.end && !r.bad) {
		uint64_t owner_size = read_number(&r, 4), size = read_number(&r, 4);
		uint64_t type = read_number(&r, 4);
		const uint8_t *owner = take_padded(&r, owner_size), *value = take_padded(&r, size);
		uint32_t version;

		if (!owner || !value || owner_size != sizeof(NOTE_OWNER) ||
			memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)) || type != NOTE_VERSION ||
			size != sizeof(version))
			continue;
		memcpy(&version, value, sizeof(version));
		z->target = 100 * (version >> 22) + (version >> 14 & 0xff);
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static int read_image(struct zebin *z, const void *image, size_t size)
{
	static const struct code_elf_kind kind = {"zebin", EM_INTELGT_GPU};
	Elf64_Ehdr h;
	int error = code_elf_init(&z->elf, image, size, &kind, &h);

	if (!error && read_functions(z))
		error = error_errno(-ENOMEM, "cannot read a zebin");
	if (!error)
		read_target(z);
	return error;
}

int zebin_open(const void *image, size_t size, struct zebin **ret)
{
	struct zebin *z = calloc(1, sizeof(*z));
	int error = z ? read_image(z, image, size) : error_errno(-ENOMEM, "cannot read a zebin");

	if (error)
		zebin_close(z);
	else
		*ret = z;
	return error;
}

void zebin_close(struct zebin *z)
{
	if (!z)
		return;
	line_table_release(&z->lines);
	interner_free(z->paths);
	vec_release(&z->code_by_name);
	vec_release(&z->by_name);
	vec_release(&z->functions);
	code_elf_release(&z->elf);
	free(z);
}

unsigned int zebin_target(const struct zebin *z)
{
	return z->target;
}

size_t zebin_function_count(const struct zebin *z)
{
	return z->functions.count;
}

const struct zebin_function *zebin_function(const struct zebin *z, size_t i)
{
	return i < z->functions.count ? &z->functions.items[i] : NULL;
}

const struct zebin_function *zebin_function_named(const struct zebin *z, const char *name)
{
	size_t n = search_first(i, 0, z->by_name.count,
		strcmp(z->functions.items[z->by_name.items[i]].name, name) >= 0);
	const struct zebin_function *f;

	if (n == z->by_name.count)
		return NULL;
	f = &z->functions.items[z->by_name.items[n]];
	return strcmp(f->name, name) ? NULL : f;
}

uint64_t zebin_section_address(const struct zebin *z, uint32_t section)
{
	return section < z->elf.sections.count ? z->elf.sections.items[section].address : 0;
}

const void *zebin_code(const struct zebin *z, const struct zebin_function *f, size_t *ret_size)
{
	struct code_bytes code = code_elf_bytes(&z->elf, f->section);

	*ret_size = 0;
	if (f->offset >= code.size)
		return NULL;
	*ret_size = code.size - f->offset < f->size ? code.size - f->offset : f->size;
	return code.data + f->offset;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int compare_sections(const void *a_, const void *b_, void *sections)
{
	const struct code_section *a = sections, *b = a + *(const uint32_t *)b_;
	int order;

	a += *(const uint32_t *)a_;
	order = strcmp(a->name, b->name);
	return order ? order : (a > b) - (a < b);
}

static int sort_code(struct zebin *z)
{
	vec_foreach (s, &z->elf.sections) {
		uint32_t i = (uint32_t)(s - z->elf.sections.items);

		if (code_section_has_code(s) && strnlen(s->name, NAME_MAX_BYTES) < NAME_MAX_BYTES &&
			vec_push(&z->code_by_name, i))
			return -ENOMEM;
	}
	if (z->code_by_name.count)
		qsort_r(z->code_by_name.items, z->code_by_name.count,
			sizeof(*z->code_by_name.items), compare_sections, z->elf.sections.items);
	return 0;
}

/* The section that is called like the symbol; else the one that the symbol is in. */
static bool find_named(
	const struct line_machine *m, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset)
{
	const struct zebin *z = m->owner;
	const struct code_section *sections = z->elf.sections.items;
	struct code_names names = code_elf_names(&z->elf);
	const char *name;
	Elf64_Sym s;
	size_t n;

	if (!code_elf_symbol(&z->elf, symbol, &s))
		return false;
	name = code_string(names.table, s.st_name);
	if (!name || strncmp(name, CODE_PREFIX, strlen(CODE_PREFIX))) {
		if (!code_elf_position(&z->elf, symbol, ret_section, ret_offset) ||
			!code_section_has_code(&sections[*ret_section]))
			return false;
		*ret_offset -= sections[*ret_section].address;
		return true;
	}
	n = search_first(i, 0, z->code_by_name.count,
		strcmp(sections[z->code_by_name.items[i]].name, name) >= 0);
	if (n == z->code_by_name.count || strcmp(sections[z->code_by_name.items[n]].name, name))
		return false;
	*ret_section = z->code_by_name.items[n];
	*ret_offset = s.st_value - sections[*ret_section].address;
	return true;
}

/* What leads nowhere gets a section of its own, behind those that there are, until all is read. */
static bool find_position(
	const struct line_machine *m, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset)
{
	const struct zebin *z = m->owner;

	if (find_named(m, symbol, ret_section, ret_offset))
		return true;
	*ret_section = (uint32_t)(z->elf.sections.count + symbol);
	*ret_offset = 0;
	return symbol <= UINT32_MAX - z->elf.sections.count;
}

/* The one kernel that has no lines and is as long as these. */
static const struct zebin_function *find_nameless(
	const struct zebin *z, const bool *has_lines, const struct line_sequence *s)
{
	const struct zebin_function *found = NULL;

	vec_foreach (f, &z->functions) {
		if (!f->kernel || f->size != s->end || has_lines[f->section])
			continue;
		if (found)
			return NULL;
		found = f;
	}
	return found;
}

static void place_nameless(struct line_machine *m)
{
	const struct zebin *z = m->owner;
	uint32_t sections = (uint32_t)z->elf.sections.count;
	bool *has_lines = calloc(sections + 1, sizeof(*has_lines));
	const struct zebin_function *f;
	size_t looked_for = 0;

	if (!has_lines) {
		m->error = -ENOMEM;
		return;
	}
	vec_foreach (s, &m->t->sequences)
		if (s->section < sections)
			has_lines[s->section] = true;
	vec_foreach (s, &m->t->sequences) {
		if (s->section < sections)
			continue;
		f = looked_for++ < NAMELESS_MAX ? find_nameless(z, has_lines, s) : NULL;
		if (f) {
			s->section = f->section;
			has_lines[f->section] = true;
		} else {
			m->t->damage.rows += s->count;
		}
	}
	free(has_lines);
}

static int read_lines(struct zebin *z)
{
	static const struct line_dialect dialect = {
		.position = find_position, .finish = place_nameless};
	struct line_programs of = {.elf = &z->elf, .dialect = &dialect, .owner = z};
	int error = interner_new(&z->paths);

	z->lines_read = true;
	of.paths = z->paths;
	error = error ?: sort_code(z);
	return error ?: line_table_init(&z->lines, &of, ".debug_line");
}

/* The innermost function that has this place of its section, which `f` has. */
static const struct zebin_function *innermost(
	const struct zebin *z, const struct zebin_function *f, uint64_t offset)
{
	const struct zebin_function *all = z->functions.items, *inner = f;
	size_t behind = search_first(i, (size_t)(f - all), z->functions.count,
		all[i].section > f->section || all[i].offset > offset);

	/* Functions are not nested deeper than one in a kernel, so the last that begins there is
	 * it. */
	if (behind > (size_t)(f - all) + 1) {
		inner = &all[behind - 1];
		if (offset - inner->offset >= inner->size || inner->offset == f->offset)
			inner = f;
	}
	return inner;
}

bool zebin_source(struct zebin *z, const struct zebin_function *f, uint64_t offset,
	struct zebin_frame *ret, bool *ret_called)
{
	const struct line_sequence *sequence;
	const struct zebin_function *inner;
	const struct line_row *row;

	*ret_called = false;
	if (offset >= f->size || (!z->lines_read && read_lines(z)))
		return false;
	offset += f->offset;
	inner = innermost(z, f, offset);
	row = line_table_find(&z->lines, f->section, offset, &sequence);
	if (row && row->offset < inner->offset)
		row = NULL; /* of the function before it */
	*ret = (struct zebin_frame){
		.function = inner->name,
		.path = row ? interner_get(z->paths, row->path, NULL) : "",
		.line = row ? row->line : 0,
	};
	*ret_called = inner != f;
	return true;
}

struct zebin_damage zebin_damage(const struct zebin *z)
{
	return (struct zebin_damage){z->elf.damaged, z->damaged_symbols, z->lines.damage};
}
