// SPDX-License-Identifier: MIT
/*
 * The picture without script: 1200 units wide, root at the bottom unless inverted, frames of at
 * least half a unit. Labels are cut by an estimate of how wide letters are, on the generous side,
 * because the font is the viewer's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "export/svg.h"
#include "export/svg_assets.h"
#include "export/text.h"
#include "view/names/label.h"

#define WIDTH	    1200
#define MARGIN	    12
#define ROW	    19
#define TOP	    82 /* of the graph, without remarks */
#define REMARK_ROW  17
#define REMARKS_MAX 6
#define LEAST_WIDTH 0.5
#define LABEL_WIDTH 24 /* frames narrower than this have no label */
#define ROWS_MAX    1500
#define ROWS_LEAST  24 /* so many are drawn, however thin */
#define SUBJECT	    "the flame graph"

struct picture {
	struct svg *svg;
	double scale;	 /* units of width for a unit of time */
	uint64_t *start; /* by depth: where the next node begins */
	size_t start_capacity;
	uint32_t rows;	  /* the last one that is drawn, plus one */
	uint32_t cut;	  /* how many above that are not */
	uint32_t remarks; /* lines */
	struct buf text;
};

/* Rows above the last one with frames that cover this share of the width are left out: a thin tower
 * would leave the picture empty. */
#define ROW_SHARE 0.02

/* Where the node at `depth` begins; its children follow from there. */
static int advance(struct picture *p, uint32_t depth, uint64_t width, uint64_t *ret_start)
{
	if (depth + 1 >= p->start_capacity) {
		size_t capacity = (depth + 2) * 2;
		uint64_t *grown = realloc(p->start, capacity * sizeof(*grown));

		if (!grown)
			return error_memory(SUBJECT);
		p->start = grown;
		p->start_capacity = capacity;
	}
	*ret_start = p->start[depth];
	p->start[depth] += width;
	p->start[depth + 1] = *ret_start;
	return 0;
}

static bool is_drawn(const struct picture *p, uint32_t node, uint32_t depth)
{
	return (double)svg_width(p->svg, node) * p->scale >= LEAST_WIDTH && depth < p->rows &&
	       !svg_is_left_out(p->svg, node);
}

static void find_rows(struct picture *p)
{
	struct tree_walk w = tree_walk_begin(p->svg->tree);
	double covered[ROWS_MAX] = {0};
	uint32_t all = 1;

	p->rows = ROWS_MAX;
	while (tree_walk_next(&w)) {
		w.skip_children = !is_drawn(p, w.node, w.depth);
		if (w.skip_children)
			continue;
		covered[w.depth] += (double)svg_width(p->svg, w.node) * p->scale;
		all = w.depth + 1 > all ? w.depth + 1 : all;
	}
	p->rows = all;
	while (p->rows > ROWS_LEAST && covered[p->rows - 1] < ROW_SHARE * WIDTH)
		p->rows--;
	p->cut = all - p->rows;
}

/* About how wide a character of 12 units height is. */
static double letter_width(const char *c, size_t length)
{
	if (length > 1)
		return 12;
	if (strchr("ijl.,;:|!'()[]{}/ft ", *c))
		return 5;
	if (strchr("mwMW@%", *c))
		return 12;
	return (*c >= 'A' && *c <= 'Z') || *c == '_' ? 8.5 : 7.6;
}

/* How many bytes of the label fit, with an ellipsis if not all; 0 when too few do. */
static size_t fit(const char *label, size_t size, double room, bool *ret_cut)
{
	size_t cut = 0, letters = 0, length;
	double used = 0;

	for (size_t i = 0; i < size; i += length) {
		length = utf8_sequence(label + i, size - i);
		length = length ? length : 1;
		used += letter_width(label + i, length);
		if (used > room) {
			*ret_cut = true;
			return letters >= 2 ? cut : 0;
		}
		if (used + 10 <= room) {
			cut = i + length;
			letters++;
		}
	}
	*ret_cut = false;
	return size;
}

static unsigned int shade(const char *label, size_t size)
{
	uint32_t h = 0;

	for (size_t i = 0; i < size; i++)
		h = h * 31 + (unsigned char)label[i];
	return (h >> 4) % 3;
}

static void put_share(
	struct buf *b, const char *what, uint64_t part, uint64_t whole, enum view_unit unit)
{
	if (!part)
		return;
	buf_printf(b, ", %s", what);
	svg_put_time(b, part, unit);
	buf_printf(b, " (%.2f %%)", 100.0 * (double)part / (double)whole);
}

/* With as many digits as the samples support. */
static void put_sampled_share(struct buf *b, const struct tree_time *t, uint64_t whole)
{
	char cell[TEXT_CELL], count[TEXT_CELL];

	buf_printf(b, ", CPU %s, %s sample%s (%.2f %%)",
		text_sampled_duration(cell, t->cpu, t->samples), text_count(count, t->samples),
		t->samples == 1 ? "" : "s", 100.0 * (double)t->cpu / (double)whole);
}

/* Of a comparison. */
static void put_sides(struct picture *p, const struct tree_time *t)
{
	struct tree_time all = tree_totals_of(&p->svg->totals, TREE_ROOT_NODE);

	put_share(&p->text, "first ", t->cpu - t->samples, all.cpu - all.samples, p->svg->unit);
	put_share(&p->text, "second ", t->samples, all.samples, p->svg->unit);
}

static void put_title(struct picture *p, uint32_t node, const char *label, size_t size)
{
	struct tree_time total = tree_total(p->svg->tree),
			 own = tree_totals_of(&p->svg->totals, node), *t = &own;

	buf_puts(&p->text, "<title>");
	text_xml(&p->text, label, size);
	if (p->svg->compared)
		put_sides(p, t);
	else if (t->samples && t->cpu)
		put_sampled_share(&p->text, t, total.cpu);
	else
		put_share(&p->text, p->svg->view->time ? "" : "CPU ", t->cpu, total.cpu,
			p->svg->unit);
	put_share(&p->text, "GPU ", t->gpu, total.gpu, p->svg->unit);
	buf_puts(&p->text, "</title>");
}

static double row_top(const struct picture *p, uint32_t depth)
{
	return TOP + REMARK_ROW * p->remarks + (p->cut && !p->svg->inverted ? ROW : 0) +
	       (double)ROW * (p->svg->inverted ? depth : p->rows - 1 - depth);
}

static bool has_brief(enum tree_kind kind)
{
	return kind == TREE_CXX || kind == TREE_GPU_KERNEL || kind == TREE_GPU_SOURCE ||
	       kind == TREE_WAIT || kind >= TREE_DIFF_SAME;
}

/* The whole label, or a briefer one, or the beginning of the briefest. */
static void put_fitting(
	struct picture *p, enum tree_kind kind, const char *label, size_t size, double room)
{
	struct buf brief = BUF_INIT, next = BUF_INIT;
	bool cut;
	size_t fits = fit(label, size, room, &cut);

	for (int level = 1; cut && has_brief(kind); level++) {
		buf_reset(&next);
		label_brief(label, size, level, &next);
		if (!next.size && level > 1)
			break;
		if (next.size) {
			struct buf swapped = brief;

			brief = next;
			next = swapped;
			fits = fit(brief.data, brief.size, room, &cut);
		}
	}
	if (fits) {
		text_xml(&p->text, brief.size ? brief.data : label, fits);
		buf_puts(&p->text, cut ? "\xe2\x80\xa6" : "");
	}
	p->text.failed |= brief.failed || next.failed;
	buf_release(&brief);
	buf_release(&next);
}

static void write_frame(struct picture *p, uint32_t node, uint32_t depth, uint64_t start)
{
	const struct svg *s = p->svg;
	uint32_t frame = tree_nodes(s->tree)[node].frame;
	double x = MARGIN + (double)start * p->scale, width = (double)svg_width(s, node) * p->scale;
	double y = row_top(p, depth);
	enum tree_kind kind = tree_frames(s->tree)[frame].kind;
	size_t size;
	const char *label = svg_label(s, frame, &size);

	buf_reset(&p->text);
	buf_puts(&p->text, "<g>");
	put_title(p, node, label, size);
	buf_printf(&p->text,
		"<rect class=\"%s s%u\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/>",
		svg_kind_class(kind), shade(label, size), x, y, width > 4 ? width - 0.8 : width,
		ROW - 1);
	if (width >= LABEL_WIDTH) {
		buf_printf(&p->text, "<text x=\"%.1f\" y=\"%.0f\">", x + 4, y + 13);
		put_fitting(p, kind, label, size, width - 8);
		buf_puts(&p->text, "</text>");
	}
	buf_puts(&p->text, "</g>\n");
	output_write(s->output, p->text.data, p->text.size);
}

static int write_frames(struct picture *p)
{
	struct tree_walk w = tree_walk_begin(p->svg->tree);
	uint64_t start = 0;
	int error = advance(p, 0, svg_width(p->svg, 0), &start);

	if (!error && p->scale > 0)
		write_frame(p, TREE_ROOT_NODE, 0, 0);
	while (!error && tree_walk_next(&w)) {
		error = advance(p, w.depth, svg_width(p->svg, w.node), &start);
		if (!error && is_drawn(p, w.node, w.depth))
			write_frame(p, w.node, w.depth, start);
		else
			w.skip_children = true;
	}
	return error;
}

static void write_line(
	struct picture *p, const char *class, double y, const char *text, size_t size)
{
	bool cut;
	size_t fits = fit(text, size, WIDTH - 2 * MARGIN - (class[0] == 't' ? 420 : 0), &cut);

	buf_reset(&p->text);
	buf_printf(&p->text, "<text class=\"%s\" x=\"%d\" y=\"%.0f\">", class, MARGIN, y);
	text_xml(&p->text, text, fits);
	buf_printf(&p->text, "%s</text>\n", cut ? "\xe2\x80\xa6" : "");
	output_write(p->svg->output, p->text.data, p->text.size);
}

static void write_facts(struct picture *p)
{
	struct buf line = BUF_INIT, value = BUF_INIT;
	const char *name;

	if (p->svg->view->simulated)
		buf_puts(&line, "simulated GPU");
	for (size_t i = 0; svg_fact(p->svg, i, &name, &value); i++)
		buf_printf(&line, "%s%s %s", line.size ? " \xc2\xb7 " : "", name, buf_text(&value));
	write_line(p, "sub", 44, buf_text(&line), line.size);
	for (uint32_t i = 0; i < p->remarks && svg_remark(p->svg, i, &line); i++)
		write_line(p, "remark", 44 + REMARK_ROW * (i + 1.0), buf_text(&line), line.size);
	p->text.failed |= line.failed || value.failed;
	buf_release(&line);
	buf_release(&value);
}

static void write_legend(struct picture *p)
{
	bool used[TREE_KINDS] = {false};
	const char *last = NULL;
	double x = MARGIN, y = 67 + REMARK_ROW * p->remarks;

	for (size_t i = 0; i < tree_frame_count(p->svg->tree); i++)
		used[tree_frames(p->svg->tree)[i].kind] |= p->svg->uses[i] > 0;
	for (int kind = 0; kind < TREE_KINDS; kind++) {
		const char *legend = svg_kind_legend(kind);

		if (!used[kind] || !legend || (last && !strcmp(last, legend)))
			continue;
		output_printf(p->svg->output,
			"<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\" "
			"rx=\"3\"/>"
			"<text class=\"sub\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
			svg_kind_class(kind), x, y - 10, x + 16, y, legend);
		x += 40 + 7.0 * (double)strlen(legend);
		last = legend;
	}
}

/* At the edge where they would be. */
static void write_cut(struct picture *p)
{
	double y = p->svg->inverted ? row_top(p, p->rows - 1) + 2 * ROW - 5
				    : row_top(p, p->rows - 1) - 5;

	if (p->cut)
		output_printf(p->svg->output,
			"<text class=\"sub\" x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%u more row%s "
			"of thin "
			"frames: open this file in a browser</text>\n",
			WIDTH - MARGIN, y, p->cut, p->cut == 1 ? "" : "s");
}

static void write_begin(struct picture *p)
{
	int height = (int)row_top(p, p->svg->inverted ? p->rows - 1 : 0) + ROW + MARGIN +
		     (p->cut && p->svg->inverted ? ROW : 0);
	struct svg *s = p->svg;

	output_printf(s->output,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\">\n"
		"<style><![CDATA[\n",
		WIDTH, height, WIDTH, height);
	output_write(s->output, svg_style_start, (size_t)(svg_style_end - svg_style_start));
	output_puts(s->output, "]]></style>\n");
	buf_reset(&p->text);
	text_xml(&p->text, s->title, strlen(s->title));
	output_printf(s->output, "<title>%s%s</title>\n<g id=\"static\">\n", buf_text(&p->text),
		s->view->simulated ? " (simulated GPU)" : "");
	write_line(p, "title", 24, s->title, strlen(s->title));
	write_facts(p);
	write_legend(p);
	write_cut(p);
}

static uint32_t count_remarks(const struct svg *s)
{
	struct buf text = BUF_INIT;
	uint32_t count = 0;

	while (count < REMARKS_MAX && svg_remark(s, count, &text))
		count++;
	buf_release(&text);
	return count;
}

int svg_write_static(struct svg *s)
{
	uint64_t total = svg_width(s, TREE_ROOT_NODE);
	struct picture p = {.svg = s, .remarks = count_remarks(s)};
	int error;

	p.scale = total ? (WIDTH - 2 * MARGIN) / (double)total : 0;
	p.start_capacity = 64;
	p.start = calloc(p.start_capacity, sizeof(*p.start));
	if (!p.start)
		return error_memory(SUBJECT);
	find_rows(&p);
	write_begin(&p);
	error = s->scripted ? 0 : write_frames(&p);
	output_puts(s->output, "</g>\n");
	if (!error && p.text.failed)
		error = error_memory(SUBJECT);
	free(p.start);
	buf_release(&p.text);
	return error;
}
