// SPDX-License-Identifier: MIT
#include "ptx/walk.h"

struct ptx_walk ptx_walk_of(const struct ptx_function *f)
{
	return (struct ptx_walk){ptx_lexer_of(f->body.at + 1, f->body.size - 1), 0};
}

static bool read_line(struct ptx_walk *w, struct ptx_statement *s)
{
	struct ptx_token file = ptx_lex(&w->lexer), line = ptx_lex(&w->lexer);
	uint64_t f, n;

	if (!ptx_number(&file, &f) || !ptx_number(&line, &n) || f > UINT32_MAX || n > UINT32_MAX)
		return false;
	s->kind = PTX_LINE;
	s->file = (uint32_t)f;
	s->line = (uint32_t)n;
	ptx_skip_line(&w->lexer);
	s->end = w->lexer.at;
	return true;
}

static bool read_instruction(struct ptx_walk *w, struct ptx_statement *s)
{
	if (s->op.kind != PTX_WORD || *s->op.text == '%')
		return false;
	s->kind = PTX_INSTRUCTION;
	s->operands = w->lexer;
	if (!ptx_skip_statement(&w->lexer))
		return false;
	s->end = w->lexer.at;
	return true;
}

static bool read_predicated(struct ptx_walk *w, struct ptx_statement *s)
{
	struct ptx_token t;

	s->negated = ptx_take_mark(&w->lexer, '!');
	t = ptx_lex(&w->lexer);
	if (t.kind != PTX_WORD)
		return false;
	s->predicate = (struct ptx_text){t.text, t.size};
	s->op = ptx_lex(&w->lexer);
	return s->op.kind == PTX_WORD && *s->op.text != '.' && read_instruction(w, s);
}

/* Directives inside a body. */
static bool pass_directive(struct ptx_walk *w, const struct ptx_token *t)
{
	if (!ptx_is(t, ".section"))
		return ptx_skip_statement(&w->lexer);
	ptx_lex(&w->lexer);
	return ptx_take_mark(&w->lexer, '{') && ptx_skip_block(&w->lexer);
}

static bool pass_mark(struct ptx_walk *w, const struct ptx_token *t)
{
	if (ptx_is_mark(t, '{'))
		w->depth++;
	else if (ptx_is_mark(t, '}'))
		w->depth--;
	else
		return ptx_is_mark(t, ';');
	return true;
}

void ptx_walk_next(struct ptx_walk *w, struct ptx_statement *s)
{
	while (1) {
		struct ptx_token t = ptx_lex(&w->lexer);
		bool good;

		s->kind = PTX_DAMAGED;
		s->start = t.text;
		s->predicate.size = 0;
		s->negated = false;
		s->op = t;
		if (ptx_is_mark(&t, '}') && !w->depth) {
			s->kind = PTX_BODY_END;
			return;
		}
		if (t.kind == PTX_WORD && ptx_take_mark(&w->lexer, ':')) {
			s->kind = PTX_LABEL;
			return;
		}
		if (ptx_is_mark(&t, '@'))
			good = read_predicated(w, s);
		else if (t.kind == PTX_MARK)
			good = pass_mark(w, &t);
		else if (ptx_is(&t, ".loc"))
			good = read_line(w, s);
		else if (t.kind == PTX_WORD && *t.text == '.')
			good = pass_directive(w, &t);
		else
			good = read_instruction(w, s);
		if (!good)
			s->kind = PTX_DAMAGED;
		if (!good || s->kind != PTX_DAMAGED)
			return;
	}
}
