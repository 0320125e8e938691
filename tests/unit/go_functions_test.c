// SPDX-License-Identifier: MIT
/* What a made-up Go program has of its functions: names, and rules for its stack. */
#include <stdlib.h>
#include <string.h>

#include "elf_image.h"
#include "tap.h"
#include "unwind/cfi.h"
#include "walk/table.h"

#define IMAGE 0x400000ull
#define TEXT  (IMAGE + 120) /* behind the headers */
#define NAMES "runtime.goexit\0runtime.systemstack\0main.work\0runtime.sigreturn"

enum { GOEXIT, SYSTEMSTACK, WORK, SIGRETURN, FUNCTIONS };

/* As Go 1.20 writes it. */
struct __attribute__((packed)) description {
	uint32_t code, name, arguments, deferred, stack, file, line, data_count, unit, first_line;
	uint8_t id, flags, reserved, more_data;
};

struct __attribute__((packed)) section {
	uint32_t magic;
	uint8_t zeros[2], instruction, address;
	uint64_t functions, files, text, names_at, units_at, files_at, values_at, functions_at;
	char names[sizeof(NAMES)];
	uint8_t values[8];
	struct __attribute__((packed)) {
		uint32_t code, description;
	} table[FUNCTIONS];
	uint32_t end;
	struct description descriptions[FUNCTIONS];
};

static const uint8_t text[0x80] = {0x90, 0xe8};
static struct section section;

static void describe(int i, uint32_t code, uint32_t name, uint32_t stack, uint8_t flags)
{
	uint32_t here = (uint32_t)offsetof(struct section, descriptions) +
			(uint32_t)i * sizeof(struct description);

	section.table[i].code = code;
	section.table[i].description = here - (uint32_t)offsetof(struct section, table);
	section.descriptions[i] =
		(struct description){.code = code, .name = name, .stack = stack, .flags = flags};
}

/* main.work uses no stack for 4 bytes, 24 bytes of it for 20, and none for 8. */
static void make(void)
{
	section = (struct section){
		.magic = 0xfffffff1,
		.instruction = 1,
		.address = 8,
		.functions = FUNCTIONS,
		.text = TEXT,
		.names_at = offsetof(struct section, names),
		.values_at = offsetof(struct section, values),
		.functions_at = offsetof(struct section, table),
		.names = NAMES,
		.values = {0, 2, 4, 48, 20, 47, 8, 0},
		.end = 0x60,
	};
	describe(GOEXIT, 0, 0, 0, 1);
	describe(SYSTEMSTACK, 0x10, 15, 1, 2);
	describe(WORK, 0x20, 35, 1, 0);
	describe(SIGRETURN, 0x40, 45, 1, 0);
}

static int open_image(struct elf_file **ret)
{
	struct elf_image image = {.code = IMAGE, .code_size = 0x1000, .section_count = 2};

	image.sections[0] = (struct elf_image_section){".text", text, sizeof(text), TEXT, false};
	image.sections[1] = (struct elf_image_section){
		".gopclntab", &section, sizeof(section), IMAGE + 0x2000, false};
	return elf_image_open(&image, ret);
}

static struct walk_rule rule_at(const uint32_t *words, uint64_t vaddr)
{
	const struct walk_table_header *h = (const struct walk_table_header *)words;
	uint64_t page = (vaddr >> WALK_PAGE_SHIFT) - h->first_page;
	uint32_t i;

	if (page >= h->page_count)
		return (struct walk_rule){0};
	for (i = words[h->pages_at + page]; i < words[h->pages_at + page + 1]; i++)
		if (words[h->rows_at + i] % WALK_PAGE_BYTES > vaddr % WALK_PAGE_BYTES)
			break;
	if (!i)
		return (struct walk_rule){0};
	return ((const struct walk_rule *)(words + h->rules_at))[words[h->rows_at + i - 1] >>
								 WALK_PAGE_SHIFT];
}

static uint32_t *build(void)
{
	struct elf_file *f;
	uint32_t *words = NULL;

	if (open_image(&f))
		return NULL;
	if (unwind_build(f, &words, NULL))
		words = NULL;
	elf_file_close(f);
	return words;
}

static bool is_by_stack(struct walk_rule r, int32_t offset)
{
	return r.cfa == WALK_CFA_SP && r.cfa_offset == offset && r.ra == WALK_SAVED_CFA &&
	       r.ra_offset == -8;
}

static void a_stack_is_followed_by_what_each_instruction_uses_of_it(void)
{
	uint32_t *words;

	make();
	words = build();
	CHECK(words);
	if (!words)
		return;
	CHECK(is_by_stack(rule_at(words, TEXT + 0x20), 8));
	CHECK(is_by_stack(rule_at(words, TEXT + 0x23), 8));
	CHECK(is_by_stack(rule_at(words, TEXT + 0x24), 32));
	CHECK(is_by_stack(rule_at(words, TEXT + 0x37), 32));
	CHECK(is_by_stack(rule_at(words, TEXT + 0x38), 8));
	free(words);
}

static void stacks_end_where_they_begin_and_where_they_are_exchanged(void)
{
	uint32_t *words;

	make();
	words = build();
	CHECK(words);
	if (!words)
		return;
	CHECK(rule_at(words, TEXT + 1).cfa == WALK_CFA_END);
	CHECK(rule_at(words, TEXT + 0x15).cfa == WALK_CFA_UNSUPPORTED);
	/* a handler's return address is the very beginning */
	CHECK(rule_at(words, TEXT + 0x3f).cfa == WALK_CFA_SIGNAL);
	CHECK(rule_at(words, TEXT + 0x45).cfa == WALK_CFA_SIGNAL);
	free(words);
}

static void functions_have_their_names_without_symbols(void)
{
	struct elf_file *f;
	uint64_t start = 0;
	const char *name;

	make();
	CHECK(!open_image(&f));
	name = elf_file_function_at(f, TEXT + 0x30, &start);
	CHECK_TEXT(name, "main.work");
	CHECK(start == TEXT + 0x20);
	CHECK_TEXT(elf_file_function_at(f, TEXT + 0x5f, &start), "runtime.sigreturn");
	CHECK(!elf_file_function_at(f, TEXT + 0x60, &start));
	elf_file_close(f);
}

/* As in programs that can be loaded anywhere. */
static void an_address_that_is_missing_is_that_of_the_code(void)
{
	uint32_t *words;

	make();
	section.text = 0;
	words = build();
	CHECK(words && is_by_stack(rule_at(words, TEXT + 0x24), 32));
	free(words);
}

static void what_is_not_in_its_place_is_not_believed(void)
{
	make();
	section.text = TEXT + 1;
	CHECK(!build());
	make();
	section.magic = 0xfffffffb; /* Go 1.2 to 1.15 */
	CHECK(!build());
	make();
	section.functions = UINT64_MAX / 8;
	CHECK(!build());
}

/* Nothing is read that is not there; sanitizers see that. */
static void no_damage_leads_out_of_the_section(void)
{
	for (size_t at = 0; at < sizeof(section); at++)
		for (int bit = 0; bit < 8; bit += 7) {
			struct elf_file *f;
			uint64_t start;

			make();
			((uint8_t *)&section)[at] ^= (uint8_t)(1 << bit);
			free(build());
			if (open_image(&f))
				continue;
			(void)elf_file_function_at(f, TEXT + 0x30, &start);
			elf_file_close(f);
		}
	CHECK(true);
}

int main(void)
{
	RUN(a_stack_is_followed_by_what_each_instruction_uses_of_it);
	RUN(stacks_end_where_they_begin_and_where_they_are_exchanged);
	RUN(functions_have_their_names_without_symbols);
	RUN(an_address_that_is_missing_is_that_of_the_code);
	RUN(what_is_not_in_its_place_is_not_believed);
	RUN(no_damage_leads_out_of_the_section);
	return tap_end();
}
