// SPDX-License-Identifier: MIT
/*
 * From _PyRuntime to the threads (interpreters.head, each one's threads.head), each of which must
 * name its interpreter; from them to how a thread finds its own state (thread_state.c); from there
 * to frames, whose code objects must be of a type called "code". Only then the answer is "found".
 */
#include "python/interpreter.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "python/layout.h"
#include "python/remote.h"
#include "python/thread_state.h"

#define INTERPRETERS_MAX 16
#define ATTEMPTS	 5 /* to see frames of threads that run meanwhile */
#define PAUSE_NS	 2000000
#define FRAMES_CHECKED	 8
#define THREADS_MAX	 16384

/* Where the C library keeps the number of a thread, from its thread pointer on (x86-64): struct
 * pthread of glibc's nptl/descr.h, tid behind a header of 704 bytes and a list; and of musl's
 * src/internal/pthread_impl.h. */
static const uint32_t tid_places[] = {720, 48};

static uint32_t version_of(
	const struct python_memory *m, const struct python_file *file, uint64_t bias)
{
	uint32_t hex, version = python_layout_version(m, file->runtime + bias);

	if (version)
		return version;
	if (!file->version_address)
		return file->version_hint;
	return python_read(m, file->version_address + bias, &hex, sizeof(hex)) ? hex >> 16 : 0;
}

static void add_threads(struct python_states *s, const struct python_memory *m,
	const struct python_layout *l, uint64_t interpreter)
{
	uint64_t state, owner, thread;

	if (!python_read_word(m, interpreter + l->threads_head, &state))
		return;
	for (; state && s->count < PYTHON_STATES_MAX; s->count++) {
		if (!python_read_word(m, state + l->state_interpreter, &owner) ||
			owner != interpreter ||
			!python_read_word(m, state + l->state_thread_id, &thread))
			return;
		s->items[s->count] = (struct python_state){state, thread};
		if (!python_read_word(m, state + l->state_next, &state))
			state = 0;
	}
}

static void add_interpreters(struct python_states *s, const struct python_memory *m,
	const struct python_layout *l, uint64_t runtime)
{
	uint64_t interpreter;

	if (!python_read_word(m, runtime + l->interpreters_head, &interpreter))
		return;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		add_threads(s, m, l, interpreter);
		if (!python_read_word(m, interpreter + l->interpreter_next, &interpreter))
			return;
	}
}

static enum walk_python_layout kind_of(uint32_t version)
{
	if (version <= 0x030a)
		return WALK_PYTHON_OBJECTS;
	if (version == 0x030b)
		return WALK_PYTHON_CFRAMES;
	return version == 0x030c ? WALK_PYTHON_CSTACK : WALK_PYTHON_CURRENT;
}

/* The part of a frame that is read at once; false when it is larger than walkers read. */
static bool set_block(struct walk_python *p, const struct python_layout *l)
{
	uint32_t first = l->frame_code, last = l->frame_at + p->frame_at_size;

	if (l->frame_previous < first)
		first = l->frame_previous;
	if (l->frame_previous + 8 > last)
		last = l->frame_previous + 8;
	if (p->layout != WALK_PYTHON_OBJECTS && l->frame_owner + 1 > last)
		last = l->frame_owner + 1;
	last = (last + 7) & ~7u;
	p->frame_first = (uint16_t)first;
	p->frame_size = (uint16_t)(last - first);
	return !(first & 7) && last - first < 8 * WALK_PYTHON_WORDS &&
	       (!l->frame_bytes || last <= l->frame_bytes);
}

/* `loops` only where frames have no entries: elsewhere, a loop without a frame of its own would be
 * mistaken for the next group's. */
static void set_loops(struct walk_python *p, const struct python_file *file, uint64_t bias)
{
	for (int i = 0; i < WALK_LOOP_RANGES; i++)
		if (file->loops[i].end > file->loops[i].start)
			p->evaluation[i] = (struct walk_range){
				file->loops[i].start + bias, file->loops[i].end + bias};
	if (p->layout == WALK_PYTHON_OBJECTS)
		memcpy(p->loops, p->evaluation, sizeof(p->loops));
}

/* What is known before looking at threads; false: offsets that no frame has. */
static bool set_layout(struct walk_python *p, const struct python_layout *l, uint64_t runtime)
{
	bool objects = p->layout == WALK_PYTHON_OBJECTS;

	p->runtime = runtime;
	p->free_threaded = l->free_threaded;
	p->finalizing_address = runtime + l->finalizing;
	p->state_frame = (uint16_t)l->state_frame;
	p->cframe_frame = (uint16_t)l->cframe_frame;
	p->cframe_previous = (uint16_t)l->cframe_previous;
	p->frame_code = (uint16_t)l->frame_code;
	p->frame_at = (uint16_t)l->frame_at;
	p->frame_at_size = objects ? 4 : 8;
	p->frame_previous = (uint16_t)l->frame_previous;
	p->frame_owner = (uint16_t)(objects ? l->frame_code : l->frame_owner);
	/* is_entry is 0 or 1; of owners, FRAME_OWNED_BY_CSTACK (_INTERPRETER from 3.14 on) and
	 * those after it. */
	p->owner_entry = objects ? 256 : p->layout == WALK_PYTHON_CFRAMES ? 1 : 3;
	/* The file name, the name and two more addresses. */
	p->code_check = (uint16_t)(objects ? l->code_filename - 8 : l->code_filename);
	p->code_name = (uint16_t)(l->code_qualname ? l->code_qualname : l->code_name);
	p->code_file = (uint16_t)l->code_filename;
	p->code_lines = (uint16_t)l->code_linetable;
	return l->state_frame <= UINT16_MAX && l->frame_at <= UINT16_MAX &&
	       l->code_filename <= UINT16_MAX && set_block(p, l);
}

/* True when the object is of a type called "code". */
static bool is_code(const struct python_memory *m, const struct python_layout *l, uint64_t address)
{
	uint64_t type, name;
	char text[5];

	return python_read_word(m, address + l->object_type, &type) &&
	       python_read_word(m, type + l->type_name, &name) &&
	       python_read(m, name, text, sizeof(text)) && !memcmp(text, "code", sizeof(text));
}

enum verdict { NOTHING_TO_SEE, GOOD, BAD };

/* One code object where the layout has one is proof enough, and the innermost frames of a thread
 * that runs can be half made. */
static enum verdict check_frames(const struct python_memory *m, const struct python_layout *l,
	const struct walk_python *p, const struct python_states *states)
{
	enum verdict verdict = NOTHING_TO_SEE;
	struct python_stack stack;

	for (uint32_t i = 0; i < states->count; i++) {
		python_remote_walk(&stack, m, p, states->items[i].address);
		for (uint32_t k = 0; k < stack.depth && k < FRAMES_CHECKED; k++) {
			if (is_code(m, l, stack.frames[k].code & WALK_PYTHON_ADDRESS))
				return GOOD;
			verdict = BAD;
		}
	}
	return verdict;
}

/* A thread may have been put aside by the kernel in the middle of a call; so several looks, apart
 * in time. */
static enum verdict check_frames_patiently(const struct python_memory *m,
	const struct python_layout *l, const struct walk_python *p,
	const struct python_states *states)
{
	enum verdict verdict = check_frames(m, l, p, states);

	for (int i = 1; i < ATTEMPTS && verdict == BAD; i++) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		verdict = check_frames(m, l, p, states);
	}
	return verdict;
}

static bool find_own_state(struct walk_python *p, const struct python_memory *m,
	const struct python_layout *l, const struct python_file *file, uint64_t bias,
	const struct python_states *states)
{
	if (p->version <= 0x030e)
		return python_find_key(p, m, l, file->runtime_bytes, states);
	return python_find_variable(p, m, file->get_state ? file->get_state + bias : 0, states);
}

static enum python_found find_threads(struct walk_python *p, const struct python_memory *m,
	const struct python_layout *l, const struct python_file *file, uint64_t bias)
{
	struct python_states states = {0};
	enum verdict verdict;

	add_interpreters(&states, m, l, p->runtime);
	if (!states.count)
		return PYTHON_NOT_YET;
	verdict = check_frames_patiently(m, l, p, &states);
	if (verdict == BAD)
		return PYTHON_UNSUPPORTED;
	if (find_own_state(p, m, l, file, bias, &states))
		return PYTHON_FOUND;
	/* Threads know their states before the first of them runs any code. */
	return verdict == GOOD ? PYTHON_UNSUPPORTED : PYTHON_NOT_YET;
}

enum python_found python_find(const struct python_memory *m, const struct python_file *file,
	uint64_t bias, struct walk_python *ret)
{
	struct walk_python p = {.version = version_of(m, file, bias)};
	struct python_layout l;
	enum python_found found;
	int error;

	ret->version = p.version;
	error = python_layout_load(&l, m, file->runtime + bias, p.version);
	if (error)
		return error == -EIO ? PYTHON_NOT_YET : PYTHON_UNSUPPORTED;
	p.layout = kind_of(p.version);
	set_loops(&p, file, bias);
	if (!set_layout(&p, &l, file->runtime + bias))
		return PYTHON_UNSUPPORTED;
	found = find_threads(&p, m, &l, file, bias);
	if (found == PYTHON_FOUND)
		*ret = p;
	return found;
}

static bool is_thread(const struct python_memory *m, uint64_t thread_pointer, uint32_t tid)
{
	uint32_t found;

	for (size_t i = 0; i < sizeof(tid_places) / sizeof(*tid_places); i++)
		if (python_read(m, thread_pointer + tid_places[i], &found, sizeof(found)) &&
			found == tid)
			return true;
	return false;
}

static uint64_t find_thread_of(const struct python_memory *m, const struct python_layout *l,
	uint64_t interpreter, uint32_t tid)
{
	uint64_t state, thread;

	if (!python_read_word(m, interpreter + l->threads_head, &state))
		return 0;
	for (int i = 0; state && i < THREADS_MAX; i++) {
		if (!python_read_word(m, state + l->state_thread_id, &thread))
			return 0;
		if (is_thread(m, thread, tid))
			return thread;
		if (!python_read_word(m, state + l->state_next, &state))
			return 0;
	}
	return 0;
}

uint64_t python_find_thread(
	const struct python_memory *m, const struct walk_python *python, uint32_t tid)
{
	struct python_layout l;
	uint64_t interpreter, thread = 0;

	if (python_layout_load(&l, m, python->runtime, python->version) ||
		!python_read_word(m, python->runtime + l.interpreters_head, &interpreter))
		return 0;
	for (int i = 0; !thread && interpreter && i < INTERPRETERS_MAX; i++) {
		thread = find_thread_of(m, &l, interpreter, tid);
		if (!python_read_word(m, interpreter + l.interpreter_next, &interpreter))
			return thread;
	}
	return thread;
}
