/* SPDX-License-Identifier: MIT */
/* rocprofiler-sdk, as the library inside of programs reports it. */
#pragma once

#include "gpu/injected/injected.h"
#include "vendor/amd/calls.h"

extern const struct injected_api amd_api;
