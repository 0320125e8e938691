/* SPDX-License-Identifier: MIT */
/*
 * The places in the templates of a monitor's columns (monitor.h): "{NAME}" or "{NAME:FORMAT}".
 */
#pragma once

#include "monitor/monitor.h"

struct line_place {
	const char *name;
	int name_length;
	const char *format; /* may be empty */
	int format_length;
};

/* Of the text behind "{"; what is behind "}", or NULL when there is none. */
const char *line_place_read(const char *text, struct line_place *ret);
/* Whether its format is one like "yes WRITE READ". */
bool line_place_is_yes(const struct line_place *p);

/* Whether a text of this length is the word. */
bool line_word_is(const char *text, int length, const char *word);
/* The number of a field by name; -1: the source has none of this name. */
int line_field_number(const struct monitor_source *s, const char *name, int length);
/* "#0" to "#3"; -1: something else. */
int line_count_number(const char *name, int length);
