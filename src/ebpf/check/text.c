// SPDX-License-Identifier: MIT
/* Texts that programs print: in a section for reading, or put together on the stack from numbers
 * that are known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/check/transfer.h"

int text_byte(const struct checking *c, const struct value *v, int64_t at)
{
	const struct ebpf_map *m;
	const struct slot *s;
	struct number byte;

	if (v->kind == VALUE_ELEMENT) {
		m = map_at(c, v->which);
		if (!m->is_readonly || at < 0 || at >= m->value_size)
			return -1;
		return m->initial ? m->initial[at] : 0;
	}
	if (v->kind != VALUE_STACK || at < -FLOW_STACK || at >= 0)
		return -1;
	s = &c->state->frames[v->which].slots[(at + FLOW_STACK) / SLOT_BYTES];
	byte = number_bytes(s->value.number, (unsigned int)(at + FLOW_STACK) % SLOT_BYTES, 1);
	return s->value.kind == VALUE_NUMBER && number_is_constant(&byte) ? (int)byte.umin : -1;
}

unsigned int text_conversions(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++) {
		if (text[0] != '%')
			continue;
		if (text[1] == '%')
			text++;
		else
			n++;
	}
	return n;
}

bool text_has_text(const char *text)
{
	for (; (text = strchr(text, '%')); text++) {
		text += 1 + strspn(text + 1, "-+ #0123456789.");
		if (*text == 's')
			return true;
		if (!*text)
			return false;
	}
	return false;
}

int text_keep(struct checking *c, const char *text)
{
	char *copy;

	for (size_t i = 0; i < c->analysis->texts.count; i++)
		if (!strcmp(c->analysis->texts.items[i], text)) {
			c->fact->text = (uint16_t)i;
			return 0;
		}
	copy = strdup(text);
	if (!copy || vec_push(&c->analysis->texts, copy)) {
		free(copy);
		return error_memory("texts of an eBPF program");
	}
	c->fact->text = (uint16_t)(c->analysis->texts.count - 1);
	return 0;
}

int text_read(const struct checking *c, const struct value *v, char *ret, size_t size)
{
	for (size_t i = 0; number_is_constant(&v->number) && i < size; i++) {
		int byte = text_byte(c, v, v->number.smin + (int64_t)i);

		if (byte < 0)
			return -EINVAL;
		ret[i] = (char)byte;
		if (!byte)
			return 0;
	}
	return -EINVAL;
}
