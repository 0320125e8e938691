/* SPDX-License-Identifier: MIT */
/*
 * The text of GPU instructions, for gpu_code.c: what nvdisasm writes, where it is installed and
 * answers in time, else the instruction's name (sass.h). Texts become strings of the profile at
 * once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/writer.h"

/* The code of a function, which has to outlive this. */
struct gpu_text {
	const uint8_t *code;
	size_t size; /* in bytes */
	unsigned int sm;
	size_t weight; /* functions of more weight are asked for first; 0: nvdisasm is not asked */
	uint32_t *ids; /* what it wrote, by instruction, as string ids; 0: nothing. Or NULL */
};

void gpu_text_release(struct gpu_text *t);

struct nvdisasm_user; /* gpucode/nvidia/nvdisasm.h */

struct gpu_text_options {
	uint64_t limit_ns;
	const struct nvdisasm_user *user; /* that nvdisasm runs as; NULL: the one we run as */
	bool (*stopped)(void *context);	  /* may be NULL */
	void *context;
};

/* Asks nvdisasm for all of them. That it is not installed, cannot be run, fails, or is late costs
 * its text and is no error; what it failed with is appended to `failure`. 0 or -errno. */
int gpu_text_disassemble(struct profile_writer *w, struct gpu_text *texts, size_t count,
	const struct gpu_text_options *o, struct buf *failure);
/* The text of the instruction at `offset`, which lies in the code, as a string id; *ret_decoded:
 * not nvdisasm's. */
int gpu_text_add(struct profile_writer *w, const struct gpu_text *t, uint64_t offset,
	uint32_t *ret_id, bool *ret_decoded);
