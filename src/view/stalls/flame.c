// SPDX-License-Identifier: MIT
/*
 * Works of kernels become launches with rows (stalls.h), all other works and launches without work
 * are summed as in flame.c. Rows are sorted by launch and instruction, so the path to an
 * instruction is walked once for all its reasons.
 */
#include "view/stalls/flame.h"

#include <errno.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "view/fold/event_nodes.h"
#include "view/fold/gpu_bursts.h"
#include "view/fold/missing.h"
#include "view/fold/slice_sums.h"
#include "view/stalls/kept.h"
#include "view/stalls/lost.h"
#include "view/stalls/stall_tree.h"

struct stall_flame {
	const struct profile_reader *reader;
	const struct profile_clip *clip; /* the part that is shown; NULL: all */
	const struct view_options *options;
	struct view_result *result;
	struct stalls stalls;
	struct gather others;
	struct missing missing;
	struct gpu_bursts bursts;
	struct event_nodes nodes;
	struct stall_tree rows;
	struct stalls_division samples; /* with samples as weight: whole ones, over all rows */
	struct vec(uint64_t) widths;	/* of the rows of a launch */
	uint64_t shown_samples, shown_kernel_ns, shown_unsampled_ns;
};

static bool is_kernel(const struct stall_flame *f, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(f->reader, w->op);

	return op && op->kind == OP_KERNEL;
}

static int gather_other(struct stall_flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	missing_count_work(&f->missing, &key, !e->work.cut.continued);
	return gather_add(&f->others, &key, profile_work_ns(&e->work));
}

static int gather_pending(struct stall_flame *f, const struct profile_event *e)
{
	struct gather_key key = event_key(e, f->options);

	return missing_count_pendings(&f->missing, e->pending.reason, 1)
		       ? gather_add(&f->others, &key, 0)
		       : 0;
}

/* What is shown as it is, without samples. */
static int gather_piece(struct stall_flame *f, const struct profile_event *e)
{
	if (e->kind == EVENT_PENDING)
		return gather_pending(f, e);
	if (e->kind != EVENT_WORK)
		return 0;
	if (gpu_bursts_add(&f->bursts, f->reader, &e->work))
		return -ENOMEM;
	return is_kernel(f, &e->work) ? 0 : gather_other(f, e);
}

static int gather_pieces(struct stall_flame *f, const struct profile_event *e)
{
	struct profile_event piece;
	size_t span = 0;
	int error = 0;

	if (!f->clip)
		return gather_piece(f, e);
	if (!clip_selects(f->clip, f->reader, e))
		return 0;
	while (!error && clip_next_piece(f->clip, e, &span, &piece))
		error = gather_piece(f, &piece);
	return error;
}

static int gather_event(struct stall_flame *f, const struct profile_event *e)
{
	return gather_pieces(f, e) ?: stalls_event(&f->stalls, e);
}

static int add_others(struct stall_flame *f)
{
	const struct gather_sum *sum;
	size_t n = 0;
	int error = 0;

	while (!error && (sum = gather_next(&f->others, &n))) {
		uint32_t node = 0;

		error = event_nodes_add(&f->nodes, &sum->key, &node);
		if (!error && f->options->weight == VIEW_WEIGHT_TIME)
			error = tree_add_time(f->result->tree, node, sum->time_ns);
	}
	return error;
}

static int add_note(struct stall_flame *f, uint32_t node, const char *note, uint64_t time_ns)
{
	uint32_t frame = 0;
	int error;

	if (!time_ns)
		return 0;
	error = tree_add_frame(f->result->tree, TREE_NOTE, 0, note, strlen(note), &frame);
	error = error ?: tree_add_child(f->result->tree, node, frame, &node);
	return error ?: tree_add_time(f->result->tree, node, time_ns);
}

/* How wide a row is. */
static uint64_t width_of(struct stall_flame *f, const struct stalls_row *row)
{
	if (f->options->weight == VIEW_WEIGHT_SAMPLES)
		return stalls_part(&f->samples, f->options->latency ? row->latency : row->samples);
	if (!f->options->latency || row->latency >= row->samples)
		return row->time_ns;
	return (uint64_t)((unsigned __int128)row->time_ns * row->latency / row->samples);
}

/* Fills `widths` with how wide each row is, and behind it what else there is of the launch's time;
 * then with what is shown of that. */
static int measure_rows(struct stall_flame *f, const struct stalls_launch *l)
{
	const struct stalls_row *rows = l->row_count ? &f->stalls.rows.items[l->first_row] : NULL;
	bool is_time = f->options->weight == VIEW_WEIGHT_TIME;

	f->widths.count = 0;
	if (vec_reserve(&f->widths, l->row_count + 1))
		return error_memory("the instruction samples");
	f->widths.items[l->row_count] = is_time && l->row_count ? l->time_ns : 0;
	for (size_t i = 0; i < l->row_count; i++) {
		uint64_t width = width_of(f, &rows[i]);

		f->widths.items[i] = is_time ? width : stalls_share(&f->stalls, l, width);
		f->widths.items[l->row_count] -= is_time ? width : 0;
		f->shown_samples += stalls_share(&f->stalls, l, rows[i].samples);
	}
	return is_time ? stalls_divide_edges(&f->stalls, l, f->widths.items, l->row_count + 1) : 0;
}

static int add_rows(struct stall_flame *f, const struct stalls_launch *l, uint32_t kernel)
{
	const struct stalls_row *rows = l->row_count ? &f->stalls.rows.items[l->first_row] : NULL;
	int error = 0;

	for (size_t i = 0; !error && i < l->row_count; i++)
		if (f->widths.items[i])
			error = stall_tree_add(&f->rows, kernel, &rows[i], f->widths.items[i]);
	return error ?: add_note(f, kernel, "[issuing cycles]", f->widths.items[l->row_count]);
}

static int add_launch(struct stall_flame *f, const struct stalls_launch *l)
{
	uint64_t works = f->clip ? l->works_inside : l->works;
	uint64_t time_ns = stalls_inside(&f->stalls, l);
	uint32_t kernel = 0;
	int error = measure_rows(f, l);

	if (error || (f->clip && !works && !time_ns))
		return error;
	missing_count_work(&f->missing, &l->key, works);
	f->shown_kernel_ns += time_ns;
	f->shown_unsampled_ns += l->row_count ? 0 : time_ns;
	error = event_nodes_add(&f->nodes, &l->key, &kernel);
	error = error ?: add_rows(f, l, kernel);
	if (!error && !l->row_count && f->options->weight == VIEW_WEIGHT_TIME)
		error = add_note(f, kernel, "[not sampled]", time_ns);
	return error;
}

static int add_launches(struct stall_flame *f)
{
	int error = 0;

	vec_foreach (l, &f->stalls.launches)
		error = error ?: add_launch(f, l);
	return error;
}

/* The rows' samples are parts that add up to whole ones. */
static void begin_samples(struct stall_flame *f)
{
	vec_foreach (row, &f->stalls.rows)
		f->samples.sum += f->options->latency ? row->latency : row->samples;
	f->samples.total = f->samples.sum / STALLS_SAMPLE;
	f->samples.sum += !f->samples.sum;
}

static int build_tree(struct stall_flame *f)
{
	struct tree *t = f->result->tree;
	int error = event_nodes_init(&f->nodes, f->reader, f->options, t);

	error = error ?: stall_tree_init(&f->rows, &f->stalls, t, f->options);
	begin_samples(f);
	error = error ?: add_others(f);
	error = error ?: add_launches(f);
	stall_tree_release(&f->rows);
	event_nodes_release(&f->nodes);
	return error;
}

static int add_facts(struct stall_flame *f)
{
	const struct stalls_counts *c = &f->stalls.counts;
	struct view_result *v = f->result;
	uint64_t samples = f->clip ? f->shown_samples / STALLS_SAMPLE : c->samples;
	char digits[DIGITS_SIZE];
	int error = view_fact(v, "instruction samples", "%s", digits_group(digits, samples));

	if (f->clip)
		return error
			       ?: view_share(v, "not sampled", f->shown_unsampled_ns,
					  f->shown_kernel_ns);
	if (!error && f->options->latency)
		error = view_share(v, "latency", c->latency, c->samples);
	error = error ?: view_share(v, "issuing", c->issuing, c->samples);
	error = error ?: view_share(v, "apportioned", c->apportioned, c->samples);
	return error ?: view_share(v, "not sampled", c->unsampled_ns, c->kernel_ns);
}

/* One for each line. */
static int add_refusals(struct view_result *v, const char *what, const char *lines)
{
	int error = 0;

	while (!error && *lines) {
		int size = (int)strcspn(lines, "\n");

		error = view_remark(v, "%s sampled: %.*s", what, size, lines);
		lines += size + (lines[size] == '\n');
	}
	return error;
}

static int add_lost(void *to, const char *sentence)
{
	return view_remark(to, "%s", sentence);
}

/* Why there are none, or not all. */
static int describe_sampling(
	const struct profile_reader *r, const struct stalls_counts *c, struct view_result *v)
{
	const char *refused = profile_meta(r, META_STALLS_REFUSED);
	int error = 0;

	if (!c->samples) {
		v->lacking = "samples of instructions";
		v->help = refused || profile_meta(r, META_STALLS)
				  ? "'xpuprof report --stalls' says why"
				  : "'xpuprof record --stalls' records them";
	}
	if (refused)
		error = add_refusals(v,
			c->windows ? "not all instructions were" : "instructions were not",
			refused);
	else if (!c->windows && !profile_meta(r, META_STALLS))
		error = view_remark(
			v, "instructions were not sampled: see xpuprof record --stalls");
	return error ?: stalls_each_lost(r, add_lost, v);
}

int stall_flame_describe_none(const struct profile_reader *r, struct view_result *v)
{
	const struct stalls_counts none = {0};

	return view_fact(v, "instruction samples", "0") ?: describe_sampling(r, &none, v);
}

static int add_remarks(struct stall_flame *f)
{
	const struct stalls_counts *c = &f->stalls.counts;
	const struct {
		uint64_t count;
		const char *text;
	} remarks[] = {
		{c->without_kernel, "instruction samples of code of which no kernel was recorded"},
		{c->without_code, "instruction samples in code that the driver does not identify"},
		{c->elsewhere, "instruction samples reported when no launch of their kernel ran: "
			       "given to the ones next in time"},
	};
	char digits[DIGITS_SIZE];
	int error = describe_sampling(f->reader, c, f->result);

	if (!error && c->windows_joined > 1)
		error = view_remark(f->result,
			"samples of %llu stretches of time that follow one another were shared out "
			"together, to save memory",
			(unsigned long long)c->windows_joined);
	for (size_t i = 0; !error && i < sizeof(remarks) / sizeof(remarks[0]); i++)
		if (remarks[i].count)
			error = view_remark(f->result, "%s %s",
				digits_group(digits, remarks[i].count), remarks[i].text);
	error = error ?: gpu_bursts_describe(&f->bursts, f->reader, f->result);
	return error ?: missing_remarks(&f->missing, f->reader, f->result);
}

/* ------------------------------------------------------------------ of what is kept */

/* What of launches is in the part that is shown (`edge` 1), or before it (0). */
static int add_part_of_launch(struct stall_flame *f, const struct gather_key *whole, size_t edge,
	uint64_t time_ns, uint64_t works)
{
	uint32_t launch = 0;
	int error =
		f->clip ? stalls_kept_launch(f->options->stalls, whole, f->options, &launch) : 0;

	if (error || !f->clip)
		return error;
	f->stalls.launches.items[launch].works_inside += edge ? works : 0;
	return edges_add(&f->stalls.edges, launch, edge, time_ns);
}

static bool is_of_kernel(const struct stall_flame *f, const struct gather_key *key)
{
	const struct profile_op *op =
		key->event == EVENT_WORK ? profile_op(f->reader, key->op) : NULL;

	return op && op->kind == OP_KERNEL;
}

static int add_sum_inside(void *flame, const struct gather_sum *sum)
{
	struct stall_flame *f = flame;
	struct gather_key key = event_key_for(&sum->key, f->options);

	if (is_of_kernel(f, &sum->key))
		return add_part_of_launch(f, &sum->key, 1, sum->time_ns, sum->count);
	if (key.event == EVENT_WORK)
		missing_count_work(&f->missing, &key, sum->count);
	else if (key.event != EVENT_PENDING ||
		 !missing_count_pendings(&f->missing, sum->key.reason, sum->count))
		return 0;
	return gather_add_sum(&f->others, &key, sum->time_ns, sum->count ?: 1);
}

static int add_sum_before(void *flame, const struct gather_sum *sum)
{
	struct stall_flame *f = flame;

	return is_of_kernel(f, &sum->key)
		       ? add_part_of_launch(f, &sum->key, 0, sum->time_ns, sum->count)
		       : 0;
}

/* What no slice has. */
static int add_rest(struct stall_flame *f, const struct profile_event *e, size_t edge)
{
	struct gather_key whole = event_whole_key(e);

	if (e->kind == EVENT_WORK && is_kernel(f, &e->work))
		return add_part_of_launch(
			f, &whole, edge, profile_work_ns(&e->work), !e->work.cut.continued);
	return edge ? gather_piece(f, e) : 0;
}

static int read_part(struct stall_flame *f, struct profile_reader *r, size_t edge)
{
	struct profile_event event;
	struct slice_part part;
	int more, error = 0;

	slice_part_begin(&part, f->options->sums, r);
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : add_rest(f, &event, edge);
	return error ?: slice_part_each(&part, edge ? add_sum_inside : add_sum_before, f);
}

static int read_before(struct stall_flame *f, const struct profile_reader *done)
{
	const struct profile_span before = {0, f->clip->spans[0].from_ns};
	struct profile_clip clip = *f->clip;
	struct profile_reader *r;
	int error = before.to_ns ? profile_reader_open_again(&r, done) : 0;

	if (error || !before.to_ns)
		return error;
	clip.spans = &before;
	profile_reader_clip(r, &clip);
	error = read_part(f, r, 0);
	profile_reader_close(r);
	return error;
}

static bool is_kept(const struct view_options *o, const struct profile_clip *clip)
{
	return o->sums && o->stalls && o->range.known && (!clip || clip->span_count == 1);
}

/* Instead of all events. */
static int read_kept(struct stall_flame *f, struct profile_reader *r)
{
	int error = stalls_kept_read(f->options->stalls, f->options);

	if (error)
		return error;
	f->stalls = f->options->stalls->stalls;
	f->stalls.reader = r;
	vec_foreach (l, &f->stalls.launches)
		l->works_inside = 0;
	error = edges_init(&f->stalls.edges, f->clip);
	error = error ?: read_part(f, r, 1);
	return error || !f->clip ? error : read_before(f, f->options->range.known->done);
}

static int read_events(struct stall_flame *f, struct profile_reader *r)
{
	struct profile_event event;
	int more, error = stalls_init(&f->stalls, r, f->options, f->clip);

	profile_reader_clip(r, NULL); /* samples are divided among all launches */
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : gather_event(f, &event);
	return error ?: stalls_finish(&f->stalls);
}

/* What is kept stays. */
static void release_stalls(struct stall_flame *f, bool kept)
{
	if (!kept) {
		stalls_release(&f->stalls);
		return;
	}
	edges_release(&f->stalls.edges);
	stalls_kept_trim(f->options->stalls);
}

int stall_flame_build(
	struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	struct stall_flame f = {
		.reader = r, .options = o, .result = ret, .clip = profile_reader_clip_of(r)};
	bool kept = is_kept(o, f.clip);
	int error = kept ? read_kept(&f, r) : read_events(&f, r);

	error = error ?: build_tree(&f);
	error = error ?: add_facts(&f);
	error = error ?: add_remarks(&f);
	if (o->weight == VIEW_WEIGHT_SAMPLES)
		ret->unit = VIEW_SAMPLES;
	release_stalls(&f, kept);
	gather_release(&f.others);
	gpu_bursts_release(&f.bursts);
	vec_release(&f.widths);
	return error;
}
