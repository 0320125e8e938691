// SPDX-License-Identifier: MIT
/*
 *	raw:      user[0..] kernel[0..] python[0..]            leaf first
 *	cache:    hash of all -> { generation, changes, words, result }
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
#include "capture/merge.h"
#include "capture/roots.h"
#include "elf/kernel_id.h"

/* Sets of a few, so that two stacks that often alternate do not evict each other. */
#define CACHE_SETS  4096
#define CACHE_WAYS  4
#define CACHE_BYTES ((size_t)64 << 20) /* deep ones leave room for fewer */

#define PYTHON_WORDS (sizeof(struct walk_python_frame) / sizeof(uint64_t))

struct cached_stack {
	uint64_t generation;
	uint64_t changes; /* of the address space, when some address was not mapped */
	bool has_unknown;
	bool launch;
	bool python_incomplete; /* of the raw stack */
	uint8_t walk_end;
	struct stack_result result;
	uint32_t kernel_depth;
	uint32_t user_depth;
	uint32_t python_depth;
	uint64_t words[]; /* kernel, user, Python */
};

static size_t cached_size(uint32_t kernel_depth, uint32_t user_depth, uint32_t python_depth)
{
	return sizeof(struct cached_stack) + (kernel_depth + user_depth) * sizeof(uint64_t) +
	       python_depth * sizeof(struct walk_python_frame);
}

struct cache_slot {
	uint64_t hash;
	struct cached_stack *stack;
};

struct stacks {
	struct profile_writer *w;
	struct modules *modules;
	struct processes *processes;
	struct python_namer namer;
	struct roots *roots;
	uint32_t kernel_module;
	uint32_t unknown_location;
	uint32_t cut_location;
	uint32_t guess_location;
	uint32_t unknown_python;
	uint32_t incomplete_stacks[LOSS_KINDS]; /* the node of the note alone; 0: not made yet */
	struct cache_slot cache[CACHE_SETS][CACHE_WAYS]; /* latest first */
	size_t cache_bytes;
	uint32_t cache_hand; /* the set from which stacks are dropped next to make room */
};

/* One stack while it is resolved. */
struct resolution {
	const struct mapping *mappings[WALK_FRAMES_MAX]; /* NULL: not mapped */
	uint32_t first;					 /* frames before it are left out */
	uint32_t count;					 /* frames from here on are cut off */
	bool has_unknown;
	bool outdated; /* cut off because mappings had been replaced */
	bool unsure;   /* whether it is complete will be known later */
	enum profile_loss incomplete;
	struct merged merged;
	uint32_t python[WALK_PYTHON_FRAMES_MAX]; /* locations */
};

/* Why a stack is incomplete, by its walk's end, if its outermost frame begins no thread. */
static const enum profile_loss reasons[WALK_ENDS] = {
	[WALK_NONE] = LOSS_WALK_UNKNOWN,
	[WALK_COMPLETE] = LOSS_WALK_NO_MAPPING, /* but its outermost frames were cut off */
	[WALK_ZERO] = LOSS_WALK_NO_ROOT,
	[WALK_NO_MAPPING] = LOSS_WALK_NO_MAPPING,
	[WALK_PENDING] = LOSS_WALK_PENDING,
	[WALK_NO_RULE] = LOSS_WALK_NO_RULE,
	[WALK_UNSUPPORTED] = LOSS_WALK_UNSUPPORTED,
	[WALK_FAULT] = LOSS_WALK_FAULT,
	[WALK_ASTRAY] = LOSS_WALK_ASTRAY,
	[WALK_DEPTH] = LOSS_WALK_DEPTH,
	[WALK_UNKNOWN] = LOSS_WALK_UNKNOWN,
	[WALK_STALE] = LOSS_WALK_STALE,
};

static int add_text(struct profile_writer *w, enum profile_frame_kind kind, const char *text,
	uint32_t *ret_location)
{
	struct profile_location note = {.kind = kind};
	int error = profile_add_string(w, text, strlen(text), &note.name);

	return error ?: profile_add_location(w, &note, ret_location);
}

static int add_fixed_entries(struct stacks *s)
{
	static const char kernel_path[] = "[kernel]";
	struct profile_module kernel = {.kind = MODULE_KERNEL};
	size_t id_size = kernel_build_id(kernel.build_id);
	int error = profile_add_string(s->w, kernel_path, sizeof(kernel_path) - 1, &kernel.path);

	kernel.build_id_size = (uint8_t)id_size;
	error = error ?: profile_add_module(s->w, &kernel, &s->kernel_module);
	error = error ?: add_text(s->w, FRAME_NOTE, "[unknown]", &s->unknown_location);
	error = error ?: add_text(s->w, FRAME_NOTE, "[frames left out]", &s->cut_location);
	return error ?: add_text(s->w, FRAME_NOTE, "[callers guessed]", &s->guess_location);
}

int stacks_new(struct stacks **ret, struct profile_writer *w, struct modules *modules,
	struct processes *processes, struct files *files, struct python_namer namer)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_errno(-ENOMEM, "cannot keep stacks");
	s->w = w;
	s->modules = modules;
	s->processes = processes;
	s->namer = namer;
	s->roots = roots_new(files);
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

static uint64_t generation_of(const struct stack_origin *origin)
{
	return origin->space ? origin->space->generation : 0;
}

/* Stacks that were walked by other mappings than those of their time are not cached. */
static bool is_up_to_date(const struct stack_origin *origin, const struct raw_stack *raw)
{
	return !raw->space || !origin->space || raw->space == (uint32_t)origin->space->generation;
}

static uint64_t hash_stack(const struct stack_origin *origin, const struct raw_stack *raw)
{
	uint64_t h = hash_combine(generation_of(origin), raw->launch);

	h ^= hash_bytes(raw->user, raw->user_depth * sizeof(*raw->user));
	h = hash_combine(h, hash_bytes(raw->kernel, raw->kernel_depth * sizeof(*raw->kernel)));
	return hash_combine(h, hash_bytes(raw->python, raw->python_depth * sizeof(*raw->python)));
}

/* A part of a stack that has no frames may have no address. */
static bool same_part(const uint64_t *a, const void *b, size_t size)
{
	return !size || !memcmp(a, b, size);
}

static bool same_words(const struct cached_stack *c, const struct raw_stack *raw)
{
	const uint64_t *user = c->words + c->kernel_depth, *python = user + c->user_depth;

	return c->kernel_depth == raw->kernel_depth && c->user_depth == raw->user_depth &&
	       c->python_depth == raw->python_depth &&
	       same_part(c->words, raw->kernel, raw->kernel_depth * sizeof(*raw->kernel)) &&
	       same_part(user, raw->user, raw->user_depth * sizeof(*raw->user)) &&
	       same_part(python, raw->python, raw->python_depth * sizeof(*raw->python));
}

static bool same_stack(const struct cached_stack *c, const struct stack_origin *origin,
	const struct raw_stack *raw)
{
	return c && c->generation == generation_of(origin) &&
	       (!c->has_unknown || c->changes == origin->space->changes) &&
	       c->launch == raw->launch && c->walk_end == raw->walk_end &&
	       c->python_incomplete == raw->python_incomplete && same_words(c, raw);
}

/* Puts a slot first among its set; those before it move one back. */
static struct cache_slot *move_to_front(struct cache_slot *set, size_t way)
{
	struct cache_slot slot = set[way];

	memmove(set + 1, set, way * sizeof(*set));
	*set = slot;
	return set;
}

/* NULL when it is not cached. */
static const struct cached_stack *recall(struct stacks *s, uint64_t hash,
	const struct stack_origin *origin, const struct raw_stack *raw)
{
	struct cache_slot *set = s->cache[hash & (CACHE_SETS - 1)];

	for (size_t way = 0; way < CACHE_WAYS; way++)
		if (set[way].hash == hash && same_stack(set[way].stack, origin, raw))
			return move_to_front(set, way)->stack;
	return NULL;
}

static void drop(struct stacks *s, struct cache_slot *slot)
{
	const struct cached_stack *c = slot->stack;

	if (!c)
		return;
	s->cache_bytes -= cached_size(c->kernel_depth, c->user_depth, c->python_depth);
	free(slot->stack);
	*slot = (struct cache_slot){0};
}

/* The least recently used one of each set, in turn. */
static void make_room(struct stacks *s, size_t size)
{
	while (s->cache_bytes && s->cache_bytes + size > CACHE_BYTES) {
		struct cache_slot *set = s->cache[s->cache_hand++ % CACHE_SETS];
		size_t way = CACHE_WAYS;

		while (way && !set[way - 1].stack)
			way--;
		if (way)
			drop(s, &set[way - 1]);
	}
}

/* Replaces the stack of the same hash (which no longer holds), or the least recently used one. */
static void replace(struct stacks *s, uint64_t hash, struct cached_stack *stack)
{
	struct cache_slot *set = s->cache[hash & (CACHE_SETS - 1)];
	size_t way = 0;

	while (way < CACHE_WAYS - 1 && set[way].hash != hash)
		way++;
	drop(s, &set[way]);
	set[way] = (struct cache_slot){.hash = hash, .stack = stack};
	move_to_front(set, way);
}

static void copy_words(uint64_t **to, const void *words, size_t count)
{
	if (count)
		memcpy(*to, words, count * sizeof(**to));
	*to += count;
}

/* The cache is an optimization: when memory is short the stack is not cached. */
static void remember(struct stacks *s, uint64_t hash, const struct stack_origin *origin,
	const struct raw_stack *raw, const struct resolution *r, const struct stack_result *result)
{
	size_t size = cached_size(raw->kernel_depth, raw->user_depth, raw->python_depth);
	struct cached_stack *c = malloc(size);
	uint64_t *at;

	if (!c)
		return;
	make_room(s, size);
	s->cache_bytes += size;
	*c = (struct cached_stack){.generation = generation_of(origin),
		.changes = origin->space ? origin->space->changes : 0,
		.has_unknown = r->has_unknown,
		.launch = raw->launch,
		.python_incomplete = raw->python_incomplete,
		.walk_end = (uint8_t)raw->walk_end,
		.result = *result,
		.kernel_depth = raw->kernel_depth,
		.user_depth = raw->user_depth,
		.python_depth = raw->python_depth};
	at = c->words;
	copy_words(&at, raw->kernel, raw->kernel_depth);
	copy_words(&at, raw->user, raw->user_depth);
	copy_words(&at, raw->python, raw->python_depth * PYTHON_WORDS);
	replace(s, hash, c);
}

/* ------------------------------------------------------------------ Python's frames */

static int add_string(struct profile_writer *w, const char *text, uint32_t *ret)
{
	*ret = 0;
	return text && *text ? profile_add_string(w, text, strlen(text), ret) : 0;
}

#define NOT_SHOWN 0 /* a location: of frames that Python's own tracebacks leave out */

static int name_unknown_python(struct stacks *s, uint32_t *ret)
{
	int error = profile_count_loss(s->w, LOSS_PYTHON_UNNAMED, 1);

	if (!error && !s->unknown_python)
		error = add_text(
			s->w, FRAME_PYTHON, "[unknown Python function]", &s->unknown_python);
	if (!error)
		*ret = s->unknown_python;
	return error;
}

/* Who knows what frames are called: `code`, or the process. */
struct name_source {
	struct process *process;
	struct python_code *code;
};

static int find_line(struct stacks *s, const struct name_source *from,
	const struct walk_python_frame *frame, struct python_line *ret)
{
	if (from->code)
		return python_code_line(from->code, frame, ret);
	return from->process && s->namer.line
		       ? s->namer.line(s->namer.context, from->process, frame, ret)
		       : -ENOENT;
}

static int name_python_frame(struct stacks *s, const struct name_source *from,
	const struct walk_python_frame *frame, uint32_t *ret)
{
	struct profile_location location = {.kind = FRAME_PYTHON};
	struct python_line line;
	int error;

	if (walk_python_is_cut(frame)) {
		*ret = s->cut_location;
		return 0;
	}
	error = find_line(s, from, frame, &line);
	if (error && error != -ENOMEM)
		return name_unknown_python(s, ret);
	if (!error && line.incomplete) {
		*ret = NOT_SHOWN;
		return 0;
	}
	error = error ?: add_string(s->w, line.function, &location.name);
	error = error ?: add_string(s->w, line.file, &location.file);
	if (error)
		return error;
	location.line = line.line;
	return profile_add_location(s->w, &location, ret);
}

static int name_python_frames(struct stacks *s, const struct name_source *from,
	const struct walk_python_frame *frames, uint32_t depth, uint32_t *ret_locations)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < depth; i++)
		error = name_python_frame(s, from, &frames[i], &ret_locations[i]);
	return error;
}

static int want_python(struct stacks *s, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, bool *ret_coming)
{
	*ret_coming = false;
	return depth && process && s->namer.want
		       ? s->namer.want(s->namer.context, process, frames, depth, ret_coming)
		       : 0;
}

int stacks_name_python(struct stacks *s, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, uint32_t *ret_locations,
	bool *ret_coming)
{
	const struct name_source from = {.process = process};
	int error = want_python(s, process, frames, depth, ret_coming);

	return error || *ret_coming ? error
				    : name_python_frames(s, &from, frames, depth, ret_locations);
}

int stacks_name_python_late(struct stacks *s, struct python_code *code,
	const struct walk_python_frame *frames, uint32_t depth, uint32_t *ret_locations)
{
	const struct name_source from = {.code = code};

	return name_python_frames(s, &from, frames, depth, ret_locations);
}

/* ------------------------------------------------------------------ frame by frame */

static bool is_return_address(const struct raw_stack *raw, uint32_t i)
{
	return !(raw->user[i] & WALK_FRAME_EXACT);
}

/* The address that is looked up, and stored, for a frame. */
static uint64_t address_of(const struct raw_stack *raw, uint32_t i)
{
	return (raw->user[i] & WALK_FRAME_ADDRESS) - is_return_address(raw, i);
}

static void find_mappings(
	struct resolution *r, const struct address_space *space, const struct raw_stack *raw)
{
	r->has_unknown = false;
	for (uint32_t i = 0; i < raw->user_depth; i++) {
		r->mappings[i] = NULL;
		if (walk_is_cut(raw->user[i]))
			continue;
		r->mappings[i] = address_space_find(space, address_of(raw, i));
		r->has_unknown |= !r->mappings[i];
	}
}

static int reaches_root(struct stacks *s, const struct stack_origin *origin,
	const struct raw_stack *raw, struct resolution *r, bool *ret)
{
	enum root_answer answer = ROOT_NO;
	uint32_t last = r->count - 1;
	const struct mapping *m = r->mappings[last];
	enum root_address at = is_return_address(raw, last)  ? ROOT_RETURN_ADDRESS
			       : raw->walk_end == WALK_FAULT ? ROOT_INTERRUPTED_NO_STACK
							     : ROOT_INTERRUPTED;

	int error = 0;

	if (m && raw->walk_end != WALK_DEPTH)
		error = roots_ask(s->roots, modules_at(s->modules, m->module), m->module,
			origin->pid, mapping_offset(m, raw->user[last] & WALK_FRAME_ADDRESS), at,
			&answer);
	r->unsure = answer == ROOT_NOT_KNOWN_YET;
	*ret = answer == ROOT_YES;
	return error;
}

/* The caller of code that had been replaced was found by the code before it. */
static void cut_outdated(
	struct resolution *r, const struct stack_origin *origin, const struct raw_stack *raw)
{
	for (uint32_t i = 0; !is_up_to_date(origin, raw) && i + 1 < r->count; i++) {
		if (!address_space_outdated(origin->space, r->mappings[i], raw->space))
			continue;
		r->count = i + 1;
		r->outdated = true;
		return;
	}
}

static bool is_guess(const struct raw_stack *raw, uint32_t i)
{
	return raw->user[i] & WALK_FRAME_GUESSED && !walk_is_cut(raw->user[i]);
}

static bool has_guess(const struct raw_stack *raw, const struct resolution *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (is_guess(raw, i))
			return true;
	return false;
}

static int find_incomplete(struct stacks *s, const struct stack_origin *origin,
	const struct raw_stack *raw, struct resolution *r)
{
	bool root = r->count == raw->user_depth && raw->walk_end == WALK_COMPLETE;
	int error = 0;

	if (r->outdated) {
		r->incomplete = LOSS_WALK_STALE;
		return 0;
	}
	if (has_guess(raw, r)) {
		r->incomplete = LOSS_WALK_GUESSED;
		return 0;
	}
	/* What was cut off behind a root is no frame. */
	if (!root)
		error = reaches_root(s, origin, raw, r, &root);
	r->incomplete = root ? 0 : reasons[raw->walk_end];
	return error;
}

/* Finds the mappings and decides what of the user side is kept. */
static int resolve(struct stacks *s, struct stack_origin *origin, const struct raw_stack *raw,
	struct resolution *r)
{
	bool read_again = false;
	int error = 0;

	find_mappings(r, origin->space, raw);
	if (r->has_unknown && origin->process) {
		error = processes_refresh(
			s->processes, origin->process, clock_now_ns(), &read_again);
		if (error)
			return error;
		origin->space = origin->process->space;
		if (read_again)
			find_mappings(r, origin->space, raw);
	}
	while (r->count > 1 && !r->mappings[r->count - 1])
		r->count--;
	cut_outdated(r, origin, raw);
	error = find_incomplete(s, origin, raw, r);
	while (raw->launch && r->first + 1 < r->count && r->mappings[r->first] &&
		modules_at(s->modules, r->mappings[r->first]->module)->instrument)
		r->first++;
	return error;
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
	uint32_t id = walk_is_cut(raw->user[i]) ? s->cut_location : s->unknown_location;
	int error = 0;

	if (m) {
		location.address = mapping_offset(m, address_of(raw, i));
		error = modules_profile_id(s->modules, m->module, &location.module);
		error = error ?: profile_add_location(s->w, &location, &id);
	}
	error = error ?: push(s, stack, id);
	/* Once for all that were guessed one after the other. */
	if (!error && is_guess(raw, i) && (!i || !is_guess(raw, i - 1)))
		error = push(s, stack, s->guess_location);
	return error;
}

static int push_kernel_frame(
	struct stacks *s, const struct raw_stack *raw, uint32_t i, uint32_t *stack)
{
	struct profile_location location = {.kind = FRAME_KERNEL,
		.module = s->kernel_module,
		.address = raw->kernel[i] - (i ? 1 : 0)};
	uint32_t id;
	int error = profile_add_location(s->w, &location, &id);

	return error ?: push(s, stack, id);
}

/* The node of the note on why a stack is not whole. */
static int begin_stack(struct stacks *s, enum profile_loss incomplete, uint32_t *ret_stack)
{
	uint32_t *node = &s->incomplete_stacks[incomplete], location;
	int error = 0;

	if (incomplete && !*node) {
		error = add_text(s->w, FRAME_NOTE, profile_incomplete_note(incomplete), &location);
		error = error ?: profile_add_stack_node(s->w, 0, location, node);
	}
	*ret_stack = *node;
	return error;
}

static int push_python_frame(
	struct stacks *s, const struct resolution *r, uint32_t i, uint32_t *stack)
{
	return r->python[i] == NOT_SHOWN ? 0 : push(s, stack, r->python[i]);
}

static int push_frames(struct stacks *s, const struct raw_stack *raw, const struct resolution *r,
	uint32_t *ret_stack)
{
	uint32_t stack = 0;
	int error = begin_stack(s, r->incomplete, &stack);

	for (uint32_t i = r->merged.count; !error && i--;) {
		uint32_t item = r->merged.items[i];

		error = item & MERGED_PYTHON
				? push_python_frame(s, r, item & ~MERGED_PYTHON, &stack)
				: push_user_frame(s, raw, r, item, &stack);
	}
	for (uint32_t i = raw->kernel_depth; !error && i--;)
		error = push_kernel_frame(s, raw, i, &stack);
	if (!error)
		*ret_stack = stack;
	return error;
}

static int lacks_names(struct stacks *s, struct process *process, const struct raw_stack *raw,
	enum stack_lack *ret)
{
	bool coming = false;
	int error = raw->python_locations
			    ? 0
			    : want_python(s, process, raw->python, raw->python_depth, &coming);

	*ret = coming ? LACKS_NAMES : LACKS_NOTHING;
	return error;
}

static int find_python(struct stacks *s, struct process *process, const struct raw_stack *raw,
	struct resolution *r)
{
	const struct name_source from = {.process = process};

	if (!raw->python_locations)
		return name_python_frames(s, &from, raw->python, raw->python_depth, r->python);
	memcpy(r->python, raw->python_locations, raw->python_depth * sizeof(*r->python));
	return 0;
}

static bool is_in_jit(
	const struct stacks *s, const struct raw_stack *raw, const struct resolution *r)
{
	const struct mapping *m = raw->user_depth && !raw->kernel_depth ? r->mappings[0] : NULL;

	return m && modules_at(s->modules, m->module)->kind == MODULE_ANON;
}

/* Whether Python's frames are there that loops on the stack do not have, or the other way round. */
static bool is_moved(const struct raw_stack *raw, const struct resolution *r)
{
	return raw->python_later && raw->python_depth && !r->incomplete &&
	       merge_surplus(raw->user, r->first, r->count, raw->python, raw->python_depth);
}

static bool is_python_cut(const struct raw_stack *raw)
{
	return raw->python_depth > WALK_PYTHON_CUT_AT &&
	       walk_python_is_cut(&raw->python[WALK_PYTHON_CUT_AT]);
}

static int make_stack(struct stacks *s, struct stack_origin *origin, const struct raw_stack *raw,
	struct resolution *r, struct stack_result *ret)
{
	int error = raw->user_depth ? resolve(s, origin, raw, r) : 0;
	uint32_t python_depth = raw->python_depth;

	if (r->unsure && origin->may_wait)
		ret->lacks = LACKS_ROOT;
	if (error || ret->lacks)
		return error;
	error = find_python(s, origin->process, raw, r);
	if (error)
		return error;
	ret->python_moved = is_moved(raw, r);
	if (ret->python_moved)
		python_depth = 0;
	merge_frames(raw->user, r->first, r->count, !r->incomplete, raw->python, python_depth,
		!raw->python_incomplete, &r->merged);
	ret->incomplete = r->incomplete;
	ret->in_jit = is_in_jit(s, raw, r);
	ret->python_incomplete = raw->python_incomplete;
	ret->python_unplaced = r->merged.unplaced;
	ret->cut = (raw->user_depth > WALK_CUT_AT && walk_is_cut(raw->user[WALK_CUT_AT])) ||
		   is_python_cut(raw);
	return push_frames(s, raw, r, &ret->stack);
}

int stacks_intern(struct stacks *s, const struct stack_origin *at, const struct raw_stack *raw,
	struct stack_result *ret)
{
	struct stack_origin origin = *at;
	const struct cached_stack *known =
		is_up_to_date(at, raw) ? recall(s, hash_stack(at, raw), at, raw) : NULL;
	struct resolution r;
	struct stack_result result = {0};
	int error;

	if (known) {
		*ret = known->result;
		return 0;
	}
	r.first = 0;
	r.count = raw->user_depth;
	r.has_unknown = r.outdated = r.unsure = false;
	r.incomplete = 0;
	error = lacks_names(s, origin.process, raw, &result.lacks);
	if (!error && !result.lacks)
		error = make_stack(s, &origin, raw, &r, &result);
	*ret = result;
	if (error || result.lacks)
		return error;
	/* The key is that of the address space as it is now: resolving may have changed it. */
	if (!r.unsure && is_up_to_date(&origin, raw))
		remember(s, hash_stack(&origin, raw), &origin, raw, &r, &result);
	return 0;
}
