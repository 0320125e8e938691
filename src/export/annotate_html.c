// SPDX-License-Identifier: MIT
/*
 * Rows are linked by ids: a source line is "L" and its index, an instruction "I" and its index;
 * instructions name their line, and the lines with the calls they were inlined at, in `data-l`.
 * Links work by these without the script, which adds marking of all that belongs together,
 * scrolling of the other side and the keyboard (annotate.js).
 */
#include "export/annotate_html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/error.h"
#include "export/svg_assets.h"
#include "export/text.h"
#include "view/fold/command_title.h"
#include "view/stalls/annotation_text.h"
#include "view/names/kernel_name.h"

#define CONTEXT_LINES 4
#define TAB_COLUMNS   8
#define HOTTEST	      5
#define WAYS	      3 /* of a line into the kernel, that are shown at once */
/* How many reasons of one class look different (annotate.css). */
#define LOOKS 7
/* Shorter gaps are not worth a row. */
#define GAP_LINES 3

struct page {
	const struct annotate_page *wanted;
	const struct annotation *a;
	const struct kernel_stalls *k;
	const struct profile_reader *r;
	struct output *o;
	struct buf text; /* used and emptied by each of the small functions */
	uint64_t hottest_line, hottest_instruction;
	uint8_t *looks; /* by reason: which of its class it is, the most frequent first */
	int error;
};

static void put(struct page *p, const char *html)
{
	output_puts(p->o, html);
}

static void put_escaped(struct page *p, const char *text, size_t size)
{
	buf_reset(&p->text);
	text_xml(&p->text, text, size);
	if (p->text.failed)
		p->error = -ENOMEM;
	output_write(p->o, p->text.data, p->text.size);
}

static void put_text(struct page *p, const char *text)
{
	put_escaped(p, text, strlen(text));
}

static void put_string(struct page *p, uint32_t id)
{
	size_t size;
	const char *text = profile_string(p->r, id, &size);

	put_escaped(p, text, size);
}

/* Writes and releases it. */
static void put_buf(struct page *p, struct buf *text)
{
	if (text->failed)
		p->error = -ENOMEM;
	put_escaped(p, buf_text(text), text->size);
	buf_release(text);
}

static void put_function(struct page *p, uint32_t name)
{
	struct buf readable = BUF_INIT;

	kernel_readable(p->r, name, &readable);
	put_buf(p, &readable);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

static void put_percent(struct page *p, uint64_t part, uint64_t whole)
{
	output_printf(p->o, "%.1f\xc2\xa0%%", percent(part, whole));
}

static void put_count(struct page *p, uint64_t count)
{
	char digits[DIGITS_SIZE];

	put(p, digits_group(digits, count));
}

static void put_words(struct page *p, uint32_t reason)
{
	const struct kernel_reason *r = &p->k->reasons.items[reason];

	put_text(p, *stall_words(&r->name) ? stall_words(&r->name) : "(reason without a name)");
	if (r->name.reason)
		output_printf(p->o, " (%s)", r->name.reason->name);
}

/* One colour a class, one shade or pattern of it a reason. */
static void find_looks(struct page *p)
{
	size_t count, of_class[STALL_CLASSES] = {0};
	const struct stall_count *at = stall_counts_of(&p->a->reasons, 0, &count);

	p->looks = calloc(p->k->reasons.count + 1, 1);
	if (!p->looks) {
		p->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t *n = &of_class[stall_class_of(&p->k->reasons.items[at[i].reason].name)];

		p->looks[at[i].reason] = (uint8_t)(*n < LOOKS ? (*n)++ : LOOKS - 1);
	}
}

static void put_class(struct page *p, uint32_t reason)
{
	put(p, stall_class_key(stall_class_of(&p->k->reasons.items[reason].name)));
	if (p->looks && p->looks[reason])
		output_printf(p->o, " n%u", p->looks[reason]);
}

/* "80.0 % waiting for a memory load (long_scoreboard)", one a line. */
static void put_reasons_text(
	struct page *p, const struct stall_count *at, size_t count, uint64_t samples)
{
	for (size_t i = 0; i < count && at[i].samples; i++) {
		put(p, i ? "&#10;" : "");
		put_percent(p, at[i].samples, samples);
		output_putc(p->o, ' ');
		put_words(p, at[i].reason);
	}
}

/* The reasons of a row as stripes; `samples` of them are as wide as the bar is long. */
static void put_bar(struct page *p, const struct stall_count *at, size_t count, uint64_t samples)
{
	if (!samples)
		return;
	put(p, "<span class=\"bar\" role=\"img\" title=\"");
	put_reasons_text(p, at, count, samples);
	put(p, "\">");
	for (size_t i = 0; i < count && at[i].samples; i++) {
		put(p, "<i class=\"");
		put_class(p, at[i].reason);
		output_printf(
			p->o, "\" style=\"width:%.2f%%\"></i>", percent(at[i].samples, samples));
	}
	put(p, "</span>");
}

/* From nothing to 0.7: how strongly a row is coloured, by its share of the hottest one. */
static double heat(uint64_t samples, uint64_t hottest)
{
	return samples && hottest ? 0.06 + 0.64 * (double)samples / (double)hottest : 0;
}

static void put_share_cell(struct page *p, uint64_t samples, uint64_t hottest)
{
	output_printf(p->o, "<td class=\"n\" style=\"--h:%.3f\" title=\"", heat(samples, hottest));
	put_count(p, samples);
	put(p, samples == 1 ? " sample\">" : " samples\">");
	if (samples)
		put_percent(p, samples, p->a->samples);
	else
		put(p, "\xe2\x80\x93");
	put(p, "</td>");
}

/* "kernel.cu:12" */
static void put_line_name(struct page *p, uint32_t file, uint32_t line)
{
	struct buf text = BUF_INIT;

	annotation_line_text(p->r, file, line, &text);
	put_buf(p, &text);
}

/* "in load_tile, inlined at :15", from the innermost function outwards. */
static void put_way(struct page *p, const struct annotation_site *site)
{
	struct buf text = BUF_INIT;

	if (site->inlined)
		buf_puts(&text, "in ");
	annotation_way_text(p->a, site, p->a->lines.items[site->line].file, &text);
	put_buf(p, &text);
}

static void put_source_text(struct page *p, const char *text, size_t size)
{
	struct buf expanded = BUF_INIT;
	size_t column = 0;

	for (size_t i = 0; i < size; i++) {
		size_t columns = text[i] == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS
						 : ((unsigned char)text[i] & 0xc0) != 0x80;

		if (text[i] == '\t')
			buf_printf(&expanded, "%*s", (int)columns, "");
		else
			buf_putc(&expanded, text[i]);
		column += columns;
	}
	if (expanded.failed)
		p->error = -ENOMEM;
	put_escaped(p, buf_text(&expanded), expanded.size);
	buf_release(&expanded);
}

static void put_code(struct page *p, const struct source_text *source, uint32_t number)
{
	size_t size;
	const char *text = source_line(source, number, &size);

	put(p, "<td class=\"s\"><code>");
	if (text)
		put_source_text(p, text, size);
	put(p, "</code>");
}

/* A line without code. */
static void put_plain_line(struct page *p, const struct source_text *source, uint32_t number)
{
	output_printf(p->o, "<tr class=\"plain\"><td></td><td></td>%s<td class=\"l\">%u</td>",
		p->a->calls.count ? "<td></td>" : "", number);
	put_code(p, source, number);
	put(p, "</td></tr>\n");
}

/* How the line came into the kernel: the hottest ways, the others on demand. */
static void put_ways(struct page *p, const struct annotation_line *line)
{
	bool fold = line->count > WAYS + 1;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < line->count; i++) {
		const struct annotation_site *site = &p->a->sites.items[line->first + i];

		if (!site->inlined)
			continue;
		if (fold && shown++ == WAYS)
			put(p, "<details><summary>other ways</summary>");
		put(p, "<small>");
		put_percent(p, site->samples, p->a->samples);
		output_putc(p->o, ' ');
		put_way(p, site);
		put(p, "</small>");
	}
	put(p, shown > WAYS ? "</details>" : "");
}

/* Samples in what was inlined at calls on the line; pages without such calls have no column for
 * them. */
static void put_called_cell(struct page *p, const struct annotation_line *line)
{
	if (!p->a->calls.count)
		return;
	put(p, "<td class=\"c\" title=\"in functions inlined at calls on this line\">");
	if (line->called)
		put_percent(p, line->called, p->a->samples);
	put(p, "</td>");
}

static void put_line(struct page *p, const struct source_text *source, uint32_t index)
{
	const struct annotation_line *line = &p->a->lines.items[index];
	size_t count;
	const struct stall_count *at = stall_counts_of(&p->a->line_reasons, index, &count);

	output_printf(p->o, "<tr id=\"L%u\">", index);
	put_share_cell(p, line->samples, p->hottest_line);
	put_called_cell(p, line);
	put(p, "<td class=\"b\">");
	put_bar(p, at, count, line->samples);
	put(p, "</td><td class=\"l\"><a href=\"#");
	if (line->count)
		output_printf(p->o, "I%u", p->a->by_site[p->a->sites.items[line->first].first]);
	else
		output_printf(p->o, "L%u", index);
	put(p, "\" tabindex=\"-1\">");
	if (line->line)
		output_printf(p->o, "%u", line->line);
	else
		put(p, "?");
	put(p, "</a></td>");
	put_code(p, source, line->line);
	if (!line->file)
		put(p, "<em>instructions whose line is not known</em>");
	put_ways(p, line);
	put(p, "</td></tr>\n");
}

/* The lines up to, without, `next`, where a row with code is: those near it and near the one
 * before. */
static void put_between(
	struct page *p, const struct source_text *source, uint32_t from, uint32_t next, bool first)
{
	uint32_t behind = first ? from : from + CONTEXT_LINES;
	uint32_t before = next > CONTEXT_LINES ? next - CONTEXT_LINES : 1;

	if (p->wanted->all && !first)
		behind = next;
	if (before <= behind + GAP_LINES && !first)
		behind = next;
	for (; from < next && from < behind && from <= source_line_count(source); from++)
		put_plain_line(p, source, from);
	if (from < before && !first)
		put(p, "<tr class=\"gap\"><td colspan=\"5\">\xe2\x8b\xae</td></tr>\n");
	for (from = from < before ? before : from; from < next && from <= source_line_count(source);
		from++)
		put_plain_line(p, source, from);
}

static void put_file_head(
	struct page *p, const struct annotation_file *file, const struct source_text *source)
{
	const char *made = source_made_text(profile_string(p->r, file->file, NULL));

	put(p, "<h3><span>");
	put_percent(p, file->samples, p->a->samples);
	put(p, "</span> ");
	if (!file->file)
		put(p, "lines not known");
	else
		put_string(p, file->file);
	put(p, "</h3>\n");
	if (made && !source->path) {
		put(p, "<p class=\"warn\">");
		put_text(p, made);
		put(p, "</p>\n");
	} else if (file->file && !source->path) {
		put(p, "<p class=\"warn\">source not found: ");
		put_string(p, file->file);
		put(p, " (");
		put_text(p, source->why ? source->why : "");
		put(p, ")</p>\n");
	}
	if (source_is_newer(source, p->r))
		put(p, "<p class=\"warn\">This file was changed after the recording began: its "
		       "lines may not be those "
		       "of the code.</p>\n");
}

static void put_file(struct page *p, size_t index)
{
	const struct annotation_file *file = &p->a->files.items[index];
	const struct source_text *source = &p->wanted->sources[index];
	uint32_t at = 1;

	put_file_head(p, file, source);
	output_printf(p->o,
		"<table class=\"lines\" tabindex=\"0\" aria-label=\"source "
		"lines\"><thead><tr><th>samples</th>"
		"%s<th>why</th><th>line</th><th>source</th></tr></thead>\n<tbody>\n",
		p->a->calls.count ? "<th>calls</th>" : "");
	for (uint32_t i = 0; i < file->count; i++) {
		uint32_t line = p->a->lines.items[file->first + i].line;

		put_between(p, source, at, line, !i);
		put_line(p, source, file->first + i);
		at = line + 1;
	}
	for (uint32_t i = 0; file->file && i < CONTEXT_LINES && at <= source_line_count(source);
		i++)
		put_plain_line(p, source, at++);
	put(p, "</tbody></table>\n");
}

static void put_instruction(struct page *p, uint32_t index)
{
	const struct annotation_instruction *row = &p->a->instructions.items[index];
	const struct annotation_site *site = &p->a->sites.items[row->site];
	const struct annotation_line *line = &p->a->lines.items[site->line];
	const struct profile_instruction *i = profile_instruction(p->r, row->instruction);
	size_t count;
	const struct stall_count *at = annotation_reasons(p->a, index, &count);

	output_printf(p->o, "<tr id=\"I%u\" data-l=\"%u", index, site->line);
	for (uint32_t n = 0; n < site->calls; n++)
		output_printf(p->o, " %u", p->a->calls.items[site->first_call + n]);
	put(p, "\">");
	put_share_cell(p, row->samples, p->hottest_instruction);
	put(p, "<td class=\"b\">");
	put_bar(p, at, count, row->samples);
	output_printf(p->o, "</td><td class=\"l\">%04x</td><td class=\"s\"><code>", row->offset);
	if (i->text)
		put_string(p, i->text);
	else
		put(p, "(not decoded)");
	output_printf(p->o, "</code></td><td class=\"w\"><a href=\"#L%u\" tabindex=\"-1\" title=\"",
		site->line);
	put_way(p, site);
	put(p, "\">");
	if (line->file)
		put_line_name(p, line->file, line->line);
	else
		put(p, "?");
	put(p, "</a></td></tr>\n");
}

static void put_instructions(struct page *p)
{
	put(p, "<table class=\"sass\" tabindex=\"0\" "
	       "aria-label=\"instructions\"><thead><tr><th>samples</th>"
	       "<th>why</th><th>offset</th><th>instruction</th><th>line</th></tr></"
	       "thead>\n<tbody>\n");
	for (uint32_t i = 0; i < p->a->instructions.count; i++)
		put_instruction(p, i);
	put(p, "</tbody></table>\n");
}

/* If the recording has the time when it began. */
static void put_time(struct page *p)
{
	uint64_t realtime_ns = profile_meta_number(p->r, META_REALTIME_NS, 0);
	uint64_t start_ns = profile_meta_number(p->r, META_START_NS, 0);
	time_t began = (time_t)((realtime_ns + start_ns) / NS_PER_SECOND);
	char text[32];
	struct tm at;

	if (!realtime_ns || !gmtime_r(&began, &at) ||
		!strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &at))
		return;
	output_printf(p->o, "<span>recorded %s</span>", text);
}

/* What was recorded, and when. */
static void put_recording(struct page *p)
{
	const char *command = profile_meta(p->r, META_COMMAND);
	struct buf title = BUF_INIT;

	put(p, "<p class=\"recording\">");
	if (command) {
		put(p, "<code title=\"");
		put_text(p, command);
		put(p, "\">");
		command_title(command, &title);
		put_buf(p, &title);
		put(p, "</code>");
	}
	put_time(p);
	put(p, "</p>\n");
}

static void put_facts(struct page *p)
{
	const struct kernel_sum *sum = &p->k->kernels.items[p->a->kernel];

	put(p, "<p class=\"facts\">");
	if (sum->works) {
		output_printf(
			p->o, "<b>%.3f\xc2\xa0ms</b> GPU time in <b>", (double)sum->time_ns / 1e6);
		put_count(p, sum->works);
		put(p, sum->works == 1 ? "</b> launch (<b>" : "</b> launches (<b>");
		put_percent(p, sum->time_ns, p->k->gpu_ns);
		put(p, "</b> of all) \xc2\xb7 ");
	}
	put(p, "<b>");
	put_count(p, p->a->samples);
	put(p, "</b> samples, <b>");
	put_percent(p, p->a->issuing, p->a->samples);
	put(p, "</b> of them issuing");
	if (p->a->images.count > 1 && p->a->image != ANNOTATION_ALL)
		output_printf(p->o, " \xc2\xb7 image %u of %zu with a kernel of this name",
			p->a->image + 1, p->a->images.count);
	put(p, "</p>\n");
}

static void put_legend(struct page *p)
{
	size_t count;
	const struct stall_count *at = stall_counts_of(&p->a->reasons, 0, &count);

	put_bar(p, at, count, p->a->samples);
	put(p, "\n<ul class=\"legend\">");
	for (size_t i = 0; i < count && at[i].samples; i++) {
		enum stall_class class = stall_class_of(&p->k->reasons.items[at[i].reason].name);

		output_printf(p->o, "<li title=\"%s\"><i class=\"", stall_class_words(class));
		put_class(p, at[i].reason);
		put(p, "\"></i><b>");
		put_percent(p, at[i].samples, p->a->samples);
		put(p, "</b> ");
		put_words(p, at[i].reason);
		put(p, "</li>");
	}
	put(p, "</ul>\n");
}

static int put_hottest(struct page *p)
{
	uint32_t *rows;
	size_t count;
	int error = annotation_hottest_lines(p->a, &rows, &count);
	bool shown = !error && count && annotation_has_lines(p->a);

	if (error)
		return error;
	if (shown)
		put(p, "<p class=\"hottest\">hottest lines:");
	for (size_t i = 0; shown && i < count && i < HOTTEST; i++) {
		const struct annotation_line *line = &p->a->lines.items[rows[i]];

		output_printf(p->o, "%s<a href=\"#L%u\">", i ? " \xc2\xb7 " : " ", rows[i]);
		put_line_name(p, line->file, line->line);
		put(p, "</a> ");
		put_percent(p, line->samples, p->a->samples);
	}
	put(p, shown ? "</p>\n" : "");
	if (count)
		p->hottest_line = p->a->lines.items[rows[0]].samples;
	free(rows);
	error = annotation_hottest_instructions(p->a, &rows, &count);
	if (error)
		return error;
	if (count)
		p->hottest_instruction = p->a->instructions.items[rows[0]].samples;
	free(rows);
	return 0;
}

static void put_remarks(struct page *p)
{
	put(p, "<ul class=\"remarks\">");
	for (const char *const *remark = p->wanted->remarks; *remark; remark++) {
		put(p, "<li>");
		put_text(p, *remark);
		put(p, "</li>");
	}
	put(p, "</ul>\n");
}

static void put_head(struct page *p)
{
	uint32_t name = p->k->kernels.items[p->a->kernel].name;

	put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	       "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	put_function(p, name);
	put(p, "</title>\n<style>\n");
	output_write(
		p->o, annotate_style_start, (size_t)(annotate_style_end - annotate_style_start));
	put(p, "</style>\n</head>\n<body>\n<header>\n<h1>");
	put_function(p, name);
	if (profile_meta(p->r, META_SIMULATED))
		put(p, " <span class=\"badge\">simulated GPU</span>");
	put(p, "</h1>\n");
}

int annotate_html(const struct annotate_page *page, struct output *o)
{
	struct page p = {
		.wanted = page,
		.a = page->annotation,
		.k = page->annotation->stalls,
		.r = page->annotation->stalls->reader,
		.o = o,
		.text = BUF_INIT,
	};

	put_head(&p);
	put_recording(&p);
	put_facts(&p);
	find_looks(&p);
	put_legend(&p);
	p.error = p.error ?: put_hottest(&p);
	put_remarks(&p);
	put(&p, "</header>\n");
	put(&p, annotation_has_lines(p.a) ? "<main>\n" : "<main class=\"nolines\">\n");
	put(&p, "<section id=\"source\">\n<h2>Source</h2>\n");
	for (size_t i = 0; !p.error && i < p.a->files.count; i++)
		put_file(&p, i);
	put(&p, "</section>\n<section id=\"sass\">\n<h2>Instructions</h2>\n");
	if (!p.error)
		put_instructions(&p);
	put(&p, "</section>\n</main>\n<script>\n");
	output_write(
		o, annotate_script_start, (size_t)(annotate_script_end - annotate_script_start));
	put(&p, "</script>\n</body>\n</html>\n");
	buf_release(&p.text);
	free(p.looks);
	return p.error ? error_errno(p.error, "cannot write the page") : 0;
}
