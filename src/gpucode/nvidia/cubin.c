// SPDX-License-Identifier: MIT
/*
 * The headers of the image are copied into a table of sections once, with every range checked
 * against the image; the functions are read from the symbol table and sorted by position. A look-up
 * by position finds the last function that begins at or before it and goes outwards from there.
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
#define NAMES_PER_TABLE_MAX                                                                        \
	4 /* names overlap in no string table so much as to be longer together */

static bool read_at(const struct cubin *c, uint64_t offset, void *ret, size_t size)
{
	if (offset > c->size || size > c->size - offset)
		return false;
	memcpy(ret, c->image + offset, size);
	return true;
}

struct cubin_bytes cubin_section_bytes(const struct cubin *c, size_t section)
{
	const struct cubin_section *s;

	if (section >= c->sections.count)
		return (struct cubin_bytes){0};
	s = &c->sections.items[section];
	return (struct cubin_bytes){s->stored ? c->image + s->offset : NULL, s->stored};
}

size_t cubin_section_named(const struct cubin *c, const char *name)
{
	vec_foreach (s, &c->sections)
		if (s->stored && !strcmp(s->name, name))
			return (size_t)(s - c->sections.items);
	return 0;
}

struct cubin_bytes cubin_string_table(const struct cubin *c, size_t section)
{
	struct cubin_bytes table = cubin_section_bytes(c, section);
	const uint8_t *end = table.size ? memrchr(table.data, 0, table.size) : NULL;

	table.size = end ? (size_t)(end - table.data) + 1 : 0;
	return table;
}

const char *cubin_string(struct cubin_bytes table, uint64_t offset)
{
	return offset < table.size ? (const char *)table.data + offset : NULL;
}

static int refuse(const struct cubin *c)
{
	uint32_t magic = 0;

	(void)read_at(c, 0, &magic, sizeof(magic));
	if (magic == FATBIN_MAGIC || magic == FATBIN_WRAPPER)
		return error_set(-ENOEXEC, "not a cubin but a fatbin, which holds some");
	if (c->size > 2 && !memcmp(c->image, "//", 2))
		return error_set(-ENOEXEC, "not a cubin but PTX text");
	return error_set(-ENOEXEC, "not a cubin: no ELF image");
}

static int read_header(struct cubin *c, Elf64_Ehdr *ret)
{
	if (c->size < SELFMAG || memcmp(c->image, ELFMAG, SELFMAG))
		return refuse(c);
	if (!read_at(c, 0, ret, sizeof(*ret)))
		return error_set(-EINVAL, "a cubin ends in its header");
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(-ENOEXEC, "not a cubin of 64 bits");
	if (ret->e_machine != EM_CUDA_GPU)
		return error_set(
			-ENOEXEC, "not a cubin: an ELF image for machine %u", ret->e_machine);
	if (ret->e_shentsize != sizeof(Elf64_Shdr))
		return error_set(
			-EINVAL, "a cubin has section headers of %u bytes", ret->e_shentsize);
	c->sm = ret->e_ident[EI_ABIVERSION] >= ABI_VERSION_2 ? ret->e_flags >> 8 & 0xff
							     : ret->e_flags & 0xff;
	return 0;
}

/* Numbers that do not fit the ELF header are in the first section header. */
static int count_sections(
	const struct cubin *c, const Elf64_Ehdr *h, uint64_t *ret_count, uint64_t *ret_names)
{
	Elf64_Shdr first;
	uint64_t count = h->e_shnum, names = h->e_shstrndx;

	if (!read_at(c, h->e_shoff, &first, sizeof(first)))
		return error_set(-EINVAL, "a cubin has no section headers");
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!count || count > (c->size - h->e_shoff) / sizeof(first))
		return error_set(-EINVAL, "a cubin ends in its section headers");
	*ret_count = count;
	*ret_names = names;
	return 0;
}

static void add_section(struct cubin *c, const Elf64_Shdr *h)
{
	struct cubin_section *s = &c->sections.items[c->sections.count++];

	*s = (struct cubin_section){
		.offset = h->sh_offset,
		.size = h->sh_size,
		.name = "",
		.type = h->sh_type,
		.link = h->sh_link,
		.info = h->sh_info,
		.flags = h->sh_flags,
	};
	if (h->sh_type == SHT_NULL || h->sh_type == SHT_NOBITS)
		return;
	if (h->sh_offset > c->size || h->sh_size > c->size - h->sh_offset)
		c->damage.sections++;
	else
		s->stored = h->sh_size;
}

static int read_sections(struct cubin *c, const Elf64_Ehdr *h)
{
	uint64_t count = 0, names = 0;
	struct cubin_bytes table;
	Elf64_Shdr header;
	int error = count_sections(c, h, &count, &names);

	if (error)
		return error;
	if (vec_reserve(&c->sections, count))
		return error_errno(-ENOMEM, "cannot read a cubin");
	for (uint64_t i = 0; i < count; i++) {
		(void)read_at(c, h->e_shoff + i * sizeof(header), &header, sizeof(header));
		add_section(c, &header);
		if (header.sh_type == SHT_SYMTAB && !c->symbol_table)
			c->symbol_table = i;
	}
	table = cubin_string_table(c, names);
	for (uint64_t i = 0; i < count; i++) {
		const char *name;

		(void)read_at(c, h->e_shoff + i * sizeof(header), &header, sizeof(header));
		name = cubin_string(table, header.sh_name);
		if (name)
			c->sections.items[i].name = name;
		else
			c->damage.sections++;
	}
	return 0;
}

static bool read_symbol(const struct cubin *c, uint64_t i, Elf64_Sym *ret)
{
	struct cubin_bytes table = cubin_section_bytes(c, c->symbol_table);

	if (!c->symbol_table || i >= table.size / sizeof(*ret))
		return false;
	memcpy(ret, table.data + i * sizeof(*ret), sizeof(*ret));
	return true;
}

/* The section of a symbol; 0: not in one. Indices that do not fit the symbol have a table of their
 * own. */
static uint32_t symbol_section(const struct cubin *c, uint64_t i, const Elf64_Sym *s)
{
	uint32_t index;

	if (s->st_shndx != SHN_XINDEX)
		return s->st_shndx < SHN_LORESERVE ? s->st_shndx : 0;
	vec_foreach (section, &c->sections) {
		if (section->type != SHT_SYMTAB_SHNDX || section->link != c->symbol_table)
			continue;
		if (i >= section->stored / sizeof(index))
			return 0;
		memcpy(&index, c->image + section->offset + i * sizeof(index), sizeof(index));
		return index;
	}
	return 0;
}

bool cubin_symbol_position(
	const struct cubin *c, uint64_t symbol, uint32_t *ret_section, uint64_t *ret_offset)
{
	Elf64_Sym s;
	uint32_t section;

	if (!read_symbol(c, symbol, &s))
		return false;
	section = symbol_section(c, symbol, &s);
	if (!section || section >= c->sections.count)
		return false;
	*ret_section = section;
	*ret_offset = s.st_value;
	return true;
}

static bool has_code(const struct cubin_section *s)
{
	return s->flags & SHF_EXECINSTR && (s->type == SHT_PROGBITS || s->type == SHT_NOBITS);
}

/* How many symbols of functions the table has, and how long their names may be together: a
 * damaged table could name one long text a million times. */
struct function_names {
	struct cubin_bytes table;
	uint64_t room;
};

static const char *function_name(struct function_names *names, const Elf64_Sym *s)
{
	const char *name = cubin_string(names->table, s->st_name);
	size_t length = name ? strnlen(name, names->room) : 0;

	if (!name || length >= names->room)
		return NULL;
	names->room -= length;
	return name;
}

static int add_function(
	struct cubin *c, uint32_t symbol, const Elf64_Sym *s, struct function_names *names)
{
	uint32_t section = symbol_section(c, symbol, s);
	const struct cubin_section *code;
	const char *name;
	uint64_t room;

	if (!section)
		return 0; /* a function of another module */
	code = section < c->sections.count ? &c->sections.items[section] : NULL;
	name = function_name(names, s);
	if (!code || !has_code(code) || s->st_value >= code->size || !name) {
		c->damage.symbols++;
		return 0;
	}
	room = code->size - s->st_value;
	c->damage.symbols += s->st_size > room;
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
	struct function_names names;
	Elf64_Sym s;

	if (!c->symbol_table)
		return 0;
	names.table = cubin_string_table(c, c->sections.items[c->symbol_table].link);
	names.room = names.table.size * NAMES_PER_TABLE_MAX;
	for (uint32_t i = 1; read_symbol(c, i, &s); i++)
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

static int read_image(struct cubin *c)
{
	Elf64_Ehdr h;
	int error = read_header(c, &h);

	error = error ?: read_sections(c, &h);
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
	c->image = image;
	c->size = size;
	error = read_image(c);
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
	vec_release(&c->sections);
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
	struct cubin_bytes code = cubin_section_bytes(c, f->section);

	if (f->offset >= code.size) {
		*ret_size = 0;
		return NULL;
	}
	*ret_size = code.size - f->offset < f->size ? code.size - f->offset : f->size;
	return code.data + f->offset;
}
