// SPDX-License-Identifier: MIT
/*
 * Strings and the entries of tables, which are kept: whoever adds one that is there gets its id.
 * Those that programs can make grow without an end stop at a bound; what is left out is counted.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer_internal.h"

/* Strings, modules, locations and stack nodes in memory: five million nodes, or a million names. */
#define TABLES_MAX_BYTES  ((uint64_t)256 << 20)
#define STRING_COST_BYTES 72 /* of each string, beside its text */
#define ENTRY_COST_BYTES  20 /* of each entry: its hash, and the index */

/* Starts the table's chunk with the id of its first entry, unless there is one under way. */
static struct buf *entry_buffer(struct profile_writer *w, enum profile_table table)
{
	struct buf *b = &w->entries[table];

	if (!b->size) {
		begin_chunk(b);
		put_number(b, w->counts[table] + 1u);
	}
	return b;
}

/* To be called after something was put into a buffer. In a small file events follow at once, as
 * tables alone are of little use. */
static int check_buffer(struct profile_writer *w, const struct buf *b)
{
	if (b->failed)
		return profile_writer_fail_memory(w);
	if (b->size < TABLE_BYTES && b->size < w->chunk_bytes)
		return 0;
	return w->chunk_bytes < TABLE_BYTES ? profile_writer_push_events(w)
					    : profile_writer_push_tables(w);
}

static bool is_full(const struct profile_writer *w)
{
	return w->frozen || (w->growing_bytes > TABLES_MAX_BYTES && !w->continued);
}

/* Counts what is not added. Whoever froze the tables counts it himself. */
static int refuse_entry(struct profile_writer *w)
{
	w->refused++;
	return w->frozen ? 0 : profile_count_loss(w, LOSS_TABLES_FULL, 1);
}

static int add_string(struct profile_writer *w, const char *text, size_t size, uint32_t *ret_id)
{
	struct buf *b;
	int added;

	if (interner_add(w->strings, text, size, ret_id, &added))
		return profile_writer_fail_memory(w);
	if (!added)
		return 0;
	w->table_bytes += size + STRING_COST_BYTES;
	w->growing_bytes += size + STRING_COST_BYTES;
	b = entry_buffer(w, TABLE_STRINGS);
	put_text(b, text, size);
	w->counts[TABLE_STRINGS]++;
	return check_buffer(w, b);
}

uint32_t profile_find_string(const struct profile_writer *w, const char *text, size_t size)
{
	return interner_find(w->strings, text, size < STRING_MAX_BYTES ? size : STRING_MAX_BYTES);
}

int profile_add_string(struct profile_writer *w, const char *text, size_t size, uint32_t *ret_id)
{
	int error = 0;

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (size > STRING_MAX_BYTES)
		size = STRING_MAX_BYTES;
	if (is_full(w) && !interner_find(w->strings, text, size)) {
		error = refuse_entry(w);
		text = NAME_LEFT_OUT;
		size = strlen(text);
	}
	return error ?: add_string(w, text, size, ret_id);
}

static int fail_continued(const struct profile_writer *w, enum profile_table table)
{
	return error_set(-EINVAL, "cannot add to '%s': it holds no %s but those it had", w->path,
		entry_formats[table].name);
}

/* Writes the next entry of a table. */
static int write_entry(struct profile_writer *w, enum profile_table table, const void *entry)
{
	struct buf *b = entry_buffer(w, table);
	uint8_t bytes[ENTRY_MAX_BYTES];

	put_text(b, (const char *)bytes, (size_t)(entry_encode(table, entry, bytes) - bytes));
	w->counts[table]++;
	return check_buffer(w, b);
}

/* Tables that programs can make grow without an end. */
static bool may_be_full(enum profile_table table)
{
	return table == TABLE_MODULES || table == TABLE_LOCATIONS || table == TABLE_STACKS;
}

static void count_bytes(struct profile_writer *w, enum profile_table table)
{
	uint64_t bytes = w->tables[table].entry_bytes + ENTRY_COST_BYTES;

	w->table_bytes += bytes;
	w->growing_bytes += may_be_full(table) ? bytes : 0;
}

/* Interns an entry whose first `key_bytes` make it what it is. */
static int add_entry(struct profile_writer *w, enum profile_table table, const void *entry,
	size_t key_bytes, uint32_t *ret_id)
{
	struct table *t = &w->tables[table];
	uint32_t hash, id;
	int error;

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (t->count != w->counts[table])
		return fail_continued(w, table);
	id = table_find(t, entry, key_bytes, &hash);
	if (id) {
		*ret_id = id;
		return 0;
	}
	if (may_be_full(table) && is_full(w)) {
		*ret_id = 0;
		return refuse_entry(w);
	}
	if (!entry_is_valid(table, entry, w->counts[table] + 1, w->counts))
		return profile_writer_fail_invalid(w, entry_formats[table].name);
	if (table_append(t, entry, hash, &id))
		return profile_writer_fail_memory(w);
	count_bytes(w, table);
	error = write_entry(w, table, entry);
	if (!error)
		*ret_id = id; /* which may be a field of the entry */
	return error;
}

static int write_update(struct profile_writer *w, enum profile_table table, uint32_t id)
{
	uint8_t bytes[ENTRY_MAX_BYTES];
	struct buf *b = &w->updates;

	if (!b->size)
		begin_chunk(b);
	put_number(b, table);
	put_number(b, id);
	put_text(b, (const char *)bytes,
		(size_t)(entry_encode(table, table_get(&w->tables[table], id), bytes) - bytes));
	return check_buffer(w, b);
}

static int update_entry(struct profile_writer *w, enum profile_table table, uint32_t id,
	const void *entry, size_t key_bytes)
{
	struct table *t = &w->tables[table];
	const void *present = table_get(t, id);

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (!present || !entry_is_valid(table, entry, id, w->counts))
		return profile_writer_fail_invalid(w, entry_formats[table].name);
	if (!memcmp(present, entry, key_bytes))
		return 0;
	if (table_replace(t, id, entry, key_bytes))
		return profile_writer_fail_memory(w);
	return write_update(w, table, id);
}

int profile_add_module(struct profile_writer *w, const struct profile_module *m, uint32_t *ret_id)
{
	struct profile_module module = *m;

	if (module.build_id_size < BUILD_ID_MAX)
		memset(module.build_id + module.build_id_size, 0,
			BUILD_ID_MAX - module.build_id_size);
	return add_entry(
		w, TABLE_MODULES, &module, BYTES_THROUGH(profile_module, build_id), ret_id);
}

static bool is_native(const struct profile_location *l)
{
	return l->kind == FRAME_USER || l->kind == FRAME_KERNEL;
}

/* Native code is what its address says; names come later. */
int profile_add_location(
	struct profile_writer *w, const struct profile_location *l, uint32_t *ret_id)
{
	size_t key_bytes = is_native(l) ? BYTES_THROUGH(profile_location, address)
					: BYTES_THROUGH(profile_location, line);

	if (l->inlined || l->function)
		return profile_writer_fail_invalid(w, "location");
	return add_entry(w, TABLE_LOCATIONS, l, key_bytes, ret_id);
}

int profile_add_stack_node(
	struct profile_writer *w, uint32_t parent, uint32_t location, uint32_t *ret_id)
{
	struct profile_stack_node node = {.parent = parent, .location = location};
	uint32_t id = 0;
	int error = 0;

	/* Behind a frame that is left out the others are, too. */
	if (!is_full(w) || (location && !(parent && parent == w->cut_node)))
		error = add_entry(w, TABLE_STACKS, &node, sizeof(node), &id);
	if (error)
		return error;
	w->cut_node = id ? 0 : parent;
	*ret_id = id ? id : parent;
	return 0;
}

void profile_writer_freeze(struct profile_writer *w, bool on)
{
	w->frozen = on;
	w->cut_node = 0;
}

uint64_t profile_writer_refused(const struct profile_writer *w)
{
	return w->refused;
}

uint64_t profile_writer_table_bytes(const struct profile_writer *w)
{
	return w->table_bytes;
}

int profile_add_process(struct profile_writer *w, const struct profile_process *p, uint32_t *ret_id)
{
	return add_entry(w, TABLE_PROCESSES, p, BYTES_THROUGH(profile_process, cmdline), ret_id);
}

int profile_add_thread(struct profile_writer *w, const struct profile_thread *t, uint32_t *ret_id)
{
	return add_entry(w, TABLE_THREADS, t, sizeof(*t), ret_id);
}

/* A GPU is what its UUID says, whatever number a process knows it by; one without is all of its
 * fields. */
int profile_add_device(struct profile_writer *w, const struct profile_device *d, uint32_t *ret_id)
{
	static const uint8_t no_uuid[sizeof(d->uuid)];
	bool has_uuid = memcmp(d->uuid, no_uuid, sizeof(no_uuid));
	struct profile_device device;

	/* Field by field, as there is padding between them. */
	memset(&device, 0, sizeof(device));
	memcpy(device.uuid, d->uuid, sizeof(device.uuid));
	device.ordinal = d->ordinal;
	device.name = d->name;
	device.sm_count = d->sm_count;
	device.memory_bytes = d->memory_bytes;
	device.clock_khz = d->clock_khz;
	return add_entry(w, TABLE_DEVICES, &device,
		has_uuid ? BYTES_THROUGH(profile_device, uuid) : sizeof(device), ret_id);
}

uint32_t profile_find_op(const struct profile_writer *w, const struct profile_op *op)
{
	uint32_t hash;

	return table_find(
		&w->tables[TABLE_OPS], op, BYTES_THROUGH(profile_op, target_memory), &hash);
}

int profile_add_op(struct profile_writer *w, const struct profile_op *op, uint32_t *ret_id)
{
	return add_entry(w, TABLE_OPS, op, BYTES_THROUGH(profile_op, target_memory), ret_id);
}

int profile_add_inline(struct profile_writer *w, const struct profile_inline *i, uint32_t *ret_id)
{
	return add_entry(w, TABLE_INLINES, i, sizeof(*i), ret_id);
}

int profile_add_segment(struct profile_writer *w, const struct profile_segment *s, uint32_t *ret_id)
{
	struct profile_segment segment;

	/* Field by field, as there is padding between them. */
	memset(&segment, 0, sizeof(segment));
	segment.module = s->module;
	segment.offset = s->offset;
	segment.size = s->size;
	segment.vaddr = s->vaddr;
	return add_entry(w, TABLE_SEGMENTS, &segment, sizeof(segment), ret_id);
}

int profile_add_gpu_function(
	struct profile_writer *w, const struct profile_gpu_function *f, uint32_t *ret_id)
{
	return add_entry(w, TABLE_GPU_FUNCTIONS, f, sizeof(*f), ret_id);
}

int profile_add_instruction(
	struct profile_writer *w, const struct profile_instruction *i, uint32_t *ret_id)
{
	return add_entry(
		w, TABLE_INSTRUCTIONS, i, BYTES_THROUGH(profile_instruction, offset), ret_id);
}

/* For tables that nothing asks for again: their entries are not kept. */
static int add_unkept(struct profile_writer *w, enum profile_table table, const void *entry)
{
	if (w->error)
		return profile_writer_fail_sticky(w);
	if (w->continued)
		return fail_continued(w, table);
	if (w->counts[table] == UINT32_MAX)
		return profile_writer_fail_memory(w);
	if (!entry_is_valid(table, entry, w->counts[table] + 1, w->counts))
		return profile_writer_fail_invalid(w, entry_formats[table].name);
	return write_entry(w, table, entry);
}

int profile_add_window(
	struct profile_writer *w, const struct profile_window *window, uint32_t *ret_id)
{
	uint32_t id = w->counts[TABLE_WINDOWS] + 1;
	int error = add_unkept(w, TABLE_WINDOWS, window);

	if (error)
		return error;
	w->totals.window_samples += window->samples;
	*ret_id = id;
	return 0;
}

int profile_add_burst(struct profile_writer *w, const struct profile_burst *burst)
{
	return add_unkept(w, TABLE_BURSTS, burst);
}

int profile_add_counter(struct profile_writer *w, const struct profile_counter *c, uint32_t *ret_id)
{
	return add_entry(w, TABLE_COUNTERS, c, sizeof(*c), ret_id);
}

/* Of these there are few, and each comes once. */
static int add_numbered(
	struct profile_writer *w, enum profile_table table, const void *entry, uint32_t *ret_id)
{
	uint32_t id = w->counts[table] + 1;
	int error = add_unkept(w, table, entry);

	if (!error)
		*ret_id = id;
	return error;
}

int profile_add_probe_object(
	struct profile_writer *w, const struct profile_probe_object *o, uint32_t *ret_id)
{
	return add_numbered(w, TABLE_PROBE_OBJECTS, o, ret_id);
}

int profile_add_probe_map(
	struct profile_writer *w, const struct profile_probe_map *m, uint32_t *ret_id)
{
	return add_numbered(w, TABLE_PROBE_MAPS, m, ret_id);
}

int profile_add_probe_context(
	struct profile_writer *w, const struct profile_probe_context *c, uint32_t *ret_id)
{
	return add_numbered(w, TABLE_PROBE_CONTEXTS, c, ret_id);
}

int profile_add_probe_kernel(struct profile_writer *w, const struct profile_probe_kernel *k)
{
	return add_unkept(w, TABLE_PROBE_KERNELS, k);
}

int profile_add_probe_line(struct profile_writer *w, const struct profile_probe_line *l)
{
	return add_unkept(w, TABLE_PROBE_LINES, l);
}

int profile_update_process(struct profile_writer *w, uint32_t id, const struct profile_process *p)
{
	return update_entry(w, TABLE_PROCESSES, id, p, BYTES_THROUGH(profile_process, cmdline));
}

int profile_update_thread(struct profile_writer *w, uint32_t id, const struct profile_thread *t)
{
	return update_entry(w, TABLE_THREADS, id, t, sizeof(*t));
}

int profile_flag_thread(struct profile_writer *w, uint32_t id, uint32_t flags)
{
	const struct profile_thread *present = table_get(&w->tables[TABLE_THREADS], id);
	struct profile_thread flagged;

	if (!present)
		return profile_writer_fail_invalid(w, "thread");
	flagged = *present;
	flagged.flags |= flags;
	return profile_update_thread(w, id, &flagged);
}

int profile_add_symbol(struct profile_writer *w, uint32_t location, uint32_t name, uint32_t file,
	uint32_t line, uint32_t inlined)
{
	struct profile_location *l = table_get(&w->tables[TABLE_LOCATIONS], location);
	uint32_t strings = w->counts[TABLE_STRINGS];

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (!l || !is_native(l) || name > strings || file > strings ||
		inlined > w->counts[TABLE_INLINES])
		return profile_writer_fail_invalid(w, "symbol");
	l->name = name;
	l->file = file;
	l->line = line;
	l->inlined = inlined;
	return write_update(w, TABLE_LOCATIONS, location);
}

int profile_add_function_start(struct profile_writer *w, uint32_t location, uint64_t start)
{
	struct profile_location *l = table_get(&w->tables[TABLE_LOCATIONS], location);

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (!l || !is_native(l))
		return profile_writer_fail_invalid(w, "function");
	l->function = start;
	return write_update(w, TABLE_LOCATIONS, location);
}

int profile_describe_instruction(
	struct profile_writer *w, uint32_t id, const struct profile_instruction *i)
{
	struct profile_instruction *present = table_get(&w->tables[TABLE_INSTRUCTIONS], id);

	if (w->error)
		return profile_writer_fail_sticky(w);
	if (!present || present->function != i->function || present->offset != i->offset ||
		!entry_is_valid(TABLE_INSTRUCTIONS, i, id, w->counts))
		return profile_writer_fail_invalid(w, entry_formats[TABLE_INSTRUCTIONS].name);
	if (!memcmp(present, i, sizeof(*i)))
		return 0;
	*present = *i;
	return write_update(w, TABLE_INSTRUCTIONS, id);
}

uint32_t profile_writer_segment_count(const struct profile_writer *w)
{
	return w->counts[TABLE_SEGMENTS];
}

const struct profile_segment *profile_writer_segment(const struct profile_writer *w, uint32_t id)
{
	return table_get(&w->tables[TABLE_SEGMENTS], id);
}

uint32_t profile_writer_location_count(const struct profile_writer *w)
{
	return w->counts[TABLE_LOCATIONS];
}

const struct profile_location *profile_writer_location(const struct profile_writer *w, uint32_t id)
{
	return table_get(&w->tables[TABLE_LOCATIONS], id);
}

const struct profile_module *profile_writer_module(const struct profile_writer *w, uint32_t id)
{
	return table_get(&w->tables[TABLE_MODULES], id);
}

const struct profile_gpu_function *profile_writer_gpu_function(
	const struct profile_writer *w, uint32_t id)
{
	return table_get(&w->tables[TABLE_GPU_FUNCTIONS], id);
}

uint32_t profile_writer_instruction_count(const struct profile_writer *w)
{
	return w->counts[TABLE_INSTRUCTIONS];
}

const struct profile_instruction *profile_writer_instruction(
	const struct profile_writer *w, uint32_t id)
{
	return table_get(&w->tables[TABLE_INSTRUCTIONS], id);
}

const char *profile_writer_string(const struct profile_writer *w, uint32_t id)
{
	return interner_get(w->strings, id, NULL);
}
