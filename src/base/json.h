/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON into a buffer. Only strings need care: names come from untrusted programs, so bytes
 * that are not UTF-8 become U+FFFD and control characters are escaped.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Appends the text as a quoted JSON string. */
void json_string(struct buf *b, const char *text, size_t size);
/* The length of the valid UTF-8 sequence at p (1 to 4), or 0 when there is none. */
size_t utf8_sequence(const char *p, size_t left);
/* True for sequences that nobody should get to see as they are: C1 controls, line and paragraph
 * separators, direction marks and overrides, U+FEFF inside text, and those that XML 1.0 leaves out
 * (U+FFFE, U+FFFF). C0 controls are not among them. */
bool utf8_is_unfit(const char *p, size_t length);
