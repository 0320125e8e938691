/* SPDX-License-Identifier: MIT */
/*
 * The walker (walk/walk.h) at home in the kernel.
 *
 * All of its state lives in the memory of a map, and each step is a global function: the verifier
 * checks such a function once, independently of its callers, and not in every turn of the loop
 * around it. On kernels before 5.12 its arguments can only be numbers, so it looks up its state
 * itself. The verifier forgets what it knows of values that are stored in a map, which is why a few
 * values make a detour through the state.
 *
 * Reading the program's memory costs by the call far more than by the byte: a window of the stack
 * is copied at once, as large as the latest walk needed, and what lies in it costs a few
 * instructions.
 *
 *	sp ->	[ window ................ ]
 *		   ^slot  ^slot  ^slot        ^slot: the next window begins a little below here
 *
 * Rules that were found are kept, for all processes, by the address and the generation of the
 * mappings: those that fit into one word, which are nearly all. Steps by such rules to slots in the
 * window are made in a short loop of their own (plain_step); it leaves to the walker what it cannot
 * do, and the reasons why a walk ends.
 */
#pragma once

#include "base/bare/hash_step.h"
#include "bpf/events.h"
#include "bpf/spaces.h"

#define WALK_INLINE static __always_inline
#define WALK_HOME_REGISTERS
#define WALK_HOME_CODE
#define WALK_APART __noinline
#include "walk/walk.h"

#define WINDOW_BYTES 4096
#define WINDOW_LEAST 1024
#define WINDOW_BELOW 64	 /* the slots of a frame are not read from below */
#define WINDOW_SPARE 512 /* more than the latest walk needed */
#define PAGE_BYTES   4096
#define RULES	     8192

struct walker {
	uint8_t window[WINDOW_BYTES]; /* first: see struct stack_buffer */
	struct walk walk;
	uint32_t first_mapping;
	uint32_t mapping_count;
	uint32_t generation; /* of the mappings; 0: there are none */
	uint32_t depth;	     /* frames so far, but those that were sent */
	uint32_t word;	     /* see walk_home_words */
	uint32_t outdated;   /* the mappings may not be those of now */
	uint64_t window_base;
	uint64_t window_room; /* where the last word in it is */
	uint64_t window_wanted;
	uint64_t unreadable;   /* a page that could not be read */
	uint64_t missed;       /* the latest word that was asked for and is not in the window */
	uint64_t trampoline;   /* where calls with a probe on their return go; 0: there are none */
	struct walk_rule rule; /* the latest one */
	uint32_t found;	       /* whether it was looked for, for the code that the walk is in */
	struct bpf_raw_stack start; /* what the walk began with; pc 0: none can begin there */
};

enum { RULE_UNKNOWN, RULE_FOUND, RULE_NONE };

/* The home's functions are given the walk. */
static __always_inline struct walker *walker_of(struct walk *w)
{
	return (struct walker *)((uint8_t *)w - __builtin_offsetof(struct walker, walk));
}

/*
 *	check	 63         47 46                 0	and all of it xor rule, so that what was read while it was
 *		| generation  |     address        |	being written is no entry
 *	rule	 63         49 46      39 38        27 26        3  2    1   0
 *		| generation  |  -ra / 8 |  -fp / 8   | cfa offset | fp | kind |
 *
 * `fp`: the frame pointer is saved.
 */
struct known_rule {
	uint64_t check;
	uint64_t rule;
};

enum {
	PLAIN_SP = 1,
	PLAIN_FP,
	PLAIN_END,
	PLAIN_KIND = 3,
	PLAIN_SAVED_FP = 4,
	PLAIN_CFA_SHIFT = 3,
	PLAIN_CFA_MAX = (1 << 24) - 1,
	PLAIN_SLOT_FP_SHIFT = 27,
	PLAIN_SLOT_FP_MAX = (1 << 12) - 1,
	PLAIN_SLOT_RA_SHIFT = 39,
	PLAIN_SLOT_RA_MAX = (1 << 8) - 1,
	PLAIN_ADDRESS_BITS = 47,
	PLAIN_GENERATION_SHIFT = 49,
	PLAIN_GENERATION_LOW_BITS = 17,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RULES);
	__type(key, uint32_t);
	__type(value, struct known_rule);
} rules SEC(".maps");

/* ------------------------------------------------------------------ the walker's home */

/* The number of the mapping that has the address, of so many from the first on; -1: none has. */
__noinline long find_mapping(uint64_t address, uint32_t first, uint32_t count)
{
	uint64_t low = first, high = low + count;

	for (long i = 0; i < 18 && low < high; i++) {
		uint32_t middle = (low + high) / 2;
		const struct walk_mapping *m = bpf_map_lookup_elem(&mappings, &middle);

		if (!m)
			break;
		if (address < m->start)
			high = middle;
		else if (address >= m->end)
			low = middle + 1ull;
		else
			return middle;
	}
	return -1;
}

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret)
{
	const struct walker *k = walker_of(w);
	uint32_t i = find_mapping(address, k->first_mapping, k->mapping_count);
	const struct walk_mapping *m = bpf_map_lookup_elem(&mappings, &i);

	if (!m)
		return false;
	*ret = *m;
	WALK_FORGET();
	/* It may have been written meanwhile. */
	return address - ret->start < ret->end - ret->start;
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	uint32_t chunk = at / WALK_CHUNK_WORDS, line = at % WALK_CHUNK_WORDS / WALK_TABLE_ALIGN;
	void *words = bpf_map_lookup_elem(&table_chunks, &chunk);
	volatile uint32_t *word = &walker_of(w)->word;
	const struct table_line *l;

	if (!words)
		return false;
	l = bpf_map_lookup_elem(words, &line);
	if (!l)
		return false;
	*word = at;
	if (count == 1)
		*ret = l->words[*word & (WALK_TABLE_ALIGN - 1)];
	else
		__builtin_memcpy(ret, &l->words[*word & (WALK_TABLE_ALIGN - 4)], 4 * sizeof(*ret));
	return true;
}

static bool walk_home_register(struct walk *w, uint32_t number, uint64_t *ret)
{
	uint64_t i = number;

	asm volatile("" : "+r"(i));
	if (i >= BPF_REGISTERS)
		return false;
	*ret = walker_of(w)->start.registers[i];
	return true;
}

static bool walk_home_code(struct walk *w, uint64_t address, uint64_t *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
}

static __always_inline void close_window(struct walker *k)
{
	k->window_base = 1; /* no slot is there */
	k->window_room = 0;
}

static __always_inline bool read_window(struct walker *k, uint64_t base, uint64_t size)
{
	asm volatile("" : "+r"(size));
	if (size < sizeof(uint64_t) || size > WINDOW_BYTES ||
		bpf_probe_read_user(k->window, size, (const void *)base)) {
		close_window(k);
		return false;
	}
	k->window_base = base;
	k->window_room = size - sizeof(uint64_t);
	return true;
}

/* Behind `address` comes something that cannot be read: the rest of its page is, and perhaps one
 * more. */
static __always_inline bool read_to_the_end(struct walker *k, uint64_t address)
{
	uint64_t end = address - address % PAGE_BYTES + PAGE_BYTES, word;

	if (!bpf_probe_read_user(&word, sizeof(word), (const void *)end))
		end += PAGE_BYTES;
	k->unreadable = end;
	if (read_window(k, address, end - address))
		return true;
	return read_window(k, address, sizeof(uint64_t));
}

/* Moves the window so that it holds the word at `address`. */
static __always_inline bool move_window(struct walker *k, uint64_t address)
{
	uint64_t base = address - WINDOW_BELOW, size = k->window_wanted;

	if (!size)
		size = WINDOW_LEAST;
	/* Only what a callee saved is asked for from below the stack pointer. */
	if (base < k->walk.sp)
		base = address < k->walk.sp ? address : k->walk.sp;
	if (k->unreadable - base < size)
		size = k->unreadable - base;
	if (size >= address - base + sizeof(uint64_t) && read_window(k, base, size))
		return true;
	return read_to_the_end(k, address);
}

/* The word at an address in the window; false: it is not there. */
static __always_inline bool peek(struct walker *k, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - k->window_base;

	if (offset <= k->window_room) {
		/* The bound has to be on the register that is used, not on a copy of it. */
		asm volatile("" : "+r"(offset));
		if (offset <= WINDOW_BYTES - sizeof(*ret)) {
			*ret = *(const uint64_t *)(k->window + offset);
			return true;
		}
	}
	k->missed = address;
	return false;
}

/* The verifier looks into this at each of its callers. So the window is not moved here, but between
 * the steps; until then what is not in it is read word by word. */
static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	/* What lies below the stack pointer is no longer, or never was, the program's; but a
	 * callee's frame, which is left by then, has what it saved of rbx. */
	if (address < w->sp && address != w->bx_slot)
		return false;
	return peek(walker_of(w), address, ret) ||
	       !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
}

/* Moves the window to what was missed, if anything was: between steps. */
static __always_inline void follow_misses(struct walker *k)
{
	uint64_t missed = k->missed;

	if (!missed)
		return;
	k->missed = 0;
	move_window(k, missed);
}

/* ------------------------------------------------------------------ rules */

/* The slot of the rule for an address, and how its entry begins. */
static __always_inline struct known_rule *find_known(
	struct walker *k, uint64_t address, uint64_t *ret_check)
{
	uint64_t hash = hash_step(address, (uint64_t)k->generation << 32);
	uint32_t index = hash >> 51;

	_Static_assert(RULES == 1 << (64 - 51), "the hash gives an index");
	*ret_check = address ^ (uint64_t)k->generation << PLAIN_ADDRESS_BITS;
	return bpf_map_lookup_elem(&rules, &index);
}

/* The rule that is kept there, if it is the one of the address; else 0. */
static __always_inline uint64_t read_known(
	const struct walker *k, const struct known_rule *known, uint64_t check)
{
	uint64_t rule = *(const volatile uint64_t *)&known->rule;

	if ((*(const volatile uint64_t *)&known->check ^ rule) != check ||
		rule >> PLAIN_GENERATION_SHIFT != k->generation >> PLAIN_GENERATION_LOW_BITS)
		return 0;
	return rule;
}

static __always_inline uint64_t slot_of(uint64_t rule, uint32_t shift, uint64_t max)
{
	return (rule >> shift & max) * sizeof(uint64_t);
}

/* How many words below the CFA a slot is; 0: it is not, or too far. */
static __always_inline uint64_t words_below(int64_t offset, uint64_t max)
{
	uint64_t below = -(uint64_t)offset;

	return offset >= 0 || below % sizeof(uint64_t) || below / sizeof(uint64_t) > max
		       ? 0
		       : below / sizeof(uint64_t);
}

/* The rule in one word, or 0 when it does not fit. */
static __always_inline uint64_t pack_rule(const struct walk_rule *r)
{
	uint64_t ra = words_below(r->ra_offset, PLAIN_SLOT_RA_MAX);
	uint64_t fp = words_below(r->fp_offset, PLAIN_SLOT_FP_MAX);
	uint64_t packed = (r->cfa == WALK_CFA_FP ? PLAIN_FP : PLAIN_SP) |
			  (uint64_t)(uint32_t)r->cfa_offset << PLAIN_CFA_SHIFT |
			  ra << PLAIN_SLOT_RA_SHIFT;

	if (r->cfa == WALK_CFA_END)
		return PLAIN_END;
	if ((r->cfa != WALK_CFA_SP && r->cfa != WALK_CFA_FP) || r->ra != WALK_SAVED_CFA || !ra ||
		(uint32_t)r->cfa_offset > PLAIN_CFA_MAX || r->bx_offset)
		return 0;
	if (r->fp == WALK_SAVED_SAME)
		return packed;
	if (r->fp != WALK_SAVED_CFA || !fp)
		return 0;
	return packed | PLAIN_SAVED_FP | fp << PLAIN_SLOT_FP_SHIFT;
}

static __always_inline void unpack_rule(uint64_t packed, struct walk_rule *ret)
{
	uint32_t kind = packed & PLAIN_KIND;

	*ret = (struct walk_rule){
		.cfa = kind == PLAIN_END  ? WALK_CFA_END
		       : kind == PLAIN_FP ? WALK_CFA_FP
					  : WALK_CFA_SP,
		.fp = packed & PLAIN_SAVED_FP ? WALK_SAVED_CFA : WALK_SAVED_SAME,
		.ra = WALK_SAVED_CFA,
		.cfa_offset = packed >> PLAIN_CFA_SHIFT & PLAIN_CFA_MAX,
		.fp_offset = -(int32_t)slot_of(packed, PLAIN_SLOT_FP_SHIFT, PLAIN_SLOT_FP_MAX),
		.ra_offset = -(int32_t)slot_of(packed, PLAIN_SLOT_RA_SHIFT, PLAIN_SLOT_RA_MAX),
	};
}

/* Whether the rule for the code that the walk is in is known. */
static __always_inline bool take_known_rule(struct walker *k)
{
	uint64_t check, packed;
	struct known_rule *known = find_known(k, walk_address(&k->walk), &check);

	packed = known ? read_known(k, known, check) : 0;
	if (packed)
		unpack_rule(packed, &k->rule);
	return packed;
}

/* Keeps the latest rule, which is that of the address, if it fits into one word. */
static __always_inline void keep_rule(struct walker *k, uint64_t address)
{
	uint64_t packed = pack_rule(&k->rule), check;
	struct known_rule *known = find_known(k, address, &check);

	if (!known || !packed || !k->generation || address >> PLAIN_ADDRESS_BITS)
		return;
	packed |= (uint64_t)(k->generation >> PLAIN_GENERATION_LOW_BITS) << PLAIN_GENERATION_SHIFT;
	*(volatile uint64_t *)&known->check = check ^ packed;
	*(volatile uint64_t *)&known->rule = packed;
}

/* Looks in the tables for the rule for the code that the walk is in. */
static __always_inline void find_rule(struct walker *k)
{
	uint64_t address = walk_address(&k->walk);

	k->found = RULE_NONE;
	if (!walk_find_rule(&k->walk, address, &k->rule))
		return;
	k->found = RULE_FOUND;
	barrier();
	keep_rule(k, address);
}

/* ------------------------------------------------------------------ probes on returns */

const volatile bool observes; /* there may be some, of our own */

#define RETURNS_MAX 4 /* that are looked through, one inside the other */

/* As uprobe_get_trampoline_vaddr in the kernel's kernel/events/uprobes.c. */
static __always_inline uint64_t find_trampoline(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* The return address on the stack is the trampoline's: the kernel keeps the real one. */
static __always_inline void leave_trampoline(struct walk *w)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);

	for (int i = 0; i < RETURNS_MAX && r; i++) {
		if (BPF_CORE_READ(r, stack) == w->sp - sizeof(uint64_t)) {
			w->pc = BPF_CORE_READ(r, orig_ret_vaddr);
			return;
		}
		r = BPF_CORE_READ(r, next);
	}
}

/* ------------------------------------------------------------------ steps */

/* Adds the current frame and goes on to its caller, by the latest rule if there is one for it:
 * false when there is none. */
static __always_inline bool walker_step(
	struct walker *k, bool has_rule, uint64_t *frames, uint64_t *ret_frame)
{
	uint64_t frame = walk_frame(&k->walk);
	uint64_t depth = k->depth;
	bool on;

	barrier();
	on = has_rule && walk_step_by(&k->walk, &k->rule, &frame);
	*ret_frame = frame;
	asm volatile("" : "+r"(depth));
	if (depth >= BPF_PART_FRAMES)
		return false;
	frames[depth] = frame;
	k->depth = depth + 1;
	return on;
}

/*
 * The same where it is simple: the rule is kept and in one word, its slots are in the window and in
 * order. False: nothing was done, but that a slot may count as missed.
 */
static __always_inline bool plain_step(struct walker *k, uint64_t *frames, uint64_t *ret_frame)
{
	struct walk *w = &k->walk;
	uint64_t address = walk_address(w), sp = w->sp, fp = w->fp, depth = k->depth, check, rule,
		 cfa, ra;
	const struct known_rule *known = find_known(k, address, &check);

	if (!known)
		return false;
	rule = read_known(k, known, check);
	cfa = ((rule & PLAIN_KIND) == PLAIN_FP ? fp : sp) +
	      (rule >> PLAIN_CFA_SHIFT & PLAIN_CFA_MAX);
	if (!(rule & PLAIN_KIND) || (rule & PLAIN_KIND) == PLAIN_END || cfa <= sp ||
		!peek(k, cfa - slot_of(rule, PLAIN_SLOT_RA_SHIFT, PLAIN_SLOT_RA_MAX), &ra) || !ra)
		return false;
	if (rule & PLAIN_SAVED_FP) {
		uint64_t slot = cfa - slot_of(rule, PLAIN_SLOT_FP_SHIFT, PLAIN_SLOT_FP_MAX);

		if (slot < sp || !peek(k, slot, &fp))
			return false;
	}
	asm volatile("" : "+r"(depth));
	if (depth >= BPF_PART_FRAMES)
		return false;
	*ret_frame = walk_frame(w);
	if (w->entry - sp < cfa - sp) {
		*ret_frame |= WALK_FRAME_PYTHON;
		w->entry = 0;
	}
	frames[depth] = *ret_frame;
	k->depth = depth + 1;
	w->callee_sp = sp;
	w->pc = ra;
	w->sp = cfa;
	w->fp = fp;
	w->bx_slot = WALK_BX_LOST; /* rules in one word do not have it */
	w->exact = 0;
	w->guessed = 0;
	w->outer++;
	return true;
}

/* Before the walk's registers are set. */
static __always_inline void walker_begin(struct walker *k, uint32_t pid)
{
	const struct bpf_space *space = bpf_map_lookup_elem(&spaces, &pid);

	k->walk.end = WALK_DEPTH; /* unless a step says otherwise */
	k->walk.entry = 0;
	k->walk.signal_frames = 0;
	k->walk.bx_slot = 0;
	k->walk.guessed = 0;
	k->walk.guess_left = WALK_GUESS_WORDS;
	k->walk.guess_at = 0;
	k->walk.mapping.start = 0;
	k->walk.mapping.end = 0;
	k->mapping_count = space ? space->count : 0;
	k->first_mapping = space ? space->first : 0;
	k->generation = space ? space->generation : 0;
	k->outdated = space && is_outdated(space, pid);
	k->depth = 0;
	k->trampoline = observes ? find_trampoline() : 0;
	k->missed = 0;
	k->found = RULE_UNKNOWN;
	close_window(k);
}

/* After the walk: how much of the stack the next one will want at once. */
static __always_inline void walker_finish(struct walker *k)
{
	uint64_t wanted = k->walk.sp - k->start.sp + WINDOW_SPARE;

	if (wanted < WINDOW_LEAST)
		wanted = WINDOW_LEAST;
	k->window_wanted = wanted < WINDOW_BYTES ? wanted : WINDOW_BYTES;
}

/* How many frames were found; never more than fit, as the verifier can see. */
static __always_inline uint64_t walker_depth(const struct walker *k)
{
	uint64_t depth = k->depth;

	asm volatile("" : "+r"(depth));
	return depth > BPF_PART_FRAMES ? BPF_PART_FRAMES : depth;
}
