// SPDX-License-Identifier: MIT
/* Where an access to memory goes, and what is never allowed there. */
#include <stdio.h>

#include "ebpf/check/transfer.h"

int check_set(const struct checking *c, uint8_t number)
{
	if (register_of(c, number)->kind == VALUE_UNSET)
		return refuse(c, "uses r%u, which nothing set on some way here", number);
	return 0;
}

struct operand operand_of(const struct value *v)
{
	return (struct operand){
		.kind = v->kind,
		.which = v->which,
		.maybe_null = v->maybe_null,
		.is_constant = number_is_constant(&v->number),
		.value = v->number.umin,
	};
}

void use_map(struct checking *c, uint8_t map, enum map_use use)
{
	if (c->fact)
		c->analysis->map_use[map] |= use;
}

/* The bounds of what the pointer leads into. */
static int check_bounds(const struct checking *c, const char *what, int64_t low, int64_t high,
	uint32_t size, struct place *p)
{
	p->in_bounds = p->offset.smin >= low && p->offset.smax <= high - size;
	if (p->offset.smin > high - size || p->offset.smax < low || high - low < size)
		return refuse(c, "accesses %u bytes at %lld of %s, outside of its %lld bytes", size,
			(long long)p->offset.smin, what, (long long)(high - low));
	return 0;
}

static int check_element(const struct checking *c, const struct value *pointer, uint32_t size,
	bool writes, struct place *p)
{
	const struct ebpf_map *m = &c->flow->object->maps.items[pointer->which];
	char what[128];

	if (pointer->maybe_null)
		return refuse(c,
			"uses the result of a look-up in map '%s', which was not compared with "
			"NULL",
			m->name);
	if (writes && m->is_readonly)
		return refuse(c, "writes to '%s', which is only for reading", m->name);
	snprintf(what, sizeof(what), "%s '%s'", m->is_section ? "section" : "a value of map",
		m->name);
	return check_bounds(c, what, 0, m->value_size, size, p);
}

int check_place(const struct checking *c, const struct value *pointer, int64_t offset,
	uint32_t size, bool writes, struct place *ret)
{
	*ret = (struct place){
		.kind = pointer->kind,
		.which = pointer->which,
		.offset = number_alu(
			BPF_ADD, false, false, pointer->number, number_constant((uint64_t)offset)),
	};
	ret->is_constant = number_is_constant(&ret->offset);
	ret->constant = ret->is_constant ? ret->offset.smin : 0;
	ret->aligned = !((ret->offset.value | ret->offset.mask) & (size - 1));
	switch (pointer->kind) {
	case VALUE_STACK:
		return check_bounds(c, "the stack",
			-(int64_t)c->analysis->frame_bytes[pointer->which], 0, size, ret);
	case VALUE_ELEMENT:
		return check_element(c, pointer, size, writes, ret);
	case VALUE_CONTEXT:
		return writes ? refuse(c, "writes to its context") : 0;
	case VALUE_NUMBER:
		if (writes)
			return refuse(c, "writes to memory that is neither map nor stack");
		if (!c->options->allow_reads)
			return refuse(c, "reads memory that is neither map, stack nor context "
					 "(--allow-reads allows it; nothing guards it)");
		return 0;
	}
	return refuse(c, "uses something as a pointer that is none, or not the same on all ways");
}
