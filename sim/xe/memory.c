// SPDX-License-Identifier: MIT
/*
 * Room in the file is not used twice: pages of closed buffers are given back, their places not.
 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES  (1ull << 36)
#define PAGE	    0x10000ull /* the largest that is used */
#define BUFFERS_MAX 65536u
#define BINDS_MAX   65536u

struct buffer {
	uint64_t offset, size; /* 0: closed */
};

struct bind {
	uint64_t address, size;
	uint32_t vm;
	uint8_t *at; /* NULL: none, reads nothing */
};

struct memory {
	int fd;
	uint8_t *base; /* all of the file */
	uint64_t used, mask;
	pthread_mutex_t lock;
	struct buffer *buffers;
	struct bind *binds;
	uint32_t buffer_count, bind_count;
};

struct memory *memory_new(int fd, unsigned int va_bits)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->fd = fd;
	m->used = PAGE; /* no offset is 0 */
	m->mask = (1ull << va_bits) - 1;
	m->buffers = calloc(BUFFERS_MAX, sizeof(*m->buffers));
	m->binds = calloc(BINDS_MAX, sizeof(*m->binds));
	m->base = ftruncate(fd, (off_t)FILE_BYTES) ? MAP_FAILED
						   : mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE,
							     MAP_SHARED | MAP_NORESERVE, fd, 0);
	pthread_mutex_init(&m->lock, NULL);
	if (m->buffers && m->binds && m->base != MAP_FAILED)
		return m;
	memory_free(m);
	return NULL;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	if (m->base != MAP_FAILED)
		munmap(m->base, FILE_BYTES);
	free(m->buffers);
	free(m->binds);
	free(m);
}

/* --- buffers */

int memory_make(struct memory *m, uint64_t size, uint32_t *ret_handle)
{
	int error = -ENOMEM;

	if (!size || size > FILE_BYTES)
		return -EINVAL;
	size = (size + PAGE - 1) & ~(PAGE - 1);
	pthread_mutex_lock(&m->lock);
	if (m->buffer_count < BUFFERS_MAX && size <= FILE_BYTES - m->used) {
		m->buffers[m->buffer_count++] = (struct buffer){m->used, size};
		m->used += size;
		*ret_handle = m->buffer_count;
		error = 0;
	}
	pthread_mutex_unlock(&m->lock);
	return error;
}

/* Nothing, where there is none. */
static struct buffer find_buffer(const struct memory *m, uint32_t handle)
{
	return handle && handle <= m->buffer_count ? m->buffers[handle - 1] : (struct buffer){0};
}

int memory_close(struct memory *m, uint32_t handle)
{
	struct buffer b;

	pthread_mutex_lock(&m->lock);
	b = find_buffer(m, handle);
	if (b.size)
		m->buffers[handle - 1].size = 0;
	pthread_mutex_unlock(&m->lock);
	if (!b.size)
		return -EINVAL;
	/* Where that cannot be, the pages stay. */
	(void)fallocate(
		m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)b.offset, (off_t)b.size);
	return 0;
}

int memory_offset(struct memory *m, uint32_t handle, uint64_t *ret_offset)
{
	struct buffer b;

	pthread_mutex_lock(&m->lock);
	b = find_buffer(m, handle);
	pthread_mutex_unlock(&m->lock);
	*ret_offset = b.offset;
	return b.size ? 0 : -ENOENT;
}

/* --- address spaces */

static bool add_bind(struct memory *m, const struct bind *b)
{
	if (m->bind_count == BINDS_MAX)
		return false;
	m->binds[m->bind_count++] = *b;
	return true;
}

/* What of them lies outside stays. */
static bool remove_range(struct memory *m, uint32_t vm, uint64_t from, uint64_t to)
{
	uint32_t kept = 0, count = m->bind_count;
	struct bind rests[2];
	int rest_count = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct bind b = m->binds[i];
		uint64_t end = b.address + b.size;

		if (b.vm != vm || end <= from || to <= b.address) {
			m->binds[kept++] = b;
			continue;
		}
		if (b.address < from && rest_count < 2)
			rests[rest_count++] = (struct bind){b.address, from - b.address, vm, b.at};
		if (end > to && rest_count < 2)
			rests[rest_count++] = (struct bind){
				to, end - to, vm, b.at ? b.at + (to - b.address) : NULL};
	}
	m->bind_count = kept;
	for (int i = 0; i < rest_count; i++)
		if (!add_bind(m, &rests[i]))
			return false;
	return true;
}

static int bind_locked(struct memory *m, uint32_t vm, const struct xe_bind_op *op)
{
	struct bind b = {op->address & m->mask, op->size, vm, NULL};
	struct buffer of = find_buffer(m, op->handle);

	if (op->op == XE_PREFETCH)
		return 0;
	if (b.size > m->mask || b.address + b.size > m->mask + 1)
		return -EINVAL;
	if (op->op == XE_MAP && (op->from > of.size || b.size > of.size - op->from))
		return -EINVAL;
	if (op->op != XE_MAP && op->op != XE_UNMAP && op->op != XE_MAP_PROGRAMS)
		return -EOPNOTSUPP;
	if (!remove_range(m, vm, b.address, b.address + b.size))
		return -ENOMEM;
	if (op->op == XE_MAP)
		b.at = m->base + of.offset + op->from;
	if (op->op == XE_MAP_PROGRAMS)
		b.at = (uint8_t *)(uintptr_t)op->from;
	return op->op == XE_UNMAP || add_bind(m, &b) ? 0 : -ENOMEM;
}

int memory_bind(struct memory *m, uint32_t vm, const struct xe_bind_op *op)
{
	int error;

	pthread_mutex_lock(&m->lock);
	error = bind_locked(m, vm, op);
	pthread_mutex_unlock(&m->lock);
	return error;
}

void *memory_at(struct memory *m, uint32_t vm, uint64_t address, size_t size)
{
	uint8_t *at = NULL;

	address &= m->mask;
	pthread_mutex_lock(&m->lock);
	for (uint32_t i = m->bind_count; !at && i-- > 0;) {
		const struct bind *b = &m->binds[i];
		uint64_t in = address - b->address;

		if (b->vm == vm && b->at && address >= b->address && in < b->size &&
			size <= b->size - in)
			at = b->at + in;
	}
	pthread_mutex_unlock(&m->lock);
	return at;
}
