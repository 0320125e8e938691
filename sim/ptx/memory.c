// SPDX-License-Identifier: MIT
/*
 * Loads, stores and atomics. An address leads to bytes of this process: in the module's variables
 * and the allocations that the caller knows, in the block's shared memory, in what the thread has
 * of its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/ptx/ops.h"

static const char *space_name(const struct insn *i)
{
	return has(i, WORD_shared) ? "shared" : has(i, WORD_local) ? "local" : "global";
}

static void *outside(struct lanes *w, uint32_t lane, const struct insn *i, uint64_t at, int error)
{
	const struct thread *t = &w->threads[lane];
	const struct block *b = w->block;

	w->block->launch->error = error_set(error,
		"%s: %s address 0x%llx in thread %u,%u,%u of block %u,%u,%u: '%.*s'",
		error == -ERANGE ? "not aligned" : "outside of memory", space_name(i),
		(unsigned long long)at, t->id[0], t->id[1], t->id[2], b->id[0], b->id[1], b->id[2],
		(int)(i->text.size & 255), i->text.at);
	return NULL;
}

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t base, uint64_t size)
{
	return at >= base && bytes <= size && at - base <= size - bytes;
}

/* Local memory comes into being where it is used. */
static uint8_t *local_at(struct thread *t, uint64_t at, uint64_t bytes)
{
	const struct frame *f = frame_of(t);
	size_t all = f->local + f->function->local_bytes;

	if (!is_inside(at, bytes, 0, all))
		return NULL;
	if (t->local_bytes < all) {
		uint8_t *grown = realloc(t->local, all);

		if (!grown)
			return NULL;
		memset(grown + t->local_bytes, 0, all - t->local_bytes);
		t->local = grown;
		t->local_bytes = all;
	}
	return t->local + at;
}

static uint8_t *shared_at(struct block *b, uint64_t at, uint64_t bytes)
{
	at &= UINT32_MAX;
	return is_inside(at, bytes, 0, b->shared_bytes) ? b->shared + at : NULL;
}

static uint8_t *global_at(struct launch *l, uint64_t at, uint64_t bytes)
{
	if (is_inside(at, bytes, l->found_base, l->found_bytes))
		return (uint8_t *)(uintptr_t)at;
	vec_foreach (v, &l->module->variables)
		if (v->data && is_inside(at, bytes, (uint64_t)(uintptr_t)v->data, v->bytes))
			return (uint8_t *)(uintptr_t)at;
	if (!l->asked->find ||
		!l->asked->find(l->asked->context, at, &l->found_base, &l->found_bytes)) {
		l->found_bytes = 0;
		return NULL;
	}
	return is_inside(at, bytes, l->found_base, l->found_bytes) ? (uint8_t *)(uintptr_t)at
								   : NULL;
}

static uint8_t *param_at(struct frame *f, uint64_t at, uint64_t bytes)
{
	return is_inside(at, bytes, 0, f->function->params_bytes) ? f->params + at : NULL;
}

static bool in_window(uint64_t at, uint64_t window)
{
	return at - window < WINDOW_BYTES;
}

static uint8_t *generic_at(struct lanes *w, uint32_t lane, uint64_t at, uint64_t bytes)
{
	struct thread *t = &w->threads[lane];

	if (in_window(at, SHARED_WINDOW))
		return shared_at(w->block, at - SHARED_WINDOW, bytes);
	if (in_window(at, LOCAL_WINDOW))
		return local_at(t, at - LOCAL_WINDOW, bytes);
	if (in_window(at, PARAM_WINDOW))
		return param_at(&t->kernel, at - PARAM_WINDOW, bytes);
	return global_at(w->block->launch, at, bytes);
}

/* Where an operand's address leads; NULL with an error. */
static uint8_t *place(struct lanes *w, uint32_t lane, const struct insn *i, const struct operand *o,
	unsigned int bytes, bool shared_alone)
{
	uint64_t at = read_operand(w, lane, o);
	uint8_t *found;

	if (at % bytes)
		return outside(w, lane, i, at, -ERANGE);
	if (o->kind == PARAMETER)
		found = param_at(frame_of(&w->threads[lane]), at, bytes);
	else if (shared_alone || (has(i, WORD_shared) && !has(i, WORD_async)))
		found = shared_at(w->block, at, bytes);
	else if (has(i, WORD_local))
		found = local_at(&w->threads[lane], at, bytes);
	else
		found = generic_at(w, lane, at, bytes);
	return found ? found : outside(w, lane, i, at, -EFAULT);
}

static uint64_t load(const uint8_t *at, struct type t)
{
	uint64_t value = 0;

	memcpy(&value, at, t.bytes);
	return t.kind == 's' ? sign_extend(value, t.bytes) : value;
}

/* The first operand may be a vector. */
enum outcome run_load(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;
	unsigned int n = o->vector ? o->vector : 1;

	each_lane(lane, mask)
	{
		const uint8_t *at = place(w, lane, i, &o[n], i->type.bytes * n, false);
		uint64_t values[8];

		if (!at)
			return FAILED;
		for (unsigned int k = 0; k < n; k++)
			values[k] = load(at + k * i->type.bytes, i->type);
		for (unsigned int k = 0; k < n; k++)
			write_operand(w, lane, &o[k], values[k]);
	}
	return NEXT;
}

enum outcome run_store(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;
	unsigned int n = o[1].vector ? o[1].vector : 1;

	each_lane(lane, mask)
	{
		uint8_t *at = place(w, lane, i, o, i->type.bytes * n, false);

		if (!at)
			return FAILED;
		for (unsigned int k = 0; k < n; k++) {
			uint64_t value = read_operand(w, lane, &o[1 + k]);

			memcpy(at + k * i->type.bytes, &value, i->type.bytes);
		}
	}
	return NEXT;
}

/* atom d, [a], b, c; red [a], b */
enum outcome run_atomic(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;
	bool returns = !o->in_memory;
	unsigned int first = returns ? 2 : 1;

	each_lane(lane, mask)
	{
		uint8_t *at = place(w, lane, i, &o[returns], i->type.bytes, false);
		uint64_t old = 0, a, b = 0, value;

		if (!at)
			return FAILED;
		/* Others may access the same memory: other launches, and the process. */
		memcpy(&old, at, i->type.bytes);
		a = cut(read_operand(w, lane, &o[first]), i->type.bytes);
		if (i->count > first + 1)
			b = read_operand(w, lane, &o[first + 1]);
		value = cut(value_atomic(i, old, a, b), i->type.bytes);
		memcpy(at, &value, i->type.bytes);
		if (returns)
			write_operand(w, lane, o, old);
	}
	return NEXT;
}

/* cp.async to shared memory, at once; what commits and waits has no addresses. */
enum outcome run_copy_async(struct lanes *w, const struct insn *i, uint32_t mask)
{
	const struct operand *o = i->operands;

	if (i->count < 3)
		return NEXT;
	each_lane(lane, mask)
	{
		uint64_t bytes = read_operand(w, lane, &o[2]), given = bytes;
		uint8_t *to;
		const uint8_t *from;

		if (bytes != 4 && bytes != 8 && bytes != 16)
			return outside(w, lane, i, bytes, -EFAULT), FAILED;
		to = place(w, lane, i, o, (unsigned int)bytes, true);
		from = place(w, lane, i, o + 1, (unsigned int)bytes, false);
		if (!to || !from)
			return FAILED;
		if (i->count > 3)
			given = read_operand(w, lane, &o[3]);
		given = given < bytes ? given : bytes;
		memcpy(to, from, given);
		memset(to + given, 0, bytes - given);
	}
	return NEXT;
}

static uint64_t window_of(const struct insn *i)
{
	return has(i, WORD_shared)  ? SHARED_WINDOW
	       : has(i, WORD_local) ? LOCAL_WINDOW
	       : has(i, WORD_param) ? PARAM_WINDOW
				    : 0;
}

enum outcome run_convert_address(struct lanes *w, const struct insn *i, uint32_t mask)
{
	uint64_t window = window_of(i);

	each_lane(lane, mask)
	{
		uint64_t at = read_operand(w, lane, &i->operands[1]);

		write_operand(w, lane, i->operands, has(i, WORD_to) ? at - window : at + window);
	}
	return NEXT;
}

static bool is_const(struct launch *l, uint64_t at)
{
	vec_foreach (v, &l->module->variables)
		if (v->space == PTX_CONST &&
			is_inside(at, 1, (uint64_t)(uintptr_t)v->data, v->bytes))
			return true;
	return false;
}

enum outcome run_is_space(struct lanes *w, const struct insn *i, uint32_t mask)
{
	uint64_t window = window_of(i);

	each_lane(lane, mask)
	{
		uint64_t at = read_operand(w, lane, &i->operands[1]);
		bool other = in_window(at, SHARED_WINDOW) || in_window(at, LOCAL_WINDOW) ||
			     in_window(at, PARAM_WINDOW);
		bool constant = !other && is_const(w->block->launch, at);

		write_operand(w, lane, i->operands,
			window		     ? in_window(at, window)
			: has(i, WORD_const) ? constant
					     : !other && !constant);
	}
	return NEXT;
}
