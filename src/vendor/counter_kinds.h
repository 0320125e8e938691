/* SPDX-License-Identifier: MIT */
/*
 * The hardware counters that are recorded: one row each, by preference, with our name and the
 * vendor's metrics that they are read from. A profile keeps the vendor's name (profile_counter): it
 * identifies what was measured. Each vendor has a table; the functions here search all of them, one
 * after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_KINDS_MAX      32 /* of a vendor */
#define COUNTER_CANDIDATES_MAX 4
#define COUNTER_DOUBTFUL_MAX   4

enum counter_unit {
	COUNTER_PERCENT = 0,
	COUNTER_BYTES_PER_SECOND,
	COUNTER_RATIO, /* a plain number */
};

struct counter_kind {
	const char *key;     /* for machines: "dram_read"; NULL ends a table */
	const char *words;   /* for people: "DRAM read" */
	const char *heading; /* the same in at most 9 columns */
	enum counter_unit unit;
	/* The vendor's metrics by preference, up to the first NULL. Which of them a GPU has, and
	 * can count at the same time, is found out at the beginning of a recording. */
	const char *candidates[COUNTER_CANDIDATES_MAX + 1];
	/* Chips of which these metrics are not to be trusted, up to the first NULL. */
	const char *doubtful_on[COUNTER_DOUBTFUL_MAX + 1];
};

/* Whether the values of this row can be trusted on this chip ("GH100"). */
bool counter_kind_is_good_on(const struct counter_kind *kind, const char *chip);
/* The rows of all vendors; NULL past the last. */
const struct counter_kind *counter_kind_at(size_t n);
/* The rows of one table; NULL past the last. */
const struct counter_kind *counter_row(const struct counter_kind *table, size_t n);
/* The row that a vendor's metric belongs to: its number, or -1. */
int counter_kind_of(const char *metric);
/* "%", "byte/s", "": as in profile_counter. */
const char *counter_unit_name(enum counter_unit unit);
