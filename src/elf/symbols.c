// SPDX-License-Identifier: MIT
/*
 * Function symbols by address and by name.
 *
 * The index is one sorted array of 24 bytes a symbol:
 *
 *	vaddr        size   name  strings rank unsized
 *	0x0000401130   0x2f     7       0    0   false
 *	0x0000401160   0x9c   103       0    2   false   <- equals: the better rank is the later one
 *	0x0000401160   0x9c    61       0    0   false
 *
 * Symbol tables are read in pieces and dropped; string tables are never read whole for it: a name
 * is fetched from the file when somebody asks for its symbol, and kept. So the largest libraries
 * cost the array and the names that a profile shows.
 *
 * Which names one address has is decided at the look-up too, since most symbols are never looked
 * at.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"
#include "elf/debug_file.h"
#include "elf/elf_internal.h"
#include "elf/go_functions.h"
#include "elf/limits.h"
#include "elf/mini_debug.h"
#include "elf/plt.h"

#define MAX_NESTING 64 /* symbols to look back for one that covers an address */
#define MAX_ALIASES 16 /* names of one address to choose from */

enum {
	RANK_UNSIZED = 1,
	RANK_LOCAL = 2,
	RANK_UNTYPED = 4,
};

/*
 * Where the code that `s` names may end: its section's end, or its segment's where the section is
 * not known; 0 when it names no code. Untyped symbols are labels of hand-written code when they are
 * global and inside an executable section; local ones are notes of the assembler ("$x") and its
 * labels.
 */
uint64_t elf_code_end(const struct elf_file *f, const struct elf_file *source, const Elf64_Sym *s)
{
	unsigned char type = ELF64_ST_TYPE(s->st_info);
	bool untyped = type == STT_NOTYPE && ELF64_ST_BIND(s->st_info) != STB_LOCAL;
	const struct elf_segment *segment;

	if (!untyped && type != STT_FUNC && type != STT_GNU_IFUNC)
		return 0;
	if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS)
		return 0;
	if (s->st_shndx < source->sections.count) {
		const struct elf_section *section = &source->sections.items[s->st_shndx];

		if (s->st_value >= section->vaddr && s->st_value < section->vaddr_end)
			return !untyped || section->executable ? section->vaddr_end : 0;
	}
	segment = untyped ? NULL : elf_find_code(f, s->st_value);
	return segment ? segment->vaddr + segment->memory_size : 0;
}

struct index_build {
	struct elf_file *f;
	struct elf_file *source; /* whose table it is: f, or its debug file */
	uint8_t strings;
	uint64_t strings_size;
};

static int index_symbol(void *context, const Elf64_Sym *s)
{
	struct index_build *b = context;
	uint64_t end = elf_code_end(b->f, b->source, s);
	uint64_t size = s->st_size;
	uint8_t rank = 0;

	if (!end || !s->st_name || s->st_name >= b->strings_size)
		return 0;
	if (b->f->symbols.count >= ELF_FUNCTIONS_MAX)
		return -EFBIG;
	if (!size || size > end - s->st_value)
		size = end - s->st_value;
	if (!s->st_size)
		rank |= RANK_UNSIZED;
	if (ELF64_ST_BIND(s->st_info) == STB_LOCAL)
		rank |= RANK_LOCAL;
	if (ELF64_ST_TYPE(s->st_info) == STT_NOTYPE)
		rank |= RANK_UNTYPED;
	return vec_push(
		&b->f->symbols, (struct elf_symbol){
					.vaddr = s->st_value,
					.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
					.name = s->st_name,
					.strings = b->strings,
					.rank = rank,
					.unsized = !s->st_size,
				});
}

/* One that is too large is left out. */
static int index_table(struct elf_file *f, struct elf_file *source, uint32_t type)
{
	const struct elf_section *table = elf_find_section(source, type);
	struct index_build b = {.f = f, .source = source, .strings = (uint8_t)f->strings.count};
	size_t before = f->symbols.count;
	struct elf_strings strings;
	int error;

	if (!elf_strings_of(source, table, &strings))
		return 0;
	if (vec_push(&f->strings, strings))
		return -ENOMEM;
	b.strings_size = strings.size;
	error = elf_each_symbol(source, table, index_symbol, &b);
	if (error == -EFBIG) {
		f->too_large = true;
		f->symbols.count = before;
	}
	return error;
}

/* What the runtime of a Go program knows of it. */
static int index_go_functions(struct elf_file *f)
{
	const struct elf_section *section =
		elf_find_named_section(f, ".gopclntab")
			?: elf_find_named_section(f, ".data.rel.ro.gopclntab");
	struct go_function function;
	struct go_functions g;
	int error = section ? go_functions_open(f, &g) : -ENOENT;
	struct elf_strings strings;

	if (error)
		return error == -ENOMEM ? error : 0;
	strings = (struct elf_strings){f, section->offset + g.names_at, section->size - g.names_at};
	error = vec_push(&f->strings, strings);
	for (uint32_t i = 0; !error && i < g.count; i++)
		if (go_functions_at(&g, i, &function) && elf_find_code(f, function.start))
			error = vec_push(
				&f->symbols, (struct elf_symbol){
						     .vaddr = function.start,
						     .size = function.size,
						     .name = function.name_at,
						     .strings = (uint8_t)(f->strings.count - 1),
					     });
	go_functions_release(&g);
	return error;
}

static int by_address(const void *left, const void *right)
{
	const struct elf_symbol *a = left, *b = right;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return 0;
}

/* Linkers repeat all of .dynsym in .symtab. Only where .symtab is the smaller one was it thinned
 * out, so that .dynsym can have what it has not. */
static bool needs_dynsym(const struct elf_section *symtab, const struct elf_section *dynsym)
{
	return dynsym && (!symtab || symtab->size < dynsym->size);
}

static bool find_debug_file(struct elf_file *f)
{
	if (!f->debug_sought && debug_file_open(&f->debug, f))
		f->debug = NULL;
	f->debug_sought = true;
	return f->debug;
}

/* Short memory leaves a smaller index, which is as good as a file with fewer symbols. */
static void build_index(struct elf_file *f)
{
	const struct elf_section *symtab = elf_find_section(f, SHT_SYMTAB);
	struct elf_strings strings;
	int error = 0;

	f->indexed = true;
	if (interner_new(&f->names))
		return;
	f->names_left = ELF_NAMES_MAX_BYTES;
	if (!elf_strings_of(f, symtab, &strings))
		symtab = NULL;
	if (symtab)
		error = index_table(f, f, SHT_SYMTAB);
	else if (find_debug_file(f) && elf_find_section(f->debug, SHT_SYMTAB))
		error = index_table(f, f->debug, SHT_SYMTAB);
	else if (!mini_debug_open(&f->mini, f))
		error = index_table(f, f->mini, SHT_SYMTAB);
	else
		error = index_go_functions(f);
	if (error == -EFBIG)
		symtab = NULL;
	if (error != -ENOMEM && needs_dynsym(symtab, elf_find_section(f, SHT_DYNSYM)))
		(void)index_table(f, f, SHT_DYNSYM);
	if (f->symbols.count)
		qsort(f->symbols.items, f->symbols.count, sizeof(*f->symbols.items), by_address);
}

void elf_symbols_release(struct elf_file *f)
{
	elf_file_close(f->debug);
	elf_file_close(f->mini);
	plt_free(f->plt);
	vec_release(&f->strings);
	vec_release(&f->symbols);
	interner_free(f->names);
}

/* A copy in `names`; NULL when there are so many, or memory is short. */
static const char *keep_name(struct elf_file *f, const char *name, size_t length)
{
	uint32_t id;

	if (length > f->names_left) {
		f->too_large = true;
		return NULL;
	}
	f->names_left -= length;
	return interner_add(f->names, name, length, &id, NULL) ? NULL
							       : interner_get(f->names, id, NULL);
}

/* The name's text, without its version, into `names`; NULL when the file has no whole name
 * there. */
static const char *fetch_name_from(
	struct elf_file *f, const struct elf_strings *strings, uint32_t name)
{
	uint64_t room = strings->size - name;
	char text[ELF_NAME_MAX_BYTES];
	size_t want = 256, length;

	for (;; want *= 4) {
		size_t size = want < room ? want : (size_t)room;
		ssize_t got = elf_read(strings->file, strings->offset + name, text, size);

		if (got <= 0)
			return NULL;
		length = strnlen(text, (size_t)got);
		if (length < (size_t)got)
			break;
		if (want >= sizeof(text) || (size_t)got < want)
			return NULL;
	}
	for (size_t i = 1; i < length; i++)
		if (text[i] == '@')
			length = i;
	return length ? keep_name(f, text, length) : NULL;
}

static const char *fetch_name(struct elf_file *f, const struct elf_symbol *s)
{
	return fetch_name_from(f, &f->strings.items[s->strings], s->name);
}

/* True when people would rather read `a` than `b`. */
static bool reads_better(const char *a, const char *b)
{
	size_t a_underscores = strspn(a, "_"), b_underscores = strspn(b, "_");
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_underscores != b_underscores)
		return a_underscores < b_underscores;
	if (a_length != b_length)
		return a_length < b_length;
	return strcmp(a, b) < 0;
}

/* The best name among the symbols of the same address and rank that end with `last`. */
static const char *best_name(struct elf_file *f, const struct elf_symbol *last)
{
	const struct elf_symbol *s = last;
	const char *best = NULL;

	for (int i = 0; i < MAX_ALIASES; i++, s--) {
		const char *name = fetch_name(f, s);

		if (name && (!best || reads_better(name, best)))
			best = name;
		if (s == f->symbols.items || s[-1].vaddr != last->vaddr || s[-1].rank != last->rank)
			break;
	}
	return best;
}

/* How many symbols begin at or before `vaddr`. */
static size_t count_before(const struct elf_file *f, uint64_t vaddr)
{
	return search_first(i, 0, f->symbols.count, f->symbols.items[i].vaddr > vaddr);
}

/* The innermost symbol that covers `vaddr`. One without a size ends where the next one begins. */
static const struct elf_symbol *find_cover(const struct elf_file *f, uint64_t vaddr)
{
	size_t i = count_before(f, vaddr);
	uint64_t nearest = i ? f->symbols.items[i - 1].vaddr : 0;

	for (int steps = 0; i > 0 && steps < MAX_NESTING; steps++) {
		const struct elf_symbol *s = &f->symbols.items[--i];

		if (vaddr - s->vaddr < s->size && (!s->unsized || s->vaddr == nearest))
			return s;
	}
	return NULL;
}

/* Keeps "NAME@plt". */
static const char *keep_stub_name(struct elf_file *f, const char *name)
{
	struct buf b = BUF_INIT;
	const char *kept;

	buf_printf(&b, "%s@plt", name);
	kept = b.failed ? NULL : keep_name(f, b.data, b.size);
	buf_release(&b);
	return kept;
}

static const char *name_of_stub(struct elf_file *f, const struct plt_stub *stub)
{
	const struct elf_symbol *chooser;
	struct elf_strings strings;
	if (stub->chooser) {
		chooser = find_cover(f, stub->chooser);
		return chooser ? best_name(f, chooser) : NULL;
	}
	if (!elf_strings_of(f, stub->symbols, &strings) || stub->name >= strings.size)
		return NULL;
	return fetch_name_from(f, &strings, stub->name);
}

static const char *stub_at(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start)
{
	struct plt_stub stub;
	const char *name;

	if (!f->plt_read && plt_new(&f->plt, f))
		f->plt = NULL;
	f->plt_read = true;
	if (!f->plt || !plt_find(f->plt, vaddr, &stub))
		return NULL;
	name = name_of_stub(f, &stub);
	if (name)
		name = keep_stub_name(f, name);
	if (name)
		*ret_start = stub.start;
	return name;
}

const char *elf_file_function_at(struct elf_file *f, uint64_t vaddr, uint64_t *ret_start)
{
	const struct elf_symbol *s;

	if (!f->indexed)
		build_index(f);
	if (!f->names)
		return NULL;
	s = find_cover(f, vaddr);
	if (!s)
		return stub_at(f, vaddr, ret_start);
	if (s != f->last) {
		f->last_name = best_name(f, s);
		f->last = s;
	}
	if (f->last_name)
		*ret_start = s->vaddr;
	return f->last_name;
}

bool elf_file_has_symtab(struct elf_file *f)
{
	return elf_find_section(f, SHT_SYMTAB) ||
	       (find_debug_file(f) && elf_find_section(f->debug, SHT_SYMTAB));
}

bool elf_file_has_debug_file(struct elf_file *f)
{
	return find_debug_file(f);
}

int elf_file_dwarf_fd(struct elf_file *f)
{
	if (elf_has_dwarf(f))
		return f->fd;
	return find_debug_file(f) && elf_has_dwarf(f->debug) ? f->debug->fd : -1;
}
