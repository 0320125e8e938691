/* SPDX-License-Identifier: MIT */
/* AMD's GPUs: a library of ours is a tool of rocprofiler-sdk. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops amd_backend;
