/* SPDX-License-Identifier: MIT */
/*
 * A file read by one thread and by two: whatever is in it, both ways give out the same. Whoever
 * includes this defines MUST(condition) before.
 */
#pragma once

#include <string.h>

#include "profile/reader.h"

/* All that a file has of an event. */
static inline bool same_event(const struct profile_event *a, const struct profile_event *b)
{
	if (a->kind != b->kind)
		return false;
#define SAME(of, member) (a->of.member == b->of.member)
	switch (a->kind) {
	case EVENT_SAMPLE:
		return SAME(sample, time_ns) && SAME(sample, period_ns) && SAME(sample, thread) &&
		       SAME(sample, stack) && SAME(sample, cpu);
	case EVENT_CALL:
		return SAME(call, start_ns) && SAME(call, duration_ns) && SAME(call, thread) &&
		       SAME(call, stack) && SAME(call, api) && SAME(call, kind) &&
		       SAME(call, result) && SAME(call, instance) && SAME(call, correlation);
	case EVENT_WORK:
		return SAME(work, start_ns) && SAME(work, duration_ns) && SAME(work, bytes) &&
		       SAME(work, queued_ns) && SAME(work, submitted_ns) &&
		       SAME(work, graph_node) && SAME(work, launch_ns) && SAME(work, op) &&
		       SAME(work, thread) && SAME(work, stack) && SAME(work, node_stack) &&
		       SAME(work, api) && SAME(work, instance) && SAME(work, correlation) &&
		       SAME(work, graph_context) && SAME(work, graph_stream) && SAME(work, join) &&
		       SAME(work, grid) && SAME(work, stands_for);
	case EVENT_PENDING:
		return SAME(pending, start_ns) && SAME(pending, thread) && SAME(pending, stack) &&
		       SAME(pending, api) && SAME(pending, instance) &&
		       SAME(pending, correlation) && SAME(pending, reason);
	case EVENT_STALL:
		return SAME(stall, window) && SAME(stall, instruction) && SAME(stall, reason) &&
		       SAME(stall, correlation) && SAME(stall, samples);
	case EVENT_COUNT:
		return SAME(count, start_ns) && SAME(count, duration_ns) && SAME(count, device) &&
		       SAME(count, counter) && SAME(count, value);
	case EVENT_DRIVER:
		return SAME(driver, start_ns) && SAME(driver, duration_ns) && SAME(driver, bytes) &&
		       SAME(driver, job) && SAME(driver, thread) && SAME(driver, source) &&
		       SAME(driver, ring) && SAME(driver, name) && SAME(driver, kind) &&
		       SAME(driver, foreign) && SAME(driver, unfinished);
	case EVENT_WAIT:
		return SAME(wait, start_ns) && SAME(wait, duration_ns) && SAME(wait, queued_ns) &&
		       SAME(wait, others_ns) && SAME(wait, others) && SAME(wait, thread) &&
		       SAME(wait, stack) && SAME(wait, waker) && SAME(wait, reason) &&
		       SAME(wait, assumed);
	case EVENT_LIFE:
		return SAME(life, start_ns) && SAME(life, duration_ns) && SAME(life, run_ns) &&
		       SAME(life, thread);
	case EVENT_SYNC:
		return SAME(sync, start_ns) && SAME(sync, duration_ns) && SAME(sync, recorded_ns) &&
		       SAME(sync, instance) && SAME(sync, correlation) && SAME(sync, thread) &&
		       SAME(sync, stack) && SAME(sync, api) && SAME(sync, device) &&
		       SAME(sync, context) && SAME(sync, stream) && SAME(sync, kind);
	case EVENT_MARKER:
		return SAME(marker, start_ns) && SAME(marker, duration_ns) &&
		       SAME(marker, thread) && SAME(marker, name) && SAME(marker, domain) &&
		       SAME(marker, kind) && SAME(marker, unfinished);
	case EVENT_FOUND:
		return SAME(found, time_ns) && SAME(found, grid) && SAME(found, map) &&
		       SAME(found, context) && SAME(found, program) && SAME(found, text) &&
		       SAME(found, sm) && SAME(found, thread) && SAME(found, size) &&
		       !memcmp(a->found.bytes, b->found.bytes, a->found.size);
	}
	return false;
}
#undef SAME

static inline bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static inline void check_same_end(const struct profile_reader *a, const struct profile_reader *b)
{
	struct profile_counts a_counts = profile_counts(a), b_counts = profile_counts(b);
	struct profile_sums a_sums = profile_reader_sums(a), b_sums = profile_reader_sums(b);

	MUST(same_text(profile_reader_incomplete(a), profile_reader_incomplete(b)));
	MUST(!memcmp(&a_counts, &b_counts, sizeof(a_counts)));
	MUST(!memcmp(&a_sums, &b_sums, sizeof(a_sums)));
	MUST(profile_reader_chunk(a) == profile_reader_chunk(b));
}

/* Reads as many events; all of them, and once more behind the last, if there are fewer. */
static inline void check_both_ways(const char *path, size_t most)
{
	struct profile_reader *a, *b;
	struct profile_event x, y;
	int got = profile_reader_open(&a, path), more = 1;

	MUST(got == profile_reader_open(&b, path));
	if (got)
		return;
	profile_reader_ahead(a, PROFILE_AHEAD_NEVER);
	profile_reader_ahead(b, PROFILE_AHEAD_ALWAYS);
	for (size_t n = 0; more > 0 && n < most; n++) {
		more = profile_reader_next(a, &x);
		MUST(profile_reader_next(b, &y) == more);
		MUST(profile_reader_chunk(a) == profile_reader_chunk(b));
		MUST(more <= 0 || same_event(&x, &y));
	}
	if (more <= 0) {
		MUST(profile_reader_next(b, &y) == profile_reader_next(a, &x));
		check_same_end(a, b);
	}
	profile_reader_close(a);
	profile_reader_close(b);
}
