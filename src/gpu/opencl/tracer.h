/* SPDX-License-Identifier: MIT */
/* OpenCL, as its layer inside of programs reports it. */
#pragma once

#include "gpu/injected/injected.h"
#include "vendor/opencl/calls.h"

extern const struct injected_api opencl_api;
