/* SPDX-License-Identifier: MIT */
/* Strings of JSON in a buffer. What is not printable stands in them as in all outputs
 * (base/printable.h), so a name is the same text for people and for programs. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Appends the text as a quoted JSON string. */
void json_string(struct buf *b, const char *text, size_t size);
/* The same of text that has several lines. */
void json_lines(struct buf *b, const char *text, size_t size);
/* The same of a whole document of ours, whose names are printable already: nothing is changed. */
void json_document(struct buf *b, const char *text, size_t size);
