// SPDX-License-Identifier: MIT
/* Registers and operands. A register has its bits in 64, with zeros above its own size. */
#include "sim/ptx/internal.h"

uint64_t cut(uint64_t value, unsigned int bytes)
{
	return bytes >= 8 ? value : value & ((1ull << bytes * 8) - 1);
}

uint64_t sign_extend(uint64_t value, unsigned int bytes)
{
	unsigned int above = 64 - bytes * 8;

	return bytes >= 8 ? value : (uint64_t)((int64_t)(value << above) >> above);
}

uint64_t read_operand(const struct lanes *w, uint32_t lane, const struct operand *o)
{
	struct thread *t = &w->threads[lane];
	uint64_t value;

	switch (o->kind) {
	case REGISTER:
		value = frame_of(t)->registers[o->index];
		return o->negated ? !value : value + o->value;
	case SPECIAL:
		return special_value(w, lane, o->index);
	case FRAME:
		return frame_of(t)->local + o->value;
	default:
		return o->value;
	}
}

void write_operand(struct lanes *w, uint32_t lane, const struct operand *o, uint64_t value)
{
	if (o->kind == REGISTER)
		frame_of(&w->threads[lane])->registers[o->index] =
			o->bytes ? cut(value, o->bytes) : value & 1;
}
