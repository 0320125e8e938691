// SPDX-License-Identifier: MIT
#include "top/screen_internal.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "view/names/device.h"

#define BAR_COLUMNS 20

static const char *const sort_names[SCREEN_SORTS] = {"time", "cpu", "gpu", "count"};

const char *screen_sort_name(enum screen_sort sort)
{
	return sort_names[sort < SCREEN_SORTS ? sort : SCREEN_BY_TIME];
}

int screen_sort_parse(const char *text, enum screen_sort *ret)
{
	for (unsigned int i = 0; i < SCREEN_SORTS; i++)
		if (!strcmp(text, sort_names[i])) {
			*ret = i;
			return 0;
		}
	return error_set(-EINVAL, "takes time, cpu, gpu or count");
}

/* ------------------------------------------------------------------ lines */

static const char *const styles[] = {
	[STYLE_TITLE] = "\033[1m",
	[STYLE_HEADING] = "\033[7m",
	[STYLE_BUSY] = "\033[32m",
	[STYLE_WARNING] = "\033[33m",
};

void canvas_line(struct canvas *c, enum canvas_style style, struct buf *line)
{
	const struct screen_options *o = c->options;
	bool styled = o->colour && style != STYLE_PLAIN;

	c->out->failed |= line->failed;
	if (!o->rows || c->rows_left) {
		if (styled)
			buf_puts(c->out, styles[style]);
		text_fit(c->out, buf_text(line), o->columns);
		buf_puts(c->out, styled ? "\033[0m\n" : "\n");
		c->rows_left -= o->rows > 0;
	}
	buf_release(line);
}

void canvas_share(struct buf *line, const struct moment *m, uint64_t ns)
{
	char share[TEXT_CELL];

	buf_printf(line, "%8s", ns ? text_percent(share, ns, m->to_ns - m->from_ns) : "");
}

void canvas_sampled_share(struct buf *line, const struct moment *m, uint64_t ns, uint64_t samples)
{
	char share[TEXT_CELL];

	buf_printf(line, "%8s",
		ns ? text_sampled_percent(share, ns, m->to_ns - m->from_ns, samples) : "");
}

/* ------------------------------------------------------------------ above the tables */

static void put_totals(struct canvas *c)
{
	const struct moment *m = c->moment;
	const struct summary *s = m->report ? m->report->summary : NULL;
	uint64_t length_ns = m->to_ns - m->from_ns;
	char cells[3][TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "xpuprof top: %s of %s", text_duration(cells[0], length_ns),
		c->options->subject);
	if (s)
		buf_printf(&line, ", CPU %s, GPU work %s",
			text_sampled_percent(cells[1], s->cpu_ns, length_ns, s->samples),
			text_percent(cells[2], s->gpu_ns, length_ns));
	else
		buf_puts(&line, ", nothing was seen");
	canvas_line(c, STYLE_TITLE, &line);
}

static const struct gap_device *gaps_of(const struct gaps *g, uint32_t device)
{
	if (g)
		vec_foreach (d, &g->devices)
			if (d->device == device)
				return d;
	return NULL;
}

/* The longest cause that is not in `done`; GAP_CAUSES: there is none. */
static unsigned int next_cause(const uint64_t ns[GAP_CAUSES], unsigned int done)
{
	unsigned int best = GAP_CAUSES;

	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		if (ns[i] && !(done & 1u << i) && (best == GAP_CAUSES || ns[i] > ns[best]))
			best = i;
	return best;
}

/* Why it was idle, as shares of the moment; what no work follows has no cause. */
static void put_causes(
	const struct moment *m, const struct gap_device *d, uint64_t idle_ns, struct buf *line)
{
	uint64_t ns[GAP_CAUSES] = {0}, explained_ns = 0;
	uint64_t length_ns = m->to_ns - m->from_ns;
	unsigned int done = 0, cause;
	const char *before = "  idle: ";
	char share[TEXT_CELL];

	for (unsigned int i = 0; d && i < GAP_CAUSES; i++)
		ns[i] = d->many[i].total_ns + d->once[i].total_ns;
	while ((cause = next_cause(ns, done)) < GAP_CAUSES) {
		buf_printf(line, "%s%s %s", before, text_percent(share, ns[cause], length_ns),
			gap_cause_text(cause));
		done |= 1u << cause;
		explained_ns += ns[cause];
		before = ", ";
	}
	if (idle_ns > explained_ns)
		buf_printf(line, "%s%s no work asked for", before,
			text_percent(share, idle_ns - explained_ns, length_ns));
}

static void put_bar(struct buf *line, uint64_t busy_ns, uint64_t length_ns)
{
	unsigned int full = (unsigned int)((double)busy_ns / (double)length_ns * BAR_COLUMNS + 0.5);

	buf_puts(line, "  [");
	for (unsigned int i = 0; i < BAR_COLUMNS; i++)
		buf_putc(line, i < full ? '#' : '.');
	buf_putc(line, ']');
}

static void put_device(
	struct canvas *c, const struct device_numbers *numbers, const struct summary_device *d)
{
	const struct moment *m = c->moment;
	const struct profile_reader *r = m->report->reader;
	const struct profile_device *device = profile_device(r, d->device);
	uint64_t length_ns = m->to_ns - m->from_ns;
	char share[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "GPU %u %s: ", device_number(numbers, r, d->device),
		device ? profile_string(r, device->name, NULL) : "?");
	if (m->report->summary->estimated) {
		buf_printf(&line,
			"work %s; when it was busy, and why not, is not known with --overhead",
			text_percent(share, d->work_ns, length_ns));
	} else {
		uint64_t busy_ns = d->busy_ns < length_ns ? d->busy_ns : length_ns;

		buf_printf(&line, "busy %s", text_percent(share, busy_ns, length_ns));
		put_bar(&line, busy_ns, length_ns);
		put_causes(m, gaps_of(m->report->gaps, d->device), length_ns - busy_ns, &line);
	}
	canvas_line(c, STYLE_BUSY, &line);
}

static void put_devices(struct canvas *c)
{
	const struct report *r = c->moment->report;
	struct device_numbers numbers;

	if (!r || !r->summary->devices.count)
		return;
	c->out->failed |= device_numbers_init(&numbers, r->reader) != 0;
	vec_foreach (d, &r->summary->devices)
		put_device(c, &numbers, d);
}

static void put_lines(struct canvas *c, enum canvas_style style, const char *text)
{
	while (text && *text) {
		struct buf line = BUF_INIT;
		size_t size = strcspn(text, "\n");

		buf_append(&line, text, size);
		buf_putc(&line, '\0');
		if (size)
			canvas_line(c, style, &line);
		buf_release(&line);
		text += size + (text[size] == '\n');
	}
}

static void put_losses(struct canvas *c)
{
	const struct report *r = c->moment->report;
	uint64_t lost = 0;
	char count[TEXT_CELL];
	struct buf line = BUF_INIT;

	for (unsigned int i = 1; r && i < LOSS_KINDS; i++)
		if (profile_loss_is_event(i))
			lost += profile_loss_count(r->reader, i);
	if (!lost)
		return;
	buf_printf(&line, "%s events were lost since the beginning", text_count(count, lost));
	canvas_line(c, STYLE_WARNING, &line);
}

/* ------------------------------------------------------------------ tables */

static void put_table(struct canvas *c, const struct screen_table *t, size_t rows)
{
	struct buf headings = BUF_INIT;

	if (!rows)
		return;
	if (!c->options->rows)
		buf_putc(c->out, '\n');
	buf_puts(&headings, t->headings);
	canvas_line(c, STYLE_HEADING, &headings);
	for (size_t n = 0; n < rows; n++) {
		struct buf line = BUF_INIT;

		t->row(c->moment, n, &line);
		canvas_line(c, STYLE_PLAIN, &line);
	}
}

/* Each gets an equal part of what those before it have left, with its headings. */
static void put_tables(struct canvas *c)
{
	const struct moment *m = c->moment;

	for (size_t i = 0; m->report && i < SCREEN_TABLES; i++) {
		const struct screen_table *t = &screen_tables[i];
		size_t rows = t->count(m), room = c->rows_left / (SCREEN_TABLES - i);

		if (c->options->rows)
			rows = rows < room ? rows : room ? room - 1 : 0;
		else if (c->options->top && rows > c->options->top)
			rows = c->options->top;
		put_table(c, t, rows);
	}
}

void screen_draw(struct moment *m, const struct screen_options *o, struct buf *out)
{
	struct canvas c = {.moment = m, .options = o, .out = out, .rows_left = o->rows};

	screen_tables_sort(m, o->sort);
	put_totals(&c);
	put_lines(&c, STYLE_PLAIN, o->hint);
	put_devices(&c);
	put_lines(
		&c, STYLE_WARNING, m->report ? profile_meta(m->report->reader, META_UNSEEN) : NULL);
	put_lines(&c, STYLE_WARNING, o->messages);
	put_losses(&c);
	put_tables(&c);
}
