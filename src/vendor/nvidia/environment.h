/* SPDX-License-Identifier: MIT */
/* The environment variables of NVIDIA's that we set, clear or read. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* A library that libcuda loads into each process in its first CUDA call. */
#define NVIDIA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"

/* Ours, beside that: "1" or "once" arms programs (inject/cupti/armed.h). */
#define NVIDIA_ARMED_VARIABLE "XPUPROF_ARMED"

/* A library that NVTX loads into each process in its first call. */
#define NVIDIA_MARKERS_VARIABLE "NVTX_INJECTION64_PATH"

/* Whether a path is that of a library of xpuprof's, of this version or another: there it sleeps in
 * programs until it is woken, and gives way to any other of ours. */
static inline bool nvidia_is_own_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "libxpuprof-inject.so");
}

/* Which devices a process may see, and in which order. */
#define NVIDIA_DEVICE_VARIABLES "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"

/* Before the names of variables that only the simulated driver reads (sim/). */
#define NVIDIA_SIMULATION_PREFIX "XPUPROF_SIM_"
