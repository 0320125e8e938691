/* SPDX-License-Identifier: MIT */
/*
 * What the files of the reader share: reader.c has the file and its chunks, reader_tables.c what
 * tables, texts and sums are in them, reader_events.c the events; reader_contents.c is asked for
 * what was read.
 */
#pragma once

#include "base/vec.h"
#include "profile/bursts.h"
#include "profile/cpu_times.h"
#include "profile/entries.h"
#include "profile/events.h"
#include "profile/format.h"
#include "profile/reader.h"
#include "profile/varint.h"

#define READ_PAST EVENT_READ_PAST

struct text {
	const char *data;
	size_t size;
};

struct entry_vec vec(char);

/* Of one reader, or of those that read the same part of a file once more. */
struct tables {
	size_t readers;
	struct vec(struct text) strings;
	struct vec(char *) blocks;	       /* bytes of strings, one block a chunk */
	struct entry_vec entries[TABLE_COUNT]; /* counted in bytes; all but TABLE_STRINGS */
	uint32_t counts[TABLE_COUNT];
};

struct profile_reader {
	int fd;
	char *path;

	char *buffer; /* `capacity` bytes and READ_PAST more */
	size_t capacity;
	size_t used;	/* bytes in the buffer */
	size_t at;	/* of these, read */
	uint64_t start; /* where in the file the present chunk begins */
	uint64_t next;	/* and the one after it */

	const uint8_t *event, *events_end; /* what is left of an events chunk */
	struct event_coder coder;

	struct tables *tables;
	bool filled;			     /* they were, by an earlier reader */
	uint32_t counts_before[TABLE_COUNT]; /* the present chunk */

	uint64_t losses[LOSS_KINDS];
	struct vec(struct text) meta; /* key, value, key, value ... */
	char *meta_block;

	uint64_t events_of[EVENT_LAST + 1]; /* read so far, by kind */
	uint64_t cpu_ns, gpu_ns, stall_samples;

	struct cpu_times accounts;
	uint64_t unsampled; /* see unsampled_at */
	struct bursts bursts;

	uint64_t until; /* no chunk that begins there, or behind it, is read */

	bool (*skips)(const void *arg, uint64_t chunk); /* NULL: all is read */
	const void *skips_arg;
	bool skipped; /* some events were left out */

	const struct profile_clip *clip; /* NULL: the whole recording */
	struct profile_event whole;	 /* the last event that it selects */
	bool in_pieces;			 /* there may be more pieces of it */
	size_t span;			 /* where to look for the next */

	bool ended; /* the last chunk was an end mark */
	bool done;  /* nothing more will be read */
	char incomplete[200];
	char until_incomplete[200]; /* why nothing behind `until` is read */
};

/* Ends the reading for this reason; returns 0, as this is no error. */
int profile_reader_stop(struct profile_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* So too: the present chunk is damaged. */
int profile_reader_stop_damaged(struct profile_reader *r, const char *what);
int profile_reader_fail_memory(struct profile_reader *r);

/* Takes the next chunk, whatever it is: 0 or -errno. */
int profile_reader_next_chunk(struct profile_reader *r);
/* Reads a chunk of this type, whose checksum is right: 0 or -errno. */
int profile_reader_read_payload(
	struct profile_reader *r, uint32_t type, const uint8_t *p, const uint8_t *end);

/* 0 or -ENOMEM. */
int profile_tables_begin(struct profile_reader *r);
void profile_tables_release(struct tables *t);

/* A run of bytes within a chunk: size, then the bytes. False when the chunk ends before. */
static inline bool decode_bytes(const uint8_t **p, const uint8_t *end, struct text *ret)
{
	uint64_t size;

	if (*p >= end)
		return false;
	size = varint_get(p);
	if (*p > end || size > (uint64_t)(end - *p))
		return false;
	*ret = (struct text){(const char *)*p, (size_t)size};
	*p += size;
	return true;
}

static inline void *entry_at(const struct profile_reader *r, enum profile_table table, uint32_t id)
{
	if (!id || id > r->tables->counts[table])
		return NULL;
	return r->tables->entries[table].items +
	       (size_t)(id - 1) * entry_formats[table].entry_bytes;
}
