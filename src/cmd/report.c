// SPDX-License-Identifier: MIT
/* `xpuprof report`: where the time of a recording went, in tables. */
#include "report/report.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/text.h"

#define DEFAULT_FILE "profile.xpu"
#define DEFAULT_TOP  10
#define DEFAULT_GAPS 3
#define PIPE_COLUMNS 160 /* of lines where there is no terminal */

static int print(const struct report *r, bool json)
{
	struct buf out = BUF_INIT;
	int error;

	if (json)
		report_json(r, &out);
	else
		report_text(r, &out);
	error = cmd_print(STDOUT_FILENO, &out);
	buf_release(&out);
	return error ? error_errno(error, "cannot print the report") : 0;
}

static int run(const char *path, const struct report_wanted *w, bool json)
{
	struct report *r = NULL;
	struct user user;
	int error = cmd_become_caller(&user, path);

	error = error ?: report_open(&r, path, w);
	error = error ?: print(r, json);
	report_close(r);
	user_release(&user);
	return error;
}

int cmd_report(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "report",
		.synopsis = "[options] [FILE]",
		.summary = "Prints where the time of a recording went (FILE: " DEFAULT_FILE ").",
	};
	struct report_wanted wanted = {0};
	bool json = false, wide = false;
	unsigned long top = 0;
	const struct option_spec specs[] = {
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
	wanted.width = wide ? 0 : text_width(STDOUT_FILENO, PIPE_COLUMNS);
	return run(first < argc ? argv[first] : DEFAULT_FILE, &wanted, json) ? cmd_failed()
									     : EXIT_OK;
}
