// SPDX-License-Identifier: MIT
/* What is compared is read from the files, in slices of time. */
#include "page/compared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "page/part.h"
#include "page/pictures.h"
#include "report/diff.h"
#include "view/diff/diff.h"
#include "view/view.h"

#define ROWS 200
/* So many are made, sent and drawn in a tenth of a second, and are more than a screen shows, also
 * of what is zoomed into ten times. */
#define FRAMES_MAX 100000
/* What waits and samples are divided by is looked at for each stretch and key. */
#define WALL_SPANS_MAX 10000u

struct base {
	struct argument_times times;
	struct range_wanted range;
};

bool compared_is_asked(const struct http_request *q)
{
	return http_argument(q, "base-from") || http_argument(q, "base-to") ||
	       argument_flag(q, "others");
}

/* Numbers of threads are each recording's own: in another one it is those of the same name. */
static const char *thread_of_base(struct recording *r, struct recording *base, const char *thread)
{
	const struct profile_reader *reader = recording_now(r)->reader;
	char number[16];

	for (uint32_t id = 1; thread && r != base && id <= profile_counts(reader).threads; id++) {
		const struct profile_thread *t = profile_thread(reader, id);

		snprintf(number, sizeof(number), "%u", t->tid);
		if (!strcmp(number, thread))
			return profile_thread_name(reader, t, NULL);
	}
	return thread;
}

static int read_base(struct base *b, struct recording *r, struct recording *base,
	const struct part *part, const struct http_request *q)
{
	recording_known(base, &b->range, NULL);
	b->range.thread = thread_of_base(r, base, http_argument(q, "thread"));
	b->range.device = http_argument(q, "device");
	return argument_flag(q, "others")
		       ? part_others(part, &b->range)
		       : argument_times(q, "base-from", "base-to", &b->times, &b->range);
}

static int check_spans(const struct view_options *o)
{
	return o->range.span_count > WALL_SPANS_MAX && !strcmp(view_of(o)->name, "wall")
		       ? error_set(-ERANGE,
				 "this view can have %u iterations at most: select a shorter range",
				 WALL_SPANS_MAX)
		       : 0;
}

static int picture(struct recording *r, struct recording *base, const struct http_request *q,
	struct part *part, struct http_answer *ret)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct range_wanted selected;
	struct base b = {0};
	int error = argument_view(q, &options.view);

	error = error ?: part_read(part, r, q, &options.view.range);
	error = error ?: check_spans(&options.view);
	recording_known(r, &options.view.range, base ? NULL : &options.view);
	options.scripted = true;
	options.svg_node_max = FRAMES_MAX;
	options.inverted = argument_flag(q, "inverted");
	options.title = http_argument(q, "title");
	if (!error && base) {
		error = read_base(&b, r, base, part, q);
		selected = options.view.range;
		options.view.range = b.range;
		error = error ?: check_spans(&options.view);
		options.against = recording_path(r);
		options.against_range = &selected;
	}
	return error ?: picture_flame(recording_path(base ?: r), &options, ret);
}

int compared_flame(struct recording *r, struct recording *base, const struct http_request *q,
	struct http_answer *ret)
{
	struct part part = {0};
	int error = picture(r, base, q, &part, ret);

	part_release(&part);
	return error;
}

static int text(struct recording *r, struct recording *base, const struct http_request *q,
	struct part *part, struct buf *ret)
{
	bool same = r == base;
	struct report_diff report = {
		.paths = {same ? "what it is compared with" : recording_path(base),
			same ? "what is selected" : recording_path(r)},
		.top = ROWS,
		.threshold = -1};
	struct view_options options[2] = {0};
	struct base b = {0};
	struct diff diff = {0};
	int error = argument_view(q, &options[1]);

	error = error ?: part_read(part, r, q, &options[1].range);
	error = error ?: check_spans(&options[1]);
	recording_known(r, &options[1].range, NULL);
	error = error ?: read_base(&b, r, base, part, q);
	options[0] = options[1];
	options[0].range = b.range;
	error = error ?: check_spans(&options[0]);
	error = error
			?: diff_read(&diff,
				   (const struct diff_of[]){{recording_path(base), &options[0]},
					   {recording_path(r), &options[1]}},
				   DIFF_BY_ELAPSED);
	report.diff = &diff;
	if (!error)
		report_diff_text(&report, ret);
	diff_release(&diff);
	return error;
}

int compared_text(
	struct recording *r, struct recording *base, const struct http_request *q, struct buf *ret)
{
	struct part part = {0};
	int error = base ? text(r, base, q, &part, ret)
			 : error_set(-EINVAL, "say what it is compared with");

	part_release(&part);
	return error;
}
