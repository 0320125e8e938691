/* SPDX-License-Identifier: MIT */
/*
 * How user stacks are taken: by following frame pointers. This is the one place to change when a
 * walker over unwind tables takes over.
 *
 * We walk ourselves instead of calling bpf_get_stack because the kernel's walk does not say how it
 * ended, misses the caller of a function whose first instruction is a probed nop (it knows only
 * `push %rbp` and endbr64), and shares a per-CPU buffer that a preempted program can find
 * overwritten.
 *
 * Reading user memory costs by the call far more than by the byte: a window of the stack is copied
 * at once, and a frame that lies in it costs a few instructions.
 *
 *	sp ->	[ window ................ ]
 *		   ^frame  ^frame  ^frame      ^frame: the next window begins here
 */
#pragma once

#define STACK_WINDOW 2048 /* bytes */

/* What the frame pointer points to, on x86-64 and arm64 alike. */
struct stack_frame {
	uint64_t next;
	uint64_t return_address;
};

/*
 * The state of one walk. It lives in the memory of a map, not in registers, for the verifier's
 * sake: what is loaded from a map has no history, so that it sees the same state in every turn of
 * the loop however it came there, instead of following each combination of turns (15 thousand steps
 * instead of 600).
 */
struct stack_walk {
	uint64_t base; /* where the window is */
	uint64_t fp;
	uint32_t depth; /* frames so far */
	uint32_t end;   /* enum walk_end */
	uint32_t size;  /* of the window: how much was there to read */
	uint8_t window[STACK_WINDOW];
};

/*
 * Moves the window to `base`. Near the upper end of a stack there is less than a window left: then
 * it holds one frame, and the next is read when it is needed.
 */
static __always_inline bool move_window(struct stack_walk *w, uint64_t base)
{
	w->base = base;
	w->size = STACK_WINDOW;
	if (!bpf_probe_read_user(w->window, STACK_WINDOW, (const void *)base))
		return true;
	w->size = sizeof(struct stack_frame);
	return !bpf_probe_read_user(w->window, sizeof(struct stack_frame), (const void *)base);
}

/* Brings the frame at w->fp into the window: its place there, or STACK_WINDOW. */
static __always_inline uint64_t frame_offset(struct stack_walk *w)
{
	uint64_t offset = w->fp - w->base;

	if (offset <= w->size - sizeof(struct stack_frame))
		return offset;
	return move_window(w, w->fp) ? 0 : STACK_WINDOW;
}

/*
 * Walks on from the frame at w->fp: puts return addresses into frames[w->depth..], and how many
 * frames there are then into w->depth.
 *
 * A stack grows downwards, so the frame of a caller lies above; insisting on that ends walks
 * through registers that hold no frame pointer early, where they would only cost time. (It also
 * ends a walk at a signal handler that runs on a stack of its own.)
 */
static __always_inline void walk_frames(struct stack_walk *w, uint64_t *frames)
{
	uint32_t depth;

	w->end = WALK_DEPTH;
	if (!w->fp || w->fp & 7) {
		w->end = w->fp ? WALK_ASTRAY : WALK_ZERO;
		return;
	}
	for (depth = 1; depth < WALK_FRAMES_MAX; depth++) {
		uint64_t offset = frame_offset(w);
		const struct stack_frame *frame;
		uint64_t fp = w->fp;

		if (offset > STACK_WINDOW - sizeof(*frame)) {
			w->end = WALK_FAULT;
			break;
		}
		frame = (const struct stack_frame *)(w->window + offset);
		frames[depth] = frame->return_address;
		w->depth = depth + 1;
		w->fp = frame->next;
		if (w->fp <= fp || w->fp & 7) {
			w->end = w->fp ? WALK_ASTRAY : WALK_ZERO;
			break;
		}
	}
}

/* Begins with frames[0], which the caller has set, and the frame pointer. */
static __always_inline void begin_walk(struct stack_walk *w, uint64_t fp)
{
	w->fp = fp;
	w->depth = 1;
}

/* How many frames were found; never more than fit, as the verifier can see. */
static __always_inline uint64_t walked_depth(const struct stack_walk *w)
{
	uint64_t depth = w->depth;

	/* The bound has to be on the register that is used, not on a copy of it. */
	asm volatile("" : "+r"(depth));
	return depth > WALK_FRAMES_MAX ? WALK_FRAMES_MAX : depth;
}
