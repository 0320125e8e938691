// SPDX-License-Identifier: MIT
/*
 * The functions are read from the table of symbols when the object is opened, the lines and the
 * inlined calls with the first question about them.
 *
 * The file is linked, so lines and calls have its addresses, and nothing is relocated. All code is
 * of one address space: for the line reader it is that of one section.
 */
#include "gpucode/amd/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "gpucode/inline_calls.h"
#include "gpucode/line_program.h"

#define EM_AMD_GPU 224	 /* EM_AMDGPU, which only newer elf.h have */
#define MACH	   0xffu /* of e_flags */
#define ALL_CODE   1u	 /* the number of the section that all code is in, for the line reader */

struct amd_object {
	struct code_elf elf;
	unsigned int target;
	struct vec(struct amd_function) functions; /* by address */
	struct vec(uint32_t) by_name, by_symbol;   /* of these */
	size_t damaged_symbols;
	bool lines_asked; /* and then none are there if memory was short */
	struct line_table lines;
	struct inline_calls calls;
	struct interner *paths;
};

/* --- functions -------------------------------------------------------------------------------- */

static int add_function(
	struct amd_object *o, uint32_t symbol, const Elf64_Sym *s, struct code_names *names)
{
	uint32_t section = code_elf_symbol_section(&o->elf, symbol, s);
	const struct code_section *code;
	const char *name;
	uint64_t room;

	if (!section)
		return 0;
	code = section < o->elf.sections.count ? &o->elf.sections.items[section] : NULL;
	name = code_names_next(names, s);
	if (!code || !code_section_has_code(code) || s->st_value < code->address ||
		s->st_value - code->address >= code->size || !name) {
		o->damaged_symbols++;
		return 0;
	}
	room = code->size - (s->st_value - code->address);
	o->damaged_symbols += s->st_size > room;
	return vec_push(
		&o->functions, (struct amd_function){
				       .name = name,
				       .symbol = symbol,
				       .section = section,
				       .address = s->st_value,
				       .size = s->st_size && s->st_size < room ? s->st_size : room,
			       });
}

static int by_address(const void *a_, const void *b_)
{
	const struct amd_function *a = a_, *b = b_;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

static int compare_names(const void *a_, const void *b_, void *functions)
{
	const struct amd_function *a = functions, *b = a + *(const uint32_t *)b_;
	int order;

	a += *(const uint32_t *)a_;
	order = strcmp(a->name, b->name);
	return order ? order : (a > b) - (a < b);
}

static int compare_symbols(const void *a_, const void *b_, void *functions)
{
	const struct amd_function *a = functions, *b = a + *(const uint32_t *)b_;

	a += *(const uint32_t *)a_;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

/* Stripped files have the table of the dynamic linker only. */
static void find_symbols(struct amd_object *o)
{
	for (size_t n = 0; n < o->elf.sections.count && !o->elf.symbol_table; n++)
		if (o->elf.sections.items[n].type == SHT_DYNSYM)
			o->elf.symbol_table = n;
}

static int sort_functions(struct amd_object *o)
{
	size_t count = o->functions.count;

	if (!count)
		return 0;
	qsort(o->functions.items, count, sizeof(*o->functions.items), by_address);
	for (uint32_t n = 0; n < count; n++)
		if (vec_push(&o->by_name, n) || vec_push(&o->by_symbol, n))
			return -ENOMEM;
	qsort_r(o->by_name.items, count, sizeof(uint32_t), compare_names, o->functions.items);
	qsort_r(o->by_symbol.items, count, sizeof(uint32_t), compare_symbols, o->functions.items);
	return 0;
}

static int read_functions(struct amd_object *o)
{
	struct code_names names;
	Elf64_Sym s;

	find_symbols(o);
	names = code_elf_names(&o->elf);
	for (uint32_t i = 1; code_elf_symbol(&o->elf, i, &s); i++)
		if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && add_function(o, i, &s, &names))
			return -ENOMEM;
	return sort_functions(o);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int read_image(struct amd_object *o, const void *image, size_t size)
{
	static const struct code_elf_kind kind = {"code object", EM_AMD_GPU};
	Elf64_Ehdr h;
	int error = code_elf_init(&o->elf, image, size, &kind, &h);

	if (error)
		return error;
	o->target = h.e_flags & MACH;
	return read_functions(o) ? error_errno(-ENOMEM, "cannot read a code object") : 0;
}

int amd_object_open(const void *image, size_t size, struct amd_object **ret)
{
	struct amd_object *o = calloc(1, sizeof(*o));
	int error =
		o ? read_image(o, image, size) : error_errno(-ENOMEM, "cannot read a code object");

	if (error)
		amd_object_close(o);
	else
		*ret = o;
	return error;
}

static void release_lines(struct amd_object *o)
{
	line_table_release(&o->lines);
	inline_calls_release(&o->calls);
	interner_free(o->paths);
	o->lines = (struct line_table){0};
	o->calls = (struct inline_calls){0};
	o->paths = NULL;
}

void amd_object_close(struct amd_object *o)
{
	if (!o)
		return;
	release_lines(o);
	vec_release(&o->by_name);
	vec_release(&o->by_symbol);
	vec_release(&o->functions);
	code_elf_release(&o->elf);
	free(o);
}

unsigned int amd_object_target(const struct amd_object *o)
{
	return o->target;
}

size_t amd_object_function_count(const struct amd_object *o)
{
	return o->functions.count;
}

const struct amd_function *amd_object_function(const struct amd_object *o, size_t i)
{
	return i < o->functions.count ? &o->functions.items[i] : NULL;
}

const struct amd_function *amd_object_function_named(const struct amd_object *o, const char *name)
{
	const struct amd_function *all = o->functions.items, *f;
	size_t n = search_first(
		i, 0, o->by_name.count, strcmp(all[o->by_name.items[i]].name, name) >= 0);

	if (n == o->by_name.count)
		return NULL;
	f = &all[o->by_name.items[n]];
	return strcmp(f->name, name) ? NULL : f;
}

const struct amd_function *amd_object_function_of_symbol(
	const struct amd_object *o, uint32_t symbol)
{
	const struct amd_function *all = o->functions.items, *f;
	size_t n =
		search_first(i, 0, o->by_symbol.count, all[o->by_symbol.items[i]].symbol >= symbol);

	if (n == o->by_symbol.count)
		return NULL;
	f = &all[o->by_symbol.items[n]];
	return f->symbol == symbol ? f : NULL;
}

const void *amd_object_code(
	const struct amd_object *o, const struct amd_function *f, size_t *ret_size)
{
	struct code_bytes code = code_elf_bytes(&o->elf, f->section);
	uint64_t offset = f->address - o->elf.sections.items[f->section].address;

	*ret_size = 0;
	if (offset >= code.size)
		return NULL;
	*ret_size = code.size - offset < f->size ? code.size - offset : f->size;
	return code.data + offset;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* All or, where memory is short, nothing: half of it would be another answer. It is tried once, as
 * there may be many questions. */
static void read_lines(struct amd_object *o)
{
	static const struct line_dialect none = {0};
	struct line_programs of = {.elf = &o->elf, .dialect = &none, .only_code = ALL_CODE};

	o->lines_asked = true;
	if (interner_new(&o->paths))
		return;
	of.paths = o->paths;
	if (line_table_init(&o->lines, &of, ".debug_line") ||
		inline_calls_init(&o->calls, &o->elf, o->paths))
		release_lines(o);
}

static struct amd_frame frame_of(
	const struct amd_object *o, const char *function, uint32_t path, uint32_t line)
{
	return (struct amd_frame){function, interner_get(o->paths, path, NULL), line};
}

size_t amd_object_frames(struct amd_object *o, const struct amd_function *f, uint64_t offset,
	struct amd_frame ret[AMD_FRAMES_MAX])
{
	const struct line_sequence *sequence;
	const struct inline_scope *scope;
	const struct line_row *row;
	uint64_t address = f->address + offset;
	uint32_t path, line;
	size_t n = 0;

	if (!o->lines_asked)
		read_lines(o);
	if (offset >= f->size || !o->paths)
		return 0;
	row = line_table_find(&o->lines, ALL_CODE, address, &sequence);
	/* of the function before it */
	if (row && row->offset < f->address)
		row = NULL;
	path = row ? row->path : 0;
	line = row ? row->line : 0;
	for (scope = inline_calls_find(&o->calls, address); scope && scope->inlined;
		scope = inline_calls_outer(&o->calls, scope)) {
		if (n < AMD_FRAMES_MAX - 1)
			ret[n++] = frame_of(o, scope->function, path, line);
		path = scope->path;
		line = scope->line;
	}
	ret[n++] = frame_of(o, f->name, path, line);
	return n;
}

struct amd_damage amd_object_damage(const struct amd_object *o)
{
	return (struct amd_damage){
		o->elf.damaged, o->damaged_symbols, o->lines.damage, o->calls.damage};
}
