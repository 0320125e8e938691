// SPDX-License-Identifier: MIT
/* `xpuprof report`: where the time of a recording went, in tables. */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/printable.h"
#include "base/text.h"
#include "export/output.h"

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

static int print(const struct report *r, const struct user *user, const char *output, bool json)
{
	struct buf out = BUF_INIT;
	int error;

	if (json)
		report_json(r, &out);
	else
		report_text(r, &out);
	if (output) {
		error = output_not_source(output, r->path) ?: write_file(user, output, &out);
	} else {
		error = cmd_print(STDOUT_FILENO, &out);
		error = error ? error_errno(error, "cannot print the report") : 0;
	}
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

int cmd_report(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "report",
		.operands = "FILE",
		.synopsis = "[options] [FILE]",
		.summary = "Prints where the time of a recording went (FILE: " DEFAULT_FILE ").",
	};
	struct report_wanted wanted = {0};
	bool json = false, wide = false;
	unsigned long top = 0;
	const char *output = NULL;
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
		OPTION_FLAG('w', "wide", &wide, "print names whole, however long"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	if (argc - first > 1)
		return options_wrong(&usage, "more than one file: '%s'", argv[first + 1]);
	wanted.top = top || json ? top : DEFAULT_TOP;
	wanted.top_gaps = top || json ? top : DEFAULT_GAPS;
	if (output && !strcmp(output, "-"))
		output = NULL;
	wanted.width = wide ? 0 : text_width(output ? -1 : STDOUT_FILENO, PIPE_COLUMNS);
	return run(first < argc ? argv[first] : DEFAULT_FILE, output, &wanted, json) ? cmd_failed()
										     : EXIT_OK;
}
