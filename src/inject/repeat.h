/* SPDX-License-Identifier: MIT */
/*
 * Recognizes a stack that was walked before, without walking it.
 *
 * A walk by unwind tables follows from the words of the stack that it reads: the return addresses,
 * and the pointers into the stack that some frames are found by: saved frame pointers, and where a
 * function that realigns the stack keeps its own. Where those words are follows from
 * them too. So when all of them, at the addresses where that walk found them, are what they were
 * (pointers into the stack: relative to it), the walk would find the same frames again. This costs
 * a load and a comparison for each word, none of which waits for another, where a walk has to
 * finish each frame before it knows where the next one is.
 *
 * This holds as long as the code is the same: what was noted belongs to a code_epoch, as chains do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/unwind.h"

/* What is kept of a walk: behind this, `bases` and `entries` values, then the slots of frames and
 * bases. */
struct repeat {
	uint16_t frames; /* 0: the walk read something else too, it cannot be recognized */
	uint16_t bases;
	uint16_t entries; /* of Python's loops */
	uint16_t reach;	  /* slots: how far it read */
	uint64_t values[];
};

/* How many words that takes. */
size_t repeat_words(const struct unwound *u);
/* Fills in as many. */
void repeat_note(struct repeat *r, const struct unwound *u);
/* Whether a walk from where `u` begins, in the stack that ends at `end`, would find these native
 * frames (r->frames of them) and behind them `python_depth` Python frames. */
bool repeat_matches(const struct repeat *r, const uint64_t *words, uint32_t python_depth,
	const struct unwound *u, uintptr_t end);
