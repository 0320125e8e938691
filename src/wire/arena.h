/* SPDX-License-Identifier: MIT */
/*
 * The arena: what programs inside GPU kernels keep, one for each context of a device. The text of
 * the programs has these offsets in it, the library makes and fills it, the recorder reads it.
 *
 *	+-----------------------+ 0
 *	| struct arena_header	|
 *	+-----------------------+ ARENA_LOSSES_AT
 *	| losses of each SM	| ARENA_SMS times ARENA_LOSS_COUNT of 8 bytes
 *	+-----------------------+ ARENA_MAPS_AT
 *	| maps			| each at its place (ebpf/layout.h), aligned to 256 bytes
 *	+-----------------------+
 *
 * An SM (multiprocessor) counts as its number modulo ARENA_SMS; no GPU has more.
 *
 * Maps that are in host memory are reached by an address in the header. So are rings, whose control
 * blocks are here, one for each SM:
 *
 *	device: position = head++, unless head - tail says that it is full;
 *	        writes the record at position % capacity; its sequence last, with release
 *	host:   record at tail % capacity is there when its sequence is tail + 1; tail++
 *
 * Threads look at head before they raise it, all those of an SM perhaps at once: so many places of
 * a ring stay free (ARENA_RING_SPARE).
 */
#pragma once

#include <stdint.h>

#define ARENA_MAGIC    0x616e657261757078ull /* "xpuarena" */
#define ARENA_VERSION  1
#define ARENA_SMS      256
#define ARENA_MAPS_MAX 64
#define ARENA_ALIGN    256

struct arena_header {
	uint64_t magic;
	uint32_t version, map_count;
	uint64_t size;	   /* of the whole arena */
	uint64_t pid_tgid; /* what bpf_get_current_pid_tgid returns */
	/* Where maps are that are not in the arena, and rings; the last is that of printed
	 * texts. */
	uint64_t addresses[ARENA_MAPS_MAX + 1];
};

#define ARENA_PRINTS ARENA_MAPS_MAX

/* Why something that a program asked for was not done. */
enum arena_loss {
	ARENA_LOSS_BOUNDS,  /* an access outside of a value or of the stack, or not aligned */
	ARENA_LOSS_FUEL,    /* a program that looped too long */
	ARENA_LOSS_FULL,    /* an entry that a hash had no place for */
	ARENA_LOSS_THREADS, /* a thread behind the last that a per-thread array has a value for */
	ARENA_LOSS_COUNT = 8,
};

#define ARENA_LOSSES_AT 1024
#define ARENA_MAPS_AT	(ARENA_LOSSES_AT + ARENA_SMS * ARENA_LOSS_COUNT * 8)

/* An entry of a hash: this and the key, a multiple of 8 bytes. Values are behind all entries: an
 * atomic takes the line that it changes out of a multiprocessor's cache, where keys should stay. */
enum arena_hash_state {
	ARENA_HASH_FREE,
	ARENA_HASH_BEING_MADE,
	ARENA_HASH_THERE,
	ARENA_HASH_DELETED, /* of this key; the place stays its own */
};

struct arena_hash_entry {
	uint32_t state;
	uint32_t unused;
};

#define ARENA_HASH_TRIES 64
/* For each 8 bytes of a key: exclusive or, then this. The upper half says where to begin. It is
 * 2^64 divided by the golden ratio. */
#define ARENA_HASH_MULTIPLIER 0x9e3779b97f4a7c15ull
#define ARENA_HASH_WAITS      4096 /* for an entry that is being made */

/* Values by access: the n-th is of the access that has number n in its process. In the text of
 * programs is its number in its module; the library adds what modules before it have taken. */
#define ARENA_SITE_BYTES 32

/* The control block of a ring. */
struct arena_ring {
	uint64_t head;
	uint64_t tail; /* written by the host */
	uint64_t dropped;
	uint64_t unused[5];
};

#define ARENA_RING_SPARE 2048

/* Before each record in a ring. */
struct arena_record {
	uint64_t sequence; /* its position + 1 */
	uint64_t launch;   /* %gridid */
	uint32_t size;	   /* bytes of what follows */
	uint16_t program;  /* number in the object */
	uint16_t text;	   /* of those printed: which; else 0 */
};

#define ARENA_RECORD_MAX 4096 /* with its head */

/* What follows of a text that was printed. */
struct arena_print {
	uint64_t arguments[3];
};
