// SPDX-License-Identifier: MIT
/*
 * Stacks that libraries walk themselves: the frames come once, under a number, and launches name
 * the number.
 *
 * A number means the same until code is mapped over other code. A stack that a library sends after
 * that, before it has noticed, was walked by the mappings from before. Such a stack is resolved
 * anew from its frames, which are kept for that, and the resolver cuts it off where the code was
 * another (walked_stack.generation).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/injected/instance.h"

/* Resolves a stack of which only that is new that there is room for: beyond the budget, its callers
 * that other stacks have, too. */
static int resolve_within(
	struct instance *i, const struct walked_stack *stack, struct numbered_stack *numbered)
{
	const struct stack_resolver *resolver = &i->injected->options.stacks;
	struct profile_writer *w = i->injected->shared->writer;
	uint64_t before = budget_tables(i), refused = profile_writer_refused(w);
	bool full = !budget_has_room(i, BUDGET_STACKS);
	int error;

	if (full)
		profile_writer_freeze(w, true);
	error = resolver->resolve(
		resolver->context, stack, &numbered->stack, &numbered->incomplete);
	if (full) {
		profile_writer_freeze(w, false);
		if (profile_writer_refused(w) != refused)
			budget_refuse(i, BUDGET_STACKS);
	}
	budget_charge_growth(i, BUDGET_STACKS, before);
	return error;
}

/* Makes a stack of the profile from the frames behind the record. */
static int resolve(struct instance *i, const struct wire_stack *w, struct numbered_stack *numbered)
{
	const uint64_t *frames = (const uint64_t *)(w + 1);
	struct walked_stack stack = {
		.pid = i->pid,
		.walk_end = w->walk_end,
		.generation = w->generation,
		.time_ns = w->time_ns,
		.user = frames,
		.python = (const struct walk_python_frame *)(frames + w->user_depth),
		.user_depth = w->user_depth,
		.python_depth = w->python_depth,
		.python_incomplete = w->flags & WIRE_STACK_PYTHON_INCOMPLETE,
		.doubtful = w->flags & WIRE_STACK_DOUBTFUL,
		.unloaded = w->flags & WIRE_STACK_UNLOADED,
	};

	return i->injected->options.stacks.resolve ? resolve_within(i, &stack, numbered) : 0;
}

static size_t size_of(const struct wire_stack *w)
{
	return sizeof(*w) + w->user_depth * sizeof(uint64_t) +
	       w->python_depth * sizeof(struct walk_python_frame);
}

static bool is_sound(const struct wire_stack *w, size_t size)
{
	return w->user_depth && w->user_depth <= WALK_FRAMES_MAX &&
	       w->python_depth <= WALK_PYTHON_FRAMES_MAX && w->walk_end < WALK_ENDS &&
	       w->number <= WIRE_STACKS && size >= size_of(w);
}

static int pass_on(
	struct instance *i, const struct wire_launch *l, const struct numbered_stack *numbered)
{
	const struct gpu_events *events = &i->injected->shared->events;
	struct gpu_launch event = {
		.instance = i->number,
		.correlation = l->correlation,
		.time_ns = l->time_ns,
		.pid = i->pid,
		.stack = numbered ? numbered->stack : 0,
		.incomplete = numbered ? numbered->incomplete : 0,
		.kind = l->kind,
	};
	int error = profile_count_incomplete(i->injected->shared->writer, event.incomplete);

	error = error ?: record_find_thread(i, l->tid, &event.thread);
	return error ?: events->launch(events->context, &event);
}

static bool is_valid_launch(const struct instance *i, const struct wire_launch *l, uint64_t now_ns)
{
	return l->kind && l->kind < CALL_KINDS && l->stack <= WIRE_STACKS &&
	       record_is_plausible(i, l->time_ns, l->time_ns, now_ns);
}

static int invalid(struct instance *i)
{
	record_count_loss(i, LOSS_GPU_INVALID, 1);
	return 0;
}

/* A launch with a stack that no other launch will name. */
static int decode_alone(struct instance *i, const struct wire_stack *w, uint64_t now_ns)
{
	struct numbered_stack stack = {0};
	struct wire_launch launch = {
		.kind = w->kind,
		.tid = w->tid,
		.correlation = w->correlation,
		.time_ns = w->time_ns,
	};
	int error;

	if (!is_valid_launch(i, &launch, now_ns))
		return invalid(i);
	error = resolve(i, w, &stack);
	return error ?: pass_on(i, &launch, stack.stack ? &stack : NULL);
}

/* Without memory, or when too much is kept, launches from after a change have no stack. */
static struct wire_stack *keep(struct instance *i, const struct wire_stack *w)
{
	size_t size = size_of(w);
	struct wire_stack *copy = budget_has_room(i, BUDGET_KEPT_STACKS) ? malloc(size) : NULL;

	if (!copy)
		return NULL;
	budget_charge(i, BUDGET_KEPT_STACKS, size);
	return memcpy(copy, w, size);
}

int walked_decode_stack(
	struct instance *i, const struct wire_stack *w, size_t size, uint64_t now_ns)
{
	struct numbered_stack stack = {.until_ns = UINT64_MAX, .sent = true};
	int error;

	if (!is_sound(w, size))
		return -EPROTO;
	if (!w->number)
		return decode_alone(i, w, now_ns);
	if (!i->stacks)
		i->stacks = calloc(WIRE_STACKS, sizeof(*i->stacks));
	if (!i->stacks)
		return error_memory(NULL);
	if (i->stacks[w->number - 1].sent)
		return -EPROTO;
	error = resolve(i, w, &stack);
	if (error)
		return error;
	stack.record = keep(i, w);
	i->stacks[w->number - 1] = stack;
	if (i->stack_count < w->number)
		i->stack_count = w->number;
	return 0;
}

void walked_release(struct instance *i)
{
	for (uint32_t n = 0; n < i->stack_count; n++)
		free(i->stacks[n].record);
	free(i->stacks);
}

int walked_decode_launch(struct instance *i, const struct wire_launch *l, uint64_t now_ns)
{
	struct numbered_stack stack = {0};
	int error = 0;

	if (!is_valid_launch(i, l, now_ns))
		return invalid(i);
	if (l->stack && i->stacks)
		stack = i->stacks[l->stack - 1];
	if (stack.sent && l->time_ns >= stack.until_ns) {
		stack.stack = stack.incomplete = 0;
		if (stack.record) {
			stack.record->time_ns = l->time_ns;
			error = resolve(i, stack.record, &stack);
		}
	}
	return error ?: pass_on(i, l, stack.stack ? &stack : NULL);
}
