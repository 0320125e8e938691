// SPDX-License-Identifier: MIT
/* What programs in kernels cost: launches with them and without, and the ratio of their times. */
#include <inttypes.h>
#include <stdio.h>

#include "base/demangle.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/probes.h"
#include "report/sections.h"

static const char *const state_names[COST_STATES] = {[COST_ON] = "on", [COST_OFF] = "off"};

static void put_state(struct buf *out, const struct cost_state *s)
{
	char count[TEXT_CELL], median[TEXT_CELL], mean[TEXT_CELL];

	if (!s->times_ns.count) {
		buf_printf(out, "  %10s  %9s  %9s", "0", "-", "-");
		return;
	}
	buf_printf(out, "  %10s  %9s  %9s", text_count(count, s->times_ns.count),
		text_duration(median, cost_median_ns(s)),
		text_duration(mean, (uint64_t)(cost_mean_ns(s) + 0.5)));
}

static void put_ratio(struct buf *out, const struct cost_kernel *k)
{
	char cell[64] = "-";

	if (k->ratio > 0 && k->high > 0)
		snprintf(cell, sizeof(cell), "%.3f [%.3f, %.3f]", k->ratio, k->low, k->high);
	else if (k->ratio > 0)
		snprintf(cell, sizeof(cell), "%.3f [not known]", k->ratio);
	buf_printf(out, "  %-22s", cell);
}

static void put_kernel(const struct report *r, const struct cost_kernel *k, struct buf *out)
{
	const char *name = profile_string(r->reader, k->name, NULL);
	struct buf readable = BUF_INIT;
	char left_out[TEXT_CELL];

	demangle(name, &readable);
	for (int i = 0; i < COST_STATES; i++)
		put_state(out, &k->states[i]);
	put_ratio(out, k);
	buf_printf(out, "  %8s  ", text_count(left_out, k->straddling + k->unknown));
	text_fit(out, readable.size ? buf_text(&readable) : name, 0);
	buf_putc(out, '\n');
	buf_release_for(&readable, out);
}

void report_cost_text(const struct report *r, struct buf *out)
{
	const struct cost *c = &r->probes->cost;
	size_t shown = report_rows_shown(r, c->kernels.count);
	char cell[TEXT_CELL];

	if (!c->is_measured)
		return;
	report_title(out, "What the programs cost", shown, c->kernels.count);
	buf_printf(out,
		"  they were switched off and on %s times; what is above is of the time they "
		"were on\n",
		text_count(cell, c->switches));
	if (!c->kernels.count) {
		buf_puts(out, "  no kernel with programs in it was recorded\n");
		return;
	}
	buf_puts(out, "  with them:                        without:"
		      "                          mean/mean               launches\n"
		      "    launches     median       mean    launches     median       mean"
		      "  [95 % interval]         left out  kernel\n");
	for (size_t i = 0; i < shown; i++)
		put_kernel(r, &c->kernels.items[i], out);
	buf_puts(out, "  left out: programs were switched meanwhile, or it is not known whether "
		      "they ran\n");
}

static void state_json(struct json_writer *w, const char *name, const struct cost_state *s)
{
	json_begin(w, name, '{');
	json_number(w, "launches", s->times_ns.count);
	if (s->times_ns.count) {
		json_number(w, "median_ns", cost_median_ns(s));
		json_real(w, "mean_ns", cost_mean_ns(s));
	}
	json_end(w, '}');
}

static void kernel_json(const struct report *r, const struct cost_kernel *k, struct json_writer *w)
{
	json_begin(w, NULL, '{');
	report_string_json(r, w, "name", k->name);
	for (int i = 0; i < COST_STATES; i++)
		state_json(w, state_names[i], &k->states[i]);
	if (k->ratio > 0)
		json_real(w, "ratio", k->ratio);
	if (k->ratio > 0 && k->high > 0) {
		json_real(w, "ratio_low", k->low);
		json_real(w, "ratio_high", k->high);
	}
	json_number(w, "straddling", k->straddling);
	json_number(w, "unknown", k->unknown);
	json_end(w, '}');
}

void report_cost_json(const struct report *r, struct json_writer *w)
{
	const struct cost *c = &r->probes->cost;

	if (!c->is_measured)
		return;
	json_begin(w, "cost", '{');
	json_number(w, "switches", c->switches);
	json_begin(w, "kernels", '[');
	vec_foreach (k, &c->kernels)
		kernel_json(r, k, w);
	json_end(w, ']');
	json_end(w, '}');
}
