// SPDX-License-Identifier: MIT
/*
 * The locations without a name (with inlines: without a line) are sorted by module and address, and
 * each module is opened once:
 *
 *	locations -> [(module, address, id)] -> sort -> one run per module -> one pass over its symbols
 *
 * All kernel locations, of whatever module, are one run. Runs with missing names are processed once
 * more after servers were asked for debug files.
 *
 * Names are asked for in requests of many places: one for a module with a table of symbols, and for
 * one without it that and the search for its debug file.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "elf/kernel_id.h"
#include "profile/runtimes.h"
#include "sandbox/reader.h"
#include "symbolize/fetch.h"
#include "symbolize/find_module.h"
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
	struct name_files files;
	uint64_t unreadable; /* modules whose files the sandbox could not read */
	struct vec(struct nameless) nameless;
	struct vec(struct run) lacking; /* of which servers may know more */
	struct vec(uint64_t) places;	/* that are asked about, */
	struct vec(uint32_t) asked;	/* and the ids of their locations */
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

	if (nameless && s->o->stripped && f->fd >= 0 && !f->facts.has_symtab)
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

static int want(struct symbolizer *s, const struct nameless *p)
{
	int error = vec_push(&s->places, p->address);

	return error ?: vec_push(&s->asked, p->location);
}

static int gather_lineless(struct symbolizer *s, const struct run *run)
{
	int error = 0;

	s->places.count = s->asked.count = 0;
	for (size_t i = 0; !error && i < run->count; i++)
		if (!profile_writer_location(s->w, run->items[i].location)->line)
			error = want(s, &run->items[i]);
	return error;
}

static int read_lines(struct symbolizer *s, const struct found_module *f)
{
	const struct module_places places = {s->places.items, s->places.count};
	const struct lines_reader r = {s->asked.count, add_frames, s};
	uint64_t *vaddrs = calloc(places.count, sizeof(*vaddrs));
	struct names_question q;
	int error;

	if (!vaddrs)
		return -ENOMEM;
	report_progress(s, "reading lines of %s", f->path);
	q = found_module_question(f, &places, vaddrs);
	error = name_files_lines(&s->files, &q, s->o->dwarf_limit_ns, &r);
	free(vaddrs);
	return error;
}

/* A file that fails is counted, and only what is left of its results is lost. */
static int add_lines(struct symbolizer *s, const struct found_module *f, const struct run *run)
{
	int error = gather_lineless(s, run);

	if (error || !f->facts.has_dwarf || !s->asked.count || !dwarf_supported())
		return error;
	error = read_lines(s, f);
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
static int add_place(void *context, size_t n, const char *name, size_t length, uint64_t function)
{
	struct symbolizer *s = context;
	uint32_t location = s->asked.items[n];

	if (has_name(s, location))
		return 0;
	if (name)
		return add_name(s, location, name, length);
	if (profile_writer_location(s->w, location)->function == function)
		return 0;
	return profile_add_function_start(s->w, location, function);
}

/* The places of a run from `first` on, as many as one request may have. */
static int gather_places(struct symbolizer *s, const struct run *run, size_t first)
{
	int error = 0;

	s->places.count = s->asked.count = 0;
	for (size_t i = first; !error && i < run->count && s->places.count < PLACES_MAX; i++)
		error = want(s, &run->items[i]);
	return error;
}

static struct module_places gathered(const struct symbolizer *s)
{
	return (struct module_places){s->places.items, s->places.count};
}

/* -EPROTO is of a process that was taken over: what came before it counts. */
static int add_names(struct symbolizer *s, const struct buf *names, size_t skipped)
{
	const struct names_reader r = {s->asked.count, add_place, s};
	int error = names_read(&r, names->data, names->size, skipped);

	s->files.failures += error == -EPROTO;
	return error == -EPROTO ? 0 : error;
}

/* The first places were asked about when the file was found. */
static int name_locations(struct symbolizer *s, struct found_module *f, const struct run *run)
{
	int error = add_names(s, &f->names, sizeof(f->facts));

	for (size_t first = s->asked.count; !error && first < run->count && !is_stopped(s);) {
		struct module_places places;

		error = gather_places(s, run, first);
		places = gathered(s);
		first += places.count;
		if (error || found_module_ask(f, &s->search, &places))
			break;
		error = add_names(s, &f->names, sizeof(f->facts));
	}
	return error;
}

/* For whoever names the rest later, without the file. */
static int note_segments(struct symbolizer *s, const struct found_module *f, uint32_t module)
{
	struct profile_segment segment = {.module = module};
	uint32_t id;
	int error = 0;

	if (f->facts.is_debug_file || f->segments.count)
		return 0;
	for (uint32_t n = 0; !error && n < f->facts.code_count; n++) {
		segment.offset = f->facts.code[n].offset;
		segment.size = f->facts.code[n].size;
		segment.vaddr = f->facts.code[n].vaddr;
		error = profile_add_segment(s->w, &segment, &id);
	}
	return error;
}

static bool may_ask_servers(const struct symbolizer *s, const struct profile_module *m)
{
	return s->o->servers_limit_ns && m->build_id_size >= 8 && m->kind == MODULE_FILE &&
	       fetch_wanted();
}

static int name_found(
	struct symbolizer *s, struct found_module *f, const struct run *run, bool *ret_lacking)
{
	int error = note_segments(s, f, run->items->module);

	error = error ?: name_locations(s, f, run);
	if (!error && s->o->inlines)
		error = add_lines(s, f, run);
	*ret_lacking = (s->o->inlines && !f->facts.has_dwarf) ||
		       (!f->facts.has_symtab && count_nameless(s, run));
	return error;
}

static int find(
	struct symbolizer *s, const struct run *run, const char *fetched, struct found_module *ret)
{
	struct module_places places;
	int error = gather_places(s, run, 0);

	*ret = (struct found_module){.fd = -1, .debug_fd = -1};
	places = gathered(s);
	return error ?: find_module(ret, &s->search, run->items->module, fetched, &places);
}

/* `fetched` is what a server had, or NULL the first time. */
static int name_file(struct symbolizer *s, struct run *run, const char *fetched)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);
	struct found_module f;
	bool lacking = true;
	int error;

	if (!m || (m->kind != MODULE_FILE && m->kind != MODULE_VDSO))
		return 0;
	error = find(s, run, fetched, &f);
	run->program = error && !f.segments.count;
	if (!error)
		error = name_found(s, &f, run, &lacking);
	else if (error == -ENOENT)
		error = 0;
	if (!error && lacking && !fetched && may_ask_servers(s, m))
		error = vec_push(&s->lacking, *run);
	else if (!error && (f.fd < 0 || f.facts.too_large))
		count_absent(s, run);
	else if (!error && !fetched)
		report_stripped(s, &f, run);
	found_module_release(&f);
	return error;
}

/* Where a file failed it is one that could not be read, however often it was asked about. */
static int name_module(struct symbolizer *s, struct run *run, const char *fetched)
{
	uint64_t failures = s->files.failures;
	int error = name_file(s, run, fetched);

	s->unreadable += s->files.failures != failures;
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
		int found = find(s, run, NULL, &f);

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
static int open_unkept_map(struct symbolizer *s, const struct profile_module *m, int *ret_fd)
{
	struct open_later later = {.rights = {geteuid(), getegid()}};
	struct file_identity file;
	int length = 0, error;

	if (sscanf(profile_writer_string(s->w, m->path), "[anon:%" SCNu32 "]%n", &later.inner_pid,
		    &length) != 1 ||
		!length || !s->o->same_boot || !s->o->maps_to_ns)
		return -ENOENT;
	error = name_files_open_map(&s->files, &later, -1, &file, ret_fd);
	if (error ||
		(file.modified_ns >= s->o->maps_from_ns && file.modified_ns <= s->o->maps_to_ns))
		return error;
	close(*ret_fd);
	return -ENOENT;
}

static int open_kept_map(struct symbolizer *s, uint32_t module, int *ret_fd)
{
	const struct kept_files *kept = s->o->kept;
	struct open_later later;
	struct file_identity file;
	struct kept_user user;

	*ret_fd = kept_files_open_map(kept, module);
	if (*ret_fd >= 0)
		return 0;
	if (!kept_files_user(kept, module, &user))
		return -ENOENT;
	later = (struct open_later){{user.uid, user.gid}, user.inner_pid};
	return name_files_open_map(&s->files, &later, kept_files_root(kept, module), &file, ret_fd);
}

struct dump_names {
	struct symbolizer *s;
	const struct nameless *places;
};

static int add_jit_name(void *context, size_t n, const struct jit_name *name)
{
	const struct dump_names *d = context;
	uint32_t location = d->places[n].location, id, file = 0, line = name->file ? name->line : 0;
	int error = 0;

	if (has_name(d->s, location))
		return 0;
	error = profile_add_string(d->s->w, name->name, name->name_length, &id);
	if (!error && name->file)
		error = profile_add_string(d->s->w, name->file, name->file_length, &file);
	error = error ?: profile_add_symbol(d->s->w, location, id, file, line, 0);
	if (error)
		return error;
	d->s->stats.named++;
	d->s->stats.with_lines += line != 0;
	d->s->stats.maybe_replaced += name->replaced;
	return 0;
}

/* -EPROTO is of a process that was taken over: what came before it counts. */
static int add_jit_names(
	struct symbolizer *s, const struct nameless *places, size_t count, const struct buf *names)
{
	struct dump_names names_of = {s, places};
	const struct jitdump_reader r = {count, add_jit_name, &names_of};
	bool cut = false;
	int error = jitdump_read(&r, names->data, names->size, &cut);

	s->files.failures += cut || error == -EPROTO;
	return error == -EPROTO ? 0 : error;
}

static uint64_t seen_ns(const struct symbolizer *s, uint32_t location)
{
	return s->o->seen_ns ? s->o->seen_ns(s->o->context, location) : UINT64_MAX;
}

/* By the jitdump that a process writes: places of at most one request. */
static int name_some_by_dump(struct symbolizer *s, int fd, const struct nameless *some,
	size_t count, struct jit_place *places)
{
	struct buf names = BUF_INIT;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		places[i] = (struct jit_place){some[i].address, seen_ns(s, some[i].location)};
	if (name_files_jitdump(&s->files, fd, places, count, &names))
		s->files.failures++;
	else
		error = add_jit_names(s, some, count, &names);
	buf_release(&names);
	return error;
}

static int name_by_dump(struct symbolizer *s, const struct run *run, int fd)
{
	struct jit_place *places = calloc(JIT_PLACES_MAX, sizeof(*places));
	int error = places ? 0 : -ENOMEM;

	for (size_t first = 0, count; !error && first < run->count && !is_stopped(s);
		first += count) {
		count = run->count - first < JIT_PLACES_MAX ? run->count - first : JIT_PLACES_MAX;
		error = name_some_by_dump(s, fd, run->items + first, count, places);
	}
	free(places);
	return error;
}

static int name_by_map(struct symbolizer *s, const struct run *run, int fd)
{
	int error = 0;

	for (size_t first = 0; !error && first < run->count && !is_stopped(s);) {
		struct names_question q = {.fd = fd, .debug_fd = -1, .are_vaddrs = true};
		struct buf names = BUF_INIT;

		error = gather_places(s, run, first);
		q.places = s->places.items;
		q.count = s->places.count;
		first += q.count;
		if (!error && !name_files_map_names(&s->files, &q, &names))
			error = add_names(s, &names, 0);
		buf_release(&names);
	}
	return error;
}

static void report_nameless_jit(
	struct symbolizer *s, const struct profile_module *m, const struct run *run)
{
	size_t nameless = count_nameless(s, run);

	if (nameless && nameless >= run->count / 2 && s->o->nameless_jit &&
		strcmp(profile_writer_string(s->w, m->path), FILES_LEFT_OUT) != 0)
		s->o->nameless_jit(s->o->context, runtime_of_flags(m->flags), nameless);
}

static int name_anonymous(struct symbolizer *s, const struct run *run)
{
	const struct profile_module *m = profile_writer_module(s->w, run->items->module);
	uint64_t failures = s->files.failures;
	int dump = s->o->kept ? kept_files_dump(s->o->kept, run->items->module) : -ENOENT;
	int fd = -1, error = dump >= 0 ? name_by_dump(s, run, dump) : 0;

	s->files.failures += dump == -EACCES;
	if (error)
		return error;
	error = s->o->kept ? open_kept_map(s, run->items->module, &fd) : -ENOENT;
	if (error)
		error = open_unkept_map(s, m, &fd);
	if (!error)
		error = name_by_map(s, run, fd);
	else
		error = 0;
	if (fd >= 0)
		close(fd);
	s->unreadable += s->files.failures != failures;
	report_nameless_jit(s, m, run);
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

	for (uint32_t id = s->o->first ?: 1; id <= count; id++) {
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
	struct symbolizer s = {.w = w, .o = o, .search = {.options = o, .w = w, .files = &s.files}};
	int error;

	name_files_init(&s.files, o->opener, o->reader);
	s.files.stopped = o->stopped;
	s.files.context = o->context;
	s.search.unchanged_since_ns =
		o->unchanged_since_ns ? o->unchanged_since_ns : program_start_ns();
	error = gather(&s);
	if (!error && s.nameless.count)
		qsort(s.nameless.items, s.nameless.count, sizeof(*s.nameless.items), by_address);
	error = error ?: name_all(&s);
	if (!error && o->reader)
		error = profile_count_loss(w, LOSS_FILES_UNREADABLE, s.unreadable);
	error = error ?: profile_count_loss(w, LOSS_JIT_REPLACED, s.stats.maybe_replaced);
	vec_release(&s.nameless);
	vec_release(&s.lacking);
	vec_release(&s.places);
	vec_release(&s.asked);
	name_files_release(&s.files);
	if (error == -ENOMEM)
		return error_errno(error, "cannot name the code of the profile");
	if (error)
		return error;
	*ret = s.stats;
	return 0;
}
