/* SPDX-License-Identifier: MIT */
/*
 * What a stack looks like that a walker took: words for native frames, pairs of words for Python's,
 * and how the walk ended. Shared by everybody who makes, sends or takes stacks.
 *
 * A native frame is an address of code, and in the top bits what is known of it. Frames come leaf
 * first.
 *
 * Python frames come leaf first too, in groups: a group is what one call of the interpreter's
 * evaluation loop runs, and its outermost frame has WALK_PYTHON_LAST. Each native frame with
 * WALK_FRAME_PYTHON is such a call: the first (innermost) of them belongs to the first group, and
 * so on.
 */
#pragma once

#include "walk/table.h"

/* Values have to be read again. The verifier of BPF goes through what follows once for each value
 * that it can tell apart in a register; what is read from a walk's state may be anything. */
#ifdef __bpf__
#define WALK_FORGET() asm volatile("" ::: "memory")
#else
#define WALK_FORGET()
#endif

#define WALK_FRAMES_MAX	  2048 /* of the native ones */
#define WALK_FOLLOWED_MAX 8192 /* of deeper stacks the middle is left out */

/* The frame runs Python code: the next group of Python frames belongs here, on its leaf side. */
#define WALK_FRAME_PYTHON (1ull << 63)
/* The address is that of an instruction which was interrupted; otherwise it is a return address. */
#define WALK_FRAME_EXACT (1ull << 62)
/* It was not found by unwind information (walk_guess): it may have called what is on its leaf side,
 * or something that did, or have been done long ago. */
#define WALK_FRAME_GUESSED (1ull << 61)
#define WALK_FRAME_ADDRESS ((1ull << 61) - 1)

/*
 * Instead of the frames that are left out in the middle of a stack deeper than WALK_FRAMES_MAX, one
 * word stands: with WALK_FRAME_PYTHON, and no address, as programs have no code so low, but the
 * number of Python groups that belong to what is left out.
 */
#define WALK_CUT_AT	    (WALK_FRAMES_MAX / 2) /* words before it */
#define WALK_CUT_GROUPS_MAX 0xffffu

static inline bool walk_is_cut(uint64_t word)
{
	return (word & (WALK_FRAME_PYTHON | WALK_FRAME_EXACT)) == WALK_FRAME_PYTHON &&
	       (word & WALK_FRAME_ADDRESS) <= WALK_CUT_GROUPS_MAX;
}

/* How many groups of Python frames belong to a word. */
static inline uint32_t walk_groups(uint64_t word)
{
	if (walk_is_cut(word))
		return (uint32_t)(word & WALK_CUT_GROUPS_MAX);
	return word & WALK_FRAME_PYTHON ? 1 : 0;
}

/* How a walk ended. These values are sent to the recorder; new ones come at the end. */
enum walk_end {
	WALK_NONE = 0, /* there is no user side: a kernel thread */
	WALK_COMPLETE, /* at the outermost function of the thread, by its unwind information */
	/* a frame pointer or return address of 0: whether that is the end depends on the code */
	WALK_ZERO,
	WALK_NO_MAPPING,  /* an address in no mapping we know */
	WALK_PENDING,	  /* in a mapping whose table is not ready */
	WALK_NO_RULE,	  /* the file has no unwind information for the address */
	WALK_UNSUPPORTED, /* it has, of a kind that we do not follow */
	WALK_FAULT,	  /* a slot of the stack could not be read */
	WALK_ASTRAY,	  /* the caller's frame would lie below its callee's */
	WALK_DEPTH,	  /* WALK_FOLLOWED_MAX frames and no end */
	/* registers that it needs could not be read, or are just being exchanged */
	WALK_UNKNOWN,
	WALK_STALE, /* walked by mappings that had changed meanwhile */
	WALK_ENDS
};

/* Code of the interpreter's evaluation loop, for Pythons that keep nothing of it on the stack
 * (before 3.11). */
struct walk_range {
	uint64_t start;
	uint64_t end;
};
#define WALK_LOOP_RANGES 2

/* A Python frame: addresses only; names are looked up later. */
struct walk_python_frame {
	/* address of the code object in the low 48 bits, its check (walk_python_check) in the
	 * others */
	uint64_t code;
	/* address of the instruction, or (before 3.11) f_lasti; WALK_PYTHON_LAST in the top bit */
	uint64_t at;
};

#define WALK_PYTHON_FRAMES_MAX	 2048
#define WALK_PYTHON_FOLLOWED_MAX 8192 /* of deeper chains the middle is left out */
#define WALK_PYTHON_LAST	 (1ull << 63)
#define WALK_PYTHON_ADDRESS	 ((1ull << 48) - 1)

/* The `code` of what stands instead of Python frames that are left out in the middle: `at` is how
 * many groups end among them. No object is there. */
#define WALK_PYTHON_CUT	   1
#define WALK_PYTHON_CUT_AT (WALK_PYTHON_FRAMES_MAX / 2) /* frames before it */

static inline bool walk_python_is_cut(const struct walk_python_frame *frame)
{
	return frame->code == WALK_PYTHON_CUT;
}

/* How many groups end with a frame, or among those that are left out. */
static inline uint32_t walk_python_groups(const struct walk_python_frame *frame)
{
	return walk_python_is_cut(frame) ? frame->at & WALK_CUT_GROUPS_MAX : frame->at >> 63;
}
