/* SPDX-License-Identifier: MIT */
/* Calls of HIP that are simulated, and what programs know of the simulated GPUs. Handles are
 * pointers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SIM_AMD_DEVICES 2
/* What a kernel of so many groups takes, and a copy of so many bytes. */
#define SIM_AMD_KERNEL_NS(groups) (2000 + 37 * (uint64_t)(groups))
#define SIM_AMD_COPY_NS(bytes)	  (1500 + (uint64_t)(bytes) / 16)
/* What the runtime does by kernels of its own: so many groups. */
#define SIM_AMD_FILL   "__amd_rocclr_fillBufferAligned"
#define SIM_AMD_GROUPS 16

/* A kernel of this name goes wrong. */
#define SIM_AMD_FAULT "fault"

enum {
	HIP_INVALID_VALUE = 1,
	HIP_INVALID_CONFIGURATION = 9,
	HIP_NOT_FOUND = 500,
};

enum { HIP_HOST_TO_DEVICE = 1, HIP_DEVICE_TO_HOST = 2, HIP_DEVICE_TO_DEVICE = 3 };

struct hip_dim3 {
	uint32_t x, y, z;
};

/* Of a kernel's node. */
struct hip_kernel_node {
	struct hip_dim3 block;
	void **extra;
	const void *function;
	struct hip_dim3 grid;
	void **parameters;
	uint32_t shared;
};

int hipGetDeviceCount(int *ret);
int hipSetDevice(int device);
int hipMalloc(void **ret, size_t size);
int hipFree(void *memory);
int hipMemcpy(void *to, const void *from, size_t size, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream);
int hipMemsetAsync(void *to, int value, size_t size, void *stream);
int hipStreamCreate(void **ret);
int hipStreamDestroy(void *stream);
int hipStreamAddCallback(void *stream, void (*function)(void *stream, int status, void *data),
	void *data, unsigned int flags);
int hipStreamSynchronize(void *stream);
int hipDeviceSynchronize(void);
int hipEventCreate(void **ret);
int hipEventRecord(void *event, void *stream);
int hipEventSynchronize(void *event);
/* The image is a code object, or a text: names of kernels, with blanks between. */
int hipModuleLoadData(void **ret, const void *image);
int hipModuleLoad(void **ret, const char *path); /* a code object */
int hipModuleGetFunction(void **ret, void *module, const char *name);
int hipModuleLaunchKernel(void *function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
	uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t shared, void *stream,
	void **parameters, void **extra);
int hipLaunchKernel(const void *function, struct hip_dim3 grid, struct hip_dim3 block,
	void **arguments, size_t shared, void *stream);
int hipStreamBeginCapture(void *stream, int mode);
int hipStreamEndCapture(void *stream, void **ret_graph);
int hipStreamWaitEvent(void *stream, void *event, unsigned int flags);
int hipGraphCreate(void **ret, unsigned int flags);
int hipGraphAddKernelNode(
	void **ret, void *graph, void *const *on, size_t count, const struct hip_kernel_node *node);
int hipGraphNodeSetEnabled(void *exec, void *node, unsigned int enabled);
int hipGraphDestroy(void *graph);
int hipGraphExecDestroy(void *exec);
int hipGraphInstantiate(void **ret, void *graph, void *node, char *log, size_t log_size);
int hipGraphLaunch(void *graph, void *stream);
void **__hipRegisterFatBinary(const void *data);
/* The kernel that hipLaunchKernel knows by this function. */
void __hipRegisterFunction(void **modules, const void *function, char *device_function,
	const char *name, unsigned int limit, void *tid, void *bid, void *block, void *grid,
	int *size);
