// SPDX-License-Identifier: MIT
/*
 * `xpuprof report --counters`: what hardware counters said of each GPU, a row each, and of the
 * kernels that ran alone, a column each: as many as fit, in the order of counter_kinds.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "view/names/name.h"
#include "report/report.h"
#include "base/text.h"
#include "view/names/device.h"
#include "view/names/kernel_name.h"

#define FIXED_COLUMNS 19 /* GPU time, alone */
#define VALUE_COLUMNS 11
#define NAME_MIN      14

#define SHORTEST_INTERVAL_NS 100000

static const char *column_words(const struct report *r, const struct counter_column *c)
{
	return c->kind >= 0 ? counter_kind_at((size_t)c->kind)->words
			    : profile_string(r->reader,
				      profile_counter(r->reader, c->counter)->name, NULL);
}

static const char *column_heading(const struct report *r, const struct counter_column *c)
{
	return c->kind >= 0 ? counter_kind_at((size_t)c->kind)->heading : column_words(r, c);
}

/* What is out of all range can only come from a damaged file. */
static const char *put_value(char cell[TEXT_CELL], const struct counter_column *c,
	const struct counter_sum *s, double value)
{
	enum counter_unit unit =
		c->kind >= 0 ? counter_kind_at((size_t)c->kind)->unit : COUNTER_RATIO;

	if (!s || !s->ns)
		snprintf(cell, TEXT_CELL, "-");
	else if (unit == COUNTER_BYTES_PER_SECOND && value >= 0 && value < 1e18)
		text_bandwidth(cell, (uint64_t)value, NS_PER_SECOND);
	else
		snprintf(cell, TEXT_CELL,
			unit == COUNTER_PERCENT && fabs(value) < 1e5 ? "%.1f %%" : "%.4g", value);
	return cell;
}

static void put_device(const struct report *r, struct buf *out,
	const struct device_numbers *numbers, const struct counter_device *d)
{
	const struct profile_device *device = profile_device(r->reader, d->device);
	char sampled[TEXT_CELL], busy[TEXT_CELL], count[TEXT_CELL];

	buf_printf(out, "\nGPU %u ", device_number(numbers, r->reader, d->device));
	text_fit(out, profile_string(r->reader, device->name, NULL), 0);
	buf_printf(out, ": %s in %s samples, of which %s with work\n",
		text_duration(sampled, d->sampled_ns), text_count(count, d->samples),
		text_duration(busy, d->busy_ns));
	buf_printf(out, "%11s%11s%11s  %s\n", "average", "with work", "highest", "counter");
	for (size_t n = 0; n < r->counters->columns.count; n++) {
		const struct counter_column *c = &r->counters->columns.items[n];
		char all[TEXT_CELL], with_work[TEXT_CELL], highest[TEXT_CELL];

		if (!d->all[n].ns)
			continue;
		buf_printf(out, "%11s%11s%11s  ",
			put_value(all, c, &d->all[n], counter_sum_average(&d->all[n])),
			put_value(with_work, c, &d->busy[n], counter_sum_average(&d->busy[n])),
			put_value(highest, c, &d->all[n], d->all[n].highest));
		text_fit(out, column_words(r, c), 0);
		buf_putc(out, '\n');
	}
}

/* How many counters have room beside a name. */
static size_t columns_shown(const struct report *r)
{
	size_t count = r->counters->columns.count, room;

	if (!r->width)
		return count;
	room = r->width > FIXED_COLUMNS + 2 + NAME_MIN
		       ? (r->width - FIXED_COLUMNS - 2 - NAME_MIN) / VALUE_COLUMNS
		       : 0;
	return room < count ? room : count;
}

static void put_kernel(
	const struct report *r, struct buf *out, const struct counter_kernel *k, size_t columns)
{
	unsigned int used = FIXED_COLUMNS + (unsigned int)columns * VALUE_COLUMNS + 2;
	char cell[TEXT_CELL], share[TEXT_CELL];
	struct buf name = BUF_INIT;

	buf_printf(out, "%10s %8s", text_duration(cell, k->time_ns),
		text_percent(share, k->alone_ns, k->time_ns));
	for (size_t n = 0; n < columns; n++) {
		const struct counter_sum *s = k->sums ? &k->sums[n] : NULL;

		buf_printf(out, "%*s", VALUE_COLUMNS,
			put_value(cell, &r->counters->columns.items[n], s,
				s ? counter_sum_average(s) : 0));
	}
	buf_puts(out, "  ");
	kernel_readable(r->reader, k->name, &name);
	name_fit(out, buf_text(&name),
		!r->width		     ? 0
		: r->width > used + NAME_MIN ? r->width - used
					     : NAME_MIN);
	buf_putc(out, '\n');
	out->failed |= name.failed;
	buf_release(&name);
}

static void put_headings(const struct report *r, struct buf *out, size_t columns)
{
	buf_printf(out, "%10s %8s", "GPU time", "alone");
	for (size_t n = 0; n < columns; n++) {
		struct buf heading = BUF_INIT;

		text_fit(&heading, column_heading(r, &r->counters->columns.items[n]),
			VALUE_COLUMNS - 1);
		buf_printf(out, "%*s", VALUE_COLUMNS, buf_text(&heading));
		out->failed |= heading.failed;
		buf_release(&heading);
	}
	buf_puts(out, "  kernel\n");
}

/* Those that no interval had for itself. */
static void put_never_alone(const struct report *r, struct buf *out, size_t count)
{
	uint64_t time_ns = 0, interval_ns = profile_meta_number(r->reader, META_COUNTERS, 0);
	char total[TEXT_CELL], interval[TEXT_CELL];

	vec_foreach (k, &r->counters->kernels)
		if (!k->samples)
			time_ns += k->time_ns;
	buf_printf(out,
		"  %zu kernel%s with %s of GPU time never ran alone for an interval of %s%s\n",
		count, count == 1 ? "" : "s", text_duration(total, time_ns),
		text_duration(interval, interval_ns),
		interval_ns > SHORTEST_INTERVAL_NS
			? ": record with a shorter one (--counters=100us)"
			: "");
}

static void put_kernels(const struct report *r, struct buf *out)
{
	const struct counter_sums *c = r->counters;
	size_t alone = 0, shown = 0, columns = columns_shown(r);

	vec_foreach (k, &c->kernels)
		alone += k->samples > 0;
	if (!c->kernels.count)
		return;
	buf_puts(out, "\nKernels where they ran alone");
	if (r->top && r->top < alone)
		buf_printf(out, " (%zu of %zu)", r->top, alone);
	buf_putc(out, '\n');
	if (alone)
		put_headings(r, out, columns);
	vec_foreach (k, &c->kernels)
		if (k->samples && (!r->top || shown++ < r->top))
			put_kernel(r, out, k, columns);
	if (alone && columns < c->columns.count)
		buf_printf(out, "  Counters that have no room here: %zu (--wide shows them).\n",
			c->columns.count - columns);
	if (alone < c->kernels.count)
		put_never_alone(r, out, c->kernels.count - alone);
}

static void put_remarks(const struct report *r, struct buf *out)
{
	char cell[TEXT_CELL], lost[TEXT_CELL];
	uint64_t dropped = profile_loss_count(r->reader, LOSS_COUNTS_DROPPED);

	buf_puts(out, "\nAbout these values\n");
	buf_printf(out, "  They are of the whole GPU, whoever used it, for intervals of %s.\n",
		text_duration(cell, profile_meta_number(r->reader, META_COUNTERS, 0)));
	buf_printf(out,
		"  A kernel's are averages over intervals in which nothing else of this recording "
		"ran on the "
		"GPU,\n  and itself in at least %d %% of the time; alone: the share of its GPU "
		"time in such.\n",
		COUNTER_COVERED_PERCENT);
	if (dropped)
		buf_printf(out, "  Samples missing, as they came faster than they were read: %s.\n",
			text_count(lost, dropped));
}

static void put_refusal(const struct report *r, struct buf *out, const char *title)
{
	const char *refused = profile_meta(r->reader, META_COUNTERS_REFUSED);

	if (!refused || !*refused)
		return;
	buf_printf(out, "\n%s\n", title);
	while (*refused) {
		size_t length = strcspn(refused, "\n");
		struct buf line = BUF_INIT;

		buf_append(&line, refused, length);
		buf_puts(&line, "");
		buf_puts(out, "  ");
		text_fit(out, buf_text(&line), 0);
		buf_putc(out, '\n');
		out->failed |= line.failed;
		buf_release(&line);
		refused += length + (refused[length] != '\0');
	}
}

static void put_nothing(const struct report *r, struct buf *out)
{
	const char *refused = profile_meta(r->reader, META_COUNTERS_REFUSED);

	if (refused && *refused)
		put_refusal(r, out, "No hardware counters: they were refused");
	else if (profile_meta(r->reader, META_COUNTERS))
		buf_puts(out, "\nNo hardware counters were sampled in this recording.\n");
	else
		buf_puts(out, "\nNo hardware counters in this recording: 'xpuprof record "
			      "--counters' samples them.\n");
}

int report_counters_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;
	int error = device_numbers_init(&numbers, r->reader);

	if (error)
		return error;
	if (!r->counters->devices.count) {
		put_nothing(r, out);
		return 0;
	}
	vec_foreach (d, &r->counters->devices)
		put_device(r, out, &numbers, d);
	put_kernels(r, out);
	put_remarks(r, out);
	put_refusal(r, out, "Not all GPUs were sampled");
	return 0;
}
