/* SPDX-License-Identifier: MIT */
/*
 * A process's memory as of a sample that comes without BPF (perf_samples.h): the stack from the
 * copy, all else as it is now. What is read of a page stands until the next round, so that words
 * which are read one after another are of one time.
 *
 * A region is a part of the copied stack, and, at its beginning, the registers. What stood there
 * was in use at the sample.
 */
#pragma once

#include "capture/perf_samples.h"
#include "python/memory.h"

#define PERF_PAGE_BYTES 4096
#define PERF_PAGES	128 /* of a process, read for one sample */

struct perf_page {
	uint64_t number;
	uint32_t round; /* it was read in; 0: never */
	bool good;
	uint8_t bytes[PERF_PAGE_BYTES];
};

#define PERF_OTHERS 2

struct perf_word {
	uint64_t address; /* 0: none */
	uint64_t value;
};

struct perf_memory {
	const struct perf_sample *sample;
	struct python_memory live;
	uint32_t round;
	struct perf_word others[PERF_OTHERS]; /* words that are others than they are read */
	struct perf_page pages[PERF_PAGES];
};

struct perf_region {
	uint64_t start, end; /* addresses in the copy, of whole words */
};

/* The sample must stay valid. */
void perf_memory_begin(struct perf_memory *pm, const struct perf_sample *sample);
/* From here on all is read again. */
void perf_memory_renew(struct perf_memory *pm);
/* Its content, by python_read. */
struct python_memory perf_memory_of(struct perf_memory *pm);

bool perf_is_copied(const struct perf_sample *s, uint64_t address, size_t size);
/* From `start` on up to `end`, as far as it was copied. */
struct perf_region perf_region(const struct perf_sample *s, uint64_t start, uint64_t end);
/* Calls `visit` for each word of a region, and before it for each register if it begins where the
 * copy does, until one returns true: whether one did. */
bool perf_each_word(const struct perf_sample *s, struct perf_region region,
	bool (*visit)(void *context, uint64_t word), void *context);
/* Whether a word from `low` to `high` was there. */
bool perf_is_mentioned(
	const struct perf_sample *s, struct perf_region region, uint64_t low, uint64_t high);
