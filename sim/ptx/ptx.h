/* SPDX-License-Identifier: MIT */
/*
 * An interpreter for PTX text: kernels compute what they would on a GPU, in memory of this process.
 *
 * Threads are lanes of warps of 32. Each lane has its own place in the code; those that are at the
 * same place go on together, the ones deepest in calls and earliest in the text first, so that they
 * meet again behind a branch. No lane is kept waiting for ever by others that spin. Blocks are
 * spread over pretend multiprocessors, as many at a time as those hold.
 *
 * Every access to memory is checked: global memory against allocations that the caller knows,
 * all else against what was declared. Addresses in global memory are addresses of this process.
 *
 * Not interpreted: half precision, tensor cores, textures, bulk copies, clusters, calls through
 * pointers. A module that has such an instruction is not loaded, and the error names it.
 *
 * A module may be used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_ptx;
struct sim_ptx_kernel;

/* 0 or -errno with error_text (base/error.h): -EINVAL damaged, -ENOTSUP an instruction that is not
 * interpreted, -ENOMEM. */
int sim_ptx_load(const char *text, size_t size, struct sim_ptx **ret);
void sim_ptx_free(struct sim_ptx *m);

/* A variable of the module (.global, .const) or NULL. */
void *sim_ptx_variable(struct sim_ptx *m, const char *name, size_t *ret_bytes);
/* One after the other, from *at = 0; NULL behind the last. */
void *sim_ptx_next_variable(struct sim_ptx *m, size_t *at, size_t *ret_bytes);
/* A kernel of the module or NULL. */
const struct sim_ptx_kernel *sim_ptx_kernel(struct sim_ptx *m, const char *name);
size_t sim_ptx_param_count(const struct sim_ptx_kernel *k);
/* Where parameter i lies in the block of all, and how many bytes it has. */
size_t sim_ptx_param(const struct sim_ptx_kernel *k, size_t i, size_t *ret_bytes);
size_t sim_ptx_params_bytes(const struct sim_ptx_kernel *k);
/* Whether it has nothing to do: its first instruction is its return. */
bool sim_ptx_is_empty(const struct sim_ptx_kernel *k);
/* Bytes of shared memory it declares. */
uint32_t sim_ptx_shared_bytes(const struct sim_ptx_kernel *k);
/* Of local memory, a thread. */
uint32_t sim_ptx_local_bytes(const struct sim_ptx_kernel *k);
/* As many as a compiler might take for those that it names: a part of them, 255 at most. */
uint32_t sim_ptx_registers(const struct sim_ptx_kernel *k);

struct sim_ptx_launch {
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const void *params; /* the block of all */
	uint32_t sms;	    /* 0: 8 */
	bool cooperative;   /* all blocks run beside each other */
	uint64_t grid_id;
	uint64_t fuel; /* instructions of warps after which it fails; 0: no limit */
	/* The allocation of global memory that has this address; false: there is none. */
	bool (*find)(void *context, uint64_t address, uint64_t *ret_base, uint64_t *ret_bytes);
	void *context;
};

/*
 * Runs the kernel to its end. 0 or -errno with error_text: -EFAULT an access outside of memory,
 * -ERANGE one that is not aligned, -ECANCELED a trap, -EDEADLK threads that wait for each other,
 * -ETIME no fuel left, -EINVAL a launch that no GPU takes, -ENOMEM.
 */
int sim_ptx_run(const struct sim_ptx_kernel *k, const struct sim_ptx_launch *launch);
