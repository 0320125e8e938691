/* SPDX-License-Identifier: MIT */
/*
 * What the instructions of simulated kernels are, and where and why their warps wait: recorded from
 * real GPUs or made up.
 *
 * $XPUPROF_SIM_STALLS names a folder. Each of its .stalls files describes the kernels of one image,
 * a file beside it:
 *
 *	# a comment
 *	image axpy.cubin
 *	kernel axpy                         a kernel; what follows is seen while it runs
 *	0x0090 long_scoreboard 120          offset, reason, how many of the samples
 *	0x0090 long_scoreboard_not_issued 80
 *	function square                     the following is in a function that it calls
 *	0x0010 wait 4
 *
 * Kernels that no file describes get an image's checksum and instructions by a hash of their name.
 */
#pragma once

#include "cupti_sim.h"
#include "cupti_pcsampling.h"

enum { SIM_REASONS = 40 };

struct code_row {
	uint32_t function; /* of the kernel's functions */
	uint32_t offset;
	uint32_t reason; /* index */
	uint32_t weight;
};

struct code_function {
	const char *name;
	uint32_t index; /* of its symbol in the image */
};

struct code_image {
	struct code_image *next;
	char *bytes;
	size_t size;
	uint64_t checksum;
	bool reported; /* to the subscriber, for a kernel that is in no module */
};

struct code_kernel {
	struct code_kernel *next;
	const char *name;
	struct code_image *image; /* NULL: made up */
	uint64_t checksum;
	struct code_function *functions; /* the kernel itself first */
	struct code_row *rows;		 /* ordered by function and offset */
	uint32_t function_count, row_count;
	uint64_t weight;  /* of all rows that are not of latency samples */
	uint64_t samples; /* so far */
};

/* Names with the vendor's prefix; odd indexes are latency samples, which are part of the one
 * before. */
const char *code_reason(uint32_t index);
/* Of the kernel of this name, for ever; NULL when memory is short. Any thread. */
struct code_kernel *code_kernel_find(const char *name);
/* The image that a module with this source text has; NULL: no file describes it. */
struct code_image *code_image_of(const char *ptx);
uint64_t code_checksum(const void *image, size_t size);
/* What the tool computes instead, of images that are read from then on; NULL: it does not. */
extern CUpti_ComputeCrcCallbackFunc code_compute_checksum;
