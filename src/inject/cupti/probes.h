/* SPDX-License-Identifier: MIT */
/*
 * What the library does that is preloaded for probes: its calls and its copies are not the
 * program's, and not reported. Its calls are those of a thread that it says is calling; its copies
 * are those in streams that such calls have made, as it uses no others.
 *
 * No locks, no allocations; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Looks for it; once, before callbacks are switched on. */
void probes_find(void);
/* Whether it is there. */
bool probes_are_there(void);
/* Whether this thread is inside one of its calls. */
bool probes_are_calling(void);
/* This thread has made a stream. */
void probes_stream_made(void *context, void *stream);
/* Whether a stream is one of its; both as work names them. */
bool probes_have_stream(uint32_t context, uint32_t stream);
