/* SPDX-License-Identifier: MIT */
/*
 * A growing byte buffer, used for text and for encoded records.
 *
 * `data` is NUL-terminated after every text call (buf_puts, buf_printf, buf_putc). Out of memory is
 * sticky: `failed` is set, later calls do nothing, and the owner checks once at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
};

#define BUF_INIT ((struct buf){0})

void buf_release(struct buf *b);
/* Releases a buffer whose text went into another. If memory was short for it, the other is marked
 * as failed, too. */
void buf_release_for(struct buf *b, struct buf *other);
/* Empties the buffer and keeps its memory; clears `failed`. */
void buf_reset(struct buf *b);
/* What buf_reserve does where there is no room yet. */
bool buf_grow(struct buf *b, size_t extra);
/* Makes room for `extra` more bytes; false when memory is short. */
static inline bool buf_reserve(struct buf *b, size_t extra)
{
	/* One byte more is left for the NUL. */
	return b->capacity - b->size > extra && !b->failed ? true : buf_grow(b, extra);
}
void buf_append(struct buf *b, const void *data, size_t size);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text, or "" when nothing was written. */
const char *buf_text(const struct buf *b);
