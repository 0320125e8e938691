// SPDX-License-Identifier: MIT
/*
 * `xpuprof report --stalls`: kernels with why their warps waited, and the lines and instructions
 * where. Shares stand first, right-aligned; reasons last, as many as have room.
 */
#include <stdlib.h>
#include <string.h>

#include "view/names/name.h"
#include "report/report.h"
#include "report/stall_text.h"
#include "base/text.h"
#include "view/stalls/annotation_text.h"
#include "view/names/kernel_name.h"

/* Rows below each kernel, and reasons in each of them. */
#define DETAILS	       5
#define DETAIL_REASONS 2
#define INDENT	       20
#define PLACE_COLUMNS  52
#define TEXT_COLUMNS                                                                               \
	18 /* of an instruction's text, so that lines begin below each other where these are short \
	    */
#define BESIDE_COLUMNS 120
#define NAME_MIN       14

struct table {
	const struct report *r;
	const struct kernel_stalls *k;
	struct buf *out;
};

static unsigned int left(const struct table *t, unsigned int used)
{
	if (!t->r->width)
		return 0;
	return t->r->width > used + NAME_MIN ? t->r->width - used : NAME_MIN;
}

static void put_share(struct table *t, uint64_t samples, uint64_t of)
{
	char share[TEXT_CELL];

	buf_printf(t->out, "%*s  ", INDENT - 2, text_percent(share, samples, of));
}

/* What a row of code has seen. */
struct seen {
	uint64_t samples, of;
	const struct stall_count *reasons;
	size_t count;
};

/* One row: the share, where, and the reasons; on a line of their own where there is no room
 * beside each other. */
static void put_row(struct table *t, const struct seen *seen, const char *where)
{
	bool beside = !t->r->width || t->r->width >= BESIDE_COLUMNS;
	unsigned int used = (unsigned int)text_columns(where);

	put_share(t, seen->samples, seen->of);
	text_fit(t->out, where, beside ? PLACE_COLUMNS : left(t, INDENT));
	if (beside)
		buf_printf(t->out, "%*s  ", used < PLACE_COLUMNS ? (int)(PLACE_COLUMNS - used) : 0,
			"");
	else
		buf_printf(t->out, "\n%*s", INDENT + 2, "");
	stall_text_leading(t->k, seen->reasons, seen->count, seen->samples, DETAIL_REASONS,
		left(t, INDENT + 2 + (beside ? PLACE_COLUMNS : 0)), t->out);
	buf_putc(t->out, '\n');
}

static void put_reasons(struct table *t, size_t kernel)
{
	const struct kernel_sum *sum = &t->k->kernels.items[kernel];
	size_t count, shown = 0;
	const struct stall_count *at = stall_counts_of(&t->k->by_kernel, (uint32_t)kernel, &count);

	for (size_t i = 0; i < count && shown < DETAILS; i++) {
		/* What issues is no stall, and has a column of its own. */
		if (!at[i].samples || stall_is_issuing(&t->k->reasons.items[at[i].reason].name))
			continue;
		if (shown++ && at[i].samples < sum->samples / 100)
			break;
		put_share(t, at[i].samples, sum->samples);
		stall_text_reason(t->k, at[i].reason, left(t, INDENT), t->out);
		buf_putc(t->out, '\n');
	}
}

static void put_line(struct table *t, const struct annotation *a, uint32_t index)
{
	const struct annotation_line *line = &a->lines.items[index];
	struct seen seen = {line->samples, a->samples, NULL, 0};
	struct buf where = BUF_INIT;

	seen.reasons = stall_counts_of(&a->line_reasons, index, &seen.count);
	annotation_line_text(t->k->reader, line->file, line->line, &where);
	if (a->places.items[line->first].inlined) {
		buf_puts(&where, " in ");
		annotation_way_text(a, &a->places.items[line->first], line->file, &where);
	}
	if (line->count > 1)
		buf_printf(&where, " and %u other%s", line->count - 1, line->count > 2 ? "s" : "");
	put_row(t, &seen, buf_text(&where));
	t->out->failed |= where.failed;
	buf_release(&where);
}

static void put_instruction(struct table *t, const struct annotation *a, uint32_t index)
{
	const struct annotation_instruction *row = &a->instructions.items[index];
	const struct annotation_line *line = &a->lines.items[a->places.items[row->place].line];
	struct seen seen = {row->samples, a->samples, NULL, 0};
	struct buf where = BUF_INIT, text = BUF_INIT;

	seen.reasons = annotation_reasons(a, index, &seen.count);
	stall_text_offset(row->offset, &where);
	if (a->images.count > 1)
		buf_printf(&where, "(image %u) ", row->image + 1);
	text_fit(&text, stall_text_instruction(t->k->reader, row->instruction), 0);
	buf_printf(&where, "%-*s", line->file ? TEXT_COLUMNS : 0, buf_text(&text));
	if (line->file) {
		buf_puts(&where, "  ");
		annotation_line_text(t->k->reader, line->file, line->line, &where);
	}
	put_row(t, &seen, buf_text(&where));
	t->out->failed |= where.failed || text.failed;
	buf_release(&where);
	buf_release(&text);
}

/* The hottest rows of one kind, under their title. */
static int put_hottest(struct table *t, const struct annotation *a, const char *title,
	int (*find)(const struct annotation *, uint32_t **, size_t *),
	void (*put)(struct table *, const struct annotation *, uint32_t))
{
	uint32_t *rows;
	size_t count;
	int error = find(a, &rows, &count);

	if (error)
		return error;
	buf_printf(t->out, "%*s%s", 10, "", title);
	if (count > DETAILS)
		buf_printf(t->out, " (%d of %zu)", DETAILS, count);
	buf_putc(t->out, '\n');
	for (size_t i = 0; i < count && i < DETAILS; i++)
		put(t, a, rows[i]);
	free(rows);
	return 0;
}

static int put_code(struct table *t, size_t kernel)
{
	struct annotation a = {0};
	int error = annotation_make(&a, t->k, kernel, ANNOTATION_ALL);

	/* Where nothing is known of the lines one row would say so of everything. */
	if (!error && annotation_knows_lines(&a))
		error = put_hottest(t, &a, "lines", annotation_hottest_lines, put_line);
	error = error ?: put_hottest(
		t, &a, "instructions", annotation_hottest_instructions, put_instruction);
	annotation_release(&a);
	return error;
}

static int put_kernel(struct table *t, size_t kernel)
{
	const struct kernel_sum *sum = &t->k->kernels.items[kernel];
	char total[TEXT_CELL], share[TEXT_CELL], samples[TEXT_CELL], issuing[TEXT_CELL];
	struct buf name = BUF_INIT;

	kernel_readable(t->k->reader, sum->name, &name);
	buf_printf(t->out, "%10s %8s %11s %9s  ",
		sum->works ? text_duration(total, sum->time_ns) : "-",
		sum->works ? text_percent(share, sum->time_ns, t->k->gpu_ns) : "-",
		text_count(samples, sum->samples),
		text_percent(issuing, sum->issuing, sum->samples));
	name_fit(t->out, buf_text(&name), left(t, 43));
	buf_putc(t->out, '\n');
	t->out->failed |= name.failed;
	buf_release(&name);
	put_reasons(t, kernel);
	return put_code(t, kernel);
}

static void put_remark(void *to, const char *sentence)
{
	struct table *t = to;

	buf_printf(t->out, "  %s\n", sentence);
}

static const char *meta(const struct report *r, const char *key)
{
	const char *text = profile_meta(r->reader, key);

	return text && *text ? text : NULL;
}

/* Why some or all were not sampled, and what helps. */
static void put_refusals(struct table *t, const char *lines)
{
	struct buf line = BUF_INIT;

	while (lines && *lines) {
		size_t length = strcspn(lines, "\n");

		buf_reset(&line);
		buf_append(&line, lines, length);
		buf_puts(t->out, "  ");
		text_fit(t->out, buf_text(&line), 0);
		buf_putc(t->out, '\n');
		lines += length + (lines[length] != '\0');
	}
	t->out->failed |= line.failed;
	buf_release(&line);
}

static void put_nothing(struct table *t)
{
	const char *refused = meta(t->r, META_STALLS_REFUSED);

	if (refused) {
		buf_puts(t->out, "\nNo samples of instructions: they were refused\n");
		put_refusals(t, refused);
	} else if (meta(t->r, META_STALLS)) {
		buf_puts(t->out, "\nNo samples of instructions were taken in this recording.\n");
	} else {
		buf_puts(t->out, "\nNo samples of instructions in this recording: 'xpuprof record "
				 "--stalls' takes them.\n");
	}
}

int report_stalls_text(const struct report *r, struct buf *out)
{
	const struct kernel_stalls *k = r->stalls;
	struct table t = {r, k, out};
	size_t shown = r->top && r->top < k->kernels.count ? r->top : k->kernels.count;
	int error = 0;

	if (!k->kernels.count) {
		put_nothing(&t);
		return 0;
	}
	buf_puts(out, "\nWhy kernels wait");
	if (shown < k->kernels.count)
		buf_printf(out, " (%zu of %zu)", shown, k->kernels.count);
	buf_printf(out, "\n%10s %8s %11s %9s  kernel\n", "total", "of GPU", "samples", "issuing");
	for (size_t i = 0; !error && i < shown; i++)
		error = put_kernel(&t, i);
	buf_puts(out, "\nAbout these samples\n");
	stall_text_remarks(k, put_remark, &t);
	if (meta(r, META_STALLS_REFUSED)) {
		buf_puts(out, "\nNot all was sampled\n");
		put_refusals(&t, meta(r, META_STALLS_REFUSED));
	}
	return error;
}
