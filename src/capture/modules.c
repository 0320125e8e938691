// SPDX-License-Identifier: MIT
#include "capture/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "capture/keep.h"
#include "elf/jitdump.h"
#include "elf/kept_files.h"
#include "elf/vdso.h"
#include "profile/runtimes.h"
#include "vendor/vendor.h"

#define VDSO_CODE_MAX 4

/* Of a module and of a key, with what others keep of it: its unwind table's state, hashes. */
#define MODULE_COST_BYTES (2 * sizeof(struct module) + 256)
#define KEY_COST_BYTES	  96

#define NOTED_MAX 65536 /* processes of which is noted what makes their code */

#define NO_MODULE   UINT32_MAX
#define NO_ELF_FILE (UINT32_MAX - 1) /* memory with the name of a file */

struct modules {
	struct profile_writer *w;
	struct files *files;
	struct unwind_tables *tables; /* NULL: no stacks are walked */
	char *own_library;
	struct kept_files *kept;
	struct interner *keys;
	struct vec(uint32_t) by_key; /* a key's id - 1 -> index, or NO_MODULE */
	struct vec(struct module) all;
	uint64_t bytes; /* that all of this takes, about, */
	uint64_t max_bytes;
	uint32_t rest;	     /* the index of the one that stands for others; NO_MODULE: none yet */
	struct map runtimes; /* by pid: enum profile_runtime, where it is known, */
	struct map dumps;    /* and the index of the jitdump that it maps */
	struct vec(uint32_t) late; /* whose files were answered for when nobody waited any more */
};

static void release_module(struct module *module)
{
	free(module->path);
	vec_release(&module->code);
}

int modules_new(struct modules **ret, struct profile_writer *w, const char *own_library,
	struct files *files, struct unwind_tables *tables)
{
	struct modules *m = calloc(1, sizeof(*m));

	if (!m)
		return error_errno(-ENOMEM, "cannot keep modules");
	m->w = w;
	m->files = files;
	m->tables = tables;
	m->max_bytes = MODULES_MAX_BYTES;
	m->rest = NO_MODULE;
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
	vec_release(&m->late);
	map_release(&m->runtimes);
	map_release(&m->dumps);
	interner_free(m->keys);
	kept_files_free(m->kept);
	free(m->own_library);
	free(m);
}

void modules_limit(struct modules *m, uint64_t bytes)
{
	m->max_bytes = bytes;
}

const struct module *modules_at(const struct modules *m, uint32_t index)
{
	return &m->all.items[index];
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_memfd(const char *path)
{
	return begins_with(path, "/memfd:");
}

/* Memory that looks like a file and has none (SysV shared memory, /dev/zero) is anonymous; a memfd
 * is, but for one with an ELF file in it. */
static enum profile_module_kind kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return MODULE_VDSO;
	if (path[0] != '/' || begins_with(path, "//anon") || begins_with(path, "/SYSV") ||
		begins_with(path, "/dev/zero"))
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

/* --- what a file contains --------------------------------------------------------------------- */

static uint64_t cost_of(const struct module *module)
{
	return MODULE_COST_BYTES + strlen(module->path) +
	       module->code.count * sizeof(*module->code.items);
}

static int note_code(struct module *module, const struct elf_code *code, size_t count)
{
	module->code.count = 0;
	for (size_t i = 0; i < count; i++)
		if (vec_push(&module->code, code[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* Whether it is the file that was read before, and nobody has written to it. It may have lost its
 * name, which is a change as well. */
static bool is_the_same(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified_ns == b->modified_ns;
}

/* A build id that the mapping came with is the kernel's word. */
static bool is_right_file(const struct module *module, const struct files_answer *a)
{
	const struct file_facts *facts = a->facts;

	if (module->file.inode && !is_the_same(&module->file, &a->opened.identity))
		return false;
	return !module->mapped.build_id_size ||
	       (facts->build_id_size == module->mapped.build_id_size &&
		       !memcmp(facts->build_id, module->mapped.build_id, facts->build_id_size));
}

static int ask_for_table(struct modules *m, struct module *module, const struct files_answer *a)
{
	struct unwind_file file = {.fd = a->fd,
		.debug_fd = a->debug_fd,
		.build_id_size = module->build_id_size,
		.identity = module->file};

	memcpy(file.build_id, module->build_id, sizeof(file.build_id));
	return unwind_tables_request(m->tables, &file, &module->table);
}

/* Notes what was found; a file that cannot be read, or is another one, says nothing. */
static int note_facts(void *context, uint64_t index, struct files_answer *a)
{
	struct modules *m = context;
	struct module *module = &m->all.items[index];
	int error = a->late ? vec_push(&m->late, (uint32_t)index) : 0;
	bool known;

	module->asked = false;
	if (error || a->error || !is_right_file(module, a)) {
		/* Nobody need ask again for the table of a file that is gone. */
		module->table = a->error == -EBUSY ? module->table : 0;
		return error;
	}
	known = module->file.inode;
	module->file = a->opened.identity;
	if (known)
		return m->tables ? ask_for_table(m, module, a) : 0;
	module->build_id_size = (uint8_t)a->facts->build_id_size;
	memcpy(module->build_id, a->facts->build_id, sizeof(a->facts->build_id));
	if (!m->tables)
		return 0;
	module->python = a->facts->python;
	m->bytes -= cost_of(module);
	error = note_code(module, a->facts->code, a->facts->code_count);
	m->bytes += cost_of(module);
	return error ?: ask_for_table(m, module, a);
}

static int ask_for_facts(struct modules *m, uint32_t index, bool wait)
{
	struct module *module = &m->all.items[index];
	const struct files_question q = {
		.purpose = FILES_FACTS,
		.wait = wait,
		.pid = module->pid,
		.path = module->path,
		.mapped = &module->mapped,
		.done = note_facts,
		.context = m,
		.tag = index,
	};

	module->asked = true;
	return files_ask(m->files, &q);
}

bool modules_next_late(struct modules *m, uint32_t *ret_index)
{
	if (!m->late.count)
		return false;
	*ret_index = m->late.items[--m->late.count];
	return true;
}

/* Every 64-bit process has the vdso that we have. */
static int inspect_vdso(struct modules *m, struct module *module)
{
	struct elf_file *elf = NULL;
	struct elf_code code[VDSO_CODE_MAX];
	size_t count = 0;
	int error = 0;

	if (vdso_open(&elf))
		return 0;
	module->build_id_size = (uint8_t)elf_file_build_id(elf, module->build_id);
	while (count < VDSO_CODE_MAX && elf_file_code_at(elf, count, &code[count]))
		count++;
	if (m->tables) {
		error = note_code(module, code, count);
		error = error ?: unwind_tables_request_vdso(m->tables, elf, &module->table);
	}
	elf_file_close(elf);
	return error;
}

/* --- the table of modules --------------------------------------------------------------------- */

/* What a mapping alone says; `path` is copied. */
static int describe(struct modules *m, enum profile_module_kind kind, const char *path,
	uint32_t pid, const struct mapped_file *f, struct module *ret)
{
	*ret = (struct module){.kind = kind, .path = strdup(path), .pid = pid, .mapped = *f};
	if (!ret->path)
		return -ENOMEM;
	if (kind == MODULE_VDSO && vdso_is_64bit(f->start))
		return inspect_vdso(m, ret);
	if (kind != MODULE_FILE)
		return 0;
	ret->instrument = is_instrument(m, path);
	ret->build_id_size = f->build_id_size;
	memcpy(ret->build_id, f->build_id, sizeof(ret->build_id));
	return 0;
}

/* Which module one without a build id is, only its file says. */
static int new_module(struct modules *m, enum profile_module_kind kind, const char *path,
	uint32_t pid, const struct mapped_file *f, uint32_t *ret_index)
{
	struct module module;
	int error = describe(m, kind, path, pid, f, &module);

	error = error ?: vec_push(&m->all, module);
	if (error) {
		release_module(&module);
		return error;
	}
	m->bytes += cost_of(&module);
	*ret_index = (uint32_t)m->all.count - 1;
	return kind == MODULE_FILE ? ask_for_facts(m, *ret_index, !f->build_id_size) : 0;
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

/* The vdso is one of two. */
static bool has_room(const struct modules *m, enum profile_module_kind kind)
{
	return m->bytes < m->max_bytes || kind == MODULE_VDSO;
}

/* The slot with the index for a key: valid until the next key. NULL: it is new, and there is no
 * room for it. */
static int slot_of(struct modules *m, const char *path, enum profile_module_kind kind,
	const struct mapped_file *f, uint32_t **ret)
{
	struct buf key = BUF_INIT;
	int error, added = 0;
	uint32_t id = 0;

	make_key(&key, path, kind, f);
	error = key.failed ? -ENOMEM : 0;
	*ret = NULL;
	if (!error && (has_room(m, kind) || interner_find(m->keys, key.data, key.size)))
		error = interner_add(m->keys, key.data, key.size, &id, &added);
	m->bytes += added ? key.size + KEY_COST_BYTES : 0;
	buf_release(&key);
	while (!error && m->by_key.count < id)
		error = vec_push(&m->by_key, NO_MODULE);
	if (!error && id)
		*ret = &m->by_key.items[id - 1];
	return error;
}

/* Drops the last module, which nobody has seen, unless an answer for it may still come. */
static void drop_last(struct modules *m)
{
	struct module *last = &m->all.items[m->all.count - 1];

	if (last->asked)
		return;
	m->bytes -= cost_of(last);
	release_module(last);
	m->all.count--;
}

/* A module that was identified by its inode alone may be one that is there with its build id. */
static int join_by_build_id(struct modules *m, uint32_t *index)
{
	const struct module *module = &m->all.items[*index];
	struct mapped_file f = {.build_id_size = module->build_id_size};
	uint32_t *slot;
	int error;

	memcpy(f.build_id, module->build_id, sizeof(f.build_id));
	error = slot_of(m, module->path, module->kind, &f, &slot);
	if (error || !slot)
		return error;
	if (*slot == NO_MODULE) {
		*slot = *index;
		return 0;
	}
	*index = *slot;
	drop_last(m);
	return 0;
}

/* A memfd without an ELF file in it is no module, and so is one nobody can say that of. */
static bool is_mere_memory(const struct modules *m, uint32_t index)
{
	const struct module *module = &m->all.items[index];

	return is_memfd(module->path) && !module->file.inode && !module->mapped.build_id_size;
}

static int find_or_new(struct modules *m, uint32_t pid, const char *path,
	enum profile_module_kind kind, const struct mapped_file *f, uint32_t *ret_index)
{
	int error = new_module(m, kind, path, pid, f, ret_index);

	if (error || kind != MODULE_FILE)
		return error;
	if (is_mere_memory(m, *ret_index)) {
		drop_last(m);
		*ret_index = NO_ELF_FILE;
		return 0;
	}
	if (f->build_id_size || !m->all.items[*ret_index].build_id_size)
		return 0;
	return join_by_build_id(m, ret_index);
}

/* Of a process; beyond a number of them nothing is noted. */
static int note(struct map *of_processes, uint32_t pid, uint64_t value)
{
	bool has_room = of_processes->count < NOTED_MAX || map_get(of_processes, pid);

	return has_room ? map_put(of_processes, pid, value) : 0;
}

/* A file that shows what makes code in this process, or what it is called. */
static int note_made_code(struct modules *m, uint32_t pid, const char *path, uint32_t index)
{
	enum profile_runtime runtime = runtime_of_file(path);
	int error = runtime ? note(&m->runtimes, pid, runtime) : 0;

	if (error || !jitdump_is_path(path) || index == NO_ELF_FILE || index == m->rest)
		return error;
	return note(&m->dumps, pid, index);
}

static void mapped_by(struct modules *m, uint32_t index, uint32_t pid, const struct mapped_file *f)
{
	m->all.items[index].pid = pid;
	m->all.items[index].mapped = *f;
}

/* The one that stands for all that there is no room for. */
static int rest_of_modules(struct modules *m, uint32_t *ret_index)
{
	struct module rest = {.kind = MODULE_ANON, .rest = true};

	if (m->rest == NO_MODULE) {
		rest.path = strdup(FILES_LEFT_OUT);
		if (!rest.path || vec_push(&m->all, rest)) {
			free(rest.path);
			return -ENOMEM;
		}
		m->rest = (uint32_t)m->all.count - 1;
	}
	*ret_index = m->rest;
	return 0;
}

static int add(struct modules *m, uint32_t pid, const char *path, enum profile_module_kind kind,
	const struct mapped_file *f, uint32_t *ret_index)
{
	uint32_t *slot, index;
	int error = slot_of(m, path, kind, f, &slot);

	if (!error && !slot)
		return rest_of_modules(m, ret_index);
	if (!error && *slot != NO_MODULE) {
		*ret_index = *slot;
		return 0;
	}
	error = error ?: find_or_new(m, pid, path, kind, f, &index);
	error = error ?: slot_of(m, path, kind, f, &slot);
	if (!error)
		*ret_index = *slot = index;
	return error;
}

/* Code made at run time belongs to its own process only. */
static int add_anonymous(
	struct modules *m, uint32_t pid, const struct mapped_file *f, uint32_t *ret_index)
{
	char name[32];

	snprintf(name, sizeof(name), "[anon:%u]", pid);
	return add(m, pid, name, MODULE_ANON, f, ret_index);
}

int modules_add(struct modules *m, uint32_t pid, const char *path, const struct mapped_file *f,
	uint32_t *ret_index)
{
	enum profile_module_kind kind = kind_of(path);
	uint32_t index = NO_ELF_FILE;
	int error = kind == MODULE_ANON ? 0 : add(m, pid, path, kind, f, &index);

	error = error ?: note_made_code(m, pid, path, index);
	if (!error && index == NO_ELF_FILE)
		error = add_anonymous(m, pid, f, &index);
	if (error)
		return error_errno(error, "cannot keep module '%s'", path);
	*ret_index = index;
	if (index == m->rest)
		return profile_count_loss(m->w, LOSS_MODULES_CUT, 1);
	mapped_by(m, index, pid, f);
	return 0;
}

static uint32_t flags_of(const struct modules *m, const struct module *module)
{
	const uint64_t *runtime =
		module->kind == MODULE_ANON ? map_get(&m->runtimes, module->pid) : NULL;

	return (module->python.runtime ? MODULE_PYTHON : 0) |
	       (runtime ? (uint32_t)*runtime << MODULE_RUNTIME_SHIFT : 0);
}

/* The jitdump may come after the first code. */
static int keep_its_dump(struct modules *m, struct module *made)
{
	const uint64_t *dump = map_get(&m->dumps, made->pid);

	if (made->kind != MODULE_ANON || made->dump_asked || made->rest || !dump)
		return 0;
	made->dump_asked = true;
	return keep_dump(m->kept, m->files, made, &m->all.items[*dump]);
}

int modules_profile_id(struct modules *m, uint32_t index, uint32_t *ret_id)
{
	struct module *module = &m->all.items[index];
	struct profile_module entry = {.kind = module->kind,
		.build_id_size = module->build_id_size,
		.flags = flags_of(m, module)};
	int error;

	if (!module->profile_id) {
		memcpy(entry.build_id, module->build_id, sizeof(entry.build_id));
		error = profile_add_string(m->w, module->path, strlen(module->path), &entry.path);
		error = error ?: profile_add_module(m->w, &entry, &module->profile_id);
		if (error)
			return error;
		error = keep_module(m->kept, m->files, module);
		if (error)
			return error;
	}
	*ret_id = module->profile_id;
	return keep_its_dump(m, module);
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

int modules_want_table(struct modules *m, uint32_t index)
{
	const struct module *module = &m->all.items[index];
	uint32_t word;

	if (!module->table || module->asked ||
		unwind_tables_state(m->tables, module->table, &word) != UNWIND_EVICTED)
		return 0;
	return ask_for_facts(m, index, false);
}
