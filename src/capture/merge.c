// SPDX-License-Identifier: MIT
#include "capture/merge.h"

#include <string.h>

/* Adds one group of Python frames, from *next on. */
static void add_group(
	struct merged *m, const struct walk_python_frame *python, uint32_t depth, uint32_t *next)
{
	bool last = false;

	while (*next < depth && !last) {
		last = python[*next].at & WALK_PYTHON_LAST;
		m->items[m->count++] = MERGED_PYTHON | (*next)++;
	}
}

/* Those of native frames that are left out. */
static void skip_groups(
	uint32_t groups, const struct walk_python_frame *python, uint32_t depth, uint32_t *next)
{
	while (*next < depth && groups)
		groups -= (python[(*next)++].at & WALK_PYTHON_LAST) != 0;
}

/* Puts all that is left of Python's frames before item `position`. */
static void insert_rest(struct merged *m, uint32_t position, uint32_t next, uint32_t depth)
{
	memmove(m->items + position + (depth - next), m->items + position,
		(m->count - position) * sizeof(*m->items));
	m->count += depth - next;
	for (; next < depth; next++)
		m->items[position++] = MERGED_PYTHON | next;
}

int32_t merge_surplus(const uint64_t *native, uint32_t first, uint32_t last,
	const struct walk_python_frame *python, uint32_t depth)
{
	int32_t loops = 0, groups = 0;

	for (uint32_t i = first; i < last; i++)
		loops += (int32_t)walk_groups(native[i]);
	for (uint32_t i = 0; i < depth; i++)
		groups += (python[i].at & WALK_PYTHON_LAST) != 0;
	return loops - groups;
}

void merge_frames(const uint64_t *native, uint32_t first, uint32_t last, bool whole,
	const struct walk_python_frame *python, uint32_t python_depth, bool python_whole,
	struct merged *ret)
{
	uint32_t next = 0, behind_loop = 0;
	int32_t without = 0;

	if (whole && python_whole)
		without = merge_surplus(native, first, last, python, python_depth);

	ret->count = 0;
	for (uint32_t i = first; i < last; i++) {
		bool loop = native[i] & WALK_FRAME_PYTHON;

		if (walk_is_cut(native[i])) {
			skip_groups(walk_groups(native[i]), python, python_depth, &next);
			ret->items[ret->count++] = i;
			continue;
		}
		if (loop && without > 0)
			without--;
		else if (loop)
			add_group(ret, python, python_depth, &next);
		ret->items[ret->count++] = i;
		if (loop)
			behind_loop = ret->count;
	}
	ret->unplaced = whole && next < python_depth;
	insert_rest(ret, whole && behind_loop ? behind_loop : ret->count, next, python_depth);
}
