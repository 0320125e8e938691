// SPDX-License-Identifier: MIT
/*
 * The functions are read from the symbol table and sorted by position. A look-up by position finds
 * the last function that begins at or before it and goes outwards from there.
 *
 * e_flags are laid out in two ways (LLVM's llvm/BinaryFormat/ELF.h calls them EF_CUDA_SM and
 * EF_CUDA_SM_MASK): ABI version 7 has the compute capability in the lowest byte, version 8, which
 * CUDA 13 writes for all GPUs, in the second one.
 */
#include "gpucode/nvidia/cubin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "gpucode/nvidia/cubin_internal.h"

#define ABI_VERSION_2  8
#define STO_CUDA_ENTRY 0x10 /* in st_other: a kernel */
#define FATBIN_MAGIC   0xba55ed50
#define FATBIN_WRAPPER 0x466243b1
#define OUTER_MAX      64 /* kernels are not nested deeper in any real image */

static int refuse(const void *image, size_t size)
{
	uint32_t magic = 0;

	if (size >= sizeof(magic))
		memcpy(&magic, image, sizeof(magic));
	if (magic == FATBIN_MAGIC || magic == FATBIN_WRAPPER)
		return error_set(-ENOEXEC, "not a cubin but a fatbin, which holds some");
	if (size > 2 && !memcmp(image, "//", 2))
		return error_set(-ENOEXEC, "not a cubin but PTX text");
	return 0;
}

static int add_function(
	struct cubin *c, uint32_t symbol, const Elf64_Sym *s, struct code_names *names)
{
	uint32_t section = code_elf_symbol_section(&c->elf, symbol, s);
	const struct code_section *code;
	const char *name;
	uint64_t room;

	if (!section)
		return 0; /* a function of another module */
	code = section < c->elf.sections.count ? &c->elf.sections.items[section] : NULL;
	name = code_names_next(names, s);
	if (!code || !code_section_has_code(code) || s->st_value >= code->size || !name) {
		c->damaged_symbols++;
		return 0;
	}
	room = code->size - s->st_value;
	c->damaged_symbols += s->st_size > room;
	return vec_push(
		&c->functions, (struct cubin_function){
				       .name = name,
				       .linkage_name = name,
				       .symbol = symbol,
				       .section = section,
				       .offset = s->st_value,
				       .size = s->st_size && s->st_size < room ? s->st_size : room,
				       .kernel = s->st_other & STO_CUDA_ENTRY,
				       .outer = CUBIN_NONE,
			       });
}

static int by_position(const void *a_, const void *b_)
{
	const struct cubin_function *a = a_, *b = b_;

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->kernel != b->kernel)
		return a->kernel ? 1 : -1;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

static int read_functions(struct cubin *c)
{
	struct code_names names = code_elf_names(&c->elf);
	Elf64_Sym s;

	for (uint32_t i = 1; code_elf_symbol(&c->elf, i, &s); i++)
		if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && add_function(c, i, &s, &names))
			return error_errno(-ENOMEM, "cannot read a cubin");
	if (c->functions.count)
		qsort(c->functions.items, c->functions.count, sizeof(*c->functions.items),
			by_position);
	return 0;
}

/* What stands in `text` after `prefix`, or NULL. */
static const char *after(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return *prefix ? NULL : text;
}

/* A device function is called "$KERNEL$NAME", a routine of the compiler's "$__internal_N_$NAME". */
static const char *find_linkage_name(const struct cubin *c, const struct cubin_function *f)
{
	const char *name = after(f->name, "$__internal_");

	if (name)
		name = strchr(name, '$');
	else if (f->name[0] == '$' && f->outer != CUBIN_NONE)
		name = after(f->name + 1, c->functions.items[f->outer].name);
	return name && name[0] == '$' && name[1] ? name + 1 : f->name;
}

static bool same_code(const struct cubin_function *a, const struct cubin_function *b)
{
	return a->section == b->section && a->offset == b->offset && a->size == b->size;
}

/* Goes through the functions in their order. Those around the present position are on a stack,
 * whose links are the `outer` of its members. */
static void nest_functions(struct cubin *c)
{
	struct cubin_function *all = c->functions.items;
	uint32_t top = CUBIN_NONE;

	for (uint32_t i = 0; i < c->functions.count; i++) {
		struct cubin_function *f = &all[i];

		while (top != CUBIN_NONE && (all[top].section != f->section ||
						    all[top].offset + all[top].size <= f->offset))
			top = all[top].outer;
		f->outer = top != CUBIN_NONE && same_code(&all[top], f) ? all[top].outer : top;
		f->linkage_name = find_linkage_name(c, f);
		top = i;
	}
}

static int compare_names(const void *a_, const void *b_, void *functions)
{
	const struct cubin_function *a = functions, *b = a + *(const uint32_t *)b_;
	int order;

	a += *(const uint32_t *)a_;
	order = strcmp(a->name, b->name);
	return order ? order : (a > b) - (a < b);
}

static int compare_linkage_names(const void *a_, const void *b_, void *functions)
{
	const struct cubin_function *a = functions, *b = a + *(const uint32_t *)b_;
	int order;

	a += *(const uint32_t *)a_;
	order = strcmp(a->linkage_name, b->linkage_name);
	return order ? order : (a > b) - (a < b);
}

static int compare_symbols(const void *a_, const void *b_, void *functions)
{
	const struct cubin_function *a = functions, *b = a + *(const uint32_t *)b_;

	a += *(const uint32_t *)a_;
	return a->symbol < b->symbol ? -1 : a->symbol > b->symbol;
}

static uint32_t *index_functions(
	const struct cubin *c, int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((c->functions.count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < c->functions.count; i++)
		order[i] = i;
	qsort_r(order, c->functions.count, sizeof(*order), compare, c->functions.items);
	return order;
}

static int read_image(struct cubin *c, const void *image, size_t size)
{
	static const struct code_elf_kind kind = {"cubin", EM_CUDA_GPU};
	Elf64_Ehdr h;
	int error = refuse(image, size);

	error = error ?: code_elf_init(&c->elf, image, size, &kind, &h);
	if (!error)
		c->sm = h.e_ident[EI_ABIVERSION] >= ABI_VERSION_2 ? h.e_flags >> 8 & 0xff
								  : h.e_flags & 0xff;
	error = error ?: read_functions(c);
	if (error)
		return error;
	nest_functions(c);
	c->by_name = index_functions(c, compare_names);
	c->by_linkage_name = index_functions(c, compare_linkage_names);
	c->by_symbol = index_functions(c, compare_symbols);
	if (!c->by_name || !c->by_linkage_name || !c->by_symbol)
		return error_errno(-ENOMEM, "cannot read a cubin");
	return 0;
}

int cubin_open(const void *image, size_t size, struct cubin **ret)
{
	struct cubin *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return error_errno(-ENOMEM, "cannot read a cubin");
	error = read_image(c, image, size);
	if (error) {
		cubin_close(c);
		return error;
	}
	*ret = c;
	return 0;
}

void cubin_close(struct cubin *c)
{
	if (!c)
		return;
	line_tables_free(c->lines);
	free(c->by_name);
	free(c->by_linkage_name);
	free(c->by_symbol);
	vec_release(&c->functions);
	code_elf_release(&c->elf);
	free(c);
}

unsigned int cubin_sm(const struct cubin *c)
{
	return c->sm;
}

size_t cubin_function_count(const struct cubin *c)
{
	return c->functions.count;
}

const struct cubin_function *cubin_function(const struct cubin *c, size_t i)
{
	return i < c->functions.count ? &c->functions.items[i] : NULL;
}

/* The first of `order` that is not before `key`. */
static size_t lower_bound(const struct cubin *c, const uint32_t *order,
	int (*compare)(const struct cubin_function *f, const void *key), const void *key)
{
	return search_first(
		i, 0, c->functions.count, compare(&c->functions.items[order[i]], key) >= 0);
}

static int name_to_key(const struct cubin_function *f, const void *key)
{
	return strcmp(f->name, key);
}

static int linkage_name_to_key(const struct cubin_function *f, const void *key)
{
	return strcmp(f->linkage_name, key);
}

static int symbol_to_key(const struct cubin_function *f, const void *key)
{
	uint32_t symbol = *(const uint32_t *)key;

	return f->symbol < symbol ? -1 : f->symbol > symbol;
}

/* The n-th function in an order, if it compares equal to the key. */
static const struct cubin_function *match(const struct cubin *c, const uint32_t *order, size_t n,
	int (*compare)(const struct cubin_function *f, const void *key), const void *key)
{
	const struct cubin_function *f;

	if (n >= c->functions.count)
		return NULL;
	f = &c->functions.items[order[n]];
	return compare(f, key) ? NULL : f;
}

const struct cubin_function *cubin_function_named(const struct cubin *c, const char *name)
{
	size_t n = lower_bound(c, c->by_name, name_to_key, name);
	const struct cubin_function *f = match(c, c->by_name, n, name_to_key, name);

	if (f)
		return f;
	n = lower_bound(c, c->by_linkage_name, linkage_name_to_key, name);
	if (match(c, c->by_linkage_name, n + 1, linkage_name_to_key, name))
		return NULL;
	return match(c, c->by_linkage_name, n, linkage_name_to_key, name);
}

const struct cubin_function *cubin_function_of_symbol(const struct cubin *c, uint32_t symbol)
{
	size_t n = lower_bound(c, c->by_symbol, symbol_to_key, &symbol);

	return match(c, c->by_symbol, n, symbol_to_key, &symbol);
}

/* How many functions begin at or before the position. */
static size_t count_before(const struct cubin *c, uint32_t section, uint64_t offset)
{
	const struct cubin_function *f = c->functions.items;

	return search_first(i, 0, c->functions.count,
		f[i].section > section || (f[i].section == section && f[i].offset > offset));
}

const struct cubin_function *cubin_function_at(
	const struct cubin *c, uint32_t section, uint64_t offset)
{
	size_t before = count_before(c, section, offset);
	uint32_t i = before ? (uint32_t)before - 1 : CUBIN_NONE;

	for (int depth = 0; i != CUBIN_NONE && depth < OUTER_MAX; depth++) {
		const struct cubin_function *f = &c->functions.items[i];

		if (f->section == section && offset - f->offset < f->size)
			return f;
		i = f->outer;
	}
	return NULL;
}

const void *cubin_code(const struct cubin *c, const struct cubin_function *f, size_t *ret_size)
{
	struct code_bytes code = code_elf_bytes(&c->elf, f->section);

	if (f->offset >= code.size) {
		*ret_size = 0;
		return NULL;
	}
	*ret_size = code.size - f->offset < f->size ? code.size - f->offset : f->size;
	return code.data + f->offset;
}
