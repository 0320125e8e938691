// SPDX-License-Identifier: MIT
#include "page/file_sums.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/printable.h"
#include "page/ages.h"
#include "view/fold/event_nodes.h"
#include "view/fold/fold.h"
#include "view/names/label.h"
#include "view/names/stream_name.h"

#define SUBJECT "the page"

struct node_sum {
	uint64_t time_ns, samples;
};

/* What time that is left out stands on, beside the code. */
struct place_of_rest {
	uint32_t base; /* node */
	uint32_t device, stream, gpu;
};

#define IS_CUT (1ull << 63) /* of a key of `nodes`: it is a node of the code tree, and a place */

struct file_sums {
	struct recording_reading *g;
	const struct slice_sums *sums;
	const struct view_options *options;
	const struct ages *ages;
	struct json_writer w;
	struct tree *tree;
	struct event_nodes adding;
	uint32_t *kept;	  /* by code: see fold_choose */
	uint32_t *places; /* by rest */
	struct interner *place_ids;
	struct vec(uint32_t) rests; /* by place, less 1: the first */
	struct map nodes;    /* code << 32 | rest, or of what is left out -> node; 0: not shown */
	struct node_sum *of; /* by node: of one slice */
	struct vec(uint32_t) in; /* nodes of that */
};

static uint64_t id_of(const struct file_sums *f, struct event_pair pair)
{
	uint32_t kept = f->kept[pair.code];

	if (kept & 1)
		return IS_CUT | (uint64_t)(kept >> 1) << 32 | f->places[pair.rest];
	return (uint64_t)pair.code << 32 | pair.rest;
}

static const struct gather_key *rest_of(const struct file_sums *f, uint64_t id)
{
	const struct gather_key *rests = f->sums->all.keys.rests.items.items;

	return &rests[id & IS_CUT ? f->rests.items[(uint32_t)id - 1] : (uint32_t)id];
}

static bool is_shown(const struct gather_key *rest)
{
	return rest->event == EVENT_SAMPLE || rest->event == EVENT_WORK;
}

static int choose_kept(struct file_sums *f)
{
	const struct event_keys *keys = &f->sums->all.keys;
	bool *shown = calloc(keys->rests.items.count + 1, sizeof(*shown));
	const struct fold fold = {.reader = f->g->reader,
		.options = f->options,
		.keys = keys,
		.codes = &f->g->codes,
		.shown = shown,
		.slices = f->sums->items,
		.slice_count = f->sums->count};
	uint64_t least;
	int error;

	if (!shown)
		return error_memory(SUBJECT);
	vec_foreach (rest, &keys->rests.items)
		shown[rest - keys->rests.items.items] = is_shown(rest);
	error = fold_choose(&fold, &f->kept, &least);
	free(shown);
	return error;
}

static int find_place(struct file_sums *f, uint32_t rest)
{
	const struct gather_key *whole = &f->sums->all.keys.rests.items.items[rest];
	const struct profile_op *op = profile_op(f->g->reader, whole->op);
	struct gather_key key = event_key_for(whole, f->options);
	struct place_of_rest place = {.device = op ? op->device : 0,
		.stream = op ? op->stream : 0,
		.gpu = whole->event == EVENT_WORK};
	int is_new = 0, error = event_nodes_add_base(&f->adding, &key, &place.base);

	if (error)
		return error;
	if (interner_add(f->place_ids, &place, sizeof(place), &f->places[rest], &is_new) ||
		(is_new && vec_push(&f->rests, rest)))
		return error_memory(SUBJECT);
	return 0;
}

static int find_places(struct file_sums *f)
{
	const struct keys *rests = &f->sums->all.keys.rests;
	int error = 0;

	f->places = calloc(rests->items.count + 1, sizeof(*f->places));
	if (!f->places || interner_new(&f->place_ids))
		return error_memory(SUBJECT);
	for (uint32_t n = 0; !error && n < rests->items.count; n++)
		if (is_shown(&rests->items.items[n]))
			error = find_place(f, n);
	return error;
}

/* A node of the code tree, above one that there is. */
static int add_path(struct file_sums *f, uint32_t at, uint32_t *node)
{
	const struct code_tree *codes = &f->g->codes;
	struct vec(uint32_t) path = {0};
	int error = 0;

	for (; !error && at; at = codes->nodes[at].parent)
		if (vec_push(&path, codes->nodes[at].frame))
			error = error_memory(SUBJECT);
	while (!error && path.count) {
		const struct tree_frame *frame =
			&tree_frames(codes->frames)[path.items[--path.count]];
		uint32_t id = 0;

		error = tree_add_frame(
			f->tree, frame->kind, frame->number, frame->name, frame->size, &id);
		error = error ?: tree_add_child(f->tree, *node, id, node);
	}
	vec_release(&path);
	return error;
}

static int add_cut_node(struct file_sums *f, struct event_pair pair, uint32_t *node)
{
	const struct gather_key *rest = &f->sums->all.keys.rests.items.items[pair.rest];
	struct gather_key key = event_key_for(rest, f->options);
	int error = event_nodes_add_base(&f->adding, &key, node);

	error = error ?: add_path(f, f->kept[pair.code] >> 1, node);
	error = error ?: event_nodes_add_place(&f->adding, &key, node);
	return error ?: tree_add_left_out_node(f->tree, *node, rest->event == EVENT_WORK, node);
}

static int find_node(struct file_sums *f, struct event_pair pair)
{
	const struct gather_key whole = event_keys_at(&f->sums->all.keys, pair),
				key = event_key_for(&whole, f->options);
	uint64_t id = id_of(f, pair);
	uint32_t node = 0;
	int error;

	if (!is_shown(&whole) || map_get(&f->nodes, id))
		return 0;
	error = f->kept[pair.code] & 1 ? add_cut_node(f, pair, &node)
				       : event_nodes_add(&f->adding, &key, &node);
	if (!error && map_put(&f->nodes, id, node))
		error = error_memory(SUBJECT);
	return error;
}

static int find_nodes(struct file_sums *f)
{
	int error = event_nodes_init(&f->adding, f->g->reader, f->options, f->tree);

	error = error ?: choose_kept(f);
	error = error ?: find_places(f);
	for (uint32_t n = 0; !error && n < f->sums->count; n++)
		vec_foreach (sum, &f->sums->items[n].sums)
			error = error ?: find_node(f, sum->pair);
	return error;
}

static uint32_t node_of(const struct file_sums *f, struct event_pair pair)
{
	const struct gather_key *rest = &f->sums->all.keys.rests.items.items[pair.rest];
	const uint64_t *node = is_shown(rest) ? map_get(&f->nodes, id_of(f, pair)) : NULL;

	return node ? (uint32_t)*node : 0;
}

/* After all others. */
static int find_spread_nodes(struct file_sums *f, uint32_t *ret)
{
	int error = 0;

	for (size_t i = 0; !error && i < f->sums->spreads.count; i++)
		error = event_nodes_add(&f->adding, &f->sums->spreads.items[i].key, &ret[i]);
	return error;
}

static void write_frames(struct file_sums *f)
{
	const struct tree_frame *frames = tree_frames(f->tree);
	struct buf label = BUF_INIT, text = BUF_INIT;

	json_begin(&f->w, "frames", '[');
	for (size_t i = 0; i < tree_frame_count(f->tree); i++) {
		buf_reset(&label);
		buf_reset(&text);
		tree_label(&frames[i], &label);
		buf_putc(&text, (char)('a' + frames[i].kind));
		printable_put(&text, buf_text(&label), label.size);
		json_key(&f->w, NULL);
		json_string(f->w.out, buf_text(&text), text.size);
	}
	json_end(&f->w, ']');
	f->w.out->failed |= label.failed;
	buf_release(&label);
	buf_release_for(&text, f->w.out);
}

static void write_nodes(struct file_sums *f)
{
	const struct tree_node *nodes = tree_nodes(f->tree);

	json_begin(&f->w, "nodes", '[');
	for (size_t i = 1; i < tree_node_count(f->tree); i++) {
		json_key(&f->w, NULL);
		buf_printf(f->w.out, "%u,%u", nodes[i].parent, nodes[i].frame);
	}
	json_end(&f->w, ']');
}

/* Frames of a process, a device and a stream that a node stands on. */
struct place {
	int64_t frames[3];
};

static struct place place_of(const struct file_sums *f, uint32_t node)
{
	static const enum tree_kind kinds[] = {TREE_PROCESS, TREE_DEVICE, TREE_STREAM};
	const struct tree_frame *frames = tree_frames(f->tree);
	const struct tree_node *nodes = tree_nodes(f->tree);
	struct place p = {{-1, -1, -1}};

	for (; node; node = nodes[node].parent)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (frames[nodes[node].frame].kind == kinds[i])
				p.frames[i] = nodes[node].frame;
	return p;
}

struct naming {
	struct file_sums *f;
	const struct profile_reader *reader;
	struct device_numbers numbers;
	struct interner *places; /* that have a name */
	struct buf name, text;
};

static void write_stream(struct naming *n, const struct place *p, uint32_t op)
{
	struct json_writer *w = &n->f->w;

	buf_reset(&n->name);
	buf_reset(&n->text);
	stream_name(n->reader, &n->numbers, op, &n->name);
	printable_put(&n->text, buf_text(&n->name), n->name.size);
	json_key(w, NULL);
	buf_printf(w->out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",", p->frames[0], p->frames[1],
		p->frames[2]);
	json_string(w->out, buf_text(&n->text), n->text.size);
}

static int name_stream_of(struct naming *n, const struct gather_key *key, uint32_t node)
{
	struct place p;
	uint32_t id;
	int is_new;

	if (key->event != EVENT_WORK || !node)
		return 0;
	p = place_of(n->f, node);
	if (interner_add(n->places, &p, sizeof(p), &id, &is_new))
		return error_memory(SUBJECT);
	if (is_new)
		write_stream(n, &p, key->op);
	return 0;
}

static int write_streams(
	struct file_sums *f, const struct profile_reader *r, const uint32_t *spread_nodes)
{
	const struct slice_sums *s = f->sums;
	struct naming n = {.f = f, .reader = r};
	int error = interner_new(&n.places) ? error_memory(SUBJECT)
					    : device_numbers_init(&n.numbers, r);

	json_begin(&f->w, "streams", '[');
	for (size_t i = 0; !error && f->nodes.slots && i <= f->nodes.mask; i++) {
		const struct map_slot *slot = &f->nodes.slots[i];

		if (slot->used)
			error = name_stream_of(&n, rest_of(f, slot->key), (uint32_t)slot->value);
	}
	for (size_t i = 0; !error && i < s->spreads.count; i++)
		error = name_stream_of(&n, &s->spreads.items[i].key, spread_nodes[i]);
	json_end(&f->w, ']');
	interner_free(n.places);
	buf_release_for(&n.name, f->w.out);
	buf_release_for(&n.text, f->w.out);
	return error;
}

static int add_up(struct file_sums *f, const struct slice *slice)
{
	vec_foreach (sum, &slice->sums) {
		uint32_t node = node_of(f, sum->pair);
		const struct gather_key *key = &f->sums->all.keys.rests.items.items[sum->pair.rest];

		if (!node || !sum->time_ns)
			continue;
		if (!f->of[node].time_ns && vec_push(&f->in, node))
			return error_memory(SUBJECT);
		f->of[node].time_ns += sum->time_ns;
		f->of[node].samples += key->event == EVENT_SAMPLE ? sum->count : 0;
	}
	return 0;
}

/* So many slices together. */
static int write_slice(struct file_sums *f, const char *name, uint32_t first, uint32_t count)
{
	int error = 0;

	for (uint32_t i = first; !error && i < first + count; i++)
		error = add_up(f, &f->sums->items[i]);
	json_begin(&f->w, name, '[');
	vec_foreach (node, &f->in) {
		json_key(&f->w, NULL);
		buf_printf(f->w.out, "%u,%" PRIu64 ",%" PRIu64, *node, f->of[*node].time_ns,
			f->of[*node].samples);
		f->of[*node] = (struct node_sum){0};
	}
	json_end(&f->w, ']');
	f->in.count = 0;
	return error;
}

static int write_slices(struct file_sums *f)
{
	uint32_t last = f->sums->count - 1;
	int error = write_slice(f, "before", 0, 1);

	json_begin(&f->w, "slices", '[');
	for (uint32_t i = 1, count; !error && i < last; i += count) {
		count = ages_steps(f->ages, i - 1);
		error = write_slice(f, NULL, i, count);
	}
	json_end(&f->w, ']');
	return error ?: write_slice(f, "behind", last, 1);
}

static void write_spreads(struct file_sums *f, const uint32_t *nodes)
{
	const struct slice_sums *s = f->sums;

	json_begin(&f->w, "spreads", '[');
	for (size_t i = 0; i < s->spreads.count; i++) {
		const struct slice_spread *spread = &s->spreads.items[i];

		json_key(&f->w, NULL);
		buf_printf(f->w.out, "%u,%" PRIu64 ",%" PRIu64, nodes[i],
			spread->end_ns > s->start_ns ? spread->end_ns - s->start_ns : 0,
			spread->time_ns);
	}
	json_end(&f->w, ']');
}

static int write(struct file_sums *f, size_t *ret_nodes_bytes)
{
	uint32_t *spreads = calloc(f->sums->spreads.count + 1, sizeof(*spreads));
	int error = spreads ? find_nodes(f) : error_memory(SUBJECT);

	error = error ?: find_spread_nodes(f, spreads);
	f->of = error ? NULL : calloc(tree_node_count(f->tree), sizeof(*f->of));
	if (!error && !f->of)
		error = error_memory(SUBJECT);
	json_begin(&f->w, NULL, '{');
	json_number(&f->w, "slice_ns", f->sums->width_ns);
	json_number(&f->w, "count", f->sums->count - 2);
	ages_json(&f->w, "ages", f->ages);
	if (!error) {
		write_frames(f);
		write_nodes(f);
		*ret_nodes_bytes = f->w.out->size;
		error = write_streams(f, f->g->reader, spreads) ?: write_slices(f);
	}
	if (!error)
		write_spreads(f, spreads);
	json_end(&f->w, '}');
	free(spreads);
	return error;
}

int file_sums_json(struct buf *out, struct recording_reading *g, const struct view_options *options,
	const struct ages *ages, size_t *ret_nodes_bytes)
{
	struct view_options all = *options;
	struct file_sums f = {
		.g = g, .sums = &g->sums, .options = &all, .ages = ages, .w = {.out = out}};
	int error = tree_new(&f.tree);

	all.by = VIEW_BY_PROCESS | VIEW_BY_THREAD | VIEW_BY_DEVICE | VIEW_BY_STREAM;
	all.brief_waits = true; /* as in pictures */
	error = error ?: write(&f, ret_nodes_bytes);
	event_nodes_release(&f.adding);
	tree_free(f.tree);
	free(f.kept);
	free(f.places);
	interner_free(f.place_ids);
	vec_release(&f.rests);
	map_release(&f.nodes);
	free(f.of);
	vec_release(&f.in);
	return error;
}
