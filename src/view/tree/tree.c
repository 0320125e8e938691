// SPDX-License-Identifier: MIT
/*
 * Nodes live in one array; the children of a node are a list in it, newest first. Looking for a
 * child reads at most SCAN_LIMIT members of that list. A node that has more children also has all
 * of them in one hash index of the whole tree, so that lists stay cheap where trees are narrow
 * (nearly everywhere) and wide nodes stay fast.
 *
 * Frames: names are interned as text; a frame is (text, kind, number), found through a map.
 */
#include "view/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

#define SCAN_LIMIT 6
#define SUBJECT	   "the tree of frames"

struct tree {
	struct vec(struct tree_node) nodes;
	struct vec(struct tree_frame) frames;
	struct interner *texts;
	struct map frame_index; /* hash of text id, kind, number -> its newest frame + 1 */
	struct vec(uint32_t) frame_chain;   /* by frame: next frame + 1 of the same hash */
	struct vec(uint32_t) frame_of_text; /* tree_add_texts only: by text id */
	uint32_t *index;		    /* children of wide nodes: node ids, 0 = free */
	size_t index_mask;
	size_t index_count;
	struct tree_time total;
	bool joined;		      /* one time */
	struct vec(uint64_t) samples; /* by node, as far as there are any */
};

static const struct {
	const char *name;
	bool gpu;
} kinds[TREE_KINDS] = {
	[TREE_ROOT] = {"all", false},
	[TREE_PROCESS] = {"process", false},
	[TREE_THREAD] = {"thread", false},
	[TREE_PYTHON] = {"Python", false},
	[TREE_CXX] = {"C++, Rust", false},
	[TREE_C] = {"native", false},
	[TREE_KERNEL] = {"OS kernel", false},
	[TREE_API] = {"API call", false},
	[TREE_DEVICE] = {"device", false},
	[TREE_STREAM] = {"stream", false},
	[TREE_GPU_KERNEL] = {"GPU kernel", true},
	[TREE_GPU_COPY] = {"GPU copy", true},
	[TREE_GPU_SET] = {"GPU memset", true},
	[TREE_GPU_PENDING] = {"launch without work", true},
	[TREE_GPU_SOURCE] = {"GPU source", true},
	[TREE_GPU_CODE] = {"GPU code", true},
	[TREE_WAIT] = {"waiting", false},
	[TREE_NOTE] = {"note", false},
	[TREE_DIFF_SAME] = {"no difference beyond the noise", false},
	[TREE_DIFF_LITTLE_MORE] = {"a little more in the second", false},
	[TREE_DIFF_MORE] = {"more than 1.2 times in the second", false},
	[TREE_DIFF_MUCH_MORE] = {"more than twice in the second", false},
	[TREE_DIFF_AFTER] = {"only in the second", false},
	[TREE_DIFF_LITTLE_LESS] = {"a little less in the second", false},
	[TREE_DIFF_LESS] = {"less than 1/1.2 in the second", false},
	[TREE_DIFF_MUCH_LESS] = {"less than half in the second", false},
	[TREE_DIFF_BEFORE] = {"only in the first", false},
};

bool tree_kind_is_gpu(enum tree_kind kind)
{
	return kinds[kind].gpu;
}

const char *tree_kind_name(enum tree_kind kind)
{
	return kinds[kind].name;
}

int tree_new(struct tree **ret)
{
	struct tree *t = calloc(1, sizeof(*t));
	uint32_t root;

	if (!t)
		return error_memory(SUBJECT);
	if (interner_new(&t->texts) || tree_add_frame(t, TREE_ROOT, 0, "all", 3, &root) ||
		vec_push(&t->nodes, (struct tree_node){.frame = root})) {
		tree_free(t);
		return error_memory(SUBJECT);
	}
	*ret = t;
	return 0;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	vec_release(&t->nodes);
	vec_release(&t->samples);
	vec_release(&t->frames);
	vec_release(&t->frame_chain);
	vec_release(&t->frame_of_text);
	map_release(&t->frame_index);
	interner_free(t->texts);
	free(t->index);
	free(t);
}

void tree_join_times(struct tree *t)
{
	t->joined = true;
}

static int push_frame(struct tree *t, enum tree_kind kind, uint32_t number, uint32_t text)
{
	struct tree_frame frame = {.kind = kind, .number = number};
	size_t size;

	if (t->frames.count >= INT32_MAX)
		return -ENOMEM;
	frame.name = interner_get(t->texts, text, &size);
	frame.size = (uint32_t)size;
	return vec_push(&t->frames, frame);
}

int tree_add_frame(struct tree *t, enum tree_kind kind, uint32_t number, const char *name,
	size_t size, uint32_t *ret_frame)
{
	uint64_t key, *first;
	uint32_t text, frame;

	if (size > INT32_MAX || interner_add(t->texts, name, size, &text, NULL))
		return error_memory(SUBJECT);
	key = hash_combine((uint64_t)text << 32 | number, kind);
	first = map_get(&t->frame_index, key);
	name = interner_get(t->texts, text, NULL);
	for (frame = first ? (uint32_t)*first : 0; frame; frame = t->frame_chain.items[frame - 1]) {
		const struct tree_frame *f = &t->frames.items[frame - 1];

		if (f->name == name && f->kind == kind && f->number == number) {
			*ret_frame = frame - 1;
			return 0;
		}
	}
	if (vec_push(&t->frame_chain, first ? (uint32_t)*first : 0) ||
		push_frame(t, kind, number, text) || map_put(&t->frame_index, key, t->frames.count))
		return error_memory(SUBJECT);
	*ret_frame = (uint32_t)t->frames.count - 1;
	return 0;
}

static int frame_of_text(struct tree *t, const struct interner_item *text,
	enum tree_kind (*classify)(const char *name, size_t size), uint32_t *ret_frame)
{
	/* Text ids come densely; the root's is there before the first call. */
	while (t->frame_of_text.count <= text->id)
		if (vec_push(&t->frame_of_text, UINT32_MAX))
			return error_memory(SUBJECT);
	if (t->frame_of_text.items[text->id] == UINT32_MAX) {
		if (text->size > INT32_MAX ||
			push_frame(t, classify(text->data, text->size), 0, text->id))
			return error_memory(SUBJECT);
		t->frame_of_text.items[text->id] = (uint32_t)t->frames.count - 1;
	}
	*ret_frame = t->frame_of_text.items[text->id];
	return 0;
}

int tree_add_texts(struct tree *t, struct interner_item *texts, size_t count,
	enum tree_kind (*classify)(const char *name, size_t size))
{
	if (interner_add_all(t->texts, texts, count))
		return error_memory(SUBJECT);
	for (size_t i = 0; i < count; i++) {
		int error = frame_of_text(t, &texts[i], classify, &texts[i].id);

		if (error)
			return error;
	}
	return 0;
}

static size_t index_slot(const struct tree *t, uint32_t parent, uint32_t frame)
{
	size_t i = hash_u64((uint64_t)parent << 32 | frame) & t->index_mask;

	while (t->index[i]) {
		const struct tree_node *n = &t->nodes.items[t->index[i]];

		if (n->parent == parent && n->frame == frame)
			break;
		i = (i + 1) & t->index_mask;
	}
	return i;
}

static int grow_index(struct tree *t)
{
	size_t old_size = t->index ? t->index_mask + 1 : 0;
	size_t mask = old_size ? old_size * 2 - 1 : 1023;
	uint32_t *old = t->index, *index = calloc(mask + 1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	t->index = index;
	t->index_mask = mask;
	for (size_t i = 0; i < old_size; i++)
		if (old[i]) {
			const struct tree_node *n = &t->nodes.items[old[i]];

			index[index_slot(t, n->parent, n->frame)] = old[i];
		}
	free(old);
	return 0;
}

static int index_put(struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes.items[node];

	if (!t->index || (t->index_count + 1) * 3 > (t->index_mask + 1) * 2)
		if (grow_index(t))
			return -ENOMEM;
	t->index[index_slot(t, n->parent, n->frame)] = node;
	t->index_count++;
	return 0;
}

/* The list of `parent` has just become longer than a scan reads: index all of it. */
static int index_children(struct tree *t, uint32_t parent)
{
	uint32_t child = t->nodes.items[parent].first_child;

	for (; child; child = t->nodes.items[child].next_sibling)
		if (index_put(t, child))
			return -ENOMEM;
	return 0;
}

static int push_child(struct tree *t, uint32_t parent, uint32_t frame, uint32_t siblings)
{
	uint32_t node = (uint32_t)t->nodes.count;
	bool gpu = !t->joined &&
		   (t->nodes.items[parent].gpu || kinds[t->frames.items[frame].kind].gpu);
	struct tree_node n = {.parent = parent, .frame = frame & INT32_MAX, .gpu = gpu};

	if (t->nodes.count >= UINT32_MAX)
		return -ENOMEM;
	n.next_sibling = t->nodes.items[parent].first_child;
	if (vec_push(&t->nodes, n))
		return -ENOMEM;
	t->nodes.items[parent].first_child = node;
	if (siblings > SCAN_LIMIT)
		return index_put(t, node);
	return siblings == SCAN_LIMIT ? index_children(t, parent) : 0;
}

int tree_add_child(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node)
{
	uint32_t child = t->nodes.items[parent].first_child, siblings = 0;

	for (; child && siblings < SCAN_LIMIT; siblings++) {
		const struct tree_node *n = &t->nodes.items[child];

		if (n->frame == frame) {
			*ret_node = child;
			return 0;
		}
		child = n->next_sibling;
	}
	if (child) {
		size_t slot = index_slot(t, parent, frame);

		if (t->index[slot]) {
			*ret_node = t->index[slot];
			return 0;
		}
		siblings++;
	}
	if (push_child(t, parent, frame, siblings))
		return error_memory(SUBJECT);
	*ret_node = (uint32_t)t->nodes.count - 1;
	return 0;
}

int tree_add_time(struct tree *t, uint32_t node, uint64_t time)
{
	struct tree_node *n = &t->nodes.items[node];
	uint64_t *total = n->gpu ? &t->total.gpu : &t->total.cpu, sum;

	if (__builtin_add_overflow(*total, time, total) ||
		__builtin_add_overflow(t->total.cpu, t->total.gpu, &sum))
		return error_set(-EOVERFLOW, "the sum of all times does not fit 64 bits");
	n->self += time;
	return 0;
}

int tree_add_samples(struct tree *t, uint32_t node, uint64_t samples)
{
	while (t->samples.count <= node)
		if (vec_push(&t->samples, 0))
			return error_memory(SUBJECT);
	t->samples.items[node] += samples;
	return 0;
}

bool tree_has_samples(const struct tree *t)
{
	return t->samples.count;
}

uint64_t tree_samples(const struct tree *t, uint32_t node)
{
	return node < t->samples.count ? t->samples.items[node] : 0;
}

static int compare_frames(const void *a, const void *b)
{
	const struct tree_frame *x = *(const struct tree_frame *const *)a;
	const struct tree_frame *y = *(const struct tree_frame *const *)b;
	int order = memcmp(x->name, y->name, x->size < y->size ? x->size : y->size);

	if (order)
		return order;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The position of each frame among all frames in order. */
static int rank_frames(const struct tree *t, uint32_t **ret)
{
	const struct tree_frame **sorted = calloc(t->frames.count, sizeof(*sorted));
	uint32_t *rank = calloc(t->frames.count, sizeof(*rank));

	if (!sorted || !rank) {
		free(sorted);
		free(rank);
		return error_memory(SUBJECT);
	}
	for (size_t i = 0; i < t->frames.count; i++)
		sorted[i] = &t->frames.items[i];
	qsort(sorted, t->frames.count, sizeof(*sorted), compare_frames);
	for (size_t i = 0; i < t->frames.count; i++)
		rank[sorted[i] - t->frames.items] = (uint32_t)i;
	free(sorted);
	*ret = rank;
	return 0;
}

static uint32_t merge_lists(struct tree_node *nodes, const uint32_t *rank, uint32_t a, uint32_t b)
{
	uint32_t head = 0, *end = &head;

	while (a && b) {
		uint32_t *least = rank[nodes[b].frame] < rank[nodes[a].frame] ? &b : &a;

		*end = *least;
		end = &nodes[*least].next_sibling;
		*least = *end;
	}
	*end = a ? a : b;
	return head;
}

/* Bottom-up merge sort: run[i] is empty or a sorted list of 2^i nodes. */
static uint32_t sort_list(struct tree_node *nodes, const uint32_t *rank, uint32_t list)
{
	uint32_t run[33] = {0}, sorted = 0;

	while (list) {
		uint32_t carry = list;
		size_t i = 0;

		list = nodes[list].next_sibling;
		nodes[carry].next_sibling = 0;
		for (; run[i]; i++) {
			carry = merge_lists(nodes, rank, run[i], carry);
			run[i] = 0;
		}
		run[i] = carry;
	}
	for (size_t i = 0; i < 33; i++)
		sorted = merge_lists(nodes, rank, run[i], sorted);
	return sorted;
}

int tree_sort(struct tree *t)
{
	struct tree_node *nodes = t->nodes.items;
	uint32_t *rank = NULL;
	int error = rank_frames(t, &rank);

	if (error)
		return error;
	for (size_t i = 0; i < t->nodes.count; i++) {
		uint32_t child = nodes[i].first_child;

		if (child && nodes[child].next_sibling)
			nodes[i].first_child = sort_list(nodes, rank, child);
	}
	free(rank);
	return 0;
}

/* Puts the path of a node, turned round, into another tree of the same frames. */
static int add_reversed(struct tree *reversed, const struct tree *t, uint32_t node)
{
	uint32_t at = TREE_ROOT_NODE;
	uint64_t self = t->nodes.items[node].self, samples = tree_samples(t, node);
	int error;

	for (; node != TREE_ROOT_NODE; node = t->nodes.items[node].parent) {
		error = tree_add_child(reversed, at, t->nodes.items[node].frame, &at);
		if (error)
			return error;
	}
	error = tree_add_time(reversed, at, self);
	return error || !tree_has_samples(t) ? error : tree_add_samples(reversed, at, samples);
}

/* The root's frame is there already, as the first of both. */
static int copy_frames(struct tree *to, const struct tree *from)
{
	for (size_t i = 1; i < from->frames.count; i++) {
		const struct tree_frame *f = &from->frames.items[i];
		uint32_t frame;
		int error = tree_add_frame(to, f->kind, f->number, f->name, f->size, &frame);

		if (error)
			return error;
	}
	return 0;
}

/* Puts a node's children in its place among those of its parent. */
static void dissolve(struct tree *t, uint32_t id)
{
	struct tree_node *nodes = t->nodes.items, *node = &nodes[id],
			 *parent = &nodes[node->parent];
	uint32_t *place = &parent->first_child, last = 0;

	while (*place && *place != id)
		place = &nodes[*place].next_sibling;
	for (uint32_t child = node->first_child; child; child = nodes[child].next_sibling) {
		nodes[child].parent = node->parent;
		last = child;
	}
	if (last)
		nodes[last].next_sibling = node->next_sibling;
	*place = last ? node->first_child : node->next_sibling;
	parent->self += node->self;
	if (id < t->samples.count) {
		t->samples.items[(uint32_t)(parent - nodes)] += t->samples.items[id];
		t->samples.items[id] = 0;
	}
	node->self = node->first_child = node->next_sibling = 0;
}

void tree_dissolve(struct tree *t, bool (*is_chosen)(const struct tree_frame *))
{
	for (uint32_t id = 1; id < t->nodes.count; id++)
		if (is_chosen(&t->frames.items[t->nodes.items[id].frame]))
			dissolve(t, id);
}

int tree_reverse(const struct tree *t, struct tree **ret)
{
	struct tree *reversed;
	int error = tree_new(&reversed);

	if (error)
		return error;
	reversed->joined = t->joined;
	error = copy_frames(reversed, t);
	for (uint32_t node = 1; !error && node < t->nodes.count; node++)
		if (t->nodes.items[node].self)
			error = add_reversed(reversed, t, node);
	if (error)
		tree_free(reversed);
	else
		*ret = reversed;
	return error;
}

int tree_totals(const struct tree *t, struct tree_time **ret)
{
	struct tree_time *totals = calloc(t->nodes.count, sizeof(*totals));

	if (!totals)
		return error_memory(SUBJECT);
	for (size_t i = t->nodes.count; i-- > 0;) {
		const struct tree_node *n = &t->nodes.items[i];

		if (n->gpu)
			totals[i].gpu += n->self;
		else
			totals[i].cpu += n->self;
		totals[i].samples += tree_samples(t, (uint32_t)i);
		if (i) {
			totals[n->parent].samples += totals[i].samples;
			totals[n->parent].cpu += totals[i].cpu;
			totals[n->parent].gpu += totals[i].gpu;
		}
	}
	*ret = totals;
	return 0;
}

size_t tree_node_count(const struct tree *t)
{
	return t->nodes.count;
}

size_t tree_frame_count(const struct tree *t)
{
	return t->frames.count;
}

const struct tree_node *tree_nodes(const struct tree *t)
{
	return t->nodes.items;
}

const struct tree_frame *tree_frames(const struct tree *t)
{
	return t->frames.items;
}

struct tree_time tree_total(const struct tree *t)
{
	return t->total;
}

struct tree_walk tree_walk_begin(const struct tree *t)
{
	return (struct tree_walk){.nodes = t->nodes.items};
}

bool tree_walk_next(struct tree_walk *w)
{
	const struct tree_node *n = &w->nodes[w->node];

	if (n->first_child && !w->skip_children) {
		w->node = n->first_child;
		w->depth++;
		return true;
	}
	w->skip_children = false;
	for (; w->node != TREE_ROOT_NODE; w->depth--) {
		n = &w->nodes[w->node];
		if (n->next_sibling) {
			w->node = n->next_sibling;
			return true;
		}
		w->node = n->parent;
	}
	return false;
}
