/* SPDX-License-Identifier: MIT */
/*
 * All unwind tables of a recording, in memory that the walkers share: made in threads of our own,
 * kept on disk by build id and file, evicted under a budget of bytes.
 *
 * The space of words (walk/table.h) consists of chunks of WALK_CHUNK_BYTES, each a file descriptor
 * that can be mapped, and that nobody else can write to: a BPF map where BPF programs walk, else a
 * memfd. In the recorder, they are
 * mapped one behind the other from `words` on, so that a table is contiguous here. The first chunk
 * is there from the start; there are never more than the budget has room for.
 *
 *	request -> PENDING -(thread)-> READY | NONE (no unwind information) |
 *	                               FAILED (unreadable, damaged)
 *	READY -(budget)-> EVICTED -(request)-> PENDING
 *
 * When there is no room, tables that no process maps now are evicted first, then those that were
 * used or requested longest ago, at least UNWIND_KEEP_NS. If that makes no room the new table is
 * EVICTED at once, and may be requested again later. The words of an evicted table stay as they are
 * until a poll has reported EVICTED, and for UNWIND_REUSE_NS more, because walks that had begun may
 * still read them. So room that was made for a table may come only after the next poll.
 *
 * Called from one thread; what our own threads finished shows up at the next unwind_tables_poll.
 * Functions return 0 or -errno with error_text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "elf/elf_file.h"

#define UNWIND_REUSE_NS	      1000000000ull
#define UNWIND_KEEP_NS	      10000000000ull
#define UNWIND_DEFAULT_BUDGET ((size_t)128 << 20)
#define UNWIND_THREADS_MAX    4

enum unwind_state {
	UNWIND_PENDING = 1,
	UNWIND_READY,
	UNWIND_NONE,
	UNWIND_FAILED,
	UNWIND_EVICTED,
};

struct unwind_tables;

struct unwind_tables_options {
	size_t budget_bytes;   /* for all tables; 0: UNWIND_DEFAULT_BUDGET */
	const char *cache_dir; /* on disk (unwind/cache.h); made when it is missing; NULL: none is
				  kept */
	unsigned int threads;  /* 0: one less than there are CPUs, 1 to 4 */
	/* Makes chunk `index` of the shared space: a descriptor that can be mapped for
	 * WALK_CHUNK_BYTES, and that is ours from then on. NULL: memfds. Called from our threads,
	 * one at a time. */
	int (*new_chunk)(void *context, uint32_t index, int *ret_fd);
	/* Writes into such chunks, which are mapped for reading then. NULL: they are written to by
	 * plain stores. Called from our threads, several at a time. */
	int (*write_words)(void *context, uint32_t at, const uint32_t *words, uint32_t count);
	void *context;
	/* Makes the table of a file, as unwind_build does, in the thread of this number: 0,
	 * -ENODATA or another -errno; the words are allocated, and are not trusted. NULL: it is
	 * made in this process. */
	int (*build)(void *build_context, unsigned int thread, int fd, int debug_fd,
		uint32_t **ret_words, size_t *ret_count);
	/* Called in each of these threads when it begins, with its number; NULL: nothing is. */
	void (*begin)(void *build_context, unsigned int thread);
	void *build_context;
};

int unwind_tables_new(struct unwind_tables **ret, const struct unwind_tables_options *options);
/* Waits for what our threads are at. */
void unwind_tables_free(struct unwind_tables *t);
/* Why no tables are kept on disk though options.cache_dir was given; NULL: they are. */
const char *unwind_tables_cache_problem(const struct unwind_tables *t);

/* A file whose table is wanted. Two files have one table only if they are the same file in the same
 * state: a build id is what their makers say. */
struct unwind_file {
	int fd;	      /* stays the caller's */
	int debug_fd; /* so too: what may be its separate debug file; -1: none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_size; /* 0: none */
	struct file_identity identity;
};

/* Asks for the table of a file; *ret_id counts from 1. The table that had to make room, and no
 * other, is made again. */
int unwind_tables_request(
	struct unwind_tables *t, const struct unwind_file *file, uint32_t *ret_id);
/* The vdso (elf/vdso.h), open. */
int unwind_tables_request_vdso(struct unwind_tables *t, struct elf_file *vdso, uint32_t *ret_id);
/* Takes in what was finished: true when any state has changed since the last time. */
bool unwind_tables_poll(struct unwind_tables *t);
/* Readable when a poll is due. */
int unwind_tables_fd(const struct unwind_tables *t);
/* READY: *ret_word (may be NULL) is where it begins. */
enum unwind_state unwind_tables_state(
	const struct unwind_tables *t, uint32_t id, uint32_t *ret_word);
/* Waits until none of these is pending or the time is over: true when none is. Takes in what was
 * finished. */
bool unwind_tables_wait(
	struct unwind_tables *t, const uint32_t *ids, size_t count, uint64_t timeout_ns);
/* Counts the processes that map each of these: one more (+1) or one less (-1). Tables in use are
 * evicted last. */
void unwind_tables_use(struct unwind_tables *t, const uint32_t *ids, size_t count, int change);

/* The whole space, as the recorder sees it, WALK_CHUNKS_MAX chunks; constant. Only words of tables
 * that are READY may be read: chunks that are not there yet cannot be, and others change. */
const uint32_t *unwind_tables_words(const struct unwind_tables *t);
/* How many words there are by now. */
uint64_t unwind_tables_word_count(const struct unwind_tables *t);
/* Calls visit for every chunk from `first` on, in order, to hand them to another process (until it
 * returns something else than 0); how many chunks there are. */
uint32_t unwind_tables_chunks(const struct unwind_tables *t, uint32_t first,
	int (*visit)(void *context, uint32_t index, int fd), void *context);

struct unwind_totals {
	uint64_t tables; /* that are READY */
	uint64_t bytes;	 /* of these */
	uint64_t built;	 /* made from the file */
	uint64_t cached; /* found on disk */
	uint64_t failed;
	uint64_t evicted; /* also for want of room */
};
struct unwind_totals unwind_tables_totals(const struct unwind_tables *t);
