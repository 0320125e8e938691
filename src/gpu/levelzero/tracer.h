/* SPDX-License-Identifier: MIT */
/* Level Zero, as the library inside of programs reports it. */
#pragma once

#include "gpu/injected/injected.h"
#include "vendor/intel/calls.h"

extern const struct injected_api levelzero_api;
