/* SPDX-License-Identifier: MIT */
/*
 * The walker (walk/walk.h) at home in the kernel.
 *
 * All of its state lives in the memory of a map, and each step is a function of its own that is not static: the
 * verifier looks at such a function once, without knowing what calls it, and not at every turn of the loop around
 * it. It may take numbers only on kernels before 5.12, so it finds its state itself. What is loaded from a map has
 * no history for the verifier either, which is why a few values make a detour through the state.
 *
 * Reading the program's memory costs by the call far more than by the byte: a window of the stack is copied at
 * once, and what lies in it costs a few instructions.
 *
 *	sp ->	[ window ................ ]
 *		   ^slot  ^slot  ^slot        ^slot: the next window begins a little below here
 *
 * Rules that were found are kept, for all processes, by the address and the generation of the mappings. Nothing is
 * locked: an entry that was read while it was being written is recognized, as each of its checks depends on all of
 * its words.
 */
#pragma once

#include "bpf/events.h"
#include "bpf/spaces.h"

#define WALK_INLINE static __always_inline
#include "walk/walk.h"

#define WINDOW_BYTES 2048
#define WINDOW_BELOW 64 /* the slots of a frame are not read from below */
#define PAGE_BYTES   4096
#define RULES	     8192

struct walker {
	uint8_t window[WINDOW_BYTES]; /* first: see struct stack_buffer */
	struct walk walk;
	uint32_t first_mapping;
	uint32_t generation; /* of the mappings; 0: there are none */
	uint32_t depth;      /* frames so far */
	uint32_t word;       /* see walk_home_words */
	uint64_t window_base;
	uint64_t window_size; /* how much was there to read */
};

/* The home's functions are given the walk. */
static __always_inline struct walker *walker_of(struct walk *w)
{
	return (struct walker *)((uint8_t *)w - __builtin_offsetof(struct walker, walk));
}

struct known_rule {
	uint64_t check[2];
	uint64_t rule[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RULES);
	__type(key, uint32_t);
	__type(value, struct known_rule);
} rules SEC(".maps");

_Static_assert(sizeof(struct walk_rule) == sizeof(((struct known_rule *)0)->rule), "a rule is two words");

/* ------------------------------------------------------------------ the walker's home */

static bool walk_home_mapping(struct walk *w, uint32_t i, struct walk_mapping *ret)
{
	const struct walk_mapping *m;

	i += walker_of(w)->first_mapping;
	m = bpf_map_lookup_elem(&mappings, &i);
	if (!m)
		return false;
	*ret = *m;
	return true;
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	uint32_t chunk = at / WALK_CHUNK_WORDS, line = at % WALK_CHUNK_WORDS / WALK_TABLE_ALIGN;
	void *words = bpf_map_lookup_elem(&table_chunks, &chunk);
	volatile uint32_t *place = &walker_of(w)->word;
	const struct table_line *l;

	if (!words)
		return false;
	l = bpf_map_lookup_elem(words, &line);
	if (!l)
		return false;
	*place = at;
	if (count == 1)
		*ret = l->words[*place & (WALK_TABLE_ALIGN - 1)];
	else
		__builtin_memcpy(ret, &l->words[*place & (WALK_TABLE_ALIGN - 4)], 4 * sizeof(*ret));
	return true;
}

/* Moves the window so that it holds the word at `address`. Before the end of what can be read it is a smaller one,
 * up to the end of a page. */
static __always_inline bool move_window(struct walker *k, uint64_t address)
{
	uint64_t base = address - WINDOW_BELOW, size;

	if (address < k->walk.sp)
		base = address;
	else if (base < k->walk.sp)
		base = k->walk.sp;
	k->window_base = base;
	k->window_size = WINDOW_BYTES;
	if (!bpf_probe_read_user(k->window, WINDOW_BYTES, (const void *)base))
		return true;
	size = PAGE_BYTES - address % PAGE_BYTES;
	if (size > WINDOW_BYTES)
		size = WINDOW_BYTES;
	k->window_base = address;
	k->window_size = size;
	return !bpf_probe_read_user(k->window, size, (const void *)address);
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	struct walker *k = walker_of(w);
	uint64_t offset = address - k->window_base;

	if (offset >= k->window_size || k->window_size - offset < sizeof(*ret)) {
		if (!move_window(k, address)) {
			k->window_size = 0;
			return false;
		}
		offset = address - k->window_base;
	}
	/* The bound has to be on the register that is used, not on a copy of it. */
	asm volatile("" : "+r"(offset));
	if (offset > WINDOW_BYTES - sizeof(*ret))
		return false;
	*ret = *(const uint64_t *)(k->window + offset);
	return true;
}

/* ------------------------------------------------------------------ a walk */

static __always_inline void rule_checks(uint64_t address, uint32_t generation, const uint64_t rule[2],
	uint64_t ret[2])
{
	ret[0] = address ^ rule[0] ^ (rule[1] << 17 | rule[1] >> 47);
	ret[1] = generation ^ rule[1] ^ (rule[0] << 29 | rule[0] >> 35);
}

/* The rule for the code that the walk is in. */
static __always_inline bool walker_rule(struct walker *k, struct walk_rule *ret)
{
	uint64_t address = k->walk.pc - !k->walk.exact, words[2], check[2];
	uint64_t hash = (address ^ (uint64_t)k->generation << 40) * 0x9e3779b97f4a7c15ull;
	uint32_t index = hash >> 51;
	struct known_rule *known = bpf_map_lookup_elem(&rules, &index);

	_Static_assert(RULES == 1 << (64 - 51), "the hash gives an index");
	if (!known)
		return false;
	words[0] = known->rule[0];
	words[1] = known->rule[1];
	rule_checks(address, k->generation, words, check);
	if (!k->generation || known->check[0] != check[0] || known->check[1] != check[1]) {
		if (!walk_find_rule(&k->walk, address, (struct walk_rule *)words))
			return false;
		rule_checks(address, k->generation, words, check);
		known->check[0] = check[0];
		known->check[1] = check[1];
		known->rule[0] = words[0];
		known->rule[1] = words[1];
	}
	__builtin_memcpy(ret, words, sizeof(*ret));
	return true;
}

/* Takes the frame that the walk is in and goes on to its caller: false when there is none. */
static __always_inline bool walker_step(struct walker *k, uint64_t *frames, uint64_t *ret_frame)
{
	uint64_t frame = walk_frame(&k->walk);
	uint64_t depth = k->depth;
	struct walk_rule rule;
	bool on = walker_rule(k, &rule) && walk_step_by(&k->walk, &rule, &frame);

	*ret_frame = frame;
	asm volatile("" : "+r"(depth));
	if (depth >= WALK_FRAMES_MAX)
		return false;
	frames[depth] = frame;
	k->depth = depth + 1;
	return on;
}

/* The walk's registers are set. */
static __always_inline void walker_begin(struct walker *k, uint32_t pid)
{
	const struct bpf_space *space = bpf_map_lookup_elem(&spaces, &pid);

	k->walk.end = WALK_DEPTH; /* unless a step says otherwise */
	k->walk.entry = 0;
	k->walk.signal_frames = 0;
	k->walk.mapping.start = 0;
	k->walk.mapping.end = 0;
	k->walk.mapping_count = space ? space->count : 0;
	k->first_mapping = space ? space->first : 0;
	k->generation = space ? space->generation : 0;
	k->depth = 0;
	k->window_size = 0;
}

/* How many frames were found; never more than fit, as the verifier can see. */
static __always_inline uint64_t walker_depth(const struct walker *k)
{
	uint64_t depth = k->depth;

	asm volatile("" : "+r"(depth));
	return depth > WALK_FRAMES_MAX ? WALK_FRAMES_MAX : depth;
}
