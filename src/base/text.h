/* SPDX-License-Identifier: MIT */
/*
 * Numbers and names for people, in terminals: three significant digits with a unit, thousands
 * separated, names made printable (base/printable.h) and cut to a width in columns (one column a
 * code point).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define TEXT_CELL 32

/* Each writes into `cell` and returns it. */
const char *text_duration(char cell[TEXT_CELL], uint64_t ns); /* "1.23 ms" */
const char *text_bytes(char cell[TEXT_CELL], uint64_t bytes); /* "1.23 GB", decimal */
const char *text_count(char cell[TEXT_CELL], uint64_t count); /* "12,345" */
const char *text_percent(
	char cell[TEXT_CELL], uint64_t part, uint64_t whole); /* "12.3 %", "-" of 0 */
/* The same of times that are sums of samples, and shares of them: with as many digits as so many
 * samples support, "490 ms", "23 %". Their error is about the square root of their number. */
const char *text_sampled_duration(char cell[TEXT_CELL], uint64_t ns, uint64_t samples);
const char *text_sampled_percent(
	char cell[TEXT_CELL], uint64_t part, uint64_t whole, uint64_t samples);
/* A part with two digits, however small: "0.21 %"; and how far a sum may be off that is at most
 * `high` (UINT64_MAX: not known): "+- 3.1 %", "+- ?". */
const char *text_share(char cell[TEXT_CELL], double part, double whole);
const char *text_error(char cell[TEXT_CELL], uint64_t sum, uint64_t high);
const char *text_bandwidth(char cell[TEXT_CELL], uint64_t bytes, uint64_t ns); /* "25.1 GB/s" */

/* The width to print tables in: $COLUMNS, that of the terminal, or `otherwise` for files and
 * pipes. */
unsigned int text_width(int fd, unsigned int otherwise);
/* How many columns a text takes when it has been made printable. */
size_t text_columns(const char *text);
/* Appends the text, made printable, in at most `columns` columns (0: no limit), its end replaced by "..." where it
 * is too long. */
void text_fit(struct buf *b, const char *text, unsigned int columns);
/* Appends a word of a command line, behind a space where something is before it, and in quotes
 * where a shell would take it for several or for something else; printable in any case. */
void text_shell_word(struct buf *b, const char *word);
