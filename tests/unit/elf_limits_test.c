// SPDX-License-Identifier: MIT
/*
 * Files that are small on disk and claim much: sparse tables of terabytes, headers that lead to the
 * same bytes again and again. Each is asked for everything, by a process that has the memory
 * elf/limits.h speaks of and some seconds.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "elf/elf_file.h"
#include "elf/limits.h"
#include "elf/mini_debug.h"
#include "elf/named.h"
#include "folder.h"
#include "tap.h"
#include "unwind/cfi.h"

#define TIB	      ((uint64_t)1 << 40)
#define MEMORY_MAX    ((rlim_t)256 << 20)
#define SECONDS_MAX   60 /* on a busy machine, with sanitizers */
#define PARTS_MAX     8
#define NAMES_AT      65536
#define HEADERS_AT    131072
#define CONTENTS_AT   ((uint64_t)1 << 20)
#define CONTENTS_SIZE (2 * TIB)

/* A section of a file to be. */
struct part {
	const char *name;
	uint32_t type, link;
	uint64_t offset, size, flags, vaddr;
};

static bool put(int fd, const void *data, size_t size, uint64_t offset)
{
	return pwrite(fd, data, size, (off_t)offset) == (ssize_t)size;
}

static Elf64_Ehdr header_of(void)
{
	return (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shoff = HEADERS_AT,
	};
}

/* A file with these sections, from the first on; -1: it cannot be made. Its code is at its own
 * offsets. */
static int make_file(const char *path, const struct part *parts, size_t count)
{
	Elf64_Shdr sections[PARTS_MAX + 2] = {0};
	Elf64_Ehdr h = header_of();
	Elf64_Phdr code = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = CONTENTS_SIZE,
		.p_memsz = CONTENTS_SIZE};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t names = 1;
	bool ok = fd >= 0 && !ftruncate(fd, (off_t)(CONTENTS_AT + CONTENTS_SIZE));

	for (size_t i = 0; i < count; i++) {
		const struct part *p = &parts[i];

		sections[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names,
			.sh_type = p->type,
			.sh_flags = p->flags,
			.sh_addr = p->vaddr,
			.sh_link = p->link,
			.sh_offset = p->offset,
			.sh_size = p->size};
		ok = ok && put(fd, p->name, strlen(p->name), NAMES_AT + names);
		names += strlen(p->name) + 1;
	}
	sections[count + 1] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = names};
	h.e_shnum = (uint16_t)(count + 2);
	h.e_shstrndx = (uint16_t)(count + 1);
	ok = ok && put(fd, &h, sizeof(h), 0) && put(fd, &code, sizeof(code), sizeof(h)) &&
	     put(fd, sections, (count + 2) * sizeof(sections[0]), HEADERS_AT);
	if (!ok && fd >= 0)
		close(fd);
	return ok ? fd : -1;
}

static void ignore(void *context, const char *name, const struct elf_named *s)
{
}

/* All that the recorder asks a file for. */
static int ask_for_all(const char *path)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_named found;
	uint64_t start;
	uint32_t *words;
	struct elf_file *f;
	int error = elf_file_open(&f, path);

	if (error)
		return error == -EFBIG ? 2 : 1;
	(void)elf_file_build_id(f, id);
	(void)elf_find_exported(f, "_PyRuntime", &found);
	(void)elf_each_named(f, "", (uint64_t)32 << 20, ignore, NULL);
	(void)elf_file_find_function(f, "main", &start);
	if (!unwind_build(f, &words, NULL))
		free(words);
	(void)elf_file_has_symtab(f);
	(void)elf_file_dwarf_fd(f);
	for (uint64_t vaddr = CONTENTS_AT; vaddr < CONTENTS_AT + 3000; vaddr++) {
		(void)elf_file_function_at(f, vaddr, &start);
		(void)elf_file_function_start(f, vaddr, &start);
	}
	error = elf_file_too_large(f) ? 3 : 0;
	elf_file_close(f);
	return error;
}

/* What became of it: 0, 2 when it was refused, 3 when something was left out; others: it took too
 * much. */
static int outcome_of(const char *path)
{
	struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
	pid_t child = fork();
	int status = 0;

	if (!child) {
#ifndef __SANITIZE_ADDRESS__
		setrlimit(RLIMIT_DATA, &memory);
#endif
		(void)memory;
		alarm(SECONDS_MAX);
		_exit(ask_for_all(path));
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int outcome_with(const struct part *parts, size_t count)
{
	int fd = make_file(in_folder("bomb"), parts, count);

	if (fd < 0)
		return -1;
	close(fd);
	return outcome_of(in_folder("bomb"));
}

#define OUTCOME_WITH(...)                                                                          \
	outcome_with((const struct part[]){__VA_ARGS__},                                           \
		sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part))

/* A file with nothing but a header. */
static int outcome_of_header(const Elf64_Ehdr *h, const Elf64_Shdr *first)
{
	int fd = open(in_folder("bomb"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && !ftruncate(fd, (off_t)TIB) && put(fd, h, sizeof(*h), 0) &&
		  put(fd, first, sizeof(*first), HEADERS_AT);

	if (fd >= 0)
		close(fd);
	return ok ? outcome_of(in_folder("bomb")) : -1;
}

static void a_file_with_millions_of_headers_is_refused(void)
{
	Elf64_Ehdr h = header_of();
	Elf64_Shdr first = {.sh_size = (uint64_t)1 << 26};
	struct elf_file *f;

	CHECK(outcome_of_header(&h, &first) == 2);
	CHECK(elf_file_open(&f, in_folder("bomb")) == -EFBIG);
	CHECK(strstr(error_text(), "too large"));
	h.e_shnum = 1;
	h.e_phnum = PN_XNUM;
	first.sh_info = 1u << 27;
	CHECK(outcome_of_header(&h, &first) == 2);
	h.e_phnum = ELF_SEGMENTS_MAX + 1;
	CHECK(outcome_of_header(&h, &first) == 2);
}

static void notes_that_overlap_are_read_a_few_times(void)
{
	enum { COUNT = 2500 };
	Elf64_Ehdr h = header_of();
	Elf64_Shdr *sections = calloc(COUNT, sizeof(*sections));
	int fd = open(in_folder("bomb"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	h.e_shnum = COUNT;
	for (size_t i = 1; sections && i < COUNT; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = SHT_NOTE, .sh_offset = CONTENTS_AT, .sh_size = (1u << 20) - i};
	CHECK(sections && fd >= 0 && !ftruncate(fd, (off_t)(2 * CONTENTS_AT)) &&
		put(fd, &h, sizeof(h), 0) &&
		put(fd, sections, COUNT * sizeof(*sections), HEADERS_AT));
	close(fd);
	free(sections);
	CHECK(outcome_of(in_folder("bomb")) == 0);
}

static void endless_tables_of_symbols_are_left_out(void)
{
	CHECK(OUTCOME_WITH({".symtab", SHT_SYMTAB, 2, CONTENTS_AT, TIB, 0, 0},
		      {".strtab", SHT_STRTAB, 0, CONTENTS_AT + TIB, TIB, 0, 0}) == 3);
	CHECK(OUTCOME_WITH({".symtab", SHT_SYMTAB, 2, CONTENTS_AT, 24 * 100, 0, 0},
		      {".strtab", SHT_STRTAB, 0, CONTENTS_AT + TIB, TIB, 0, 0}) == 3);
	CHECK(OUTCOME_WITH({".dynsym", SHT_DYNSYM, 2, CONTENTS_AT, TIB, 0, 0},
		      {".dynstr", SHT_STRTAB, 0, CONTENTS_AT + TIB, TIB, 0, 0}) == 3);
	CHECK(OUTCOME_WITH({".dynsym", SHT_DYNSYM, 2, CONTENTS_AT, TIB, 0, 0},
		      {".dynstr", SHT_STRTAB, 0, CONTENTS_AT + TIB, 65536, 0, 0}) == 3);
}

/* The symbols' names are all but the whole of one long text, each from another place on. */
static void names_that_share_their_text_are_kept_up_to_a_limit(void)
{
	enum { COUNT = 3000, TEXT = 65000 };
	const struct part parts[] = {
		{".symtab", SHT_SYMTAB, 2, CONTENTS_AT, COUNT * sizeof(Elf64_Sym), 0, 0},
		{".strtab", SHT_STRTAB, 0, CONTENTS_AT * 2, TEXT + 2, 0, 0},
	};
	char *text = calloc(1, TEXT + 1);
	int fd = make_file(in_folder("bomb"), parts, 2);

	CHECK(text && fd >= 0);
	if (!text || fd < 0)
		return;
	memset(text, 'a', TEXT);
	CHECK(put(fd, text, TEXT, CONTENTS_AT * 2 + 1));
	for (uint32_t i = 0; i < COUNT; i++) {
		Elf64_Sym s = {.st_name = i + 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SHN_LORESERVE - 1,
			.st_value = CONTENTS_AT + i,
			.st_size = 1};

		CHECK(put(fd, &s, sizeof(s), CONTENTS_AT + i * sizeof(s)));
	}
	close(fd);
	free(text);
	CHECK(outcome_of(in_folder("bomb")) == 3);
}

static void endless_relocations_of_stubs_are_left_out(void)
{
	CHECK(OUTCOME_WITH(
		      {".plt", SHT_PROGBITS, 0, CONTENTS_AT, 65536, SHF_EXECINSTR, CONTENTS_AT},
		      {".rela.plt", SHT_RELA, 0, CONTENTS_AT, TIB, 0, 0}) == 3);
	CHECK(OUTCOME_WITH(
		      {".plt", SHT_PROGBITS, 0, CONTENTS_AT, 65536, SHF_EXECINSTR, CONTENTS_AT},
		      {".rela.plt", SHT_RELA, 0, CONTENTS_AT, (uint64_t)64 << 20, 0, 0}) == 3);
}

static void endless_unwind_information_is_left_out(void)
{
	CHECK(OUTCOME_WITH({".eh_frame", SHT_PROGBITS, 0, CONTENTS_AT, TIB, 0, 0},
		      {".eh_frame_hdr", SHT_PROGBITS, 0, CONTENTS_AT, TIB, 0, 0}) == 3);
	CHECK(OUTCOME_WITH({".eh_frame", SHT_PROGBITS, 0, CONTENTS_AT, ELF_FRAMES_MAX_BYTES, 0, 0},
		      {".eh_frame_hdr", SHT_PROGBITS, 0, CONTENTS_AT, 65536, 0, 0}) == 0);
}

static int outcome_with_frames(const struct buf *frames)
{
	struct part p = {
		".eh_frame", SHT_PROGBITS, 0, CONTENTS_AT, frames->size, SHF_ALLOC, CONTENTS_AT};
	int fd = make_file(in_folder("bomb"), &p, 1);
	bool ok = !frames->failed && fd >= 0 && put(fd, frames->data, frames->size, CONTENTS_AT);

	if (fd >= 0)
		close(fd);
	return ok ? outcome_of(in_folder("bomb")) : -1;
}

static void put_u32(struct buf *b, uint32_t x)
{
	buf_append(b, &x, sizeof(x));
}

/* Length, CIE, and a function of 64 KiB. */
static void begin_function(struct buf *b, size_t instructions, size_t common_at)
{
	uint64_t function[2] = {CONTENTS_AT, 65536};

	put_u32(b, (uint32_t)(4 + sizeof(function) + instructions));
	put_u32(b, (uint32_t)(b->size - common_at));
	buf_append(b, function, sizeof(function));
}

/* Each function names another place inside the one large CIE, where a CIE seems to begin that
 * reaches to the end: the beginnings of others are operands of its instructions. */
static void common_entries_within_one_another_are_not_run(void)
{
	enum { COUNT = 400000, HEADER = 13, STEP = 15 };
	static const char fields[] = {1, 0, 1, 1, 16, 0x0f, HEADER};
	struct buf frames = BUF_INIT;
	uint32_t size = COUNT * STEP;

	for (uint32_t i = 0; i < COUNT; i++) {
		put_u32(&frames, size - i * STEP - 4);
		put_u32(&frames, 0);
		buf_append(&frames, fields, sizeof(fields));
	}
	for (uint32_t i = 0; i < COUNT; i++)
		begin_function(&frames, 0, (size_t)i * STEP);
	CHECK(outcome_with_frames(&frames) == 0);
	buf_release(&frames);
}

/* breg7 0; deref; plus_uconst 0; plus_uconst 0; ... */
static void a_long_expression_is_not_evaluated_for_each_row(void)
{
	enum { EXPRESSION = 400000, ROWS = 1000000 };
	static const char common[] = {1, 0, 1, 1, 16},
			  begin[] = {0x0f, (char)0x80, (char)0xb5, 0x18, 0x77, 0, 0x06};
	struct buf frames = BUF_INIT;

	put_u32(&frames, 4 + sizeof(common));
	put_u32(&frames, 0);
	buf_append(&frames, common, sizeof(common));
	begin_function(&frames, sizeof(begin) + EXPRESSION - 3 + ROWS, 0);
	buf_append(&frames, begin, sizeof(begin));
	for (int i = 0; i < EXPRESSION - 3; i++)
		buf_putc(&frames, i % 2 ? 0 : 0x23);
	for (int i = 0; i < ROWS; i++)
		buf_putc(&frames, 0x41);
	CHECK(outcome_with_frames(&frames) == 0);
	buf_release(&frames);
}

/* All code between functions is looked through; here, that of thousands of sections. */
static void sections_of_code_that_overlap_are_gone_through_once(void)
{
	enum { COUNT = 8000, SIZE = 16 << 20 };
	Elf64_Ehdr h = header_of();
	Elf64_Phdr code = {.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = TIB, .p_memsz = TIB};
	Elf64_Shdr *sections = calloc(COUNT, sizeof(*sections));
	int fd = open(in_folder("bomb"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	h.e_shnum = COUNT;
	for (size_t i = 1; sections && i < COUNT; i++)
		sections[i] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_EXECINSTR,
			.sh_addr = CONTENTS_AT,
			.sh_offset = CONTENTS_AT,
			.sh_size = SIZE + i};
	CHECK(sections && fd >= 0 && !ftruncate(fd, (off_t)TIB) && put(fd, &h, sizeof(h), 0) &&
		put(fd, &code, sizeof(code), sizeof(h)) &&
		put(fd, sections, COUNT * sizeof(*sections), HEADERS_AT));
	close(fd);
	free(sections);
	CHECK(outcome_of(in_folder("bomb")) == 0);
}

static void mini_debug_info_is_unpacked_up_to_a_limit(void)
{
	struct part p = {".gnu_debugdata", SHT_PROGBITS, 0, CONTENTS_AT, TIB, 0, 0};
	char packed[65536];
	ssize_t size;
	int fd;

	if (!mini_debug_supported() ||
		!shell("head -c 300M /dev/zero | xz -1 >packed && test $(stat -c %s packed) -lt "
		       "65536")) {
		SKIP("no xz");
		return;
	}
	CHECK(outcome_with(&p, 1) == 3);
	fd = open(in_folder("packed"), O_RDONLY | O_CLOEXEC);
	size = io_read_full(fd, packed, sizeof(packed));
	close(fd);
	p.size = size > 0 ? (uint64_t)size : 1;
	fd = make_file(in_folder("bomb"), &p, 1);
	CHECK(size > 0 && put(fd, packed, (size_t)size, CONTENTS_AT));
	close(fd);
	CHECK(outcome_of(in_folder("bomb")) == 3);
}

/* Without build ids, what the link leads to counts by its checksum. */
static void an_endless_file_behind_a_debug_link_is_not_summed_up(void)
{
	static const char link[16] = "endless";
	struct part p = {".gnu_debuglink", SHT_PROGBITS, 0, CONTENTS_AT, sizeof(link), 0, 0};
	int fd = make_file(in_folder("endless"), NULL, 0);

	close(fd);
	fd = make_file(in_folder("bomb"), &p, 1);
	CHECK(fd >= 0 && put(fd, link, sizeof(link), CONTENTS_AT));
	close(fd);
	CHECK(outcome_of(in_folder("bomb")) == 3);
}

static void a_debug_link_without_build_ids_leads_to_the_file_with_its_checksum(void)
{
	struct elf_file *f;
	uint64_t start;
	const char *name;

	if (!shell("command -v objcopy && printf 'int probe(void){return 1;}int main(void){return "
		   "probe();}' >l.c && cc -Wl,--build-id=none -o linked l.c && "
		   "objcopy --only-keep-debug linked linked.debug && strip linked && "
		   "objcopy --add-gnu-debuglink=linked.debug linked")) {
		SKIP("no compiler or binutils");
		return;
	}
	CHECK(!elf_file_open(&f, in_folder("linked")));
	CHECK(elf_file_has_symtab(f) && !elf_file_too_large(f));
	name = elf_file_function_at(f, elf_file_entry(f), &start);
	CHECK_TEXT(name ? name : "", "_start");
	elf_file_close(f);
	CHECK(shell("printf x >>linked.debug"));
	CHECK(!elf_file_open(&f, in_folder("linked")) && !elf_file_has_symtab(f));
	elf_file_close(f);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_file_with_millions_of_headers_is_refused);
	RUN(notes_that_overlap_are_read_a_few_times);
	RUN(endless_tables_of_symbols_are_left_out);
	RUN(names_that_share_their_text_are_kept_up_to_a_limit);
	RUN(endless_relocations_of_stubs_are_left_out);
	RUN(endless_unwind_information_is_left_out);
	RUN(common_entries_within_one_another_are_not_run);
	RUN(a_long_expression_is_not_evaluated_for_each_row);
	RUN(sections_of_code_that_overlap_are_gone_through_once);
	RUN(mini_debug_info_is_unpacked_up_to_a_limit);
	RUN(an_endless_file_behind_a_debug_link_is_not_summed_up);
	RUN(a_debug_link_without_build_ids_leads_to_the_file_with_its_checksum);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
