// SPDX-License-Identifier: MIT
/* All stacks as one tree: a node has what its parent has. */
#include "view/heat/function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "view/fold/event_nodes.h"
#include "view/names/label.h"

#define SUBJECT "the heatmap"

void heat_function_release(struct heat_function *f)
{
	free(f->has);
}

bool heat_function_has(const struct heat_function *f, size_t key)
{
	return f->has[key];
}

/* The printable name, as pages and tables have it. */
static const char *name_of(const struct tree_frame *frame, struct buf *label, struct buf *text)
{
	buf_reset(label);
	buf_reset(text);
	tree_label(frame, label);
	printable_put(text, buf_text(label), label->size);
	return buf_text(text);
}

/* By frame: whether it is one of those. */
static int choose_frames(
	struct heat_function *f, const struct tree *t, const char *text, bool *chosen)
{
	const struct tree_frame *frames = tree_frames(t);
	struct buf label = BUF_INIT, name = BUF_INIT;
	int error;

	for (size_t part = 0; part < 2 && !f->names; part++)
		for (size_t n = 0; n < tree_frame_count(t); n++) {
			const char *is = name_of(&frames[n], &label, &name);

			chosen[n] = part ? strcasestr(is, text) != NULL : !strcmp(is, text);
			f->names += chosen[n];
		}
	error = label.failed || name.failed ? error_memory(SUBJECT) : 0;
	buf_release(&label);
	buf_release(&name);
	return error;
}

/* `nodes`: by key; 0 where there is none. */
static int mark(struct heat_function *f, const struct tree *t, const uint32_t *nodes, size_t count,
	const char *text)
{
	const struct tree_node *tree = tree_nodes(t);
	size_t node_count = tree_node_count(t);
	bool *chosen = calloc(tree_frame_count(t) + 1, sizeof(*chosen)),
	     *under = calloc(node_count + 1, sizeof(*under));
	int error = chosen && under ? choose_frames(f, t, text, chosen) : error_memory(SUBJECT);

	for (size_t n = 1; !error && n < node_count; n++)
		under[n] = under[tree[n].parent] || chosen[tree[n].frame];
	for (size_t n = 0; !error && n < count; n++)
		f->has[n] = under[nodes[n]];
	free(chosen);
	free(under);
	return error;
}

static int add_nodes(
	struct tree *t, const struct slice_sums *s, const struct profile_reader *r, uint32_t *nodes)
{
	const struct view_options options = {0};
	struct event_nodes adding;
	size_t keys = s->keys.items.count;
	int error = event_nodes_init(&adding, r, &options, t);

	for (size_t n = 0; !error && n < keys + s->spreads.count; n++) {
		const struct gather_key *whole =
			n < keys ? &s->keys.items.items[n] : &s->spreads.items[n - keys].key;
		struct gather_key key = event_key_for(whole, &options);

		if (key.event == EVENT_SAMPLE || key.event == EVENT_WORK)
			error = event_nodes_add(&adding, &key, &nodes[n]);
	}
	event_nodes_release(&adding);
	return error;
}

int heat_function_find(struct heat_function *f, const struct slice_sums *s,
	const struct profile_reader *r, const char *text)
{
	size_t count = s->keys.items.count + s->spreads.count;
	uint32_t *nodes = calloc(count + 1, sizeof(*nodes));
	struct tree *t = NULL;
	int error = nodes ? tree_new(&t) : error_memory(SUBJECT);

	*f = (struct heat_function){.has = calloc(count + 1, sizeof(*f->has))};
	if (!error && !f->has)
		error = error_memory(SUBJECT);
	if (!error && (!text || !*text))
		error = error_set(-EINVAL, "say which function");
	error = error ?: add_nodes(t, s, r, nodes);
	error = error ?: mark(f, t, nodes, count, text);
	tree_free(t);
	free(nodes);
	return error;
}
