/* SPDX-License-Identifier: MIT */
/* The environment variables of NVIDIA's that we set, clear or read. */
#pragma once

/* A library that libcuda loads into each process in its first CUDA call. */
#define NVIDIA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"

/* Which devices a process may see, and in which order. */
#define NVIDIA_DEVICE_VARIABLES "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"

/* Before the names of variables that only the simulated driver reads (sim/). */
#define NVIDIA_SIMULATION_PREFIX "XPUPROF_SIM_"
