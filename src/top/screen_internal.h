/* SPDX-License-Identifier: MIT */
/* What screen.c (lines and the room for them) and screen_tables.c (the tables) share. */
#pragma once

#include "top/screen.h"

struct canvas {
	const struct moment *moment;
	const struct screen_options *options;
	struct buf *out;
	unsigned int rows_left; /* only with a limit */
};

enum canvas_style { STYLE_PLAIN = 0, STYLE_TITLE, STYLE_HEADING, STYLE_BUSY, STYLE_WARNING };

/* Appends a line, cut to the columns, and releases it; nothing where no row is left. */
void canvas_line(struct canvas *c, enum canvas_style style, struct buf *line);

/* "12.3 %" of the moment, or "" of nothing, in eight columns. */
void canvas_share(struct buf *line, const struct moment *m, uint64_t ns);
/* The same of sums of so many samples. */
void canvas_sampled_share(struct buf *line, const struct moment *m, uint64_t ns, uint64_t samples);

/* A table: how many rows it has, and one of them. */
struct screen_table {
	const char *headings;
	size_t (*count)(const struct moment *m);
	void (*row)(const struct moment *m, size_t n, struct buf *line);
};

#define SCREEN_TABLES 3
extern const struct screen_table screen_tables[SCREEN_TABLES];
/* Puts all rows in the order that was asked for. */
void screen_tables_sort(struct moment *m, enum screen_sort sort);
