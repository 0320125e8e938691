// SPDX-License-Identifier: MIT
/*
 * A result:
 *
 *	u32 address's number, u32 functions, then for each: u32 line, text name, text file
 *
 * where a text is u32 size and the bytes with a NUL; size 0: not known. Numbers rise.
 *
 * libdw keeps what it has read of a unit until the file is closed, so it is closed and reopened now
 * and then. Sections that are compressed it unpacks when it opens the file.
 */
#include "elf/lines.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#define HAND_OVER_BYTES ((size_t)64 << 10)
#define REOPEN_BYTES	((size_t)96 << 20)
#define LOOK_EVERY	4		   /* compilation units; asking takes long */
#define TEXT_MAX_BYTES	((size_t)16 << 10) /* longer texts are left out */
#define LINES_MAX_BYTES ((size_t)64 << 20) /* of results that nobody has got yet */

static void put_u32(struct buf *b, uint32_t x)
{
	buf_append(b, &x, sizeof(x));
}

static void put_text(struct buf *b, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	if (size > TEXT_MAX_BYTES)
		size = 0;
	put_u32(b, (uint32_t)size);
	buf_append(b, text ? text : "", size);
}

static void put_result(struct buf *b, uint32_t n, const struct dwarf_frame *frames, size_t count)
{
	put_u32(b, n);
	put_u32(b, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		put_u32(b, frames[i].line);
		put_text(b, frames[i].name);
		put_text(b, frames[i].file);
	}
}

static size_t memory_in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

struct reading {
	struct dwarf_file *d;
	size_t base_bytes;   /* in use when it was opened */
	unsigned int looked; /* at how many units of d */
};

static int open_dwarf(struct reading *g, int fd)
{
	int error;

	*g = (struct reading){0};
	error = dwarf_file_open(&g->d, fd);
	g->base_bytes = memory_in_use();
	return error;
}

/* Reopened when it holds too much: 0 or -errno. */
static int refresh(struct reading *g, int fd)
{
	unsigned int units = dwarf_file_units_used(g->d);
	size_t used;

	if (units - g->looked < LOOK_EVERY)
		return 0;
	g->looked = units;
	used = memory_in_use();
	if (used < g->base_bytes || used - g->base_bytes < REOPEN_BYTES)
		return 0;
	dwarf_file_close(g->d);
	malloc_trim(0);
	return open_dwarf(g, fd);
}

static int hand_over(const struct lines_request *r, struct buf *b, size_t at_least)
{
	if (b->failed || b->size > LINES_MAX_BYTES)
		return b->failed ? -ENOMEM : -EFBIG;
	return r->put && b->size >= at_least ? r->put(r->context, b) : 0;
}

int lines_write(const struct lines_request *r, struct buf *ret)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	struct reading g;
	int error = open_dwarf(&g, r->fd);

	for (size_t i = 0; !error && i < r->count; i++) {
		int count = dwarf_file_frames(g.d, r->vaddrs[i], frames);

		if (count > 0)
			put_result(ret, (uint32_t)i, frames, (size_t)count);
		error = count < 0 ? count : hand_over(r, ret, HAND_OVER_BYTES);
		error = error ?: refresh(&g, r->fd);
	}
	dwarf_file_close(g.d);
	return error ?: hand_over(r, ret, 1);
}

struct cursor {
	const char *p, *end;
};

static bool read_u32(struct cursor *c, uint32_t *ret)
{
	if ((size_t)(c->end - c->p) < sizeof(*ret))
		return false;
	memcpy(ret, c->p, sizeof(*ret));
	c->p += sizeof(*ret);
	return true;
}

/* 1, 0 when it is not whole yet, or -EIO when it makes no sense. */
static int read_text(struct cursor *c, const char **ret)
{
	uint32_t size;

	if (!read_u32(c, &size))
		return 0;
	if (size > TEXT_MAX_BYTES)
		return -EIO;
	if (size > (size_t)(c->end - c->p))
		return 0;
	if (size && c->p[size - 1])
		return -EIO;
	*ret = size ? c->p : NULL;
	c->p += size;
	return 1;
}

static int read_frame(struct cursor *c, struct dwarf_frame *ret)
{
	int got;

	if (!read_u32(c, &ret->line))
		return 0;
	got = read_text(c, &ret->name);
	return got > 0 ? read_text(c, &ret->file) : got;
}

static int handle_result(const struct lines_reader *r, struct cursor *c)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	uint32_t n, count;
	int got = 1;

	if (!read_u32(c, &n) || !read_u32(c, &count))
		return 0;
	if (n >= r->count || !count || count > DWARF_FRAMES_MAX)
		return -EIO;
	for (uint32_t i = 0; got > 0 && i < count; i++)
		got = read_frame(c, &frames[i]);
	if (got <= 0)
		return got;
	got = r->visit(r->context, n, frames, count);
	return got ? got : 1;
}

long lines_read(void *context, const char *data, size_t size)
{
	struct cursor c = {data, data + size};
	const char *whole = data;
	int got;

	while ((got = handle_result(context, &c)) > 0)
		whole = c.p;
	return got < 0 ? got : whole - data;
}
