// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTF_BYTES 127 /* that are tried at first */

void buf_release(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT;
}

void buf_release_for(struct buf *b, struct buf *other)
{
	other->failed |= b->failed;
	buf_release(b);
}

void buf_reset(struct buf *b)
{
	b->size = 0;
	b->failed = false;
}

/* Always leaves one byte beyond `size` for the terminating NUL. */
bool buf_grow(struct buf *b, size_t extra)
{
	size_t need, capacity = b->capacity ? b->capacity : 64;
	char *data;

	if (b->failed)
		return false;
	if (__builtin_add_overflow(b->size, extra, &need) || need >= SIZE_MAX / 2) {
		b->failed = true;
		return false;
	}
	need++;
	if (need <= b->capacity)
		return true;
	while (capacity < need)
		capacity *= 2;
	data = realloc(b->data, capacity);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->capacity = capacity;
	return true;
}

void buf_append(struct buf *b, const void *data, size_t size)
{
	if (!buf_reserve(b, size))
		return;
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
	b->data[b->size] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
	buf_append(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
	buf_append(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int length;

	/* Most texts have room at once. */
	if (!buf_reserve(b, PRINTF_BYTES))
		return;
	va_start(args, format);
	length = vsnprintf(b->data + b->size, PRINTF_BYTES + 1, format, args);
	va_end(args);
	if (length < 0) {
		b->failed = true;
		b->data[b->size] = '\0';
		return;
	}
	if (length <= PRINTF_BYTES) {
		b->size += (size_t)length;
		return;
	}
	b->data[b->size] = '\0';
	if (!buf_reserve(b, (size_t)length))
		return;
	va_start(args, format);
	vsnprintf(b->data + b->size, (size_t)length + 1, format, args);
	va_end(args);
	b->size += (size_t)length;
}

const char *buf_text(const struct buf *b)
{
	return b->size ? b->data : "";
}
