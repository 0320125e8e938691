// SPDX-License-Identifier: MIT
/*
 *	loops on the stack	 0     1     2     3     4
 *	frames of now		    a  b     c     d     e
 *				       ^ this loop's region has the address of d
 *
 * The outer frames are those of now, from the innermost one on whose address is in its loop's
 * region: a frame's link to its caller stays as long as it runs.
 *
 * The frames of the loops within have been left. A frame object that was left is kept for the next
 * call, and has its code until then. Its address is in the loop's own frame, or was saved by what
 * the loop called; and so is the address of the loop's next instruction, which has to be in that
 * code.
 */
#include "capture/perf_objects.h"

#include <string.h>

#include "base/map.h"

#define TYPE_AT	       8  /* ob_type, in an object */
#define CODE_BYTES_AT  48 /* co_code, in a code object: a bytes object, */
#define BYTES_SIZE_AT  16 /* in which is its size, */
#define BYTES_AT       32 /* and the bytes */
#define LOOPS_COMPARED 4
#define LEFT_MAX       32     /* loops; of a stack that was left altogether nothing is shown */
#define LOOKS	       8      /* for a chain that has an end */
#define UNIT_BYTES     2      /* an instruction */
#define UNITS_SINCE    0x030a /* from then on f_lasti counts instructions, before bytes */

struct search {
	struct perf_memory *pm;
	struct python_memory m;
	const struct walk_python *python;
	const struct perf_loops *loops;
	struct map known;			 /* frames of now -> 1 + their place in `frames` */
	uint64_t frames[WALK_PYTHON_FRAMES_MAX]; /* outermost first */
	uint32_t count;
	uint32_t shift;
	uint64_t frame_type, code_type;
};

/* The instructions of a code object. */
struct bytecode {
	uint64_t start, end;
};

static bool read_word(const struct search *s, uint64_t address, uint64_t *ret)
{
	return python_read_word(&s->m, address, ret);
}

static bool read_bytecode(const struct search *s, uint64_t code, struct bytecode *ret)
{
	uint64_t bytes, size;

	if (!read_word(s, code + CODE_BYTES_AT, &bytes) ||
		!read_word(s, bytes + BYTES_SIZE_AT, &size) || !size || size > UINT32_MAX)
		return false;
	*ret = (struct bytecode){bytes + BYTES_AT, bytes + BYTES_AT + size};
	return true;
}

static void reverse(uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint64_t word = words[i];

		words[i] = words[count - 1 - i];
		words[count - 1 - i] = word;
	}
}

/* Whether the outermost loop has this frame, if it is known which loop that is. */
static bool is_root(const struct search *s, uint64_t frame)
{
	const struct perf_sample *sample = s->pm->sample;
	struct perf_region region = perf_loop_region(s->loops, s->loops->count - 1, sample);

	return !s->loops->whole || perf_is_mentioned(sample, region, frame, frame);
}

/* The chain of frames, outermost first: how many; 0: it ends elsewhere, as it changed meanwhile. */
static uint32_t read_chain_once(const struct search *s, uint64_t state, uint64_t *frames)
{
	uint32_t count = 0;
	uint64_t frame;

	perf_memory_renew(s->pm);
	if (!read_word(s, state + s->python->state_frame, &frame))
		return 0;
	while (frame && count < WALK_PYTHON_FRAMES_MAX) {
		frames[count++] = frame;
		if (!read_word(s, frame + s->python->frame_previous, &frame))
			return 0;
	}
	reverse(frames, count);
	return frame || !count || !is_root(s, frames[0]) ? 0 : count;
}

static uint32_t read_chain(const struct search *s, uint64_t state, uint64_t *frames)
{
	uint32_t count = 0;

	for (int i = 0; i < LOOKS && !count; i++)
		count = read_chain_once(s, state, frames);
	return count;
}

/* The frames that two looks found: what changes meanwhile are the inner ones. */
static bool read_frames(struct search *s, uint64_t state)
{
	uint64_t before[WALK_PYTHON_FRAMES_MAX], code;
	uint32_t most = read_chain(s, state, before), now = read_chain(s, state, s->frames);

	while (s->count < most && s->count < now && before[s->count] == s->frames[s->count]) {
		if (map_put(&s->known, s->frames[s->count], s->count + 1))
			return false;
		s->count++;
	}
	return s->count && read_word(s, s->frames[0] + TYPE_AT, &s->frame_type) &&
	       read_word(s, s->frames[0] + s->python->frame_code, &code) &&
	       read_word(s, code + TYPE_AT, &s->code_type);
}

/* --- those that are still there --------------------------------------------------------------- */

/* Loops and frames from the outermost of those that are compared on. */
static uint32_t loop_at(const struct search *s, uint32_t i)
{
	return s->loops->count - 1 - i;
}

static bool has_frame(const struct search *s, uint32_t i, uint32_t frame)
{
	const struct perf_sample *sample = s->pm->sample;

	return i < s->loops->count && frame < s->count &&
	       perf_is_mentioned(sample, perf_loop_region(s->loops, loop_at(s, i), sample),
		       s->frames[frame], s->frames[frame]);
}

/* Whether a word in the outermost loop's region is its frame: the loops within it then have those
 * that it called. */
static bool is_outermost(void *context, uint64_t word)
{
	struct search *s = context;
	const uint64_t *place = map_get(&s->known, word);

	s->shift = place ? (uint32_t)*place - 1 : 0;
	for (uint32_t i = 1; place && i < LOOPS_COMPARED && i < s->loops->count; i++)
		if (!has_frame(s, i, i + s->shift))
			place = NULL;
	return place;
}

/* Which loop has which frame: s->shift are the frames outside of the copy. */
static bool find_shift(struct search *s)
{
	s->shift = 0;
	return s->loops->whole ||
	       perf_each_word(s->pm->sample,
		       perf_loop_region(s->loops, loop_at(s, 0), s->pm->sample), is_outermost, s);
}

/* How many loops have the frames of now. */
static uint32_t count_unchanged(const struct search *s)
{
	uint32_t i = 0;

	while (has_frame(s, i, i + s->shift))
		i++;
	return i;
}

/* --- the instruction of a loop ---------------------------------------------------------------- */

struct instructions {
	struct bytecode in;
	uint64_t first_seen; /* 0: none, but for the first of the code */
	bool mentioned, several;
};

static bool note_instruction(void *context, uint64_t word)
{
	struct instructions *at = context;

	if (word < at->in.start || word > at->in.end)
		return false;
	at->mentioned = true;
	if (word == at->in.start || (word - at->in.start) % UNIT_BYTES)
		return false;
	at->several |= at->first_seen && at->first_seen != word;
	at->first_seen = at->first_seen ?: word;
	return false;
}

/* Whether the loop ran this code; *lasti is replaced where its instruction is known. */
static bool ran_code(const struct search *s, uint32_t loop, uint64_t code, uint64_t *lasti)
{
	struct instructions at = {0};

	if (!read_bytecode(s, code, &at.in))
		return false;
	perf_each_word(s->pm->sample, perf_loop_own_region(s->loops, loop, s->pm->sample),
		note_instruction, &at);
	if (at.first_seen && !at.several) {
		*lasti = at.first_seen - at.in.start - UNIT_BYTES;
		if (s->python->version >= UNITS_SINCE)
			*lasti /= UNIT_BYTES;
	}
	return at.mentioned;
}

/* --- those that have been left ---------------------------------------------------------------- */

struct left {
	const struct search *search;
	uint32_t loop;
	uint64_t inner; /* the frame of the loop within, whose address may be here, too */
	uint64_t frame, code, lasti;
};

static bool is_frame_left(void *context, uint64_t word)
{
	struct left *left = context;
	const struct search *s = left->search;
	uint64_t type, lasti = 0;

	if (word & 7 || word == left->inner || word < PERF_PAGE_BYTES ||
		word > WALK_PYTHON_ADDRESS || perf_is_copied(s->pm->sample, word, 8) ||
		map_get(&s->known, word) || !read_word(s, word + TYPE_AT, &type) ||
		type != s->frame_type || !read_word(s, word + s->python->frame_code, &left->code) ||
		!read_word(s, left->code + TYPE_AT, &type) || type != s->code_type ||
		!python_read(&s->m, word + s->python->frame_at, &lasti, s->python->frame_at_size))
		return false;
	left->frame = word;
	left->lasti = lasti;
	return ran_code(s, left->loop, left->code, &left->lasti);
}

static bool find_left(const struct search *s, uint32_t loop, struct left *left)
{
	*left = (struct left){.search = s, .loop = loop, .inner = left->frame};
	return perf_each_word(s->pm->sample, perf_loop_own_region(s->loops, loop, s->pm->sample),
		is_frame_left, left);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void push(struct python_stack *ret, const struct search *s, uint64_t code, uint64_t lasti)
{
	uint64_t check[4];
	struct walk_python_frame *frame = &ret->frames[ret->depth++];

	frame->code = code;
	if (code && python_read(&s->m, code + s->python->code_check, check, sizeof(check)))
		frame->code |= walk_python_check(check) << 48;
	frame->at = (lasti & UINT32_MAX) | WALK_PYTHON_LAST;
}

static void push_frame_of_now(
	struct python_stack *ret, const struct search *s, uint32_t i, const uint32_t *loop)
{
	uint64_t code = 0, lasti = 0;

	(void)read_word(s, s->frames[i] + s->python->frame_code, &code);
	(void)python_read(
		&s->m, s->frames[i] + s->python->frame_at, &lasti, s->python->frame_at_size);
	if (loop)
		(void)ran_code(s, *loop, code, &lasti);
	push(ret, s, code, lasti);
}

static bool find(struct search *s, struct python_stack *ret, uint32_t *ret_unknown)
{
	uint32_t unchanged = find_shift(s) ? count_unchanged(s) : 0, frame, loop;
	struct left left = {0};

	ret->depth = ret->entry_count = *ret_unknown = 0;
	if (!unchanged || s->loops->count - unchanged > LEFT_MAX)
		return false;
	loop = loop_at(s, unchanged - 1);
	for (uint32_t i = 0; i < loop; i++) {
		bool known = find_left(s, i, &left);

		*ret_unknown += !known;
		left.frame = known ? left.frame : 0;
		push(ret, s, known ? left.code : 0, left.lasti);
	}
	frame = s->shift + unchanged;
	push_frame_of_now(ret, s, --frame, &loop);
	while (frame && ret->depth < WALK_PYTHON_FRAMES_MAX)
		push_frame_of_now(ret, s, --frame, NULL);
	ret->complete = true;
	return true;
}

bool perf_objects_find(struct python_stack *ret, uint32_t *ret_unknown, struct perf_memory *pm,
	const struct walk_python *python, const struct perf_loops *loops, uint64_t state)
{
	struct search s = {.pm = pm, .m = perf_memory_of(pm), .python = python, .loops = loops};
	bool found = read_frames(&s, state) && find(&s, ret, ret_unknown);

	map_release(&s.known);
	return found;
}
