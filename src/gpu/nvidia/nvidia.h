/* SPDX-License-Identifier: MIT */
/* The NVIDIA backend: libraries that CUDA injects ($CUDA_INJECTION64_PATH) and that use CUPTI. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops nvidia_backend;
