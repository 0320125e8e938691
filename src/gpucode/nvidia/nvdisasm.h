/* SPDX-License-Identifier: MIT */
/*
 * The full text of instructions, from NVIDIA's nvdisasm where it is installed.
 *
 * It gets the bare code of the functions asked for, not their image: with a large image it takes
 * minutes, however few functions are asked for. Without the image, branches have offsets instead of
 * labels, and what the driver fills in when it loads the code (addresses of functions and
 * variables) is shown as the image has it.
 *
 * It runs as a child process without a shell, with our rights or those of a lesser user: the code
 * comes from the profiled program, so root should not parse it. The code is passed in memory, no
 * file is written. Its output is untrusted. Neither a child that hangs nor one that writes without
 * end holds us up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "gpucode/format.h"

#define NVDISASM_CODE_MAX ((size_t)256 << 20)

/* The code of one function; a part of an instruction at its end is left out. */
struct nvdisasm_code {
	const void *bytes;
	size_t size;
};

struct nvdisasm_request {
	const char *program;		 /* a path, from nvdisasm_find */
	const struct gpucode_user *user; /* NULL: the one we run as */
	unsigned int sm;		 /* 10 * major + minor of the compute capability */
	const struct nvdisasm_code *functions;
	size_t count;
	/* The text of the instruction at this offset of a function, without ';', good for the call;
	 * each at most once and in their order. 0, or -errno to stop with it. */
	int (*visit)(void *context, size_t function, uint64_t offset, const char *text);
	void *context;
	bool (*stopped)(void *stop_context); /* NULL: never; asked several times a second */
	void *stop_context;
	uint64_t limit_ns; /* for all of it */
};

/* Appends the path of the program: $XPUPROF_NVDISASM if that is set ("": do without it), else the
 * first in $PATH, in $CUDA_HOME/bin, and in the bin folders of /usr/local/cuda and
 * /usr/local/cuda-VERSION, the highest first. Unless `trusting`, only one counts that nobody but
 * root can change (base/trust.h). 0, or with error_text -ENOENT, or -EPERM where others can change
 * it. */
int nvdisasm_find(struct buf *ret_path, bool trusting);

/*
 * 0, or -errno with error_text: -EIO (it failed, or its output makes no sense), -ETIME, -EINTR
 * (stopped), -EFBIG (more than NVDISASM_CODE_MAX in all), why it cannot be run (-EACCES: not by
 * that user), or what visit returned. Whatever was
 * visited before is right. A function with an instruction that nvdisasm does not know is given up
 * from there on, and is no error.
 */
int nvdisasm_run(const struct nvdisasm_request *r);
