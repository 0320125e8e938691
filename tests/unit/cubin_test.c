// SPDX-License-Identifier: MIT
/*
 * Cubins of tests/data/cubin beside what NVIDIA's tools say of them (the records there, see the
 * script `make` beside them), and damaged ones.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "gpucode/nvidia/cubin.h"
#include "gpucode/nvidia/cubin_internal.h"
#include "tap.h"

#define DATA	   "tests/data/cubin/"
#define CODE_BYTES 16 /* of an instruction */
#define FILE_MAX   (1u << 20)

static const char *const names[] = {"abi7", "debug", "inline", "linked", "nvrtc", "plain", "ptx",
	"shared_75", "shared_120", "triton"};

#define NAMES (sizeof(names) / sizeof(names[0]))

struct opened {
	struct buf image;
	struct cubin *c;
};

static bool read_data(const char *name, const char *suffix, struct buf *ret)
{
	char path[256];

	*ret = BUF_INIT;
	snprintf(path, sizeof(path), DATA "%s.%s", name, suffix);
	if (!io_read_file(path, FILE_MAX, ret)) {
		buf_putc(ret, 0);
		ret->size--;
		return true;
	}
	printf("# cannot read %s\n", path);
	tap_ok = false;
	return false;
}

static bool open_data(const char *name, struct opened *ret)
{
	*ret = (struct opened){0};
	if (!read_data(name, "cubin", &ret->image))
		return false;
	CHECK(!cubin_open(ret->image.data, ret->image.size, &ret->c));
	return ret->c;
}

static void close_data(struct opened *o)
{
	cubin_close(o->c);
	buf_release(&o->image);
}

static void write_frame(struct buf *b, const struct cubin_frame *p)
{
	buf_printf(b, "%s:%u", p->path, p->line);
}

/* The chain of an instruction as nvdisasm has it. */
static void write_chain(struct cubin *c, const struct cubin_function *f, uint64_t offset, bool all,
	struct buf *b, enum cubin_line_kind *ret_kind)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	size_t n = cubin_frames(c, f, offset, frames, ret_kind);

	buf_reset(b);
	for (size_t i = 0; i < n && (all || !i) && *ret_kind != CUBIN_LINES_NONE; i++) {
		buf_puts(b, i ? " <- " : "");
		write_frame(b, &frames[i]);
	}
}

/* A record's text for one instruction after the other. */
struct record {
	const char *at;
	char text[8192];
};

/* Moves to the part that is about this function; false: there is none. */
static bool begin_function(struct record *r, const char *whole, const char *name)
{
	char header[1024];

	snprintf(header, sizeof(header), "function %s\n", name);
	r->at = strstr(whole, header);
	r->text[0] = 0;
	if (!r->at)
		return false;
	r->at += strlen(header);
	return true;
}

/* Takes what there is for this offset; otherwise what was said last stays. */
static void next_instruction(struct record *r, uint64_t offset)
{
	char *end;

	if (strtoull(r->at, &end, 16) != offset || end == r->at || *end != ' ')
		return;
	r->at = end + 1;
	snprintf(r->text, sizeof(r->text), "%.*s", (int)strcspn(r->at, "\n"), r->at);
	r->at += strcspn(r->at, "\n");
	r->at += *r->at == '\n';
}

struct comparison {
	const char *name; /* of the cubin */
	const char *record;
	bool all; /* the whole chain */
	size_t instructions, differences;
};

static void compare_instruction(struct comparison *k, struct cubin *c,
	const struct cubin_function *f, uint64_t offset, const char *expected)
{
	const struct cubin_function *inner = cubin_function_at(c, f->section, f->offset + offset);
	enum cubin_line_kind kind = CUBIN_LINES_NONE;
	struct buf got = BUF_INIT;

	write_chain(c, f, offset, k->all, &got, &kind);
	k->instructions++;
	/* Both tools go on with the last line of the kernel in what the compiler put behind it. */
	if (!strncmp(inner->linkage_name, "__cuda_", 7))
		expected = "";
	/* CUPTI has no lines of PTX, and nvdisasm was asked for them in one image only. */
	if (kind == CUBIN_LINES_PTX && (!k->all || strcmp(k->name, "ptx")))
		buf_reset(&got);
	if (!k->all && !strcmp(expected, ":0"))
		expected = "";
	if (strcmp(buf_text(&got), expected) && !k->differences++)
		printf("# %s, %s at %llx: '%s' and not '%s'\n", k->name, f->name,
			(unsigned long long)offset, buf_text(&got), expected);
	buf_release(&got);
}

static void compare_function(
	struct comparison *k, struct cubin *c, const struct cubin_function *f, struct record *r)
{
	if (!begin_function(r, k->record, f->name)) {
		k->differences++;
		printf("# %s: nothing of %s\n", k->name, f->name);
		return;
	}
	for (uint64_t offset = 0; offset < f->size; offset += CODE_BYTES) {
		next_instruction(r, offset);
		compare_instruction(k, c, f, offset, r->text);
	}
}

static void compare_with(const char *tool, bool all)
{
	static struct record r;

	for (size_t i = 0; i < NAMES; i++) {
		struct comparison k = {.name = names[i], .all = all};
		struct buf record = BUF_INIT;
		struct opened o;

		if (open_data(names[i], &o) && read_data(names[i], tool, &record)) {
			k.record = record.data;
			for (size_t n = 0; n < cubin_function_count(o.c); n++)
				if (cubin_function(o.c, n)->outer == CUBIN_NONE)
					compare_function(&k, o.c, cubin_function(o.c, n), &r);
		}
		CHECK(k.instructions >= 20 && !k.differences);
		buf_release(&record);
		close_data(&o);
	}
}

static void the_innermost_frame_of_each_instruction_is_the_one_that_CUPTI_gives(void)
{
	compare_with("cupti", false);
}

static void the_chain_of_inlined_calls_is_the_one_that_nvdisasm_prints(void)
{
	compare_with("nvdisasm", true);
}

/* Whether the record has this function for this frame. */
static bool is_named(const char *record, const struct cubin_frame *p)
{
	struct buf line = BUF_INIT;
	bool found;

	write_frame(&line, p);
	buf_printf(&line, " %s\n", p->function);
	found = strstr(record, buf_text(&line));
	if (!found)
		printf("# not so: %s", buf_text(&line));
	buf_release(&line);
	return found;
}

static void check_names(const char *name, size_t at_least)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	struct buf record = BUF_INIT;
	struct opened o;
	size_t inlined = 0;

	if (!open_data(name, &o) || !read_data(name, "names", &record))
		return close_data(&o);
	for (size_t i = 0; i < cubin_function_count(o.c) && tap_ok; i++) {
		const struct cubin_function *f = cubin_function(o.c, i);

		for (uint64_t at = 0; at < f->size && tap_ok; at += CODE_BYTES) {
			size_t n = cubin_frames(o.c, f, at, frames, NULL);
			const struct cubin_function *inner =
				cubin_function_at(o.c, f->section, f->offset + at);

			CHECK(n && !strcmp(frames[n - 1].function, inner->linkage_name));
			for (size_t k = 0; k + 1 < n; k++, inlined++)
				CHECK(is_named(record.data, &frames[k]));
		}
	}
	CHECK(inlined >= at_least);
	buf_release(&record);
	close_data(&o);
}

static void inlined_functions_have_the_names_that_the_PTX_has_for_their_lines(void)
{
	check_names("inline", 100);
}

static void in_a_linked_image_each_compilation_has_names_of_its_own(void)
{
	check_names("linked", 20);
}

static void names_that_cannot_be_told_apart_are_left_out(void)
{
	static const char last[] = "_Z4stepIfET_S0_i";
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	const struct cubin_function *f;
	struct opened o;
	size_t unnamed = 0, named = 0;
	char *name = NULL;

	if (!open_data("linked", &o))
		return close_data(&o);
	for (size_t at = 0; at + sizeof(last) <= o.image.size; at++)
		if (!memcmp(o.image.data + at, last, sizeof(last)))
			name = o.image.data + at;
	CHECK(name);
	if (name)
		name[4] = 0; /* what follows might be a name of the first compilation */
	f = cubin_function_named(o.c, "_Z12other_kernelPf");
	for (uint64_t at = 0; f && at < f->size; at += CODE_BYTES)
		if (cubin_frames(o.c, f, at, frames, NULL) > 1)
			unnamed += !frames[0].function[0] && frames[0].line;
	f = cubin_function_named(o.c, "_Z13shared_kernelPf");
	for (uint64_t at = 0; f && at < f->size; at += CODE_BYTES)
		if (cubin_frames(o.c, f, at, frames, NULL) > 1)
			named += !strcmp(frames[0].function, last);
	CHECK(unnamed > 10 && named > 10);
	close_data(&o);
}

static void calls_are_followed_to_eight_levels(void)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	const struct cubin_function *f;
	struct opened o;
	size_t deepest = 0;

	if (!open_data("inline", &o))
		return close_data(&o);
	f = cubin_function_named(o.c, "_Z7climberPf");
	for (uint64_t at = 0; f && at < f->size; at += CODE_BYTES) {
		size_t n = cubin_frames(o.c, f, at, frames, NULL);

		deepest = n > deepest ? n : deepest;
	}
	CHECK(deepest >= 9);
	close_data(&o);
}

static void functions_are_found_by_name_symbol_and_position(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		struct opened o;

		if (!open_data(names[i], &o))
			return close_data(&o);
		CHECK(cubin_function_count(o.c));
		for (size_t n = 0; n < cubin_function_count(o.c); n++) {
			const struct cubin_function *f = cubin_function(o.c, n);
			const struct cubin_function *named = cubin_function_named(o.c, f->name);
			size_t size;

			/* Two compilations have brought the same routine. */
			CHECK(named == f || (named && !strcmp(named->name, f->name) &&
						    !strncmp(f->name, "__cuda_", 7)));
			CHECK(cubin_function_of_symbol(o.c, f->symbol) == f);
			CHECK(cubin_function_at(o.c, f->section, f->offset) == f);
			CHECK(cubin_function_at(o.c, f->section, f->offset + f->size) != f);
			CHECK(cubin_code(o.c, f, &size) && size == f->size && !(size % CODE_BYTES));
		}
		CHECK(!cubin_function(o.c, cubin_function_count(o.c)));
		CHECK(!cubin_function_named(o.c, "no such function"));
		CHECK(!cubin_function_of_symbol(o.c, 0));
		close_data(&o);
	}
}

static void device_functions_stand_inside_their_kernels(void)
{
	const struct cubin_function *kernel, *called, *division;
	struct opened o;

	if (!open_data("inline", &o))
		return close_data(&o);
	kernel = cubin_function_named(o.c, "plain_name");
	called = cubin_function_named(o.c, "$plain_name$_Z6calledfi");
	division = cubin_function_named(o.c, "__cuda_sm20_div_s64");
	CHECK(kernel && kernel->kernel && kernel->outer == CUBIN_NONE);
	CHECK(called && !called->kernel && cubin_function(o.c, called->outer) == kernel);
	CHECK_TEXT(called ? called->linkage_name : "", "_Z6calledfi");
	/* Two kernels call it, each its own copy. */
	CHECK(!cubin_function_named(o.c, "_Z6calledfi"));
	CHECK(division && !division->kernel);
	close_data(&o);
}

static void the_compute_capability_is_read_from_both_layouts_of_the_flags(void)
{
	static const unsigned int expected[NAMES] = {80, 90, 90, 90, 90, 90, 90, 75, 120, 90};

	for (size_t i = 0; i < NAMES; i++) {
		struct opened o;

		if (open_data(names[i], &o))
			CHECK(cubin_sm(o.c) == expected[i]);
		close_data(&o);
	}
}

static void whole_images_have_no_damage(void)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];

	for (size_t i = 0; i < NAMES; i++) {
		struct cubin_damage d;
		struct opened o;

		if (!open_data(names[i], &o))
			return close_data(&o);
		CHECK(cubin_frames(o.c, cubin_function(o.c, 0), 0, frames, NULL));
		d = cubin_damage(o.c);
		CHECK(!d.sections && !d.symbols && !d.lines.programs && !d.lines.rows);
		close_data(&o);
	}
}

static void code_without_source_lines_has_lines_of_PTX(void)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	enum cubin_line_kind kind;
	const struct cubin_function *f;
	struct opened o;

	if (!open_data("ptx", &o))
		return close_data(&o);
	f = cubin_function_named(o.c, "_Z13shared_kernelPf");
	CHECK(f && cubin_frames(o.c, f, 0x30, frames, &kind) == 1);
	CHECK(kind == CUBIN_LINES_PTX);
	CHECK_TEXT(frames[0].function, "_Z13shared_kernelPf");
	CHECK_TEXT(frames[0].path, ".nv_debug_ptx_txt");
	CHECK(frames[0].line > 0);
	close_data(&o);
}

static void code_without_any_lines_still_has_its_function(void)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	enum cubin_line_kind kind;
	const struct cubin_function *f;
	struct opened o;

	if (!open_data("plain", &o))
		return close_data(&o);
	f = cubin_function_named(o.c, "_Z13shared_kernelPf");
	CHECK(f && cubin_frames(o.c, f, f->size - 1, frames, &kind) == 1);
	CHECK(kind == CUBIN_LINES_NONE && !frames[0].line);
	CHECK_TEXT(frames[0].function, "__cuda_sm3x_div_rn_noftz_f32_slowpath");
	CHECK_TEXT(frames[0].path, "");
	CHECK(f && !cubin_frames(o.c, f, f->size, frames, &kind));
	close_data(&o);
}

/* An image made for a test: a kernel of 256 bytes and a line table. */
enum {
	MADE_NAMES = 1,
	MADE_SYMBOLS,
	MADE_STRINGS,
	MADE_CODE,
	MADE_LINES,
	MADE_LINE_STRINGS,
	MADE_SECTIONS
};

struct made {
	Elf64_Ehdr header;
	Elf64_Shdr sections[MADE_SECTIONS];
	Elf64_Sym symbols[2];
	char names[96];
	char strings[16];
	char line_strings[32];
	uint8_t code[256];
	uint8_t lines[256];
};

static void make_section(
	struct made *m, int i, uint32_t name, uint32_t type, const void *data, size_t size)
{
	m->sections[i] = (Elf64_Shdr){
		.sh_name = name,
		.sh_type = type,
		.sh_offset = (uint64_t)((const char *)data - (const char *)m),
		.sh_size = size,
	};
}

static void make_image(struct made *m, const void *lines, size_t size)
{
	*m = (struct made){
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
				   0x33, 7},
			.e_machine = 190,
			.e_flags = 0x5a0d5a,
			.e_shoff = offsetof(struct made, sections),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = MADE_SECTIONS,
			.e_shstrndx = MADE_NAMES},
		.symbols[1] = {.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_other = 0x10,
			.st_shndx = MADE_CODE,
			.st_size = sizeof(m->code)},
		.names = "\0.text.k\0.debug_line\0.debug_line_str",
		.strings = "\0k",
		.line_strings = "/home\0sub\0one.cu\0two.cuh",
	};
	memcpy(m->lines, lines, size);
	make_section(m, MADE_NAMES, 0, SHT_STRTAB, m->names, sizeof(m->names));
	make_section(m, MADE_SYMBOLS, 0, SHT_SYMTAB, m->symbols, sizeof(m->symbols));
	m->sections[MADE_SYMBOLS].sh_link = MADE_STRINGS;
	make_section(m, MADE_STRINGS, 0, SHT_STRTAB, m->strings, sizeof(m->strings));
	make_section(m, MADE_CODE, 1, SHT_PROGBITS, m->code, sizeof(m->code));
	m->sections[MADE_CODE].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	make_section(m, MADE_LINES, 9, SHT_PROGBITS, m->lines, size);
	make_section(
		m, MADE_LINE_STRINGS, 21, SHT_PROGBITS, m->line_strings, sizeof(m->line_strings));
}

static void check_frame(struct cubin *c, uint64_t offset, const char *path, uint32_t line)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];

	CHECK(cubin_frames(c, cubin_function(c, 0), offset, frames, NULL) == 1);
	CHECK_TEXT(frames[0].path, path);
	CHECK(frames[0].line == line);
}

static void line_tables_of_version_5_are_read(void)
{
	/* clang-format off */
	static const uint8_t lines[] = {
		81, 0, 0, 0, 5, 0, 8, 0,		/* size, version, sizes of addresses */
		47, 0, 0, 0,				/* bytes of header from here on */
		1, 1, 1, 0xfb, 14, 10,			/* opcode_base 10 */
		0, 1, 1, 1, 1, 0, 0, 0, 1,		/* operands */
		1, 1, 0x1f, 2, 0, 0, 0, 0, 6, 0, 0, 0,	/* folders: line_strp; "/home", "sub" */
		2, 1, 0x1f, 2, 0x0b, 2,			/* files: line_strp, data1 */
		10, 0, 0, 0, 0, 17, 0, 0, 0, 1,		/* one.cu in /home, two.cuh in sub */
		0, 0, 0, 0,				/* what is to be added to names */
		0, 9, 2, 16, 0, 0, 0, 0, 0, 0, 0,	/* address 16 */
		4, 0, 1,				/* file 0, row: line 1 */
		2, 32, 4, 1, 3, 6, 1,			/* 48: file 1, line 7 */
		2, 16, 0, 1, 1,				/* end at 64 */
	};
	/* clang-format on */
	struct made m;
	struct cubin *c;

	make_image(&m, lines, sizeof(lines));
	if (cubin_open(&m, sizeof(m), &c)) {
		CHECK(!"opened");
		return;
	}
	check_frame(c, 0, "", 0);
	check_frame(c, 16, "/home/one.cu", 1);
	check_frame(c, 47, "/home/one.cu", 1);
	check_frame(c, 48, "sub/two.cuh", 7);
	check_frame(c, 64, "", 0);
	CHECK(!cubin_damage(c).lines.programs && !cubin_damage(c).lines.rows);
	cubin_close(c);
}

static void rows_that_cannot_be_are_counted_and_passed_over(void)
{
	/* clang-format off */
	static const uint8_t lines[] = {
		69, 0, 0, 0, 2, 0,			/* size, version */
		24, 0, 0, 0,				/* bytes of header from here on */
		1, 1, 0xfb, 14, 10,			/* opcode_base 10 */
		0, 1, 1, 1, 1, 0, 0, 0, 1,		/* operands */
		0, 'a', '.', 'c', 'u', 0, 0, 0, 0, 0,	/* no folders, one file */
		0, 9, 2, 32, 0, 0, 0, 0, 0, 0, 0,	/* address 32 */
		1,					/* row 1 */
		0, 3, 0x90, 2, 0, 3, 1, 2, 16, 1,	/* row 2, inlined at itself */
		0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0,	/* address 0 */
		1, 2, 64, 0, 1, 1,			/* row 3, end at 64 */
	};
	/* clang-format on */
	struct made m;
	struct cubin *c;

	make_image(&m, lines, sizeof(lines));
	if (cubin_open(&m, sizeof(m), &c)) {
		CHECK(!"opened");
		return;
	}
	check_frame(c, 0, "", 0);
	check_frame(c, 32, "a.cu", 1);
	check_frame(c, 63, "a.cu", 1);
	CHECK(cubin_damage(c).lines.rows == 2);
	CHECK(cubin_sm(c) == 90);
	cubin_close(c);
}

static void what_is_no_cubin_is_refused_with_a_reason(void)
{
	static const uint32_t fatbin[16] = {0xba55ed50};
	Elf64_Ehdr other = {.e_ident = ELFMAG, .e_machine = EM_X86_64};
	struct cubin *c = NULL;

	other.e_ident[EI_CLASS] = ELFCLASS64;
	other.e_ident[EI_DATA] = ELFDATA2LSB;
	CHECK(cubin_open(fatbin, sizeof(fatbin), &c) == -ENOEXEC);
	CHECK_TEXT(error_text(), "not a cubin but a fatbin, which holds some");
	CHECK(cubin_open("// PTX", 6, &c) == -ENOEXEC);
	CHECK_TEXT(error_text(), "not a cubin but PTX text");
	CHECK(cubin_open("", 0, &c) == -ENOEXEC);
	CHECK(cubin_open(&other, sizeof(other), &c) == -ENOEXEC);
	CHECK_TEXT(error_text(), "not a cubin: an ELF image for machine 62");
	CHECK(!c);
}

static void ask_everything(const void *image, size_t size)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	struct cubin *c;

	if (cubin_open(image, size, &c))
		return;
	for (size_t i = 0; i < cubin_function_count(c); i++)
		for (uint64_t at = 0; at < cubin_function(c, i)->size && at < 4096; at += 512) {
			size_t n = cubin_frames(c, cubin_function(c, i), at, frames, NULL);

			CHECK(n && n <= CUBIN_FRAMES_MAX);
		}
	cubin_close(c);
}

static void an_image_cut_off_anywhere_is_survived(void)
{
	struct opened o;

	if (!open_data("linked", &o))
		return close_data(&o);
	for (size_t size = 0; size < o.image.size; size += 61) {
		/* Memory of just that size, for the sanitizers. */
		void *part = malloc(size + 1);

		memcpy(part, o.image.data, size);
		ask_everything(part, size);
		free(part);
	}
	close_data(&o);
}

static void an_image_with_any_byte_changed_is_survived(void)
{
	struct opened o;

	if (!open_data("linked", &o))
		return close_data(&o);
	for (size_t at = 0; at < o.image.size; at += 7) {
		char kept = o.image.data[at];

		o.image.data[at] = (char)(at % 3 ? 0xff : kept ^ 1 << at % 8);
		ask_everything(o.image.data, o.image.size);
		o.image.data[at] = kept;
	}
	close_data(&o);
}

int main(void)
{
	RUN(the_innermost_frame_of_each_instruction_is_the_one_that_CUPTI_gives);
	RUN(the_chain_of_inlined_calls_is_the_one_that_nvdisasm_prints);
	RUN(inlined_functions_have_the_names_that_the_PTX_has_for_their_lines);
	RUN(in_a_linked_image_each_compilation_has_names_of_its_own);
	RUN(names_that_cannot_be_told_apart_are_left_out);
	RUN(calls_are_followed_to_eight_levels);
	RUN(functions_are_found_by_name_symbol_and_position);
	RUN(device_functions_stand_inside_their_kernels);
	RUN(the_compute_capability_is_read_from_both_layouts_of_the_flags);
	RUN(whole_images_have_no_damage);
	RUN(code_without_source_lines_has_lines_of_PTX);
	RUN(code_without_any_lines_still_has_its_function);
	RUN(line_tables_of_version_5_are_read);
	RUN(rows_that_cannot_be_are_counted_and_passed_over);
	RUN(what_is_no_cubin_is_refused_with_a_reason);
	RUN(an_image_cut_off_anywhere_is_survived);
	RUN(an_image_with_any_byte_changed_is_survived);
	return tap_end();
}
