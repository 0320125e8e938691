// SPDX-License-Identifier: MIT
/* DWARF of functions and inlined calls: what it says, and how little it may cost. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "gpucode/inline_calls.h"
#include "tap.h"

#define MACHINE	    224
#define SECONDS_MAX 10 /* of processor time: without a bound these take minutes */

enum { INFO = 1, ABBREV, RNGLISTS, STR, NAMES, CODE, SECTIONS };

struct image {
	struct buf sections[SECTIONS], file;
	struct code_elf elf;
	struct interner *paths;
	struct inline_calls calls;
	double seconds;
};

static void put(struct buf *b, uint64_t value, size_t size)
{
	buf_append(b, &value, size);
}

/* LEB128, of 3 bytes. */
static void put_number(struct buf *b, uint32_t value)
{
	const uint8_t bytes[] = {(uint8_t)(value | 0x80), (uint8_t)(value >> 7 | 0x80),
		(uint8_t)(value >> 14 & 0x7f)};

	buf_append(b, bytes, sizeof(bytes));
}

#define BYTES(b, ...)                                                                              \
	buf_append(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct buf *info(struct image *i)
{
	return &i->sections[INFO];
}

static struct buf *abbreviations(struct image *i)
{
	return &i->sections[ABBREV];
}

/* Returns where its length is, for end_unit. */
static size_t begin_unit(struct image *i, uint32_t abbreviations_at)
{
	size_t at = info(i)->size;

	put(info(i), 0, 4);
	put(info(i), 5, 2);
	BYTES(info(i), 1, 8);
	put(info(i), abbreviations_at, 4);
	return at;
}

static void end_unit(struct image *i, size_t at)
{
	uint32_t length = (uint32_t)(info(i)->size - at - 4);

	memcpy(info(i)->data + at, &length, sizeof(length));
}

static void make_file(struct image *i)
{
	static const char names[] =
		"\0.debug_info\0.debug_abbrev\0.debug_rnglists\0.debug_str\0.shstrtab";
	static const uint32_t at[SECTIONS] = {0, 1, 13, 27, 43, 54, 0};
	uint64_t offset = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr);
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = NAMES};

	static const uint8_t code[0x1000]; /* at 0 */

	buf_append(&i->sections[NAMES], names, sizeof(names));
	buf_append(&i->sections[CODE], code, sizeof(code));
	buf_append(&i->file, &h, sizeof(h));
	for (int n = 0; n < SECTIONS; n++) {
		Elf64_Shdr s = {.sh_name = at[n],
			.sh_type = n ? SHT_PROGBITS : SHT_NULL,
			.sh_flags = n == CODE ? SHF_ALLOC | SHF_EXECINSTR : 0,
			.sh_offset = offset,
			.sh_size = i->sections[n].size};

		buf_append(&i->file, &s, sizeof(s));
		offset += s.sh_size;
	}
	for (int n = 0; n < SECTIONS; n++)
		buf_append(&i->file, i->sections[n].data, i->sections[n].size);
}

static bool read_image(struct image *i)
{
	static const struct code_elf_kind kind = {"test", MACHINE};
	Elf64_Ehdr header;
	clock_t begin;
	int error;

	make_file(i);
	CHECK(!i->file.failed && !interner_new(&i->paths));
	CHECK(!code_elf_init(&i->elf, i->file.data, i->file.size, &kind, &header));
	begin = clock();
	error = inline_calls_init(&i->calls, &i->elf, i->paths);
	i->seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	CHECK(i->seconds < SECONDS_MAX);
	return !error;
}

static void release(struct image *i)
{
	inline_calls_release(&i->calls);
	interner_free(i->paths);
	code_elf_release(&i->elf);
	buf_release(&i->file);
	for (int n = 0; n < SECTIONS; n++)
		buf_release(&i->sections[n]);
}

/* 1: a unit; 2: a function, its name and range; 3: an inlined call, its origin and ranges; 4: a
 * function without code, its text and name. */
static void put_abbreviations(struct image *i)
{
	BYTES(abbreviations(i), 1, 0x11, 1, 0, 0);
	BYTES(abbreviations(i), 2, 0x2e, 1, 0x03, 0x0e, 0x11, 0x01, 0x12, 0x06, 0, 0);
	BYTES(abbreviations(i), 3, 0x1d, 0, 0x31, 0x13, 0x55, 0x17, 0, 0);
	BYTES(abbreviations(i), 4, 0x2e, 0, 0x25, 0x08, 0x03, 0x0e, 0, 0);
	BYTES(abbreviations(i), 5, 0x2e, 0, 0x03, 0x0e, 0x31, 0x13, 0x55, 0x17, 0, 0);
	BYTES(abbreviations(i), 0);
}

static void put_function(struct image *i, uint32_t name, uint64_t low, uint32_t size)
{
	BYTES(info(i), 2);
	put(info(i), name, 4);
	put(info(i), low, 8);
	put(info(i), size, 4);
}

static void put_inlined(struct image *i, uint32_t origin, uint32_t ranges)
{
	BYTES(info(i), 3);
	put(info(i), origin, 4);
	put(info(i), ranges, 4);
}

static const char *function_at(const struct image *i, uint64_t address)
{
	const struct inline_scope *s = inline_calls_find(&i->calls, address);

	return s ? s->function : NULL;
}

static void functions_that_share_a_list_have_all_of_it(void)
{
	struct image i = {0};
	uint32_t origin;
	size_t unit;

	put_abbreviations(&i);
	buf_append(&i.sections[STR], "inner\0outer\0other", 18);
	/* two ranges, as offsets from the unit's begin, which is 0 */
	BYTES(&i.sections[RNGLISTS], 4, 0x10, 0x20, 4, 0x30, 0x40, 0);
	unit = begin_unit(&i, 0);
	BYTES(info(&i), 1);
	origin = (uint32_t)info(&i)->size;
	BYTES(info(&i), 4, 'x', 0);
	put(info(&i), 0, 4);
	put_function(&i, 6, 0, 0x80);
	put_inlined(&i, origin, 0);
	BYTES(info(&i), 0);
	put_function(&i, 12, 0x30, 0x10);
	put_inlined(&i, origin, 0);
	BYTES(info(&i), 0, 0);
	end_unit(&i, unit);
	CHECK(read_image(&i) && !i.calls.damage);
	CHECK_TEXT(function_at(&i, 0), "outer");
	CHECK_TEXT(function_at(&i, 0x18), "inner");
	CHECK_TEXT(function_at(&i, 0x28), "outer");
	CHECK_TEXT(function_at(&i, 0x38), "inner");
	CHECK_TEXT(function_at(&i, 0x7f), "outer");
	CHECK(!function_at(&i, 0x80));
	release(&i);
}

static void a_list_that_all_calls_share_is_not_read_for_ever(void)
{
	struct image i = {0};
	size_t unit;

	put_abbreviations(&i);
	put(&i.sections[STR], 0, 1);
	for (uint32_t n = 0; n < 300000; n++) {
		BYTES(&i.sections[RNGLISTS], 4);
		put_number(&i.sections[RNGLISTS], 2 * n);
		put_number(&i.sections[RNGLISTS], 2 * n + 1);
	}
	BYTES(&i.sections[RNGLISTS], 0);
	unit = begin_unit(&i, 0);
	BYTES(info(&i), 1);
	for (int n = 0; n < 100000; n++)
		put_inlined(&i, 12, 0);
	BYTES(info(&i), 0);
	end_unit(&i, unit);
	/* Each range that is visited takes memory. */
	(void)read_image(&i);
	CHECK(i.calls.damage == 1);
	CHECK(i.calls.scopes.count > 0 && i.calls.scopes.count < 100);
	release(&i);
}

static void a_long_text_that_all_calls_pass_over_is_not_read_for_ever(void)
{
	struct image i = {0};
	uint32_t origin;
	size_t unit;

	put_abbreviations(&i);
	put(&i.sections[STR], 0, 1);
	BYTES(&i.sections[RNGLISTS], 4, 0x10, 0x20, 0);
	unit = begin_unit(&i, 0);
	BYTES(info(&i), 1);
	origin = (uint32_t)info(&i)->size;
	BYTES(info(&i), 4);
	for (int n = 0; n < 8 << 20; n++)
		buf_putc(info(&i), 'x');
	put(info(&i), 0, 1 + 4);
	for (int n = 0; n < 500000; n++) {
		BYTES(info(&i), 5);
		put(info(&i), 0, 4);
		put(info(&i), origin, 4);
		put(info(&i), 0, 4);
	}
	BYTES(info(&i), 0);
	end_unit(&i, unit);
	(void)read_image(&i);
	CHECK(i.calls.damage == 1);
	release(&i);
}

static void a_number_without_end_is_not_read_for_each_unit(void)
{
	struct image i = {0};

	for (int n = 0; n < 4 << 20; n++)
		buf_putc(abbreviations(&i), (char)0x80);
	for (uint32_t n = 0; n < 300000; n++) {
		size_t unit = begin_unit(&i, n);

		BYTES(info(&i), 1);
		end_unit(&i, unit);
	}
	(void)read_image(&i);
	CHECK(!i.calls.scopes.count && i.calls.damage);
	release(&i);
}

int main(void)
{
	RUN(functions_that_share_a_list_have_all_of_it);
	RUN(a_list_that_all_calls_share_is_not_read_for_ever);
	RUN(a_long_text_that_all_calls_pass_over_is_not_read_for_ever);
	RUN(a_number_without_end_is_not_read_for_each_unit);
	return tap_end();
}
