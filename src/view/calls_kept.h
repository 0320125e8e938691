/* SPDX-License-Identifier: MIT */
/*
 * Calls of a recording by slice, where its sums have no room for them (slice_sums.callless), kept
 * for whoever shows many parts of it: 8 bytes for each. Calls stand on the code of their work, so
 * their codes are those of the sums.
 *
 * What would take more than CALLS_KEPT_BYTES is not kept. Comes zeroed, and is owned by the caller,
 * who releases it when the recording has changed.
 */
#pragma once

#include "view/fold/slice_sums.h"
#include "view/range/range.h"

#define CALLS_KEPT_BYTES ((size_t)96 << 20)

/* Calls that are alike. */
struct calls_alike {
	uint64_t code : 21, rest : 21, count : 22;
};

struct calls_slice vec(struct calls_alike);

/* Of a code that no work has. */
struct calls_other {
	struct gather_key key; /* the whole one */
	uint64_t start_ns;
};

struct calls_kept {
	bool read, too_large;
	struct keys rests;
	struct calls_slice *slices; /* as in the sums */
	uint32_t slice_count;
	size_t alike; /* of all slices */
	struct vec(struct calls_other) others;
};

/* Reads all of the recording, if that was not done: 0 or -errno with error_text. What is too large
 * is `too_large`. */
int calls_kept_read(
	struct calls_kept *k, const struct slice_sums *sums, const struct range_known *known);
void calls_kept_release(struct calls_kept *k);
