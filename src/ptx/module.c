// SPDX-License-Identifier: MIT
/*
 * A module is a list of directives. Each begins with a word that a table below gives a function
 * for; linkage (".visible") stands before some.
 */
#include "ptx/module.h"

#include <errno.h>

#include "base/error.h"
#include "ptx/module_internal.h"

int ptx_damaged(struct ptx_parser *p, const char *what, const struct ptx_token *t)
{
	int size = t->size < 40 ? (int)t->size : 40;

	if (p->out_of_memory)
		return error_memory("a module of PTX");
	return error_set(-EINVAL, "PTX line %u: %s at '%.*s'", ptx_line_of(&p->lexer, t->text),
		what, t->kind == PTX_TEXT_END ? 3 : size,
		t->kind == PTX_TEXT_END ? "end" : t->text);
}

int ptx_damaged_here(struct ptx_parser *p, const char *what)
{
	struct ptx_token t = ptx_peek(&p->lexer);

	return ptx_damaged(p, what, &t);
}

bool ptx_take_number(struct ptx_parser *p, uint64_t *ret)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	return ptx_number(&t, ret);
}

/* Whether something stands before that belongs behind the header. */
static bool is_behind_header(const struct ptx_parser *p)
{
	return p->module->functions.count || p->module->variables.count;
}

/* "9.0" as 90. */
static int read_version(struct ptx_parser *p)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	if (is_behind_header(p))
		return ptx_damaged(p, "a second header", &t);
	if (t.kind != PTX_WORD || t.size < 3 || t.size > 4 || t.text[t.size - 2] != '.')
		return ptx_damaged(p, "no version", &t);
	p->module->version_text = ptx_text_of(&t);
	p->module->version = 0;
	for (size_t i = 0; i < t.size; i++) {
		unsigned int digit = (unsigned int)(t.text[i] - '0');

		if (i == t.size - 2)
			continue;
		if (digit > 9)
			return ptx_damaged(p, "no version", &t);
		p->module->version = p->module->version * 10 + digit;
	}
	return 0;
}

static void note_header(struct ptx_parser *p)
{
	p->module->behind_header = (size_t)(p->lexer.at - p->lexer.start);
}

static int read_target(struct ptx_parser *p)
{
	if (is_behind_header(p))
		return ptx_damaged_here(p, "a second header");
	do {
		struct ptx_token t = ptx_lex(&p->lexer);

		if (t.kind != PTX_WORD)
			return ptx_damaged(p, "no target", &t);
		if (t.size <= 3 || memcmp(t.text, "sm_", 3))
			continue;
		p->module->sm = 0;
		for (size_t i = 3; i < t.size && i < 7 && t.text[i] >= '0' && t.text[i] <= '9'; i++)
			p->module->sm = p->module->sm * 10 + (unsigned int)(t.text[i] - '0');
	} while (ptx_take_mark(&p->lexer, ','));
	note_header(p);
	return 0;
}

static int read_address_size(struct ptx_parser *p)
{
	uint64_t bits;

	if (is_behind_header(p))
		return ptx_damaged_here(p, "a second header");
	if (!ptx_take_number(p, &bits) || (bits != 32 && bits != 64))
		return ptx_damaged_here(p, "no address size");
	p->module->address_bits = (unsigned int)bits;
	note_header(p);
	return 0;
}

/* .file 1 "name", and perhaps two more numbers. */
static int read_file(struct ptx_parser *p)
{
	uint64_t number, unused;
	struct ptx_token t;

	if (!ptx_take_number(p, &number) || number > UINT32_MAX)
		return ptx_damaged_here(p, "no number of a file");
	t = ptx_lex(&p->lexer);
	if (t.kind != PTX_STRING)
		return ptx_damaged(p, "no name of a file", &t);
	p->out_of_memory = vec_push(&p->module->files,
				   (struct ptx_module_file){(uint32_t)number, ptx_text_of(&t)}) < 0;
	while (!p->out_of_memory && ptx_take_mark(&p->lexer, ','))
		if (!ptx_take_number(p, &unused))
			return ptx_damaged_here(p, "no number behind the name of a file");
	return p->out_of_memory ? ptx_damaged(p, "", &t) : 0;
}

static int read_section(struct ptx_parser *p)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	if (t.kind != PTX_WORD || !ptx_take_mark(&p->lexer, '{') || !ptx_skip_block(&p->lexer))
		return ptx_damaged(p, "a section without its end", &t);
	return 0;
}

static int skip_statement(struct ptx_parser *p)
{
	struct ptx_token t = ptx_peek(&p->lexer);

	return ptx_skip_statement(&p->lexer) ? 0
					     : ptx_damaged(p, "a directive without its end", &t);
}

static const struct {
	const char *word;
	int (*read)(struct ptx_parser *p);
} directives[] = {
	{".version", read_version},
	{".target", read_target},
	{".address_size", read_address_size},
	{".file", read_file},
	{".section", read_section},
	{".entry", ptx_read_entry},
	{".func", ptx_read_callee},
	{".const", ptx_read_const},
	{".global", ptx_read_global},
	{".shared", ptx_read_shared},
	{".pragma", skip_statement},
	{".alias", skip_statement},
	{".tex", skip_statement},
};

static bool take_linkage(struct ptx_parser *p, const struct ptx_token *t)
{
	if (ptx_is(t, ".extern"))
		p->linkage = PTX_EXTERN;
	else if (ptx_is(t, ".visible") || ptx_is(t, ".weak") || ptx_is(t, ".common"))
		p->linkage = PTX_VISIBLE;
	else
		return false;
	return true;
}

static int read_directive(struct ptx_parser *p, const struct ptx_token *t)
{
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++)
		if (ptx_is(t, directives[i].word)) {
			int error = directives[i].read(p);

			p->linkage = PTX_LOCAL;
			return error;
		}
	return ptx_damaged(p, "no directive", t);
}

static int read_all(struct ptx_parser *p)
{
	struct ptx_module *m = p->module;
	int error = 0;

	while (!error) {
		struct ptx_token t = ptx_lex(&p->lexer);

		if (t.kind == PTX_TEXT_END)
			break;
		if (!m->version && !ptx_is(&t, ".version"))
			return ptx_damaged(p, "not PTX: no .version", &t);
		if (!take_linkage(p, &t) && !ptx_is_mark(&t, ';'))
			error = read_directive(p, &t);
	}
	if (!error && (!m->version || !m->sm || !m->behind_header))
		return error_set(-EINVAL, "not PTX: no .version and .target");
	return error;
}

int ptx_module_read(const char *text, size_t size, struct ptx_module *ret)
{
	struct ptx_module m = {.address_bits = 32};
	struct ptx_parser p = {.lexer = ptx_lexer_of(text, size), .module = &m};
	int error = read_all(&p);

	if (error)
		ptx_module_release(&m);
	else
		*ret = m;
	return error;
}

void ptx_module_release(struct ptx_module *m)
{
	vec_release(&m->functions);
	vec_release(&m->params);
	vec_release(&m->variables);
	vec_release(&m->files);
}
