// SPDX-License-Identifier: MIT
/*
 * Zebins of tests/data/zebin, which Intel's compiler made for four GPUs, beside what its
 * disassembler and readelf say of them (the records there, see the script `make` beside them), and
 * damaged ones.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "gpucode/intel/format.h"
#include "gpucode/intel/isa.h"
#include "gpucode/intel/zebin.h"
#include "random.h"
#include "tap.h"

#define DATA	 "tests/data/zebin/"
#define FILE_MAX (1u << 20)

static const struct {
	const char *name;
	unsigned int target;
} devices[] = {{"bmg", 2001}, {"lnl", 2004}, {"ptl", 3000}, {"pvc", 1260}};

#define DEVICES (sizeof(devices) / sizeof(devices[0]))

struct opened {
	struct buf image, record;
	struct zebin *z;
};

static bool read_data(const char *name, const char *suffix, struct buf *ret)
{
	char path[256];

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

/* With the record of this suffix. */
static bool open_data(const char *name, const char *suffix, struct opened *ret)
{
	*ret = (struct opened){BUF_INIT, BUF_INIT, NULL};
	if (!read_data(name, "zebin", &ret->image) || !read_data(name, suffix, &ret->record))
		return false;
	CHECK(!zebin_open(ret->image.data, ret->image.size, &ret->z));
	return ret->z;
}

static void close_data(struct opened *o)
{
	zebin_close(o->z);
	buf_release(&o->image);
	buf_release(&o->record);
}

static void an_image_says_which_GPU_it_is_for(void)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct opened o;

		if (open_data(devices[i].name, "iga", &o)) {
			CHECK(zebin_target(o.z) == devices[i].target);
			CHECK(isa_has_target(zebin_target(o.z)));
			CHECK(zebin_function_count(o.z) == 2);
			CHECK(zebin_function_named(o.z, "tiny") &&
				zebin_function_named(o.z, "tiny")->kernel);
			CHECK(zebin_function_named(o.z, "busy") &&
				zebin_function_named(o.z, "busy")->kernel);
			CHECK(!zebin_function_named(o.z, "_entry"));
		}
		close_data(&o);
	}
}

/* The mnemonic of a line of the record: behind a guard in brackets, up to a blank. */
static size_t find_mnemonic(const char **text)
{
	if (**text == '(')
		*text += strcspn(*text, ")") + 1;
	*text += strspn(*text, " ");
	return strcspn(*text, " ");
}

/* One instruction as our format has it, beside a line of the record. Of compacted ones the function
 * is not decoded. */
static void check_instruction(
	const struct gpucode_function *f, uint64_t offset, size_t bytes, const char *text)
{
	char name[GPUCODE_NAME_MAX];
	size_t length = find_mnemonic(&text);

	zebin_format.instruction_name(f, offset, name, sizeof(name));
	if (bytes == ISA_COMPACTED_BYTES)
		length = strcspn(text, ". ");
	if (strlen(name) != length || strncmp(name, text, length)) {
		printf("# at %llx:\n", (unsigned long long)offset);
		CHECK_TEXT(name, text);
	}
	CHECK(zebin_format.instruction_size(f, offset) == bytes);
}

/* How many lines of the record there were. */
static size_t check_instructions(struct opened *o)
{
	struct gpucode_image *image = (struct gpucode_image *)o->z;
	struct gpucode_function f = {0};
	char kernel[16] = "", *save = NULL;
	uint64_t at = 0;
	size_t count = 0;

	for (char *line = strtok_r(o->record.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char name[16];
		unsigned int offset, bytes;
		int text = 0;

		if (*line == '#')
			continue;
		CHECK(sscanf(line, "%15s %x %u %n", name, &offset, &bytes, &text) == 3);
		if (strcmp(name, kernel)) {
			CHECK(at == f.size); /* the one before is at its end */
			CHECK(zebin_format.find(image, name, 0, &f));
			strcpy(kernel, name);
			at = 0;
		}
		CHECK(offset == at && at < f.size);
		check_instruction(&f, offset, bytes, line + text);
		at += zebin_format.instruction_size(&f, offset);
		count++;
	}
	CHECK(at == f.size);
	return count;
}

static void each_instruction_is_where_and_what_Intels_disassembler_says(void)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct opened o;

		if (open_data(devices[i].name, "iga", &o))
			CHECK(check_instructions(&o) > 200);
		close_data(&o);
	}
}

/* From its place in the record on: up to that of the next line. */
static void check_lines(struct zebin *z, const struct zebin_function *f, uint64_t from, uint64_t to,
	const char *place)
{
	for (uint64_t at = from; at < to; at += ISA_COMPACTED_BYTES) {
		struct zebin_frame frame = {0};
		bool called = true;
		char found[32];

		CHECK(zebin_source(z, f, at, &frame, &called) && !called);
		snprintf(found, sizeof(found), "%s:%u", frame.path, frame.line);
		CHECK_TEXT(found, place);
		CHECK_TEXT(frame.function, f->name);
	}
}

/* All places that the record has, up to the ends of both kernels. */
static void check_all_lines(struct opened *o)
{
	const struct zebin_function *f = NULL;
	char place[16] = "", *save = NULL;
	uint64_t from = 0;
	size_t ends = 0;

	for (char *line = strtok_r(o->record.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char name[16], value[16];
		uint64_t at;

		if (*line == '#')
			continue;
		CHECK(sscanf(line, "%15s %lx %15s", name, &at, value) == 3);
		if (f)
			check_lines(o->z, f, from, at, place);
		f = strcmp(value, "end") ? zebin_function_named(o->z, name) : NULL;
		from = at;
		strcpy(place, value);
		ends += !f;
	}
	CHECK(ends == 2);
	CHECK(!zebin_damage(o->z).lines.rows && !zebin_damage(o->z).lines.programs &&
		!zebin_damage(o->z).sections && !zebin_damage(o->z).symbols);
}

static void each_kernel_has_its_own_lines(void)
{
	for (size_t i = 0; i < DEVICES; i++) {
		struct opened o;

		if (open_data(devices[i].name, "lines", &o))
			check_all_lines(&o);
		close_data(&o);
	}
}

/* Of one type. */
static Elf64_Shdr *find_section(void *image, uint32_t type)
{
	Elf64_Ehdr *e = image;
	Elf64_Shdr *sections = (Elf64_Shdr *)((char *)image + e->e_shoff);

	for (size_t i = 0; i < e->e_shnum; i++)
		if (sections[i].sh_type == type)
			return &sections[i];
	abort();
}

/* What the compiler writes for the names of symbols at times: no text, or another. */
enum lost { LOST_ALL, LOST_BEGIN };

struct loss {
	const char *name;
	enum lost how;
};

static Elf64_Sym *symbols_of(void *image, size_t *ret_count)
{
	Elf64_Shdr *table = find_section(image, SHT_SYMTAB);

	*ret_count = table->sh_size / sizeof(Elf64_Sym);
	return (Elf64_Sym *)((char *)image + table->sh_offset);
}

/* Symbols that relocations refer to. */
static void lose_names(void *image, const struct loss *loss)
{
	const char *names = (char *)image + find_section(image, SHT_STRTAB)->sh_offset;
	size_t count, lost = 0;
	Elf64_Sym *symbols = symbols_of(image, &count);

	for (size_t i = 0; i < count; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT &&
			!strcmp(names + symbols[i].st_name, loss->name)) {
			symbols[i].st_name = loss->how == LOST_ALL ? 0 : symbols[i].st_name + 3;
			lost++;
		}
	CHECK(lost);
}

static bool open_with_losses(const struct loss *losses, size_t count, struct opened *ret)
{
	if (!open_data("bmg", "lines", ret))
		return false;
	zebin_close(ret->z);
	for (size_t i = 0; i < count; i++)
		lose_names(ret->image.data, &losses[i]);
	CHECK(!zebin_open(ret->image.data, ret->image.size, &ret->z));
	return ret->z;
}

static void a_kernel_whose_symbol_lost_its_name_has_its_lines(void)
{
	static const struct loss losses[] = {
		{".text.busy", LOST_ALL}, {".text.tiny", LOST_ALL}, {".text.busy", LOST_BEGIN}};

	for (size_t first = 0; first < 3; first++)
		for (size_t count = 1; first + count <= 3 && count < 3; count++) {
			struct opened o;

			if (open_with_losses(&losses[first], count, &o))
				check_all_lines(&o);
			close_data(&o);
		}
}

/* It cannot be known whose they are. */
static void lines_that_fit_no_kernel_are_nobodys(void)
{
	static const struct loss loss = {".text.busy", LOST_ALL};
	struct zebin_frame frame;
	struct opened o;
	size_t count;
	bool called;

	if (open_with_losses(&loss, 1, &o)) {
		Elf64_Sym *symbols = symbols_of(o.image.data, &count);

		zebin_close(o.z);
		for (size_t i = 0; i < count; i++)
			if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
				symbols[i].st_size -= 16;
		CHECK(!zebin_open(o.image.data, o.image.size, &o.z));
		CHECK(zebin_source(o.z, zebin_function_named(o.z, "busy"), 0, &frame, &called));
		CHECK(!frame.line);
		CHECK(zebin_damage(o.z).lines.rows);
	}
	close_data(&o);
}

static void nothing_is_known_outside_of_a_function(void)
{
	const struct zebin_function *f;
	struct zebin_frame frame;
	struct opened o;
	bool called;

	if (open_data("bmg", "iga", &o)) {
		f = zebin_function_named(o.z, "tiny");
		CHECK(f && !zebin_source(o.z, f, f->size, &frame, &called));
		CHECK(f && !zebin_source(o.z, f, UINT64_MAX, &frame, &called));
	}
	close_data(&o);
}

/* Has the second symbol that is a function stand inside the first one's section. */
static void move_function(struct buf *image, uint16_t section, uint64_t value, uint64_t size)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)image->data;
	Elf64_Shdr *sections = (Elf64_Shdr *)(image->data + h->e_shoff);
	unsigned int found = 0;

	for (int i = 0; i < h->e_shnum; i++) {
		Elf64_Sym *s = (Elf64_Sym *)(image->data + sections[i].sh_offset);

		for (size_t n = 0;
			sections[i].sh_type == SHT_SYMTAB && n < sections[i].sh_size / sizeof(*s);
			n++)
			if (ELF64_ST_TYPE(s[n].st_info) == STT_FUNC && ++found == 2) {
				s[n].st_shndx = section;
				s[n].st_value = value;
				s[n].st_size = size;
			}
	}
	CHECK(found == 2);
}

static void code_of_a_function_inside_a_kernel_is_that_functions(void)
{
	const struct zebin_function *f;
	struct zebin_frame frame;
	struct opened o;
	bool called;

	if (open_data("bmg", "iga", &o)) {
		zebin_close(o.z);
		o.z = NULL;
		move_function(&o.image, 1, 0x100, 0x80);
		CHECK(!zebin_open(o.image.data, o.image.size, &o.z));
	}
	if (o.z) {
		f = zebin_function_named(o.z, "tiny");
		CHECK(zebin_source(o.z, f, 0xf8, &frame, &called) && !called);
		CHECK(zebin_source(o.z, f, 0x100, &frame, &called) && called);
		CHECK_TEXT(frame.function, "busy");
		/* the row there begins in the kernel's code before it */
		CHECK(!frame.line);
		CHECK(zebin_source(o.z, f, 0x180, &frame, &called) && !called);
		f = zebin_function_named(o.z, "busy");
		CHECK(f && !f->kernel);
		CHECK(zebin_source(o.z, f, 0, &frame, &called) && !called);
	}
	close_data(&o);
}

static void other_files_are_refused(void)
{
	static const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
		.e_machine = 190,
		.e_shentsize = sizeof(Elf64_Shdr)};
	struct zebin *z;

	CHECK(zebin_open("", 0, &z) == -ENOEXEC);
	CHECK(zebin_open("\3\2#\7 SPIR-V", 10, &z) == -ENOEXEC);
	CHECK(zebin_open(&h, sizeof(h), &z) == -ENOEXEC);
	CHECK_TEXT(error_text(), "not a zebin: an ELF image for machine 190");
}

/* All that may be asked of an image, of which nothing is expected. */
static void ask_all(struct zebin *z)
{
	for (size_t i = 0; i < zebin_function_count(z); i++) {
		const struct zebin_function *f = zebin_function(z, i);
		size_t size, step = f->size / 16 + 1;
		const uint8_t *code = zebin_code(z, f, &size);
		struct zebin_frame frame;
		char text[ISA_TEXT_MAX];
		bool called;

		for (uint64_t at = 0; at < f->size; at += step)
			CHECK(zebin_source(z, f, at, &frame, &called));
		if (size >= ISA_COMPACTED_BYTES)
			(void)isa_text(zebin_target(z), code, size, text, sizeof(text));
	}
}

static void damaged_images_are_read_or_refused(void)
{
	struct opened o;

	if (!open_data("ptl", "iga", &o))
		return close_data(&o);
	for (size_t size = 0; size < o.image.size; size += 97) {
		struct zebin *z;
		void *cut = malloc(size + 1);

		memcpy(cut, o.image.data, size);
		if (!zebin_open(cut, size, &z)) {
			ask_all(z);
			zebin_close(z);
		}
		free(cut);
	}
	for (int n = 0; n < 3000; n++) {
		struct zebin *z;
		size_t at = random_below((uint32_t)o.image.size);
		char was = o.image.data[at];

		o.image.data[at] = (char)random_u64();
		if (!zebin_open(o.image.data, o.image.size, &z)) {
			ask_all(z);
			zebin_close(z);
		}
		o.image.data[at] = was;
	}
	close_data(&o);
}

/* With nothing behind it that may be read. */
static void code_that_ends_within_an_instruction_is_read_to_its_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED && !mprotect(memory + page, page, PROT_NONE));
	for (size_t size = 1; size < 16; size++) {
		char text[ISA_TEXT_MAX];

		memory[page - size] = 0x38;
		CHECK(isa_text(2001, memory + page - size, size, text, sizeof(text)));
		CHECK_TEXT(text, "math");
	}
	munmap(memory, 2 * page);
}

static void text_is_cut_to_fit_and_unknown_code_says_so(void)
{
	static const uint8_t math[16] = {0x38, [11] = 0x60}, none[16] = {0x7f};
	char text[ISA_TEXT_MAX];

	CHECK(isa_text(2001, math, 16, text, sizeof(text)));
	CHECK_TEXT(text, "math.sin");
	CHECK(isa_text(2001, math, 8, text, sizeof(text)));
	CHECK_TEXT(text, "math");
	CHECK(isa_text(2001, math, 16, text, 6));
	CHECK_TEXT(text, "math.");
	CHECK(!isa_text(2001, none, 16, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0x7f]");
	CHECK(!isa_has_target(0) && !isa_text(0, math, 16, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0x38]");
}

int main(void)
{
	RUN(an_image_says_which_GPU_it_is_for);
	RUN(each_instruction_is_where_and_what_Intels_disassembler_says);
	RUN(each_kernel_has_its_own_lines);
	RUN(a_kernel_whose_symbol_lost_its_name_has_its_lines);
	RUN(lines_that_fit_no_kernel_are_nobodys);
	RUN(nothing_is_known_outside_of_a_function);
	RUN(code_of_a_function_inside_a_kernel_is_that_functions);
	RUN(other_files_are_refused);
	RUN(damaged_images_are_read_or_refused);
	RUN(text_is_cut_to_fit_and_unknown_code_says_so);
	RUN(code_that_ends_within_an_instruction_is_read_to_its_end);
	return tap_end();
}
