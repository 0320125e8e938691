// SPDX-License-Identifier: MIT
/*
 * What is new collects in one buffer for each kind of chunk, which begins with room for the chunk's
 * header. Pushing writes the buffers in the order of enum profile_table, updates next, events last:
 * so an entry always reaches the file before what refers to it, and a file cut short anywhere makes
 * sense up to there. Tables are pushed when one of their buffers is full, everything when the
 * events are, or when it has waited for long enough. Chunks are small at first and grow with the
 * file, so that a disk which fills up costs a part of what is there and not all of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "profile/crc32c.h"
#include "profile/writer_internal.h"

#define BEHIND_BYTES	(4u << 20) /* may wait for the disk, and as much again be on its way */
#define BEGIN_BYTES	(4u << 10) /* both of them, in a small file */
#define PART_OF_FILE	2	   /* and then in one that is so much larger */
#define FIRST_EVENTS_NS (150 * NS_PER_MS)
#define OTHERS_NS	(600 * NS_PER_MS)

#define META_MAX_KEYS	   48
#define META_KEY_MAX_BYTES 256
_Static_assert(
	TABLE_BYTES + STRING_MAX_BYTES + 2 * VARINT_MAX_BYTES < CHUNK_MAX_BYTES &&
		META_MAX_KEYS * (META_KEY_MAX_BYTES + META_MAX_BYTES + 2 * VARINT_MAX_BYTES) <
			CHUNK_MAX_BYTES,
	"a chunk may be too large for the reader");

int profile_writer_fail_sticky(const struct profile_writer *w)
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

int profile_writer_fail_memory(struct profile_writer *w)
{
	return keep_error(w, error_errno(-ENOMEM, "cannot go on writing '%s'", w->path));
}

int profile_writer_fail_invalid(const struct profile_writer *w, const char *what)
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
		return profile_writer_fail_memory(w);
	if (!b->size)
		return 0;
	error = write_chunk(w, type, b->data, b->size);
	buf_reset(b);
	return error;
}

int profile_writer_push_tables(struct profile_writer *w)
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

int profile_writer_push_events(struct profile_writer *w)
{
	int error = profile_writer_push_tables(w);

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
		return profile_writer_fail_sticky(w);
	w->waiting_ns = 0;
	error = profile_writer_push_events(w);
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
		return w->error ? profile_writer_fail_sticky(w) : 0;
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

int profile_writer_start_file(struct profile_writer *w)
{
	if (write_behind_new(&w->file, w->out.fd, BEHIND_BYTES))
		return profile_writer_fail_memory(w);
	return 0;
}

int profile_writer_new(struct profile_writer **ret, const char *path)
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
	int error = profile_writer_new(&w, path);

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
		return profile_writer_fail_sticky(w);
	error = output_file_begin(&w->out);
	if (error)
		return keep_error(w, error);
	error = write_header(w);
	return error ?: profile_writer_start_file(w);
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

int profile_count_loss(struct profile_writer *w, enum profile_loss loss, uint64_t count)
{
	if (w->error)
		return profile_writer_fail_sticky(w);
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
		return profile_writer_fail_memory(w);
	}
	return 0;
}

int profile_set_meta(struct profile_writer *w, const char *key, const char *value)
{
	struct meta *m;
	char *copy;

	if (w->error)
		return profile_writer_fail_sticky(w);
	m = find_meta(w, key);
	if (!m && (w->meta.count == META_MAX_KEYS || strlen(key) > META_KEY_MAX_BYTES))
		return error_set(
			-E2BIG, "cannot add '%s' to '%s': too much metadata", key, w->path);
	copy = strndup(value, META_MAX_BYTES);
	if (!copy)
		return profile_writer_fail_memory(w);
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

void profile_writer_totals(const struct profile_writer *w, struct profile_totals *ret)
{
	*ret = w->totals;
}
