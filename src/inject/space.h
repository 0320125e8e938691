/* SPDX-License-Identifier: MIT */
/*
 * What the walker needs of this process: its mappings, the unwind tables of their files, and its
 * Python. The recorder writes it into shared memory (wire.h). Our own thread copies it here, since
 * the recorder may write at any time.
 *
 * There are two copies, one to read and one to fill. `turn` counts, and its lowest bit selects the
 * one to read. A reader uses what it has read from a copy only if the turn is still the same
 * afterwards. Chunks of tables and interpreters are only added, never changed, since a walk by
 * something half written would follow wild pointers.
 *
 * Read from any thread, without locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* Rules by address (unwind.c): the high bits of the key are the slot, the low ones are in the
 * entry. */
#define SPACE_RULE_SLOTS (1u << 15)

#define SPACE_PYTHONS 16 /* a process that goes on to others is not walked by these */

struct space_copy {
	uint32_t count;
	uint32_t pending;
	uint32_t generation;
	struct walk_mapping mappings[WIRE_MAPPINGS];
};

struct space {
	uint32_t turn;	   /* copies[turn & 1] is to be read; 0: neither is filled */
	uint32_t sequence; /* of the recorder's, that the readable copy has */
	/* without a marker: libraries loaded when the recorder last looked (loads.h), */
	uint64_t loads;
	uint64_t undone;  /* and unloaded */
	uint32_t unknown; /* and: code was met that is in no mapping */
	/* NULL: none; layout WALK_PYTHON_NONE: it cannot be walked */
	const struct walk_python *python;
	uint32_t python_count;
	struct walk_python pythons[SPACE_PYTHONS]; /* never changed once written */
	const uint32_t *chunks[WALK_CHUNKS_MAX];
	uint64_t rules[SPACE_RULE_SLOTS];
	struct space_copy copies[2];
};

extern struct space *space;

/* Reserves address space: 0 or -errno. */
int space_init(void);
/* Gives it back, with the tables and what keeps interpreters loaded. */
void space_release(void);

/* Copies what the recorder has written since. Called by our own thread, every round, and by
 * inject_begin's before ours runs. */
void space_update(void);
/* Whether the recorder has written anything since. */
bool space_is_stale(void);
/* Without a marker (and so without BPF), the recorder learns of new code only from us: asks it to
 * look when there is new code. From our own thread, every round. */
void space_watch(void);
/* Without a marker: whether code may have been mapped that is not in the recorder's list. From any
 * thread. */
bool space_is_doubtful(void);
/* Whether code of that list may have been unmapped, too. */
bool space_has_lost(void);
/* Code was met that is in no mapping: from any thread. */
void space_met_unknown(void);
/* Asks the recorder what is mapped now, and waits until it has answered and has made all tables,
 * but not longer than until deadline_ns. Before our own thread begins. */
void space_await(uint64_t deadline_ns);

/* `count` words of the tables; NULL: the tables have none at `at`. */
static inline const uint32_t *space_words(uint32_t at, uint32_t count)
{
	const uint32_t *chunk = NULL;

	if (at / WALK_CHUNK_WORDS < WALK_CHUNKS_MAX &&
		at % WALK_CHUNK_WORDS + count <= WALK_CHUNK_WORDS)
		chunk = __atomic_load_n(&space->chunks[at / WALK_CHUNK_WORDS], __ATOMIC_ACQUIRE);
	return chunk ? chunk + at % WALK_CHUNK_WORDS : NULL;
}
