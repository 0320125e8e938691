// SPDX-License-Identifier: MIT
/*
 * The sources of an event are tried in the table's order. The kernel is asked for the event itself
 * first; only when it is not there, for the reason: a module that is not loaded, an option, an
 * older or newer kernel. When no source can be used, the reason of the one that is nearest to
 * working is reported.
 *
 * A plan says only what the kernel's own format says. A field that is there but cannot be read as
 * the table wants it makes the source useless, needed or not; one that is not there and not needed
 * is nothing, and so is all that depends on it: acts without a key, counts without a value, labels
 * without a field.
 */
#include "monitor/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "monitor/kernel/tracefs.h"
#include "monitor/kernel/types.h"

#define RIGHTS_REASON "needs root, or CAP_BPF and CAP_PERFMON"

/* One source being tried. */
struct attempt {
	const struct monitor *m;
	const struct monitor_event *event;
	const struct monitor_source *source;
	const struct monitor_kernel *k;
	struct monitor_event_plan *ret;
};

__attribute__((format(printf, 3, 4))) static bool absent(
	struct attempt *a, enum monitor_presence presence, const char *format, ...)
{
	va_list arguments;

	a->ret->presence = presence;
	va_start(arguments, format);
	vsnprintf(a->ret->reason, sizeof(a->ret->reason), format, arguments);
	va_end(arguments);
	return false;
}

/* ------------------------------------------------------------------ whether it is there */

/* Why something that a source needs is not there. */
static bool explain(struct attempt *a)
{
	const struct monitor_source *s = a->source;
	enum monitor_module_state module =
		s->module ? monitor_kernel_module(a->k, s->module) : MODULE_LOADED;

	if (module == MODULE_ABSENT)
		return absent(a, ABSENT_MODULE, "this kernel has no module %s", s->module);
	if (s->config && !monitor_kernel_option(a->k, s->config))
		return absent(a, ABSENT_CONFIG, "this kernel was built without %s", s->config);
	if (module == MODULE_ON_DISK)
		return absent(a, ABSENT_MODULE, "module %s is not loaded (modprobe %s)", s->module,
			s->module);
	if (module == MODULE_UNKNOWN)
		return absent(a, ABSENT_MODULE, "module %s is not loaded", s->module);
	return absent(a, ABSENT_KERNEL, "this kernel has no %s %s%s%s%s",
		s->kind == SOURCE_TRACEPOINT ? "event" : "function", s->name,
		s->since ? " (since " : "", s->since ? s->since : "", s->since ? ")" : "");
}

/* Without tracefs, only a missing module is known for sure. */
static bool explain_no_tracefs(struct attempt *a)
{
	explain(a);
	if (a->ret->presence == ABSENT_MODULE || a->ret->presence == ABSENT_CONFIG)
		return false;
	return absent(a, a->k->tracefs_error == -ENODEV ? ABSENT_CONFIG : ABSENT_RIGHTS, "%s",
		a->k->tracefs_reason);
}

static bool read_format(struct attempt *a, struct trace_format *ret)
{
	int err;

	if (!a->k->tracefs[0])
		return explain_no_tracefs(a);
	err = trace_format_read(a->k->tracefs, a->source->name, ret);
	if (err == -ENOENT)
		return explain(a);
	if (err == -EACCES || err == -EPERM)
		return absent(a, ABSENT_RIGHTS, "needs root, or CAP_PERFMON and read access to %s",
			a->k->tracefs);
	if (err)
		return absent(a, ABSENT_FORMAT, "%s: %s", a->source->name, error_text());
	a->ret->tracepoint_id = ret->id;
	return true;
}

static bool find_function(struct attempt *a)
{
	size_t count = monitor_kernel_functions(a->k, a->source->name);

	if (!count)
		return explain(a);
	if (count > 1)
		return absent(a, ABSENT_KERNEL,
			"this kernel has %zu functions %s, of which none can be chosen", count,
			a->source->name);
	if (!a->k->kprobes)
		return absent(
			a, ABSENT_KPROBES, "this kernel was built without CONFIG_KPROBE_EVENTS");
	a->ret->function = a->source->name;
	return true;
}

/* ------------------------------------------------------------------ fields */

static bool is_string(uint8_t read)
{
	return read == READ_CHARS || read == READ_DATA_LOC || read == READ_REL_LOC ||
	       read == READ_POINTER;
}

/* How a field of the kernel's is read. READ_NOTHING: not at all. */
static enum monitor_read how_to_read(const struct trace_field *t)
{
	static const enum monitor_read reads[] = {
		[TRACE_UNSIGNED] = READ_UNSIGNED,
		[TRACE_SIGNED] = READ_SIGNED,
		[TRACE_CHARS] = READ_CHARS,
		[TRACE_DATA_LOC] = READ_DATA_LOC,
		[TRACE_REL_LOC] = READ_REL_LOC,
		[TRACE_POINTER] = READ_POINTER,
		[TRACE_OTHER] = READ_NOTHING,
	};

	return t->offset < TRACE_HIDDEN_BYTES ? READ_NOTHING : reads[t->type];
}

/* Fills in one field of a record. Not there and not needed: READ_NOTHING. */
static bool plan_kernel_field(struct attempt *a, const struct trace_format *format,
	const struct monitor_field *f, struct monitor_field_plan *ret)
{
	const struct trace_field *t = f->kernel ? trace_format_field(format, f->kernel) : NULL;
	const char *event = a->source->name;

	if (!t && f->needed)
		return absent(a, ABSENT_FORMAT, "the kernel's %s has no field '%s'", event,
			f->kernel ? f->kernel : f->name);
	if (!t)
		return true;
	ret->read = how_to_read(t);
	if (ret->read == READ_NOTHING)
		return absent(a, ABSENT_FORMAT,
			"field '%s' of the kernel's %s, of %u bytes at %u, cannot be read",
			f->kernel, event, t->size, t->offset);
	if (is_string(ret->read) != (f->kind == FIELD_STRING))
		return absent(a, ABSENT_FORMAT, "field '%s' of the kernel's %s is not a %s",
			f->kernel, event, f->kind == FIELD_STRING ? "string" : "number");
	ret->offset = (uint16_t)t->offset;
	ret->size = (uint8_t)(t->size < MONITOR_STRING_BYTES ? t->size : MONITOR_STRING_BYTES);
	return true;
}

/* Where the kernel's types describe the function, they have to agree with the table. Not there:
 * READ_NOTHING. */
static bool plan_function_field(
	struct attempt *a, const struct monitor_field *f, struct monitor_field_plan *ret)
{
	const struct monitor_source *s = a->source;
	bool returns = s->kind == SOURCE_RETURN;
	uint32_t size = f->bytes;
	int err;

	if (returns)
		err = types_result(a->k, s->module, s->name, &size);
	else
		err = types_argument(a->k, s->module, s->name, f->argument, &size);
	if (err == -ERANGE)
		return f->needed ? absent(a, ABSENT_FORMAT, "%s", error_text()) : true;
	if (size < f->bytes || (size > f->bytes && f->bytes > 1))
		return absent(a, ABSENT_FORMAT,
			"field '%s' of the kernel's %s has %u bytes, not %u", f->name, s->name,
			size, f->bytes);
	if (returns)
		ret->read = f->is_signed ? READ_RESULT_SIGNED : READ_RESULT;
	else
		ret->read = f->is_signed ? READ_ARGUMENT_SIGNED : READ_ARGUMENT;
	ret->offset = returns ? 0 : f->argument;
	ret->size = f->bytes;
	return true;
}

/* From a pointer to a member back to what it is in. */
static bool plan_within(
	struct attempt *a, const struct monitor_field *f, struct monitor_field_plan *ret)
{
	uint32_t offset;

	if (ret->size != sizeof(uint64_t))
		return absent(a, ABSENT_FORMAT, "field '%s' of the kernel's %s is not a pointer",
			f->name, a->source->name);
	if (!types_member(a->k, a->source->module, f->within, &offset)) {
		ret->subtract = (int32_t)offset;
		return true;
	}
	if (f->needed)
		return absent(a, ABSENT_TYPES, "%s", error_text());
	*ret = (struct monitor_field_plan){.string = MONITOR_NONE};
	return true;
}

/* Strings from the same source share a slot. */
static bool plan_slot(struct attempt *a, size_t field)
{
	struct monitor_field_plan *fields = a->ret->plan.field;
	uint8_t next = 0;

	for (size_t i = 0; i < field; i++) {
		if (!is_string(fields[i].read))
			continue;
		if (fields[i].read == fields[field].read &&
			fields[i].offset == fields[field].offset) {
			fields[field].string = fields[i].string;
			return true;
		}
		if (fields[i].string >= next)
			next = fields[i].string + 1;
	}
	if (next == MONITOR_STRINGS)
		return absent(a, ABSENT_FORMAT, "%s has more than %d strings to keep",
			a->source->name, MONITOR_STRINGS);
	fields[field].string = next;
	return true;
}

static bool plan_field(struct attempt *a, const struct trace_format *format, size_t i)
{
	const struct monitor_field *f = &a->source->fields[i];
	struct monitor_field_plan *p = &a->ret->plan.field[i];

	if (f->kind == FIELD_THREAD)
		p->read = READ_THREAD;
	else if (!(format ? plan_kernel_field(a, format, f, p) : plan_function_field(a, f, p)))
		return false;
	if (p->read != READ_NOTHING && f->within && !plan_within(a, f, p))
		return false;
	if (p->read != READ_NOTHING) {
		p->shift = f->shift;
		p->subtract -= f->add;
	}
	return !is_string(p->read) || plan_slot(a, i);
}

static size_t field_count(const struct monitor_source *s)
{
	size_t count = 0;

	while (count < MONITOR_FIELDS && s->fields[count].name)
		count++;
	return count;
}

/* ------------------------------------------------------------------ acts, labels, counts */

/* The index of a field that can be read here. */
static uint8_t find_field(const struct attempt *a, const char *name, size_t length)
{
	size_t count = field_count(a->source);

	for (size_t i = 0; i < count; i++) {
		const char *its = a->source->fields[i].name;

		if (strlen(its) == length && !memcmp(its, name, length) &&
			a->ret->plan.field[i].read != READ_NOTHING)
			return (uint8_t)i;
	}
	return MONITOR_NONE;
}

static uint8_t field_or_none(const struct attempt *a, const char *name)
{
	return name ? find_field(a, name, strlen(name)) : MONITOR_NONE;
}

/* "@1.0": label 0 of act 1. False when that act does nothing here. */
static bool label_of_act(const struct attempt *a, const char *text, struct monitor_label_plan *ret)
{
	unsigned int act, which;

	if (sscanf(text, "@%u.%u", &act, &which) != 2 || act >= MONITOR_ACTS ||
		which >= MONITOR_LABELS || a->ret->plan.act[act].kind == ACT_NOTHING)
		return false;
	*ret = (struct monitor_label_plan){LABEL_ACT, (uint8_t)act, (uint8_t)which, MONITOR_NONE};
	return true;
}

/* The first that can be had; with it a second, where both are labels of acts. */
static struct monitor_label_plan plan_label(const struct attempt *a, const char *preferences)
{
	struct monitor_label_plan label = {.other = MONITOR_NONE}, next;
	const char *at = preferences;

	while (at && *at) {
		size_t length = strcspn(at, "|");
		uint8_t field = *at == '@' ? MONITOR_NONE : find_field(a, at, length);

		if (field != MONITOR_NONE && !label.from)
			return (struct monitor_label_plan){LABEL_FIELD, field, 0, MONITOR_NONE};
		if (*at == '@' && label_of_act(a, at, &next)) {
			if (!label.from)
				label = next;
			else if (next.which == label.which && label.other == MONITOR_NONE)
				label.other = next.index;
		}
		at += length + (at[length] == '|');
	}
	return label;
}

/* Without all words of its key, or its number, an act would confuse objects. */
static bool act_is_possible(const struct attempt *a, const struct monitor_act *act)
{
	bool needs_value = act->kind == ACT_ADVANCE || act->only_value;

	return act->kind && (!act->key[0] || field_or_none(a, act->key[0]) != MONITOR_NONE) &&
	       (!needs_value || field_or_none(a, act->value) != MONITOR_NONE);
}

static void plan_act(const struct attempt *a, size_t i)
{
	const struct monitor_act *act = &a->event->acts[i];
	struct monitor_act_plan *p = &a->ret->plan.act[i];

	for (size_t n = 0; n < MONITOR_KEY_WORDS; n++)
		p->key[n] = MONITOR_NONE;
	p->value = MONITOR_NONE;
	if (!act_is_possible(a, act))
		return;
	for (size_t n = 0; n < MONITOR_KEY_WORDS; n++)
		p->key[n] = field_or_none(a, act->key[n]);
	for (size_t n = 0; n < MONITOR_LABELS; n++)
		p->label[n] = plan_label(a, act->label[n]);
	p->object = act->object;
	p->stage = act->stage;
	p->value = field_or_none(a, act->value);
	p->only_value = act->only_value;
	p->optional = act->optional;
	p->stacks = act->stacks;
	p->recurs = act->recurs;
	p->kind = (uint8_t)act->kind; /* last: its own labels are not its own object's */
}

static bool value_is_of_field(enum monitor_value value)
{
	return value == VALUE_FIELD || value == VALUE_AGE || value == VALUE_PAIRED ||
	       value == VALUE_RANGE;
}

static bool value_is_of_act(enum monitor_value value)
{
	return value != VALUE_NOTHING && value != VALUE_ONE && value != VALUE_FIELD &&
	       value != VALUE_AGE && value != VALUE_RANGE;
}

static void plan_count(const struct attempt *a, size_t i)
{
	const struct monitor_count *count = &a->event->counts[i];
	const struct monitor_series *series = &a->m->series[count->series];
	struct monitor_count_plan *p = &a->ret->plan.count[i];
	uint8_t index =
		value_is_of_field(count->value) ? field_or_none(a, count->field) : count->act;

	if (count->value == VALUE_NOTHING || index == MONITOR_NONE)
		return;
	if (value_is_of_act(count->value) && a->ret->plan.act[count->act].kind == ACT_NOTHING)
		return;
	if (count->value == VALUE_RANGE && field_or_none(a, count->first) == MONITOR_NONE)
		return;
	p->value = (uint8_t)count->value;
	p->index = index;
	p->from = count->value == VALUE_PAIRED ? count->act : count->from;
	if (count->value == VALUE_RANGE)
		p->from = field_or_none(a, count->first);
	p->series = count->series;
	p->histogram = series->histogram;
	p->by_process = series->by_process;
	p->busy = series->busy && count->value == VALUE_DURATION;
	for (size_t n = 0; n < MONITOR_LABELS; n++)
		p->label[n] = plan_label(a, count->label[n]);
}

/* The act that says whose event it is, or the next that is done here. */
static uint8_t plan_process_act(const struct attempt *a)
{
	if (a->event->process_act)
		for (size_t i = a->event->process_act - 1; i < MONITOR_ACTS; i++)
			if (a->ret->plan.act[i].kind != ACT_NOTHING)
				return (uint8_t)i;
	return MONITOR_NONE;
}

/* The string that says whose event it is. */
static uint8_t plan_process_text(const struct attempt *a)
{
	uint8_t field = field_or_none(a, a->event->process_text);

	return field == MONITOR_NONE ? MONITOR_NONE : a->ret->plan.field[field].string;
}

static void plan_event(const struct attempt *a)
{
	const struct monitor_event *e = a->event;
	struct monitor_plan *p = &a->ret->plan;

	for (size_t i = 0; i < MONITOR_ACTS; i++)
		plan_act(a, i);
	for (size_t i = 0; i < MONITOR_COUNTS; i++)
		plan_count(a, i);
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		p->label[i] = plan_label(a, e->label[i]);
	p->client = field_or_none(a, "client");
	p->process_act = plan_process_act(a);
	p->process_text = plan_process_text(a);
	p->above_count = MONITOR_NONE;
	if (e->above && p->count[e->above - 1].value != VALUE_NOTHING)
		p->above_count = e->above - 1;
}

/* ------------------------------------------------------------------ sources */

static bool plan_source(struct attempt *a)
{
	bool tracepoint = a->source->kind == SOURCE_TRACEPOINT;
	size_t count = field_count(a->source);
	struct trace_format format;

	if (!(tracepoint ? read_format(a, &format) : find_function(a)))
		return false;
	if (a->k->no_rights)
		return absent(a, ABSENT_RIGHTS, RIGHTS_REASON);
	for (size_t i = 0; i < MONITOR_FIELDS; i++)
		a->ret->plan.field[i].string = MONITOR_NONE;
	for (size_t i = 0; i < count; i++)
		if (!plan_field(a, tracepoint ? &format : NULL, i))
			return false;
	plan_event(a);
	a->ret->presence = PRESENT;
	return true;
}

int monitor_presence_nearness(enum monitor_presence presence)
{
	static const int by_presence[] = {
		[PRESENT] = 9,
		[ABSENT_REFUSED] = 8,
		[ABSENT_FORMAT] = 7,
		[ABSENT_TYPES] = 6,
		[ABSENT_RIGHTS] = 5,
		[ABSENT_MODULE] = 4,
		[ABSENT_CONFIG] = 3,
		[ABSENT_KPROBES] = 2,
		[ABSENT_KERNEL] = 1,
	};

	return by_presence[presence];
}

void monitor_event_plan(const struct monitor *m, size_t event, const struct monitor_kernel *k,
	struct monitor_event_plan *ret)
{
	struct monitor_event_plan best = {0};
	struct attempt a = {.m = m, .event = &m->events[event], .k = k};

	for (size_t i = 0; i < MONITOR_SOURCES && a.event->sources[i].kind; i++) {
		struct monitor_event_plan plan = {.plan.event = (uint8_t)event};

		a.source = plan.source = &a.event->sources[i];
		a.ret = &plan;
		if (plan_source(&a)) {
			*ret = plan;
			return;
		}
		if (monitor_presence_nearness(plan.presence) >
			monitor_presence_nearness(best.presence))
			best = plan;
	}
	a.ret = &best;
	if (!best.presence)
		absent(&a, ABSENT_KERNEL, "no kernel has an event for it");
	memset(&best.plan, 0, sizeof(best.plan));
	*ret = best;
}
