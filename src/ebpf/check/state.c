// SPDX-License-Identifier: MIT
/*
 * Where ways meet, pointers that may be NULL can come from different look-ups. They get an identity
 * of their own there, made of the step and the first place that has the same pair of identities:
 * two places are the same pointer behind it where they were so on both ways. On the way around a
 * loop an older pointer may still have such an identity, which then means another one: it loses
 * it when it comes to that step again.
 */
#include "ebpf/check/state.h"

#include <stdlib.h>
#include <string.h>

/* An identity: 0; a step with its place; or, for look-ups, a step with the last place. */
#define PLACES 2048

struct value value_number(struct number n)
{
	return (struct value){.kind = VALUE_NUMBER, .number = n};
}

uint32_t state_lookup_identity(uint32_t step)
{
	return step * PLACES + PLACES;
}

struct state *state_new(uint32_t frame_count)
{
	struct state *s = calloc(1, sizeof(*s) + frame_count * sizeof(struct frame));

	if (!s)
		return NULL;
	s->frame_count = frame_count;
	for (uint32_t i = 0; i < frame_count; i++)
		state_enter(s, (uint8_t)i);
	return s;
}

void state_copy(struct state *to, const struct state *from)
{
	memcpy(to, from, sizeof(*from) + from->frame_count * sizeof(struct frame));
}

struct value *state_register(struct state *s, uint8_t frame, uint8_t number)
{
	return number < FLOW_SHARED_REGISTERS
		       ? &s->registers[number]
		       : &s->frames[frame].registers[number - FLOW_SHARED_REGISTERS];
}

void state_enter(struct state *s, uint8_t frame)
{
	struct frame *f = &s->frames[frame];

	/* What bpf_loop keeps there outlasts the calls. */
	for (unsigned int i = 0; i < FLOW_STACK_REGISTER - FLOW_SHARED_REGISTERS; i++)
		f->registers[i] = (struct value){.kind = VALUE_UNSET};
	*state_register(s, frame, FLOW_STACK_REGISTER) =
		(struct value){.kind = VALUE_STACK, .which = frame, .number = number_constant(0)};
	for (unsigned int i = 0; i < SLOTS; i++)
		f->slots[i] = (struct slot){.value = value_number(number_constant(0))};
}

typedef void (*value_visit)(struct value *v, uint32_t argument);

static void for_each_value(struct state *s, value_visit visit, uint32_t argument)
{
	for (unsigned int i = 0; i < FLOW_SHARED_REGISTERS; i++)
		visit(&s->registers[i], argument);
	for (uint32_t f = 0; f < s->frame_count; f++) {
		for (unsigned int i = 0; i < FLOW_FRAME_REGISTERS; i++)
			visit(&s->frames[f].registers[i], argument);
		for (unsigned int i = 0; i < SLOTS; i++)
			visit(&s->frames[f].slots[i].value, argument);
	}
}

static void forget_if_of_frame(struct value *v, uint32_t frame)
{
	if (v->kind == VALUE_STACK && v->which == frame)
		v->kind = VALUE_UNSET;
}

void state_forget_frame(struct state *s, uint8_t frame)
{
	for_each_value(s, forget_if_of_frame, frame);
}

static void set_null(struct value *v, uint32_t identity)
{
	if (v->kind == VALUE_ELEMENT && v->identity == identity)
		*v = value_number(number_constant(0));
}

static void set_not_null(struct value *v, uint32_t identity)
{
	if (v->kind == VALUE_ELEMENT && v->identity == identity)
		v->maybe_null = false;
}

void state_set_null(struct state *s, uint32_t identity, bool is_null)
{
	for_each_value(s, is_null ? set_null : set_not_null, identity);
}

static void drop_identity(struct value *v, uint32_t identity)
{
	if (v->identity == identity)
		v->identity = 0;
}

void state_drop_identity(struct state *s, uint32_t identity)
{
	for_each_value(s, drop_identity, identity);
}

static bool is_null(const struct value *v)
{
	return v->kind == VALUE_NUMBER && number_is_constant(&v->number) && !v->number.umin;
}

/* The identity is dealt with by the caller. */
static struct value join_values(const struct value *a, const struct value *b, bool widen)
{
	struct value v = *a;

	if (a->kind == VALUE_ELEMENT && is_null(b)) {
		v.maybe_null = true;
		return v;
	}
	if (b->kind == VALUE_ELEMENT && is_null(a)) {
		v = *b;
		v.maybe_null = true;
		return v;
	}
	if (a->kind != b->kind || a->which != b->which || a->kind == VALUE_UNSET)
		return (struct value){.kind = VALUE_UNSET};
	v.number = widen ? number_widen(a->number, b->number) : number_join(a->number, b->number);
	v.maybe_null |= b->maybe_null;
	return v;
}

/* The state being joined into, the other, and the pairs of identities so far. */
struct joining {
	uint32_t step, place;
	bool widen, changed;
	struct pair {
		uint32_t a, b, place;
	} pairs[64];
	unsigned int pair_count;
};

static uint32_t identity_at(const struct joining *j, uint32_t place)
{
	return j->step * PLACES + place + 1;
}

/* The first place that has this pair; 0 is never the same as another 0. */
static uint32_t place_of_pair(struct joining *j, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return j->place;
	for (unsigned int i = 0; i < j->pair_count; i++)
		if (j->pairs[i].a == a && j->pairs[i].b == b)
			return j->pairs[i].place;
	if (j->pair_count < sizeof(j->pairs) / sizeof(j->pairs[0]))
		j->pairs[j->pair_count++] = (struct pair){a, b, j->place};
	return j->place;
}

static uint32_t join_identities(struct joining *j, const struct value *a, uint32_t b)
{
	/* On the way around a loop: what this step named before is something else. */
	if (b > j->step * PLACES && b <= j->step * PLACES + PLACES)
		b = 0;
	if (a->identity == b)
		return b;
	return identity_at(j, place_of_pair(j, a->identity, b));
}

static bool same_value(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->which == b->which && a->maybe_null == b->maybe_null &&
	       a->identity == b->identity && number_equal(&a->number, &b->number);
}

static void join_value(struct joining *j, struct value *into, const struct value *from)
{
	struct value v;

	j->place++;
	if (into->kind == VALUE_UNSET)
		return;
	v = join_values(into, from, j->widen);
	v.identity = v.kind == VALUE_ELEMENT ? join_identities(j, into, from->identity) : 0;
	if (v.kind == VALUE_UNSET)
		v = (struct value){.kind = VALUE_UNSET};
	if (!same_value(&v, into)) {
		*into = v;
		j->changed = true;
	}
}

/* Bounds that still get wider on the way around a loop are given up. */
static void join_spare(struct joining *j, uint32_t *into, uint32_t from)
{
	if (from >= *into)
		return;
	*into = j->widen ? 0 : from;
	j->changed = true;
}

static void join_frame(struct joining *j, struct frame *into, const struct frame *from)
{
	for (unsigned int i = 0; i < FLOW_FRAME_REGISTERS; i++)
		join_value(j, &into->registers[i], &from->registers[i]);
	for (unsigned int i = 0; i < SLOTS; i++) {
		uint8_t written = into->slots[i].written & from->slots[i].written;

		join_value(j, &into->slots[i].value, &from->slots[i].value);
		j->changed |= written != into->slots[i].written;
		into->slots[i].written = written;
		for (unsigned int half = 0; half < 2; half++)
			join_spare(j, &into->slots[i].spare[half], from->slots[i].spare[half]);
	}
}

bool state_join(struct state *into, const struct state *from, uint32_t step, bool widen)
{
	struct joining j = {.step = step, .widen = widen};

	for (unsigned int i = 0; i < FLOW_SHARED_REGISTERS; i++)
		join_value(&j, &into->registers[i], &from->registers[i]);
	for (uint32_t f = 0; f < into->frame_count; f++)
		join_frame(&j, &into->frames[f], &from->frames[f]);
	return j.changed;
}
