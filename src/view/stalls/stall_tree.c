// SPDX-License-Identifier: MIT
#include "view/stalls/stall_tree.h"

#include <stdlib.h>

#include "base/error.h"

int stall_tree_init(struct stall_tree *s, const struct stalls *stalls, struct tree *t,
	const struct view_options *o)
{
	int error;

	*s = (struct stall_tree){.tree = t, .offsets = !o->reverse, .kernel = UINT32_MAX};
	error = gpu_stacks_init(&s->gpu, stalls->reader, t, o->lines);
	if (error)
		return error;
	s->reason_frames = calloc(stalls->reasons.count + 1, sizeof(*s->reason_frames));
	if (!s->reason_frames)
		return error_memory("the reasons");
	for (size_t i = 0; !error && i < stalls->reasons.count; i++)
		error = gpu_stacks_reason(
			&s->gpu, stalls->reasons.items[i].name, &s->reason_frames[i]);
	return error;
}

void stall_tree_release(struct stall_tree *s)
{
	gpu_stacks_release(&s->gpu);
	free(s->reason_frames);
	*s = (struct stall_tree){0};
}

static int find_instruction(struct stall_tree *s, uint32_t kernel, uint32_t instruction)
{
	int error = gpu_stacks_add(&s->gpu, kernel, instruction, &s->node);

	error = error ?: gpu_stacks_offset(&s->gpu, instruction, &s->offset);
	s->kernel = error ? UINT32_MAX : kernel;
	s->instruction = instruction;
	return error;
}

int stall_tree_find(
	struct stall_tree *s, uint32_t kernel, const struct stalls_row *row, uint32_t *ret_node)
{
	uint32_t node = 0;
	int error = 0;

	if (kernel != s->kernel || row->instruction != s->instruction)
		error = find_instruction(s, kernel, row->instruction);
	error = error ?: tree_add_child(s->tree, s->node, s->reason_frames[row->reason], &node);
	if (!error && s->offsets)
		error = tree_add_child(s->tree, node, s->offset, &node);
	if (!error)
		*ret_node = node;
	return error;
}

int stall_tree_add(
	struct stall_tree *s, uint32_t kernel, const struct stalls_row *row, uint64_t time)
{
	uint32_t node = 0;
	int error = stall_tree_find(s, kernel, row, &node);

	return error ?: tree_add_time(s->tree, node, time);
}
