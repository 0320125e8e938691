// SPDX-License-Identifier: MIT
/*
 * One buffer holds a stretch of the file that is at least the present chunk. A chunk is looked at
 * only when it is whole and its checksum is right. Tables are read as they come; an events chunk
 * is decoded event by event, straight from the buffer. Decoding may run past the end of a damaged
 * entry or event before that is noticed, hence READ_PAST bytes of zeros behind the data.
 *
 * The first thing that makes no sense ends the reading: what was read before it stands.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "profile/chunk_times.h"
#include "profile/clip.h"
#include "profile/crc32c.h"
#include "profile/reader_internal.h"

#define BUFFER_BYTES ((size_t)512 << 10) /* at first; grows to the largest chunk */
_Static_assert(READ_PAST >= ENTRY_MAX_BYTES + VARINT_MAX_BYTES, "READ_PAST is too small");

int profile_reader_stop(struct profile_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->incomplete, sizeof(r->incomplete), format, args);
	va_end(args);
	r->done = true;
	r->event = r->events_end = NULL;
	return 0;
}

int profile_reader_stop_damaged(struct profile_reader *r, const char *what)
{
	return profile_reader_stop(
		r, "is damaged: the chunk at byte %llu %s", (unsigned long long)r->start, what);
}

int profile_reader_fail_memory(struct profile_reader *r)
{
	r->done = true;
	return error_errno(-ENOMEM, "cannot read '%s'", r->path);
}

static int grow_buffer(struct profile_reader *r, size_t need)
{
	char *buffer;

	if (need <= r->capacity)
		return 0;
	buffer = realloc(r->buffer, need + READ_PAST);
	if (!buffer)
		return -ENOMEM;
	memset(buffer + need, 0, READ_PAST);
	r->buffer = buffer;
	r->capacity = need;
	return 0;
}

/* Makes `need` bytes from r->at on available: 1, or 0 when the file ends before, or -errno. More is
 * read with them where all is wanted. */
static int want(struct profile_reader *r, size_t need)
{
	size_t most;
	ssize_t n;

	if (r->used - r->at >= need)
		return 1;
	memmove(r->buffer, r->buffer + r->at, r->used - r->at);
	r->used -= r->at;
	r->at = 0;
	if (grow_buffer(r, need))
		return profile_reader_fail_memory(r);
	most = r->skips || (r->clip && r->clip->chunks) ? need : r->capacity;
	n = io_read_full(r->fd, r->buffer + r->used, most - r->used);
	if (n < 0) {
		r->done = true;
		return error_errno((int)n, "cannot read '%s'", r->path);
	}
	r->used += (size_t)n;
	return r->used >= need;
}

/* At the end of the file, with `left` bytes that are not a whole chunk. */
static int stop_at_end(struct profile_reader *r, size_t left)
{
	r->done = true; /* also when all is well */
	if (left)
		return profile_reader_stop(r, "ends in the middle of the chunk at byte %llu",
			(unsigned long long)r->start);
	if (!r->ended)
		return profile_reader_stop(r,
			"ends at byte %llu without an end mark: the recording goes on, or was cut "
			"short",
			(unsigned long long)r->start);
	return 0;
}

/* Goes on behind the present chunk without looking into it: 0 or -errno. */
static int pass_over(struct profile_reader *r, size_t size)
{
	size_t here = r->used - r->at;

	r->ended = false;
	r->next = r->start + size;
	if (here >= size) {
		r->at += size;
		return 0;
	}
	r->at = r->used = 0;
	if (lseek(r->fd, (off_t)(size - here), SEEK_CUR) >= 0)
		return 0;
	r->done = true;
	return error_errno(-errno, "cannot read '%s'", r->path);
}

/* Samples that are passed over have had their turns. */
static void pass_turns(struct profile_reader *r)
{
	const struct chunk_times *chunks = r->clip->chunks;
	const struct chunk_time *t = chunk_times_find(chunks, r->start);
	const struct chunk_turn *turns;
	size_t count;

	if (!t || t->begin != r->start)
		return;
	count = chunk_times_turns(chunks, t, &turns);
	for (size_t i = 0; i < count; i++) {
		struct cpu_time *a = cpu_times_find(&r->accounts, turns[i].thread);

		if (a)
			a->passed_ns = turns[i].passed_ns;
	}
}

static bool passes_over(struct profile_reader *r)
{
	if (r->skips && r->skips(r->skips_arg, r->start))
		return true;
	if (!r->clip || !clip_skips_chunk(r->clip, r->start))
		return false;
	pass_turns(r);
	return true;
}

static bool is_of_tables(uint32_t type)
{
	for (int table = TABLE_STRINGS + 1; table < TABLE_COUNT; table++)
		if (type == entry_formats[table].chunk)
			return true;
	return type == CHUNK_STRINGS || type == CHUNK_UPDATES;
}

int profile_reader_next_chunk(struct profile_reader *r)
{
	const uint8_t *header;
	uint32_t type, size, crc;
	int got;

	r->start = r->next;
	if (r->next >= r->until) {
		r->done = true;
		memcpy(r->incomplete, r->until_incomplete, sizeof(r->incomplete));
		return 0;
	}
	got = want(r, CHUNK_HEADER_BYTES);
	memcpy(r->counts_before, r->tables->counts, sizeof(r->tables->counts));
	if (got <= 0)
		return got < 0 ? got : stop_at_end(r, r->used - r->at);
	type = get_u32((uint8_t *)r->buffer + r->at);
	size = get_u32((uint8_t *)r->buffer + r->at + 4);
	if (size > CHUNK_MAX_BYTES)
		return profile_reader_stop_damaged(r, "is too large to be one");
	if (r->filled && is_of_tables(type))
		return pass_over(r, CHUNK_HEADER_BYTES + (size_t)size);
	if (type == CHUNK_EVENTS && passes_over(r)) {
		r->skipped = true;
		return pass_over(r, CHUNK_HEADER_BYTES + (size_t)size);
	}
	got = want(r, CHUNK_HEADER_BYTES + (size_t)size);
	if (got <= 0)
		return got < 0 ? got : stop_at_end(r, r->used - r->at);
	header = (uint8_t *)r->buffer + r->at;
	crc = crc32c(crc32c(0, header, 8), header + CHUNK_HEADER_BYTES, size);
	if (crc != get_u32(header + 8))
		return profile_reader_stop_damaged(r, "does not match its checksum");
	got = profile_reader_read_payload(
		r, type, header + CHUNK_HEADER_BYTES, header + CHUNK_HEADER_BYTES + size);
	r->at += CHUNK_HEADER_BYTES + (size_t)size;
	r->next = r->start + CHUNK_HEADER_BYTES + size;
	return got;
}

static int check_header(struct profile_reader *r)
{
	const uint8_t *header;
	uint32_t version;
	int got = want(r, FILE_HEADER_BYTES);

	if (got < 0)
		return got;
	header = (const uint8_t *)r->buffer;
	if (!r->used)
		return error_set(-EINVAL, "cannot read '%s': it is empty", r->path);
	if (!got || memcmp(header, FILE_MAGIC, FILE_MAGIC_BYTES))
		return error_set(
			-EINVAL, "cannot read '%s': it is not an xpuprof profile", r->path);
	version = get_u32(header + FILE_MAGIC_BYTES);
	if (get_u32(header + 12) != crc32c(0, header, 12))
		return error_set(-EINVAL, "cannot read '%s': its header is damaged", r->path);
	if (version < FILE_VERSION_MIN || version > FILE_VERSION)
		return error_set(-EINVAL,
			"cannot read '%s': its format is version %u, this xpuprof reads %u to %u",
			r->path, version, FILE_VERSION_MIN, FILE_VERSION);
	r->at = r->next = FILE_HEADER_BYTES;
	return 0;
}

static void read_accounts(
	struct profile_reader *r, const uint8_t *payload, uint32_t size, uint64_t file_bytes)
{
	uint64_t most = file_bytes / 5; /* a thread's entry has as many bytes, at least */

	(void)cpu_times_decode(payload, payload + size,
		most < UINT32_MAX ? (uint32_t)most : UINT32_MAX, &r->accounts);
}

static void read_bursts(struct profile_reader *r, const uint8_t *payload, uint32_t size)
{
	const uint8_t *p = payload, *end = payload + size, *at;
	struct profile_burst burst;
	struct text text;

	(void)varint_get(&p); /* the first one's id */
	while (p < end && decode_bytes(&p, end, &text)) {
		at = (const uint8_t *)text.data;
		if (!entry_decode(TABLE_BURSTS, &at, p, &burst) || bursts_add(&r->bursts, &burst))
			return;
	}
}

/* Whether works are drawn has to be known before the first of them. */
static void look_at_meta(struct profile_reader *r, const uint8_t *payload, uint32_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	struct text key, value;

	while (p < end && decode_bytes(&p, end, &key) && decode_bytes(&p, end, &value))
		r->bursts.drawn |= key.size == strlen(META_OPENCL_TIMES) &&
				   !memcmp(key.data, META_OPENCL_TIMES, key.size);
}

/* Reads a chunk ahead, whose header this is. One that makes no sense ends the reading when it is
 * its turn. */
static void read_ahead(
	struct profile_reader *r, const uint8_t *header, uint64_t at, uint64_t file_bytes)
{
	uint32_t size = get_u32(header + 4);
	uint8_t *payload = calloc(1, (size_t)size + READ_PAST);

	if (payload && io_pread_full(r->fd, (char *)payload, size, (off_t)at) == (ssize_t)size &&
		crc32c(crc32c(0, header, 8), payload, size) == get_u32(header + 8)) {
		if (get_u32(header) == CHUNK_ACCOUNTS)
			read_accounts(r, payload, size, file_bytes);
		else if (get_u32(header) == CHUNK_META)
			look_at_meta(r, payload, size);
		else
			read_bursts(r, payload, size);
	}
	free(payload);
}

/* Accounts are at the end of a file, bursts behind what they are of, and events are weighed by
 * them, and by whether they were drawn: they are looked for before all else. A file that cannot be
 * read twice has none. */
static int look_ahead(struct profile_reader *r)
{
	uint8_t header[CHUNK_HEADER_BYTES];
	uint64_t at = FILE_HEADER_BYTES;
	struct stat file;

	if (fstat(r->fd, &file))
		return 0;
	while (io_pread_full(r->fd, (char *)header, sizeof(header), (off_t)at) == sizeof(header)) {
		uint32_t type = get_u32(header), size = get_u32(header + 4);

		at += sizeof(header);
		if (size > CHUNK_MAX_BYTES)
			break;
		if (type == CHUNK_ACCOUNTS || type == CHUNK_BURSTS || type == CHUNK_META)
			read_ahead(r, header, at, (uint64_t)file.st_size);
		at += size;
	}
	return bursts_weigh(&r->bursts) ? error_memory("the bursts") : 0;
}

static int open_file(struct profile_reader *r)
{
	int error;

	r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return error_errno(-errno, "cannot open '%s'", r->path);
	error = check_header(r);
	return error ?: look_ahead(r);
}

int profile_reader_open(struct profile_reader **ret, const char *path)
{
	struct profile_reader *r = calloc(1, sizeof(*r));
	int error = -ENOMEM;

	if (!r)
		return error_errno(-ENOMEM, "cannot open '%s'", path);
	r->fd = -1;
	r->until = UINT64_MAX;
	r->path = strdup(path);
	if (!r->path || profile_tables_begin(r) || grow_buffer(r, BUFFER_BYTES))
		error_errno(-ENOMEM, "cannot open '%s'", path);
	else
		error = open_file(r);
	if (error) {
		profile_reader_close(r);
		return error;
	}
	*ret = r;
	return 0;
}

static bool is_same_file(const struct profile_reader *a, const struct profile_reader *b)
{
	struct stat x, y;

	return !fstat(a->fd, &x) && !fstat(b->fd, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int profile_reader_open_beside(struct profile_reader **ret, const struct profile_reader *other)
{
	struct profile_reader *r;
	int error = profile_reader_open(&r, other->path);

	if (error)
		return error;
	if (!is_same_file(r, other)) {
		profile_reader_close(r);
		return error_set(
			-ESTALE, "cannot read '%s' once more: it is another file now", other->path);
	}
	*ret = r;
	return 0;
}

int profile_reader_open_again(struct profile_reader **ret, const struct profile_reader *done)
{
	struct profile_reader *r;
	int error = profile_reader_open_beside(&r, done);

	if (error)
		return error;
	r->until = done->next;
	r->clip = done->clip;
	memcpy(r->until_incomplete, done->incomplete, sizeof(r->until_incomplete));
	if (!done->accounts.count)
		cpu_times_release(&r->accounts);
	if (bursts_copy(&r->bursts, &done->bursts)) {
		profile_reader_close(r);
		return error_memory("the bursts");
	}
	profile_tables_release(r->tables);
	r->tables = done->tables;
	r->tables->readers++;
	r->filled = true;
	*ret = r;
	return 0;
}

void profile_reader_close(struct profile_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	profile_tables_release(r->tables);
	cpu_times_release(&r->accounts);
	bursts_release(&r->bursts);
	vec_release(&r->meta);
	free(r->meta_block);
	free(r->buffer);
	free(r->path);
	free(r);
}

const char *profile_reader_incomplete(const struct profile_reader *r)
{
	return r->incomplete[0] ? r->incomplete : NULL;
}

/* The present chunk is the one that made no sense, or begins where the file ends. */
int profile_reader_copy(struct profile_reader *r, int to)
{
	uint64_t at = 0;

	if (memcmp(r->tables->counts, r->counts_before, sizeof(r->tables->counts)))
		return error_set(-EINVAL, "cannot copy '%s': the chunk at byte %llu makes no sense",
			r->path, (unsigned long long)r->start);
	while (at < r->start) {
		size_t piece = r->start - at < r->capacity ? (size_t)(r->start - at) : r->capacity;
		ssize_t got = io_pread_full(r->fd, r->buffer, piece, (off_t)at);
		int error = got < 0 ? (int)got : got != (ssize_t)piece ? -EIO : 0;

		if (error)
			return error_errno(error, "cannot read '%s'", r->path);
		error = io_write_all(to, r->buffer, piece);
		if (error)
			return error_errno(error, "cannot copy '%s'", r->path);
		at += piece;
	}
	return 0;
}
