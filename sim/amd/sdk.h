/* SPDX-License-Identifier: MIT */
/* The parts of the simulated rocprofiler-sdk. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "inject/rocprofiler/abi.h"
#include "tracer.h"

/* $SIM_ROCPROFILER_FAULTS: NAME=N, with commas between; each is described in sim/README.md. */
struct sim_faults {
	uint64_t version, clock;
	uint64_t drop, small, zero_time, reversed_time, far_time, no_agent, no_kernel, short_call;
	uint64_t refuse;
	uint64_t invalid_sample, lost_code;
};

extern struct sim_faults faults;

/* Whether a fault that happens at each nth time does so now: the same in every run. */
bool fault_is_due(uint64_t every, uint64_t *so_far);
uint64_t sim_amd_now(void);

/* Numbers of kinds and operations differ from version to version. */
uint32_t kind_number(const char *name);

/* The code object that a kernel is in, on a device; and where its function begins in that. */
#define SIM_CODE_ID(kernel, device) ((kernel)*2 + (uint64_t)(device) + 1)
#define SIM_CODE_BASE		    0x1000u /* the lowest address in an image */
#define SIM_CODE_FUNCTION	    0x1100u
#define SIM_CODE_BYTES		    0x100u
/* Where a kernel's function is in its object, from where that is loaded. */
uint64_t code_offset(uint64_t kernel);
/* A sample every so many nanoseconds. */
#define SIM_SAMPLE_NS 500u

/* --- code.c */

/* An image with the kernel's function: memory that stays; NULL: there is none. */
void *make_code(const char *kernel, size_t *ret_size);
/* The address of a function in an image; 0: there is none. */
uint64_t code_function(const void *image, const char *name);

/* --- delivery.c */

/* Records of what ends in the future come into the buffer when that has come. */
void deliver(const struct sim_amd_work *work, uint64_t external);
bool delivery_wants(uint32_t kind);
void delivery_end(void);
/* Instructions of this device are sampled into this buffer. */
void delivery_samples(uint64_t agent, uint32_t method, uint64_t buffer);
