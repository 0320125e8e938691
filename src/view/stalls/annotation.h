/* SPDX-License-Identifier: MIT */
/*
 * One kernel (or a function that kernels call) as its instructions and its source lines, with the
 * samples of each: what `xpuprof annotate` shows and what `xpuprof report --stalls` takes the
 * hottest of.
 *
 *	files ---> lines ---> places (one way a line came into the function) ---> instructions
 *
 * The line of an instruction is that of the innermost function inlined there, in that function's
 * file; from there the chain of `inlined` leads to the function itself, by lines with calls. These
 * are lines as well, also without instructions of their own. Line 0 of file 0 holds the
 * instructions of which no line is known.
 *
 * Numbers of samples are sums of what was seen, nothing is apportioned. Everything is by id of the
 * profile; the kernel_stalls it is made from must outlive it.
 */
#pragma once

#include "view/stalls/kernels.h"

struct annotation_instruction {
	uint32_t instruction; /* id */
	uint32_t offset;      /* in the function */
	uint32_t image;       /* index of `images` */
	uint32_t place;       /* index of `places` */
	uint64_t samples, latency;
};

/* A line of source with the functions it was inlined into: one inline id and one call, or none. */
struct annotation_place {
	uint32_t line;    /* index of `lines` */
	uint32_t inlined; /* inline id; 0: in the function itself */
	uint32_t call_file, call_line; /* in the function itself, of the outermost inlined call */
	uint32_t first, count;         /* in `by_place` */
	uint32_t first_call, calls;    /* in `calls` */
	uint64_t samples;
};

struct annotation_line {
	uint32_t file; /* string */
	uint32_t line;
	uint32_t first, count; /* in `places`, the hottest first; 0: it only has calls */
	uint64_t samples, latency, issuing;
	uint64_t called; /* samples of what was inlined at calls on this line; not in `samples` */
};

struct annotation_file {
	uint32_t file;         /* string */
	uint32_t first, count; /* in `lines`, by number */
	uint64_t samples;
	bool called; /* some line of it has samples in what it calls */
};

struct annotation_image {
	uint32_t function; /* GPU function id */
	uint64_t samples;
};

struct annotation {
	const struct kernel_stalls *stalls;
	size_t kernel; /* index of the stalls' kernels */
	struct vec(struct annotation_image) images; /* the one with most samples first */
	uint32_t image;                             /* index of the one shown; ANNOTATION_ALL */
	struct vec(struct annotation_instruction) instructions; /* by image and offset */
	struct vec(struct annotation_place) places;
	struct vec(struct annotation_line) lines;
	struct vec(struct annotation_file) files; /* the hottest first, the unknown one last */
	struct vec(uint32_t) calls; /* of places: indices of the lines they are inlined at, each once */
	uint32_t *by_place; /* indices of instructions, by place and in their order */
	struct stall_counts line_reasons;   /* row: index of lines */
	struct stall_counts reasons;        /* row 0: all that is shown */
	uint64_t samples, latency, issuing; /* of what is shown */
};

#define ANNOTATION_ALL UINT32_MAX

/* `image`: index of the image to show, in the order of `images` (0: the hottest), or
 * ANNOTATION_ALL. 0, or -errno with error_text (-ENOENT: there is no such image). `a` comes
 * zeroed, and is to be released in either case. */
int annotation_make(
	struct annotation *a, const struct kernel_stalls *k, size_t kernel, uint32_t image);
void annotation_release(struct annotation *a);

/* Whether the line of any instruction is known. */
bool annotation_knows_lines(const struct annotation *a);

/* The reasons of an instruction, by its index, the most frequent first. */
const struct stall_count *annotation_reasons(
	const struct annotation *a, uint32_t index, size_t *ret_count);

/* The functions that were inlined into one another down to `inlined`, the outermost first: how
 * many. */
#define ANNOTATION_CHAIN_MAX 64
size_t annotation_chain(const struct profile_reader *r, uint32_t inlined,
	const struct profile_inline *ret[ANNOTATION_CHAIN_MAX]);

/* Indices of the lines or instructions that have samples, the hottest first, for the caller to
 * free: 0 or -ENOMEM with error_text. */
int annotation_hottest_lines(const struct annotation *a, uint32_t **ret, size_t *ret_count);
int annotation_hottest_instructions(const struct annotation *a, uint32_t **ret, size_t *ret_count);
