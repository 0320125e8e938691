// SPDX-License-Identifier: MIT
#include "ptx/code_names.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/lex.h"

#define STO_CUDA_ENTRY 0x10 /* in st_other: a kernel */

struct cubin {
	const char *at;
	size_t size;
	Elf64_Ehdr head;
};

static bool take(const struct cubin *c, uint64_t at, void *to, size_t bytes)
{
	if (at > c->size || bytes > c->size - at)
		return false;
	memcpy(to, c->at + at, bytes);
	return true;
}

static bool section(const struct cubin *c, uint32_t n, Elf64_Shdr *ret)
{
	return n < c->head.e_shnum && c->head.e_shoff <= c->size &&
	       take(c, c->head.e_shoff + n * sizeof(*ret), ret, sizeof(*ret)) &&
	       ret->sh_offset <= c->size && ret->sh_size <= c->size - ret->sh_offset;
}

static int walk(const struct cubin *c, const Elf64_Shdr *symbols, const Elf64_Shdr *names,
	int (*found)(void *context, const char *name), void *context)
{
	const char *texts = c->at + names->sh_offset;
	int stop = 0;

	for (uint64_t i = 0; !stop && i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, c->at + symbols->sh_offset + i * sizeof(s), sizeof(s));
		if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || !(s.st_other & STO_CUDA_ENTRY))
			continue;
		if (s.st_name >= names->sh_size ||
			!memchr(texts + s.st_name, 0, names->sh_size - s.st_name))
			return -EINVAL;
		stop = found(context, texts + s.st_name);
	}
	return stop;
}

int code_names(const void *cubin, size_t size, int (*found)(void *context, const char *name),
	void *context)
{
	struct cubin c = {.at = cubin, .size = size};

	if (!take(&c, 0, &c.head, sizeof(c.head)) || memcmp(c.head.e_ident, ELFMAG, SELFMAG) ||
		c.head.e_ident[EI_CLASS] != ELFCLASS64 ||
		(c.head.e_shoff && !c.head.e_shnum)) /* they are too many for the head */
		return -EINVAL;
	for (uint32_t n = 0; n < c.head.e_shnum; n++) {
		Elf64_Shdr symbols, names;

		if (!take(&c, c.head.e_shoff + n * sizeof(symbols), &symbols, sizeof(symbols)))
			return -EINVAL;
		if (symbols.sh_type != SHT_SYMTAB)
			continue;
		if (!section(&c, n, &symbols) || !section(&c, symbols.sh_link, &names))
			return -EINVAL;
		return walk(&c, &symbols, &names, found, context);
	}
	return 0;
}

int text_names(
	const char *text, size_t size, int (*found)(void *context, const char *name), void *context)
{
	struct ptx_lexer l = ptx_lexer_of(text, size);
	struct ptx_token t;
	int stop = 0;

	while (!stop && (t = ptx_lex(&l)).kind != PTX_TEXT_END) {
		char *name;

		if (!ptx_is(&t, ".entry") || ptx_peek(&l).kind != PTX_WORD)
			continue;
		t = ptx_lex(&l);
		name = strndup(t.text, t.size);
		stop = name ? found(context, name) : -ENOMEM;
		free(name);
	}
	return stop;
}
