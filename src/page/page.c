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
#include "page/compared.h"
#include "page/find_json.h"
#include "page/heat_json.h"
#include "page/kernel_page.h"
#include "page/library_json.h"
#include "page/links_json.h"
#include "page/part.h"
#include "page/recording.h"
#include "page/repeats_json.h"
#include "page/rows_json.h"
#include "report/report.h"

#define COLUMNS_MAX	 20000
#define BOXES_MAX	 50000
#define CELLS_MAX	 10000000 /* of all rows that are asked for: 240 MB */
#define REPORT_ROWS	 20
#define REPORT_GAPS	 5
#define REPORT_WIDTH_MAX 400

/* Nothing but what is in the page, and from us. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "              \
	"img-src data:; connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; "             \
	"form-action 'none'; frame-ancestors 'self'"

#define JSON "application/json; charset=utf-8"

struct page {
	struct access access;
	struct recording *recordings[PAGE_RECORDINGS_MAX]; /* as they were given */
	size_t count;
};

/* What an answer needs of the recording. */
enum need {
	NEEDS_NOTHING = 0,
	NEEDS_NEWEST, /* all of it, as it is now; or, where a part will do, what is read by now */
	NEEDS_PART,   /* so too, but not that it has become longer */
	NEEDS_WHOLE,  /* as it was when it was last read */
};

static bool is_partial(const struct http_request *q, enum need need)
{
	return need != NEEDS_WHOLE && argument_flag(q, "partial");
}

static enum recording_growth growth_of(const struct http_request *q, enum need need)
{
	if (need != NEEDS_NEWEST)
		return GROWTH_LATER;
	return is_partial(q, need) ? GROWTH_SOON : GROWTH_NOW;
}

/* ------------------------------------------------------------------ about.json */

static int about(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	struct recording_reading *g = recording_now(r);
	const struct about_state state = {
		.column_ns = g->axis.width_ns,
		.whole = g->whole && !recording_has_more(r),
		.percent_read = (unsigned int)(100 * recording_progress(r)),
		.lanes_most = ROWS_JSON_LANES,
		.recordings = p->recordings,
		.count = p->count,
		.growth = growth_of(q, NEEDS_NEWEST),
	};

	a->type = JSON;
	return about_json(&a->text, g, &state);
}

/* ------------------------------------------------------------------ timeline.json, sums.json */

static int wanted_range(
	struct recording *r, const struct http_request *q, struct timeline_wanted *ret)
{
	const struct recording_reading *g = recording_now(r);
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

static int write_axis(struct recording *r, const struct timeline_wanted *wanted, struct buf *out)
{
	const struct recording_reading *g = recording_now(r);
	struct json_writer w = {.out = out};
	struct timeline t;
	int error = recording_axis(r, &t, wanted);

	if (error)
		return error;
	json_begin(&w, NULL, '{');
	json_number(&w, "columns", wanted->columns);
	error = axis_json_contents(&w, &t, g->reader, g->start_ns, NULL);
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

static int timeline(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	size_t count = recording_now(r)->axis.rows.items.count;
	struct timeline_wanted wanted = {.row_count = count};
	bool *rows = NULL;
	int error = wanted_range(r, q, &wanted);

	(void)p;
	error = error ?: argument_list(q, "rows", count, &rows);
	if (!error && !rows)
		error = error_set(-EINVAL, "say which rows");
	wanted.rows = rows;
	a->type = JSON;
	error = error ?: check_size(&wanted);
	error = error ?: write_axis(r, &wanted, &a->text);
	free(rows);
	return error;
}

static int rows(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return rows_json(r, q, &a->text);
}

static int sums(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	struct timeline_wanted wanted = {0};
	int error = wanted_range(r, q, &wanted);

	(void)p;
	a->type = JSON;
	return error ?: write_axis(r, &wanted, &a->text);
}

/* ------------------------------------------------------------------ tables */

static int report_text_of(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	struct report_wanted wanted = {.top = REPORT_ROWS, .top_gaps = REPORT_GAPS};
	struct part part = {0};
	struct report *report = NULL;
	uint64_t width = 0;
	int error = part_read(&part, r, q, &wanted.range);

	(void)p;
	recording_known(r, &wanted.range, NULL);
	error = error ?: argument_number(q, "width", REPORT_WIDTH_MAX, 120, &width);
	wanted.width = (unsigned int)width;
	wanted.stalls = argument_flag(q, "stalls");
	wanted.counters = argument_flag(q, "counters");
	error = error ?: report_open(&report, recording_path(r), &wanted);
	a->type = "text/plain; charset=utf-8";
	if (!error) {
		report_text(report, &a->text);
		report_close(report);
	}
	part_release(&part);
	return error;
}

static int links(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return links_json(r, q, &a->text);
}

static int find(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return find_json(r, q, &a->text);
}

static int library(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return library_json(r, q, &a->text);
}

static int heat(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return heat_json(r, q, &a->text);
}

static int repeats(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	a->type = JSON;
	return repeats_json(r, q, &a->text);
}

static int kernel(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	const char *name = http_argument(q, "kernel");
	struct range_wanted wanted = {0};
	struct part part = {0};
	int error = part_read(&part, r, q, &wanted);

	(void)p;
	recording_known(r, &wanted, NULL);
	if (!error && !name)
		error = error_set(-EINVAL, "say which kernel");
	error = error ?: kernel_page(recording_path(r), &wanted, name, a);
	part_release(&part);
	return error;
}

/* What the question compares with: NULL, nothing. */
static int find_base(
	struct page *p, struct recording *r, const struct http_request *q, struct recording **ret)
{
	uint64_t number;
	int error = argument_number(q, "base-file", p->count, 0, &number);

	*ret = NULL;
	if (error)
		return error;
	*ret = number ? p->recordings[number - 1] : compared_is_asked(q) ? r : NULL;
	if (!*ret || *ret == r)
		return 0;
	error = recording_look(*ret, GROWTH_LATER);
	return error ?: recording_finish(*ret);
}

static int flame(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	struct recording *base;
	int error = find_base(p, r, q, &base);

	return error ?: compared_flame(r, base, q, a);
}

static int differences(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	struct recording *base;
	int error = find_base(p, r, q, &base);

	a->type = "text/plain; charset=utf-8";
	return error ?: compared_text(r, base, q, &a->text);
}

static int whole_page(
	struct page *p, struct recording *r, const struct http_request *q, struct http_answer *a)
{
	(void)p;
	(void)r;
	(void)q;
	a->type = "text/html; charset=utf-8";
	assets_page(&a->text);
	return 0;
}

/* ------------------------------------------------------------------ requests */

static const struct route {
	const char *name;
	enum need need;
	int (*answer)(struct page *p, struct recording *r, const struct http_request *q,
		struct http_answer *a);
} routes[] = {
	{"", NEEDS_NOTHING, whole_page},
	{"about.json", NEEDS_NEWEST, about},
	{"timeline.json", NEEDS_PART, timeline},
	{"sums.json", NEEDS_PART, sums},
	{"rows.json", NEEDS_PART, rows},
	{"flame.svg", NEEDS_WHOLE, flame},
	{"report.txt", NEEDS_WHOLE, report_text_of},
	{"differences.txt", NEEDS_WHOLE, differences},
	{"links.json", NEEDS_WHOLE, links},
	{"find.json", NEEDS_WHOLE, find},
	{"library.json", NEEDS_WHOLE, library},
	{"heat.json", NEEDS_WHOLE, heat},
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

/* The first, where none is named. */
static int find_recording(
	const struct page *p, const struct http_request *q, struct recording **ret)
{
	uint64_t number;
	int error = argument_number(q, "file", p->count, 1, &number);

	if (!error && !number)
		error = error_set(-EINVAL, "'file' counts from 1");
	*ret = error ? NULL : p->recordings[number - 1];
	return error;
}

static int read_what_is_needed(struct recording *r, const struct http_request *q, enum need need)
{
	int error = need ? recording_look(r, growth_of(q, need)) : 0;

	if (error || !need || is_partial(q, need))
		return error;
	return recording_finish(r);
}

void page_answer(void *page, const struct http_request *q, struct http_answer *ret)
{
	struct page *p = page;
	const char *name = access_check(&p->access, q);
	const struct route *route = name ? route_of(name) : NULL;
	struct recording *r;
	int error;

	if (!route) {
		http_say(ret, name ? 404 : 403,
			name ? "not found"
			     : "refused: the address is not the one that was given out");
		return;
	}
	ret->policy = POLICY;
	error = find_recording(p, q, &r);
	error = error ?: read_what_is_needed(r, q, route->need);
	error = error ?: route->answer(p, r, q, ret);
	if (!error && ret->text.failed)
		error = error_memory("the page");
	if (error)
		http_say(ret, error == -EINVAL || error == -ERANGE || error == -ENOENT ? 400 : 500,
			error_text());
}

int page_open(struct page **ret, const char *const *paths, size_t count)
{
	struct page *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return error_memory("the page");
	error = access_init(&p->access);
	for (; !error && p->count < count; p->count += !error)
		error = recording_open(&p->recordings[p->count], paths[p->count]);
	if (error) {
		page_close(p);
		return error;
	}
	*ret = p;
	return 0;
}

void page_close(struct page *p)
{
	for (size_t n = 0; p && n < p->count; n++)
		recording_close(p->recordings[n]);
	free(p);
}

/* One after the other. */
static struct recording *unread(const struct page *p)
{
	for (size_t n = p->count; n--;)
		if (recording_has_more(p->recordings[n]))
			return p->recordings[n];
	return NULL;
}

bool page_has_work(const struct page *p)
{
	return unread(p);
}

int page_work(struct page *p)
{
	struct recording *r = unread(p);

	return r ? recording_step(r) : 0;
}

const char *page_path(const struct page *p)
{
	return p->access.prefix;
}
