/* SPDX-License-Identifier: MIT */
#pragma once

#include "gpu/backend.h"
#include "gpucode/format.h"
#include "vendor/vendor.h"

extern const struct gpu_backend_ops null_backend;
extern const struct vendor vendor_null;
extern const struct gpucode_format null_format;
