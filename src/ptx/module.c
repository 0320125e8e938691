// SPDX-License-Identifier: MIT
/*
 * A module is a list of directives. Each begins with a word that a table below gives a function
 * for; linkage (".visible") stands before some.
 */
#include "ptx/module.h"

#include <errno.h>

#include "base/error.h"

#define MOST_BYTES ((uint64_t)1 << 48) /* of a variable */

struct parser {
	struct ptx_lexer lexer;
	struct ptx_module *module;
	enum ptx_linkage linkage;
	bool out_of_memory;
};

static int damaged(struct parser *p, const char *what, const struct ptx_token *t)
{
	int size = t->size < 40 ? (int)t->size : 40;

	if (p->out_of_memory)
		return error_memory("a module of PTX");
	return error_set(-EINVAL, "PTX line %u: %s at '%.*s'", ptx_line_of(&p->lexer, t->text),
		what, t->kind == PTX_TEXT_END ? 3 : size,
		t->kind == PTX_TEXT_END ? "end" : t->text);
}

static int damaged_here(struct parser *p, const char *what)
{
	struct ptx_token t = ptx_peek(&p->lexer);

	return damaged(p, what, &t);
}

static struct ptx_text text_of(const struct ptx_token *t)
{
	return (struct ptx_text){t->text, t->size};
}

static bool take_number(struct parser *p, uint64_t *ret)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	return ptx_number(&t, ret);
}

unsigned int ptx_type_bytes(struct ptx_text type)
{
	unsigned int bits = 0, factor = 1;
	size_t i = type.size && *type.at == '.', letters;

	if (type.size - i == 4 && !memcmp(type.at + i, "pred", 4))
		return 1;
	for (letters = i; i < type.size && strchr("bsuf", type.at[i]); i++)
		;
	if (i == letters || i == type.size || type.size - i > 5)
		return 0;
	for (; i < type.size && type.at[i] >= '0' && type.at[i] <= '9'; i++)
		bits = bits * 10 + (unsigned int)(type.at[i] - '0');
	if (i + 2 == type.size && type.at[i] == 'x') {
		factor = (unsigned int)(type.at[i + 1] - '0');
		i += 2;
	}
	if (i != type.size || factor < 1 || factor > 4)
		return 0;
	switch (bits) {
	case 8:
	case 16:
	case 32:
	case 64:
	case 128:
		return bits / 8 * factor;
	default:
		return 0;
	}
}

static bool is_power(uint64_t n, uint64_t most)
{
	return n && n <= most && !(n & (n - 1));
}

/* Whether something stands before that belongs behind the header. */
static bool is_behind_header(const struct parser *p)
{
	return p->module->functions.count || p->module->variables.count;
}

/* "9.0" as 90. */
static int read_version(struct parser *p)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	if (is_behind_header(p))
		return damaged(p, "a second header", &t);
	if (t.kind != PTX_WORD || t.size < 3 || t.size > 4 || t.text[t.size - 2] != '.')
		return damaged(p, "no version", &t);
	p->module->version_text = text_of(&t);
	p->module->version = 0;
	for (size_t i = 0; i < t.size; i++) {
		unsigned int digit = (unsigned int)(t.text[i] - '0');

		if (i == t.size - 2)
			continue;
		if (digit > 9)
			return damaged(p, "no version", &t);
		p->module->version = p->module->version * 10 + digit;
	}
	return 0;
}

static void note_header(struct parser *p)
{
	p->module->behind_header = (size_t)(p->lexer.at - p->lexer.start);
}

static int read_target(struct parser *p)
{
	if (is_behind_header(p))
		return damaged_here(p, "a second header");
	do {
		struct ptx_token t = ptx_lex(&p->lexer);

		if (t.kind != PTX_WORD)
			return damaged(p, "no target", &t);
		if (t.size <= 3 || memcmp(t.text, "sm_", 3))
			continue;
		p->module->sm = 0;
		for (size_t i = 3; i < t.size && i < 7 && t.text[i] >= '0' && t.text[i] <= '9'; i++)
			p->module->sm = p->module->sm * 10 + (unsigned int)(t.text[i] - '0');
	} while (ptx_take_mark(&p->lexer, ','));
	note_header(p);
	return 0;
}

static int read_address_size(struct parser *p)
{
	uint64_t bits;

	if (is_behind_header(p))
		return damaged_here(p, "a second header");
	if (!take_number(p, &bits) || (bits != 32 && bits != 64))
		return damaged_here(p, "no address size");
	p->module->address_bits = (unsigned int)bits;
	note_header(p);
	return 0;
}

/* .file 1 "name", and perhaps two more numbers. */
static int read_file(struct parser *p)
{
	uint64_t number, unused;
	struct ptx_token t;

	if (!take_number(p, &number) || number > UINT32_MAX)
		return damaged_here(p, "no number of a file");
	t = ptx_lex(&p->lexer);
	if (t.kind != PTX_STRING)
		return damaged(p, "no name of a file", &t);
	p->out_of_memory = vec_push(&p->module->files,
				   (struct ptx_module_file){(uint32_t)number, text_of(&t)}) < 0;
	while (!p->out_of_memory && ptx_take_mark(&p->lexer, ','))
		if (!take_number(p, &unused))
			return damaged_here(p, "no number behind the name of a file");
	return p->out_of_memory ? damaged(p, "", &t) : 0;
}

static int read_section(struct parser *p)
{
	struct ptx_token t = ptx_lex(&p->lexer);

	if (t.kind != PTX_WORD || !ptx_take_mark(&p->lexer, '{') || !ptx_skip_block(&p->lexer))
		return damaged(p, "a section without its end", &t);
	return 0;
}

static int skip_statement(struct parser *p)
{
	struct ptx_token t = ptx_peek(&p->lexer);

	return ptx_skip_statement(&p->lexer) ? 0 : damaged(p, "a directive without its end", &t);
}

static bool is_directive(const struct ptx_token *t)
{
	return t->kind == PTX_WORD && *t->text == '.';
}

static bool take_align(struct parser *p, uint32_t *ret)
{
	uint64_t align;

	if (!take_number(p, &align) || !is_power(align, PTX_PARAM_ALIGN_MAX))
		return false;
	*ret = (uint32_t)align;
	return true;
}

/* "[4][2]": the product; 0 for "[]". */
static bool read_dimensions(struct parser *p, uint64_t *ret)
{
	*ret = 1;
	while (ptx_take_mark(&p->lexer, '[')) {
		uint64_t n = 0;

		if (!ptx_take_mark(&p->lexer, ']') &&
			(!take_number(p, &n) || !ptx_take_mark(&p->lexer, ']')))
			return false;
		if (__builtin_mul_overflow(*ret, n, ret) || *ret > MOST_BYTES)
			return false;
	}
	return true;
}

/* What stands before the name of a variable or of a parameter. */
struct declared {
	struct ptx_text type;
	uint32_t align; /* 0: not said */
	unsigned int element_bytes;
	bool in_register;
};

/* Directives up to the name, which is returned; "no word" where something else comes. */
static struct ptx_token read_declared(struct parser *p, struct declared *ret)
{
	unsigned int lanes = 1;
	bool of_pointer = false;
	struct ptx_token t;

	*ret = (struct declared){0};
	for (t = ptx_lex(&p->lexer); is_directive(&t); t = ptx_lex(&p->lexer)) {
		uint32_t align = 0;

		if (ptx_is(&t, ".align")) {
			if (!take_align(p, &align))
				return (struct ptx_token){PTX_BAD, t.text, t.size};
			if (!of_pointer)
				ret->align = align;
		} else if (ptx_is(&t, ".attribute")) {
			do
				t = ptx_lex(&p->lexer);
			while (t.kind == PTX_WORD || ptx_is_mark(&t, '(') || ptx_is_mark(&t, ','));
			if (!ptx_is_mark(&t, ')'))
				break;
		} else if (ptx_is(&t, ".ptr")) {
			of_pointer = true;
		} else if (ptx_is(&t, ".reg")) {
			ret->in_register = true;
		} else if (t.size == 3 && t.text[1] == 'v' && strchr("248", t.text[2])) {
			lanes = (unsigned int)(t.text[2] - '0');
		} else if (!ret->element_bytes) {
			ret->type = text_of(&t);
			ret->element_bytes = ptx_type_bytes(ret->type);
		}
	}
	ret->element_bytes *= lanes;
	return t;
}

static int read_param(struct parser *p, uint64_t *offset)
{
	struct declared d;
	struct ptx_token name = read_declared(p, &d);
	struct ptx_param param = {.name = text_of(&name), .type = d.type};
	uint64_t count;

	if (name.kind != PTX_WORD || !d.element_bytes || !read_dimensions(p, &count))
		return damaged(p, "no parameter", &name);
	count *= d.element_bytes;
	param.align = d.align ? d.align : d.element_bytes;
	*offset = (*offset + param.align - 1) & ~(uint64_t)(param.align - 1);
	if (count > UINT32_MAX || *offset + count > UINT32_MAX)
		return damaged(p, "a parameter that is too large", &name);
	param.bytes = (uint32_t)count;
	param.offset = (uint32_t)*offset;
	param.in_register = d.in_register;
	*offset += count;
	p->out_of_memory = vec_push(&p->module->params, param) < 0;
	return p->out_of_memory ? damaged(p, "", &name) : 0;
}

/* "(...)", where there is one. */
static int read_params(struct parser *p, size_t *ret_first, size_t *ret_count)
{
	uint64_t offset = 0;
	int error = 0;

	*ret_first = p->module->params.count;
	if (ptx_take_mark(&p->lexer, '(') && !ptx_take_mark(&p->lexer, ')')) {
		do
			error = read_param(p, &offset);
		while (!error && ptx_take_mark(&p->lexer, ','));
		if (!error && !ptx_take_mark(&p->lexer, ')'))
			error = damaged_here(p, "parameters without their end");
	}
	*ret_count = p->module->params.count - *ret_first;
	return error;
}

/* Directives about performance, then the body or a `;`. */
static int read_body(struct parser *p, struct ptx_function *f)
{
	struct ptx_token t;

	while (1) {
		t = ptx_lex(&p->lexer);
		if (ptx_is(&t, ".maxntid") || ptx_is(&t, ".reqntid"))
			f->bounds_block = true;
		else if (t.kind == PTX_STRING || ptx_is_mark(&t, ',') || ptx_is_mark(&t, '(') ||
			 ptx_is_mark(&t, ')'))
			continue;
		else if (t.kind != PTX_WORD)
			break;
	}
	if (ptx_is_mark(&t, ';'))
		return 0;
	if (!ptx_is_mark(&t, '{'))
		return damaged(p, "no body of a function", &t);
	f->has_body = true;
	f->body.at = t.text;
	if (!ptx_skip_block(&p->lexer))
		return damaged(p, "a function without its end", &t);
	f->body.size = (size_t)(p->lexer.at - t.text);
	return 0;
}

static int read_function(struct parser *p, bool entry)
{
	struct ptx_function f = {.entry = entry, .linkage = p->linkage};
	struct ptx_token t;
	int error = 0;

	t = ptx_peek(&p->lexer);
	if (!entry && ptx_is_mark(&t, '('))
		error = read_params(p, &f.first_result, &f.result_count);
	if (error)
		return error;
	do
		t = ptx_lex(&p->lexer);
	while (is_directive(&t)); /* .noreturn */
	if (t.kind != PTX_WORD)
		return damaged(p, "no name of a function", &t);
	f.name = text_of(&t);
	error = read_params(p, &f.first_param, &f.param_count);
	if (!error)
		error = read_body(p, &f);
	if (error)
		return error;
	p->out_of_memory = vec_push(&p->module->functions, f) < 0;
	return p->out_of_memory ? damaged(p, "", &t) : 0;
}

static int read_entry(struct parser *p)
{
	return read_function(p, true);
}

static int read_callee(struct parser *p)
{
	return read_function(p, false);
}

/* The initial value, and how many elements it has at its outermost level. */
static bool read_initial(struct parser *p, struct ptx_variable *v, uint64_t *ret_count)
{
	struct ptx_token t = ptx_peek(&p->lexer);
	size_t depth = 0;

	v->initial.at = t.text;
	*ret_count = 1;
	while (1) {
		t = ptx_peek(&p->lexer);
		if (t.kind != PTX_WORD && t.kind != PTX_MARK)
			return false;
		if (!depth && (ptx_is_mark(&t, ',') || ptx_is_mark(&t, ';')))
			break;
		if (ptx_is_mark(&t, '{'))
			depth++;
		if (ptx_is_mark(&t, '}') && !depth--)
			return false;
		if (depth && ptx_is_mark(&t, ','))
			++*ret_count;
		ptx_lex(&p->lexer);
	}
	v->initial.size = (size_t)(t.text - v->initial.at);
	return true;
}

static void count_const(struct ptx_module *m, const struct ptx_variable *v)
{
	if (v->space != PTX_CONST || v->linkage == PTX_EXTERN)
		return;
	m->const_bytes = (m->const_bytes + v->align - 1) & ~(uint64_t)(v->align - 1);
	if (m->const_bytes < MOST_BYTES)
		m->const_bytes += v->bytes;
}

/* Behind .const, .global or .shared. */
static int read_variable(struct parser *p, enum ptx_space space)
{
	struct declared d;
	struct ptx_token name = read_declared(p, &d);

	do {
		struct ptx_variable v = {.space = space, .linkage = p->linkage, .type = d.type};
		uint64_t count, initial = 0;

		v.name = text_of(&name);
		if (name.kind != PTX_WORD || !read_dimensions(p, &count))
			return damaged(p, "no variable", &name);
		if (ptx_take_mark(&p->lexer, '=') && !read_initial(p, &v, &initial))
			return damaged(p, "no initial value of a variable", &name);
		if (!count)
			count = initial;
		if (__builtin_mul_overflow(count, d.element_bytes, &v.bytes) ||
			v.bytes > MOST_BYTES)
			return damaged(p, "a variable that is too large", &name);
		v.align = d.align ? d.align : d.element_bytes ? d.element_bytes : 8;
		count_const(p->module, &v);
		p->out_of_memory = vec_push(&p->module->variables, v) < 0;
		if (p->out_of_memory)
			return damaged(p, "", &name);
	} while (ptx_take_mark(&p->lexer, ',') && (name = ptx_lex(&p->lexer), true));
	return ptx_take_mark(&p->lexer, ';') ? 0 : damaged(p, "a variable without its end", &name);
}

static int read_const(struct parser *p)
{
	return read_variable(p, PTX_CONST);
}

static int read_global(struct parser *p)
{
	return read_variable(p, PTX_GLOBAL);
}

static int read_shared(struct parser *p)
{
	return read_variable(p, PTX_SHARED);
}

static const struct {
	const char *word;
	int (*read)(struct parser *p);
} directives[] = {
	{".version", read_version},
	{".target", read_target},
	{".address_size", read_address_size},
	{".file", read_file},
	{".section", read_section},
	{".entry", read_entry},
	{".func", read_callee},
	{".const", read_const},
	{".global", read_global},
	{".shared", read_shared},
	{".pragma", skip_statement},
	{".alias", skip_statement},
	{".tex", skip_statement},
};

static bool take_linkage(struct parser *p, const struct ptx_token *t)
{
	if (ptx_is(t, ".extern"))
		p->linkage = PTX_EXTERN;
	else if (ptx_is(t, ".visible") || ptx_is(t, ".weak") || ptx_is(t, ".common"))
		p->linkage = PTX_VISIBLE;
	else
		return false;
	return true;
}

static int read_directive(struct parser *p, const struct ptx_token *t)
{
	for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++)
		if (ptx_is(t, directives[i].word)) {
			int error = directives[i].read(p);

			p->linkage = PTX_LOCAL;
			return error;
		}
	return damaged(p, "no directive", t);
}

static int read_all(struct parser *p)
{
	struct ptx_module *m = p->module;
	int error = 0;

	while (!error) {
		struct ptx_token t = ptx_lex(&p->lexer);

		if (t.kind == PTX_TEXT_END)
			break;
		if (!m->version && !ptx_is(&t, ".version"))
			return damaged(p, "not PTX: no .version", &t);
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
	struct parser p = {.lexer = ptx_lexer_of(text, size), .module = &m};
	int error = read_all(&p);

	if (error)
		ptx_module_release(&m);
	else
		*ret = m;
	return error;
}

int ptx_module_read_variable(struct ptx_lexer *l, enum ptx_space space, struct ptx_module *ret)
{
	struct parser p = {.lexer = *l, .module = ret};
	int error = read_variable(&p, space);

	*l = p.lexer;
	return error;
}

void ptx_module_release(struct ptx_module *m)
{
	vec_release(&m->functions);
	vec_release(&m->params);
	vec_release(&m->variables);
	vec_release(&m->files);
}
