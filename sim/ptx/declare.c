// SPDX-License-Identifier: MIT
/* Registers, local memory and parameters that a function declares. */
#include <errno.h>

#include "base/error.h"
#include "sim/ptx/decode.h"

#define REGISTERS_MAX 65536u

static uint32_t place_for(uint32_t *end, uint64_t bytes, uint32_t align)
{
	uint32_t at = (*end + align - 1) & ~(align - 1);

	*end = at + (uint32_t)bytes;
	return at;
}

static int add_name(struct decoder *d, struct name name)
{
	return vec_push(&d->names.all, name) < 0 ? error_memory("names of a function") : 0;
}

/* "name", "name<8>" */
static int declare_register(struct decoder *d, struct ptx_text text, uint8_t bytes)
{
	struct name name = {.text = text, .kind = NAME_REGISTER, .bytes = bytes};
	uint64_t count = 1;

	if (ptx_take_mark(&d->lexer, '<')) {
		struct ptx_token t = ptx_lex(&d->lexer);

		if (!ptx_number(&t, &count) || !count || !ptx_take_mark(&d->lexer, '>'))
			return decode_error(d, -EINVAL, "no number of registers");
		name.count = (uint32_t)count;
	}
	if (count > REGISTERS_MAX || d->function->registers + count > REGISTERS_MAX)
		return decode_error(d, -ENOTSUP, "too many registers");
	name.place = d->function->registers;
	d->function->registers += (uint32_t)count;
	return add_name(d, name);
}

/* "name", "name[24]", of a type with its alignment. */
static int declare_memory(struct decoder *d, struct ptx_text text, enum name_kind kind,
	uint32_t bytes, uint32_t align)
{
	struct function *f = d->function;
	uint32_t *end = kind == NAME_LOCAL ? &f->local_bytes : &f->params_bytes;
	struct name name = {.text = text, .kind = kind};
	uint64_t all = bytes;

	while (ptx_take_mark(&d->lexer, '[')) {
		struct ptx_token t = ptx_lex(&d->lexer);
		uint64_t n;

		if (!ptx_number(&t, &n) || !ptx_take_mark(&d->lexer, ']') || n > LOCAL_MAX ||
			(all *= n) > LOCAL_MAX)
			return decode_error(d, -EINVAL, "no size of a variable");
	}
	if (*end > LOCAL_MAX)
		return decode_error(d, -ENOTSUP, "too much memory in a function");
	name.place = place_for(end, all, align);
	return add_name(d, name);
}

int decode_declaration(struct decoder *d, const struct ptx_token *directive)
{
	enum name_kind kind = ptx_is(directive, ".reg")	    ? NAME_REGISTER
			      : ptx_is(directive, ".local") ? NAME_LOCAL
							    : NAME_PARAMETER;
	struct type type = {0};
	struct ptx_token t;
	uint64_t align = 0;
	int error;

	while ((t = ptx_lex(&d->lexer)).kind == PTX_WORD && *t.text == '.') {
		struct ptx_text part = {t.text + 1, t.size - 1};

		if (ptx_is(&t, ".align")) {
			t = ptx_lex(&d->lexer);
			if (!ptx_number(&t, &align) || !align || align > 256 || align & (align - 1))
				return decode_error(d, -EINVAL, "no alignment");
		} else if (!decode_type(part, &type)) {
			return decode_error(d, -ENOTSUP, "a type that is not interpreted");
		}
	}
	if (!type.bytes)
		return decode_error(d, -EINVAL, "a variable without a type");
	while (t.kind == PTX_WORD) {
		struct ptx_text text = {t.text, t.size};

		error = kind == NAME_REGISTER
				? declare_register(d, text, type.kind == 'p' ? 0 : type.bytes)
				: declare_memory(d, text, kind, type.bytes,
					  align ? (uint32_t)align : type.bytes);
		if (error)
			return error;
		t = ptx_lex(&d->lexer);
		if (ptx_is_mark(&t, ';'))
			return 0;
		if (!ptx_is_mark(&t, ','))
			break;
		t = ptx_lex(&d->lexer);
	}
	return decode_error(d, -EINVAL, "a declaration without its end");
}

static int declare_formal(struct decoder *d, const struct ptx_param *p, struct formal *ret)
{
	struct function *f = d->function;
	struct name name = {.text = p->name, .bytes = (uint8_t)(p->bytes <= 8 ? p->bytes : 0)};
	struct formal formal = {.in_register = p->in_register, .bytes = p->bytes};

	if (p->bytes > LOCAL_MAX)
		return decode_error(d, -ENOTSUP, "a parameter that is too large");
	name.kind = p->in_register ? NAME_REGISTER : NAME_PARAMETER;
	if (p->in_register) {
		if (ptx_type_bytes(p->type) > 8)
			return decode_error(d, -ENOTSUP, "a type that is not interpreted");
		name.place = f->registers++;
	} else {
		name.place = place_for(&f->params_bytes, p->bytes, p->align);
	}
	formal.place = name.place;
	*ret = formal;
	return add_name(d, name);
}

int decode_formals(struct decoder *d, const struct ptx_function *read)
{
	const struct ptx_param *params = d->module->read.params.items;
	struct formal formal;
	int error = 0;

	for (size_t i = 0; !error && i < read->param_count; i++) {
		error = declare_formal(d, &params[read->first_param + i], &formal);
		if (!error && vec_push(&d->function->formals, formal) < 0)
			error = error_memory("parameters");
	}
	d->function->formals_bytes = d->function->params_bytes;
	for (size_t i = 0; !error && i < read->result_count; i++) {
		error = declare_formal(d, &params[read->first_result + i], &formal);
		if (!error && vec_push(&d->function->results, formal) < 0)
			error = error_memory("results");
	}
	return error;
}
