/* SPDX-License-Identifier: MIT */
/*
 * Names made printable: the one place for all that xpuprof writes.
 *
 * Names of processes, threads, files, functions and kernels are chosen by programs that are not
 * trusted. A terminal obeys control characters in them; other characters turn the direction of a
 * line, or are not seen at all. Each byte of such a character, and each byte that is not UTF-8, is
 * written as `\x` and two hexadecimal digits:
 *
 *	"a\033[31mb"      a\x1b[31mb
 *	U+202E            \xe2\x80\xae
 *	a byte 0xff       \xff
 *
 * Not printable are controls (line ends and tabs are, too), DEL, U+0080 to U+009F, what changes the
 * direction of text, line and paragraph separators, invisible characters that no word needs, and
 * noncharacters. What is printable already stays as it is, backslashes included: so texts may be
 * put together of such that went through here before.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* The length of the valid UTF-8 sequence at p (1 to 4), or 0 when there is none (RFC 3629). */
size_t utf8_sequence(const char *p, size_t left);

/* The length of the printable character at p (1 to 4), or 0 when there is none. */
size_t printable_character(const char *p, size_t left);
/* How many bytes from the first on are printable characters. */
size_t printable_span(const char *text, size_t size);
/* What stands for a byte that is not. */
#define PRINTABLE_BYTE_COLUMNS 4
void printable_byte(struct buf *b, char byte);

void printable_put(struct buf *b, const char *text, size_t size);
/* Of a text that ends with NUL. */
void printable_puts(struct buf *b, const char *text);
/* As printable_put, with line ends as they are. */
void printable_lines(struct buf *b, const char *text, size_t size);
/* With a backslash before each quotation mark and backslash: the inside of a string of JSON, and of
 * a label of Prometheus. */
void printable_quoted(struct buf *b, const char *text, size_t size);
