// SPDX-License-Identifier: MIT
#include "sim/ptx/names.h"

void names_release(struct names *n)
{
	vec_release(&n->all);
	vec_release(&n->labels);
	vec_release(&n->waiting);
	vec_release(&n->parents);
	vec_release(&n->marks);
}

bool names_enter(struct names *n)
{
	uint32_t scope = (uint32_t)n->parents.count;

	if (vec_push(&n->parents, n->scope) < 0 || vec_push(&n->marks, n->all.count) < 0)
		return false;
	n->scope = scope;
	return true;
}

void names_leave(struct names *n)
{
	n->all.count = n->marks.items[--n->marks.count];
	n->scope = n->parents.items[n->scope];
}

/* "%r12" of the range "%r": 12. */
static bool is_in_range(const struct name *n, struct ptx_text text, uint32_t *ret)
{
	struct ptx_token number = {PTX_WORD, text.at + n->text.size, text.size - n->text.size};
	uint64_t value;

	if (text.size <= n->text.size || memcmp(text.at, n->text.at, n->text.size) ||
		(number.size > 1 && *number.text == '0') || !ptx_number(&number, &value) ||
		value >= n->count)
		return false;
	*ret = (uint32_t)value;
	return true;
}

const struct name *names_find(const struct names *n, struct ptx_text text, uint32_t *ret_index)
{
	for (size_t i = n->all.count; i--;) {
		const struct name *name = &n->all.items[i];

		*ret_index = 0;
		if (name->count ? is_in_range(name, text, ret_index) : text_is(name->text, text))
			return name;
	}
	return NULL;
}

const struct label *names_label(const struct names *n, struct ptx_text text, uint32_t scope)
{
	while (1) {
		vec_foreach (l, &n->labels)
			if (l->scope == scope && text_is(l->text, text))
				return l;
		if (!scope)
			return NULL;
		scope = n->parents.items[scope];
	}
}
