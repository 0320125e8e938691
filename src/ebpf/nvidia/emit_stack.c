// SPDX-License-Identifier: MIT
/*
 * Stacks. A frame whose places are all known beforehand is made of registers: each word of 8 bytes
 * of one, or of two, four or eight units, as the smallest access to it needs. Any other is an array
 * in local memory.
 */
#include <stdio.h>
#include <string.h>

#include "ebpf/nvidia/emit.h"

static unsigned int word_of(int64_t offset)
{
	return (unsigned int)(offset + STACK_SIZE) / 8;
}

static struct name unit_reg(uint8_t frame, unsigned int word, unsigned int unit)
{
	struct name n;

	snprintf(n.text, sizeof(n.text), "%%es%u_%u_%u", frame, word, unit);
	return n;
}

struct name stack_base(uint8_t frame, int64_t offset)
{
	struct name n;

	snprintf(n.text, sizeof(n.text), "estack%u+%d", frame, (int)(STACK_SIZE + offset));
	return n;
}

uint32_t stack_piece(int64_t offset, uint32_t left)
{
	uint32_t piece = 8;

	while (piece > left || (offset & (piece - 1)))
		piece /= 2;
	return piece;
}

uint32_t copy_piece(int64_t offset, uint32_t at, uint32_t left)
{
	uint32_t from = stack_piece(offset + at, left), to = stack_piece(at, left);

	return from < to ? from : to;
}

/* Plans what is copied from there. */
static void plan_copy(struct emitter *e, const struct operand *o, uint32_t size)
{
	int64_t offset = (int64_t)o->value;
	uint32_t piece;

	if (o->kind != VALUE_STACK || !o->is_constant || in_memory(e, o->which))
		return;
	for (uint32_t at = 0; at < size; at += piece) {
		uint8_t *unit = &e->units[o->which][word_of(offset + at)];

		piece = copy_piece(offset, at, size - at);
		if (!*unit || piece < *unit)
			*unit = (uint8_t)piece;
	}
}

static void plan_region(struct emitter *e, const struct operand *o, int64_t offset, uint32_t size)
{
	uint32_t piece;

	if (o->kind != VALUE_STACK || !o->is_constant || in_memory(e, o->which))
		return;
	offset += (int64_t)o->value;
	for (uint32_t at = 0; at < size; at += piece) {
		uint8_t *unit = &e->units[o->which][word_of(offset + at)];

		piece = stack_piece(offset + at, size - at);
		if (!*unit || piece < *unit)
			*unit = (uint8_t)piece;
	}
}

static void plan_argument(
	struct emitter *e, const struct ebpf_helper *helper, const struct fact *f, unsigned int n)
{
	const struct ebpf_map *maps = e->flow->object->maps.items;
	const struct operand *o = &f->arguments[n + 1];

	switch (helper->arguments[n]) {
	case ARGUMENT_KEY:
		plan_copy(e, o, maps[f->arguments[1].which].key_size);
		break;
	case ARGUMENT_VALUE:
		plan_copy(e, o, maps[f->arguments[1].which].value_size);
		break;
	case ARGUMENT_DATA:
		plan_copy(e, o, (uint32_t)f->arguments[n + 2].value);
		break;
	case ARGUMENT_RESULT:
		plan_region(e, o, 0, 8);
		break;
	case ARGUMENT_RECORD:
		plan_copy(e, o, e->analysis->frame_bytes[o->which]);
		break;
	}
}

static void plan_step(struct emitter *e, const struct flow_step *s, const struct fact *f)
{
	const struct bpf_insn *i = &s->insn;
	const struct ebpf_helper *helper;

	if (!f->reached || s->what != FLOW_INSN)
		return;
	switch (BPF_CLASS(i->code)) {
	case BPF_LDX:
		plan_region(e, &f->source, i->off, insn_bytes(i));
		return;
	case BPF_ST:
	case BPF_STX:
		plan_region(e, &f->destination, i->off, insn_bytes(i));
		return;
	}
	helper = i->code == INSN_CALL ? ebpf_helper(i->imm) : NULL;
	for (unsigned int n = 0; helper && n < HELPER_ARGUMENTS; n++)
		plan_argument(e, helper, f, n);
}

void stack_plan(struct emitter *e)
{
	for (uint32_t i = 0; i < e->flow->steps.count; i++)
		plan_step(e, &e->flow->steps.items[i], &e->analysis->facts[i]);
}

static void declare_word(struct emitter *e, uint8_t frame, unsigned int word)
{
	uint8_t unit = e->units[frame][word];

	if (!unit)
		return;
	if (e->analysis->needs_guards)
		emit(e, ".reg .b64 %%ebs%u_%u;", frame, word);
	for (unsigned int u = 0; u < 8u / unit; u++)
		emit(e, ".reg .b%u %s;", unit == 8 ? 64 : 32, unit_reg(frame, word, u).text);
}

void stack_declare(struct emitter *e)
{
	for (uint8_t f = 0; f < e->flow->frame_count; f++) {
		if (in_memory(e, f))
			emit(e, ".local .align 16 .b8 estack%u[%u];", f, STACK_SIZE);
		/* Where pointers began that are kept in it is no part of it. */
		if (in_memory(e, f) && e->analysis->needs_guards)
			emit(e, ".reg .b64 %%ebs%u_<%u>;", f, WORDS);
		for (unsigned int w = 0; w < WORDS; w++)
			declare_word(e, f, w);
	}
}

static void zero_memory(struct emitter *e, uint8_t frame)
{
	emit(e, "mov.b64 %%ex0, 0;");
	for (int64_t at = -(int64_t)e->analysis->frame_bytes[frame]; at < 0; at += 8)
		emit(e, "st.local.u64 [%s], %%ex0;", stack_base(frame, at).text);
}

void stack_zero(struct emitter *e, uint8_t frame)
{
	if (!e->analysis->frame_needs_zeros[frame])
		return;
	if (in_memory(e, frame)) {
		zero_memory(e, frame);
		return;
	}
	for (unsigned int w = 0; w < WORDS; w++) {
		uint8_t unit = e->units[frame][w];

		for (unsigned int u = 0; unit && u < 8u / unit; u++)
			emit(e, "mov.b%u %s, 0;", unit == 8 ? 64 : 32, unit_reg(frame, w, u).text);
	}
}

/* A piece lies within a word and is aligned to its size. */
static void get_piece(
	struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *into)
{
	unsigned int word = word_of(offset), byte = (unsigned int)(offset + STACK_SIZE) % 8;
	uint8_t unit = e->units[frame][word];
	unsigned int first = unit ? byte / unit : 0, count = unit ? size / unit : 0;

	if (in_memory(e, frame)) {
		emit(e, "ld.local.u%u %s, [%s];", size * 8, into, stack_base(frame, offset).text);
	} else if (!count) {
		e->failed = true;
	} else if (unit == 8) {
		emit(e, "mov.b64 %s, %s;", into, unit_reg(frame, word, 0).text);
	} else if (unit == 4 && size == 8) {
		emit(e, "mov.b64 %s, {%s, %s};", into, unit_reg(frame, word, 0).text,
			unit_reg(frame, word, 1).text);
	} else {
		emit(e, "cvt.u64.u32 %s, %s;", into, unit_reg(frame, word, first).text);
		for (unsigned int u = 1; u < count; u++) {
			emit(e, "cvt.u64.u32 %%ex6, %s;", unit_reg(frame, word, first + u).text);
			emit(e, "shl.b64 %%ex6, %%ex6, %u;", u * unit * 8);
			emit(e, "or.b64 %s, %s, %%ex6;", into, into);
		}
	}
}

static void put_unit(struct emitter *e, const char *unit, uint8_t bytes, const char *from)
{
	emit(e, "cvt.u32.u64 %s, %s;", unit, from);
	if (bytes < 4)
		emit(e, "and.b32 %s, %s, 0x%x;", unit, unit, bytes == 2 ? 0xffffu : 0xffu);
}

static void put_piece(
	struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *from)
{
	unsigned int word = word_of(offset), byte = (unsigned int)(offset + STACK_SIZE) % 8;
	uint8_t unit = e->units[frame][word];
	unsigned int first = unit ? byte / unit : 0, count = unit ? size / unit : 0;

	if (in_memory(e, frame)) {
		emit(e, "st.local.u%u [%s], %s;", size * 8, stack_base(frame, offset).text, from);
	} else if (!count) {
		e->failed = true;
	} else if (unit == 8) {
		emit(e, "mov.b64 %s, %s;", unit_reg(frame, word, 0).text, from);
	} else if (unit == 4 && size == 8) {
		emit(e, "mov.b64 {%s, %s}, %s;", unit_reg(frame, word, 0).text,
			unit_reg(frame, word, 1).text, from);
	} else {
		put_unit(e, unit_reg(frame, word, first).text, unit, from);
		for (unsigned int u = 1; u < count; u++) {
			emit(e, "shr.u64 %%ex6, %s, %u;", from, u * unit * 8);
			put_unit(e, unit_reg(frame, word, first + u).text, unit, "%ex6");
		}
	}
}

/* What is not aligned goes in pieces. Uses %ex5 for them. */
void stack_get(struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *into)
{
	uint32_t piece = stack_piece(offset, size);

	if (piece == size) {
		get_piece(e, frame, offset, size, into);
		return;
	}
	emit(e, "mov.b64 %%ex7, 0;");
	for (uint32_t at = 0; at < size; at += piece) {
		piece = stack_piece(offset + at, size - at);
		get_piece(e, frame, offset + at, piece, "%ex5");
		emit(e, "shl.b64 %%ex5, %%ex5, %u;", at * 8);
		emit(e, "or.b64 %%ex7, %%ex7, %%ex5;");
	}
	emit(e, "mov.b64 %s, %%ex7;", into);
}

void stack_put(struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *from)
{
	uint32_t piece = stack_piece(offset, size);

	if (piece == size) {
		put_piece(e, frame, offset, size, from);
		return;
	}
	for (uint32_t at = 0; at < size; at += piece) {
		piece = stack_piece(offset + at, size - at);
		emit(e, "shr.u64 %%ex5, %s, %u;", from, at * 8);
		put_piece(e, frame, offset + at, piece, "%ex5");
	}
}
