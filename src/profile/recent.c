// SPDX-License-Identifier: MIT
#include "profile/recent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "profile/format.h"

#define FILE_NAME "recording"

struct kept {
	struct kept *next;
	uint64_t came_ns;
	size_t size;
	uint8_t bytes[];
};

struct recent {
	int fd;
	char path[32];
	struct buf part; /* of the header or of a chunk */
	uint64_t tables_end;
	struct buf losses, meta;    /* the last chunk of each */
	struct kept *first, **last; /* chunks of events */
	uint64_t event_bytes;
	uint64_t since_ns;
};

int recent_new(struct recent **ret)
{
	struct recent *r = calloc(1, sizeof(*r));

	if (!r)
		return error_memory(NULL);
	r->last = &r->first;
	r->fd = memfd_create(FILE_NAME, MFD_CLOEXEC);
	if (r->fd < 0) {
		free(r);
		return error_errno(-errno, "cannot make a file in memory");
	}
	snprintf(r->path, sizeof(r->path), "/proc/self/fd/%d", r->fd);
	*ret = r;
	return 0;
}

static void forget_first(struct recent *r)
{
	struct kept *k = r->first;

	r->since_ns = k->came_ns;
	r->event_bytes -= k->size;
	r->first = k->next;
	if (!r->first)
		r->last = &r->first;
	free(k);
}

void recent_free(struct recent *r)
{
	if (!r)
		return;
	while (r->first)
		forget_first(r);
	buf_release(&r->part);
	buf_release(&r->losses);
	buf_release(&r->meta);
	close(r->fd);
	free(r);
}

static int write_at(const struct recent *r, uint64_t *at, const void *bytes, size_t size)
{
	const char *p = bytes;

	while (size) {
		ssize_t n = pwrite(r->fd, p, size, (off_t)*at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_errno(n ? -errno : -EIO, "cannot write into memory");
		*at += (uint64_t)n;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

static int keep_events(struct recent *r, const void *bytes, size_t size, uint64_t now_ns)
{
	struct kept *k = malloc(sizeof(*k) + size);

	if (!k)
		return error_memory(NULL);
	*k = (struct kept){.came_ns = now_ns, .size = size};
	memcpy(k->bytes, bytes, size);
	*r->last = k;
	r->last = &k->next;
	r->event_bytes += size;
	return 0;
}

static int keep_last(struct buf *chunk, const void *bytes, size_t size)
{
	buf_reset(chunk);
	buf_append(chunk, bytes, size);
	return chunk->failed ? error_memory(NULL) : 0;
}

static int add_chunk(struct recent *r, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
	switch (get_u32(bytes)) {
	case CHUNK_EVENTS:
		return keep_events(r, bytes, size, now_ns);
	case CHUNK_LOSSES:
		return keep_last(&r->losses, bytes, size);
	case CHUNK_META:
		return keep_last(&r->meta, bytes, size);
	case CHUNK_ACCOUNTS: /* what these two say is of all events */
	case CHUNK_END:
		return 0;
	default:
		return write_at(r, &r->tables_end, bytes, size);
	}
}

/* How many bytes the header, or the chunk, that begins with `part` has; 0: not known yet. */
static size_t size_of(const struct recent *r)
{
	if (!r->tables_end)
		return FILE_HEADER_BYTES;
	if (r->part.size < CHUNK_HEADER_BYTES)
		return 0;
	return CHUNK_HEADER_BYTES + (size_t)get_u32((const uint8_t *)r->part.data + 4);
}

static int add_whole(struct recent *r, size_t size, uint64_t now_ns)
{
	const uint8_t *bytes = (const uint8_t *)r->part.data;
	int error;

	if (!r->tables_end)
		error = memcmp(bytes, FILE_MAGIC, FILE_MAGIC_BYTES) != 0
				? error_set(-EINVAL, "what comes is no recording")
				: write_at(r, &r->tables_end, bytes, size);
	else
		error = add_chunk(r, bytes, size, now_ns);
	return error;
}

int recent_add(struct recent *r, const void *bytes, size_t size, uint64_t now_ns)
{
	const char *p = bytes;
	int error = 0;

	while (size && !error) {
		size_t whole = size_of(r), want = whole ?: CHUNK_HEADER_BYTES, n;

		if (whole > CHUNK_HEADER_BYTES + CHUNK_MAX_BYTES)
			return error_set(-EINVAL, "what comes is no recording");
		n = want - r->part.size < size ? want - r->part.size : size;
		buf_append(&r->part, p, n);
		if (r->part.failed)
			return error_memory(NULL);
		p += n;
		size -= n;
		whole = size_of(r);
		if (!whole || r->part.size < whole)
			continue;
		error = add_whole(r, whole, now_ns);
		buf_reset(&r->part);
	}
	return error;
}

void recent_forget(struct recent *r, uint64_t before_ns, uint64_t bytes_max)
{
	while (r->first && (r->first->came_ns < before_ns || r->event_bytes > bytes_max))
		forget_first(r);
}

uint64_t recent_since_ns(const struct recent *r)
{
	return r->since_ns;
}

int recent_publish(struct recent *r)
{
	uint64_t at = r->tables_end;
	int error;

	if (!at)
		return error_set(-EAGAIN, "nothing has been recorded yet");
	error = write_at(r, &at, r->losses.data, r->losses.size);
	error = error ?: write_at(r, &at, r->meta.data, r->meta.size);
	for (const struct kept *k = r->first; k && !error; k = k->next)
		error = write_at(r, &at, k->bytes, k->size);
	if (!error && ftruncate(r->fd, (off_t)at))
		error = error_errno(-errno, "cannot write into memory");
	return error;
}

const char *recent_path(const struct recent *r)
{
	return r->path;
}
