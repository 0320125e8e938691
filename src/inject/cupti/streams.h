/* SPDX-License-Identifier: MIT */
/*
 * The context of each stream, and the number by which work names it. They are kept from when a
 * stream is made until it is destroyed, so that calls that name a stream need not ask CUPTI: it
 * does not return the context of a stream, and must not be asked about one that is being captured.
 *
 * The default streams (handles 0 to 2) are not kept: what they are depends on the thread and its
 * context. When the table is full, others are not kept either, so a stream that is not found may
 * exist. No locks, no allocations; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CUPTI's number of a context; 0: unknown. */
uint32_t streams_context(void *context);

/* So too of a stream that is not being captured. */
uint32_t streams_number(void *context, void *stream);

/* What CUPTI's callbacks report: a stream was made, ends, or all of a context's end. */
void streams_made(void *context, void *stream);
void streams_end(void *stream);
void streams_end_all(void *context);

/* False when it is not kept. Neither number is 0. */
bool streams_find(const void *stream, uint32_t *ret_context, uint32_t *ret_number);
