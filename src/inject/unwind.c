// SPDX-License-Identifier: MIT
/*
 * The in-process home of the walkers.
 *
 * Nearly all frames have been met before, so the rule for an address is remembered. It is kept in
 * one word, so that nobody needs a lock to read or write it. Addresses have 47 bits. Multiplied by
 * an odd number, modulo 2^47, they are spread and still distinct: 15 bits select the slot, the
 * others are kept in it.
 *
 *	  63                    32 31     26  25 24 23    18 17        0
 *	 +------------------------+---------+---+---+--------+----------+
 *	 |  32 bits of the key    |  turn   | 1 |fp?| fp at  |   size   |   CFA: sp or fp + 8 * size; the return
 *	 +------------------------+---------+---+---+--------+----------+   address below it; fp saved at
 *	 |  32 bits of the key    |  turn   | 0 |     word address      |   CFA - 8 * (fp at), or (0) unchanged
 *	 +------------------------+---------+---+-----------------------+
 *
 * Nearly all rules have the first form; the others are read from the tables. The turn is a number
 * from 1 to 63; 0: the slot is empty.
 *
 * Python's frames are walked first: the positions of their evaluation loops on the stack mark the
 * native frames that run Python code. walk/python_walk.h explains which reads of the interpreter's
 * memory are safe, and why. Each read here follows a pointer that is kept alive in the same way.
 */
#include "inject/unwind.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>

#include "base/bare/hash_step.h"
#include "inject/library.h"
#include "inject/space.h"

#define WALK_INLINE static inline
#include "walk/cut.h"
#include "walk/python_walk.h"
#include "walk/walk.h"

#define ADDRESS_BITS 47
#define SLOT_SHIFT   32
#define RULE_BITS    26
#define RULE_MASK    ((1u << RULE_BITS) - 1)
#define TURNS	     63u

#define RULE_SIMPLE (1u << 25)
#define RULE_FP	    (1u << 24)
#define SAVED_SHIFT 18
#define SAVED_MASK  63u
#define SIZE_MASK   ((1u << SAVED_SHIFT) - 1)

_Static_assert(
	SPACE_RULE_SLOTS == 1u << (ADDRESS_BITS - SLOT_SHIFT), "the rest of the key is the slot");

#define NO_SLOT UINT64_MAX

/* The walk, and what it may read. */
struct home {
	struct walk walk; /* first: the walker sees this part only */
	const struct space_copy *copy;
	struct unwound *out;
	uint64_t fp_slot;     /* where the frame pointer was read, or NO_SLOT */
	uint32_t loop;	      /* the next one of Python's entries */
	uint32_t turn;	      /* as in rules */
	uintptr_t start, end; /* of the stack; end 0: unknown */
};

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret)
{
	const struct space_copy *copy = ((const struct home *)w)->copy;
	uint32_t count = copy->count < WIRE_MAPPINGS ? copy->count : WIRE_MAPPINGS;

	return walk_search_mappings(copy->mappings, count, address, ret);
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	const uint32_t *words = space_words(at, count);

	if (words)
		memcpy(ret, words, count * sizeof(*ret));
	return words;
}

/* Memory that may be unmapped is read by the kernel. */
static bool read_carefully(uint64_t address, uint64_t *ret)
{
	struct iovec here = {ret, sizeof(*ret)}, there = {(void *)(uintptr_t)address, sizeof(*ret)};
	int before = errno;
	bool read = process_vm_readv(library.pid, &here, 1, &there, 1, 0) == sizeof(*ret);

	errno = before;
	return read;
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	const struct home *h = (const struct home *)w;

	if (!h->end)
		return read_carefully(address, ret);
	if (address < h->start || address > h->end - sizeof(*ret))
		return false;
	memcpy(ret, (const void *)(uintptr_t)address, sizeof(*ret));
	return true;
}

/* Whether it can be a pointer of the interpreter's at all; that it is one, the recorder has
 * checked. */
static bool is_pointer(uint64_t address)
{
	return !(address & 3) && address >= 4096 && address < (1ull << ADDRESS_BITS) - 4096;
}

static bool walk_python_home_read(
	struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size)
{
	const uint64_t *from = (const uint64_t *)(uintptr_t)address;
	uint64_t *to = ret;

	if (!is_pointer(address) || size > sizeof(s->words))
		return false;
	for (uint32_t i = 0; i < size / sizeof(*to); i++)
		memcpy(to + i, from + i, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* in the order in which the walk asks for them */
	return true;
}

/* Whether another thread has begun to end the interpreter: the state may be gone. */
static bool is_given_up(struct walk_python_stack *s, const struct walk_python *p, uint64_t state)
{
	uint64_t finalizing = 0;

	return p->finalizing_address &&
	       (!walk_python_home_read(s, p->finalizing_address, &finalizing, sizeof(finalizing)) ||
		       (finalizing && finalizing != state));
}

/* As PyThread_tss_get, which is pthread_getspecific: for a key that is gone it returns NULL. */
static bool walk_python_home_state(
	struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret)
{
	uint32_t words[2]; /* Py_tss_t: whether there is a key, and which */

	if (p->state_tls)
		return walk_python_state_of(
			       s, p, (uint64_t)(uintptr_t)__builtin_thread_pointer(), ret) &&
		       !is_given_up(s, p, *ret);
	if (!walk_python_home_read(s, p->tss_address, words, sizeof(words)) || !words[0] ||
		words[1] >= PTHREAD_KEYS_MAX)
		return false;
	*ret = (uint64_t)(uintptr_t)pthread_getspecific(words[1]);
	return *ret && !is_given_up(s, p, *ret);
}

/* ---- rules ---- */

/* A rule in RULE_BITS; 0: it does not fit, and its address in the tables is kept. */
static uint32_t pack_rule(const struct walk_rule *r)
{
	uint32_t packed =
		RULE_SIMPLE | (r->cfa == WALK_CFA_FP ? RULE_FP : 0) | (uint32_t)r->cfa_offset / 8;

	if ((r->cfa != WALK_CFA_SP && r->cfa != WALK_CFA_FP) || r->ra != WALK_SAVED_CFA ||
		r->ra_offset != -8 || r->cfa_offset < 8 || r->cfa_offset % 8 ||
		(uint32_t)r->cfa_offset / 8 > SIZE_MASK)
		return 0;
	if (r->fp == WALK_SAVED_SAME)
		return packed;
	if (r->fp != WALK_SAVED_CFA || r->fp_offset > -8 || r->fp_offset % 8 ||
		(uint32_t)-r->fp_offset / 8 > SAVED_MASK)
		return 0;
	return packed | ((uint32_t)-r->fp_offset / 8) << SAVED_SHIFT;
}

static struct walk_rule unpack_rule(uint32_t packed)
{
	uint32_t saved = packed >> SAVED_SHIFT & SAVED_MASK;

	return (struct walk_rule){
		.cfa = packed & RULE_FP ? WALK_CFA_FP : WALK_CFA_SP,
		.fp = saved ? WALK_SAVED_CFA : WALK_SAVED_SAME,
		.ra = WALK_SAVED_CFA,
		.cfa_offset = (int32_t)(packed & SIZE_MASK) * 8,
		.fp_offset = -(int32_t)saved * 8,
		.ra_offset = -8,
	};
}

static bool read_rule(uint32_t at, struct walk_rule *ret)
{
	const uint32_t *words = space_words(at, sizeof(*ret) / sizeof(at));

	if (words)
		memcpy(ret, words, sizeof(*ret));
	return words;
}

/* The rule from the tables: WALK_NONE, or why there is none; *ret_packed: what a slot may hold of
 * it, or 0. */
static __attribute__((noinline)) uint32_t look_up(const struct space_copy *copy, uint64_t address,
	struct walk_rule *ret, uint32_t *ret_packed)
{
	struct home h = {.copy = copy};
	uint32_t at;

	if (!walk_locate_rule(&h.walk, address, &at))
		return h.walk.end;
	if (!at)
		*ret = WALK_RULE_FRAME_POINTER;
	else if (!read_rule(at, ret))
		return WALK_NO_RULE;
	*ret_packed = pack_rule(ret);
	if (!*ret_packed && at < RULE_SIMPLE)
		*ret_packed = at;
	return WALK_NONE;
}

/* The slot of an address, and the upper bits that the slot has when its rule is that of the
 * address. */
static inline uint64_t *slot_of(uint64_t address, uint32_t turn, uint64_t *ret_head)
{
	uint64_t key = address * HASH_FACTOR & ((1ull << ADDRESS_BITS) - 1);

	*ret_head = (key << 32 | (uint64_t)turn << RULE_BITS) >> RULE_BITS;
	return &space->rules[key >> SLOT_SHIFT];
}

/* The rule for the code that the walk is in; false: none, for the reason in the walk's end. */
static bool find_rule(struct home *h, struct walk_rule *ret)
{
	uint64_t address = walk_address(&h->walk), entry, head, *slot;
	uint32_t end, packed;

	if (address >> ADDRESS_BITS)
		return walk_fail(&h->walk, WALK_NO_MAPPING);
	slot = slot_of(address, h->turn, &head);
	entry = __atomic_load_n(slot, __ATOMIC_RELAXED);
	packed = entry & RULE_MASK;
	if (entry >> RULE_BITS == head) {
		if (!(packed & RULE_SIMPLE))
			return read_rule(packed, ret) || walk_fail(&h->walk, WALK_NO_RULE);
		*ret = unpack_rule(packed);
		return true;
	}
	end = look_up(h->copy, address, ret, &packed);
	if (end != WALK_NONE)
		return walk_fail(&h->walk, end);
	if (packed)
		__atomic_store_n(slot, head << RULE_BITS | packed, __ATOMIC_RELAXED);
	return true;
}

/* ---- what a walk reads (repeat.h) ---- */

static inline uint16_t slot_at(struct home *h, uint64_t address)
{
	uint64_t offset = address - h->out->frame;

	if (offset % 8 || offset / 8 >= UINT16_MAX)
		h->out->repeatable = false;
	return (uint16_t)(offset / 8);
}

/* A frame is found by this word of the stack, which points into it. */
static inline void note_base(struct home *h, uint64_t slot, uint64_t word)
{
	struct unwound *out = h->out;
	uint32_t n = out->base_count;

	if (slot == NO_SLOT || n == UNWOUND_BASES) {
		out->repeatable = false;
		return;
	}
	out->base_slots[n] = slot_at(h, slot);
	out->bases[n] = word - out->frame;
	out->base_count = n + 1;
}

/* A function that realigns its stack keeps its CFA in a word of it. */
static void note_deref(struct home *h, uint64_t slot)
{
	uint64_t word = 0;

	if (!walk_home_read(&h->walk, slot, &word))
		h->out->repeatable = false;
	note_base(h, slot, word);
}

/* Before a step by this rule, of any kind. */
static void note_rule(struct home *h, const struct walk_rule *rule)
{
	const struct walk *w = &h->walk;

	if (rule->cfa == WALK_CFA_REGISTER || rule->cfa == WALK_CFA_SIGNAL)
		h->out->repeatable = false;
	if (rule->cfa != WALK_CFA_END && rule->ra != WALK_SAVED_CFA)
		h->out->repeatable = false;
	if (rule->cfa == WALK_CFA_FP || rule->cfa == WALK_CFA_FP_DEREF || rule->fp == WALK_SAVED_FP)
		note_base(h, h->fp_slot, w->fp);
	if (rule->cfa == WALK_CFA_FP_DEREF)
		note_deref(h, w->fp + (int64_t)rule->cfa_offset);
	if (rule->cfa == WALK_CFA_SP_DEREF)
		note_deref(h, w->sp + (int64_t)rule->cfa_offset);
	if (rule->fp == WALK_SAVED_FP)
		h->fp_slot = h->walk.fp + (int64_t)rule->fp_offset;
	else if (rule->fp == WALK_SAVED_UNKNOWN)
		h->fp_slot = NO_SLOT;
}

/* After it: where the caller's address and frame pointer came from. */
static void note_step(struct home *h, const struct walk_rule *rule, uint32_t depth)
{
	if (depth < WALK_FRAMES_MAX)
		h->out->slots[depth] = slot_at(h, h->walk.sp + (int64_t)rule->ra_offset);
	if (rule->fp == WALK_SAVED_CFA)
		h->fp_slot = h->walk.sp + (int64_t)rule->fp_offset;
}

/* ---- the walks ---- */

static void walk_python_frames(struct unwound *u)
{
	for (int i = 0; i < WALK_PYTHON_STEPS_MAX && walk_python_step(&u->python, u->interpreter);
		i++)
		;
	u->python_walked = true;
}

/* A thread that runs no Python has all of its frames. With tls_module that is unknown
 * (walk/python_walk.h explains why). Before Python 3.12 the frames are walked at once; later ones
 * are recognized without a walk. */
void unwind_begin(struct unwound *ret, uintptr_t frame)
{
	const struct walk_python *p = __atomic_load_n(&space->python, __ATOMIC_ACQUIRE);
	bool can_walk = p && p->layout != WALK_PYTHON_NONE && !p->tls_module;

	ret->frame = frame;
	ret->interpreter = p;
	ret->python_walked = !can_walk || !walk_python_begin(&ret->python, p);
	if (ret->python_walked) {
		ret->python.depth = ret->python.entry_count = 0;
		ret->python.complete = !p || can_walk;
	} else if (p->layout < WALK_PYTHON_CSTACK) {
		walk_python_frames(ret);
	}
}

static inline uint64_t load(uint64_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
	return word;
}

static inline bool is_entry(const struct walk_python *p, uint64_t frame)
{
	return *(const uint8_t *)(uintptr_t)(frame + p->frame_owner) >= p->owner_entry;
}

/* Whether the interpreter's frame there would be walked as `f`. */
static inline bool is_python_frame(
	const struct walk_python *p, uint64_t frame, const struct walk_python_frame *f)
{
	uint64_t code = f->code & WALK_PYTHON_ADDRESS, check[4];

	if (!is_pointer(frame) || is_entry(p, frame) ||
		(load(frame + p->frame_code) & WALK_PYTHON_ADDRESS & ~7ull) != code ||
		(load(frame + p->frame_at) & WALK_PYTHON_ADDRESS) !=
			(f->at & WALK_PYTHON_ADDRESS) ||
		!is_pointer(code))
		return false;
	memcpy(check, (const void *)(uintptr_t)(code + p->code_check), sizeof(check));
	return walk_python_check(check) == f->code >> 48;
}

/* The frames from 3.12 on: each group is followed by the frame of its loop, on this stack. */
static bool follow_python(const struct unwound *u, const struct walk_python_frame *frames,
	uint32_t depth, const uint64_t *entries, uint32_t entry_count)
{
	const struct walk_python *p = u->interpreter;
	uint64_t frame = u->python.frame;
	uint32_t entry = 0;

	for (uint32_t i = 0; i < depth; i++) {
		if (!is_python_frame(p, frame, &frames[i]))
			return false;
		frame = load(frame + p->frame_previous);
		if (!(frames[i].at & WALK_PYTHON_LAST))
			continue;
		if (entry == entry_count || frame != u->frame + entries[entry++] ||
			!is_entry(p, frame))
			return false;
		frame = load(frame + p->frame_previous);
	}
	return !frame && entry == entry_count;
}

bool unwind_has_python(const struct unwound *u, const struct walk_python_frame *frames,
	uint32_t depth, const uint64_t *entries, uint32_t entry_count)
{
	const struct walk_python_stack *s = &u->python;

	if (!u->python_walked)
		return follow_python(u, frames, depth, entries, entry_count);
	if (s->depth != depth || s->entry_count != entry_count || !s->complete)
		return false;
	for (uint32_t i = 0; i < entry_count; i++)
		if (s->entries[i] != u->frame + entries[i])
			return false;
	return !memcmp(s->frames, frames, depth * sizeof(*frames));
}

/* 0 is below every stack: no frame has it. */
static inline void next_loop(struct home *h)
{
	const struct walk_python_stack *python = &h->out->python;

	h->walk.entry = h->loop < python->entry_count ? python->entries[h->loop++] : 0;
}

/* One step from the frame at `depth`, whatever the rule. */
static __attribute__((noinline)) bool step(struct home *h, uint32_t depth)
{
	uint64_t *ret_frame = &h->out->words[depth];
	struct walk_rule rule;
	bool go_on = false;

	*ret_frame = walk_frame(&h->walk);
	if (find_rule(h, &rule)) {
		note_rule(h, &rule);
		go_on = walk_step_by(&h->walk, &rule, ret_frame);
	}
	if (go_on)
		note_step(h, &rule, depth + 1);
	if (*ret_frame & WALK_FRAME_PYTHON)
		next_loop(h);
	return go_on;
}

/*
 * Steps by rules of the simple kind, from the frame at `depth` to others on this stack: the depth
 * it has come to. The walker takes such steps too, by any rule, but each through memory, which
 * takes three times as long. When a check here fails, the walker's own step finds the reason.
 */
static uint32_t simple_steps(struct home *h, uint32_t depth)
{
	struct unwound *out = h->out;
	struct walk *w = &h->walk;
	uint64_t pc = w->pc, sp = w->sp, fp = w->fp;
	const uint64_t start = h->start, end = h->end;
	uint32_t n = depth;

	while (n < WALK_FRAMES_MAX) {
		uint64_t head, rule, cfa, saved;

		rule = __atomic_load_n(slot_of(pc - 1, h->turn, &head), __ATOMIC_RELAXED);
		if (rule >> RULE_BITS != head || !(rule & RULE_SIMPLE))
			break;
		cfa = (rule & RULE_FP ? fp : sp) + 8 * (rule & SIZE_MASK);
		saved = rule >> SAVED_SHIFT & SAVED_MASK;
		if (cfa <= sp || cfa > end || cfa - 8 * saved < start ||
			!*(const uint64_t *)(cfa - 8))
			break;
		out->words[n] = pc;
		if (w->entry - sp < cfa - sp) {
			out->words[n] |= WALK_FRAME_PYTHON;
			next_loop(h);
		}
		if (++n < WALK_FRAMES_MAX)
			out->slots[n] = slot_at(h, cfa - 8);
		if (rule & RULE_FP)
			note_base(h, h->fp_slot, fp);
		if (saved) {
			h->fp_slot = cfa - 8 * saved;
			fp = *(const uint64_t *)h->fp_slot;
		}
		pc = *(const uint64_t *)(cfa - 8);
		sp = cfa;
	}
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	if (n > depth)
		w->bx_slot = WALK_BX_LOST; /* simple rules do not contain it */
	return n;
}

/* Before Python 3.11 loops are identified by their code. */
static bool may_be_simple(const struct home *h)
{
	return h->end && !h->walk.exact && (h->walk.entry || !h->walk.loops[0].end);
}

static void walk_native_frames(struct home *h)
{
	uint32_t depth = 0, cut = 0;
	bool go_on = true;

	next_loop(h);
	h->walk.end = WALK_DEPTH;
	while (go_on && depth + cut < WALK_FOLLOWED_MAX) {
		if (depth == WALK_FRAMES_MAX) {
			depth = walk_cut(h->out->words);
			cut += WALK_CUT_FRAMES;
			h->out->repeatable = false;
		}
		if (may_be_simple(h))
			depth = simple_steps(h, depth);
		if (depth < WALK_FRAMES_MAX)
			go_on = step(h, depth++);
	}
	h->out->user_depth = depth;
	h->out->walk_end = h->walk.end;
}

/*
 *	frame:      saved rbp
 *	frame + 8:  return address
 *	frame + 16: the caller's stack
 */
void unwind_stack(struct unwound *ret, uintptr_t end)
{
	const uint64_t *slots = (const uint64_t *)ret->frame;
	uint32_t turn = __atomic_load_n(&space->turn, __ATOMIC_ACQUIRE);
	struct home h = {.copy = &space->copies[turn & 1],
		.start = ret->frame,
		.end = end,
		.turn = 1 + turn % TURNS,
		.out = ret,
		.fp_slot = ret->frame,
		.walk = {.pc = slots[1], .sp = ret->frame + 16, .fp = slots[0]}};

	if (!ret->python_walked)
		walk_python_frames(ret);
	ret->base_count = 0;
	ret->repeatable = true;
	ret->slots[0] = 1;
	if (ret->python.depth)
		memcpy(h.walk.loops, ret->interpreter->loops, sizeof(h.walk.loops));
	walk_native_frames(&h);
	ret->generation = h.copy->generation;
	memcpy(ret->words + ret->user_depth, ret->python.frames,
		ret->python.depth * sizeof(ret->python.frames[0]));
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* what was read comes before the second look */
	if (__atomic_load_n(&space->turn, __ATOMIC_RELAXED) != turn)
		ret->walk_end = WALK_STALE;
}
