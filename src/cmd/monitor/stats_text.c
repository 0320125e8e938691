// SPDX-License-Identifier: MIT
/* Tables with their numbers first, right-aligned, and the name last, which is cut where a terminal
 * is narrow. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/monitor/absent.h"
#include "cmd/monitor/stats.h"
#include "base/printable.h"
#include "base/text.h"
#include "monitor/line.h"

#define ROWS_SHOWN	40
#define PROCESSES_SHOWN 10
/* Below that, totals make room for names. */
#define FULL_COLUMNS_MIN    100
#define NAME_COLUMNS_MIN    14
#define HISTOGRAMS_SHOWN    4
#define HISTOGRAM_COUNT_MIN 10
#define BAR_COLUMNS_MAX	    40
#define POWERS		    44 /* 0, 1, 2 to 3, 4 to 7, ... */

struct text {
	const struct monitor_stats *stats;
	unsigned int width; /* 0: no limit */
	struct buf *out;
};

static uint64_t elapsed_of(const struct monitor_stats *s)
{
	return s->until_ns - s->from_ns;
}

/* Ends a line that is `used` columns long with a name. */
static void put_name(const struct text *t, unsigned int used, const char *name)
{
	unsigned int left = t->width > used + NAME_COLUMNS_MIN ? t->width - used : NAME_COLUMNS_MIN;

	text_fit(t->out, name, t->width ? left : 0);
	buf_putc(t->out, '\n');
}

static const char *in_unit(char cell[TEXT_CELL], enum monitor_unit unit, uint64_t value)
{
	struct buf b = BUF_INIT;

	if (unit == UNIT_NANOSECONDS)
		return text_duration(cell, value);
	if (unit == UNIT_COUNT)
		return text_count(cell, value);
	line_size(&b, value);
	snprintf(cell, TEXT_CELL, "%s", buf_text(&b));
	buf_release(&b);
	return cell;
}

/* ------------------------------------------------------------------ one table */

/* What a table shows of a row, by its series. */
struct table {
	const struct monitor_series *series;
	unsigned int by;
	bool measured; /* there are sums, and not only counts */
	bool busy, rate, total;
	bool second;	/* a row has a second label */
	uint64_t whole; /* what shares are of */
};

static unsigned int table_columns(const struct table *b)
{
	unsigned int columns = 10 + 2;

	if (!b->measured || b->total)
		columns += 9;
	if (b->total)
		columns += 11;
	if (b->measured)
		columns += b->series->histogram ? 5 * 10 : 2 * 10;
	return columns + (b->busy ? 9 : 0) + (b->rate ? 11 : 0);
}

static void put_table_heading(const struct text *t, const struct table *b)
{
	struct buf *out = t->out;

	buf_printf(out, "%10s", "count");
	if (b->total)
		buf_printf(out, " %10s", "total");
	if (!b->measured || b->total)
		buf_printf(out, " %8s", "share");
	if (b->measured && b->series->histogram)
		buf_printf(out, " %9s %9s %9s %9s %9s", "mean", "p50", "p90", "p99", "max");
	else if (b->measured)
		buf_printf(out, " %9s %9s", "mean", "max");
	if (b->rate)
		buf_printf(out, " %10s", "rate");
	if (b->busy)
		buf_printf(out, " %8s", "busy");
	buf_puts(out, "  ");
	if (b->by & (TOTAL_BY_PROCESS | TOTAL_BY_CLIENT))
		put_name(t, table_columns(b), "process");
	else if (b->second && b->series->label[0])
		buf_printf(out, "%s, %s\n", b->series->label[0], b->series->label[1]);
	else
		put_name(t, table_columns(b), b->series->label[0] ? b->series->label[0] : "");
}

static bool by_owner(const struct table *b)
{
	return b->by & (TOTAL_BY_PROCESS | TOTAL_BY_CLIENT);
}

static void name_of_row(const struct table *b, const struct total *row, struct buf *name)
{
	if (!by_owner(b)) {
		if (b->series->label[0])
			buf_puts(name, row->label[0][0] ? row->label[0] : "(not known)");
		if (b->second)
			buf_printf(name, ", %s", row->label[1][0] ? row->label[1] : "(not known)");
		if (!b->series->label[0])
			buf_puts(name, "all");
		return;
	}
	if (monitor_row_is_ended(row))
		buf_puts(name, "processes that ended");
	else
		buf_printf(name, "%s (%u)", row->comm, row->pid);
	if ((b->by & TOTAL_BY_CLIENT) && row->client)
		buf_printf(name, " client %" PRIu64, row->client);
}

static void put_measures(const struct text *t, const struct table *b, const struct total *row)
{
	static const double percents[] = {50, 90, 99};
	enum monitor_unit unit = b->series->unit;
	char cell[TEXT_CELL];

	buf_printf(t->out, " %9s", in_unit(cell, unit, row->count ? row->sum / row->count : 0));
	for (size_t i = 0; b->series->histogram && i < sizeof(percents) / sizeof(percents[0]); i++)
		buf_printf(t->out, " %9s", in_unit(cell, unit, total_percentile(row, percents[i])));
	/* Without a histogram the longest of an interval is not known. */
	if (b->series->histogram || t->stats->whole)
		buf_printf(t->out, " %9s", in_unit(cell, unit, row->max));
	else
		buf_printf(t->out, " %9s", "-");
}

static void put_rate(const struct text *t, const struct total *row)
{
	char cell[TEXT_CELL];

	if (row->sum)
		snprintf(
			cell, sizeof(cell), "%.2f Hz", 1e9 * (double)row->count / (double)row->sum);
	else
		snprintf(cell, sizeof(cell), "-");
	buf_printf(t->out, " %10s", cell);
}

static void put_row(const struct text *t, const struct table *b, const struct total *row)
{
	uint64_t part = b->measured ? row->sum : row->count;
	struct buf name = BUF_INIT;
	char cell[TEXT_CELL];

	buf_printf(t->out, "%10s", text_count(cell, row->count));
	if (b->total)
		buf_printf(t->out, " %10s", in_unit(cell, b->series->unit, row->sum));
	if (!b->measured || b->total)
		buf_printf(t->out, " %8s", text_percent(cell, part, b->whole));
	if (b->measured)
		put_measures(t, b, row);
	if (b->rate)
		put_rate(t, row);
	if (b->busy && by_owner(b) && monitor_row_is_ended(row))
		buf_printf(t->out, " %8s", "-");
	else if (b->busy)
		buf_printf(t->out, " %8s", text_percent(cell, row->busy_ns, elapsed_of(t->stats)));
	buf_puts(t->out, "  ");
	name_of_row(b, row, &name);
	put_name(t, table_columns(b), buf_text(&name));
	t->out->failed |= name.failed;
	buf_release(&name);
}

static void put_table(
	const struct text *t, struct table *b, const struct totals *rows, size_t limit)
{
	size_t shown = rows->rows.count < limit ? rows->rows.count : limit;

	b->whole = 0;
	b->second = false;
	vec_foreach (row, &rows->rows) {
		b->whole += b->measured ? row->sum : row->count;
		b->second = b->second || row->label[1][0];
	}
	put_table_heading(t, b);
	for (size_t i = 0; i < shown; i++)
		put_row(t, b, &rows->rows.items[i]);
	if (shown < rows->rows.count)
		buf_printf(t->out, "%10s and %zu more\n", "", rows->rows.count - shown);
}

/* ------------------------------------------------------------------ histograms */

static unsigned int power_of(unsigned int bucket)
{
	uint64_t low = total_bucket_low(bucket);

	return low ? 64 - (unsigned int)__builtin_clzll(low) : 0;
}

/* Sums by powers of two; how many of them are not 0. */
static unsigned int sum_powers(const struct total *row, uint64_t counts[POWERS],
	unsigned int *ret_first, unsigned int *ret_last)
{
	unsigned int filled = 0;

	memset(counts, 0, POWERS * sizeof(counts[0]));
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++)
		counts[power_of(i)] += row->buckets[i];
	for (unsigned int p = 0; p < POWERS; p++) {
		if (!counts[p])
			continue;
		*ret_first = filled ? *ret_first : p;
		*ret_last = p;
		filled++;
	}
	return filled;
}

static void put_bar(const struct text *t, uint64_t count, uint64_t most)
{
	unsigned int room =
		t->width > 45 && t->width - 45 < BAR_COLUMNS_MAX ? t->width - 45 : BAR_COLUMNS_MAX;
	unsigned int length = (unsigned int)((double)count * room / (double)most + 0.5);

	for (unsigned int i = 0; i < (count && !length ? 1 : length); i++)
		buf_putc(t->out, '#');
}

static void put_power(const struct text *t, enum monitor_unit unit, unsigned int power,
	uint64_t count, uint64_t most)
{
	char from[TEXT_CELL], to[TEXT_CELL], number[TEXT_CELL];
	uint64_t low = power ? (uint64_t)1 << (power - 1) : 0;

	buf_printf(t->out, "%12s to %-10s %11s  ", in_unit(from, unit, low),
		power == POWERS - 1 ? "more" : in_unit(to, unit, (uint64_t)1 << power),
		text_count(number, count));
	put_bar(t, count, most);
	while (t->out->size && t->out->data[t->out->size - 1] == ' ')
		t->out->data[--t->out->size] = '\0';
	buf_putc(t->out, '\n');
}

/* Not of a few values, nor where all of them are alike. */
static bool put_histogram(const struct text *t, const struct table *b, const struct total *row)
{
	uint64_t counts[POWERS], most = 0;
	unsigned int first = 0, last = 0, filled = sum_powers(row, counts, &first, &last);
	struct buf name = BUF_INIT;

	if (row->count < HISTOGRAM_COUNT_MIN || filled < 2)
		return false;
	name_of_row(b, row, &name);
	buf_printf(t->out, "\n%s: ", b->series->title);
	put_name(t, (unsigned int)strlen(b->series->title) + 2, buf_text(&name));
	buf_release(&name);
	for (unsigned int p = first; p <= last; p++)
		most = counts[p] > most ? counts[p] : most;
	for (unsigned int p = first; p <= last; p++)
		put_power(t, b->series->unit, p, counts[p], most);
	return true;
}

/* ------------------------------------------------------------------ series */

static void put_uncertain(const struct text *t, const struct totals *rows)
{
	uint64_t most = 0;
	char cell[TEXT_CELL];

	vec_foreach (row, &rows->rows)
		most = row->busy_uncertain_ns > most ? row->busy_uncertain_ns : most;
	if (most)
		buf_printf(t->out,
			"%10s busy may be up to %s more: what ended came far out of order\n", "",
			text_duration(cell, most));
	if (!monitor_busy_is_whole(t->stats))
		buf_printf(t->out, "%10s busy is too small: records were lost\n", "");
}

static bool has_processes(const struct totals *t, uint16_t series)
{
	vec_foreach (row, &t->rows)
		if (row->series == series && (row->pid || row->comm[0]))
			return true;
	return false;
}

static void put_processes(const struct text *t, struct table *b, uint16_t series)
{
	const struct totals *all = t->stats->totals;
	struct totals processes, clients;

	if (!b->series->by_process || !has_processes(all, series))
		return;
	if (totals_merge(all, series, TOTAL_BY_PROCESS, &processes)) {
		t->out->failed = true;
		return;
	}
	if (totals_merge(all, series, TOTAL_BY_CLIENT, &clients)) {
		totals_release(&processes);
		t->out->failed = true;
		return;
	}
	b->by = TOTAL_BY_PROCESS;
	buf_putc(t->out, '\n');
	put_table(t, b, &processes, PROCESSES_SHOWN);
	/* A process with several clients is listed once more, by them. */
	if (clients.rows.count > processes.rows.count) {
		bool busy = b->busy;

		b->by = TOTAL_BY_CLIENT;
		b->busy = false;
		buf_putc(t->out, '\n');
		put_table(t, b, &clients, PROCESSES_SHOWN);
		b->busy = busy;
	}
	totals_release(&processes);
	totals_release(&clients);
}

static uint64_t sum_for(const struct totals *t, uint16_t series, const struct total *like)
{
	uint64_t sum = 0;

	vec_foreach (row, &t->rows)
		if (row->series == series && !memcmp(row->label, like->label, sizeof(row->label)))
			sum += row->sum;
	return sum;
}

/* "45.2 % reclaimed of what was asked for: gfx" */
static void put_shares(const struct text *t, const struct table *b, const struct totals *rows)
{
	const struct monitor_series *s = b->series;
	char cell[TEXT_CELL];

	if (!s->share_of)
		return;
	vec_foreach (row, &rows->rows) {
		struct buf name = BUF_INIT;

		name_of_row(b, row, &name);
		buf_printf(t->out, "%10s %s%s",
			text_percent(
				cell, row->sum, sum_for(t->stats->totals, s->share_of - 1, row)),
			s->share_title ? s->share_title : "", s->label[0] ? ": " : "");
		printable_puts(t->out, s->label[0] ? buf_text(&name) : "");
		buf_putc(t->out, '\n');
		t->out->failed |= name.failed;
		buf_release(&name);
	}
}

static void put_series(const struct text *t, uint16_t series)
{
	const struct monitor_series *s = &t->stats->monitor->series[series];
	struct table b = {.series = s, .by = TOTAL_BY_LABELS, .busy = s->busy, .rate = s->rate};
	struct totals rows;
	size_t pictures = 0;
	bool second;

	if (totals_merge(t->stats->totals, series, TOTAL_BY_LABELS, &rows)) {
		t->out->failed = true;
		return;
	}
	if (!rows.rows.count)
		return;
	b.measured = totals_has_sums(t->stats->monitor, series);
	b.total = b.measured && (!s->histogram || !t->width || t->width >= FULL_COLUMNS_MIN);
	buf_printf(t->out, "\n%s\n", s->title);
	put_table(t, &b, &rows, ROWS_SHOWN);
	put_shares(t, &b, &rows);
	second = b.second;
	put_processes(t, &b, series);
	if (s->busy)
		put_uncertain(t, &rows);
	b.by = TOTAL_BY_LABELS;
	b.second = second;
	for (size_t i = 0; s->histogram && t->stats->whole && i < rows.rows.count &&
			   pictures < HISTOGRAMS_SHOWN;
		i++)
		pictures += put_histogram(t, &b, &rows.rows.items[i]);
	totals_release(&rows);
}

/* ------------------------------------------------------------------ events and losses */

static void put_header(const struct text *t)
{
	const struct monitor_stats *s = t->stats;
	char cell[TEXT_CELL];

	buf_printf(t->out, "%s: %s", s->monitor->name, text_duration(cell, elapsed_of(s)));
	if (!s->whole)
		buf_printf(t->out, " up to %s", text_duration(cell, s->until_ns - s->began_ns));
	if (s->pid)
		buf_printf(t->out, ", only process %u", s->pid);
	if (s->ring) {
		buf_printf(t->out, ", only %s ", s->monitor->ring ? s->monitor->ring : "ring");
		text_fit(t->out, s->ring, 0);
	}
	buf_putc(t->out, '\n');
}

static void put_events(const struct text *t)
{
	const struct monitor_stats *s = t->stats;
	uint64_t all = monitor_stats_seen(s);
	char count[TEXT_CELL], share[TEXT_CELL];

	if (!all) {
		buf_printf(
			t->out, "\nNothing happened: none of the events that are watched came.\n");
		return;
	}
	buf_printf(t->out, "\nEvents%s\n%10s %8s  event\n",
		s->pid || s->ring ? ", also of what was not asked for" : "", "count", "share");
	for (size_t e = 0; e < s->event_count; e++) {
		uint64_t seen = s->status[e].totals.seen;

		if (!seen)
			continue;
		buf_printf(t->out, "%10s %8s  ", text_count(count, seen),
			text_percent(share, seen, all));
		buf_printf(t->out, "%-12s ", s->monitor->events[e].name);
		put_name(t, 34, s->monitor->events[e].says ? s->monitor->events[e].says : "");
	}
}

/* A ring that was asked for, and which nobody has. */
static void put_ring(const struct text *t)
{
	const struct monitor_stats *s = t->stats;
	struct buf others = BUF_INIT;

	if (!s->ring || !monitor_stats_seen(s) ||
		monitor_rings_seen(s->monitor, s->totals, s->ring, &others)) {
		buf_release(&others);
		return;
	}
	buf_printf(t->out, "\nNothing was of %s '", s->monitor->ring ? s->monitor->ring : "ring");
	text_fit(t->out, s->ring, 0);
	buf_puts(t->out, "'. Seen were: ");
	text_fit(t->out, others.size ? others.data : "none", 0);
	buf_putc(t->out, '\n');
	t->out->failed |= others.failed;
	buf_release(&others);
}

/* One frame a line. */
static void put_stack(const struct text *t, const char *frames)
{
	struct buf frame = BUF_INIT;

	while (frames && *frames) {
		size_t length = strcspn(frames, "\n");

		buf_reset(&frame);
		buf_append(&frame, frames, length);
		buf_puts(&frame, "");
		buf_printf(t->out, "%26s", "");
		put_name(t, 26, buf_text(&frame));
		frames += length + (frames[length] != '\0');
	}
	t->out->failed |= frame.failed;
	buf_release(&frame);
}

static void put_left_row(const struct text *t, const struct left_row *r, bool sizes)
{
	struct buf name = BUF_INIT;
	char cell[TEXT_CELL];

	buf_printf(t->out, "%10s ", text_count(cell, r->count));
	if (sizes)
		buf_printf(t->out, "%10s ", in_unit(cell, UNIT_BYTES, r->sum));
	buf_printf(&name, "%s (%u)%s%s", r->comm, r->pid, r->label[0] ? ", " : "", r->label);
	put_name(t, sizes ? 22 : 11, buf_text(&name));
	put_stack(t, r->stack);
	if (r->not_kept)
		buf_printf(t->out, "%26s(there was no room to keep all of the stack)\n", "");
	if (r->unnamed)
		buf_printf(t->out, "%26s(addresses only: %s)\n", "", r->unnamed);
	t->out->failed |= name.failed;
	buf_release(&name);
}

static void put_left(const struct text *t, const struct left *l)
{
	const struct monitor_object_row *o = &t->stats->monitor->objects[l->object];
	size_t shown = l->rows.count < LEFT_ROWS_SHOWN ? l->rows.count : LEFT_ROWS_SHOWN;
	char count[TEXT_CELL], size[TEXT_CELL];

	if (l->unknown[0]) {
		buf_printf(t->out, "\n%s: not known, because %s\n", o->left, l->unknown);
		return;
	}
	if (!l->count)
		return;
	buf_printf(t->out, "\n%s: %s", o->left, text_count(count, l->count));
	buf_printf(t->out, o->by_stack ? ", %s\n" : "\n", in_unit(size, UNIT_BYTES, l->sum));
	for (size_t i = 0; i < shown; i++)
		put_left_row(t, &l->rows.items[i], o->by_stack);
	if (shown < l->rows.count)
		buf_printf(t->out, "%10s and %zu more\n", "", l->rows.count - shown);
	if (l->unreadable)
		buf_printf(t->out, "%10s file%s without names: damaged, too large or too slow\n",
			text_count(count, l->unreadable), l->unreadable == 1 ? "" : "s");
}

/* "12 RUN, 3 DONE" behind what it is; nothing when there is none. */
static bool put_loss(const struct text *t, size_t offset, const char *what)
{
	const struct monitor_stats *s = t->stats;
	struct buf events = BUF_INIT;
	uint64_t sum = 0;
	char cell[TEXT_CELL];

	for (size_t e = 0; e < s->event_count; e++) {
		uint64_t count = *(const uint64_t *)((const char *)&s->status[e] + offset);

		if (!count)
			continue;
		buf_printf(&events, "%s%s %s", events.size ? ", " : "", s->monitor->events[e].name,
			text_count(cell, count));
		sum += count;
	}
	if (sum)
		buf_printf(t->out, "%10s %s: %s\n", text_count(cell, sum), what, buf_text(&events));
	t->out->failed |= events.failed;
	buf_release(&events);
	return sum;
}

#define OF(member) offsetof(struct watch_event_status, member)

static void put_losses(const struct text *t)
{
	static const struct {
		size_t offset;
		const char *what;
	} losses[] = {
		{OF(totals.records), "records lost, because they came faster than they were read"},
		{OF(totals.objects), "not followed, because there was no room for more at a time"},
		{OF(totals.cells), "not counted, because there was no room for more rows"},
		{OF(totals.stacks), "without one of its stacks, because another has its place"},
		{OF(totals.unread), "with a field that could not be read"},
		{OF(missed),
			"missed, because the kernel was running another program at that moment"},
	};
	const struct monitor_stats *s = t->stats;
	bool any = false, untold = false;

	buf_puts(t->out, "\nLost\n");
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		any |= put_loss(t, losses[i].offset, losses[i].what);
	for (size_t e = 0; e < s->event_count; e++)
		untold |= s->status[e].attached && !s->status[e].missed_known;
	if (!any)
		buf_printf(t->out, "%10s\n", "nothing");
	if (untold)
		buf_printf(t->out,
			"%10s what this kernel itself missed is not known (it is from Linux 6.7 "
			"on)\n",
			"");
	put_loss(t, OF(totals.strangers), "of what began before, and so without a duration");
}

static void put_not_watched(const struct text *t)
{
	const struct monitor_stats *s = t->stats;
	const char *reasons[MONITOR_EVENTS] = {NULL};
	bool any = false;

	for (size_t e = 0; e < s->event_count; e++) {
		reasons[e] = monitor_why_not_watched(&s->status[e]);
		any |= reasons[e] != NULL;
	}
	buf_puts(t->out, any ? "\n" : "");
	monitor_absent_text(s->monitor, reasons, "not watched: ", t->out);
}

void monitor_stats_text(const struct monitor_stats *s, unsigned int width, struct buf *out)
{
	const struct text t = {s, width, out};

	put_header(&t);
	put_events(&t);
	put_ring(&t);
	for (uint16_t n = 0; s->monitor->series[n].name; n++)
		put_series(&t, n);
	vec_foreach (l, &s->left)
		put_left(&t, l);
	put_losses(&t);
	if (!s->whole)
		return;
	put_not_watched(&t);
	if (s->monitor->note)
		buf_printf(out, "\nnote: %s\n", s->monitor->note);
}
