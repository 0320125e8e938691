/* SPDX-License-Identifier: MIT */
/* Which events pass the filters, and what is sent to the reader of those that do: a record, or
 * spans of busy time. */
#pragma once

#include "bpf/monitor_counts.h"

/* ------------------------------------------------------------------ filters */

static __always_inline void count_label(struct state *s)
{
	struct monitor_cell_key *key = &s->label_cell;
	struct monitor_cell_slot *p;

	key->series = MONITOR_SERIES_LABELS;
	key->cpu = bpf_get_smp_processor_id();
	copy_words(key->label[0], s->label[0], MONITOR_LABEL_BYTES / 8);
	p = find_cell(s, key, NULL, *(uint64_t *)key->label[0]);
	if (p)
		p->cell.count++;
}

static __always_inline bool has_label(const struct state *s)
{
	const uint64_t *have = (const uint64_t *)s->label[0];
	const volatile uint64_t *only = (const volatile uint64_t *)plan.only;

	if (s->label[0][MONITOR_LABEL_BYTES - 1] == MONITOR_LABEL_NUMBER)
		return plan_counts.only == 2 && have[0] == plan_counts.only_number;
	return have[0] == only[0] && have[1] == only[1] && have[2] == only[2] && have[3] == only[3];
}

static __always_inline bool passes(struct state *s, const struct event *e)
{
	if (plan_counts.only) {
		make_label(s->label[0], s, e, &plan.label[0]);
		count_label(s);
		if (!has_label(s))
			return false;
	}
	return !plan.pid || pid_of(owner_of(e)) == plan.pid;
}

/* ------------------------------------------------------------------ records */

/* Only a ring that fills up is worth a wake-up. */
static __always_inline uint64_t wakeup_flags(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= plan_counts.wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_whose(
	struct monitor_record *r, const struct state *s, const struct monitor_object *owner)
{
	uint64_t id;

	r->client = client_of(s, owner);
	if (owner) {
		r->pid = owner->pid;
		r->tid = owner->tid;
		r->cgroup = owner->cgroup;
		copy_words(r->comm, owner->comm, MONITOR_COMM_BYTES / 8);
		return;
	}
	id = bpf_get_current_pid_tgid();
	r->pid = id >> 32;
	r->tid = (uint32_t)id;
	r->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(r->comm, sizeof(r->comm));
}

static __always_inline void send_record(struct state *s, const struct event *e)
{
	struct monitor_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		s->lost.records++;
		return;
	}
	r->message = MESSAGE_RECORD;
	r->event = plan.event;
	r->cpu = bpf_get_smp_processor_id();
	r->time_ns = e->now_ns;
	fill_whose(r, s, owner_of(e));
	unrolled
	for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		r->count[i] = i < plan_counts.counts ? s->value[i] : MONITOR_NO_VALUE;
	unrolled
	for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		make_label(s->label[l], s, e, &plan.label[l]);
		copy_words(r->label[l], s->label[l], MONITOR_LABEL_BYTES / 8);
	}
	copy_words(r->field, s->field, MONITOR_FIELDS);
	copy_words(r->string, s->string, sizeof(r->string) / 8);
	bpf_ringbuf_submit(r, wakeup_flags());
}

static __always_inline void send_span(struct state *s, const struct event *e, uint32_t i)
{
	const struct monitor_object *owner = owner_of(e);
	struct monitor_span *p;

	if (!plan.count[i].busy || is_none(s->value[i]))
		return;
	p = bpf_ringbuf_reserve(&records, sizeof(*p), 0);
	if (!p) {
		s->lost.records++;
		return;
	}
	p->message = MESSAGE_SPAN;
	p->event = plan.event;
	p->count = i;
	p->end_ns = e->now_ns;
	p->duration_ns = s->value[i];
	p->client = client_of(s, owner);
	p->pid = pid_of(owner);
	p->reserved = 0;
	/* A label that the plan leaves empty is so in the cell's key too. */
	unrolled
	for (uint32_t l = 0; l < MONITOR_LABELS; l++)
		copy_words(p->label[l], s->cell[i].label[l], MONITOR_LABEL_BYTES / 8);
	bpf_ringbuf_submit(p, wakeup_flags());
}

static __always_inline bool wants_record(const struct state *s)
{
	uint8_t above = plan.above_count;

	if (plan.records != 2)
		return plan.records;
	return above < MONITOR_COUNTS && !is_none(s->value[above]) && s->value[above] >= plan.above;
}
