// SPDX-License-Identifier: MIT
/* The member "stalls" of `xpuprof report --stalls --json`; its form is documented in
 * xpuprof-report(1). */
#include <stdlib.h>

#include "base/json_writer.h"
#include "report/report.h"
#include "report/stall_text.h"
#include "view/names/kernel_name.h"

struct member {
	const struct report *r;
	const struct kernel_stalls *k;
	struct json_writer *w;
};

static size_t shown(const struct member *m, size_t count)
{
	return m->r->top && m->r->top < count ? m->r->top : count;
}

static void text_id(struct member *m, const char *name, uint32_t id)
{
	json_text(m->w, name, id ? profile_string(m->k->reader, id, NULL) : NULL);
}

static void readable(struct member *m, const char *name, uint32_t id)
{
	struct buf b = BUF_INIT;

	kernel_readable(m->k->reader, id, &b);
	json_text(m->w, name, buf_text(&b));
	m->w->out->failed |= b.failed;
	buf_release(&b);
}

static void put_reasons(struct member *m, const struct stall_count *at, size_t count)
{
	json_begin(m->w, "reasons", '[');
	for (size_t i = 0; i < count; i++) {
		const struct kernel_reason *reason = &m->k->reasons.items[at[i].reason];

		json_begin(m->w, NULL, '{');
		json_text(m->w, "reason",
			reason->name.reason ? reason->name.reason->name : reason->name.name);
		json_text(m->w, "words", stall_words(&reason->name));
		json_text(m->w, "class", stall_class_key(stall_class_of(&reason->name)));
		json_number(m->w, "samples", at[i].samples);
		json_number(m->w, "latency", at[i].latency);
		json_end(m->w, '}');
	}
	json_end(m->w, ']');
}

/* The functions inlined into one another, the outermost first, each with the place of its call. */
static void put_inlined(struct member *m, const struct annotation_place *p)
{
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	size_t count = annotation_chain(m->k->reader, p->inlined, chain);

	json_begin(m->w, NULL, '{');
	json_number(m->w, "samples", p->samples);
	json_begin(m->w, "functions", '[');
	for (size_t i = 0; i < count; i++) {
		json_begin(m->w, NULL, '{');
		readable(m, "name", chain[i]->name);
		text_id(m, "file", i ? chain[i - 1]->file : p->call_file);
		json_number(m->w, "line", i ? chain[i - 1]->line : p->call_line);
		json_end(m->w, '}');
	}
	json_end(m->w, ']');
	json_end(m->w, '}');
}

static void put_line(struct member *m, const struct annotation *a, uint32_t index)
{
	const struct annotation_line *line = &a->lines.items[index];
	const struct stall_count *at;
	size_t count;

	json_begin(m->w, NULL, '{');
	text_id(m, "file", line->file);
	json_number(m->w, "line", line->line);
	json_number(m->w, "samples", line->samples);
	json_number(m->w, "latency", line->latency);
	json_number(m->w, "issuing", line->issuing);
	json_number(m->w, "called", line->called);
	json_begin(m->w, "inlined", '[');
	for (uint32_t i = 0; i < line->count; i++)
		if (a->places.items[line->first + i].inlined)
			put_inlined(m, &a->places.items[line->first + i]);
	json_end(m->w, ']');
	at = stall_counts_of(&a->line_reasons, index, &count);
	put_reasons(m, at, count);
	json_end(m->w, '}');
}

static void put_instruction(struct member *m, const struct annotation *a, uint32_t index)
{
	const struct annotation_instruction *row = &a->instructions.items[index];
	const struct profile_instruction *i = profile_instruction(m->k->reader, row->instruction);
	const struct annotation_line *line = &a->lines.items[a->places.items[row->place].line];
	const struct stall_count *at;
	size_t count;

	json_begin(m->w, NULL, '{');
	json_number(m->w, "image", row->image);
	json_number(m->w, "offset", row->offset);
	text_id(m, "text", i->text);
	text_id(m, "file", line->file);
	json_number(m->w, "line", line->line);
	json_number(m->w, "samples", row->samples);
	json_number(m->w, "latency", row->latency);
	at = annotation_reasons(a, index, &count);
	put_reasons(m, at, count);
	json_end(m->w, '}');
}

static int put_hottest(struct member *m, const struct annotation *a, const char *name,
	int (*find)(const struct annotation *, uint32_t **, size_t *),
	void (*put)(struct member *, const struct annotation *, uint32_t))
{
	uint32_t *rows;
	size_t count;
	int error = find(a, &rows, &count);

	if (error)
		return error;
	json_begin(m->w, name, '[');
	for (size_t i = 0; i < shown(m, count); i++)
		put(m, a, rows[i]);
	json_end(m->w, ']');
	free(rows);
	return 0;
}

static int put_kernel(struct member *m, uint32_t kernel)
{
	const struct kernel_sum *sum = &m->k->kernels.items[kernel];
	struct annotation a = {0};
	int error = annotation_make(&a, m->k, kernel, ANNOTATION_ALL);
	const struct stall_count *at;
	size_t count;

	json_begin(m->w, NULL, '{');
	readable(m, "name", sum->name);
	text_id(m, "linker_name", sum->name);
	json_number(m->w, "count", sum->works);
	json_number(m->w, "total_ns", sum->time_ns);
	json_number(m->w, "samples", sum->samples);
	json_number(m->w, "latency", sum->latency);
	json_number(m->w, "issuing", sum->issuing);
	json_number(m->w, "images", sum->images);
	at = stall_counts_of(&m->k->by_kernel, kernel, &count);
	put_reasons(m, at, count);
	error = error ?: put_hottest(m, &a, "lines", annotation_hottest_lines, put_line);
	error = error ?: put_hottest(
		m, &a, "instructions", annotation_hottest_instructions, put_instruction);
	json_end(m->w, '}');
	annotation_release(&a);
	return error;
}

static void put_windows(struct member *m)
{
	const struct kernel_windows *w = &m->k->windows;

	json_number(m->w, "windows", w->count);
	json_number(m->w, "windows_exact", w->exact);
	json_number(m->w, "taken", w->samples);
	json_number(m->w, "dropped", w->dropped);
	json_number(m->w, "without_code", w->without_code);
	json_number(m->w, "period_cycles_min", w->period_min);
	json_number(m->w, "period_cycles_max", w->period_max);
}

int report_stalls_json(const struct report *r, struct json_writer *w)
{
	struct member m = {r, r->stalls, w};
	int error = 0;

	json_begin(w, "stalls", '{');
	put_windows(&m);
	json_number(w, "samples", m.k->samples);
	json_number(w, "latency", m.k->latency);
	json_number(w, "issuing", m.k->issuing);
	json_number(w, "apportioned", m.k->apportioned);
	json_number(w, "not_sampled", m.k->not_sampled.count);
	json_number(w, "not_sampled_ns", m.k->not_sampled_ns);
	json_text(w, "refused", profile_meta(r->reader, META_STALLS_REFUSED));
	json_begin(w, "kernels", '[');
	for (uint32_t i = 0; !error && i < shown(&m, m.k->kernels.count); i++)
		error = put_kernel(&m, i);
	json_end(w, ']');
	json_end(w, '}');
	return error;
}
