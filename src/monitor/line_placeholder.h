/* SPDX-License-Identifier: MIT */
/*
 * The placeholders in the templates of a monitor's columns (monitor.h): "{NAME}" or
 * "{NAME:FORMAT}".
 */
#pragma once

#include "monitor/monitor.h"

struct line_placeholder {
	const char *name;
	int name_length;
	const char *format; /* may be empty */
	int format_length;
};

/* Of the text behind "{"; what is behind "}", or NULL when there is none. */
const char *line_placeholder_read(const char *text, struct line_placeholder *ret);
/* Whether its format is one like "yes WRITE READ". */
bool line_placeholder_is_yes(const struct line_placeholder *p);

/* Whether a text of this length is the word. */
bool line_word_is(const char *text, int length, const char *word);
/* The number of a field by name; -1: the source has none of this name. */
int line_field_number(const struct monitor_source *s, const char *name, int length);
/* "#0" to "#3"; -1: something else. */
int line_count_number(const char *name, int length);
