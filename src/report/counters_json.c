// SPDX-License-Identifier: MIT
/* The member "counters" of `xpuprof report --counters --json`; its form is documented in
 * xpuprof-report(1). */
#include <math.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "report/report.h"
#include "view/names/kernel_name.h"

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
	return c->kind >= 0 ? counter_kind_at((size_t)c->kind)->key
			    : profile_string(r->reader,
				      profile_counter(r->reader, c->counter)->name, NULL);
}

static void put_columns(const struct report *r, struct json_writer *w)
{
	json_begin(w, "counters", '[');
	vec_foreach (c, &r->counters->columns) {
		const struct profile_counter *counter = profile_counter(r->reader, c->counter);

		json_begin(w, NULL, '{');
		json_text(w, "key", key_of(r, c));
		json_text(
			w, "words", c->kind >= 0 ? counter_kind_at((size_t)c->kind)->words : NULL);
		json_text(w, "name", profile_string(r->reader, counter->name, NULL));
		json_text(w, "unit", profile_string(r->reader, counter->unit, NULL));
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void put_averages(const struct report *r, struct json_writer *w, const char *name,
	const struct counter_sum *sums)
{
	json_begin(w, name, '{');
	for (size_t n = 0; sums && n < r->counters->columns.count; n++)
		if (sums[n].ns)
			put_real(w, key_of(r, &r->counters->columns.items[n]),
				counter_sum_average(&sums[n]));
	json_end(w, '}');
}

static void put_device(
	const struct report *r, struct json_writer *w, const struct counter_device *d)
{
	const struct profile_device *device = profile_device(r->reader, d->device);
	char uuid[33];

	for (size_t n = 0; n < sizeof(device->uuid); n++)
		snprintf(uuid + 2 * n, 3, "%02x", device->uuid[n]);
	json_begin(w, NULL, '{');
	json_number(w, "device", device->ordinal);
	json_text(w, "uuid", uuid);
	json_number(w, "samples", d->samples);
	json_number(w, "sampled_ns", d->sampled_ns);
	json_number(w, "busy_samples", d->busy_samples);
	json_number(w, "busy_ns", d->busy_ns);
	put_averages(r, w, "average", d->all);
	put_averages(r, w, "average_with_work", d->busy);
	json_begin(w, "highest", '{');
	for (size_t n = 0; n < r->counters->columns.count; n++)
		if (d->all[n].ns)
			put_real(w, key_of(r, &r->counters->columns.items[n]), d->all[n].highest);
	json_end(w, '}');
	json_end(w, '}');
}

static void put_kernel(
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
	put_averages(r, w, "average", k->sums);
	json_end(w, '}');
	w->out->failed |= readable.failed;
	buf_release(&readable);
}

void report_counters_json(const struct report *r, struct json_writer *w)
{
	const struct counter_sums *c = r->counters;
	size_t shown = r->top && r->top < c->kernels.count ? r->top : c->kernels.count;

	json_begin(w, "counters", '{');
	json_number(w, "interval_ns", profile_meta_number(r->reader, META_COUNTERS, 0));
	json_text(w, "refused", profile_meta(r->reader, META_COUNTERS_REFUSED));
	json_number(w, "dropped", profile_loss_count(r->reader, LOSS_COUNTS_DROPPED));
	put_columns(r, w);
	json_begin(w, "devices", '[');
	vec_foreach (d, &c->devices)
		put_device(r, w, d);
	json_end(w, ']');
	json_begin(w, "kernels", '[');
	for (size_t n = 0; n < shown; n++)
		put_kernel(r, w, &c->kernels.items[n]);
	json_end(w, ']');
	json_end(w, '}');
}
