// SPDX-License-Identifier: MIT
/*
 *	units:      the address ranges of all compilation units, sorted, made at open
 *	functions:  those of the functions of one unit, sorted
 *	pieces:     those of the functions inlined into one function, however deep:
 *
 *		     f  |----------------------------------|
 *		     g     |-------------|      |----|          inlined into f
 *		     h        |--|                              inlined into that g
 *
 * The functions at an address are the deepest piece around it and all it is in. .debug_aranges is
 * not used: not every compiler writes it.
 *
 * A tree of entries is read in the order of the file, so that each one is read once: references to
 * the next entry may lead back, or to where the tree within has been already.
 */
#include "elf/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "elf/limits.h"

#define DEPTH_MAX 256 /* of entries within one another */

struct range {
	uint64_t low, high;
	Dwarf_Off die;
};

struct ranges vec(struct range);

struct piece {
	uint64_t low, high;
	uint32_t inlined; /* in `inlines` */
	uint32_t depth;
};

struct inlined {
	Dwarf_Off die;
	int32_t caller; /* -1: the function itself */
};

struct dwarf_file {
	Dwarf *dwarf;
	struct ranges units;
	Dwarf_Off entry; /* the last one that was read, of a tree */
	Dwarf_Off unit;	 /* whose functions these are */
	unsigned int units_used;
	struct ranges functions;
	/* entries of functions within namespaces and classes -> name, in `names` */
	struct map scoped;
	struct interner *names;
	Dwarf_Off function; /* whose pieces these are */
	struct vec(struct piece) pieces;
	struct vec(struct inlined) inlines;
};

bool dwarf_supported(void)
{
	return true;
}

static int by_low(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->high > b->high ? -1 : a->high < b->high;
}

static void sort_ranges(struct ranges *r)
{
	if (r->count)
		qsort(r->items, r->count, sizeof(*r->items), by_low);
}

/* The innermost range around `vaddr`: they hardly ever overlap. */
static const struct range *find_range(const struct ranges *r, uint64_t vaddr)
{
	size_t low = search_first(i, 0, r->count, r->items[i].low > vaddr);

	for (int steps = 0; low && steps < 16; steps++)
		if (vaddr < r->items[--low].high)
			return &r->items[low];
	return NULL;
}

static int add_range(struct ranges *r, const struct range *added, size_t max)
{
	return r->count < max ? vec_push(r, *added) : -EFBIG;
}

/* Code that the linker threw away has ranges at 0. */
static int add_ranges(struct ranges *r, Dwarf_Die *die, size_t max)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int error = 0;

	while (!error && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low && low < high)
			error = add_range(r, &(struct range){low, high, dwarf_dieoffset(die)}, max);
	return error;
}

static int read_entry(struct dwarf_file *d, Dwarf_Die *die)
{
	Dwarf_Off entry = dwarf_dieoffset(die);

	if (entry <= d->entry)
		return -EFBIG;
	d->entry = entry;
	return 0;
}

static int read_units(struct dwarf_file *d)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int error = 0;

	while (!error && !dwarf_get_units(d->dwarf, unit, &unit, NULL, NULL, &die, NULL))
		if (dwarf_tag(&die) == DW_TAG_compile_unit)
			error = add_ranges(&d->units, &die, ELF_DWARF_UNIT_RANGES_MAX);
	sort_ranges(&d->units);
	return error;
}

/* libdw would say so itself. */
static void __attribute__((noreturn)) end_without_memory(void)
{
	_exit(EXIT_FAILURE);
}

int dwarf_file_open(struct dwarf_file **ret, int fd)
{
	struct dwarf_file *d = calloc(1, sizeof(*d));
	int error;

	if (!d)
		return -ENOMEM;
	d->dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (d->dwarf)
		dwarf_new_oom_handler(d->dwarf, end_without_memory);
	error = d->dwarf ? interner_new(&d->names) : -ENOENT;
	error = error ?: read_units(d);
	if (error) {
		dwarf_file_close(d);
		return error;
	}
	*ret = d;
	return 0;
}

void dwarf_file_close(struct dwarf_file *d)
{
	if (!d)
		return;
	dwarf_end(d->dwarf);
	map_release(&d->scoped);
	interner_free(d->names);
	vec_release(&d->units);
	vec_release(&d->functions);
	vec_release(&d->pieces);
	vec_release(&d->inlines);
	free(d);
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type;
}

unsigned int dwarf_file_units_used(const struct dwarf_file *d)
{
	return d->units_used;
}

static bool has_linkage_name(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_linkage_name) ||
	       dwarf_hasattr(die, DW_AT_MIPS_linkage_name);
}

/* Functions that no linker sees have no mangled name, which would contain their namespace. */
static int note_scope(struct dwarf_file *d, Dwarf_Die *die, const struct buf *scope)
{
	const char *name = dwarf_diename(die);
	struct buf whole = BUF_INIT;
	uint32_t id;
	int error;

	if (!scope->size || !name || has_linkage_name(die))
		return 0;
	buf_printf(&whole, "%s%s", buf_text(scope), name);
	error = whole.failed ? -ENOMEM : interner_add(d->names, whole.data, whole.size, &id, NULL);
	buf_release(&whole);
	return error ?: map_put(&d->scoped, dwarf_dieoffset(die), id);
}

static int add_functions(struct dwarf_file *d, Dwarf_Die *parent, struct buf *scope, int depth);

static int add_scope(struct dwarf_file *d, Dwarf_Die *die, struct buf *scope, int depth)
{
	const char *name = dwarf_diename(die);
	size_t size = scope->size;
	int error;

	buf_printf(scope, "%s::", name ? name : "(anonymous)");
	error = scope->failed ? -ENOMEM : add_functions(d, die, scope, depth + 1);
	scope->size = size;
	if (scope->data)
		scope->data[size] = '\0';
	return error;
}

static int add_functions(struct dwarf_file *d, Dwarf_Die *parent, struct buf *scope, int depth)
{
	Dwarf_Die die;
	int error = 0, more = dwarf_child(parent, &die);

	for (; !error && !more; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		error = read_entry(d, &die);
		if (!error && tag == DW_TAG_subprogram) {
			error = add_ranges(&d->functions, &die, ELF_DWARF_RANGES_MAX);
			error = error ?: note_scope(d, &die, scope);
		} else if (!error && holds_functions(tag) && depth < DEPTH_MAX) {
			error = add_scope(d, &die, scope, depth);
		}
	}
	return error;
}

static int enter_unit(struct dwarf_file *d, Dwarf_Off unit)
{
	struct buf scope = BUF_INIT;
	Dwarf_Die die;
	int error = 0;

	if (d->unit == unit)
		return 0;
	d->unit = d->entry = unit;
	d->units_used++;
	d->functions.count = 0;
	map_release(&d->scoped);
	d->scoped = MAP_INIT;
	if (dwarf_offdie(d->dwarf, unit, &die))
		error = add_functions(d, &die, &scope, 0);
	buf_release(&scope);
	sort_ranges(&d->functions);
	return error;
}

static int add_piece(struct dwarf_file *d, const struct piece *p)
{
	return d->pieces.count < ELF_DWARF_RANGES_MAX ? vec_push(&d->pieces, *p) : -EFBIG;
}

static int add_pieces(struct dwarf_file *d, Dwarf_Die *die, int32_t caller, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int error = vec_push(&d->inlines, (struct inlined){dwarf_dieoffset(die), caller});
	uint32_t own = (uint32_t)d->inlines.count - 1;

	while (!error && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low < high)
			error = add_piece(d, &(struct piece){low, high, own, depth});
	return error;
}

static int add_inlines(struct dwarf_file *d, Dwarf_Die *parent, int32_t caller, uint32_t depth)
{
	Dwarf_Die die;
	int error = 0, more = dwarf_child(parent, &die);

	for (; !error && !more; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		int32_t within = caller;

		error = read_entry(d, &die);
		if (!error && tag == DW_TAG_inlined_subroutine) {
			within = (int32_t)d->inlines.count;
			error = add_pieces(d, &die, caller, depth);
		} else if (tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
			   tag != DW_TAG_catch_block) {
			continue;
		}
		if (!error && depth < DEPTH_MAX)
			error = add_inlines(d, &die, within, depth + 1);
	}
	return error;
}

static int enter_function(struct dwarf_file *d, Dwarf_Off function)
{
	Dwarf_Die die;

	if (d->function == function)
		return 0;
	d->function = d->entry = function;
	d->pieces.count = d->inlines.count = 0;
	return dwarf_offdie(d->dwarf, function, &die) ? add_inlines(d, &die, -1, 1) : 0;
}

static int32_t deepest_inline(const struct dwarf_file *d, uint64_t vaddr)
{
	const struct piece *best = NULL;

	vec_foreach (p, &d->pieces)
		if (vaddr >= p->low && vaddr < p->high && (!best || p->depth > best->depth))
			best = p;
	return best ? (int32_t)best->inlined : -1;
}

/* To the entry that an attribute refers to, where there is one; false when that is damaged. */
static bool follow(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute a;
	Dwarf_Die to;

	if (!dwarf_attr(die, attribute, &a))
		return true;
	if (!dwarf_formref_die(&a, &to))
		return false;
	*die = to;
	return true;
}

/* The name with its namespaces, of the function that was inlined or whose copy this is; or NULL. */
static const char *scoped_name(const struct dwarf_file *d, Dwarf_Die *die)
{
	Dwarf_Die origin = *die;
	const uint64_t *id;

	if (!follow(&origin, DW_AT_abstract_origin) || !follow(&origin, DW_AT_specification))
		return NULL;
	id = map_get(&d->scoped, dwarf_dieoffset(&origin));
	return id ? interner_get(d->names, (uint32_t)*id, NULL) : NULL;
}

static const char *name_of(const struct dwarf_file *d, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = dwarf_formstring(&a);
	if (!name)
		name = scoped_name(d, die);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &a))
		name = dwarf_formstring(&a);
	return name;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &a) || dwarf_formudata(&a, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where the function `die` was inlined: the line of its caller. */
static void put_call_line(Dwarf_Die *unit, Dwarf_Die *die, struct dwarf_frame *caller)
{
	Dwarf_Files *files;
	size_t count;
	uint32_t file = number_of(die, DW_AT_call_file);

	caller->line = number_of(die, DW_AT_call_line);
	if (!dwarf_getsrcfiles(unit, &files, &count) && file < count)
		caller->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Where libdw gets no memory there is no line either. */
static int put_own_line(Dwarf_Die *unit, uint64_t vaddr, struct dwarf_frame *frame)
{
	Dwarf_Line *line;
	int number = 0;

	errno = 0;
	line = dwarf_getsrc_die(unit, vaddr);
	if (!line)
		return errno == ENOMEM ? -ENOMEM : 0;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
	return 0;
}

/* The functions inlined at an address, outermost first, behind the function itself. */
static size_t put_inlines(struct dwarf_file *d, Dwarf_Die *unit, int32_t inlined,
	struct dwarf_frame ret[DWARF_FRAMES_MAX])
{
	int32_t chain[DWARF_FRAMES_MAX];
	size_t depth = 0, count = 1;

	for (; inlined >= 0 && depth < DWARF_FRAMES_MAX - 1;
		inlined = d->inlines.items[inlined].caller)
		chain[depth++] = inlined;
	while (depth--) {
		Dwarf_Die die;

		if (!dwarf_offdie(d->dwarf, d->inlines.items[chain[depth]].die, &die))
			break;
		put_call_line(unit, &die, &ret[count - 1]);
		ret[count++] = (struct dwarf_frame){.name = name_of(d, &die)};
	}
	return count;
}

int dwarf_file_frames(
	struct dwarf_file *d, uint64_t vaddr, struct dwarf_frame ret[DWARF_FRAMES_MAX])
{
	const struct range *unit = find_range(&d->units, vaddr), *function;
	Dwarf_Die unit_die, die;
	size_t count = 1;
	int error;

	if (!unit || !dwarf_offdie(d->dwarf, unit->die, &unit_die))
		return 0;
	error = enter_unit(d, unit->die);
	if (error)
		return error;
	ret[0] = (struct dwarf_frame){0};
	function = find_range(&d->functions, vaddr);
	if (function && dwarf_offdie(d->dwarf, function->die, &die)) {
		ret[0].name = name_of(d, &die);
		error = enter_function(d, function->die);
		count = put_inlines(d, &unit_die, deepest_inline(d, vaddr), ret);
	}
	error = error ?: put_own_line(&unit_die, vaddr, &ret[count - 1]);
	return error ?: (int)count;
}
