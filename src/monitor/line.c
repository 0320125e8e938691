// SPDX-License-Identifier: MIT
/*
 * A template is read anew for each record: it is a few bytes, and writing the text takes longer
 * than finding the placeholders in it.
 */
#include "monitor/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "monitor/line_placeholder.h"

/* ------------------------------------------------------------------ values as text */

struct unit {
	const char *name;
	double size;
};

/* Three digits of a value in the largest unit that it is at least one of. */
static void in_units(
	struct buf *out, uint64_t value, const struct unit *units, size_t count, bool trim)
{
	size_t i = 0, digits;
	char text[32];
	double scaled;

	while (i + 1 < count && (double)value >= units[i + 1].size * 0.9995)
		i++;
	scaled = (double)value / units[i].size;
	snprintf(text, sizeof(text), "%.*f", i ? (scaled < 99.95) + (scaled < 9.995) : 0, scaled);
	digits = strlen(text);
	while (trim && i && strchr(text, '.') &&
		(text[digits - 1] == '0' || text[digits - 1] == '.'))
		text[--digits] = '\0';
	buf_printf(out, "%s %s", text, units[i].name);
}

void line_time(struct buf *out, uint64_t ns)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	in_units(out, ns, units, sizeof(units) / sizeof(units[0]), false);
}

void line_size(struct buf *out, uint64_t bytes)
{
	static const struct unit units[] = {{"B", 1}, {"KiB", 1024.0}, {"MiB", 1024.0 * 1024},
		{"GiB", 1024.0 * 1024 * 1024}, {"TiB", 1024.0 * 1024 * 1024 * 1024},
		{"PiB", 1024.0 * 1024 * 1024 * 1024 * 1024}};

	in_units(out, bytes, units, sizeof(units) / sizeof(units[0]), true);
}

void line_text(struct buf *out, const char *text, size_t size)
{
	printable_put(out, text, strnlen(text, size));
}

bool line_label_number(const char label[MONITOR_LABEL_BYTES], uint64_t *ret)
{
	if (label[MONITOR_LABEL_BYTES - 1] != MONITOR_LABEL_NUMBER)
		return false;
	memcpy(ret, label, sizeof(*ret));
	return true;
}

/* Named by a list, where it has a name for the number. */
static void number_text(struct buf *out, const struct monitor *m, const char *list, uint64_t number)
{
	const struct monitor_list *l = list ? monitor_list_find(m, list) : NULL;
	const char *name = l ? monitor_list_name(m, list, number) : NULL;

	/* From 2^63 on numbers are negative ones, or none (bpf/monitor.h). */
	if (!name || l->numbered)
		buf_printf(out, "%" PRId64, (int64_t)number);
	if (!name && l)
		name = l->otherwise;
	if (name)
		buf_printf(out, "%s%s", l->numbered || name == l->otherwise ? " " : "", name);
}

void line_label(const struct monitor *m, const char *list, const char label[MONITOR_LABEL_BYTES],
	struct buf *out)
{
	uint64_t number;

	if (line_label_number(label, &number))
		number_text(out, m, list, number);
	else
		line_text(out, label, MONITOR_LABEL_BYTES);
}

/* ------------------------------------------------------------------ what placeholders stand for */

static struct line_value number_value(uint64_t number)
{
	return (struct line_value){.kind = LINE_UNSIGNED, .number = number};
}

static struct line_value text_value(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return (struct line_value){
		.kind = length ? LINE_TEXT : LINE_NOTHING, .text = text, .length = length};
}

static struct line_value label_value(const char label[MONITOR_LABEL_BYTES])
{
	uint64_t number;

	return line_label_number(label, &number) ? number_value(number)
						 : text_value(label, MONITOR_LABEL_BYTES);
}

struct line_value line_field(
	const struct monitor_event_plan *plan, const struct monitor_record *r, size_t field)
{
	const struct monitor_field_plan *f = &plan->plan.field[field];

	switch ((enum monitor_read)f->read) {
	case READ_NOTHING:
		break;
	case READ_CHARS:
	case READ_DATA_LOC:
	case READ_REL_LOC:
	case READ_POINTER:
		if (f->string < MONITOR_STRINGS)
			return text_value(r->string[f->string], MONITOR_STRING_BYTES);
		break;
	case READ_SIGNED:
	case READ_ARGUMENT_SIGNED:
	case READ_RESULT_SIGNED:
		return (struct line_value){.kind = LINE_SIGNED, .number = r->field[field]};
	case READ_UNSIGNED:
	case READ_ARGUMENT:
	case READ_RESULT:
	case READ_THREAD:
		return number_value(r->field[field]);
	}
	return (struct line_value){.kind = LINE_NOTHING};
}

static struct line_value field_value(const struct monitor_event_plan *plan,
	const struct monitor_record *r, const struct line_placeholder *p)
{
	int field = plan->source ? line_field_number(plan->source, p->name, p->name_length) : -1;

	return field < 0 ? (struct line_value){.kind = LINE_NOTHING}
			 : line_field(plan, r, (size_t)field);
}

static struct line_value value_of(const struct monitor_event_plan *plan,
	const struct monitor_record *r, const struct line_placeholder *p)
{
	static const char *const labels[MONITOR_LABELS] = {"ring", "other"};
	int count = line_count_number(p->name, p->name_length);

	if (count >= 0 && r->count[count] == MONITOR_NO_VALUE)
		return (struct line_value){.kind = LINE_NOTHING};
	if (count >= 0)
		return number_value(r->count[count]);
	/* A field of the same name is only asked when there is no such label. */
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (line_word_is(p->name, p->name_length, labels[i]) &&
			label_value(r->label[i]).kind != LINE_NOTHING)
			return label_value(r->label[i]);
	if (line_word_is(p->name, p->name_length, "pid"))
		return number_value(r->pid);
	if (line_word_is(p->name, p->name_length, "comm"))
		return text_value(r->comm, sizeof(r->comm));
	if (line_word_is(p->name, p->name_length, "client"))
		return r->client ? number_value(r->client)
				 : (struct line_value){.kind = LINE_NOTHING};
	return field_value(plan, r, p);
}

/* ------------------------------------------------------------------ placeholders filled in */

static void put_decimal(struct buf *out, const struct line_value *v)
{
	if (v->kind == LINE_SIGNED)
		buf_printf(out, "%" PRId64, (int64_t)v->number);
	else
		buf_printf(out, "%" PRIu64, v->number);
}

/* "yes WRITE READ" */
static void put_yes(struct buf *out, const struct line_placeholder *p, bool yes)
{
	const char *end = p->format + p->format_length, *word = p->format + strlen("yes ");
	const char *space = memchr(word, ' ', (size_t)(end - word));

	if (yes)
		buf_append(out, word, (size_t)((space ? space : end) - word));
	else if (space)
		buf_append(out, space + 1, (size_t)(end - space - 1));
	buf_puts(out, "");
}

/* A name from one of the monitor's lists, or the number that has none. */
static void put_named(struct buf *out, const struct monitor *m, const struct line_placeholder *p,
	const struct line_value *v)
{
	char list[32];

	snprintf(list, sizeof(list), "%.*s", p->format_length, p->format);
	if (v->kind == LINE_SIGNED && (int64_t)v->number < 0 &&
		!monitor_list_name(m, list, v->number))
		put_decimal(out, v);
	else
		number_text(out, m, list, v->number);
}

static void put_value(struct buf *out, const struct monitor *m, const struct line_placeholder *p,
	const struct line_value *v)
{
	if (v->kind == LINE_NOTHING)
		return;
	if (v->kind == LINE_TEXT)
		line_text(out, v->text, v->length);
	else if (!p->format_length || line_word_is(p->format, p->format_length, "d"))
		put_decimal(out, v);
	else if (line_word_is(p->format, p->format_length, "x"))
		buf_printf(out, "0x%" PRIx64, v->number);
	else if (line_word_is(p->format, p->format_length, "size"))
		line_size(out, v->number);
	else if (line_word_is(p->format, p->format_length, "time"))
		line_time(out, v->number);
	else if (line_placeholder_is_yes(p))
		put_yes(out, p, v->number);
	else
		put_named(out, m, p, v);
}

struct filling {
	const struct monitor *monitor;
	const struct monitor_event_plan *plan;
	const struct monitor_record *record;
	struct buf *out;
};

/* Fills in a template up to `end`; false: one of its values is not there. */
static bool fill(const struct filling *f, const char *at, const char *end)
{
	bool all = true;

	while (at && at < end) {
		size_t plain = strcspn(at, "{");
		struct line_placeholder p;
		struct line_value v;

		if (plain > (size_t)(end - at))
			plain = (size_t)(end - at);
		buf_append(f->out, at, plain);
		at += plain;
		if (at == end)
			break;
		at = line_placeholder_read(at + 1, &p);
		if (!at)
			break;
		v = value_of(f->plan, f->record, &p);
		all = all && v.kind != LINE_NOTHING;
		put_value(f->out, f->monitor, &p, &v);
	}
	return all;
}

/* What stands between brackets is left out when something in it is not there. */
static void fill_optional(const struct filling *f, const char *at, const char *end)
{
	size_t before = f->out->size;

	if (fill(f, at, end) || f->out->failed)
		return;
	f->out->size = before;
}

void line_column(const struct monitor *m, size_t event, const struct monitor_event_plan *plan,
	const struct monitor_record *r, size_t column, struct buf *out)
{
	const char *at = column < MONITOR_COLUMNS ? m->events[event].column[column] : NULL;
	struct filling f = {m, plan, r, out};

	while (at && *at) {
		const char *open = at + strcspn(at, "["), *close = open + strcspn(open, "]");

		fill(&f, at, open);
		if (*open)
			fill_optional(&f, open + 1, close);
		at = *close ? close + 1 : close;
	}
	buf_puts(out, "");
}
