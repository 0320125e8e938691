// SPDX-License-Identifier: MIT
#include "view/gaps/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/names/label.h"

/* Code that loads data: parts of the paths of Python files and of libraries. */
// clang-format off
static const char *const input_paths[] = {
	"torch/utils/data/",	  "torchdata/",
	"torchvision/datasets/",  "torchvision/transforms/",
	"torchvision/io/",	  "tensorflow/python/data/",
	"site-packages/datasets/" /* of Hugging Face */,
	"webdataset/",		  "nvidia/dali/",
	"site-packages/grain/",
};
// clang-format on

int gap_stacks_init(struct gap_stacks *s, const struct internals *internals, const uint32_t *merged)
{
	*s = (struct gap_stacks){.internals = internals, .merged = merged};
	s->loads =
		calloc((size_t)profile_counts(internals->reader).locations + 1, sizeof(*s->loads));
	return s->loads ? 0 : -ENOMEM;
}

void gap_stacks_release(struct gap_stacks *s)
{
	free(s->loads);
	*s = (struct gap_stacks){0};
}

static uint32_t parent_of(const struct gap_stacks *s, uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(s->internals->reader, stack);

	return n ? n->parent : 0;
}

static bool find_loads(const struct profile_reader *r, const struct profile_location *l)
{
	const struct profile_module *m = profile_module(r, l->module);
	const char *path = profile_string(r,
		l->kind == FRAME_PYTHON ? l->file
		: m			? m->path
					: 0,
		NULL);

	for (size_t i = 0; i < sizeof(input_paths) / sizeof(*input_paths); i++)
		if (strstr(path, input_paths[i]))
			return true;
	return false;
}

static bool loads_data(
	const struct gap_stacks *s, uint32_t location, const struct profile_location *l)
{
	if (!s->loads[location])
		s->loads[location] = find_loads(s->internals->reader, l) ? 2 : 1;
	return s->loads[location] == 2;
}

/* What two stacks have in common, as a merged one; parents have smaller ids. */
static uint32_t common_part(const struct gap_stacks *s, uint32_t a, uint32_t b)
{
	a = s->merged[a];
	b = s->merged[b];
	while (a != b) {
		if (a > b)
			a = s->merged[parent_of(s, a)];
		else
			b = s->merged[parent_of(s, b)];
	}
	return a;
}

/* Whether a frame is a function of the program. */
static bool is_of_program(
	const struct gap_stacks *s, const struct profile_location *l, uint32_t stack, uint32_t at)
{
	const struct profile_reader *r = s->internals->reader;
	const struct profile_module *m = profile_module(r, l->module);

	if (l->kind == FRAME_PYTHON)
		return true;
	if (l->kind != FRAME_USER || internals_inside(s->internals, stack, at))
		return false;
	return !m ||
	       (m->kind != MODULE_VDSO && !label_is_c_library(profile_string(r, m->path, NULL)));
}

/* *ret_stack is the part of the stack that shows the activity. */
static enum gap_activity activity_of(
	const struct gap_stacks *s, uint32_t stack, uint32_t launch, uint32_t *ret_stack)
{
	const struct profile_reader *r = s->internals->reader;
	uint32_t common = common_part(s, stack, launch), leaf = 0, python = 0;
	bool leaf_is_python = false, loads = false, apart = false;

	for (uint32_t at = stack; at && (!leaf || s->merged[at] != common); at = parent_of(s, at)) {
		uint32_t location = profile_stack_node(r, at)->location;
		const struct profile_location *l = profile_location(r, location);

		if (!l || !is_of_program(s, l, stack, at))
			continue;
		if (!leaf) {
			leaf = at;
			leaf_is_python = l->kind == FRAME_PYTHON;
			apart = s->merged[at] != common;
		}
		if (s->merged[at] == common)
			break;
		if (!python && l->kind == FRAME_PYTHON)
			python = at;
		loads |= loads_data(s, location, l);
	}
	*ret_stack = loads && python ? python : leaf ? leaf : stack;
	return loads		? ACTIVITY_INPUT
	       : leaf_is_python ? ACTIVITY_PYTHON
	       : python		? ACTIVITY_CALLED
	       : apart		? ACTIVITY_NATIVE
				: ACTIVITY_LAUNCH;
}

struct gap_seen gap_samples_look(const struct gap_stacks *s, const struct gap_events *e,
	uint32_t thread, uint32_t launch, uint64_t from_ns, uint64_t until_ns)
{
	struct gap_seen seen = {0};
	uint64_t votes[ACTIVITIES] = {0};
	size_t end = e->threads.items[thread].samples.end;

	for (size_t i = gap_events_sample(e, thread, from_ns);
		i < end && e->samples.items[i].time_ns < until_ns; i++) {
		uint32_t stack;
		enum gap_activity a = activity_of(s, e->samples.items[i].stack, launch, &stack);

		seen.count++;
		seen.of[a]++;
		/* The majority, if there is one: each sample is a vote for its stack, or cancels
		 * one of another. */
		if (!votes[a])
			seen.stacks[a] = stack;
		if (s->merged[seen.stacks[a]] == s->merged[stack])
			votes[a]++;
		else
			votes[a]--;
	}
	return seen;
}
