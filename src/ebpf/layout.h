/* SPDX-License-Identifier: MIT */
/*
 * Where the maps of an object are in an arena (wire/arena.h).
 *
 * A map that all programs only add to is kept once for each SM, whatever its type: threads that add
 * to one word wait for each other, which costs several times what it measures. The sum is made when
 * it is read from outside.
 */
#pragma once

#include "ebpf/check/check.h"
#include "wire/arena.h"

struct map_place {
	enum ebpf_map_shape shape;
	bool is_used;	 /* by a program for the GPU */
	bool is_outside; /* its values are where the header's address says */
	bool is_shared;	 /* so; and programs for the kernel use them, too: it is the kernel's */
	uint64_t offset; /* in the arena: of the values, or of a ring's control blocks */
	uint32_t copies; /* a power of 2; SM % copies is whose it is */
	bool is_sum;	 /* its copies are added up, as numbers of `sum_bytes` */
	uint8_t sum_bytes;
	/* Told to people: it only fits in fewer copies than there are SMs. */
	bool is_squeezed;
	/* So too: it is kept once, and a program uses atomics on it that runs in every thread. */
	bool is_contended;
	uint64_t stride;      /* bytes from copy to copy; of a ring, of its records */
	uint64_t bytes;	      /* all copies together */
	uint32_t value_bytes; /* a multiple of 8 */
	uint32_t key_bytes;   /* the same, of a hash */
	/* From value to value; of a ring, from record to record; of a hash, from key to key. */
	uint32_t entry_bytes;
	uint64_t values_at; /* in a copy of a hash: behind all keys, its values */
	/* Entries in each copy. An array by access has twice as many, as accesses use the others
	 * whose number is too large: nobody reads those. */
	uint32_t capacity;
};

struct layout {
	struct map_place maps[EBPF_MAPS_MAX];
	struct map_place prints; /* a ring */
	uint32_t map_count;
	uint32_t first_address; /* which of the arena's addresses is the first map's */
	uint64_t threads;	/* that per-thread arrays have values for */
	uint32_t accesses;	/* that arrays by access have values for */
	uint64_t size;		/* of the arena */
};

struct layout_options {
	uint64_t threads;
	uint64_t map_bytes; /* that one map may take */
	uint32_t accesses;
	/* Of the object before this one in the same arena; NULL: it is the first. */
	const struct layout *after;
	uint32_t first_program; /* number of its first program */
};

#define LAYOUT_THREADS	 (1u << 20)
#define LAYOUT_ACCESSES	 2000u
#define LAYOUT_MAP_BYTES ((uint64_t)256 << 20)

/* `analyses`: of all programs for the GPU. 0 or -errno with error_text (-EFBIG: a map is larger
 * than it may be). */
int layout_make(struct layout *l, const struct ebpf_object *o, const struct analysis *analyses,
	size_t count, const struct layout_options *options);
