// SPDX-License-Identifier: MIT
/*
 * Histograms have far fewer buckets here than in the kernel. A bound of Prometheus' counts
 * everything up to it, the bound included, and a bucket of ours ends before the next one's lowest
 * value; values are whole numbers. So the bounds are one less than the lowest value of some bucket,
 * and the counts below them are exact.
 */
#include "monitor/metrics/families.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *suffix;
	enum exposition_unit unit;
} units[] = {
	[UNIT_COUNT] = {"", EXPOSITION_NUMBER},
	[UNIT_NANOSECONDS] = {"_seconds", EXPOSITION_NANOSECONDS},
	[UNIT_BYTES] = {"_bytes", EXPOSITION_BYTES},
};

/* ------------------------------------------------------------------ names */

static void add_family(struct metric_families *f, enum metric_kind kind, const char *type,
	enum exposition_unit unit)
{
	f->family[f->count++] = (struct metric_family){.kind = kind, .type = type, .unit = unit};
}

#define NAME_FAMILY(f, ...)                                                                        \
	snprintf((f)->family[(f)->count - 1].name, sizeof((f)->family[0].name), __VA_ARGS__)
#define HELP_FAMILY(f, ...)                                                                        \
	snprintf((f)->family[(f)->count - 1].help, sizeof((f)->family[0].help), __VA_ARGS__)

void metric_series_families(const struct monitor *m, size_t series, enum metric_level level,
	struct metric_families *ret)
{
	const struct monitor_series *s = &m->series[series];
	const char *prefix = metric_levels[level].prefix, *suffix = units[s->unit].suffix,
		   *help = metric_levels[level].help;
	bool values = totals_has_sums(m, (unsigned int)series);

	if (s->histogram) {
		if (level == METRIC_BY_PROCESS)
			add_family(ret, METRIC_SUMMARY, "summary", units[s->unit].unit);
		else
			add_family(ret, METRIC_HISTOGRAM, "histogram", units[s->unit].unit);
		NAME_FAMILY(ret, "%s%s%s", prefix, s->metric, suffix);
		HELP_FAMILY(ret, "%s%s.", s->help, help);
		return;
	}
	if (values) {
		add_family(ret, METRIC_SUM, "counter", units[s->unit].unit);
		NAME_FAMILY(ret, "%s%s%s_total", prefix, s->metric, suffix);
		HELP_FAMILY(ret, "%s%s.", s->help, help);
	}
	add_family(ret, METRIC_COUNT, "counter", EXPOSITION_NUMBER);
	NAME_FAMILY(ret, "%s%s%s_total", prefix, s->metric, values ? "_events" : "");
	HELP_FAMILY(ret, "%s%s%s.", values ? "How often: " : "", s->help, help);
}

void metric_busy_families(const struct monitor *m, size_t series, enum metric_level level,
	struct metric_families *ret)
{
	const char *ring = m->series[series].label[0] ? m->series[series].label[0] : "GPU";

	if (!m->series[series].busy)
		return;
	add_family(ret, METRIC_BUSY, "counter", EXPOSITION_NANOSECONDS);
	NAME_FAMILY(ret, "%sgpu_busy_seconds_total", metric_levels[level].prefix);
	if (level == METRIC_ALL)
		HELP_FAMILY(ret, "Time in which at least one job was running on the %s.", ring);
	else
		HELP_FAMILY(ret,
			"Time in which at least one job of the process was running on the %s%s.",
			ring, level == METRIC_BY_CONTAINER ? ", summed up by container" : "");
	if (level != METRIC_ALL)
		return;
	add_family(ret, METRIC_UNCERTAIN, "counter", EXPOSITION_NANOSECONDS);
	NAME_FAMILY(ret, METRIC_PREFIX "gpu_busy_uncertain_seconds_total");
	HELP_FAMILY(ret, "At most so much more it may have been: jobs that ended too late to be "
			 "distinguished from others.");
}

void metric_held_families(enum metric_level level, bool sizes, struct metric_families *ret)
{
	const char *prefix = metric_levels[level].prefix, *help = metric_levels[level].help;

	if (sizes) {
		add_family(ret, METRIC_HELD_SUM, "gauge", EXPOSITION_BYTES);
		NAME_FAMILY(ret, "%sobject_bytes", prefix);
		HELP_FAMILY(ret,
			"Size of the objects that were begun since the watch began and are "
			"there%s.",
			help);
	} else {
		add_family(ret, METRIC_HELD, "gauge", EXPOSITION_NUMBER);
		NAME_FAMILY(ret, "%sobjects", prefix);
		HELP_FAMILY(ret, "Objects that were begun since the watch began and are there%s.",
			help);
	}
}

/* ------------------------------------------------------------------ numbers */

/*
 * The bounds: of times, from a microsecond to a minute, each power of two where jobs are and each
 * second one outside; of sizes, those that hold a power of four and a little more, as buffers are
 * often just so large; of numbers, each power of two. Written as the lowest value that is above.
 */
#define P2(n)	 ((uint64_t)1 << (n))
#define UP_TO(n) (P2(n) / 8 * 9)

static const uint64_t time_bounds[] = {P2(10), P2(12), P2(14), P2(15), P2(16), P2(17), P2(18),
	P2(19), P2(20), P2(21), P2(22), P2(23), P2(24), P2(25), P2(26), P2(27), P2(28), P2(30),
	P2(32), P2(34), P2(36), 0};
static const uint64_t size_bounds[] = {UP_TO(12), UP_TO(14), UP_TO(16), UP_TO(18), UP_TO(20),
	UP_TO(22), UP_TO(24), UP_TO(26), UP_TO(28), UP_TO(30), UP_TO(32), UP_TO(34), UP_TO(36), 0};
static const uint64_t count_bounds[] = {P2(0), P2(1), P2(2), P2(3), P2(4), P2(5), P2(6), P2(7),
	P2(8), P2(9), P2(10), P2(12), P2(14), P2(16), P2(20), 0};

static const uint64_t *const bounds_of_unit[] = {
	[EXPOSITION_NUMBER] = count_bounds,
	[EXPOSITION_BYTES] = size_bounds,
	[EXPOSITION_NANOSECONDS] = time_bounds,
};

/* A sample with one more label. */
static void write_part(struct buf *out, const struct metric_family *f, const char *suffix,
	const char *labels, const char *name, const char *value, uint64_t number,
	enum exposition_unit unit)
{
	struct buf with = BUF_INIT;

	buf_puts(&with, labels);
	exposition_label(&with, name, value);
	if (with.failed)
		out->failed = true;
	exposition_sample(out, f->name, suffix, buf_text(&with), number, unit);
	buf_release(&with);
}

/* The count is that of the buckets: a cell may have been read between its count and its bucket. */
static void write_histogram(
	struct buf *out, const struct metric_family *f, const struct metric_group *g)
{
	struct buf bound = BUF_INIT;
	uint64_t below = 0;
	unsigned int bucket = 0;

	for (const uint64_t *b = bounds_of_unit[f->unit]; *b; b++) {
		while (bucket < MONITOR_BUCKETS && total_bucket_low(bucket) < *b)
			below += g->sum.buckets[bucket++];
		buf_reset(&bound);
		exposition_number(&bound, *b - 1, f->unit);
		write_part(out, f, "_bucket", g->labels, "le", buf_text(&bound), below,
			EXPOSITION_NUMBER);
	}
	while (bucket < MONITOR_BUCKETS)
		below += g->sum.buckets[bucket++];
	write_part(out, f, "_bucket", g->labels, "le", "+Inf", below, EXPOSITION_NUMBER);
	exposition_sample(out, f->name, "_sum", g->labels, g->sum.sum, f->unit);
	exposition_sample(out, f->name, "_count", g->labels, below, EXPOSITION_NUMBER);
	buf_release(&bound);
}

static void write_summary(
	struct buf *out, const struct metric_family *f, const struct metric_group *g)
{
	static const struct {
		const char *quantile;
		double percent;
	} quantiles[] = {{"0.5", 50}, {"0.9", 90}, {"0.99", 99}};

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		write_part(out, f, "", g->labels, "quantile", quantiles[i].quantile,
			total_percentile(&g->sum, quantiles[i].percent), f->unit);
	exposition_sample(out, f->name, "_sum", g->labels, g->sum.sum, f->unit);
	exposition_sample(out, f->name, "_count", g->labels, g->sum.count, EXPOSITION_NUMBER);
}

static void write_group(
	struct buf *out, const struct metric_family *f, const struct metric_group *g)
{
	switch (f->kind) {
	case METRIC_HISTOGRAM:
		write_histogram(out, f, g);
		break;
	case METRIC_SUMMARY:
		write_summary(out, f, g);
		break;
	case METRIC_SUM:
	case METRIC_HELD_SUM:
		exposition_sample(out, f->name, "", g->labels, g->sum.sum, f->unit);
		break;
	case METRIC_COUNT:
	case METRIC_HELD:
		exposition_sample(out, f->name, "", g->labels, g->sum.count, f->unit);
		break;
	case METRIC_BUSY:
		exposition_sample(out, f->name, "", g->labels, g->sum.busy_ns, f->unit);
		break;
	case METRIC_UNCERTAIN:
		exposition_sample(out, f->name, "", g->labels, g->sum.busy_uncertain_ns, f->unit);
		break;
	}
}

void metric_families_write(
	const struct metric_families *f, struct metric_groups *g, struct buf *out)
{
	metric_groups_sort(g);
	for (size_t i = 0; i < f->count && g->groups.count; i++) {
		exposition_family(out, f->family[i].name, f->family[i].type, f->family[i].help);
		vec_foreach (each, &g->groups)
			write_group(out, &f->family[i], each);
	}
}
