// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/view_args.h"

static const struct option_usage usage = {
	.command = "flame",
	.operands = "FILE",
	.synopsis = "[options] [FILE]\n       xpuprof flame --diff [options] FIRST SECOND",
	.summary = "Draws a recording, or folded stacks, as an interactive flame graph. FILE is\n"
		   "profile.xpu unless given; '-' reads folded stacks from standard input.",
};

static int parse_unit(void *target, const char *value)
{
	static const char *const names[] = {
		[VIEW_NS] = "ns", [VIEW_US] = "us", [VIEW_COUNT] = "count"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], value)) {
			*(enum view_unit *)target = (enum view_unit)i;
			return 0;
		}
	return error_set(-1, "takes us, ns or count, not '%s'", value);
}

/* "dir/train.xpu" becomes "train.svg", here. */
static char *default_output(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	char *name;

	if (!strcmp(path, "-"))
		base = dot = "flame";
	if (asprintf(&name, "%.*s.svg", dot && dot > base ? (int)(dot - base) : (int)strlen(base),
		    base) < 0)
		return NULL;
	return name;
}

static int draw(const char *path, const char *output, const struct export_options *options)
{
	char *chosen = output ? NULL : default_output(path);
	const char *target = output ? output : chosen;
	const struct exporter *svg = exporter_by_name("svg");
	struct export_result result;
	int status = EXIT_OK;

	if (!target) {
		cmd_error("not enough memory");
		return EXIT_FAILED;
	}
	if (view_export(svg, path, target, options, &result)) {
		status = cmd_failed();
	} else {
		view_warn(svg, path, &result);
		status = result.not_written ? EXIT_FAILED : EXIT_OK;
		if (chosen && !result.not_written)
			cmd_say("wrote %s", chosen);
	}
	free(chosen);
	return status;
}

/* A name that another command, or another program, would take for something else. */
static int check_output(const char *output)
{
	const struct exporter *e = exporter_by_suffix(output);
	const char *dot = strrchr(output, '.');

	if (e && strcmp(e->name, "svg") != 0)
		return options_wrong(&usage,
			"flame draws SVG: 'xpuprof export -o %s' writes the other form", output);
	if (dot && !strcmp(dot, ".xpu"))
		return options_wrong(
			&usage, "flame draws SVG, and '%s' would be taken for a recording", output);
	return view_check_picture(&usage, output);
}

int cmd_flame(int argc, char **argv)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	const char *output = NULL, *path;
	bool diff = false;
	const struct option_spec specs[] = {
		OPTION_STRING('o', "output", "FILE", &output,
			"write to FILE ('-': standard output; default: FILE's name with .svg)"),
		VIEW_ARGS(&options),
		RANGE_ARG_TO(&options.view.range),
		OPTION_FLAG(
			0, "diff", &diff, "compare two recordings: what has more and less time"),
		OPTION_WORD(0, "scale", "BY", "elapsed samples none", view_arg_scale,
			&options.diff_scale,
			"compare shares of the elapsed time, of all samples, or none"),
		OPTION_STRING(0, "title", "TEXT", &options.title, "head the picture with TEXT"),
		OPTION_NUMBER(0, "max-frames", "N", &options.svg_node_max, 1, 100000000,
			"leave out the smallest frames beyond N (1 million)"),
		OPTION_WORD(0, "unit", "UNIT", "us ns count", parse_unit, &options.folded_unit,
			"what folded stacks count: us, ns or count"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	if (view_args_check(&usage, &options.view) || (output && check_output(output)))
		return EXIT_USAGE;
	path = diff ? view_arg_files(&usage, argc, argv, first, &options.against)
		    : view_arg_file(&usage, argc, argv, first);
	return path ? draw(path, output, &options) : EXIT_USAGE;
}
