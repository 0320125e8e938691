// SPDX-License-Identifier: MIT
/*
 * Nodes live in one array; the children of a node are a list in it, newest first. Looking for a
 * child reads that list while it has at most SCAN_LIMIT members. A node that has more is wide, and
 * has all of its children in one hash index of the whole tree as well. In a large tree each node
 * that is read is waited for, as it is in no cache: so the limit is low, and the index has parts of
 * the hashes beside the nodes, and reads only those nodes whose parts are equal.
 *
 * Frames: names are interned as text; a frame is (text, kind, number), found through a map.
 */
#include "view/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/large.h"
#include "base/map.h"
#include "base/vec.h"

#define SCAN_LIMIT 2
#define FRAMES_MAX ((size_t)1 << 30) /* tree_node.frame */
#define SUBJECT	   "the tree of frames"

struct slot {
	uint32_t node; /* 0: free */
	uint32_t hash; /* its lower bits are where the search begins */
};

struct tree {
	struct vec(struct tree_node) nodes;
	struct vec(struct tree_frame) frames;
	struct vec(bool) gpu_frames; /* by frame: of a GPU kind */
	struct interner *texts;
	struct map frame_index; /* hash of text id, kind, number -> its newest frame + 1 */
	struct vec(uint32_t) frame_chain;   /* by frame: next frame + 1 of the same hash */
	struct vec(uint32_t) frame_of_text; /* tree_add_texts only: by text id */
	struct slot *index;		    /* children of wide nodes */
	size_t index_mask;
	size_t index_count;
	struct tree_time total;
	bool joined;		      /* one time */
	struct vec(uint64_t) selves;  /* by node, as far as there are any */
	struct vec(uint64_t) samples; /* by node, as far as there are any */
	uint32_t *rank;		      /* by frame: its position among them, when they were sorted */
	size_t ranked;
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
	[TREE_LEFT_OUT] = {"note", false},
	[TREE_LEFT_OUT_GPU] = {"note", true},
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
	vec_release(&t->selves);
	vec_release(&t->samples);
	vec_release(&t->frames);
	vec_release(&t->gpu_frames);
	vec_release(&t->frame_chain);
	vec_release(&t->frame_of_text);
	map_release(&t->frame_index);
	interner_free(t->texts);
	free(t->index);
	free(t->rank);
	free(t);
}

void tree_join_times(struct tree *t)
{
	t->joined = true;
}

bool tree_is_joined(const struct tree *t)
{
	return t->joined;
}

static int push_frame(struct tree *t, enum tree_kind kind, uint32_t number, uint32_t text)
{
	struct tree_frame frame = {.kind = kind, .number = number};
	size_t size;

	if (t->frames.count >= FRAMES_MAX || vec_push(&t->gpu_frames, kinds[kind].gpu))
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

static uint32_t hash_child(uint32_t parent, uint32_t frame)
{
	return (uint32_t)hash_u64((uint64_t)parent << 32 | frame);
}

static size_t index_slot(const struct tree *t, uint32_t parent, uint32_t frame, uint32_t hash)
{
	size_t i = hash & t->index_mask;

	for (; t->index[i].node; i = (i + 1) & t->index_mask) {
		const struct tree_node *n;

		if (t->index[i].hash != hash)
			continue;
		n = &t->nodes.items[t->index[i].node];
		if (n->parent == parent && n->frame == frame)
			break;
	}
	return i;
}

static int grow_index(struct tree *t)
{
	size_t old_size = t->index ? t->index_mask + 1 : 0;
	size_t mask = old_size ? old_size * 2 - 1 : 1023;
	struct slot *old = t->index, *index = calloc(mask + 1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	large_advise(index, (mask + 1) * sizeof(*index));
	for (size_t i = 0; i < old_size; i++) {
		size_t to = old[i].hash & mask;

		if (!old[i].node)
			continue;
		while (index[to].node)
			to = (to + 1) & mask;
		index[to] = old[i];
	}
	free(old);
	t->index = index;
	t->index_mask = mask;
	return 0;
}

/* A node that the index does not have. */
static int index_put(struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes.items[node];
	uint32_t hash = hash_child(n->parent, n->frame);
	size_t i;

	if (!t->index || (t->index_count + 1) * 3 > (t->index_mask + 1) * 2)
		if (grow_index(t))
			return -ENOMEM;
	for (i = hash & t->index_mask; t->index[i].node;)
		i = (i + 1) & t->index_mask;
	t->index[i] = (struct slot){node, hash};
	t->index_count++;
	return 0;
}

/* The list of `parent` has just become longer than a scan reads: index all of it. */
static int index_children(struct tree *t, uint32_t parent)
{
	uint32_t child = t->nodes.items[parent].first_child;

	t->nodes.items[parent].wide = true;
	for (; child; child = t->nodes.items[child].next_sibling)
		if (index_put(t, child))
			return -ENOMEM;
	return 0;
}

static int push_node(struct tree *t, uint32_t parent, uint32_t frame)
{
	const struct tree_node n = {.parent = parent,
		.frame = frame & (FRAMES_MAX - 1),
		.gpu = !t->joined && (t->nodes.items[parent].gpu || t->gpu_frames.items[frame])};

	return t->nodes.count >= UINT32_MAX || large_push(&t->nodes, n) ? -ENOMEM : 0;
}

int tree_add_loose(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node)
{
	if (push_node(t, parent, frame))
		return error_memory(SUBJECT);
	*ret_node = (uint32_t)t->nodes.count - 1;
	return 0;
}

static int push_child(struct tree *t, uint32_t parent, uint32_t frame, uint32_t siblings)
{
	uint32_t node = (uint32_t)t->nodes.count;
	struct tree_node *above;

	if (push_node(t, parent, frame))
		return -ENOMEM;
	above = &t->nodes.items[parent];
	t->nodes.items[node].next_sibling = above->first_child;
	above->first_child = node;
	if (above->wide)
		return index_put(t, node);
	return siblings == SCAN_LIMIT ? index_children(t, parent) : 0;
}

/* 0: there is none. */
static uint32_t find_child(
	const struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_siblings)
{
	const struct tree_node *nodes = t->nodes.items;
	uint32_t child = nodes[parent].first_child;

	*ret_siblings = 0;
	if (nodes[parent].wide)
		return t->index[index_slot(t, parent, frame, hash_child(parent, frame))].node;
	for (; child && nodes[child].frame != frame; child = nodes[child].next_sibling)
		++*ret_siblings;
	return child;
}

int tree_add_child(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret_node)
{
	uint32_t siblings, child = find_child(t, parent, frame, &siblings);

	if (!child) {
		if (push_child(t, parent, frame, siblings))
			return error_memory(SUBJECT);
		child = (uint32_t)t->nodes.count - 1;
	}
	*ret_node = child;
	return 0;
}

/* What is read to find the child of this node. */
static void prefetch_child(const struct tree *t, uint32_t parent, uint32_t frame)
{
	const struct tree_node *n = &t->nodes.items[parent];

	if (n->wide)
		__builtin_prefetch(&t->index[hash_child(parent, frame) & t->index_mask]);
	else if (n->first_child)
		__builtin_prefetch(&t->nodes.items[n->first_child]);
}

/* The child without a look at it where there is an index, as that is read in the next round. */
static uint32_t likely_child(const struct tree *t, uint32_t parent, uint32_t frame)
{
	uint32_t hash = hash_child(parent, frame), siblings;
	size_t i = hash & t->index_mask;

	if (!t->nodes.items[parent].wide)
		return find_child(t, parent, frame, &siblings);
	while (t->index[i].node && t->index[i].hash != hash)
		i = (i + 1) & t->index_mask;
	return t->index[i].node;
}

/* By level: what a look-up reads is asked for in all paths before the first one needs it. */
void tree_prefetch(const struct tree *t, const struct tree_path *paths, size_t count)
{
	uint32_t at[TREE_PATHS_MAX] = {TREE_ROOT_NODE};
	size_t left = count;

	for (size_t level = 0; left; level++) {
		for (size_t i = 0; i < count; i++)
			if (level < paths[i].count && (at[i] || !level))
				prefetch_child(t, at[i], paths[i].frames[level]);
		left = 0;
		for (size_t i = 0; i < count; i++) {
			if (level >= paths[i].count || (!at[i] && level))
				continue;
			at[i] = likely_child(t, at[i], paths[i].frames[level]);
			__builtin_prefetch(&t->nodes.items[at[i]]);
			left += at[i] > 0;
		}
	}
}

int tree_add_time(struct tree *t, uint32_t node, uint64_t time)
{
	uint64_t *total = t->nodes.items[node].gpu ? &t->total.gpu : &t->total.cpu, sum;

	if (__builtin_add_overflow(*total, time, total) ||
		__builtin_add_overflow(t->total.cpu, t->total.gpu, &sum))
		return error_set(-EOVERFLOW, "the sum of all times does not fit 64 bits");
	while (t->selves.count <= node)
		if (large_push(&t->selves, 0))
			return error_memory(SUBJECT);
	t->selves.items[node] += time;
	return 0;
}

uint64_t tree_self(const struct tree *t, uint32_t node)
{
	return node < t->selves.count ? t->selves.items[node] : 0;
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
	free(t->rank);
	t->rank = rank;
	t->ranked = t->frames.count;
	return 0;
}

uint32_t tree_frame_rank(const struct tree *t, uint32_t frame)
{
	return frame < t->ranked ? t->rank[frame] : frame;
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
	if (id < t->selves.count) {
		t->selves.items[(uint32_t)(parent - nodes)] += t->selves.items[id];
		t->selves.items[id] = 0;
	}
	if (id < t->samples.count) {
		t->samples.items[(uint32_t)(parent - nodes)] += t->samples.items[id];
		t->samples.items[id] = 0;
	}
	node->first_child = node->next_sibling = 0;
}

void tree_dissolve(struct tree *t, bool (*is_chosen)(const struct tree_frame *))
{
	bool any = false;

	for (size_t i = 0; i < t->frames.count; i++)
		any |= is_chosen(&t->frames.items[i]);
	for (uint32_t id = 1; any && id < t->nodes.count; id++)
		if (is_chosen(&t->frames.items[t->nodes.items[id].frame]))
			dissolve(t, id);
}

int tree_raise(struct tree *t, enum tree_kind kind, uint32_t frame)
{
	size_t count = t->nodes.count;
	uint32_t child;
	int error = 0;

	for (uint32_t id = 1; !error && id < count; id++) {
		uint64_t self = tree_self(t, id);

		if (!self || t->frames.items[t->nodes.items[id].frame].kind != kind)
			continue;
		error = tree_add_child(t, id, frame, &child);
		if (error)
			break;
		t->selves.items[id] = 0;
		*(t->nodes.items[id].gpu ? &t->total.gpu : &t->total.cpu) -= self;
		error = tree_add_time(t, child, self);
	}
	return error;
}

bool tree_kind_is_left_out(enum tree_kind kind)
{
	return kind == TREE_LEFT_OUT || kind == TREE_LEFT_OUT_GPU;
}

/* In the same memory, as both may be large. */
void tree_take_nodes(struct tree *t, struct tree_path_node **ret, uint32_t *ret_count)
{
	const struct tree_node *nodes = t->nodes.items;
	size_t count = t->nodes.count;
	char *bytes = (char *)t->nodes.items;
	void *smaller;

	for (size_t i = 0; i < count; i++) {
		const struct tree_path_node node = {nodes[i].parent, nodes[i].frame};

		memcpy(bytes + i * sizeof(node), &node, sizeof(node));
	}
	smaller = realloc(bytes, count * sizeof(**ret));
	*ret = smaller ?: (void *)bytes;
	*ret_count = (uint32_t)count;
	t->nodes.items = NULL;
	t->nodes.count = t->nodes.capacity = 0;
	free(t->index);
	t->index = NULL;
	t->index_mask = t->index_count = 0;
}

/* ------------------------------------------------------------------ what is left out */

uint64_t tree_sizes_least(const struct tree_sizes *s, uint64_t most)
{
	uint64_t kept = 0;
	int bits = 64;

	while (bits > 0 && s->of[bits] <= most - kept)
		kept += s->of[bits--];
	return bits ? (uint64_t)1 << bits : 1;
}

int tree_add_left_out_node(struct tree *t, uint32_t parent, bool gpu, uint32_t *ret_node)
{
	static const char name[] = "(frames left out)";
	uint32_t frame;
	int error = tree_add_frame(
		t, gpu ? TREE_LEFT_OUT_GPU : TREE_LEFT_OUT, 0, name, sizeof(name) - 1, &frame);

	return error ?: tree_add_child(t, parent, frame, ret_node);
}

static int add_left_out(struct tree *t, uint32_t node, bool gpu, uint64_t time, uint64_t samples)
{
	int error = time ? tree_add_left_out_node(t, node, gpu, &node) : 0;

	if (error || !time)
		return error;
	error = tree_add_time(t, node, time);
	return error || !samples ? error : tree_add_samples(t, node, samples);
}

int tree_add_left_out(struct tree *t, uint32_t node, const struct tree_time *time)
{
	int error = add_left_out(t, node, false, time->cpu, time->samples);

	return error ?: add_left_out(t, node, true, time->gpu, 0);
}

/* Takes the children of a node that are too little from it, and says what they have. */
static struct tree_time take_small(
	struct tree *t, const struct tree_totals *totals, uint32_t node, uint64_t least)
{
	uint32_t *place = &t->nodes.items[node].first_child;
	struct tree_time sum = {0};

	while (*place) {
		struct tree_time own = tree_totals_of(totals, *place);
		struct tree_node *child = &t->nodes.items[*place];

		if (own.cpu + own.gpu >= least ||
			tree_kind_is_left_out(t->frames.items[child->frame].kind)) {
			place = &child->next_sibling;
			continue;
		}
		sum.cpu += own.cpu;
		sum.gpu += own.gpu;
		sum.samples += own.samples;
		*place = child->next_sibling;
	}
	return sum;
}

static void forget_time(struct tree *t, uint32_t node)
{
	struct tree_node *n = &t->nodes.items[node];

	*(n->gpu ? &t->total.gpu : &t->total.cpu) -= tree_self(t, node);
	if (node < t->selves.count)
		t->selves.items[node] = 0;
	if (node < t->samples.count)
		t->samples.items[node] = 0;
}

static bool has_least(const struct tree_totals *totals, uint32_t node, uint64_t least)
{
	struct tree_time own = tree_totals_of(totals, node);

	return own.cpu + own.gpu >= least;
}

/* What is left out already goes where its parent does. */
static void forget_small(
	struct tree *t, const struct tree_totals *totals, uint64_t least, uint64_t *count)
{
	for (uint32_t i = 1; i < t->nodes.count; i++) {
		const struct tree_node *n = &t->nodes.items[i];
		bool before = tree_kind_is_left_out(t->frames.items[n->frame].kind);

		if (has_least(totals, before ? n->parent : i, least))
			continue;
		*count += !before && has_least(totals, i, 1);
		forget_time(t, i);
	}
}

static int leave_out(
	struct tree *t, const struct tree_totals *totals, uint64_t least, uint64_t *count)
{
	size_t nodes = t->nodes.count;
	int error = 0;

	forget_small(t, totals, least, count);
	for (uint32_t i = 0; !error && i < nodes; i++) {
		struct tree_time small;

		if (!has_least(totals, i, least))
			continue;
		small = take_small(t, totals, i, least);
		error = tree_add_left_out(t, i, &small);
	}
	return error;
}

int tree_leave_out(struct tree *t, uint64_t least, uint64_t *ret_count)
{
	struct tree_totals totals;
	int error = tree_totals_init(&totals, t);

	*ret_count = 0;
	error = error ?: leave_out(t, &totals, least, ret_count);
	tree_totals_release(&totals);
	return error;
}

static int alloc_totals(uint64_t **ret, bool needed, size_t count)
{
	if (!needed)
		return 0;
	*ret = calloc(count, sizeof(**ret));
	large_advise(*ret, count * sizeof(**ret));
	return *ret ? 0 : error_memory(SUBJECT);
}

/* What stands on a node with GPU time is GPU time too. */
static void add_up_times(const struct tree *t, uint64_t *cpu, uint64_t *gpu)
{
	const struct tree_node *nodes = t->nodes.items;

	for (size_t i = t->nodes.count - 1; i; i--) {
		uint64_t *own = nodes[i].gpu ? gpu : cpu;

		own[i] += tree_self(t, (uint32_t)i);
		own[nodes[i].parent] += own[i];
		if (own == cpu)
			gpu[nodes[i].parent] += gpu[i];
	}
	cpu[TREE_ROOT_NODE] += tree_self(t, TREE_ROOT_NODE);
}

static void add_up_one(const struct tree *t, uint64_t *times)
{
	const struct tree_node *nodes = t->nodes.items;

	for (size_t i = t->nodes.count - 1; i; i--) {
		times[i] += tree_self(t, (uint32_t)i);
		times[nodes[i].parent] += times[i];
	}
	times[TREE_ROOT_NODE] += tree_self(t, TREE_ROOT_NODE);
}

static void add_up_samples(const struct tree *t, uint64_t *samples)
{
	for (size_t i = t->nodes.count; i-- > 0;) {
		samples[i] += tree_samples(t, (uint32_t)i);
		if (i)
			samples[t->nodes.items[i].parent] += samples[i];
	}
}

int tree_totals_init(struct tree_totals *totals, const struct tree *t)
{
	size_t count = t->nodes.count;
	int error;

	*totals = (struct tree_totals){0};
	error = alloc_totals(&totals->cpu, t->total.cpu, count);
	error = error ?: alloc_totals(&totals->gpu, t->total.gpu, count);
	error = error ?: alloc_totals(&totals->samples, tree_has_samples(t), count);
	if (error)
		return error;
	if (totals->cpu && totals->gpu)
		add_up_times(t, totals->cpu, totals->gpu);
	else if (totals->cpu || totals->gpu)
		add_up_one(t, totals->cpu ? totals->cpu : totals->gpu);
	if (totals->samples)
		add_up_samples(t, totals->samples);
	return 0;
}

void tree_totals_release(struct tree_totals *totals)
{
	free(totals->cpu);
	free(totals->gpu);
	free(totals->samples);
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

/* The next sibling comes after all that stands on the node, which is enough time to bring it from
 * memory. */
static bool arrive(struct tree_walk *w, uint32_t node)
{
	__builtin_prefetch(&w->nodes[w->nodes[node].next_sibling]);
	w->node = node;
	return true;
}

bool tree_walk_next(struct tree_walk *w)
{
	const struct tree_node *n = &w->nodes[w->node];

	if (n->first_child && !w->skip_children) {
		w->depth++;
		return arrive(w, n->first_child);
	}
	w->skip_children = false;
	for (; w->node != TREE_ROOT_NODE; w->depth--) {
		n = &w->nodes[w->node];
		if (n->next_sibling)
			return arrive(w, n->next_sibling);
		w->node = n->parent;
	}
	return false;
}
