/* SPDX-License-Identifier: MIT */
/*
 * Names come from programs that are not trusted; here they are made harmless for each format. The
 * rules are those of docs/formats.md.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* XML text and attribute values: < > & " ' become references. Bytes that are not UTF-8, code points
 * that XML does not allow, and characters that change the direction of text become U+FFFD; control
 * characters their pictures (U+2400 and following). */
void text_xml(struct buf *b, const char *text, size_t size);
/* The same replacements without the references. */
void text_clean(struct buf *b, const char *text, size_t size);
/* A JSON string of text that is not trusted, in quotes, with the same replacements. */
void text_json(struct buf *b, const char *text, size_t size);
/* A frame of folded text: ';' becomes ':', control characters (line ends too) become '?', and no
 * name at all "(no name)". */
void text_folded(struct buf *b, const char *text, size_t size);
/* As text_folded for names that stand between blanks: blanks become '_'. */
void text_folded_word(struct buf *b, const char *text, size_t size);
