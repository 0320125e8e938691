// SPDX-License-Identifier: MIT
/*
 * The list of the kernel's symbols is read once. Files are opened by the way that the process has
 * to them (/proc/PID/root), one after the other: the few stacks that are shown have few files.
 */
#include "cmd/monitor/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/proc_text.h"
#include "elf/elf_file.h"
#include "symbolize/kallsyms.h"

#define KALLSYMS_MAX_BYTES ((size_t)256 << 20)
#define MAPS_MAX_BYTES	   ((size_t)16 << 20)
/* A process begins at a tick, of which there are a hundred a second. */
#define START_SLACK_NS (20 * NS_PER_MS)

struct stack_names {
	struct watch *watch;
	struct buf kallsyms;
	struct buf maps; /* of maps_pid */
	uint32_t maps_pid;
	const char *no_maps;   /* why they are not there; NULL: they are */
	struct elf_file *file; /* the last one */
	char *path;
};

int stack_names_new(struct watch *w, struct stack_names **ret)
{
	struct stack_names *n = calloc(1, sizeof(*n));

	if (!n)
		return error_memory(NULL);
	n->watch = w;
	/* Without it kernel frames are addresses. */
	if (io_read_file("/proc/kallsyms", KALLSYMS_MAX_BYTES, &n->kallsyms))
		buf_reset(&n->kallsyms);
	*ret = n;
	return 0;
}

void stack_names_free(struct stack_names *n)
{
	if (!n)
		return;
	buf_release(&n->kallsyms);
	buf_release(&n->maps);
	elf_file_close(n->file);
	free(n->path);
	free(n);
}

static int by_address(const void *left, const void *right)
{
	const struct kallsyms_match *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void put_kernel_frame(
	uint64_t address, const struct kallsyms_match *matches, size_t count, struct buf *out)
{
	const struct kallsyms_match *m = matches;

	while (m < matches + count && m->address != address)
		m++;
	if (m < matches + count && m->name)
		buf_printf(out, "%.*s+0x%" PRIx64 " [kernel]\n", (int)m->name_length, m->name,
			address - m->start);
	else
		buf_printf(out, "0x%" PRIx64 " [kernel]\n", address);
}

static void put_kernel(
	struct stack_names *n, const uint64_t *addresses, size_t count, struct buf *out)
{
	struct kallsyms_match matches[MONITOR_STACK_DEPTH] = {0};

	for (size_t i = 0; i < count; i++)
		matches[i].address = addresses[i];
	qsort(matches, count, sizeof(matches[0]), by_address);
	kallsyms_match(buf_text(&n->kallsyms), n->kallsyms.size, matches, count);
	for (size_t i = 0; i < count; i++)
		put_kernel_frame(addresses[i], matches, count, out);
}

/* ------------------------------------------------------------------ user code */

/* When a process began, by CLOCK_MONOTONIC; 0: it is gone. */
static uint64_t start_of(uint32_t pid)
{
	struct proc_stat stat;
	struct timespec boot;
	uint64_t now_ns = clock_now_ns(), asleep_ns, start_ns = 0;

	if (proc_stat_read(pid, &stat))
		start_ns = proc_ticks_ns(stat.start_ticks);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	asleep_ns = (uint64_t)boot.tv_sec * NS_PER_SECOND + (uint64_t)boot.tv_nsec - now_ns;
	return start_ns > asleep_ns ? start_ns - asleep_ns : start_ns ? 1 : 0;
}

static void read_maps(struct stack_names *n, uint32_t pid, uint64_t time_ns)
{
	uint64_t start_ns = start_of(pid);
	char path[32];

	buf_reset(&n->maps);
	n->maps_pid = pid;
	n->no_maps = "the process has ended";
	if (!start_ns || start_ns > time_ns + START_SLACK_NS)
		return;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (io_read_file(path, MAPS_MAX_BYTES, &n->maps)) {
		buf_reset(&n->maps);
		n->no_maps = "what the process maps cannot be read";
	} else if (n->maps.size) { /* a process that has ended and is not waited for maps nothing */
		n->no_maps = NULL;
	}
}

struct mapped {
	uint64_t start, offset;
	char path[4096];
};

static bool find_mapping(const struct buf *maps, uint64_t address, struct mapped *ret)
{
	for (const char *line = buf_text(maps); *line;) {
		size_t length = strcspn(line, "\n");
		struct proc_mapping m;

		if (proc_mapping_parse(line, length, &m) && m.executable && address >= m.start &&
			address < m.end && m.path_size < sizeof(ret->path)) {
			ret->start = m.start;
			ret->offset = m.offset;
			memcpy(ret->path, m.path, m.path_size);
			ret->path[m.path_size] = '\0';
			return true;
		}
		line += length + (line[length] != '\0');
	}
	return false;
}

static struct elf_file *open_file(struct stack_names *n, uint32_t pid, const char *path)
{
	char *full;

	if (asprintf(&full, "/proc/%u/root%s", pid, path) < 0)
		return NULL;
	if (n->path && !strcmp(n->path, full)) {
		free(full);
		return n->file;
	}
	elf_file_close(n->file);
	free(n->path);
	n->path = full;
	if (elf_file_open(&n->file, full))
		n->file = NULL;
	return n->file;
}

/* The function at an address, or NULL, and the address in it. Without a function that is an address
 * in the file, as addr2line takes it; where the file cannot be read, an offset in it. */
static const char *function_of(struct stack_names *n, uint32_t pid, const struct mapped *m,
	uint64_t address, uint64_t *ret_at)
{
	struct elf_file *f = m->path[0] == '/' ? open_file(n, pid, m->path) : NULL;
	uint64_t vaddr, start;
	const char *name;

	*ret_at = address - m->start + m->offset;
	if (!f || elf_file_offset_to_vaddr(f, *ret_at, &vaddr))
		return NULL;
	name = elf_file_function_at(f, vaddr, &start);
	*ret_at = name ? vaddr - start : vaddr;
	return name;
}

static const char *why_not_named(
	struct stack_names *n, uint32_t pid, uint64_t time_ns, uint64_t leaf)
{
	struct mapped m;

	if (n->maps_pid != pid)
		read_maps(n, pid, time_ns);
	if (n->no_maps || find_mapping(&n->maps, leaf, &m))
		return n->no_maps;
	return "this code is not there any more: another program now?";
}

static void put_function(const char *name, struct buf *out)
{
	struct buf readable = BUF_INIT;

	demangle(name, &readable);
	printable_puts(out, buf_text(&readable));
	buf_release_for(&readable, out);
}

/* `called`: the address is where a call returns to, so the call is before it. */
static void put_user_frame(
	struct stack_names *n, uint32_t pid, uint64_t address, bool called, struct buf *out)
{
	struct mapped m;
	uint64_t at = address - called, offset;
	const char *name, *slash;

	if (!find_mapping(&n->maps, at, &m)) {
		buf_printf(out, "0x%" PRIx64 "\n", address);
		return;
	}
	slash = strrchr(m.path, '/');
	slash = slash && m.path[0] == '/' ? slash + 1 : m.path[0] ? m.path : "anonymous";
	name = function_of(n, pid, &m, at, &offset);
	if (name)
		put_function(name, out);
	else
		printable_puts(out, slash);
	buf_printf(out, "+0x%" PRIx64, offset + called);
	if (name) {
		buf_puts(out, " [");
		printable_puts(out, slash);
		buf_putc(out, ']');
	}
	buf_putc(out, '\n');
}

const char *stack_names_write(struct stack_names *n, int32_t kernel_stack, int32_t user_stack,
	uint32_t pid, uint64_t time_ns, struct buf *out)
{
	uint64_t addresses[MONITOR_STACK_DEPTH];
	size_t count = kernel_stack < 0 ? 0 : watch_stack(n->watch, kernel_stack, addresses);
	const char *why_not;

	put_kernel(n, addresses, count, out);
	count = user_stack < 0 ? 0 : watch_stack(n->watch, user_stack, addresses);
	why_not = count ? why_not_named(n, pid, time_ns, addresses[0]) : NULL;
	for (size_t i = 0; i < count; i++) {
		if (why_not)
			buf_printf(out, "0x%" PRIx64 "\n", addresses[i]);
		else
			put_user_frame(n, pid, addresses[i], i > 0, out);
	}
	return why_not;
}
