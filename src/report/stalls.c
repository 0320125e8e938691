// SPDX-License-Identifier: MIT
/*
 * Why kernels wait: a table of kernels, and for each the reasons, and the lines and instructions
 * where. In the text shares stand first and reasons last, as many as have room; in JSON reasons are
 * a list of each row.
 */
#include <stdlib.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"
#include "report/stall_text.h"
#include "report/table.h"
#include "view/names/kernel_name.h"
#include "view/names/name.h"
#include "view/stalls/annotation_text.h"
#include "view/stalls/lost.h"

/* Rows below each kernel, and reasons in each of them. */
#define DETAILS	       5
#define DETAIL_REASONS 2
#define INDENT	       20
#define PLACE_COLUMNS  52
#define TEXT_COLUMNS   18 /* of an instruction's text, so that lines below each other are aligned */
#define BESIDE_COLUMNS 120

/* The lines of a kernel, or its instructions. */
struct code_rows {
	const char *name;
	int (*find)(const struct annotation *a, uint32_t **ret, size_t *ret_count);
	void (*text)(const struct report *r, struct buf *out, const struct annotation *a,
		uint32_t index);
	void (*json)(const struct report *r, struct json_writer *w, const struct annotation *a,
		uint32_t index);
};

static uint32_t index_of(const struct report *r, const void *row)
{
	return (uint32_t)((const struct kernel_sum *)row - r->stalls->kernels.items);
}

/* ------------------------------------------------------------------ text */

static void put_share(struct buf *out, uint64_t samples, uint64_t of)
{
	char share[TEXT_CELL];

	buf_printf(out, "%*s  ", INDENT - 2, text_percent(share, samples, of));
}

/* The samples of a row of code. */
struct seen {
	uint64_t samples, of;
	const struct stall_count *reasons;
	size_t count;
};

/* One row: the share, where, and the reasons; on a line of their own where there is no room
 * beside each other. */
static void put_row(
	const struct report *r, struct buf *out, const struct seen *seen, const char *where)
{
	bool beside = !r->width || r->width >= BESIDE_COLUMNS;
	unsigned int used = (unsigned int)text_columns(where);

	put_share(out, seen->samples, seen->of);
	text_fit(out, where, beside ? PLACE_COLUMNS : report_columns_left(r, INDENT));
	if (beside)
		buf_printf(
			out, "%*s  ", used < PLACE_COLUMNS ? (int)(PLACE_COLUMNS - used) : 0, "");
	else
		buf_printf(out, "\n%*s", INDENT + 2, "");
	stall_text_leading(r->stalls, seen->reasons, seen->count, seen->samples, DETAIL_REASONS,
		report_columns_left(r, INDENT + 2 + (beside ? PLACE_COLUMNS : 0)), out);
	buf_putc(out, '\n');
}

static void put_reasons(const struct report *r, struct buf *out, uint32_t kernel)
{
	const struct kernel_sum *sum = &r->stalls->kernels.items[kernel];
	size_t count, shown = 0;
	const struct stall_count *at = stall_counts_of(&r->stalls->by_kernel, kernel, &count);

	for (size_t i = 0; i < count && shown < DETAILS; i++) {
		/* What issues is no stall, and has a column of its own. */
		if (!at[i].samples ||
			stall_is_issuing(&r->stalls->reasons.items[at[i].reason].name))
			continue;
		if (shown++ && at[i].samples < sum->samples / 100)
			break;
		put_share(out, at[i].samples, sum->samples);
		stall_text_reason(r->stalls, at[i].reason, report_columns_left(r, INDENT), out);
		buf_putc(out, '\n');
	}
}

static void put_line(
	const struct report *r, struct buf *out, const struct annotation *a, uint32_t index)
{
	const struct annotation_line *line = &a->lines.items[index];
	struct seen seen = {line->samples, a->samples, NULL, 0};
	struct buf where = BUF_INIT;

	seen.reasons = stall_counts_of(&a->line_reasons, index, &seen.count);
	annotation_line_text(r->reader, line->file, line->line, &where);
	if (a->sites.items[line->first].inlined) {
		buf_puts(&where, " in ");
		annotation_way_text(a, &a->sites.items[line->first], line->file, &where);
	}
	if (line->count > 1)
		buf_printf(&where, " and %u other%s", line->count - 1, line->count > 2 ? "s" : "");
	put_row(r, out, &seen, buf_text(&where));
	buf_release_for(&where, out);
}

static void put_instruction(
	const struct report *r, struct buf *out, const struct annotation *a, uint32_t index)
{
	const struct annotation_instruction *row = &a->instructions.items[index];
	const struct annotation_line *line = &a->lines.items[a->sites.items[row->site].line];
	struct seen seen = {row->samples, a->samples, NULL, 0};
	struct buf where = BUF_INIT, text = BUF_INIT;

	seen.reasons = annotation_reasons(a, index, &seen.count);
	stall_text_offset(row->offset, &where);
	if (a->images.count > 1)
		buf_printf(&where, "(image %u) ", row->image + 1);
	text_fit(&text, stall_text_instruction(r->reader, row->instruction), 0);
	buf_printf(&where, "%-*s", line->file ? TEXT_COLUMNS : 0, buf_text(&text));
	if (line->file) {
		buf_puts(&where, "  ");
		annotation_line_text(r->reader, line->file, line->line, &where);
	}
	put_row(r, out, &seen, buf_text(&where));
	buf_release_for(&where, out);
	buf_release_for(&text, out);
}

/* ------------------------------------------------------------------ JSON */

static void put_readable(
	const struct report *r, struct json_writer *w, const char *name, uint32_t id)
{
	struct buf b = BUF_INIT;

	kernel_readable(r->reader, id, &b);
	json_text(w, name, buf_text(&b));
	buf_release_for(&b, w->out);
}

static void put_reasons_json(
	const struct report *r, struct json_writer *w, const struct stall_count *at, size_t count)
{
	json_begin(w, "reasons", '[');
	for (size_t i = 0; i < count; i++) {
		const struct kernel_reason *reason = &r->stalls->reasons.items[at[i].reason];

		json_begin(w, NULL, '{');
		json_text(w, "reason",
			reason->name.reason ? reason->name.reason->name : reason->name.name);
		json_text(w, "words", stall_words(&reason->name));
		json_text(w, "class", stall_class_key(stall_class_of(&reason->name)));
		json_number(w, "samples", at[i].samples);
		json_number(w, "latency", at[i].latency);
		json_end(w, '}');
	}
	json_end(w, ']');
}

/* The functions inlined into one another, the outermost first, each with the line of its call. */
static void put_inlined_json(
	const struct report *r, struct json_writer *w, const struct annotation_site *p)
{
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	size_t count = annotation_chain(r->reader, p->inlined, chain);

	json_begin(w, NULL, '{');
	json_number(w, "samples", p->samples);
	json_begin(w, "functions", '[');
	for (size_t i = 0; i < count; i++) {
		json_begin(w, NULL, '{');
		put_readable(r, w, "name", chain[i]->name);
		report_string_json(r, w, "file", i ? chain[i - 1]->file : p->call_file);
		json_number(w, "line", i ? chain[i - 1]->line : p->call_line);
		json_end(w, '}');
	}
	json_end(w, ']');
	json_end(w, '}');
}

static void put_line_json(
	const struct report *r, struct json_writer *w, const struct annotation *a, uint32_t index)
{
	const struct annotation_line *line = &a->lines.items[index];
	const struct stall_count *at;
	size_t count;

	json_begin(w, NULL, '{');
	report_string_json(r, w, "file", line->file);
	json_number(w, "line", line->line);
	json_number(w, "samples", line->samples);
	json_number(w, "latency", line->latency);
	json_number(w, "issuing", line->issuing);
	json_number(w, "called", line->called);
	json_begin(w, "inlined", '[');
	for (uint32_t i = 0; i < line->count; i++)
		if (a->sites.items[line->first + i].inlined)
			put_inlined_json(r, w, &a->sites.items[line->first + i]);
	json_end(w, ']');
	at = stall_counts_of(&a->line_reasons, index, &count);
	put_reasons_json(r, w, at, count);
	json_end(w, '}');
}

static void put_instruction_json(
	const struct report *r, struct json_writer *w, const struct annotation *a, uint32_t index)
{
	const struct annotation_instruction *row = &a->instructions.items[index];
	const struct profile_instruction *i = profile_instruction(r->reader, row->instruction);
	const struct annotation_line *line = &a->lines.items[a->sites.items[row->site].line];
	const struct stall_count *at;
	size_t count;

	json_begin(w, NULL, '{');
	json_number(w, "image", row->image);
	json_number(w, "offset", row->offset);
	report_string_json(r, w, "text", i->text);
	report_string_json(r, w, "file", line->file);
	json_number(w, "line", line->line);
	json_number(w, "samples", row->samples);
	json_number(w, "latency", row->latency);
	at = annotation_reasons(a, index, &count);
	put_reasons_json(r, w, at, count);
	json_end(w, '}');
}

/* ------------------------------------------------------------------ kernels */

static const struct code_rows lines = {"lines", annotation_hottest_lines, put_line, put_line_json};
static const struct code_rows instructions = {
	"instructions", annotation_hottest_instructions, put_instruction, put_instruction_json};

/* The hottest rows of one kind, under their title. */
static int put_hottest(const struct report *r, struct buf *out, const struct annotation *a,
	const struct code_rows *rows)
{
	uint32_t *found;
	size_t count;
	int error = rows->find(a, &found, &count);

	if (error)
		return error;
	buf_printf(out, "%*s%s", 10, "", rows->name);
	if (count > DETAILS)
		buf_printf(out, " (%d of %zu)", DETAILS, count);
	buf_putc(out, '\n');
	for (size_t i = 0; i < count && i < DETAILS; i++)
		rows->text(r, out, a, found[i]);
	free(found);
	return 0;
}

/* What is missing may as well be time in which few multiprocessors ran the kernel. */
static void put_shortfall(const struct report *r, const struct kernel_sum *kernel, struct buf *out)
{
	char count[TEXT_CELL];

	if (!kernel_lacks_samples(r->stalls, kernel))
		return;
	put_share(out, kernel->samples, kernel->due);
	buf_printf(out, "of %s samples due: lost, or few SMs ran it\n",
		text_count(count, kernel->due));
}

static void put_details(const struct report *r, const void *row, struct buf *out)
{
	struct annotation a = {0};
	int error = annotation_make(&a, r->stalls, index_of(r, row), ANNOTATION_ALL);

	put_shortfall(r, row, out);
	put_reasons(r, out, index_of(r, row));
	/* Without any known line, the table would be one row for all. */
	if (!error && annotation_has_lines(&a))
		error = put_hottest(r, out, &a, &lines);
	error = error ?: put_hottest(r, out, &a, &instructions);
	annotation_release(&a);
	out->failed |= error != 0;
}

static int put_hottest_json(const struct report *r, struct json_writer *w,
	const struct annotation *a, const struct code_rows *rows)
{
	uint32_t *found;
	size_t count;
	int error = rows->find(a, &found, &count);

	if (error)
		return error;
	json_begin(w, rows->name, '[');
	for (size_t i = 0; i < report_rows_shown(r, count); i++)
		rows->json(r, w, a, found[i]);
	json_end(w, ']');
	free(found);
	return 0;
}

static void details_json(const struct report *r, const void *row, struct json_writer *w)
{
	struct annotation a = {0};
	int error = annotation_make(&a, r->stalls, index_of(r, row), ANNOTATION_ALL);
	size_t count;
	const struct stall_count *at =
		stall_counts_of(&r->stalls->by_kernel, index_of(r, row), &count);

	put_reasons_json(r, w, at, count);
	error = error ?: put_hottest_json(r, w, &a, &lines);
	error = error ?: put_hottest_json(r, w, &a, &instructions);
	annotation_release(&a);
	w->out->failed |= error != 0;
}

static void kernel_name(const struct report *r, const void *row, struct buf *b)
{
	kernel_readable(r->reader, ((const struct kernel_sum *)row)->name, b);
}

static uint64_t gpu_ns(const struct report *r)
{
	return r->stalls->gpu_ns;
}

/* Functions that kernels call have no time of their own. */
static bool is_no_kernel(const void *row)
{
	return !((const struct kernel_sum *)row)->works;
}

// clang-format off
static const struct column kernel_columns[] = {
	{"kernel", "name", COLUMN_LAST, .text = kernel_name, .cut = name_fit},
	{.key = "linker_name", STRING(struct kernel_sum, name)},
	{.key = "count", COUNT(struct kernel_sum, works)},
	{"total", "total_ns", 1, 10, DURATION(struct kernel_sum, time_ns), .is_absent = is_no_kernel},
	{"of GPU", NULL, 2, 8, SHARE_OF(struct kernel_sum, time_ns, gpu_ns), .is_absent = is_no_kernel},
	{"samples", "samples", 3, 11, COUNT(struct kernel_sum, samples)},
	{.key = "due", COUNT(struct kernel_sum, due)},
	{.key = "latency", COUNT(struct kernel_sum, latency)},
	{.key = "issuing", COUNT(struct kernel_sum, issuing)},
	{"issuing", NULL, 4, 9, SHARE(struct kernel_sum, issuing, samples)},
	{.key = "images", COUNT(struct kernel_sum, images)},
	{.json = details_json},
};
// clang-format on

static const struct table kernels = {.title = "Why kernels wait",
	.key = "kernels",
	TABLE_COLUMNS(kernel_columns),
	TABLE_ROWS(stalls, kernels),
	.below = put_details};

/* ------------------------------------------------------------------ both */

static void put_remark(void *to, const char *sentence)
{
	buf_printf(to, "  %s\n", sentence);
}

static void put_refusal(const struct report *r, struct buf *out, const char *title)
{
	if (report_meta(r, META_STALLS_REFUSED))
		buf_printf(out, "\n%s\n", title);
	report_lines(out, "  ", "  ", report_meta(r, META_STALLS_REFUSED));
}

static int put_lost(void *to, const char *sentence)
{
	put_remark(to, sentence);
	return 0;
}

static void put_nothing(const struct report *r, struct buf *out)
{
	if (report_meta(r, META_STALLS_REFUSED))
		put_refusal(
			r, out, "No samples of instructions: there are none, or they were refused");
	else if (report_meta(r, META_STALLS))
		buf_puts(out, "\nNo samples of instructions are in this recording.\n");
	else
		buf_puts(out, "\nNo samples of instructions in this recording: 'xpuprof record "
			      "--stalls' records them.\n");
	stalls_each_lost(r->reader, put_lost, out);
}

void report_stalls_text(const struct report *r, struct buf *out)
{
	if (!r->stalls->kernels.count) {
		put_nothing(r, out);
		return;
	}
	table_text(r, &kernels, out);
	buf_puts(out, "\nAbout these samples\n");
	stall_text_remarks(r->stalls, put_remark, out);
	put_refusal(r, out, "Not all was sampled");
}

static void put_windows(const struct kernel_windows *windows, struct json_writer *w)
{
	json_number(w, "windows", windows->count);
	json_number(w, "windows_exact", windows->exact);
	json_number(w, "taken", windows->samples);
	json_number(w, "dropped", windows->dropped);
	json_number(w, "without_code", windows->without_code);
	json_number(w, "period_cycles_min", windows->period_min);
	json_number(w, "period_cycles_max", windows->period_max);
}

void report_stalls_json(const struct report *r, struct json_writer *w)
{
	const struct kernel_stalls *k = r->stalls;

	json_begin(w, "stalls", '{');
	put_windows(&k->windows, w);
	json_number(w, "samples", k->samples);
	json_number(w, "due", k->due);
	json_number(w, "latency", k->latency);
	json_number(w, "issuing", k->issuing);
	json_number(w, "apportioned", k->apportioned);
	json_number(w, "not_sampled", k->not_sampled.count);
	json_number(w, "not_sampled_ns", k->not_sampled_ns);
	json_text_lines(w, "refused", profile_meta(r->reader, META_STALLS_REFUSED));
	table_json(r, &kernels, w);
	json_end(w, '}');
}
