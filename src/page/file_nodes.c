// SPDX-License-Identifier: MIT
/*
 * There are millions of sums, and far fewer nodes: a code has one for each process and thread,
 * device and stream, and codes of which all is left out have those of the node that is kept of
 * them. So a node is found by a small number, and made the first time.
 */
#include "page/file_nodes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/printable.h"
#include "page/in_script.h"
#include "view/fold/event_nodes.h"
#include "view/fold/fold.h"
#include "view/names/label.h"
#include "view/names/stream_name.h"

#define SUBJECT "the page"

/* What time that is left out stands on, beside the code. */
struct place_of_rest {
	uint32_t base; /* node */
	uint32_t device, stream, gpu;
};

#define AHEAD 16 /* sums, of which what is looked up is asked for */

#define IS_CUT (1ull << 63) /* of a key of `nodes`: it is a node of the code tree, and a place */

struct finding {
	struct recording_reading *g;
	const struct slice_sums *sums;
	struct view_options options;
	struct file_nodes *ret;
	struct json_writer w;
	struct tree *tree;
	struct event_nodes adding;
	uint32_t *kept;	  /* by code: see fold_choose */
	uint32_t *places; /* by rest */
	struct interner *place_ids;
	struct vec(uint32_t) rests; /* by place, less 1: the first */
	struct map nodes;	    /* code << 32 | rest, or of what is left out -> node */
	uint32_t *bases;	    /* by rest: node + 1 */
	uint32_t *code_frames;	    /* by frame of the code tree: frame + 1 */
	struct map code_nodes;	    /* base << 32 | node of the code tree -> node */
	struct vec(uint32_t) path;
	uint32_t *spread_nodes;
};

static uint64_t id_of(const struct finding *f, struct event_pair pair)
{
	uint32_t kept = f->kept[pair.code];

	if (kept & 1)
		return IS_CUT | (uint64_t)(kept >> 1) << 32 | f->places[pair.rest];
	return (uint64_t)pair.code << 32 | pair.rest;
}

static uint32_t rest_of(const struct finding *f, uint64_t id)
{
	return id & IS_CUT ? f->rests.items[(uint32_t)id - 1] : (uint32_t)id;
}

static bool is_shown(const struct gather_key *rest)
{
	return rest->event == EVENT_SAMPLE || rest->event == EVENT_WORK;
}

static int choose_kept(struct finding *f)
{
	const struct event_keys *keys = &f->sums->all.keys;
	bool *shown = calloc(keys->rests.items.count + 1, sizeof(*shown));
	const struct fold fold = {.reader = f->g->reader,
		.options = &f->options,
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

static int find_place(struct finding *f, uint32_t rest)
{
	const struct gather_key *whole = &f->sums->all.keys.rests.items.items[rest];
	const struct profile_op *op = profile_op(f->g->reader, whole->op);
	struct gather_key key = event_key_for(whole, &f->options);
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

static int find_places(struct finding *f)
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

/* The node of the process and thread. */
static int find_base(struct finding *f, uint32_t rest, const struct gather_key *key, uint32_t *ret)
{
	int error = 0;

	if (!f->bases[rest]) {
		error = event_nodes_add_base(&f->adding, key, ret);
		f->bases[rest] = error ? 0 : *ret + 1;
	}
	*ret = f->bases[rest] - 1;
	return error;
}

static int add_frame(struct finding *f, uint32_t frame, uint32_t *node)
{
	const struct tree_frame *of = &tree_frames(f->g->codes.frames)[frame];
	uint32_t added;
	int error = 0;

	if (!f->code_frames[frame]) {
		error = tree_add_frame(f->tree, of->kind, of->number, of->name, of->size, &added);
		f->code_frames[frame] = error ? 0 : added + 1;
	}
	return error ?: tree_add_child(f->tree, *node, f->code_frames[frame] - 1, node);
}

/* A node of the code tree above a base: what it stands on is mostly there. */
static int add_code(struct finding *f, uint32_t base, uint32_t code_node, uint32_t *ret)
{
	const struct tree_path_node *nodes = f->g->codes.nodes;
	const uint64_t *known = NULL;
	int error = 0;

	f->path.count = 0;
	for (; code_node && !known; code_node = nodes[code_node].parent) {
		known = map_get(&f->code_nodes, (uint64_t)base << 32 | code_node);
		if (!known && vec_push(&f->path, code_node))
			return error_memory(SUBJECT);
	}
	*ret = known ? (uint32_t)*known : base;
	while (!error && f->path.count) {
		code_node = f->path.items[--f->path.count];
		error = add_frame(f, nodes[code_node].frame, ret);
		if (!error && map_put(&f->code_nodes, (uint64_t)base << 32 | code_node, *ret))
			error = error_memory(SUBJECT);
	}
	return error;
}

static int make_node(struct finding *f, struct event_pair pair, uint32_t *ret)
{
	const struct gather_key whole = event_keys_at(&f->sums->all.keys, pair),
				key = event_key_for(&whole, &f->options);
	uint32_t kept = f->kept[pair.code];
	int error = find_base(f, pair.rest, &key, ret);

	error = error ?: add_code(f, *ret, kept >> 1, ret);
	if (!error && kept & 1) {
		error = event_nodes_add_place(&f->adding, &key, ret);
		error = error
				?: tree_add_left_out_node(
					   f->tree, *ret, key.event == EVENT_WORK, ret);
	} else {
		error = error ?: event_nodes_add_top(&f->adding, &key, ret);
	}
	if (!error && map_put(&f->nodes, id_of(f, pair), *ret))
		error = error_memory(SUBJECT);
	return error;
}

static int find_node(struct finding *f, struct event_pair pair, uint32_t *ret)
{
	const uint64_t *known = map_get(&f->nodes, id_of(f, pair));

	if (!known)
		return make_node(f, pair, ret);
	*ret = (uint32_t)*known;
	return 0;
}

/* Where the sums of each slice begin; the last is the end. */
static int place_sums(struct finding *f)
{
	uint32_t slices = f->sums->count;

	f->ret->firsts = calloc(slices + 1, sizeof(*f->ret->firsts));
	if (!f->ret->firsts)
		return error_memory(SUBJECT);
	for (uint32_t n = 0; n < slices; n++)
		f->ret->firsts[n + 1] = f->ret->firsts[n] + f->sums->items[n].sums.count;
	f->ret->of = calloc(f->ret->firsts[slices] + 1, sizeof(*f->ret->of));
	return f->ret->of ? 0 : error_memory(SUBJECT);
}

static int begin_nodes(struct finding *f)
{
	f->bases = calloc(f->sums->all.keys.rests.items.count + 1, sizeof(*f->bases));
	f->code_frames = calloc(tree_frame_count(f->g->codes.frames) + 1, sizeof(*f->code_frames));
	return f->bases && f->code_frames ? 0 : error_memory(SUBJECT);
}

static void prefetch_node(const struct finding *f, const struct event_sum *sum)
{
	map_prefetch(&f->nodes, id_of(f, sum->pair));
}

static int find_nodes_of(struct finding *f, uint32_t slice)
{
	const struct gather_key *rests = f->sums->all.keys.rests.items.items;
	const struct event_sum_list *sums = &f->sums->items[slice].sums;
	uint32_t *of = &f->ret->of[f->ret->firsts[slice]];
	int error = 0;

	for (size_t n = 0; !error && n < sums->count; n++) {
		const struct event_sum *sum = &sums->items[n];

		if (n + 2 * AHEAD < sums->count)
			__builtin_prefetch(&f->kept[sum[2 * AHEAD].pair.code]);
		if (n + AHEAD < sums->count)
			prefetch_node(f, &sum[AHEAD]);
		if (is_shown(&rests[sum->pair.rest]))
			error = find_node(f, sum->pair, &of[n]);
	}
	return error;
}

static int find_nodes(struct finding *f)
{
	int error = event_nodes_init(&f->adding, f->g->reader, &f->options, f->tree);

	error = error ?: choose_kept(f);
	error = error ?: find_places(f);
	error = error ?: place_sums(f);
	error = error ?: begin_nodes(f);
	for (uint32_t n = 0; !error && n < f->sums->count; n++)
		error = find_nodes_of(f, n);
	return error;
}

/* After all others. */
static int find_spread_nodes(struct finding *f)
{
	int error = 0;

	f->spread_nodes = calloc(f->sums->spreads.count + 1, sizeof(*f->spread_nodes));
	if (!f->spread_nodes)
		return error_memory(SUBJECT);
	for (size_t i = 0; !error && i < f->sums->spreads.count; i++)
		error = event_nodes_add(
			&f->adding, &f->sums->spreads.items[i].key, &f->spread_nodes[i]);
	return error;
}

static void write_frames(struct finding *f)
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

static void write_nodes(struct finding *f)
{
	const struct tree_node *nodes = tree_nodes(f->tree);

	json_begin(&f->w, "nodes", '[');
	for (size_t i = 1; i < tree_node_count(f->tree); i++) {
		json_number(&f->w, NULL, nodes[i].parent);
		json_number(&f->w, NULL, nodes[i].frame);
	}
	json_end(&f->w, ']');
}

/* Frames of a process, a device and a stream that a node stands on. */
struct place {
	int64_t frames[3];
};

static struct place place_of(const struct finding *f, uint32_t node)
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
	struct finding *f;
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

/* What differs in the code alone is below the same frames. */
static int name_streams_of_nodes(struct naming *n)
{
	const struct finding *f = n->f;
	const struct keys *rests = &f->sums->all.keys.rests;
	bool *named = calloc(rests->items.count + 1, sizeof(*named));
	int error = named ? 0 : error_memory(SUBJECT);

	for (size_t i = 0; !error && f->nodes.slots && i <= f->nodes.mask; i++) {
		const struct map_slot *slot = &f->nodes.slots[i];
		uint32_t rest = slot->used ? rest_of(f, slot->key) : 0;

		if (!slot->used || named[rest])
			continue;
		named[rest] = true;
		error = name_stream_of(n, &rests->items.items[rest], (uint32_t)slot->value);
	}
	free(named);
	return error;
}

static int write_streams(struct finding *f, const struct profile_reader *r)
{
	const struct slice_sums *s = f->sums;
	struct naming n = {.f = f, .reader = r};
	int error = interner_new(&n.places) ? error_memory(SUBJECT)
					    : device_numbers_init(&n.numbers, r);

	json_begin(&f->w, "streams", '[');
	error = error ?: name_streams_of_nodes(&n);
	for (size_t i = 0; !error && i < s->spreads.count; i++)
		error = name_stream_of(&n, &s->spreads.items[i].key, f->spread_nodes[i]);
	json_end(&f->w, ']');
	interner_free(n.places);
	buf_release_for(&n.name, f->w.out);
	buf_release_for(&n.text, f->w.out);
	return error;
}

static void write_spreads(struct finding *f)
{
	const struct slice_sums *s = f->sums;

	json_begin(&f->w, "spreads", '[');
	for (size_t i = 0; i < s->spreads.count; i++) {
		const struct slice_spread *spread = &s->spreads.items[i];

		json_key(&f->w, NULL);
		buf_printf(f->w.out, "%u,%" PRIu64 ",%" PRIu64, f->spread_nodes[i],
			spread->end_ns > s->start_ns ? spread->end_ns - s->start_ns : 0,
			spread->time_ns);
	}
	json_end(&f->w, ']');
}

/* ------------------------------------------------------------------ all of it */

static int write_all(struct finding *f)
{
	struct buf text = BUF_INIT;
	int error;

	f->w.out = &text;
	write_frames(f);
	write_nodes(f);
	f->ret->bytes = text.size;
	error = write_streams(f, f->g->reader);
	write_spreads(f);
	return in_script(&text, &f->ret->text) ?: error;
}

static void release(struct finding *f)
{
	event_nodes_release(&f->adding);
	tree_free(f->tree);
	map_release(&f->nodes);
	free(f->kept);
	free(f->places);
	interner_free(f->place_ids);
	vec_release(&f->rests);
	free(f->bases);
	free(f->code_frames);
	map_release(&f->code_nodes);
	vec_release(&f->path);
	free(f->spread_nodes);
}

int file_nodes_find(
	struct file_nodes *ret, struct recording_reading *g, const struct view_options *options)
{
	struct finding f = {.ret = ret, .g = g, .sums = &g->sums, .options = *options};
	int error = tree_new(&f.tree);

	f.options.by = VIEW_BY_PROCESS | VIEW_BY_THREAD | VIEW_BY_DEVICE | VIEW_BY_STREAM;
	f.options.brief_waits = true; /* as in pictures */
	error = error ?: find_nodes(&f);
	error = error ?: find_spread_nodes(&f);
	error = error ?: write_all(&f);
	ret->count = error ? 0 : tree_node_count(f.tree);
	release(&f);
	return error;
}

void file_nodes_release(struct file_nodes *n)
{
	free(n->of);
	free(n->firsts);
	buf_release(&n->text);
	*n = (struct file_nodes){0};
}
