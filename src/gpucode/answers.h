/* SPDX-License-Identifier: MIT */
/*
 * Questions about the functions of an image, and what is found of them, as bytes: they are answered
 * in a process that an image may have taken over, and whoever reads the answers does not trust
 * them.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "gpucode/format.h"

#define GPUCODE_PART_MAX 2048 /* instructions that are asked about at once */
#define GPUCODE_ASK_MAX	 256  /* functions */

/* A function, as gpucode_format's `find` is asked for it. */
void gpucode_put_function(struct buf *question, const char *name, uint32_t index);

/* Instructions of a function: what source they are from. */
struct gpucode_part {
	uint32_t offset; /* in bytes */
	uint32_t count;
};

/* Of a function, which follows. */
void gpucode_put_part(struct buf *question, const struct gpucode_part *part);

/* Answers are appended to `ret`: 0 or -errno. Functions were put: */
int gpucode_write_functions(const struct gpucode *g, const void *image, const void *question,
	size_t size, struct buf *ret);
/* Parts were put, each with its function; GPUCODE_PART_MAX instructions in all at most. */
int gpucode_write_frames(
	const struct gpucode *g, const void *question, size_t size, struct buf *ret);

/* The functions that were asked about; their code is NULL where there is no such function. 0 or
 * -EPROTO: an answer makes no sense. */
int gpucode_read_functions(const struct buf *answer, const void *image, size_t image_size,
	struct gpucode_function *ret, size_t count);

struct gpucode_source {
	uint32_t first, count; /* of the frames below; none: nothing is known */
	bool called;	       /* as in gpucode_format's `frames` */
};

/* Texts are those of an interner, and equal ones are at the same address. */
struct gpucode_sources {
	struct vec(struct gpucode_source) instructions;
	struct vec(struct gpucode_frame) frames;
};

void gpucode_sources_release(struct gpucode_sources *s);
/* Of all instructions that were asked about. Replaces what is there: 0, -EPROTO or -ENOMEM. */
int gpucode_read_frames(const struct buf *answer, size_t count, struct interner *texts,
	struct gpucode_sources *ret);
