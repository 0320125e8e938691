/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a stream that zlib reads, in less than half the time that zlib's quickest level takes,
 * and up to a twentieth larger. For output where the time matters more: events by the million.
 *
 * Format: RFC 1950 and RFC 1951. Owned by the caller; one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct deflater;

/* 0 or -errno with error_text. */
int deflater_new(struct deflater **ret);
/* NULL is fine. */
void deflater_free(struct deflater *d);

/* Room for the result of so many bytes. */
size_t deflate_bound(size_t size);
/* The size of the result. `out` has room for deflate_bound(size); `size` is less than 2 GiB. */
size_t deflate_bytes(struct deflater *d, const void *data, size_t size, uint8_t *out);
