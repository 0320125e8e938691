/* SPDX-License-Identifier: MIT */
/* The libraries inside of programs, of all APIs, as a backend. */
#pragma once

#include "gpu/backend.h"

extern const struct gpu_backend_ops injected_backend;
