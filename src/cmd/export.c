// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/view_args.h"

static const struct option_usage usage = {
	.command = "export",
	.operands = "FILE",
	.synopsis = "[--to FORMAT] [options] [FILE]",
	.summary = "Writes a recording in another format. FILE is profile.xpu unless given.\n"
		   "Without --to the suffix of the output decides: .folded, .events\n"
		   "(extended-folded), .json (chrome), .svg.",
};

static int parse_format(void *target, const char *value)
{
	const struct exporter **format = target;

	*format = exporter_by_name(value);
	if (*format)
		return 0;
	return error_set(-1, "takes folded, extended-folded, chrome or svg, not '%s'", value);
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
	if (!(e->heeds & EXPORT_HEEDS_UNIT) && o->exact_ns)
		return options_wrong(&usage, "--unit means nothing to %s", e->name);
	return EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	const struct exporter *format = NULL;
	const char *output = NULL, *path;
	struct export_result result;
	const struct option_spec specs[] = {
		OPTION_WORD(0, "to", "FORMAT", "folded extended-folded chrome svg", parse_format,
			&format, "folded, extended-folded, chrome or svg"),
		OPTION_STRING('o', "output", "FILE", &output,
			"write to FILE (default, and '-': standard output)"),
		VIEW_ARGS(&options),
		OPTION_WORD(0, "unit", "UNIT", "us ns", parse_unit, &options.exact_ns,
			"times of folded stacks in us (default) or ns"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	path = view_arg_file(&usage, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	if (!format && output)
		format = exporter_by_suffix(output);
	if (output && (!format || !strcmp(format->name, "svg")) &&
		view_check_picture(&usage, output))
		return EXIT_USAGE;
	if (!format)
		return options_wrong(
			&usage, "say which format with --to: folded, extended-folded, chrome, svg");
	if (check_options(format, &options) || view_args_check(&usage, &options.view))
		return EXIT_USAGE;
	if (view_export(format, path, output ? output : "-", &options, &result))
		return cmd_failed();
	view_warn(format, path, &result);
	return result.not_written ? EXIT_FAILED : EXIT_OK;
}
