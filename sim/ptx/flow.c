// SPDX-License-Identifier: MIT
/* Where threads go: branches, calls, returns, their ends, barriers of a block. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/ptx/internal.h"

enum outcome run_branch(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask) w->threads[lane].pc = i->target;
	return MOVED;
}

static enum outcome failed(struct lanes *w, const struct insn *i, int error, const char *what)
{
	w->block->launch->error =
		error_set(error, "%s: '%.*s'", what, (int)(i->text.size & 255), i->text.at);
	return FAILED;
}

enum outcome run_branch_table(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask)
	{
		uint64_t index = read_operand(w, lane, i->operands);

		if (index >= i->targets->count)
			return failed(w, i, -EFAULT, "a branch behind its table");
		w->threads[lane].pc = i->targets->pcs[index];
	}
	return MOVED;
}

/* An argument, into the new frame; `t` is still in the caller's. */
static void pass(struct lanes *w, uint32_t lane, const struct operand *o,
	const struct formal *formal, struct frame *to)
{
	const struct frame *from = frame_of(&w->threads[lane]);
	uint64_t value = 0;

	if (o->kind == PARAMETER && !formal->in_register) {
		memcpy(to->params + formal->place, from->params + o->value, formal->bytes);
		return;
	}
	if (o->kind == PARAMETER)
		memcpy(&value, from->params + o->value, formal->bytes);
	else
		value = read_operand(w, lane, o);
	if (formal->in_register)
		to->registers[formal->place] = value;
	else
		memcpy(to->params + formal->place, &value, formal->bytes < 8 ? formal->bytes : 8);
}

static bool call(struct lanes *w, uint32_t lane, const struct insn *i)
{
	struct thread *t = &w->threads[lane];
	const struct frame *from = frame_of(t);
	const struct function *f = i->called;
	struct frame to = {.function = f, .back = t->pc + 1, .call = i};
	size_t registers = f->registers * sizeof(uint64_t);

	if (!t->called)
		t->called = calloc(DEPTH_MAX, sizeof(*t->called));
	if (!t->called || t->depth == DEPTH_MAX)
		return false;
	to.local = (from->local + from->function->local_bytes + 15) & ~15u;
	to.registers = calloc(1, registers + f->params_bytes + 16);
	if (!to.registers || to.local + f->local_bytes > LOCAL_MAX) {
		free(to.registers);
		return false;
	}
	to.params = (uint8_t *)to.registers + registers;
	for (size_t k = 0; k < f->formals.count; k++)
		pass(w, lane, &i->operands[i->results + k], &f->formals.items[k], &to);
	t->called[t->depth++] = to;
	t->pc = f->start;
	return true;
}

enum outcome run_call(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask) if (!call(w, lane, i)) return failed(w, i, -ENOMEM, "calls too deep");
	return MOVED;
}

static void give_back(struct lanes *w, uint32_t lane)
{
	struct thread *t = &w->threads[lane];
	struct frame from = *frame_of(t);
	const struct function *f = from.function;

	t->depth--;
	t->pc = from.back;
	for (size_t k = 0; k < f->results.count; k++) {
		const struct operand *o = &from.call->operands[k];
		const struct formal *formal = &f->results.items[k];
		uint64_t value = 0;

		if (formal->in_register)
			value = from.registers[formal->place];
		else
			memcpy(&value, from.params + formal->place,
				formal->bytes < 8 ? formal->bytes : 8);
		if (o->kind != PARAMETER)
			write_operand(w, lane, o, value);
		else if (formal->in_register)
			memcpy(frame_of(t)->params + o->value, &value, formal->bytes);
		else
			memcpy(frame_of(t)->params + o->value, from.params + formal->place,
				formal->bytes);
	}
	free(from.registers);
}

/* All that waited go on when as many are there as are expected. */
static void release(struct block *b, uint32_t barrier)
{
	if (b->waiting[barrier] < (b->expected[barrier] ? b->expected[barrier] : b->left))
		return;
	b->waiting[barrier] = b->expected[barrier] = 0;
	for (uint32_t i = 0; i < b->thread_count; i++)
		if (b->threads[i].barrier == barrier + 1)
			b->threads[i].barrier = 0;
}

static void end(struct lanes *w, uint32_t lane)
{
	struct thread *t = &w->threads[lane];
	struct block *b = w->block;

	for (; t->depth; t->depth--)
		free(frame_of(t)->registers);
	t->ended = true;
	b->left--;
	for (uint32_t i = 0; i < BARRIERS; i++)
		if (b->waiting[i])
			release(b, i);
}

enum outcome run_exit(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask) end(w, lane);
	return MOVED;
}

enum outcome run_return(struct lanes *w, const struct insn *i, uint32_t mask)
{
	each_lane(lane, mask)
	{
		if (w->threads[lane].depth)
			give_back(w, lane);
		else
			end(w, lane);
	}
	return MOVED;
}

enum outcome run_trap(struct lanes *w, const struct insn *i, uint32_t mask)
{
	return failed(w, i, -ECANCELED, "a trap");
}

/* bar.sync a, b; bar.arrive a, b; bar.warp.sync mask */
enum outcome run_barrier(struct lanes *w, const struct insn *i, uint32_t mask)
{
	struct block *b = w->block;
	bool waits = has(i, WORD_sync);

	if (has(i, WORD_warp))
		return run_warp_barrier(w, i, mask);
	each_lane(lane, mask)
	{
		uint64_t barrier = read_operand(w, lane, i->operands);

		if (barrier >= BARRIERS)
			return failed(w, i, -EFAULT, "no such barrier");
		if (i->count > 1)
			b->expected[barrier] = (uint32_t)read_operand(w, lane, &i->operands[1]);
		b->waiting[barrier]++;
		w->threads[lane].pc++;
		if (waits)
			w->threads[lane].barrier = (uint8_t)(barrier + 1);
		release(b, (uint32_t)barrier);
	}
	return MOVED;
}
