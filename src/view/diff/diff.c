// SPDX-License-Identifier: MIT
/*
 * The trees of both sides and of all slices are put into one tree, whose nodes number the columns
 * of amounts. A parent has a smaller number than its children, so totals are added up from the last
 * node to the first.
 */
#include "view/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/text.h"
#include "view/names/label.h"

#define SUBJECT "the comparison"

struct column vec(double);

struct side {
	struct diff_slices slices;
	struct column self, total, slice_self[DIFF_SLICES];
	float *slice_total[DIFF_SLICES];
};

struct comparing {
	struct diff *diff;
	struct side sides[2];
	struct tree *all; /* of both */
	struct interner *names;
	size_t name_count;
	struct vec(uint32_t) function_of; /* by frame of `all`: id of its label */
};

int diff_parse_scale(const char *text, enum diff_scale *ret)
{
	static const char *const names[] = {
		[DIFF_BY_ELAPSED] = "elapsed", [DIFF_BY_TOTAL] = "samples", [DIFF_NOT] = "none"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text)) {
			*ret = (enum diff_scale)i;
			return 0;
		}
	return error_set(-EINVAL, "takes elapsed, samples or none, not '%s'", text);
}

void diff_release(struct diff *d)
{
	vec_foreach (f, &d->functions)
		free(f->name);
	vec_release(&d->functions);
	view_result_release(&d->view);
	free(d->ranges[0]);
	free(d->ranges[1]);
}

bool diff_has_ranges(const struct diff *d)
{
	return d->ranges[0] || d->ranges[1];
}

/* ------------------------------------------------------------------ one tree */

static int add_amount(struct column *c, uint32_t node, double amount)
{
	while (c->count <= node)
		if (vec_push(c, 0))
			return error_memory(SUBJECT);
	c->items[node] += amount;
	return 0;
}

static int add_node(struct comparing *c, const struct tree_frame *f, uint32_t parent, uint32_t *ret)
{
	bool task = f->kind == TREE_PROCESS || f->kind == TREE_THREAD;
	uint32_t frame = 0;
	int error = tree_add_frame(
		c->all, task ? TREE_NOTE : f->kind, task ? 0 : f->number, f->name, f->size, &frame);

	return error ?: tree_add_child(c->all, parent, frame, ret);
}

static bool is_note_of(const struct tree_frame *f, enum profile_sample_kind kind)
{
	const char *note = profile_sample_note(kind);
	size_t size = strlen(note);

	return f->kind == TREE_NOTE && f->size == size + 2 && !memcmp(f->name + 1, note, size);
}

/* Time that no sample stands for, which is spread evenly. */
static bool is_spread(const struct tree_frame *f)
{
	return is_note_of(f, SAMPLE_ABSENT) || is_note_of(f, SAMPLE_KERNEL);
}

/*
 * Adds a tree's times to a column, and those that are spread evenly to another: how even they are
 * says nothing of how far they differ from run to run. Whether a thread has a sample is chance, as
 * if its time had been in one stretch.
 */
static int add_tree(
	struct comparing *c, const struct tree *t, struct column *column, struct column *spread)
{
	struct tree_walk w = tree_walk_begin(t);
	uint32_t *node_of = calloc(tree_node_count(t), sizeof(*node_of));
	int error = node_of ? add_amount(column, 0, (double)tree_self(t, TREE_ROOT_NODE))
			    : error_memory(SUBJECT);

	while (!error && tree_walk_next(&w)) {
		const struct tree_node *n = &tree_nodes(t)[w.node];
		const struct tree_frame *f = &tree_frames(t)[n->frame];

		error = add_node(c, f, node_of[n->parent], &node_of[w.node]);
		error = error
				?: add_amount(is_spread(f) ? spread : column, node_of[w.node],
					   (double)tree_self(t, w.node));
	}
	free(node_of);
	return error;
}

static int read_side(
	struct comparing *c, struct side *s, const char *path, const struct view_options *o)
{
	int error = diff_slices_read(&s->slices, path, o);

	error = error ?: add_tree(c, s->slices.whole.tree, &s->self, &s->self);
	for (size_t n = 0; !error && n < DIFF_SLICES; n++) {
		error = add_tree(c, s->slices.slices[n].tree, &s->slice_self[n], &s->slice_self[0]);
		view_result_release(&s->slices.slices[n]);
	}
	return error;
}

/* Makes the column as long as the tree, and adds what stands on each node. */
static int add_up(const struct tree *t, struct column *totals)
{
	uint32_t count = (uint32_t)tree_node_count(t);
	int error = add_amount(totals, count - 1, 0);

	for (uint32_t n = count; !error && --n;)
		totals->items[tree_nodes(t)[n].parent] += totals->items[n];
	return error;
}

static int add_up_side(const struct tree *t, struct side *s)
{
	size_t count = tree_node_count(t);
	int error = add_amount(&s->self, (uint32_t)count - 1, 0);

	for (uint32_t n = 0; !error && n < count; n++)
		error = add_amount(&s->total, n, s->self.items[n]);
	error = error ?: add_up(t, &s->total);
	for (size_t slice = 0; !error && slice < DIFF_SLICES; slice++) {
		struct column sums = {0};

		error = add_amount(&s->slice_self[slice], (uint32_t)count - 1, 0);
		s->slice_total[slice] = calloc(count, sizeof(float));
		if (!s->slice_total[slice])
			error = error_memory(SUBJECT);
		for (uint32_t n = 0; !error && n < count; n++)
			error = add_amount(&sums, n, s->slice_self[slice].items[n]);
		error = error ?: add_up(t, &sums);
		for (uint32_t n = 0; !error && n < count; n++)
			s->slice_total[slice][n] = (float)sums.items[n];
		vec_release(&sums);
	}
	return error;
}

/* ------------------------------------------------------------------ verdicts */

static void set_side(const struct side *s, struct diff_amounts *a)
{
	a->elapsed_ns = s->slices.whole.elapsed_ns;
	a->total = s->total.items[0];
	for (size_t n = 0; n < DIFF_SLICES; n++) {
		a->slice_ns[n] = s->slices.slice_ns[n];
		a->slice_total[n] = (double)s->slice_total[n][0];
	}
}

static int judge_nodes(struct comparing *c, struct diff_verdict *ret)
{
	struct diff_amounts sides[2];

	for (size_t side = 0; side < 2; side++) {
		struct side *s = &c->sides[side];

		set_side(s, &sides[side]);
		sides[side].whole = s->total.items;
		for (size_t n = 0; n < DIFF_SLICES; n++)
			sides[side].slices[n] = s->slice_total[n];
	}
	return diff_judge(sides, tree_node_count(c->all), c->diff->scale, ret);
}

/* A kind for each difference: how many times as much, and of which side only. */
static enum tree_kind kind_of(const struct diff_verdict *v)
{
	double more = v->after > v->before ? v->after : v->before;
	double less = v->after > v->before ? v->before : v->after;
	bool grew = v->after > v->before;

	if (!v->real)
		return TREE_DIFF_SAME;
	if (less <= 0)
		return grew ? TREE_DIFF_AFTER : TREE_DIFF_BEFORE;
	if (more > 2 * less)
		return grew ? TREE_DIFF_MUCH_MORE : TREE_DIFF_MUCH_LESS;
	if (more > 1.2 * less)
		return grew ? TREE_DIFF_MORE : TREE_DIFF_LESS;
	return grew ? TREE_DIFF_LITTLE_MORE : TREE_DIFF_LITTLE_LESS;
}

/* What times of the first side are multiplied by. */
static double factor_of(const struct diff *d)
{
	uint64_t part = d->scale == DIFF_BY_TOTAL ? d->total_ns[1] : d->elapsed_ns[1];
	uint64_t whole = d->scale == DIFF_BY_TOTAL ? d->total_ns[0] : d->elapsed_ns[0];

	return d->scale == DIFF_NOT || !whole || !part ? 1 : (double)part / (double)whole;
}

static int make_node(struct comparing *c, uint32_t n, const struct diff_verdict *v, uint32_t parent,
	uint32_t *ret)
{
	const struct tree_frame *f = &tree_frames(c->all)[tree_nodes(c->all)[n].frame];
	struct tree *t = c->diff->view.tree;
	uint64_t after = (uint64_t)(c->sides[1].self.items[n] + 0.5);
	uint64_t before = (uint64_t)(c->sides[0].self.items[n] * factor_of(c->diff) + 0.5);
	struct buf label = BUF_INIT;
	uint32_t frame = 0;
	int error;

	tree_label(f, &label);
	error = label.failed ? error_memory(SUBJECT) : 0;
	error = error ?: tree_add_frame(t, kind_of(v), 0, buf_text(&label), label.size, &frame);
	buf_release(&label);
	error = error ?: tree_add_child(t, parent, frame, ret);
	error = error ?: tree_add_time(t, *ret, before + after);
	return error ?: tree_add_samples(t, *ret, after);
}

/* Nodes of one label and different kinds stay apart: each has a verdict of its own. */
static int make_tree(struct comparing *c, const struct diff_verdict *verdicts)
{
	uint32_t count = (uint32_t)tree_node_count(c->all);
	uint32_t *node_of = calloc(count, sizeof(*node_of));
	int error = node_of ? tree_add_samples(c->diff->view.tree, 0, 0) : error_memory(SUBJECT);

	for (uint32_t n = 1; !error && n < count; n++) {
		c->diff->any_real |= verdicts[n].real;
		error = make_node(
			c, n, &verdicts[n], node_of[tree_nodes(c->all)[n].parent], &node_of[n]);
	}
	free(node_of);
	return error ?: tree_sort(c->diff->view.tree);
}

/* ------------------------------------------------------------------ functions */

static int name_functions(struct comparing *c)
{
	struct buf label = BUF_INIT;
	int error = interner_new(&c->names) ? error_memory(SUBJECT) : 0;

	for (size_t i = 0; !error && i < tree_frame_count(c->all); i++) {
		uint32_t id = 0;
		int added;

		buf_reset(&label);
		tree_label(&tree_frames(c->all)[i], &label);
		if (label.failed ||
			interner_add(c->names, buf_text(&label), label.size, &id, &added) ||
			vec_push(&c->function_of, id - 1))
			error = error_memory(SUBJECT);
		c->name_count = id > c->name_count ? id : c->name_count;
	}
	buf_release(&label);
	return error;
}

/* Whether the function is on the way from the node's parent to the root, too. */
static bool recurs(const struct comparing *c, uint32_t node, uint32_t function)
{
	for (uint32_t n = tree_nodes(c->all)[node].parent; n; n = tree_nodes(c->all)[n].parent)
		if (c->function_of.items[tree_nodes(c->all)[n].frame] == function)
			return true;
	return false;
}

/* Amounts by function, of all slices and the whole. */
struct by_function {
	double *whole;
	float *slices[DIFF_SLICES];
};

static void release_functions(struct by_function *b)
{
	free(b->whole);
	for (size_t n = 0; n < DIFF_SLICES; n++)
		free(b->slices[n]);
}

static int sum_functions(const struct comparing *c, const struct side *s, size_t count, bool total,
	struct by_function *b)
{
	b->whole = calloc(count + 1, sizeof(*b->whole));
	for (size_t n = 0; n < DIFF_SLICES; n++) {
		b->slices[n] = calloc(count + 1, sizeof(float));
		if (!b->slices[n])
			return error_memory(SUBJECT);
	}
	if (!b->whole)
		return error_memory(SUBJECT);
	for (uint32_t node = 1; node < tree_node_count(c->all); node++) {
		uint32_t f = c->function_of.items[tree_nodes(c->all)[node].frame];

		if (total && recurs(c, node, f))
			continue;
		b->whole[f] += total ? s->total.items[node] : s->self.items[node];
		for (size_t n = 0; n < DIFF_SLICES; n++)
			b->slices[n][f] += total ? s->slice_total[n][node]
						 : (float)s->slice_self[n].items[node];
	}
	return 0;
}

static int judge_functions(struct comparing *c, size_t count, bool total, struct diff_verdict *ret)
{
	struct by_function sums[2] = {0};
	struct diff_amounts sides[2];
	int error = 0;

	for (size_t side = 0; !error && side < 2; side++) {
		error = sum_functions(c, &c->sides[side], count, total, &sums[side]);
		set_side(&c->sides[side], &sides[side]);
		sides[side].whole = sums[side].whole;
		for (size_t n = 0; n < DIFF_SLICES; n++)
			sides[side].slices[n] = sums[side].slices[n];
	}
	error = error ?: diff_judge(sides, count, c->diff->scale, ret);
	release_functions(&sums[0]);
	release_functions(&sums[1]);
	return error;
}

static int by_difference(const void *left, const void *right)
{
	const struct diff_function *a = left, *b = right;
	double of_a = fabs(a->total.after - a->total.before),
	       of_b = fabs(b->total.after - b->total.before);

	if (a->total.real != b->total.real)
		return a->total.real ? -1 : 1;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int keep_functions(struct comparing *c, size_t count, const struct diff_verdict *self,
	const struct diff_verdict *total)
{
	struct diff *d = c->diff;

	for (size_t f = 0; f < count; f++) {
		struct diff_function function = {.self = self[f], .total = total[f]};

		if (total[f].before <= 0 && total[f].after <= 0)
			continue;
		function.name = strdup(interner_get(c->names, (uint32_t)f + 1, NULL));
		if (!function.name || vec_push(&d->functions, function)) {
			free(function.name);
			return error_memory(SUBJECT);
		}
	}
	if (d->functions.count)
		qsort(d->functions.items, d->functions.count, sizeof(*d->functions.items),
			by_difference);
	return 0;
}

static int compare_functions(struct comparing *c)
{
	int error = name_functions(c);
	size_t count = c->name_count;
	struct diff_verdict *self = calloc(count + 1, sizeof(*self)),
			    *total = calloc(count + 1, sizeof(*total));

	if (!error && (!self || !total))
		error = error_memory(SUBJECT);
	error = error ?: judge_functions(c, count, false, self);
	error = error ?: judge_functions(c, count, true, total);
	error = error ?: keep_functions(c, count, self, total);
	free(self);
	free(total);
	return error;
}

/* ------------------------------------------------------------------ */

static int compare_all(struct comparing *c)
{
	struct diff_verdict *verdicts;
	int error = add_up_side(c->all, &c->sides[0]);

	error = error ?: add_up_side(c->all, &c->sides[1]);
	if (error)
		return error;
	for (size_t side = 0; side < 2; side++) {
		c->diff->elapsed_ns[side] = c->sides[side].slices.whole.elapsed_ns;
		c->diff->total_ns[side] = (uint64_t)c->sides[side].total.items[0];
	}
	verdicts = calloc(tree_node_count(c->all), sizeof(*verdicts));
	error = verdicts ? judge_nodes(c, verdicts) : error_memory(SUBJECT);
	error = error ?: make_tree(c, verdicts);
	free(verdicts);
	return error ?: compare_functions(c);
}

static const char *const names[] = {"first", "second"};

static const char *range_of(const struct diff *d, size_t side)
{
	return d->ranges[side] ? d->ranges[side] : "the whole recording";
}

static int add_side_fact(struct comparing *c, size_t side)
{
	const struct diff *d = c->diff;
	char all[TEXT_CELL], elapsed[TEXT_CELL];
	bool is_time = d->view.unit == VIEW_NS;

	return view_fact(&c->diff->view, names[side], "%s in %s",
		is_time ? text_duration(all, d->total_ns[side])
			: text_count(all, d->total_ns[side]),
		text_duration(elapsed, d->elapsed_ns[side]));
}

static int add_remarks(struct comparing *c, const char *side, const struct view_result *from)
{
	int error = 0;

	vec_foreach (remark, &from->remarks)
		error = error ?: view_remark(&c->diff->view, "%s: %s", side, *remark);
	return error;
}

static int add_facts(struct comparing *c)
{
	static const char *const scales[] = {
		[DIFF_BY_ELAPSED] = "elapsed time", [DIFF_BY_TOTAL] = "all that is shown"};
	const struct diff *d = c->diff;
	double factor = factor_of(d);
	int error = add_side_fact(c, 0);

	error = error ?: add_side_fact(c, 1);
	if (!error && d->scale == DIFF_NOT)
		error = view_fact(&c->diff->view, "compared", "as they are");
	else if (!error)
		error = view_fact(&c->diff->view, "compared by", "%s", scales[d->scale]);
	if (!error && (factor > 1.005 || factor < 0.995))
		error = view_remark(&c->diff->view,
			"times of the first are shown %.3g times as long, for the same %s", factor,
			scales[d->scale]);
	if (!error && d->view.range)
		error = view_remark(&c->diff->view, "only a part is compared: %s", d->view.range);
	for (size_t side = 0; !error && diff_has_ranges(d) && side < 2; side++)
		error = view_remark(&c->diff->view, "%s: %s", names[side], range_of(d, side));
	if (!error && !d->any_real)
		error = view_remark(&c->diff->view, "no difference is more than the noise");
	for (size_t side = 0; !error && side < 2; side++)
		error = add_remarks(c, names[side], &c->sides[side].slices.whole);
	return error;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int make_title(struct diff *d, const struct diff_of sides[2])
{
	struct buf b = BUF_INIT;

	if (diff_has_ranges(d) && !strcmp(sides[0].path, sides[1].path))
		buf_printf(&b, "%s: %s, and then %s", base_of(sides[0].path), range_of(d, 0),
			range_of(d, 1));
	else
		buf_printf(&b, "%s, and then %s", base_of(sides[0].path), base_of(sides[1].path));
	d->view.title = b.failed ? NULL : strdup(buf_text(&b));
	buf_release(&b);
	return d->view.title ? 0 : error_memory(SUBJECT);
}

/* One of both sides, or one of each. */
static void take_ranges(struct diff *d, bool same, char **first, char **second)
{
	if (same) {
		d->view.range = *second;
	} else {
		d->ranges[0] = *first;
		d->ranges[1] = *second;
		*first = NULL;
	}
	*second = NULL;
}

static void take_facts(struct comparing *c, bool same_range)
{
	struct view_result *v = &c->diff->view, *first = &c->sides[0].slices.whole,
			   *second = &c->sides[1].slices.whole;

	v->unit = second->unit;
	v->shows = second->shows;
	v->time = "both";
	v->simulated = first->simulated || second->simulated;
	v->lacking = second->lacking ? second->lacking : first->lacking;
	v->help = second->lacking ? second->help : first->help;
	v->incomplete = second->incomplete ? second->incomplete : first->incomplete;
	take_ranges(c->diff, same_range, &first->range, &second->range);
	if (v->incomplete == second->incomplete)
		second->incomplete = NULL;
	else
		first->incomplete = NULL;
}

static void release_side(struct side *s)
{
	diff_slices_release(&s->slices);
	vec_release(&s->self);
	vec_release(&s->total);
	for (size_t n = 0; n < DIFF_SLICES; n++) {
		vec_release(&s->slice_self[n]);
		free(s->slice_total[n]);
	}
}

int diff_read(struct diff *d, const struct diff_of sides[2], enum diff_scale scale)
{
	struct comparing c = {.diff = d};
	int error = tree_new(&c.all);

	d->scale = scale;
	error = error ?: tree_new(&d->view.tree);
	for (size_t side = 0; !error && side < 2; side++)
		error = read_side(&c, &c.sides[side], sides[side].path, sides[side].options);
	error = error ?: compare_all(&c);
	if (!error)
		take_facts(&c, sides[0].options == sides[1].options);
	error = error ?: add_facts(&c);
	error = error ?: make_title(d, sides);
	release_side(&c.sides[0]);
	release_side(&c.sides[1]);
	vec_release(&c.function_of);
	interner_free(c.names);
	tree_free(c.all);
	return error;
}
