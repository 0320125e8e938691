// SPDX-License-Identifier: MIT
/*
 * Searched in this order: the file that was kept open; the file of that name; under the build id,
 * the program or its debug file in the folders of debug files; the file that a server sent.
 */
#include "symbolize/find_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "elf/debug_file.h"
#include "elf/vdso.h"

#define DELETED_SUFFIX " (deleted)"

static bool has_build_id(struct elf_file *f, const struct profile_module *m)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	return m->build_id_size && elf_file_build_id(f, id) == m->build_id_size &&
	       !memcmp(id, m->build_id, m->build_id_size);
}

/* Neither contents nor name were touched (both set the change time). */
static bool is_unchanged(const struct module_search *s, const char *path)
{
	struct stat st;

	if (!s->options->same_boot || stat(path, &st))
		return false;
	return (uint64_t)st.st_ctim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_ctim.tv_nsec <
	       s->unchanged_since_ns;
}

/* Without build ids on both sides it counts when `proven` otherwise. */
static int open_proven(
	struct elf_file **ret, const struct profile_module *m, const char *path, bool proven)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_file *f;

	if (elf_file_open(&f, path))
		return -ENOENT;
	if (m->build_id_size ? has_build_id(f, m) : proven && !elf_file_build_id(f, id)) {
		*ret = f;
		return 0;
	}
	elf_file_close(f);
	return -ENOENT;
}

static int open_kept(struct found_module *ret, const struct module_search *s, uint32_t id,
	const struct profile_module *m)
{
	const struct kept_files *kept = s->options->kept;
	int fd = kept ? kept_files_find(kept, id) : -1;
	char path[32];

	if (fd < 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open_proven(&ret->file, m, path, true);
}

/* A deleted file's name may be that of its successor by now; then the build id differs. */
static char *plain_path(const char *path, const struct profile_module *m)
{
	size_t length = strlen(path), suffix = strlen(DELETED_SUFFIX);

	if (m->build_id_size && length > suffix && !strcmp(path + length - suffix, DELETED_SUFFIX))
		length -= suffix;
	return strndup(path, length);
}

static int open_named(
	struct found_module *ret, const struct module_search *s, const struct profile_module *m)
{
	if (ret->path[0] != '/')
		return -ENOENT;
	return open_proven(&ret->file, m, ret->path, is_unchanged(s, ret->path));
}

/* FOLDER/path/of/program, FOLDER/program, and with ".debug" behind them. */
static int open_in_folder(
	struct found_module *ret, const struct profile_module *m, const char *folder, int form)
{
	const char *slash = strrchr(ret->path, '/');
	struct buf path = BUF_INIT;
	int error;

	buf_printf(&path, "%s/%s%s", folder,
		form & 1 || !slash ? slash ? slash + 1 : ret->path : ret->path + 1,
		form & 2 ? ".debug" : "");
	error = path.failed ? -ENOMEM : open_proven(&ret->file, m, buf_text(&path), false);
	buf_release(&path);
	return error;
}

static int open_in_folders(
	struct found_module *ret, const struct module_search *s, const struct profile_module *m)
{
	int error = -ENOENT;

	if (ret->path[0] != '/')
		return -ENOENT;
	for (size_t i = 0; error == -ENOENT && i < s->options->folder_count; i++)
		for (int form = 0; error == -ENOENT && form < 4; form++)
			error = open_in_folder(ret, m, s->options->folders[i], form);
	return error;
}

/* Every 64-bit process has the same vdso; a build id says whether it is one of them. */
static int open_vdso(struct found_module *ret, const struct profile_module *m)
{
	if (vdso_open(&ret->file))
		return -ENOENT;
	if (has_build_id(ret->file, m))
		return 0;
	elf_file_close(ret->file);
	ret->file = NULL;
	return -ENOENT;
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

static int open_file(struct found_module *ret, const struct module_search *s, uint32_t id,
	const struct profile_module *m, const struct debug_search *search)
{
	int error = open_kept(ret, s, id, m);

	if (error == -ENOENT)
		error = open_named(ret, s, m);
	if (error == -ENOENT)
		error = debug_file_by_build_id(
			&ret->file, m->build_id, m->build_id_size, search, false);
	return error == -ENOENT ? open_in_folders(ret, s, m) : error;
}

/* Of use only when the profile has the addresses that the code was linked to run at. */
static int open_debug_file(
	struct found_module *ret, const struct profile_module *m, const struct debug_search *search)
{
	int error = -ENOENT;

	if (!ret->segments.count)
		return -ENOENT;
	if (search->file)
		error = open_proven(&ret->file, m, search->file, false);
	if (error == -ENOENT)
		error = debug_file_by_build_id(
			&ret->file, m->build_id, m->build_id_size, search, true);
	return error;
}

/* Also one that a debug file's name was given to by hand, in the folders. */
static int open_any(struct found_module *ret, const struct module_search *s, uint32_t id,
	const struct profile_module *m, const struct debug_search *search)
{
	int error = open_file(ret, s, id, m, search);

	if (!error && elf_file_is_debug_file(ret->file)) {
		ret->is_debug_file = true;
		return ret->segments.count ? 0 : -ENOENT;
	}
	if (error == -ENOENT) {
		error = open_debug_file(ret, m, search);
		ret->is_debug_file = !error;
	}
	return error;
}

int find_module(struct found_module *ret, const struct module_search *s, uint32_t module,
	const char *debug_file)
{
	const struct profile_module *m = profile_writer_module(s->w, module);
	int root = s->options->kept ? kept_files_root(s->options->kept, module) : -1, error;
	struct debug_search search = {
		.file = debug_file,
		.folders = s->options->folders,
		.folder_count = s->options->folder_count,
	};

	*ret = (struct found_module){0};
	if (m->kind == MODULE_VDSO)
		return open_vdso(ret, m);
	ret->path = plain_path(profile_writer_string(s->w, m->path), m);
	error = ret->path ? gather_segments(ret, s->w, module) : -ENOMEM;
	if (error)
		return error;
	if (root >= 0) {
		snprintf(ret->root, sizeof(ret->root), "/proc/self/fd/%d", root);
		search.root = ret->root;
	}
	search.path = ret->path;
	error = open_any(ret, s, module, m, &search);
	if (!error)
		elf_file_search(ret->file, &search);
	return error;
}

void found_module_release(struct found_module *f)
{
	elf_file_close(f->file);
	vec_release(&f->segments);
	free(f->path);
	*f = (struct found_module){0};
}

int found_module_vaddr(const struct found_module *f, uint64_t offset, uint64_t *ret_vaddr)
{
	if (!f->is_debug_file)
		return elf_file_offset_to_vaddr(f->file, offset, ret_vaddr);
	vec_foreach (s, &f->segments) {
		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		*ret_vaddr = offset - s->offset + s->vaddr;
		return 0;
	}
	return -ENOENT;
}
