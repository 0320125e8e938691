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
#include "vendor/vendor.h"

#define NO_MODULE UINT32_MAX

struct modules {
	struct profile_writer *w;
	struct unwind_tables *tables; /* NULL: no stacks are walked */
	char *own_library;
	struct kept_files *kept;
	struct interner *keys;
	struct vec(uint32_t) by_key; /* a key's id - 1 -> index, or NO_MODULE */
	struct vec(struct module) all;
};

static void release_module(struct module *module)
{
	free(module->path);
	vec_release(&module->code);
}

int modules_new(struct modules **ret, struct profile_writer *w, const char *own_library,
	struct unwind_tables *tables)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return error_errno(-ENOMEM, "cannot keep modules");
	m->w = w;
	m->tables = tables;
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
		release_module(module);
	vec_release(&m->all);
	vec_release(&m->by_key);
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
static enum profile_module_kind kind_of(const char *path, uint32_t pid, const struct mapped_file *f)
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
	if (m->own_library && !strcmp(path, m->own_library))
		return true;
	return vendor_is_tracer(path);
}

static bool same_file(const char *path, const struct mapped_file *f)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == f->inode && st.st_dev == f->device;
}

static bool has_build_id(struct elf_file *elf, const uint8_t *id, size_t size)
{
	uint8_t its[ELF_BUILD_ID_MAX];

	return size && elf_file_build_id(elf, its) == size && !memcmp(its, id, size);
}

/* Opens the file at `path` when it is the one that is mapped. */
static struct elf_file *open_if_same(const char *path, const struct mapped_file *f)
{
	struct elf_file *elf = NULL;

	if (f->inode && !same_file(path, f))
		return NULL;
	if (elf_file_open(&elf, path))
		return NULL;
	if (f->build_id_size ? has_build_id(elf, f->build_id, f->build_id_size) : f->inode != 0)
		return elf;
	elf_file_close(elf);
	return NULL;
}

/* The file of a mapping: under the mapping itself (when `f` has one), as the process sees it, or as
 * we do. NULL: nowhere. */
static struct elf_file *open_mapped(const char *path, uint32_t pid, const struct mapped_file *f)
{
	struct elf_file *elf = NULL;
	struct buf at = BUF_INIT;

	for (int way = 0; !elf && way < 3; way++) {
		buf_reset(&at);
		if (way == 0)
			buf_printf(&at, "/proc/%u/map_files/%llx-%llx", pid,
				(unsigned long long)f->start, (unsigned long long)f->end);
		else if (way == 1)
			buf_printf(&at, "/proc/%u/root%s", pid, path);
		else
			buf_puts(&at, path);
		if (!at.failed && (way || f->end))
			elf = open_if_same(buf_text(&at), f);
	}
	buf_release(&at);
	return elf;
}

static int note_code(struct module *module, struct elf_file *elf)
{
	struct elf_code code;

	for (size_t n = 0; elf_file_code_at(elf, n, &code); n++)
		if (vec_push(&module->code, code) < 0)
			return -ENOMEM;
	return 0;
}

/* Notes what the file contains. */
static int inspect(struct modules *m, struct module *module, struct elf_file *elf)
{
	module->build_id_size = (uint8_t)elf_file_build_id(elf, module->build_id);
	if (!m->tables)
		return 0;
	/* One that cannot be read counts as no interpreter: most files are none. */
	if (python_file_inspect(elf, &module->python))
		module->python = (struct python_file){0};
	return note_code(module, elf);
}

/* Through the file that is open: the process that it was found by may have ended. */
static int ask_for_table(struct modules *m, struct module *module, const struct elf_file *elf)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_fd(elf));
	return m->tables ? unwind_tables_request(m->tables, path, module->build_id,
				   module->build_id_size, &module->table)
			 : 0;
}

/* Every 64-bit process has the vdso that we have. */
static int inspect_vdso(struct modules *m, struct module *module)
{
	struct elf_file *elf = NULL;
	int error = 0;

	if (vdso_open(&elf))
		return 0;
	module->build_id_size = (uint8_t)elf_file_build_id(elf, module->build_id);
	if (m->tables) {
		error = note_code(module, elf);
		error = error ?: unwind_tables_request_vdso(m->tables, &module->table);
	}
	elf_file_close(elf);
	return error;
}

/* A mapping and its file, `elf` (NULL: it was found nowhere). */
struct found {
	uint32_t pid;
	const char *path;
	enum profile_module_kind kind;
	const struct mapped_file *f;
	struct elf_file *elf;
};

static int describe(struct modules *m, const struct found *found, struct module *module)
{
	int error;

	if (found->kind == MODULE_VDSO && vdso_is_64bit(found->f->start))
		return inspect_vdso(m, module);
	if (found->kind != MODULE_FILE)
		return 0;
	module->instrument = is_instrument(m, found->path);
	module->build_id_size = found->f->build_id_size;
	memcpy(module->build_id, found->f->build_id, sizeof(module->build_id));
	if (!found->elf)
		return 0;
	error = inspect(m, module, found->elf);
	return error ?: ask_for_table(m, module, found->elf);
}

static int new_module(struct modules *m, const struct found *found, uint32_t *ret_index)
{
	struct module module = {.kind = found->kind, .path = strdup(found->path)};
	int error = module.path ? describe(m, found, &module) : -ENOMEM;

	if (!error && vec_push(&m->all, module) < 0)
		error = -ENOMEM;
	if (error)
		release_module(&module);
	else
		*ret_index = (uint32_t)m->all.count - 1;
	return error;
}

/* What identifies a module: name, NUL, and the build id or the inode, or the kind of vdso.
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

/* The slot with the index for a key: valid until the next key. */
static int slot_of(struct modules *m, const char *path, enum profile_module_kind kind,
	const struct mapped_file *f, uint32_t **ret)
{
	struct buf key = BUF_INIT;
	int error, added = 0;
	uint32_t id = 0;

	make_key(&key, path, kind, f);
	error = key.failed ? -ENOMEM : interner_add(m->keys, key.data, key.size, &id, &added);
	buf_release(&key);
	while (!error && m->by_key.count < id)
		error = vec_push(&m->by_key, NO_MODULE);
	if (!error)
		*ret = &m->by_key.items[id - 1];
	return error;
}

/* A module that was identified by its inode alone is the same as that with its build id. */
static int find_by_build_id(struct modules *m, const struct found *found, uint32_t *ret_index)
{
	struct mapped_file f = *found->f;
	uint32_t *slot, index;
	int error;

	f.build_id_size = found->elf ? (uint8_t)elf_file_build_id(found->elf, f.build_id) : 0;
	if (!f.build_id_size)
		return new_module(m, found, ret_index);
	error = slot_of(m, found->path, found->kind, &f, &slot);
	if (error)
		return error;
	if (*slot == NO_MODULE) {
		error = new_module(m, found, &index);
		if (error)
			return error;
		*slot = index;
	}
	*ret_index = *slot;
	return 0;
}

static int find_or_new(struct modules *m, uint32_t pid, const char *path,
	enum profile_module_kind kind, const struct mapped_file *f, uint32_t *ret_index)
{
	struct found found = {.pid = pid, .path = path, .kind = kind, .f = f};
	int error;

	if (kind == MODULE_FILE)
		found.elf = open_mapped(path, pid, f);
	error = f->build_id_size ? new_module(m, &found, ret_index)
				 : find_by_build_id(m, &found, ret_index);
	elf_file_close(found.elf);
	return error;
}

static void mapped_by(struct modules *m, uint32_t index, uint32_t pid, const struct mapped_file *f)
{
	m->all.items[index].pid = pid;
	m->all.items[index].mapped = *f;
}

int modules_add(struct modules *m, uint32_t pid, const char *path, const struct mapped_file *f,
	uint32_t *ret_index)
{
	enum profile_module_kind kind = kind_of(path, pid, f);
	uint32_t *slot, index;
	char anonymous[32];
	int error;

	/* Code made at run time belongs to its own process only. */
	if (kind == MODULE_ANON) {
		snprintf(anonymous, sizeof(anonymous), "[anon:%u]", pid);
		path = anonymous;
	}
	error = slot_of(m, path, kind, f, &slot);
	if (!error && *slot != NO_MODULE) {
		mapped_by(m, *slot, pid, f);
		*ret_index = *slot;
		return 0;
	}
	error = error ?: find_or_new(m, pid, path, kind, f, &index);
	error = error ?: slot_of(m, path, kind, f, &slot);
	if (error)
		return error_errno(error, "cannot keep module '%s'", path);
	*slot = index;
	mapped_by(m, index, pid, f);
	*ret_index = index;
	return 0;
}

int modules_profile_id(struct modules *m, uint32_t index, uint32_t *ret_id)
{
	struct module *module = &m->all.items[index];
	struct profile_module entry = {.kind = module->kind,
		.build_id_size = module->build_id_size,
		.flags = module->python.runtime ? MODULE_PYTHON : 0};
	int error;

	if (!module->profile_id) {
		memcpy(entry.build_id, module->build_id, sizeof(entry.build_id));
		error = profile_add_string(m->w, module->path, strlen(module->path), &entry.path);
		error = error ?: profile_add_module(m->w, &entry, &module->profile_id);
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

bool modules_bias(const struct module *module, uint64_t start, uint64_t end, uint64_t base,
	uint64_t *ret_bias)
{
	vec_foreach (code, &module->code) {
		if (code->offset >= end - base || code->offset + code->size <= start - base)
			continue;
		*ret_bias = base + code->offset - code->vaddr;
		return true;
	}
	return false;
}

int modules_want_table(struct modules *m, uint32_t index, uint32_t pid)
{
	struct module *module = &m->all.items[index];
	struct mapped_file f = {.build_id_size = module->build_id_size};
	struct elf_file *elf;
	uint32_t word;
	int error = 0;

	if (!module->table ||
		unwind_tables_state(m->tables, module->table, &word) != UNWIND_EVICTED)
		return 0;
	memcpy(f.build_id, module->build_id, sizeof(f.build_id));
	elf = open_mapped(module->path, pid, &f);
	if (elf)
		error = ask_for_table(m, module, elf);
	elf_file_close(elf);
	return error;
}
