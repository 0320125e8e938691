// SPDX-License-Identifier: MIT
#include "page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "page/about.h"
#include "page/access.h"
#include "page/arguments.h"
#include "page/assets.h"
#include "page/axis_json.h"
#include "page/kernel_page.h"
#include "page/links_json.h"
#include "page/pictures.h"
#include "report/diff.h"
#include "page/recording.h"
#include "page/repeats_json.h"
#include "report/report.h"
#include "view/diff/diff.h"

#define COLUMNS_MAX	 20000
#define BOXES_MAX	 50000
#define CELLS_MAX	 10000000 /* of all rows that are asked for: 240 MB */
#define REPORT_ROWS	 20
#define DIFF_ROWS	 200
#define REPORT_GAPS	 5
#define REPORT_WIDTH_MAX 400

/* Nothing but what is in the page, and from us. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "              \
	"img-src data:; connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; "             \
	"form-action 'none'; frame-ancestors 'self'"

#define JSON "application/json; charset=utf-8"

struct page {
	const char *path;
	struct access access;
	struct recording *recording;
};

/* ------------------------------------------------------------------ about.json */

static int about(struct page *p, const struct http_request *q, struct http_answer *a)
{
	struct recording_reading *g = recording_now(p->recording);
	const struct about_state state = {
		.column_ns = g->axis.width_ns,
		.whole = g->whole && !recording_has_more(p->recording),
		.percent_read = (unsigned int)(100 * recording_progress(p->recording)),
	};

	(void)q;
	a->type = JSON;
	return about_json(&a->text, g, &state);
}

/* ------------------------------------------------------------------ timeline.json, sums.json */

static int wanted_range(struct page *p, const struct http_request *q, struct timeline_wanted *ret)
{
	const struct recording_reading *g = recording_now(p->recording);
	uint64_t length_ns = g->end_ns - g->start_ns, from_ns, to_ns, columns;
	int error = argument_number(q, "from", INT64_MAX, 0, &from_ns);

	error = error ?: argument_number(q, "to", INT64_MAX, length_ns, &to_ns);
	error = error ?: argument_number(q, "columns", COLUMNS_MAX, 1000, &columns);
	if (error)
		return error;
	if (to_ns <= from_ns || !columns)
		return error_set(-EINVAL, "the range is empty");
	ret->from_ns = g->start_ns + from_ns;
	ret->to_ns = g->start_ns + to_ns;
	ret->columns = (uint32_t)columns;
	ret->boxes_max = BOXES_MAX;
	return 0;
}

static int write_axis(struct page *p, const struct timeline_wanted *wanted, struct buf *out)
{
	const struct recording_reading *g = recording_now(p->recording);
	struct json_writer w = {.out = out};
	struct timeline t;
	int error = recording_axis(p->recording, &t, wanted);

	if (error)
		return error;
	json_begin(&w, NULL, '{');
	json_number(&w, "columns", wanted->columns);
	error = axis_json_contents(&w, &t, g->reader, g->start_ns);
	json_end(&w, '}');
	timeline_release(&t);
	return error;
}

static int check_size(const struct timeline_wanted *wanted)
{
	uint64_t cells = 0;

	for (size_t n = 0; n < wanted->row_count; n++)
		cells += wanted->rows[n] ? wanted->columns : 0;
	return cells > CELLS_MAX ? error_set(-EINVAL, "these are too many rows and columns") : 0;
}

static int timeline(struct page *p, const struct http_request *q, struct http_answer *a)
{
	size_t count = recording_now(p->recording)->axis.rows.items.count;
	struct timeline_wanted wanted = {.row_count = count};
	bool *rows = NULL;
	int error = wanted_range(p, q, &wanted);

	error = error ?: argument_list(q, "rows", count, &rows);
	if (!error && !rows)
		error = error_set(-EINVAL, "say which rows");
	wanted.rows = rows;
	a->type = JSON;
	error = error ?: check_size(&wanted);
	error = error ?: write_axis(p, &wanted, &a->text);
	free(rows);
	return error;
}

static int sums(struct page *p, const struct http_request *q, struct http_answer *a)
{
	struct timeline_wanted wanted = {0};
	int error = wanted_range(p, q, &wanted);

	a->type = JSON;
	return error ?: write_axis(p, &wanted, &a->text);
}

/* ------------------------------------------------------------------ pictures and tables */

/* The range that the selected one is compared with. */
struct base {
	struct argument_times times;
	struct range_wanted range;
};

/* *ret_wanted: there is one. What is compared is read from the file, in slices of time. */
static int read_base(struct page *p, const struct http_request *q, struct view_options *viewed,
	struct base *ret, bool *ret_wanted)
{
	*ret = (struct base){0};
	*ret_wanted = http_argument(q, "base-from") || http_argument(q, "base-to");
	if (!*ret_wanted)
		return 0;
	viewed->sums = NULL;
	recording_known(p->recording, &ret->range, NULL);
	return argument_times(q, "base-from", "base-to", &ret->times, &ret->range);
}

static int flame(struct page *p, const struct http_request *q, struct http_answer *a)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct argument_times times;
	struct range_wanted selected;
	struct base base;
	bool compared;
	int error = argument_view(q, &times, &options.view);

	recording_known(p->recording, &options.view.range, &options.view.sums);
	error = error ?: read_base(p, q, &options.view, &base, &compared);
	if (!error && compared) {
		selected = options.view.range;
		options.view.range = base.range;
		options.against = p->path;
		options.against_range = &selected;
	}
	options.scripted = true;
	options.inverted = argument_flag(q, "inverted");
	options.title = http_argument(q, "title");
	return error ?: picture_flame(p->path, &options, a);
}

/* Functions whose share of the elapsed time is another one. */
static int differences(struct page *p, const struct http_request *q, struct http_answer *a)
{
	struct report_diff r = {.paths = {"the range compared with", "the selected range"},
		.top = DIFF_ROWS,
		.threshold = -1};
	struct view_options options[2] = {0};
	struct argument_times times;
	struct base base;
	struct diff diff = {0};
	bool compared = false;
	int error = argument_view(q, &times, &options[1]);

	recording_known(p->recording, &options[1].range, NULL);
	error = error ?: read_base(p, q, &options[1], &base, &compared);
	if (!error && !compared)
		error = error_set(-EINVAL, "say what it is compared with");
	options[0] = options[1];
	options[0].range = base.range;
	error = error
			?: diff_read(&diff,
				   (const struct diff_of[]){
					   {p->path, &options[0]}, {p->path, &options[1]}},
				   DIFF_BY_ELAPSED);
	r.diff = &diff;
	a->type = "text/plain; charset=utf-8";
	if (!error)
		report_diff_text(&r, &a->text);
	diff_release(&diff);
	return error;
}

static int report_text_of(struct page *p, const struct http_request *q, struct http_answer *a)
{
	struct report_wanted wanted = {.top = REPORT_ROWS, .top_gaps = REPORT_GAPS};
	struct argument_times times;
	struct report *r;
	uint64_t width;
	int error = argument_range(q, &times, &wanted.range);

	recording_known(p->recording, &wanted.range, NULL);
	error = error ?: argument_number(q, "width", REPORT_WIDTH_MAX, 120, &width);
	if (error)
		return error;
	wanted.width = (unsigned int)width;
	wanted.stalls = argument_flag(q, "stalls");
	wanted.counters = argument_flag(q, "counters");
	error = report_open(&r, p->path, &wanted);
	if (error)
		return error;
	a->type = "text/plain; charset=utf-8";
	report_text(r, &a->text);
	report_close(r);
	return 0;
}

static int links(struct page *p, const struct http_request *q, struct http_answer *a)
{
	a->type = JSON;
	return links_json(p->recording, q, &a->text);
}

static int repeats(struct page *p, const struct http_request *q, struct http_answer *a)
{
	a->type = JSON;
	return repeats_json(p->recording, q, &a->text);
}

static int kernel(struct page *p, const struct http_request *q, struct http_answer *a)
{
	const char *name = http_argument(q, "kernel");
	struct range_wanted wanted = {0};
	struct argument_times times;
	int error = argument_range(q, &times, &wanted);

	recording_known(p->recording, &wanted, NULL);
	if (!error && !name)
		error = error_set(-EINVAL, "say which kernel");
	return error ?: kernel_page(p->path, &wanted, name, a);
}

static int whole_page(struct page *p, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	(void)q;
	a->type = "text/html; charset=utf-8";
	assets_page(&a->text);
	return 0;
}

/* ------------------------------------------------------------------ requests */

/* What an answer needs of the recording. */
enum need {
	NEEDS_NOTHING = 0,
	NEEDS_NEWEST, /* all of it, as it is now; or, where a part will do, what is read by now */
	NEEDS_PART,   /* so too, but not that it has become longer */
	NEEDS_WHOLE,  /* as it was when it was last read */
};

static const struct route {
	const char *name;
	enum need need;
	int (*answer)(struct page *p, const struct http_request *q, struct http_answer *a);
} routes[] = {
	{"", NEEDS_NOTHING, whole_page},
	{"about.json", NEEDS_NEWEST, about},
	{"timeline.json", NEEDS_PART, timeline},
	{"sums.json", NEEDS_PART, sums},
	{"flame.svg", NEEDS_WHOLE, flame},
	{"report.txt", NEEDS_WHOLE, report_text_of},
	{"differences.txt", NEEDS_WHOLE, differences},
	{"links.json", NEEDS_WHOLE, links},
	{"repeats.json", NEEDS_WHOLE, repeats},
	{"kernel.html", NEEDS_WHOLE, kernel},
};

static const struct route *route_of(const char *name)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (!strcmp(routes[i].name, name))
			return &routes[i];
	return NULL;
}

static int read_what_is_needed(struct page *p, const struct http_request *q, enum need need)
{
	int error = need ? recording_look(p->recording, need == NEEDS_NEWEST) : 0;

	if (error || !need || (need != NEEDS_WHOLE && argument_flag(q, "partial")))
		return error;
	return recording_finish(p->recording);
}

void page_answer(void *page, const struct http_request *q, struct http_answer *ret)
{
	struct page *p = page;
	const char *name = access_check(&p->access, q);
	const struct route *route = name ? route_of(name) : NULL;
	int error;

	if (!route) {
		http_say(ret, name ? 404 : 403,
			name ? "not found"
			     : "refused: the address is not the one that was given out");
		return;
	}
	ret->policy = POLICY;
	error = read_what_is_needed(p, q, route->need);
	error = error ?: route->answer(p, q, ret);
	if (!error && ret->text.failed)
		error = error_memory("the page");
	if (error)
		http_say(ret, error == -EINVAL || error == -ERANGE || error == -ENOENT ? 400 : 500,
			error_text());
}

int page_open(struct page **ret, const char *path)
{
	struct page *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return error_memory("the page");
	p->path = path;
	error = access_init(&p->access);
	error = error ?: recording_open(&p->recording, path);
	if (error) {
		page_close(p);
		return error;
	}
	*ret = p;
	return 0;
}

void page_close(struct page *p)
{
	if (!p)
		return;
	recording_close(p->recording);
	free(p);
}

bool page_has_work(const struct page *p)
{
	return recording_has_more(p->recording);
}

int page_work(struct page *p)
{
	return recording_step(p->recording);
}

const char *page_path(const struct page *p)
{
	return p->access.prefix;
}
