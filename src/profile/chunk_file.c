// SPDX-License-Identifier: MIT
#include "profile/chunk_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "profile/crc32c.h"
#include "profile/format.h"

#define BUFFER_BYTES ((size_t)512 << 10) /* at first; grows to the largest chunk */

static int grow_buffer(struct chunk_file *f, size_t need)
{
	char *buffer;

	if (need <= f->capacity)
		return 0;
	buffer = realloc(f->buffer, need + CHUNK_READ_PAST);
	if (!buffer)
		return -ENOMEM;
	memset(buffer + need, 0, CHUNK_READ_PAST);
	f->buffer = buffer;
	f->capacity = need;
	return 0;
}

int chunk_file_init(struct chunk_file *f, int fd)
{
	*f = (struct chunk_file){.fd = fd};
	return grow_buffer(f, BUFFER_BYTES);
}

void chunk_file_release(struct chunk_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->buffer);
	*f = (struct chunk_file){.fd = -1};
}

/* Makes `need` bytes available: 1, or 0 when the file ends before, or -errno. More is read with
 * them where all is wanted. */
static int want(struct chunk_file *f, size_t need)
{
	ssize_t n;
	int error;

	if (f->used - f->at >= need)
		return 1;
	memmove(f->buffer, f->buffer + f->at, f->used - f->at);
	f->used -= f->at;
	f->at = 0;
	error = grow_buffer(f, need);
	if (error)
		return error;
	n = io_read_full(f->fd, f->buffer + f->used, (f->sparing ? need : f->capacity) - f->used);
	if (n < 0)
		return (int)n;
	f->used += (size_t)n;
	return f->used >= need;
}

int chunk_file_begin(struct chunk_file *f, size_t need, const uint8_t **ret)
{
	int got = want(f, need);

	*ret = (const uint8_t *)f->buffer;
	if (got < 0)
		return got;
	f->at = got ? need : f->used;
	f->next = f->at;
	return (int)f->at;
}

static void cut(const struct chunk_file *f, struct chunk *c)
{
	c->state = CHUNK_IS_CUT;
	c->left = f->used - f->at;
}

int chunk_file_next(struct chunk_file *f, struct chunk *ret)
{
	int got = want(f, CHUNK_HEADER_BYTES);
	const uint8_t *header = (const uint8_t *)f->buffer + f->at;

	*ret = (struct chunk){.begin = f->next};
	if (got < 0)
		return got;
	if (!got) {
		cut(f, ret);
		return 0;
	}
	ret->type = get_u32(header);
	ret->size = get_u32(header + 4);
	if (ret->size > CHUNK_MAX_BYTES)
		ret->state = CHUNK_IS_TOO_LARGE;
	return 0;
}

int chunk_file_payload(struct chunk_file *f, struct chunk *c)
{
	size_t bytes = CHUNK_HEADER_BYTES + (size_t)c->size;
	int got = want(f, bytes);
	const uint8_t *header = (const uint8_t *)f->buffer + f->at;

	if (got < 0)
		return got;
	if (!got) {
		cut(f, c);
		return 0;
	}
	c->payload = header + CHUNK_HEADER_BYTES;
	if (crc32c(crc32c(0, header, 8), c->payload, c->size) != get_u32(header + 8)) {
		c->state = CHUNK_IS_DAMAGED;
		return 0;
	}
	f->at += bytes;
	f->next += bytes;
	return 0;
}

int chunk_file_pass(struct chunk_file *f, const struct chunk *c)
{
	size_t bytes = CHUNK_HEADER_BYTES + (size_t)c->size, here = f->used - f->at;

	f->next += bytes;
	if (here >= bytes) {
		f->at += bytes;
		return 0;
	}
	f->at = f->used = 0;
	return lseek(f->fd, (off_t)(bytes - here), SEEK_CUR) < 0 ? -errno : 0;
}
