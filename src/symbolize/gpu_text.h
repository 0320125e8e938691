/* SPDX-License-Identifier: MIT */
/*
 * The text of GPU instructions, for gpu_code.c: in full where the format of the code can produce it
 * in time, otherwise the instruction's name. Texts become strings of the profile at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "gpucode/format.h"
#include "profile/writer.h"

/* A function, whose image has to outlive this. */
struct gpu_text {
	const struct gpucode_format *format;
	struct gpucode_function function;
	/* functions of more weight are asked for first; 0: no full text is asked for */
	size_t weight;
	uint32_t *ids; /* full texts by instruction, as string ids; 0: there is none. Or NULL */
};

void gpu_text_release(struct gpu_text *t);

struct gpu_text_options {
	uint64_t limit_ns;		 /* for all full text; 0: it is not asked for */
	const struct gpucode_user *user; /* as in struct gpucode_text_request */
	const char *program;		 /* of writers' processes; NULL: there are none */
	bool (*stopped)(void *context);	 /* may be NULL */
	void *context;
};

/* Asks for the full text of all of them. Having none is no error; a reason that the user can act on
 * is appended to `failure`. 0 or -errno. */
int gpu_text_read(struct profile_writer *w, struct gpu_text *texts, size_t count,
	const struct gpu_text_options *o, struct buf *failure);
/* The text of the instruction at `offset`, which lies in the code, as a string id; *ret_decoded:
 * only its name. */
int gpu_text_add(struct profile_writer *w, const struct gpu_text *t, uint64_t offset,
	uint32_t *ret_id, bool *ret_decoded);
