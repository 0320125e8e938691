// SPDX-License-Identifier: MIT
/*
 * A picture of the probe `memheat`: a row for each page of memory that was accessed, a column for
 * each piece of time, and in a cell how many bytes. Where there are more of them than a picture
 * holds, 2, 4, ... neighbours are one row or column. Memory between pages that nobody accessed is
 * left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/text.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"

#define TOOL	     "memheat"
#define SUBJECT	     "the picture of memory"
#define PAGE_BITS    16 /* as the tool has them (memheat.bpf.c), of bytes */
#define TIME_BITS    27 /* and of nanoseconds */
#define ROWS_MAX     200
#define COLUMNS_MAX  200
#define LEFT	     150
#define TOP	     64
#define BOTTOM	     40
#define CELLS_WIDE   1000
#define ROW_HIGH_MIN 4
#define ROW_HIGH_MAX 16
#define CELLS_HIGH   800

struct cell {
	uint64_t page, time, bytes;
};

struct picture {
	struct vec(struct cell) cells; /* by page, then by time */
	uint64_t first_time, last_time, most;
	unsigned int page_shift, time_shift; /* how many neighbours are one */
	size_t rows;
};

static int by_place(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static int add_values(struct picture *p, const struct values *v)
{
	vec_foreach (e, &v->entries) {
		struct cell c = {.page = values_key_number(v, e, 0),
			.time = values_key_number(v, e, 8),
			.bytes = values_number(v, e, 0)};

		/* A recording may say anything. */
		if (c.page >> (64 - PAGE_BITS) || c.time >> (64 - TIME_BITS))
			continue;
		if (c.bytes && vec_push(&p->cells, c))
			return error_memory(SUBJECT);
	}
	return 0;
}

/* Of all objects that are the tool. */
static int collect(struct picture *p, const struct recorded_reading *found, bool *ret_any)
{
	int error = 0;

	for (uint32_t o = 0; o < found->plan.objects.count; o++) {
		const struct plan_object *object = &found->plan.objects.items[o];

		if (!object->tool || strcmp(object->name, TOOL) != 0)
			continue;
		*ret_any = true;
		for (uint32_t map = 0; !error && map < object->object->maps.count; map++) {
			struct values v = {0};

			if (strcmp(object->object->maps.items[map].name, "bytes") != 0)
				continue;
			error = values_read(&v, &found->server, o, map, VALUES_ANY);
			error = error ?: add_values(p, &v);
			values_release(&v);
		}
	}
	return error;
}

/* A recording may say anything: at most what there is. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Neighbours that are one cell now. */
static void merge(struct picture *p, unsigned int page_shift, unsigned int time_shift)
{
	size_t kept = 0;

	vec_foreach (c, &p->cells) {
		c->page >>= page_shift;
		c->time >>= time_shift;
	}
	if (p->cells.count)
		qsort(p->cells.items, p->cells.count, sizeof(*p->cells.items), by_place);
	for (size_t i = 0; i < p->cells.count; i++) {
		struct cell *last = kept ? &p->cells.items[kept - 1] : NULL;

		if (last && !by_place(last, &p->cells.items[i]))
			last->bytes = sum(last->bytes, p->cells.items[i].bytes);
		else
			p->cells.items[kept++] = p->cells.items[i];
	}
	p->cells.count = kept;
	p->page_shift += page_shift;
	p->time_shift += time_shift;
}

static size_t count_rows(const struct picture *p)
{
	size_t rows = 0;

	vec_foreach (c, &p->cells)
		rows += c == p->cells.items || c[-1].page != c->page;
	return rows;
}

static void arrange(struct picture *p)
{
	p->first_time = UINT64_MAX;
	vec_foreach (c, &p->cells) {
		p->first_time = c->time < p->first_time ? c->time : p->first_time;
		p->last_time = c->time > p->last_time ? c->time : p->last_time;
	}
	merge(p, 0, 0);
	while (count_rows(p) > ROWS_MAX)
		merge(p, 1, 0);
	while ((p->last_time >> p->time_shift) - (p->first_time >> p->time_shift) >= COLUMNS_MAX)
		merge(p, 0, 1);
	p->rows = count_rows(p);
	vec_foreach (c, &p->cells)
		p->most = c->bytes > p->most ? c->bytes : p->most;
}

static uint64_t column_ns(const struct picture *p)
{
	return 1ull << (TIME_BITS + p->time_shift);
}

/* From pale to dark; a little is seen, too. */
static void put_colour(struct output *o, uint64_t bytes, uint64_t most)
{
	double heat = 0.2 + 0.8 * (double)bytes / (double)most;

	output_printf(o, "#%02x%02x%02x", (unsigned int)(255 - heat * 75),
		(unsigned int)(235 - heat * 215), (unsigned int)(205 - heat * 175));
}

static void put_text(struct output *o, int x, int y, const char *style, const char *text)
{
	struct buf escaped = BUF_INIT;

	text_xml(&escaped, text, strlen(text));
	output_printf(o, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, style, buf_text(&escaped));
	buf_release(&escaped);
}

static void put_head(const struct picture *p, struct output *o, const char *title, bool simulated)
{
	char page[TEXT_CELL], time[TEXT_CELL], most[TEXT_CELL];
	struct buf line = BUF_INIT;

	put_text(o, LEFT, 24, " font-size=\"17\"", title);
	buf_printf(&line, "bytes accessed by page of %s and piece of %s; darkest: %s%s",
		text_bytes(page, 1ull << (PAGE_BITS + p->page_shift)),
		text_duration(time, column_ns(p)), text_bytes(most, p->most),
		simulated ? "; simulated GPU" : "");
	put_text(o, LEFT, 46, "", buf_text(&line));
	buf_release(&line);
}

static void put_cells(const struct picture *p, struct output *o, double wide, double high)
{
	uint64_t first = p->first_time >> p->time_shift;
	char bytes[TEXT_CELL], time[TEXT_CELL];
	size_t row = 0, labelled = 0;

	vec_foreach (c, &p->cells) {
		bool is_new = c == p->cells.items || c[-1].page != c->page;
		uint64_t address = c->page << (PAGE_BITS + p->page_shift);
		double y;

		row += is_new && c != p->cells.items;
		y = TOP + (double)row * high;
		/* Letters are 12 high. */
		if (is_new && (!row || (double)(row - labelled) * high >= 14)) {
			output_printf(o,
				"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">0x%" PRIx64
				"</text>\n",
				LEFT - 6, y + high / 2 + 4, address);
			labelled = row;
		}
		output_printf(o,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"",
			LEFT + (double)(c->time - first) * wide, y, wide, high);
		put_colour(o, c->bytes, p->most);
		output_printf(o, "\"><title>0x%" PRIx64 ": %s, from %s on</title></rect>\n",
			address, text_bytes(bytes, c->bytes),
			text_duration(time, (c->time - first) * column_ns(p)));
	}
}

static void put_picture(
	const struct picture *p, struct output *o, const char *title, bool simulated)
{
	uint64_t columns = (p->last_time >> p->time_shift) - (p->first_time >> p->time_shift) + 1;
	double wide = (double)CELLS_WIDE / (double)columns;
	double high = (double)CELLS_HIGH / (double)p->rows;
	char time[TEXT_CELL];
	int end;

	high = high > ROW_HIGH_MAX ? ROW_HIGH_MAX : high < ROW_HIGH_MIN ? ROW_HIGH_MIN : high;
	end = TOP + (int)((double)p->rows * high + 0.5);
	output_printf(o,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		LEFT + CELLS_WIDE + 12, end + BOTTOM, LEFT + CELLS_WIDE + 12, end + BOTTOM);
	put_head(p, o, title, simulated);
	put_cells(p, o, wide, high);
	put_text(o, LEFT, end + 18, "", "0");
	put_text(o, LEFT + CELLS_WIDE, end + 18, " text-anchor=\"end\"",
		text_duration(time, columns * column_ns(p)));
	output_puts(o, "</svg>\n");
}

static int write_found(struct picture *p, const struct export_input *input, const char *path,
	const struct export_options *options, struct output *o)
{
	struct recorded_reading found;
	const char *command = profile_meta(input->reader, META_COMMAND);
	bool any = false;
	int error = recorded_read(&found, input->reader, NULL, NULL);

	if (error)
		return error;
	error = collect(p, &found, &any);
	recorded_reading_release(&found);
	if (!error && !any)
		error = error_set(-ENOENT,
			"nothing in '%s' says which memory was accessed when: 'xpuprof record "
			"--probe memheat' records it",
			path);
	if (!error && !p->cells.count)
		error = error_set(-ENOENT, "no access to memory was seen in '%s'", path);
	if (error)
		return error;
	arrange(p);
	put_picture(p, o,
		options->title ? options->title
		: command      ? command
			       : TOOL,
		view_is_simulated(input->reader));
	return 0;
}

int export_memheat(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct export_input input;
	struct picture p = {0};
	int error = export_open(&input, path, options);

	if (error)
		return error;
	error = export_read_all(&input, ret);
	error = error ?: write_found(&p, &input, path, options, o);
	vec_release(&p.cells);
	export_close(&input);
	return error;
}
