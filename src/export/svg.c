// SPDX-License-Identifier: MIT
/* The frame of the file; see svg.h for its parts. */
#include "export/svg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/printable.h"
#include "export/exporter.h"
#include "export/svg_assets.h"
#include "view/names/label.h"

#define SUBJECT "the flame graph"

static const struct {
	const char *class;
	const char *legend;
} looks[TREE_KINDS] = {
	[TREE_ROOT] = {"root", NULL},
	[TREE_PROCESS] = {"group", "process, thread, device, stream"},
	[TREE_THREAD] = {"group", "process, thread, device, stream"},
	[TREE_PYTHON] = {"python", "Python"},
	[TREE_CXX] = {"cxx", "C++, Rust"},
	[TREE_C] = {"c", "native"},
	[TREE_KERNEL] = {"kernel", "OS kernel"},
	[TREE_API] = {"api", "API call"},
	[TREE_DEVICE] = {"group", "process, thread, device, stream"},
	[TREE_STREAM] = {"group", "process, thread, device, stream"},
	[TREE_GPU_KERNEL] = {"gpu", "GPU kernel"},
	[TREE_GPU_COPY] = {"copy", "GPU copy"},
	[TREE_GPU_SET] = {"set", "GPU memset"},
	[TREE_GPU_PENDING] = {"note", "launch without work"},
	[TREE_GPU_SOURCE] = {"source", "GPU source"},
	[TREE_GPU_CODE] = {"code", "GPU instruction, stall"},
	[TREE_WAIT] = {"wait", "waiting"},
	[TREE_NOTE] = {"note", "note"},
	[TREE_DIFF_SAME] = {"same", "within the noise"},
	[TREE_DIFF_LITTLE_MORE] = {"more1", "a little more"},
	[TREE_DIFF_MORE] = {"more2", "more than 1.2 times"},
	[TREE_DIFF_MUCH_MORE] = {"more3", "more than twice"},
	[TREE_DIFF_AFTER] = {"more4", "only in the second"},
	[TREE_DIFF_LITTLE_LESS] = {"less1", "a little less"},
	[TREE_DIFF_LESS] = {"less2", "less than 1/1.2"},
	[TREE_DIFF_MUCH_LESS] = {"less3", "less than half"},
	[TREE_DIFF_BEFORE] = {"less4", "only in the first"},
	[TREE_LEFT_OUT] = {"note", NULL},
	[TREE_LEFT_OUT_GPU] = {"note", NULL},
};

const char *svg_kind_class(enum tree_kind kind)
{
	return looks[kind].class;
}

const char *svg_kind_legend(enum tree_kind kind)
{
	return looks[kind].legend;
}

const char *svg_label(const struct svg *s, uint32_t frame, size_t *ret_size)
{
	size_t begin = frame ? s->label_end[frame - 1] : 0;

	*ret_size = s->label_end[frame] - begin;
	return s->labels.data + begin;
}

void svg_put_time(struct buf *b, uint64_t time, enum view_unit unit)
{
	uint64_t ns = unit == VIEW_US ? time * 1000 : time;
	char digits[DIGITS_SIZE];

	if (unit == VIEW_COUNT || unit == VIEW_SAMPLES)
		buf_printf(b, "%s%s", digits_group(digits, time),
			unit == VIEW_COUNT ? ""
			: time == 1	   ? " sample"
					   : " samples");
	else if (ns >= 1000000000)
		buf_printf(b, "%llu.%03llu s", (unsigned long long)(ns / 1000000000),
			(unsigned long long)(ns / 1000000 % 1000));
	else if (ns >= 1000000)
		buf_printf(b, "%llu.%03llu ms", (unsigned long long)(ns / 1000000),
			(unsigned long long)(ns / 1000 % 1000));
	else if (ns >= 1000)
		buf_printf(b, "%llu.%03llu \xc2\xb5s", (unsigned long long)(ns / 1000),
			(unsigned long long)(ns % 1000));
	else
		buf_printf(b, "%llu ns", (unsigned long long)ns);
}

bool svg_fact(const struct svg *s, size_t n, const char **ret_name, struct buf *value)
{
	struct tree_time total = tree_total(s->tree);
	const char *one = s->view->time;
	bool plain = s->unit == VIEW_COUNT, only_gpu = !one && !(s->view->shows & VIEW_SHOWS_CPU);
	const struct {
		const char *name;
		uint64_t time;
		enum view_unit unit;
		bool shown;
	} facts[] = {
		{plain	      ? (total.gpu ? "CPU" : "total")
			: one ? one
			      : "CPU time",
			total.cpu, s->unit,
			!s->compared && (total.cpu || !(total.gpu || only_gpu))},
		{plain				  ? "GPU"
			: s->unit == VIEW_SAMPLES ? "shown"
			: one			  ? one
						  : "GPU time",
			total.gpu, s->unit, total.gpu || only_gpu},
		{"elapsed", s->view->elapsed_ns, VIEW_NS, s->view->elapsed_ns},
	};

	buf_reset(value);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].shown && !n--) {
			*ret_name = facts[i].name;
			svg_put_time(value, facts[i].time, facts[i].unit);
			return true;
		}
	if (n < s->view->facts.count) {
		*ret_name = s->view->facts.items[n].name;
		buf_puts(value, s->view->facts.items[n].value);
		return true;
	}
	*ret_name = "lost";
	buf_puts(value, "nothing");
	return n == s->view->facts.count && s->view->unit != VIEW_COUNT &&
	       !s->view->remarks.count && !s->view->incomplete;
}

bool svg_remark(const struct svg *s, size_t n, struct buf *text)
{
	const struct view_result *v = s->view;

	buf_reset(text);
	if (v->incomplete && !n--) {
		buf_printf(text, "the recording is not whole: it %s", v->incomplete);
		return true;
	}
	if (n < v->remarks.count) {
		buf_puts(text, v->remarks.items[n]);
		return true;
	}
	if (n != v->remarks.count || !s->left_out)
		return false;
	buf_printf(text, "%s%llu frames with less than ", s->view->left_out ? "more than " : "",
		(unsigned long long)s->left_out);
	svg_put_time(text, s->least, s->unit);
	buf_puts(text, " each left out of this picture");
	return true;
}

static int make_labels(struct svg *s)
{
	size_t count = tree_frame_count(s->tree);
	struct buf one = BUF_INIT;

	s->label_end = calloc(count, sizeof(*s->label_end));
	if (!s->label_end)
		return error_memory(SUBJECT);
	for (size_t i = 0; i < count; i++) {
		buf_reset(&one);
		tree_label(&tree_frames(s->tree)[i], &one);
		printable_put(&s->labels, buf_text(&one), one.size);
		s->label_end[i] = s->labels.size;
	}
	s->labels.failed |= one.failed;
	buf_release(&one);
	return s->labels.failed ? error_memory(SUBJECT) : 0;
}

/* Those that are few enough. Where the view has left out some already, it did not count all. */
static int leave_out(struct svg *s)
{
	struct tree_sizes sizes = {0};
	int error = 0;

	for (uint32_t i = 1; i < tree_node_count(s->tree); i++)
		if (!svg_is_left_out(s, i))
			tree_sizes_add(&sizes, svg_width(s, i));
	s->least = tree_sizes_least(&sizes, s->node_max);
	if (s->least > 1) {
		error = tree_leave_out(s->tree, s->least, &s->left_out);
		tree_totals_release(&s->totals);
		error = error ?: tree_totals_init(&s->totals, s->tree);
	}
	s->left_out += s->view->left_out;
	if (s->least < s->view->least)
		s->least = s->view->least;
	return error;
}

static int count_uses(struct svg *s)
{
	s->uses = calloc(tree_frame_count(s->tree), sizeof(*s->uses));
	if (!s->uses)
		return error_memory(SUBJECT);
	for (uint32_t i = 1; i < tree_node_count(s->tree); i++)
		s->uses[tree_nodes(s->tree)[i].frame] += svg_width(s, i) > 0;
	return 0;
}

/* Between a GPU kernel and its code, in folded text: colours show it here. */
static bool is_boundary(const struct tree_frame *f)
{
	return f->kind == TREE_NOTE && !strcmp(f->name, "-");
}

static const char *default_title(const struct view_result *v)
{
	return v->title && *v->title ? v->title : "Flame graph";
}

static int prepare(struct svg *s, const struct export_options *options)
{
	int error = tree_totals_init(&s->totals, s->tree);
	struct tree_time total = tree_total(s->tree);

	if (error)
		return error;
	if (total.cpu + total.gpu > SVG_TIME_MAX / (s->unit == VIEW_US ? 1000 : 1))
		return error_set(
			-EOVERFLOW, "the times add up to more than a picture can show exactly");
	s->title = strdup(options->title ? options->title : default_title(s->view));
	if (!s->title)
		return error_memory(SUBJECT);
	error = leave_out(s);
	error = error ?: count_uses(s);
	return error ?: make_labels(s);
}

static void write_asset(struct svg *s, const char *start, const char *end)
{
	output_write(s->output, start, (size_t)(end - start));
}

static void write_script(struct svg *s)
{
	output_puts(s->output, "<style><![CDATA[\n");
	write_asset(s, svg_app_style_start, svg_app_style_end);
	output_puts(s->output, "]]></style>\n<script><![CDATA[\n");
	write_asset(s, svg_script_start, svg_script_end);
	output_puts(s->output, "]]></script>\n</svg>\n");
}

static int write_svg(struct svg *s)
{
	int error = svg_write_static(s);

	error = error ?: svg_write_data(s);
	if (!error)
		write_script(s);
	return error;
}

static int read_view(
	const char *path, const struct export_options *options, struct view_result *ret)
{
	struct view_options viewed = options->view, against;
	struct diff diff = {0};
	int error;

	viewed.brief_waits = true;
	if (!options->against) {
		viewed.node_max = options->svg_node_max ?: SVG_NODE_MAX;
		return view_read(path, &viewed, ret);
	}
	against = viewed;
	if (options->against_range)
		against.range = *options->against_range;
	error = diff_read(&diff,
		(const struct diff_of[]){{path, &viewed},
			{options->against, options->against_range ? &against : &viewed}},
		options->diff_scale);
	if (!error) {
		*ret = diff.view;
		diff.view = (struct view_result){0};
	}
	diff_release(&diff);
	return error;
}

int export_svg(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct svg s = {.output = o,
		.node_max = options->svg_node_max,
		.inverted = options->inverted,
		.scripted = options->scripted,
		.compared = options->against};
	struct view_result view;
	int error = read_view(path, options, &view);

	if (error)
		return error;
	if (!s.node_max)
		s.node_max = SVG_NODE_MAX;
	s.view = &view;
	tree_dissolve(view.tree, is_boundary);
	s.tree = view.tree;
	s.unit = view.unit == VIEW_COUNT ? options->folded_unit : view.unit;
	error = prepare(&s, options);
	error = error ?: write_svg(&s);
	export_note_view(ret, &view);
	tree_totals_release(&s.totals);
	free(s.uses);
	free(s.title);
	free(s.label_end);
	buf_release(&s.labels);
	view_result_release(&view);
	return error;
}
