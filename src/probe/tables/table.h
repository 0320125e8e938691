/* SPDX-License-Identifier: MIT */
/*
 * What programs found, for people: each of our tools has a table of its own, which is one row in
 * tables.c. Others have their maps, as their types say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "probe/server.h"
#include "probe/values.h"

/* What is known of records that belong together, as they are not kept. */
struct tally_row {
	uint32_t object, device;
	uint64_t key;
	uint64_t count;
	uint64_t first, last;	   /* of all times that are in them */
	uint64_t least, most, sum; /* of those from begin to end */
	uint64_t sms[ARENA_SMS / 64];
};

struct tally {
	struct vec(struct tally_row) rows;
	struct map by_key;
	uint64_t left_out; /* records for whose key there was no place */
};

/* What a record says. */
struct tally_item {
	uint64_t key, begin, end;
};

struct show {
	struct buf *out;
	const struct server *server;
	const struct tally *tally;
	uint32_t object;
	uint32_t device;   /* or VALUES_ANY */
	unsigned int rows; /* of a table, at most */
};

/* Adds a record of one of our tools; false: it is not one of those whose records are added up. 0 or
 * -ENOMEM otherwise in *ret_error. */
bool tally_add(
	struct tally *t, const struct plan *plan, const struct server_record *r, int *ret_error);
void tally_release(struct tally *t);
int tally_item_add(struct tally *t, const struct server_record *r, const struct tally_item *item);

/* The table of an object: 0 or -errno with error_text. */
int table_put(const struct show *show);

/* The tables of all objects, of all devices together and of each. */
int tables_put(
	struct buf *out, const struct server *s, const struct tally *tally, unsigned int rows);
/* As members "objects" and "kernels" of an object that has begun. */
struct json_writer;
int tables_json(struct json_writer *w, const struct server *s);
/* The kernels with programs, and what they take of a multiprocessor if that is known; how many of
 * them have fewer warps at once than without, or more local memory. */
void tables_kernels_put(struct buf *out, const struct server *s, unsigned int rows);
void tables_kernels_json(struct json_writer *w, const struct server *s);
uint64_t tables_kernels_slower(const struct server *s);
/* A line for each kernel whose launch bounds do not leave the registers that programs need. */
void tables_bounded_put(
	struct buf *out, const struct server *s, const char *before, unsigned int rows);
/* Those that the programs are for, and that run without, with the reason of each; nothing where
 * there are none. */
void tables_unprobed_put(struct buf *out, const struct server *s, unsigned int rows);
void tables_unprobed_json(struct json_writer *w, const struct server *s);

/* For the tables. */
struct table {
	const char *tool;
	const char *title;
	int (*put)(const struct show *show);
	/* Of a record; NULL: the tool has none. False: it is too short. */
	bool (*read)(const struct server_record *r, struct tally_item *ret);
};

/* The values of a map by its name. 0 or -errno. */
int table_values(const struct show *show, const char *map, struct values *ret);
/* A bar of up to so many columns: `part` of `most`. */
void table_bar(struct buf *out, uint64_t part, uint64_t most);
/* The kernel's readable name, with its module where others have that name, too; or its hash. */
void table_kernel(const struct show *show, uint64_t hash);
/* The name of its module, in so many columns at most; 0: no limit. */
void table_module(struct buf *out, const struct server *s, const struct server_kernel *k,
	unsigned int columns);
/* The largest first, by a number at an offset in each value. */
void table_sort(struct values *v, uint32_t offset);
/* Says that there is nothing, or how many rows there are besides. */
void table_none(struct buf *out);
void table_rest(const struct show *show, size_t count);

int put_blocktime(const struct show *show);
int put_divergence(const struct show *show);
int put_memtrace(const struct show *show);
int put_smload(const struct show *show);
int put_threadscheduling(const struct show *show);
int put_threadhist(const struct show *show);
int put_kernel_runs(const struct show *show);
int put_coalesce(const struct show *show);
int put_memheat(const struct show *show);
int put_blocks(const struct show *show);
int put_kernelretsnoop(const struct show *show);
int put_kernel_trace(const struct show *show);
bool read_blocks(const struct server_record *r, struct tally_item *ret);
bool read_kernelretsnoop(const struct server_record *r, struct tally_item *ret);
bool read_kernel_trace(const struct server_record *r, struct tally_item *ret);
