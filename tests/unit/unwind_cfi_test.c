// SPDX-License-Identifier: MIT
/* Tables from call frame information that is written here byte by byte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "elf_image.h"
#include "tap.h"
#include "unwind/cfi.h"

#define CODE	  0x100000ull
#define CODE_SIZE 0x40000ull
#define FRAME	  0x80000ull /* where the section is in memory */
#define START	  (CODE + 0x1000)
#define SIZE	  0x100

/* Opcodes, by their names in DWARF. */
#define ADVANCE(n)	(0x40 | (n))
#define OFFSET(r)	(0x80 | (r))
#define RESTORE(r)	(0xc0 | (r))
#define SP		7
#define FP		6
#define RA		16
#define RBX		3
#define PROGRAM(...)	((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})
#define NOTHING		NULL, 0
#define CFA_SP_8(r)	((r).cfa == WALK_CFA_SP && (r).cfa_offset == 8)
#define IS_CFA(r, c, o) ((r).cfa == (c) && (r).cfa_offset == (o))
#define IS_FP(r, f, o)	((r).fp == (f) && (r).fp_offset == (o))

/* A section that is being written. */
struct frames {
	struct buf bytes;
	bool debug;    /* .debug_frame */
	bool wide;     /* lengths of 64 bits */
	size_t entry;  /* where the open entry's length is */
	size_t common; /* where the latest CIE is */
	uint8_t encoding;
};

static void put(struct frames *f, uint64_t value, size_t size)
{
	buf_append(&f->bytes, &value, size);
}

static void patch(struct frames *f, size_t at, uint64_t value, size_t size)
{
	memcpy(f->bytes.data + at, &value, size);
}

static size_t begin_entry(struct frames *f)
{
	f->entry = f->bytes.size;
	if (f->wide)
		put(f, UINT32_MAX, 4);
	put(f, 0, f->wide ? 8 : 4);
	return f->bytes.size;
}

static void end_entry(struct frames *f)
{
	size_t length_size = f->wide ? 8 : 4, at = f->entry + (f->wide ? 4 : 0);

	patch(f, at, f->bytes.size - at - length_size, length_size);
}

/* A CIE with any augmentation (`data` is what that announces) and instructions of its own. */
static void add_common_with(struct frames *f, const char *letters, const uint8_t *data,
	size_t data_size, uint8_t ra, const uint8_t *program, size_t size)
{
	f->common = f->bytes.size;
	begin_entry(f);
	put(f, f->debug ? UINT64_MAX : 0, f->debug && f->wide ? 8 : 4);
	put(f, 1, 1);
	buf_append(&f->bytes, letters, strlen(letters) + 1);
	put(f, 1, 1);	 /* code alignment */
	put(f, 0x78, 1); /* data alignment: -8 */
	put(f, ra, 1);
	if (letters[0] == 'z')
		put(f, data_size, 1);
	if (data_size)
		buf_append(&f->bytes, data, data_size);
	/* CFA = sp + 8, return address at CFA - 8 */
	if (program)
		buf_append(&f->bytes, program, size);
	else
		buf_append(&f->bytes, (const uint8_t[]){0x0c, SP, 8, OFFSET(ra), 1}, 5);
	end_entry(f);
}

/* The usual one: addresses of four bytes relative to their place. */
static void add_common(struct frames *f)
{
	f->encoding = f->debug ? 0 : 0x1b;
	add_common_with(f, f->debug ? "" : "zR", &f->encoding, f->debug ? 0 : 1, RA, NOTHING);
}

static void add_function_at(struct frames *f, uint64_t start, uint64_t size, const uint8_t *program,
	size_t program_size)
{
	size_t id = begin_entry(f), address_size = (f->encoding & 0xf) == 0xb ? 4 : 8;

	if (f->debug)
		put(f, f->common, f->wide ? 8 : 4);
	else
		put(f, id - f->common, 4);
	put(f, (f->encoding & 0x70) == 0x10 ? start - (FRAME + f->bytes.size) : start,
		address_size);
	put(f, size, address_size);
	if (!f->debug)
		put(f, 0, 1); /* no augmentation data */
	if (program_size)
		buf_append(&f->bytes, program, program_size);
	end_entry(f);
}

/* ------------------------------------------------------------------ tables */

static uint32_t *words;
static struct unwind_stats stats;

static struct elf_image image_of(const struct frames *f)
{
	return (struct elf_image){
		.code = CODE,
		.code_size = CODE_SIZE,
		.sections = {{.name = f->debug ? ".debug_frame" : ".eh_frame",
			.data = f->bytes.data,
			.size = f->bytes.size,
			.vaddr = f->debug ? 0 : FRAME}},
		.section_count = 1,
	};
}

static int build_image(const struct elf_image *image)
{
	struct elf_file *file;
	int error;

	free(words);
	words = NULL;
	stats = (struct unwind_stats){0};
	if (elf_image_open(image, &file))
		return -EIO;
	error = unwind_build(file, &words, &stats);
	elf_file_close(file);
	CHECK(error || unwind_table_is_sound(words, ((struct walk_table_header *)words)->words));
	return error;
}

static int build(struct frames *f)
{
	struct elf_image image = image_of(f);
	int error = build_image(&image);

	buf_release(&f->bytes);
	return error;
}

/* One function with the usual CIE. */
static int build_function(const uint8_t *program, size_t size)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, SIZE, program, size);
	return build(&f);
}

/* Looks a rule up in the slowest way: all rows from the first on. */
static struct walk_rule rule_at(uint64_t vaddr)
{
	const struct walk_table_header *h = (const struct walk_table_header *)words;
	const struct walk_rule *rules = (const struct walk_rule *)(words + h->rules_at);
	const uint32_t *pages = words + h->pages_at;
	struct walk_rule found = {.cfa = WALK_CFA_NONE};

	for (uint32_t page = 0; page < h->page_count; page++)
		for (uint32_t i = pages[page]; i < pages[page + 1]; i++) {
			uint32_t row = words[h->rows_at + i];
			uint64_t place = ((uint64_t)h->first_page + page) << WALK_PAGE_SHIFT;

			if (place + row % WALK_PAGE_BYTES <= vaddr)
				found = rules[row >> WALK_PAGE_SHIFT];
		}
	return vaddr >> WALK_PAGE_SHIFT < h->first_page + h->page_count ? found
									: (struct walk_rule){0};
}

/* What a program leads to at its end. */
static struct walk_rule rule_after(const uint8_t *program, size_t size)
{
	CHECK(!build_function(program, size));
	CHECK(stats.damaged == 0);
	return words ? rule_at(START + SIZE - 1) : (struct walk_rule){0};
}

static bool is_damaged(const uint8_t *program, size_t size)
{
	return build_function(program, size) == -ENODATA;
}

/* ------------------------------------------------------------------ instructions */

static void rows_hold_from_where_they_begin(void)
{
	CHECK(!build_function(PROGRAM(
		ADVANCE(1), 0x0e, 16, OFFSET(FP), 2, ADVANCE(3), 0x0d, FP, 0x02, 60, 0x0c, SP, 8)));
	CHECK(stats.functions == 1);
	CHECK(rule_at(START - 1).cfa == WALK_CFA_NONE);
	CHECK(CFA_SP_8(rule_at(START)) && rule_at(START).fp == WALK_SAVED_SAME);
	CHECK(rule_at(START).ra == WALK_SAVED_CFA && rule_at(START).ra_offset == -8);
	CHECK(IS_CFA(rule_at(START + 1), WALK_CFA_SP, 16));
	CHECK(IS_FP(rule_at(START + 1), WALK_SAVED_CFA, -16));
	CHECK(IS_CFA(rule_at(START + 3), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 4), WALK_CFA_FP, 16));
	CHECK(IS_CFA(rule_at(START + 63), WALK_CFA_FP, 16));
	CHECK(CFA_SP_8(rule_at(START + 64)) && CFA_SP_8(rule_at(START + SIZE - 1)));
	CHECK(rule_at(START + SIZE).cfa == WALK_CFA_NONE);
}

static void every_way_to_advance_moves_by_as_much(void)
{
	CHECK(!build_function(PROGRAM(ADVANCE(2), 0x0e, 16, 0x02, 3, 0x0e, 24, 0x03, 4, 0, 0x0e, 32,
		0x04, 5, 0, 0, 0, 0x0e, 40, 0x1d, 6, 0, 0, 0, 0, 0, 0, 0, 0x0e, 48)));
	CHECK(CFA_SP_8(rule_at(START + 1)));
	CHECK(IS_CFA(rule_at(START + 2), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 5), WALK_CFA_SP, 24));
	CHECK(IS_CFA(rule_at(START + 9), WALK_CFA_SP, 32));
	CHECK(IS_CFA(rule_at(START + 14), WALK_CFA_SP, 40));
	CHECK(IS_CFA(rule_at(START + 20), WALK_CFA_SP, 48));
}

static void set_loc_moves_to_an_address(void)
{
	struct frames f = {.encoding = 0};
	const uint8_t absolute = 0,
		      program[] = {0x01, (uint8_t)(START + 9), (uint8_t)((START + 9) >> 8),
			      (uint8_t)((START + 9) >> 16), 0, 0, 0, 0, 0, 0x0e, 16};

	add_common_with(&f, "zR", &absolute, 1, RA, NOTHING);
	add_function_at(&f, START, SIZE, program, sizeof(program));
	CHECK(!build(&f));
	CHECK(CFA_SP_8(rule_at(START + 8)));
	CHECK(IS_CFA(rule_at(START + 9), WALK_CFA_SP, 16));
}

static void the_cfa_can_be_defined_in_every_way(void)
{
	CHECK(IS_CFA(rule_after(PROGRAM(0x0c, FP, 16)), WALK_CFA_FP, 16));
	CHECK(IS_CFA(rule_after(PROGRAM(0x0d, FP)), WALK_CFA_FP, 8));
	CHECK(IS_CFA(rule_after(PROGRAM(0x0e, 0x80, 1)), WALK_CFA_SP, 128));
	CHECK(IS_CFA(rule_after(PROGRAM(0x12, FP, 0x7e)), WALK_CFA_FP, 16)); /* -2 times -8 */
	CHECK(IS_CFA(rule_after(PROGRAM(0x13, 0x7d)), WALK_CFA_SP, 24));
	CHECK(rule_after(PROGRAM(0x0c, 10, 0)).cfa == WALK_CFA_REGISTER);
	CHECK(rule_after(PROGRAM(0x0c, 10, 0)).cfa_register == 10);
}

static void the_frame_pointer_is_found_where_it_was_saved(void)
{
	struct walk_rule other = rule_after(PROGRAM(OFFSET(RBX), 4));

	CHECK(IS_FP(rule_after(PROGRAM(OFFSET(FP), 3)), WALK_SAVED_CFA, -24));
	CHECK(IS_FP(rule_after(PROGRAM(0x05, FP, 4)), WALK_SAVED_CFA, -32));
	CHECK(IS_FP(rule_after(PROGRAM(0x11, FP, 0x7f)), WALK_SAVED_CFA, 8));
	CHECK(IS_FP(rule_after(PROGRAM(0x2f, FP, 2)), WALK_SAVED_CFA, 16));
	CHECK(IS_FP(rule_after(PROGRAM(0x10, FP, 2, 0x76, 0)), WALK_SAVED_FP, 0));
	CHECK(IS_FP(rule_after(PROGRAM(0x10, FP, 2, 0x76, 0x78)), WALK_SAVED_FP, -8));
	CHECK(other.fp == WALK_SAVED_SAME && CFA_SP_8(other));
}

static void a_frame_pointer_that_cannot_be_followed_is_unknown(void)
{
	CHECK(rule_after(PROGRAM(0x07, FP)).fp == WALK_SAVED_UNKNOWN);
	CHECK(rule_after(PROGRAM(0x09, FP, 0)).fp == WALK_SAVED_UNKNOWN);
	CHECK(rule_after(PROGRAM(0x14, FP, 1)).fp == WALK_SAVED_UNKNOWN);
	CHECK(rule_after(PROGRAM(0x15, FP, 1)).fp == WALK_SAVED_UNKNOWN);
	CHECK(rule_after(PROGRAM(0x16, FP, 2, 0x76, 0)).fp == WALK_SAVED_UNKNOWN);
	CHECK(rule_after(PROGRAM(0x10, FP, 2, 0x77, 0)).fp == WALK_SAVED_UNKNOWN);
}

static void a_register_is_restored_to_what_its_cie_says(void)
{
	CHECK(rule_after(PROGRAM(OFFSET(FP), 3, RESTORE(FP))).fp == WALK_SAVED_SAME);
	CHECK(rule_after(PROGRAM(OFFSET(FP), 3, 0x06, FP)).fp == WALK_SAVED_SAME);
	CHECK(rule_after(PROGRAM(OFFSET(FP), 3, 0x08, FP)).fp == WALK_SAVED_SAME);
	CHECK(rule_after(PROGRAM(0x07, RA, 0x06, RA)).ra_offset == -8);
}

static void a_remembered_state_comes_back_with_its_cfa(void)
{
	struct walk_rule rule = rule_after(PROGRAM(0x0e, 16, OFFSET(FP), 2, 0x0a, ADVANCE(9),
		RESTORE(FP), 0x0c, SP, 8, 0x0a, 0x0b, ADVANCE(1), 0x0b));

	CHECK(IS_CFA(rule, WALK_CFA_SP, 16) && IS_FP(rule, WALK_SAVED_CFA, -16));
	CHECK(CFA_SP_8(rule_at(START + 9)));
}

static void what_does_not_matter_is_read_over(void)
{
	CHECK(CFA_SP_8(
		rule_after(PROGRAM(0x2e, 0x90, 1, 0, 0, 0x09, RBX, 1, 0x16, RBX, 2, 0x76, 0))));
}

static void an_undefined_return_address_is_the_end_of_the_stack(void)
{
	CHECK(rule_after(PROGRAM(0x07, RA)).cfa == WALK_CFA_END);
}

static void a_return_address_may_be_in_a_register(void)
{
	struct walk_rule rule = rule_after(PROGRAM(0x0e, 0, 0x09, RA, 5));

	CHECK(IS_CFA(rule, WALK_CFA_SP, 0) && rule.ra == WALK_SAVED_REGISTER &&
		rule.ra_offset == 5);
	CHECK(!stats.unsupported);
	CHECK(rule_after(PROGRAM(0x09, RA, 0x80, 2)).cfa == WALK_CFA_UNSUPPORTED); /* number 256 */
}

static void a_return_address_elsewhere_is_not_supported(void)
{
	CHECK(rule_after(PROGRAM(0x08, RA)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(stats.unsupported > 0);
	CHECK(rule_after(PROGRAM(0x10, RA, 2, 0x77, 0)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(IS_CFA(rule_after(PROGRAM(OFFSET(RA), 2)), WALK_CFA_SP, 8));
	CHECK(rule_after(PROGRAM(OFFSET(RA), 2)).ra_offset == -16);
	CHECK(rule_after(PROGRAM(0x14, SP, 1)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(CFA_SP_8(rule_after(PROGRAM(0x14, SP, 0))));
}

/* ------------------------------------------------------------------ expressions */

static void the_plt_is_recognised_by_its_expression(void)
{
	struct walk_rule rule = rule_after(
		PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));

	CHECK(IS_CFA(rule, WALK_CFA_PLT, 11) && rule.ra_offset == -8);
	rule = rule_after(
		PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22));
	CHECK(IS_CFA(rule, WALK_CFA_PLT, 10));
}

static void expressions_of_realigned_stacks_are_recognised(void)
{
	struct walk_rule rule = rule_after(PROGRAM(0x0f, 3, 0x76, 0x78, 0x06));

	CHECK(IS_CFA(rule, WALK_CFA_FP_DEREF, -8) && rule.cfa_add == 0);
	rule = rule_after(PROGRAM(0x0f, 5, 0x77, 0x18, 0x06, 0x23, 8));
	CHECK(IS_CFA(rule, WALK_CFA_SP_DEREF, 24) && rule.cfa_add == 8);
	CHECK(IS_CFA(rule_after(PROGRAM(0x0f, 2, 0x77, 0x20)), WALK_CFA_SP, 32));
	CHECK(IS_CFA(rule_after(PROGRAM(0x0f, 3, 0x92, FP, 0x10)), WALK_CFA_FP, 16));
}

static void other_expressions_are_not_supported(void)
{
	CHECK(rule_after(PROGRAM(0x0f, 3, 0x73, 0, 0x06)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(rule_after(PROGRAM(0x0f, 4, 0x77, 0, 0x06, 0x06)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(rule_after(PROGRAM(0x0f, 1, 0x30)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(rule_after(PROGRAM(0x0f, 0)).cfa == WALK_CFA_UNSUPPORTED);
	CHECK(rule_after(PROGRAM(0x0f, 2, 0x77, 0x80)).cfa == WALK_CFA_UNSUPPORTED);
}

static void a_signal_frame_is_known_by_its_letter_and_its_shape(void)
{
	const uint8_t encoding = 0x1b;

	for (int good = 0; good < 2; good++) {
		struct frames f = {.encoding = encoding};

		add_common_with(&f, "zRS", &encoding, 1, RA, NOTHING);
		add_function_at(
			&f, START, SIZE, PROGRAM(0x0f, 4, 0x77, good ? 0xa0 : 0xa8, 1, 0x06));
		CHECK(!build(&f));
		CHECK(rule_at(START).cfa == (good ? WALK_CFA_SIGNAL : WALK_CFA_UNSUPPORTED));
	}
}

/* ------------------------------------------------------------------ damage */

static void a_damaged_function_is_left_out_and_counted(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, SIZE, PROGRAM(ADVANCE(1), 0x3f));
	add_function_at(&f, START + SIZE, SIZE, PROGRAM(0x0e, 16));
	CHECK(!build(&f));
	CHECK(stats.functions == 1 && stats.damaged == 1);
	CHECK(rule_at(START).cfa == WALK_CFA_NONE);
	CHECK(IS_CFA(rule_at(START + SIZE), WALK_CFA_SP, 16));
}

static void instructions_that_make_no_sense_are_damage(void)
{
	uint8_t many[65];

	memset(many, 0x0a, sizeof(many));
	CHECK(is_damaged(many, sizeof(many)));
	CHECK(!build_function(many, sizeof(many) - 1));
	CHECK(is_damaged(PROGRAM(0x0b)));
	CHECK(is_damaged(PROGRAM(0x0e)));
	CHECK(is_damaged(PROGRAM(0x0f, 100, 0x77)));
	CHECK(is_damaged(PROGRAM(0x0f, 2, 0x77, 8, 0x0e, 16))); /* an offset, to an expression */
	CHECK(is_damaged(PROGRAM(0x04, 1, 0)));
	CHECK(is_damaged(PROGRAM(0x17)));
}

static void the_rest_of_a_section_that_is_cut_is_left_out(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, SIZE, NOTHING);
	add_function_at(&f, START + SIZE, SIZE, NOTHING);
	f.bytes.size--;
	CHECK(!build(&f));
	CHECK(stats.functions == 1 && stats.damaged == 1);
}

static void a_cie_that_is_not_there_spoils_its_functions_alone(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, SIZE, NOTHING);
	f.common += 1;
	add_function_at(&f, START + SIZE, SIZE, NOTHING);
	f.common = (size_t)-100000;
	add_function_at(&f, START + 2 * SIZE, SIZE, NOTHING);
	CHECK(!build(&f));
	CHECK(stats.functions == 1 && stats.damaged == 2);
}

static void an_end_in_the_middle_is_stepped_over(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, SIZE, NOTHING);
	put(&f, 0, 4);
	add_function_at(&f, START + SIZE, SIZE, NOTHING);
	put(&f, 0, 4);
	CHECK(!build(&f));
	CHECK(stats.functions == 2 && stats.damaged == 0);
}

static void functions_that_are_not_in_the_file_are_counted_apart(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, 0, SIZE, NOTHING);
	add_function_at(&f, CODE + CODE_SIZE, SIZE, NOTHING);
	add_function_at(&f, START, 0, NOTHING);
	add_function_at(&f, CODE + CODE_SIZE - 16, SIZE, NOTHING);
	CHECK(!build(&f));
	CHECK(stats.functions == 1 && stats.elsewhere == 3);
	CHECK(CFA_SP_8(rule_at(CODE + CODE_SIZE - 1)));
	CHECK(rule_at(CODE + CODE_SIZE).cfa == WALK_CFA_NONE);
}

/* ------------------------------------------------------------------ forms */

/* One function at START, its address and size in `encoding`. */
static int build_encoded(uint8_t encoding, const uint8_t *address, size_t size)
{
	struct frames f = {.encoding = encoding};
	size_t id;

	add_common_with(&f, "zR", &encoding, 1, RA, NOTHING);
	id = begin_entry(&f);
	put(&f, id - f.common, 4);
	buf_append(&f.bytes, address, size);
	put(&f, 0, 1);
	end_entry(&f);
	return build(&f);
}

static void addresses_are_read_in_every_encoding(void)
{
	static const struct {
		uint8_t encoding;
		uint8_t bytes[24];
		size_t size;
	} forms[] = {
		{0x00, {0, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 1}, 16},
		{0x01, {0x80, 0xa0, 0x40, 0x80, 2}, 5},
		{0x03, {0, 0x10, 0x10, 0, 0, 1}, 8},
		{0x04, {0, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 1}, 16},
		{0x09, {0x80, 0xa0, 0xc0, 0, 0x80, 2}, 6},
		{0x0b, {0, 0x10, 0x10, 0, 0, 1}, 8},
		{0x0c, {0, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 1}, 16},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		CHECK(!build_encoded(forms[i].encoding, forms[i].bytes, forms[i].size));
		CHECK(stats.functions == 1 && CFA_SP_8(rule_at(START)) &&
			CFA_SP_8(rule_at(START + SIZE - 1)));
	}
}

static void addresses_that_only_a_running_program_has_are_left_out(void)
{
	const uint8_t bytes[16] = {0, 0x10, 0x10, 0, 0, 1};

	CHECK(build_encoded(0x9b, bytes, 8) == -ENODATA);
	CHECK(build_encoded(0x0d, bytes, 8) == -ENODATA);
	CHECK(build_encoded(0x6b, bytes, 8) == -ENODATA);
}

static void addresses_count_from_their_place_the_text_or_the_data(void)
{
	static const struct {
		uint8_t encoding;
		const char *section;
	} bases[] = {{0x2b, ".text"}, {0x3b, ".got"}};

	for (size_t i = 0; i < 2; i++) {
		struct frames f = {.encoding = bases[i].encoding};
		struct elf_image image;
		const uint8_t got[8] = {0};

		add_common_with(&f, "zR", &f.encoding, 1, RA, NOTHING);
		add_function_at(&f, 0x1000, SIZE, NOTHING);
		image = image_of(&f);
		image.sections[image.section_count++] = (struct elf_image_section){
			.name = bases[i].section, .data = got, .size = sizeof(got), .vaddr = CODE};
		CHECK(!build_image(&image));
		CHECK(CFA_SP_8(rule_at(START)));
		buf_release(&f.bytes);
	}
}

static void augmentations_are_read_as_far_as_they_are_known(void)
{
	static const struct {
		const char *letters;
		uint8_t data[16];
		size_t size;
		bool good;
	} forms[] = {
		{"zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}, 7, true},
		{"zPR", {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x1b}, 10, true},
		{"zPR", {0xff, 0x1b}, 2, true},
		{"zRB", {0x1b}, 1, true},
		{"zRx", {0x1b, 77, 78}, 3, true},
		{"zR", {0}, 0, false},
		{"x", {0x1b}, 1, false},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct frames f = {.encoding = 0x1b};

		add_common_with(&f, forms[i].letters, forms[i].data, forms[i].size, RA, NOTHING);
		add_function_at(&f, START, SIZE, NOTHING);
		CHECK((build(&f) == 0) == forms[i].good);
	}
}

static void another_column_can_be_the_return_address(void)
{
	struct frames f = {.encoding = 0x1b};

	add_common_with(&f, "zR", &f.encoding, 1, 20, NOTHING);
	add_function_at(&f, START, SIZE, PROGRAM(ADVANCE(1), 0x07, 20));
	CHECK(!build(&f));
	CHECK(CFA_SP_8(rule_at(START)) && rule_at(START).ra_offset == -8);
	CHECK(rule_at(START + 1).cfa == WALK_CFA_END);
}

static void lengths_may_have_64_bits(void)
{
	for (int debug = 0; debug < 2; debug++) {
		struct frames f = {.wide = true, .debug = debug};

		add_common(&f);
		add_function_at(&f, START, SIZE, PROGRAM(0x0e, 16));
		CHECK(!build(&f));
		CHECK(stats.functions == 1 && IS_CFA(rule_at(START), WALK_CFA_SP, 16));
	}
}

static void debug_frame_fills_in_what_eh_frame_does_not_have(void)
{
	struct frames eh = {0}, debug = {.debug = true};
	struct elf_image image;

	add_common(&eh);
	add_function_at(&eh, START, SIZE, PROGRAM(0x0e, 16));
	add_common(&debug);
	add_function_at(&debug, START, SIZE, PROGRAM(0x0e, 24));
	add_function_at(&debug, START + SIZE, SIZE, PROGRAM(0x0e, 32));
	image = image_of(&debug);
	image.sections[image.section_count++] = image_of(&eh).sections[0];
	CHECK(!build_image(&image));
	CHECK(IS_CFA(rule_at(START), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + SIZE), WALK_CFA_SP, 32));
	buf_release(&eh.bytes);
	buf_release(&debug.bytes);
}

static void a_compressed_section_is_read(void)
{
	struct frames f = {.debug = true};
	struct elf_image image;
	uint8_t packed[4096];
	uLongf size = sizeof(packed) - sizeof(Elf64_Chdr);
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};

	add_common(&f);
	for (uint64_t i = 0; i < 100; i++)
		add_function_at(&f, START + i * SIZE, SIZE, PROGRAM(0x0e, 16));
	header.ch_size = f.bytes.size;
	memcpy(packed, &header, sizeof(header));
	CHECK(compress(packed + sizeof(header), &size, (uint8_t *)f.bytes.data, f.bytes.size) ==
		Z_OK);
	image = image_of(&f);
	image.sections[0].data = packed;
	image.sections[0].size = sizeof(header) + size;
	image.sections[0].compressed = true;
	CHECK(!build_image(&image));
	CHECK(stats.functions == 100);
	packed[sizeof(header) + 9] ^= 0x55;
	CHECK(build_image(&image) < 0);
	buf_release(&f.bytes);
}

/* ------------------------------------------------------------------ packing */

static void only_gaps_that_can_hold_code_are_without_information(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START, 0x20, PROGRAM(0x0e, 16));
	add_function_at(&f, START + 0x2f, 0x11, PROGRAM(0x0e, 24));
	add_function_at(&f, START + 0x50, 0x10, PROGRAM(0x0e, 32));
	CHECK(!build(&f));
	CHECK(IS_CFA(rule_at(START + 0x2e), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 0x3f), WALK_CFA_SP, 24));
	CHECK(rule_at(START + 0x40).cfa == WALK_CFA_NONE);
	CHECK(rule_at(START + 0x4f).cfa == WALK_CFA_NONE);
	CHECK(IS_CFA(rule_at(START + 0x50), WALK_CFA_SP, 32));
}

static void equal_rows_in_a_row_are_one(void)
{
	struct frames f = {0};

	add_common(&f);
	for (uint64_t i = 0; i < 1000; i++)
		add_function_at(
			&f, START + i * 16, 16, PROGRAM(ADVANCE(1), 0x0e, 8, ADVANCE(1), 0x0e, 8));
	CHECK(!build(&f));
	CHECK(((struct walk_table_header *)words)->row_count == 2);
	CHECK(CFA_SP_8(rule_at(START)) && CFA_SP_8(rule_at(START + 15999)));
	CHECK(rule_at(START + 16000).cfa == WALK_CFA_NONE);
}

static void of_functions_that_overlap_the_later_one_holds(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START + 0x40, 0x20, PROGRAM(0x0e, 32));
	add_function_at(&f, START, 0x50, PROGRAM(0x0e, 16, 0x02, 0x48, 0x0e, 17));
	add_function_at(&f, START, 0x30, PROGRAM(0x0e, 24));
	CHECK(!build(&f));
	CHECK(IS_CFA(rule_at(START + 0x3f), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 0x40), WALK_CFA_SP, 32));
	CHECK(IS_CFA(rule_at(START + 0x4f), WALK_CFA_SP, 32));
	CHECK(IS_CFA(rule_at(START + 0x5f), WALK_CFA_SP, 32));
	CHECK(rule_at(START + 0x60).cfa == WALK_CFA_NONE);
}

static void a_function_reaches_over_many_pages(void)
{
	struct frames f = {0};

	add_common(&f);
	add_function_at(&f, START + 0x800, 0x20000,
		PROGRAM(ADVANCE(1), 0x0e, 16, 0x04, 0, 0, 1, 0, 0x0e, 24));
	CHECK(!build(&f));
	CHECK(IS_CFA(rule_at(START + 0x10000), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 0x10800), WALK_CFA_SP, 16));
	CHECK(IS_CFA(rule_at(START + 0x10801), WALK_CFA_SP, 24));
	CHECK(IS_CFA(rule_at(START + 0x207ff), WALK_CFA_SP, 24));
	CHECK(rule_at(START + 0x20800).cfa == WALK_CFA_NONE);
}

static void the_entry_point_ends_a_stack_where_nothing_else_is_said(void)
{
	struct frames f = {0};
	struct elf_image image;

	add_common(&f);
	add_function_at(&f, START + 0x20, SIZE, NOTHING);
	image = image_of(&f);
	image.entry = START;
	CHECK(!build_image(&image));
	CHECK(rule_at(START).cfa == WALK_CFA_END && rule_at(START + 0x1f).cfa == WALK_CFA_END);
	CHECK(CFA_SP_8(rule_at(START + 0x20)));
	image.entry = START + 0x20;
	CHECK(!build_image(&image));
	CHECK(rule_at(START).cfa == WALK_CFA_NONE && CFA_SP_8(rule_at(START + 0x20)));
	buf_release(&f.bytes);
}

static void another_machine_has_its_own_registers(void)
{
	struct frames f = {.encoding = 0x1b};
	struct elf_image image;

	/* CFA = sp; then x29 and x30 are saved */
	add_common_with(&f, "zR", &f.encoding, 1, 30, PROGRAM(0x0c, 31, 0));
	add_function_at(
		&f, START, SIZE, PROGRAM(ADVANCE(4), 0x0e, 32, OFFSET(29), 4, OFFSET(30), 3));
	image = image_of(&f);
	image.machine = EM_AARCH64;
	CHECK(!build_image(&image));
	CHECK(IS_CFA(rule_at(START), WALK_CFA_SP, 0) && rule_at(START).ra == WALK_SAVED_SAME);
	CHECK(IS_CFA(rule_at(START + 4), WALK_CFA_SP, 32) && rule_at(START + 4).ra_offset == -24);
	CHECK(IS_FP(rule_at(START + 4), WALK_SAVED_CFA, -32));
	image.machine = EM_RISCV;
	CHECK(build_image(&image) == -ENODATA);
	buf_release(&f.bytes);
}

/* As the dynamic linker's code that binds a call; only there rbx is worth its rules. */
static void rbx_is_followed_in_files_that_keep_the_cfa_in_it(void)
{
	for (int needed = 0; needed < 2; needed++) {
		struct frames f = {0};

		add_common(&f);
		add_function_at(&f, START, SIZE, PROGRAM(ADVANCE(1), 0x0e, 16, OFFSET(RBX), 2));
		add_function_at(&f, START + SIZE, SIZE, PROGRAM(0x0d, needed ? RBX : 10));
		CHECK(!build(&f));
		CHECK(rule_at(START).bx_offset == (needed ? WALK_BX_SAME : 0));
		CHECK(rule_at(START + 1).bx_offset == (needed ? -16 : 0));
		CHECK(rule_at(START + SIZE).cfa == WALK_CFA_REGISTER);
	}
}

static void a_table_whose_indices_leave_it_is_not_sound(void)
{
	struct walk_table_header *h;
	uint32_t count, keep;

	CHECK(!build_function(PROGRAM(ADVANCE(1), 0x0e, 16)));
	h = (struct walk_table_header *)words;
	count = h->words;
	CHECK(unwind_table_is_sound(words, count));
	CHECK(!unwind_table_is_sound(words, count - 1));
	CHECK(!unwind_table_is_sound(words, 0));
	for (uint32_t i = 0; i < 9; i++) {
		keep = words[i];
		words[i] = 0x7fffffff;
		CHECK(!unwind_table_is_sound(words, count) ||
			i == 2); /* any page may be the first */
		words[i] = keep;
	}
	keep = words[h->rows_at];
	words[h->rows_at] |= 0xfffff000;
	CHECK(!unwind_table_is_sound(words, count));
	words[h->rows_at] = keep;
	keep = words[h->pages_at];
	words[h->pages_at] = h->row_count + 1;
	CHECK(!unwind_table_is_sound(words, count));
	words[h->pages_at] = keep;
	words[h->rules_at] |= 0xff;
	CHECK(!unwind_table_is_sound(words, count));
}

int main(void)
{
	RUN(rows_hold_from_where_they_begin);
	RUN(every_way_to_advance_moves_by_as_much);
	RUN(set_loc_moves_to_an_address);
	RUN(the_cfa_can_be_defined_in_every_way);
	RUN(the_frame_pointer_is_found_where_it_was_saved);
	RUN(a_frame_pointer_that_cannot_be_followed_is_unknown);
	RUN(a_register_is_restored_to_what_its_cie_says);
	RUN(a_remembered_state_comes_back_with_its_cfa);
	RUN(what_does_not_matter_is_read_over);
	RUN(an_undefined_return_address_is_the_end_of_the_stack);
	RUN(a_return_address_may_be_in_a_register);
	RUN(a_return_address_elsewhere_is_not_supported);
	RUN(the_plt_is_recognised_by_its_expression);
	RUN(expressions_of_realigned_stacks_are_recognised);
	RUN(other_expressions_are_not_supported);
	RUN(a_signal_frame_is_known_by_its_letter_and_its_shape);
	RUN(a_damaged_function_is_left_out_and_counted);
	RUN(instructions_that_make_no_sense_are_damage);
	RUN(the_rest_of_a_section_that_is_cut_is_left_out);
	RUN(a_cie_that_is_not_there_spoils_its_functions_alone);
	RUN(an_end_in_the_middle_is_stepped_over);
	RUN(functions_that_are_not_in_the_file_are_counted_apart);
	RUN(addresses_are_read_in_every_encoding);
	RUN(addresses_that_only_a_running_program_has_are_left_out);
	RUN(addresses_count_from_their_place_the_text_or_the_data);
	RUN(augmentations_are_read_as_far_as_they_are_known);
	RUN(another_column_can_be_the_return_address);
	RUN(lengths_may_have_64_bits);
	RUN(debug_frame_fills_in_what_eh_frame_does_not_have);
	RUN(a_compressed_section_is_read);
	RUN(only_gaps_that_can_hold_code_are_without_information);
	RUN(equal_rows_in_a_row_are_one);
	RUN(of_functions_that_overlap_the_later_one_holds);
	RUN(a_function_reaches_over_many_pages);
	RUN(the_entry_point_ends_a_stack_where_nothing_else_is_said);
	RUN(another_machine_has_its_own_registers);
	RUN(rbx_is_followed_in_files_that_keep_the_cfa_in_it);
	RUN(a_table_whose_indices_leave_it_is_not_sound);
	free(words);
	return tap_end();
}
