// SPDX-License-Identifier: MIT
/*
 * Stacks that libraries walk themselves: the frames come once, under a number, and launches name the number.
 *
 * Addresses mean what is mapped now. So frames count only if they were walked in the present epoch, and a number
 * only in launches from before the moment at which the epoch ended; others have no stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/nvidia/instance.h"

/* What the frames are in the profile: told.stack stays 0 when they are of code that is gone. */
static int resolve(struct instance *i, const struct wire_stack *w, const uint64_t *frames,
	struct told_stack *told)
{
	const struct gpu_stack_taker *taker = &i->session->options.stacks;
	struct gpu_stack stack = {
		.pid = i->pid,
		.walk_end = w->walk_end,
		.time_ns = w->time_ns,
		.user = frames,
		.python = (const struct walk_python_frame *)(frames + w->user_depth),
		.user_depth = w->user_depth,
		.python_depth = w->python_depth,
		.python_incomplete = w->python_incomplete,
	};

	if (w->epoch != i->code_epoch || !taker->take)
		return 0;
	return taker->take(taker->context, &stack, &told->stack, &told->incomplete);
}

static bool is_sound(const struct wire_stack *w, size_t size)
{
	return w->user_depth && w->user_depth <= WALK_FRAMES_MAX &&
	       w->python_depth <= WALK_PYTHON_FRAMES_MAX && w->walk_end < WALK_ENDS &&
	       w->number <= WIRE_STACKS &&
	       size >= sizeof(*w) + w->user_depth * sizeof(uint64_t) +
			       w->python_depth * sizeof(struct walk_python_frame);
}

static int pass_on(struct instance *i, const struct wire_launch *l, const struct told_stack *told)
{
	struct gpu_sink *sink = &i->session->sink;
	struct gpu_launch event = {
		.instance = i->number,
		.correlation = l->correlation,
		.time_ns = l->time_ns,
		.pid = i->pid,
		.stack = told ? told->stack : 0,
		.incomplete = told ? told->incomplete : 0,
		.kind = l->kind,
	};
	int error = profile_count_incomplete(i->session->writer, event.incomplete);

	error = error ? error : record_find_thread(i, l->tid, &event.thread);
	return error ? error : sink->launch(sink->context, &event);
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

/* With a stack that no other launch will name. */
static int take_alone(struct instance *i, const struct wire_stack *w, const uint64_t *frames,
	uint64_t now_ns)
{
	struct told_stack told = {0};
	struct wire_launch launch = {
		.kind = w->kind,
		.tid = w->tid,
		.correlation = w->correlation,
		.time_ns = w->time_ns,
	};
	int error;

	if (!is_valid_launch(i, &launch, now_ns))
		return invalid(i);
	error = resolve(i, w, frames, &told);
	return error ? error : pass_on(i, &launch, told.stack ? &told : NULL);
}

int stacks_decode_stack(struct instance *i, const void *record, size_t size, uint64_t now_ns)
{
	const uint64_t *frames = (const uint64_t *)((const char *)record + sizeof(struct wire_stack));
	struct told_stack told = {.until_ns = UINT64_MAX, .told = true};
	struct wire_stack w;
	int error;

	memcpy(&w, record, sizeof(w));
	if (!is_sound(&w, size))
		return -EPROTO;
	if (!w.number)
		return take_alone(i, &w, frames, now_ns);
	if (!i->stacks)
		i->stacks = calloc(WIRE_STACKS, sizeof(*i->stacks));
	if (!i->stacks)
		return error_set(-ENOMEM, "out of memory");
	if (i->stacks[w.number - 1].told)
		return -EPROTO;
	error = resolve(i, &w, frames, &told);
	if (error)
		return error;
	i->stacks[w.number - 1] = told;
	if (i->stack_count < w.number)
		i->stack_count = w.number;
	return 0;
}

int stacks_decode_launch(struct instance *i, const struct wire_launch *l, uint64_t now_ns)
{
	const struct told_stack *told = NULL;

	if (!is_valid_launch(i, l, now_ns))
		return invalid(i);
	if (l->stack && i->stacks)
		told = &i->stacks[l->stack - 1];
	if (told && (!told->stack || l->time_ns >= told->until_ns))
		told = NULL;
	return pass_on(i, l, told);
}
