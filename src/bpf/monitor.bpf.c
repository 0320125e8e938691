// SPDX-License-Identifier: MIT
/*
 * The generic program of monitors; bpf/monitor.h describes what it does with an event.
 *
 * One body with three entries: a tracepoint, a function's entry, a function's return. An object is
 * opened once for each event, with one entry loaded, and the event's plan in read-only data. Where
 * the offset of a read is constant the verifier knows the value, so every branch on it has one side
 * only, and the kernel removes the other. All loops over the plan are therefore unrolled, and they
 * end by counts (plan_counts) which stay in a register: reading a plan's row costs time even when
 * it says that there is nothing to do.
 */
#include "bpf/monitor_fields.h"
#include "bpf/monitor_objects.h"
#include "bpf/monitor_records.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set while the watch runs; the copies share it. */
uint32_t running;

static __always_inline void report(struct state *s, const struct event *e)
{
	uint8_t counts = plan_counts.counts;

	if (!passes(s, e))
		return;
	unrolled
	for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		if (i < counts)
			add_count(s, e, i);
	if (wants_record(s)) {
		send_record(s, e);
		return;
	}
	unrolled
	for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		if (i < counts)
			send_span(s, e, i);
}

static __always_inline int happened(void *ctx, struct state *s)
{
	struct event e = {.ctx = ctx};
	uint8_t acts = plan_counts.acts;

	if (plan_counts.time)
		e.now_ns = bpf_ktime_get_ns();
	if (plan.process_text < MONITOR_STRINGS) {
		read_named(s, s->string[plan.process_text]);
		e.named = &s->named;
	}
	unrolled
	for (uint32_t i = 0; i < MONITOR_ACTS; i++)
		if (i < acts)
			do_act(s, &e, i);
	report(s, &e);
	unrolled
	for (uint32_t i = 0; i < MONITOR_ACTS; i++)
		if (i < acts)
			finish_act(s, &e, i);
	return 0;
}

static __always_inline struct state *enter(void)
{
	uint32_t zero = 0;
	struct state *s;

	if (!running)
		return NULL;
	s = bpf_map_lookup_elem(&states, &zero);
	if (s)
		s->lost.seen++;
	return s;
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_record(s, ctx);
	return happened(ctx, s);
}

SEC("kprobe")
int on_function(struct pt_regs *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_registers(s, ctx);
	return happened(ctx, s);
}

SEC("kretprobe")
int on_return(struct pt_regs *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_registers(s, ctx);
	return happened(ctx, s);
}
