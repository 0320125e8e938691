// SPDX-License-Identifier: MIT
/*
 * A cursor is the time of one node of the tree, on its way from there to the root. A node of the
 * new tree is a range of cursors that have come the same way, and its children are parts of that
 * range, by the frame that comes next:
 *
 *	cursors   |  a  a  a  a  a  |  b  b  |
 *	children  |  a c  | a d  |e |  b c   |		e ends at a
 *
 * Nodes come in classes, in which times are less than 1, 2, 4, 8 ... The largest is made first, and
 * what stands on it is of no larger class. So when all of a class were made, it is known how many
 * these are; and the first class that does not fit is left out, with all that come behind it.
 */
#include "view/tree/reverse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/large.h"
#include "base/vec.h"

#define SUBJECT	  "the reversed tree"
#define NODES_MAX ((size_t)1 << 31) /* cursor.origin */
#define CLASSES	  65
#define AHEAD	  16 /* cursors, of which the node is asked for */
#define ENDED	  0u /* the group of cursors that are at the root */

struct cursor {
	uint32_t at;	      /* the node whose frame comes next; the root's: none does */
	uint32_t origin : 31; /* where the time is */
	uint32_t gpu : 1;     /* it is GPU time */
	uint64_t self;
};

/* A node that is not made yet. */
struct pending {
	uint32_t parent, frame;
	uint32_t begin, end; /* cursors */
	struct tree_time total;
};

struct made {
	uint32_t parent, frame;
	uint64_t time; /* all of it */
	struct tree_time own, left_out;
};

/* The part of a range that goes on by one frame. */
struct group {
	uint32_t frame, begin, next, end; /* next: of its places the first that is not filled */
	struct tree_time total;
};

struct reversing {
	const struct tree *t;
	bool sampled;
	size_t most; /* SIZE_MAX: all */
	struct cursor *cursors;
	uint32_t *group_of; /* by cursor of the range that is divided */
	uint32_t cursor_count;
	uint32_t *group_of_frame; /* in this range; 0: none yet */
	struct vec(struct group) groups;
	struct vec(struct pending) classes[CLASSES];
	struct vec(struct made) made;
	struct tree_sizes known; /* made or not */
	uint64_t known_count;
	uint64_t least; /* what has less is left out for sure */
	uint64_t left_out;
};

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

static void release(struct reversing *x)
{
	free(x->cursors);
	free(x->group_of);
	free(x->group_of_frame);
	vec_release(&x->groups);
	vec_release(&x->made);
	for (int n = 0; n < CLASSES; n++)
		vec_release(&x->classes[n]);
}

static int class_of(uint64_t time)
{
	return time ? 64 - __builtin_clzll(time) : 0;
}

static uint64_t time_of(const struct tree_time *t)
{
	return t->cpu + t->gpu;
}

static void add(struct tree_time *to, const struct tree_time *more)
{
	to->cpu += more->cpu;
	to->gpu += more->gpu;
	to->samples += more->samples;
}

static void take(struct tree_time *from, const struct tree_time *less)
{
	from->cpu -= less->cpu;
	from->gpu -= less->gpu;
	from->samples -= less->samples;
}

/* ------------------------------------------------------------------ cursors */

static struct tree_time time_at(const struct reversing *x, const struct cursor *c)
{
	return (struct tree_time){c->gpu ? 0 : c->self, c->gpu ? c->self : 0,
		x->sampled ? tree_samples(x->t, c->origin) : 0};
}

static int make_cursors(struct reversing *x)
{
	const struct tree_node *nodes = tree_nodes(x->t);
	size_t count = tree_node_count(x->t);

	for (uint32_t n = 1; n < count; n++)
		x->cursor_count += tree_self(x->t, n) > 0;
	x->cursors = large_alloc(x->cursor_count, sizeof(*x->cursors));
	x->group_of = large_alloc(x->cursor_count, sizeof(*x->group_of));
	x->group_of_frame = calloc(tree_frame_count(x->t), sizeof(*x->group_of_frame));
	if (!x->cursors || !x->group_of || !x->group_of_frame || count > NODES_MAX)
		return short_memory();
	x->cursor_count = 0;
	for (uint32_t n = 1; n < count; n++)
		if (tree_self(x->t, n))
			x->cursors[x->cursor_count++] = (struct cursor){
				n, n & (NODES_MAX - 1), nodes[n].gpu, tree_self(x->t, n)};
	return 0;
}

/* Of the frame that comes next, or of those that are at the root. */
static int find_group(struct reversing *x, uint32_t at, uint32_t *ret)
{
	uint32_t frame = tree_nodes(x->t)[at].frame, *group = &x->group_of_frame[frame];

	if (at == TREE_ROOT_NODE) {
		*ret = ENDED;
		return 0;
	}
	if (!*group) {
		*group = (uint32_t)x->groups.count;
		if (vec_push(&x->groups, (struct group){.frame = frame}))
			return short_memory();
	}
	*ret = *group;
	return 0;
}

/* Numbers the groups of a range, and moves its cursors on. */
static int find_groups(struct reversing *x, uint32_t begin, uint32_t end)
{
	const struct tree_node *nodes = tree_nodes(x->t);
	int error;

	x->groups.count = 0;
	error = vec_push(&x->groups, (struct group){0}) ? short_memory() : 0;
	for (uint32_t n = begin; !error && n < end; n++) {
		struct cursor *c = &x->cursors[n];
		struct tree_time time = time_at(x, c);

		if (n + AHEAD < end)
			__builtin_prefetch(&nodes[x->cursors[n + AHEAD].at]);
		error = find_group(x, c->at, &x->group_of[n]);
		if (error)
			break;
		c->at = nodes[c->at].parent;
		x->groups.items[x->group_of[n]].end++;
		add(&x->groups.items[x->group_of[n]].total, &time);
	}
	vec_foreach (group, &x->groups)
		x->group_of_frame[group->frame] = 0;
	return error;
}

static void exchange(struct reversing *x, uint32_t a, uint32_t b)
{
	struct cursor cursor = x->cursors[a];
	uint32_t group = x->group_of[a];

	x->cursors[a] = x->cursors[b];
	x->group_of[a] = x->group_of[b];
	x->cursors[b] = cursor;
	x->group_of[b] = group;
}

/* Each place is filled once, by a cursor of its group. */
static void put_together(struct reversing *x, uint32_t begin)
{
	struct group *groups = x->groups.items;
	uint32_t at = begin;

	vec_foreach (group, &x->groups) {
		group->begin = group->next = at;
		group->end += at;
		at = group->end;
	}
	for (uint32_t n = 0; n < x->groups.count; n++)
		while (groups[n].next < groups[n].end) {
			uint32_t group = x->group_of[groups[n].next];

			if (group == n)
				groups[n].next++;
			else
				exchange(x, groups[n].next, groups[group].next++);
		}
}

/* ------------------------------------------------------------------ nodes */

/* What does not fit beside what is known already never will. */
static void raise_least(struct reversing *x)
{
	if (x->known_count > x->most)
		x->least = tree_sizes_least(&x->known, x->most);
	for (int n = 0; n < class_of(x->least); n++) {
		x->left_out += x->classes[n].count;
		if (x->classes[n].count)
			vec_release(&x->classes[n]);
	}
}

static int add_pending(struct reversing *x, uint32_t parent, const struct group *group)
{
	const struct pending p = {parent, group->frame, group->begin, group->end, group->total};
	uint64_t time = time_of(&p.total);

	x->known_count++;
	tree_sizes_add(&x->known, time);
	if (time < x->least) {
		x->left_out++;
		return 0;
	}
	return vec_push(&x->classes[class_of(time)], p) ? short_memory() : 0;
}

/* What stands on a node: the time that ended there is its own. */
static int divide(struct reversing *x, uint32_t node, uint32_t begin, uint32_t end)
{
	int error = find_groups(x, begin, end);

	if (error)
		return error;
	put_together(x, begin);
	if (node != TREE_ROOT_NODE)
		x->made.items[node].own = x->groups.items[ENDED].total;
	take(&x->made.items[node].left_out, &x->groups.items[ENDED].total);
	for (size_t n = ENDED + 1; !error && n < x->groups.count; n++)
		error = add_pending(x, node, &x->groups.items[n]);
	raise_least(x);
	return error;
}

static int make_node(struct reversing *x, const struct pending *p)
{
	const struct made made = {.parent = p->parent,
		.frame = p->frame,
		.time = time_of(&p->total),
		.left_out = p->total};

	if (x->made.count >= UINT32_MAX || vec_push(&x->made, made))
		return short_memory();
	return divide(x, (uint32_t)x->made.count - 1, p->begin, p->end);
}

static int make_nodes(struct reversing *x)
{
	struct made root = {0};
	int error = make_cursors(x);

	for (uint32_t n = 0; !error && n < x->cursor_count; n++) {
		struct tree_time time = time_at(x, &x->cursors[n]);

		add(&root.left_out, &time);
	}
	error = error ?: vec_push(&x->made, root) ? short_memory() : 0;
	error = error ?: divide(x, TREE_ROOT_NODE, 0, x->cursor_count);
	for (int n = CLASSES - 1; n >= 0; n--)
		while (!error && x->classes[n].count) {
			const struct pending p = x->classes[n].items[--x->classes[n].count];

			error = make_node(x, &p);
		}
	return error;
}

/* Those that were made before it was known that their class does not fit come last. */
static void forget_last(struct reversing *x)
{
	while (x->made.count > 1 && x->made.items[x->made.count - 1].time < x->least) {
		x->made.count--;
		x->left_out++;
	}
}

/* ------------------------------------------------------------------ the tree */

/* The root's frame is there already, as the first of both. */
static int copy_frames(struct tree *to, const struct tree *from)
{
	int error = 0;

	for (size_t i = 1; !error && i < tree_frame_count(from); i++) {
		const struct tree_frame *f = &tree_frames(from)[i];
		uint32_t frame;

		error = tree_add_frame(to, f->kind, f->number, f->name, f->size, &frame);
	}
	return error;
}

/* Parents come first, and a child of the new tree has the number that it has here. */
static int add_nodes(struct reversing *x, struct tree *to)
{
	int error = 0;

	for (uint32_t n = 1; !error && n < x->made.count; n++) {
		struct made *made = &x->made.items[n];
		struct tree_time total = made->left_out;
		uint32_t node;

		add(&total, &made->own);
		take(&x->made.items[made->parent].left_out, &total);
		error = tree_add_child(to, made->parent, made->frame, &node);
		if (!error && time_of(&made->own))
			error = tree_add_time(to, node, time_of(&made->own));
		if (!error && x->sampled)
			error = tree_add_samples(to, node, made->own.samples);
	}
	for (uint32_t n = 0; !error && n < x->made.count; n++)
		error = tree_add_left_out(to, n, &x->made.items[n].left_out);
	return error;
}

int tree_reverse(const struct tree *t, size_t node_max, struct tree_reversed *ret)
{
	struct reversing x = {.t = t,
		.sampled = tree_has_samples(t),
		.most = node_max ? node_max : SIZE_MAX,
		.least = 1};
	struct tree *tree = NULL;
	int error = make_nodes(&x);

	if (!error) {
		forget_last(&x);
		error = tree_new(&tree);
	}
	if (!error && tree_is_joined(t))
		tree_join_times(tree);
	error = error ?: copy_frames(tree, t);
	error = error ?: add_nodes(&x, tree);
	if (error)
		tree_free(tree);
	else
		*ret = (struct tree_reversed){tree, x.least, x.left_out};
	release(&x);
	return error;
}
