// SPDX-License-Identifier: MIT
/* The ELF reader on this very program, on copies of it that were stripped, and on damaged
 * copies. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "elf/elf_file.h"
#include "elf/mini_debug.h"
#include "folder.h"
#include "tap.h"

#define SELF "/proc/self/exe"

int elf_test_global(int x);
int __elf_test_global(int x) __attribute__((alias("elf_test_global")));
int elf_test_chosen(void);
extern const char elf_test_label[], elf_test_after_label[];

__attribute__((noinline)) int elf_test_global(int x)
{
	return x * 3 + 1;
}

static int chosen(void)
{
	return 7;
}

/* Used by name only, which not every compiler sees. */
__attribute__((used)) static int (*choose(void))(void)
{
	return chosen;
}

int elf_test_chosen(void) __attribute__((ifunc("choose")));

/* A global label without type or size, one with a local mapping symbol inside, and a sized function
 * with another one nested in it. */
__asm__(".pushsection .text\n"
	".globl elf_test_label\n"
	"elf_test_label:\n"
	".skip 16, 0x90\n"
	"$x.1:\n"
	".skip 16, 0x90\n"
	".globl elf_test_after_label\n"
	".type elf_test_after_label, @function\n"
	"elf_test_after_label:\n"
	".skip 8, 0x90\n"
	".type elf_test_nested, @function\n"
	"elf_test_nested:\n"
	".skip 8, 0x90\n"
	".size elf_test_nested, 8\n"
	".skip 8, 0x90\n"
	".size elf_test_after_label, 24\n"
	".globl elf_test_end\n"
	"elf_test_end:\n"
	".skip 8, 0x90\n"
	".popsection\n");

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

/* Where the file's vaddr 0 is in this process. */
static uint64_t load_base(void)
{
	uint64_t base = 0;

	dl_iterate_phdr(first_object, &base);
	return base;
}

static uint64_t vaddr_of(const void *address)
{
	return (uint64_t)(uintptr_t)address - load_base();
}

static bool write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool ok = fd >= 0 && !io_write_all(fd, data, size);

	close(fd);
	return ok;
}

/* The name that the file at `path` gives to elf_test_global; "" when none. */
static const char *name_of_global(const char *path)
{
	static char text[64];
	struct elf_file *f;
	uint64_t start;
	const char *name;

	text[0] = '\0';
	if (elf_file_open(&f, path))
		return "cannot open";
	name = elf_file_function_at(f, vaddr_of(elf_test_global) + 1, &start);
	if (name)
		snprintf(text, sizeof(text), "%s", name);
	elf_file_close(f);
	return text;
}

static void a_function_is_found_by_name_where_it_really_is(void)
{
	struct elf_file *f;
	uint64_t offset = 0, vaddr = 0, back = 0;

	CHECK(elf_file_open(&f, SELF) == 0);
	CHECK(elf_file_find_function(f, "elf_test_global", &offset) == 0);
	CHECK(elf_file_offset_to_vaddr(f, offset, &vaddr) == 0);
	CHECK(vaddr == vaddr_of(elf_test_global));
	CHECK(elf_file_vaddr_to_offset(f, vaddr, &back) == 0 && back == offset);
	CHECK(elf_file_find_function(f, "elf_test_globa", &offset) == -ENOENT);
	CHECK(elf_file_find_function(f, "chosen", &offset) == 0);
	elf_file_close(f);
}

static void an_address_inside_a_function_has_its_name_and_start(void)
{
	struct elf_file *f;
	uint64_t start = 0;
	const char *name;

	CHECK(elf_file_open(&f, SELF) == 0);
	name = elf_file_function_at(f, vaddr_of(elf_test_global) + 3, &start);
	CHECK(name && !strcmp(name, "elf_test_global"));
	CHECK(start == vaddr_of(elf_test_global));
	name = elf_file_function_at(f, vaddr_of(chosen), &start);
	CHECK(name && !strcmp(name, "chosen"));
	elf_file_close(f);
}

static void an_indirect_function_is_a_function(void)
{
	struct elf_file *f;
	uint64_t offset;

	CHECK(elf_test_chosen() == 7);
	CHECK(elf_file_open(&f, SELF) == 0);
	CHECK(elf_file_find_function(f, "elf_test_chosen", &offset) == 0);
	elf_file_close(f);
}

static void a_symbol_without_size_reaches_to_the_next_one(void)
{
	uint64_t label = vaddr_of(elf_test_label), start = 0;
	struct elf_file *f;
	const char *name;

	CHECK(elf_file_open(&f, SELF) == 0);
	name = elf_file_function_at(f, label + 31, &start);
	CHECK(name && !strcmp(name, "elf_test_label"));
	CHECK(start == label);
	elf_file_close(f);
}

static void the_innermost_of_nested_functions_wins_and_only_inside(void)
{
	uint64_t outer = vaddr_of(elf_test_after_label), start;
	struct elf_file *f;
	const char *name;

	CHECK(elf_file_open(&f, SELF) == 0);
	name = elf_file_function_at(f, outer + 7, &start);
	CHECK(name && !strcmp(name, "elf_test_after_label"));
	name = elf_file_function_at(f, outer + 8, &start);
	CHECK(name && !strcmp(name, "elf_test_nested"));
	name = elf_file_function_at(f, outer + 16, &start);
	CHECK(name && !strcmp(name, "elf_test_after_label"));
	CHECK(start == outer);
	elf_file_close(f);
}

static void data_and_addresses_outside_have_no_name(void)
{
	static int variable = 1;
	struct elf_file *f;
	uint64_t start;

	CHECK(elf_file_open(&f, SELF) == 0);
	CHECK(!elf_file_function_at(f, vaddr_of(&variable), &start));
	CHECK(!elf_file_function_at(f, 0, &start));
	CHECK(!elf_file_function_at(f, UINT64_MAX, &start));
	CHECK(elf_file_offset_to_vaddr(f, UINT64_MAX, &start) == -ENOENT);
	CHECK(elf_file_vaddr_to_offset(f, UINT64_MAX, &start) == -ENOENT);
	elf_file_close(f);
}

static void a_symbol_version_is_not_part_of_the_name(void)
{
	struct elf_file *f;
	uint64_t offset = 0, vaddr = 0, start = 0;
	const char *name;

	if (!write_file(in_folder("v.c"), "int versioned(void){return 4;}", 30) ||
		!write_file(in_folder("v.map"), "V_1 { global: versioned; local: *; };", 37) ||
		!shell("cc -shared -fPIC -Wl,--version-script=v.map -o v.so v.c")) {
		SKIP("no C compiler");
		return;
	}
	CHECK(elf_file_open(&f, in_folder("v.so")) == 0);
	CHECK(elf_file_find_function(f, "versioned", &offset) == 0);
	CHECK(elf_file_offset_to_vaddr(f, offset, &vaddr) == 0);
	name = elf_file_function_at(f, vaddr, &start);
	CHECK(name && !strcmp(name, "versioned"));
	elf_file_close(f);
}

static int notes_of_first_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct buf *ret = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE)
			buf_append(ret, (const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
	}
	return 1;
}

static void the_build_id_is_the_one_in_memory(void)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct buf notes = BUF_INIT;
	struct elf_file *f;
	size_t size;

	CHECK(elf_file_open(&f, SELF) == 0);
	size = elf_file_build_id(f, id);
	elf_file_close(f);
	dl_iterate_phdr(notes_of_first_object, &notes);
	if (!memmem(notes.data, notes.size, "\3\0\0\0GNU", 8))
		CHECK(size == 0);
	else
		CHECK(size >= 8 && memmem(notes.data, notes.size, id, size));
	buf_release(&notes);
}

static void what_is_no_elf_file_is_refused(void)
{
	struct elf_file *f;

	CHECK(elf_file_open(&f, "/nonexistent/file") == -ENOENT);
	CHECK(elf_file_open(&f, "/") == -ENOEXEC);
	CHECK(elf_file_open(&f, "/dev/null") == -ENOEXEC);
	CHECK(mkfifo(in_folder("fifo"), 0600) == 0);
	CHECK(elf_file_open(&f, in_folder("fifo")) == -ENOEXEC);
	CHECK(write_file(in_folder("text"), "hello\n", 6));
	CHECK(elf_file_open(&f, in_folder("text")) == -ENOEXEC);
	CHECK(write_file(in_folder("empty"), "", 0));
	CHECK(elf_file_open(&f, in_folder("empty")) == -ENOEXEC);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_descriptor_is_the_files_from_then_on(void)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	int fd = open(SELF, O_RDONLY | O_CLOEXEC), folder_fd = open("/", O_RDONLY | O_CLOEXEC);
	struct elf_file *f = NULL;

	CHECK(elf_file_open_fd(&f, folder_fd, "a folder") == -ENOEXEC && !is_open(folder_fd));
	CHECK_TEXT(error_text(), "'a folder' is not a regular file");
	CHECK(elf_file_open_fd(&f, fd, "a name") == 0);
	if (!f)
		return;
	CHECK(elf_file_fd(f) == fd && elf_file_build_id(f, id) == 20);
	elf_file_close(f);
	CHECK(!is_open(fd));
}

static bool copy_self(void)
{
	struct buf b = BUF_INIT;
	bool ok = !io_read_file(SELF, (size_t)1 << 28, &b) &&
		  write_file(in_folder("copy"), b.data, b.size);

	buf_release(&b);
	return ok && shell("command -v objcopy && command -v strip");
}

static void an_open_file_is_opened_once_more_when_its_path_is_gone(void)
{
	uint8_t id[ELF_BUILD_ID_MAX], again_id[ELF_BUILD_ID_MAX];
	struct elf_file *f = NULL, *again = NULL;
	char path[32];

	(void)copy_self();
	CHECK(!elf_file_open(&f, in_folder("copy")) && !unlink(in_folder("copy")));
	if (!f)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_fd(f));
	CHECK(!elf_file_open(&again, path) && elf_file_fd(again) != elf_file_fd(f));
	CHECK(elf_file_build_id(f, id) == 20 && elf_file_build_id(again, again_id) == 20 &&
		!memcmp(id, again_id, sizeof(id)));
	elf_file_close(f);
	elf_file_close(again);
}

static void a_stripped_file_borrows_names_from_its_debug_file(void)
{
	if (!copy_self() || !shell("objcopy --only-keep-debug copy link.debug && cp copy linked && "
				   "strip linked")) {
		SKIP("no binutils");
		return;
	}
	CHECK_TEXT(name_of_global(in_folder("linked")), "");
	CHECK(shell("objcopy --add-gnu-debuglink=link.debug linked"));
	CHECK_TEXT(name_of_global(in_folder("linked")), "elf_test_global");
	CHECK(shell("mkdir .debug && mv link.debug .debug/"));
	CHECK_TEXT(name_of_global(in_folder("linked")), "elf_test_global");
}

static void where_functions_begin_is_known_also_of_a_stripped_file(void)
{
	uint64_t place = vaddr_of(copy_self), start = 0, end;
	struct elf_file *f;

	if (!copy_self() || !shell("strip -o bare copy")) {
		SKIP("no binutils");
		return;
	}
	CHECK(elf_file_open(&f, in_folder("bare")) == 0);
	CHECK(elf_file_function_start(f, place + 9, &start) == 0 && start == place);
	CHECK(elf_file_function_start(f, place, &start) == 0 && start == place);
	place = vaddr_of(name_of_global);
	CHECK(elf_file_function_start(f, place + 9, &start) == 0 && start == place);
	/* No function, and none that speaks of unwinding. */
	CHECK(elf_file_section_range(f, ".data", &start, &end) == 0);
	CHECK(elf_file_function_start(f, start, &start) == -ENOENT);
	CHECK(elf_file_function_start(f, vaddr_of(elf_test_label) + 1, &start) == -ENOENT);
	CHECK(elf_file_function_start(f, 0, &start) == -ENOENT);
	CHECK(elf_file_function_start(f, UINT64_MAX, &start) == -ENOENT);
	elf_file_close(f);
	CHECK(shell("objcopy -R .eh_frame_hdr bare none"));
	CHECK(elf_file_open(&f, in_folder("none")) == 0);
	CHECK(elf_file_function_start(f, place, &start) == -ENOENT);
	elf_file_close(f);
}

static void a_debug_file_of_another_build_is_not_used(void)
{
	if (!copy_self() ||
		!shell("objcopy -R .note.gnu.build-id copy && objcopy --only-keep-debug copy "
		       "crc.debug &&"
		       "strip copy -o crc && objcopy --add-gnu-debuglink=crc.debug crc")) {
		SKIP("no binutils");
		return;
	}
	CHECK_TEXT(name_of_global(in_folder("crc")), "elf_test_global");
	CHECK(shell("printf x >>crc.debug"));
	CHECK_TEXT(name_of_global(in_folder("crc")), "");
}

/* The name at an address that nm or objdump tell as hexadecimal text. */
static const char *name_at(const char *file, const char *hex, const struct debug_search *search)
{
	static char text[128];
	uint64_t start, vaddr = strtoull(hex, NULL, 16);
	struct elf_file *f;
	const char *name;

	text[0] = '\0';
	if (!*hex || elf_file_open(&f, in_folder(file)))
		return "cannot open";
	if (search)
		elf_file_search(f, search);
	name = elf_file_function_at(f, vaddr, &start);
	if (name && start <= vaddr)
		snprintf(text, sizeof(text), "%s", name);
	elf_file_close(f);
	return text;
}

/* A library as Fedora builds them: exported names in .dynsym, the others in .gnu_debugdata, as
 * described in GDB's manual under "MiniDebugInfo". */
static bool make_mini(void)
{
	return shell("printf '%s' 'static __attribute__((noinline,noclone)) int hidden(int x)"
		     "{__asm__ volatile(\"\"); return x*3;} int shown(int x){return hidden(x)+1;}' "
		     ">m.c && "
		     "cc -O1 -g -shared -fPIC -Wl,--build-id -o whole.so m.c && "
		     "nm -D whole.so --format=posix --defined-only | awk '{print $1}' | sort "
		     ">dynsyms && "
		     "nm whole.so --format=posix --defined-only | awk '$2==\"T\"||$2==\"t\"{print "
		     "$1}' | "
		     "sort >funcsyms && comm -13 dynsyms funcsyms >keep && "
		     "objcopy --only-keep-debug whole.so debug && "
		     "objcopy -S --remove-section .comment --keep-symbols=keep debug mini && "
		     "xz -kf mini && strip --strip-all -o mini.so whole.so && "
		     "objcopy --add-section .gnu_debugdata=mini.xz mini.so");
}

static void mini_debug_info_adds_to_the_exported_names(void)
{
	char hidden[32], shown[32];

	if (!mini_debug_supported() || !make_mini()) {
		SKIP("no liblzma, or no xz and binutils");
		return;
	}
	snprintf(hidden, sizeof(hidden), "%s", output_of("nm whole.so | sed -n 's/ t hidden$//p'"));
	snprintf(shown, sizeof(shown), "%s", output_of("nm whole.so | sed -n 's/ T shown$//p'"));
	CHECK_TEXT(name_at("mini.so", hidden, NULL), "hidden");
	CHECK_TEXT(name_at("mini.so", shown, NULL), "shown");
	CHECK(shell("objcopy -R .gnu_debugdata mini.so bare.so"));
	CHECK_TEXT(name_at("bare.so", hidden, NULL), "");
	CHECK_TEXT(name_at("bare.so", shown, NULL), "shown");
}

static void damaged_mini_debug_info_is_none(void)
{
	char hidden[32], shown[32];

	if (!mini_debug_supported() || !make_mini()) {
		SKIP("no liblzma, or no xz and binutils");
		return;
	}
	snprintf(hidden, sizeof(hidden), "%s", output_of("nm whole.so | sed -n 's/ t hidden$//p'"));
	snprintf(shown, sizeof(shown), "%s", output_of("nm whole.so | sed -n 's/ T shown$//p'"));
	CHECK(shell("head -c 200 mini.xz >cut.xz && objcopy -R .gnu_debugdata mini.so cut.so && "
		    "objcopy --add-section .gnu_debugdata=cut.xz cut.so"));
	CHECK_TEXT(name_at("cut.so", hidden, NULL), "");
	CHECK_TEXT(name_at("cut.so", shown, NULL), "shown");
	CHECK(shell("head -c 300000000 /dev/zero | xz -0 >bomb.xz && "
		    "objcopy --update-section .gnu_debugdata=bomb.xz cut.so"));
	CHECK_TEXT(name_at("cut.so", shown, NULL), "shown");
}

static void a_stub_is_called_as_its_function(void)
{
	static const char *const builds[] = {"-Wl,-z,now", "-Wl,-z,lazy",
		"-Wl,-z,lazy -Wl,-z,ibtplt -fcf-protection=full", "-static"};

	if (strcmp(output_of("uname -m"), "x86_64") ||
		!shell("printf '%s' 'unsigned long strlen(const char*); int atoi(const char*);"
		       "int main(int c,char**v){return (int)strlen(v[0])+atoi(v[0]);}' >p.c && "
		       "cc -fno-builtin -o p p.c")) {
		SKIP("no x86-64, or no C compiler");
		return;
	}
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		char command[200], address[32];

		snprintf(command, sizeof(command), "cc -O0 -fno-builtin %s -o p p.c", builds[i]);
		CHECK(shell(command));
		/* The address that main really calls. */
		snprintf(address, sizeof(address), "%s",
			output_of("objdump -d p --disassemble=main | "
				  "awk '/call/{for(i=1;i<=NF;i++)if($i==\"call\")print $(i+1)}' | "
				  "head -1"));
		CHECK_TEXT(name_at("p", address, NULL), "strlen@plt");
	}
}

static void debug_files_are_found_in_the_folders_of_the_search(void)
{
	char folders_path[200], id[64], hidden[32], command[300];
	const char *folders[] = {folders_path};
	struct debug_search search = {.folders = folders, .folder_count = 1};

	if (!make_mini()) {
		SKIP("no xz and binutils");
		return;
	}
	snprintf(folders_path, sizeof(folders_path), "%s", in_folder("dbg"));
	snprintf(hidden, sizeof(hidden), "%s", output_of("nm whole.so | sed -n 's/ t hidden$//p'"));
	snprintf(id, sizeof(id), "%s",
		output_of("readelf -n whole.so | sed -n 's/.*Build ID: //p'"));
	CHECK(shell("strip -o bare.so whole.so"));
	CHECK_TEXT(name_at("bare.so", hidden, &search), "");
	snprintf(command, sizeof(command),
		"mkdir -p dbg/.build-id/%.2s && cp debug dbg/.build-id/%.2s/%s.debug", id, id,
		id + 2);
	CHECK(shell(command));
	CHECK_TEXT(name_at("bare.so", hidden, &search), "hidden");
	CHECK(shell("rm -r dbg && mkdir dbg && cp debug dbg/ && "
		    "objcopy --add-gnu-debuglink=debug bare.so && mv debug elsewhere"));
	CHECK_TEXT(name_at("bare.so", hidden, &search), "hidden");
	search.folder_count = 0;
	CHECK_TEXT(name_at("bare.so", hidden, &search), "");
	search.file = in_folder("elsewhere");
	CHECK_TEXT(name_at("bare.so", hidden, &search), "hidden");
	CHECK(shell("cc -O1 -g -DOTHER -shared -fPIC -Wl,--build-id=sha1 -o other.so p.c || "
		    "cc -O2 -g -shared -fPIC -Wl,--build-id -o other.so m.c"));
	search.file = in_folder("other.so");
	CHECK_TEXT(name_at("bare.so", hidden, &search), "");
}

/* Uses everything the reader offers, whatever the file says. */
static void read_all(const char *path)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t out;
	struct elf_file *f;

	if (elf_file_open(&f, path))
		return;
	(void)elf_file_build_id(f, id);
	(void)elf_file_offset_to_vaddr(f, 4096, &out);
	(void)elf_file_vaddr_to_offset(f, 4096, &out);
	(void)elf_file_find_function(f, "main", &out);
	for (uint64_t vaddr = 0; vaddr < 0x20000; vaddr += 0x401) {
		(void)elf_file_function_at(f, vaddr, &out);
		(void)elf_file_function_start(f, vaddr, &out);
	}
	elf_file_close(f);
}

static void damaged_and_truncated_files_do_no_harm(void)
{
	struct buf b = BUF_INIT;
	unsigned int seed = 1;

	if (!shell("printf 'int main(void){return 0;}int f(void){return 1;}' >s.c && cc -o s "
		   "s.c")) {
		SKIP("no C compiler");
		return;
	}
	CHECK(io_read_file(in_folder("s"), (size_t)1 << 24, &b) == 0);
	for (size_t size = 0; size < b.size; size += 509) {
		CHECK(write_file(in_folder("cut"), b.data, size));
		read_all(in_folder("cut"));
	}
	for (int round = 0; round < 1500; round++) {
		size_t at[8];
		char old[8];

		for (int i = 0; i < 8; i++) {
			/* Half of the damage goes to the headers at the two ends. */
			size_t span = i & 1 ? b.size : 4096, r = (size_t)rand_r(&seed);

			at[i] = i & 2 ? r % span : b.size - 1 - r % span;
			old[i] = b.data[at[i]];
			b.data[at[i]] = (char)rand_r(&seed);
		}
		CHECK(write_file(in_folder("bad"), b.data, b.size));
		read_all(in_folder("bad"));
		for (int i = 7; i >= 0; i--)
			b.data[at[i]] = old[i];
	}
	buf_release(&b);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_function_is_found_by_name_where_it_really_is);
	RUN(an_address_inside_a_function_has_its_name_and_start);
	RUN(an_indirect_function_is_a_function);
	RUN(a_symbol_without_size_reaches_to_the_next_one);
	RUN(the_innermost_of_nested_functions_wins_and_only_inside);
	RUN(data_and_addresses_outside_have_no_name);
	RUN(a_symbol_version_is_not_part_of_the_name);
	RUN(the_build_id_is_the_one_in_memory);
	RUN(what_is_no_elf_file_is_refused);
	RUN(a_descriptor_is_the_files_from_then_on);
	RUN(an_open_file_is_opened_once_more_when_its_path_is_gone);
	RUN(a_stripped_file_borrows_names_from_its_debug_file);
	RUN(where_functions_begin_is_known_also_of_a_stripped_file);
	RUN(a_debug_file_of_another_build_is_not_used);
	RUN(mini_debug_info_adds_to_the_exported_names);
	RUN(damaged_mini_debug_info_is_none);
	RUN(a_stub_is_called_as_its_function);
	RUN(debug_files_are_found_in_the_folders_of_the_search);
	RUN(damaged_and_truncated_files_do_no_harm);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
