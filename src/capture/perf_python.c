// SPDX-License-Identifier: MIT
/*
 * Which frame was the innermost one at the sample (before 3.11: perf_objects.h):
 *
 *	3.11, 3.12   The _PyCFrame of the innermost loop is on the stack, so in the copy, and points
 *		     to it. It is as far from the end of its loop's frame as all of them are.
 *	3.13 on	     The thread's state has only that of now. The registers or the stack of the
 *		     sampled loop have the address.
 *
 * A frame that has been left may have been overwritten. So the code of each loop's innermost one
 * has to be where the loop was: its next instruction is in a register or on the stack. And each
 * loop on the stack has to have its entry in its own frame.
 *
 * Where they are others by now, they are looked at once more, and again: much of what a program
 * does it does many times. Meanwhile the thread has to run, which it may not if it was put aside
 * for us. What the innermost loops ran can be unknown after all that; those around them still have
 * theirs, and their innermost frames are in the copy:
 *
 *	3.11, 3.12   by the _PyCFrames
 *	3.13 on	     by the link of the entry frame of the loop within, whose place is found in the
 *		     same way
 *
 * A thread is found by its number, which the C library keeps in the thread's descriptor.
 */
#include "capture/perf_python.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/proc_text.h"
#include "capture/perf_loops.h"
#include "capture/perf_objects.h"
#include "python/interpreter.h"

#define ATTEMPTS	12
#define PATIENCE_NS	(500 * 1000) /* for all of them, */
#define PAUSE_AFTER	3	     /* and after so many */
#define PAUSE_US	40
#define THREADS_MAX	65536
#define STRANGER_NS	(100 * NS_PER_MS) /* a thread without Python is looked up again then */
#define LOOPS_MAX	64		  /* that may have begun since the sample, */
#define SKIP_MAX	8		  /* or ended since, of which all is gone */
#define TOPS_MAX	16
#define FRAMES_BYTES	65536 /* between two frames of a thread, about */
#define CODE_SIZE_AT	16    /* ob_size, in bytes from a code object on (not without GIL): */
#define CODE_UNIT_BYTES 2     /* so many of these, */
#define CODE_HEAD_BYTES 256   /* behind at most so much else */

/* Frames, or a _PyCFrame, that may have been the innermost. */
struct tops {
	uint64_t items[TOPS_MAX];
	uint32_t count;
};

struct perf_python {
	struct map threads;   /* pid << 32 | tid -> thread pointer */
	struct map strangers; /* those without Python -> until when that holds */
	struct map distances; /* pid -> p->distance */
	const struct perf_sample *sample;
	const struct walk_python *python;
	struct perf_loops loops;
	uint64_t state;	   /* the address of the thread's */
	uint64_t distance; /* from kept_by() to the end of the loop's frame */
	struct perf_memory memory;
	struct python_memory m;	   /* its content */
	struct python_stack stack; /* what was found, or is looked at, */
	struct python_stack best;  /* and the best of what was found and has unknown frames */
	uint32_t unknown, best_unknown;
};

struct perf_python *perf_python_new(void)
{
	return calloc(1, sizeof(struct perf_python));
}

void perf_python_free(struct perf_python *p)
{
	if (!p)
		return;
	map_release(&p->threads);
	map_release(&p->strangers);
	map_release(&p->distances);
	free(p);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void keep(struct map *threads, uint64_t key, uint64_t value)
{
	if (threads->count >= THREADS_MAX)
		map_release(threads);
	(void)map_put(threads, key, value); /* else it is looked up again */
}

/* 0: it has no Python. */
static uint64_t look_up(const struct python_memory *m, const struct walk_python *python,
	const struct perf_sample *s)
{
	struct proc_status status;
	bool inner = proc_status_read(s->tid, &status) && status.inner_pid;

	return python_find_thread(m, python, inner ? status.inner_pid : s->tid);
}

/* The address of the thread's state; 0: none. */
static uint64_t find_state(struct perf_python *p)
{
	const struct perf_sample *s = p->sample;
	uint64_t key = (uint64_t)s->pid << 32 | s->tid, thread = 0, state;
	const uint64_t *known = map_get(&p->threads, key), *until;

	state = known ? python_remote_state(&p->m, p->python, *known) : 0;
	if (state)
		return state;
	until = map_get(&p->strangers, key);
	if (until && s->time_ns < *until)
		return 0;
	thread = look_up(&p->m, p->python, s);
	keep(thread ? &p->threads : &p->strangers, key, thread ?: s->time_ns + STRANGER_NS);
	return thread ? python_remote_state(&p->m, p->python, thread) : 0;
}

/* --- the innermost frame ---------------------------------------------------------------------- */

static bool read_word(const struct perf_python *p, uint64_t address, uint64_t *ret)
{
	return python_read_word(&p->m, address, ret);
}

/* Whether a loop was in this code: its next instruction was in its region. */
static bool ran_code(const struct perf_python *p, uint64_t code, struct perf_region region)
{
	uint64_t units;

	return code && read_word(p, code + CODE_SIZE_AT, &units) && units < UINT32_MAX &&
	       perf_is_mentioned(p->sample, region, code + 1,
		       code + CODE_HEAD_BYTES + CODE_UNIT_BYTES * units);
}

struct frame_search {
	const struct perf_python *p;
	struct perf_region region;
	uint64_t now;
	struct tops *tops;
};

static void add_top(struct tops *t, uint64_t top)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->items[i] == top)
			return;
	if (t->count < TOPS_MAX)
		t->items[t->count++] = top;
}

/* A word may be the address of a frame, near that of now, in whose code the loop was. */
static bool add_frame_then(void *context, uint64_t word)
{
	const struct frame_search *search = context;
	const struct perf_python *p = search->p;
	uint64_t code;

	if (!(word & 7) && word - (search->now - FRAMES_BYTES) < 2 * FRAMES_BYTES &&
		!perf_is_copied(p->sample, word, 8) &&
		read_word(p, word + p->python->frame_code, &code) &&
		ran_code(p, code & WALK_PYTHON_ADDRESS & ~7ull, search->region))
		add_top(search->tops, word);
	return false;
}

/* Frames whose addresses were in use, also such that have been left by now. */
static void add_frames_then(struct tops *t, const struct perf_python *p, uint64_t now)
{
	struct frame_search search = {p, perf_loop_region(&p->loops, 0, p->sample), now, t};

	perf_each_word(p->sample, search.region, add_frame_then, &search);
}

/* The first frame from that of now on whose address was in use. */
static void add_frame_of_now(struct tops *t, const struct perf_python *p, uint64_t frame)
{
	struct perf_region region = perf_loop_region(&p->loops, 0, p->sample);

	for (int i = 0; i < LOOPS_MAX && frame; i++) {
		if (!perf_is_copied(p->sample, frame, 8) &&
			perf_is_mentioned(p->sample, region, frame, frame)) {
			add_top(t, frame);
			return;
		}
		if (!read_word(p, frame + p->python->frame_previous, &frame))
			return;
	}
}

static bool has_cframes(const struct perf_python *p)
{
	return p->python->layout == WALK_PYTHON_CFRAMES || p->python->layout == WALK_PYTHON_CSTACK;
}

/* Where a loop keeps its _PyCFrame (3.11, 3.12) or its entry frame. */
static uint64_t kept_by(const struct perf_python *p, uint32_t loop)
{
	return p->loops.items[loop].cfa - p->distance;
}

/* What the state may have had at the sample; `now` is what it has. */
static void find_tops(struct tops *t, const struct perf_python *p, uint64_t now)
{
	if (has_cframes(p)) {
		add_top(t, kept_by(p, 0));
		return;
	}
	if (!p->python->free_threaded)
		add_frames_then(t, p, now);
	add_frame_of_now(t, p, now);
}

/* What it would have had if the innermost loops, so many, had not begun; 0: not known. */
static uint64_t top_around(const struct perf_python *p, uint32_t skipped)
{
	uint64_t top;

	if (has_cframes(p))
		return kept_by(p, skipped);
	return read_word(p, kept_by(p, skipped - 1) + p->python->frame_previous, &top) ? top : 0;
}

/* --- what vouches for frames ------------------------------------------------------------------ */

static bool is_in_loop(const struct unwind_loop *loop, uint64_t address)
{
	return address >= loop->sp && address < loop->cfa;
}

/* Whether the entry of each group is in the frame of its loop, and each loop has a group, but for
 * those that are skipped. */
static bool has_its_loops(const struct perf_python *p, uint32_t skipped)
{
	const struct python_stack *found = &p->stack;
	uint32_t groups = found->entry_count + skipped;

	if (p->loops.whole ? groups != p->loops.count : groups < p->loops.count)
		return false;
	for (uint32_t i = skipped; i < p->loops.count; i++)
		if (!is_in_loop(&p->loops.items[i], found->entries[i - skipped]))
			return false;
	return true;
}

/* Where a loop's instruction is. Loops of 3.13 leave it to what they call to save it, wherever that
 * does so. */
static struct perf_region region_of(const struct perf_python *p, uint32_t loop)
{
	return has_cframes(p) ? perf_loop_own_region(&p->loops, loop, p->sample)
			      : perf_loop_region(&p->loops, loop, p->sample);
}

/* Without GIL each thread has its own copy of code. */
static bool ran_its_code(const struct perf_python *p, uint32_t skipped)
{
	const struct python_stack *found = &p->stack;
	uint32_t loop = skipped;
	bool first = true;

	if (p->python->free_threaded)
		return true;
	for (uint32_t i = 0; i < found->depth && loop < p->loops.count; i++) {
		if (first && !ran_code(p, found->frames[i].code & WALK_PYTHON_ADDRESS,
				     region_of(p, loop)))
			return false;
		first = !walk_python_is_cut(&found->frames[i]) &&
			walk_python_groups(&found->frames[i]);
		loop += walk_python_groups(&found->frames[i]);
	}
	return true;
}

static bool is_of_the_sample(const struct perf_python *p, uint32_t skipped)
{
	const struct python_stack *found = &p->stack;

	if (!found->complete && found->depth < WALK_PYTHON_FRAMES_MAX)
		return false;
	for (uint32_t i = 0; i < found->entry_count; i++)
		if (!perf_is_copied(p->sample, found->entries[i], 8))
			return false;
	return has_its_loops(p, skipped) && ran_its_code(p, skipped);
}

/* --- walks ------------------------------------------------------------------------------------ */

/* Walks with this in the state: whether what is found is of the sample. */
static bool walk_from(struct perf_python *p, uint64_t top, uint32_t skipped)
{
	p->memory.others[0] = (struct perf_word){p->state + p->python->state_frame, top};
	python_remote_walk(&p->stack, &p->m, p->python, p->state);
	return top && is_of_the_sample(p, skipped);
}

static bool walk_from_any(struct perf_python *p, const struct tops *tops)
{
	for (uint32_t i = 0; i < tops->count; i++)
		if (walk_from(p, tops->items[i], 0))
			return true;
	return false;
}

/* --- the loops around those whose frames are gone --------------------------------------------- */

/* Puts unknown frames before those that were found. */
static void add_unknown(struct perf_python *p, uint32_t count, uint64_t at)
{
	struct python_stack *stack = &p->stack;

	if (stack->depth + count > WALK_PYTHON_FRAMES_MAX)
		stack->depth = WALK_PYTHON_FRAMES_MAX - count;
	memmove(stack->frames + count, stack->frames, stack->depth * sizeof(*stack->frames));
	stack->depth += count;
	for (uint32_t i = 0; i < count; i++)
		stack->frames[i] = (struct walk_python_frame){.at = at};
	p->unknown = count;
}

static bool find_around(struct perf_python *p)
{
	for (uint32_t n = 1; n <= SKIP_MAX && n < p->loops.count; n++)
		if (walk_from(p, top_around(p, n), n)) {
			add_unknown(p, n, WALK_PYTHON_LAST);
			return true;
		}
	return false;
}

/* The frame whose call was just beginning or ending: that of the loop is not known then. */
static bool find_caller(struct perf_python *p)
{
	uint64_t cframe = kept_by(p, 0), frame, caller;
	bool found;

	if (!has_cframes(p) || !read_word(p, cframe + p->python->cframe_frame, &frame) ||
		!read_word(p, frame + p->python->frame_previous, &caller))
		return false;
	p->memory.others[1] = (struct perf_word){cframe + p->python->cframe_frame, caller};
	found = walk_from(p, cframe, 0);
	p->memory.others[1].address = 0;
	if (found)
		add_unknown(p, 1, 0);
	return found;
}

/* --- how far it is from the end of a loop's frame to what it keeps there ---------------------- */

/* The outermost _PyCFrame on the stack; 0: not known. */
static uint64_t outermost_cframe(const struct perf_python *p, uint64_t cframe)
{
	uint64_t outermost = 0;

	for (uint32_t i = 0; cframe && i < WALK_PYTHON_ENTRIES_MAX; i++) {
		if (perf_is_copied(p->sample, cframe, 8))
			outermost = cframe;
		if (!read_word(p, cframe + p->python->cframe_previous, &cframe))
			return 0;
	}
	return outermost;
}

static uint64_t outermost_entry(struct perf_python *p)
{
	python_remote_walk(&p->stack, &p->m, p->python, p->state);
	return p->stack.complete && p->stack.entry_count
		       ? p->stack.entries[p->stack.entry_count - 1]
		       : 0;
}

/* The same for all loops of an interpreter, so one of now shows it: that of the outermost loop. */
static bool find_distance(struct perf_python *p, uint64_t now)
{
	const struct unwind_loop *outermost = &p->loops.items[p->loops.count - 1];
	const uint64_t *known = map_get(&p->distances, p->sample->pid);
	uint64_t kept;

	p->distance = known ? *known : 0;
	if (known || !p->loops.whole)
		return known;
	kept = has_cframes(p) ? outermost_cframe(p, now) : outermost_entry(p);
	if (!is_in_loop(outermost, kept))
		return false;
	p->distance = outermost->cfa - kept;
	keep(&p->distances, p->sample->pid, p->distance);
	return true;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool find_groups(struct perf_python *p, uint64_t now)
{
	struct tops tops = {0};

	p->unknown = 0;
	if (!find_distance(p, now))
		return false;
	find_tops(&tops, p, now);
	if (walk_from_any(p, &tops) || find_caller(p) || find_around(p))
		return true;
	map_remove(&p->distances, p->sample->pid, NULL);
	return false;
}

static enum perf_python_found try_once(struct perf_python *p)
{
	uint64_t now;
	bool found;

	perf_memory_renew(&p->memory);
	p->state = find_state(p);
	if (!p->state)
		return PERF_PYTHON_NONE;
	if (!read_word(p, p->state + p->python->state_frame, &now))
		return PERF_PYTHON_MOVED;
	if (!now)
		return PERF_PYTHON_NONE;
	if (p->python->layout == WALK_PYTHON_OBJECTS)
		found = perf_objects_find(
			&p->stack, &p->unknown, &p->memory, p->python, &p->loops, p->state);
	else
		found = find_groups(p, now);
	return found ? PERF_PYTHON_FOUND : PERF_PYTHON_MOVED;
}

static struct perf_loops loops_of(const struct raw_walk *walk)
{
	bool ended = walk->end == WALK_COMPLETE || walk->end == WALK_ZERO;

	return (struct perf_loops){.items = walk->loops.items,
		.count = walk->loops.count,
		.whole = ended && walk->loops.count < WALK_FRAMES_MAX};
}

static bool is_best(const struct perf_python *p)
{
	return !p->best_unknown || p->unknown < p->best_unknown;
}

enum perf_python_found perf_python_read(struct perf_python *p, const struct walk_python *python,
	const struct perf_sample *sample, const struct raw_walk *walk,
	const struct python_stack **ret)
{
	enum perf_python_found found = PERF_PYTHON_MOVED;
	uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	bool again = true;

	p->sample = sample;
	p->python = python;
	p->loops = loops_of(walk);
	p->best_unknown = 0;
	perf_memory_begin(&p->memory, sample);
	p->m = perf_memory_of(&p->memory);
	if (!p->loops.count)
		return p->loops.whole ? PERF_PYTHON_NONE : PERF_PYTHON_MOVED;
	for (int i = 0; i < ATTEMPTS && again && clock_now_ns() < until_ns; i++) {
		if (i && i % PAUSE_AFTER == 0)
			usleep(PAUSE_US);
		found = try_once(p);
		again = found == PERF_PYTHON_MOVED || (found == PERF_PYTHON_FOUND && p->unknown);
		if (found == PERF_PYTHON_FOUND && p->unknown && is_best(p)) {
			p->best = p->stack;
			p->best_unknown = p->unknown;
		}
	}
	*ret = again && p->best_unknown ? &p->best : &p->stack;
	return again && p->best_unknown ? PERF_PYTHON_FOUND : found;
}
