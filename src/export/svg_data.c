// SPDX-License-Identifier: MIT
/*
 * The tree as text that a script reads fast and XML leaves alone. Three kinds of <metadata>
 * elements:
 *
 *	info    one JSON object
 *	names   a line for each frame in use: a letter ('a' + enum tree_kind), its label
 *	nodes   nodes in depth-first order, each
 *	            head = name * 4 + 2 (not a child of the node before) + 1 (has time of its own)
 *	            [levels to go up from the node before, less one]
 *	            [time of its own]
 *	            [samples of that, if it has any and the picture has samples (info)]
 *
 * Numbers are written in base 32, least digit first, with the alphabet A-Z a-z 0-9 - _: the last
 * digit is one of the first 32 characters, the others are from the rest. Names are numbered by how
 * many nodes use them, so that most heads take two or three characters. Elements hold at most about
 * a mebibyte, because some XML readers refuse longer texts; numbers and lines do not span them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "export/svg.h"
#include "export/text.h"
#include "view/stalls/reasons.h"

#define ELEMENT_BYTES ((size_t)1 << 20)
#define NODE_BYTES    ((size_t)4 * 13) /* at most */
#define SUBJECT	      "the flame graph"

struct data {
	struct svg *svg;
	uint32_t *uses;	  /* by frame */
	uint32_t *number; /* by frame: its number in the table of names */
	uint32_t *order;  /* by number: the frame */
	uint32_t names;
	uint64_t nodes; /* to be written */
	size_t element; /* bytes in the present element */
	bool sampled;	/* samples are written */
	size_t filled;	/* bytes of nodes not yet written */
	char text[4096];
};

static bool next_node(const struct svg *s, struct tree_walk *w)
{
	while (tree_walk_next(w)) {
		if (svg_width(s, w->node))
			return true;
		w->skip_children = true;
	}
	return false;
}

static void count_uses(struct data *d)
{
	size_t frames = tree_frame_count(d->svg->tree);

	d->uses[tree_nodes(d->svg->tree)[TREE_ROOT_NODE].frame]++;
	d->nodes = 1;
	for (size_t i = 0; i < frames; i++) {
		d->uses[i] += d->svg->uses[i];
		d->nodes += d->svg->uses[i];
	}
}

struct use {
	uint32_t uses, frame, rank;
};

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses < y->uses ? 1 : -1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int number_names(struct data *d)
{
	size_t count = tree_frame_count(d->svg->tree);
	struct use *uses = calloc(count, sizeof(*uses));

	if (!uses)
		return error_memory(SUBJECT);
	for (uint32_t i = 0; i < count; i++)
		if (d->uses[i])
			uses[d->names++] =
				(struct use){d->uses[i], i, tree_frame_rank(d->svg->tree, i)};
	qsort(uses, d->names, sizeof(*uses), compare_uses);
	for (uint32_t i = 0; i < d->names; i++) {
		d->order[i] = uses[i].frame;
		d->number[uses[i].frame] = i;
	}
	free(uses);
	return 0;
}

static void begin_element(struct data *d, const char *class)
{
	output_printf(d->svg->output, "<metadata class=\"%s\">", class);
	d->element = 0;
}

static void end_element(struct data *d)
{
	output_puts(d->svg->output, "</metadata>\n");
}

static void continue_element(struct data *d, const char *class, size_t size)
{
	if (d->element + size > ELEMENT_BYTES) {
		end_element(d);
		begin_element(d, class);
	}
	d->element += size;
}

static int write_names(struct data *d)
{
	struct buf line = BUF_INIT;

	begin_element(d, "names");
	for (uint32_t i = 0; i < d->names && !line.failed; i++) {
		size_t size;
		const char *label = svg_label(d->svg, d->order[i], &size);

		buf_reset(&line);
		if (i)
			buf_putc(&line, '\n');
		buf_putc(&line, (char)('a' + tree_frames(d->svg->tree)[d->order[i]].kind));
		text_xml(&line, label, size);
		continue_element(d, "names", line.size);
		output_write(d->svg->output, line.data, line.size);
	}
	end_element(d);
	d->svg->labels.failed |= line.failed;
	buf_release(&line);
	return d->svg->labels.failed ? error_memory(SUBJECT) : 0;
}

static char *put_number(char *p, uint64_t value)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (; value >= 32; value >>= 5)
		*p++ = alphabet[32 | (value & 31)];
	*p++ = alphabet[value];
	return p;
}

/* The nodes so far: an element is ended before the one that it has no room for. */
static void flush_nodes(struct data *d)
{
	continue_element(d, "nodes", d->filled);
	output_write(d->svg->output, d->text, d->filled);
	d->filled = 0;
}

static void write_node(
	struct data *d, uint32_t name, uint32_t levels_up, uint64_t self, uint64_t samples)
{
	char *p = d->text + d->filled;

	p = put_number(p, (uint64_t)name << 2 | (levels_up ? 2 : 0) | (self ? 1 : 0));
	if (levels_up)
		p = put_number(p, levels_up - 1);
	if (self)
		p = put_number(p, self);
	if (self && d->sampled)
		p = put_number(p, samples);
	d->filled = (size_t)(p - d->text);
	if (d->filled > sizeof(d->text) - NODE_BYTES)
		flush_nodes(d);
}

static void write_nodes(struct data *d)
{
	struct tree_walk w = tree_walk_begin(d->svg->tree);
	const struct tree_node *nodes = tree_nodes(d->svg->tree);
	uint32_t depth = 0;

	begin_element(d, "nodes");
	write_node(d, d->number[nodes[TREE_ROOT_NODE].frame], 0,
		tree_self(d->svg->tree, TREE_ROOT_NODE),
		tree_samples(d->svg->tree, TREE_ROOT_NODE));
	while (next_node(d->svg, &w)) {
		write_node(d, d->number[nodes[w.node].frame], depth + 1 - w.depth,
			tree_self(d->svg->tree, w.node), tree_samples(d->svg->tree, w.node));
		depth = w.depth;
	}
	flush_nodes(d);
	end_element(d);
}

static void put_kinds(struct buf *json, bool joined)
{
	for (int kind = 0; kind < TREE_KINDS; kind++) {
		const char *legend = svg_kind_legend(kind);

		buf_printf(json,
			"%s{\"name\":\"%s\",\"class\":\"%s\",\"legend\":\"%s\",\"gpu\":%s}",
			kind ? "," : "", tree_kind_name(kind), svg_kind_class(kind),
			legend ? legend : "", tree_kind_is_gpu(kind) && !joined ? "true" : "false");
	}
}

static void put_facts(const struct svg *s, struct buf *json)
{
	struct buf text = BUF_INIT;
	const char *name;

	buf_puts(json, ",\"facts\":[");
	for (size_t i = 0; svg_fact(s, i, &name, &text); i++)
		buf_printf(json, "%s[\"%s\",\"%s\"]", i ? "," : "", name, buf_text(&text));
	buf_puts(json, "],\"remarks\":[");
	for (size_t i = 0; svg_remark(s, i, &text); i++) {
		if (i)
			buf_putc(json, ',');
		json_string(json, buf_text(&text), text.size);
	}
	buf_puts(json, "],\"kinds\":[");
	json->failed |= text.failed;
	buf_release(&text);
}

/* What reasons mean, by the names of their frames. */
static void put_words(struct buf *json)
{
	const struct stall_reason *reason;

	buf_puts(json, "],\"words\":{");
	for (size_t i = 0; (reason = stall_reason_at(i)); i++)
		buf_printf(json, "%s\"%s\":\"%s\"", i ? "," : "", reason->name, reason->words);
	buf_puts(json, "}");
}

static int write_info(struct data *d)
{
	static const char *const units[] = {[VIEW_NS] = "ns",
		[VIEW_US] = "us",
		[VIEW_COUNT] = "count",
		[VIEW_SAMPLES] = "samples"};
	const struct svg *s = d->svg;
	struct buf json = BUF_INIT, xml = BUF_INIT;
	int error = 0;

	buf_printf(&json,
		"{\"nodes\":%llu,\"unit\":\"%s\",\"time\":\"%s\",%s\"simulated\":%s,\"inverted\":%"
		"s,"
		"\"dropped\":%llu,\"title\":",
		(unsigned long long)d->nodes, units[s->unit], s->view->time ? s->view->time : "",
		s->compared		    ? "\"sampled\":true,\"compared\":true,"
		: tree_has_samples(s->tree) ? "\"sampled\":true,"
					    : "",
		s->view->simulated ? "true" : "false", s->inverted ? "true" : "false",
		(unsigned long long)s->left_out);
	json_string(&json, s->title, strlen(s->title));
	put_facts(s, &json);
	put_kinds(&json, s->view->time);
	put_words(&json);
	buf_puts(&json, "}");
	text_xml(&xml, json.data, json.size);
	if (json.failed || xml.failed)
		error = error_memory(SUBJECT);
	begin_element(d, "info");
	output_write(s->output, xml.data, xml.size);
	end_element(d);
	buf_release(&json);
	buf_release(&xml);
	return error;
}

int svg_write_data(struct svg *s)
{
	size_t frames = tree_frame_count(s->tree);
	struct data d = {.svg = s, .sampled = tree_has_samples(s->tree)};
	int error;

	d.uses = calloc(frames, sizeof(*d.uses));
	d.number = calloc(frames, sizeof(*d.number));
	d.order = calloc(frames, sizeof(*d.order));
	if (!d.uses || !d.number || !d.order) {
		error = error_memory(SUBJECT);
	} else {
		count_uses(&d);
		error = number_names(&d);
	}
	error = error ?: write_info(&d);
	error = error ?: write_names(&d);
	if (!error)
		write_nodes(&d);
	free(d.uses);
	free(d.number);
	free(d.order);
	return error;
}
