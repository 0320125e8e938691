/* SPDX-License-Identifier: MIT */
/*
 * What holds of everything that a reader gives out, whatever is in the file: ids name entries that
 * are there, and kinds and reasons are known ones. Whoever includes this defines MUST(condition)
 * before.
 */
#pragma once

#include <math.h>

#include "profile/reader.h"

static inline void check_ids(
	const struct profile_reader *r, uint32_t thread, uint32_t stack, uint32_t string)
{
	struct profile_counts counts = profile_counts(r);

	MUST(thread <= counts.threads && stack <= counts.stack_nodes && string <= counts.strings);
}

/* What stands for nothing is never given out. */
static inline void check_weight(const struct profile_reader *r, double weight, uint32_t burst)
{
	MUST(isfinite(weight) && weight >= 1 && burst <= profile_bursts(r)->all.count);
}

static inline void check_event(const struct profile_reader *r, const struct profile_event *e)
{
	uint64_t bytes = 0;

	switch (e->kind) {
	case EVENT_SAMPLE:
		check_ids(r, e->sample.thread, e->sample.stack, 0);
		return;
	case EVENT_CALL:
		check_ids(r, e->call.thread, e->call.stack, e->call.api);
		MUST(e->call.kind >= 1 && e->call.kind < CALL_KINDS);
		check_weight(r, e->call.weight, e->call.burst);
		return;
	case EVENT_WORK:
		check_ids(r, e->work.thread, e->work.stack, e->work.api);
		check_ids(r, 0, e->work.node_stack, 0);
		MUST(profile_op(r, e->work.op) && e->work.join < JOIN_REASONS);
		check_weight(r, e->work.weight, e->work.burst);
		return;
	case EVENT_PENDING:
		check_ids(r, e->pending.thread, e->pending.stack, e->pending.api);
		MUST(e->pending.reason >= 1 && e->pending.reason < PENDING_REASONS);
		check_weight(r, e->pending.weight, 0);
		return;
	case EVENT_STALL:
		check_ids(r, 0, 0, e->stall.reason);
		MUST(profile_window(r, e->stall.window) &&
			profile_instruction(r, e->stall.instruction));
		return;
	case EVENT_COUNT:
		MUST(profile_counter(r, e->count.counter) && isfinite(e->count.value) &&
			e->count.device <= profile_counts(r).devices);
		return;
	case EVENT_DRIVER:
		check_ids(r, e->driver.thread, 0, e->driver.source);
		check_ids(r, 0, 0, e->driver.ring);
		check_ids(r, 0, 0, e->driver.name);
		MUST(e->driver.kind >= 1 && e->driver.kind < DRIVER_KINDS);
		MUST(e->driver.kind != DRIVER_MOMENT || !e->driver.duration_ns);
		return;
	case EVENT_WAIT:
		check_ids(r, e->wait.thread, e->wait.stack, 0);
		check_ids(r, e->wait.waker, 0, 0);
		MUST(e->wait.reason >= 1 && e->wait.reason < WAIT_REASONS);
		MUST(e->wait.queued_ns <= e->wait.duration_ns);
		return;
	case EVENT_MARKER:
		check_ids(r, e->marker.thread, 0, e->marker.name);
		check_ids(r, 0, 0, e->marker.domain);
		MUST(e->marker.kind >= 1 && e->marker.kind < MARKER_KINDS);
		MUST(e->marker.kind != MARKER_MOMENT || !e->marker.duration_ns);
		return;
	case EVENT_FOUND:
		MUST(profile_probe_map(r, e->found.map) &&
			profile_probe_context(r, e->found.context));
		MUST(e->found.size <= FOUND_MAX_BYTES);
		for (uint32_t i = 0; i < e->found.size; i++)
			bytes += e->found.bytes[i];
		MUST(bytes <= 255ull * e->found.size);
		return;
	case EVENT_LIFE:
		check_ids(r, e->life.thread, 0, 0);
		MUST(e->life.thread && e->life.run_ns <= e->life.duration_ns);
		return;
	case EVENT_SYNC:
		check_ids(r, e->sync.thread, e->sync.stack, e->sync.api);
		MUST(e->sync.device <= profile_counts(r).devices);
		MUST(e->sync.kind >= 1 && e->sync.kind < SYNC_KINDS);
		return;
	}
	MUST(!"a known kind of event");
}

static inline void check_cpu_tables(const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);
	size_t size;

	for (uint32_t id = 1; id <= counts.strings; id++) {
		const char *text = profile_string(r, id, &size);

		MUST(text[size] == '\0');
	}
	for (uint32_t id = 1; id <= counts.stack_nodes; id++) {
		MUST(profile_stack_node(r, id)->parent < id);
		MUST(profile_location(r, profile_stack_node(r, id)->location));
	}
	for (uint32_t id = 1; id <= counts.locations; id++)
		MUST(profile_location(r, id)->module <= counts.modules &&
			profile_location(r, id)->name <= counts.strings);
	for (uint32_t id = 1; id <= counts.locations; id++)
		MUST(profile_location(r, id)->inlined <= counts.inlines);
	for (uint32_t id = 1; id <= counts.inlines; id++)
		MUST(profile_inline(r, id)->caller < id &&
			profile_inline(r, id)->name <= counts.strings);
	for (uint32_t id = 1; id <= counts.segments; id++)
		MUST(profile_module(r, profile_segment(r, id)->module));
	for (uint32_t id = 1; id <= counts.modules; id++)
		MUST(profile_module(r, id)->build_id_size <= BUILD_ID_MAX);
	for (uint32_t id = 1; id <= counts.processes; id++)
		MUST(profile_process(r, id)->parent < id);
	for (uint32_t id = 1; id <= counts.threads; id++)
		MUST(profile_thread(r, id)->process <= counts.processes);
	for (uint32_t id = 1; id <= counts.ops; id++)
		MUST(profile_op(r, id)->device <= counts.devices &&
			profile_op(r, id)->copy_kind < COPY_KINDS);
}

static inline void check_gpu_tables(const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);

	for (uint32_t id = 1; id <= counts.gpu_functions; id++)
		MUST(profile_module(r, profile_gpu_function(r, id)->module) &&
			profile_gpu_function(r, id)->name <= counts.strings);
	for (uint32_t id = 1; id <= counts.instructions; id++) {
		const struct profile_instruction *i = profile_instruction(r, id);

		MUST(profile_gpu_function(r, i->function) && i->text <= counts.strings &&
			i->file <= counts.strings && i->inlined <= counts.inlines);
	}
	for (uint32_t id = 1; id <= counts.windows; id++)
		MUST(profile_window(r, id)->process <= counts.processes &&
			profile_window(r, id)->device <= counts.devices);
	for (uint32_t id = 1; id <= counts.counters; id++)
		MUST(profile_counter(r, id)->name - 1 < counts.strings &&
			profile_counter(r, id)->unit <= counts.strings);
	for (uint32_t id = 1; id <= counts.bursts; id++)
		MUST(profile_burst(r, id)->process <= counts.processes);
}

static inline void check_all_tables(const struct profile_reader *r)
{
	check_cpu_tables(r);
	check_gpu_tables(r);
}
