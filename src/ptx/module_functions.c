// SPDX-License-Identifier: MIT
/* Functions of a module: their parameters are read, their bodies passed over. */
#include "ptx/module_internal.h"

static int read_param(struct ptx_parser *p, uint64_t *offset)
{
	struct ptx_declared d;
	struct ptx_token name = ptx_read_declared(p, &d);
	struct ptx_param param = {.name = ptx_text_of(&name), .type = d.type};
	uint64_t count;

	if (name.kind != PTX_WORD || !d.element_bytes || !ptx_read_dimensions(p, &count))
		return ptx_damaged(p, "no parameter", &name);
	count *= d.element_bytes;
	param.align = d.align ? d.align : d.element_bytes;
	*offset = (*offset + param.align - 1) & ~(uint64_t)(param.align - 1);
	if (count > UINT32_MAX || *offset + count > UINT32_MAX)
		return ptx_damaged(p, "a parameter that is too large", &name);
	param.bytes = (uint32_t)count;
	param.offset = (uint32_t)*offset;
	param.in_register = d.in_register;
	*offset += count;
	p->out_of_memory = vec_push(&p->module->params, param) < 0;
	return p->out_of_memory ? ptx_damaged(p, "", &name) : 0;
}

/* "(...)", where there is one. */
static int read_params(struct ptx_parser *p, size_t *ret_first, size_t *ret_count)
{
	uint64_t offset = 0;
	int error = 0;

	*ret_first = p->module->params.count;
	if (ptx_take_mark(&p->lexer, '(') && !ptx_take_mark(&p->lexer, ')')) {
		do
			error = read_param(p, &offset);
		while (!error && ptx_take_mark(&p->lexer, ','));
		if (!error && !ptx_take_mark(&p->lexer, ')'))
			error = ptx_damaged_here(p, "parameters without their end");
	}
	*ret_count = p->module->params.count - *ret_first;
	return error;
}

/* Which bound a directive begins; NULL: none. */
static uint32_t *bound_of(struct ptx_function *f, const struct ptx_token *t)
{
	if (ptx_is(t, ".maxntid") || ptx_is(t, ".reqntid"))
		return &f->bounds.threads;
	if (ptx_is(t, ".minnctapersm"))
		return &f->bounds.blocks;
	return ptx_is(t, ".maxnreg") ? &f->bounds.registers : NULL;
}

/* Directives and the numbers behind them, whose product counts. */
static void take_bound(struct ptx_function *f, const struct ptx_token *t, uint32_t **bound)
{
	uint64_t n;

	if (t->kind != PTX_WORD)
		return;
	if (*t->text == '.') {
		*bound = bound_of(f, t);
		if (*bound)
			**bound = 1;
	} else if (*bound && ptx_number(t, &n)) {
		n = n < UINT16_MAX ? n * **bound : UINT16_MAX;
		**bound = n < UINT16_MAX ? (uint32_t)n : UINT16_MAX;
	}
}

/* Directives about performance, of which .pragma has a `;` of its own, then the body or a `;`. */
static int read_body(struct ptx_parser *p, struct ptx_function *f)
{
	uint32_t *bound = NULL;
	struct ptx_token t;

	while (1) {
		t = ptx_lex(&p->lexer);
		take_bound(f, &t, &bound);
		if (ptx_is(&t, ".maxntid") || ptx_is(&t, ".reqntid"))
			f->bounds_block = true;
		else if (ptx_is(&t, ".pragma")) {
			if (!ptx_skip_statement(&p->lexer))
				return ptx_damaged(p, "a directive without its end", &t);
		} else if (t.kind == PTX_STRING || ptx_is_mark(&t, ',') || ptx_is_mark(&t, '(') ||
			   ptx_is_mark(&t, ')'))
			continue;
		else if (t.kind != PTX_WORD)
			break;
	}
	if (ptx_is_mark(&t, ';'))
		return 0;
	if (!ptx_is_mark(&t, '{'))
		return ptx_damaged(p, "no body of a function", &t);
	f->has_body = true;
	f->body.at = t.text;
	if (!ptx_skip_block(&p->lexer))
		return ptx_damaged(p, "a function without its end", &t);
	f->body.size = (size_t)(p->lexer.at - t.text);
	return 0;
}

/* ".attribute(.unified(1, 2))", where there is one. */
static bool pass_attribute(struct ptx_parser *p)
{
	struct ptx_token t = ptx_peek(&p->lexer);
	size_t depth = 0;

	if (!ptx_is(&t, ".attribute"))
		return true;
	ptx_lex(&p->lexer);
	do {
		t = ptx_lex(&p->lexer);
		if (ptx_is_mark(&t, '('))
			depth++;
		else if (ptx_is_mark(&t, ')') && depth)
			depth--;
		else if (t.kind == PTX_TEXT_END || t.kind == PTX_BAD || !depth)
			return false;
	} while (depth);
	return true;
}

static int read_function(struct ptx_parser *p, bool entry)
{
	struct ptx_function f = {.entry = entry, .linkage = p->linkage};
	struct ptx_token t;
	int error = 0;

	if (!pass_attribute(p))
		return ptx_damaged_here(p, "an attribute without its end");
	t = ptx_peek(&p->lexer);
	if (!entry && ptx_is_mark(&t, '('))
		error = read_params(p, &f.first_result, &f.result_count);
	if (error)
		return error;
	do
		t = ptx_lex(&p->lexer);
	while (ptx_is_directive(&t)); /* .noreturn */
	if (t.kind != PTX_WORD)
		return ptx_damaged(p, "no name of a function", &t);
	f.name = ptx_text_of(&t);
	error = read_params(p, &f.first_param, &f.param_count);
	if (!error)
		error = read_body(p, &f);
	if (error)
		return error;
	p->out_of_memory = vec_push(&p->module->functions, f) < 0;
	return p->out_of_memory ? ptx_damaged(p, "", &t) : 0;
}

int ptx_read_entry(struct ptx_parser *p)
{
	return read_function(p, true);
}

int ptx_read_callee(struct ptx_parser *p)
{
	return read_function(p, false);
}
