// SPDX-License-Identifier: MIT
/*
 * One table says what each byte is; words and blocks are passed over by it, a byte at a step.
 */
#include "ptx/lex.h"

enum {
	SPACE = 1,
	WORD = 2,
	MARK = 4,
	BLOCK = 8,	/* ends or interrupts the search for the end of a block */
	STATEMENT = 16, /* so too of a statement */
};

// clang-format off
static const unsigned char kinds[256] = {
	[' '] = SPACE, ['\t'] = SPACE, ['\n'] = SPACE, ['\r'] = SPACE, ['\f'] = SPACE, ['\v'] = SPACE,
	['0' ... '9'] = WORD, ['A' ... 'Z'] = WORD, ['a' ... 'z'] = WORD,
	['_'] = WORD, ['$'] = WORD, ['%'] = WORD, ['.'] = WORD,
	['{'] = MARK | BLOCK | STATEMENT, ['}'] = MARK | BLOCK | STATEMENT, [';'] = MARK | STATEMENT,
	['/'] = MARK | BLOCK | STATEMENT, ['"'] = BLOCK | STATEMENT,
	['('] = MARK, [')'] = MARK, ['['] = MARK, [']'] = MARK, ['<'] = MARK, ['>'] = MARK,
	[','] = MARK, [':'] = MARK, ['+'] = MARK, ['-'] = MARK, ['*'] = MARK, ['!'] = MARK, ['~'] = MARK,
	['&'] = MARK, ['|'] = MARK, ['^'] = MARK, ['='] = MARK, ['@'] = MARK, ['?'] = MARK,
};
// clang-format on

static unsigned int kind_of(const char *at)
{
	return kinds[(unsigned char)*at];
}

/* Behind a comment that begins here; NULL where it has no end. `at` itself where none begins. */
static const char *behind_comment(const char *at, const char *end)
{
	const char *found;

	if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*'))
		return at;
	if (at[1] == '/') {
		found = memchr(at, '\n', (size_t)(end - at));
		return found ? found : end;
	}
	found = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
	return found ? found + 2 : NULL;
}

/* Behind a string that begins here, or NULL. */
static const char *behind_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && end - at > 1)
			at++;
	return at < end ? at + 1 : NULL;
}

/* Goes over space and comments; false where a comment has no end. */
static bool skip_space(struct ptx_lexer *l)
{
	while (l->at < l->end) {
		const char *next;

		if (kind_of(l->at) == SPACE) {
			l->at++;
			continue;
		}
		next = behind_comment(l->at, l->end);
		if (next == l->at)
			return true;
		if (!next)
			return false;
		l->at = next;
	}
	return true;
}

/* Dots join the parts of a word; so do two colons that stand between letters. */
static const char *behind_word(const char *at, const char *end)
{
	while (at < end) {
		if (kind_of(at) == WORD)
			at++;
		else if (*at == ':' && end - at > 2 && at[1] == ':' && kind_of(at + 2) == WORD)
			at += 2;
		else
			break;
	}
	return at;
}

struct ptx_token ptx_lex(struct ptx_lexer *l)
{
	struct ptx_token t = {.kind = PTX_BAD};
	const char *next;

	if (!skip_space(l)) {
		t.text = l->at;
		l->at = l->end;
		return t;
	}
	t.text = l->at;
	if (l->at == l->end) {
		t.kind = PTX_TEXT_END;
		return t;
	}
	if (*l->at == '"') {
		next = behind_string(l->at, l->end);
		if (next) {
			t.kind = PTX_STRING;
			t.text = l->at + 1;
			t.size = (size_t)(next - l->at) - 2;
		}
		l->at = next ? next : l->end;
		return t;
	}
	if (kind_of(l->at) == WORD) {
		l->at = behind_word(l->at, l->end);
		t.kind = PTX_WORD;
	} else {
		t.kind = kind_of(l->at) & MARK ? PTX_MARK : PTX_BAD;
		l->at++;
	}
	t.size = (size_t)(l->at - t.text);
	return t;
}

struct ptx_token ptx_peek(const struct ptx_lexer *l)
{
	struct ptx_lexer copy = *l;

	return ptx_lex(&copy);
}

/* To the next brace, or `;` with STATEMENT, and behind it: which one; 0 at the end, or where
 * something has none. */
static inline char next_mark(struct ptx_lexer *l, unsigned int kind)
{
	while (1) {
		const char *next;

		/* Four at a step: this is where most of the time is. */
		while (l->end - l->at >= 4 && !((kind_of(l->at) | kind_of(l->at + 1) |
							kind_of(l->at + 2) | kind_of(l->at + 3)) &
						      kind))
			l->at += 4;
		while (l->at < l->end && !(kind_of(l->at) & kind))
			l->at++;
		if (l->at == l->end)
			return 0;
		if (*l->at == '/') {
			next = behind_comment(l->at, l->end);
			if (next == l->at)
				next++;
		} else if (*l->at == '"') {
			next = behind_string(l->at, l->end);
		} else {
			return *l->at++;
		}
		l->at = next ? next : l->end;
	}
}

bool ptx_take_mark(struct ptx_lexer *l, char mark)
{
	struct ptx_lexer copy;
	struct ptx_token t;

	while (l->at < l->end && kind_of(l->at) == SPACE)
		l->at++;
	if (l->at < l->end && *l->at == mark) {
		l->at++;
		return true;
	}
	if (l->at == l->end || *l->at != '/')
		return false;
	copy = *l;
	t = ptx_lex(&copy);
	if (!ptx_is_mark(&t, mark))
		return false;
	*l = copy;
	return true;
}

bool ptx_skip_block(struct ptx_lexer *l)
{
	size_t depth = 1;

	while (depth) {
		char mark = next_mark(l, BLOCK);

		if (!mark)
			return false;
		if (mark == '{')
			depth++;
		else if (mark == '}')
			depth--;
	}
	return true;
}

bool ptx_skip_statement(struct ptx_lexer *l)
{
	size_t depth = 0;

	while (1) {
		char mark = next_mark(l, STATEMENT);

		if (!mark || (mark == '}' && !depth))
			return false;
		if (mark == ';')
			return !depth;
		depth += mark == '{' ? 1 : -1;
	}
}

void ptx_skip_line(struct ptx_lexer *l)
{
	const char *end = memchr(l->at, '\n', (size_t)(l->end - l->at));

	l->at = end ? end : l->end;
}

unsigned int ptx_line_of(const struct ptx_lexer *l, const char *at)
{
	unsigned int line = 1;

	for (const char *p = l->start; (p = memchr(p, '\n', (size_t)(at - p))); p++)
		line++;
	return line;
}

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

bool ptx_number(const struct ptx_token *t, uint64_t *ret)
{
	const char *at = t->text, *end = t->text + t->size;
	uint64_t base = 10, value = 0;

	if (t->kind != PTX_WORD || digit_of(*at) > 9)
		return false;
	if (end[-1] == 'U')
		end--;
	if (end - at > 1 && *at == '0') {
		at++;
		base = (*at | 0x20) == 'x' ? 16 : (*at | 0x20) == 'b' ? 2 : 8;
		at += base != 8;
	}
	if (at == end)
		return false;
	for (; at < end; at++)
		if (digit_of(*at) >= base || __builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, (uint64_t)digit_of(*at), &value))
			return false;
	*ret = value;
	return true;
}
