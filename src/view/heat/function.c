// SPDX-License-Identifier: MIT
/* All code as one tree, and what stands on it as another part of it: a node has what its parent
 * has. */
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
	free(f->codes);
	free(f->rests);
	free(f->spreads);
}

bool heat_function_has(const struct heat_function *f, struct event_pair pair)
{
	return f->codes[pair.code] || f->rests[pair.rest];
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

/* Nodes of keys. */
struct marking {
	uint32_t *codes, *rests, *spreads; /* 0 where there is none */
	size_t code_count, rest_count, spread_count;
};

static void mark_some(const bool *under, const uint32_t *nodes, size_t count, bool *ret)
{
	for (size_t n = 0; n < count; n++)
		ret[n] = under[nodes[n]];
}

static int mark(
	struct heat_function *f, const struct tree *t, const struct marking *m, const char *text)
{
	const struct tree_node *tree = tree_nodes(t);
	size_t node_count = tree_node_count(t);
	bool *chosen = calloc(tree_frame_count(t) + 1, sizeof(*chosen)),
	     *under = calloc(node_count + 1, sizeof(*under));
	int error = chosen && under ? choose_frames(f, t, text, chosen) : error_memory(SUBJECT);

	for (size_t n = 1; !error && n < node_count; n++)
		under[n] = under[tree[n].parent] || chosen[tree[n].frame];
	if (!error) {
		mark_some(under, m->codes, m->code_count, f->codes);
		mark_some(under, m->rests, m->rest_count, f->rests);
		mark_some(under, m->spreads, m->spread_count, f->spreads);
	}
	free(chosen);
	free(under);
	return error;
}

static bool is_shown(const struct gather_key *key)
{
	return key->event == EVENT_SAMPLE || key->event == EVENT_WORK;
}

static int add_nodes(struct tree *t, const struct slice_sums *s, const struct profile_reader *r,
	const struct marking *m)
{
	const struct view_options options = {0};
	struct event_nodes adding;
	int error = event_nodes_init(&adding, r, &options, t);

	for (size_t n = 0; !error && n < m->code_count; n++) {
		struct gather_key key = event_key_for(&s->all.keys.codes.items.items[n], &options);

		if (is_shown(&key))
			error = event_nodes_add_code(&adding, &key, &m->codes[n]);
	}
	for (size_t n = 0; !error && n < m->rest_count; n++)
		if (is_shown(&s->all.keys.rests.items.items[n]))
			error = event_nodes_add_top(
				&adding, &s->all.keys.rests.items.items[n], &m->rests[n]);
	for (size_t n = 0; !error && n < m->spread_count; n++)
		error = event_nodes_add(&adding, &s->spreads.items[n].key, &m->spreads[n]);
	event_nodes_release(&adding);
	return error;
}

static int begin(struct heat_function *f, const struct slice_sums *s, struct marking *m)
{
	m->code_count = s->all.keys.codes.items.count;
	m->rest_count = s->all.keys.rests.items.count;
	m->spread_count = s->spreads.count;
	m->codes = calloc(m->code_count + 1, sizeof(*m->codes));
	m->rests = calloc(m->rest_count + 1, sizeof(*m->rests));
	m->spreads = calloc(m->spread_count + 1, sizeof(*m->spreads));
	f->codes = calloc(m->code_count + 1, sizeof(*f->codes));
	f->rests = calloc(m->rest_count + 1, sizeof(*f->rests));
	f->spreads = calloc(m->spread_count + 1, sizeof(*f->spreads));
	return m->codes && m->rests && m->spreads && f->codes && f->rests && f->spreads
		       ? 0
		       : error_memory(SUBJECT);
}

int heat_function_find(struct heat_function *f, const struct slice_sums *s,
	const struct profile_reader *r, const char *text)
{
	struct marking m = {0};
	struct tree *t = NULL;
	int error = begin(f, s, &m);

	if (!error && (!text || !*text))
		error = error_set(-EINVAL, "say which function");
	error = error ?: tree_new(&t);
	error = error ?: add_nodes(t, s, r, &m);
	error = error ?: mark(f, t, &m, text);
	tree_free(t);
	free(m.codes);
	free(m.rests);
	free(m.spreads);
	return error;
}
