// SPDX-License-Identifier: MIT
/* Names for the locations of a profile: of this very program, of copies of it, of the kernel and
 * the vdso. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/dwarf.h"
#include "elf/elf_file.h"
#include "elf/kernel_id.h"
#include "elf/kept_files.h"
#include "elf/vdso.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"
#include "symbolize/symbolize.h"
#include "symbolize/worker.h"
#include "folder.h"
#include "tap.h"

#define SELF  "/proc/self/exe"
#define DIES  "dies"
#define HANGS "hangs"

int symbolize_test_function(int x);

__attribute__((noinline)) int symbolize_test_function(int x)
{
	return x * 7 + 3;
}

static char self[512];

/* As at the end of a recording. */
static const struct symbolize_options options = {.same_boot = true};

/* NULL: this process opens and reads files. Else processes of the sandbox do, for which this
 * program is executed, as xpuprof is. */
static struct child *opener, *reader;

static int name_code(
	struct profile_writer *w, const struct symbolize_options *o, struct symbolize_stats *ret)
{
	struct symbolize_options with = *o;

	with.opener = opener;
	with.reader = reader;
	with.if_gone = (struct open_rights){getuid(), getgid()};
	return symbolize_profile(w, &with, ret);
}

/* The file offset of our function, and the build id of the file it is in. */
static uint64_t function_offset(const char *path, struct profile_module *m)
{
	uint64_t offset = 0;
	struct elf_file *f;

	CHECK(elf_file_open(&f, path) == 0);
	CHECK(elf_file_find_function(f, "symbolize_test_function", &offset) == 0);
	if (m)
		m->build_id_size = (uint8_t)elf_file_build_id(f, m->build_id);
	elf_file_close(f);
	return offset;
}

static struct profile_writer *writer(void)
{
	struct profile_writer *w = NULL;

	CHECK(profile_writer_open(&w, in_folder("p.xpu")) == 0);
	return w;
}

static uint32_t add_module(struct profile_writer *w, struct profile_module m, const char *path)
{
	uint32_t id = 0;

	CHECK(profile_add_string(w, path, strlen(path), &m.path) == 0);
	CHECK(profile_add_module(w, &m, &id) == 0);
	return id;
}

static uint32_t add_location(
	struct profile_writer *w, enum profile_frame_kind kind, uint32_t module, uint64_t address)
{
	struct profile_location l = {.kind = kind, .module = module, .address = address};
	uint32_t id = 0;

	CHECK(profile_add_location(w, &l, &id) == 0);
	return id;
}

static const char *name_of(struct profile_writer *w, uint32_t location)
{
	return profile_writer_string(w, profile_writer_location(w, location)->name);
}

/* The name that our function's place gets when the module has this path and build id. */
static const char *name_in(
	const char *path, struct profile_module m, uint64_t offset, struct symbolize_stats *stats)
{
	static char name[128];
	struct profile_writer *w = writer();
	uint32_t location;

	m.kind = MODULE_FILE;
	location = add_location(w, FRAME_USER, add_module(w, m, path), offset + 1);
	CHECK(name_code(w, &options, stats) == 0);
	snprintf(name, sizeof(name), "%s", name_of(w, location));
	profile_writer_abort(w);
	return name;
}

static void code_of_a_file_with_the_same_build_id_gets_its_name(void)
{
	struct profile_module m = {0};
	uint64_t offset = function_offset(self, &m);
	struct symbolize_stats stats;

	if (!m.build_id_size) {
		SKIP("this program has no build id");
		return;
	}
	CHECK_TEXT(name_in(self, m, offset, &stats), "symbolize_test_function");
	CHECK(stats.locations == 1 && stats.named == 1 && stats.modules_absent == 0);
}

static void a_file_of_another_identity_names_nothing(void)
{
	struct profile_module m = {0};
	uint64_t offset = function_offset(self, &m);
	struct symbolize_stats stats;

	if (m.build_id_size) {
		m.build_id[3] ^= 1;
		CHECK_TEXT(name_in(self, m, offset, &stats), "");
		CHECK(stats.named == 0 && stats.modules_absent == 1);
	}
	m.build_id_size = 20;
	CHECK_TEXT(name_in("/nonexistent/file", m, offset, &stats), "");
	CHECK(stats.modules_absent == 1);
	CHECK_TEXT(name_in("[heap]", m, offset, &stats), "");
}

static void a_deleted_file_whose_name_is_taken_by_its_equal_is_used(void)
{
	struct profile_module m = {0};
	uint64_t offset = function_offset(self, &m);
	struct symbolize_stats stats;
	char path[600];

	if (!m.build_id_size) {
		SKIP("this program has no build id");
		return;
	}
	snprintf(path, sizeof(path), "%s (deleted)", self);
	CHECK_TEXT(name_in(path, m, offset, &stats), "symbolize_test_function");
	m.build_id[0] ^= 1;
	CHECK_TEXT(name_in(path, m, offset, &stats), "");
}

/* Run as a child of its own, which starts after the file was made: prints the name. */
static int name_of_old_file(const char *path)
{
	struct profile_module m = {0};
	struct symbolize_stats stats;
	const char *name = name_in(path, m, function_offset(path, NULL), &stats);

	return strcmp(name, "symbolize_test_function") ? 1 : 0;
}

static void without_a_recorded_build_id_only_a_file_older_than_us_counts(void)
{
	struct profile_module m = {0};
	struct symbolize_stats stats;
	char command[700];

	snprintf(command, sizeof(command), "objcopy -R .note.gnu.build-id %s plain", self);
	if (!shell(command)) {
		SKIP("no binutils");
		return;
	}
	CHECK_TEXT(
		name_in(in_folder("plain"), m, function_offset(in_folder("plain"), NULL), &stats),
		"");
	CHECK(stats.modules_absent == 1);
	/* The kernel tells start times in steps of 10 ms. */
	usleep(50000);
	snprintf(command, sizeof(command), "XPUPROF_TEST_OLD_FILE=%s %s", in_folder("plain"), self);
	CHECK(system(command) == 0);
	/* It has one, which nobody could read in time. */
	snprintf(command, sizeof(command), "cp %s identified", self);
	CHECK(shell(command));
	CHECK_TEXT(name_in(in_folder("identified"), m,
			   function_offset(in_folder("identified"), NULL), &stats),
		"");
	usleep(50000);
	snprintf(command, sizeof(command), "XPUPROF_TEST_OLD_FILE=%s %s", in_folder("identified"),
		self);
	CHECK(system(command) == 0);
}

static void a_name_that_is_there_stays(void)
{
	struct profile_module m = {.kind = MODULE_FILE};
	uint64_t offset = function_offset(self, &m);
	struct profile_writer *w = writer();
	uint32_t location = add_location(w, FRAME_USER, add_module(w, m, self), offset), name = 0;
	struct symbolize_stats stats;

	CHECK(profile_add_string(w, "given", 5, &name) == 0);
	CHECK(profile_add_symbol(w, location, name, 0, 0, 0) == 0);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK(stats.locations == 0);
	CHECK_TEXT(name_of(w, location), "given");
	profile_writer_abort(w);
}

static void anonymous_memory_and_notes_are_left_alone(void)
{
	struct profile_module m = {.kind = MODULE_ANON};
	struct profile_writer *w = writer();
	uint32_t module = add_module(w, m, "//anon"), jit, nowhere;
	struct symbolize_stats stats;

	jit = add_location(w, FRAME_USER, module, 0x7f0000001000);
	nowhere = add_location(w, FRAME_USER, 0, 0x1234);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK(stats.locations == 2 && stats.named == 0 && stats.modules_absent == 0);
	CHECK_TEXT(name_of(w, jit), "");
	CHECK_TEXT(name_of(w, nowhere), "");
	profile_writer_abort(w);
}

static void an_empty_profile_needs_nothing(void)
{
	struct profile_writer *w = writer();
	struct symbolize_stats stats = {.named = 9};

	CHECK(name_code(w, &options, &stats) == 0);
	CHECK(stats.locations == 0 && stats.named == 0);
	profile_writer_abort(w);
}

/* The address of a kernel function; 0 when the kernel hides it. */
static uint64_t kernel_address(const char *name)
{
	FILE *list = fopen("/proc/kallsyms", "re");
	char line[512], found[256], type;
	unsigned long long address = 0;

	while (list && fgets(line, sizeof(line), list))
		if (sscanf(line, "%llx %c %255s", &address, &type, found) == 3 &&
			!strcmp(found, name))
			break;
		else
			address = 0;
	if (list)
		fclose(list);
	return address;
}

static void kernel_code_gets_the_kernels_name(void)
{
	struct profile_module m = {.kind = MODULE_KERNEL};
	uint64_t address = kernel_address("vfs_read");
	struct profile_writer *w = writer();
	struct symbolize_stats stats;
	uint32_t location;

	if (address) {
		location = add_location(w, FRAME_KERNEL, add_module(w, m, "[kernel]"), address + 9);
		CHECK(name_code(w, &options, &stats) == 0);
		CHECK_TEXT(name_of(w, location), "vfs_read");
	} else {
		SKIP("the kernel hides its symbols");
	}
	profile_writer_abort(w);
}

static void a_kernel_of_another_boot_or_build_names_nothing(void)
{
	struct profile_module m = {.kind = MODULE_KERNEL};
	uint64_t address = kernel_address("vfs_read");
	struct symbolize_options other_boot = {0};
	struct profile_writer *w = writer();
	struct symbolize_stats stats;
	uint32_t location;

	m.build_id_size = (uint8_t)kernel_build_id(m.build_id);
	if (!address || !m.build_id_size) {
		SKIP("the kernel hides its symbols or its build id");
		profile_writer_abort(w);
		return;
	}
	m.build_id[2] ^= 1;
	location = add_location(w, FRAME_KERNEL, add_module(w, m, "[kernel]"), address + 9);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK_TEXT(name_of(w, location), "");
	CHECK(stats.modules_absent == 1);
	profile_writer_abort(w);
	w = writer();
	m.build_id[2] ^= 1;
	location = add_location(w, FRAME_KERNEL, add_module(w, m, "[kernel]"), address + 9);
	CHECK(name_code(w, &other_boot, &stats) == 0);
	CHECK_TEXT(name_of(w, location), "");
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK_TEXT(name_of(w, location), "vfs_read");
	profile_writer_abort(w);
}

static void the_vdso_is_read_from_memory_when_it_is_the_same(void)
{
	struct profile_module m = {.kind = MODULE_VDSO};
	struct profile_writer *w = writer();
	struct symbolize_stats stats;
	uint32_t same, other;
	struct elf_file *f;
	uint64_t offset = 0;

	if (vdso_open(&f)) {
		SKIP("no vdso");
		profile_writer_abort(w);
		return;
	}
	m.build_id_size = (uint8_t)elf_file_build_id(f, m.build_id);
	CHECK(m.build_id_size > 0);
	CHECK(elf_file_find_function(f, "__vdso_clock_gettime", &offset) == 0);
	elf_file_close(f);
	same = add_location(w, FRAME_USER, add_module(w, m, "[vdso]"), offset);
	m.build_id[1] ^= 1;
	other = add_location(w, FRAME_USER, add_module(w, m, "[vdso]"), offset);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK(strstr(name_of(w, same), "clock_gettime"));
	CHECK_TEXT(name_of(w, other), "");
	CHECK(stats.modules_absent == 1);
	profile_writer_abort(w);
}

/* A library of one function, `shown`, into which two others were inlined: the nops are of the inner
 * one. */
static bool make_library(void)
{
	static const char source[] =
		"static inline __attribute__((always_inline)) void inner(void) {\n"
		"  __asm__ volatile(\"nop; nop; nop; nop\");\n"
		"}\n"
		"static inline __attribute__((always_inline)) void middle(void) {\n"
		"  inner();\n"
		"}\n"
		"int shown(int x) {\n"
		"  middle();\n"
		"  return x * 3;\n"
		"}\n";
	FILE *f = fopen(in_folder("l.c"), "we");
	bool ok = f && fputs(source, f) >= 0;

	return f && !fclose(f) && ok && shell("cc -O1 -g -shared -fPIC -Wl,--build-id -o l.so l.c");
}

/* The module and offset of a function in a file. */
static uint64_t offset_in(const char *path, const char *function, struct profile_module *m)
{
	uint64_t offset = 0;
	struct elf_file *f;

	CHECK(elf_file_open(&f, path) == 0);
	CHECK(elf_file_find_function(f, function, &offset) == 0);
	m->kind = MODULE_FILE;
	m->build_id_size = (uint8_t)elf_file_build_id(f, m->build_id);
	elf_file_close(f);
	return offset;
}

static int keep(struct kept_files *kept, uint32_t module, const struct elf_file *f)
{
	struct file_identity identity;
	struct stat st;
	int error = elf_file_stat(f, &st);

	if (error)
		return error;
	identity = file_identity_of(&st);
	error = kept_files_add(kept, module, (uint32_t)getpid(), false);
	return error ? error : kept_files_put(kept, module, dup(elf_file_fd(f)), &identity);
}

static void a_file_that_was_kept_open_names_its_code_though_it_is_gone(void)
{
	struct symbolize_options with = options;
	struct kept_files *kept = kept_files_new();
	struct profile_writer *w = writer();
	struct profile_module m = {0};
	struct symbolize_stats stats;
	struct elf_file *f;
	uint32_t location, module;
	uint64_t offset;

	if (!make_library() || !shell("objcopy -R .note.gnu.build-id l.so nameless.so")) {
		SKIP("no C compiler");
		return;
	}
	offset = offset_in(in_folder("nameless.so"), "shown", &m);
	module = add_module(w, m, in_folder("nameless.so"));
	location = add_location(w, FRAME_USER, module, offset);
	CHECK(elf_file_open(&f, in_folder("nameless.so")) == 0);
	CHECK(keep(kept, module, f) == 0);
	elf_file_close(f);
	CHECK(shell("rm nameless.so && cp /bin/true nameless.so"));
	CHECK(name_code(w, &options, &stats) == 0 && stats.named == 0);
	with.kept = kept;
	CHECK(name_code(w, &with, &stats) == 0);
	CHECK_TEXT(name_of(w, location), "shown");
	CHECK(kept_files_root(kept, module) == -1);
	kept_files_free(kept);
	profile_writer_abort(w);
}

static void a_kept_file_that_was_written_to_is_not_used(void)
{
	struct symbolize_options with = options;
	struct kept_files *kept = kept_files_new();
	struct profile_writer *w = writer();
	struct profile_module m = {0};
	struct symbolize_stats stats;
	struct elf_file *f;
	uint32_t module;
	uint64_t offset;

	if (!make_library() || !shell("objcopy -R .note.gnu.build-id l.so nameless.so")) {
		SKIP("no C compiler");
		return;
	}
	offset = offset_in(in_folder("nameless.so"), "shown", &m);
	module = add_module(w, m, in_folder("nameless.so"));
	add_location(w, FRAME_USER, module, offset);
	CHECK(elf_file_open(&f, in_folder("nameless.so")) == 0);
	CHECK(keep(kept, module, f) == 0);
	elf_file_close(f);
	CHECK(shell("sleep 0.02; printf x >>nameless.so"));
	with.kept = kept;
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 0);
	kept_files_free(kept);
	profile_writer_abort(w);
}

/* Writes our own perf map, and removes it again for NULL. */
static bool write_map(const char *text)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	remove(path);
	map = text ? fopen(path, "we") : NULL;
	return map && fputs(text, map) >= 0 && !fclose(map);
}

static void code_made_at_run_time_is_called_as_its_compiler_says(void)
{
	struct symbolize_options with = options;
	struct kept_files *kept = kept_files_new();
	struct profile_module m = {.kind = MODULE_ANON};
	struct profile_writer *w = writer();
	struct symbolize_stats stats;
	uint32_t module, first, second, outside;
	char name[32];

	snprintf(name, sizeof(name), "[anon:%d]", (int)getpid());
	module = add_module(w, m, name);
	first = add_location(w, FRAME_USER, module, 0x7f0000001010);
	second = add_location(w, FRAME_USER, module, 0x7f0000002000);
	outside = add_location(w, FRAME_USER, module, 0x7f0000003000);
	CHECK(kept_files_add(kept, module, (uint32_t)getpid(), true) == 0);
	CHECK(write_map("7f0000001000 100 LazyCompile:~old a.js:1\n"
			"0x7f0000001000 0x100 LazyCompile:*main a.js:1\n"
			"not a line\n7f0000002000 1 two\n7f0000003000 0 none\n"));
	with.kept = kept;
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 2);
	CHECK_TEXT(name_of(w, first), "LazyCompile:*main a.js:1");
	CHECK_TEXT(name_of(w, second), "two");
	CHECK_TEXT(name_of(w, outside), "");
	kept_files_free(kept);
	profile_writer_abort(w);
	write_map(NULL);
}

static void a_map_that_may_be_another_processs_is_not_used(void)
{
	struct symbolize_options with = options;
	struct profile_module m = {.kind = MODULE_ANON};
	struct profile_writer *w = writer();
	struct symbolize_stats stats;
	uint32_t location;
	char name[32];

	snprintf(name, sizeof(name), "[anon:%d]", (int)getpid());
	location = add_location(w, FRAME_USER, add_module(w, m, name), 0x7f0000001010);
	CHECK(write_map("7f0000001000 100 jitted\n"));
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 0);
	with.maps_from_ns = 1;
	with.maps_to_ns = 2;
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 0);
	with.maps_to_ns = UINT64_MAX;
	with.same_boot = false;
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 0);
	with.same_boot = true;
	CHECK(name_code(w, &with, &stats) == 0 && stats.named == 1);
	CHECK_TEXT(name_of(w, location), "jitted");
	profile_writer_abort(w);
	write_map(NULL);
}

static void a_debug_file_alone_is_enough_where_the_profile_knows_the_segments(void)
{
	char folder_path[128];
	const char *const folders[] = {folder_path};
	struct symbolize_options with = {.folders = folders, .folder_count = 1};
	struct profile_writer *w = writer();
	struct profile_module m = {0};
	struct symbolize_stats stats;
	uint32_t first, second;
	uint64_t offset;

	if (!make_library()) {
		SKIP("no C compiler");
		return;
	}
	snprintf(folder_path, sizeof(folder_path), "%s", in_folder("dbg"));
	offset = offset_in(in_folder("l.so"), "shown", &m);
	first = add_location(w, FRAME_USER, add_module(w, m, in_folder("l.so")), offset);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK_TEXT(name_of(w, first), "shown");
	CHECK(profile_writer_segment_count(w) > 0);
	second = add_location(w, FRAME_USER, 1, offset + 1);
	CHECK(shell("mkdir -p dbg && objcopy --only-keep-debug l.so dbg/l.so.debug && rm l.so"));
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK_TEXT(name_of(w, second), "");
	CHECK(stats.modules_absent == 1);
	CHECK(name_code(w, &with, &stats) == 0);
	CHECK_TEXT(name_of(w, second), "shown");
	profile_writer_abort(w);
}

static void check_inlined(const struct profile_reader *r, uint32_t location)
{
	const struct profile_location *l = profile_location(r, location);
	const struct profile_inline *inner = profile_inline(r, l ? l->inlined : 0), *middle;

	CHECK(l && inner);
	if (!l || !inner)
		return;
	CHECK_TEXT(profile_string(r, l->name, NULL), "shown");
	CHECK(l->line == 8);
	CHECK_TEXT(profile_string(r, inner->name, NULL), "inner");
	CHECK(inner->line == 2 && strstr(profile_string(r, inner->file, NULL), "l.c"));
	middle = profile_inline(r, inner->caller);
	CHECK(middle && middle->line == 5 && !middle->caller);
	if (middle)
		CHECK_TEXT(profile_string(r, middle->name, NULL), "middle");
}

static void inlined_functions_and_lines_come_from_dwarf_when_asked_for(void)
{
	struct symbolize_options with = options;
	struct profile_writer *w = writer();
	struct profile_module m = {0};
	struct symbolize_stats stats;
	struct profile_reader *r;
	struct profile_event e;
	uint32_t location;
	uint64_t offset, nop, start;

	if (!dwarf_supported() || !make_library()) {
		SKIP("no libdw, or no C compiler");
		return;
	}
	offset = offset_in(in_folder("l.so"), "shown", &m);
	nop = strtoull(
		output_of("objdump -d l.so --disassemble=shown | sed -n 's/:.*nop$//p'"), NULL, 16);
	start = strtoull(output_of("nm l.so | sed -n 's/ T shown$//p'"), NULL, 16);
	location = add_location(
		w, FRAME_USER, add_module(w, m, in_folder("l.so")), offset + nop - start + 1);
	CHECK(name_code(w, &options, &stats) == 0);
	CHECK(stats.with_lines == 0 && !profile_writer_location(w, location)->line);
	with.inlines = true;
	with.dwarf_limit_ns = 10000000000;
	CHECK(name_code(w, &with, &stats) == 0);
	CHECK(stats.with_lines == 1 && stats.dwarf_failed == 0 && stats.named == 0);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, in_folder("p.xpu")));
	CHECK(!profile_reader_next(r, &e));
	check_inlined(r, location);
	profile_reader_close(r);
}

static void damaged_dwarf_costs_the_lines_and_nothing_else(void)
{
	struct symbolize_options with = options;
	struct symbolize_stats stats;
	struct profile_module m = {0};
	uint64_t offset;

	if (!dwarf_supported() || !make_library()) {
		SKIP("no libdw, or no C compiler");
		return;
	}
	offset = offset_in(in_folder("l.so"), "shown", &m);
	with.inlines = true;
	with.dwarf_limit_ns = 10000000000;
	for (int round = 0; round < 20; round++) {
		struct profile_writer *w = writer();
		uint32_t location = add_location(
			w, FRAME_USER, add_module(w, m, in_folder("l.so")), offset + 5);
		char command[300];

		snprintf(command, sizeof(command),
			"for s in info abbrev line str; do objcopy -O binary --only-section "
			".debug_$s "
			"l.so $s --set-section-flags .debug_$s=alloc; done; "
			"head -c %d info >cut; head -c 40 /dev/urandom >>cut; "
			"objcopy --update-section .debug_info=cut l.so",
			30 + round * 4);
		CHECK(shell(command));
		CHECK(name_code(w, &with, &stats) == 0);
		CHECK_TEXT(name_of(w, location), "shown");
		profile_writer_abort(w);
	}
}

static int crash(void *context, int out)
{
	CHECK(write(out, "abc", 3) == 3);
	raise(SIGSEGV);
	return 0;
}

static int hang(void *context, int out)
{
	pause();
	return 0;
}

static int hang_without_results(void *context, int out)
{
	close(out);
	pause();
	return 0;
}

static long take_all(void *context, const char *data, size_t size)
{
	*(size_t *)context += size;
	return (long)size;
}

static bool stop_at_once(void *context)
{
	return true;
}

static void a_worker_that_crashes_or_hangs_takes_nothing_with_it(void)
{
	size_t taken = 0;
	struct worker w = {
		.run = crash, .handle = take_all, .context = &taken, .limits.ns = 10000000000};

	CHECK(worker_run(&w) == -EIO && taken == 3);
	w.run = hang_without_results;
	CHECK(worker_run(&w) == -ETIME);
	w.run = hang;
	w.limits.ns = 60000000;
	CHECK(worker_run(&w) == -ETIME);
	w.limits.ns = 10000000000;
	w.limits.stopped = stop_at_once;
	CHECK(worker_run(&w) == -EINTR);
}

/* A reader that a file named "bad.so" kills, or (`hangs`) holds up. */
static int misbehave(bool hangs)
{
	struct names_file file = {0};
	struct buf request = BUF_INIT, reply = BUF_INIT;
	int kind, fds[MESSAGE_FDS], no_fds[MESSAGE_FDS] = {-1, -1};

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		struct names_question q = {.fd = fds[0], .debug_fd = fds[1]};
		char link[32], path[512] = "";
		int error;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fds[0]);
		if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/bad.so")) {
			if (hangs)
				pause();
			raise(SIGKILL);
		}
		memmove(request.data, request.data + sizeof(struct places),
			request.size - sizeof(struct places));
		q.places = (const uint64_t *)(const void *)request.data;
		q.count = (request.size - sizeof(struct places)) / sizeof(uint64_t);
		buf_reset(&reply);
		error = names_write(&file, &q, &reply);
		(void)sandbox_send(SANDBOX_SOCKET, error, reply.data, reply.size, no_fds);
		sandbox_close(fds);
	}
	buf_release(&request);
	buf_release(&reply);
	names_file_close(&file);
	return 0;
}

static void a_file_that_kills_a_reader_costs_its_own_names_only(void)
{
	struct symbolize_options with = options;
	struct profile_writer *w = writer();
	struct profile_module bad = {0}, good = {0};
	struct profile_totals totals;
	struct symbolize_stats stats;
	uint32_t first, second;
	uint64_t offset;

	if (!make_library() || !shell("cp l.so bad.so")) {
		SKIP("no C compiler");
		return;
	}
	offset = offset_in(in_folder("bad.so"), "shown", &bad);
	first = add_location(w, FRAME_USER, add_module(w, bad, in_folder("bad.so")), offset);
	offset = function_offset(self, &good);
	good.kind = MODULE_FILE;
	second = add_location(w, FRAME_USER, add_module(w, good, self), offset);
	with.opener = opener;
	with.reader = child_new(SELF, DIES, -1);
	with.if_gone = (struct open_rights){getuid(), getgid()};
	CHECK(symbolize_profile(w, &with, &stats) == 0);
	CHECK_TEXT(name_of(w, first), "");
	CHECK_TEXT(name_of(w, second), "symbolize_test_function");
	profile_writer_totals(w, &totals);
	CHECK(totals.losses[LOSS_FILES_UNREADABLE] == 1);
	child_free(with.reader);
	profile_writer_abort(w);
}

static bool stop_soon(void *context)
{
	int *asked = context;

	return ++*asked > 2;
}

static void one_that_holds_it_up_does_not_hold_up_the_user(void)
{
	struct symbolize_options with = options;
	struct profile_writer *w = writer();
	struct profile_module bad = {0};
	struct symbolize_stats stats;
	int asked = 0;
	uint64_t offset;

	if (!make_library() || !shell("cp l.so bad.so")) {
		SKIP("no C compiler");
		return;
	}
	offset = offset_in(in_folder("bad.so"), "shown", &bad);
	add_location(w, FRAME_USER, add_module(w, bad, in_folder("bad.so")), offset);
	with.opener = opener;
	with.reader = child_new(SELF, HANGS, -1);
	with.if_gone = (struct open_rights){getuid(), getgid()};
	with.stopped = stop_soon;
	with.context = &asked;
	CHECK(symbolize_profile(w, &with, &stats) == 0);
	CHECK(asked < 10 && stats.named == 0);
	child_free(with.reader);
	profile_writer_abort(w);
}

/* In this process, and by the sandbox. */
static void name_all_kinds_of_code(void)
{
	RUN(code_of_a_file_with_the_same_build_id_gets_its_name);
	RUN(a_file_of_another_identity_names_nothing);
	RUN(a_deleted_file_whose_name_is_taken_by_its_equal_is_used);
	RUN(without_a_recorded_build_id_only_a_file_older_than_us_counts);
	RUN(a_name_that_is_there_stays);
	RUN(anonymous_memory_and_notes_are_left_alone);
	RUN(an_empty_profile_needs_nothing);
	RUN(kernel_code_gets_the_kernels_name);
	RUN(a_file_that_was_kept_open_names_its_code_though_it_is_gone);
	RUN(a_kept_file_that_was_written_to_is_not_used);
	RUN(code_made_at_run_time_is_called_as_its_compiler_says);
	RUN(a_map_that_may_be_another_processs_is_not_used);
	RUN(a_debug_file_alone_is_enough_where_the_profile_knows_the_segments);
	RUN(inlined_functions_and_lines_come_from_dwarf_when_asked_for);
	RUN(damaged_dwarf_costs_the_lines_and_nothing_else);
	RUN(a_kernel_of_another_boot_or_build_names_nothing);
	RUN(the_vdso_is_read_from_memory_when_it_is_the_same);
}

int main(int argc, char **argv)
{
	const char *old_file = getenv("XPUPROF_TEST_OLD_FILE");
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc == 3 && (!strcmp(argv[2], DIES) || !strcmp(argv[2], HANGS)))
		return misbehave(!strcmp(argv[2], HANGS));
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (length < 0 || !mkdtemp(folder))
		return 1;
	self[length] = '\0';
	if (old_file) {
		int status = name_of_old_file(old_file);

		shell("rm -rf /tmp/${PWD##*/}");
		return status;
	}
	name_all_kinds_of_code();
	RUN(a_worker_that_crashes_or_hangs_takes_nothing_with_it);
	opener = child_new(SELF, SANDBOX_OPENER, -1);
	reader = child_new(SELF, SANDBOX_READER, -1);
	name_all_kinds_of_code();
	RUN(a_file_that_kills_a_reader_costs_its_own_names_only);
	RUN(one_that_holds_it_up_does_not_hold_up_the_user);
	child_free(opener);
	child_free(reader);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
