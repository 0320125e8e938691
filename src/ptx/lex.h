/* SPDX-License-Identifier: MIT */
/*
 * The tokens of PTX text: words, strings and single marks; comments and space are between them. A
 * word is a name, a register, a directive or an instruction with all that is joined to it by dots
 * ("ld.global.L2::cache_hint.u32", "%tid.x", ".reg"), or a number without its sign.
 *
 * The text is not copied and not trusted: no token reaches past its end. Tokens point into it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum ptx_token_kind {
	PTX_TEXT_END,
	PTX_WORD,
	PTX_STRING, /* without its quotes, escapes as they are */
	PTX_MARK,   /* one character */
	PTX_BAD,    /* what no PTX has, or a comment or a string without its end */
};

struct ptx_token {
	enum ptx_token_kind kind;
	const char *text;
	size_t size;
};

/* May be copied: the copy reads on from the same place. */
struct ptx_lexer {
	const char *start, *at, *end;
};

static inline struct ptx_lexer ptx_lexer_of(const char *text, size_t size)
{
	return (struct ptx_lexer){text, text, text + size};
}

struct ptx_token ptx_lex(struct ptx_lexer *l);
/* The next token, which is then still the next one. */
struct ptx_token ptx_peek(const struct ptx_lexer *l);
/*
 * Goes behind the `}` that closes a block whose `{` has been read, or behind the `;` that ends a
 * statement, over braces in pairs. False where the text ends before, or a brace closes what was
 * not opened.
 */
bool ptx_skip_block(struct ptx_lexer *l);
bool ptx_skip_statement(struct ptx_lexer *l);
/* Goes to the end of the line. */
void ptx_skip_line(struct ptx_lexer *l);

/* The number of the line a place in the text is in, from 1. */
unsigned int ptx_line_of(const struct ptx_lexer *l, const char *at);

static inline bool ptx_is(const struct ptx_token *t, const char *word)
{
	return t->kind == PTX_WORD && t->size == strlen(word) && !memcmp(t->text, word, t->size);
}

static inline bool ptx_is_mark(const struct ptx_token *t, char mark)
{
	return t->kind == PTX_MARK && *t->text == mark;
}

/* Whether the word is the name, or begins with it and a dot: "ld.global.u32" is an "ld". */
static inline bool ptx_is_op(const struct ptx_token *t, const char *name)
{
	size_t size;

	if (t->kind != PTX_WORD || *t->text != *name) /* nearly always */
		return false;
	size = strlen(name);
	return t->size >= size && !memcmp(t->text, name, size) &&
	       (t->size == size || t->text[size] == '.');
}

/* Takes the mark if it is next. */
bool ptx_take_mark(struct ptx_lexer *l, char mark);
/* A number that is not negative: decimal, 0x, 0b or octal with a leading 0, perhaps with a "U" at its end. */
bool ptx_number(const struct ptx_token *t, uint64_t *ret);
