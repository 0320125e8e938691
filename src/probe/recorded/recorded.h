/* SPDX-License-Identifier: MIT */
/*
 * What programs in GPU kernels found, in a recording: written while it is made, and read from it so
 * that it can be shown as if it had just come from the processes.
 *
 * The objects of the programs are in the recording, as they were loaded, so that what is in their
 * maps can be shown by their types wherever it is read. Nothing that is read is trusted: objects
 * are checked as those of a file, and sizes of records and entries against them.
 */
#pragma once

#include "probe/server.h"
#include "profile/reader.h"
#include "profile/tasks.h"
#include "profile/writer.h"

/* A switch as it is in a recording: numbers of 64 bits, the least significant byte first. */
enum { SWITCH_STATE, SWITCH_FROM, SWITCH_TO, SWITCH_NUMBERS };

/* What was last written of an entry of a map. */
struct recorded_entry {
	size_t value; /* in `values` */
	uint32_t round;
	bool is_gone;
};

/* Of a recording that is made; all are borrowed. All functions: 0 or -errno with error_text. */
struct recorded {
	struct profile_writer *writer;
	struct tasks *tasks;
	const struct server *server;
	struct vec(uint32_t) maps;     /* ids: of each object EBPF_MAPS_MAX, and what it prints */
	struct vec(uint32_t) contexts; /* ids, by arena */
	uint32_t switches;	       /* id of the map of switches; 0: not wanted */
	/* Of maps that are written again and again: by number in `written`, which has where each
	 * entry is, and its key. */
	struct vec(struct recorded_entry) entries;
	struct interner *written;
	struct buf name, values;
	uint32_t round;
	bool is_last;	     /* round */
	uint64_t kept_bytes; /* by all entries */
	uint64_t kept_max;
	uint64_t not_kept, not_kept_most; /* entries: in this round; in any before it */
	uint64_t cut;			  /* records and entries that are too long */
	uint64_t late;			  /* contexts that were not waited for any longer */
	int error;			  /* of a record: the first */
};

int recorded_begin(struct recorded *r, struct profile_writer *w, struct tasks *t,
	const struct server *s, bool has_turns);
void recorded_release(struct recorded *r);
/* Contexts that have come: while their processes are there. */
int recorded_contexts(struct recorded *r);
/* A record, as struct server's on_record. A failure is in `error`. */
void recorded_record(void *context, const struct server_record *record);
/* So too, as its on_switch. */
void recorded_switch(void *context, const struct server_switch *s);
/* What has changed in maps since it was last written: again and again, from the begin on. What that
 * takes in memory is limited: entries for which there is no room are written at the end. */
int recorded_snapshot(struct recorded *r);
/* What is in maps, and all else, when nothing more comes. */
int recorded_finish(struct recorded *r);
/* entries.c: all maps, or what has changed of them. */
int recorded_write_maps(struct recorded *r);
/* The id of a map of an object. */
uint32_t recorded_map(const struct recorded *r, uint32_t object, uint32_t map);

/* Of a recording that is read: one that has nothing of the kind has no objects. */
struct recorded_reading {
	struct plan plan;
	struct server server;	      /* without processes */
	struct vec(uint32_t) maps;    /* by id of the recording: object * 2^16 + map */
	struct vec(uint32_t) objects; /* by id: index in the plan, plus 1; 0: it cannot be read */
	struct vec(struct server_switch) switches; /* in the order of the recording */
	uint64_t unreadable; /* records and entries that are not as their objects say */
};

/*
 * Reads it all, with a reader of its own, and hands records to on_record (NULL: to nobody), whose
 * context is `context`. `done` has read everything.
 */
int recorded_read(struct recorded_reading *ret, const struct profile_reader *done,
	void (*on_record)(void *context, const struct server_record *r), void *context);
void recorded_reading_release(struct recorded_reading *r);
