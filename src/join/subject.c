// SPDX-License-Identifier: MIT
/*
 * What its files say is asked of the sandbox, once for each (subject_files.h). An answer that is
 * wrong leads to addresses in the program, and nowhere else.
 *
 * The descriptor of the memory is opened first: if another program begins in the process meanwhile,
 * what is read and written by it is nobody's any more.
 *
 * Which code belongs to an allocator is known roughly: what lies around the functions that the C
 * library or the program exports for that, and all of a library that is called after one. Whoever
 * waits for a lock all the same is put back (joiner.c).
 */
#include "join/subject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "join/reach.h"
#include "join/subject_files.h"

#define MAPS_BYTES_MAX	 ((size_t)64 << 20)
#define STATUS_BYTES_MAX 65536
#define PAGE_BYTES	 4096ull
#define AROUND_BYTES	 0x4000ull /* functions of an allocator that are not exported */
#define PLACE_LEAST	 0x100000000ull
#define PLACE_MOST	 0x800000000000ull /* user space */
#define PLACE_APART	 (64ull << 20)
#define CAVE_MOST	 PAGE_BYTES
#define FILES_MAX	 64u /* that are looked into; real programs have five */

struct mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	bool executable;
	uint32_t path; /* in subject.paths; 0: none */
};

struct range {
	uint64_t start, end;
};

/* What the file of a mapping says; once it was asked. */
struct look {
	uint32_t mapping;
	int error; /* 0 or -errno */
	struct code_facts facts;
};

struct subject {
	uint32_t pid;
	int pidfd, memory;
	struct subject_files *files;
	struct vec(struct look *) looks; /* FILES_MAX at most */
	struct vec(struct mapping) mappings;
	struct buf paths; /* strings, from byte 1 on */
	struct vec(struct range) unsafe, libraries;
	struct subject_functions functions;
	struct file_identity program; /* its file */
};

void subject_close(struct subject *t)
{
	if (!t)
		return;
	if (t->memory >= 0)
		close(t->memory);
	if (t->pidfd >= 0)
		close(t->pidfd);
	subject_files_free(t->files);
	vec_foreach (look, &t->looks)
		free(*look);
	vec_release(&t->looks);
	vec_release(&t->mappings);
	vec_release(&t->unsafe);
	vec_release(&t->libraries);
	buf_release(&t->paths);
	free(t);
}

const struct subject_functions *subject_functions(const struct subject *t)
{
	return &t->functions;
}

int subject_pidfd(const struct subject *t)
{
	return t->pidfd;
}

ssize_t subject_read(const struct subject *t, uint64_t address, void *ret, size_t size)
{
	return io_pread_full(t->memory, ret, size, (off_t)address);
}

bool subject_write(const struct subject *t, uint64_t address, const void *data, size_t size)
{
	return pwrite(t->memory, data, size, (off_t)address) == (ssize_t)size;
}

/* --- what is mapped --------------------------------------------------------------------------- */

static int add_mapping(struct subject *t, const struct proc_mapping *m)
{
	struct mapping kept = {.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.inode = m->inode,
		.major = m->major,
		.minor = m->minor,
		.executable = m->executable};

	if (m->executable && m->path_size && m->path[0] == '/') {
		kept.path = (uint32_t)t->paths.size;
		buf_append(&t->paths, m->path, m->path_size);
		buf_append(&t->paths, "", 1);
	}
	return t->paths.failed || vec_push(&t->mappings, kept) ? error_memory("its mappings") : 0;
}

static int read_maps(struct subject *t)
{
	struct buf text = BUF_INIT;
	const char *line, *end;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/maps", t->pid);
	error = io_read_file(path, MAPS_BYTES_MAX, &text);
	if (error)
		error = error_errno(error, "cannot read its mappings");
	buf_append(&t->paths, "", 1);
	line = text.data;
	while (!error && line < text.data + text.size &&
		(end = memchr(line, '\n', (size_t)(text.data + text.size - line)))) {
		struct proc_mapping m;

		if (proc_mapping_parse(line, (size_t)(end - line), &m))
			error = add_mapping(t, &m);
		line = end + 1;
	}
	buf_release(&text);
	return error;
}

static const char *path_of(const struct subject *t, const struct mapping *m)
{
	return t->paths.data + m->path;
}

static const char *name_of(const struct subject *t, const struct mapping *m)
{
	const char *path = path_of(t, m), *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_one_of(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (starts_with(name, *prefixes))
			return true;
	return false;
}

static bool is_loader(const char *name)
{
	static const char *const names[] = {"ld-linux-x86-64.so", "ld-2.", NULL};

	return is_one_of(name, names);
}

/* Where dlopen and pthread_create are: since glibc 2.34 both in the first. */
static bool is_c_library(const char *name)
{
	static const char *const names[] = {"libc.so.6", "libc-2.", "libpthread.so.0",
		"libpthread-2.", "libdl.so.2", "libdl-2.", NULL};

	return is_one_of(name, names);
}

/* --- what its files say ----------------------------------------------------------------------- */

/* What the code in the program calls. */
#define FUNCTIONS(F)                                                                               \
	F(pthread_create)                                                                          \
	F(pthread_self)                                                                            \
	F(pthread_detach)                                                                          \
	F(pthread_join)                                                                            \
	F(pthread_attr_init) F(pthread_attr_setstack) F(dlopen) F(dlsym) F(dlerror)

#define ALLOCATOR(F)                                                                               \
	F(malloc)                                                                                  \
	F(free)                                                                                    \
	F(calloc)                                                                                  \
	F(realloc)                                                                                 \
	F(memalign) F(posix_memalign) F(aligned_alloc) F(malloc_trim) F(malloc_usable_size)

#define TEXT(name)  #name "\0"
#define INDEX(name) AT_##name,

/* In the order of the answers: those of the allocator come first. */
enum wanted {
	ALLOCATOR(INDEX) ALLOCATOR_END,
	BEFORE_FUNCTIONS = ALLOCATOR_END - 1,
	FUNCTIONS(INDEX) WANTED_END
};

#define NAMES(list, n)                                                                             \
	{                                                                                          \
		.text = list, .size = sizeof(list) - 1, .count = (n)                               \
	}

static const struct function_names no_names = {.text = ""};
static const struct function_names allocator_names = NAMES(ALLOCATOR(TEXT), ALLOCATOR_END);
static const struct function_names all_names = NAMES(ALLOCATOR(TEXT) FUNCTIONS(TEXT), WANTED_END);

/* The program itself, which may bring its allocator. */
static bool is_program(const struct subject *t, const struct mapping *m)
{
	return t->program.inode == m->inode && t->program.device == makedev(m->major, m->minor);
}

static const struct function_names *names_in(const struct subject *t, const struct mapping *m)
{
	return is_c_library(name_of(t, m)) ? &all_names
	       : is_program(t, m)	   ? &allocator_names
					   : &no_names;
}

static int ask_about(struct subject *t, const struct mapping *m, struct code_facts *ret)
{
	const struct open_mapped mapped = {.pid = t->pid,
		.start = m->start,
		.end = m->end,
		.device = makedev(m->major, m->minor),
		.inode = m->inode,
		.if_gone = {OPEN_NOBODY, OPEN_NOBODY}};

	return subject_files_of_mapping(t->files, &mapped, path_of(t, m), names_in(t, m), ret);
}

/* 0 or -errno, without text. */
static int look_into(struct subject *t, const struct mapping *m, const struct code_facts **ret)
{
	uint32_t mapping = (uint32_t)(m - t->mappings.items);
	struct look *look;

	vec_foreach (known, &t->looks)
		if ((*known)->mapping == mapping) {
			*ret = &(*known)->facts;
			return (*known)->error;
		}
	if (t->looks.count == FILES_MAX)
		return -E2BIG;
	look = calloc(1, sizeof(*look));
	if (!look || vec_push(&t->looks, look)) {
		free(look);
		return -ENOMEM;
	}
	look->mapping = mapping;
	look->error = ask_about(t, m, &look->facts);
	*ret = &look->facts;
	return look->error;
}

/* The address of a function of the file, if it is in this mapping; 0: it is not. */
static uint64_t address_of(
	const struct mapping *m, const struct code_facts *facts, enum wanted function)
{
	uint64_t offset = facts->functions[function];

	if (!offset || offset < m->offset || offset - m->offset >= m->end - m->start)
		return 0;
	return m->start + (offset - m->offset);
}

/* --- what matters of it ----------------------------------------------------------------------- */

static void note_functions(
	struct subject *t, const struct mapping *m, const struct code_facts *facts)
{
#define NOTE(name)                                                                                 \
	if (!t->functions.name)                                                                    \
		t->functions.name = address_of(m, facts, AT_##name);
	FUNCTIONS(NOTE)
#undef NOTE
}

/* The first that is not there; NULL: all are. */
static const char *missing_function(const struct subject *t)
{
#define CHECK(name)                                                                                \
	if (!t->functions.name)                                                                    \
		return #name;
	FUNCTIONS(CHECK)
#undef CHECK
	return NULL;
}

static int add_range(struct subject *t, uint64_t start, uint64_t end)
{
	return vec_push(&t->unsafe, (struct range){start, end}) ? error_memory("its code") : 0;
}

static int note_allocator(
	struct subject *t, const struct mapping *m, const struct code_facts *facts)
{
	struct range r = {UINT64_MAX, 0};

	for (enum wanted n = 0; n < ALLOCATOR_END; n++) {
		uint64_t address = address_of(m, facts, n);

		if (address && address < r.start)
			r.start = address;
		if (address > r.end)
			r.end = address;
	}
	return r.end ? add_range(t, r.start - AROUND_BYTES, r.end + AROUND_BYTES) : 0;
}

static int note_library(struct subject *t, const struct mapping *m)
{
	return vec_push(&t->libraries, (struct range){m->start, m->end}) ? error_memory("its code")
									 : 0;
}

static int refuse_unread(const struct subject *t, const struct mapping *m, int error)
{
	struct buf shown = BUF_INIT;

	printable_puts(&shown, path_of(t, m));
	error_errno(error, "cannot read '%s'", buf_text(&shown));
	buf_release(&shown);
	return error;
}

static int note_code(struct subject *t, const struct mapping *m)
{
	const struct code_facts *facts;
	const char *name = name_of(t, m);
	int error;

	if (is_loader(name))
		return note_library(t, m) ?: add_range(t, m->start, m->end);
	if (strstr(name, "malloc"))
		return add_range(t, m->start, m->end);
	if (!is_c_library(name) && !is_program(t, m))
		return 0;
	error = look_into(t, m, &facts);
	if (error)
		return is_c_library(name) ? refuse_unread(t, m, error) : 0;
	if (is_c_library(name)) {
		note_functions(t, m, facts);
		error = note_library(t, m);
	}
	return error ?: note_allocator(t, m, facts);
}

/* Its loader and C library are one file, by either of two names. */
static bool has_musl(const struct subject *t)
{
	vec_foreach (m, &t->mappings)
		if (m->path && (starts_with(name_of(t, m), "ld-musl") ||
				       strstr(path_of(t, m), "-linux-musl/")))
			return true;
	return false;
}

static int refuse_without(const struct subject *t, const char *function)
{
	if (has_musl(t))
		return error_set(
			-ENOTSUP, "it uses musl, and only programs with glibc can be joined");
	if (!t->libraries.count)
		return error_set(-ENOTSUP,
			"it is linked statically: there is nothing to load a library with");
	return error_set(-ENOTSUP, "its C library has no '%s'", function);
}

static int note_all_code(struct subject *t)
{
	const char *missing;
	int error = 0;

	vec_foreach (m, &t->mappings)
		if (!error && m->path)
			error = note_code(t, m);
	missing = error ? NULL : missing_function(t);
	return missing ? refuse_without(t, missing) : error;
}

/* --- what forbids it -------------------------------------------------------------------------- */

#define KCMP_VM	    1 /* linux/kcmp.h */
#define YAMA_NOBODY 3

/* The number in the line of /proc/PID/status that begins so; 0: there is none. */
static unsigned long status_number(const struct buf *status, const char *key)
{
	const char *at = strstr(buf_text(status), key);

	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static bool has_line(const struct buf *status, const char *begin)
{
	return strstr(buf_text(status), begin);
}

static int refuse_by_status(const struct subject *t, const struct buf *status)
{
	unsigned long tracer = status_number(status, "\nTracerPid:");
	unsigned long parent = status_number(status, "\nPPid:");

	if (has_line(status, "\nState:\tZ") || has_line(status, "\nState:\tX"))
		return error_set(-ESRCH, "it has ended");
	if (!has_line(status, "\nVmSize:"))
		return error_set(-ENOTSUP, "it is a thread of the kernel, or is ending");
	if (tracer)
		return error_set(-EBUSY, "process %lu traces it (a debugger, or strace)", tracer);
	if (has_line(status, "\nState:\tT"))
		return error_set(-EAGAIN, "it is stopped (SIGCONT lets it go on)");
	/* A child of vfork(2), which runs in its parent's place. */
	if (parent && !syscall(SYS_kcmp, (pid_t)t->pid, (pid_t)parent, KCMP_VM, 0, 0))
		return error_set(-EAGAIN, "it still uses the memory of its parent %lu", parent);
	return 0;
}

static int check_status(const struct subject *t)
{
	struct buf status = BUF_INIT;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/status", t->pid);
	error = io_read_file(path, STATUS_BYTES_MAX, &status);
	error = error ? error_errno(error, "cannot read its status") : refuse_by_status(t, &status);
	buf_release(&status);
	return error;
}

static int check_program(struct subject *t)
{
	struct opened opened = {0};
	struct code_facts facts;
	int error = subject_files_of_program(t->files, t->pid, &no_names, &opened, &facts);

	if (error == -ENOEXEC)
		return error_set(error, "its program is no ELF file");
	if (error)
		return error_errno(error, "cannot read its program");
	if (!facts.is_64bit || facts.machine != EM_X86_64)
		return error_set(-ENOTSUP, "it is not a 64-bit program for x86-64");
	t->program = opened.identity;
	return 0;
}

static int open_process(struct subject *t)
{
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	/* One or the other, by the version of the kernel. */
	if (t->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return error_set(-EINVAL, "is no process, but one of the threads of another");
	return t->pidfd < 0 ? error_errno(-errno, "cannot be found") : 0;
}

/* What Yama allows: 0 each user his own programs, 3 nobody anything; 0 where it is not there. */
static unsigned long yama_scope(void)
{
	struct buf text = BUF_INIT;
	unsigned long scope = 0;

	if (!io_read_file("/proc/sys/kernel/yama/ptrace_scope", 64, &text))
		scope = strtoul(buf_text(&text), NULL, 10);
	buf_release(&text);
	return scope;
}

static int refuse_memory(void)
{
	unsigned long scope = yama_scope();
	char now[32] = "";

	if (scope >= YAMA_NOBODY)
		return error_set(-EPERM,
			"we may not trace it: kernel.yama.ptrace_scope is %lu, so nobody may until "
			"the system is booted again",
			scope);
	if (scope)
		snprintf(now, sizeof(now), ", which is %lu", scope);
	return error_set(-EPERM,
		"we may not trace it (CAP_SYS_PTRACE and CAP_DAC_OVERRIDE, or the same user and "
		"kernel.yama.ptrace_scope 0%s)",
		now);
}

static int open_memory(struct subject *t)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", t->pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return refuse_memory();
	return error_errno(-errno, "cannot open its memory");
}

static int begin_files(struct subject *t, const char *program)
{
	t->files = subject_files_new(program);
	return t->files ? 0 : error_memory("its files");
}

int subject_open(struct subject **ret, uint32_t pid, const char *program)
{
	struct subject *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return error_memory("a process");
	t->pid = pid;
	t->pidfd = t->memory = -1;
	error = open_process(t);
	error = error ?: check_status(t);
	error = error ?: open_memory(t);
	error = error ?: reach_check(pid);
	error = error ?: begin_files(t, program);
	error = error ?: check_program(t);
	error = error ?: read_maps(t);
	error = error ?: note_all_code(t);
	if (error) {
		subject_close(t);
		return error;
	}
	*ret = t;
	return 0;
}

/* --- where things are ------------------------------------------------------------------------- */

bool subject_is_unsafe(const struct subject *t, uint64_t address)
{
	vec_foreach (r, &t->unsafe)
		if (address >= r->start && address < r->end)
			return true;
	return false;
}

bool subject_is_library(const struct subject *t, uint64_t address)
{
	vec_foreach (r, &t->libraries)
		if (address >= r->start && address < r->end)
			return true;
	return false;
}

/* Linkers fill the rest of a page with zeros, or with traps. */
static bool is_filling(const uint8_t *bytes, size_t size)
{
	for (size_t n = 0; n < size; n++)
		if (bytes[n] != bytes[0])
			return false;
	return !bytes[0] || bytes[0] == 0xcc;
}

/* Behind the end of the file's segment, in the mapping's last page. */
static uint64_t cave_in(struct subject *t, const struct mapping *m, size_t size,
	bool (*is_ours)(const uint8_t *bytes, size_t size))
{
	uint8_t bytes[CAVE_MOST];
	const struct code_facts *facts;
	uint64_t found = 0;

	if (look_into(t, m, &facts))
		return 0;
	for (uint32_t n = 0; !found && n < facts->code_count; n++) {
		const struct elf_code *code = &facts->code[n];
		uint64_t end = code->offset + code->size - m->offset, at;

		if (code->offset < m->offset || end < code->size || end >= m->end - m->start)
			continue;
		at = (m->start + end + 15) & ~15ull;
		if (m->end - at < size || m->end - at > CAVE_MOST ||
			subject_read(t, at, bytes, size) != (ssize_t)size)
			continue;
		if (is_filling(bytes, size) || is_ours(bytes, size))
			found = at;
	}
	return found;
}

uint64_t subject_find_cave(
	struct subject *t, size_t size, bool (*is_ours)(const uint8_t *bytes, size_t size))
{
	static const char *const stays[] = {"libc.so.6", "libc-2.", "ld-linux-x86-64.so", "ld-2.",
		"libm.so.6", "libm-2.", "libstdc++.so.6", "libpthread", "libdl"};
	uint64_t found = 0;

	for (size_t n = 0; !found && n < sizeof(stays) / sizeof(stays[0]); n++)
		vec_foreach (m, &t->mappings)
			if (!found && m->path && starts_with(name_of(t, m), stays[n]))
				found = cave_in(t, m, size, is_ours);
	vec_foreach (m, &t->mappings)
		if (!found && m->path && is_program(t, m))
			found = cave_in(t, m, size, is_ours);
	return found;
}

/* In the middle of the largest gap: the heap grows from one side, and mappings from the other. */
uint64_t subject_find_place(const struct subject *t, size_t size)
{
	uint64_t before = PLACE_LEAST, largest = 2 * PLACE_APART + size, place = 0;

	vec_foreach (m, &t->mappings) {
		if (m->start > before && m->start < PLACE_MOST && m->start - before > largest) {
			largest = m->start - before;
			place = (before + largest / 2) & ~(PAGE_BYTES - 1);
		}
		if (m->end > before)
			before = m->end;
	}
	return place;
}
