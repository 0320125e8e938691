/* SPDX-License-Identifier: MIT */
/*
 * The latest part of a recording that comes as a stream, as a file that readers can open. For
 * recordings that go on for days while somebody looks at their last seconds.
 *
 *	stream   header | tables | events | tables | events | events | tables | events
 *	file     header | tables, tables, tables | losses | metadata | events, events
 *
 * Tables stay, as later chunks refer to them; the writer bounds them. Chunks of events are kept in
 * memory until recent_forget, and put behind the tables when somebody wants to read. The file has
 * no name and no end mark. Chunks are passed on unread: whoever reads the file checks them.
 *
 * One thread at a time. Functions return 0 or -errno with error_text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct recent;

int recent_new(struct recent **ret);
void recent_free(struct recent *r);

/* The next bytes of the stream, which came at this time: -EINVAL if it is no profile. */
int recent_add(struct recent *r, const void *bytes, size_t size, uint64_t now_ns);
/* Leaves out events that came before this time, and so many that the others have at most so many
 * bytes (the earliest first). An event comes when it is over, so what is left has all that happened
 * later. */
void recent_forget(struct recent *r, uint64_t before_ns, uint64_t bytes_max);
/* Since when there are all events; 0: since the recording began. */
uint64_t recent_since_ns(const struct recent *r);
/* Brings the file up to date. Nobody may be reading it. -EAGAIN: nothing of the recording has come
 * yet. */
int recent_publish(struct recent *r);
/* To be opened by readers of this process. */
const char *recent_path(const struct recent *r);
