/* SPDX-License-Identifier: MIT */
/*
 * The memory of the unwind tables: chunks mapped one behind the other into a range of addresses
 * that was reserved for all of them, and which of their words are free.
 *
 * Words that are given back while walkers may still read them are retired first: they are kept
 * until the owner has published their end (arena_publish), and for UNWIND_REUSE_NS more.
 *
 * The owner lets only one thread in at a time, except into arena_make_chunk and arena_write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/space.h"
#include "walk/table.h"

/* Where chunks are: both functions, or neither for memfds, which are written to by plain stores. */
struct arena_home {
	int (*new_chunk)(void *context, uint32_t index, int *ret_fd);
	int (*write_words)(void *context, uint32_t at, const uint32_t *words, uint32_t count);
	void *context;
};

struct retired {
	struct space_range range;
	uint64_t since_ns; /* 0: not published */
};

struct arena {
	uint32_t *words;
	uint32_t chunk_count;
	uint32_t chunks_max;
	int fds[WALK_CHUNKS_MAX];
	struct space space;
	struct vec(
		struct retired) retired; /* in the order of their times, those without at the end */
	struct arena_home home;
};

/* The arena begins without chunks. */
int arena_init(struct arena *a, uint32_t chunks_max, const struct arena_home *home);
void arena_release(struct arena *a);

/* Makes chunk `index`, which may take long. */
int arena_make_chunk(const struct arena *a, uint32_t index, int *ret_fd);
/* Maps the next chunk. Owns its descriptor, also when it fails. */
int arena_attach(struct arena *a, int fd);

bool arena_alloc(struct arena *a, uint32_t words, uint32_t *ret_at);
/* Fills in what was allocated; any thread. 0 or -errno. */
int arena_write(struct arena *a, uint32_t at, const uint32_t *words, uint32_t count);
/* Gives back words that were never published. */
void arena_give(struct arena *a, uint32_t at, uint32_t words);
/* 0 or -ENOMEM, which loses the words. */
int arena_retire(struct arena *a, uint32_t at, uint32_t words);
void arena_publish(struct arena *a, uint64_t now_ns);
/* Frees what was retired long enough. Returns when there will be more: UINT64_MAX: after the next
 * arena_publish; 0: nothing is retired. */
uint64_t arena_reclaim(struct arena *a, uint64_t now_ns);
