/* SPDX-License-Identifier: MIT */
/* Samples of instructions in words, the same in `report --stalls` and `annotate`. */
#pragma once

#include "base/buf.h"
#include "view/stalls/annotation.h"

/* Appends "waiting for a memory load (long_scoreboard)", or the vendor's name where there are no
 * words or they do not fit `columns` (0: no limit). */
void stall_text_reason(
	const struct kernel_stalls *k, uint32_t reason, unsigned int columns, struct buf *b);
/* Appends the leading reasons of a row, at most `limit` and only those of at least 1 % after the
 * first, as many as fit `columns` whole: "80.0 % waiting for a memory load (long_scoreboard), 12.0
 * % wait". The first is in words where these leave room for a second of at least 10 %; 0 columns:
 * all are. Shares are of the row's `samples`. */
void stall_text_leading(const struct kernel_stalls *k, const struct stall_count *counts,
	size_t count, uint64_t samples, size_t limit, unsigned int columns, struct buf *b);
/* Appends "0x0010  ", 8 columns. */
void stall_text_offset(uint32_t offset, struct buf *b);
/* The text of an instruction, "(not decoded)" where it is not known. */
const char *stall_text_instruction(const struct profile_reader *r, uint32_t instruction);

/*
 * Sentences on how far the samples can be relied on, each passed to `put`: how many and how often,
 * what was dropped or had no code, what is apportioned, instructions without operands, kernels
 * without samples.
 */
void stall_text_remarks(
	const struct kernel_stalls *k, void (*put)(void *to, const char *sentence), void *to);

/* The same, kept; the first says which part of the recording is shown (`range`; NULL: all). */
#define STALL_REMARKS_MAX 16

struct stall_remarks {
	char *items[STALL_REMARKS_MAX + 1]; /* ends with a NULL */
	size_t count;
};

void stall_remarks_keep(struct stall_remarks *r, const struct kernel_stalls *k, const char *range);
void stall_remarks_release(struct stall_remarks *r);
