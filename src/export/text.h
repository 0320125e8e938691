/* SPDX-License-Identifier: MIT */
/*
 * Names as XML and folded text: printable, as everywhere (base/printable.h), and without what the
 * format gives a meaning of its own. The rules are those of docs/formats.md.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* XML text and attribute values: < > & " ' become references. */
void text_xml(struct buf *b, const char *text, size_t size);
/* A frame of folded text: ';' becomes ':', and no name at all "(no name)". */
void text_folded(struct buf *b, const char *text, size_t size);
/* As text_folded for names that stand between blanks: blanks become '_'. */
void text_folded_word(struct buf *b, const char *text, size_t size);
