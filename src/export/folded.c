// SPDX-License-Identifier: MIT
/*
 * Folded stacks: `root;...;leaf COUNT`, one line for every node with time of its own and for every
 * launch without work. Lines come in the order of the tree, so equal profiles give equal files.
 *
 * Two walks: the first collects the times, which are then rounded, CPU and GPU time each for itself
 * (apportion.h); the second writes. The path of the current node is kept as one text, with the
 * offset at which each depth ends.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/vec.h"
#include "export/apportion.h"
#include "export/exporter.h"
#include "export/folded_frame.h"

#define SUBJECT "folded stacks"

struct mark {
	size_t end;	 /* of the path's text down to this depth */
	uint32_t device; /* that GPU frames above stand on */
};

struct folder {
	const struct view_result *view;
	struct output *output;
	struct {
		uint64_t *items;
		size_t count, capacity;
	} times[2]; /* CPU, GPU: of the nodes with time, in the order of the walk */
	size_t next[2];
	struct buf path;
	struct {
		struct mark *items;
		size_t count, capacity;
	} marks;
};

static const struct tree_frame *frame_of(const struct tree *t, uint32_t node)
{
	return &tree_frames(t)[tree_nodes(t)[node].frame];
}

static int collect_times(struct folder *f)
{
	const struct tree *t = f->view->tree;
	struct tree_walk w = tree_walk_begin(t);

	while (tree_walk_next(&w)) {
		uint64_t self = tree_self(t, w.node);

		if (self && vec_push(&f->times[tree_nodes(t)[w.node].gpu], self))
			return error_memory(SUBJECT);
	}
	return 0;
}

/* Makes the path end with this node. */
static int enter(struct folder *f, uint32_t depth, const struct tree_frame *frame)
{
	struct mark mark = f->marks.items[depth - 1];

	f->marks.count = depth;
	f->path.size = mark.end;
	if (frame->kind == TREE_DEVICE) {
		mark.device = frame->number;
	} else {
		if (f->path.size)
			buf_putc(&f->path, ';');
		folded_frame(&f->path, frame, mark.device);
	}
	mark.end = f->path.size;
	return f->path.failed || vec_push(&f->marks, mark) ? error_memory(SUBJECT) : 0;
}

static int begin_path(struct folder *f)
{
	struct mark root = {.device = FOLDED_NO_DEVICE};

	if (f->view->simulated)
		buf_puts(&f->path, FOLDED_SIMULATED);
	root.end = f->path.size;
	return f->path.failed || vec_push(&f->marks, root) ? error_memory(SUBJECT) : 0;
}

static int write_lines(struct folder *f)
{
	const struct tree *t = f->view->tree;
	struct tree_walk w = tree_walk_begin(t);
	int error = begin_path(f);

	while (!error && tree_walk_next(&w)) {
		const struct tree_frame *frame = frame_of(t, w.node);
		bool gpu = tree_nodes(t)[w.node].gpu, timed = tree_self(t, w.node);

		error = enter(f, w.depth, frame);
		if (error || (!timed && frame->kind != TREE_GPU_PENDING))
			continue;
		output_write(f->output, f->path.data, f->path.size);
		output_putc(f->output, ' ');
		output_u64(f->output, timed ? f->times[gpu].items[f->next[gpu]++] : 0);
		output_putc(f->output, '\n');
	}
	return error;
}

static int write_folded(struct folder *f, bool round)
{
	int error = collect_times(f);

	for (int gpu = 0; !error && round && gpu < 2; gpu++)
		error = apportion_us(f->times[gpu].items, f->times[gpu].count);
	return error ?: write_lines(f);
}

int export_folded(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct folder f = {.output = o};
	struct view_result view;
	int error = view_read(path, &options->view, &view);

	if (error)
		return error;
	f.view = &view;
	error = write_folded(&f, view.unit == VIEW_NS && !options->exact_ns);
	export_note_view(ret, &view);
	vec_release(&f.times[0]);
	vec_release(&f.times[1]);
	vec_release(&f.marks);
	buf_release(&f.path);
	view_result_release(&view);
	return error;
}
