// SPDX-License-Identifier: MIT
/*
 *	raw:      kernel[0..] user[0..]                        leaf first
 *	cache:    hash of both -> { generation, changes, addresses, stack id }
 *	profile:  0 <- [incomplete stack] <- user[n-1] <- ... <- user[0] <- kernel[m-1] <- ...
 *
 * A return address is looked up, and stored, less one: it may lie behind the end of its function,
 * or of its mapping.
 */
#include "capture/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "capture/roots.h"

/* Sets of a few, so that two stacks that are often taken in turn do not evict each other. */
#define CACHE_SETS 4096
#define CACHE_WAYS 4

struct cached_stack {
	uint64_t generation;
	uint64_t changes; /* of the address space, when some address was not mapped */
	bool has_unknown;
	bool incomplete;
	bool launch;
	uint8_t walk_end;
	uint32_t stack;
	uint32_t kernel_depth;
	uint32_t user_depth;
	uint64_t frames[];
};

struct cache_slot {
	uint64_t hash;
	struct cached_stack *stack;
};

struct stacks {
	struct profile_writer *w;
	struct modules *modules;
	struct processes *processes;
	struct roots *roots;
	uint32_t kernel_module;
	uint32_t unknown_location;
	uint32_t incomplete_stack; /* the node of the note alone */
	struct cache_slot cache[CACHE_SETS][CACHE_WAYS]; /* latest first */
};

/* The user side of one stack while it is resolved. */
struct resolution {
	const struct mapping *mappings[WALK_FRAMES_MAX]; /* NULL: not mapped */
	uint32_t first; /* frames before it are left out */
	uint32_t count; /* frames from here on are cut off */
	bool has_unknown;
	bool incomplete;
};

static int add_note(struct profile_writer *w, const char *text, uint32_t *ret_location)
{
	struct profile_location note = {.kind = FRAME_NOTE};
	int error = profile_add_string(w, text, strlen(text), &note.name);

	return error ? error : profile_add_location(w, &note, ret_location);
}

static int add_fixed_entries(struct stacks *s)
{
	static const char kernel_path[] = "[kernel]";
	struct profile_module kernel = {.kind = MODULE_KERNEL};
	uint32_t incomplete_location = 0;
	int error = profile_add_string(s->w, kernel_path, sizeof(kernel_path) - 1, &kernel.path);

	if (!error)
		error = profile_add_module(s->w, &kernel, &s->kernel_module);
	if (!error)
		error = add_note(s->w, "[unknown]", &s->unknown_location);
	if (!error)
		error = add_note(s->w, NOTE_INCOMPLETE, &incomplete_location);
	if (!error)
		error = profile_add_stack_node(s->w, 0, incomplete_location, &s->incomplete_stack);
	return error;
}

int stacks_new(struct stacks **ret, struct profile_writer *w, struct modules *modules,
	struct processes *processes)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_errno(-ENOMEM, "cannot keep stacks");
	s->w = w;
	s->modules = modules;
	s->processes = processes;
	s->roots = roots_new();
	error = s->roots ? add_fixed_entries(s) : error_errno(-ENOMEM, "cannot keep stacks");
	if (error) {
		stacks_free(s);
		return error;
	}
	*ret = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CACHE_SETS; i++)
		for (size_t way = 0; way < CACHE_WAYS; way++)
			free(s->cache[i][way].stack);
	roots_free(s->roots);
	free(s);
}

/* ------------------------------------------------------------------ whole stacks */

static uint64_t generation_of(const struct process *process)
{
	return process ? process->space->generation : 0;
}

static uint64_t hash_stack(const struct process *process, const struct raw_stack *raw)
{
	uint64_t h = hash_combine(generation_of(process), raw->launch);

	h ^= hash_bytes(raw->user, raw->user_depth * sizeof(*raw->user));
	return hash_combine(h, hash_bytes(raw->kernel, raw->kernel_depth * sizeof(*raw->kernel)));
}

static bool same_stack(const struct cached_stack *c, const struct process *process,
	const struct raw_stack *raw)
{
	return c && c->generation == generation_of(process) &&
	       (!c->has_unknown || c->changes == process->space->changes) &&
	       c->launch == raw->launch && c->walk_end == raw->walk_end &&
	       c->kernel_depth == raw->kernel_depth && c->user_depth == raw->user_depth &&
	       !memcmp(c->frames, raw->kernel, raw->kernel_depth * sizeof(*raw->kernel)) &&
	       !memcmp(c->frames + raw->kernel_depth, raw->user,
		       raw->user_depth * sizeof(*raw->user));
}

/* Puts a slot first among its set; those before it move one back. */
static struct cache_slot *move_to_front(struct cache_slot *set, size_t way)
{
	struct cache_slot slot = set[way];

	memmove(set + 1, set, way * sizeof(*set));
	*set = slot;
	return set;
}

/* NULL when it is not there. */
static const struct cached_stack *recall(struct stacks *s, uint64_t hash,
	const struct process *process, const struct raw_stack *raw)
{
	struct cache_slot *set = s->cache[hash & (CACHE_SETS - 1)];

	for (size_t way = 0; way < CACHE_WAYS; way++)
		if (set[way].hash == hash && same_stack(set[way].stack, process, raw))
			return move_to_front(set, way)->stack;
	return NULL;
}

/* In the place of what has this hash (and no longer holds), or of what was longest not asked for. */
static void replace(struct cache_slot *set, uint64_t hash, struct cached_stack *stack)
{
	size_t way = 0;

	while (way < CACHE_WAYS - 1 && set[way].hash != hash)
		way++;
	free(set[way].stack);
	set[way] = (struct cache_slot){.hash = hash, .stack = stack};
	move_to_front(set, way);
}

/* Remembering is an optimization: without memory it is left. */
static void remember(struct stacks *s, uint64_t hash, const struct process *process,
	const struct raw_stack *raw, const struct resolution *r, uint32_t stack)
{
	size_t depth = raw->kernel_depth + raw->user_depth;
	struct cached_stack *c = malloc(sizeof(*c) + depth * sizeof(uint64_t));

	if (!c)
		return;
	*c = (struct cached_stack){.generation = generation_of(process),
		.changes = process ? process->space->changes : 0,
		.has_unknown = r->has_unknown,
		.incomplete = r->incomplete,
		.launch = raw->launch,
		.walk_end = (uint8_t)raw->walk_end,
		.stack = stack,
		.kernel_depth = raw->kernel_depth,
		.user_depth = raw->user_depth};
	memcpy(c->frames, raw->kernel, raw->kernel_depth * sizeof(*raw->kernel));
	memcpy(c->frames + raw->kernel_depth, raw->user, raw->user_depth * sizeof(*raw->user));
	replace(s->cache[hash & (CACHE_SETS - 1)], hash, c);
}

/* ------------------------------------------------------------------ frame by frame */

static bool is_return_address(const struct raw_stack *raw, uint32_t i)
{
	return !(raw->user[i] & WALK_FRAME_EXACT);
}

/* What is looked up, and stored, for a frame. */
static uint64_t address_of(const struct raw_stack *raw, uint32_t i)
{
	return (raw->user[i] & WALK_FRAME_ADDRESS) - is_return_address(raw, i);
}

static void find_mappings(
	struct resolution *r, const struct process *process, const struct raw_stack *raw)
{
	r->has_unknown = false;
	for (uint32_t i = 0; i < raw->user_depth; i++) {
		r->mappings[i] = address_space_find(process->space, address_of(raw, i));
		r->has_unknown |= !r->mappings[i];
	}
}

static bool reaches_root(struct stacks *s, const struct process *process,
	const struct raw_stack *raw, const struct resolution *r)
{
	uint32_t last = r->count - 1;
	const struct mapping *m = r->mappings[last];

	if (!m || !is_return_address(raw, last) || raw->walk_end == WALK_DEPTH)
		return false;
	return roots_reached(s->roots, modules_at(s->modules, m->module), m->module, process->pid,
		mapping_offset(m, raw->user[last] & WALK_FRAME_ADDRESS));
}

/* Finds the mappings and decides what of the user side is kept. */
static int resolve(struct stacks *s, struct process *process, const struct raw_stack *raw,
	struct resolution *r)
{
	bool read_again = false;
	int error;

	find_mappings(r, process, raw);
	if (r->has_unknown) {
		error = processes_refresh(s->processes, process, clock_now_ns(), &read_again);
		if (error)
			return error;
		if (read_again)
			find_mappings(r, process, raw);
	}
	while (r->count > 1 && !r->mappings[r->count - 1])
		r->count--;
	r->incomplete = r->count < raw->user_depth || !reaches_root(s, process, raw, r);
	while (raw->launch && r->first + 1 < r->count && r->mappings[r->first] &&
		modules_at(s->modules, r->mappings[r->first]->module)->instrument)
		r->first++;
	return 0;
}

static int push(struct stacks *s, uint32_t *stack, uint32_t location)
{
	return profile_add_stack_node(s->w, *stack, location, stack);
}

static int push_user_frame(struct stacks *s, const struct raw_stack *raw,
	const struct resolution *r, uint32_t i, uint32_t *stack)
{
	const struct mapping *m = r->mappings[i];
	struct profile_location location = {.kind = FRAME_USER};
	uint32_t id = s->unknown_location;
	int error = 0;

	if (m) {
		location.address = mapping_offset(m, address_of(raw, i));
		error = modules_profile_id(s->modules, m->module, &location.module);
		if (!error)
			error = profile_add_location(s->w, &location, &id);
	}
	return error ? error : push(s, stack, id);
}

static int push_kernel_frame(
	struct stacks *s, const struct raw_stack *raw, uint32_t i, uint32_t *stack)
{
	struct profile_location location = {.kind = FRAME_KERNEL,
		.module = s->kernel_module,
		.address = raw->kernel[i] - (i ? 1 : 0)};
	uint32_t id;
	int error = profile_add_location(s->w, &location, &id);

	return error ? error : push(s, stack, id);
}

static int push_frames(struct stacks *s, const struct raw_stack *raw, const struct resolution *r,
	uint32_t *ret_stack)
{
	uint32_t stack = r->incomplete ? s->incomplete_stack : 0;
	int error = 0;

	for (uint32_t i = r->count; !error && i-- > r->first;)
		error = push_user_frame(s, raw, r, i, &stack);
	for (uint32_t i = raw->kernel_depth; !error && i--;)
		error = push_kernel_frame(s, raw, i, &stack);
	if (!error)
		*ret_stack = stack;
	return error;
}

int stacks_intern(struct stacks *s, struct process *process, const struct raw_stack *raw,
	uint32_t *ret_stack, bool *ret_incomplete)
{
	uint64_t hash = hash_stack(process, raw);
	const struct cached_stack *known = recall(s, hash, process, raw);
	struct resolution r = {.count = raw->user_depth};
	uint32_t stack = 0;
	int error = 0;

	if (known) {
		*ret_stack = known->stack;
		*ret_incomplete = known->incomplete;
		return 0;
	}
	if (raw->user_depth)
		error = resolve(s, process, raw, &r);
	if (!error)
		error = push_frames(s, raw, &r, &stack);
	if (error)
		return error;
	/* The key is that of the address space as it is now: resolving may have changed it. */
	hash = hash_stack(process, raw);
	remember(s, hash, process, raw, &r, stack);
	*ret_stack = stack;
	*ret_incomplete = r.incomplete;
	return 0;
}
