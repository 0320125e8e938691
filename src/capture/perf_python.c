// SPDX-License-Identifier: MIT
/*
 * Which frame was the innermost one at the sample:
 *
 *	3.11, 3.12   The _PyCFrame of the innermost loop is on the stack, so in the copy, and points
 *		     to it. The thread's state leads to that of now: those of loops that began since
 *		     lie below the sampled stack pointer, and one that ended since is in the copy, with
 *		     a link to the one around it.
 *	3.13 on	     The thread's state has only that of now. The registers or the stack of the
 *		     sampled loop have the address.
 *	before 3.11  So too, with frame objects: the first from that of now on.
 *
 * A frame that has been left may have been overwritten. So the code of the innermost one has to be
 * where the loop was: its next instruction is in a register or on the stack.
 *
 * Where they are others by now, they are looked at once more, and again: much of what a program
 * does it does many times. Meanwhile the thread has to run, which it may not if it was put aside
 * for us.
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
#include "python/interpreter.h"

#define PAGE_BYTES	4096
#define PAGES		128 /* of a process, read for one sample */
#define ATTEMPTS	4
#define PAUSE_US	50 /* between them */
#define THREADS_MAX	65536
#define STRANGER_NS	(100 * NS_PER_MS) /* a thread without Python is looked up again then */
#define LOOPS_MAX	64		  /* that may have begun since the sample */
#define TOPS_MAX	16
#define FRAMES_BYTES	65536 /* between two frames of a thread, about */
#define LOOP_BYTES	1024  /* of the stack, from a loop's entry on */
#define CODE_SIZE_AT	16    /* ob_size, in bytes from a code object on (not without GIL): */
#define CODE_UNIT_BYTES 2     /* so many of these, */
#define CODE_HEAD_BYTES 256   /* behind at most so much else */

struct page {
	uint64_t number;
	uint32_t round; /* it was read in; 0: never */
	bool good;
	uint8_t bytes[PAGE_BYTES];
};

/* Frames, or a _PyCFrame, that may have been the innermost. */
struct tops {
	uint64_t items[TOPS_MAX];
	uint32_t count;
};

struct perf_python {
	struct map threads;   /* pid << 32 | tid -> thread pointer */
	struct map strangers; /* those without Python -> until when that holds */
	struct page pages[PAGES];
	uint32_t round;
	const struct perf_sample *sample;
	struct python_memory live;
	uint64_t top_at; /* where the thread's state has its innermost frame or _PyCFrame, */
	uint64_t top;	 /* and what that was at the sample; 0: as it is */
	struct python_stack stack;
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
	free(p);
}

/* --- memory as of the sample, where it was copied --------------------------------------------- */

static const struct page *page_of(struct perf_python *p, uint64_t address)
{
	uint64_t number = address / PAGE_BYTES;
	struct page *page = &p->pages[number % PAGES];

	if (page->round == p->round && page->number == number)
		return page;
	page->number = number;
	page->round = p->round;
	page->good = python_read(&p->live, number * PAGE_BYTES, page->bytes, PAGE_BYTES);
	return page;
}

static bool read_live(struct perf_python *p, uint64_t address, uint8_t *ret, size_t size)
{
	while (size) {
		const struct page *page = page_of(p, address);
		size_t at = address % PAGE_BYTES, part = PAGE_BYTES - at;

		if (!page->good)
			return false;
		if (part > size)
			part = size;
		memcpy(ret, page->bytes + at, part);
		address += part;
		ret += part;
		size -= part;
	}
	return true;
}

static bool is_copied(const struct perf_sample *s, uint64_t address, size_t size)
{
	return address >= s->start.sp && size <= s->memory_size &&
	       address - s->start.sp <= s->memory_size - size;
}

static bool read_then(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	struct perf_python *p = m->context;

	if (p->top && address == p->top_at && size == sizeof(p->top)) {
		memcpy(ret, &p->top, size);
		return true;
	}
	if (!is_copied(p->sample, address, size))
		return read_live(p, address, ret, size);
	memcpy(ret, p->sample->memory + (address - p->sample->start.sp), size);
	return true;
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
static uint64_t find_state(
	struct perf_python *p, const struct python_memory *m, const struct walk_python *python)
{
	const struct perf_sample *s = p->sample;
	uint64_t key = (uint64_t)s->pid << 32 | s->tid, thread = 0, state;
	const uint64_t *known = map_get(&p->threads, key), *until;

	state = known ? python_remote_state(m, python, *known) : 0;
	if (state)
		return state;
	until = map_get(&p->strangers, key);
	if (until && s->time_ns < *until)
		return 0;
	thread = look_up(m, python, s);
	keep(thread ? &p->threads : &p->strangers, key, thread ?: s->time_ns + STRANGER_NS);
	return thread ? python_remote_state(m, python, thread) : 0;
}

/* --- the innermost frame ---------------------------------------------------------------------- */

static uint64_t copied_word(const struct perf_sample *s, size_t at)
{
	uint64_t word;

	memcpy(&word, s->memory + at, sizeof(word));
	return word;
}

/* Bytes of the copy from its beginning up to this address. */
static size_t copied_up_to(const struct perf_sample *s, uint64_t address)
{
	uint64_t size = address - s->start.sp;

	return size < s->memory_size ? size & ~(uint64_t)7 : s->memory_size;
}

/* Whether a word from `low` to `high` was in a register, or on the stack up to `until`. */
static bool is_mentioned(const struct perf_sample *s, uint64_t low, uint64_t high, uint64_t until)
{
	size_t size = copied_up_to(s, until);

	for (int i = 0; i < BPF_REGISTERS; i++)
		if (s->start.registers[i] >= low && s->start.registers[i] <= high)
			return true;
	for (size_t at = 0; at < size; at += 8)
		if (copied_word(s, at) >= low && copied_word(s, at) <= high)
			return true;
	return false;
}

/* The _PyCFrame of a loop within that of `outer`, which ended since; 0: none. */
static uint64_t inner_cframe(
	const struct perf_sample *s, const struct walk_python *python, uint64_t outer)
{
	size_t size = copied_up_to(s, outer), at = python->cframe_previous;

	for (; at < size; at += 8)
		if (copied_word(s, at) == outer)
			return s->start.sp + at - python->cframe_previous;
	return 0;
}

/* From that of now to that of the sample; 0: it cannot be found. */
static uint64_t cframe_then(const struct perf_python *p, const struct python_memory *m,
	const struct walk_python *python, uint64_t cframe)
{
	const struct perf_sample *s = p->sample;
	uint64_t inner;

	for (int i = 0; i < LOOPS_MAX && cframe && cframe < s->start.sp; i++)
		if (!python_read_word(m, cframe + python->cframe_previous, &cframe))
			return 0;
	if (!is_copied(s, cframe, 8 + python->cframe_previous))
		return 0;
	for (int i = 0; i < LOOPS_MAX && (inner = inner_cframe(s, python, cframe)); i++)
		cframe = inner;
	return cframe;
}

/* Whether a loop whose entry is at this address was in this code: its next instruction was in a
 * register, or on the stack. */
static bool ran_code(
	const struct perf_python *p, const struct python_memory *m, uint64_t code, uint64_t entry)
{
	uint64_t units;

	return code && python_read_word(m, code + CODE_SIZE_AT, &units) && units < UINT32_MAX &&
	       is_mentioned(p->sample, code + 1, code + CODE_HEAD_BYTES + CODE_UNIT_BYTES * units,
		       entry + LOOP_BYTES);
}

/* Whether this word is the address of a frame, near that of now, in whose code the loop was. */
static bool is_frame_then(const struct perf_python *p, const struct python_memory *m,
	const struct walk_python *python, uint64_t word, uint64_t now)
{
	uint64_t code;

	return !(word & 7) && word - (now - FRAMES_BYTES) < 2 * FRAMES_BYTES &&
	       !is_copied(p->sample, word, 8) &&
	       python_read_word(m, word + python->frame_code, &code) &&
	       ran_code(p, m, code & WALK_PYTHON_ADDRESS & ~7ull, p->sample->start.sp);
}

static void add_top(struct tops *t, uint64_t top)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->items[i] == top)
			return;
	if (t->count < TOPS_MAX)
		t->items[t->count++] = top;
}

/* Frames whose addresses were in use, also such that have been left by now. */
static void add_frames_then(struct tops *t, const struct perf_python *p,
	const struct python_memory *m, const struct walk_python *python, uint64_t now)
{
	const struct perf_sample *s = p->sample;
	size_t size = copied_up_to(s, s->start.sp + LOOP_BYTES);

	for (int i = 0; i < BPF_REGISTERS; i++)
		if (is_frame_then(p, m, python, s->start.registers[i], now))
			add_top(t, s->start.registers[i]);
	for (size_t at = 0; at < size; at += 8)
		if (is_frame_then(p, m, python, copied_word(s, at), now))
			add_top(t, copied_word(s, at));
}

/* The first frame from that of now on whose address was in use. */
static void add_frame_of_now(struct tops *t, const struct perf_python *p,
	const struct python_memory *m, const struct walk_python *python, uint64_t frame)
{
	const struct perf_sample *s = p->sample;

	for (int i = 0; i < LOOPS_MAX && frame; i++) {
		if (!is_copied(s, frame, 8) &&
			is_mentioned(s, frame, frame, s->start.sp + s->memory_size)) {
			add_top(t, frame);
			return;
		}
		if (!python_read_word(m, frame + python->frame_previous, &frame))
			return;
	}
}

/* What the state may have had at the sample; `now` is what it has. */
static void find_tops(struct tops *t, const struct perf_python *p, const struct python_memory *m,
	const struct walk_python *python, uint64_t now)
{
	if (python->layout == WALK_PYTHON_CFRAMES || python->layout == WALK_PYTHON_CSTACK) {
		add_top(t, cframe_then(p, m, python, now));
		return;
	}
	if (python->layout == WALK_PYTHON_CURRENT && !python->free_threaded)
		add_frames_then(t, p, m, python, now);
	add_frame_of_now(t, p, m, python, now);
}

/* --- what vouches for frames ------------------------------------------------------------------ */

static bool is_of_the_sample(
	struct perf_python *p, const struct python_memory *m, const struct walk_python *python)
{
	const struct python_stack *found = &p->stack;

	if (!found->complete && found->depth < WALK_PYTHON_FRAMES_MAX)
		return false;
	for (uint32_t i = 0; i < found->entry_count; i++)
		if (!is_copied(p->sample, found->entries[i], 8))
			return false;
	/* Objects have loops of their own; without GIL each thread has its own copy of code. */
	return !found->depth || python->layout == WALK_PYTHON_OBJECTS || python->free_threaded ||
	       ran_code(p, m, found->frames[0].code & WALK_PYTHON_ADDRESS, found->entries[0]);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Walks from what the state may have had, to the first that is of the sample. */
static enum perf_python_found walk_from(struct perf_python *p, const struct python_memory *m,
	const struct walk_python *python, const struct tops *tops, uint64_t state)
{
	for (uint32_t i = 0; i < tops->count; i++) {
		p->top = tops->items[i];
		if (!p->top)
			continue;
		python_remote_walk(&p->stack, m, python, state);
		if (is_of_the_sample(p, m, python))
			return p->stack.depth ? PERF_PYTHON_FOUND : PERF_PYTHON_NONE;
	}
	return PERF_PYTHON_MOVED;
}

static enum perf_python_found try_once(
	struct perf_python *p, const struct python_memory *m, const struct walk_python *python)
{
	struct tops tops = {0};
	uint64_t state, now;

	p->round++;
	p->top = 0;
	state = find_state(p, m, python);
	if (!state)
		return PERF_PYTHON_NONE;
	p->top_at = state + python->state_frame;
	if (!python_read_word(m, p->top_at, &now))
		return PERF_PYTHON_MOVED;
	if (!now)
		return PERF_PYTHON_NONE;
	find_tops(&tops, p, m, python, now);
	return walk_from(p, m, python, &tops, state);
}

enum perf_python_found perf_python_read(struct perf_python *p, const struct walk_python *python,
	const struct perf_sample *sample, const struct python_stack **ret)
{
	const struct python_memory then = {.read = read_then, .context = p, .pid = sample->pid};
	enum perf_python_found found = PERF_PYTHON_MOVED;

	p->sample = sample;
	p->live = python_memory_of(sample->pid);
	for (int i = 0; i < ATTEMPTS && found == PERF_PYTHON_MOVED; i++) {
		if (i)
			usleep(PAUSE_US);
		found = try_once(p, &then, python);
	}
	*ret = &p->stack;
	return found;
}
