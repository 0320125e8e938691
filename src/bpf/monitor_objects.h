/* SPDX-License-Identifier: MIT */
/*
 * What events are about: objects with their stages, labels and owners, begun, marked, looked at and
 * ended by the plan's acts. Those that have nothing but a time and a thread are stopwatches
 * (bpf/monitor.h).
 */
#pragma once

#include <linux/errno.h>

#include "base/bare/hash_step.h"
#include "bpf/monitor_state.h"

/* ------------------------------------------------------------------ labels and owners */

/* Long strings are cut, so that every label has an end. */
static __always_inline void cut_copy(char *to, const char *from)
{
	copy_words(to, from, MONITOR_LABEL_BYTES / 8);
	to[MONITOR_LABEL_BYTES - 1] = '\0';
}

static __always_inline void label_from_field(char *to, const struct state *s, uint8_t index)
{
	uint8_t slot;

	if (index >= MONITOR_FIELDS)
		return;
	slot = plan.field[index].string;
	if (slot < MONITOR_STRINGS) {
		cut_copy(to, s->string[slot]);
		return;
	}
	*(uint64_t *)to = s->field[index];
	to[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
}

static __always_inline void label_from_act(
	char *to, const struct event *e, const volatile struct monitor_label_plan *from)
{
	const struct monitor_object *o = object_of(e, from->index);

	if (!o)
		o = object_of(e, from->other);
	if (!o)
		zero_words(to, MONITOR_LABEL_BYTES / 8);
	else
		copy_words(to, o->label[from->which & 1], MONITOR_LABEL_BYTES / 8);
}

/* Labels that a plan does not fill stay zero, as `to` was made. */
static __always_inline void make_label(char *to, const struct state *s, const struct event *e,
	const volatile struct monitor_label_plan *from)
{
	if (from->from == LABEL_FIELD)
		label_from_field(to, s, from->index);
	else if (from->from == LABEL_ACT)
		label_from_act(to, e, from);
}

/* The object whose owner is the event's, or NULL: then that is the current process. */
static __always_inline const struct monitor_object *owner_of(const struct event *e)
{
	if (plan.process_text < MONITOR_STRINGS)
		return e->named;
	return object_of(e, plan.process_act);
}

static __always_inline uint64_t client_of(const struct state *s, const struct monitor_object *owner)
{
	if (plan.client != MONITOR_NONE)
		return number(s, plan.client);
	return owner ? owner->client : 0;
}

static __always_inline uint32_t pid_of(const struct monitor_object *owner)
{
	return owner ? owner->pid : bpf_get_current_pid_tgid() >> 32;
}

/* ------------------------------------------------------------------ objects */

static __always_inline uint64_t key_word(const struct state *s, uint8_t field)
{
	const uint64_t *words;
	uint64_t hash = 0;
	uint8_t slot;

	if (field >= MONITOR_FIELDS)
		return 0;
	slot = plan.field[field].string;
	if (slot >= MONITOR_STRINGS)
		return s->field[field];
	words = (const uint64_t *)s->string[slot];
	unrolled
	for (uint32_t i = 0; i < MONITOR_STRING_BYTES / 8; i++) {
		hash = hash_step(hash, words[i]);
		hash ^= hash >> 29;
	}
	return hash;
}

static __always_inline void set_owner(struct monitor_object *o, const struct monitor_object *owner)
{
	uint64_t id;

	if (owner) {
		o->pid = owner->pid;
		o->tid = owner->tid;
		o->cgroup = owner->cgroup;
		copy_words(o->comm, owner->comm, MONITOR_COMM_BYTES / 8);
		return;
	}
	id = bpf_get_current_pid_tgid();
	o->pid = id >> 32;
	o->tid = (uint32_t)id;
	o->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(o->comm, sizeof(o->comm));
}

/* The map has one slot for all stacks of a hash. A thread without such a stack, as a kernel thread
 * has no user stack, has not lost one (bpf_get_stackid, kernel/bpf/stackmap.c). */
static __always_inline int32_t keep_stack(struct state *s, void *ctx, uint64_t flags)
{
	int64_t id = bpf_get_stackid(ctx, &stacks, flags);

	s->lost.stacks += id < 0 && id != -EFAULT;
	return (int32_t)id;
}

static __always_inline void begin(
	struct monitor_object *o, struct state *s, const struct event *e, uint32_t i)
{
	/* One that this act opens does not own itself. */
	const struct monitor_object *owner = plan.process_act < i ? owner_of(e) : NULL;

	unrolled
	for (uint32_t stage = 1; stage < MONITOR_STAGES; stage++)
		o->stage_ns[stage] = 0;
	o->value = number(s, plan.act[i].value);
	o->client = client_of(s, owner);
	if (plan_counts.owners[i])
		set_owner(o, owner);
	o->kernel_stack = o->user_stack = -1;
	if (plan.act[i].stacks) {
		o->kernel_stack = keep_stack(s, e->ctx, 0);
		o->user_stack = keep_stack(s, e->ctx, BPF_F_USER_STACK);
	}
	unrolled
	for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		if (plan.act[i].label[l].from == LABEL_EMPTY)
			zero_words(o->label[l], MONITOR_LABEL_BYTES / 8);
		else if (plan.act[i].label[l].from == LABEL_FIELD)
			zero_words(o->label[l] + sizeof(uint64_t), MONITOR_LABEL_BYTES / 8 - 1);
		make_label(o->label[l], s, e, &plan.act[i].label[l]);
	}
	o->stage_ns[0] = e->now_ns;
}

/* Where there was none of this key. Returns it as it is in the map now, or NULL when there is no
 * room. */
static __always_inline struct monitor_object *insert(
	struct state *s, const struct event *e, uint32_t i)
{
	begin(&s->object[i], s, e, i);
	if (!bpf_map_update_elem(&objects, &s->key[i], &s->object[i], BPF_ANY))
		return &s->object[i];
	s->lost.objects++;
	return NULL;
}

static __always_inline struct monitor_object *open_object(
	struct state *s, const struct event *e, uint32_t i)
{
	if (!e->slot[i])
		return insert(s, e, i);
	begin(e->slot[i], s, e, i);
	return e->slot[i];
}

static __always_inline struct monitor_object *advance(
	struct state *s, const struct event *e, uint32_t i)
{
	struct monitor_object *o = e->object[i];
	uint8_t field = plan.act[i].value;
	uint64_t value = number(s, field), ahead, half = 1ull << 63;

	s->missed[i] = s->period[i] = s->back[i] = MONITOR_NO_VALUE;
	if (!o)
		return open_object(s, e, i);
	ahead = value - o->value;
	if (field < MONITOR_FIELDS && plan.field[field].size < 8) {
		ahead = lowest(ahead, plan.field[field].size);
		half = 1ull << (plan.field[field].size * 8 - 1 & 63);
	}
	if (ahead && ahead < half) {
		if (ahead > 1)
			s->missed[i] = ahead - 1;
		s->period[i] = (e->now_ns - o->stage_ns[0]) / ahead;
	} else
		s->back[i] = 1;
	o->value = value;
	o->stage_ns[0] = e->now_ns;
	return o;
}

#define STOPWATCH_MASK ((1ull << MONITOR_STOPWATCH_BITS) - 1)

/* Neighbours are not in the same line of memory. */
static __always_inline uint64_t *find_stopwatch(uint64_t thread)
{
	uint32_t at = (uint32_t)thread * 40503 & (MONITOR_STOPWATCHES - 1);

	return bpf_map_lookup_elem(&stopwatches, &at);
}

/* Whether that was all; otherwise it is an object like others. */
static __always_inline bool do_stopwatch(struct state *s, const struct event *e, uint32_t i)
{
	uint64_t thread = number(s, plan.act[i].key[0]);
	uint64_t whose = thread >> 16 << MONITOR_STOPWATCH_BITS, word,
		 *watch = find_stopwatch(thread);

	s->began_ns[i] = 0;
	if (!watch)
		return false;
	word = *(volatile uint64_t *)watch;
	if (plan.act[i].kind == ACT_OPEN) {
		if (word && (word & ~STOPWATCH_MASK) != whose)
			return false;
		*(volatile uint64_t *)watch = whose | (e->now_ns & STOPWATCH_MASK);
		return true;
	}
	if (!word || (word & ~STOPWATCH_MASK) != whose)
		return false;
	*(volatile uint64_t *)watch = 0;
	s->began_ns[i] = e->now_ns - (e->now_ns - word & STOPWATCH_MASK);
	return true;
}

static __always_inline void do_act(struct state *s, struct event *e, uint32_t i)
{
	uint8_t kind = plan.act[i].kind;
	struct monitor_object *o;

	e->object[i] = e->slot[i] = NULL;
	if (kind == ACT_NOTHING)
		return;
	if (plan_counts.stopwatch[i] && do_stopwatch(s, e, i))
		return;
	s->key[i].kind = plan.act[i].object;
	unrolled
	for (uint32_t k = 0; k < MONITOR_KEY_WORDS; k++)
		s->key[i].word[k] = key_word(s, plan.act[i].key[k]);
	o = e->slot[i] = bpf_map_lookup_elem(&objects, &s->key[i]);
	if (o && !o->stage_ns[0])
		o = NULL;
	if (o && plan.act[i].only_value && o->value != number(s, plan.act[i].value))
		o = NULL;
	e->object[i] = o;
	if (kind == ACT_OPEN)
		e->object[i] = open_object(s, e, i);
	else if (kind == ACT_ADVANCE)
		e->object[i] = advance(s, e, i);
	else if (!o && (kind == ACT_MARK || kind == ACT_CLOSE))
		s->lost.strangers += !plan.act[i].optional;
	else if (kind == ACT_MARK)
		o->stage_ns[plan.act[i].stage % MONITOR_STAGES] = e->now_ns;
}

/* What would have changed the object before it was counted. */
static __always_inline void finish_act(struct state *s, const struct event *e, uint32_t i)
{
	uint8_t kind = plan.act[i].kind;

	if (kind == ACT_REOPEN)
		open_object(s, e, i);
	if (kind != ACT_CLOSE || !e->object[i])
		return;
	if (plan.act[i].recurs)
		e->object[i]->stage_ns[0] = 0;
	else
		bpf_map_delete_elem(&objects, &s->key[i]);
}
