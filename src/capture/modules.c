// SPDX-License-Identifier: MIT
#include "capture/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"
#include "capture/keep.h"
#include "elf/elf_file.h"
#include "elf/kept_files.h"
#include "elf/vdso.h"

struct modules {
	struct profile_writer *w;
	char *own_library;
	struct kept_files *kept;
	struct interner *keys; /* id - 1 is the index */
	struct vec(struct module) all;
};

int modules_new(struct modules **ret, struct profile_writer *w, const char *own_library)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return error_errno(-ENOMEM, "cannot keep modules");
	m->w = w;
	m->kept = kept_files_new();
	if (own_library)
		m->own_library = strdup(own_library);
	if ((own_library && !m->own_library) || !m->kept || interner_new(&m->keys) < 0) {
		modules_free(m);
		return error_errno(-ENOMEM, "cannot keep modules");
	}
	*ret = m;
	return 0;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	vec_foreach (module, &m->all)
		free(module->path);
	vec_release(&m->all);
	interner_free(m->keys);
	kept_files_free(m->kept);
	free(m->own_library);
	free(m);
}

const struct module *modules_at(const struct modules *m, uint32_t index)
{
	return &m->all.items[index];
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Memory that looks like a file and has none (memfd, SysV shared memory, /dev/zero) is anonymous,
 * but for a memfd with an ELF file in it. */
static enum profile_module_kind kind_of(
	const char *path, uint32_t pid, const struct mapped_file *f)
{
	if (!strcmp(path, "[vdso]"))
		return MODULE_VDSO;
	if (path[0] != '/' || begins_with(path, "//anon") ||
		(begins_with(path, "/memfd:") && !keep_is_elf(pid, f)) ||
		begins_with(path, "/SYSV") || begins_with(path, "/dev/zero"))
		return MODULE_ANON;
	return MODULE_FILE;
}

/* Frames of these at the leaf end of a launch are there because we measure. */
static bool is_instrument(const struct modules *m, const char *path)
{
	const char *name = strrchr(path, '/');

	if (m->own_library && !strcmp(path, m->own_library))
		return true;
	return name && begins_with(name, "/libcupti.so");
}

static bool same_file(const char *path, const struct mapped_file *f)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == f->inode && st.st_dev == f->device;
}

/*
 * The build id out of the file, for kernels that do not send it (before 5.12) or could not read it.
 * Only a file with the right inode is asked: under the mapping itself, as the process sees it, or
 * as we do.
 */
static void read_build_id(struct module *module, uint32_t pid, const struct mapped_file *f)
{
	struct buf path = BUF_INIT;
	struct elf_file *elf = NULL;

	buf_printf(&path, "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)f->start,
		(unsigned long long)f->end);
	if (!same_file(buf_text(&path), f)) {
		buf_reset(&path);
		buf_printf(&path, "/proc/%u/root%s", pid, module->path);
	}
	if (!same_file(buf_text(&path), f)) {
		buf_reset(&path);
		buf_puts(&path, module->path);
	}
	if (!path.failed && same_file(buf_text(&path), f) && !elf_file_open(&elf, buf_text(&path)))
		module->build_id_size = (uint8_t)elf_file_build_id(elf, module->build_id);
	elf_file_close(elf);
	buf_release(&path);
}

/* Every 64-bit process has the vdso that we have. */
static void read_vdso_build_id(struct module *module)
{
	struct elf_file *elf = NULL;

	if (!vdso_open(&elf))
		module->build_id_size = (uint8_t)elf_file_build_id(elf, module->build_id);
	elf_file_close(elf);
}

static int new_module(struct modules *m, uint32_t pid, const char *path,
	enum profile_module_kind kind, const struct mapped_file *f)
{
	struct module module = {.kind = kind, .path = strdup(path)};

	if (!module.path)
		return -ENOMEM;
	if (kind == MODULE_FILE) {
		module.instrument = is_instrument(m, path);
		module.build_id_size = f->build_id_size;
		memcpy(module.build_id, f->build_id, sizeof(module.build_id));
		if (!f->build_id_size && f->inode)
			read_build_id(&module, pid, f);
	} else if (kind == MODULE_VDSO && vdso_is_64bit(f->start)) {
		read_vdso_build_id(&module);
	}
	if (vec_push(&m->all, module) < 0) {
		free(module.path);
		return -ENOMEM;
	}
	return 0;
}

/* What makes a module another one: name, NUL, and the build id or the inode, or the kind of vdso.
 */
static void make_key(struct buf *key, const char *path, enum profile_module_kind kind,
	const struct mapped_file *f)
{
	buf_append(key, path, strlen(path) + 1);
	if (kind == MODULE_VDSO)
		buf_putc(key, vdso_is_64bit(f->start) ? 'w' : 'n');
	if (kind != MODULE_FILE)
		return;
	if (f->build_id_size) {
		buf_append(key, f->build_id, f->build_id_size);
		return;
	}
	buf_append(key, &f->device, sizeof(f->device));
	buf_append(key, &f->inode, sizeof(f->inode));
}

int modules_add(struct modules *m, uint32_t pid, const char *path, const struct mapped_file *f,
	uint32_t *ret_index)
{
	enum profile_module_kind kind = kind_of(path, pid, f);
	struct buf key = BUF_INIT;
	char anonymous[32];
	int error, added = 0;
	uint32_t id = 0;

	/* Code made at run time has meaning in its own process only. */
	if (kind == MODULE_ANON) {
		snprintf(anonymous, sizeof(anonymous), "[anon:%u]", pid);
		path = anonymous;
	}
	make_key(&key, path, kind, f);
	error = key.failed ? -ENOMEM : interner_add(m->keys, key.data, key.size, &id, &added);
	buf_release(&key);
	if (!error && added)
		error = new_module(m, pid, path, kind, f);
	if (error)
		return error_errno(error, "cannot keep module '%s'", path);
	m->all.items[id - 1].pid = pid;
	m->all.items[id - 1].mapped = *f;
	*ret_index = id - 1;
	return 0;
}

int modules_profile_id(struct modules *m, uint32_t index, uint32_t *ret_id)
{
	struct module *module = &m->all.items[index];
	struct profile_module entry = {
		.kind = module->kind, .build_id_size = module->build_id_size};
	int error;

	if (!module->profile_id) {
		memcpy(entry.build_id, module->build_id, sizeof(entry.build_id));
		error = profile_add_string(m->w, module->path, strlen(module->path), &entry.path);
		if (!error)
			error = profile_add_module(m->w, &entry, &module->profile_id);
		if (error)
			return error;
		keep_module(m->kept, module);
	}
	*ret_id = module->profile_id;
	return 0;
}

const struct kept_files *modules_kept(const struct modules *m)
{
	return m->kept;
}

uint64_t modules_mapping_base(const struct module *module, const struct mapped_file *f)
{
	switch (module->kind) {
	case MODULE_FILE:
		return f->start - f->offset;
	case MODULE_VDSO:
		return f->start;
	default:
		return 0;
	}
}
