/* SPDX-License-Identifier: MIT */
/*
 * What the files of the writer share: writer.c has the file and when it is written,
 * writer_entries.c strings and tables, writer_events.c events; writer_continue.c goes on with a
 * profile that is there.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "base/write_behind.h"
#include "profile/cpu_times.h"
#include "profile/entries.h"
#include "profile/events.h"
#include "profile/format.h"
#include "profile/output_file.h"
#include "profile/table.h"
#include "profile/varint.h"
#include "profile/writer.h"

#define EVENTS_BYTES (256u << 10) /* a chunk of events, its header included */
#define TABLE_BYTES  (64u << 10)  /* a chunk of entries is pushed beyond that */

/* Up to the end of the last member, without the padding behind it. */
#define BYTES_THROUGH(type, member)                                                                \
	(offsetof(struct type, member) + sizeof(((struct type *)0)->member))

struct meta {
	char *key;
	char *value;
};

struct profile_writer {
	struct output_file out;
	struct write_behind *file; /* all but the header goes through it; NULL until it begins */
	char *path;
	int error; /* the first failure, and its text */
	char error_text[512];

	struct interner *strings;
	struct table tables[TABLE_COUNT]; /* all but TABLE_STRINGS */
	uint32_t counts[TABLE_COUNT];
	struct buf entries[TABLE_COUNT]; /* not yet written */
	struct buf updates;		 /* not yet written */

	uint8_t *events; /* EVENTS_BYTES; not yet written */
	size_t events_used;
	bool events_pushed; /* some */
	struct event_coder coder;

	size_t chunk_bytes;    /* how large chunks may become by now */
	uint64_t waiting_ns;   /* since when something is seen to wait; 0: nothing is */
	uint64_t behind_bytes; /* that `file` got */

	struct cpu_times accounts;
	struct vec(struct meta) meta;
	bool meta_changed, losses_changed;
	bool continued;		/* it holds more than its tables: see writer_continue.c */
	bool no_end;		/* it continues a profile that was not whole */
	bool ended;		/* see profile_writer_end */
	uint64_t table_bytes;	/* of all tables, about */
	uint64_t growing_bytes; /* of those that have a bound */
	uint64_t refused;	/* entries, so far */
	bool frozen;
	uint32_t cut_node; /* the latest stack was cut off behind it; 0: it was not */
	struct profile_totals totals;
};

int profile_writer_new(struct profile_writer **ret, const char *path);
int profile_writer_start_file(struct profile_writer *w);

/* The first failure once more. */
int profile_writer_fail_sticky(const struct profile_writer *w);
int profile_writer_fail_memory(struct profile_writer *w);
int profile_writer_fail_invalid(const struct profile_writer *w, const char *what);

/* Write what has been collected: entries; and with them events. */
int profile_writer_push_tables(struct profile_writer *w);
int profile_writer_push_events(struct profile_writer *w);

static inline void put_number(struct buf *b, uint64_t number)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	buf_append(b, bytes, (size_t)(varint_put(bytes, number) - bytes));
}

static inline void put_text(struct buf *b, const char *text, size_t size)
{
	put_number(b, size);
	buf_append(b, text, size);
}

static inline void begin_chunk(struct buf *b)
{
	static const char room[CHUNK_HEADER_BYTES];

	buf_append(b, room, sizeof(room));
}
