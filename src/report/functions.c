// SPDX-License-Identifier: MIT
/* Where CPU time was spent, by function: the table of `xpuprof report` and the member "functions"
 * of its JSON. */
#include <string.h>

#include "base/json_writer.h"
#include "base/root.h"
#include "base/text.h"
#include "view/names/name.h"
#include "report/call_path.h"
#include "report/sections.h"
#include "report/table.h"

#define PATH_SHARE_END 34 /* so that the path stands below the name */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* " [libm.so.6]", but not where the name contains it, as "libm.so.6+0x1234" and "python3.11 [no
 * symbols]" do. */
static void put_module(const struct function_sum *f, struct buf *b)
{
	const char *module = f->kind == TREE_PYTHON ? "" : base_name(f->file);
	size_t size = strlen(module);

	if (!size || (!strncmp(f->name, module, size) &&
			     (!strncmp(f->name + size, "+0x", 3) || f->name[size] == ' ')))
		return;
	buf_puts(b, *module == '[' ? " " : " [");
	text_fit(b, module, 0);
	buf_puts(b, *module == '[' ? "" : "]");
}

/* A long name leaves the module a third of the room, if it needs so much. */
static void fit_name(const struct report *r, const void *row, unsigned int columns, struct buf *out)
{
	const struct function_sum *f = row;
	struct buf module = BUF_INIT, line = BUF_INIT;
	const char *name = *f->name ? f->name : "(no name)";
	unsigned int for_module;

	(void)r;
	put_module(f, &module);
	for_module = (unsigned int)text_columns(buf_text(&module));
	if (columns)
		for_module = for_module < columns / 3 ? for_module : columns / 3;
	if (f->kind == TREE_CXX)
		name_fit(&line, name, columns ? columns - for_module : 0);
	else
		text_fit(&line, name, columns ? columns - for_module : 0);
	buf_puts(&line, buf_text(&module));
	text_fit(out, buf_text(&line), columns);
	buf_release_for(&module, out);
	buf_release_for(&line, out);
}

static void function_name(const struct report *r, const void *row, struct buf *b)
{
	(void)r;
	buf_puts(b, ((const struct function_sum *)row)->name);
}

static void place_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct function_sum *f = row;

	(void)r;
	if (f->kind != TREE_NOTE)
		json_text(w, f->kind == TREE_PYTHON ? "file" : "module", *f->file ? f->file : NULL);
}

static void path_json(const struct report *r, const void *row, struct json_writer *w)
{
	report_call_path_json(
		r, w, "path", ((const struct function_sum *)row)->stack, REPORT_PATH_CPU);
}

/*
 * Between what a time lies that so many samples stand for, with 95 % certainty: Wilson's interval
 * for a share of which as many samples were seen as have the same weight on average. What has no
 * samples is exact.
 */
static void bounds_json(struct json_writer *w, const char *low_key, const char *high_key,
	const struct stack_sum *sum, uint64_t sampled_ns)
{
	const double z = 1.96, whole = (double)sampled_ns;
	double share = whole ? (double)sum->ns / whole : 0, n, middle, half;
	double low = (double)sum->ns, high = low;

	if (sum->samples && sum->ns && share <= 1) {
		n = (double)sum->samples / share;
		middle = (share + z * z / (2 * n)) / (1 + z * z / n);
		half = z * root(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n);
		low = middle > half ? (middle - half) * whole : 0;
		high = (middle + half) * whole;
	}
	/* Large numbers were rounded. */
	json_number(w, low_key, low < (double)sum->ns ? (uint64_t)low : sum->ns);
	if (sum->samples && high >= whole)
		json_number(w, high_key, sampled_ns);
	else
		json_number(w, high_key, high > (double)sum->ns ? (uint64_t)high : sum->ns);
}

/* CPU time that has samples. */
static uint64_t sampled_ns(const struct summary *s)
{
	uint64_t ns = s->cpu_ns;

	for (int kind = SAMPLE_SEEN + 1; kind < SAMPLE_KINDS; kind++)
		ns -= s->sampled.unsampled_ns[kind];
	return ns;
}

static void errors_json(const struct report *r, const void *row, struct json_writer *w)
{
	const struct function_sum *f = row;
	uint64_t ns = sampled_ns(r->summary);

	bounds_json(w, "self_low_ns", "self_high_ns", &f->self, ns);
	bounds_json(w, "total_low_ns", "total_high_ns", &f->total, ns);
}

/* The way to a function with most of its own time. */
static void put_path(const struct report *r, const void *row, struct buf *out)
{
	const struct function_sum *f = row;
	double part = f->self.ns ? (double)f->stack_ns / (double)f->self.ns : 0;
	char share[TEXT_CELL];

	report_path_line(r, out, PATH_SHARE_END,
		text_sampled_percent(share, f->stack_ns, f->self.ns,
			(uint64_t)(part * (double)f->self.samples + 0.5)),
		f->stack, REPORT_PATH_CPU);
}

// clang-format off
static const struct column columns[] = {
	{.key = "name", .text = function_name},
	{.json = place_json},
	{"self", "self_ns", 1, 10, SAMPLED(struct function_sum, self.ns, self.samples)},
	{"total", "total_ns", 3, 9, SAMPLED(struct function_sum, total.ns, total.samples)},
	{.key = "self_samples", COUNT(struct function_sum, self.samples)},
	{.key = "samples", COUNT(struct function_sum, total.samples)},
	{.json = errors_json},
	{"of CPU", NULL, 2, 8, SAMPLED_SHARE(struct function_sum, self.ns, self.samples, report_cpu_ns)},
	{"of CPU", NULL, 4, 8, SAMPLED_SHARE(struct function_sum, total.ns, total.samples, report_cpu_ns)},
	{.json = path_json},
	{.key = "path_ns", DURATION(struct function_sum, stack_ns)},
	{"function", NULL, COLUMN_LAST, .fit = fit_name},
};
// clang-format on

const struct table report_functions = {.title = "CPU time by function",
	.key = "functions",
	TABLE_COLUMNS(columns),
	TABLE_ROWS(functions, rows),
	.below = put_path};
