/* SPDX-License-Identifier: MIT */
/*
 * Instructions of GPU code as paths in a tree, above the kernel they were seen in:
 *
 *	-  directory  file  function  inlined function ...  mnemonic  reason  offset
 *
 * Directory and file are those of the function itself, also for instructions that have no line. The
 * names of inlined functions have file and line when lines are distinguished. What is not known has
 * no frame.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to the
 * reader and the tree.
 */
#pragma once

#include "base/map.h"
#include "view/names/location_text.h"
#include "view/tree/tree.h"

/* Frames that were added already, each plus 1. */
struct gpu_source {
	uint32_t directory, file;
};

struct gpu_stacks {
	const struct profile_reader *reader;
	struct tree *tree;
	struct location_texts texts;
	uint32_t boundary;
	struct gpu_source *sources; /* by string */
	/* by GPU function: string; the first that an instruction names */
	uint32_t *function_files;
	uint32_t *function_frames; /* by GPU function; not with lines */
	uint32_t *inline_frames;   /* by inline id */
	struct map mnemonics;	   /* string of the instruction's text -> frame */
	struct buf text;
};

/* 0 or -errno with error_text; release it in either case. */
int gpu_stacks_init(
	struct gpu_stacks *g, const struct profile_reader *r, struct tree *t, bool lines);
void gpu_stacks_release(struct gpu_stacks *g);

/* All: 0 or -errno with error_text. */
/* The node of an instruction (of its mnemonic, if it has one) above a kernel's. */
int gpu_stacks_add(struct gpu_stacks *g, uint32_t kernel, uint32_t instruction, uint32_t *ret_node);
/* The frame of a reason, by its short name, and the one of an instruction's offset. */
int gpu_stacks_reason(struct gpu_stacks *g, const char *name, uint32_t *ret_frame);
int gpu_stacks_offset(struct gpu_stacks *g, uint32_t instruction, uint32_t *ret_frame);
/* "LDG.E.64" of "@P0 LDG.E.64 R2, [R4.64]", "jmpi" of "(W&~f0.0) jmpi 48": where it begins in the
 * text, and its size, which may be 0. */
const char *gpu_mnemonic(const char *text, size_t *ret_size);
