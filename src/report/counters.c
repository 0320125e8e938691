// SPDX-License-Identifier: MIT
/*
 * Hardware counters of each GPU, a row each, and of the kernels that ran alone, a column each: in
 * the text as many as fit, in the order of counter_kinds.h. These tables have counters as columns,
 * so table.h cannot describe them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"
#include "view/names/device.h"
#include "view/names/kernel_name.h"
#include "view/names/name.h"

#define FIXED_COLUMNS 19 /* GPU time, alone */
#define VALUE_COLUMNS 11

#define SHORTEST_INTERVAL_NS 100000

/* The row of counter_kinds.h; NULL: there is none, and the counter goes by the vendor's name. */
static const struct counter_kind *kind_of(const struct counter_column *c)
{
	return c->kind >= 0 ? counter_kind_at((size_t)c->kind) : NULL;
}

static const char *vendor_name(const struct report *r, const struct counter_column *c)
{
	return profile_string(r->reader, profile_counter(r->reader, c->counter)->name, NULL);
}

/* The values of each counter of a GPU, in both forms. */
struct device_value {
	const char *heading, *key;
	size_t at; /* the sums, in counter_device */
	double (*value)(const struct counter_sum *s);
};

static double highest(const struct counter_sum *s)
{
	return s->highest;
}

// clang-format off
static const struct device_value device_values[] = {
	{"average", "average", offsetof(struct counter_device, all), counter_sum_average},
	{"with work", "average_with_work", offsetof(struct counter_device, busy), counter_sum_average},
	{"highest", "highest", offsetof(struct counter_device, all), highest},
};
// clang-format on

#define DEVICE_VALUES (sizeof(device_values) / sizeof(*device_values))

static const struct counter_sum *sums_of(
	const struct counter_device *d, const struct device_value *v)
{
	return *(struct counter_sum *const *)((const char *)d + v->at);
}

/* ------------------------------------------------------------------ text */

/* What is out of all range can only come from a damaged file. */
static void put_value(
	struct buf *out, const struct counter_column *c, const struct counter_sum *s, double value)
{
	enum counter_unit unit = c->kind >= 0 ? kind_of(c)->unit : COUNTER_RATIO;
	char cell[TEXT_CELL];

	if (!s || !s->ns)
		snprintf(cell, TEXT_CELL, "-");
	else if (unit == COUNTER_BYTES_PER_SECOND && value >= 0 && value < 1e18)
		text_bandwidth(cell, (uint64_t)value, NS_PER_SECOND);
	else
		snprintf(cell, TEXT_CELL,
			unit == COUNTER_PERCENT && fabs(value) < 1e5 ? "%.1f %%" : "%.4g", value);
	buf_printf(out, "%*s", VALUE_COLUMNS, cell);
}

static void put_device(const struct report *r, struct buf *out,
	const struct device_numbers *numbers, const struct counter_device *d)
{
	const struct profile_device *device = profile_device(r->reader, d->device);
	char sampled[TEXT_CELL], busy[TEXT_CELL], count[TEXT_CELL];

	buf_printf(out, "\nGPU %u ", device_number(numbers, r->reader, d->device));
	text_fit(out, profile_string(r->reader, device->name, NULL), 0);
	buf_printf(out, ": %s in %s samples", text_duration(sampled, d->sampled_ns),
		text_count(count, d->samples));
	if (r->counters->works_known)
		buf_printf(out, ", of which %s with work", text_duration(busy, d->busy_ns));
	buf_putc(out, '\n');
	for (size_t i = 0; i < DEVICE_VALUES; i++)
		buf_printf(out, "%*s", VALUE_COLUMNS, device_values[i].heading);
	buf_puts(out, "  counter\n");
	for (size_t n = 0; n < r->counters->columns.count; n++) {
		const struct counter_column *c = &r->counters->columns.items[n];

		if (!d->all[n].ns)
			continue;
		for (const struct device_value *v = device_values;
			v < device_values + DEVICE_VALUES; v++)
			put_value(out, c, &sums_of(d, v)[n], v->value(&sums_of(d, v)[n]));
		buf_puts(out, "  ");
		text_fit(out, kind_of(c) ? kind_of(c)->words : vendor_name(r, c), 0);
		buf_putc(out, '\n');
	}
}

/* How many counters have room beside a name. */
static size_t columns_shown(const struct report *r)
{
	size_t count = r->counters->columns.count, room;

	if (!r->width)
		return count;
	room = (report_columns_left(r, FIXED_COLUMNS + 2) - REPORT_NAME_MIN) / VALUE_COLUMNS;
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

		put_value(out, &r->counters->columns.items[n], s, s ? counter_sum_average(s) : 0);
	}
	buf_puts(out, "  ");
	kernel_readable(r->reader, k->name, &name);
	name_fit(out, buf_text(&name), report_columns_left(r, used));
	buf_putc(out, '\n');
	buf_release_for(&name, out);
}

static void put_headings(const struct report *r, struct buf *out, size_t columns)
{
	buf_printf(out, "%10s %8s", "GPU time", "alone");
	for (size_t n = 0; n < columns; n++) {
		const struct counter_column *c = &r->counters->columns.items[n];
		struct buf heading = BUF_INIT;

		text_fit(&heading, kind_of(c) ? kind_of(c)->heading : vendor_name(r, c),
			VALUE_COLUMNS - 1);
		buf_printf(out, "%*s", VALUE_COLUMNS, buf_text(&heading));
		buf_release_for(&heading, out);
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
	report_title(out, "Kernels where they ran alone", report_rows_shown(r, alone), alone);
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
	if (!r->counters->works_known)
		buf_printf(out, "  Which work ran meanwhile is not known: GPU work was %s.\n",
			r->summary->in_bursts ? "recorded in bursts" : "timed in part");
	else
		buf_printf(out,
			"  A kernel's are averages over intervals in which nothing else of this "
			"recording ran on the GPU,\n  and itself in at least %d %% of the time; "
			"alone: the share of its GPU time in such.\n",
			COUNTER_COVERED_PERCENT);
	if (dropped)
		buf_printf(out, "  Samples missing, as they came faster than they were read: %s.\n",
			text_count(lost, dropped));
}

static void put_refusal(const struct report *r, struct buf *out, const char *title)
{
	if (report_meta(r, META_COUNTERS_REFUSED))
		buf_printf(out, "\n%s\n", title);
	report_lines(out, "  ", "  ", report_meta(r, META_COUNTERS_REFUSED));
}

static void put_nothing(const struct report *r, struct buf *out)
{
	if (report_meta(r, META_COUNTERS_REFUSED))
		put_refusal(r, out, "No hardware counters: they were refused");
	else if (profile_meta(r->reader, META_COUNTERS))
		buf_puts(out, "\nNo hardware counters were sampled in this recording.\n");
	else
		buf_puts(out, "\nNo hardware counters in this recording: 'xpuprof record "
			      "--counters' samples them.\n");
}

void report_counters_text(const struct report *r, struct buf *out)
{
	struct device_numbers numbers;

	if (!r->counters->devices.count) {
		put_nothing(r, out);
		return;
	}
	out->failed |= device_numbers_init(&numbers, r->reader) != 0;
	if (out->failed)
		return;
	vec_foreach (d, &r->counters->devices)
		put_device(r, out, &numbers, d);
	put_kernels(r, out);
	put_remarks(r, out);
	put_refusal(r, out, "Not all GPUs were sampled");
}

/* ------------------------------------------------------------------ JSON */

/* JSON has no infinities, which sums of values out of all range may be. */
static void put_real(struct json_writer *w, const char *name, double value)
{
	if (isfinite(value))
		json_real(w, name, value);
	else
		json_text(w, name, NULL);
}

static const char *key_of(const struct report *r, const struct counter_column *c)
{
	return kind_of(c) ? kind_of(c)->key : vendor_name(r, c);
}

static void put_columns(const struct report *r, struct json_writer *w)
{
	json_begin(w, "counters", '[');
	vec_foreach (c, &r->counters->columns) {
		json_begin(w, NULL, '{');
		json_text(w, "key", key_of(r, c));
		json_text(w, "words", kind_of(c) ? kind_of(c)->words : NULL);
		json_text(w, "name", vendor_name(r, c));
		json_text(w, "unit",
			profile_string(
				r->reader, profile_counter(r->reader, c->counter)->unit, NULL));
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void put_values(const struct report *r, struct json_writer *w, const char *name,
	const struct counter_sum *sums, double (*value)(const struct counter_sum *s))
{
	json_begin(w, name, '{');
	for (size_t n = 0; sums && n < r->counters->columns.count; n++)
		if (sums[n].ns)
			put_real(w, key_of(r, &r->counters->columns.items[n]), value(&sums[n]));
	json_end(w, '}');
}

static void put_device_json(
	const struct report *r, struct json_writer *w, const struct counter_device *d)
{
	const struct profile_device *device = profile_device(r->reader, d->device);

	json_begin(w, NULL, '{');
	json_number(w, "device", device->ordinal);
	report_uuid_json(w, device);
	json_number(w, "samples", d->samples);
	json_number(w, "sampled_ns", d->sampled_ns);
	if (r->counters->works_known) {
		json_number(w, "busy_samples", d->busy_samples);
		json_number(w, "busy_ns", d->busy_ns);
	}
	for (const struct device_value *v = device_values; v < device_values + DEVICE_VALUES; v++)
		put_values(r, w, v->key, sums_of(d, v), v->value);
	json_end(w, '}');
}

static void put_kernel_json(
	const struct report *r, struct json_writer *w, const struct counter_kernel *k)
{
	struct buf readable = BUF_INIT;

	kernel_readable(r->reader, k->name, &readable);
	json_begin(w, NULL, '{');
	json_text(w, "name", buf_text(&readable));
	json_text(w, "linker_name", profile_string(r->reader, k->name, NULL));
	json_number(w, "total_ns", k->time_ns);
	json_number(w, "alone_ns", k->alone_ns);
	json_number(w, "samples", k->samples);
	put_values(r, w, "average", k->sums, counter_sum_average);
	json_end(w, '}');
	buf_release_for(&readable, w->out);
}

void report_counters_json(const struct report *r, struct json_writer *w)
{
	const struct counter_sums *c = r->counters;
	size_t shown = report_rows_shown(r, c->kernels.count);

	json_begin(w, "counters", '{');
	json_number(w, "interval_ns", profile_meta_number(r->reader, META_COUNTERS, 0));
	json_text_lines(w, "refused", profile_meta(r->reader, META_COUNTERS_REFUSED));
	json_number(w, "dropped", profile_loss_count(r->reader, LOSS_COUNTS_DROPPED));
	put_columns(r, w);
	json_begin(w, "devices", '[');
	vec_foreach (d, &c->devices)
		put_device_json(r, w, d);
	json_end(w, ']');
	json_begin(w, "kernels", '[');
	for (size_t n = 0; n < shown; n++)
		put_kernel_json(r, w, &c->kernels.items[n]);
	json_end(w, ']');
	json_end(w, '}');
}
