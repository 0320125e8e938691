// SPDX-License-Identifier: MIT
#include "view/launch_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "view/label.h"

/* Calls that kernels are launched by; a program may have the CUDA runtime linked in. */
static const char *const launching_calls[] = {
	"cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch"};

/* The launching call is looked for in this many frames at the leaf end. */
#define CALL_SEARCH_DEPTH 16

static bool is_launching_call(const struct profile_reader *r, const struct profile_location *l)
{
	const char *name = profile_string(r, l->name, NULL);

	for (size_t i = 0; i < sizeof(launching_calls) / sizeof(launching_calls[0]); i++)
		if (!strncmp(name, launching_calls[i], strlen(launching_calls[i])))
			return l->kind == FRAME_USER;
	return false;
}

static bool is_of_cuda(const struct profile_reader *r, const struct profile_location *l)
{
	const struct profile_module *m = profile_module(r, l->module);

	return m && label_is_cuda_library(profile_string(r, m->path, NULL));
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

/* The stack without the launching call and what lies inside it: another call (of the driver, by a
 * runtime that is linked in) among them. */
uint32_t launch_path_of(const struct profile_reader *r, uint32_t stack)
{
	uint32_t callers = stack, at = stack;

	for (int depth = 0; at && depth < CALL_SEARCH_DEPTH; depth++) {
		const struct profile_location *l = location_of(r, at);

		at = parent_of(r, at);
		if (l && (is_launching_call(r, l) || is_of_cuda(r, l)))
			callers = at;
	}
	return callers;
}

/*
 * By stack, the first one with the same functions: two calls of one function differ by their
 * addresses only. Parents have smaller ids.
 */
int launch_path_merge(const struct profile_reader *r, uint32_t **ret)
{
	uint32_t count = profile_counts(r).stack_nodes;
	uint32_t *first = calloc((size_t)count + 1, sizeof(*first));
	struct map named = MAP_INIT, nameless = MAP_INIT;
	int error = first ? 0 : -ENOMEM;

	for (uint32_t id = 1; !error && id <= count; id++) {
		const struct profile_stack_node *n = profile_stack_node(r, id);
		const struct profile_location *l = profile_location(r, n->location);
		struct map *known = l->name ? &named : &nameless;
		uint64_t key = (uint64_t)first[n->parent] << 32 | (l->name ? l->name : n->location);
		const uint64_t *same = map_get(known, key);

		first[id] = same ? (uint32_t)*same : id;
		if (!same)
			error = map_put(known, key, id);
	}
	map_release(&named);
	map_release(&nameless);
	if (error)
		free(first);
	else
		*ret = first;
	return error;
}

unsigned int launch_path_names(const struct profile_reader *r, uint32_t stack, unsigned int frames,
	uint32_t ret_names[LAUNCH_PATH_MAX])
{
	unsigned int count = 0;

	if (frames > LAUNCH_PATH_MAX)
		frames = LAUNCH_PATH_MAX;
	for (; stack && count < frames; stack = parent_of(r, stack)) {
		const struct profile_location *l = location_of(r, stack);

		if (l && *profile_string(r, l->name, NULL) &&
			(l->kind == FRAME_USER || l->kind == FRAME_PYTHON) && !is_of_cuda(r, l))
			ret_names[count++] = l->name;
	}
	for (unsigned int i = 0; i < count / 2; i++) {
		uint32_t outer = ret_names[count - 1 - i];

		ret_names[count - 1 - i] = ret_names[i];
		ret_names[i] = outer;
	}
	return count;
}
