// SPDX-License-Identifier: MIT
/* Where CPU time was spent, by function: the table of `xpuprof report` and the member "functions" of its JSON. */
#include <string.h>

#include "base/json_writer.h"
#include "view/names/name.h"
#include "report/report.h"
#include "base/text.h"

/* ------------------------------------------------------------------ text */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* " [libm.so.6]", but not where the name says it, as "libm.so.6+0x1234" does. */
static void put_module(const struct function_sum *f, struct buf *b)
{
	const char *module = f->kind == TREE_PYTHON ? "" : base_name(f->place);
	size_t size = strlen(module);

	if (!size || (!strncmp(f->name, module, size) && !strncmp(f->name + size, "+0x", 3)))
		return;
	buf_puts(b, *module == '[' ? " " : " [");
	text_fit(b, module, 0);
	buf_puts(b, *module == '[' ? "" : "]");
}

/* A long name leaves the module a third of the room, if it needs so much. */
static void put_name(const struct function_sum *f, struct buf *out, unsigned int columns)
{
	struct buf module = BUF_INIT, line = BUF_INIT;
	const char *name = *f->name ? f->name : "(no name)";
	unsigned int for_module;

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
	out->failed |= module.failed || line.failed;
	buf_release(&module);
	buf_release(&line);
}

static void put_function(const struct report *r, const struct function_sum *f, struct buf *out)
{
	char self[TEXT_CELL], self_share[TEXT_CELL], total[TEXT_CELL], total_share[TEXT_CELL];
	uint64_t all_ns = r->summary->cpu_ns;

	buf_printf(out, "%10s %8s %9s %8s  ", text_duration(self, f->self.ns), text_percent(self_share, f->self.ns, all_ns),
		text_duration(total, f->total.ns), text_percent(total_share, f->total.ns, all_ns));
	put_name(f, out, report_columns_left(r, 40));
	buf_putc(out, '\n');
}

void report_functions_text(const struct report *r, struct buf *out)
{
	size_t count = r->functions->rows.count, shown = report_rows_shown(r, count);

	if (!count)
		return;
	report_heading(r, out, "CPU time by function", count);
	buf_printf(out, "%10s %8s %9s %8s  function\n", "self", "of CPU", "total", "of CPU");
	for (size_t i = 0; i < shown; i++)
		put_function(r, &r->functions->rows.items[i], out);
}

/* ------------------------------------------------------------------ JSON */

void report_functions_json(const struct report *r, struct json_writer *w)
{
	size_t shown = report_rows_shown(r, r->functions->rows.count);

	json_begin(w, "functions", '[');
	for (size_t i = 0; i < shown; i++) {
		const struct function_sum *f = &r->functions->rows.items[i];

		json_begin(w, NULL, '{');
		json_text(w, "name", f->name);
		if (f->kind != TREE_NOTE)
			json_text(w, f->kind == TREE_PYTHON ? "file" : "module", *f->place ? f->place : NULL);
		json_number(w, "self_ns", f->self.ns);
		json_number(w, "total_ns", f->total.ns);
		json_number(w, "self_samples", f->self.samples);
		json_number(w, "samples", f->total.samples);
		json_end(w, '}');
	}
	json_end(w, ']');
}
