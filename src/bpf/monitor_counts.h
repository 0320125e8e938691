/* SPDX-License-Identifier: MIT */
/*
 * What an event adds to cells. A cell is found by its key: first among the few that this program
 * used last on this CPU, then in the map of slots.
 */
#pragma once

#include "base/bare/hash_step.h"
#include "bpf/monitor_objects.h"

static __always_inline uint32_t highest_bit(uint64_t v)
{
	uint32_t p = 0;

	if (v >> 32) {
		v >>= 32;
		p += 32;
	}
	if (v >> 16) {
		v >>= 16;
		p += 16;
	}
	if (v >> 8) {
		v >>= 8;
		p += 8;
	}
	if (v >> 4) {
		v >>= 4;
		p += 4;
	}
	if (v >> 2) {
		v >>= 2;
		p += 2;
	}
	return p + (v >> 1);
}

static __always_inline uint32_t bucket_of(uint64_t v)
{
	uint32_t p;

	if (v < MONITOR_BUCKET_PARTS)
		return v;
	p = highest_bit(v);
	return (p - 2) * MONITOR_BUCKET_PARTS + (v >> (p - 3 & 63) & (MONITOR_BUCKET_PARTS - 1));
}

static __always_inline bool same_key(
	const struct monitor_cell_key *a, const struct monitor_cell_key *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	uint64_t differs = 0;

	unrolled
	for (uint32_t i = 0; i < sizeof(*a) / 8; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

static __always_inline void begin_cell(struct monitor_cell_slot *p,
	const struct monitor_cell_key *key, const struct monitor_object *owner)
{
	copy_words(&p->key, key, sizeof(*key) / 8);
	p->cell.min = UINT64_MAX;
	if (!key->pid)
		return;
	if (owner) {
		p->cell.cgroup = owner->cgroup;
		copy_words(p->cell.comm, owner->comm, MONITOR_COMM_BYTES / 8);
	} else {
		p->cell.cgroup = bpf_get_current_cgroup_id();
		bpf_get_current_comm(p->cell.comm, sizeof(p->cell.comm));
	}
}

/* Nobody else has the key, which has this CPU in it. */
static __always_inline struct monitor_cell_slot *new_slot(
	struct state *s, const struct monitor_cell_key *key, const struct monitor_object *owner)
{
	struct monitor_cell_slot *p;
	uint32_t index;

	if (bpf_map_pop_elem(&free_slots, &index))
		return NULL;
	p = bpf_map_lookup_elem(&cells, &index);
	if (!p)
		return NULL;
	begin_cell(p, key, owner);
	if (!bpf_map_update_elem(&cell_slots, key, &index, BPF_ANY))
		return p;
	p->key.series = MONITOR_SERIES_FREE;
	bpf_map_push_elem(&free_slots, &index, 0);
	return NULL;
}

static __always_inline struct monitor_cell_slot *search_slot(struct state *s,
	const struct monitor_cell_key *key, const struct monitor_object *owner, uint32_t *cached)
{
	const uint32_t *known = bpf_map_lookup_elem(&cell_slots, key);
	struct monitor_cell_slot *p;
	uint32_t index;

	if (!known) {
		p = new_slot(s, key, owner);
		if (!p)
			s->lost.cells++;
		return p; /* it is remembered the next time */
	}
	index = *known;
	*cached = index + 1;
	return bpf_map_lookup_elem(&cells, &index);
}

/* `hash`: of what differs between the keys of this event. */
static __always_inline struct monitor_cell_slot *find_cell(struct state *s,
	const struct monitor_cell_key *key, const struct monitor_object *owner, uint64_t hash)
{
	uint32_t *cached = &s->slots[hash * HASH_FACTOR >> 58 & (CACHED_SLOTS - 1)];
	uint32_t index = *cached - 1;
	struct monitor_cell_slot *p = bpf_map_lookup_elem(&cells, &index);

	if (p && same_key(&p->key, key))
		return p;
	return search_slot(s, key, owner, cached);
}

static __always_inline void add_value(struct monitor_cell *c, uint64_t value, bool histogram)
{
	uint32_t bucket;

	c->sum += value;
	if (value < c->min)
		c->min = value;
	if (value > c->max)
		c->max = value;
	if (!histogram)
		return;
	bucket = bucket_of(value);
	if (bucket >= MONITOR_BUCKETS)
		bucket = MONITOR_BUCKETS - 1;
	asm volatile("" : "+r"(bucket));
	if (bucket < MONITOR_BUCKETS)
		c->buckets[bucket]++;
}

static __always_inline uint64_t time_since(const struct event *e, uint64_t from_ns)
{
	return from_ns && e->now_ns >= from_ns ? e->now_ns - from_ns : MONITOR_NO_VALUE;
}

static __always_inline uint64_t object_value(const struct event *e, uint8_t act)
{
	const struct monitor_object *o = object_of(e, act);

	return o ? o->value : MONITOR_NO_VALUE;
}

/* Another CPU may have brought the object to its stage after we looked at the clock. */
static __always_inline uint64_t duration_of(
	const struct state *s, const struct event *e, uint8_t act, uint8_t stage)
{
	const struct monitor_object *o = object_of(e, act);
	uint64_t from_ns = o ? o->stage_ns[stage % MONITOR_STAGES] : 0;

	if (!o && act < MONITOR_ACTS && plan_counts.stopwatch[act])
		from_ns = s->began_ns[act];
	if (!from_ns)
		return MONITOR_NO_VALUE;
	return e->now_ns > from_ns ? e->now_ns - from_ns : 0;
}

/* In bytes, where the fields are in pages: one more of what the last is counted in. */
static __always_inline uint64_t range_of(const struct state *s, uint8_t first, uint8_t last)
{
	uint64_t low = number(s, first), high = number(s, last);

	if (is_none(low) || is_none(high) || high < low || last >= MONITOR_FIELDS)
		return MONITOR_NO_VALUE;
	return high - low + (1ull << (plan.field[last].shift & 63));
}

/* What is to be added, or a number that is none. */
static __always_inline uint64_t value_of(const struct state *s, const struct event *e, uint32_t i)
{
	uint8_t value = plan.count[i].value, index = plan.count[i].index, from = plan.count[i].from;

	if (value == VALUE_ONE)
		return 1;
	if (value == VALUE_FIELD)
		return number(s, index);
	if (value == VALUE_DURATION)
		return duration_of(s, e, index, from);
	if (value == VALUE_KEPT)
		return object_value(e, index);
	if (value == VALUE_AGE)
		return time_since(e, number(s, index));
	if (value == VALUE_RANGE)
		return range_of(s, from, index);
	if (value == VALUE_PAIRED)
		return is_none(object_value(e, from)) ? MONITOR_NO_VALUE : number(s, index);
	if (index >= MONITOR_ACTS || !object_of(e, index))
		return MONITOR_NO_VALUE;
	if (value == VALUE_MISSED)
		return s->missed[index];
	if (value == VALUE_PERIOD)
		return s->period[index];
	return value == VALUE_BACK ? s->back[index] : MONITOR_NO_VALUE;
}

/* A cheap hash of labels. */
static __always_inline uint64_t hash_label(
	const char *label, const volatile struct monitor_label_plan *from)
{
	const uint64_t *words = (const uint64_t *)label;
	uint8_t index = from->index;

	if (from->from == LABEL_EMPTY)
		return 0;
	if (from->from == LABEL_FIELD && index < MONITOR_FIELDS &&
		plan.field[index].string >= MONITOR_STRINGS)
		return words[0];
	return words[0] + words[1] * 3 + words[2] * 5 + words[3] * 7;
}

static __always_inline uint64_t make_key(
	struct state *s, const struct event *e, uint32_t i, const struct monitor_object *owner)
{
	struct monitor_cell_key *key = &s->cell[i];
	uint64_t hash = i;

	key->series = plan.count[i].series;
	key->cpu = bpf_get_smp_processor_id();
	if (plan.count[i].by_process) {
		key->pid = pid_of(owner);
		key->client = client_of(s, owner);
		hash += key->pid + key->client * 11;
	}
	unrolled
	for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		make_label(key->label[l], s, e, &plan.count[i].label[l]);
		hash = hash * 13 + hash_label(key->label[l], &plan.count[i].label[l]);
	}
	return hash;
}

static __always_inline void add_count(struct state *s, const struct event *e, uint32_t i)
{
	const struct monitor_object *owner = owner_of(e);
	uint64_t value = value_of(s, e, i);
	struct monitor_cell_slot *p;

	s->value[i] = MONITOR_NO_VALUE;
	if (is_none(value))
		return;
	s->value[i] = value;
	p = find_cell(s, &s->cell[i], owner, make_key(s, e, i, owner));
	if (!p)
		return;
	if (plan.count[i].value != VALUE_ONE)
		add_value(&p->cell, value, plan.count[i].histogram);
	p->cell.count++;
}
