/* SPDX-License-Identifier: MIT */
/* Code objects as one of the formats of GPU code. */
#pragma once

#include "gpucode/format.h"

extern const struct gpucode_format amd_object_format;
