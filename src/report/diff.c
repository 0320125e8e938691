// SPDX-License-Identifier: MIT
#include "report/diff.h"

#include <stdio.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "base/vec.h"

#define NAME_COLUMN 60 /* where names begin */

static double points(const struct report_diff *r, const struct diff_verdict *v)
{
	double whole = r->diff->scale == DIFF_NOT ? (double)r->diff->total_ns[0] : 1;

	return whole > 0 ? 100 * (v->after - v->before) / whole : 0;
}

static bool has_grown(const struct report_diff *r, const struct diff_function *f)
{
	return r->threshold >= 0 && f->total.real && points(r, &f->total) > r->threshold;
}

size_t report_diff_grown(const struct report_diff *r)
{
	size_t count = 0;

	vec_foreach (f, &r->diff->functions)
		count += has_grown(r, f);
	return count;
}

static const char *amount(const struct report_diff *r, char cell[TEXT_CELL], double value)
{
	if (r->diff->scale != DIFF_NOT) {
		snprintf(cell, TEXT_CELL, "%.2f %%", 100 * value);
		return cell;
	}
	return r->diff->view.unit == VIEW_NS ? text_duration(cell, (uint64_t)(value + 0.5))
					     : text_count(cell, (uint64_t)(value + 0.5));
}

static void put_sides(const struct report_diff *r, struct buf *out)
{
	static const char *const names[] = {"first", "second"};
	char all[TEXT_CELL], elapsed[TEXT_CELL];

	for (size_t side = 0; side < 2; side++) {
		buf_printf(out, "%-13s ", names[side]);
		text_fit(out, r->paths[side], 0);
		buf_printf(out, ": %s in %s\n",
			r->diff->view.unit == VIEW_NS ? text_duration(all, r->diff->total_ns[side])
						      : text_count(all, r->diff->total_ns[side]),
			text_duration(elapsed, r->diff->elapsed_ns[side]));
		if (r->diff->ranges[side]) {
			buf_printf(out, "%-13s ", "range");
			text_fit(out, r->diff->ranges[side], 0);
			buf_putc(out, '\n');
		}
	}
	if (r->diff->view.range) {
		buf_printf(out, "%-13s ", "range");
		text_fit(out, r->diff->view.range, 0);
		buf_putc(out, '\n');
	}
}

static void put_function(
	const struct report_diff *r, const struct diff_function *f, struct buf *out)
{
	char before[TEXT_CELL], after[TEXT_CELL], change[TEXT_CELL], noise[TEXT_CELL],
		self[TEXT_CELL];

	snprintf(change, sizeof(change), "%+.2f", points(r, &f->total));
	snprintf(noise, sizeof(noise), "%.2f",
		points(r, &(struct diff_verdict){.after = f->total.spread}));
	snprintf(self, sizeof(self), "%+.2f", points(r, &f->self));
	buf_printf(out, "%10s %10s %8s %8s %8s %7s  ", amount(r, before, f->total.before),
		amount(r, after, f->total.after), change, noise, self,
		has_grown(r, f) ? "GREW"
		: f->total.real ? "real"
				: "noise");
	text_fit(out, f->name, r->width > NAME_COLUMN + 10 ? r->width - NAME_COLUMN : r->width);
	buf_putc(out, '\n');
}

void report_diff_text(const struct report_diff *r, struct buf *out)
{
	size_t shown = 0, grown = report_diff_grown(r);
	char count[TEXT_CELL];

	put_sides(r, out);
	buf_printf(out, "\nFunctions with what they called, %s\n",
		r->diff->scale == DIFF_NOT ? "changes in % of all of the first"
					   : "in points of a share");
	buf_puts(out, "     first     second   change  std err     self          function\n");
	vec_foreach (f, &r->diff->functions)
		if (!r->top || shown++ < r->top)
			put_function(r, f, out);
	if (!r->diff->any_real)
		buf_puts(out, "\nNo difference is more than the noise.\n");
	if (r->threshold >= 0)
		buf_printf(out, "\n%s function%s grew by more than %g points.\n",
			grown ? text_count(count, grown) : "No", grown > 1 ? "s" : "",
			r->threshold);
}

static void put_verdict_json(struct json_writer *w, const char *name, const struct report_diff *r,
	const struct diff_verdict *v)
{
	json_begin(w, name, '{');
	json_real(w, "first", v->before);
	json_real(w, "second", v->after);
	json_real(w, "points", points(r, v));
	json_real(w, "standard_error", v->spread);
	json_bool(w, "real", v->real);
	json_end(w, '}');
}

void report_diff_json(const struct report_diff *r, struct buf *out)
{
	static const char *const scales[] = {
		[DIFF_BY_ELAPSED] = "elapsed", [DIFF_BY_TOTAL] = "samples", [DIFF_NOT] = "none"};
	struct json_writer w = {.out = out};
	size_t shown = 0;

	json_begin(&w, NULL, '{');
	json_number(&w, "form", 1);
	json_text(&w, "first", r->paths[0]);
	json_text(&w, "second", r->paths[1]);
	json_text(&w, "scale", scales[r->diff->scale]);
	json_text(&w, "range", r->diff->view.range);
	json_number(&w, "first_total_ns", r->diff->total_ns[0]);
	json_number(&w, "second_total_ns", r->diff->total_ns[1]);
	json_number(&w, "first_elapsed_ns", r->diff->elapsed_ns[0]);
	json_number(&w, "second_elapsed_ns", r->diff->elapsed_ns[1]);
	json_bool(&w, "any_real", r->diff->any_real);
	json_number(&w, "grown", report_diff_grown(r));
	json_begin(&w, "functions", '[');
	vec_foreach (f, &r->diff->functions) {
		if (r->top && shown++ >= r->top)
			break;
		json_begin(&w, NULL, '{');
		json_text(&w, "name", f->name);
		put_verdict_json(&w, "total", r, &f->total);
		put_verdict_json(&w, "self", r, &f->self);
		json_bool(&w, "grew", has_grown(r, f));
		json_end(&w, '}');
	}
	json_end(&w, ']');
	json_end(&w, '}');
	buf_putc(out, '\n');
}
