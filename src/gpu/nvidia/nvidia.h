/* SPDX-License-Identifier: MIT */
/* The NVIDIA backend: libraries injected by CUDA itself ($CUDA_INJECTION64_PATH), which use CUPTI. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops nvidia_backend;
