/* SPDX-License-Identifier: MIT */
/*
 * The chunks of a profile file one after the other, each whole and with the right checksum. What is
 * in them is not looked at.
 *
 * One buffer holds a stretch of the file that is at least the present chunk. Decoding may run past
 * the end of a damaged entry or event before that is noticed, hence CHUNK_READ_PAST bytes behind
 * each chunk that can be read, whatever they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_READ_PAST 200

struct chunk_file {
	int fd;
	char *buffer; /* `capacity` bytes and CHUNK_READ_PAST more */
	size_t capacity;
	size_t used;   /* bytes in the buffer */
	size_t at;     /* of these, read */
	uint64_t next; /* where in the file the next chunk begins */
	bool sparing;  /* no more is read of the file than what is asked for */
};

/* Why a chunk is none, or that it is. */
enum chunk_state {
	CHUNK_IS_WHOLE,
	CHUNK_IS_CUT, /* the file ends there: `left` bytes of it are there, mostly 0 */
	CHUNK_IS_TOO_LARGE,
	CHUNK_IS_DAMAGED, /* its checksum is another */
};

struct chunk {
	enum chunk_state state;
	uint32_t type, size;
	uint64_t begin;		/* in the file */
	const uint8_t *payload; /* `size` bytes, until the next is read */
	size_t left;
};

/* Takes over the descriptor. 0 or -ENOMEM. */
int chunk_file_init(struct chunk_file *f, int fd);
void chunk_file_release(struct chunk_file *f);
/* The first bytes of the file, at most so many: how many there are, or -errno. */
int chunk_file_begin(struct chunk_file *f, size_t need, const uint8_t **ret);
/*
 * In two steps, as a chunk may be passed over: its type and size, then its payload, if the state is
 * still CHUNK_IS_WHOLE. All: 0 or -errno, without error text.
 */
int chunk_file_next(struct chunk_file *f, struct chunk *ret);
int chunk_file_payload(struct chunk_file *f, struct chunk *c);
int chunk_file_pass(struct chunk_file *f, const struct chunk *c);
