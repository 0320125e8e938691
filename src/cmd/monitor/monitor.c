// SPDX-License-Identifier: MIT
/* `xpuprof monitor`: the command line. */
#include "cmd/monitor/monitor.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

static const struct option_usage usage = {
	.command = "monitor",
	.synopsis = "[options] NAME | list",
	.summary = "Watches what the kernel's GPU drivers do: each event as it happens, and "
		   "statistics at the\n"
		   "end. 'xpuprof monitor list' lists the monitors and what this "
		   "kernel has.",
};

/* ------------------------------------------------------------------ --above */

static void name_durations(const struct monitor *m, struct buf *out)
{
	for (const struct monitor_event *e = m->events; e->name; e++)
		if (e->above)
			buf_printf(out, "%s%s", out->size ? ", " : "", e->name);
}

static int no_duration(const struct monitor *m, const char *event)
{
	struct buf names = BUF_INIT;
	int error;

	name_durations(m, &names);
	error = error_set(-EINVAL, "monitor %s has no event '%s' with a duration: %s", m->name,
		event, names.size ? buf_text(&names) : "none of its events has one");
	buf_release(&names);
	return error;
}

static int parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; isdigit((unsigned char)*text) && i < sizeof(units) / sizeof(units[0]);
		i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns < 1e18) {
			*ret_ns = (uint64_t)(value * units[i].ns + 0.5);
			return 0;
		}
	return error_set(
		-EINVAL, "takes a time with its unit (5ms, 100us, 1s, 300ns), not '%s'", text);
}

int monitor_parse_above(const struct monitor *m, const char *text, int *ret_event, uint64_t *ret_ns)
{
	char event[32];
	size_t length = strcspn(text, ":");
	uint64_t ns = 0;
	int number, error;

	if (!text[length])
		return error_set(-EINVAL, "takes EVENT:TIME, not '%s'", text);
	if (length >= sizeof(event))
		length = sizeof(event) - 1;
	memcpy(event, text, length);
	event[length] = '\0';
	number = monitor_event_find(m, event);
	if (number < 0 || !m->events[number].above)
		return no_duration(m, event);
	error = parse_time(text + strcspn(text, ":") + 1, &ns);
	if (error)
		return error;
	*ret_event = number;
	*ret_ns = ns;
	return 0;
}

/* ------------------------------------------------------------------ the command line */

struct given {
	unsigned long pid;
	const char *ring, *above, *metrics;
	double seconds, interval;
	bool summary_only, json, csv;
};

static void name_monitors(struct buf *out, const char *between)
{
	for (size_t n = 0; monitor_at(n); n++)
		buf_printf(out, "%s%s", n ? between : "", monitor_at(n)->name);
}

static int wrong_monitor(const char *name)
{
	struct buf names = BUF_INIT;
	int status;

	name_monitors(&names, ", ");
	if (name)
		status = options_wrong(
			&usage, "there is no monitor '%s': %s, or list", name, buf_text(&names));
	else
		status = options_wrong(&usage, "no monitor named: %s, or list", buf_text(&names));
	buf_release(&names);
	return status;
}

/* options_parse, which knows the names of monitors, too. */
static int parse(const struct option_spec *specs, int argc, char **argv)
{
	struct option_usage with_names = usage;
	struct buf names = BUF_INIT;
	int first;

	buf_puts(&names, "list ");
	name_monitors(&names, " ");
	with_names.operands = buf_text(&names);
	first = options_parse(&with_names, specs, argc, argv);
	buf_release(&names);
	return first;
}

static int list(const struct given *g)
{
	if (g->pid || g->ring || g->above || g->metrics || g->seconds > 0 || g->interval > 0 ||
		g->summary_only || g->csv)
		return options_wrong(&usage, "'list' takes no option but --json");
	return monitor_list(g->json);
}

/* EXIT_OK, or the status after reporting what is wrong. */
static int check(const struct given *g, const struct monitor *m, struct monitor_args *ret)
{
	*ret = (struct monitor_args){.monitor = m,
		.pid = (uint32_t)g->pid,
		.ring = g->ring,
		.seconds = g->seconds,
		.interval = g->interval,
		.form = g->json	 ? FORM_JSON
			: g->csv ? FORM_CSV
				 : FORM_TEXT,
		.lines = !g->summary_only && (g->interval <= 0 || g->above),
		.above_event = -1,
		.metrics = g->metrics};
	if (g->json && g->csv)
		return options_wrong(&usage, "either --json or --csv");
	if (g->above && g->summary_only)
		return options_wrong(
			&usage, "--above chooses lines, and --summary-only prints none");
	if (g->csv && g->above && g->interval > 0)
		return options_wrong(
			&usage, "--csv is either lines (--above) or statistics (--interval)");
	if (g->ring && !m->ring)
		return options_wrong(&usage, "monitor %s has nothing to choose by --ring", m->name);
	if (g->ring && !*g->ring)
		return options_wrong(&usage, "option '--ring' takes a name, not nothing");
	if (g->above && monitor_parse_above(m, g->above, &ret->above_event, &ret->above_ns))
		return options_wrong(&usage, "option '--above' %s", error_text());
	return EXIT_OK;
}

int cmd_monitor(int argc, char **argv)
{
	struct given g = {0};
	const struct option_spec specs[] = {
		OPTION_SECONDS('d', "duration", "SECONDS", &g.seconds, "end after so long"),
		OPTION_NUMBER('p', "pid", "PID", &g.pid, 1, INT_MAX,
			"only what is of this process, until it ends"),
		OPTION_STRING('r', "ring", "RING", &g.ring, "only what is of this ring (or CRTC)"),
		OPTION_STRING(0, "above", "EVENT:TIME", &g.above,
			"print only such events that took at least so long (RUN:5ms)"),
		OPTION_FLAG(
			's', "summary-only", &g.summary_only, "print no lines, only statistics"),
		OPTION_SECONDS('i', "interval", "SECONDS", &g.interval,
			"statistics of every so many seconds, no lines"),
		OPTION_FLAG(0, "json", &g.json, "print JSON, one object a line"),
		OPTION_FLAG(
			0, "csv", &g.csv, "print CSV: lines, or with --summary-only statistics"),
		OPTION_STRING(0, "metrics", "ADDRESS", &g.metrics,
			"serve the statistics to Prometheus meanwhile (ADDR:PORT, or a path)"),
		OPTION_END,
	};
	int first = parse(specs, argc, argv), status;
	const struct monitor *m;
	struct monitor_args args;

	if (first < 0)
		return options_status(first);
	if (first == argc)
		return wrong_monitor(NULL);
	if (argc - first > 1)
		return options_wrong(
			&usage, "one monitor at a time, not '%s' too", argv[first + 1]);
	if (!strcmp(argv[first], "list"))
		return list(&g);
	m = monitor_find(argv[first]);
	if (!m)
		return wrong_monitor(argv[first]);
	status = check(&g, m, &args);
	return status ? status : monitor_watch(&args);
}
