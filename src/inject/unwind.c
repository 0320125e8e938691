// SPDX-License-Identifier: MIT
/*
 * The in-process home of the walkers.
 *
 * Nearly all frames have been met before, so the rule for an address is remembered: where it is in the tables (0: by
 * frame pointer), in one word, so that nobody needs a lock to read or write it. Addresses have 47 bits; times an
 * odd number, modulo 2^47, they are spread and still distinct: 15 bits are the slot, the others are in it.
 *
 *	  63                    32 31     26 25             0
 *	 +------------------------+---------+----------------+
 *	 |  32 bits of the key    |  turn   |  word address  |    turn as 1 to 63; 0: nothing is here
 *	 +------------------------+---------+----------------+
 *
 * Python's frames are walked first: where their evaluation loops are on the stack marks the native frames that
 * run Python code.
 */
#include "inject/unwind.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "inject/library.h"
#include "inject/space.h"

#define WALK_INLINE static inline
#include "walk/python_walk.h"
#include "walk/walk.h"

#define ADDRESS_BITS 47
#define SLOT_SHIFT   32
#define WORD_BITS    26
#define WORD_MASK    ((1u << WORD_BITS) - 1)
#define TURNS	     63u

_Static_assert(SPACE_RULE_SLOTS == 1u << (ADDRESS_BITS - SLOT_SHIFT), "the rest of the key is the slot");
_Static_assert((uint64_t)WALK_CHUNKS_MAX * WALK_CHUNK_WORDS == 1ull << WORD_BITS, "word addresses");

/* The walk, and what it may read. */
struct home {
	struct walk walk; /* first: the walker knows this part only */
	const struct space_copy *copy;
	uintptr_t start, end; /* of the stack */
	uint32_t turn;
};

static bool walk_home_mapping(struct walk *w, uint32_t i, struct walk_mapping *ret)
{
	const struct home *h = (const struct home *)w;

	if (i >= h->copy->count)
		return false;
	*ret = h->copy->mappings[i];
	return true;
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	const uint32_t *words = space_words(at, count);

	if (words)
		memcpy(ret, words, count * sizeof(*ret));
	return words;
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	const struct home *h = (const struct home *)w;

	if (address < h->start || address > h->end - sizeof(*ret))
		return false;
	memcpy(ret, (const void *)(uintptr_t)address, sizeof(*ret));
	return true;
}

/* What a pointer of the interpreter's can be at all; that it is one, the recorder has checked. */
static bool is_pointer(uint64_t address)
{
	return !(address & 3) && address >= 4096 && address < (1ull << ADDRESS_BITS) - 4096;
}

static bool walk_python_home_read(
	struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size)
{
	if (!is_pointer(address) || size > sizeof(s->words))
		return false;
	memcpy(ret, (const void *)(uintptr_t)address, size);
	return true;
}

/* As PyThread_tss_get, which is pthread_getspecific: of a key that is gone it says NULL. */
static bool walk_python_home_state(
	struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret)
{
	uint32_t words[2]; /* Py_tss_t: whether there is a key, and which */

	if (p->state_tls)
		return walk_python_state_of(
			s, p, (uint64_t)(uintptr_t)__builtin_thread_pointer(), ret);
	if (!walk_python_home_read(s, p->tss_address, words, sizeof(words)) || !words[0] ||
		words[1] >= PTHREAD_KEYS_MAX)
		return false;
	*ret = (uint64_t)(uintptr_t)pthread_getspecific(words[1]);
	return *ret;
}

static const struct walk_rule *rule_at(struct walk *w, uint32_t at)
{
	static const struct walk_rule frame_pointer = WALK_RULE_FRAME_POINTER;
	const struct walk_rule *rule = &frame_pointer;

	if (at)
		rule = (const struct walk_rule *)space_words(at, sizeof(*rule) / sizeof(at));
	if (!rule)
		walk_fail(w, WALK_NO_RULE);
	return rule;
}

/* The rule for the code that the walk is in; NULL: w->end says why there is none. */
static const struct walk_rule *find_rule(struct home *h)
{
	struct walk *w = &h->walk;
	uint64_t address = w->pc - !w->exact, key, entry, head;
	uint64_t *slot;
	uint32_t at;

	key = address * 0x9e3779b97f4a7c15ull & ((1ull << ADDRESS_BITS) - 1);
	slot = &space->rules[key >> SLOT_SHIFT];
	head = key << 32 | (1 + h->turn % TURNS) << WORD_BITS;
	entry = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (address >> ADDRESS_BITS) {
		walk_fail(w, WALK_NO_MAPPING);
		return NULL;
	}
	if (!((entry ^ head) >> WORD_BITS))
		return rule_at(w, entry & WORD_MASK);
	if (!walk_locate_rule(w, address, &at))
		return NULL;
	if (at <= WORD_MASK)
		__atomic_store_n(slot, head | at, __ATOMIC_RELAXED);
	return rule_at(w, at);
}

static void walk_python_frames(const struct walk_python *p, struct walk_python_stack *s)
{
	s->depth = s->entry_count = 0;
	s->complete = 1;
	if (p->layout != WALK_PYTHON_NONE)
		walk_python(s, p);
}

static void walk_native_frames(struct home *h, const struct walk_python_stack *s, struct unwound *ret)
{
	struct walk *w = &h->walk;
	const struct walk_rule *rule;
	uint32_t entry = 0, depth = 0;

	w->entry = s->entry_count ? s->entries[0] : 0;
	w->end = WALK_DEPTH;
	while (depth < WALK_FRAMES_MAX) {
		uint64_t *frame = &ret->words[depth++];

		*frame = walk_frame(w);
		rule = find_rule(h);
		if (!rule || !walk_step_by(w, rule, frame))
			break;
		if (*frame & WALK_FRAME_PYTHON)
			w->entry = ++entry < s->entry_count ? s->entries[entry] : 0;
	}
	ret->user_depth = depth;
	ret->walk_end = w->end;
}

/*
 *	frame:      saved rbp
 *	frame + 8:  return address
 *	frame + 16: the caller's stack
 */
void unwind_stack(uintptr_t frame, uintptr_t end, struct unwound *ret)
{
	const uint64_t *slots = (const uint64_t *)frame;
	struct walk_python_stack python;
	struct home h;

	h.turn = __atomic_load_n(&space->turn, __ATOMIC_ACQUIRE);
	h.copy = &space->copies[h.turn & 1];
	h.start = frame;
	h.end = end;
	h.walk = (struct walk){.pc = slots[1],
		.sp = frame + 16,
		.fp = slots[0],
		.mapping_count = h.copy->count < WIRE_MAPPINGS ? h.copy->count : WIRE_MAPPINGS};
	memcpy(h.walk.loops, h.copy->python.loops, sizeof(h.walk.loops));
	walk_python_frames(&h.copy->python, &python);
	walk_native_frames(&h, &python, ret);
	ret->python_depth = python.depth;
	ret->python_incomplete = !python.complete;
	memcpy(ret->words + ret->user_depth, python.frames, python.depth * sizeof(python.frames[0]));
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* what was read comes before the second look */
	if (__atomic_load_n(&space->turn, __ATOMIC_RELAXED) != h.turn)
		ret->walk_end = WALK_STALE;
}
