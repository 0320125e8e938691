/* SPDX-License-Identifier: MIT */
/*
 * One kernel (or a function that kernels call) as its instructions and its source lines, with the
 * samples of each. `xpuprof annotate` shows it, `xpuprof report --stalls` the hottest of it.
 *
 *	files ---> lines ---> sites (one way a line came into the function) ---> instructions
 *
 * The line of an instruction is that of the innermost function inlined there, in that function's
 * file. From there the chain of `inlined` leads to the function itself, by lines with calls. These
 * are lines, too, even if they have no instructions of their own. Line 0 of file 0 holds the
 * instructions without a line.
 *
 * Numbers of samples are sums of what was recorded, nothing is apportioned. Everything is by id of
 * the profile; the kernel_stalls it is made from must outlive it.
 */
#pragma once

#include "view/stalls/kernels.h"

struct annotation_instruction {
	uint32_t instruction; /* id */
	uint32_t offset;      /* in the function */
	uint32_t image;	      /* index of `images` */
	uint32_t site;	      /* index of `sites` */
	uint64_t samples, latency;
};

/* A line as it stands in the function: in its own code, or inlined by one chain of calls. */
struct annotation_site {
	uint32_t line;		       /* index of `lines` */
	uint32_t inlined;	       /* inline id; 0: in the function itself */
	uint32_t call_file, call_line; /* in the function itself, of the outermost inlined call */
	uint32_t first, count;	       /* in `by_site` */
	uint32_t first_call, calls;    /* in `calls` */
	uint64_t samples;
};

struct annotation_line {
	uint32_t file; /* string */
	uint32_t line;
	uint32_t first, count; /* in `sites`, the hottest first; 0: it only has calls */
	uint64_t samples, latency, issuing;
	uint64_t called; /* samples of what was inlined at calls on this line; not in `samples` */
};

struct annotation_file {
	uint32_t file;	       /* string */
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
	size_t kernel;				    /* index of the stalls' kernels */
	struct vec(struct annotation_image) images; /* the one with most samples first */
	uint32_t image;				    /* index of the one shown; ANNOTATION_ALL */
	struct vec(struct annotation_instruction) instructions; /* by image and offset */
	struct vec(struct annotation_site) sites;
	struct vec(struct annotation_line) lines;
	struct vec(struct annotation_file) files; /* the hottest first, the unknown one last */
	/* of sites: indices of the lines they are inlined at, each once */
	struct vec(uint32_t) calls;
	uint32_t *by_site;		  /* indices of instructions, by site and in their order */
	struct stall_counts line_reasons; /* row: index of lines */
	struct stall_counts reasons;	  /* row 0: all that is shown */
	uint64_t samples, latency, issuing; /* of what is shown */
};

#define ANNOTATION_ALL UINT32_MAX

/* `image`: index of the image to show, in the order of `images` (0: the hottest), or
 * ANNOTATION_ALL. 0, or -errno with error_text (-ENOENT: there is no such image). `a` comes
 * zeroed, and is to be released in either case. */
int annotation_make(
	struct annotation *a, const struct kernel_stalls *k, size_t kernel, uint32_t image);
void annotation_release(struct annotation *a);

/* Whether any instruction has a line. */
bool annotation_has_lines(const struct annotation *a);

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
