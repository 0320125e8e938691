// SPDX-License-Identifier: MIT
/*
 * Stacks. Where an access is at a known place, each slot keeps a pointer, or which bytes of it were
 * written and what is known of them. An access at an unknown place makes the frame one in memory
 * that begins as zeros: what it may have written counts as written, and is unknown.
 */
#include <errno.h>
#include <string.h>

#include "ebpf/check/transfer.h"

/* Bytes [first, first + count) of a slot, as bits. */
static uint8_t bits_of(unsigned int first, unsigned int count)
{
	return (uint8_t)(((1u << count) - 1) << first);
}

static struct slot *slot_at(const struct checking *c, const struct place *p, int64_t offset)
{
	return &c->state->frames[p->which].slots[(FLOW_STACK + offset) / SLOT_BYTES];
}

/* The slots that an access at an unknown place may touch. */
static void slots_between(
	const struct place *p, uint32_t size, unsigned int *ret_first, unsigned int *ret_last)
{
	int64_t first = p->offset.smin < -FLOW_STACK ? -FLOW_STACK : p->offset.smin;
	int64_t end = p->offset.smax > -(int64_t)size ? 0 : p->offset.smax + size;

	*ret_first = (unsigned int)((FLOW_STACK + first) / SLOT_BYTES);
	*ret_last = (unsigned int)((FLOW_STACK + end - 1) / SLOT_BYTES);
}

static int read_nothing(const struct checking *c, const struct place *p)
{
	return refuse(c, "reads the stack at %lld, where nothing was written",
		(long long)(p->is_constant ? p->constant : p->offset.smin));
}

/* Also says that the frame has to be in memory. */
static int read_unknown_place(struct checking *c, const struct place *p, uint32_t size)
{
	unsigned int first, last;
	uint8_t written = 0, all = 0xff;

	slots_between(p, size, &first, &last);
	for (unsigned int i = first; i <= last; i++) {
		written |= c->state->frames[p->which].slots[i].written;
		all &= c->state->frames[p->which].slots[i].written;
	}
	if (!written)
		return read_nothing(c, p);
	if (c->fact) {
		c->analysis->frame_in_memory[p->which] = true;
		c->analysis->frame_needs_zeros[p->which] |= all != 0xff;
	}
	return 0;
}

static struct number bytes_of(const struct slot *s, unsigned int byte, unsigned int count)
{
	return s->value.kind == VALUE_NUMBER ? number_bytes(s->value.number, byte, count)
					     : number_low(number_unknown(), count * 8, false);
}

/* Looks at each slot of a known region: -EACCES where a pointer is, or nothing at all. */
static int look_at_region(struct checking *c, const struct place *p, uint32_t size)
{
	bool any = false, all = true;
	uint32_t count;

	for (uint32_t at = 0; at < size; at += count) {
		const struct slot *s = slot_at(c, p, p->constant + at);
		unsigned int byte = (unsigned int)(p->constant + at + FLOW_STACK) % SLOT_BYTES;
		uint8_t bits;

		count = SLOT_BYTES - byte < size - at ? SLOT_BYTES - byte : size - at;
		bits = bits_of(byte, count);
		if (s->value.kind != VALUE_NUMBER && s->written & bits)
			return refuse(c, "uses a pointer on the stack, at %lld, as data",
				(long long)p->constant + at);
		any |= s->written & bits;
		all &= (s->written & bits) == bits;
	}
	if (!any)
		return read_nothing(c, p);
	if (c->fact && !all)
		c->analysis->frame_needs_zeros[p->which] = true;
	return 0;
}

int stack_read_region(struct checking *c, const struct place *p, uint32_t size)
{
	return p->is_constant ? look_at_region(c, p, size) : read_unknown_place(c, p, size);
}

int stack_read(struct checking *c, const struct place *p, uint32_t size, struct value *ret)
{
	unsigned int byte = (unsigned int)(p->constant + FLOW_STACK) % SLOT_BYTES;
	const struct slot *s;
	int error;

	*ret = value_number(number_low(number_unknown(), size * 8, false));
	if (!p->is_constant)
		return read_unknown_place(c, p, size);
	s = slot_at(c, p, p->constant);
	if (size == SLOT_BYTES && !byte && s->written == 0xff) {
		*ret = s->value;
		return 0;
	}
	error = look_at_region(c, p, size);
	if (!error && byte + size <= SLOT_BYTES)
		*ret = value_number(bytes_of(s, byte, size));
	return error;
}

uint32_t stack_most(const struct checking *c, const struct value *pointer)
{
	int64_t at = FLOW_STACK + pointer->number.smin;
	uint64_t by_bits, by_bounds;
	unsigned int byte;
	const struct slot *s;

	if (at < 0 || at >= FLOW_STACK || at % 4)
		return UINT32_MAX;
	byte = (unsigned int)(at % SLOT_BYTES);
	s = &c->state->frames[pointer->which].slots[at / SLOT_BYTES];
	if (s->value.kind != VALUE_NUMBER || (s->written & bits_of(byte, 4)) != bits_of(byte, 4))
		return UINT32_MAX;
	by_bits = number_bytes(s->value.number, byte, 4).umax;
	by_bounds = UINT32_MAX - s->spare[byte / 4];
	return (uint32_t)(by_bits < by_bounds ? by_bits : by_bounds);
}

static void write_unknown_place(struct checking *c, const struct place *p, uint32_t size)
{
	unsigned int first, last;

	slots_between(p, size, &first, &last);
	for (unsigned int i = first; i <= last; i++)
		c->state->frames[p->which].slots[i] =
			(struct slot){.value = value_number(number_unknown()), .written = 0xff};
	if (c->fact) {
		c->analysis->frame_in_memory[p->which] = true;
		c->analysis->frame_needs_zeros[p->which] = true;
	}
}

/* What is left of a pointer counts as not written: it may never have had a value. */
static void write_part(struct slot *s, unsigned int byte, unsigned int count, struct number part)
{
	if (s->value.kind != VALUE_NUMBER)
		*s = (struct slot){.value = value_number(number_unknown())};
	s->value = value_number(number_insert(s->value.number, byte, count, part));
	for (unsigned int half = 0; half < 2; half++)
		if (byte < half * 4 + 4 && byte + count > half * 4)
			s->spare[half] = byte == half * 4 && count == 4
						 ? UINT32_MAX - (uint32_t)part.umax
						 : 0;
	s->written |= bits_of(byte, count);
}

int stack_write(struct checking *c, const struct place *p, uint32_t size, const struct value *v)
{
	struct number n = v->kind == VALUE_NUMBER ? v->number : number_unknown();
	unsigned int byte = (unsigned int)(p->constant + FLOW_STACK) % SLOT_BYTES;
	unsigned int count = SLOT_BYTES - byte < size ? SLOT_BYTES - byte : size;
	bool whole = p->is_constant && size == SLOT_BYTES && !byte;

	if (v->kind != VALUE_NUMBER && !whole)
		return refuse(c, "puts a pointer where it cannot be kept");
	if (!p->is_constant) {
		write_unknown_place(c, p, size);
		return 0;
	}
	if (whole) {
		*slot_at(c, p, p->constant) = (struct slot){.value = *v, .written = 0xff};
		return 0;
	}
	write_part(slot_at(c, p, p->constant), byte, count, number_bytes(n, 0, count));
	if (count < size)
		write_part(slot_at(c, p, p->constant + count), 0, size - count,
			number_bytes(n, count, size - count));
	return 0;
}
