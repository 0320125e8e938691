// SPDX-License-Identifier: MIT
/*
 * A launch: as many blocks at a time as the multiprocessors hold, each warp for some steps in turn.
 *
 * A step is one instruction of those lanes of a warp that are at the same place: the deepest in
 * calls, then the earliest in the text, so that lanes that parted meet again where their ways do.
 * After many steps without an end another lane has its turn: lanes may wait in a loop for what
 * others of their warp do.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/ptx/internal.h"

#define QUANTUM		256u /* steps of a warp in its turn */
#define BLOCKS_OF_SM	8u
#define SMS		8u
#define PATIENCE	16384u /* steps of a warp until others of its lanes have theirs */
#define TURN		64u
#define THREADS_MAX	1024u
#define COOPERATIVE_MAX 4096u /* blocks */

static uint32_t runnable(const struct lanes *w)
{
	uint32_t mask = 0;

	for (uint32_t lane = 0; lane < w->count; lane++)
		mask |= (uint32_t)(!w->threads[lane].ended && !w->threads[lane].barrier) << lane;
	return mask & ~w->stalled;
}

/* The lanes of the mask at the same place as this one. */
static uint32_t beside(const struct lanes *w, uint32_t mask, uint32_t lane)
{
	const struct thread *t = &w->threads[lane];
	uint32_t group = 0;

	each_lane(k, mask) group |=
		(uint32_t)(w->threads[k].pc == t->pc && w->threads[k].depth == t->depth) << k;
	return group;
}

static uint32_t first_of(const struct lanes *w, uint32_t mask)
{
	uint32_t best = (uint32_t)__builtin_ctz(mask);

	each_lane(lane, mask)
	{
		const struct thread *t = &w->threads[lane], *b = &w->threads[best];

		if (t->depth > b->depth || (t->depth == b->depth && t->pc < b->pc))
			best = lane;
	}
	return best;
}

static uint32_t choose(struct lanes *w, uint32_t mask)
{
	uint32_t turn = (uint32_t)(w->steps / PATIENCE) % LANES;

	if (w->steps > PATIENCE && w->steps % PATIENCE < TURN && mask >> turn & 1)
		return beside(w, mask, turn);
	return beside(w, mask, first_of(w, mask));
}

static uint32_t guarded(const struct lanes *w, const struct insn *i, uint32_t mask)
{
	uint32_t pass = 0;

	if (!i->guarded)
		return mask;
	each_lane(lane, mask) pass |= (uint32_t)((frame_of(&w->threads[lane])->registers[i->guard] &
							 1) != i->guard_negated)
				      << lane;
	return pass;
}

static void advance(struct lanes *w, uint32_t mask)
{
	each_lane(lane, mask) w->threads[lane].pc++;
}

enum turn { WENT_ON, ALL_WAIT, WENT_WRONG };

/* To find that it has to wait is no progress. */
static enum turn step(struct lanes *w, uint32_t group)
{
	const struct insn *i =
		&w->block->launch->module->code.items[w->threads[__builtin_ctz(group)].pc];
	uint32_t pass = guarded(w, i, group);
	enum outcome outcome = pass ? i->run(w, i, pass) : MOVED;

	w->steps++;
	if (outcome == FAILED)
		return WENT_WRONG;
	advance(w, outcome == NEXT ? group : group & ~pass);
	if (outcome == STALLED && pass == group) {
		w->stalled |= group;
		return ALL_WAIT;
	}
	w->stalled = outcome == STALLED ? pass : 0;
	return WENT_ON;
}

static enum turn run_warp(struct lanes *w, struct launch *l)
{
	enum turn turn = ALL_WAIT;

	for (uint32_t n = 0; n < QUANTUM; n++) {
		uint32_t mask = runnable(w);
		enum turn one = mask ? step(w, choose(w, mask)) : ALL_WAIT;

		if (one == WENT_WRONG)
			return one;
		if (one == WENT_ON)
			turn = one;
		if (!mask)
			break;
		if (l->asked->fuel && ++l->steps > l->asked->fuel) {
			l->error = error_set(-ETIME, "a kernel ran longer than it may");
			return WENT_WRONG;
		}
	}
	return turn;
}

static void free_block(struct block *b)
{
	for (uint32_t i = 0; b->threads && i < b->thread_count; i++) {
		struct thread *t = &b->threads[i];

		for (; t->depth; t->depth--)
			free(frame_of(t)->registers);
		free(t->called);
		free(t->local);
	}
	free(b->threads);
	free(b->registers);
	free(b->params);
	free(b->shared);
	free(b->warps);
	*b = (struct block){0};
}

static void start_thread(struct block *b, uint32_t n)
{
	const struct launch *l = b->launch;
	const struct function *f = l->kernel;
	const uint32_t *size = l->asked->block;
	struct thread *t = &b->threads[n];

	t->pc = f->start;
	t->id[0] = n % size[0];
	t->id[1] = n / size[0] % size[1];
	t->id[2] = n / size[0] / size[1];
	t->kernel = (struct frame){.function = f};
	t->kernel.registers = b->registers + (size_t)n * f->registers;
	t->kernel.params = b->params + (size_t)n * f->params_bytes;
	if (f->formals_bytes)
		memcpy(t->kernel.params, l->asked->params, f->formals_bytes);
}

static int start_block(struct launch *l, struct block *b, uint64_t number)
{
	const struct sim_ptx_launch *a = l->asked;
	const struct function *f = l->kernel;
	uint32_t threads = a->block[0] * a->block[1] * a->block[2];

	b->launch = l;
	b->number = number;
	b->sm = (uint32_t)(number % (a->sms ? a->sms : SMS));
	b->id[0] = (uint32_t)(number % a->grid[0]);
	b->id[1] = (uint32_t)(number / a->grid[0] % a->grid[1]);
	b->id[2] = (uint32_t)(number / a->grid[0] / a->grid[1]);
	b->thread_count = b->left = threads;
	b->warp_count = (threads + LANES - 1) / LANES;
	b->shared_bytes = l->module->shared_bytes + a->dynamic_shared_bytes;
	b->threads = calloc(threads, sizeof(*b->threads));
	b->registers = calloc((size_t)threads * f->registers + 1, sizeof(uint64_t));
	b->params = calloc((size_t)threads * f->params_bytes + 1, 1);
	b->shared = calloc(b->shared_bytes + 1, 1);
	b->warps = calloc(b->warp_count, sizeof(*b->warps));
	if (!b->threads || !b->registers || !b->params || !b->shared || !b->warps)
		return error_memory("a block of threads");
	for (uint32_t i = 0; i < threads; i++)
		start_thread(b, i);
	for (uint32_t i = 0; i < b->warp_count; i++) {
		uint32_t left = threads - i * LANES;

		b->warps[i] = (struct lanes){.block = b,
			.threads = b->threads + i * LANES,
			.number = i,
			.count = left < LANES ? left : LANES};
	}
	b->running = true;
	return 0;
}

static enum turn run_block(struct launch *l, struct block *b)
{
	enum turn turn = ALL_WAIT;

	for (uint32_t i = 0; i < b->warp_count; i++) {
		enum turn one = run_warp(&b->warps[i], l);

		if (one == WENT_WRONG)
			return one;
		if (one == WENT_ON)
			turn = WENT_ON;
	}
	if (!b->left)
		free_block(b);
	return turn;
}

static int run_blocks(
	struct launch *l, struct block *blocks, uint64_t beside_each_other, uint64_t count)
{
	uint64_t next = 0, ended = 0;

	while (ended < count) {
		bool any = false;

		for (uint64_t i = 0; i < beside_each_other; i++) {
			struct block *b = &blocks[i];
			enum turn turn;

			if (!b->running && next < count && start_block(l, b, next++) < 0)
				return -ENOMEM;
			if (!b->running)
				continue;
			turn = run_block(l, b);
			if (turn == WENT_WRONG)
				return l->error;
			any |= turn == WENT_ON || !b->running;
			ended += !b->running;
		}
		if (!any)
			return error_set(-EDEADLK, "all threads of kernel '%s' wait for each other",
				l->kernel->name);
	}
	return 0;
}

static int check(const struct sim_ptx_launch *a, const struct function *f, uint64_t *ret_blocks)
{
	uint64_t threads = (uint64_t)a->block[0] * a->block[1] * a->block[2];
	unsigned __int128 blocks = (unsigned __int128)a->grid[0] * a->grid[1] * a->grid[2];

	if (!threads || threads > THREADS_MAX || !blocks || blocks > UINT32_MAX ||
		a->dynamic_shared_bytes > SHARED_MAX || (f->formals_bytes && !a->params))
		return error_set(
			-EINVAL, "a launch of no or too many threads, or without parameters");
	if (a->cooperative && blocks > COOPERATIVE_MAX)
		return error_set(-EINVAL, "too many blocks for a cooperative launch");
	*ret_blocks = (uint64_t)blocks;
	return 0;
}

int sim_ptx_run(const struct sim_ptx_kernel *k, const struct sim_ptx_launch *asked)
{
	const struct function *f = (const struct function *)k;
	struct launch l = {.asked = asked, .kernel = f, .module = f->module};
	uint64_t count = 0, room = (uint64_t)(asked->sms ? asked->sms : SMS) * BLOCKS_OF_SM;
	struct block *blocks;
	int error = check(asked, f, &count);

	if (error)
		return error;
	if (asked->cooperative || room > count)
		room = count;
	blocks = calloc(room, sizeof(*blocks));
	if (!blocks)
		return error_memory("blocks of threads");
	error = run_blocks(&l, blocks, room, count);
	for (uint64_t i = 0; i < room; i++)
		free_block(&blocks[i]);
	free(blocks);
	return error;
}
