// SPDX-License-Identifier: MIT
/*
 * A file is looked for in this order: the one that was kept open; the one of that name; under the
 * build id, the program or its debug file in the folders of debug files; the one that a server
 * sent. A separate debug file, where it is needed: the one that a server sent; under the build id;
 * then (".gnu_debuglink") by the name that the file has for it, at the places that GDB's manual
 * describes under "Debugging Information in Separate Files".
 *
 * Each one is opened (name_files.h), and asked for names. What it says of itself then is whether it
 * is the one.
 */
#include "symbolize/find_module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user.h"
#include "elf/debug_file.h"
#include "elf/vdso.h"
#include "sandbox/reader.h"

#define DELETED_SUFFIX " (deleted)"

/* What is looked for, and where. */
struct hunt {
	struct found_module *found;
	const struct module_search *s;
	const struct profile_module *module;
	const struct module_places *places;
	struct name_paths paths;
	uint32_t named; /* the first paths are those that the module has itself */
};

/* --- asking ----------------------------------------------------------------------------------- */

/* The address that symbols of a debug file count by. */
static uint64_t vaddr_of(const struct found_module *f, uint64_t offset)
{
	vec_foreach (s, &f->segments)
		if (offset >= s->offset && offset - s->offset < s->size)
			return offset - s->offset + s->vaddr;
	return UINT64_MAX;
}

struct names_question found_module_question(
	const struct found_module *f, const struct module_places *places, uint64_t *vaddrs)
{
	struct names_question q = {.fd = f->fd,
		.debug_fd = f->debug_fd,
		.are_vaddrs = f->facts.is_debug_file,
		.places = places->offsets,
		.count = places->count};

	if (!q.are_vaddrs)
		return q;
	for (size_t i = 0; i < places->count; i++)
		vaddrs[i] = vaddr_of(f, places->offsets[i]);
	q.places = vaddrs;
	return q;
}

int found_module_ask(
	struct found_module *f, const struct module_search *s, const struct module_places *places)
{
	uint64_t *vaddrs = calloc(places->count + 1, sizeof(*vaddrs));
	bool too_large = f->facts.too_large;
	struct names_question q;
	int error;

	if (!vaddrs)
		return -ENOMEM;
	q = found_module_question(f, places, vaddrs);
	buf_reset(&f->names);
	error = name_files_names(s->files, &q, &f->names);
	error = error ?: names_read_facts(f->names.data, f->names.size, &f->facts);
	f->facts.too_large |= too_large;
	free(vaddrs);
	return error;
}

/* --- paths ------------------------------------------------------------------------------------ */

static void begin_path(struct name_paths *p, char mark)
{
	buf_append(&p->text, &mark, 1);
}

static void end_path(struct name_paths *p)
{
	buf_append(&p->text, "", 1);
}

static void add_path(struct name_paths *p, char mark, const char *path)
{
	begin_path(p, mark);
	buf_puts(&p->text, path);
	end_path(p);
}

/* "/usr/lib/debug/.build-id/12/345678.debug" */
static void add_build_id(struct name_paths *p, char mark, const char *folder,
	const struct profile_module *m, const char *suffix)
{
	begin_path(p, mark);
	buf_printf(&p->text, "%s/.build-id/%02x/", folder, m->build_id[0]);
	for (size_t i = 1; i < m->build_id_size; i++)
		buf_printf(&p->text, "%02x", m->build_id[i]);
	buf_puts(&p->text, suffix);
	end_path(p);
}

static void add_build_ids(struct hunt *h, const char *suffix)
{
	const struct symbolize_options *o = h->s->options;

	if (h->module->build_id_size < 2)
		return;
	for (size_t i = 0; i < o->folder_count; i++)
		add_build_id(&h->paths, OPEN_OURS, o->folders[i], h->module, suffix);
	if (h->paths.root >= 0)
		add_build_id(&h->paths, OPEN_BELOW, DEBUG_FILE_ROOT, h->module, suffix);
	add_build_id(&h->paths, OPEN_OURS, DEBUG_FILE_ROOT, h->module, suffix);
}

/* FOLDER/path/of/program, FOLDER/program, and with ".debug" behind them. */
static void add_in_folders(struct hunt *h)
{
	const struct symbolize_options *o = h->s->options;
	const char *path = h->found->path, *slash = strrchr(path, '/');

	for (size_t i = 0; *path == '/' && i < o->folder_count; i++)
		for (int form = 0; form < 4; form++) {
			begin_path(&h->paths, OPEN_OURS);
			buf_printf(&h->paths.text, "%s/%s%s", o->folders[i],
				form & 1 ? slash + 1 : path + 1, form & 2 ? ".debug" : "");
			end_path(&h->paths);
		}
}

static void add_names(struct hunt *h)
{
	const char *path = h->found->path;

	if (*path != '/')
		return;
	if (h->paths.root >= 0)
		add_path(&h->paths, OPEN_BELOW, path);
	add_path(&h->paths, OPEN_OURS, path);
	h->named = h->paths.root >= 0 ? 2 : 1;
}

/* Where a debug link is looked for: beside the file, and in folders as under /. */
static void add_link(struct hunt *h)
{
	const struct symbolize_options *o = h->s->options;
	const char *path = h->found->path, *slash = strrchr(path, '/');
	const char *link = h->found->facts.debug_link;
	int size = slash ? (int)(slash - path) : 0;
	struct buf *b = &h->paths.text;

	if (!slash || !*link)
		return;
	for (int n = 0; n < 3; n++) {
		begin_path(&h->paths, OPEN_BELOW);
		buf_printf(b, "%s%.*s/%s%s", n == 2 ? DEBUG_FILE_ROOT : "", size, path,
			n == 1 ? ".debug/" : "", link);
		end_path(&h->paths);
	}
	for (size_t n = 0; n < 2 * o->folder_count; n++) {
		begin_path(&h->paths, OPEN_OURS);
		buf_printf(b, "%s%.*s/%s", o->folders[n / 2], n % 2 ? 0 : size, path, link);
		end_path(&h->paths);
	}
}

/* --- whether it is the one -------------------------------------------------------------------- */

static bool has_build_id(const struct names_facts *facts, const struct profile_module *m)
{
	return m->build_id_size && facts->build_id_size == m->build_id_size &&
	       !memcmp(facts->build_id, m->build_id, m->build_id_size);
}

/* Neither contents nor name were touched (both set the change time). */
static bool is_unchanged(const struct module_search *s, const struct file_identity *file)
{
	return s->options->same_boot && file->changed_ns < s->unchanged_since_ns;
}

static void drop(struct found_module *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->facts = (struct names_facts){0};
}

/* Where the profile has no build id, as there is none or the file was too slow to say it, it counts
 * when `proven` otherwise. A debug file is of use when the profile has the addresses that the code
 * was linked to run at. */
static int accept_file(struct hunt *h, int fd, bool proven)
{
	struct found_module *f = h->found;
	const struct profile_module *m = h->module;
	bool belongs;
	int error;

	f->fd = fd;
	error = found_module_ask(f, h->s, h->places);
	belongs = m->build_id_size ? has_build_id(&f->facts, m) : proven;
	if (error || !belongs || (f->facts.is_debug_file && !f->segments.count))
		error = -ENOENT;
	else if (f->facts.is_debug_file)
		error = found_module_ask(f, h->s, h->places); /* by address, this time */
	if (!error)
		return 0;
	drop(f);
	return -ENOENT;
}

/* Asks once more, with the debug file. */
static int accept_debug_file(struct hunt *h, int fd)
{
	struct found_module *f = h->found, with = *f;

	with.debug_fd = fd;
	with.names = BUF_INIT;
	if (!found_module_ask(&with, h->s, h->places) && with.facts.has_debug_file) {
		buf_release(&f->names);
		*f = with;
		return 0;
	}
	buf_release(&with.names);
	close(fd);
	return -ENOENT;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* Along the paths of the hunt, which are used up. */
static int follow(struct hunt *h, bool debug)
{
	struct opened_listed opened;
	int error = -ENOENT, fd;

	for (uint32_t from = 0; error; from = opened.index + 1) {
		bool proven;

		if (name_files_open(h->s->files, &h->paths, from, &opened, &fd))
			break;
		proven = opened.index < h->named && is_unchanged(h->s, &opened.opened.identity);
		error = debug ? accept_debug_file(h, fd) : accept_file(h, fd, proven);
	}
	buf_reset(&h->paths.text);
	h->named = 0;
	return error ? -ENOENT : 0;
}

/* It is in the cache of whoever asked for it. */
static int follow_fetched(struct hunt *h, const char *fetched, bool debug)
{
	const struct user *user = h->s->options->user;
	struct open_rights rights = h->paths.rights;
	int error;

	if (!fetched)
		return -ENOENT;
	h->paths.rights = user ? (struct open_rights){user->uid, user->gid}
			       : (struct open_rights){geteuid(), getegid()};
	add_path(&h->paths, OPEN_OURS, fetched);
	error = follow(h, debug);
	h->paths.rights = rights;
	return error;
}

static int open_kept(struct hunt *h, uint32_t id)
{
	const struct kept_files *kept = h->s->options->kept;
	int fd = kept ? kept_files_find(kept, id) : -1;

	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -ENOENT : accept_file(h, fd, true);
}

static int find_file(struct hunt *h, uint32_t id, const char *fetched)
{
	if (!open_kept(h, id))
		return 0;
	add_names(h);
	add_build_ids(h, "");
	add_in_folders(h);
	if (!follow(h, false) || !follow_fetched(h, fetched, false))
		return 0;
	add_build_ids(h, ".debug");
	return follow(h, false);
}

/* Having none is no error. */
static void find_debug_file(struct hunt *h, const char *fetched)
{
	const struct names_facts *facts = &h->found->facts;

	if (facts->is_debug_file ||
		(facts->has_symtab && (facts->has_dwarf || !h->s->options->inlines)))
		return;
	if (!follow_fetched(h, fetched, true))
		return;
	add_build_ids(h, ".debug");
	add_link(h);
	(void)follow(h, true);
}

/* Every 64-bit process has the same vdso; a build id says whether it is one of them. */
static int find_vdso(struct hunt *h)
{
	struct elf_file *vdso;
	int fd;

	if (vdso_open(&vdso))
		return -ENOENT;
	fd = fcntl(elf_file_fd(vdso), F_DUPFD_CLOEXEC, 0);
	elf_file_close(vdso);
	return fd < 0 ? -ENOENT : accept_file(h, fd, false);
}

/* A deleted file's name may be that of its successor by now; then the build id differs. */
static char *plain_path(const char *path, const struct profile_module *m)
{
	size_t length = strlen(path), suffix = strlen(DELETED_SUFFIX);

	if (m->build_id_size && length > suffix && !strcmp(path + length - suffix, DELETED_SUFFIX))
		length -= suffix;
	return strndup(path, length);
}

static int gather_segments(struct found_module *ret, struct profile_writer *w, uint32_t module)
{
	uint32_t count = profile_writer_segment_count(w);

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_segment *s = profile_writer_segment(w, id);

		if (s->module == module && vec_push(&ret->segments, *s))
			return -ENOMEM;
	}
	return 0;
}

/* The rights of whoever mapped it. */
static struct name_paths places_of(const struct symbolize_options *o, uint32_t module)
{
	struct name_paths paths = {.rights = o->if_gone, .root = -1};
	struct kept_user user;

	if (!o->kept)
		return paths;
	paths.root = kept_files_root(o->kept, module);
	if (kept_files_user(o->kept, module, &user))
		paths.rights = (struct open_rights){user.uid, user.gid};
	return paths;
}

int find_module(struct found_module *ret, const struct module_search *s, uint32_t module,
	const char *fetched, const struct module_places *places)
{
	const struct profile_module *m = profile_writer_module(s->w, module);
	struct hunt h = {ret, s, m, places, places_of(s->options, module), 0};
	int error;

	*ret = (struct found_module){.fd = -1, .debug_fd = -1};
	ret->path = plain_path(profile_writer_string(s->w, m->path), m);
	error = ret->path ? gather_segments(ret, s->w, module) : -ENOMEM;
	if (!error && m->kind == MODULE_VDSO)
		error = find_vdso(&h);
	else if (!error)
		error = find_file(&h, module, fetched);
	if (!error && m->kind == MODULE_FILE)
		find_debug_file(&h, fetched);
	buf_release(&h.paths.text);
	return error;
}

void found_module_release(struct found_module *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	buf_release(&f->names);
	vec_release(&f->segments);
	free(f->path);
	*f = (struct found_module){.fd = -1, .debug_fd = -1};
}
