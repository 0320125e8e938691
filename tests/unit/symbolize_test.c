// SPDX-License-Identifier: MIT
/* Names for the locations of a profile: of this very program, of copies of it, of the kernel and the vdso. */
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/vdso.h"
#include "profile/writer.h"
#include "symbolize/symbolize.h"
#include "tap.h"

int symbolize_test_function(int x);

__attribute__((noinline)) int symbolize_test_function(int x)
{
	return x * 7 + 3;
}

static char folder[] = "/tmp/symbolize_test.XXXXXX";
static char self[512];

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static bool shell(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	return system(line) == 0;
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

static uint32_t add_location(struct profile_writer *w, enum profile_frame_kind kind, uint32_t module,
	uint64_t address)
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
static const char *name_in(const char *path, struct profile_module m, uint64_t offset,
	struct symbolize_stats *stats)
{
	static char name[128];
	struct profile_writer *w = writer();
	uint32_t location;

	m.kind = MODULE_FILE;
	location = add_location(w, FRAME_USER, add_module(w, m, path), offset + 1);
	CHECK(symbolize_profile(w, stats) == 0);
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
		m.build_id_size = 0;
		CHECK_TEXT(name_in(self, m, offset, &stats), "");
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

static void without_a_build_id_only_a_file_older_than_us_counts(void)
{
	struct profile_module m = {0};
	struct symbolize_stats stats;
	char command[700];

	snprintf(command, sizeof(command), "objcopy -R .note.gnu.build-id %s plain", self);
	if (!shell(command)) {
		SKIP("no binutils");
		return;
	}
	CHECK_TEXT(name_in(in_folder("plain"), m, function_offset(in_folder("plain"), NULL), &stats), "");
	CHECK(stats.modules_absent == 1);
	/* The kernel tells start times in steps of 10 ms. */
	usleep(50000);
	snprintf(command, sizeof(command), "XPUPROF_TEST_OLD_FILE=%s %s", in_folder("plain"), self);
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
	CHECK(profile_add_symbol(w, location, name, 0, 0) == 0);
	CHECK(symbolize_profile(w, &stats) == 0);
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
	CHECK(symbolize_profile(w, &stats) == 0);
	CHECK(stats.locations == 2 && stats.named == 0 && stats.modules_absent == 0);
	CHECK_TEXT(name_of(w, jit), "");
	CHECK_TEXT(name_of(w, nowhere), "");
	profile_writer_abort(w);
}

static void an_empty_profile_needs_nothing(void)
{
	struct profile_writer *w = writer();
	struct symbolize_stats stats = {.named = 9};

	CHECK(symbolize_profile(w, &stats) == 0);
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
		if (sscanf(line, "%llx %c %255s", &address, &type, found) == 3 && !strcmp(found, name))
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
		CHECK(symbolize_profile(w, &stats) == 0);
		CHECK_TEXT(name_of(w, location), "vfs_read");
	} else {
		SKIP("the kernel hides its symbols");
	}
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
	CHECK(symbolize_profile(w, &stats) == 0);
	CHECK(strstr(name_of(w, same), "clock_gettime"));
	CHECK_TEXT(name_of(w, other), "");
	CHECK(stats.modules_absent == 1);
	profile_writer_abort(w);
}

int main(void)
{
	const char *old_file = getenv("XPUPROF_TEST_OLD_FILE");
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0 || !mkdtemp(folder))
		return 1;
	self[length] = '\0';
	if (old_file) {
		int status = name_of_old_file(old_file);

		shell("rm -rf /tmp/${PWD##*/}");
		return status;
	}
	RUN(code_of_a_file_with_the_same_build_id_gets_its_name);
	RUN(a_file_of_another_identity_names_nothing);
	RUN(a_deleted_file_whose_name_is_taken_by_its_equal_is_used);
	RUN(without_a_build_id_only_a_file_older_than_us_counts);
	RUN(a_name_that_is_there_stays);
	RUN(anonymous_memory_and_notes_are_left_alone);
	RUN(an_empty_profile_needs_nothing);
	RUN(kernel_code_gets_the_kernels_name);
	RUN(the_vdso_is_read_from_memory_when_it_is_the_same);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
