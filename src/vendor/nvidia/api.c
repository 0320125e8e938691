// SPDX-License-Identifier: MIT
/*
 * What functions of CUDA are called, and what nvcc puts before a launch: as crt/host_runtime.h of
 * CUDA 13.0 and code of its nvcc have them. Nothing else may have such names: two underscores are
 * the compiler's.
 */
#include <stddef.h>

#include "vendor/nvidia/nvidia.h"

const struct vendor_api nvidia_apis[] = {
	{"cuda", "Runtime", "CUDA_Runtime"},
	{"cu", "Driver", "CUDA_Driver"},
	{NULL},
};

const char *const nvidia_launching_calls[] = {
	"cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch", NULL};

const char *const nvidia_launch_stubs[] = {
	"__device_stub__", "__wrapper__device_stub_", "__cudaLaunchKernel_helper", NULL};
