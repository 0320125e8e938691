// SPDX-License-Identifier: MIT
/*
 * One pass over the text, with the depth of angle brackets. A '<' that follows a name opens
 * template arguments; others are operators, comparisons of pointers ("->") or, in Rust, "<T as
 * Trait>".
 */
#include "view/names/name.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "view/names/label.h"

#define NO_LIMIT UINT_MAX
#define CUT	 "<...>"

static const char anonymous[] = "(anonymous namespace)";

struct shortening {
	struct buf *b;
	const char *start;
	unsigned int depth;
	unsigned int limit;  /* template arguments deeper than this are left out */
	const char *instead; /* of them */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Behind the bracket that closes the one at `p`, or the end of the text. */
static const char *skip_group(const char *p)
{
	unsigned int depth = 0;

	for (; *p; p++) {
		if (*p == '<' || *p == '(')
			depth++;
		else if ((*p == '>' && p[-1] != '-') || *p == ')')
			depth--;
		if (!depth)
			return p + 1;
	}
	return p;
}

/* The length of "operator<<", "operator()" and the like at `p`; 0 when there is none. */
static size_t operator_length(const struct shortening *s, const char *p)
{
	const size_t word = strlen("operator");
	size_t length;

	if (!begins(p, "operator") || (p > s->start && is_word(p[-1])))
		return 0;
	if (begins(p + word, "()"))
		return word + 2;
	length = strspn(p + word, "<>=!+-*/%^&|~,");
	return length ? word + length : 0;
}

/* Of the function itself or, where arguments are being left out, of one among its arguments. */
static bool are_parameters(const struct shortening *s, const char *p)
{
	if (!s->depth)
		return true;
	return s->limit != NO_LIMIT && (is_word(p[-1]) || p[-1] == '>');
}

/* Copies what stands at `p`, or leaves it out; returns what follows. */
static const char *take(struct shortening *s, const char *p)
{
	size_t length = operator_length(s, p);

	if (!length && begins(p, anonymous))
		length = strlen(anonymous);
	if (length) {
		buf_append(s->b, p, length);
		return p + length;
	}
	if (*p == '(' && are_parameters(s, p))
		return skip_group(p);
	if (*p == '<' && p > s->start && (is_word(p[-1]) || p[-1] == ' ')) {
		if (s->depth >= s->limit) {
			buf_puts(s->b, s->instead);
			return skip_group(p);
		}
		s->depth++;
	} else if (*p == '>' && s->depth && p[-1] != '-') {
		s->depth--;
	}
	buf_putc(s->b, *p);
	return p + 1;
}

/* The name without its parameters and with template arguments down to `limit` levels. */
static void shorten(struct buf *b, const char *name, unsigned int limit, const char *instead)
{
	const char *start = begins(name, "void ") ? name + strlen("void ") : name, *p = start;
	struct shortening s = {.b = b, .start = start, .limit = limit, .instead = instead};
	size_t before = b->size;

	while (*p)
		p = take(&s, p);
	if (b->size == before)
		buf_puts(b, name);
}

static bool fits(const char *text, unsigned int columns)
{
	return text_columns(text) <= columns;
}

static bool only_end_is_cut(const struct buf *b)
{
	const char *cut = strstr(buf_text(b), CUT);

	return cut && (size_t)(cut - b->data) + strlen(CUT) == b->size;
}

void name_fit(struct buf *b, const char *name, unsigned int columns)
{
	static const unsigned int limits[] = {NO_LIMIT, 1};
	struct buf shorter = BUF_INIT, least = BUF_INIT;

	if (!columns || fits(name, columns)) {
		text_fit(b, name, columns);
		return;
	}
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		buf_reset(&shorter);
		shorten(&shorter, name, limits[i], CUT);
		if (fits(buf_text(&shorter), columns))
			break;
	}
	shorten(&least, name, 0, CUT);
	if (fits(buf_text(&shorter), columns) ||
		(fits(buf_text(&least), columns) && only_end_is_cut(&least)))
		text_fit(b, buf_text(&shorter), columns);
	else
		text_fit(b, buf_text(&least), columns);
	b->failed |= shorter.failed || least.failed;
	buf_release(&shorter);
	buf_release(&least);
}

void name_plain(struct buf *b, const char *name)
{
	struct buf brief = BUF_INIT;

	label_brief(name, strlen(name), 1, &brief);
	text_fit(b, brief.size ? buf_text(&brief) : name, 0);
	b->failed |= brief.failed;
	buf_release(&brief);
}
