// SPDX-License-Identifier: MIT
/* The table of exporters. */
#include "export/exporter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "view/range/range.h"

const struct exporter exporters[] = {
	{"svg", ".svg", "an interactive flame graph",
		EXPORT_HEEDS_FRAMES | EXPORT_HEEDS_TREE | EXPORT_HEEDS_LAYOUT, export_svg},
	{"folded", ".folded", "folded stacks with their time, for flame graph programs",
		EXPORT_HEEDS_FRAMES | EXPORT_HEEDS_UNIT | EXPORT_HEEDS_TREE, export_folded},
	{"extended-folded", ".events", "one line an event: time, process, thread, CPU, stack",
		EXPORT_HEEDS_FRAMES, export_extended_folded},
	{"iaprof", ".iaprof", "samples of GPU instructions as iaprof writes them, for proviz",
		EXPORT_HEEDS_FRAMES, export_iaprof},
	{"chrome", ".json", "a timeline for Perfetto and chrome://tracing", 0, export_chrome},
	{"pprof", ".pb.gz", "sums by stack and label for pprof", EXPORT_HEEDS_FRAMES, export_pprof},
	{"speedscope", ".speedscope.json", "threads and streams for speedscope",
		EXPORT_HEEDS_FRAMES, export_speedscope},
	{"firefox", ".firefox.json", "threads, streams and markers for Firefox Profiler",
		EXPORT_HEEDS_FRAMES, export_firefox},
	{"perfetto", ".perfetto-trace", "a timeline with stacks for Perfetto", EXPORT_HEEDS_FRAMES,
		export_perfetto},
	{"perf-script", ".linux-perf.txt",
		"text as perf script prints it, for tools that read that", EXPORT_HEEDS_FRAMES,
		export_perf_script},
	{"memheat", ".memheat.svg", "a picture of which memory kernels accessed, and when", 0,
		export_memheat},
	{NULL},
};

const struct exporter *exporter_by_name(const char *name)
{
	for (const struct exporter *e = exporters; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/* The longest that fits: "x.speedscope.json" ends in ".json" as well. */
const struct exporter *exporter_by_suffix(const char *path)
{
	const struct exporter *found = NULL;
	size_t length = strlen(path);

	for (const struct exporter *e = exporters; e->name; e++) {
		size_t suffix = strlen(e->suffix);

		if (length > suffix && !strcmp(path + length - suffix, e->suffix) &&
			(!found || suffix > strlen(found->suffix)))
			found = e;
	}
	return found;
}

static bool ends_with(const char *path, const char *suffix)
{
	size_t length = strlen(path), end = strlen(suffix);

	return length > end && !strcasecmp(path + length - end, suffix);
}

int export_check_suffix(const char *path, const char *suffix, const char *what)
{
	static const char *const suffixes[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp",
		".tif", ".tiff", ".pdf", ".ps", ".eps", ".svg", ".svgz", ".html", ".htm"};

	if (ends_with(path, suffix))
		return 0;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (ends_with(path, suffixes[i]))
			return error_set(-EINVAL, "cannot write '%s': %s, as in '%.*s%s'", path,
				what, (int)(strlen(path) - strlen(suffixes[i])), path, suffix);
	return 0;
}

void export_note_view(struct export_result *r, const struct view_result *v)
{
	r->empty = tree_node_count(v->tree) <= 1;
	r->lacking = v->lacking;
	r->help = v->help;
	snprintf(r->incomplete, sizeof(r->incomplete), "%s", v->incomplete ? v->incomplete : "");
	r->lines_left_out = v->folded.left_out;
	r->first_left_out = v->folded.first_left_out;
	r->reason = v->folded.reason;
	snprintf(r->range, sizeof(r->range), "%s", v->range ? v->range : "");
}

int export_open(struct export_input *ret, const char *path, const struct export_options *options)
{
	return range_open(&ret->range, &ret->reader, path, &options->view.range);
}

void export_note_input(struct export_result *ret, const struct export_input *i)
{
	const char *incomplete = profile_reader_incomplete(i->reader);

	snprintf(ret->incomplete, sizeof(ret->incomplete), "%s", incomplete ? incomplete : "");
	snprintf(ret->range, sizeof(ret->range), "%s", i->range ? i->range->text : "");
}

int export_read_all(struct export_input *i, struct export_result *ret)
{
	struct profile_event event;
	int more;

	while ((more = profile_reader_next(i->reader, &event)) > 0)
		continue;
	export_note_input(ret, i);
	return more;
}

void export_close(struct export_input *i)
{
	profile_reader_close(i->reader);
	range_free(i->range);
}

int export_file(const struct exporter *e, const char *path, const char *out_path,
	const struct export_options *options, struct export_result *ret)
{
	struct export_result result = {0};
	struct output *o;
	int error = output_not_source(out_path, path);

	error = error ?: output_open(&o, options->user, out_path);
	if (error)
		return error;
	error = e->write(path, options, o, &result);
	if (error) {
		output_abort(o);
		return error;
	}
	result.not_written = result.empty && e->heeds & EXPORT_HEEDS_LAYOUT;
	if (result.not_written)
		output_abort(o);
	else
		error = output_commit(o);
	if (!error)
		*ret = result;
	return error;
}
