/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are compressed (zlib's format) by a thread of their own, each while the next one is
 * put together:
 *
 *	compressor_take(c, &data, &size)	waits for the block before; write it
 *	compressor_give(c, &block)		the next one; `block` is empty again
 *
 * Where no thread can be had it is done at once. Called by one thread, which owns it.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct compressor;

/* 0 or -errno with error_text. */
int compressor_new(struct compressor **ret);
/* What became of the block that was given last, until the next is given; size 0 if there was none
 * since this was last asked. 0 or -errno with error_text. */
int compressor_take(struct compressor *c, const void **ret_data, size_t *ret_size);
/* After compressor_take. Swaps the block for an empty buffer. */
void compressor_give(struct compressor *c, struct buf *block);
/* Waits for the thread. NULL is fine. */
void compressor_free(struct compressor *c);
