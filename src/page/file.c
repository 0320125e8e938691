// SPDX-License-Identifier: MIT
#include "page/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/nice.h"
#include "page/about.h"
#include "page/ages.h"
#include "page/assets.h"
#include "page/axis_json.h"
#include "page/file_events.h"
#include "page/file_heats.h"
#include "page/file_sums.h"
#include "page/in_script.h"
#include "page/pictures.h"
#include "report/report.h"
#include "view/timeline/lanes.h"

#define LIMIT_BYTES ((size_t)50 * 1000 * 1000)
#define OTHER_BYTES 1000 /* names of the parts, longer numbers */
#define SLICES_MIN  16
#define COLUMNS_MAX 16384
#define COLUMNS_MIN 256
#define CELLS_MAX   4000000
#define BOXES_MAX   500000
#define NODES_PART  8	 /* of the limit that nodes of flame graphs may take, where it is met */
#define NODE_BYTES  12	 /* about */
#define FRAME_BYTES 2000 /* with the sums of all slices, about */
#define HEATS_PART  64	 /* of the limit that heatmaps by row may take, at most */
/* Of the limit that single events may take, in bytes for one: a fourth, and an eighth. */
#define ITEM_BYTES   (4 * 24)
#define END_BYTES    (8 * 24)
#define ITEMS_MAX    200000
#define ENDS_MAX     100000
#define LANES_MOST   1000 /* of each class; a page draws fewer */
#define REPORT_WIDTH 160
#define REPORT_ROWS  20
#define REPORT_GAPS  5

struct page_file {
	const char *path;
	const struct export_options *options;
	struct recording *recording;
	struct lanes lanes;    /* the rows that are in it */
	size_t rows, left_out; /* how many, and how many are not */
	struct ages columns;
	struct file_sums *nodes;
	struct file_slices slices;
	size_t sums_bytes; /* before they are written */
	struct buf head, about, axis, sums, heats, events, pictures, report, end;
	size_t frames_max; /* of flame graphs; 0: all */
	bool has_pictures, without_pictures, without_events;
};

static void release(struct page_file *f)
{
	file_sums_free(f->nodes);
	lanes_release(&f->lanes);
	recording_close(f->recording);
	buf_release(&f->head);
	buf_release(&f->about);
	buf_release(&f->axis);
	buf_release(&f->sums);
	buf_release(&f->heats);
	buf_release(&f->events);
	buf_release(&f->pictures);
	buf_release(&f->report);
	buf_release(&f->end);
}

/* ------------------------------------------------------------------ parts */

static size_t limit_of(const struct page_file *f)
{
	return f->options->limit_bytes ?: LIMIT_BYTES;
}

/* As in the page's list of them (about.h). */
static int choose_rows(struct page_file *f)
{
	const struct timeline_rows *rows = &recording_now(f->recording)->axis.rows;
	const struct lanes_wanted wanted = {.of = {true, true, true, true}, .most = LANES_MOST};
	int error = lanes_choose(&f->lanes, rows, &wanted);

	for (size_t n = 0; !error && n < rows->items.count; n++)
		f->rows += f->lanes.rows[n];
	f->left_out = rows->items.count - f->rows;
	return error;
}

/* As fine as all rows can be held. */
static void choose_columns(struct page_file *f)
{
	const struct recording_reading *g = recording_now(f->recording);
	uint64_t rows = f->rows + 1;
	uint64_t most = CELLS_MAX / rows < COLUMNS_MAX ? CELLS_MAX / rows : COLUMNS_MAX;

	f->columns.width_ns = g->axis.width_ns;
	while ((g->end_ns - g->start_ns) / f->columns.width_ns >=
		(most > COLUMNS_MIN ? most : COLUMNS_MIN))
		f->columns.width_ns *= nice_factor(f->columns.width_ns);
}

/* Of older parts, where several columns are one, it has to be two of these long. */
static bool keeps_box(const void *file, const struct timeline_box *box)
{
	const struct page_file *f = file;
	uint64_t start_ns = recording_now(f->recording)->start_ns;
	uint64_t since_ns = box->begin_ns > start_ns ? box->begin_ns - start_ns : 0;
	uint64_t column = since_ns / f->columns.width_ns;
	uint32_t first = column < f->columns.count ? (uint32_t)column : f->columns.count - 1;

	return box->end_ns - box->begin_ns >=
	       2 * f->columns.width_ns * ages_together(&f->columns, first);
}

/* All, where that has a chance to fit. */
static void choose_frames(struct page_file *f)
{
	size_t most = limit_of(f) / FRAME_BYTES;

	if (recording_now(f->recording)->sums.all.keys.codes.items.count > most)
		f->frames_max = most > 1 ? most : 1;
}

static struct timeline_wanted wanted_axis(const struct page_file *f)
{
	const struct recording_reading *g = recording_now(f->recording);

	return (struct timeline_wanted){.from_ns = g->start_ns,
		.to_ns = g->start_ns + f->columns.count * f->columns.width_ns,
		.columns = f->columns.count,
		.boxes_max = BOXES_MAX};
}

/* Of all rows together, where some are not in the file. */
static int write_kinds(struct page_file *f, struct json_writer *w)
{
	const struct timeline_wanted wanted = wanted_axis(f);
	struct timeline t;
	int error = f->left_out ? recording_axis(f->recording, &t, &wanted) : 0;

	if (error || !f->left_out)
		return error;
	axis_json_kinds(w, &t, &f->columns);
	timeline_release(&t);
	return 0;
}

static int write_axis(struct page_file *f, struct json_writer *w)
{
	const struct recording_reading *g = recording_now(f->recording);
	struct timeline_wanted wanted = wanted_axis(f);
	struct timeline t;
	int error;

	wanted.rows = f->lanes.rows;
	wanted.row_count = g->axis.rows.items.count;
	error = recording_axis(f->recording, &t, &wanted);
	if (error)
		return error;
	error = f->columns.level ? timeline_fold(&t, keeps_box, f) : 0;
	error = error ?: axis_json_contents(w, &t, g->reader, g->start_ns, &f->columns);
	timeline_release(&t);
	return error;
}

static int make_axis(struct page_file *f)
{
	const struct recording_reading *g = recording_now(f->recording);
	struct buf text = BUF_INIT;
	struct json_writer w = {.out = &text};
	int error;

	f->columns.count = (uint32_t)((g->end_ns - g->start_ns - 1) / f->columns.width_ns + 1);
	json_begin(&w, NULL, '{');
	ages_json(&w, "ages", &f->columns);
	error = write_axis(f, &w) ?: write_kinds(f, &w);
	json_end(&w, '}');
	return in_script(&text, &f->axis) ?: error;
}

static int measure_sums(struct page_file *f, uint32_t joined)
{
	file_sums_join(f->nodes, joined, &f->slices);
	return file_sums_size(f->nodes, &f->slices, &f->sums_bytes);
}

/* Which frames there are: what slices have of them is written when all fits. */
static int make_sums(struct page_file *f)
{
	struct view_options options = f->options->view;
	int error;

	options.node_max = f->frames_max;
	file_sums_free(f->nodes);
	f->nodes = NULL;
	error = file_sums_new(&f->nodes, recording_now(f->recording), &options);
	return error ?: measure_sums(f, f->slices.joined ?: 1);
}

static int write_sums(struct page_file *f)
{
	int error = file_sums_json(f->nodes, &f->slices, &f->sums);

	return error || !f->sums.failed ? error : error_memory("the page");
}

static int make_heats(struct page_file *f)
{
	struct buf text = BUF_INIT;
	int error = file_heats_json(&text, recording_now(f->recording), limit_of(f) / HEATS_PART);

	return in_script(&text, &f->heats) ?: error;
}

static int make_events(struct page_file *f)
{
	size_t limit = f->without_events ? 0 : limit_of(f);
	struct file_events_wanted wanted = {
		.items_max = limit / ITEM_BYTES < ITEMS_MAX ? limit / ITEM_BYTES : ITEMS_MAX,
		.ends_max = limit / END_BYTES < ENDS_MAX ? limit / END_BYTES : ENDS_MAX,
		.is_box = keeps_box,
		.rows = f->lanes.rows,
		.arg = f,
	};
	struct buf text = BUF_INIT;
	int error = file_events_json(&text, recording_now(f->recording), &wanted);

	return in_script(&text, &f->events) ?: error;
}

static int add_picture(struct page_file *f, struct json_writer *w, const struct view *view)
{
	struct export_options options = *f->options;
	struct http_answer a = {0};
	int error;

	options.view.view = view;
	options.scripted = true;
	options.svg_node_max = f->frames_max;
	recording_known(f->recording, &options.view.range, &options.view);
	error = picture_flame(f->path, &options, &a);
	if (!error && !strncmp(a.type, "image/", 6)) {
		json_key(w, view->name);
		json_document(w->out, buf_text(&a.text), a.text.size);
	}
	buf_release_for(&a.text, w->out);
	return error;
}

static int make_pictures(struct page_file *f)
{
	struct buf text = BUF_INIT;
	struct json_writer w = {.out = &text};
	const struct view *view;
	int error = 0;

	json_begin(&w, NULL, '{');
	for (size_t n = 0; !error && (view = view_at(n)); n++)
		if (!n || !f->without_pictures)
			error = add_picture(f, &w, view);
	json_end(&w, '}');
	return in_script(&text, &f->pictures) ?: error;
}

static int make_report(struct page_file *f)
{
	struct report_wanted wanted = {
		.top = REPORT_ROWS, .top_gaps = REPORT_GAPS, .width = REPORT_WIDTH};
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct report *r;
	int error;

	recording_known(f->recording, &wanted.range, NULL);
	error = report_open(&r, f->path, &wanted);
	if (error)
		return error;
	report_text(r, &text);
	report_close(r);
	json_document(&json, buf_text(&text), text.size);
	buf_release_for(&text, &json);
	return in_script(&json, &f->report);
}

static int make_about(struct page_file *f)
{
	const struct about_state state = {
		.column_ns = f->columns.width_ns, .whole = true, .lanes_most = LANES_MOST};
	struct buf text = BUF_INIT;
	int error = about_json(&text, recording_now(f->recording), &state);

	return in_script(&text, &f->about) ?: error;
}

/* ------------------------------------------------------------------ all of them */

static size_t size_of(const struct page_file *f)
{
	return f->head.size + f->about.size + f->axis.size + f->sums_bytes + f->heats.size +
	       f->events.size + f->pictures.size + f->report.size + f->end.size + OTHER_BYTES;
}

/* What a part of so many bytes may have if all others stay. */
static size_t room_for(const struct page_file *f, size_t bytes)
{
	size_t others = size_of(f) - bytes, limit = limit_of(f);

	return limit > others ? limit - others : 0;
}

/* Its older parts coarser; or else all of it. */
static int make_axis_smaller(struct page_file *f)
{
	if (!ages_grow(&f->columns, f->axis.size, room_for(f, f->axis.size)))
		f->columns.width_ns *= nice_factor(f->columns.width_ns);
	return make_axis(f) ?: 1;
}

/* Of the smallest frames the time is left. The picture of all says that. */
static int make_frames_fewer(struct page_file *f)
{
	size_t nodes = file_sums_nodes_bytes(f->nodes) / NODE_BYTES;

	f->frames_max = (f->frames_max && f->frames_max < nodes ? f->frames_max : nodes) / 2;
	return (f->has_pictures ? make_pictures(f) : 0) ?: make_sums(f);
}

/* So too; 0: nothing can be. */
static int make_sums_smaller(struct page_file *f)
{
	const struct ages *ages = &f->slices.ages;
	uint32_t joined = f->slices.joined;

	if (file_sums_nodes_bytes(f->nodes) > limit_of(f) / NODES_PART && f->frames_max != 1)
		return make_frames_fewer(f) ?: 1;
	if (!ages_grow(&f->slices.ages, f->sums_bytes, room_for(f, f->sums_bytes))) {
		if (ages->count <= SLICES_MIN)
			return 0;
		joined *= (uint32_t)nice_factor(ages->width_ns);
	}
	return measure_sums(f, joined) ?: 1;
}

/* Makes the largest part smaller: 1, or 0 where nothing can be. */
static int make_smaller(struct page_file *f)
{
	bool longer_columns = f->columns.count > COLUMNS_MIN;
	int more;

	if (f->axis.size > f->sums_bytes && longer_columns)
		return make_axis_smaller(f);
	more = make_sums_smaller(f);
	if (more)
		return more;
	if (!f->without_events) {
		f->without_events = true;
		return make_events(f) ?: 1;
	}
	if (f->without_pictures)
		return 0;
	f->without_pictures = true;
	return (f->has_pictures ? make_pictures(f) : 0) ?: 1;
}

static int make_fitting(struct page_file *f)
{
	int more = 1;

	while (size_of(f) > limit_of(f) && more > 0)
		more = make_smaller(f);
	return more < 0 ? more : 0;
}

static int too_large(size_t bytes)
{
	return error_set(
		-EFBIG, "the page has %zu MB at least, more than --limit", bytes / 1000000 + 1);
}

/* Names of all rows, which nothing makes smaller. */
static int make_names(struct page_file *f)
{
	int error = make_about(f);
	size_t least = f->head.size + f->about.size + f->end.size;

	return error ?: least > limit_of(f) ? too_large(least) : 0;
}

static int read_recording(struct page_file *f)
{
	int error = recording_open(&f->recording, f->path) ?: recording_finish(f->recording);

	if (!error && recording_now(f->recording)->sums.stackless)
		return error_set(-EFBIG,
			"there are too many different stacks for a page with all of its data, "
			"which 'xpuprof view' shows");
	return error;
}

/* Which frames pictures have depends on how many fit. */
static int make_parts(struct page_file *f)
{
	int error = read_recording(f);

	if (error)
		return error;
	error = choose_rows(f);
	if (error)
		return error;
	choose_columns(f);
	choose_frames(f);
	assets_file_head(&f->head);
	assets_file_end(&f->end);
	error = make_names(f);
	error = error ?: make_axis(f);
	error = error ?: make_heats(f);
	error = error ?: make_report(f);
	error = error ?: make_events(f);
	error = error ?: make_sums(f);
	error = error ?: make_fitting(f);
	error = error ?: make_pictures(f);
	f->has_pictures = true;
	error = error ?: make_fitting(f);
	if (!error && size_of(f) > limit_of(f))
		return too_large(size_of(f));
	error = error ?: write_sums(f);
	return error ?: make_about(f);
}

static void write_part(struct output *o, const char *name, const struct buf *part)
{
	output_puts(o, name);
	output_write(o, part->data, part->size);
}

static int write(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct page_file f = {.path = path, .options = options};
	int error = make_parts(&f);

	if (!error) {
		write_part(o, "", &f.head);
		write_part(o, "{\"about\":", &f.about);
		write_part(o, ",\n\"axis\":", &f.axis);
		write_part(o, ",\n\"sums\":", &f.sums);
		write_part(o, ",\n\"heats\":", &f.heats);
		write_part(o, ",\n\"events\":", &f.events);
		write_part(o, ",\n\"pictures\":", &f.pictures);
		write_part(o, ",\n\"report\":", &f.report);
		write_part(o, "}", &f.end);
		error = f.head.failed || f.end.failed ? error_memory("the page") : 0;
		export_note_input(
			ret, &(struct export_input){.reader = recording_now(f.recording)->reader});
	}
	release(&f);
	return error;
}

const struct exporter page_file_exporter = {"html", ".html",
	"the page of xpuprof view with its data, as one file", EXPORT_HEEDS_FRAMES, write};
