/* SPDX-License-Identifier: MIT */
/*
 * How long each thread ran (struct profile_account), beside how long its samples stand for: each
 * sample has the same part of the one as it has of the other. By thread id, in memory; in the file
 * a chunk of their own (docs/file-format.md).
 *
 * Functions return 0 or -ENOMEM, without error_text.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/vec.h"
#include "profile/model.h"

struct cpu_time {
	struct profile_account is;
	bool known;	     /* `is` was recorded */
	uint64_t periods_ns; /* the sum of their periods, as they were recorded */
	uint64_t passed_ns;  /* of that sum, what was divided */
	/* of is.kernel_ns: as much as samples have that were kept of it */
	uint64_t kept_kernel_ns;
};

/* By thread id; threads beyond have none. */
struct cpu_times {
	struct cpu_time *items;
	size_t count, capacity;
};

void cpu_times_release(struct cpu_times *a);
/* Adds to what is known of a thread. */
int cpu_times_add(struct cpu_times *a, uint32_t thread, const struct profile_account *more);
/* Adds the period of a sample, before the thread's account is known or after. */
int cpu_times_add_period(struct cpu_times *a, uint32_t thread, uint64_t period_ns);
/* The thread's; NULL: none is known. */
struct cpu_time *cpu_times_find(const struct cpu_times *a, uint32_t thread);

/* Appends the entries of the threads from *thread on, up to about `size_bytes` of them, and moves
 * *thread behind them; nothing when there are no more. */
void cpu_times_encode(
	const struct cpu_times *a, uint32_t *thread, size_t size_bytes, struct buf *out);
/* Reads entries, of threads up to `last`. `ret` NULL: only checks them. False: they make no sense.
 * The data are followed by VARINT_MAX_BYTES that can be read. */
bool cpu_times_decode(const uint8_t *p, const uint8_t *end, uint32_t last, struct cpu_times *ret);

/* The part of the next sample of a thread. The parts of all its samples add up to the account. */
uint64_t cpu_time_next_part(struct cpu_time *a, uint64_t period_ns);
/* So too of is.kernel_ns, before the other; 0 for a sample that is not kept. */
uint64_t cpu_time_next_kernel_part(const struct cpu_time *a, uint64_t period_ns, bool kept);
/* The same for samples in no order, but for a nanosecond. */
uint64_t cpu_time_part(const struct cpu_time *a, uint64_t period_ns);
