// SPDX-License-Identifier: MIT
/*
 * The plan that the tables give for this kernel, less what nobody asks for in this watch: fields
 * that are only printed, owners of objects that nobody asks about, the time. What is left out costs
 * nothing in the kernel.
 */
#include "monitor/watch_internal.h"

#include <string.h>

#include "monitor/ring_filter.h"

bool watch_act_opens(const struct monitor_act_plan *a)
{
	return a->kind == ACT_OPEN || a->kind == ACT_REOPEN || a->kind == ACT_ADVANCE;
}

/* Whether somebody asks whose an object of this kind is. */
static bool owner_is_asked_for(const struct watch *w, uint8_t kind)
{
	const struct monitor_object_row *row =
		w->monitor->objects ? &w->monitor->objects[kind] : NULL;

	if (row && (row->left || row->by_stack))
		return true;
	for (size_t i = 0; i < w->event_count; i++) {
		const struct monitor_plan *p = &w->events[i].plan.plan;

		if (w->events[i].plan.presence == PRESENT && p->process_act < MONITOR_ACTS &&
			p->act[p->process_act].object == kind)
			return true;
	}
	return false;
}

static bool is_only_a_time(const struct monitor_plan *p, size_t act)
{
	const struct monitor_act_plan *a = &p->act[act];

	if ((a->kind != ACT_OPEN && a->kind != ACT_CLOSE) || a->only_value || a->stacks ||
		a->value != MONITOR_NONE || a->key[0] >= MONITOR_FIELDS ||
		p->field[a->key[0]].read != READ_THREAD || p->field[a->key[0]].subtract ||
		p->field[a->key[0]].shift || a->key[1] != MONITOR_NONE || p->process_act == act)
		return false;
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (a->label[i].from != LABEL_EMPTY)
			return false;
	for (size_t i = 0; i < MONITOR_COUNTS; i++) {
		const struct monitor_count_plan *c = &p->count[i];

		if ((c->value == VALUE_KEPT && c->index == act) ||
			(c->value == VALUE_PAIRED && c->from == act) ||
			(c->value == VALUE_DURATION && c->index == act && c->from))
			return false;
	}
	return true;
}

/* Whether objects of this kind are stopwatches: nobody wants to know anything of one but how long
 * it ran. */
static bool is_stopwatch(const struct watch *w, uint8_t kind)
{
	if (owner_is_asked_for(w, kind))
		return false;
	for (size_t i = 0; i < w->event_count; i++) {
		const struct monitor_event_plan *e = &w->events[i].plan;

		for (size_t n = 0; n < MONITOR_ACTS && e->presence == PRESENT; n++)
			if (e->plan.act[n].kind != ACT_NOTHING && e->plan.act[n].object == kind &&
				!is_only_a_time(&e->plan, n))
				return false;
	}
	return true;
}

static void use_labels(uint32_t *used, const struct monitor_label_plan labels[MONITOR_LABELS])
{
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (labels[i].from == LABEL_FIELD)
			*used |= 1u << labels[i].index;
}

static void use_field(uint32_t *used, uint8_t field)
{
	if (field < MONITOR_FIELDS)
		*used |= 1u << field;
}

static void use_string(uint32_t *used, const struct monitor_plan *p, uint8_t string)
{
	for (uint8_t i = 0; i < MONITOR_FIELDS && string < MONITOR_STRINGS; i++)
		if (p->field[i].string == string)
			use_field(used, i);
}

/* Many fields are only there to be printed: without records nobody reads them. */
static void drop_unused_fields(struct monitor_plan *p, bool filter)
{
	uint32_t used = 0;

	use_field(&used, p->client);
	use_string(&used, p, p->process_text);
	if (filter)
		use_labels(&used, p->label);
	for (size_t i = 0; i < MONITOR_ACTS; i++) {
		for (size_t k = 0; k < MONITOR_KEY_WORDS && p->act[i].kind; k++)
			use_field(&used, p->act[i].key[k]);
		if (p->act[i].kind)
			use_field(&used, p->act[i].value);
		use_labels(&used, p->act[i].label);
	}
	for (size_t i = 0; i < MONITOR_COUNTS; i++) {
		uint8_t value = p->count[i].value;

		if (value == VALUE_FIELD || value == VALUE_AGE || value == VALUE_PAIRED ||
			value == VALUE_RANGE)
			use_field(&used, p->count[i].index);
		if (value == VALUE_RANGE)
			use_field(&used, p->count[i].from);
		use_labels(&used, p->count[i].label);
	}
	for (size_t i = 0; i < MONITOR_FIELDS; i++)
		if (!(used & 1u << i))
			p->field[i].read = READ_NOTHING;
}

static bool needs_time(const struct monitor_plan *p)
{
	bool needs = p->records;

	for (size_t i = 0; i < MONITOR_ACTS; i++)
		needs |= watch_act_opens(&p->act[i]) || p->act[i].kind == ACT_MARK;
	for (size_t i = 0; i < MONITOR_COUNTS; i++)
		needs |= p->count[i].value == VALUE_DURATION || p->count[i].value == VALUE_PERIOD ||
			 p->count[i].value == VALUE_AGE;
	return needs;
}

static struct monitor_plan_counts count_plan(const struct watch *w, const struct monitor_plan *p)
{
	struct monitor_plan_counts c = {.time = needs_time(p)};

	for (uint8_t i = 0; i < MONITOR_FIELDS; i++) {
		const struct monitor_field_plan *f = &p->field[i];

		if (f->read != READ_NOTHING)
			c.fields = i + 1;
		if (f->read == READ_CHARS && f->size == MONITOR_NAME_BYTES &&
			f->string < MONITOR_STRINGS && f->offset % sizeof(uint32_t) == 0)
			c.names |= 1u << i;
	}
	for (uint8_t i = 0; i < MONITOR_ACTS; i++) {
		if (p->act[i].kind != ACT_NOTHING)
			c.acts = i + 1;
		c.stopwatch[i] = p->act[i].kind != ACT_NOTHING && is_stopwatch(w, p->act[i].object);
		c.owners[i] =
			watch_act_opens(&p->act[i]) && owner_is_asked_for(w, p->act[i].object);
	}
	for (uint8_t i = 0; i < MONITOR_COUNTS; i++)
		if (p->count[i].value != VALUE_NOTHING)
			c.counts = i + 1;
	return c;
}

/* ------------------------------------------------------------------ filters */

/* What is asked for may be a string, or a number: the program takes either for it. */
static void filter_label(const struct ring_filter *filter, struct monitor_plan *p,
	struct monitor_plan_counts *counts)
{
	memcpy(p->only, filter->text, sizeof(p->only));
	counts->only = filter->is_number ? 2 : 1;
	counts->only_number = filter->number;
}

static uint8_t wanted_records(
	const struct watch_options *options, const struct monitor_event *event, int number)
{
	if (options->above_event >= 0)
		return options->above_event == number ? 2 : 0;
	return options->records && (options->quiet_too || !event->quiet);
}

void watch_plan(const struct watch *w, const struct watch_options *options, size_t event,
	uint32_t ring_bytes, struct monitor_plan *ret, struct monitor_plan_counts *ret_counts)
{
	const struct ring_filter filter = ring_filter_of(w->monitor, options->ring);
	struct monitor_plan p = w->events[event].plan.plan;

	p.records = wanted_records(options, &w->monitor->events[event], (int)event);
	p.pid = options->pid;
	p.above = options->above;
	if (!p.records)
		drop_unused_fields(&p, !filter.all);
	*ret_counts = count_plan(w, &p);
	ret_counts->wakeup_bytes = ring_bytes / 4;
	if (!filter.all)
		filter_label(&filter, &p, ret_counts);
	*ret = p;
}
