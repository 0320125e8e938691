/* SPDX-License-Identifier: MIT */
/*
 * The walk over Python's frames. One text for the BPF programs, the recorder and the injected
 * library, as walk.h; a home defines WALK_INLINE and the two functions below before it includes
 * this file.
 *
 * A home walks in a loop of its own: walk_python_begin, then walk_python_step while it returns
 * true, at most WALK_PYTHON_STEPS_MAX times; or it calls walk_python, which is just that. All state
 * is in struct walk_python_stack, and each step makes two reads: the frame in one block, and what
 * distinguishes its code object from a later one.
 *
 * Between two steps a home may move frames and entries elsewhere (but not a frame that is `open`),
 * and add the number of frames to `sent`. void_sent then says that they turned out to be none.
 *
 * Which reads are safe where they are plain loads (the injected library, in the very thread whose
 * frames it walks, inside a call that the program made): all of them, because each pointer is held
 * alive by the one before.
 *  - Thread-specific data and thread-local variables belong to the calling thread. `tss_address`
 * and `finalizing_address` point into _PyRuntime: its library must be mapped still, which the home
 * sees to (dlopen with RTLD_NOLOAD and RTLD_NODELETE, or it is the program itself).
 *    A thread's dtv is the exception: an entry can be left from a library that was
 * unloaded. A home with plain loads does not walk when tls_module is not 0 (a libpython 3.15 that
 * was loaded by dlopen).
 *  - The value is this thread's PyThreadState. It is freed by this thread, which is here and not
 * there, or when the interpreter is finalized by another thread, while this one must never run
 * Python again: then `finalizing_address` names another thread state, and no walk begins. It is set
 * before any state is freed, but (from 3.9 on) at once before. So it is looked at again when the
 * state was read, and only then what was read is followed. Nothing but the state is freed there
 * (3.9 to 3.13): the frames of the threads that are given up stay, and hold their code objects.
 *  - Nobody but this thread pushes or pops its frames, and it does neither in the middle of a call
 * into C. Thus the chain is whole: each frame is in the thread's own memory for frames, in a
 * generator or frame object which the running frame keeps alive, or on the machine's stack above
 * us. Not more of a frame is read than it has.
 *  - A frame owns its code object. 32 bytes at code_check are inside of it; entry frames, whose
 * "code" may be None, are recognized before. All this holds with and without the GIL, and in builds
 * that have none.
 *
 * The other homes walk threads that were interrupted anywhere, or whose memory is damaged: what
 * they read can be nonsense for the moment in which a frame is pushed or popped. They check every
 * read, and nothing else is needed: the number of steps is bounded.
 *
 * `at` of a frame is the instruction that the frame executes, also while it waits for a
 * call (prev_instr points to the call's last code unit, which has the same line). Python does not
 * store the position at instructions that can neither call nor fail (3.13 and later), so a thread
 * that was interrupted in its own bytecode can be shown at the instruction before, as for any
 * reader of f_lineno.
 */
#pragma once

#include "walk/python.h"
#ifndef __bpf__
#include "walk/cut.h"
#endif

/* Frames, entry frames, and a few that are neither. */
#define WALK_PYTHON_STEPS_MAX (WALK_PYTHON_FOLLOWED_MAX + WALK_PYTHON_ENTRIES_MAX + 8)

/* The present thread's PyThreadState, whether it holds the GIL or not; false: it has none. Most
 * homes call walk_python_state_of for this. */
static bool walk_python_home_state(
	struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret);
/* Copies 8, 32, or p->frame_size bytes of the program's memory; false: they cannot be read.
 * frame_size is less than 8 * WALK_PYTHON_WORDS, the size of `words`; a home that did not make *p
 * itself bounds it (a mask does for the verifier). */
static bool walk_python_home_read(
	struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size);

/* The value under the key of the Py_tss_t at tss_address, for the thread with this thread pointer.
 */
WALK_INLINE bool walk_python_specific(struct walk_python_stack *s, const struct walk_python *p,
	uint64_t thread_pointer, uint64_t *ret)
{
	uint64_t key, block = thread_pointer + (int64_t)p->tsd_first;

	if (!walk_python_home_read(s, p->tss_address, &key, 8) || !(uint32_t)key)
		return false;
	key >>= 32;
	if (key >= 1024)
		return false;
	if ((!p->tsd_first || key >> (p->tsd_shift & 15)) &&
		(!walk_python_home_read(s,
			 thread_pointer + (int64_t)p->tsd_blocks + (key >> (p->tsd_shift & 15)) * 8,
			 &block, 8) ||
			!block))
		return false;
	key &= (1u << (p->tsd_shift & 15)) - 1;
	return walk_python_home_read(s, block + key * p->tsd_size + p->tsd_value, ret, 8) && *ret;
}

/*
 * The value of the thread-local variable, in the block that the thread has of its module.
 *
 *	dtv - 16   how many modules there is room for
 *	dtv + 16n  the block of module n; -1: the thread has not used it so far
 */
WALK_INLINE bool walk_python_local(struct walk_python_stack *s, const struct walk_python *p,
	uint64_t thread_pointer, uint64_t *ret)
{
	uint64_t block = thread_pointer, dtv, count;

	if (!p->tls_module && !p->state_tls)
		return false;
	if (p->tls_module &&
		(!walk_python_home_read(s, thread_pointer + WALK_PYTHON_DTV, &dtv, 8) ||
			!walk_python_home_read(s, dtv - 16, &count, 8) || p->tls_module > count ||
			!walk_python_home_read(s, dtv + p->tls_module * 16ull, &block, 8) ||
			!(block + 1)))
		return false;
	return walk_python_home_read(s, block + (int64_t)p->state_tls, ret, 8) && *ret;
}

/* The PyThreadState of the thread with this thread pointer (fs_base on x86-64). */
WALK_INLINE bool walk_python_state_of(struct walk_python_stack *s, const struct walk_python *p,
	uint64_t thread_pointer, uint64_t *ret)
{
	return p->tss_address ? walk_python_specific(s, p, thread_pointer, ret)
			      : walk_python_local(s, p, thread_pointer, ret);
}

/* The word of the frame that begins at `offset` (or, for an offset in a word, what is left of it
 * from there on). */
WALK_INLINE uint64_t walk_python_word(
	const struct walk_python_stack *s, const struct walk_python *p, uint32_t offset)
{
	uint32_t at = offset - p->frame_first;

	return s->words[(at >> 3) & (WALK_PYTHON_WORDS - 1)] >> ((at & 7) * 8);
}

/* How many frames the chain had so far. */
WALK_INLINE uint32_t walk_python_followed(const struct walk_python_stack *s)
{
	return s->sent + s->depth + s->left_out;
}

/* Whether there is room for one more; homes that keep whole stacks leave out the middle. */
WALK_INLINE bool walk_python_make_room(struct walk_python_stack *s)
{
	if (walk_python_followed(s) >= WALK_PYTHON_FOLLOWED_MAX)
		return false;
#ifndef __bpf__
	if (s->depth == WALK_PYTHON_FRAMES_MAX) {
		s->depth = walk_python_cut(s->frames);
		s->left_out += WALK_PYTHON_FRAMES_MAX - s->depth;
	}
#endif
	return s->depth < WALK_PYTHON_ROOM;
}

/* The frame in s->words, unless it runs no code. */
WALK_INLINE bool walk_python_push(struct walk_python_stack *s, const struct walk_python *p)
{
	/* The lowest bits of f_executable say how the reference is counted (3.14 and later). */
	uint64_t code = walk_python_word(s, p, p->frame_code) & WALK_PYTHON_ADDRESS & ~7ull;
	uint64_t at = walk_python_word(s, p, p->frame_at);
	uint32_t depth;

	if (!code)
		return true;
	if (!walk_python_make_room(s))
		return false;
	depth = s->depth;
	if (depth >= WALK_PYTHON_ROOM)
		return false;
	if (walk_python_home_read(s, code + p->code_check, s->check, 32))
		code |= walk_python_check(s->check) << 48;
	s->frames[depth].code = code;
	s->frames[depth].at = at & (p->frame_at_size == 4 ? 0xffffffffull : WALK_PYTHON_ADDRESS);
	s->depth = depth + 1;
	s->open = 1;
	return true;
}

/* The latest frame was the outermost one of a loop which keeps `entry` on the stack. A loop that
 * has not pushed its first frame, or has popped it, counts for nothing. */
WALK_INLINE bool walk_python_end_group(struct walk_python_stack *s, uint64_t entry)
{
	uint32_t last = s->depth - 1, count = s->entry_count;

	if (!s->open)
		return true;
	if (count >= WALK_PYTHON_ENTRIES_ROOM || last >= WALK_PYTHON_ROOM)
		return false;
	s->frames[last].at |= WALK_PYTHON_LAST;
	s->entries[count] = entry;
	s->entry_count = count + 1;
	s->open = 0;
	s->outer = 0;
	return true;
}

/*
 * From the outermost frame of a loop of 3.11 to the innermost one of the loop around it, by the
 * chain of _PyCFrames: the frame's own link is set later and cleared earlier than theirs.
 */
WALK_INLINE bool walk_python_next_cframe(struct walk_python_stack *s, const struct walk_python *p)
{
	if (!walk_python_end_group(s, s->cframe) ||
		!walk_python_home_read(s, s->cframe + p->cframe_previous, &s->cframe, 8))
		return false;
	s->previous = 0;
	return !s->cframe || walk_python_home_read(s, s->cframe + p->cframe_frame, &s->previous, 8);
}

/*
 * Whether the innermost group ends at the loop around it, as it does unless its first frame was
 * what happened to be on the stack. The frame of a loop of 3.11 that begins may not have its link
 * yet.
 */
WALK_INLINE bool walk_python_is_linked(
	const struct walk_python_stack *s, const struct walk_python *p)
{
	return !s->outer || s->previous == s->outer_frame ||
	       (p->layout == WALK_PYTHON_CFRAMES && s->sent + s->depth == 1);
}

/* Whether the frame in s->words is an entry frame, which runs no code. */
WALK_INLINE bool walk_python_is_apart(
	const struct walk_python_stack *s, const struct walk_python *p)
{
	return p->layout >= WALK_PYTHON_CSTACK && s->entry;
}

/* What the frame in s->words is, by layout; its link in s may be found to be another. */
WALK_INLINE bool walk_python_decode(struct walk_python_stack *s, const struct walk_python *p)
{
	s->entry = (walk_python_word(s, p, p->frame_owner) & 0xff) >= p->owner_entry;
	WALK_FORGET();
	if (!walk_python_is_apart(s, p) && !walk_python_push(s, p))
		return false;
	if (p->layout == WALK_PYTHON_OBJECTS && s->open) {
		s->frames[(s->depth - 1) & (WALK_PYTHON_ROOM - 1)].at |= WALK_PYTHON_LAST;
		s->open = 0;
	}
	WALK_FORGET();
	if ((s->entry || !s->previous) && !walk_python_is_linked(s, p))
		return false;
	WALK_FORGET();
	if (walk_python_is_apart(s, p))
		return walk_python_end_group(s, s->frame);
	if (p->layout == WALK_PYTHON_CFRAMES && (s->entry || !s->previous))
		return walk_python_next_cframe(s, p);
	return true;
}

/*
 * To the innermost frame through a _PyCFrame (3.11 and 3.12). The innermost loop may not have a
 * frame of its own there: one that is being left has put there that of the loop around it, and the
 * walk begins with that loop; one that begins has not put anything there yet (walk_python_retreat).
 */
WALK_INLINE bool walk_python_enter(struct walk_python_stack *s, const struct walk_python *p)
{
	if (!s->cframe || !walk_python_home_read(s, s->cframe + p->cframe_frame, &s->frame, 8) ||
		!walk_python_home_read(s, s->cframe + p->cframe_previous, &s->outer, 8))
		return false;
	if (!s->outer)
		return true;
	if (!walk_python_home_read(s, s->outer + p->cframe_frame, &s->outer_frame, 8))
		return false;
	if (s->outer_frame == s->frame) {
		s->cframe = s->outer;
		s->outer = 0;
	}
	return true;
}

/* All frames so far are none. */
WALK_INLINE void walk_python_forget(struct walk_python_stack *s)
{
	s->void_sent |= s->sent;
	s->sent = s->depth = s->entry_count = s->open = s->left_out = 0;
}

/* False: the chain leads into itself, so that none of it is true. */
WALK_INLINE bool walk_python_goes_on(struct walk_python_stack *s)
{
	uint32_t depth = walk_python_followed(s);

	if (s->previous && (s->previous == s->frame || s->previous == s->mark)) {
		walk_python_forget(s);
		return false;
	}
	if (!(depth & (depth - 1)))
		s->mark = s->frame;
	return true;
}

/* To the innermost frame: false when there is no chain to walk, or it cannot be read. */
WALK_INLINE bool walk_python_begin(struct walk_python_stack *s, const struct walk_python *p)
{
	uint64_t state, finalizing = 0;

	s->depth = s->entry_count = s->complete = s->sent = s->void_sent = s->open = 0;
	s->left_out = 0;
	s->frame = s->mark = s->cframe = s->outer = s->outer_frame = 0;
	if (!walk_python_home_state(s, p, &state) ||
		!walk_python_home_read(s, state + p->state_frame, &s->frame, 8))
		return false;
	if (p->finalizing_address &&
		(!walk_python_home_read(s, p->finalizing_address, &finalizing, 8) ||
			(finalizing && finalizing != state)))
		return false;
	if (p->layout != WALK_PYTHON_CFRAMES && p->layout != WALK_PYTHON_CSTACK)
		return true;
	s->cframe = s->frame;
	s->frame = 0;
	return walk_python_enter(s, p);
}

/* After a step that failed: when the innermost group is none, the walk goes on with the frame of
 * the loop around it. */
WALK_INLINE bool walk_python_retreat(struct walk_python_stack *s)
{
	if (!s->outer || walk_python_followed(s) >= WALK_PYTHON_FOLLOWED_MAX)
		return false;
	walk_python_forget(s);
	s->cframe = s->outer;
	s->mark = s->outer = 0;
	s->previous = s->outer_frame;
	return true;
}

/* One frame outwards: false at the end of the chain (then s->complete) or where it cannot be
 * followed further. */
WALK_INLINE bool walk_python_step(struct walk_python_stack *s, const struct walk_python *p)
{
	bool good;

	if (!s->frame) {
		s->complete = !s->open;
		return false;
	}
	s->previous = 0;
	good = walk_python_home_read(s, s->frame + p->frame_first, s->words, p->frame_size);
	if (good) {
		s->previous = walk_python_word(s, p, p->frame_previous);
		WALK_FORGET();
		good = walk_python_decode(s, p) && walk_python_goes_on(s);
	}
	if (!good && !walk_python_retreat(s))
		return false;
	s->frame = s->previous;
	return true;
}

/* The whole walk, for homes without a verifier. */
WALK_INLINE void walk_python(struct walk_python_stack *s, const struct walk_python *p)
{
	if (!walk_python_begin(s, p))
		return;
	for (int i = 0; i < WALK_PYTHON_STEPS_MAX && walk_python_step(s, p); i++)
		;
}
