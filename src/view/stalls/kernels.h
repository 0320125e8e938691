/* SPDX-License-Identifier: MIT */
/*
 * The instruction samples of a profile, summed up by kernel. These sums need no launch stacks, so
 * that nothing in them is apportioned.
 *
 * A row is a mangled name. Several images may have a function of that name (variants that a
 * just-in-time compiler tried; the same library in two processes): their samples are added up here;
 * annotation.h distinguishes them. GPU time is that of the kernels of that name. A row without GPU
 * time is a function that kernels call.
 *
 * One pass over the events, with memory for the distinct (instruction, reason) and (kind of GPU
 * work). Everything is by id of the profile, whose reader must outlive the use of it.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "profile/reader.h"
#include "view/stalls/counts.h"
#include "view/stalls/reasons.h"

/* A reason as samples of this profile have it, latency samples and others together. */
struct kernel_reason {
	struct stall_name name;
	uint32_t text; /* string: the vendor's name */
};

struct kernel_sum {
	uint32_t name;		 /* string: mangled */
	uint64_t works, time_ns; /* of the kernels of this name; 0: it is called by kernels */
	uint64_t samples;
	uint64_t due;	  /* samples that these works should have (due.h); 0: not known */
	uint64_t latency; /* of these, those of cycles in which no warp was issued */
	uint64_t issuing; /* of these, those of warps that were not held up */
	uint32_t images;  /* that have this function, and samples in it */
	bool sampled;	  /* there are samples of it, if perhaps none in the part that is shown */
};

/* Of all windows of the profile. */
struct kernel_windows {
	uint64_t count, exact;
	uint64_t samples, dropped, without_code; /* as in profile_window */
	uint64_t period_min, period_max;	 /* cycles; 0: not known */
};

struct kernel_stalls {
	const struct profile_reader *reader;
	struct vec(struct kernel_reason) reasons; /* what `reason` of a count is the index of */
	struct stall_counts seen;		  /* row: instruction */
	struct stall_counts by_kernel;		  /* row: index of kernels */
	/* The hottest first: by GPU time, functions without any by their share of all samples. */
	struct vec(struct kernel_sum) kernels;
	struct vec(struct kernel_sum) not_sampled; /* kernels without samples, in the same order */
	/* GPU functions and the instructions of each: ids in the order of kernel, function and
	 * offset. */
	struct {
		uint32_t *kernels; /* by function id: index of kernels plus 1; 0: no samples */
		/* by function id: where its instructions begin in `instructions` */
		uint32_t *first;
		uint32_t *instructions; /* ids */
	} code;
	struct kernel_windows windows;
	uint64_t samples, latency, issuing; /* sums of kernels */
	uint64_t due;			    /* of all kernels, without samples too */
	uint64_t called;		    /* of the samples: in functions that kernels call */
	/* of the samples: stalls.h has more than one launch that may have had them */
	uint64_t apportioned;
	uint64_t gpu_ns; /* of all GPU work */
	uint64_t not_sampled_ns;
};

/* Reads the profile to its end: 0 or -errno with error_text (-EOVERFLOW: sums of more than 64
 * bits). `k` comes zeroed, and is to be released in either case. */
int kernel_stalls_read(struct kernel_stalls *k, struct profile_reader *r);
void kernel_stalls_release(struct kernel_stalls *k);

/* Whether most samples of a kernel that were due did not come, even if all those in functions that
 * kernels call are its own. */
bool kernel_lacks_samples(const struct kernel_stalls *k, const struct kernel_sum *kernel);

/* The instructions of a function of the profile, by offset: ids. */
const uint32_t *kernel_instructions(
	const struct kernel_stalls *k, uint32_t function, size_t *ret_count);
