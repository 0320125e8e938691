// SPDX-License-Identifier: MIT
/* The templates of a monitor's columns, against its events. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "checks/monitor.h"
#include "monitor/line_placeholder.h"

static bool is_field(const struct monitor_event *e, const struct line_placeholder *p)
{
	for (size_t i = 0; i < MONITOR_SOURCES && e->sources[i].name; i++)
		if (line_field_number(&e->sources[i], p->name, p->name_length) >= 0)
			return true;
	return false;
}

static bool is_known(const struct monitor_event *e, const struct line_placeholder *p)
{
	static const char *const always[] = {"pid", "comm", "client"};
	int count = line_count_number(p->name, p->name_length);

	if (count >= 0)
		return e->counts[count].value != VALUE_NOTHING;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (line_word_is(p->name, p->name_length, always[i]))
			return true;
	if ((line_word_is(p->name, p->name_length, "ring") && e->label[0]) ||
		(line_word_is(p->name, p->name_length, "other") && e->label[1]))
		return true;
	return is_field(e, p);
}

static bool is_format(const struct monitor *m, const struct line_placeholder *p)
{
	static const char *const formats[] = {"", "d", "x", "size", "time"};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (line_word_is(p->format, p->format_length, formats[i]))
			return true;
	if (line_placeholder_is_yes(p))
		return memchr(p->format + 4, ' ', (size_t)p->format_length - 4) != NULL;
	for (const struct monitor_list *l = m->lists; l && l->name; l++)
		if (line_word_is(p->format, p->format_length, l->name))
			return true;
	return false;
}

static int check_places(
	const struct monitor *m, const struct monitor_event *e, const char *template)
{
	for (const char *at = strchr(template, '{'); at; at = strchr(at, '{')) {
		struct line_placeholder p;

		at = line_placeholder_read(at + 1, &p);
		if (!at)
			return error_set(-EINVAL, "%s %s: '%s' has a '{' without '}'", m->name,
				e->name, template);
		if (!is_known(e, &p))
			return error_set(-EINVAL, "%s %s: '%s' asks for '%.*s', which is nothing",
				m->name, e->name, template, p.name_length, p.name);
		if (!is_format(m, &p))
			return error_set(-EINVAL, "%s %s: '%s' has an unknown format '%.*s'",
				m->name, e->name, template, p.format_length, p.format);
	}
	return 0;
}

static int check_brackets(
	const struct monitor *m, const struct monitor_event *e, const char *template)
{
	bool open = false;

	for (const char *at = template; *at; at++) {
		if ((*at == '[' && open) || (*at == ']' && !open))
			return error_set(-EINVAL, "%s %s: '%s' has a '%c' too many", m->name,
				e->name, template, *at);
		if (*at == '[' || *at == ']')
			open = !open;
	}
	return open ? error_set(
			      -EINVAL, "%s %s: '%s' has a '[' too many", m->name, e->name, template)
		    : 0;
}

/* A record has the event's labels, not those of its counts. */
static int check_label(const struct monitor *m, const struct monitor_event *e,
	const struct monitor_count *c, size_t i)
{
	const char *record = e->label[i] ? e->label[i] : "";
	const char *count = c->label[i] ? c->label[i] : "";

	if (m->series[c->series].label[i] && strcmp(record, count))
		return error_set(-EINVAL, "%s %s: busy time is by '%s', but the event by '%s'",
			m->name, e->name, count, record);
	return 0;
}

static int check_busy(const struct monitor *m, const struct monitor_event *e)
{
	int error = 0;

	for (size_t n = 0; n < MONITOR_COUNTS; n++) {
		const struct monitor_count *c = &e->counts[n];

		if (c->value != VALUE_DURATION || !m->series[c->series].busy)
			continue;
		for (size_t i = 0; !error && i < MONITOR_LABELS; i++)
			error = check_label(m, e, c, i);
	}
	return error;
}

static int check_event(const struct monitor *m, const struct monitor_event *e)
{
	int error = check_busy(m, e);

	for (size_t i = 0; !error && i < MONITOR_COLUMNS; i++) {
		if (!e->column[i])
			continue;
		if (!m->column[i])
			return error_set(
				-EINVAL, "%s %s: column %zu has no heading", m->name, e->name, i);
		error = check_places(m, e, e->column[i]);
		error = error ?: check_brackets(m, e, e->column[i]);
	}
	return error;
}

int line_check(const struct monitor *m)
{
	int error = 0;

	for (size_t n = 0; !error && m->events[n].name; n++)
		error = check_event(m, &m->events[n]);
	return error;
}
