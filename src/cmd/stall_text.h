/* SPDX-License-Identifier: MIT */
/* Samples of instructions in words, the same in `report --stalls` and `annotate`. */
#pragma once

#include "base/buf.h"
#include "view/annotation.h"

/* Appends "waiting for a memory load (long_scoreboard)", or the vendor's name where there are no
 * words. */
void stall_text_reason(const struct kernel_stalls *k, uint32_t reason, struct buf *b);
/* Appends the leading reasons of a row, at most `limit` and only those of at least 1 % after the
 * first: "80.0 % waiting for a memory load (long_scoreboard), 12.0 % ..."; without `words` only
 * the vendor's: "80.0 % long_scoreboard". Shares are of the row's `samples`. */
void stall_text_leading(const struct kernel_stalls *k, const struct stall_count *counts,
	size_t count, uint64_t samples, size_t limit, bool words, struct buf *b);
/* Appends "kernel.cu:12", without folders; "(line not known)". */
void stall_text_line(const struct profile_reader *r, uint32_t file, uint32_t line, struct buf *b);
/* Appends how a line came into the function: "load_tile, inlined at kernel.cu:40"; nothing where
 * it is its own. */
void stall_text_place(const struct annotation *a, const struct annotation_place *p, struct buf *b);
/* The text of an instruction, "(not decoded)" where it is not known. */
const char *stall_text_instruction(const struct profile_reader *r, uint32_t instruction);

/*
 * Sentences on how far the samples can be relied on, each handed to `put`: how many and how often,
 * what was dropped or had no code, launches from several places, kernels without samples.
 */
void stall_text_remarks(
	const struct kernel_stalls *k, void (*put)(void *to, const char *sentence), void *to);
