/* SPDX-License-Identifier: MIT */
/* The environment variables of NVIDIA's that we set, clear or read. */
#pragma once

/* A library that libcuda loads into each process in its first CUDA call. */
#define NVIDIA_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"
