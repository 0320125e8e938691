// SPDX-License-Identifier: MIT
/*
 * Samples of GPU instructions as iaprof writes them, for proviz: lines of fields with tabs between
 * them, by intervals of time (docs/formats.md).
 *
 * Each sample is in the interval in which its window ends, on the launch that the view of stalls
 * gives it. Parts of samples become whole ones in the order in which they are written.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "export/exporter.h"
#include "export/folded_frame.h"
#include "export/text.h"
#include "profile/clip.h"
#include "view/fold/event_nodes.h"
#include "view/stalls/gpu_stacks.h"
#include "view/stalls/stalls.h"

#define SUBJECT "the samples of instructions"

#define INTERVAL_NS 10000000u /* iaprof's */
#define NS	    1000000000u

/* What readers know by number. The first string is what they know the format by. */
#define NOT_KNOWN    0u
#define NO_FILE	     1u
#define NO_FILE_TEXT "[unknown file]"

/* The columns: iaprof's reasons. What has no column is in `other`. */
static const char *const columns[] = {"active", "control", "pipestall", "send", "dist_acc", "sbid",
	"sync", "inst_fetch", "other", "tdr"};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define ACTIVE	0u
#define OTHER	8u

struct part {
	uint64_t interval;
	uint32_t launch;
	uint32_t place; /* node of the innermost function */
	uint32_t instruction, reason;
	uint32_t offset;
	uint64_t samples; /* in parts */
};

struct iaprof {
	struct output *output;
	const struct profile_reader *reader;
	const struct profile_clip *clip;
	struct view_options options;
	struct stalls stalls;
	struct vec(struct part) parts;
	struct tree *tree;
	struct event_nodes nodes;
	struct gpu_stacks gpu;
	struct interner *strings; /* that were written; their numbers are those of the file */
	struct vec(uint32_t) path;
	struct buf text;
	struct stalls_division samples; /* whole ones */
	bool simulated;
};

/* ------------------------------------------------------------------ what there is */

static int keep_part(void *arg, const struct stalls_row *row, uint32_t window)
{
	struct iaprof *x = arg;
	const struct profile_window *w = profile_window(x->reader, window);
	struct part part = {.interval = w->end_ns / INTERVAL_NS,
		.launch = row->launch,
		.instruction = row->instruction,
		.reason = row->reason,
		.samples = row->samples};

	if (!clip_has_time(x->clip, w->end_ns))
		return 0;
	return vec_push(&x->parts, part) ? error_memory(SUBJECT) : 0;
}

static int read_samples(struct iaprof *x, struct profile_reader *r)
{
	struct profile_event event;
	int more, error = stalls_init(&x->stalls, r, &x->options, x->clip);

	x->stalls.each = keep_part;
	x->stalls.each_arg = x;
	profile_reader_clip(r, NULL); /* samples are divided among all launches */
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : stalls_event(&x->stalls, &event);
	return error ?: stalls_finish(&x->stalls);
}

static bool is_shown(const struct iaprof *x, const struct part *p)
{
	const struct stalls_launch *l = &x->stalls.launches.items[p->launch];

	return !x->clip || l->works_inside || stalls_inside(&x->stalls, l);
}

static int by_launch(const void *a_, const void *b_)
{
	const struct part *a = a_, *b = b_;

	if (a->launch != b->launch)
		return a->launch < b->launch ? -1 : 1;
	return a->instruction < b->instruction ? -1 : a->instruction > b->instruction;
}

static int by_line(const void *a_, const void *b_)
{
	const struct part *a = a_, *b = b_;

	if (a->interval != b->interval)
		return a->interval < b->interval ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->instruction != b->instruction)
		return a->instruction < b->instruction ? -1 : 1;
	return a->reason < b->reason ? -1 : a->reason > b->reason;
}

static const struct tree_frame *frame_of(const struct iaprof *x, uint32_t node)
{
	return &tree_frames(x->tree)[tree_nodes(x->tree)[node].frame];
}

/* The node of the function that an instruction is in. */
static int find_place(struct iaprof *x, uint32_t kernel, struct part *p)
{
	const struct profile_instruction *i = profile_instruction(x->reader, p->instruction);
	uint32_t node = 0;
	int error = gpu_stacks_add(&x->gpu, kernel, p->instruction, &node);

	if (error)
		return error;
	p->place =
		frame_of(x, node)->kind == TREE_GPU_CODE ? tree_nodes(x->tree)[node].parent : node;
	p->offset = i ? i->offset : 0;
	return 0;
}

/* Those that are shown, with their places, in the order of the file. */
static int place_parts(struct iaprof *x)
{
	const struct part *last = NULL;
	size_t shown = 0;
	int error = 0;

	if (x->parts.count)
		qsort(x->parts.items, x->parts.count, sizeof(struct part), by_launch);
	for (size_t n = 0; !error && n < x->parts.count; n++) {
		struct part p = x->parts.items[n];
		uint32_t kernel = 0;

		if (!is_shown(x, &p))
			continue;
		if (last && !by_launch(last, &p)) {
			p.place = last->place;
			p.offset = last->offset;
		} else {
			error = event_nodes_add(
				&x->nodes, &x->stalls.launches.items[p.launch].key, &kernel);
			error = error ?: find_place(x, kernel, &p);
		}
		x->parts.items[shown] = p;
		last = &x->parts.items[shown++];
		x->samples.sum += p.samples;
	}
	x->parts.count = shown;
	x->samples.total = x->samples.sum / STALLS_SAMPLE;
	x->samples.sum += !x->samples.sum;
	if (shown)
		qsort(x->parts.items, shown, sizeof(struct part), by_line);
	return error;
}

/* ------------------------------------------------------------------ the file */

/* The number of the text, which is written where it is new; it ends no field. */
static int string_id(struct iaprof *x, uint32_t *ret)
{
	int added = 0;

	for (size_t n = 0; n < x->text.size; n++)
		if (x->text.data[n] == '\t' || x->text.data[n] == '\n')
			x->text.data[n] = ' ';
	*ret = NOT_KNOWN;
	if (x->text.failed ||
		(x->text.size && interner_add(x->strings, x->text.data, x->text.size, ret, &added)))
		return error_memory(SUBJECT);
	if (added) {
		output_printf(x->output, "string\t%u\t", *ret);
		output_write(x->output, x->text.data, x->text.size);
		output_putc(x->output, '\n');
	}
	return 0;
}

/* The frames of the path from `at` on that are of the kind or, without `gpu`, of code on the CPU;
 * behind `at` then. */
static void put_frames(struct iaprof *x, size_t *at, size_t end, bool gpu)
{
	buf_reset(&x->text);
	for (; *at < end; ++*at) {
		const struct tree_frame *f = frame_of(x, x->path.items[*at]);

		if (!gpu && f->kind == TREE_GPU_KERNEL)
			break;
		if (f->kind == TREE_DEVICE)
			continue;
		if (x->text.size)
			buf_putc(&x->text, ';');
		/* Readers put the last mark. */
		if (gpu && *at + 1 == end)
			text_folded(&x->text, f->name, f->size);
		else
			folded_frame(&x->text, f, FOLDED_NO_DEVICE);
	}
}

/* From the root to the place. */
static int make_path(struct iaprof *x, uint32_t node)
{
	const struct tree_node *nodes = tree_nodes(x->tree);

	x->path.count = 0;
	for (; node != TREE_ROOT_NODE; node = nodes[node].parent)
		if (vec_push(&x->path, node))
			return error_memory(SUBJECT);
	for (size_t n = 0; n < x->path.count / 2; n++) {
		uint32_t other = x->path.items[x->path.count - 1 - n];

		x->path.items[x->path.count - 1 - n] = x->path.items[n];
		x->path.items[n] = other;
	}
	return 0;
}

static int put_process(struct iaprof *x, size_t *at, uint32_t *ret_name, uint32_t *ret_pid)
{
	const struct tree_frame *f = x->path.count ? frame_of(x, x->path.items[0]) : NULL;

	buf_reset(&x->text);
	if (x->simulated)
		buf_puts(&x->text, FOLDED_SIMULATED ";");
	if (f && f->kind == TREE_PROCESS) {
		text_folded_word(&x->text, f->name, f->size);
		*ret_pid = f->number;
		++*at;
	} else {
		buf_puts(&x->text, "(no name)");
	}
	return string_id(x, ret_name);
}

/* Behind the kernel and the "-": directory, file and functions. All but the innermost one are the
 * field that iaprof has for the file. */
static int put_source(struct iaprof *x, size_t at, uint32_t *ret_file, uint32_t *ret_symbol)
{
	size_t last = x->path.count ? x->path.count - 1 : 0, end = x->path.count;
	int error;

	at = at + 2 < end ? at + 2 : end;
	if (at < last)
		put_frames(x, &at, last, true);
	else
		buf_reset(&x->text);
	if (!x->text.size)
		buf_puts(&x->text, NO_FILE_TEXT);
	error = string_id(x, ret_file);
	put_frames(x, &at, end, true);
	return error ?: string_id(x, ret_symbol);
}

static int put_kernel(struct iaprof *x, uint32_t place)
{
	uint32_t name = 0, pid = 0, stack = 0, file = 0, symbol = 0;
	size_t at = 0;
	int error = make_path(x, place);

	error = error ?: put_process(x, &at, &name, &pid);
	put_frames(x, &at, x->path.count, false);
	error = error ?: string_id(x, &stack);
	error = error ?: put_source(x, at, &file, &symbol);
	output_printf(
		x->output, "kernel\t0x0\t%u\t%u\t%u\t%u\t%u\n", name, pid, stack, file, symbol);
	return error;
}

/* COLUMNS: none. */
static size_t column_of(const struct stalls_reason *reason)
{
	for (size_t n = 0; n < COLUMNS; n++)
		if (!strcmp(columns[n], reason->name))
			return n;
	return stall_is_issuing(&reason->vendor) ? ACTIVE : COLUMNS;
}

/* Of an instruction, with a reason that has no column. */
static int put_counts(
	struct iaprof *x, const struct part *p, const char *reason, const uint64_t counts[COLUMNS])
{
	const struct profile_instruction *i = profile_instruction(x->reader, p->instruction);
	size_t size = 0;
	const char *mnemonic =
		gpu_mnemonic(profile_string(x->reader, i ? i->text : 0, NULL), &size);
	uint32_t id = 0;
	int error;

	buf_reset(&x->text);
	if (size)
		text_folded(&x->text, mnemonic, size);
	if (size && reason)
		buf_putc(&x->text, ' ');
	if (reason)
		text_folded(&x->text, reason, strlen(reason));
	error = string_id(x, &id);
	output_printf(x->output, "eustall\t0x%x\t%u", p->offset, id);
	for (size_t n = 0; n < COLUMNS; n++)
		output_printf(x->output, "\t%llu", (unsigned long long)counts[n]);
	output_putc(x->output, '\n');
	return error;
}

/* All parts of one instruction, from `p` on. */
static int put_instruction(struct iaprof *x, const struct part *p, size_t count)
{
	uint64_t counts[COLUMNS] = {0}, any = 0;
	int error = 0;

	for (size_t n = 0; !error && n < count; n++) {
		const struct stalls_reason *reason = &x->stalls.reasons.items[p[n].reason];
		uint64_t other[COLUMNS] = {0}, samples = stalls_part(&x->samples, p[n].samples);
		size_t column = column_of(reason);

		if (column < COLUMNS) {
			counts[column] += samples;
			any += samples;
		} else if (samples) {
			other[OTHER] = samples;
			error = put_counts(x, p, reason->name, other);
		}
	}
	return error || !any ? error : put_counts(x, p, NULL, counts);
}

static void put_interval(struct iaprof *x, const struct part *p)
{
	uint64_t start_ns = p->interval * INTERVAL_NS;

	output_printf(x->output, "interval\t%llu\t%llu.%06llu\n",
		(unsigned long long)(p->interval - x->parts.items[0].interval),
		(unsigned long long)(start_ns / NS), (unsigned long long)(start_ns % NS / 1000));
}

static int write_parts(struct iaprof *x)
{
	const struct part *all = x->parts.items;
	int error = 0;

	buf_reset(&x->text);
	buf_puts(&x->text, NO_FILE_TEXT);
	error = string_id(x, &(uint32_t){NO_FILE});
	for (size_t n = 0, same; !error && n < x->parts.count; n += same) {
		bool begins = !n || all[n].interval != all[n - 1].interval;

		if (begins)
			put_interval(x, &all[n]);
		if (begins || all[n].place != all[n - 1].place)
			error = put_kernel(x, all[n].place);
		for (same = 1; n + same < x->parts.count &&
			       all[n + same].interval == all[n].interval &&
			       all[n + same].place == all[n].place &&
			       all[n + same].instruction == all[n].instruction;)
			same++;
		error = error ?: put_instruction(x, &all[n], same);
		error = error ?: output_error(x->output);
	}
	return error;
}

static int write_all(struct iaprof *x)
{
	int error = tree_new(&x->tree);

	error = error ?: event_nodes_init(&x->nodes, x->reader, &x->options, x->tree);
	error = error ?: gpu_stacks_init(&x->gpu, x->reader, x->tree, x->options.lines);
	if (!error && interner_new(&x->strings))
		error = error_memory(SUBJECT);
	error = error ?: place_parts(x);
	return error ?: write_parts(x);
}

static void release(struct iaprof *x)
{
	stalls_release(&x->stalls);
	gpu_stacks_release(&x->gpu);
	event_nodes_release(&x->nodes);
	tree_free(x->tree);
	interner_free(x->strings);
	vec_release(&x->parts);
	vec_release(&x->path);
	buf_release(&x->text);
}

int export_iaprof(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct iaprof x = {.output = o, .options = options->view};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	x.options.by |= VIEW_BY_PROCESS;
	x.reader = input.reader;
	x.clip = profile_reader_clip_of(input.reader);
	error = read_samples(&x, input.reader);
	export_note_input(ret, &input);
	x.simulated = view_is_simulated(input.reader);
	error = error ?: write_all(&x);
	ret->empty = !x.parts.count;
	if (!x.stalls.counts.samples) {
		ret->lacking = "samples of instructions";
		ret->help = "'xpuprof record --stalls' records them";
	}
	release(&x);
	export_close(&input);
	return error;
}
