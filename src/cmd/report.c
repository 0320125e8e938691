// SPDX-License-Identifier: MIT
/* `xpuprof report`: where the time of a recording went, in tables. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/view_args.h"
#include "base/printable.h"
#include "base/text.h"
#include "export/output.h"
#include "report/diff.h"

#define DEFAULT_FILE "profile.xpu"
#define DEFAULT_TOP  10
#define DEFAULT_GAPS 3
#define PIPE_COLUMNS 160 /* of lines where there is no terminal */

static int write_file(const struct user *user, const char *path, const struct buf *lines)
{
	struct buf clean = BUF_INIT;
	struct output *o;
	int error = output_open(&o, user, path);

	if (error)
		return error;
	printable_lines(&clean, buf_text(lines), lines->size);
	output_write(o, buf_text(&clean), clean.size);
	error = lines->failed || clean.failed ? error_memory(NULL) : 0;
	if (error)
		output_abort(o);
	else
		error = output_commit(o);
	buf_release(&clean);
	return error;
}

/* `sources`: what was read, which must not be written to; the second may be NULL. */
static int put_out(const struct user *user, const char *output, const char *const sources[2],
	const struct buf *out)
{
	int error;

	if (!output) {
		error = cmd_print(STDOUT_FILENO, out);
		return error ? error_errno(error, "cannot print the report") : 0;
	}
	error = output_not_source(output, sources[0]);
	if (!error && sources[1])
		error = output_not_source(output, sources[1]);
	return error ?: write_file(user, output, out);
}

static int print(const struct report *r, const struct user *user, const char *output, bool json)
{
	struct buf out = BUF_INIT;
	int error;

	if (json)
		report_json(r, &out);
	else
		report_text(r, &out);
	error = put_out(user, output, (const char *[]){r->path, NULL}, &out);
	buf_release(&out);
	return error;
}

static int run(const char *path, const char *output, const struct report_wanted *w, bool json)
{
	struct report *r = NULL;
	struct user user;
	int error = cmd_become_caller(&user, path);

	error = error ?: report_open(&r, path, w);
	error = error ?: print(r, &user, output, json);
	report_close(r);
	user_release(&user);
	return error;
}

/* A comparison, and what was asked of it. */
struct compared {
	bool wanted;
	const char *against;
	struct view_options view;
	enum diff_scale scale;
	double threshold;
};

static int parse_threshold(void *target, const char *value)
{
	char *end;
	double points = strtod(value, &end);

	if (end == value || *end || !(points >= 0) || points > 1e6)
		return error_set(-1, "takes a number of percent, not '%s'", value);
	*(double *)target = points;
	return 0;
}

/* Returns the exit status. */
static int compare(const char *path, const char *output, const struct compared *c,
	const struct report_wanted *w, bool json)
{
	struct report_diff r = {.paths = {path, c->against},
		.top = w->top,
		.width = w->width,
		.threshold = c->threshold};
	struct diff diff = {0};
	struct buf out = BUF_INIT;
	struct user user;
	int error = cmd_become_caller(&user, path);

	error = error
			?: diff_read(&diff,
				   (const struct diff_of[]){
					   {path, &c->view}, {c->against, &c->view}},
				   c->scale);
	r.diff = &diff;
	if (!error) {
		(json ? report_diff_json : report_diff_text)(&r, &out);
		error = put_out(&user, output, r.paths, &out);
	}
	error = error ? cmd_failed() : report_diff_grown(&r) ? EXIT_GREW : EXIT_OK;
	buf_release(&out);
	diff_release(&diff);
	user_release(&user);
	return error;
}

int cmd_report_probes(const char *path, size_t rows, bool json)
{
	const struct report_wanted wanted = {.probes = true,
		.top = json ? 0 : rows,
		.width = text_width(STDOUT_FILENO, PIPE_COLUMNS)};

	struct report *r = NULL;
	struct user user;
	int error = cmd_become_caller(&user, path);

	error = error ?: report_open(&r, path, &wanted);
	if (!error) {
		r->path = "not kept (-o keeps it)";
		error = print(r, &user, NULL, json);
	}
	report_close(r);
	user_release(&user);
	return error ? cmd_failed() : EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "report",
		.operands = "FILE",
		.synopsis = "[options] [FILE]\n       xpuprof report --diff [options] FIRST "
			    "SECOND",
		.summary = "Prints where the time of a recording went (FILE: " DEFAULT_FILE ").",
	};
	struct report_wanted wanted = {0};
	bool json = false, wide = false;
	unsigned long top = 0;
	const char *output = NULL;
	struct compared compared = {.threshold = -1};
	const struct option_spec specs[] = {
		OPTION_STRING('o', "output", "FILE", &output,
			"write to FILE (default, and '-': standard output)"),
		OPTION_FLAG(0, "json", &json, "print JSON"),
		OPTION_NUMBER(0, "top", "N", &top, 1, 1000000000,
			"rows of each table (10, 3 of gaps; with --json all)"),
		OPTION_FLAG(0, "inline", &wanted.inlines,
			"name inlined functions, too (see record --inline)"),
		OPTION_FLAG(0, "stalls", &wanted.stalls,
			"say why kernels wait, and at which lines (see record --stalls)"),
		OPTION_FLAG(0, "counters", &wanted.counters,
			"say what hardware counters said (see record --counters)"),
		OPTION_FLAG(0, "probes", &wanted.probes,
			"say what programs in GPU kernels found (see record --probe)"),
		RANGE_ARGS(&wanted.range),
		RANGE_ARG_TO(&wanted.range),
		OPTION_FLAG(0, "diff", &compared.wanted, "compare two recordings by function"),
		OPTION_WORD(0, "view", "NAME", "merge gpu cpu stall off-cpu calls wall",
			view_arg_view, &compared.view, "with --diff: of this view (see flame)"),
		OPTION_WORD(0, "scale", "BY", "elapsed samples none", view_arg_scale,
			&compared.scale,
			"with --diff: shares of the elapsed time, of all samples, or none"),
		OPTION_CALL(0, "threshold", "PERCENT", parse_threshold, &compared.threshold,
			"with --diff: exit with 3 if a function's share grew by more points"),
		OPTION_FLAG('w', "wide", &wide, "print names whole, however long"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	if (!compared.wanted && (compared.view.view || compared.scale || compared.threshold >= 0))
		return options_wrong(&usage, "--view, --scale and --threshold need --diff");
	if (compared.wanted && (wanted.stalls || wanted.counters || wanted.probes))
		return options_wrong(&usage, "--diff has no --stalls, --counters and --probes");
	if (!compared.wanted && argc - first > 1)
		return options_wrong(&usage, "more than one file: '%s'", argv[first + 1]);
	wanted.top = top || json ? top : DEFAULT_TOP;
	wanted.top_gaps = top || json ? top : DEFAULT_GAPS;
	if (output && !strcmp(output, "-"))
		output = NULL;
	wanted.width = wide ? 0 : text_width(output ? -1 : STDOUT_FILENO, PIPE_COLUMNS);
	if (compared.wanted) {
		const char *path = view_arg_files(&usage, argc, argv, first, &compared.against);

		compared.view.range = wanted.range;
		compared.view.inlines = wanted.inlines;
		if (!path || view_check_range(&usage, &compared.view))
			return EXIT_USAGE;
		return compare(path, output, &compared, &wanted, json);
	}
	return run(first < argc ? argv[first] : DEFAULT_FILE, output, &wanted, json) ? cmd_failed()
										     : EXIT_OK;
}
