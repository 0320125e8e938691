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
#include "view/names/label.h"
#include "view/names/stream_name.h"

#define SUBJECT "the page"

struct node_sum {
	uint64_t time_ns, samples;
};

struct file_sums {
	const struct slice_sums *sums;
	const struct ages *ages;
	struct json_writer w;
	struct tree *tree;
	struct map nodes;	 /* code << 32 | rest -> node; 0: not shown */
	struct node_sum *of;	 /* by node: of one slice */
	struct vec(uint32_t) in; /* nodes of that */
};

static uint64_t id_of(struct event_pair pair)
{
	return (uint64_t)pair.code << 32 | pair.rest;
}

static int find_node(struct file_sums *f, struct event_nodes *nodes, struct event_pair pair,
	const struct view_options *options)
{
	struct gather_key whole = event_keys_at(&f->sums->all.keys, pair),
			  key = event_key_for(&whole, options);
	uint32_t node = 0;
	int error = 0;

	if (map_get(&f->nodes, id_of(pair)))
		return 0;
	if (key.event == EVENT_SAMPLE || key.event == EVENT_WORK)
		error = event_nodes_add(nodes, &key, &node);
	if (!error && map_put(&f->nodes, id_of(pair), node))
		error = error_memory(SUBJECT);
	return error;
}

static int find_nodes(
	struct file_sums *f, const struct profile_reader *r, const struct view_options *options)
{
	struct event_nodes nodes;
	int error = event_nodes_init(&nodes, r, options, f->tree);

	for (uint32_t n = 0; !error && n < f->sums->count; n++)
		vec_foreach (sum, &f->sums->items[n].sums)
			error = error ?: find_node(f, &nodes, sum->pair, options);
	event_nodes_release(&nodes);
	return error;
}

static uint32_t node_of(const struct file_sums *f, struct event_pair pair)
{
	const uint64_t *node = map_get(&f->nodes, id_of(pair));

	return node ? (uint32_t)*node : 0;
}

/* After all others. */
static int find_spread_nodes(struct file_sums *f, const struct profile_reader *r,
	const struct view_options *options, uint32_t *ret)
{
	struct event_nodes nodes;
	int error = event_nodes_init(&nodes, r, options, f->tree);

	for (size_t i = 0; !error && i < f->sums->spreads.count; i++)
		error = event_nodes_add(&nodes, &f->sums->spreads.items[i].key, &ret[i]);
	event_nodes_release(&nodes);
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
			error = name_stream_of(&n,
				&s->all.keys.rests.items.items[(uint32_t)slot->key],
				(uint32_t)slot->value);
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

static int write(
	struct file_sums *f, const struct profile_reader *r, const struct view_options *options)
{
	uint32_t *spreads = calloc(f->sums->spreads.count + 1, sizeof(*spreads));
	int error = spreads ? find_nodes(f, r, options) : error_memory(SUBJECT);

	error = error ?: find_spread_nodes(f, r, options, spreads);
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
		error = write_streams(f, r, spreads) ?: write_slices(f);
	}
	if (!error)
		write_spreads(f, spreads);
	json_end(&f->w, '}');
	free(spreads);
	return error;
}

int file_sums_json(struct buf *out, const struct recording_reading *g,
	const struct view_options *options, const struct ages *ages)
{
	struct view_options all = *options;
	struct file_sums f = {.sums = &g->sums, .ages = ages, .w = {.out = out}};
	int error = tree_new(&f.tree);

	all.by = VIEW_BY_PROCESS | VIEW_BY_THREAD | VIEW_BY_DEVICE | VIEW_BY_STREAM;
	error = error ?: write(&f, g->reader, &all);
	tree_free(f.tree);
	map_release(&f.nodes);
	free(f.of);
	vec_release(&f.in);
	return error;
}
