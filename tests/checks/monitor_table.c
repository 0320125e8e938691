// SPDX-License-Identifier: MIT
/*
 * A table's names are resolved for one kernel at a time, and what is not there is nothing: so a
 * name misspelt would look like a kernel without that field. Here a name has to be in at least one
 * source of its event.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "checks/monitor.h"
#include "monitor/plan.h"

struct place {
	const struct monitor *m;
	const struct monitor_event *e;
};

#define WRONG(p, format, ...)                                                                      \
	error_set(-EINVAL, "monitor %s, event %s: " format, (p)->m->name, (p)->e->name,            \
		##__VA_ARGS__)

static size_t row_count(const struct monitor *m, bool series)
{
	size_t count = 0;

	if (series)
		while (m->series && m->series[count].name)
			count++;
	else
		while (m->objects && m->objects[count].name)
			count++;
	return count;
}

static bool source_has(const struct monitor_source *s, const char *name, size_t length)
{
	for (size_t i = 0; i < MONITOR_FIELDS && s->fields[i].name; i++)
		if (strlen(s->fields[i].name) == length && !memcmp(s->fields[i].name, name, length))
			return true;
	return false;
}

static bool some_source_has(const struct monitor_event *e, const char *name, size_t length)
{
	for (size_t i = 0; i < MONITOR_SOURCES && e->sources[i].kind; i++)
		if (source_has(&e->sources[i], name, length))
			return true;
	return false;
}

static int check_name(const struct place *p, const char *what, const char *name)
{
	if (name && !some_source_has(p->e, name, strlen(name)))
		return WRONG(p, "%s '%s' is not a field", what, name);
	return 0;
}

/* `acts`: so many can be referred to. */
static int check_label(const struct place *p, const char *label, unsigned int acts)
{
	for (const char *at = label; at && *at;) {
		size_t length = strcspn(at, "|");
		unsigned int act, which;
		int used = 0;

		if (*at != '@' && !some_source_has(p->e, at, length))
			return WRONG(p, "label '%s' names what is not a field", label);
		if (*at == '@' && (sscanf(at, "@%u.%u%n", &act, &which, &used) != 2 ||
					  (size_t)used != length || act >= acts ||
					  !p->e->acts[act].kind || which >= MONITOR_LABELS))
			return WRONG(p, "label '%s' names what is not an act's label", label);
		at += length + (at[length] == '|');
	}
	return 0;
}

static int check_field(
	const struct place *p, const struct monitor_source *s, const struct monitor_field *f)
{
	if (f->kind == FIELD_THREAD)
		return 0;
	if (f->kind != FIELD_NUMBER && f->kind != FIELD_STRING)
		return WRONG(p, "field '%s' has no kind", f->name);
	if (s->kind == SOURCE_TRACEPOINT)
		return f->kernel ? 0
				 : WRONG(p, "field '%s' does not say what the kernel calls it",
					   f->name);
	if (f->kernel || f->kind == FIELD_STRING)
		return WRONG(p, "field '%s' of a function is a number without a name in the kernel",
			f->name);
	if (f->bytes != 1 && f->bytes != 2 && f->bytes != 4 && f->bytes != 8)
		return WRONG(p, "field '%s' has %u bytes", f->name, f->bytes);
	if (f->argument > 5)
		return WRONG(p, "field '%s' is argument %u, and only 6 are in registers", f->name,
			f->argument);
	return 0;
}

static int check_source(const struct place *p, const struct monitor_source *s)
{
	const char *seen[MONITOR_FIELDS];
	size_t strings = 0, count = 0;

	if (!s->name || (s->kind == SOURCE_TRACEPOINT) != !!strchr(s->name, ':'))
		return WRONG(p, "source '%s' has not the name of one", s->name ? s->name : "");
	if (s->config && strncmp(s->config, "CONFIG_", 7))
		return WRONG(p, "option '%s' does not begin with CONFIG_", s->config);
	for (size_t i = 0; i < MONITOR_FIELDS && s->fields[i].name; i++) {
		const struct monitor_field *f = &s->fields[i];
		bool new = true;
		int err = check_field(p, s, f);

		if (err)
			return err;
		for (size_t n = 0; n < i; n++)
			if (!strcmp(s->fields[n].name, f->name))
				return WRONG(p, "field '%s' is there twice", f->name);
		if (f->kind != FIELD_STRING)
			continue;
		for (size_t n = 0; n < count; n++)
			new = new &&strcmp(seen[n], f->kernel);
		seen[count++] = f->kernel;
		strings += new;
	}
	if (strings > MONITOR_STRINGS)
		return WRONG(p, "'%s' has %zu strings, and only %d are kept", s->name, strings,
			MONITOR_STRINGS);
	return 0;
}

static int check_act(const struct place *p, size_t i)
{
	const struct monitor_act *act = &p->e->acts[i];
	int err = 0;

	if (!act->kind)
		return 0;
	if (act->object >= row_count(p->m, false) || act->object >= MONITOR_OBJECTS)
		return WRONG(p, "act %zu is about an object that is not in the table", i);
	if (act->stage >= MONITOR_STAGES)
		return WRONG(p, "act %zu is about stage %u", i, act->stage);
	if ((act->kind == ACT_ADVANCE || act->only_value) && !act->value)
		return WRONG(p, "act %zu needs a value", i);
	for (size_t n = 0; n < MONITOR_KEY_WORDS && !err; n++)
		err = check_name(p, "key", act->key[n]);
	if (!err)
		err = check_name(p, "value", act->value);
	for (size_t n = 0; n < MONITOR_LABELS && !err; n++)
		err = check_label(p, act->label[n], (unsigned int)i);
	return err;
}

static int check_count(const struct place *p, size_t i)
{
	const struct monitor_count *count = &p->e->counts[i];
	int err = 0;

	if (!count->value)
		return 0;
	if (count->series >= row_count(p->m, true) || count->series >= MONITOR_SERIES)
		return WRONG(p, "count %zu is of a series that is not in the table", i);
	if ((count->value == VALUE_FIELD || count->value == VALUE_AGE ||
		    count->value == VALUE_PAIRED || count->value == VALUE_RANGE) &&
		!count->field)
		return WRONG(p, "count %zu does not say of which field", i);
	if (count->value == VALUE_RANGE && !count->first)
		return WRONG(p, "count %zu does not say of which first field", i);
	if (count->value > VALUE_FIELD && count->value != VALUE_AGE &&
		count->value != VALUE_RANGE &&
		(count->act >= MONITOR_ACTS || !p->e->acts[count->act].kind))
		return WRONG(p, "count %zu is of an act that is not there", i);
	if (count->from >= MONITOR_STAGES)
		return WRONG(p, "count %zu is from stage %u", i, count->from);
	err = check_name(p, "count's field", count->field);
	err = err ? err : check_name(p, "count's first field", count->first);
	for (size_t n = 0; n < MONITOR_LABELS && !err; n++)
		err = check_label(p, count->label[n], MONITOR_ACTS);
	return err;
}

static bool is_needed_text(const struct monitor_source *s, const char *name)
{
	for (size_t i = 0; i < MONITOR_FIELDS && s->fields[i].name; i++)
		if (!strcmp(s->fields[i].name, name))
			return s->fields[i].kind == FIELD_STRING && s->fields[i].needed;
	return false;
}

static bool is_text_of_all(const struct monitor_event *e)
{
	for (size_t i = 0; i < MONITOR_SOURCES && e->sources[i].kind; i++)
		if (!is_needed_text(&e->sources[i], e->process_text))
			return false;
	return true;
}

static int check_event(const struct place *p)
{
	const struct monitor_event *e = p->e;
	int err = 0;

	if (!e->sources[0].kind || !e->says)
		return WRONG(p, "no source, or not a word on what it says");
	if (e->process_act > MONITOR_ACTS || (e->process_act && !e->acts[e->process_act - 1].kind))
		return WRONG(p, "its process is that of an act that is not there");
	if (e->process_text && !is_text_of_all(e))
		return WRONG(
			p, "the text that says its process is not a needed string of all sources");
	if (e->above > MONITOR_COUNTS || (e->above && !e->counts[e->above - 1].value))
		return WRONG(p, "--above is about a count that is not there");
	for (size_t i = 0; i < MONITOR_SOURCES && e->sources[i].kind && !err; i++)
		err = check_source(p, &e->sources[i]);
	for (size_t i = 0; i < MONITOR_ACTS && !err; i++)
		err = check_act(p, i);
	for (size_t i = 0; i < MONITOR_COUNTS && !err; i++)
		err = check_count(p, i);
	for (size_t i = 0; i < MONITOR_LABELS && !err; i++)
		err = check_label(p, e->label[i], MONITOR_ACTS);
	return err;
}

/* A series has values, or is only counted: of both its smallest would be that of what has none. */
static int check_series(const struct monitor *m, size_t series)
{
	bool counted = false, valued = false;

	for (size_t e = 0; e < monitor_event_count(m); e++)
		for (size_t n = 0; n < MONITOR_COUNTS; n++) {
			const struct monitor_count *c = &m->events[e].counts[n];

			counted |= c->series == series && c->value == VALUE_ONE;
			valued |= c->series == series && c->value > VALUE_ONE;
		}
	return counted && valued
		       ? error_set(-EINVAL, "monitor %s, series %s: has values and mere counts",
				 m->name, m->series[series].name)
		       : 0;
}

int monitor_check(const struct monitor *m)
{
	size_t count = monitor_event_count(m);
	int err = 0;

	if (count > MONITOR_EVENTS || row_count(m, true) > MONITOR_SERIES ||
		row_count(m, false) > MONITOR_OBJECTS)
		return error_set(
			-EINVAL, "monitor %s has too many events, series or objects", m->name);
	if (m->ring_list && !monitor_list_find(m, m->ring_list))
		return error_set(-EINVAL, "monitor %s has no list '%s'", m->name, m->ring_list);
	for (size_t i = 0; i < count && !err; i++) {
		struct place p = {m, &m->events[i]};

		err = check_event(&p);
		if (!err && monitor_event_find(m, p.e->name) != (int)i)
			err = WRONG(&p, "two events of that name");
	}
	for (size_t i = 0; i < row_count(m, true) && !err; i++)
		err = check_series(m, i);
	return err;
}
