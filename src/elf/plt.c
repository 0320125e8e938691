// SPDX-License-Identifier: MIT
/*
 * Which function a stub leads to is read from its instructions: it jumps through a slot of memory,
 * and a relocation says which function's address is put there. That holds for .plt, .plt.sec (with
 * branch protection) and .plt.got alike, whatever linker made them:
 *
 *	[endbr64] [mov $index,%r11d] [bnd] jmp *slot(%rip)     the usual stub
 *	[endbr64] push $index; [bnd] jmp .plt                  its lazy half, by index in .rela.plt
 *
 * The instructions are those of the x86-64 psABI (chapters "Procedure Linkage Table" and "Intel CET
 * Extension") and of the linkers bfd, gold, lld and mold.
 */
#include "elf/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_internal.h"
#include "elf/limits.h"

#define RELOCATIONS_AT_ONCE 4096
#define STUB_BYTES_MAX	    64
#define STUB_BYTES_USUAL    16

struct relocation {
	uint64_t slot;
	uint64_t addend;
	uint32_t type;
	uint32_t symbol; /* index in `symbols` */
	const struct elf_section *symbols;
};

struct plt {
	struct elf_file *f;
	struct vec(const struct elf_section *) sections;
	struct vec(struct relocation) by_slot; /* sorted */
	struct vec(struct relocation) lazy;    /* .rela.plt in its order */
};

static bool leads_to_code(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
	       type == R_X86_64_IRELATIVE;
}

static int add_relocation(struct plt *p, const struct relocation *r, bool lazy)
{
	int error = 0;

	if (!lazy && !leads_to_code(r->type))
		return 0;
	if (p->by_slot.count >= ELF_STUBS_MAX || p->lazy.count >= ELF_STUBS_MAX)
		return -EFBIG;
	if (leads_to_code(r->type))
		error = vec_push(&p->by_slot, *r);
	return error || !lazy ? error : vec_push(&p->lazy, *r);
}

static int add_piece(struct plt *p, const struct relocation *base, bool lazy, const Elf64_Rela *raw,
	size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct relocation r = *base;

		r.slot = raw[i].r_offset;
		r.addend = (uint64_t)raw[i].r_addend;
		r.type = ELF64_R_TYPE(raw[i].r_info);
		r.symbol = (uint32_t)ELF64_R_SYM(raw[i].r_info);
		error = add_relocation(p, &r, lazy);
	}
	return error;
}

static int add_relocations(struct plt *p, const struct elf_section *s)
{
	struct elf_file *f = p->f;
	bool lazy = !strcmp(elf_section_name(f, s), ".rela.plt");
	Elf64_Rela *piece = malloc(RELOCATIONS_AT_ONCE * sizeof(*piece));
	uint64_t left = s->size / sizeof(*piece), at = s->offset;
	struct relocation base = {0};
	int error = piece ? 0 : -ENOMEM;

	if (s->link < f->sections.count && f->sections.items[s->link].type == SHT_DYNSYM)
		base.symbols = &f->sections.items[s->link];
	while (!error && left) {
		size_t count = left < RELOCATIONS_AT_ONCE ? (size_t)left : RELOCATIONS_AT_ONCE;

		if (!elf_read_whole(f, at, piece, count * sizeof(*piece)))
			break;
		error = add_piece(p, &base, lazy, piece, count);
		at += count * sizeof(*piece);
		left -= count;
	}
	free(piece);
	return error;
}

static int by_slot(const void *left, const void *right)
{
	const struct relocation *a = left, *b = right;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static int read_tables(struct plt *p)
{
	uint64_t entries = 0;
	int error = 0;

	vec_foreach (s, &p->f->sections) {
		if (!error && s->executable && s->size &&
			!strncmp(elf_section_name(p->f, s), ".plt", 4))
			error = vec_push(&p->sections, s);
	}
	if (!error && !p->sections.count)
		return -ENOENT;
	vec_foreach (s, &p->f->sections) {
		if (error || s->type != SHT_RELA)
			continue;
		entries += s->size / sizeof(Elf64_Rela);
		error = entries > ELF_RELOCATIONS_MAX ? -EFBIG : add_relocations(p, s);
	}
	if (!error && p->by_slot.count)
		qsort(p->by_slot.items, p->by_slot.count, sizeof(*p->by_slot.items), by_slot);
	return error;
}

int plt_new(struct plt **ret, struct elf_file *f)
{
	struct plt *p;
	int error;

	if (!f->is_64bit || f->machine != EM_X86_64)
		return -ENOENT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->f = f;
	error = read_tables(p);
	f->too_large |= error == -EFBIG;
	if (error) {
		plt_free(p);
		return error;
	}
	*ret = p;
	return 0;
}

void plt_free(struct plt *p)
{
	if (!p)
		return;
	vec_release(&p->sections);
	vec_release(&p->by_slot);
	vec_release(&p->lazy);
	free(p);
}

static const struct relocation *find_slot(const struct plt *p, uint64_t slot)
{
	struct relocation key = {.slot = slot};

	if (!p->by_slot.count)
		return NULL;
	return bsearch(&key, p->by_slot.items, p->by_slot.count, sizeof(key), by_slot);
}

/* The relocation behind a stub that begins at `vaddr` with these bytes; NULL when it is no stub. */
static const struct relocation *decode_stub(
	const struct plt *p, const uint8_t *code, size_t size, uint64_t vaddr)
{
	size_t at = 0;
	int32_t distance;
	uint32_t index;

	if (at + 4 <= size && !memcmp(code + at, "\xf3\x0f\x1e\xfa", 4))
		at += 4;
	if (at + 6 <= size && code[at] == 0x41 && code[at + 1] == 0xbb)
		at += 6;
	if (at + 5 <= size && code[at] == 0x68) {
		memcpy(&index, code + at + 1, 4);
		return index < p->lazy.count ? &p->lazy.items[index] : NULL;
	}
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return NULL;
	memcpy(&distance, code + at + 2, 4);
	return find_slot(p, vaddr + at + 6 + (uint64_t)(int64_t)distance);
}

static const struct elf_section *find_section(const struct plt *p, uint64_t vaddr)
{
	vec_foreach (s, &p->sections)
		if (vaddr >= (*s)->vaddr && vaddr - (*s)->vaddr < (*s)->size)
			return *s;
	return NULL;
}

static bool symbol_name(const struct plt *p, const struct relocation *r, uint32_t *ret_name)
{
	Elf64_Sym symbol;

	if (!r->symbols || !elf_read_symbol(p->f, r->symbols, r->symbol, &symbol))
		return false;
	*ret_name = symbol.st_name;
	return symbol.st_name;
}

bool plt_find(const struct plt *p, uint64_t vaddr, struct plt_stub *ret)
{
	const struct elf_section *s = find_section(p, vaddr);
	uint64_t entry = s && s->entry_bytes >= 8 && s->entry_bytes <= STUB_BYTES_MAX
				 ? s->entry_bytes
				 : STUB_BYTES_USUAL;
	struct plt_stub stub = {0};
	const struct relocation *r;
	uint8_t code[STUB_BYTES_MAX];
	uint64_t offset;
	ssize_t got;

	if (!s)
		return false;
	offset = (vaddr - s->vaddr) / entry * entry;
	got = elf_read(p->f, s->offset + offset, code, entry);
	r = got > 0 ? decode_stub(p, code, (size_t)got, s->vaddr + offset) : NULL;
	if (!r)
		return false;
	stub.start = s->vaddr + offset;
	stub.symbols = r->symbols;
	if (r->type == R_X86_64_IRELATIVE)
		stub.chooser = r->addend;
	else if (!symbol_name(p, r, &stub.name))
		return false;
	*ret = stub;
	return true;
}
