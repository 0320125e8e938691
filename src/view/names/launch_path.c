// SPDX-License-Identifier: MIT
#include "view/names/launch_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/large.h"
#include "base/map.h"
#include "vendor/vendor.h"
#include "view/names/location_text.h"

/* The launching call is looked for in this many frames at the leaf end: a program may have the
 * vendor's runtime linked in. */
#define CALL_SEARCH_DEPTH 16

/* Of a location; 0: not looked at yet. */
enum {
	LOOKED_AT = 1 << 0,
	OF_CALL = 1 << 1, /* the launching call, or code of a vendor's library */
	STUB = 1 << 2,	  /* what the vendor's compiler put before the call */
};

static bool is_of_gpu_library(const struct profile_reader *r, const struct profile_location *l)
{
	const struct profile_module *m = profile_module(r, l->module);

	return m && vendor_is_gpu_library(profile_string(r, m->path, NULL));
}

static const struct profile_location *location_of(const struct profile_reader *r, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(r, stack);

	return n ? profile_location(r, n->location) : NULL;
}

static uint32_t parent_of(const struct profile_reader *r, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(r, stack);

	return n ? n->parent : 0;
}

int launch_frames_init(struct launch_frames *f, const struct profile_reader *r)
{
	*f = (struct launch_frames){
		.reader = r, .locations = calloc((size_t)profile_counts(r).locations + 1, 1)};
	return f->locations ? 0 : -ENOMEM;
}

void launch_frames_release(struct launch_frames *f)
{
	free(f->locations);
	*f = (struct launch_frames){0};
}

static uint8_t judge_location(const struct profile_reader *r, const struct profile_location *l)
{
	const char *name = profile_string(r, l->name, NULL);
	bool user = l->kind == FRAME_USER;
	uint8_t flags = LOOKED_AT;

	if ((user && vendor_is_launching_call(name)) || is_of_gpu_library(r, l))
		flags |= OF_CALL;
	if (user && vendor_is_launch_stub(name))
		flags |= STUB;
	return flags;
}

static uint8_t flags_at(struct launch_frames *f, const struct profile_stack_node *n)
{
	const struct profile_location *l;

	if (f->locations[n->location])
		return f->locations[n->location];
	l = profile_location(f->reader, n->location);
	return f->locations[n->location] = l ? judge_location(f->reader, l) : LOOKED_AT;
}

/* The stack without the launching call and what lies inside it: another call (of the driver, by a
 * runtime that is linked in) among them; and without what the vendor's compiler put before it. */
uint32_t launch_path_of(struct launch_frames *f, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(f->reader, stack);
	uint32_t callers = stack;

	for (int depth = 0; n && depth < CALL_SEARCH_DEPTH; depth++) {
		if (flags_at(f, n) & OF_CALL)
			callers = n->parent;
		n = profile_stack_node(f->reader, n->parent);
	}
	while ((n = profile_stack_node(f->reader, callers)) && flags_at(f, n) & STUB)
		callers = n->parent;
	return callers;
}

/* What identifies a function of a profile, as a number: of native code its name, of Python's name
 * and file. */
struct functions {
	uint32_t *of_location;		    /* its number + 1; 0: not looked up yet */
	struct map named, python, nameless; /* by what identifies it */
	uint32_t count;
};

static uint32_t number_of(struct functions *f, struct map *map, uint64_t key, int *error)
{
	const uint64_t *found = map_get(map, key);

	if (found)
		return (uint32_t)*found;
	*error = map_put(map, key, f->count);
	return f->count++;
}

/* Code without a name is identified by its function's beginning, or else by its own place. What was
 * made at run time is one function. */
static uint32_t number_function(struct functions *f, const struct profile_reader *r,
	const struct profile_location *l, int *error)
{
	bool is_one = l->function || location_is_nameless_jit(r, l);

	if (l->kind == FRAME_PYTHON)
		return number_of(f, &f->python, (uint64_t)l->name << 32 | l->file, error);
	if (l->name)
		return number_of(f, &f->named, l->name, error);
	if (!is_one || l->function >> 44 || l->module >> 20)
		return f->count++;
	return number_of(f, &f->nameless, (uint64_t)l->module << 44 | l->function, error);
}

static uint32_t function_of(
	struct functions *f, const struct profile_reader *r, uint32_t location, int *error)
{
	uint32_t *number = &f->of_location[location];
	const struct profile_location *l = profile_location(r, location);

	if (!*number)
		*number = (l ? number_function(f, r, l, error) : f->count++) + 1;
	return *number - 1;
}

/*
 * The first stacks that go on from others by a function. There are as many of them as stacks, so a
 * slot is only the stack: what it goes on from and by is looked up where another may be the same.
 */
struct steps {
	const struct profile_reader *reader;
	const uint32_t *first; /* by stack, as far as they are known */
	struct functions functions;
	uint32_t *slots; /* 0: free */
	size_t count, mask;
};

/* What a stack goes on from, and by. */
struct step {
	uint32_t caller, function;
};

static struct step step_of(const struct steps *s, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(s->reader, stack);

	return (struct step){s->first[n->parent], s->functions.of_location[n->location] - 1};
}

static uint32_t *find_step(const struct steps *s, struct step step)
{
	size_t i = hash_u64((uint64_t)step.caller << 32 | step.function) & s->mask;

	for (; s->slots[i]; i = (i + 1) & s->mask) {
		struct step other = step_of(s, s->slots[i]);

		if (other.caller == step.caller && other.function == step.function)
			break;
	}
	return &s->slots[i];
}

static void put_step(struct steps *s, uint32_t stack)
{
	struct step step = step_of(s, stack);
	size_t i = hash_u64((uint64_t)step.caller << 32 | step.function) & s->mask;

	while (s->slots[i])
		i = (i + 1) & s->mask;
	s->slots[i] = stack;
}

static int make_room(struct steps *s)
{
	size_t capacity = s->slots ? (s->mask + 1) * 2 : 1024;
	struct steps bigger = *s;

	if (s->slots && (s->count + 1) * 4 <= (s->mask + 1) * 3)
		return 0;
	bigger.slots = large_zeros(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	bigger.mask = capacity - 1;
	for (size_t i = 0; s->slots && i <= s->mask; i++)
		if (s->slots[i])
			put_step(&bigger, s->slots[i]);
	free(s->slots);
	*s = bigger;
	return 0;
}

static int steps_init(struct steps *s, const struct profile_reader *r, const uint32_t *first)
{
	*s = (struct steps){.reader = r, .first = first};
	s->functions.of_location =
		calloc((size_t)profile_counts(r).locations + 1, sizeof(*s->functions.of_location));
	return s->functions.of_location ? 0 : -ENOMEM;
}

static void steps_release(struct steps *s)
{
	free(s->slots);
	free(s->functions.of_location);
	map_release(&s->functions.named);
	map_release(&s->functions.python);
	map_release(&s->functions.nameless);
}

/* The first stack that goes on from `caller` by the same function; `id`, when it is that. */
static uint32_t same_function(
	struct steps *s, uint32_t caller, uint32_t location, uint32_t id, int *error)
{
	struct step step = {caller, function_of(&s->functions, s->reader, location, error)};
	uint32_t *slot;

	*error = *error ?: make_room(s);
	if (*error)
		return id;
	slot = find_step(s, step);
	if (*slot)
		return *slot;
	*slot = id;
	s->count++;
	return id;
}

/* Code without a name that other such code called. */
static bool continues_jit(const struct profile_reader *r, const struct profile_stack_node *n)
{
	return location_is_nameless_jit(r, profile_location(r, n->location)) &&
	       location_is_nameless_jit(r, location_of(r, n->parent));
}

static bool is_same_function(const struct profile_reader *r, uint32_t left, uint32_t right)
{
	const struct profile_location *a = profile_location(r, left),
				      *b = profile_location(r, right);

	return left == right || (a && b && a->name && a->kind == b->kind && a->name == b->name &&
					a->module == b->module && a->file == b->file);
}

/* Whether the innermost function of the path to the caller calls itself. */
static bool calls_itself(const struct profile_reader *r, uint32_t caller, uint32_t location)
{
	const struct profile_stack_node *n = profile_stack_node(r, caller);

	return n && is_same_function(r, n->location, location);
}

static bool is_left_out(
	const struct internals *i, uint32_t stack, uint32_t at, enum path_frames which)
{
	if (which == PATH_PROGRAM)
		return internals_inside(i, stack, at);
	return internals_nameless(i, at) || internals_hide(i, stack, at);
}

/*
 * Two calls of one function differ by their addresses only. Parents have smaller ids. What is
 * hidden is no part of a path.
 */
static int merge(const struct internals *i, enum path_frames which, uint32_t **ret)
{
	uint32_t count = profile_counts(i->reader).stack_nodes;
	uint32_t *first = calloc((size_t)count + 1, sizeof(*first));
	struct steps steps = {0};
	int error = first ? steps_init(&steps, i->reader, first) : -ENOMEM;

	for (uint32_t id = 1; !error && id <= count; id++) {
		const struct profile_stack_node *n = profile_stack_node(i->reader, id);
		uint32_t caller = first[n->parent];

		if (is_left_out(i, id, id, which) || continues_jit(i->reader, n) ||
			calls_itself(i->reader, caller, n->location))
			first[id] = caller;
		else
			first[id] = same_function(&steps, caller, n->location, id, &error);
	}
	steps_release(&steps);
	if (error)
		free(first);
	else
		*ret = first;
	return error;
}

int launch_path_merge(const struct internals *i, enum path_frames which, const uint32_t **ret)
{
	int error;

	/* without Python there is nothing to hide */
	if (!i->stack_count)
		which = PATH_PROGRAM;
	error = i->merged[which] ? 0 : merge(i, which, &i->merged[which]);

	*ret = i->merged[which];
	return error;
}

static bool is_function(
	const struct internals *i, uint32_t stack, uint32_t at, enum path_frames which)
{
	const struct profile_location *l = location_of(i->reader, at);

	return l && *profile_string(i->reader, l->name, NULL) &&
	       (l->kind == FRAME_USER || l->kind == FRAME_PYTHON) &&
	       (which == PATH_SHOWN || !is_of_gpu_library(i->reader, l)) &&
	       !is_left_out(i, stack, at, which);
}

unsigned int launch_path_functions(const struct internals *i, uint32_t stack,
	enum path_frames which, unsigned int most, uint32_t ret_locations[LAUNCH_PATH_MAX])
{
	unsigned int count = 0;
	uint32_t location;

	if (most > LAUNCH_PATH_MAX)
		most = LAUNCH_PATH_MAX;
	for (uint32_t at = stack; at && count < most; at = parent_of(i->reader, at)) {
		if (!is_function(i, stack, at, which))
			continue;
		location = profile_stack_node(i->reader, at)->location;
		if (!count || !is_same_function(i->reader, ret_locations[count - 1], location))
			ret_locations[count++] = location;
	}
	for (unsigned int n = 0; n < count / 2; n++) {
		uint32_t outer = ret_locations[count - 1 - n];

		ret_locations[count - 1 - n] = ret_locations[n];
		ret_locations[n] = outer;
	}
	return count;
}
