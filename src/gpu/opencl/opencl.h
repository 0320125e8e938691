/* SPDX-License-Identifier: MIT */
/* OpenCL, whoever implements it: the library as a layer of its loader ($OPENCL_LAYERS). */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops opencl_backend;
