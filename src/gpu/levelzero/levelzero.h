/* SPDX-License-Identifier: MIT */
/* Level Zero: the library is preloaded, and its loader's tracing layer switched on. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops levelzero_backend;
