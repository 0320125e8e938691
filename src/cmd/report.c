// SPDX-License-Identifier: MIT
/* `xpuprof report`: where the time of a recording went, in tables. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "base/text.h"

#define DEFAULT_FILE "profile.xpu"
#define DEFAULT_TOP  10
#define PIPE_COLUMNS 160 /* of lines where there is no terminal */

static int print(const struct report *r, bool json)
{
	struct buf out = BUF_INIT;
	int error;

	if (json)
		report_json(r, &out);
	else
		report_text(r, &out);
	error = out.failed ? -ENOMEM : io_write_all(STDOUT_FILENO, out.data, out.size);
	buf_release(&out);
	return error ? error_errno(error, "cannot print the report") : 0;
}

struct wanted {
	bool json, wide, inlines, stalls, counters;
	unsigned long top;
};

static int print_with_texts(struct report *r, const struct wanted *w)
{
	struct location_texts texts = {0};
	struct function_sums functions = {0};
	int error = location_texts_init(&texts, r->reader, false);

	r->texts = &texts;
	r->functions = &functions;
	error = error ?: function_sums_read(&functions, &r->summary->sampled, &r->summary->internals, &texts, w->inlines);
	error = error ?: print(r, w->json);
	function_sums_release(&functions);
	location_texts_release(&texts);
	return error;
}

/* Hardware counters are read in passes of their own, as only this wants them. */
static int print_with_counters(struct report *r, const struct wanted *w)
{
	struct counter_sums counters = {0};
	int error;

	if (!w->counters)
		return print_with_texts(r, w);
	r->counters = &counters;
	error = counter_sums_read(&counters, r->reader);
	error = error ?: print_with_texts(r, w);
	counter_sums_release(&counters);
	return error;
}

/* So are gaps in GPU work, where the tables are wanted. */
static int print_with_gaps(struct report *r, const struct wanted *w)
{
	struct gaps gaps = {0};
	struct sync_waits waits = {0};
	int error = gaps_read(&gaps, &r->summary->internals, r->summary);

	r->gaps = &gaps;
	r->sync_waits = &waits;
	error = error ?: sync_waits_find(&waits, &gaps.events, &r->summary->internals);
	error = error ?: print_with_texts(r, w);
	sync_waits_release(&waits);
	gaps_release(&gaps);
	return error;
}

/* Samples of instructions are read in a pass of their own, as only this wants them. */
static int print_with_stalls(struct report *r, const struct wanted *w)
{
	struct kernel_stalls stalls = {0};
	struct profile_reader *reader;
	int error = profile_reader_open_again(&reader, r->reader);

	if (error)
		return error;
	r->stalls = &stalls;
	error = kernel_stalls_read(&stalls, reader);
	error = error ?: print_with_counters(r, w);
	kernel_stalls_release(&stalls);
	profile_reader_close(reader);
	return error;
}

static int read_and_print(const char *path, struct profile_reader *reader, struct summary *s,
	const struct wanted *w)
{
	struct report r = {
		.path = path,
		.reader = reader,
		.summary = s,
		.inlines = w->inlines,
		.top = w->top ? w->top : w->json ? 0 : DEFAULT_TOP,
		.width = w->wide ? 0 : text_width(STDOUT_FILENO, PIPE_COLUMNS),
	};
	int error = summary_read(s, reader);

	if (error)
		return error;
	if (w->stalls)
		return print_with_stalls(&r, w);
	return w->counters ? print_with_counters(&r, w) : print_with_gaps(&r, w);
}

static int run(const char *path, const struct wanted *w)
{
	struct summary *s = calloc(1, sizeof(*s));
	struct profile_reader *reader;
	int error;

	if (!s)
		return error_errno(-ENOMEM, "cannot read '%s'", path);
	error = profile_reader_open(&reader, path);
	if (!error) {
		error = read_and_print(path, reader, s, w);
		profile_reader_close(reader);
	}
	summary_release(s);
	free(s);
	return error;
}

int cmd_report(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "report",
		.synopsis = "[options] [FILE]",
		.summary = "Prints where the time of a recording went (FILE: " DEFAULT_FILE ").",
	};
	struct wanted wanted = {0};
	const struct option_spec specs[] = {
		OPTION_FLAG(0, "json", &wanted.json, "print JSON"),
		OPTION_NUMBER(0, "top", "N", &wanted.top, 1, 1000000000,
			"rows of each table (10; with --json all)"),
		OPTION_FLAG(0, "inline", &wanted.inlines,
			"name inlined functions, too (see record --inline)"),
		OPTION_FLAG(0, "stalls", &wanted.stalls,
			"say why kernels wait, and at which lines (see record --stalls)"),
		OPTION_FLAG(0, "counters", &wanted.counters,
			"say what hardware counters said (see record --counters)"),
		OPTION_FLAG('w', "wide", &wanted.wide, "print names whole, however long"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);

	if (first < 0)
		return options_status(first);
	if (argc - first > 1)
		return options_wrong(&usage, "more than one file: '%s'", argv[first + 1]);
	return run(first < argc ? argv[first] : DEFAULT_FILE, &wanted) ? cmd_failed() : EXIT_OK;
}
