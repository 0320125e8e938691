// SPDX-License-Identifier: MIT
/* Operands of instructions: names become places, numbers become bits. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/ptx/decode.h"

bool decode_type(struct ptx_text part, struct type *ret)
{
	unsigned int bytes = ptx_type_bytes(part);

	if (!bytes || !part.size || !strchr("bsufp", *part.at))
		return false;
	/* Not half precision, nor packed types. */
	if (bytes > 8 || part.at[part.size - 2] == 'x' || (*part.at == 'f' && bytes < 4))
		return false;
	*ret = (struct type){*part.at, (uint8_t)bytes};
	return true;
}

/* "0f3F800000", "0d3FF0000000000000": the bits of a float. */
static bool float_bits(const struct ptx_token *t, struct type type, uint64_t *ret)
{
	char digits[17] = {0}, *end;
	bool single = t->size == 10 && (t->text[1] | 0x20) == 'f';
	float f;
	double value;
	uint32_t low;

	if (*t->text != '0' || (!single && !(t->size == 18 && (t->text[1] | 0x20) == 'd')))
		return false;
	memcpy(digits, t->text + 2, t->size - 2);
	*ret = strtoull(digits, &end, 16);
	if (*end)
		return false;
	if (single && type.bytes == 8 && type.kind == 'f') {
		low = (uint32_t)*ret;
		memcpy(&f, &low, 4);
		value = f;
		memcpy(ret, &value, 8);
	}
	return true;
}

static bool decimal(const struct ptx_token *t, struct type type, uint64_t *ret)
{
	char text[40] = {0}, *end;
	double value;
	float f;

	if (t->size >= sizeof(text) || *t->text < '0' || *t->text > '9' ||
		(type.kind != 'f' && !memchr(t->text, '.', t->size)))
		return false;
	memcpy(text, t->text, t->size);
	value = strtod(text, &end);
	f = (float)value;
	*ret = 0;
	if (type.bytes == 4)
		memcpy(ret, &f, 4);
	else
		memcpy(ret, &value, 8);
	return !*end;
}

bool decode_literal(struct ptx_lexer *l, struct type type, uint64_t *ret)
{
	bool negative = ptx_take_mark(l, '-');
	struct ptx_token t = ptx_lex(l);

	if (t.kind != PTX_WORD)
		return false;
	if (float_bits(&t, type, ret))
		return !negative;
	if (decimal(&t, type, ret)) {
		if (negative)
			*ret ^= 1ull << (type.bytes * 8 - 1);
		return true;
	}
	if (!ptx_number(&t, ret))
		return false;
	if (negative)
		*ret = 0 - *ret;
	return true;
}

static struct operand *add_operand(struct decoder *d)
{
	struct operand *o = &d->operands[d->insn.count];

	if (d->insn.count == OPERANDS_MAX)
		return NULL;
	d->insn.count++;
	*o = (struct operand){.kind = IMMEDIATE};
	return o;
}

static bool name_operand(struct decoder *d, struct ptx_text text, struct operand *o)
{
	uint32_t index;
	const struct name *name = names_find(&d->names, text, &index);
	const struct variable *v;

	if (name) {
		o->kind = name->kind == NAME_REGISTER ? REGISTER
			  : name->kind == NAME_LOCAL  ? FRAME
						      : PARAMETER;
		o->bytes = name->bytes;
		if (name->kind == NAME_REGISTER)
			o->index = name->place + index;
		else
			o->value = name->place;
		return true;
	}
	if (text.size == 1 && *text.at == '_') {
		o->kind = SINK;
		return true;
	}
	if (sim_ptx_special(text, &o->index)) {
		o->kind = SPECIAL;
		return true;
	}
	v = sim_ptx_find(d->module, text);
	if (!v)
		return false;
	o->value = v->space == PTX_SHARED ? v->offset : (uint64_t)(uintptr_t)v->data;
	return true;
}

/* "name", "name+8", "12" */
static int decode_value(struct decoder *d, struct operand *o)
{
	struct ptx_token t = ptx_peek(&d->lexer);
	struct type whole = {'s', 8};
	bool number =
		ptx_is_mark(&t, '-') || (t.kind == PTX_WORD && *t.text >= '0' && *t.text <= '9');
	uint64_t value;

	if (number) {
		if (!decode_literal(&d->lexer, o->in_memory ? whole : d->insn.type, &o->value))
			return decode_error(d, -EINVAL, "a number that cannot be read");
		return 0;
	}
	if (ptx_take_mark(&d->lexer, '!'))
		o->negated = true;
	t = ptx_lex(&d->lexer);
	if (t.kind != PTX_WORD || !name_operand(d, (struct ptx_text){t.text, t.size}, o))
		return decode_error(d, -EINVAL, "a name that is not declared");
	t = ptx_peek(&d->lexer);
	if (!ptx_is_mark(&t, '+') && !ptx_is_mark(&t, '-'))
		return 0;
	ptx_take_mark(&d->lexer, '+');
	if (!decode_literal(&d->lexer, whole, &value))
		return decode_error(d, -EINVAL, "a number that cannot be read");
	o->value += value;
	return 0;
}

static int decode_vector(struct decoder *d)
{
	unsigned int first = d->insn.count;

	do {
		struct operand *o = add_operand(d);
		int error = o ? decode_value(d, o) : decode_error(d, -ENOTSUP, "too many operands");

		if (error)
			return error;
	} while (ptx_take_mark(&d->lexer, ','));
	if (!ptx_take_mark(&d->lexer, '}'))
		return decode_error(d, -EINVAL, "a vector without its end");
	d->operands[first].vector = (uint8_t)(d->insn.count - first);
	return 0;
}

int decode_operand(struct decoder *d)
{
	struct operand *o;
	int error;

	if (ptx_take_mark(&d->lexer, '{'))
		return decode_vector(d);
	o = add_operand(d);
	if (!o)
		return decode_error(d, -ENOTSUP, "too many operands");
	o->in_memory = ptx_take_mark(&d->lexer, '[');
	error = decode_value(d, o);
	if (!error && o->in_memory && !ptx_take_mark(&d->lexer, ']'))
		error = decode_error(d, -EINVAL, "an address without its end");
	if (!error && ptx_take_mark(&d->lexer, '|')) {
		o->paired = true;
		return decode_operand(d);
	}
	return error;
}

int decode_operands(struct decoder *d)
{
	int error = 0;

	if (ptx_take_mark(&d->lexer, ';'))
		return 0;
	do
		error = decode_operand(d);
	while (!error && ptx_take_mark(&d->lexer, ','));
	if (!error && !ptx_take_mark(&d->lexer, ';'))
		error = decode_error(d, -EINVAL, "a statement without its end");
	return error;
}
