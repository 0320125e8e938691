/* SPDX-License-Identifier: MIT */
/* Samples of instructions of Intel's GPUs, as a backend. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops intel_backend;
