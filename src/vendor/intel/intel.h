/* SPDX-License-Identifier: MIT */
/* What the names of Level Zero mean, Intel's API. */
#pragma once

#include "vendor/vendor.h"

extern const struct vendor vendor_intel;
extern const struct stall_names intel_stalls;

/* The loader, as programs are linked to it. */
#define LEVELZERO_LOADER_SONAME "libze_loader.so.1"
/* Lies beside it. */
#define LEVELZERO_TRACING_SONAME "libze_tracing_layer.so.1"
/* Has the loader call back for whoever asks for that, if it is set when a program begins. */
#define LEVELZERO_TRACING_VARIABLE "ZE_ENABLE_TRACING_LAYER"
