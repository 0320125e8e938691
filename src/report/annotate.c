// SPDX-License-Identifier: MIT
/*
 *	 share   calls  line  source                   source lines; with samples in what was inlined at calls there
 *	72.3 %             5      float value = from[at];
 *	              96.7 % waiting for ...            why, of the whole line
 *	              8.00 lines of 128 bytes ...       what its accesses ask for, where that is known
 *	              in load_tile, inlined at k.cu:15  how these instructions came into the kernel
 *	         48.2 %  0x0010  LDG.E R2, [R4.64]  95.2 % waiting for ...
 *
 * Shares are of the samples of what is shown. Escape sequences stand around shares only, so that
 * they do not change the width of other columns.
 */
#include "report/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/names/name.h"
#include "report/access_lines.h"
#include "report/stall_text.h"
#include "base/text.h"
#include "view/stalls/annotation_text.h"
#include "view/names/kernel_name.h"

#define CONTEXT_LINES	     2
#define CONTEXT_INSTRUCTIONS 3
#define REASONS_SHOWN	     6
#define ACCESSES_SHOWN	     10
#define LINE_REASONS	     3
#define INDENT		     19 /* of what stands below a line */
#define TAB_COLUMNS	     8

/* In thousandths of all samples: the least share of a line with reasons and instructions below it,
 * and of an instruction there. */
#define HOT_LINE	1 * 10
#define HOT_INSTRUCTION 5

#define REASON_COLUMNS_MIN 16

struct page {
	const struct annotate *t;
	const struct annotation *a;
	const struct profile_reader *r;
	struct buf *out;
	struct access_lines accesses;
};

static unsigned int left(const struct page *p, unsigned int used)
{
	if (!p->t->width)
		return 0;
	return p->t->width > used + 1 ? p->t->width - used : 1;
}

static bool is_at_least(const struct page *p, uint64_t samples, unsigned int thousandths)
{
	return samples && (double)samples * 1000 >= (double)p->a->samples * thousandths;
}

/* Right-aligned in `columns`; hot ones stand out. "-": code without samples. */
static void put_share(struct page *p, uint64_t samples, int columns)
{
	const char *on = "";
	char share[TEXT_CELL];

	if (p->t->colour && is_at_least(p, samples, 100))
		on = "\033[1;31m";
	else if (p->t->colour && is_at_least(p, samples, HOT_LINE))
		on = "\033[33m";
	buf_printf(p->out, "%s%*s%s", on, columns,
		samples ? text_percent(share, samples, p->a->samples) : "-", *on ? "\033[0m" : "");
}

static void put_text(struct page *p, unsigned int used, const char *text)
{
	text_fit(p->out, text, left(p, used));
	buf_putc(p->out, '\n');
}

static void field(struct page *p, const char *title, const char *text)
{
	buf_printf(p->out, "%-13s ", title);
	put_text(p, 14, text);
}

static void put_reasons(struct page *p)
{
	size_t count;
	const struct stall_count *at = stall_counts_of(&p->a->reasons, 0, &count);

	for (size_t i = 0; i < count && i < REASONS_SHOWN && at[i].samples; i++) {
		char share[TEXT_CELL];

		buf_printf(p->out, "%22s  ", text_percent(share, at[i].samples, p->a->samples));
		stall_text_reason(p->a->stalls, at[i].reason, left(p, 24), p->out);
		buf_putc(p->out, '\n');
	}
}

/* "  8.00 of at least 1.00  k.cu:12" */
static void put_access(struct page *p, const struct kernel_access *a)
{
	const char *path = a->file ? p->t->accesses->files.items[a->file - 1] : "";
	const char *slash = strrchr(path, '/');
	char count[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "%10.2f  %8.2f  %13s  ", (double)a->lines / (double)a->accesses, a->least,
		text_count(count, a->accesses));
	if (*path)
		buf_printf(&line, "%s:%u", slash ? slash + 1 : path, a->line);
	else
		buf_printf(&line, "access %u", a->insn);
	put_text(p, 0, buf_text(&line));
	buf_release_for(&line, p->out);
}

static bool is_in_table(const struct page *p, size_t access)
{
	return !p->t->source || p->accesses.of[access] == ACCESS_NO_LINE;
}

static void put_accesses(struct page *p)
{
	const struct kernel_accesses *all = p->t->accesses;
	size_t count = 0, shown, n = 0;

	for (size_t i = 0; i < all->items.count; i++)
		count += is_in_table(p, i);
	shown = p->t->all || count < ACCESSES_SHOWN ? count : ACCESSES_SHOWN;
	if (!count)
		return;
	buf_puts(p->out,
		"\nlines of 128 bytes that a warp asks for at once, and the fewest for its "
		"bytes (probe coalesce):\n"
		"      each  at least       accesses  place\n");
	for (size_t i = 0; i < all->items.count && n < shown; i++)
		if (is_in_table(p, i)) {
			put_access(p, &all->items.items[i]);
			n++;
		}
	if (shown < count)
		buf_printf(p->out, "  ... and %zu more (--all)\n", count - shown);
}

/* Of those that stand below their lines; the others are a table. */
static uint32_t accesses_on(const struct page *p, uint32_t line, const uint32_t **ret)
{
	return p->t->source ? access_lines_on(&p->accesses, line, ret) : 0;
}

static bool has_access(const struct page *p, uint32_t line)
{
	const uint32_t *unused;

	return accesses_on(p, line, &unused);
}

/* "8.00 lines of 128 bytes a warp, at least 1.00: 1,570 accesses" */
static void put_accesses_below(struct page *p, uint32_t line)
{
	const uint32_t *of;
	uint32_t count_on = accesses_on(p, line, &of);

	for (uint32_t i = 0; i < count_on; i++) {
		const struct kernel_access *a = &p->t->accesses->items.items[of[i]];
		char text[128], count[TEXT_CELL];

		snprintf(text, sizeof(text), "%.2f lines of 128 bytes a warp, at least %.2f: %s %s",
			(double)a->lines / (double)a->accesses, a->least,
			text_count(count, a->accesses), a->accesses == 1 ? "access" : "accesses");
		buf_printf(p->out, "%*s", INDENT, "");
		put_text(p, INDENT, text);
	}
}

static void put_images(struct page *p)
{
	const struct annotation *a = p->a;
	char share[TEXT_CELL];
	struct buf line = BUF_INIT;

	if (a->images.count < 2 || a->image == ANNOTATION_ALL)
		return;
	buf_printf(&line,
		"%u of %zu with a kernel of this name, with %s of its samples (--image shows "
		"another)",
		a->image + 1, a->images.count,
		text_percent(share, a->samples, a->stalls->kernels.items[a->kernel].samples));
	field(p, "image", buf_text(&line));
	buf_release_for(&line, p->out);
}

static void put_header(struct page *p)
{
	const struct kernel_sum *sum = &p->a->stalls->kernels.items[p->a->kernel];
	char count[TEXT_CELL], share[TEXT_CELL], time[TEXT_CELL];
	struct buf line = BUF_INIT;

	kernel_readable(p->r, sum->name, &line);
	buf_puts(p->out, "kernel        ");
	name_fit(p->out, buf_text(&line), left(p, 14));
	buf_putc(p->out, '\n');
	buf_reset(&line);
	if (p->t->range)
		field(p, "range", p->t->range);
	if (profile_meta(p->r, META_SIMULATED))
		field(p, "GPU", "simulated GPU");
	if (sum->works) {
		buf_printf(&line, "%s in %s launch%s, %s of all", text_duration(time, sum->time_ns),
			text_count(count, sum->works), sum->works == 1 ? "" : "es",
			text_percent(share, sum->time_ns, p->a->stalls->gpu_ns));
		field(p, "GPU time", buf_text(&line));
		buf_reset(&line);
	}
	put_images(p);
	buf_printf(&line, "%s, %s of them issuing", text_count(count, p->a->samples),
		text_percent(share, p->a->issuing, p->a->samples));
	field(p, "samples", buf_text(&line));
	put_reasons(p);
	put_accesses(p);
	buf_release_for(&line, p->out);
}

/* A line of source with tabs made blanks. */
static void expand(const char *text, size_t size, struct buf *b)
{
	size_t column = 0;

	for (size_t i = 0; i < size; i++) {
		bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
		size_t columns = text[i] == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS : begins;

		if (text[i] == '\t')
			buf_printf(b, "%*s", (int)columns, "");
		else
			buf_putc(b, text[i]);
		column += columns;
	}
}

/* The leading reasons of a row, in what is left of the line. */
static void put_leading(struct page *p, const struct stall_count *at, size_t count,
	uint64_t samples, unsigned int used)
{
	stall_text_leading(p->a->stalls, at, count, samples, LINE_REASONS, left(p, used), p->out);
}

/* In fewer columns no reason is readable; without a terminal there is no limit. */
static bool has_room(const struct page *p, unsigned int used)
{
	return !p->t->width || left(p, used) >= REASON_COLUMNS_MIN;
}

/* "  48.2 %  0x0010  LDG.E R2, [R4.64]        95.2 % waiting for ..." */
static void put_instruction(
	struct page *p, uint32_t index, int share_columns, unsigned int text_columns_max)
{
	const struct annotation_instruction *row = &p->a->instructions.items[index];
	unsigned int used = (unsigned int)share_columns + 10;
	size_t count;
	const struct stall_count *at = annotation_reasons(p->a, index, &count);
	struct buf text = BUF_INIT;

	if (p->t->width && text_columns_max > left(p, used))
		text_columns_max = left(p, used);
	put_share(p, row->samples, share_columns);
	buf_puts(p->out, "  ");
	stall_text_offset(row->offset, p->out);
	text_fit(&text, stall_text_instruction(p->r, row->instruction), text_columns_max);
	buf_puts(p->out, buf_text(&text));
	if (row->samples && has_room(p, used + text_columns_max + 2)) {
		buf_printf(p->out, "%*s",
			(int)(text_columns_max - text_columns(buf_text(&text))) + 2, "");
		put_leading(p, at, count, row->samples, used + text_columns_max + 2);
	}
	buf_release_for(&text, p->out);
}

static unsigned int instruction_columns(const struct page *p)
{
	return p->t->width && p->t->width < 120 ? 30 : 40;
}

static void put_site(struct page *p, const struct annotation_site *site)
{
	struct buf way = BUF_INIT;
	bool shown = false;

	for (uint32_t i = 0; i < site->count; i++) {
		uint32_t index = p->a->by_site[site->first + i];

		if (!p->t->all &&
			!is_at_least(p, p->a->instructions.items[index].samples, HOT_INSTRUCTION))
			continue;
		if (!shown && site->inlined) {
			buf_puts(&way, "in ");
			annotation_way_text(p->a, site, p->a->lines.items[site->line].file, &way);
			buf_printf(p->out, "%*s", INDENT, "");
			put_text(p, INDENT, buf_text(&way));
		}
		shown = true;
		put_instruction(p, index, INDENT, instruction_columns(p));
		buf_putc(p->out, '\n');
	}
	buf_release_for(&way, p->out);
}

/* What stands below a line: why, and its instructions. */
static void put_below(struct page *p, uint32_t index)
{
	const struct annotation_line *line = &p->a->lines.items[index];
	size_t count;
	const struct stall_count *at = stall_counts_of(&p->a->line_reasons, index, &count);
	bool is_hot = p->t->all || is_at_least(p, line->samples, HOT_LINE);

	if (is_hot && line->samples) {
		buf_printf(p->out, "%*s", INDENT, "");
		put_leading(p, at, count, line->samples, INDENT);
		buf_putc(p->out, '\n');
	}
	put_accesses_below(p, index);
	if (!is_hot)
		return;
	for (uint32_t i = 0; p->t->instructions && i < line->count; i++)
		put_site(p, &p->a->sites.items[line->first + i]);
}

static void put_source_line(struct page *p, const struct source_text *source, uint32_t number,
	const struct annotation_line *line)
{
	struct buf text = BUF_INIT;
	size_t size;
	const char *bytes = source_line(source, number, &size);

	if (line && line->count)
		put_share(p, line->samples, 8);
	else
		buf_printf(p->out, "%8s", "");
	if (p->a->calls.count && line && line->called)
		put_share(p, line->called, 8);
	else if (p->a->calls.count)
		buf_printf(p->out, "%8s", "");
	buf_printf(p->out, " %6u  ", number);
	expand(bytes ? bytes : "", bytes ? size : 0, &text);
	put_text(p, p->a->calls.count ? 25 : 17, buf_text(&text));
	buf_release_for(&text, p->out);
}

static bool is_shown(const struct page *p, uint32_t index)
{
	const struct annotation_line *line = &p->a->lines.items[index];

	return p->t->all || line->samples || line->called || has_access(p, index);
}

static bool is_file_shown(const struct page *p, const struct annotation_file *file)
{
	bool shown = file->samples || file->called || p->t->all;

	for (uint32_t i = file->first; !shown && i < file->first + file->count; i++)
		shown = has_access(p, i);
	return shown;
}

/* Lines of the source up to, without, `next`: some behind the last one with code and some before
 * that, "..." between. */
static uint32_t put_gap(
	struct page *p, const struct source_text *source, uint32_t from, uint32_t next, bool first)
{
	uint32_t before = next > CONTEXT_LINES ? next - CONTEXT_LINES : 1;
	uint32_t behind = first ? from : from + CONTEXT_LINES;

	if (!source->path)
		return next;
	if (p->t->all && !first)
		behind = next;
	for (; from < next && from < behind && from <= source_line_count(source); from++)
		put_source_line(p, source, from, NULL);
	if (from < before) {
		if (!first)
			buf_printf(p->out, "%*s\n", p->a->calls.count ? 23 : 15, "...");
		from = before;
	}
	for (; from < next && from <= source_line_count(source); from++)
		put_source_line(p, source, from, NULL);
	return next;
}

static void put_file_head(
	struct page *p, const struct annotation_file *file, const struct source_text *source)
{
	const char *path = profile_string(p->r, file->file, NULL), *made = source_made_text(path);
	char share[TEXT_CELL];

	buf_printf(
		p->out, "\n%s of the samples: ", text_percent(share, file->samples, p->a->samples));
	text_fit(p->out, source->path ? source->path : path, 0);
	buf_putc(p->out, '\n');
	if (!source->path && made) {
		buf_printf(p->out, "%s\n", made);
	} else if (!source->path) {
		buf_puts(p->out, "source not found: ");
		text_fit(p->out, path, 0);
		buf_puts(p->out, " (");
		text_fit(p->out, source->why, 0);
		buf_puts(p->out, "); --source-dir and --source-map say where it is\n");
	}
	if (source_is_newer(source, p->r))
		buf_puts(p->out, "changed after the recording began: its lines may not be those of "
				 "the code\n");
	buf_printf(p->out, "%8s%s %6s  source\n", "share", p->a->calls.count ? "   calls" : "",
		"line");
}

static void put_file(
	struct page *p, const struct annotation_file *file, const struct source_text *source)
{
	uint32_t at = 1;
	bool first = true;

	if (!is_file_shown(p, file))
		return;
	put_file_head(p, file, source);
	for (uint32_t i = file->first; i < file->first + file->count; i++) {
		const struct annotation_line *line = &p->a->lines.items[i];

		if (!is_shown(p, i))
			continue;
		at = put_gap(p, source, at, line->line, first) + 1;
		put_source_line(p, source, line->line, line);
		put_below(p, i);
		first = false;
	}
	if (!first && source->path)
		for (uint32_t i = 0; i < CONTEXT_LINES && at <= source_line_count(source); i++)
			put_source_line(p, source, at++, NULL);
}

/* Instructions whose line is not known. */
static void put_unknown(struct page *p, const struct annotation_file *file)
{
	char share[TEXT_CELL];

	if (!file->samples && !p->t->all)
		return;
	buf_printf(p->out, "\n%s of the samples: lines not known\n",
		text_percent(share, file->samples, p->a->samples));
	for (uint32_t i = file->first; i < file->first + file->count; i++)
		put_below(p, i);
}

static void put_sources(struct page *p)
{
	for (size_t i = 0; i < p->a->files.count; i++)
		if (p->a->files.items[i].file)
			put_file(p, &p->a->files.items[i], &p->t->sources[i]);
		else
			put_unknown(p, &p->a->files.items[i]);
}

/* One instruction with the line it is of beside it. */
static void put_instruction_row(struct page *p, uint32_t index)
{
	const struct annotation_instruction *row = &p->a->instructions.items[index];
	const struct annotation_site *site = &p->a->sites.items[row->site];
	const struct annotation_line *line = &p->a->lines.items[site->line];
	unsigned int where_columns = p->t->width && p->t->width < 120 ? 18 : 40;
	struct buf where = BUF_INIT, fitting = BUF_INIT;

	if (line->file)
		annotation_line_text(p->r, line->file, line->line, &where);
	if (site->inlined) {
		buf_puts(&where, " in ");
		annotation_way_text(p->a, site, line->file, &where);
	}
	text_fit(&fitting, buf_text(&where), where_columns);
	buf_printf(p->out, "%s%*s  ", buf_text(&fitting),
		(int)(where_columns - text_columns(buf_text(&fitting))), "");
	put_instruction(p, index, 8, instruction_columns(p));
	buf_putc(p->out, '\n');
	buf_release_for(&where, p->out);
	buf_release_for(&fitting, p->out);
}

/* Whether an instruction has samples, or stands near one that has. */
static bool is_near(const struct page *p, uint32_t index)
{
	uint32_t from = index > CONTEXT_INSTRUCTIONS ? index - CONTEXT_INSTRUCTIONS : 0;

	for (uint32_t i = from; i <= index + CONTEXT_INSTRUCTIONS && i < p->a->instructions.count;
		i++)
		if (p->a->instructions.items[i].samples)
			return true;
	return false;
}

static void put_instructions(struct page *p)
{
	unsigned int where_columns = p->t->width && p->t->width < 120 ? 18 : 40;
	bool gap = false;

	buf_printf(p->out, "\n%-*s  %8s  %-6s  instruction\n", (int)where_columns, "source",
		"share", "offset");
	for (uint32_t i = 0; i < p->a->instructions.count; i++) {
		if (!p->t->all && !is_near(p, i)) {
			gap = true;
			continue;
		}
		if (gap)
			buf_printf(p->out, "%*s\n", (int)where_columns + 18, "...");
		gap = false;
		put_instruction_row(p, i);
	}
	if (gap)
		buf_printf(p->out, "%*s\n", (int)where_columns + 18, "...");
}

static void put_remark(void *to, const char *sentence)
{
	struct page *p = to;

	buf_printf(p->out, "  %s\n", sentence);
}

void annotate_text(const struct annotate *t, struct buf *out)
{
	struct page p = {
		.t = t, .a = t->annotation, .r = t->annotation->stalls->reader, .out = out};

	if (access_lines_find(&p.accesses, p.a, t->accesses)) {
		access_lines_release(&p.accesses);
		out->failed = true;
		return;
	}
	put_header(&p);
	if (t->source)
		put_sources(&p);
	else
		put_instructions(&p);
	buf_puts(out, "\nAbout the samples of all kernels\n");
	stall_text_remarks(t->annotation->stalls, put_remark, &p);
	access_lines_release(&p.accesses);
}
