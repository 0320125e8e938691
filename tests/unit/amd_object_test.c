// SPDX-License-Identifier: MIT
/*
 * Code objects of tests/data/amdgpu, which clang made for five GPUs, beside what LLVM's tools say
 * of each of their instructions (the records there, see the script `make` beside them),
 * instructions with random operands, and damaged objects.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/trust.h"
#include "gpucode/amd/format.h"
#include "gpucode/amd/gcn.h"
#include "gpucode/amd/object.h"
#include "gpucode/amd/text.h"
#include "random.h"
#include "tap.h"

#define DATA	 "tests/data/amdgpu/"
#define FILE_MAX (1u << 20)

static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};

#define GPUS (sizeof(gpus) / sizeof(gpus[0]))

struct opened {
	struct buf image, record;
	struct amd_object *o;
};

static bool read_data(const char *name, struct buf *ret)
{
	char path[256];

	snprintf(path, sizeof(path), DATA "%s", name);
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
static bool open_data(const char *gpu, const char *suffix, struct opened *ret)
{
	char name[64];

	*ret = (struct opened){BUF_INIT, BUF_INIT, NULL};
	snprintf(name, sizeof(name), "calls.%s.hsaco", gpu);
	if (!read_data(name, &ret->image))
		return false;
	snprintf(name, sizeof(name), "calls.%s.%s", gpu, suffix);
	if (!read_data(name, &ret->record))
		return false;
	CHECK(!amd_object_open(ret->image.data, ret->image.size, &ret->o));
	return ret->o;
}

static void close_data(struct opened *o)
{
	amd_object_close(o->o);
	buf_release(&o->image);
	buf_release(&o->record);
}

/* The function that has an address; NULL: none. */
static const struct amd_function *function_at(const struct amd_object *o, uint64_t address)
{
	for (size_t n = 0; n < amd_object_function_count(o); n++) {
		const struct amd_function *f = amd_object_function(o, n);

		if (f->address <= address && address - f->address < f->size)
			return f;
	}
	return NULL;
}

static void an_object_says_which_GPU_it_is_for_and_has_its_functions(void)
{
	for (size_t i = 0; i < GPUS; i++) {
		struct opened o;

		if (open_data(gpus[i], "code", &o)) {
			CHECK(gcn_has_target(amd_object_target(o.o)));
			CHECK_TEXT(gcn_target_name(amd_object_target(o.o)), gpus[i]);
			CHECK(amd_object_function_count(o.o) == 3);
			CHECK(amd_object_function_named(o.o, "_Z6reducePfPKfi"));
			CHECK(amd_object_function_named(o.o, "_Z5emptyv"));
			CHECK(amd_object_function_named(o.o, "_Z7outsideff"));
			CHECK(!amd_object_function_named(o.o, "_Z5emptyv.kd"));
		}
		close_data(&o);
	}
}

/* Each instruction: whether its place is the next one of its function. */
static void check_instruction(struct opened *o, uint64_t address, size_t bytes, const char *text)
{
	const struct amd_function *f = function_at(o->o, address);
	struct gpucode_function found;
	char name[GPUCODE_NAME_MAX];
	size_t length = strcspn(text, " ");

	CHECK(f &&
		amd_object_format.find((struct gpucode_image *)o->o, f->name, f->symbol, &found));
	if (!f)
		return;
	address -= f->address;
	CHECK(amd_object_format.instruction_size(&found, address) == bytes);
	amd_object_format.instruction_name(&found, address, name, sizeof(name));
	/* Of two in one the record has the operands of the first between them. */
	if (strstr(name, " :: "))
		*strstr(name, " :: ") = '\0';
	if (strlen(name) != length || strncmp(name, text, length)) {
		printf("# at %llx:\n", (unsigned long long)address);
		CHECK_TEXT(name, text);
	}
}

static void each_instruction_is_where_and_what_LLVM_says(void)
{
	for (size_t i = 0; i < GPUS; i++) {
		char *save = NULL, *line;
		size_t count = 0, all = 0;
		struct opened o;

		line = open_data(gpus[i], "code", &o) ? strtok_r(o.record.data, "\n", &save) : NULL;
		for (; line; line = strtok_r(NULL, "\n", &save)) {
			unsigned long long address;
			unsigned int bytes;
			int text = 0;

			CHECK(sscanf(line, "%llx %u %n", &address, &bytes, &text) == 2);
			check_instruction(&o, address, bytes, line + text);
			all += bytes;
			count++;
		}
		CHECK(count > 50);
		for (size_t n = 0; o.o && n < amd_object_function_count(o.o); n++)
			all -= amd_object_function(o.o, n)->size;
		CHECK(!all); /* all functions were there, whole */
		close_data(&o);
	}
}

/* Without the folder that it was compiled in, which lines of DWARF 4 do not have. */
static const char *below_folder(const char *path)
{
	return strncmp(path, "./", 2) ? path : path + 2;
}

static void each_instruction_has_its_source_and_the_calls_that_were_inlined(void)
{
	size_t deepest = 0;

	for (size_t i = 0; i < GPUS; i++) {
		char *save = NULL, *line;
		size_t count = 0;
		struct opened o;

		line = open_data(gpus[i], "frames", &o) ? strtok_r(o.record.data, "\n", &save)
							: NULL;
		for (; line; line = strtok_r(NULL, "\n", &save)) {
			struct amd_frame frames[AMD_FRAMES_MAX];
			struct buf ours = BUF_INIT;
			char *chain;
			uint64_t address = strtoull(line, &chain, 16);
			const struct amd_function *f = function_at(o.o, address);
			size_t n = f ? amd_object_frames(o.o, f, address - f->address, frames) : 0;

			for (size_t k = 0; k < n; k++)
				buf_printf(&ours, "%s%s %s:%u", k ? "; " : " ", frames[k].function,
					below_folder(frames[k].path), frames[k].line);
			CHECK_TEXT(buf_text(&ours), chain);
			deepest = n > deepest ? n : deepest;
			buf_release(&ours);
			count++;
		}
		CHECK(count > 50);
		if (o.o) {
			struct amd_damage d = amd_object_damage(o.o);

			CHECK(!d.sections && !d.symbols && !d.lines.rows && !d.lines.programs &&
				!d.units);
		}
		close_data(&o);
	}
	CHECK(deepest == 4);
}

/* Encodings that no compute kernel has are without names. */
static bool has_no_name(const char *ours)
{
	return ours[0] == '[' && strncmp(ours, "[unknown", 8) != 0;
}

static void instructions_with_random_operands_are_what_LLVM_says(void)
{
	struct buf record = BUF_INIT;
	char *save = NULL, *line;
	size_t count = 0, named = 0;

	line = read_data("random.code", &record) ? strtok_r(record.data, "\n", &save) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		unsigned int target, bytes;
		char ours[GCN_TEXT_MAX];
		uint32_t w[4];
		int name = 0;

		CHECK(sscanf(line, "%x %x %x %x %x %u %n", &target, &w[0], &w[1], &w[2], &w[3],
			      &bytes, &name) == 6);
		(void)gcn_text(target, (const uint8_t *)w, sizeof(w), ours, sizeof(ours));
		count++;
		if (has_no_name(ours))
			continue;
		named++;
		if (strcmp(ours, line + name) != 0 ||
			gcn_size(target, (const uint8_t *)w, sizeof(w)) != bytes) {
			printf("# ours is \"%s\", %zu bytes: %s\n", ours,
				gcn_size(target, (const uint8_t *)w, sizeof(w)), line);
			tap_ok = false;
		}
	}
	CHECK(count > 1700 && named > 1500);
	buf_release(&record);
}

static void a_function_is_found_by_its_symbol_only_with_its_name(void)
{
	struct gpucode_function f = {0}, other = {0};
	const struct amd_function *reduce, *empty;
	struct opened o;

	if (open_data("gfx942", "code", &o)) {
		struct gpucode_image *image = (struct gpucode_image *)o.o;

		reduce = amd_object_function_named(o.o, "_Z6reducePfPKfi");
		empty = amd_object_function_named(o.o, "_Z5emptyv");
		CHECK(amd_object_format.find(image, NULL, reduce->symbol, &f));
		CHECK(amd_object_format.find(image, reduce->name, empty->symbol, &other));
		CHECK(f.code == other.code && f.size == reduce->size);
		CHECK(!amd_object_format.find(image, "none", empty->symbol, &other));
		CHECK(!amd_object_format.find(image, NULL, 0, &other));
	}
	close_data(&o);
}

/* Without the table of symbols there is that of the dynamic linker, which has the kernels. */
static void stripped_objects_have_their_kernels(void)
{
	struct amd_object *z = NULL;
	struct opened o;

	if (open_data("gfx942", "code", &o)) {
		Elf64_Ehdr *h = (Elf64_Ehdr *)o.image.data;
		Elf64_Shdr *s = (Elf64_Shdr *)(o.image.data + h->e_shoff);

		for (int n = 0; n < h->e_shnum; n++)
			if (s[n].sh_type == SHT_SYMTAB)
				s[n].sh_type = SHT_PROGBITS;
		CHECK(!amd_object_open(o.image.data, o.image.size, &z));
		CHECK(z && amd_object_function_named(z, "_Z6reducePfPKfi"));
		amd_object_close(z);
	}
	close_data(&o);
}

/* Replaces these bytes, which the image has once. */
static void patch(struct buf *image, const void *bytes, size_t size, size_t at, const void *by,
	size_t by_size)
{
	char *found = memmem(image->data, image->size, bytes, size);

	CHECK(found && at + by_size <= size);
	if (found)
		memcpy(found + at, by, by_size);
}

/* What the innermost frame is at an address of `reduce`. */
static const char *innermost(struct amd_object *o, uint64_t address)
{
	const struct amd_function *f = amd_object_function_named(o, "_Z6reducePfPKfi");
	struct amd_frame frames[AMD_FRAMES_MAX];

	return f && amd_object_frames(o, f, address - f->address, frames) ? frames[0].function : "";
}

/* The linker leaves a function out: what is said of it begins at 0, and ends inside another. */
static void functions_that_were_left_out_cover_no_others(void)
{
	const uint64_t addresses[] = {0x1800, 0x1804, 0x1900}, none = 0;
	const uint8_t length[] = {0, 0x6c, 0, 0, 0, 2, 0x90, 0x40}, longer[] = {0x50, 0x19};
	struct amd_object *z = NULL;
	struct opened o;

	if (open_data("gfx90a", "code", &o)) {
		CHECK_TEXT(innermost(o.o, 0x195c), "_ZN8geometryL6squareIfEET_S1_");
		patch(&o.image, addresses, sizeof(addresses), 0, &none, sizeof(none));
		patch(&o.image, length, sizeof(length), 1, longer, sizeof(longer));
		CHECK(!amd_object_open(o.image.data, o.image.size, &z));
		CHECK_TEXT(innermost(z, 0x195c), "_ZN8geometryL6squareIfEET_S1_");
		amd_object_close(z);
	}
	close_data(&o);
}

/* A call whose origin is in another file, at the number that another call's has in this one. */
static void a_number_of_another_form_is_no_origin(void)
{
	const uint8_t form[] = {14, 0x1d, 0, 0x31, 0x13}, other = 0x1c;
	const uint8_t origin[] = {14, 0xeb, 1, 0, 0}, same[] = {0x46, 1};
	struct amd_object *z = NULL;
	struct opened o;

	if (open_data("gfx90a", "code", &o)) {
		patch(&o.image, form, sizeof(form), 4, &other, 1);
		patch(&o.image, origin, sizeof(origin), 1, same, sizeof(same));
		CHECK(!amd_object_open(o.image.data, o.image.size, &z));
		CHECK_TEXT(innermost(z, 0x1a04), "_ZN8geometryL10square_sumIfEET_S1_S1_");
		CHECK_TEXT(innermost(z, 0x1a2c), "");
		amd_object_close(z);
	}
	close_data(&o);
}

/* Once none of so many more are left, there is no memory; -1: there is. */
static long allocations_left = -1;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool allocation_fails(void)
{
	if (allocations_left <= 0)
		return !allocations_left;
	allocations_left--;
	return false;
}

void *__wrap_realloc(void *memory, size_t size)
{
	return allocation_fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(count, size);
}

static void where_memory_is_short_all_of_the_source_is_there_or_nothing(void)
{
	size_t without = 0, whole = 0;
	struct opened o;

	if (open_data("gfx90a", "code", &o))
		for (long left = 0; left < 1000 && !whole; left++) {
			struct amd_frame frames[AMD_FRAMES_MAX];
			const struct amd_function *f;
			struct amd_object *z = NULL;
			size_t count;

			CHECK(!amd_object_open(o.image.data, o.image.size, &z));
			f = amd_object_function_named(z, "_Z6reducePfPKfi");
			allocations_left = left;
			count = amd_object_frames(z, f, 0x5c, frames);
			allocations_left = -1;
			without += !count;
			whole += count == 4 && frames[0].line && frames[3].line;
			CHECK(!count || whole);
			CHECK(amd_object_frames(z, f, 0x5c, frames) == count);
			amd_object_close(z);
		}
	CHECK(without > 5 && whole);
	close_data(&o);
}

static void other_files_are_refused(void)
{
	static const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
		.e_machine = 190,
		.e_shentsize = sizeof(Elf64_Shdr)};
	struct amd_object *o;

	CHECK(amd_object_open("", 0, &o) == -ENOEXEC);
	CHECK(amd_object_open("__CLANG_OFFLOAD_BUNDLE__", 24, &o) == -ENOEXEC);
	CHECK(amd_object_open(&h, sizeof(h), &o) == -ENOEXEC);
	CHECK_TEXT(error_text(), "not a code object: an ELF image for machine 190");
}

/* All that may be asked of an object, of which nothing is expected. */
static void ask_all(struct amd_object *o)
{
	for (size_t i = 0; i < amd_object_function_count(o); i++) {
		const struct amd_function *f = amd_object_function(o, i);
		struct amd_frame frames[AMD_FRAMES_MAX];
		uint64_t step = f->size / 16 + 1;
		struct gpucode_function found;
		char name[GPUCODE_NAME_MAX];

		for (uint64_t at = 0; at < f->size; at += step)
			CHECK(amd_object_frames(o, f, at, frames) > 0);
		CHECK(amd_object_format.find(
			(struct gpucode_image *)o, f->name, f->symbol, &found));
		for (uint64_t at = 0; at < found.size && at < 256;
			at += amd_object_format.instruction_size(&found, at))
			amd_object_format.instruction_name(&found, at, name, sizeof(name));
	}
}

static void ask_copy(const char *image, size_t size)
{
	struct amd_object *o;
	void *copy = malloc(size + 1);

	if (!copy)
		abort();
	memcpy(copy, image, size);
	if (!amd_object_open(copy, size, &o)) {
		ask_all(o);
		amd_object_close(o);
	}
	free(copy);
}

static void damaged_objects_are_read_or_refused(void)
{
	for (size_t i = 0; i < 3; i++) {
		struct opened o;

		if (open_data(gpus[i], "code", &o)) {
			for (size_t size = 0; size < o.image.size; size += 97)
				ask_copy(o.image.data, size);
			for (int n = 0; n < 3000; n++) {
				size_t at = random_below((uint32_t)o.image.size);
				char was = o.image.data[at];

				o.image.data[at] = (char)random_u64();
				ask_copy(o.image.data, o.image.size);
				o.image.data[at] = was;
			}
		}
		close_data(&o);
	}
}

static void text_is_cut_to_fit_and_unknown_code_says_so(void)
{
	static const uint8_t end[4] = {0, 0, 0x81, 0xbf}, none[4] = {0xff, 0xff, 0xff, 0xff};
	static const uint8_t image[GCN_BYTES_MAX] = {0x7f, 0xf1, 0xf1, 0xf1};
	char text[GCN_TEXT_MAX];

	CHECK(gcn_text(0x3f, end, 4, text, sizeof(text)));
	CHECK_TEXT(text, "s_endpgm");
	CHECK(gcn_text(0x3f, end, 4, text, 4));
	CHECK_TEXT(text, "s_e");
	CHECK(!gcn_text(0x3f, none, 4, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0xffffffff]");
	CHECK(!gcn_has_target(0) && !gcn_text(0, end, 4, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0xbf810000]");
	/* an image instruction with as many words of addresses as there can be */
	CHECK(gcn_size(0x36, image, sizeof(image)) == GCN_BYTES_MAX);
	CHECK(gcn_size(0x3f, end, 3) == 3 && !gcn_text(0x3f, end, 3, text, sizeof(text)));
}

/* --- llvm-objdump ----------------------------------------------------------------------------- */

/* Root runs only what nobody else can change, so not below /tmp. */
static char folder[] = "build/amd_object_XXXXXX";

struct written {
	struct buf text;
	size_t count;
};

static int visit(void *context, size_t function, uint64_t offset, const char *text)
{
	struct written *w = context;

	buf_printf(&w->text, "%zu %llx %s\n", function, (unsigned long long)offset, text);
	w->count++;
	return 0;
}

/* What `reduce` and `outside` of a GPU have, by a script in the place of llvm-objdump; NULL: by the
 * real one. */
static int ask_text(const char *gpu, const char *script, struct written *ret, struct buf *failure)
{
	struct gpucode_function f[2];
	struct gpucode_wanted wanted[] = {{&f[0], 5}, {&f[1], 9}};
	struct gpucode_text_request r = {.functions = wanted,
		.count = 2,
		.deadline_ns = clock_now_ns() + 20000000000ull,
		.visit = visit,
		.context = ret,
		.failure = failure};
	char here[PATH_MAX], path[PATH_MAX + 64];
	struct opened o;
	int error = -1;

	if (script) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s/objdump", getcwd(here, sizeof(here)), folder);
		file = fopen(path, "w");
		CHECK(file != NULL);
		fprintf(file, "#!/bin/sh\n%s\n", script);
		fclose(file);
		chmod(path, 0755);
		setenv("XPUPROF_LLVM_OBJDUMP", path, 1);
	} else {
		unsetenv("XPUPROF_LLVM_OBJDUMP");
	}
	if (open_data(gpu, "code", &o)) {
		struct gpucode_image *image = (struct gpucode_image *)o.o;

		CHECK(amd_object_format.find(image, "_Z6reducePfPKfi", 0, &f[0]) &&
			amd_object_format.find(image, "_Z7outsideff", 0, &f[1]));
		error = amd_text(&r);
	}
	close_data(&o);
	return error;
}

static void a_line_of_llvm_objdump_is_an_address_and_a_text(void)
{
	char good[] = "\ts_cbranch_scc1 65510      // 00000000190C: BF85FFE6 <f+0x10>";
	char unknown[] = "\t.long 0xffffffff      // 000000001910: FFFFFFFF", label[] = "<.text>:";
	char bare[] = "\ts_endpgm", empty[] = "", comment[] = "\t// 000000001910: FFFFFFFF";
	uint64_t address;
	char *text;

	CHECK(amd_text_line(good, &address, &text) && address == 0x190c);
	CHECK_TEXT(text, "s_cbranch_scc1 65510");
	CHECK(!amd_text_line(unknown, &address, &text) && !amd_text_line(label, &address, &text));
	CHECK(!amd_text_line(bare, &address, &text) && !amd_text_line(empty, &address, &text));
	CHECK(!amd_text_line(comment, &address, &text));
}

/* Root runs nothing from a folder that others can change, such as one in /tmp. */
static bool root_runs_programs_here(void)
{
	struct buf path = BUF_INIT, trusted = BUF_INIT;
	char here[PATH_MAX];
	int error;

	buf_printf(&path, "%s/%s", getcwd(here, sizeof(here)), folder);
	error = trust_is_due() ? trust_file(buf_text(&path), &trusted) : 0;
	buf_release(&path);
	buf_release(&trusted);
	return error != -EPERM;
}

static void text_of_another_program_is_put_where_it_belongs(void)
{
	struct written w = {.text = BUF_INIT};
	struct buf failure = BUF_INIT;

	if (!root_runs_programs_here()) {
		SKIP("others can change where this build is");
		return;
	}
	/* the one of more weight comes first; what is between or behind functions is left out */
	CHECK(!ask_text("gfx942",
		"printf '\\ts_one // 000000000000: 00\\n\\ts_two // 000000000004: 00\\n'\n"
		"printf '\\ts_odd // 000000000006: 00\\n\\ts_far // 000000fff000: 00\\n'",
		&w, &failure));
	CHECK_TEXT(buf_text(&w.text), "1 0 s_one\n1 4 s_two\n");
	CHECK_TEXT(buf_text(&failure), "");
	buf_reset(&w.text);
	CHECK(!ask_text(
		"gfx942", "echo \"llvm-objdump: error: no such cpu\"; exit 1", &w, &failure));
	CHECK_TEXT(buf_text(&failure), "llvm-objdump: error: no such cpu");
	buf_reset(&failure);
	CHECK(!ask_text(
		"gfx942", "printf '\\ts_one // 000000000000: 00\\n'; kill -9 $$", &w, &failure));
	CHECK_TEXT(buf_text(&w.text), "1 0 s_one\n");
	CHECK_TEXT(buf_text(&failure), "llvm-objdump failed");
	setenv("XPUPROF_LLVM_OBJDUMP", "", 1);
	buf_release(&w.text);
	buf_release(&failure);
}

/* A constant that is stored as a literal is written otherwise from LLVM 20 on. */
static char *without_literal(struct buf *b)
{
	char *at = strstr((char *)(uintptr_t)buf_text(b), "lit(0xffffffff)");

	if (at) {
		memcpy(at, "-1", 2);
		memmove(at + 2, at + 15, strlen(at + 15) + 1);
	}
	return b->data;
}

/* All that Debian has since 12 know this GPU. */
static void llvm_objdump_writes_what_the_record_has(void)
{
	struct written w = {.text = BUF_INIT};
	struct buf failure = BUF_INIT, expected = BUF_INIT;
	char *save = NULL, *line;
	struct opened o;

	if (system("command -v llvm-objdump >/dev/null")) {
		printf("# llvm-objdump is not installed\n");
		return;
	}
	CHECK(!ask_text("gfx90a", NULL, &w, &failure));
	CHECK_TEXT(buf_text(&failure), "");
	line = open_data("gfx90a", "code", &o) ? strtok_r(o.record.data, "\n", &save) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long address;
		unsigned int bytes;
		int text = 0;
		const struct amd_function *f;

		CHECK(sscanf(line, "%llx %u %n", &address, &bytes, &text) == 2);
		f = function_at(o.o, address);
		if (!f || !strcmp(f->name, "_Z5emptyv"))
			continue;
		buf_printf(&expected, "%d %llx %s\n", !strcmp(f->name, "_Z7outsideff"),
			address - (unsigned long long)f->address, line + text);
	}
	CHECK_TEXT(without_literal(&w.text), without_literal(&expected));
	close_data(&o);
	buf_release(&w.text);
	buf_release(&failure);
	buf_release(&expected);
}

static void remove_folder(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/objdump", folder);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	/* Root's programs run as nobody. */
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	RUN(an_object_says_which_GPU_it_is_for_and_has_its_functions);
	RUN(each_instruction_is_where_and_what_LLVM_says);
	RUN(each_instruction_has_its_source_and_the_calls_that_were_inlined);
	RUN(instructions_with_random_operands_are_what_LLVM_says);
	RUN(a_function_is_found_by_its_symbol_only_with_its_name);
	RUN(stripped_objects_have_their_kernels);
	RUN(functions_that_were_left_out_cover_no_others);
	RUN(a_number_of_another_form_is_no_origin);
	RUN(where_memory_is_short_all_of_the_source_is_there_or_nothing);
	RUN(other_files_are_refused);
	RUN(damaged_objects_are_read_or_refused);
	RUN(text_is_cut_to_fit_and_unknown_code_says_so);
	RUN(a_line_of_llvm_objdump_is_an_address_and_a_text);
	RUN(text_of_another_program_is_put_where_it_belongs);
	RUN(llvm_objdump_writes_what_the_record_has);
	remove_folder();
	return tap_end();
}
