// SPDX-License-Identifier: MIT
/* Variables of a module, and what declarations of all kinds have in common. */
#include "ptx/module_internal.h"

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

static bool take_align(struct ptx_parser *p, uint32_t *ret)
{
	uint64_t align;

	if (!ptx_take_number(p, &align) || !is_power(align, PTX_PARAM_ALIGN_MAX))
		return false;
	*ret = (uint32_t)align;
	return true;
}

bool ptx_read_dimensions(struct ptx_parser *p, uint64_t *ret)
{
	*ret = 1;
	while (ptx_take_mark(&p->lexer, '[')) {
		uint64_t n = 0;

		if (!ptx_take_mark(&p->lexer, ']') &&
			(!ptx_take_number(p, &n) || !ptx_take_mark(&p->lexer, ']')))
			return false;
		if (__builtin_mul_overflow(*ret, n, ret) || *ret > PTX_VARIABLE_MOST_BYTES)
			return false;
	}
	return true;
}

struct ptx_token ptx_read_declared(struct ptx_parser *p, struct ptx_declared *ret)
{
	unsigned int lanes = 1;
	bool of_pointer = false;
	struct ptx_token t;

	*ret = (struct ptx_declared){0};
	for (t = ptx_lex(&p->lexer); ptx_is_directive(&t); t = ptx_lex(&p->lexer)) {
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
			ret->type = ptx_text_of(&t);
			ret->element_bytes = ptx_type_bytes(ret->type);
		}
	}
	ret->element_bytes *= lanes;
	return t;
}

/* The initial value, and how many elements it has at its outermost level. */
static bool read_initial(struct ptx_parser *p, struct ptx_variable *v, uint64_t *ret_count)
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
	if (m->const_bytes < PTX_VARIABLE_MOST_BYTES)
		m->const_bytes += v->bytes;
}

/* Behind .const, .global or .shared. */
static int read_variable(struct ptx_parser *p, enum ptx_space space)
{
	struct ptx_declared d;
	struct ptx_token name = ptx_read_declared(p, &d);

	do {
		struct ptx_variable v = {.space = space, .linkage = p->linkage, .type = d.type};
		uint64_t count, initial = 0;

		v.name = ptx_text_of(&name);
		if (name.kind != PTX_WORD || !ptx_read_dimensions(p, &count))
			return ptx_damaged(p, "no variable", &name);
		if (ptx_take_mark(&p->lexer, '=') && !read_initial(p, &v, &initial))
			return ptx_damaged(p, "no initial value of a variable", &name);
		if (!count)
			count = initial;
		if (__builtin_mul_overflow(count, d.element_bytes, &v.bytes) ||
			v.bytes > PTX_VARIABLE_MOST_BYTES)
			return ptx_damaged(p, "a variable that is too large", &name);
		v.align = d.align ? d.align : d.element_bytes ? d.element_bytes : 8;
		count_const(p->module, &v);
		p->out_of_memory = vec_push(&p->module->variables, v) < 0;
		if (p->out_of_memory)
			return ptx_damaged(p, "", &name);
	} while (ptx_take_mark(&p->lexer, ',') && (name = ptx_lex(&p->lexer), true));
	return ptx_take_mark(&p->lexer, ';') ? 0
					     : ptx_damaged(p, "a variable without its end", &name);
}

int ptx_read_const(struct ptx_parser *p)
{
	return read_variable(p, PTX_CONST);
}

int ptx_read_global(struct ptx_parser *p)
{
	return read_variable(p, PTX_GLOBAL);
}

int ptx_read_shared(struct ptx_parser *p)
{
	return read_variable(p, PTX_SHARED);
}

int ptx_module_read_variable(struct ptx_lexer *l, enum ptx_space space, struct ptx_module *ret)
{
	struct ptx_parser p = {.lexer = *l, .module = ret};
	int error = read_variable(&p, space);

	*l = p.lexer;
	return error;
}
