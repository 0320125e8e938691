// SPDX-License-Identifier: MIT
/*
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "elf/elf_file.h"

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

struct subject {
	uint32_t pid;
	int pidfd, memory;
	struct vec(struct mapping) mappings;
	struct buf paths; /* strings, from byte 1 on */
	struct vec(struct range) unsafe, libraries;
	struct subject_functions functions;
	unsigned int files_left;
	struct stat program; /* its file; all 0: not known */
};

void subject_close(struct subject *t)
{
	if (!t)
		return;
	if (t->memory >= 0)
		close(t->memory);
	if (t->pidfd >= 0)
		close(t->pidfd);
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

/* Device and inode are those of the mapping, or the path is not that file. */
static int open_by_path(const struct subject *t, const struct mapping *m)
{
	char path[4200];
	struct stat st;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "/proc/%u/root%s", t->pid, path_of(t, m)) >=
		sizeof(path))
		return -ENAMETOOLONG;
	fd = io_open_regular(path, &st);
	if (fd < 0)
		return fd;
	if (st.st_ino == m->inode && major(st.st_dev) == m->major && minor(st.st_dev) == m->minor)
		return fd;
	close(fd);
	return -ESTALE;
}

/* The file that is mapped, also when its path is another's by now: where that may be opened. */
static int open_file(struct subject *t, const struct mapping *m, struct elf_file **ret)
{
	char path[80];
	struct stat st;
	int fd;

	if (!t->files_left)
		return -E2BIG;
	t->files_left--;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, t->pid, m->start,
		m->end);
	fd = io_open_regular(path, &st);
	if (fd < 0)
		fd = open_by_path(t, m);
	return fd < 0 ? fd : elf_file_open_fd(ret, fd, path_of(t, m));
}

/* The address of a function of the file, if it is in this mapping; 0: it is not. */
static uint64_t find_function(const struct mapping *m, struct elf_file *f, const char *name)
{
	uint64_t offset;

	if (elf_file_find_function(f, name, &offset) || offset < m->offset ||
		offset - m->offset >= m->end - m->start)
		return 0;
	return m->start + (offset - m->offset);
}

/* --- what matters of it ----------------------------------------------------------------------- */

/* What the code in the program calls. */
#define FUNCTIONS(F)                                                                               \
	F(pthread_create)                                                                          \
	F(pthread_self)                                                                            \
	F(pthread_detach)                                                                          \
	F(pthread_join)                                                                            \
	F(pthread_attr_init) F(pthread_attr_setstack) F(dlopen) F(dlsym) F(dlerror)

static void note_functions(struct subject *t, const struct mapping *m, struct elf_file *f)
{
#define NOTE(name)                                                                                 \
	if (!t->functions.name)                                                                    \
		t->functions.name = find_function(m, f, #name);
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

static int note_allocator(struct subject *t, const struct mapping *m, struct elf_file *f)
{
	static const char *const names[] = {"malloc", "free", "calloc", "realloc", "memalign",
		"posix_memalign", "aligned_alloc", "malloc_trim", "malloc_usable_size"};
	struct range r = {UINT64_MAX, 0};

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		uint64_t address = find_function(m, f, names[n]);

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

/* The program itself, which may bring its allocator. */
static bool is_program(const struct subject *t, const struct mapping *m)
{
	return t->program.st_ino && t->program.st_ino == m->inode &&
	       minor(t->program.st_dev) == m->minor && major(t->program.st_dev) == m->major;
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
	const char *name = name_of(t, m);
	struct elf_file *f;
	int error = 0;

	if (is_loader(name))
		return note_library(t, m) ?: add_range(t, m->start, m->end);
	if (strstr(name, "malloc"))
		return add_range(t, m->start, m->end);
	if (!is_c_library(name) && !is_program(t, m))
		return 0;
	error = open_file(t, m, &f);
	if (error)
		return is_c_library(name) ? refuse_unread(t, m, error) : 0;
	if (is_c_library(name)) {
		note_functions(t, m, f);
		error = note_library(t, m);
	}
	error = error ?: note_allocator(t, m, f);
	elf_file_close(f);
	return error;
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

#define KCMP_VM 1 /* linux/kcmp.h */

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
	unsigned char head[EI_NIDENT + 4];
	char path[32];
	uint16_t machine;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", t->pid);
	fd = io_open_regular(path, &t->program);
	if (fd < 0)
		return error_errno(fd, "cannot read its program");
	size = io_read_full(fd, head, sizeof(head));
	close(fd);
	if (size != sizeof(head) || memcmp(head, ELFMAG, SELFMAG))
		return error_set(-ENOEXEC, "its program is no ELF file");
	memcpy(&machine, head + EI_NIDENT + 2, sizeof(machine));
	if (head[EI_CLASS] != ELFCLASS64 || machine != EM_X86_64)
		return error_set(-ENOTSUP, "it is not a 64-bit program for x86-64");
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

static int open_memory(struct subject *t)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", t->pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return error_set(-EPERM,
			"we may not trace it (CAP_SYS_PTRACE, or the same user and "
			"kernel.yama.ptrace_scope 0)");
	return error_errno(-errno, "cannot open its memory");
}

int subject_open(struct subject **ret, uint32_t pid)
{
	struct subject *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return error_memory("a process");
	t->pid = pid;
	t->pidfd = t->memory = -1;
	t->files_left = FILES_MAX;
	error = open_process(t);
	error = error ?: check_status(t);
	error = error ?: open_memory(t);
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
	struct elf_code code;
	struct elf_file *f;
	uint64_t found = 0;

	if (open_file(t, m, &f))
		return 0;
	for (size_t n = 0; !found && elf_file_code_at(f, n, &code); n++) {
		uint64_t end = code.offset + code.size - m->offset, at;

		if (code.offset < m->offset || end < code.size || end >= m->end - m->start)
			continue;
		at = (m->start + end + 15) & ~15ull;
		if (m->end - at < size || m->end - at > CAVE_MOST ||
			subject_read(t, at, bytes, size) != (ssize_t)size)
			continue;
		if (is_filling(bytes, size) || is_ours(bytes, size))
			found = at;
	}
	elf_file_close(f);
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
