// SPDX-License-Identifier: MIT
#include "capture/raw_walk.h"

#include <string.h>
#include <sys/uio.h>

#include "bpf/events.h"

static const struct mapping *mapping_of(const struct address_space *space, uint64_t frame)
{
	return address_space_find(
		space, (frame & WALK_FRAME_ADDRESS) - !(frame & WALK_FRAME_EXACT));
}

void raw_walk_cut(const struct address_space *space, struct raw_stack *raw)
{
	if (!raw->start || !raw->space || raw->space == (uint32_t)space->generation)
		return;
	for (uint32_t i = 0; i < raw->user_depth; i++) {
		if (!address_space_outdated(space, mapping_of(space, raw->user[i]), raw->space))
			continue;
		raw->user_depth = i + 1;
		raw->walk_end = WALK_STALE;
		return;
	}
}

bool raw_walk_is_worth_it(const struct raw_stack *raw)
{
	return raw->start && (raw->walk_end == WALK_PENDING || raw->walk_end == WALK_NO_MAPPING ||
				     raw->walk_end == WALK_STALE);
}

/* The module of the frame that a walk ended in. */
static uint32_t module_of_last(const struct raw_walk *w, const struct address_space *space)
{
	const struct mapping *m = mapping_of(space, w->depth ? w->frames[w->depth - 1] : 0);

	return m ? m->module : 0;
}

static bool read_code(uint32_t pid, uint64_t address, uint64_t *ret)
{
	struct iovec here = {ret, sizeof(*ret)}, there = {(void *)(uintptr_t)address, sizeof(*ret)};

	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == sizeof(*ret);
}

int raw_walk(struct spaces *spaces, const struct unwind_tables *tables,
	const struct address_space *space, uint32_t pid, const struct raw_stack *raw,
	struct raw_walk *ret)
{
	struct unwind_start start = {.pc = raw->start->pc,
		.sp = raw->start->sp,
		.fp = raw->start->fp,
		.lr = raw->start->lr,
		.exact = raw->start->exact,
		.registers = raw->start->exact ? raw->start->registers : NULL,
		.register_count = BPF_REGISTERS,
		.stack = raw->memory,
		.absent = raw->absent,
		.stack_size = raw->memory_size,
		.words = unwind_tables_words(tables),
		.word_count = unwind_tables_word_count(tables),
		.entries = raw->entries,
		.entry_count = raw->entry_count,
		.found_loops = &ret->loops,
		.read_code = pid ? read_code : NULL,
		.pid = pid};
	int error = spaces_mappings(spaces, space, &start.mappings, &start.mapping_count);

	if (error)
		return error;
	if (raw->loops)
		memcpy(start.loops, raw->loops, sizeof(start.loops));
	ret->loops.count = 0;
	ret->depth = unwind_walk(&start, ret->frames, &ret->end);
	ret->blocked_module = ret->end == WALK_PENDING ? module_of_last(ret, space) : 0;
	return 0;
}

void raw_walk_apply(const struct raw_walk *w, struct raw_stack *raw)
{
	if (w->depth < raw->user_depth && w->end != WALK_COMPLETE)
		return;
	raw->user = w->frames;
	raw->user_depth = w->depth;
	raw->walk_end = w->end;
	raw->space = 0;
}
