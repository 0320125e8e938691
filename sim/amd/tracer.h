/* SPDX-License-Identifier: MIT */
/* Between the simulated HIP runtime and the simulated rocprofiler-sdk, in place of the tables of
 * functions that the real ones exchange. Times are of the simulated clock (sim_amd_now). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_AMD_FIRST_AGENT 0x1001u /* of devices, in their order */
#define SIM_AMD_CPU_AGENT   0x1000u

struct sim_amd_work {
	bool is_copy;
	int device;
	int direction; /* of a copy: as its kind */
	uint64_t queue, kernel, bytes;
	uint64_t start_ns, end_ns;
	uint32_t shared;
	uint32_t groups[3], workgroup[3];
};

/* A code object that is the program's. */
struct sim_amd_code {
	const void *image;
	size_t size;
	const char *path; /* of the file that it is; NULL: it is in memory */
};

struct sim_amd_tracer {
	uint64_t (*now)(void);
	/* A call begins, and ends; the arguments are a structure of them. */
	void (*enter)(const char *name, const void *arguments, size_t size);
	void (*leave)(int32_t result);
	/* A kernel of a code object; NULL: of one that is made for it. */
	void (*loaded)(uint64_t kernel, const char *name, const struct sim_amd_code *code);
	/* What the program knows that kernel by. */
	void (*registered)(uint64_t kernel, const char *name, const void *function);
	/* Work has been handed to a device by this thread, and will end. */
	void (*handed)(const struct sim_amd_work *work);
};

/* Asks tools what they want. */
__attribute__((visibility("default"))) void sim_amd_begin(struct sim_amd_tracer *ret);
