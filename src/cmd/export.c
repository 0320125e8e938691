// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/view_args.h"
#include "page/file.h"

/* The rows of the table of exporters. */
#define FORMATS                                                                                    \
	"folded, extended-folded, iaprof, chrome, pprof, speedscope, firefox, perfetto, "          \
	"perf-script, memheat, html"
#define FORMAT_WORDS                                                                               \
	"folded extended-folded iaprof chrome pprof speedscope firefox perfetto perf-script "      \
	"memheat "                                                                                 \
	"html svg"

static const struct option_usage usage = {
	.command = "export",
	.operands = "FILE",
	.synopsis = "[--to FORMAT] [options] [FILE]",
	.summary = "Writes a recording in another format. FILE is profile.xpu unless given.\n"
		   "Without --to the suffix of the output decides: .folded, .events\n"
		   "(extended-folded), .iaprof, .json (chrome), .pb.gz (pprof),\n"
		   ".speedscope.json, .firefox.json, .perfetto-trace,\n"
		   ".linux-perf.txt (perf-script), .memheat.svg, .html, .svg.",
};

struct target {
	const struct exporter *format;
	struct range_wanted *range;
};

/* The page is not among the exporters, which know no pages. */
static const struct exporter *format_by_name(const char *name)
{
	return strcmp(name, page_file_exporter.name) ? exporter_by_name(name) : &page_file_exporter;
}

static const struct exporter *format_by_suffix(const char *path)
{
	const char *suffix = page_file_exporter.suffix;
	size_t length = strlen(path), end = strlen(suffix);

	return length > end && !strcmp(path + length - end, suffix) ? &page_file_exporter
								    : exporter_by_suffix(path);
}

/* A format, or where the range ends: no format has a name that begins as a time does. */
static int parse_to(void *target, const char *value)
{
	struct target *to = target;

	if (*value == '+' || (*value >= '0' && *value <= '9'))
		return view_arg_to(to->range, value);
	to->format = format_by_name(value);
	if (to->format)
		return 0;
	return error_set(-1, "takes " FORMATS " or svg, or a time, not '%s'", value);
}

static int parse_unit(void *target, const char *value)
{
	bool *exact_ns = target;

	if (strcmp(value, "us") && strcmp(value, "ns"))
		return error_set(-1, "takes us or ns, not '%s'", value);
	*exact_ns = !strcmp(value, "ns");
	return 0;
}

/* An option that would do nothing is a wrong use: EXIT_USAGE after reporting it. */
static int check_options(const struct exporter *e, const struct export_options *o)
{
	const struct view_options *v = &o->view;

	if (!(e->heeds & EXPORT_HEEDS_TREE) && (v->weight || v->latency || v->reverse))
		return options_wrong(
			&usage, "--weight, --latency and --reverse mean nothing to %s", e->name);
	if (!(e->heeds & EXPORT_HEEDS_LAYOUT) && o->inverted)
		return options_wrong(&usage,
			"--inverted means nothing to %s: it is how a picture looks", e->name);
	if (!(e->heeds & EXPORT_HEEDS_FRAMES) && view_options_any(v))
		return options_wrong(&usage,
			"--by, --graph-stack, --cuda-frames, --native-python and --lines mean "
			"nothing to %s",
			e->name);
	if (e == &page_file_exporter && (range_is_wanted(&v->range) || v->by || v->view))
		return options_wrong(&usage, "--view, --by and ranges mean nothing to html: they "
					     "are chosen in the page");
	if (e != &page_file_exporter && o->limit_bytes)
		return options_wrong(&usage, "--limit means nothing to %s", e->name);
	if (!(e->heeds & EXPORT_HEEDS_UNIT) && o->exact_ns)
		return options_wrong(&usage, "--unit means nothing to %s", e->name);
	return EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct target to = {.range = &options.view.range};
	const struct exporter *format;
	const char *output = NULL, *path;
	struct export_result result;
	unsigned long limit_mb = 0;
	const struct option_spec specs[] = {
		OPTION_WORD(0, "to", "FORMAT", FORMAT_WORDS, parse_to, &to,
			FORMATS " or svg; or a time (see --from): the end of what is written"),
		OPTION_STRING('o', "output", "FILE", &output,
			"write to FILE (default, and '-': standard output)"),
		VIEW_ARGS(&options),
		OPTION_WORD(0, "unit", "UNIT", "us ns", parse_unit, &options.exact_ns,
			"times of folded stacks in us (default) or ns"),
		OPTION_NUMBER(0, "limit", "MB", &limit_mb, 1, 2000,
			"html: how large the file may be (50); what does not fit gets coarser"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	path = view_arg_file(&usage, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	options.limit_bytes = limit_mb * 1000000;
	format = to.format;
	if (!format && output)
		format = format_by_suffix(output);
	if (output && (!format || !strcmp(format->name, "svg")) &&
		view_check_picture(&usage, output))
		return EXIT_USAGE;
	if (!format)
		return options_wrong(&usage, "say which format with --to: " FORMATS ", svg");
	if (check_options(format, &options) || view_args_check(&usage, &options.view))
		return EXIT_USAGE;
	if (view_export(format, path, output ? output : "-", &options, &result))
		return cmd_failed();
	view_warn(format, path, &result);
	return result.not_written ? EXIT_FAILED : EXIT_OK;
}
