/* SPDX-License-Identifier: MIT */
/*
 * The entries of the tables: one description of each, from which they are written, read and
 * checked.
 *
 * A table is an array of fixed-size structs of model.h (strings are kept apart). In the file an
 * entry is its fields in the order of the description, as varints, except for byte arrays, which
 * are themselves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model.h"

/* The order is that of the chunks in the file: what an entry refers to comes before it (but for a
 * location's inlined function, which comes with an update). */
enum profile_table {
	TABLE_STRINGS = 1,
	TABLE_MODULES,
	TABLE_LOCATIONS,
	TABLE_STACKS,
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_DEVICES,
	TABLE_OPS,
	TABLE_INLINES,
	TABLE_SEGMENTS,
	TABLE_GPU_FUNCTIONS,
	TABLE_INSTRUCTIONS,
	TABLE_WINDOWS,
	TABLE_COUNTERS,
	TABLE_BURSTS, /* its number and those of the next are the last in the end mark */
	TABLE_PROBE_OBJECTS,
	TABLE_PROBE_MAPS,
	TABLE_PROBE_CONTEXTS,
	TABLE_PROBE_KERNELS,
	TABLE_PROBE_LINES,
	TABLE_COUNT
};

/* No encoded entry is longer. */
#define ENTRY_MAX_BYTES 160

struct entry_field {
	uint16_t offset;
	uint8_t bytes; /* 1, 4 or 8: a number; with `raw`: that many bytes as they are */
	bool raw;
	bool added;	  /* by a later version, at the end: 0 where an entry ends before it */
	uint8_t refers;	  /* enum profile_table: the value is an id of it; 0: not an id */
	uint32_t minimum; /* 1 in an id that may not be 0 */
	uint32_t maximum; /* of a number that is not an id; 0: anything */
};

struct entry_format {
	const char *name; /* in messages */
	uint32_t chunk;
	bool updates; /* its entries may be replaced later */
	size_t entry_bytes;
	size_t field_count;
	const struct entry_field *fields;
};

/* By enum profile_table; nothing for TABLE_STRINGS but name and chunk. */
extern const struct entry_format entry_formats[TABLE_COUNT];

/* True when every id lies within `counts` (entries by table) and below `own_id` in the entry's own
 * table, and every number within its limits. */
bool entry_is_valid(enum profile_table table, const void *entry, uint32_t own_id,
	const uint32_t counts[TABLE_COUNT]);
/* Writes at most ENTRY_MAX_BYTES; returns a pointer behind them. */
uint8_t *entry_encode(enum profile_table table, const void *entry, uint8_t *p);
/* Reads at most ENTRY_MAX_BYTES, wherever the data end (`end` says where the entry should: no added
 * field is read from there on); false for numbers too large for their field. */
bool entry_decode(enum profile_table table, const uint8_t **p, const uint8_t *end, void *ret_entry);
