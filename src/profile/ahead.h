/* SPDX-License-Identifier: MIT */
/*
 * Reads the chunks of a file and decodes its events in a thread of its own, ahead of the reader,
 * which takes them in their order.
 *
 *	the thread	chunk_file, event_coder --> batch, batch, batch ...
 *	the reader	... batch, batch --> what ids are and mean, sums, views
 *
 * Who owns what: from ahead_start to ahead_stop the chunk_file and the coder are the thread's. A
 * batch is the thread's while it is filled, and the reader's until it takes the next one. Nothing
 * else is shared. The thread knows no tables, so it judges no ids: where the reading ends in a
 * damaged file is for the reader to say, as without a thread.
 *
 * A batch is a chunk, or some of the events of one. There are so many batches as say
 * AHEAD_BATCHES, so memory does not grow with the file.
 */
#pragma once

#include "profile/chunk_file.h"
#include "profile/model.h"

struct ahead;
struct event_coder;

/* Both are the caller's again, in whatever state, after ahead_stop. No chunk that begins at `until`
 * or behind it is read. 0 or -errno where there is no thread or no memory for it. */
int ahead_start(
	struct ahead **ret, struct chunk_file *file, struct event_coder *coder, uint64_t until);
/* NULL is fine. */
void ahead_stop(struct ahead *a);
/* The next chunk: as from chunk_file, but chunks of events have no payload. All events of the
 * present one must have been taken. 0 or -errno. */
int ahead_chunk(struct ahead *a, struct chunk *ret);
/* The next event of the present chunk: 1, or 0 where there is none, or -1 when it makes no
 * sense. */
int ahead_event(struct ahead *a, struct profile_event *ret);
