// SPDX-License-Identifier: MIT
/* The list of the kernel's symbols is read once. */
#include "cmd/monitor/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/proc_text.h"
#include "cmd/monitor/code_files.h"
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
	const char *no_maps; /* why they are not there; NULL: they are */
	struct code_files *files;
};

int stack_names_new(struct watch *w, const char *program, struct stack_names **ret)
{
	struct stack_names *n = calloc(1, sizeof(*n));
	int error = n ? code_files_new(program, &n->files) : error_memory(NULL);

	if (error) {
		free(n);
		return error;
	}
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
	code_files_free(n->files);
	free(n);
}

const char *stack_names_refusal(const struct stack_names *n)
{
	return code_files_refusal(n->files);
}

uint64_t stack_names_unreadable(const struct stack_names *n)
{
	return code_files_unreadable(n->files);
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

static bool find_mapping(const struct buf *maps, uint64_t address, struct proc_mapping *ret)
{
	for (const char *line = buf_text(maps); *line;) {
		size_t length = strcspn(line, "\n");

		if (proc_mapping_parse(line, length, ret) && ret->executable &&
			address >= ret->start && address < ret->end)
			return true;
		line += length + (line[length] != '\0');
	}
	return false;
}

static const char *why_not_named(
	struct stack_names *n, uint32_t pid, uint64_t time_ns, uint64_t leaf)
{
	struct proc_mapping m;

	if (n->maps_pid != pid)
		read_maps(n, pid, time_ns);
	if (n->no_maps || find_mapping(&n->maps, leaf, &m))
		return n->no_maps;
	return "this code is not there any more: another program now?";
}

/* A frame of a process. Where another one was called from (all but the leaf), `back` is 1: the
 * address is where the call returns to, so the call is before it. */
struct frame {
	uint64_t address, back;
	bool mapped;
	struct proc_mapping mapping; /* its path is in the text of the maps */
	struct code_place place;
};

static bool is_of_a_file(const struct frame *f)
{
	return f->mapped && f->mapping.path_size && f->mapping.path[0] == '/';
}

static bool is_of_the_same_file(const struct frame *f, const struct frame *other)
{
	const struct proc_mapping *a = &f->mapping, *b = &other->mapping;

	return is_of_a_file(other) && a->inode == b->inode && a->major == b->major &&
	       a->minor == b->minor && a->path_size == b->path_size &&
	       !memcmp(a->path, b->path, a->path_size);
}

static void find_frames(
	const struct stack_names *n, const uint64_t *addresses, size_t count, struct frame *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct frame *f = &ret[i];

		f->address = addresses[i];
		f->back = i > 0;
		f->mapped = find_mapping(&n->maps, f->address - f->back, &f->mapping);
		f->place.offset = f->address - f->back - f->mapping.start + f->mapping.offset;
		f->place.at = f->place.offset;
	}
}

/* All frames of a file at once. */
static void name_frames(struct stack_names *n, uint32_t pid, struct frame *frames, size_t count)
{
	bool asked[MONITOR_STACK_DEPTH] = {0};

	for (size_t i = 0; i < count; i++) {
		struct code_place *places[MONITOR_STACK_DEPTH];
		size_t same = 0;

		if (asked[i] || !is_of_a_file(&frames[i]))
			continue;
		for (size_t j = i; j < count; j++)
			if (is_of_the_same_file(&frames[i], &frames[j])) {
				places[same++] = &frames[j].place;
				asked[j] = true;
			}
		code_files_name(n->files, pid, &frames[i].mapping, places, same);
	}
}

static void put_function(const char *name, struct buf *out)
{
	struct buf readable = BUF_INIT;

	demangle(name, &readable);
	printable_puts(out, buf_text(&readable));
	buf_release_for(&readable, out);
}

/* The last part of the path of a file; another path is shown as it is. */
static void put_mapping(const struct proc_mapping *m, struct buf *out)
{
	char *path = strndup(m->path, m->path_size), *slash;

	if (!path) {
		out->failed = true;
		return;
	}
	slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	printable_puts(out, slash ? slash + 1 : path[0] ? path : "anonymous");
	free(path);
}

static void put_user_frame(const struct frame *f, struct buf *out)
{
	if (!f->mapped) {
		buf_printf(out, "0x%" PRIx64 "\n", f->address);
		return;
	}
	if (f->place.name)
		put_function(f->place.name, out);
	else
		put_mapping(&f->mapping, out);
	buf_printf(out, "+0x%" PRIx64, f->place.at + f->back);
	if (f->place.name) {
		buf_puts(out, " [");
		put_mapping(&f->mapping, out);
		buf_putc(out, ']');
	}
	buf_putc(out, '\n');
}

static void put_user(struct stack_names *n, uint32_t pid, const uint64_t *addresses, size_t count,
	struct buf *out)
{
	struct frame frames[MONITOR_STACK_DEPTH] = {0};

	find_frames(n, addresses, count, frames);
	name_frames(n, pid, frames, count);
	for (size_t i = 0; i < count; i++) {
		put_user_frame(&frames[i], out);
		free(frames[i].place.name);
	}
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
	if (!why_not)
		put_user(n, pid, addresses, count, out);
	for (size_t i = 0; why_not && i < count; i++)
		buf_printf(out, "0x%" PRIx64 "\n", addresses[i]);
	return why_not;
}
