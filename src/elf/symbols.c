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
#include "base/io.h"
#include "base/search.h"
#include "elf/debug_file.h"
#include "elf/elf_internal.h"
#include "elf/mini_debug.h"
#include "elf/plt.h"

#define SYMBOLS_AT_ONCE 8192
#define NAME_MAX_BYTES	65536 /* longer names count as damage */
#define MAX_NESTING	64    /* symbols to look back for one that covers an address */
#define MAX_ALIASES	16    /* names of one address to choose from */

enum {
	RANK_UNSIZED = 1,
	RANK_LOCAL = 2,
	RANK_UNTYPED = 4,
};

/* What both symbol table formats say. */
struct raw_symbol {
	uint64_t vaddr;
	uint64_t size;
	uint32_t name;
	uint16_t section;
	unsigned char info;
};

typedef int (*symbol_visit)(void *context, const struct raw_symbol *s);

static struct raw_symbol decode(const char *bytes, bool is_64bit)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (is_64bit) {
		memcpy(&wide, bytes, sizeof(wide));
		return (struct raw_symbol){
			wide.st_value, wide.st_size, wide.st_name, wide.st_shndx, wide.st_info};
	}
	memcpy(&narrow, bytes, sizeof(narrow));
	return (struct raw_symbol){
		narrow.st_value, narrow.st_size, narrow.st_name, narrow.st_shndx, narrow.st_info};
}

/* Calls visit for every symbol of the table until it returns non-zero, which is passed on. A table
 * that ends early is only shorter. */
static int each_symbol(const struct elf_file *f, const struct elf_section *table,
	symbol_visit visit, void *context)
{
	size_t entry = f->is_64bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t left = table->size / entry;
	uint64_t at = table->offset;
	char *piece = malloc(SYMBOLS_AT_ONCE * entry);
	int result = piece ? 0 : -ENOMEM;

	while (!result && left) {
		size_t count = left < SYMBOLS_AT_ONCE ? (size_t)left : SYMBOLS_AT_ONCE;
		ssize_t got = io_pread_full(f->fd, piece, count * entry, (off_t)at);

		if (got < (ssize_t)entry)
			break;
		count = (size_t)got / entry;
		for (size_t i = 0; !result && i < count; i++) {
			struct raw_symbol s = decode(piece + i * entry, f->is_64bit);

			result = visit(context, &s);
		}
		left -= count;
		at += count * entry;
	}
	free(piece);
	return result;
}

/* The string table of a symbol table; false when there is none in the file. */
static bool strings_of(
	const struct elf_file *f, const struct elf_section *table, struct elf_strings *ret)
{
	const struct elf_section *s;

	if (!table || table->link >= f->sections.count)
		return false;
	s = &f->sections.items[table->link];
	if (s->type != SHT_STRTAB || !s->size)
		return false;
	*ret = (struct elf_strings){f->fd, s->offset, s->size};
	return true;
}

/*
 * Where the code that `s` names may end: its section's end, or its segment's where the section is
 * not known; 0 when it names no code. Untyped symbols are labels of hand-written code when they are
 * global and inside an executable section; local ones are notes of the assembler ("$x") and its
 * labels.
 */
static uint64_t code_end(
	const struct elf_file *f, const struct elf_file *source, const struct raw_symbol *s)
{
	unsigned char type = ELF64_ST_TYPE(s->info);
	bool untyped = type == STT_NOTYPE && ELF64_ST_BIND(s->info) != STB_LOCAL;
	const struct elf_segment *segment;

	if (!untyped && type != STT_FUNC && type != STT_GNU_IFUNC)
		return 0;
	if (s->section == SHN_UNDEF || s->section == SHN_ABS)
		return 0;
	if (s->section < source->sections.count) {
		const struct elf_section *section = &source->sections.items[s->section];

		if (s->vaddr >= section->vaddr && s->vaddr < section->vaddr_end)
			return !untyped || section->executable ? section->vaddr_end : 0;
	}
	segment = untyped ? NULL : elf_find_code(f, s->vaddr);
	return segment ? segment->vaddr + segment->memory_size : 0;
}

struct index_build {
	struct elf_file *f;
	const struct elf_file *source; /* whose table it is: f, or its debug file */
	uint8_t strings;
	uint64_t strings_size;
};

static int index_symbol(void *context, const struct raw_symbol *s)
{
	struct index_build *b = context;
	uint64_t end = code_end(b->f, b->source, s);
	uint64_t size = s->size;
	uint8_t rank = 0;

	if (!end || !s->name || s->name >= b->strings_size)
		return 0;
	if (!size || size > end - s->vaddr)
		size = end - s->vaddr;
	if (!s->size)
		rank |= RANK_UNSIZED;
	if (ELF64_ST_BIND(s->info) == STB_LOCAL)
		rank |= RANK_LOCAL;
	if (ELF64_ST_TYPE(s->info) == STT_NOTYPE)
		rank |= RANK_UNTYPED;
	return vec_push(
		&b->f->symbols, (struct elf_symbol){
					.vaddr = s->vaddr,
					.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
					.name = s->name,
					.strings = b->strings,
					.rank = rank,
					.unsized = !s->size,
				});
}

static int index_table(struct elf_file *f, const struct elf_file *source, uint32_t type)
{
	const struct elf_section *table = elf_find_section(source, type);
	struct index_build b = {.f = f, .source = source, .strings = (uint8_t)f->strings.count};
	struct elf_strings strings;

	if (!strings_of(source, table, &strings))
		return 0;
	if (vec_push(&f->strings, strings))
		return -ENOMEM;
	b.strings_size = strings.size;
	return each_symbol(source, table, index_symbol, &b);
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
	if (!strings_of(f, symtab, &strings))
		symtab = NULL;
	if (symtab)
		error = index_table(f, f, SHT_SYMTAB);
	else if (find_debug_file(f) && elf_find_section(f->debug, SHT_SYMTAB))
		error = index_table(f, f->debug, SHT_SYMTAB);
	else if (!mini_debug_open(&f->mini, f))
		error = index_table(f, f->mini, SHT_SYMTAB);
	if (!error && needs_dynsym(symtab, elf_find_section(f, SHT_DYNSYM)))
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

/* The name's text, without its version, into `names`; NULL when the file has no whole name
 * there. */
static const char *fetch_name_from(
	struct elf_file *f, const struct elf_strings *strings, uint32_t name)
{
	uint64_t room = strings->size - name;
	char text[NAME_MAX_BYTES];
	size_t want = 256, length;
	uint32_t id;

	for (;; want *= 4) {
		size_t size = want < room ? want : (size_t)room;
		ssize_t got =
			io_pread_full(strings->fd, text, size, (off_t)(strings->offset + name));

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
	if (!length || interner_add(f->names, text, length, &id, NULL))
		return NULL;
	return interner_get(f->names, id, NULL);
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

/* Keeps "NAME@plt": NULL when memory is short. */
static const char *keep_stub_name(struct elf_file *f, const char *name)
{
	struct buf b = BUF_INIT;
	uint32_t id = 0;

	buf_printf(&b, "%s@plt", name);
	if (b.failed || interner_add(f->names, b.data, b.size, &id, NULL))
		id = 0;
	buf_release(&b);
	return id ? interner_get(f->names, id, NULL) : NULL;
}

static const char *name_of_stub(struct elf_file *f, const struct plt_stub *stub)
{
	const struct elf_symbol *chooser;
	struct elf_strings strings;
	if (stub->chooser) {
		chooser = find_cover(f, stub->chooser);
		return chooser ? best_name(f, chooser) : NULL;
	}
	if (!strings_of(f, stub->symbols, &strings) || stub->name >= strings.size)
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

int elf_file_dwarf_fd(struct elf_file *f)
{
	if (elf_has_dwarf(f))
		return f->fd;
	return find_debug_file(f) && elf_has_dwarf(f->debug) ? f->debug->fd : -1;
}

struct name_search {
	const struct elf_file *f;
	const char *strings;
	uint64_t strings_size;
	const char *name;
	size_t length;
	uint64_t vaddr;
};

static int match_name(void *context, const struct raw_symbol *s)
{
	struct name_search *n = context;
	const char *text;

	if (s->name >= n->strings_size || n->strings_size - s->name <= n->length)
		return 0;
	text = n->strings + s->name;
	if (memcmp(text, n->name, n->length) || (text[n->length] && text[n->length] != '@'))
		return 0;
	if (!code_end(n->f, n->f, s))
		return 0;
	n->vaddr = s->vaddr;
	return 1;
}

/* 1 when found, 0 when not, or -errno. */
static int search_table(const struct elf_file *f, uint32_t type, struct name_search *n)
{
	const struct elf_section *table = elf_find_section(f, type);
	struct elf_strings where;
	char *strings;
	ssize_t got;
	int result = 0;

	if (!strings_of(f, table, &where))
		return 0;
	strings = malloc(where.size);
	if (!strings)
		return -ENOMEM;
	got = io_pread_full(where.fd, strings, where.size, (off_t)where.offset);
	if (got > 0) {
		n->strings = strings;
		n->strings_size = (uint64_t)got;
		result = each_symbol(f, table, match_name, n);
	}
	free(strings);
	return result;
}

int elf_file_find_function(struct elf_file *f, const char *name, uint64_t *ret_offset)
{
	struct name_search n = {.f = f, .name = name, .length = strlen(name)};
	int found = search_table(f, SHT_SYMTAB, &n);

	if (!found)
		found = search_table(f, SHT_DYNSYM, &n);
	if (found < 0)
		return found;
	return found ? elf_file_vaddr_to_offset(f, n.vaddr, ret_offset) : -ENOENT;
}
