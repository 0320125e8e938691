// SPDX-License-Identifier: MIT
/*
 * What is new collects in one buffer for each kind of chunk, which begins with room for the chunk's
 * header. Pushing writes the buffers in the order of enum profile_table, updates next, events last:
 * so an entry always reaches the file before what refers to it, and a file cut short anywhere makes
 * sense up to there. Tables are pushed when one of their buffers is full, everything when the
 * events are, or when it has waited for long enough. Chunks are small at first and grow with the
 * file, so that a disk which fills up costs a part of what is there and not all of it.
 */
#include "profile/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/io.h"
#include "base/vec.h"
#include "base/write_behind.h"
#include "profile/cpu_times.h"
#include "profile/crc32c.h"
#include "profile/entries.h"
#include "profile/events.h"
#include "profile/format.h"
#include "profile/output_file.h"
#include "profile/reader.h"
#include "profile/table.h"
#include "profile/varint.h"

#define EVENTS_BYTES	(256u << 10) /* a chunk of events, its header included */
#define BEHIND_BYTES	(4u << 20)   /* may wait for the disk, and as much again be on its way */
#define TABLE_BYTES	(64u << 10)  /* a chunk of entries is pushed beyond that */
#define BEGIN_BYTES	(4u << 10)   /* both of them, in a small file */
#define PART_OF_FILE	2	     /* and then in one that is so much larger */
#define FIRST_EVENTS_NS (150 * NS_PER_MS)
#define OTHERS_NS	(600 * NS_PER_MS)

/* Strings, modules, locations and stack nodes in memory: five million nodes, or a million names. */
#define TABLES_MAX_BYTES  ((uint64_t)256 << 20)
#define STRING_COST_BYTES 72 /* of each string, beside its text */
#define ENTRY_COST_BYTES  20 /* of each entry: its hash, and the index */

#define META_MAX_KEYS	   48
#define META_KEY_MAX_BYTES 256
_Static_assert(
	TABLE_BYTES + STRING_MAX_BYTES + 2 * VARINT_MAX_BYTES < CHUNK_MAX_BYTES &&
		META_MAX_KEYS * (META_KEY_MAX_BYTES + META_MAX_BYTES + 2 * VARINT_MAX_BYTES) <
			CHUNK_MAX_BYTES,
	"a chunk may be too large for the reader");

struct meta {
	char *key;
	char *value;
};

struct profile_writer {
	struct output_file out;
	struct write_behind *file; /* all but the header goes through it; NULL until it begins */
	char *path;
	int error; /* the first failure, and its text */
	char error_text[512];

	struct interner *strings;
	struct table tables[TABLE_COUNT]; /* all but TABLE_STRINGS */
	uint32_t counts[TABLE_COUNT];
	struct buf entries[TABLE_COUNT]; /* not yet written */
	struct buf updates;		 /* not yet written */

	uint8_t *events; /* EVENTS_BYTES; not yet written */
	size_t events_used;
	bool events_pushed; /* some */
	struct event_coder coder;

	size_t chunk_bytes;    /* how large chunks may become by now */
	uint64_t waiting_ns;   /* since when something is seen to wait; 0: nothing is */
	uint64_t behind_bytes; /* that `file` got */

	struct cpu_times accounts;
	struct vec(struct meta) meta;
	bool meta_changed, losses_changed;
	bool continued;		/* it holds more than its tables: see copy_tables */
	bool no_end;		/* it continues a profile that was not whole */
	bool ended;		/* see profile_writer_end */
	uint64_t table_bytes;	/* of all tables, about */
	uint64_t growing_bytes; /* of those with TABLES_MAX_BYTES */
	uint64_t refused;	/* entries, so far */
	bool frozen;
	uint32_t cut_node; /* the latest stack was cut off behind it; 0: it was not */
	struct profile_totals totals;
};

static int fail_sticky(const struct profile_writer *w)
{
	return error_set(w->error, "%s", w->error_text);
}

/* Keeps the error whose text was just set. */
static int keep_error(struct profile_writer *w, int error)
{
	w->error = error;
	strncpy(w->error_text, error_text(), sizeof(w->error_text) - 1);
	return error;
}

static int fail_memory(struct profile_writer *w)
{
	return keep_error(w, error_errno(-ENOMEM, "cannot go on writing '%s'", w->path));
}

static int fail_invalid(const struct profile_writer *w, const char *what)
{
	return error_set(-EINVAL,
		"cannot add to '%s': the %s refers to something that is not there", w->path, what);
}

/* What did not get into the file does not count. */
static int fail_write(struct profile_writer *w, int error)
{
	uint64_t written = w->file ? write_behind_written(w->file) : 0;

	w->totals.file_bytes -= w->behind_bytes - written;
	w->behind_bytes = written;
	return keep_error(w, error_errno(error, "cannot write '%s'", w->path));
}

static int write_bytes(struct profile_writer *w, const void *data, size_t size)
{
	int error = profile_writer_begin(w);

	if (error)
		return error;
	error = write_behind_put(w->file, data, size);
	if (error)
		return fail_write(w, error);
	w->behind_bytes += size;
	w->totals.file_bytes += size;
	if (w->chunk_bytes < EVENTS_BYTES && w->totals.file_bytes / PART_OF_FILE > w->chunk_bytes)
		w->chunk_bytes = w->totals.file_bytes / PART_OF_FILE < EVENTS_BYTES
					 ? w->totals.file_bytes / PART_OF_FILE
					 : EVENTS_BYTES;
	return 0;
}

/* Writes a chunk whose payload lies behind CHUNK_HEADER_BYTES of room; `size` includes them. */
static int write_chunk(struct profile_writer *w, uint32_t type, void *data, size_t size)
{
	uint8_t *header = data;
	uint32_t crc;

	put_u32(header, type);
	put_u32(header + 4, (uint32_t)(size - CHUNK_HEADER_BYTES));
	crc = crc32c(0, header, 8);
	put_u32(header + 8, crc32c(crc, header + CHUNK_HEADER_BYTES, size - CHUNK_HEADER_BYTES));
	return write_bytes(w, data, size);
}

/* Writes a buffered chunk, if there is one, and empties the buffer. */
static int push_buffer(struct profile_writer *w, uint32_t type, struct buf *b)
{
	int error;

	if (b->failed)
		return fail_memory(w);
	if (!b->size)
		return 0;
	error = write_chunk(w, type, b->data, b->size);
	buf_reset(b);
	return error;
}

static void put_number(struct buf *b, uint64_t number)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	buf_append(b, bytes, (size_t)(varint_put(bytes, number) - bytes));
}

static void put_text(struct buf *b, const char *text, size_t size)
{
	put_number(b, size);
	buf_append(b, text, size);
}

static void begin_chunk(struct buf *b)
{
	static const char room[CHUNK_HEADER_BYTES];

	buf_append(b, room, sizeof(room));
}

static int push_tables(struct profile_writer *w)
{
	int error = 0;

	for (int table = TABLE_STRINGS; table < TABLE_COUNT && !error; table++)
		error = push_buffer(w, entry_formats[table].chunk, &w->entries[table]);
	return error ?: push_buffer(w, CHUNK_UPDATES, &w->updates);
}

static void begin_events(struct profile_writer *w)
{
	w->events_used = CHUNK_HEADER_BYTES;
	event_coder_reset(&w->coder);
}

static int push_events(struct profile_writer *w)
{
	int error = push_tables(w);

	if (error || w->events_used == CHUNK_HEADER_BYTES)
		return error;
	error = write_chunk(w, CHUNK_EVENTS, w->events, w->events_used);
	begin_events(w);
	w->events_pushed = true;
	return error;
}

static int push_losses(struct profile_writer *w)
{
	struct buf b = BUF_INIT;
	int error;

	if (!w->losses_changed)
		return 0;
	begin_chunk(&b);
	for (unsigned int loss = 1; loss < LOSS_KINDS; loss++) {
		if (!w->totals.losses[loss])
			continue;
		put_number(&b, loss);
		put_number(&b, w->totals.losses[loss]);
	}
	error = push_buffer(w, CHUNK_LOSSES, &b);
	buf_release(&b);
	w->losses_changed = false;
	return error;
}

static int push_accounts(struct profile_writer *w)
{
	struct buf b = BUF_INIT;
	uint32_t thread = 0;
	int error = 0;

	while (!error && thread < w->accounts.count) {
		begin_chunk(&b);
		cpu_times_encode(&w->accounts, &thread, TABLE_BYTES, &b);
		if (b.size == CHUNK_HEADER_BYTES)
			buf_reset(&b);
		error = push_buffer(w, CHUNK_ACCOUNTS, &b);
	}
	buf_release(&b);
	return error;
}

static int push_meta(struct profile_writer *w)
{
	struct buf b = BUF_INIT;
	int error;

	if (!w->meta_changed)
		return 0;
	begin_chunk(&b);
	vec_foreach (m, &w->meta) {
		put_text(&b, m->key, strlen(m->key));
		put_text(&b, m->value, strlen(m->value));
	}
	error = push_buffer(w, CHUNK_META, &b);
	buf_release(&b);
	w->meta_changed = false;
	return error;
}

static int push_end(struct profile_writer *w)
{
	const struct profile_totals *t = &w->totals;
	struct buf b = BUF_INIT;
	uint64_t late[] = {t->stalls, t->stall_samples, t->counts, t->drivers, t->waits, t->lives,
		t->syncs, w->counts[TABLE_BURSTS], t->markers, w->counts[TABLE_PROBE_OBJECTS],
		w->counts[TABLE_PROBE_MAPS], w->counts[TABLE_PROBE_CONTEXTS],
		w->counts[TABLE_PROBE_KERNELS], w->counts[TABLE_PROBE_LINES], t->founds};
	int lates = sizeof(late) / sizeof(late[0]), tables = TABLE_BURSTS, error;

	while (lates && !late[lates - 1])
		lates--;
	while (!lates && tables > TABLE_OPS + 1 && !w->counts[tables - 1])
		tables--;
	begin_chunk(&b);
	put_number(&b, t->samples);
	put_number(&b, t->calls);
	put_number(&b, t->works);
	put_number(&b, t->pendings);
	put_number(&b, t->cpu_ns);
	put_number(&b, t->gpu_ns);
	for (int table = TABLE_STRINGS; table < tables; table++)
		put_number(&b, w->counts[table]);
	for (int i = 0; i < lates; i++)
		put_number(&b, late[i]);
	error = push_buffer(w, CHUNK_END, &b);
	buf_release(&b);
	return error;
}

int profile_writer_push(struct profile_writer *w)
{
	int error;

	if (w->error)
		return fail_sticky(w);
	w->waiting_ns = 0;
	error = push_events(w);
	error = error ?: push_losses(w);
	error = error ?: push_meta(w);
	return error;
}

static bool something_waits(const struct profile_writer *w)
{
	bool entries = w->updates.size;

	for (int table = TABLE_STRINGS; table < TABLE_COUNT; table++)
		entries |= w->entries[table].size != 0;
	return entries || w->events_used > CHUNK_HEADER_BYTES || w->losses_changed ||
	       w->meta_changed;
}

int profile_writer_push_due(struct profile_writer *w, uint64_t now_ns)
{
	uint64_t patience_ns = w->events_pushed ? OTHERS_NS : FIRST_EVENTS_NS;

	if (!w->waiting_ns && something_waits(w))
		w->waiting_ns = now_ns;
	if (!w->waiting_ns || now_ns - w->waiting_ns < patience_ns)
		return w->error ? fail_sticky(w) : 0;
	return profile_writer_push(w);
}

static int wait_for_file(struct profile_writer *w)
{
	int error = w->file ? write_behind_wait(w->file) : 0;

	return error ? fail_write(w, error) : 0;
}

int profile_writer_flush(struct profile_writer *w)
{
	int error = profile_writer_push(w);

	return error ?: wait_for_file(w);
}

/* At once, so that a file that cannot be written is known from the beginning. */
static int write_header(struct profile_writer *w)
{
	uint8_t header[FILE_HEADER_BYTES] = FILE_MAGIC;
	int error;

	put_u32(header + FILE_MAGIC_BYTES, FILE_VERSION);
	put_u32(header + 12, crc32c(0, header, 12));
	error = io_write_all(w->out.fd, header, sizeof(header));
	if (error)
		return fail_write(w, error);
	w->totals.file_bytes += sizeof(header);
	return 0;
}

static int start_file(struct profile_writer *w)
{
	if (write_behind_new(&w->file, w->out.fd, BEHIND_BYTES))
		return fail_memory(w);
	return 0;
}

static int new_writer(struct profile_writer **ret, const char *path)
{
	struct profile_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return error_errno(-ENOMEM, "cannot create '%s'", path);
	w->out = OUTPUT_FILE_NONE;
	w->path = strdup(path);
	w->events = malloc(EVENTS_BYTES);
	for (int table = TABLE_STRINGS + 1; table < TABLE_COUNT; table++)
		table_init(&w->tables[table], entry_formats[table].entry_bytes);
	if (!w->path || !w->events || interner_new(&w->strings)) {
		profile_writer_abort(w);
		return error_errno(-ENOMEM, "cannot create '%s'", path);
	}
	begin_events(w);
	w->chunk_bytes = BEGIN_BYTES;
	*ret = w;
	return 0;
}

static int open_writer(
	struct profile_writer **ret, const char *path, const struct user *user, bool keep)
{
	struct profile_writer *w;
	int error = new_writer(&w, path);

	if (error)
		return error;
	error = output_file_open(&w->out, user, w->path, keep);
	if (error)
		profile_writer_abort(w);
	else
		*ret = w;
	return error;
}

int profile_writer_open(struct profile_writer **ret, const char *path)
{
	return open_writer(ret, path, NULL, false);
}

int profile_writer_open_for(struct profile_writer **ret, const char *path, const struct user *user)
{
	return open_writer(ret, path, user, true);
}

int profile_writer_begin(struct profile_writer *w)
{
	int error;

	if (w->file)
		return 0;
	if (w->error)
		return fail_sticky(w);
	error = output_file_begin(&w->out);
	if (error)
		return keep_error(w, error);
	error = write_header(w);
	return error ?: start_file(w);
}

void profile_writer_remove(struct profile_writer *w)
{
	if (w)
		output_file_remove(&w->out);
}

void profile_writer_abort(struct profile_writer *w)
{
	if (!w)
		return;
	write_behind_free(w->file);
	(void)output_file_close(&w->out);
	for (int table = 0; table < TABLE_COUNT; table++) {
		table_release(&w->tables[table]);
		buf_release(&w->entries[table]);
	}
	buf_release(&w->updates);
	cpu_times_release(&w->accounts);
	vec_foreach (m, &w->meta) {
		free(m->key);
		free(m->value);
	}
	vec_release(&w->meta);
	interner_free(w->strings);
	free(w->events);
	free(w->path);
	free(w);
}

int profile_writer_end(struct profile_writer *w)
{
	int error;

	if (w->ended)
		return 0;
	w->ended = true;
	error = profile_writer_flush(w);
	error = error ?: push_accounts(w);
	if (!error && !w->no_end)
		error = push_end(w);
	return error ?: wait_for_file(w);
}

int profile_writer_close(struct profile_writer *w)
{
	int error, closed;

	if (!w)
		return 0;
	error = profile_writer_end(w);
	write_behind_free(w->file);
	w->file = NULL;
	closed = output_file_close(&w->out);
	if (closed && !error)
		error = error_errno(closed, "cannot write '%s'", w->path);
	profile_writer_abort(w);
	return error;
}

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
		return fail_memory(w);
	if (b->size < TABLE_BYTES && b->size < w->chunk_bytes)
		return 0;
	return w->chunk_bytes < TABLE_BYTES ? push_events(w) : push_tables(w);
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
		return fail_memory(w);
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
		return fail_sticky(w);
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
		return fail_sticky(w);
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
		return fail_invalid(w, entry_formats[table].name);
	if (table_append(t, entry, hash, &id))
		return fail_memory(w);
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
		return fail_sticky(w);
	if (!present || !entry_is_valid(table, entry, id, w->counts))
		return fail_invalid(w, entry_formats[table].name);
	if (!memcmp(present, entry, key_bytes))
		return 0;
	if (table_replace(t, id, entry, key_bytes))
		return fail_memory(w);
	return write_update(w, table, id);
}

/* Up to the end of the last member, without the padding behind it. */
#define BYTES_THROUGH(type, member)                                                                \
	(offsetof(struct type, member) + sizeof(((struct type *)0)->member))

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
		return fail_invalid(w, "location");
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
		return fail_sticky(w);
	if (w->continued)
		return fail_continued(w, table);
	if (w->counts[table] == UINT32_MAX)
		return fail_memory(w);
	if (!entry_is_valid(table, entry, w->counts[table] + 1, w->counts))
		return fail_invalid(w, entry_formats[table].name);
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
		return fail_invalid(w, "thread");
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
		return fail_sticky(w);
	if (!l || !is_native(l) || name > strings || file > strings ||
		inlined > w->counts[TABLE_INLINES])
		return fail_invalid(w, "symbol");
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
		return fail_sticky(w);
	if (!l || !is_native(l))
		return fail_invalid(w, "function");
	l->function = start;
	return write_update(w, TABLE_LOCATIONS, location);
}

int profile_describe_instruction(
	struct profile_writer *w, uint32_t id, const struct profile_instruction *i)
{
	struct profile_instruction *present = table_get(&w->tables[TABLE_INSTRUCTIONS], id);

	if (w->error)
		return fail_sticky(w);
	if (!present || present->function != i->function || present->offset != i->offset ||
		!entry_is_valid(TABLE_INSTRUCTIONS, i, id, w->counts))
		return fail_invalid(w, entry_formats[TABLE_INSTRUCTIONS].name);
	if (!memcmp(present, i, sizeof(*i)))
		return 0;
	*present = *i;
	return write_update(w, TABLE_INSTRUCTIONS, id);
}

/* Makes room for one more event. */
static int reserve_event(struct profile_writer *w)
{
	if (w->error)
		return fail_sticky(w);
	return w->events_used + EVENT_MAX_BYTES <= w->chunk_bytes ? 0 : push_events(w);
}

static void event_written(struct profile_writer *w, const uint8_t *end)
{
	w->events_used = (size_t)(end - w->events);
}

int profile_write_sample(struct profile_writer *w, const struct profile_sample *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!sample_is_valid(s, w->counts))
		return fail_invalid(w, "sample");
	event_written(w, event_encode_sample(&w->coder, s, w->events + w->events_used));
	w->totals.samples++;
	w->totals.stacks += s->stack != 0;
	w->totals.cpu_ns += s->period_ns;
	return cpu_times_add_period(&w->accounts, s->thread, s->period_ns) ? fail_memory(w) : 0;
}

int profile_add_account(
	struct profile_writer *w, uint32_t thread, const struct profile_account *account)
{
	if (w->error)
		return fail_sticky(w);
	if (!thread || thread > w->counts[TABLE_THREADS] || account->kernel_ns > account->run_ns)
		return fail_invalid(w, "CPU time");
	w->totals.account_ns += account->run_ns;
	return cpu_times_add(&w->accounts, thread, account) ? fail_memory(w) : 0;
}

int profile_write_call(struct profile_writer *w, const struct profile_call *c)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!call_is_valid(c, w->counts))
		return fail_invalid(w, "call");
	event_written(w, event_encode_call(&w->coder, c, w->events + w->events_used));
	w->totals.calls++;
	w->totals.stacks += c->stack != 0;
	return 0;
}

int profile_write_work(struct profile_writer *w, const struct profile_work *work)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!work_is_valid(work, w->counts))
		return fail_invalid(w, "work");
	event_written(w, event_encode_work(&w->coder, work, w->events + w->events_used));
	w->totals.works++;
	w->totals.gpu_ns += work->duration_ns;
	w->totals.works_without_stack += !work->stack;
	w->totals.join_by_reason[work->join]++;
	return 0;
}

int profile_write_pending(struct profile_writer *w, const struct profile_pending *p)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!pending_is_valid(p, w->counts))
		return fail_invalid(w, "pending call");
	event_written(w, event_encode_pending(&w->coder, p, w->events + w->events_used));
	w->totals.pendings++;
	w->totals.pending_by_reason[p->reason]++;
	return 0;
}

int profile_write_stall(struct profile_writer *w, const struct profile_stall *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!stall_is_valid(s, w->counts))
		return fail_invalid(w, "instruction sample");
	event_written(w, event_encode_stall(&w->coder, s, w->events + w->events_used));
	w->totals.stalls++;
	w->totals.stall_samples += s->samples;
	return 0;
}

int profile_write_count(struct profile_writer *w, const struct profile_count *c)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!count_is_valid(c, w->counts))
		return fail_invalid(w, "sample of a counter");
	event_written(w, event_encode_count(&w->coder, c, w->events + w->events_used));
	w->totals.counts++;
	return 0;
}

int profile_write_driver(struct profile_writer *w, const struct profile_driver *d)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!driver_is_valid(d, w->counts))
		return fail_invalid(w, "event of a driver");
	event_written(w, event_encode_driver(&w->coder, d, w->events + w->events_used));
	w->totals.drivers++;
	return 0;
}

int profile_write_wait(struct profile_writer *w, const struct profile_wait *wait)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!wait_is_valid(wait, w->counts))
		return fail_invalid(w, "wait");
	event_written(w, event_encode_wait(&w->coder, wait, w->events + w->events_used));
	w->totals.waits++;
	w->totals.stacks += wait->stack && wait->duration_ns && !wait->assumed;
	return 0;
}

int profile_write_life(struct profile_writer *w, const struct profile_life *l)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!life_is_valid(l, w->counts))
		return fail_invalid(w, "life");
	event_written(w, event_encode_life(&w->coder, l, w->events + w->events_used));
	w->totals.lives++;
	return 0;
}

int profile_write_sync(struct profile_writer *w, const struct profile_sync *s)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!sync_is_valid(s, w->counts))
		return fail_invalid(w, "sync");
	event_written(w, event_encode_sync(&w->coder, s, w->events + w->events_used));
	w->totals.syncs++;
	return 0;
}

int profile_write_marker(struct profile_writer *w, const struct profile_marker *m)
{
	int error = reserve_event(w);

	if (error)
		return error;
	if (!marker_is_valid(m, w->counts))
		return fail_invalid(w, "marker");
	event_written(w, event_encode_marker(&w->coder, m, w->events + w->events_used));
	w->totals.markers++;
	return 0;
}

int profile_write_found(struct profile_writer *w, const struct profile_found *f)
{
	int error = reserve_event(w);

	if (!error && f->size > FOUND_MAX_BYTES)
		return fail_invalid(w, "finding");
	if (!error && w->events_used + EVENT_MAX_BYTES + f->size > EVENTS_BYTES)
		error = push_events(w);
	if (error)
		return error;
	if (!found_is_valid(f, w->counts))
		return fail_invalid(w, "finding");
	event_written(w, event_encode_found(&w->coder, f, w->events + w->events_used));
	w->totals.founds++;
	return 0;
}

int profile_count_loss(struct profile_writer *w, enum profile_loss loss, uint64_t count)
{
	if (w->error)
		return fail_sticky(w);
	if (loss < 1 || loss >= LOSS_KINDS)
		return error_set(-EINVAL, "cannot count losses of kind %u", loss);
	if (count) {
		w->totals.losses[loss] += count;
		w->losses_changed = true;
	}
	return 0;
}

int profile_count_incomplete(struct profile_writer *w, enum profile_loss why)
{
	int error = profile_count_loss(w, LOSS_STACKS_INCOMPLETE, why != 0);

	return error || !why ? error : profile_count_loss(w, why, 1);
}

static struct meta *find_meta(struct profile_writer *w, const char *key)
{
	vec_foreach (m, &w->meta)
		if (!strcmp(m->key, key))
			return m;
	return NULL;
}

/* Takes `value` over, also when it fails. */
static int add_meta(struct profile_writer *w, const char *key, char *value)
{
	struct meta m = {.key = strdup(key), .value = value};

	if (!m.key || vec_push(&w->meta, m)) {
		free(m.key);
		free(value);
		return fail_memory(w);
	}
	return 0;
}

int profile_set_meta(struct profile_writer *w, const char *key, const char *value)
{
	struct meta *m;
	char *copy;

	if (w->error)
		return fail_sticky(w);
	m = find_meta(w, key);
	if (!m && (w->meta.count == META_MAX_KEYS || strlen(key) > META_KEY_MAX_BYTES))
		return error_set(
			-E2BIG, "cannot add '%s' to '%s': too much metadata", key, w->path);
	copy = strndup(value, META_MAX_BYTES);
	if (!copy)
		return fail_memory(w);
	w->meta_changed = true;
	if (!strcmp(key, META_SIMULATED))
		w->totals.simulated = true;
	if (!strcmp(key, META_SAMPLE_HZ))
		w->totals.sampled = strcmp(value, "0") != 0;
	if (!m)
		return add_meta(w, key, copy);
	free(m->value);
	m->value = copy;
	return 0;
}

/* Ids stay what they are, so each string must come once, in order. */
static int copy_strings(struct profile_writer *w, const struct profile_reader *r, uint32_t count)
{
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t own;
		size_t size;
		const char *text = profile_string(r, id, &size);

		if (interner_add(w->strings, text, size, &own, NULL))
			return fail_memory(w);
		if (own != id)
			return error_set(
				-EINVAL, "cannot add to '%s': it holds a string twice", w->path);
	}
	w->counts[TABLE_STRINGS] = count;
	return 0;
}

static int copy_entries(struct profile_writer *w, enum profile_table table,
	const struct profile_reader *r, uint32_t count,
	const void *(*get)(const struct profile_reader *r, uint32_t id), size_t key_bytes)
{
	struct table *t = &w->tables[table];

	for (uint32_t id = 1; id <= count; id++) {
		const void *entry = get(r, id);
		uint32_t hash, own;

		(void)table_find(t, entry, key_bytes, &hash);
		if (table_append(t, entry, hash, &own))
			return fail_memory(w);
	}
	w->counts[table] = count;
	return 0;
}

static const void *get_module(const struct profile_reader *r, uint32_t id)
{
	return profile_module(r, id);
}

static const void *get_location(const struct profile_reader *r, uint32_t id)
{
	return profile_location(r, id);
}

static const void *get_inline(const struct profile_reader *r, uint32_t id)
{
	return profile_inline(r, id);
}

static const void *get_segment(const struct profile_reader *r, uint32_t id)
{
	return profile_segment(r, id);
}

static const void *get_gpu_function(const struct profile_reader *r, uint32_t id)
{
	return profile_gpu_function(r, id);
}

static const void *get_instruction(const struct profile_reader *r, uint32_t id)
{
	return profile_instruction(r, id);
}

/* The tables that names are about; of the others the number of entries is all that is needed. */
static int copy_tables(struct profile_writer *w, const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);
	int error = copy_strings(w, r, counts.strings);

	w->counts[TABLE_STACKS] = counts.stack_nodes;
	w->counts[TABLE_PROCESSES] = counts.processes;
	w->counts[TABLE_THREADS] = counts.threads;
	w->counts[TABLE_DEVICES] = counts.devices;
	w->counts[TABLE_OPS] = counts.ops;
	w->counts[TABLE_WINDOWS] = counts.windows;
	w->counts[TABLE_COUNTERS] = counts.counters;
	w->counts[TABLE_BURSTS] = counts.bursts;
	w->counts[TABLE_PROBE_OBJECTS] = counts.probe_objects;
	w->counts[TABLE_PROBE_MAPS] = counts.probe_maps;
	w->counts[TABLE_PROBE_CONTEXTS] = counts.probe_contexts;
	w->counts[TABLE_PROBE_KERNELS] = counts.probe_kernels;
	w->counts[TABLE_PROBE_LINES] = counts.probe_lines;
	w->continued = true;
	error = error
			?: copy_entries(w, TABLE_MODULES, r, counts.modules, get_module,
				   BYTES_THROUGH(profile_module, build_id));
	error = error
			?: copy_entries(w, TABLE_LOCATIONS, r, counts.locations, get_location,
				   BYTES_THROUGH(profile_location, address));
	error = error
			?: copy_entries(w, TABLE_INLINES, r, counts.inlines, get_inline,
				   sizeof(struct profile_inline));
	error = error
			?: copy_entries(w, TABLE_SEGMENTS, r, counts.segments, get_segment,
				   sizeof(struct profile_segment));
	error = error
			?: copy_entries(w, TABLE_GPU_FUNCTIONS, r, counts.gpu_functions,
				   get_gpu_function, sizeof(struct profile_gpu_function));
	return error
		       ?: copy_entries(w, TABLE_INSTRUCTIONS, r, counts.instructions,
				  get_instruction, BYTES_THROUGH(profile_instruction, offset));
}

static int copy_totals(struct profile_writer *w, const struct profile_reader *r)
{
	struct profile_sums sums = profile_reader_sums(r);
	const char *key, *value;
	int error = 0;

	w->totals.samples = sums.samples;
	w->totals.calls = sums.calls;
	w->totals.works = sums.works;
	w->totals.pendings = sums.pendings;
	w->totals.stalls = sums.stalls;
	w->totals.stall_samples = sums.stall_samples;
	w->totals.counts = sums.counts;
	w->totals.drivers = sums.drivers;
	w->totals.waits = sums.waits;
	w->totals.lives = sums.lives;
	w->totals.syncs = sums.syncs;
	w->totals.markers = sums.markers;
	w->totals.founds = sums.founds;
	w->totals.cpu_ns = sums.cpu_ns;
	w->totals.gpu_ns = sums.gpu_ns;
	for (unsigned int loss = 1; loss < LOSS_KINDS; loss++)
		w->totals.losses[loss] = profile_loss_count(r, (enum profile_loss)loss);
	for (size_t n = 0; !error && profile_meta_at(r, n, &key, &value); n++)
		error = profile_set_meta(w, key, value);
	w->meta_changed = false; /* it is in the copy */
	w->no_end = profile_reader_incomplete(r);
	return error;
}

int profile_writer_continue(
	struct profile_writer **ret, const char *path, int fd, struct profile_reader *r)
{
	struct profile_writer *w;
	int error = new_writer(&w, path);

	if (error) {
		close(fd);
		return error;
	}
	w->out.fd = fd;
	error = profile_reader_copy(r, fd);
	error = error ?: copy_tables(w, r);
	error = error ?: copy_totals(w, r);
	error = error ?: start_file(w);
	if (error)
		profile_writer_abort(w);
	else
		*ret = w;
	return error;
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

void profile_writer_totals(const struct profile_writer *w, struct profile_totals *ret)
{
	*ret = w->totals;
}
