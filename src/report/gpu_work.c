// SPDX-License-Identifier: MIT
/* What GPUs did, and the calls that asked for it and that wait for it. */
#include "base/demangle.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/call_path.h"
#include "report/sections.h"
#include "report/table.h"
#include "view/names/name.h"

#define PATH_SHARE_END 28 /* of the share that stands before the path below a kernel */

/* Columns of tables of GPU work. */
// clang-format off
#define RANGES(type) \
	{"+-", "low_ns", 2, 10, RANGE(type, time.total_range, time.total_ns, "high_ns")}, \
	{.key = "count_low", RANGE(type, time.count_range, time.count, "count_high")}
#define TIMES(type) \
	{"count", "count", 4, 11, COUNT(type, time.count)}, \
	{"total", "total_ns", 1, 10, DURATION(type, time.total_ns)}, \
	{"mean", "mean_ns", 5, 9, MEAN(type, time.total_ns, time.count)}, \
	RANGES(type)
#define TRANSFERS(type) \
	{"of GPU", NULL, 3, 8, SHARE_OF(type, time.total_ns, report_gpu_ns)}, \
	{.key = "min_ns", DURATION(type, time.min_ns)}, \
	{.key = "max_ns", DURATION(type, time.max_ns)}, \
	{"bytes", "bytes", 6, 9, BYTES(type, bytes)}, \
	{"bandwidth", "gb_per_s", 7, 12, RATE(type, bytes, time.total_ns)}
// clang-format on

/* ------------------------------------------------------------------ kernels */

static void kernel_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_kernel *k = row;

	demangle(profile_string(r->reader, k->name, NULL), b);
}

static enum report_path path_kind(const struct report *r)
{
	return r->inlines ? REPORT_PATH_INLINED : REPORT_PATH;
}

static void kernel_path_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct summary_kernel *k = row;

	report_call_path_json(r, w, "path", k->stack, path_kind(r));
}

/* The hottest way to a kernel. */
static void put_path(const struct report *r, const void *row, struct buf *out)
{
	const struct summary_kernel *k = row;
	char share[TEXT_CELL];

	report_path_line(r, out, PATH_SHARE_END, text_percent(share, k->stack_ns, k->time.total_ns),
		k->stack, path_kind(r));
}

// clang-format off
static const struct column kernel_columns[] = {
	{"kernel", "name", COLUMN_LAST, .text = kernel_name, .cut = name_fit, .if_empty = "(no name)"},
	{.key = "linker_name", STRING(struct summary_kernel, name)},
	TIMES(struct summary_kernel),
	{"min", "min_ns", 6, 8, DURATION(struct summary_kernel, time.min_ns), .wide = true, .apart = true},
	{"max", "max_ns", 7, 9, DURATION(struct summary_kernel, time.max_ns), .wide = true},
	{"of GPU", "share", 3, 8, SHARE_OF(struct summary_kernel, time.total_ns, report_gpu_ns)},
	{.json = kernel_path_json},
	{.key = "path_ns", DURATION(struct summary_kernel, stack_ns)},
};
// clang-format on

const struct table report_kernels = {.title = "Kernels",
	.key = "kernels",
	TABLE_COLUMNS(kernel_columns),
	TABLE_ROWS(summary, kernels),
	.below = put_path};

/* ------------------------------------------------------------------ copies and memory sets */

static void copy_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_copy *c = row;

	(void)r;
	buf_printf(b, "%s, %s to %s", profile_copy_name(c->kind), profile_memory_name(c->source),
		profile_memory_name(c->target));
}

static const struct column copy_columns[] = {
	{.key = "kind", NAME(struct summary_copy, kind, profile_copy_name)},
	{.key = "source", NAME(struct summary_copy, source, profile_memory_name)},
	{.key = "target", NAME(struct summary_copy, target, profile_memory_name)},
	TIMES(struct summary_copy),
	TRANSFERS(struct summary_copy),
	{"kind", NULL, COLUMN_LAST, .text = copy_name},
};

const struct table report_copies = {.title = "Copies",
	.key = "copies",
	TABLE_COLUMNS(copy_columns),
	TABLE_ROWS(summary, copies)};

static const struct column set_columns[] = {
	{"kind", "target", COLUMN_LAST, 0, NAME(struct summary_set, target, profile_memory_name)},
	TIMES(struct summary_set),
	TRANSFERS(struct summary_set),
};

const struct table report_sets = {.title = "Memory sets",
	.key = "sets",
	TABLE_COLUMNS(set_columns),
	TABLE_ROWS(summary, sets)};

/* ------------------------------------------------------------------ calls */

static void call_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_call *c = row;
	const char *api = profile_string(r->reader, c->api, NULL);
	char count[TEXT_CELL];

	buf_puts(b, *api ? api : "(no name)");
	if (c->failed)
		buf_printf(b, " (%s failed)", text_count(count, c->failed));
	if (c->observed && c->time.total_ns)
		buf_puts(b, " (observed)");
}

static bool is_timeless(const void *row)
{
	const struct summary_call *c = row;

	return c->observed && !c->time.total_ns;
}

static bool is_wait(const void *row)
{
	return ((const struct summary_call *)row)->kind == CALL_SYNC && !is_timeless(row);
}

static bool is_no_wait(const void *row)
{
	return !is_wait(row) && !is_timeless(row);
}

static void observed_json(const struct report *r, const void *row, struct json_writer *w)
{
	(void)r;
	json_bool(w, "observed", ((const struct summary_call *)row)->observed);
}

static const struct column call_columns[] = {
	{.key = "api", STRING(struct summary_call, api)},
	{.key = "kind", NAME(struct summary_call, kind, profile_call_kind_name)},
	{"count", "count", 3, 20, COUNT(struct summary_call, time.count)},
	{"total", "total_ns", 1, 10, DURATION(struct summary_call, time.total_ns)},
	{"mean", "mean_ns", 4, 9, MEAN(struct summary_call, time.total_ns, time.count)},
	RANGES(struct summary_call),
	{"min", "min_ns", 5, 9, DURATION(struct summary_call, time.min_ns)},
	{"max", "max_ns", 6, 9, DURATION(struct summary_call, time.max_ns)},
	{.key = "failed", COUNT(struct summary_call, failed)},
	{.json = observed_json},
	{"call", NULL, COLUMN_LAST, .text = call_name},
};

/* People read them as two tables. */
#define CALLS TABLE_COLUMNS(call_columns), TABLE_ROWS(summary, call_times)
const struct table report_calls = {.key = "calls", CALLS};
const struct table report_waiting_calls = {
	.title = "Calls that wait for the GPU", CALLS, .has_row = is_wait};
const struct table report_asking_calls = {
	.title = "Calls that ask for GPU work", CALLS, .has_row = is_no_wait};

/* How long they took is not known. */
static const struct column observed_columns[] = {
	{"count", NULL, 1, 20, COUNT(struct summary_call, time.count)},
	{"+-", NULL, 2, 10, RANGE(struct summary_call, time.count_range, time.count, NULL)},
	{"call", NULL, COLUMN_LAST, .text = call_name},
};

const struct table report_observed_calls = {.title = "Calls of programs that were only observed",
	TABLE_COLUMNS(observed_columns),
	TABLE_ROWS(summary, call_times),
	.has_row = is_timeless};

/* ------------------------------------------------------------------ devices */

static void device_identity(const struct report *r, const void *row, struct json_writer *w)
{
	const struct summary_device *d = row;
	const struct profile_device *device = profile_device(r->reader, d->device);

	if (!device)
		return;
	json_number(w, "number", d->number);
	json_number(w, "ordinal", device->ordinal);
	report_string_json(r, w, "name", device->name);
	report_uuid_json(w, device);
}

static void device_name(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_device *d = row;
	const struct profile_device *device = profile_device(r->reader, d->device);

	if (device)
		buf_printf(b, "%u %s", d->number, profile_string(r->reader, device->name, NULL));
	else
		buf_puts(b, "not known");
}

static void idle_share(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_device *d = row;
	uint64_t elapsed_ns = report_elapsed_ns(r);
	char cell[TEXT_CELL];

	/* Work that took no time at all has no times. */
	if (d->works && !d->work_ns) {
		buf_putc(b, '-');
		return;
	}
	buf_puts(b, text_percent(cell, elapsed_ns > d->busy_ns ? elapsed_ns - d->busy_ns : 0,
			    elapsed_ns));
}

static void at_once(const struct report *r, const void *row, struct buf *b)
{
	const struct summary_device *d = row;

	(void)r;
	buf_printf(b, "%.2f", d->busy_ns ? (double)d->work_ns / (double)d->busy_ns : 0.0);
}

static void put_uncertain(const struct report *r, const void *row, struct buf *out)
{
	const struct summary_device *d = row;
	char cell[TEXT_CELL];

	(void)r;
	if (d->uncertain_ns)
		buf_printf(out, "%10s busy may be up to %s more: its work came far out of order\n",
			"", text_duration(cell, d->uncertain_ns));
}

// clang-format off
#define NOT_ESTIMATED .when = COLUMN_NOT_ESTIMATED
static const struct column device_columns[] = {
	{.json = device_identity},
	{"work", "works", 4, 11, COUNT(struct summary_device, works)},
	{"GPU time", "work_ns", 1, 10, DURATION(struct summary_device, work_ns), .is_shown = report_is_estimated},
	{"+-", "work_low_ns", 2, 10, RANGE(struct summary_device, work_range, work_ns, "work_high_ns")},
	{.key = "works_low", RANGE(struct summary_device, works_range, works, "works_high")},
	{"of time", NULL, 3, 9, SHARE_OF(struct summary_device, work_ns, report_elapsed_ns), .when = COLUMN_ESTIMATED},
	{"busy", "busy_ns", 1, 10, DURATION(struct summary_device, busy_ns), NOT_ESTIMATED},
	{.key = "busy_uncertain_ns", DURATION(struct summary_device, uncertain_ns), NOT_ESTIMATED},
	{"share", "busy_share", 2, 9, SHARE_OF(struct summary_device, busy_ns, report_elapsed_ns), NOT_ESTIMATED},
	{.key = "first_ns", DURATION(struct summary_device, first_ns)},
	{.key = "last_ns", DURATION(struct summary_device, last_ns)},
	{"idle", NULL, 3, 9, .text = idle_share, NOT_ESTIMATED},
	{"at once", NULL, 5, 8, .text = at_once, NOT_ESTIMATED},
	{"device", NULL, COLUMN_LAST, .text = device_name},
};
// clang-format on

const struct table report_devices = {.title = "GPUs",
	.key = "devices",
	TABLE_COLUMNS(device_columns),
	TABLE_ROWS(summary, devices),
	.all = true,
	.below = put_uncertain};

/* ------------------------------------------------------------------ latency */

void report_percentile_error(const struct report *r, const void *row, struct json_writer *w)
{
	(void)r;
	(void)row;
	json_real(w, "percentile_error_percent", HISTOGRAM_ERROR_PERCENT);
}

static const struct column latency_columns[] = {
	{"count", "count", 1, 10, COUNT(struct summary_latency, times.count)},
	{"mean", "mean_ns", 2, 9, MEAN(struct summary_latency, times.sum, times.count)},
	{"min", "min_ns", 3, 9, DURATION(struct summary_latency, times.min)},
	{"p50", "p50_ns", 4, 9, PERCENTILE(struct summary_latency, times, 50)},
	{"p90", "p90_ns", 5, 9, PERCENTILE(struct summary_latency, times, 90)},
	{"p99", "p99_ns", 6, 9, PERCENTILE(struct summary_latency, times, 99)},
	{"p99.9", "p999_ns", 7, 9, PERCENTILE(struct summary_latency, times, 99.9)},
	{"max", "max_ns", 8, 9, DURATION(struct summary_latency, times.max)},
	{.json = report_percentile_error},
	{.key = "backwards", COUNT(struct summary_latency, backwards)},
	{.key = "in_graphs", COUNT(struct summary_latency, in_graphs)},
};

/* Of one row. */
static const struct table latency = {TABLE_COLUMNS(latency_columns)};

void report_latency_text(const struct report *r, struct buf *out)
{
	const struct summary_latency *l = &r->summary->latency;
	char cell[TEXT_CELL];

	if (!l->times.count && !l->backwards)
		return;
	buf_puts(out, "\nFrom launch to start, of work outside graphs\n");
	if (l->times.count) {
		table_headings(r, &latency, out);
		table_row_text(r, &latency, l, out);
	}
	if (l->backwards)
		buf_printf(out,
			"%10s started before their launch, by the clocks, and are not in these\n",
			text_count(cell, l->backwards));
}

void report_latency_json(const struct report *r, struct json_writer *w)
{
	json_begin(w, "latency", '{');
	table_members(r, &latency, &r->summary->latency, w);
	json_end(w, '}');
}
