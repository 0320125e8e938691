/* SPDX-License-Identifier: MIT */
/*
 * Which context a stream is of, and by which number work names it: kept for each stream from when it is made until it
 * is destroyed, so that calls that name a stream need not ask CUPTI (which does not say of which context a stream is,
 * and must not be asked about one that is being captured).
 *
 * The default streams (handles 0 to 2) are not kept: what they are depends on the thread and its context. Nor are more
 * than there is room for; a stream that is not found may exist all the same. No locks, no allocations; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CUPTI's number of a context; 0: not known. */
uint32_t streams_context(void *context);

/* What CUPTI's callbacks tell: a stream was made, ends, or all of a context's end. */
void streams_made(void *context, void *stream);
void streams_end(void *stream);
void streams_end_all(void *context);

/* False when it is not kept. Neither number is 0. */
bool streams_find(const void *stream, uint32_t *ret_context, uint32_t *ret_number);
