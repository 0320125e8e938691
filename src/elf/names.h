/* SPDX-License-Identifier: MIT */
/*
 * What code at many places of a file is called, as bytes: they are written in a process that a file
 * may have taken over, and whoever reads them does not trust them. Also names from a perf map.
 */
#pragma once

#include "base/buf.h"
#include "base/file_identity.h"
#include "elf/elf_file.h"

#define NAMES_CODE_MAX 64
#define NAMES_LINK_MAX 256

/* Of a file, with the separate debug file that it was given. */
struct names_facts {
	uint32_t build_id_size; /* 0: it has none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t is_debug_file; /* itself; its code has addresses, and no contents */
	uint8_t has_debug_file;
	uint8_t has_symtab, has_dwarf; /* or its debug file has */
	uint8_t too_large;	       /* something was left out for that */
	uint32_t code_count;
	struct elf_code code[NAMES_CODE_MAX];
	char debug_link[NAMES_LINK_MAX]; /* the name of its debug file, without a folder; "" */
};

/*
 * The file that was asked about last, open. So its symbols are sorted once, however often it is
 * asked about.
 */
struct names_file {
	struct elf_file *elf; /* NULL: none */
	struct file_identity identity, debug_identity;
	bool has_debug;
};

void names_file_close(struct names_file *f);

struct names_question {
	int fd;			/* of the file */
	int debug_fd;		/* of what may be its separate debug file; -1: none */
	bool are_vaddrs;	/* the places are addresses, not offsets in the file */
	const uint64_t *places; /* rising */
	size_t count;
};

/* Writes facts and names. Of a debug file there are no names of offsets. Descriptors stay the
 * caller's. 0 or -errno. */
int names_write(struct names_file *f, const struct names_question *q, struct buf *ret);
/* Writes names of addresses from an open perf map: 0 or -errno. */
int names_write_map(int fd, const uint64_t *places, size_t count, struct buf *ret);

/* A descriptor that has the DWARF, of the file or its debug file, for the caller, and the places as
 * addresses, UINT64_MAX where there is no code: 0 or -errno (-ENOENT: there is no DWARF). */
int names_dwarf(
	struct names_file *f, const struct names_question *q, uint64_t *ret_vaddrs, int *ret_fd);

struct names_reader {
	size_t count; /* of places that were asked for */
	/* Where something is known of a place: what it is called (or NULL), and where its function
	 * begins, as an offset (or 0). 0 or -errno, which ends the reading. */
	int (*visit)(void *context, size_t n, const char *name, size_t length, uint64_t function);
	void *context;
};

/* Reads the facts in front of names: 0 or -EPROTO, when they make no sense. */
int names_read_facts(const void *data, size_t size, struct names_facts *ret);
/* Reads the names that follow `skipped` bytes (of facts, or none in those of a map): 0, -EPROTO, or
 * what `visit` returned. */
int names_read(const struct names_reader *r, const void *data, size_t size, size_t skipped);
