// SPDX-License-Identifier: MIT
#include "cmd/view_args.h"

#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "view/range/time.h"
#include "view/view.h"

int view_arg_view(void *target, const char *value)
{
	struct view_options *o = target;

	o->view = view_by_name(value);
	return o->view ? 0
		       : error_set(-1,
				 "takes merge, gpu, cpu, stall, off-cpu, calls or wall, not '%s'",
				 value);
}

int view_arg_by(void *target, const char *value)
{
	struct view_options *o = target;

	return view_parse_by(value, &o->by) ? -1 : 0;
}

int view_arg_graph_stack(void *target, const char *value)
{
	struct view_options *o = target;

	return view_parse_graph_stack(value, &o->graph_stack) ? -1 : 0;
}

int view_arg_weight(void *target, const char *value)
{
	struct view_options *o = target;

	static const char *const names[] = {
		[VIEW_WEIGHT_TIME] = "time",
		[VIEW_WEIGHT_SAMPLES] = "samples",
		[VIEW_WEIGHT_BLOCKS] = "block-time",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(value, names[i])) {
			o->weight = (enum view_weight)i;
			return 0;
		}
	return error_set(-1, "takes time, samples or block-time, not '%s'", value);
}

int view_arg_from(void *target, const char *value)
{
	struct range_wanted *w = target;
	struct range_time time;

	if (range_time_parse(value, &time))
		return -1;
	if (time.kind == RANGE_FROM_BEGIN)
		return error_set(-1,
			"takes a time from the start of the recording, not '%s': "
			"leave out the '+'",
			value);
	w->from = value;
	return 0;
}

int view_arg_to(void *target, const char *value)
{
	struct range_wanted *w = target;
	struct range_time time;

	if (range_time_parse(value, &time))
		return -1;
	w->to = value;
	return 0;
}

int view_check_range(const struct option_usage *usage, const struct view_options *o)
{
	unsigned int shows = view_of(o)->shows;

	if (!o->range.device || (shows & VIEW_SHOWS_GPU && !(shows & VIEW_SHOWS_WAITS)))
		return EXIT_OK;
	return options_wrong(
		usage, "--device is about GPU work: the view '%s' is of threads", view_of(o)->name);
}

int view_args_check(const struct option_usage *usage, const struct view_options *o)
{
	if (view_check_range(usage, o))
		return EXIT_USAGE;
	if (o->weight == VIEW_WEIGHT_BLOCKS &&
		(view_of(o)->shows != VIEW_SHOWS_GPU || range_is_wanted(&o->range)))
		return options_wrong(usage, "--weight block-time is about the kernels of a whole "
					    "recording: it needs --view gpu, without a range");
	if (view_of(o)->shows & VIEW_SHOWS_STALLS || o->weight == VIEW_WEIGHT_BLOCKS)
		return EXIT_OK;
	if (o->weight != VIEW_WEIGHT_TIME)
		return options_wrong(usage,
			"--weight samples counts instruction samples: it needs --view stall");
	if (o->latency)
		return options_wrong(
			usage, "--latency is about instruction samples: it needs --view stall");
	return EXIT_OK;
}

const char *view_arg_file(const struct option_usage *usage, int argc, char **argv, int first)
{
	if (argc - first > 1) {
		options_wrong(usage, "one file at a time, not '%s' too", argv[first + 1]);
		return NULL;
	}
	return first < argc ? argv[first] : "profile.xpu";
}

const char *view_arg_files(
	const struct option_usage *usage, int argc, char **argv, int first, const char **ret_second)
{
	if (argc - first != 2) {
		options_wrong(usage, "--diff compares two recordings, and %d %s given",
			argc - first, argc - first == 1 ? "is" : "are");
		return NULL;
	}
	*ret_second = argv[first + 1];
	return argv[first];
}

int view_arg_scale(void *target, const char *value)
{
	return diff_parse_scale(value, target) ? -1 : 0;
}

int view_check_picture(const struct option_usage *usage, const char *path)
{
	return export_check_suffix(path, ".svg", EXPORT_PICTURES_ARE)
		       ? options_wrong(usage, "%s", error_text())
		       : EXIT_OK;
}

int view_export(const struct exporter *e, const char *path, const char *out_path,
	const struct export_options *options, struct export_result *ret)
{
	struct export_options own = *options;
	struct user user;
	int error = cmd_become_caller(&user, path);

	own.user = &user;
	error = error ?: export_file(e, path, out_path, &own, ret);
	user_release(&user);
	return error;
}

void view_warn(const struct exporter *e, const char *path, const struct export_result *r)
{
	const char *plural = r->lines_left_out == 1 ? "" : "s";

	if (!strcmp(path, "-"))
		path = "standard input";
	if (r->not_written)
		cmd_error(
			"nothing to draw: '%s' has nothing of what this view shows; no picture was "
			"written",
			path);
	else if (r->empty)
		cmd_error(
			"warning: the %s output is empty: nothing it shows was recorded", e->name);
	else if (*r->range)
		cmd_error("the %s output has %s", e->name, r->range);
	if (r->lacking)
		cmd_error("warning: no %s in '%s': %s", r->lacking, path, r->help);
	if (*r->incomplete)
		cmd_error("warning: '%s' is not whole (it %s); what is there was used, maybe "
			  "without names, which 'xpuprof symbolize' finds",
			path, r->incomplete);
	if (r->lines_left_out)
		cmd_error("warning: %llu line%s of '%s' left out; the first is line %llu: %s",
			(unsigned long long)r->lines_left_out, plural, path,
			(unsigned long long)r->first_left_out, r->reason);
}
