/* SPDX-License-Identifier: MIT */
/* The images of Intel GPU code. */
#pragma once

#include "gpucode/format.h"

extern const struct gpucode_format zebin_format;
