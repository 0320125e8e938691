// SPDX-License-Identifier: MIT
#include "capture/merge.h"

#include <string.h>

/* What has not been merged so far. */
struct rest {
	const struct walk_python_frame *python;
	uint32_t depth;
	uint32_t next;
	uint32_t absent; /* so many of the next groups are left out in the middle */
};

/* One group, which is added to *m unless that is NULL. */
static void take_group(struct rest *r, struct merged *m)
{
	uint32_t ends = r->absent ? 1 : 0;

	if (r->absent)
		r->absent--;
	while (r->next < r->depth && !ends) {
		const struct walk_python_frame *frame = &r->python[r->next];

		if (m)
			m->items[m->count++] = MERGED_PYTHON | r->next;
		r->next++;
		ends = walk_python_groups(frame);
		r->absent = ends ? ends - 1 : 0;
	}
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
		groups += (int32_t)walk_python_groups(&python[i]);
	return loops - groups;
}

void merge_frames(const uint64_t *native, uint32_t first, uint32_t last, bool whole,
	const struct walk_python_frame *python, uint32_t python_depth, bool python_whole,
	struct merged *ret)
{
	struct rest rest = {.python = python, .depth = python_depth};
	uint32_t behind_loop = 0;
	int32_t without = 0;

	if (whole && python_whole)
		without = merge_surplus(native, first, last, python, python_depth);

	ret->count = 0;
	for (uint32_t i = first; i < last; i++) {
		bool loop = native[i] & WALK_FRAME_PYTHON;

		if (walk_is_cut(native[i])) {
			for (uint32_t groups = walk_groups(native[i]); groups; groups--)
				take_group(&rest, NULL);
			ret->items[ret->count++] = i;
			continue;
		}
		if (loop && without > 0)
			without--;
		else if (loop)
			take_group(&rest, ret);
		ret->items[ret->count++] = i;
		if (loop)
			behind_loop = ret->count;
	}
	ret->unplaced = whole && rest.next < python_depth;
	insert_rest(ret, whole && behind_loop ? behind_loop : ret->count, rest.next, python_depth);
}
