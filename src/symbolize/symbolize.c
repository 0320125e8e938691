// SPDX-License-Identifier: MIT
/*
 * The locations without a name (with inlines: without a line) are sorted by module and address, and
 * each module is opened once:
 *
 *	locations -> [(module, address, id)] -> sort -> one run per module -> one pass over its symbols
 *
 * All kernel locations, of whatever module, are one run. Runs with
 * missing names are processed once more after servers were asked for debug files.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "elf/kernel_id.h"
#include "elf/perf_map.h"
#include "symbolize/fetch.h"
#include "symbolize/find_module.h"
#include "symbolize/inlines.h"
#include "symbolize/kallsyms.h"

#define KALLSYMS_MAX_BYTES ((size_t)256 << 20)

/* Sorts before every module. */
#define KERNEL_RUN 0

/* A location whose name, or lines, are to be found. */
struct nameless {
	uint64_t address;
	uint32_t module; /* KERNEL_RUN for kernel frames */
	uint32_t location;
};

/* The nameless locations of one module. */
struct run {
	const struct nameless *items;
	size_t count;
	bool program; /* its file is missing, not its debug file */
};

struct symbolizer {
	struct profile_writer *w;
	const struct symbolize_options *o;
	struct symbolize_stats stats;
	struct module_search search;
	struct vec(struct nameless) nameless;
	struct vec(struct run) lacking; /* of which servers may know more */
	struct vec(uint64_t) vaddrs;	/* of the locations whose lines are asked for, */
	struct vec(uint32_t) asked;	/* and their ids */
};

/*
 * When this program started, as file times count. /proc gives it in ticks (of 10 ms, rounded down)
 * since boot; without it (a /proc that hides) nothing counts as old enough.
 */
static uint64_t program_start_ns(void)
{
	struct timespec boot, real;
	struct proc_stat stat;
	uint64_t age_ns, start_ns = 0;

	if (proc_stat_read((uint32_t)getpid(), &stat)) {
		clock_gettime(CLOCK_BOOTTIME, &boot);
		clock_gettime(CLOCK_REALTIME, &real);
		age_ns = (uint64_t)boot.tv_sec * NS_PER_SECOND + (uint64_t)boot.tv_nsec -
			 proc_ticks_ns(stat.start_ticks);
		start_ns = (uint64_t)real.tv_sec * NS_PER_SECOND + (uint64_t)real.tv_nsec - age_ns;
	}
	return start_ns;
}

static bool is_stopped(struct symbolizer *s)
{
	if (!s->stats.stopped && s->o->stopped)
		s->stats.stopped = s->o->stopped(s->o->context);
	return s->stats.stopped;
}

static void __attribute__((format(printf, 2, 3)))
report_progress(const struct symbolizer *s, const char *format, ...)
{
	char text[512];
	va_list args;

	if (!s->o->progress)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	s->o->progress(s->o->context, text);
}

static bool has_name(const struct symbolizer *s, uint32_t location)
{
	return profile_writer_location(s->w, location)->name;
}

static size_t count_nameless(const struct symbolizer *s, const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->count; i++)
		count += !has_name(s, run->items[i].location);
	return count;
}

static void count_absent(struct symbolizer *s, const struct run *run)
{
	const struct profile_location *l = profile_writer_location(s->w, run->items->location);
	const struct profile_module *m = profile_writer_module(s->w, l->module);
	size_t nameless = count_nameless(s, run);

	if (!nameless)
		return;
	s->stats.modules_absent++;
	if (s->o->absent && m)
		s->o->absent(s->o->context, profile_writer_string(s->w, m->path), nameless);
}

/* A file that was found; its debug file may be available somewhere. */
static void report_stripped(
	struct symbolizer *s, const struct found_module *f, const struct run *run)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);
	size_t nameless = count_nameless(s, run);

	if (nameless && s->o->stripped && f->file && !elf_file_has_symtab(f->file))
		s->o->stripped(s->o->context, profile_writer_string(s->w, m->path), nameless);
}

static int add_name(struct symbolizer *s, uint32_t location, const char *name, size_t length)
{
	const struct profile_location *l = profile_writer_location(s->w, location);
	uint32_t id;
	int error = profile_add_string(s->w, name, length, &id);

	error = error ?: profile_add_symbol(s->w, location, id, l->file, l->line, l->inlined);
	if (!error)
		s->stats.named++;
	return error;
}

/* --- lines and inlined functions -------------------------------------------------------------- */

static int add_text(struct symbolizer *s, const char *text, uint32_t *ret_id)
{
	*ret_id = 0;
	return text && *text ? profile_add_string(s->w, text, strlen(text), ret_id) : 0;
}

/* The innermost function inlined at a location, with all it was inlined into. */
static int add_inlines(
	struct symbolizer *s, const struct dwarf_frame *frames, size_t count, uint32_t *ret_inlined)
{
	uint32_t inlined = 0;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct profile_inline in = {.caller = inlined, .line = frames[i].line};

		error = add_text(s, frames[i].name, &in.name);
		error = error ?: add_text(s, frames[i].file, &in.file);
		error = error ?: profile_add_inline(s->w, &in, &inlined);
	}
	*ret_inlined = inlined;
	return error;
}

static int add_frames(void *context, size_t n, const struct dwarf_frame *frames, size_t count)
{
	struct symbolizer *s = context;
	uint32_t location = s->asked.items[n], file = 0, inlined = 0;
	uint32_t name = profile_writer_location(s->w, location)->name;
	int error = 0;

	if (!name) {
		error = add_text(s, frames->name, &name);
		s->stats.named += name != 0;
	}
	error = error ?: add_text(s, frames->file, &file);
	error = error ?: add_inlines(s, frames + 1, count - 1, &inlined);
	if (error)
		return error;
	s->stats.with_lines += frames->line || inlined;
	return profile_add_symbol(s->w, location, name, file, frames->line, inlined);
}

static int ask_for_lines(struct symbolizer *s, const struct found_module *f, const struct run *run)
{
	int error = 0;

	s->vaddrs.count = s->asked.count = 0;
	for (size_t i = 0; !error && i < run->count; i++) {
		const struct nameless *p = &run->items[i];
		uint64_t vaddr;

		if (profile_writer_location(s->w, p->location)->line ||
			found_module_vaddr(f, p->address, &vaddr))
			continue;
		error = vec_push(&s->vaddrs, vaddr);
		error = error ?: vec_push(&s->asked, p->location);
	}
	return error;
}

/* *ret_lacking: there is no DWARF here. A worker that fails is counted, and only its results are
 * lost. */
static int add_lines(struct symbolizer *s, const struct found_module *f, const struct run *run,
	bool *ret_lacking)
{
	struct inlines_request r = {
		.fd = elf_file_dwarf_fd(f->file),
		.visit = add_frames,
		.context = s,
		.limits = {s->o->stopped, s->o->context, s->o->dwarf_limit_ns},
	};
	int error = ask_for_lines(s, f, run);

	*ret_lacking = r.fd < 0;
	if (error || r.fd < 0 || !s->asked.count || !dwarf_supported())
		return error;
	report_progress(s, "reading lines of %s", f->path);
	r.vaddrs = s->vaddrs.items;
	r.count = s->asked.count;
	error = inlines_read(&r);
	if (error == -EINTR)
		s->stats.stopped = true;
	else if (error == -ETIME || error == -EIO || error == -EAGAIN)
		s->stats.dwarf_failed++;
	else
		return error;
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Locations of a function without a name are at least shown as one function. */
static int note_function(
	struct symbolizer *s, const struct found_module *f, uint32_t location, uint64_t vaddr)
{
	uint64_t start;

	if (f->is_debug_file || elf_file_function_start(f->file, vaddr, &start) ||
		elf_file_vaddr_to_offset(f->file, start, &start) ||
		profile_writer_location(s->w, location)->function == start)
		return 0;
	return profile_add_function_start(s->w, location, start);
}

static int name_locations(struct symbolizer *s, const struct found_module *f, const struct run *run)
{
	int error = 0;

	for (size_t i = 0; !error && i < run->count; i++) {
		const struct nameless *p = &run->items[i];
		uint64_t vaddr, start;
		const char *name;

		if (has_name(s, p->location) || found_module_vaddr(f, p->address, &vaddr))
			continue;
		name = elf_file_function_at(f->file, vaddr, &start);
		error = name ? add_name(s, p->location, name, strlen(name))
			     : note_function(s, f, p->location, vaddr);
	}
	return error;
}

/* For whoever names the rest later, without the file. */
static int note_segments(struct symbolizer *s, const struct found_module *f, uint32_t module)
{
	struct profile_segment segment = {.module = module};
	struct elf_code code;
	uint32_t id;
	int error = 0;

	if (f->is_debug_file || f->segments.count)
		return 0;
	for (size_t n = 0; !error && elf_file_code_at(f->file, n, &code); n++) {
		segment.offset = code.offset;
		segment.size = code.size;
		segment.vaddr = code.vaddr;
		error = profile_add_segment(s->w, &segment, &id);
	}
	return error;
}

static bool may_ask_servers(const struct symbolizer *s, const struct profile_module *m)
{
	return s->o->servers_limit_ns && m->build_id_size >= 8 && m->kind == MODULE_FILE &&
	       fetch_wanted();
}

static int name_found(struct symbolizer *s, const struct found_module *f, const struct run *run,
	bool *ret_lacking)
{
	bool no_dwarf = false;
	int error = note_segments(s, f, run->items->module);

	error = error ?: name_locations(s, f, run);
	if (!error && s->o->inlines)
		error = add_lines(s, f, run, &no_dwarf);
	*ret_lacking = no_dwarf || (!elf_file_has_symtab(f->file) && count_nameless(s, run));
	return error;
}

/* `debug_file` is what a server had, or NULL the first time. */
static int name_module(struct symbolizer *s, struct run *run, const char *debug_file)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);
	struct found_module f;
	bool lacking = true;
	int error;

	if (!m || (m->kind != MODULE_FILE && m->kind != MODULE_VDSO))
		return 0;
	error = find_module(&f, &s->search, run->items->module, debug_file);
	run->program = error && !f.segments.count;
	if (!error)
		error = name_found(s, &f, run, &lacking);
	else if (error == -ENOENT)
		error = 0;
	if (!error && lacking && !debug_file && may_ask_servers(s, m))
		error = vec_push(&s->lacking, *run);
	else if (!error && (!f.file || elf_file_too_large(f.file)))
		count_absent(s, run);
	else if (!error && !debug_file)
		report_stripped(s, &f, run);
	found_module_release(&f);
	return error;
}

/* --- servers ---------------------------------------------------------------------------------- */

static int name_by_debug_file(void *context, size_t n, const char *path)
{
	struct symbolizer *s = context;
	struct run run = s->lacking.items[n];

	s->stats.fetched++;
	report_progress(s, "asked for debug files: %zu of %zu", n + 1, s->lacking.count);
	return name_module(s, &run, path);
}

static int ask_servers(struct symbolizer *s)
{
	struct fetch_item *items = calloc(s->lacking.count, sizeof(*items));
	struct fetch_request r = {
		.items = items,
		.count = s->lacking.count,
		.visit = name_by_debug_file,
		.context = s,
		.limits = {s->o->stopped, s->o->context, s->o->servers_limit_ns},
		.user = s->o->user,
	};
	int error;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < r.count; i++) {
		const struct run *run = &s->lacking.items[i];
		const struct profile_module *m = profile_writer_module(s->w, run->items->module);

		items[i].program = run->program;
		items[i].build_id_size = m->build_id_size;
		memcpy(items[i].build_id, m->build_id, m->build_id_size);
	}
	report_progress(s, "asking for %zu debug files", r.count);
	error = fetch_files(&r);
	free(items);
	if (error == -EINTR)
		s->stats.stopped = true;
	return error == -EINTR || error == -ETIME || error == -EIO || error == -EAGAIN ||
			       error == -ENOSYS
		       ? 0
		       : error;
}

/* What no server had either is missing in the end. */
static int name_lacking(struct symbolizer *s)
{
	int error = is_stopped(s) ? 0 : ask_servers(s);

	vec_foreach (run, &s->lacking) {
		struct found_module f;
		int found = find_module(&f, &s->search, run->items->module, NULL);

		if (!error && found == -ENOENT)
			count_absent(s, run);
		else if (!error && !found)
			report_stripped(s, &f, run);
		found_module_release(&f);
	}
	return error;
}

/* --- code made at run time -------------------------------------------------------------------- */

/* A map that was not kept may be that of another process with this pid: its time shows that. */
static int open_unkept_map(const struct symbolizer *s, const struct profile_module *m)
{
	int root, fd, length = 0;
	struct stat st;
	uint64_t modified_ns;
	uint32_t pid;

	if (sscanf(profile_writer_string(s->w, m->path), "[anon:%" SCNu32 "]%n", &pid, &length) !=
			1 ||
		!length || !s->o->same_boot || !s->o->maps_to_ns)
		return -ENOENT;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ? -errno : perf_map_open(root, pid, geteuid());
	if (root >= 0)
		close(root);
	if (fd < 0 || fstat(fd, &st))
		return fd;
	modified_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	if (modified_ns >= s->o->maps_from_ns && modified_ns <= s->o->maps_to_ns)
		return fd;
	close(fd);
	return -ENOENT;
}

/* The end of it when it is larger than any. */
static int read_map(int fd, struct buf *b)
{
	struct stat st;
	size_t size;
	off_t at = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	size = (uint64_t)st.st_size < PERF_MAP_MAX_BYTES ? (size_t)st.st_size : PERF_MAP_MAX_BYTES;
	at = st.st_size - (off_t)size;
	if (!buf_reserve(b, size + 1))
		return -ENOMEM;
	got = io_pread_full(fd, b->data, size, at);
	b->size = got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

static int add_matches(
	struct symbolizer *s, const struct run *run, const struct perf_map_match *matches)
{
	int error = 0;

	for (size_t i = 0; !error && i < run->count; i++)
		if (matches[i].name && !has_name(s, run->items[i].location))
			error = add_name(
				s, run->items[i].location, matches[i].name, matches[i].name_length);
	return error;
}

static int name_by_map(struct symbolizer *s, const struct run *run, int fd)
{
	struct perf_map_match *matches = calloc(run->count, sizeof(*matches));
	struct buf text = BUF_INIT;
	int error = matches ? read_map(fd, &text) : -ENOMEM;

	for (size_t i = 0; matches && i < run->count; i++)
		matches[i].address = run->items[i].address;
	error = error ?: perf_map_match(text.data, text.size, matches, run->count);
	if (!error)
		error = add_matches(s, run, matches);
	else if (error != -ENOMEM)
		error = 0;
	buf_release(&text);
	free(matches);
	return error;
}

static int name_anonymous(struct symbolizer *s, const struct run *run)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);
	int fd = s->o->kept ? kept_files_open_map(s->o->kept, run->items->module) : -ENOENT, error;

	if (fd < 0)
		fd = open_unkept_map(s, m);
	if (fd < 0)
		return 0;
	error = name_by_map(s, run, fd);
	close(fd);
	return error;
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* Its addresses are others after every boot. */
static bool is_running_kernel(const struct symbolizer *s, const struct run *run)
{
	const struct profile_location *l = profile_writer_location(s->w, run->items->location);
	const struct profile_module *m = profile_writer_module(s->w, l->module);
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = kernel_build_id(id);

	if (!s->o->same_boot)
		return false;
	return !m || !m->build_id_size || !size ||
	       (size == m->build_id_size && !memcmp(id, m->build_id, size));
}

static int add_kernel_matches(
	struct symbolizer *s, const struct run *run, const struct kallsyms_match *matches)
{
	int error = 0;

	for (size_t i = 0; !error && i < run->count; i++)
		if (matches[i].name)
			error = add_name(
				s, run->items[i].location, matches[i].name, matches[i].name_length);
	return error;
}

/* What the kernel shows depends on who opened it. */
static int read_kernel_symbols(int opened, struct buf *text)
{
	return opened ? io_read_rest(opened, KALLSYMS_MAX_BYTES, text)
		      : io_read_file("/proc/kallsyms", KALLSYMS_MAX_BYTES, text);
}

static int name_kernel(struct symbolizer *s, const struct run *run)
{
	struct kallsyms_match *matches = calloc(run->count, sizeof(*matches));
	struct buf text = BUF_INIT;
	int error = -ENOENT;

	if (!matches)
		return -ENOMEM;
	for (size_t i = 0; i < run->count; i++)
		matches[i].address = run->items[i].address;
	if (is_running_kernel(s, run))
		error = read_kernel_symbols(s->o->kernel_symbols, &text);
	if (!error) {
		kallsyms_match(buf_text(&text), text.size, matches, run->count);
		error = add_kernel_matches(s, run, matches);
	} else if (error != -ENOMEM) {
		error = 0;
	}
	if (!error && count_nameless(s, run) == run->count)
		count_absent(s, run);
	buf_release(&text);
	free(matches);
	return error;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Whether it is code whose name (or lines) can be looked up. */
static bool is_wanted(const struct symbolizer *s, const struct profile_location *l)
{
	if (!l || (l->kind != FRAME_USER && l->kind != FRAME_KERNEL))
		return false;
	return !l->name || (s->o->inlines && l->kind == FRAME_USER && !l->line);
}

static int gather(struct symbolizer *s)
{
	uint32_t count = profile_writer_location_count(s->w);

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_location *l = profile_writer_location(s->w, id);
		struct nameless p;

		if (!is_wanted(s, l))
			continue;
		s->stats.locations++;
		if (l->kind == FRAME_USER && !l->module)
			continue;
		p = (struct nameless){
			.address = l->address,
			.module = l->kind == FRAME_KERNEL ? KERNEL_RUN : l->module,
			.location = id,
		};
		if (vec_push(&s->nameless, p))
			return -ENOMEM;
	}
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return 0;
}

static int name_run(struct symbolizer *s, struct run *run)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);

	if (run->items->module == KERNEL_RUN)
		return name_kernel(s, run);
	if (m && m->kind == MODULE_ANON)
		return name_anonymous(s, run);
	return name_module(s, run, NULL);
}

static int name_all(struct symbolizer *s)
{
	const struct nameless *all = s->nameless.items;
	size_t count = s->nameless.count;
	int error = 0;

	for (size_t first = 0, next; !error && first < count && !is_stopped(s); first = next) {
		struct run run = {.items = all + first};

		for (next = first + 1; next < count && all[next].module == all[first].module;)
			next++;
		run.count = next - first;
		error = name_run(s, &run);
	}
	return error || !s->lacking.count ? error : name_lacking(s);
}

int symbolize_profile(
	struct profile_writer *w, const struct symbolize_options *o, struct symbolize_stats *ret)
{
	struct symbolizer s = {.w = w, .o = o, .search = {.options = o, .w = w}};
	int error;

	s.search.unchanged_since_ns =
		o->unchanged_since_ns ? o->unchanged_since_ns : program_start_ns();
	error = gather(&s);
	if (!error && s.nameless.count)
		qsort(s.nameless.items, s.nameless.count, sizeof(*s.nameless.items), by_address);
	error = error ?: name_all(&s);
	vec_release(&s.nameless);
	vec_release(&s.lacking);
	vec_release(&s.vaddrs);
	vec_release(&s.asked);
	if (error == -ENOMEM)
		return error_errno(error, "cannot name the code of the profile");
	if (error)
		return error;
	*ret = s.stats;
	return 0;
}
