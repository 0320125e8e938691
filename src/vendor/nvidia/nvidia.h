/* SPDX-License-Identifier: MIT */
/* What NVIDIA's names mean: the tables of this folder, which nvidia.c puts together. */
#pragma once

#include "vendor/vendor.h"

extern const struct vendor vendor_nvidia;

/* Up to a NULL, or a row of NULLs. */
extern const struct vendor_api nvidia_apis[];
extern const char *const nvidia_launching_calls[];
extern const char *const nvidia_launch_stubs[];
extern const char *const nvidia_libraries[];
extern const struct vendor_call nvidia_driver_calls[];
extern const struct stall_names nvidia_stalls;
extern const struct counter_kind nvidia_counters[];
