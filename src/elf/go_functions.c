// SPDX-License-Identifier: MIT
/*
 *	header      magic, 0, 0, size of an instruction, size of an address (8 bytes), then words of 8:
 *	            functions, files, first address of code, and where in the section are: names,
 *	            units, files, values, functions
 *	functions   for each the distance of its code from the first address, and of its description
 *	            from here, 4 bytes each; behind the last one where its code ends
 *	description distance of its code, name, .., at 16 where in the values its use of the stack is
 *	values      pairs of numbers: how much more it is, and for how many bytes of code; 0: the end
 *
 * Sources: runtime/symtab.go and debug/gosym/pclntab.go of Go 1.18 to 1.24.
 */
#include "elf/go_functions.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/reader.h"
#include "elf/limits.h"

#define MAGIC_1_18	  0xfffffff0u
#define MAGIC_1_20	  0xfffffff1u
#define FLAGS_AT_1_18	  37
#define FLAGS_AT_1_20	  41 /* the line a function begins in came before */
#define DESCRIPTION_NAME  4
#define DESCRIPTION_STACK 16
#define ENTRY_BYTES	  8
#define NAME_MAX_BYTES	  65536u /* generic types make long ones */

static struct reader read_from(const struct go_functions *g, uint64_t at)
{
	const uint8_t *data = g->contents.data;
	size_t size = g->contents.size;

	return (struct reader){.at = data + (at < size ? at : size), .end = data + size};
}

static uint32_t word_at(const struct go_functions *g, uint64_t at)
{
	struct reader r = read_from(g, at);

	return reader_u32(&r);
}

/* Both magics and sizes are those of little-endian x86-64. */
static bool read_header(struct go_functions *g)
{
	struct reader r = read_from(g, 0);
	uint32_t magic = reader_u32(&r), sizes = reader_u32(&r);
	uint64_t count = reader_u64(&r);

	(void)reader_u64(&r);
	g->text = reader_u64(&r);
	g->names_at = reader_u64(&r);
	(void)reader_u64(&r);
	(void)reader_u64(&r);
	g->values_at = reader_u64(&r);
	g->functions_at = reader_u64(&r);
	g->flags_at = magic == MAGIC_1_18 ? FLAGS_AT_1_18 : FLAGS_AT_1_20;
	if (r.failed || (magic != MAGIC_1_18 && magic != MAGIC_1_20) || sizes != 0x08010000 ||
		g->functions_at > g->contents.size || g->values_at > g->contents.size ||
		g->names_at > g->contents.size || count > ELF_FRAME_FUNCTIONS_MAX ||
		count * ENTRY_BYTES + sizeof(uint32_t) > g->contents.size - g->functions_at)
		return false;
	g->count = (uint32_t)count;
	return true;
}

/* In programs that can be loaded anywhere it can be 0, until they are. */
static bool find_text(struct elf_file *f, struct go_functions *g)
{
	uint64_t end;

	return g->text || !elf_file_section_range(f, ".text", &g->text, &end);
}

/* Whether the code is where the section says, as runtime.goexit begins by nop; call. */
static bool is_in_place(struct elf_file *f, const struct go_functions *g)
{
	struct go_function function;
	uint8_t code[2];

	for (uint32_t i = 0; i < g->count; i++)
		if (go_functions_at(g, i, &function) && !strcmp(function.name, "runtime.goexit"))
			return !elf_file_read_code(f, function.start, code, sizeof(code)) &&
			       code[0] == 0x90 && code[1] == 0xe8;
	return false;
}

int go_functions_open(struct elf_file *f, struct go_functions *ret)
{
	struct go_functions g = {0};
	int error;

	if (elf_file_machine(f) != EM_X86_64)
		return -ENOENT;
	error = elf_file_read_section(f, ".gopclntab", ELF_FRAMES_MAX_BYTES, &g.contents);
	if (error == -ENOENT)
		error = elf_file_read_section(
			f, ".data.rel.ro.gopclntab", ELF_FRAMES_MAX_BYTES, &g.contents);
	if (error)
		return error;
	if (!read_header(&g) || !find_text(f, &g) || !is_in_place(f, &g)) {
		elf_contents_release(&g.contents);
		return -ENOENT;
	}
	*ret = g;
	return 0;
}

void go_functions_release(struct go_functions *g)
{
	elf_contents_release(&g->contents);
}

bool go_functions_at(const struct go_functions *g, uint32_t i, struct go_function *ret)
{
	uint64_t entry = g->functions_at + (uint64_t)i * ENTRY_BYTES;
	uint64_t description = g->functions_at + word_at(g, entry + 4);
	uint32_t offset = word_at(g, entry), end = word_at(g, entry + ENTRY_BYTES);
	struct reader flags = read_from(g, description + g->flags_at),
		      name = read_from(g, g->names_at + word_at(g, description + DESCRIPTION_NAME));

	if (i >= g->count || end <= offset || !reader_left(&flags) || !reader_left(&name) ||
		!memchr(name.at, 0,
			reader_left(&name) < NAME_MAX_BYTES ? reader_left(&name) : NAME_MAX_BYTES))
		return false;
	ret->start = g->text + offset;
	ret->size = end - offset;
	ret->name = (const char *)name.at;
	ret->name_at = word_at(g, description + DESCRIPTION_NAME);
	ret->flags = reader_u8(&flags);
	ret->values = word_at(g, description + DESCRIPTION_STACK);
	return true;
}

bool go_functions_stack(
	const struct go_functions *g, const struct go_function *f, struct go_stack_use *use)
{
	struct reader r = read_from(g, g->values_at + f->values);
	bool first = !use->next;
	uint64_t change, bytes;

	if (!f->values || use->next_offset >= f->size)
		return false;
	if (first)
		use->bytes = -1;
	else
		r.at = use->next;
	change = reader_uleb(&r);
	bytes = reader_uleb(&r);
	if (r.failed || (!change && !first) || !bytes || bytes > f->size - use->next_offset)
		return false;
	use->offset = use->next_offset;
	use->next_offset += (uint32_t)bytes;
	use->bytes += (int64_t)(change & 1 ? ~(change >> 1) : change >> 1);
	use->next = r.at;
	return true;
}
